"""`graphgauge merge STATE…`."""

from __future__ import annotations

from typing import Any

import click

from graphgauge.cli.common import Inputs, Run, family_options
from graphgauge.cli.types import INTEGERS
from graphgauge.core.result import Evaluation
from graphgauge.core.state import load_state, state_class
from graphgauge.io.hashing import receipt_input


@click.command(name="merge")
@click.argument("states", nargs=-1, required=True, type=click.Path())
@click.option("--save", type=click.Path(dir_okay=False), help="Write the merged state (.npz).")
@click.option(
    "--k", type=INTEGERS, default="1,3,10", show_default=True, help="Cut-offs of ranking metrics, separated by commas."
)
@click.option("--ties", default="realistic", show_default=True, help="Tie rule of ranking metrics.")
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
    own = {"k": k, "ties": ties} if merged.kind == "ranking" else {}
    evaluation = merged.evaluate(**own, metrics=run.metric_keys, confidence=run.confidence)
    return evaluation, lambda: [receipt_input("state", path) for path in states]
