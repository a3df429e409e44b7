"""Causal discovery and structure learning: how close the learned graph is to the true one."""

from graphgauge.recovery.evaluate import evaluate
from graphgauge.recovery.functions import (
    auprc,
    cpdag,
    directed_f1,
    f1_at_k,
    orientation_accuracy,
    roc_auc,
    shd,
    skeleton_shd,
    threshold_sweep,
)
from graphgauge.recovery.graph import Graph

__all__ = [
    "Graph",
    "auprc",
    "cpdag",
    "directed_f1",
    "evaluate",
    "f1_at_k",
    "orientation_accuracy",
    "roc_auc",
    "shd",
    "skeleton_shd",
    "threshold_sweep",
]
