"""Evaluate files: `graphgauge evolution …`, studies, and `evolution.evaluate_files`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from graphgauge.core.progress import SILENT, Progress
from graphgauge.old.core.described import of_files
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.fields import (
    Choice,
    Confidence,
    File,
    Flag,
    Metrics,
    NanPolicy,
    PathLike,
    Seed,
    Several,
    Threads,
    Whole,
)
from graphgauge.old.evolution.births import UNDECLARED
from graphgauge.old.evolution.cycle import NEGATIVES, NULLS
from graphgauge.old.evolution.evaluate import evaluate, stored_runs
from graphgauge.old.evolution.family import FAMILY
from graphgauge.old.evolution.inputs import SCORES
from graphgauge.old.evolution.log import EvolutionLog
from graphgauge.old.io.arrays import read_array, read_labels
from graphgauge.old.io.hashing import receipt_input

_INPUTS = ("labels", "node_ids", "test_edges", "node_types")


@of_files
def evaluate_files(
    *,
    log: Annotated[PathLike, File("The stored runs, or one of them.", "FOLDER")],
    labels: Annotated[
        PathLike | None, File("One label per original node; default: labels.npy in the log's folder, or none.")
    ] = None,
    node_ids: Annotated[PathLike | None, File("The numbers of the original nodes, if not 0, 1, 2 …")] = None,
    conditions: Annotated[
        Sequence[str] | str | None, Several("Evaluate these conditions only, separated by commas.")
    ] = None,
    log_seeds: Annotated[
        Sequence[int] | int | None,
        Several("Evaluate runs of the log with these seeds only, separated by commas.", Whole("", 0)),
    ] = None,
    test_edges: Annotated[PathLike | None, File("Held-out edges (n, 2), for static_auc.")] = None,
    negatives: Annotated[
        str, Choice("Non-edges to score births against: drawn, or all of them.", NEGATIVES)
    ] = "sample",
    negatives_per_positive: Annotated[int, Whole("How many are drawn.", 1)] = 1,
    folds: Annotated[int, Whole("Folds of the probe.", 2)] = 5,
    homophily_null: Annotated[
        str, Choice("Random pairs of distinct nodes, or squared shares of the classes.", NULLS)
    ] = "pairs",
    undeclared: Annotated[
        str,
        Choice("Births that are not the edges that the graphs gained: an error, or a finding.", UNDECLARED),
    ] = "refuse",
    score: Annotated[str, Choice("How pairs are scored.", SCORES)] = "poincare",
    directed: Annotated[bool, Flag("Edges have a direction.")] = False,
    node_types: Annotated[
        PathLike | None, File("One type per node: negatives and chance targets are of the same types.")
    ] = None,
    metrics: Metrics = None,
    confidence: Confidence = 0.95,
    nan: NanPolicy = "raise",
    seed: Seed = 0,
    threads: Threads = None,
    progress: Progress = SILENT,
) -> Evaluation:
    """Evaluate the edges that a system added to its own graph, cycle by cycle.

    A log is a folder of runs, CONDITION/seed-N/, each with one file per cycle (.npz).

    Parameters
    ----------
    progress
        Where progress is reported; silent by default.

    Returns
    -------
    Evaluation
        As from `evaluate`; its receipt names the files with their hashes.

    Raises
    ------
    InputError
        If a file cannot be read, or changed meanwhile.
    OptionError
        If an option does not go with the log.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> points = [[0.0, 0.0], [0.1, 0.0], [0.8, 0.0], [-0.8, 0.0]]
    >>> log = evolution.EvolutionLog("runs")
    >>> log.begin("Normal", 0, edges=[(1, 2)], embeddings=points)
    >>> log.append_cycle("Normal", 0, 0, embeddings=points, new_edges=[(0, 1)])
    >>> evolution.evaluate_files(log="runs", negatives="all")["auc_birth"].value
    1.0
    """
    given = FAMILY.read(locals())
    stored = EvolutionLog(given.pop("log"))
    runs = stored_runs(stored, given["conditions"], given["log_seeds"])
    paths = {name: path for name in _INPUTS if (path := given.pop(name)) is not None}
    arrays: dict[str, Any] = {
        name: read_labels(path) if name in ("labels", "node_types") else read_array(path)
        for name, path in paths.items()
    }
    evaluation = evaluate(stored, **arrays, **given)

    def inputs() -> list[Mapping[str, Any]]:
        named = [receipt_input(name, path) for name, path in paths.items()]
        return [*named, *(receipt_input("log", path) for own in runs for path in stored.files(*own))]

    evaluation.inputs = inputs
    return evaluation
