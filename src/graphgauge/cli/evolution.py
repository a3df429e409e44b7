"""`graphgauge evolution …`."""

from __future__ import annotations

from typing import Any

import click

from graphgauge.cli.common import Inputs, Run, family_options
from graphgauge.cli.types import NAMES, SEEDS
from graphgauge.core.result import Evaluation
from graphgauge.evolution import EvolutionLog, evaluate
from graphgauge.evolution.cycle import NEGATIVES, NULLS, UNDECLARED
from graphgauge.evolution.evaluate import stored_runs
from graphgauge.io.arrays import read_array, read_labels
from graphgauge.io.hashing import receipt_input


@click.command(name="evolution")
@click.option("--log", required=True, metavar="FOLDER", help="The stored runs, or one of them.")
@click.option("--labels", required=True, metavar="FILE", help="One label per original node.")
@click.option("--node-ids", metavar="FILE", help="The numbers of the original nodes, if not 0, 1, 2 …")
@click.option("--conditions", type=NAMES, help="Evaluate these conditions only, separated by commas.")
@click.option("--seeds", type=SEEDS, help="Evaluate runs of these seeds only, separated by commas.")
@click.option("--test-edges", metavar="FILE", help="Held-out edges (n, 2), for static_auc.")
@click.option(
    "--negatives", type=click.Choice(NEGATIVES), default="sample", show_default=True,
    help="Non-edges to score births against: drawn, or all of them.",
)  # fmt: skip
@click.option(
    "--negatives-per-positive", type=click.IntRange(min=1), default=1, show_default=True, help="How many are drawn."
)
@click.option("--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Folds of the probe.")
@click.option(
    "--homophily-null", type=click.Choice(NULLS), default="pairs", show_default=True,
    help="Random pairs of distinct nodes, or squared shares of the classes.",
)  # fmt: skip
@click.option(
    "--undeclared", type=click.Choice(UNDECLARED), default="refuse", show_default=True,
    help="Edges that appear in a cycle and are not among its births: an error, or a finding.",
)  # fmt: skip
@family_options
def command(
    run: Run,
    log: str,
    labels: str,
    node_ids: str | None,
    conditions: tuple[str, ...] | None,
    seeds: tuple[int, ...] | None,
    test_edges: str | None,
    **options: Any,
) -> tuple[Evaluation, Inputs]:
    """Evaluate the edges that a system added to its own graph, cycle by cycle.

    A log is a folder of runs, CONDITION/seed-N/, each with one file per cycle (.npz), or with births.parquet and
    embeddings.npz.
    """
    stored = EvolutionLog(log)
    runs = stored_runs(stored, conditions, seeds)
    evaluation = evaluate(
        stored, read_labels(labels), node_ids=None if node_ids is None else read_array(node_ids),
        conditions=conditions, seeds=seeds, test_edges=None if test_edges is None else read_array(test_edges),
        metrics=run.metric_keys, nan=run.nan, confidence=run.confidence, threads=run.threads, seed=run.seed, **options,
    )  # fmt: skip

    def inputs() -> list[dict[str, Any]]:
        given = {"labels": labels, "node_ids": node_ids, "test_edges": test_edges}
        named = [receipt_input(name, path) for name, path in given.items() if path is not None]
        return [*named, *(receipt_input("log", path) for own in runs for path in stored.files(*own))]

    return evaluation, inputs
