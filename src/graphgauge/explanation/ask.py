"""Asking a model: every distinct mask of an event once, for all explainers, metrics and random orders together.

And `greedy`, which searches by asking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, refuse_nan
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import whole_number
from graphgauge.core.types import Floats, Mask
from graphgauge.explanation.declared import wanted_by
from graphgauge.explanation.events import Event, answer_rows, checked_outputs, grouped, probabilities
from graphgauge.explanation.inputs import Context, Explanation, Model, Subgraph
from graphgauge.explanation.masks import MODEL_OUTPUT, Settings, needed_masks, numbers_of, shares_of
from graphgauge.explanation.table import AnswerTable, Journal
from graphgauge.io.code import own_code

Stages = Callable[[str, int, int], None]
# Largest difference between the probabilities of one mask alone and in a batch.
INVARIANT = 1e-4


def collect(
    model: Any,
    explanations: Iterable[Explanation],
    *,
    metrics: str | Sequence[Any] | None = None,
    sparsity_levels: Any = None,
    topk: Any = None,
    model_output: str | None = None,
    result_as_logit: bool | None = None,
    by: str = "value",
    normalize: str = "none",
    ties: str = "fixed",
    random: int = 3,
    acc_cap: float = 0.3,
    acc_points: int = 16,
    robust_drop: float = 0.1,
    robust_keep: float = 0.9,
    robust_samples: int = 20,
    batch_edges: int = 30_000,
    seed: int = 0,
    path: str | Path | None = None,
    progress: Stages | None = None,
) -> AnswerTable:
    """Run a model on all masks that the metrics need, each distinct mask of an event once.

    In every event one mask is asked a second time, alone: if answers depend on the rest of a batch, masks are sent one
    by one from there on; if they do not repeat at all, a finding says so.

    Parameters
    ----------
    model
        An object with `predict(subgraph, target, masks)`, see `Model`, or with `predict_proba_with_mask`. None if
        `metrics` need no answers.
    explanations
        Explanations of any number of events, explainers and seeds. Those of one event share its masks.
    metrics
        Keys of the metrics that the answers are for; only their masks are sent. By default those of all metrics except
        robust fidelity.
    sparsity_levels, topk
        How much of an explanation is kept or dropped: shares of the candidates, and numbers of them. By default those
        that `metrics` name, or 0.05, 0.1, 0.2, 0.3, 0.4 and 0.5.
    model_output
        What the model returns: `logit` or `probability`. Not needed if the model has `model_output`.
    result_as_logit
        The original name for it: true for logits.
    by
        Candidates are ranked by importance, or by its absolute value (`abs`).
    normalize
        `none` or `minmax`, as in the original protocol: no ranking depends on it.
    ties
        Candidates of equal importance are ordered by time, source and target (`fixed`), by their position
        (`position`), or values are averaged over random orders of them (`average`).
    random
        Number of random orders of an event's candidates for the random explainer; 0 for none.
    acc_cap, acc_points
        The sweep of `acc_auc`: this many shares from 0 to the cap.
    robust_drop, robust_keep, robust_samples
        Robust fidelity drops this share of the explanation, or keeps this share of the rest, in this many samples.
    batch_edges
        Number of edges per call of the model, over all masked copies.
    seed
        Seed of random orders.
    path
        A .jsonl file to which every finished event is appended. Answers that it has are not asked for again, except
        one; explainers and levels can be added.
    progress
        Called after every event with the name of the stage, the number of finished events and the total.

    Returns
    -------
    AnswerTable
        The model's answers to all masks, for `evaluate` and `compare`.

    Raises
    ------
    InputError
        If an importance or an answer is NaN, or answers have another shape or differ from those that are there.
    OptionError
        If it is not known whether the model returns logits or probabilities.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> class Sum:
    ...     model_output = "probability"
    ...     def predict(self, subgraph, target, masks):
    ...         return 0.1 + 0.2 * masks[:, 0] + 0.1 * masks.sum(1)
    >>> graph = explanation.Subgraph([[0, 1, 2], [1, 2, 3]])
    >>> found = explanation.Explanation(explanation.Context(graph, event=0), [0.9, 0.2, 0.1], explainer="mine")
    >>> table = explanation.collect(Sum(), [found], sparsity_levels=[0.3], random=0)
    >>> table.explainers, table.masks
    (['mine'], 4)
    """
    one_of("normalize", normalize, ("none", "minmax"))
    size = whole_number("batch_edges", batch_edges, 1)
    wanted = wanted_by(metrics)
    levels, numbers = shares_of(sparsity_levels), numbers_of(topk)
    if sparsity_levels is None:
        levels, numbers = wanted.shares, tuple(sorted({*wanted.numbers, *numbers}))
    if model is None and wanted.kinds:
        fix = "Only metrics of the edges, such as truth_auc, need none."
        raise InputError("is missing", where="model", fix=fix)
    asked: Any = as_model(model) if wanted.kinds else None
    masking = _attribute(model, "masking") if wanted.kinds else None
    settings = Settings(
        model_output=output_of(model, model_output, result_as_logit) if wanted.kinds else None,
        levels=levels,
        topk=numbers,
        by=by,
        ties=ties,
        random=random,
        seed=seed,
        acc_cap=acc_cap,
        acc_points=acc_points,
        asked=wanted.kinds,
        robust_drop=robust_drop,
        robust_keep=robust_keep,
        robust_samples=robust_samples,
        masking=masking if isinstance(masking, str) else None,
    )
    events = grouped(explanations)
    for each in (each for event in events for each in event.explanations):
        refuse_nan(each.importance, "importance", fix=f"{each.who}. Fix the explainer, or leave this one out.")
    journal = Journal(path, settings)
    asking = _Asking(asked, settings, size, journal.held.values())
    known = next((each for each in events if each.id in journal.held and len(journal.held[each.id].masks)), None)
    if known is not None and wanted.kinds:
        asking.recognise(journal.joined(known))
    for done, event in enumerate(events, 1):
        joined = journal.joined(event)
        masks = needed_masks(event.subgraph, joined.explanations, settings, event.id, joined.row_of)
        journal.add(asking.answered(joined, masks) if len(masks) else joined)
        if progress is not None and len(masks):
            progress("asking the model", done, len(events))
    journal.close()
    return AnswerTable(settings, tuple(journal.held[event.id] for event in events))


class _Asking:
    """Sends masks in batches, or one by one if the model's answers depend on the rest of the batch."""

    def __init__(self, model: Any, settings: Settings, batch_edges: int, held: Iterable[Event]) -> None:
        self._model, self._settings, self._batch_edges = model, settings, batch_edges
        self._method = model.method if isinstance(model, MaskedCalls) else f"{type(model).__name__}.predict"
        self._alone = isinstance(model, MaskedCalls)
        self._classes = next((event.outputs.shape[1] for event in held if len(event.outputs)), None)

    def answered(self, event: Event, masks: Mask) -> Event:
        """The event with the answers to these masks, too."""
        outputs, apart = self._watched(event, masks)
        if apart > INVARIANT and not self._alone:
            self._alone = True
            outputs, apart = self._watched(event, masks)
        return event.answered(masks, outputs, apart)

    def recognise(self, event: Event) -> None:
        """Ask again about one of the answers that an event has; another model than before would answer otherwise."""
        apart = self._apart(event, event.masks, event.outputs, len(event.masks) // 2)
        if apart > INVARIANT >= event.apart:
            what = f"another model answered before: its probabilities for one mask differ by {apart:.2g}"
            fix = "Ask the same model, or collect into another file."
            raise InputError(what, where=f"event {event.id!r:.80}, model {self._method}", fix=fix)

    def _watched(self, event: Event, masks: Mask) -> tuple[Floats, float]:
        """The answers, and how far one of the first batch is from that of a second time, alone."""
        step = 1 if self._alone else max(self._batch_edges // max(event.subgraph.edges, 1), 1)
        parts = [self._predicted(event, masks[at : at + step]) for at in range(0, len(masks), step)]
        outputs = np.concatenate(parts)
        return outputs, self._apart(event, masks, outputs, min(step, len(masks)) // 2)

    def _apart(self, event: Event, masks: Mask, outputs: Floats, row: int) -> float:
        """How far the answer to a mask is from that of a second time, alone."""
        pair = np.stack([outputs[row], self._predicted(event, masks[row : row + 1])[0]])
        first, second = probabilities(pair, self._settings.model_output)
        return float(np.abs(first - second).max())

    def _predicted(self, event: Event, masks: Mask) -> Floats:
        context = event.context
        with own_code(f"event {event.id!r:.80}, model {self._method}"):
            # A copy, because a model may write into its inputs.
            answer = self._model.predict(context.subgraph, context.target, masks.copy())
            where = f"{self._method}, answers of the model, event {event.id!r:.80}"
            outputs = answer_rows(answer, len(masks), where)
        if self._classes not in (None, outputs.shape[1]):
            raise InputError(f"{outputs.shape[1]} outputs per mask, but {self._classes} before", where=where)
        self._classes = outputs.shape[1]
        return checked_outputs(outputs, self._settings.model_output, where)


# ---- a simple search


def greedy(model: Any, context: Context, *, model_output: str | None = None) -> Explanation:
    """An explanation that always drops next what lowers the probability of the predicted class most.

    It asks the model about E (E + 1) / 2 masks of E units. As one more explainer in `compare`, it says how far the
    others are from a simple search. The unit that is dropped first is the most important one.

    Parameters
    ----------
    model
        As in `collect`.
    context
        The question.
    model_output
        What the model returns: `logit` or `probability`. Not needed if the model has `model_output`.

    Returns
    -------
    Explanation
        Of the explainer `greedy`, for `collect`.

    Raises
    ------
    InputError
        If the model's answers have another shape, or are NaN.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> class Sum:
    ...     model_output = "probability"
    ...     def predict(self, subgraph, target, masks):
    ...         return 0.1 + 0.2 * masks[:, 0] + 0.1 * masks.sum(1)
    >>> context = explanation.Context(explanation.Subgraph([[0, 1, 2], [1, 2, 3]]))
    >>> explanation.greedy(Sum(), context).importance.tolist()
    [3.0, 2.0, 1.0]
    """
    asked, output, subgraph = as_model(model), output_of(model, model_output), context.subgraph

    def said(kept: Mask) -> Floats:
        with own_code(f"model {type(model).__name__}"):
            answer = asked.predict(subgraph, context.target, kept[:, subgraph.unit_of])
        return probabilities(checked_outputs(answer_rows(answer, len(kept), "model"), output, "model"), output)

    units = subgraph.unit_count
    kept, importance = np.ones(units, bool), np.zeros(units)
    predicted = int(np.argmax(said(kept[np.newaxis])[0]))
    left = np.argsort(subgraph.unit_places("fixed"))
    for step in range(units):
        tried = np.repeat(kept[np.newaxis], len(left), axis=0)
        tried[np.arange(len(left)), left] = False
        lowest = left[np.argmin(said(tried)[:, predicted])]
        kept[lowest], importance[lowest] = False, units - step
        left = left[left != lowest]
    return Explanation(context, importance[subgraph.unit_of], "greedy")


# ---- models


def as_model(model: Any) -> Any:
    """The model in the form that `collect` calls: unchanged, or wrapped in an adapter."""
    with own_code(f"model {type(model).__name__}"):  # checking for a property calls it
        if isinstance(model, Model):
            return model
        if callable(getattr(model, "predict_proba_with_mask", None)):
            return MaskedCalls(model)
    raise InputError(
        f"{type(model).__name__} has neither predict nor predict_proba_with_mask",
        where="model",
        fix="Give it predict(subgraph, target, masks), or wrap a PyTorch Geometric module in PyGModel.",
    )


def output_of(model: Any, stated: str | None, as_logit: bool | None = None) -> str:
    """Whether a model returns logits or probabilities, as stated by the caller or the model."""
    if as_logit is not None:
        said = "logit" if as_logit else "probability"
        if stated not in (None, said):
            raise OptionError(f"model_output={stated!r}, but result_as_logit={as_logit}", fix="Give one of them.")
        stated = said
    own = _attribute(model, "model_output")
    if stated is None and own is None:
        fix = 'Pass model_output="logit" or "probability".'
        raise OptionError("model_output is missing: does the model return logits or probabilities?", fix=fix)
    if stated is not None and own is not None and stated != own:
        raise OptionError(f"model_output={stated!r}, but the model has model_output={own!r}")
    return one_of("model_output", str(stated or own), MODEL_OUTPUT)


def _attribute(model: Any, name: str) -> Any:
    """What a model says of itself; None if it does not."""
    with own_code(f"{type(model).__name__}.{name}"):
        return getattr(model, name, None)


class MaskedCalls:
    """A model that takes one mask per call: `predict_proba_with_mask(subgraph, target, edge_mask)`.

    It gets the subgraph's native object if there is one. For the whole graph, `predict_proba` is called if it exists.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self.method = f"{type(model).__name__}.predict_proba_with_mask"

    def predict(self, subgraph: Subgraph, target: Any, masks: Mask) -> Any:
        """One answer after the other."""
        native = subgraph if subgraph.native is None else subgraph.native
        return np.stack([self._one(native, target, mask) for mask in masks])

    def _one(self, subgraph: Any, target: Any, mask: Mask) -> Any:
        if mask.all() and callable(getattr(self._model, "predict_proba", None)):
            answer = self._model.predict_proba(subgraph, target)
        else:
            answer = self._model.predict_proba_with_mask(subgraph, target, mask.astype(int).tolist())
        array = as_numeric(answer, f"{self.method}, answers of the model")
        # There is one mask, so a leading axis of length one is the batch axis, not the classes.
        return array[0] if array.ndim == 2 and len(array) == 1 else array.reshape(-1) if array.ndim == 0 else array
