"""The recovery metrics: one function each, with what is different about it."""

from graphgauge.recovery.metrics import edges, models

__all__ = ["edges", "models"]
