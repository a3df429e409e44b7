"""Adapters for models and explanations of other libraries; those for PyTorch Geometric are in `pyg`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric, on_host, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.explanation.fields import lined_up, whole_numbers
from graphgauge.explanation.inputs import Context, Explanation, Masks, Model, Subgraph
from graphgauge.explanation.masks import MODEL_OUTPUT
from graphgauge.old.core.factory import own_code


def as_model(model: Any) -> Any:
    """The model in the form that `collect` calls: unchanged, or wrapped in an adapter."""
    if isinstance(model, type):
        raise InputError(f"{model.__name__} is a class", where="model", fix="Pass an instance of it.")
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


def method_asked(model: Any) -> str:
    """The name of the model's method for messages: that of the wrapped model, not of an adapter."""
    if isinstance(model, MaskedCalls):
        return model.method
    return f"{type(model).__name__}.predict"


def said_output(model: Any, stated: str | None) -> str:
    """Whether a model returns logits or probabilities, as stated by the caller or the model."""
    with own_code(f"{type(model).__name__}.model_output"):
        own = getattr(model, "model_output", None)
    if stated is None and own is None:
        raise OptionError(
            "model_output is missing: does the model return logits or probabilities?",
            fix='Pass model_output="logit" or "probability".',
        )
    if stated is not None and own is not None and stated != own:
        raise OptionError(f"model_output={stated!r}, but the model has model_output={own!r}")
    return one_of("model_output", str(stated or own), MODEL_OUTPUT)


def said_masking(model: Any) -> str | None:
    """What a model does with masked edges, if it says so: `remove`, `weight`, or words of its own."""
    with own_code(f"{type(model).__name__}.masking"):
        own = getattr(model, "masking", None)
    return own if isinstance(own, str) else None


class MaskedCalls:
    """A model that takes one mask per call: `predict_proba_with_mask(subgraph, target, edge_mask)`.

    It gets the subgraph's native object if there is one. For the whole graph, `predict_proba` is called if it exists.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self.method = f"{type(model).__name__}.predict_proba_with_mask"

    def predict(self, subgraph: Subgraph, target: Any, masks: Masks) -> Any:
        native = subgraph if subgraph.native is None else subgraph.native
        return np.stack([self._one(native, target, mask) for mask in masks])

    def _one(self, subgraph: Any, target: Any, mask: Masks) -> Any:
        if mask.all() and callable(getattr(self._model, "predict_proba", None)):
            name = f"{type(self._model).__name__}.predict_proba"
            with own_code(f"model {name}"):
                answer = self._model.predict_proba(subgraph, target)
        else:
            name = self.method
            with own_code(f"model {name}"):
                answer = self._model.predict_proba_with_mask(subgraph, target, mask.astype(int).tolist())
        array = as_numeric(answer, f"{name}, answers of the model")
        # There is one mask, so a leading axis of length one is the batch axis, not the classes.
        return array[0] if array.ndim == 2 and len(array) == 1 else array.reshape(-1) if array.ndim == 0 else array


# Fields of a result of time_to_explain that list the chosen events; they rank before all others.
_SELECTED = ("selected_eidx", "cf_event_ids", "coalition_eidx", "explanation_event_ids", "omitted_edge_idxs")


def from_result(
    result: Any,
    context: Any = None,
    *,
    src: Any = None,
    dst: Any = None,
    time: Any = None,
    target: Any = None,
    explainer: str | None = None,
    event: str | int | None = None,
    label: int | None = None,
    truth: Any = None,
) -> Explanation:
    """An `Explanation` from a result of time_to_explain: an object with `importance_edges`, and its context.

    Every candidate event is a separate unit. If the result lists selected events (`extras["selected_eidx"]` and
    similar), these rank before all others, as in that library.

    Parameters
    ----------
    context
        The `ExplanationContext` of the result, with `subgraph.payload["candidate_eidx"]`; by default `result.context`.
    src, dst, time
        Ends and times of all events of the data; candidates are numbered from 0 and index into them. By default those
        of the context's subgraph, if it lists one edge for each candidate.
    target, label, explainer, event
        By default the context's target and label, the result's explainer, and its fingerprint.
    result
        An object with `importance_edges`.
    truth
        Which candidates are in the right explanation, if it is known.

    Returns
    -------
    Explanation
        For `collect`, `evaluate` and `write_explanations`.

    Raises
    ------
    InputError
        If candidates and importances have different lengths, or the ends of events are not known.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from graphgauge import explanation
    >>> context = SimpleNamespace(subgraph=SimpleNamespace(payload={"candidate_eidx": [2, 0]}), target=(0, 5.0))
    >>> result = SimpleNamespace(importance_edges=[0.2, 0.9], context=context, elapsed_sec=0.1)
    >>> events = {"src": [0, 1, 2], "dst": [1, 2, 0], "time": [1, 2, 3]}
    >>> found = explanation.from_result(result, **events, explainer="theirs", event=7)
    >>> found.importance.tolist(), found.context.subgraph.times.tolist()
    ([0.2, 0.9], [3, 1])
    """
    context = getattr(result, "context", None) if context is None else context
    native = getattr(context, "subgraph", None)
    payload = getattr(native, "payload", None)
    payload = payload if isinstance(payload, Mapping) else {}
    extras = getattr(result, "extras", None)
    extras = extras if isinstance(extras, Mapping) else {}
    numbers = payload.get("candidate_eidx", extras.get("candidate_eidx"))
    importance = getattr(result, "importance_edges", None)
    if native is None:
        raise InputError("has no context with a subgraph", where="result", fix="Pass the result's context= as well.")
    if numbers is None or importance is None:
        absent = "importance_edges" if importance is None else "candidate_eidx"
        raise InputError(f"there is no {absent}", where="result" if importance is None else "context")
    candidates = whole_numbers(numbers, "candidate_eidx").reshape(-1)
    if len(np.unique(candidates)) < len(candidates):
        raise InputError("an event is listed twice", where="candidate_eidx")
    ends, times = _ends(candidates, src, dst, time, native, payload)
    nodes, rows = np.unique(ends, return_inverse=True)
    subgraph = Subgraph(rows.reshape(ends.shape), nodes, times, units=np.arange(len(candidates)), native=native)
    target = getattr(context, "target", None) if target is None else target
    label = getattr(context, "label", None) if label is None else label
    name = getattr(result, "explainer", None) if explainer is None else explainer
    fingerprint = getattr(result, "context_fp", None) or None
    about = Context(subgraph, target, fingerprint if event is None else event, label, truth)
    values = _selected_first(as_numeric(importance, "importance_edges"), candidates, extras)
    return Explanation(about, values, "explainer" if name is None else str(name), getattr(result, "elapsed_sec", None))


def _ends(candidates: Any, src: Any, dst: Any, time: Any, native: Any, payload: Mapping[str, Any]) -> tuple[Any, Any]:
    """Sources and targets of the candidates as two rows, and their times."""
    if src is None and dst is None:
        listed = payload.get("candidate_edge_index", getattr(native, "edge_index", None))
        pairs = np.asarray([] if listed is None else on_host(listed, "candidate_edge_index"))
        pairs = pairs.T if pairs.ndim == 2 and pairs.shape == (len(candidates), 2) else pairs
        if pairs.shape != (2, len(candidates)):
            raise InputError(
                f"{len(candidates)} candidates, but their edges have shape {pairs.shape}",
                where="context.subgraph",
                fix="Pass src= and dst= of all events.",
            )
        moments = getattr(native, "timestamps", None) if time is None else time
        return pairs, None if moments is None else lined_up(moments, len(candidates), "timestamps", "candidate")
    source, sink = as_labels(src, "src"), as_labels(dst, "dst")
    require_shape(sink, source.shape, "dst", "Pass one node per edge in src and in dst.")
    outside = candidates[(candidates < 0) | (candidates >= len(source))]
    if outside.size:
        raise InputError(f"edge {outside[0]} is not among {len(source)}", where="candidate_eidx")
    times = None
    if time is not None:
        moments = as_numeric(time, "time")
        require_shape(moments, source.shape, "time", "Pass one time per edge.")
        times = moments[candidates]
    return np.stack([source[candidates], sink[candidates]]), times


def _selected_first(importance: Any, candidates: Any, extras: Mapping[str, Any]) -> Any:
    """The importance; if some events are selected, ranks in its place, with these first in the same order."""
    listed = next((extras[name] for name in _SELECTED if extras.get(name) is not None), None)
    if listed is None or importance.shape != candidates.shape or np.isnan(importance).any():
        return importance  # NaN is reported by the explanation
    chosen = np.isin(candidates, whole_numbers(listed, "selected events"))
    both = np.stack([chosen.astype(float), importance.astype(float)])
    return np.unique(both, axis=1, return_inverse=True)[1].reshape(-1).astype(float)
