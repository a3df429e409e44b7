"""Adapters for models and explanations of other libraries; those for PyTorch Geometric are in `pyg`."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.factory import own_code
from graphgauge.explanation.fields import whole_numbers
from graphgauge.explanation.inputs import Context, Explanation, ManyModel, Masks, Model, Subgraph
from graphgauge.explanation.masks import MODEL_OUTPUT


def as_model(model: Any) -> Any:
    """The model in the form that `collect` calls: unchanged, or wrapped in an adapter."""
    if isinstance(model, type):
        raise InputError(f"{model.__name__} is a class", where="model", fix="Pass an instance of it.")
    with own_code(f"model {type(model).__name__}"):  # checking for a property calls it
        if isinstance(model, Model | ManyModel):
            return model
        if callable(getattr(model, "predict_proba_with_mask", None)):
            return MaskedCalls(model)
    raise InputError(
        f"{type(model).__name__} has neither predict nor predict_proba_with_mask", where="model",
        fix="Give it predict(subgraph, target, masks), or wrap a PyTorch Geometric module in PyGModel.",
    )  # fmt: skip


def method_asked(model: Any) -> str:
    """The name of the model's method for messages: that of the wrapped model, not of an adapter."""
    if isinstance(model, MaskedCalls):
        return model.method
    return f"{type(model).__name__}.{'predict_many' if isinstance(model, ManyModel) else 'predict'}"


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


def from_result(
    result: Any, *, src: Any, dst: Any, time: Any = None, target: Any = None, explainer: str = "explainer",
    event: str | int | None = None, **context: Any,
) -> Explanation:  # fmt: skip
    """An `Explanation` from an object with `importance_edges` and `context.subgraph.payload["candidate_eidx"]`.

    `src`, `dst` and `time` cover all edges; candidates are numbered from 0 and index into them. The target defaults to
    that of the context.
    """
    try:
        native = result.context.subgraph
        numbers = native.payload["candidate_eidx"]
        importance = result.importance_edges
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(f"no importance_edges or candidate_eidx ({error})", where="result") from None
    candidates = whole_numbers(numbers, "candidate_eidx").reshape(-1)
    source, sink = as_labels(src, "src"), as_labels(dst, "dst")
    require_shape(sink, source.shape, "dst", "Pass one node per edge in src and in dst.")
    outside = candidates[(candidates < 0) | (candidates >= len(source))]
    if outside.size:
        raise InputError(f"edge {outside[0]} is not among {len(source)}", where="candidate_eidx")
    ends = np.stack([source[candidates], sink[candidates]])
    nodes, rows = np.unique(ends, return_inverse=True)
    times = None
    if time is not None:
        moments = as_numeric(time, "time")
        require_shape(moments, source.shape, "time", "Pass one time per edge.")
        times = moments[candidates]
    subgraph = Subgraph(rows.reshape(ends.shape), nodes, times, native=native)
    target = getattr(result.context, "target", None) if target is None else target
    elapsed = getattr(result, "elapsed_sec", None)
    return Explanation(Context(subgraph, target, event, **context), importance, explainer, elapsed)
