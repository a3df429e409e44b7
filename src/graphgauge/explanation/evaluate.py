"""The family's entry points: scoring a table of answers, and setting explainers side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.metric import Estimate, Metric, find, select
from graphgauge.core.result import Evaluation, Result
from graphgauge.explanation import conventions as named
from graphgauge.explanation.collect import collect
from graphgauge.explanation.inputs import Explanation, Floats
from graphgauge.explanation.items import Items
from graphgauge.explanation.masks import AccAuc
from graphgauge.explanation.records import grouped
from graphgauge.explanation.samples import Rules, Sample, available, sample_of
from graphgauge.explanation.table import Table, chosen_explainer
from graphgauge.stats.compare_items import ItemsComparison, compared_items
from graphgauge.stats.runs import Better

_OPTIONS: dict[str, tuple[str, ...]] = {
    "acc_auc": ("mode", "cap", "points", "keep"),
    "fidelity_best": ("mode",),
    "unfaithfulness": ("kl",),
    "cohesiveness": ("delta_t",),
}
# What is shown beside a metric although it was not named: an absolute value hides a sign, a best value its level.
_BESIDE = {
    "fidelity_drop": "fidelity_drop.signed@{level}",
    "fidelity_keep": "fidelity_keep.signed@{level}",
    "fidelity_best": "fidelity_best.k",
}


def evaluate(
    table: Any,
    explanations: Iterable[Explanation] | None = None,
    *,
    explainer: str | None = None,
    metrics: Sequence[str] | None = None,
    convention: str | None = None,
    score: str = "class",
    absolute: bool = True,
    label_threshold: float = 0.5,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    confidence: float = 0.95,
    nan: str = "raise",
    keep: str | None = None,
    **collecting: Any,
) -> Evaluation:
    """Say whether explanations name what the model used, and what explanations that know nothing would score.

    Parameters
    ----------
    table
        What `collect` or `read_table` returned, or the dictionaries of its lines. With `explanations`, the model: it is
        asked first, and `collect`'s own options are taken, too.
    explainer
        Whose explanations to evaluate, where the table holds several.
    metrics
        Keys to compute instead of all; `fidelity_drop` means every level that was asked, `fidelity_drop@0.1` one.
    convention
        `pyg`, `dig` or `time_to_explain`: that library's names and numbers instead.
    score
        What fidelity compares: the probability of the class predicted on the whole graph (`class`), or the largest
        probability whatever its class (`max`).
    absolute
        Whether fidelity is |f(G) − f(masked)|; the signed mean stands beside it either way.
    label_threshold
        Probability from which `fidelity_tempme` takes an event without a label for one of class 1.
    options
        Of single metrics: `{"acc_auc": {"mode": "keep", "cap": 0.3, "points": 16}, "fidelity_best": {"mode": "drop"},
        "unfaithfulness": {"kl": "forward"}, "cohesiveness": {"delta_t": None}}`. The sweep of `acc_auc` is the one that
        the model was asked for.
    keep
        `"items"` keeps the values of single events in `Evaluation.per_item`.
    """
    one_of("nan", nan, ("raise", "omit"))
    given = _checked(options)
    if explanations is not None:
        said = [one for event in grouped(explanations) for one in event.explanations]
        chosen_explainer((one.explainer for one in said), explainer)  # before the model is asked
        sweep = named.sweep_of(convention, given.get("acc_auc", {}))
        asked = {name: getattr(sweep, name) for name in _OPTIONS["acc_auc"]}
        table = collect(table, said, options={"acc_auc": asked}, nan=nan, **collecting)
    elif collecting:
        raise OptionError(f"{', '.join(collecting)}: set when the model is asked", fix="Pass it to collect().")
    table = _table(table)
    if keep not in (None, "items"):
        raise OptionError(f"keep must be 'items', not {keep!r}")
    metrics = [metrics] if isinstance(metrics, str) else metrics
    rules = _rules(table, given, convention, score, absolute, label_threshold)
    who = table.explainer(explainer)
    samples = available(sample_of(table, who, rules))
    shown = {**_conventions(table, rules, nan), **({} if convention is None else {"convention": convention})}
    results: list[Result] = []
    columns: dict[str, Floats] = {}
    skipped: dict[str, str] = {}
    for key, alias, metric, params in _chosen(metrics, convention, samples, table):
        try:
            if not set(metric.needs) & set(samples):
                raise InputError(f"the events have no {' or '.join(metric.needs)}")
            sample = samples[metric.needs[0]]
            estimate = metric(sample, **params)
        except InputError as error:
            if metrics is not None:
                raise
            skipped[key] = str(error).rstrip(".")
            continue
        result = _directed(metric, rules).result(sample, estimate, params, confidence=confidence, conventions=shown)
        results.append(result if alias is None else named.renamed(result, key, alias, str(convention)))
        if "events" in estimate.facts:
            columns[key] = estimate.facts["events"]
    sample = samples["answers"]
    ids = np.array([str(event.row.id) for event in sample.events], np.str_)

    def draw(evaluation: Evaluation, path: str | Path) -> None:
        from graphgauge.explanation.picture import picture
        from graphgauge.report.explanation_figure import draw_explanation

        draw_explanation(picture(table, who, rules, confidence), path)

    return Evaluation(
        "explanation",
        results,
        conventions=shown,
        options={
            "explainer": who,
            "levels": list(table.settings.grid),
            "achieved": _achieved(sample),
            "confidence": confidence,
        },
        skipped=skipped,
        materials={"answers": sample},
        notes=_notes(table, sample, who),
        per_item=Items(ids, columns) if keep == "items" else None,
        figure=draw,
    )


def compare(
    table: Any,
    metric: str = "fidelity_drop@0.1",
    *,
    baseline: str | None = None,
    explainers: Sequence[str] | None = None,
    score: str = "class",
    absolute: bool = True,
    label_threshold: float = 0.5,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> ItemsComparison:
    """Which explainer is better, event by event: sign-flip tests of paired differences with Holm's correction.

    All pairs of explainers, or each against a baseline, over the events that all of them have a value for.
    """
    table = _table(table)
    entry, params = find(metric, "explanation")
    rules = _rules(table, _checked(options), None, score, absolute, label_threshold)
    entry = _directed(entry, rules)
    if entry.direction == "none":
        raise OptionError(f"{metric} is neither good high nor good low", fix="Compare another metric.")
    names = table.explainers if explainers is None else [table.explainer(name) for name in explainers]
    if len(names) < 2:
        raise InputError(f"only {names} in the table", fix="A comparison needs at least two explainers.")
    if baseline is not None:
        one_of("explainer", baseline, names)
    values = {}
    for name in names:
        by_event = _event_values(table, name, entry, params, rules)
        values[name] = np.array([by_event.get(row.id, np.nan) for row in table])
    common = int(np.count_nonzero(np.isfinite(list(values.values())).all(axis=0)))
    if common < 2:
        raise InputError(f"{common} events have {metric} for all of {', '.join(names)}", fix="Two are needed.")
    better: Better = "lower" if entry.direction == "lower" else "higher"
    return compared_items(
        metric,
        better,
        "these events",
        values,
        seeds=_most_seeds(table),
        cluster=None,
        baseline=baseline,
        alpha=alpha,
        seed=seed,
    )


def _event_values(
    table: Table, explainer: str, entry: Metric, params: Mapping[str, Any], rules: Rules
) -> dict[Any, float]:
    sample = sample_of(table, explainer, rules)
    estimate: Estimate = entry(sample, **params)
    if "events" not in estimate.facts:
        raise OptionError(f"{entry.key} is no mean over events", fix="Compare one that is, such as fidelity_drop.")
    return {event.row.id: float(value) for event, value in zip(sample.events, estimate.facts["events"], strict=True)}


def _most_seeds(table: Table) -> int:
    return max((len(row.of(name)) for row in table for name in table.explainers), default=1)


def _table(table: Any) -> Table:
    if isinstance(table, Table):
        return table
    if isinstance(table, Sequence) and not isinstance(table, str) and table:
        return Table.of(table)
    raise InputError(
        f"expected what collect() returns, found {type(table).__name__}", where="table",
        fix="With a model, pass the explanations as well; from a file, use read_table.",
    )  # fmt: skip


def _checked(options: Mapping[str, Mapping[str, Any]] | None) -> dict[str, dict[str, Any]]:
    if options is not None and not (
        isinstance(options, Mapping) and all(isinstance(given, Mapping) for given in options.values())
    ):
        raise OptionError(f"options must be dictionaries by metric, not {options!r:.60}", fix="See evaluate().")
    for name, given in (options or {}).items():
        one_of("metric with options", name, _OPTIONS)
        for option in given:
            one_of(f"option of {name}", option, _OPTIONS[name])
    return {name: dict(given) for name, given in (options or {}).items()}


def _rules(
    table: Table,
    options: Mapping[str, Mapping[str, Any]],
    convention: str | None,
    score: str,
    absolute: bool,
    label_threshold: float,
) -> Rules:
    asked = table.settings.acc_auc
    stored = {name: getattr(asked, name) for name in _OPTIONS["acc_auc"]}
    rules = Rules(
        score, absolute, label_threshold, options.get("fidelity_best", {}).get("mode", "drop"),
        options.get("unfaithfulness", {}).get("kl", "forward"), options.get("cohesiveness", {}).get("delta_t"),
        AccAuc.of({**stored, **options.get("acc_auc", {})}),
    )  # fmt: skip
    return rules if convention is None else named.convention_named(convention).applied(rules)


def _chosen(
    metrics: Sequence[str] | None, convention: str | None, samples: Mapping[str, Sample], table: Table
) -> list[tuple[str, named.Alias | None, Metric, dict[str, Any]]]:
    """Key, alias, metric and parameters of everything to compute, in order."""
    grid = table.settings.grid
    if convention is not None:
        listed = named.chosen(named.convention_named(convention), metrics, grid)
        return [(key, alias, metric, params) for key, alias, metric, params in listed]
    chosen = {metric.key_of(**params): (metric, params) for metric, params in
              select("explanation", metrics, samples, {"level": grid})}  # fmt: skip
    complete: dict[str, tuple[Metric, dict[str, Any]]] = {}
    for key, (metric, params) in chosen.items():
        complete[key] = metric, params
        if metrics is not None and metric.name in _BESIDE:
            other = _BESIDE[metric.name].format(**params)
            if other not in chosen:
                complete[other] = find(other, "explanation")
    return [(key, None, metric, params) for key, (metric, params) in complete.items()]


def _directed(metric: Metric, rules: Rules) -> Metric:
    """The metric with the direction and the bounds that the options give it."""
    if metric.key == "fidelity_best" and rules.best == "keep":
        metric = replace(metric, direction="lower")
    if metric.key == "acc_auc" and rules.acc_auc.mode == "drop":
        metric = replace(metric, direction="lower")
    signed = not rules.absolute and metric.name in ("fidelity_drop", "fidelity_keep", "fidelity_best")
    if signed or (rules.delta_t is not None and metric.name.startswith("cohesiveness")):
        metric = replace(metric, bounds=(-1, 1))
    return metric


def _conventions(table: Table, rules: Rules, nan: str) -> dict[str, str]:
    settings, sweep = table.settings, rules.acc_auc
    scores = {"class": "probability of the class predicted on the whole graph", "max": "largest probability"}
    return {
        "model_output": settings.model_output,
        "ties": "by time, source and target" if settings.ties == "fixed" else "average over random orders",
        "ranking": f"by {'|importance|' if settings.by == 'abs' else 'importance'}, normalize {settings.normalize}",
        "score": scores[rules.score] + ("" if rules.absolute else ", signed"),
        "sweep": f"{sweep} at {sweep.points} points",
        "label_threshold": f"{rules.label_threshold:g}",
        "kl": "whole graph ‖ explanation" if rules.kl == "forward" else "explanation ‖ whole graph",
        "delta_t": "range of the candidates' times" if rules.delta_t is None else f"{rules.delta_t:g}",
        "nan": nan,
    }


def _achieved(sample: Sample) -> list[float | None]:
    """The mean share k/E that each level came to: the axis of a curve over levels."""
    shares = [sample.share(level) for level in sample.grid]
    return [None if share != share else share for share in shares]


def _notes(table: Table, sample: Sample, explainer: str) -> tuple[str, ...]:
    notes = list(table.notes)
    absent = len(table) - len(sample)
    if absent:
        notes.append(f"{absent} of {len(table)} events are not explained by {explainer}")
    if sample.events:
        tied = float(np.mean([event.tied for event in sample.events]))
        if tied:
            notes.append(f"{tied:.0%} of the edges share their importance with another")
    return tuple(notes)
