"""`evaluate` and `compare`: from a table of answers to results, and which explainer is better event by event.

model, explanations ── ask.collect ──▶ table ── sample.sample_of ──▶ Sample ── loop.measure ──▶ results
                                                   │ ── against the random explainer ──▶ a verdict for each
                                                   └── groups ──▶ breakdowns; values of events, checks, drawings
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np
from msgspec.structs import replace as with_fields

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.grid import Grid
from graphgauge.core.items import Items
from graphgauge.core.loop import broken_down, measure
from graphgauge.core.metric import Estimate, NoChance
from graphgauge.core.options import confidence_level, nan_policy, whole_number
from graphgauge.core.progress import SILENT, Progress
from graphgauge.core.registry import DEFAULT, Chosen, find, select
from graphgauge.core.result import Result
from graphgauge.core.types import Floats
from graphgauge.explanation.ask import collect
from graphgauge.explanation.declared import COMPARED, estimated, refuse_foreign, wanted_by
from graphgauge.explanation.fidelity import refuse_joined, under
from graphgauge.explanation.figure import curves
from graphgauge.explanation.inputs import RANDOM, Explanation
from graphgauge.explanation.masks import LEVELS, Settings, numbers_of, shares_of
from graphgauge.explanation.sample import Rules, Sample, sample_of, samples_by_need
from graphgauge.explanation.table import AnswerTable, chosen_of
from graphgauge.explanation.words import TOLD, conventions_of
from graphgauge.io.code import own_code
from graphgauge.protocols import under_protocols
from graphgauge.stats.comparison import compare as compare_runs
from graphgauge.stats.outcome import Comparison
from graphgauge.stats.ranks import alpha_of
from graphgauge.stats.shift import of_pairs
from graphgauge.stats.text import p_text

GROUPS = ("class", "correct")
# Answers of 32-bit networks this close are equal up to rounding.
_ROUNDING = 1e-6


@under_protocols("explanation")
def evaluate(
    table: Any = None,
    explanations: Iterable[Explanation] | None = None,
    *,
    explainer: str | None = None,
    metrics: str | Sequence[Any] | None = None,
    score: str = "class",
    label_threshold: float = 0.5,
    delta_t: float | None = None,
    groups: Any = None,
    confidence: float = 0.95,
    nan: str = "raise",
    protocol: str | None = None,
    sparsity_levels: Any = None,
    topk: Any = None,
    model_output: str | None = None,
    by: str | None = None,
    ties: str | None = None,
    random: int | None = None,
    seed: int = 0,
    **asking: Any,
) -> Evaluation:
    """Measure whether explanations name the edges that the model used, next to the chance level.

    Parameters
    ----------
    table
        The result of `collect` or `read_table`. Or a model, together with `explanations`: `collect` is then called
        first, for the masks that `metrics` need. None, with `explanations`, for metrics that need no model, such as
        `truth_auc`.
    explanations
        With a model: what it is asked about.
    explainer
        The explainer to evaluate, if there are several; `"random explainer"` is one of them.
    metrics
        Keys of metrics, or `"all"`; `fidelity_drop` means all collected levels, `fidelity_drop@0.1` one. By default
        `necessity_auc`, `sufficiency_auc` and `acc_auc`, `truth_auc` with a truth, and `cohesiveness@0.2` with times.
    score
        What fidelity compares: the probability of the class predicted on the whole graph (`class`), of the event's
        label (`label`), or the largest probability of any class (`max`).
    label_threshold
        Probability from which `fidelity_tempme` assigns class 1 to an event without a label.
    delta_t
        The time scale of cohesiveness, above 0; by default the range of the candidates' times.
    groups
        Breakdowns of all metrics: `"class"` by the predicted class, `"correct"` by whether it is the event's label, or
        `{name: {event: group}}`.
    confidence
        Level of the intervals.
    nan
        `raise`, or `omit`: explanations with NaN, and events whose answers are NaN, are left out and counted.
    protocol
        `"time_to_explain"` or `"time_to_explain_reference"`: the original protocol as its library computes it, or as
        its document defines it.
    sparsity_levels, topk, model_output, by, ties, random, seed, **asking
        Options of `collect`, which has their defaults; it has more, such as `path`. A table was collected with its own.

    Returns
    -------
    Evaluation
        One `Result` per metric, the mean over events, next to the empty explanation and the random explainer.

    Raises
    ------
    InputError
        If the table lacks masks that a metric needs, or a value is NaN and `nan` is `raise`.
    OptionError
        If an argument has no such value.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> class Sum:
    ...     model_output = "probability"
    ...     def predict(self, subgraph, target, masks):
    ...         return 0.1 + 0.2 * masks[:, 0] + 0.1 * masks.sum(1)
    >>> graph = explanation.Subgraph([[0, 1, 2], [1, 2, 3]])
    >>> found = explanation.Explanation(explanation.Context(graph, event=0), [0.9, 0.2, 0.1], explainer="mine")
    >>> ev = explanation.evaluate(Sum(), [found], metrics=["fidelity_drop@0.3"])
    >>> round(ev["fidelity_drop@0.3"].value, 4)
    0.3
    """
    signature(collect).bind_partial(**asking)  # refuses unknown names
    level, rules = confidence_level(confidence), Rules(score, label_threshold, delta_t)
    nan_policy(nan)
    shared = {"sparsity_levels": sparsity_levels, "topk": topk, "model_output": model_output, "by": by, "ties": ties}
    asking |= shared | {"random": random, "seed": whole_number("seed", seed) or None}
    asking = {name: value for name, value in asking.items() if value is not None}
    wanted_by(metrics)  # refuses unknown names before a model is asked
    if explanations is None:
        answers = _as_table(table)
        _refuse_other(answers.settings, asking)
    else:
        said = [explanations] if isinstance(explanations, Explanation) else list(explanations)
        chosen_of((each.explainer for each in said if isinstance(each, Explanation)), explainer)
        answers = collect(table, said, metrics=metrics, nan=nan, **asking)
    who = chosen_of(answers.explainers, explainer)
    sample = sample_of(answers, who, rules)
    refuse_joined(sample, protocol)
    conventions = conventions_of(answers, rules, nan, protocol)
    usual = conventions_of(AnswerTable(Settings(), ()), Rules(), "raise", None)
    samples = samples_by_need(sample)
    listed, named = _selected(metrics, samples, sample)
    chosen = [(under(metric, protocol), params) for metric, params in listed]
    measured = measure(chosen, samples, named=named, confidence=level, conventions=conventions)
    by_key = {metric.key_of(**params): (metric, params) for metric, params in chosen}

    def by_group(axis: str, labels: Sequence[Any]) -> Grid:
        """Every metric for each group of events, with its interval."""
        known, place = np.unique(np.array([str(each) for each in labels], np.str_), return_inverse=True)
        parts = {name: each.grouped(place, len(known)) for name, each in samples.items()}
        n = np.bincount(place, minlength=len(known))
        return broken_down(axis, known, n, chosen, parts, confidence=level, skipped=measured.skipped)

    return Evaluation(
        "explanation",
        [
            _against_random(each, measured.estimates[each.key], by_key[each.key], sample, level)
            for each in measured.results
        ],
        conventions={name: text for name, text in conventions.items() if name in TOLD or text != usual.get(name)},
        options={"explainer": who, "levels": [str(each) for each in answers.settings.grid], "confidence": level},
        breakdowns={axis: by_group(axis, labels) for axis, labels in _labels(groups, sample).items()},
        skipped=measured.skipped,
        materials={"answers": sample},
        per_item=Items(
            "event",
            np.array([str(event.id) for event in sample.events], np.str_),
            {key: each.facts["events"] for key, each in measured.estimates.items() if "events" in each.facts},
        ),
        drawings=lambda: {"curves": curves(sample, level)} if {"drop", "keep"} <= {*sample.rows} else {},
    )


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
    answers = _as_table(table)
    refuse_foreign(metric)
    entry, params = find(metric, "explanation")
    key = entry.key_of(**params)
    names = [explainers] if isinstance(explainers, str) else list(explainers or answers.explainers)
    for name in names:
        one_of("explainer", name, answers.explainers)
    drawn = answers.settings.random and not isinstance(entry.chance, NoChance) and "seeds" not in entry.needs
    if random and drawn and RANDOM not in names:
        names.append(RANDOM)
    if len(names) < 2:
        fix = "A comparison needs at least two explainers."
        raise InputError(f"found explainers: {', '.join(names) or 'none'}", fix=fix)
    asked = None if options.get("protocol") else [key]
    found = {name: evaluate(answers, explainer=name, metrics=asked, **options) for name in names}
    # Of the numbers alone: what else is to say about an explainer is no part of the comparison.
    runs = {
        name: Evaluation("explanation", each.values(), per_item=each.per_item, findings=())
        for name, each in found.items()
    }
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


def from_files(
    table: AnswerTable | None = None,
    explanations: list[Explanation] | None = None,
    model: Callable[[], Any] | None = None,
    *,
    save_answers: str | None = None,
    progress: Progress = SILENT,
    **options: Any,
) -> Evaluation:
    """Evaluate a table, or explanations with the model that a factory makes; options are those of `evaluate`."""
    if (table is None) == (explanations is None):
        fix = "Give table=, or explanations= with model=."
        raise OptionError("either a table or explanations are evaluated", fix=fix)
    if table is not None:
        if model is not None or save_answers is not None:
            raise OptionError("a table has its answers", fix="Leave out model= and save_answers=.")
        return evaluate(table, **options)
    asked = None
    if model is not None:
        with own_code(f"{getattr(model, '__module__', '')}:{getattr(model, '__name__', 'factory')}"):
            asked = model()
    return evaluate(asked, explanations, path=save_answers, progress=progress.stage, **options)


def _as_table(table: Any) -> AnswerTable:
    """A table, or the dictionaries of its lines; or an error that says what to pass."""
    if isinstance(table, list) and table and isinstance(table[0], Mapping):
        return AnswerTable.from_records(table)
    if not isinstance(table, AnswerTable):
        what = f"expected the result of collect(), found {type(table).__name__}"
        raise InputError(what, where="table", fix="With a model, also pass explanations; read a file with read_table.")
    return table


def _selected(metrics: Any, samples: Mapping[str, Sample], sample: Sample) -> tuple[list[Chosen], frozenset[str]]:
    """The metrics with their parameters: those of the default at their own level, others at all that are collected."""
    listed = metrics if isinstance(metrics, list | tuple) else [DEFAULT if metrics is None else metrics]
    usual = select("explanation", None, samples)[0] if DEFAULT in listed else []
    rest = [each for each in listed if each != DEFAULT]
    more, named = (
        ([], frozenset[str]())
        if usual and not rest
        else select("explanation", metrics if isinstance(metrics, str) else rest, samples, {"level": sample.grid})
    )
    return list({metric.key_of(**params): (metric, params) for metric, params in (*usual, *more)}.values()), named


# ---- comparisons


def _require_common(key: str, runs: Mapping[str, Evaluation]) -> None:
    """Two events need a value for all."""
    items = [each.per_item for each in runs.values() if each.per_item is not None]
    if any(key not in each.values for each in items):
        raise OptionError(f"{key} is not a mean over events", fix="Compare one such as fidelity_drop.")
    common = len(set.intersection(*({*each.ids[~np.isnan(each[key])].tolist()} for each in items)))
    if common < 2:
        what = f"{common} events have {key} for all of {', '.join(runs)}"
        fix = "Two are needed. Give all explanations of one event the same id (event=)."
        raise InputError(what, fix=fix)


# ---- against the random explainer


def _against_random(result: Result, estimate: Estimate, chosen: Chosen, sample: Sample, level: float) -> Result:
    """The result with a sentence on how it compares with the random explainer: the paired test of comparisons."""
    metric, params = chosen
    result = with_fields(result, params={name: str(each) for name, each in params.items()})
    if metric.name not in COMPARED or not result.defined or sample.who == RANDOM:
        return result
    blind = sample.shuffled if "truth" in metric.needs else sample.random
    if not len(blind.owner):
        return result
    differences: Floats = estimate.facts["events"] - estimated(blind, metric.function, params).facts["events"]
    differences = differences[np.isfinite(differences)]
    if len(differences) < 2:
        return result
    test = of_pairs(np.where(np.abs(differences) <= _ROUNDING, 0.0, differences), alpha_of(level)).within(result.bounds)
    better = 1 if metric.direction == "higher" else -1
    verdict = "not significantly different from the random explainer"
    if test.p_value <= alpha_of(level):
        verdict = f"{'better' if better * test.difference > 0 else 'worse'} than the random explainer"
    ends = "" if np.isnan(test.low) else f" [{test.low:.3g}, {test.high:.3g}]"
    words = f"{verdict} ({test.difference:+.3g}{ends}, {p_text(test.p_value)}, {result.n} events)"
    return with_fields(result, interpretation=words)


# ---- what is asked for


def _refuse_other(settings: Settings, asking: Mapping[str, Any]) -> None:
    """A table was collected with options of its own, which can be repeated; the ranking of none is normalised."""
    given = {name: asking[name] for name in settings.__struct_fields__ if name in asking}
    levels, topk = shares_of(asking.get("sparsity_levels")), numbers_of(asking.get("topk"))
    Settings(**given | {"levels": levels or LEVELS, "topk": topk})  # refuses what no table could have
    for name, value in asking.items():
        own = getattr(settings, name, None)
        if name != "normalize" and (own is None or value != own):
            own = "" if own is None else f", with {name}={own!r}"
            what = f"{name}={value!r:.40} is an option of asking, and the table was collected already{own}"
            raise OptionError(what, fix=f"Leave it out, or collect with {name}=.").about(name)


# ---- breakdowns


def _labels(groups: Any, sample: Sample) -> dict[str, list[Any]]:
    """The group of each event along each axis: its own, or the one that a dictionary has for it."""
    names = [groups] if isinstance(groups, str) or not isinstance(groups, Iterable | None) else groups or ()
    given = groups if isinstance(groups, Mapping) else dict.fromkeys(names)
    labels: dict[str, list[Any]] = {}
    for axis, by_event in given.items():
        if by_event is None:
            labels[axis] = _own_groups(one_of("groups", axis, GROUPS), sample)
            continue
        if not isinstance(by_event, Mapping) or not isinstance(axis, str) or axis == "n":
            raise OptionError(f"groups {axis!r:.40} are not named groups by event", fix="{name: {event: group}}.")
        known = {str(event): group for event, group in by_event.items()}
        labels[axis] = [known.get(str(event.id)) for event in sample.events]
        pairs = zip(sample.events, labels[axis], strict=True)
        absent = next((event.id for event, group in pairs if group is None or group != group), None)
        if absent is not None:
            raise InputError(f"event {absent!r:.80} has no group", where=f"groups, {axis}")
    return labels


def _own_groups(axis: str, sample: Sample) -> list[str]:
    """The predicted class of each event, or whether it is the label."""
    if not sample.settings.asked:
        raise InputError(f"groups by {axis} need the answers of a model", where="groups")
    predicted, label = sample.answers.predicted, sample.label
    if axis == "class":
        return [str(each) for each in predicted.tolist()]
    return [*np.where(label < 0, "unknown", np.where(label == predicted, "yes", "no")).tolist()]
