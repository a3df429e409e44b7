"""The recovery metrics: one function each, with what is different about it."""

from graphgauge.recovery.metrics import edges, models, scores

__all__ = ["edges", "models", "scores"]
