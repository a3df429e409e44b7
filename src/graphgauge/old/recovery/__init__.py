"""Causal discovery and structure learning: how close the learned graph is to the true one."""

from graphgauge.old.core.graphs import EdgeList, EdgeMarks, NamedMatrix
from graphgauge.old.recovery.evaluate import evaluate
from graphgauge.old.recovery.from_files import evaluate_files
from graphgauge.old.recovery.functions import (
    auprc,
    directed_f1,
    f1_at_k,
    orientation_accuracy,
    roc_auc,
    shd,
    skeleton_shd,
    threshold_sweep,
)

__all__ = [
    "EdgeList",
    "EdgeMarks",
    "NamedMatrix",
    "auprc",
    "directed_f1",
    "evaluate",
    "evaluate_files",
    "f1_at_k",
    "orientation_accuracy",
    "roc_auc",
    "shd",
    "skeleton_shd",
    "threshold_sweep",
]
