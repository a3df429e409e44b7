"""A greedy explainer: what a model answers differently without, one unit at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge.core.types import Floats, Mask
from graphgauge.explanation.ask import as_model, output_of
from graphgauge.explanation.events import answer_rows, checked_outputs, probabilities
from graphgauge.explanation.inputs import Context, Explanation
from graphgauge.io.code import own_code


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
