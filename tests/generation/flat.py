"""An evaluation of columns that tests name by side, such as `generated_latents`."""

from __future__ import annotations

from typing import Any

from graphgauge import generation
from graphgauge.core.evaluation import Evaluation

COLUMNS = ("conditions", "valid", "statistics", "latents", "reconstructed", "predicted")


def side(columns: dict[str, Any], name: str) -> Any:
    """The columns of a side, taken out of `columns`; None without any."""
    prefix = f"{name}_"
    own = {column: columns.pop(prefix + column) for column in COLUMNS if prefix + column in columns}
    items = columns.pop(name, None)
    return generation.Samples(items, **own) if own or items is not None else None


def evaluated(**columns: Any) -> Evaluation:
    """`evaluate` of `real`, `real_statistics`, `generated`, `generated_valid` … and of its own options."""
    real, generated, train, classifier = (side(columns, name) for name in ("real", "generated", "train", "classifier"))
    return generation.evaluate(real, generated, train=train, classifier=classifier, **columns)
