"""Merge states that were saved from parts of one evaluation."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Annotated, Any

from graphgauge.core.errors import OptionError
from graphgauge.core.progress import SILENT, Progress
from graphgauge.old.core.described import of_files
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.family import family
from graphgauge.old.core.fields import (
    Choice,
    Confidence,
    Files,
    Metrics,
    NanPolicy,
    Output,
    PathLike,
    Several,
    Threads,
    Whole,
    fields_of,
    read_all,
    refuse_overwriting,
)
from graphgauge.old.core.forms import Shown
from graphgauge.old.core.state import load_state, state_class
from graphgauge.old.io.hashing import receipt_input
from graphgauge.old.ranking.ties import TIES


@of_files
def merge_files(
    *,
    states: Annotated[PathLike | Sequence[PathLike], Files("The saved states.")],
    save: Annotated[PathLike | None, Output("Write the merged state (.npz).")] = None,
    k: Annotated[Sequence[int] | int, Several("Cut-offs of ranking metrics, separated by commas.", Whole("", 1))] = (
        1,
        3,
        10,
    ),
    ties: Annotated[str, Choice("Tie rule of ranking metrics.", TIES)] = "realistic",
    metrics: Metrics = None,
    confidence: Confidence = 0.95,
    nan: NanPolicy = "raise",
    threads: Threads = None,
    progress: Progress = SILENT,
    shown: Shown = str,
) -> Evaluation:
    """Merge states saved from parts of one evaluation, and evaluate the whole.

    Parameters
    ----------
    progress
        Where progress is reported; silent by default.
    shown
        How messages name an argument: as it is, by default.

    Returns
    -------
    Evaluation
        As from one evaluation of all parts.

    Raises
    ------
    InputError
        If a file is no state, or the states do not belong together.
    OptionError
        If an option does not go with the states.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> from graphgauge.old.engines.merge import merge_files
    >>> for part, (pos, neg) in enumerate([(0.9, [0.7, 0.1]), (0.4, [0.8, 0.3])]):
    ...     state = ranking.RankingState()
    ...     _ = state.update([pos], [neg])
    ...     state.save(f"part-{part}.npz")
    >>> merge_files(states=["part-0.npz", "part-1.npz"])["mrr"].value
    0.75
    """
    fields = fields_of(merge_files)
    given = read_all(fields, locals())
    refuse_overwriting(fields, given, shown)
    paths, saved = given.pop("states"), given.pop("save")
    merged: Any = None
    for path in paths:
        kind, _, _ = load_state(path)
        state = state_class(kind).load(path)
        merged = state if merged is None else merged.merge(state)
    taken = inspect.signature(family(merged.kind).module("evaluate").evaluate_state).parameters
    for name in [name for name in given if name not in taken]:
        # What needs no threads runs in at most that many.
        if fields[name].is_given(given.pop(name)) and name != "threads":
            what = f"{shown(name)} does not go with states of {merged.kind}"
            raise OptionError(what, fix="Leave it out.").about(name)
    if saved is not None:
        merged.save(saved)
        progress.say(f"wrote {saved}")
    evaluation: Evaluation = merged.evaluate(**given)
    evaluation.inputs = lambda: [receipt_input("state", path) for path in paths]
    return evaluation
