"""Evaluation of models that learn on graphs: how good is the model, and how reliable is the number."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from graphgauge._version import __version__

if TYPE_CHECKING:
    from graphgauge import (
        audit,
        core,
        engines,
        evolution,
        explanation,
        forecasting,
        generation,
        prediction,
        ranking,
        recovery,
        report,
        stats,
        study,
    )
    from graphgauge.core.evaluation import Evaluation
    from graphgauge.core.files import load
    from graphgauge.core.finding import Finding, check
    from graphgauge.core.gate import Gate
    from graphgauge.core.grid import Grid
    from graphgauge.core.registry import metric
    from graphgauge.core.result import Interval, Reference, Result
    from graphgauge.core.threads import threads
    from graphgauge.io.request import evaluate_files

# Names of the package with the modules that have them.
_NAMES = {
    "Evaluation": "core.evaluation",
    "Finding": "core.finding",
    "Gate": "core.gate",
    "Grid": "core.grid",
    "Interval": "core.result",
    "Reference": "core.result",
    "Result": "core.result",
    "check": "core.finding",
    "evaluate_files": "io.request",
    "load": "core.files",
    "metric": "core.registry",
    "threads": "core.threads",
}

__all__ = [
    "Evaluation",
    "Finding",
    "Gate",
    "Grid",
    "Interval",
    "Reference",
    "Result",
    "__version__",
    "audit",
    "check",
    "core",
    "engines",
    "evaluate_files",
    "evolution",
    "explanation",
    "forecasting",
    "generation",
    "load",
    "metric",
    "prediction",
    "ranking",
    "recovery",
    "report",
    "stats",
    "study",
    "threads",
]


def __getattr__(name: str) -> Any:
    # Families load on first use: the command line's --help and a study of one family pay for nothing else.
    if name in _NAMES:
        return getattr(importlib.import_module(f"graphgauge.{_NAMES[name]}"), name)
    if name in __all__:
        return importlib.import_module(f"graphgauge.{name}")
    raise AttributeError(f"module 'graphgauge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
