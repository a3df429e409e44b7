"""Run a model on every distinct mask of every event, in batches, and store finished events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.options import nan_policy, whole_number
from graphgauge.explanation.adapters import as_model, said_output
from graphgauge.explanation.asking import Asking
from graphgauge.explanation.inputs import Explanation
from graphgauge.explanation.journal import Journal
from graphgauge.explanation.masks import LEVELS, SWEEP, AccAuc, Settings, checked_options
from graphgauge.explanation.records import Event, grouped
from graphgauge.explanation.table import AnswerTable

Stages = Callable[[str, int, int], None]


def collect(
    model: Any,
    explanations: Iterable[Explanation],
    *,
    levels: Sequence[float] = LEVELS,
    topk: Sequence[int] | int | None = None,
    model_output: str | None = None,
    by: str = "value",
    normalize: str = "none",
    ties: str = "fixed",
    random: int = 3,
    batch_edges: int = 30_000,
    seed: int = 0,
    nan: str = "raise",
    options: Mapping[str, Mapping[str, Any]] | None = None,
    path: str | Path | None = None,
    progress: Stages | None = None,
) -> AnswerTable:
    """Run a model on all masks that the metrics need, each distinct mask of an event once.

    Parameters
    ----------
    model
        An object with `predict(subgraph, target, masks)`, see `Model`, or with `predict_proba_with_mask`.
    explanations
        Explanations of any number of events, explainers and seeds. Those of one event share its masks.
    levels, topk
        How much of an explanation is kept or dropped: shares of the candidate edges, and numbers of them.
    model_output
        What the model returns: `logit` or `probability`. Not needed if the model has `model_output`.
    by, normalize
        Edges are ranked by importance, or by its absolute value (`abs`); `minmax` scales it to [0, 1].
    ties
        Edges of equal importance are ordered by time, source and target (`fixed`), or values are averaged over random
        orders of them (`average`).
    random
        Number of random orders of an event's edges for the random explainer.
    batch_edges
        Number of edges per call of the model, over all masked copies.
    nan
        `raise`, or `omit`: explanations with NaN, and events whose answers are NaN, are left out and counted.
    options
        `{"acc_auc": {...}}`, if its sweep differs from the default.
    path
        A .jsonl file. Every finished event is appended to it; events that it already contains are skipped.
    progress
        Called after every event with the name of the stage, the number of finished events and the total.
    """
    nan_policy(nan)
    asked = as_model(model)
    given = checked_options(options, {"acc_auc": SWEEP})
    settings = Settings(
        said_output(model, model_output), levels, topk, by, normalize, ties, random, seed,
        AccAuc(**given.get("acc_auc", {})),
    )  # fmt: skip
    asking = Asking(asked, settings, whole_number("batch_edges", batch_edges, 1), nan)
    events, notes = _checked(grouped(explanations), nan)
    with Journal(path, settings) as journal:
        asking.go_on(journal.rows, journal.notes)
        pending = [event for event in events if not journal.holds(event)]
        for done, answered in enumerate(asking.answers(pending), len(events) - len(pending) + 1):
            journal.add(answered, asking.notes)
            if progress is not None:
                progress("asking the model", done, len(events))
        journal.note((*asking.notes, *notes, *asking.omissions()))
        answers = {row.id: row for row in journal.rows}
        return AnswerTable(settings, tuple(answers[event.id] for event in events if event.id in answers), journal.notes)


def _checked(events: list[Event], nan: str) -> tuple[list[Event], list[str]]:
    """The events, without explanations that have NaN if `nan` is "omit"."""
    kept, omitted = [], 0
    for event in events:
        whole = []
        for explanation in event.explanations:
            if nan == "raise":
                explanation.refuse_nan()
            if np.isnan(explanation.importance).any():
                omitted += 1
            else:
                whole.append(explanation)
        if whole:
            kept.append(Event(event.context, tuple(whole)))
    return kept, [f"{omitted} explanations with NaN were left out"] if omitted else []
