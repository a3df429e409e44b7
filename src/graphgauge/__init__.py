"""Evaluation of models that learn on graphs: how good is the model, and how reliable is the number."""

from __future__ import annotations

import importlib
import sys
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
        ranking,
        recovery,
        report,
        stats,
        study,
    )
    from graphgauge.core.threads import threads

if sys.version_info < (3, 12):
    import graphgauge.core.forked  # noqa: F401, for its effect on forks

__all__ = [
    "__version__",
    "audit",
    "core",
    "engines",
    "evolution",
    "explanation",
    "forecasting",
    "generation",
    "ranking",
    "recovery",
    "report",
    "stats",
    "study",
    "threads",
]


def __getattr__(name: str) -> Any:
    # Families load on first use: the command line's --help and a study of one family pay for nothing else.
    if name == "threads":
        return importlib.import_module("graphgauge.core.threads").threads
    if name in __all__:
        return importlib.import_module(f"graphgauge.{name}")
    raise AttributeError(f"module 'graphgauge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
