"""Which explainer is better, event by event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.metric import Estimate, Metric, find
from graphgauge.explanation.declared import ABSOLUTE, directed
from graphgauge.explanation.evaluate import as_table
from graphgauge.explanation.samples import Rules, sample_of
from graphgauge.explanation.table import AnswerTable
from graphgauge.stats.compare_items import ItemsComparison, compared_items
from graphgauge.stats.runs import Better


def compare(
    table: Any,
    metric: str = "fidelity_drop@0.1",
    *,
    baseline: str | None = None,
    explainers: Sequence[str] | None = None,
    score: str = "class",
    absolute: bool = False,
    label_threshold: float = 0.5,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> ItemsComparison:
    """Which explainer is better, event by event: sign-flip tests of paired differences with Holm's correction.

    All pairs of explainers, or each against a baseline, over the events for which all of them have a value. Fidelity
    and the areas under its curves are compared with their sign, because an explainer that names edges against the
    answer changes it as much as one that names edges for it. `absolute=True` compares the size of the change.
    """
    table = as_table(table)
    entry, params = find(metric, "explanation")
    rules = Rules.of(options, table.settings.acc_auc, score, absolute, label_threshold)
    entry = directed(entry, rules)
    if entry.direction == "none":
        raise OptionError(f"{metric} has no direction, so no explainer is better", fix="Compare another metric.")
    names = _names(table.explainers, explainers)
    if baseline is not None:
        one_of("explainer", baseline, names)
    values = {}
    for name in names:
        by_event = _event_values(table, name, entry, params, rules)
        values[name] = np.array([by_event.get(row.id, np.nan) for row in table])
    common = int(np.count_nonzero(np.isfinite(list(values.values())).all(axis=0)))
    if common < 2:
        raise InputError(
            f"{common} events have {metric} for all of {', '.join(names)}",
            fix="Two are needed. Give all explanations of one event the same id (event=).",
        )
    better: Better = "lower" if entry.direction == "lower" else "higher"
    return compared_items(
        f"{metric}, signed" if entry.name in ABSOLUTE and not absolute else metric,
        better,
        "these events",
        values,
        seeds=max(len(row.of(name)) for row in table for name in names),
        cluster=None,
        baseline=baseline,
        alpha=alpha,
        seed=seed,
    )


def _names(known: Sequence[str], chosen: Sequence[str] | str | None) -> list[str]:
    """The explainers to compare: those given, or all in the table."""
    listed = known if chosen is None else [chosen] if isinstance(chosen, str) else chosen
    if not isinstance(listed, Sequence):
        raise OptionError(f"explainers must be a list of names, not {listed!r:.60}")
    names = list(dict.fromkeys(one_of("explainer", name, known) for name in listed))
    if len(names) < 2:
        found = ", ".join(names) or "none"
        raise InputError(f"found explainers: {found}", fix="A comparison needs at least two explainers.")
    return names


def _event_values(
    table: AnswerTable, explainer: str, entry: Metric, params: Mapping[str, Any], rules: Rules
) -> dict[Any, float]:
    sample = sample_of(table, explainer, rules)
    estimate: Estimate = entry(sample, **params)
    if "events" not in estimate.facts:
        raise OptionError(f"{entry.key} is not a mean over events", fix="Compare one such as fidelity_drop.")
    return {event.row.id: float(value) for event, value in zip(sample.events, estimate.facts["events"], strict=True)}
