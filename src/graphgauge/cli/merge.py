"""`graphgauge merge STATE…`."""

from __future__ import annotations

from typing import Any

import click

from graphgauge.cli.common import Inputs, Run, family_options
from graphgauge.cli.types import INTEGERS, OUTPUT_FILE
from graphgauge.core.result import Evaluation
from graphgauge.core.state import load_state, state_class
from graphgauge.io.hashing import receipt_input
from graphgauge.ranking.ties import TIES


@click.command(name="merge")
@click.argument("states", nargs=-1, required=True, type=click.Path())
@click.option("--save", type=OUTPUT_FILE, help="Write the merged state (.npz).")
@click.option(
    "--k", type=INTEGERS, default="1,3,10", show_default=True, help="Cut-offs of ranking metrics, separated by commas."
)
@click.option(
    "--ties", type=click.Choice(TIES), default="realistic", show_default=True, help="Tie rule of ranking metrics."
)
@family_options
def command(
    run: Run, states: tuple[str, ...], save: str | None, k: tuple[int, ...], ties: str
) -> tuple[Evaluation, Inputs]:
    """Merge states saved from parts of one evaluation, and evaluate the whole."""
    merged: Any = None
    for path in states:
        kind, _, _ = load_state(path)
        state = state_class(kind).load(path)
        merged = state if merged is None else merged.merge(state)
    if save is not None:
        merged.save(save)
        run.say(f"wrote {save}")
    own = {"k": k, "ties": ties} if merged.kind == "ranking" else {"seed": run.seed, "threads": run.threads}
    evaluation = merged.evaluate(**own, metrics=run.metric_keys, confidence=run.confidence, nan=run.nan)
    return evaluation, lambda: [receipt_input("state", path) for path in states]
