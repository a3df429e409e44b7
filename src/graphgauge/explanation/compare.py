"""Which explainer is better, event by event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.explanation.collect import collect
from graphgauge.explanation.conventions import CONVENTIONS
from graphgauge.explanation.declared import ABSOLUTE, RANDOM, directed, follows_ranking
from graphgauge.explanation.evaluate import as_table
from graphgauge.explanation.inputs import Explanation
from graphgauge.explanation.samples import Rules, sample_of
from graphgauge.explanation.table import AnswerTable
from graphgauge.old.core.metric import Estimate, Metric, NoChance, find
from graphgauge.old.stats.compare_items import ItemsComparison, compared_items
from graphgauge.old.stats.runs import Better
from graphgauge.old.stats.wilcoxon import require_alpha


def compare(
    table: Any,
    metric: str = "fidelity_drop@0.1",
    *,
    baseline: str | None = None,
    explainers: Sequence[str] | None = None,
    random: bool = True,
    convention: str | None = None,
    score: str = "class",
    absolute: bool = False,
    label_threshold: float = 0.5,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> ItemsComparison:
    """Which explainer is better, event by event: sign-flip tests of paired differences with Holm's correction.

    All pairs of explainers, or each against a baseline, over the events for which all of them have a value. The random
    explainer is one of them, unless `random` is false: `baseline="random explainer"` compares each with it. Fidelity
    and the areas under its curves are compared with their sign, because an explainer that names edges against the
    answer changes it as much as one that names edges for it. `absolute=True` compares the size of the change.

    With `convention`, the metric is one of that library. Explanations can be given in place of a table if they bring
    their answers with them (`convention="pyg"`), or if the metric needs none (`truth_auc`).

    Parameters
    ----------
    table
        The result of `collect` or `read_table`.
    metric
        Key of the metric.
    baseline
        The explainer that the others are compared with.
    explainers
        Compare only these.
    random
        Whether the random explainer is one of them.
    convention, score, absolute, label_threshold, options
        As in `evaluate`.
    alpha
        Level of the family of tests.
    seed
        Seed of random sign flips.

    Returns
    -------
    ItemsComparison
        Mean differences over events, with intervals and adjusted p.

    Raises
    ------
    InputError
        If the explainers have fewer than two events in common.

    Examples
    --------
    >>> import numpy as np
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
    >>> table = explanation.collect(Sum(), found, levels=[0.3], random=0)
    >>> test = explanation.compare(table, "fidelity_drop@0.3", random=False)
    >>> {name: round(mean, 4) for name, mean in test.means.items()}
    {'right': 0.3, 'wrong': 0.1}
    """
    require_alpha(alpha)
    table = _answered(table, metric, convention)
    rules = Rules.of(options, table.settings.acc_auc, score, absolute, label_threshold)
    params: Mapping[str, Any]
    if convention is None:
        entry, params = find(metric, "explanation")
        entry = directed(entry, rules)
    else:
        rules, entry, params = _of_library(convention, metric, table, rules)
    key = entry.key_of(**params)
    if entry.direction == "none":
        raise OptionError(f"{metric} has no direction, so no explainer is better", fix="Compare another metric.")
    blind = (
        random
        and table.settings.random > 0
        and RANDOM not in table.explainers
        and follows_ranking(entry)
        and not isinstance(entry.chance, NoChance)
    )
    names = _names(table.explainers, explainers, alone=blind)
    values = {}
    for name in names:
        by_event = _event_values(table, name, entry, params, rules)
        values[name] = np.array([by_event.get(row.id, np.nan) for row in table])
    if blind:
        # Random orders are the same for all explainers of an event.
        orders: dict[Any, float] = {}
        for name in names:
            orders = _event_values(table, name, entry, params, rules, at_random=True) | orders
        values[RANDOM] = np.array([orders.get(row.id, np.nan) for row in table])
        if np.isnan(values[RANDOM]).all():
            del values[RANDOM]
    if baseline is not None:
        one_of("explainer", baseline, values)
    if len(values) < 2:
        raise InputError(f"found explainers: {', '.join(names)}", fix="A comparison needs at least two explainers.")
    common = int(np.count_nonzero(np.isfinite(list(values.values())).all(axis=0)))
    if common < 2:
        raise InputError(
            f"{common} events have {metric} for all of {', '.join(values)}",
            fix="Two are needed. Give all explanations of one event the same id (event=).",
        )
    better: Better = "lower" if entry.direction == "lower" else "higher"
    return compared_items(
        f"{key}, signed" if entry.name in ABSOLUTE and not absolute and convention is None else key,
        better,
        "these events",
        values,
        seeds=max(len({each.seed for each in row.of(name)}) for row in table for name in names),
        cluster=None,
        baseline=baseline,
        alpha=alpha,
        seed=seed,
    )


def _answered(table: Any, metric: str, convention: str | None) -> AnswerTable:
    """A table; explanations that need no model become one."""
    given = table if isinstance(table, Sequence) and not isinstance(table, str) else []
    if given and all(isinstance(each, Explanation) for each in given):
        return collect(None, given, metrics=[metric], convention=convention)
    return as_table(table)


def _of_library(
    convention: str, metric: str, table: AnswerTable, rules: Rules
) -> tuple[Rules, Metric, Mapping[str, Any]]:
    """The rules and the metric of another library."""
    library = CONVENTIONS[one_of("convention", convention, CONVENTIONS)]
    library.refuse(table)
    rules = library.applied(rules)
    first = table.explainers[0] if table.explainers else ""
    chosen = library.chosen([metric], sample_of(table, first, rules), rules)
    exact = [(entry, params) for entry, params in chosen if entry.key_of(**params) == metric] or chosen
    if len(exact) != 1:
        found = ", ".join(entry.key_of(**params) for entry, params in chosen)
        raise OptionError(f"{metric} has several levels", fix=f"Name one: {found}.")
    return rules, *exact[0]


def _names(known: Sequence[str], chosen: Sequence[str] | str | None, *, alone: bool) -> list[str]:
    """The explainers to compare: those given, or all in the table."""
    listed = known if chosen is None else [chosen] if isinstance(chosen, str) else chosen
    if not isinstance(listed, Sequence):
        raise OptionError(f"explainers must be a list of names, not {listed!r:.60}")
    names = list(dict.fromkeys(one_of("explainer", name, known) for name in listed))
    if len(names) < (1 if alone else 2):
        found = ", ".join(names) or "none"
        raise InputError(f"found explainers: {found}", fix="A comparison needs at least two explainers.")
    return names


def _event_values(
    table: AnswerTable, explainer: str, entry: Metric, params: Mapping[str, Any], rules: Rules, at_random: bool = False
) -> dict[Any, float]:
    sample = sample_of(table, explainer, rules)
    sample = sample.at_random if at_random else sample
    estimate: Estimate = entry(sample, **params)
    if "events" not in estimate.facts:
        raise OptionError(f"{entry.key} is not a mean over events", fix="Compare one such as fidelity_drop.")
    return {event.row.id: float(value) for event, value in zip(sample.events, estimate.facts["events"], strict=True)}
