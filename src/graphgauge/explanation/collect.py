"""Run a model on the distinct masks of every event that the metrics need, in batches, and store finished events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import nan_policy, whole_number
from graphgauge.explanation.adapters import as_model, said_masking, said_output
from graphgauge.explanation.asking import Asking, missing_masks
from graphgauge.explanation.inputs import Explanation
from graphgauge.explanation.journal import Journal
from graphgauge.explanation.masks import (
    SWEEP,
    TIME_TO_EXPLAIN,
    AccAuc,
    Robust,
    Settings,
    checked_options,
)
from graphgauge.explanation.needed import needed_levels, needed_masks
from graphgauge.explanation.records import Event, grouped
from graphgauge.explanation.table import AnswerTable

Stages = Callable[[str, int, int], None]


def collect(
    model: Any,
    explanations: Iterable[Explanation],
    *,
    levels: Sequence[float] | None = None,
    topk: Sequence[int] | int | None = None,
    model_output: str | None = None,
    by: str = "value",
    normalize: str = "none",
    ties: str | None = None,
    random: int = 3,
    robust_drop: float = 0.1,
    robust_keep: float = 0.9,
    robust_samples: int = 20,
    batch_edges: int = 30_000,
    seed: int = 0,
    nan: str = "raise",
    metrics: Sequence[str] | None = None,
    convention: str | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    table: AnswerTable | None = None,
    path: str | Path | None = None,
    progress: Stages | None = None,
    **original: Any,
) -> AnswerTable:
    """Run a model on all masks that the metrics need, each distinct mask of an event once.

    Parameters
    ----------
    model
        An object with `predict(subgraph, target, masks)`, see `Model`, or with `predict_proba_with_mask`. None if
        `metrics` need no answers.
    explanations
        Explanations of any number of events, explainers and seeds. Those of one event share its masks.
    levels, topk
        How much of an explanation is kept or dropped: shares of the candidate edges, and numbers of them. By default
        those that `metrics` name, or 0.05, 0.1, 0.2, 0.3, 0.4 and 0.5.
    model_output
        What the model returns: `logit` or `probability`. Not needed if the model has `model_output`.
    by, normalize
        Edges are ranked by importance, or by its absolute value (`abs`); `minmax` scales it to [0, 1].
    ties
        Edges of equal importance are ordered by time, source and target (`fixed`, the default), by their position
        (`position`), or values are averaged over random orders of them (`average`).
    random
        Number of random orders of an event's edges for the random explainer; 0 for none.
    robust_drop, robust_keep, robust_samples
        Robust fidelity drops this share of the explanation, or keeps this share of the rest, in this many samples.
    batch_edges
        Number of edges per call of the model, over all masked copies.
    nan
        `raise`, or `omit`: explanations with NaN, and events whose answers are NaN, are left out and counted.
    metrics
        Keys of the metrics that the answers are for; only their masks are sent. By default those of all metrics except
        robust fidelity.
    convention
        `time_to_explain` also sends the masks of that library, which rounds and breaks ties differently. With `pyg`,
        nothing is sent: explanations bring the answers to their own masks with them.
    options
        `{"acc_auc": {...}}`, if its sweep differs from the default.
    table, path
        Answers that are not asked for again: a table, or a .jsonl file to which every finished event is appended.
        Explainers and levels can be added to both.
    progress
        Called after every event with the name of the stage, the number of finished events and the total.
    seed
        Seed of random orders and masks.
    original
        Options under the names of time_to_explain, which are translated.

    Returns
    -------
    AnswerTable
        The model's answers to all masks, for `evaluate` and `compare`.

    Raises
    ------
    InputError
        If the model's answers have another shape, or are NaN and `nan` is `raise`.
    OptionError
        If it is not known whether the model returns logits or probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import explanation
    >>> class Sum:
    ...     model_output = "probability"
    ...     def predict(self, subgraph, target, masks):
    ...         return 0.1 + 0.2 * masks[:, 0] + 0.1 * masks.sum(1)
    >>> graph = explanation.Subgraph([[0, 1, 2], [1, 2, 3]])
    >>> found = explanation.Explanation(explanation.Context(graph, event=0), [0.9, 0.2, 0.1], explainer="mine")
    >>> table = explanation.collect(Sum(), [found], levels=[0.3], random=0)
    >>> table.explainers
    ['mine']
    """
    refuse_original(original)
    nan_policy(nan)
    if levels is None:
        levels, topk = needed_levels(metrics, convention, topk)
        if table is not None:  # levels are only added
            levels = sorted({*levels, *table.settings.levels})
            topk = sorted({*([] if topk is None else np.atleast_1d(topk).tolist()), *table.settings.topk})
    given = checked_options(options, {"acc_auc": SWEEP})
    kinds = needed_masks(metrics, convention)
    if convention == TIME_TO_EXPLAIN:
        if ties not in (None, "position") or by != "value" or normalize != "none":
            raise OptionError(
                f'convention="{convention}" ranks by value, and ties by position',
                fix="Leave out ties, by, normalize.",
            )
        ties = "position"
    if model is None and kinds:
        raise InputError("is missing", where="model", fix="Only metrics of the edges, such as truth_auc, need none.")
    asked: Any = as_model(model) if kinds else None
    output = said_output(model, model_output) if kinds else None
    settings = Settings(
        output,
        levels,
        topk,
        by,
        normalize,
        ties or "fixed",
        random,
        seed,
        AccAuc(**given.get("acc_auc", {})),
        kinds,
        Robust(robust_drop, robust_keep, robust_samples),
        convention if convention == TIME_TO_EXPLAIN else None,
        said_masking(model) if kinds else None,
    )
    asking = Asking(asked, settings, whole_number("batch_edges", batch_edges, 1), nan)
    events, notes = _checked(grouped(explanations), nan)
    with Journal(path, settings, table) as journal:
        asking.go_on(journal.rows, journal.notes)
        events = [journal.joined(event) for event in events]
        pending = [event for event in events if not _is_done(event, journal, settings)]
        for done, answered in enumerate(asking.answers(pending, journal.held), len(events) - len(pending) + 1):
            journal.add(answered, asking.notes)
            if progress is not None:
                progress("asking the model", done, len(events))
        journal.note((*asking.notes, *notes, *asking.omissions()))
        answers = journal.held
        return AnswerTable(settings, tuple(answers[event.id] for event in events if event.id in answers), journal.notes)


def refuse_original(given: Mapping[str, Any]) -> None:
    """Names of the original protocol's configuration are answered with those of today."""
    if given:
        name = next(iter(given))
        fix = f"{ORIGINAL[name]}." if name in ORIGINAL else "See help(graphgauge.explanation.collect)."
        raise OptionError(f"there is no option {name}", fix=fix)


# Configuration names of time_to_explain, and what they are called here.
ORIGINAL = {
    "sparsity_levels": "Pass levels=[0.1, 0.2]",
    "sparsity": "Pass levels=[0.1]",
    "value_sparsity": 'Pass levels=[0.1] and read the key "fidelity_drop@0.1"',
    "k": "Pass topk=[5]",
    "k_max": "Levels are shares of all candidate edges; pass topk=[5] for numbers of edges",
    "result_as_logit": 'Pass model_output="logit" or "probability": what the model returns',
    "score_is_logit": 'Pass model_output="logit" or "probability": what the model returns',
    "mode": 'Pass options={"fidelity_best": {"mode": "drop"}} or {"acc_auc": {"mode": "keep"}}',
    "s_max": 'Pass options={"acc_auc": {"cap": 0.3}}',
    "s_min": "The sweep of acc_auc starts at 0",
    "num_points": 'Pass options={"acc_auc": {"points": 16}}',
    "normalize_auc": "acc_auc is always divided by the range of its sweep",
    "tie_break": 'Pass ties="position" for the order of the candidates',
    "prefer_selected": "from_result ranks explicitly selected edges first",
    "n_restarts": "Pass explanations with several seeds (seed=) and read stability_jaccard",
    "n_perturbations": 'Pass robust_samples= and ask for metrics=["robust_drop"]',
    "threshold": "Pass label_threshold= to evaluate()",
    "num_hops": "Pass it to from_pyg",
    "candidates": "Pass it to Subgraph or from_pyg",
    "groups": "Pass it to evaluate()",
}


def _is_done(event: Event, journal: Journal, settings: Settings) -> bool:
    """Whether nothing is left to ask about an event."""
    return journal.holds(event) and not len(missing_masks(event, journal.held[event.id], settings))


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
