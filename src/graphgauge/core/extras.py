"""Optional dependencies, imported where they are used."""

from __future__ import annotations

import importlib
from types import ModuleType

from graphgauge.core.errors import MissingExtraError

_EXTRA_OF = {
    "jinja2": "report",
    "markupsafe": "report",
    "matplotlib": "report",
    "pyarrow": "arrow",
    "fsspec": "urls",
    "pandas": "frames",
    "networkx": "frames",
    "torch": "torch",
    "safetensors": "torch",
    "gadjid": "causal",
    "dask": "dask",
    "distributed": "dask",
    "mlflow": "mlflow",
    "wandb": "wandb",
    "torchmetrics": "torchmetrics",
    "rdkit": "molecules",
}


def need(module: str, purpose: str) -> ModuleType:
    """Import an optional module, or raise an error with the pip command that installs it."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] != package:
            raise  # the package is installed, one of its dependencies is not: show that message
        raise MissingExtraError(package, _EXTRA_OF.get(package), purpose) from None
