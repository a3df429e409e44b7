"""Which explainer is better, event by event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.metric import NoChance
from graphgauge.explanation.ask import collect
from graphgauge.explanation.declared import found
from graphgauge.explanation.evaluate import as_table, evaluate, items_of, measured_by
from graphgauge.explanation.inputs import Explanation
from graphgauge.explanation.sample import RANDOM, Rules, sample_of
from graphgauge.explanation.table import AnswerTable
from graphgauge.stats.comparison import compare as compare_runs
from graphgauge.stats.outcome import Comparison


def compare(
    table: Any,
    metric: str = "necessity_auc",
    *,
    baseline: str | None = None,
    explainers: Sequence[str] | str | None = None,
    random: bool = True,
    margin: float | None = None,
    metrics_compared: int = 1,
    confidence: float = 0.95,
    **options: Any,
) -> Comparison:
    """Which explainer is better, event by event: tests of paired differences with Holm's correction.

    All pairs of explainers, or each against a baseline, over the events for which all of them have a value: the values
    of single events that `evaluate` has. The random explainer is one of them, unless `random` is false:
    `baseline="random explainer"` compares each with it.

    Parameters
    ----------
    table
        The result of `collect` or `read_table`; or explanations, for a metric that needs no model.
    metric
        Key of the metric. An explainer that names edges against the answer changes it as much as one that names edges
        for it: prefer one with a sign, such as `fidelity_drop.signed@0.1`, to the size of a change.
    baseline
        The explainer that the others are compared with.
    explainers
        Compare only these.
    random
        Whether the random explainer is one of them.
    margin, metrics_compared, confidence
        As in `stats.compare`.
    **options
        As in `evaluate`: `score`, `label_threshold`, `delta_t`, `protocol`.

    Returns
    -------
    Comparison
        Standings, pairs with difference, interval, p and effect size, and a conclusion in one sentence.

    Raises
    ------
    InputError
        If the explainers have fewer than two events in common.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> class Sum:
    ...     model_output = "probability"
    ...     def predict(self, subgraph, target, masks):
    ...         return 0.1 + 0.2 * masks[:, 0] + 0.1 * masks.sum(1)
    >>> graph = explanation.Subgraph([[0, 1, 2], [1, 2, 3]])
    >>> found = [
    ...     explanation.Explanation(explanation.Context(graph, event=event), weights, explainer=name)
    ...     for event in range(8)
    ...     for name, weights in (("right", [3, 2, 1]), ("wrong", [1, 2, 3]))
    ... ]
    >>> table = explanation.collect(Sum(), found, sparsity_levels=[0.3], random=0)
    >>> test = explanation.compare(table, "fidelity_drop@0.3", random=False)
    >>> {standing.method: round(standing.mean, 4) for standing in test.standings}
    {'right': 0.3, 'wrong': 0.1}
    """
    if isinstance(table, Sequence) and table and isinstance(table[0], Explanation):
        table = collect(None, table, metrics=[metric])
    answers = as_table(table)
    entry, params = found(metric)
    key = entry.key_of(**params)
    names = [explainers] if isinstance(explainers, str) else list(explainers or answers.explainers)
    for name in names:
        one_of("explainer", name, answers.explainers)
    asked = None if options.get("protocol") else [key]
    runs = {name: _light(evaluate(answers, explainer=name, metrics=asked, **options)) for name in names}
    drawn = not isinstance(entry.chance, NoChance) and "seeds" not in entry.needs
    if random and drawn and RANDOM not in names and runs:
        runs |= _of_random(answers, key, next(iter(runs.values())), options)
    if len(runs) < 2:
        fix = "A comparison needs at least two explainers."
        raise InputError(f"found explainers: {', '.join(runs) or 'none'}", fix=fix)
    if any(key not in run.per_item.values for run in runs.values() if run.per_item is not None):
        raise OptionError(f"{key} is not a mean over events", fix="Compare one such as fidelity_drop.")
    _require_common(key, runs)
    return compare_runs(
        {name: run.named(method=name) for name, run in runs.items()},
        metric=key,
        baseline=baseline,
        over="items",
        margin=margin,
        metrics_compared=metrics_compared,
        missing="omit",
        confidence=confidence,
    )


def _require_common(key: str, runs: Mapping[str, Evaluation]) -> None:
    """Two events need a value for all."""
    known = [
        {*each.per_item.ids[~np.isnan(each.per_item[key])].tolist()}
        for each in runs.values()
        if each.per_item is not None
    ]
    common = len(set.intersection(*known))
    if common < 2:
        what = f"{common} events have {key} for all of {', '.join(runs)}"
        fix = "Two are needed. Give all explanations of one event the same id (event=)."
        raise InputError(what, fix=fix)


def _light(evaluation: Evaluation) -> Evaluation:
    """The results and values of events alone: a comparison looks at numbers."""
    return Evaluation(
        "explanation",
        evaluation.values(),
        conventions=evaluation.conventions,
        per_item=evaluation.per_item,
        findings=(),
    )


def _of_random(table: AnswerTable, key: str, like: Evaluation, options: Mapping[str, Any]) -> dict[str, Evaluation]:
    """The random explainer over all events: its orders are the same for every explainer of an event."""
    rules = Rules(**{name: options[name] for name in ("score", "label_threshold", "delta_t") if name in options})
    sample = sample_of(table, None, rules)
    own = sample.shuffled if "truth" in found(key)[0].needs else sample.random
    if not len(own.owner):
        return {}
    _, measured, _ = measured_by(own, [key], 0.95, like[key].conventions, options.get("protocol"))
    if not np.isfinite([each.value for each in measured.results]).all():
        return {}
    return {RANDOM: Evaluation("explanation", measured.results, per_item=items_of(own, measured), findings=())}
