"""Evaluate files: the command, studies and `evaluate_files` have these inputs and options."""

from __future__ import annotations

from typing import Annotated

from graphgauge.core.progress import SILENT, Progress
from graphgauge.old.core.fields import Confidence, File, Metrics, PathLike, Seed
from graphgauge.old.core.result import Evaluation
from graphgauge.old.io.arrays import read_labels
from graphgauge.old.io.hashing import receipt_input
from graphgauge_communities.evaluate import evaluate
from graphgauge_communities.family import FAMILY


def evaluate_files(
    *,
    true: Annotated[PathLike, File("The true group of each node.")],
    pred: Annotated[PathLike, File("The found group of each node.")],
    metrics: Metrics = None,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    progress: Progress = SILENT,
) -> Evaluation:
    """Compare found groups of nodes with the true ones."""
    given = FAMILY.read(locals())
    paths = {name: given.pop(name) for name in ("true", "pred")}
    evaluation = evaluate(*map(read_labels, paths.values()), **given)
    evaluation.inputs = lambda: [receipt_input(name, path) for name, path in paths.items()]
    return evaluation
