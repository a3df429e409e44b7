"""Entry point of the family."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import confidence_level, metric_names, nan_policy
from graphgauge.explanation.collect import Stages, collect, refuse_original
from graphgauge.explanation.conventions import CONVENTIONS, Convention
from graphgauge.explanation.declared import ABSOLUTE, RANDOM, directed, follows_ranking
from graphgauge.explanation.family import ASKING, ORDERING
from graphgauge.explanation.inputs import Context, Explanation
from graphgauge.explanation.items import Items
from graphgauge.explanation.masks import ROBUST_DROP, ROBUST_KEEP, AccAuc
from graphgauge.explanation.records import grouped, same_question
from graphgauge.explanation.samples import EventSample, Rules, Scored, available, sample_of
from graphgauge.explanation.table import AnswerTable, chosen_explainer
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.loop import Chosen, measured
from graphgauge.old.core.metric import Estimate, Metric, NoInterval, are_default, asked, find, select
from graphgauge.old.core.result import Result, Table
from graphgauge.old.stats.permutation import PairedItems, paired_items
from graphgauge.old.stats.text import p_text

# Shown next to a metric even if not requested: the sign of an absolute value, the level of a best value.
_BESIDE = {
    "fidelity_drop": "fidelity_drop.signed@{level}",
    "fidelity_keep": "fidelity_keep.signed@{level}",
    "fidelity_best": "fidelity_best.k",
}

# The options that are passed on to `collect`.
_COLLECTING = (*ASKING, "seed", "path", "progress")


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
    groups: Mapping[str, Mapping[Any, Any]] | Sequence[str] | str | None = None,
    levels: Sequence[float] | None = None,
    topk: Sequence[int] | int | None = None,
    model_output: str | None = None,
    by: str | None = None,
    normalize: str | None = None,
    ties: str | None = None,
    random: int | None = None,
    robust_drop: float | None = None,
    robust_keep: float | None = None,
    robust_samples: int | None = None,
    batch_edges: int | None = None,
    seed: int | None = None,
    path: str | Path | None = None,
    progress: Stages | None = None,
    **original: Any,
) -> Evaluation:
    """Measure whether explanations name the edges that the model used, next to the chance level.

    Parameters
    ----------
    table
        The result of `collect` or `read_table`, or the dictionaries of its lines. Or a model, together with
        `explanations`: `collect` is then called first, for the masks that `metrics` need. None, with `explanations`,
        for metrics that need no model, such as `truth_auc`.
    explainer
        The explainer to evaluate, if the table contains several.
    metrics
        Keys to compute instead of all; `fidelity_drop` means all collected levels, `fidelity_drop@0.1` one.
    convention
        `pyg` or `time_to_explain`: that library's names and numbers instead.
    score
        What fidelity compares: the probability of the class predicted on the whole graph (`class`), of the event's
        label (`label`), or the largest probability of any class (`max`).
    absolute
        Whether fidelity and the areas under its curves use |f(G) − f(masked)|. The signed mean of fidelity is always
        reported as well.
    label_threshold
        Probability from which `fidelity_tempme` assigns class 1 to an event without a label.
    options
        Options of single metrics: `{"acc_auc": {"mode": "keep", "cap": 0.3, "points": 16}, "fidelity_best": {"mode":
        "drop"}, "unfaithfulness": {"kl": "forward"}, "cohesiveness": {"delta_t": None}}`. The sweep of `acc_auc`
        defaults to the collected one.
    keep
        `"items"` keeps the values of single events in `Evaluation.per_item`.
    groups
        Breakdowns of all metrics: `"class"` by the predicted class, `"correct"` by whether it is the event's label, or
        `{name: {event: group}}`.
    levels, topk, model_output, by, normalize, ties, random
        Options of `collect`, which has their defaults. With a model only: a table was collected with its own.
    robust_drop, robust_keep, robust_samples, batch_edges, seed, path, progress
        The same.
    explanations
        With a model: what it is asked about.
    confidence
        Level of the intervals.
    nan
        `raise`, or `omit`: events with NaN are left out and counted.
    original
        Options under the names of time_to_explain, which are translated.

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
    >>> import numpy as np
    >>> from graphgauge import explanation
    >>> class Sum:
    ...     model_output = "probability"
    ...     def predict(self, subgraph, target, masks):
    ...         return 0.1 + 0.2 * masks[:, 0] + 0.1 * masks.sum(1)
    >>> graph = explanation.Subgraph([[0, 1, 2], [1, 2, 3]])
    >>> found = explanation.Explanation(explanation.Context(graph, event=0), [0.9, 0.2, 0.1], explainer="mine")
    >>> ev = explanation.evaluate(Sum(), [found], levels=[0.3], metrics=["fidelity_drop@0.3"])
    >>> round(ev["fidelity_drop@0.3"].value, 4)
    0.3
    """
    said = locals()
    refuse_original(original)
    collecting = {name: said[name] for name in _COLLECTING if said[name] is not None}
    nan_policy(nan)
    if keep not in (None, "items"):
        raise OptionError(f"keep must be 'items', not {keep!r}")
    confidence, metrics = confidence_level(confidence), metric_names(metrics)
    library = None if convention is None else CONVENTIONS[one_of("convention", convention, CONVENTIONS)]
    _refuse_unknown(metrics, library)
    if explanations is None and collecting:
        raise OptionError(f"{', '.join(collecting)}: not for scoring a table", fix="Pass these options to collect().")
    unused = [name for name in collecting if name in ASKING and name not in ORDERING]
    if table is None and explanations is not None and unused:
        raise OptionError(f"{', '.join(unused)}: not for metrics that need no model", fix="Pass the model as well.")
    stored = as_table(table) if explanations is None else None
    sweep = AccAuc() if stored is None else stored.settings.acc_auc
    rules = Rules.of(options, sweep, score, absolute, label_threshold)
    rules = rules if library is None else library.applied(rules)
    if stored is None:
        # Without names, all that the convention has is asked for, and nothing else.
        wanted = [*library.aliases] if library is not None and metrics is None else metrics
        asking = {**collecting, "metrics": wanted, "convention": convention}
        answers = _collected(table, explanations, explainer, rules, nan, asking)
    else:
        answers = stored
    if library is not None:
        library.refuse(answers)
    who = answers.explainer(explainer)
    samples = available(sample_of(answers, who, rules))
    sample = samples["edges"]
    shown = _conventions(answers, rules, nan)
    if convention is not None:
        shown |= {"convention": convention}
    if convention == "time_to_explain":
        shown["score"] = "the output, or the largest of several"

    def sample_with(metric: Metric) -> EventSample:
        if metric.needs[0] not in samples:
            raise InputError(f"the events have no {metric.needs[0]}")
        return samples[metric.needs[0]]

    chosen = _chosen(metrics, library, samples, answers, rules)
    found = measured(chosen, sample_with, confidence=confidence, conventions=shown, skip=are_default(metrics))
    results = [
        _against_random(result, *choice, sample_with, found.estimates[result.key], confidence)
        for result, choice in _paired(found.results, chosen)
    ]
    by_event = {key: own.facts["events"] for key, own in found.estimates.items() if "events" in own.facts}
    signed = _signed_values(chosen, sample, by_event) if keep == "items" and rules.absolute else {}

    def draw(evaluation: Evaluation, path: str | Path) -> None:
        from graphgauge.explanation.figure import draw_explanation, picture

        draw_explanation(picture(answers, who, rules, confidence), path)

    ids = np.array([str(event.row.id) for event in sample.events], np.str_)
    evaluation = Evaluation(
        "explanation",
        results,
        conventions=shown,
        breakdowns=_breakdowns(groups, sample, chosen, sample_with, by_event.keys() | found.estimates, confidence),
        options={
            "explainer": who,
            "levels": list(answers.settings.grid),
            "achieved": _achieved(sample),
            "confidence": confidence,
        },
        skipped=found.skipped,
        materials={"answers": sample},
        notes=_notes(answers, sample, who),
        per_item=Items(ids, by_event, signed) if keep == "items" else None,
        figure=draw,
    )
    # Checked now: the checks read the answers of the table, and the caller may change them later.
    return evaluation.checked()


def _paired(results: Sequence[Result], chosen: Sequence[Chosen]) -> list[tuple[Result, Chosen]]:
    by_key = {metric.key_of(**params): (metric, params) for metric, params in chosen}
    return [(result, by_key[result.key]) for result in results]


def _against_random(
    result: Result, metric: Metric, params: Mapping[str, Any], samples: Any, own: Estimate, confidence: float
) -> Result:
    """The result with a sentence on how it compares with the random explainer, event by event."""
    if not result.defined or "events" not in own.facts or all(level.name != RANDOM for level in result.chance):
        return result
    test = against_random(metric, params, samples(metric), confidence)
    if test is None:
        return result
    better = {"higher": 1, "lower": -1}.get(metric.direction, 0)
    if test.p_value > round(1 - confidence, 12) or not better:
        verdict = "not significantly different from the random explainer"
    else:
        side = "better" if better * test.mean_difference > 0 else "worse"
        verdict = f"{side} than the random explainer"
    bounds = "" if test.ci is None else f" [{test.ci.low:.3g}, {test.ci.high:.3g}]"
    signed = ", signed" if metric.name in ABSOLUTE else ""
    difference = f"{test.mean_difference:+.3g}{bounds}, {p_text(test.p_value)}, {test.n} events{signed}"
    return replace(result, interpretation=f"{verdict} ({difference})")


def against_random(
    metric: Metric, params: Mapping[str, Any], sample: EventSample, confidence: float = 0.95
) -> PairedItems | None:
    """The paired sign-flip test of an explainer against the random one; fidelity is compared with its sign."""
    if not follows_ranking(metric):
        return None
    sample = sample.with_sign() if metric.name in ABSOLUTE else sample
    own, blind = (metric(each, **params).facts.get("events") for each in (sample, sample.at_random))
    if own is None or blind is None:
        return None
    differences = own - blind
    differences = differences[np.isfinite(differences)]
    differences = np.where(np.abs(differences) <= _ROUNDING, 0.0, differences)
    return paired_items(differences, confidence=confidence) if len(differences) > 1 else None


def _signed_values(chosen: Sequence[Chosen], sample: EventSample, known: Iterable[str]) -> dict[str, Any]:
    """The signed values by event of metrics that are sizes of a change, for comparisons."""
    signed = sample.with_sign()
    keys = {metric.key_of(**params): (metric, params) for metric, params in chosen if metric.name in ABSOLUTE}
    return {key: keys[key][0](signed, **keys[key][1]).facts["events"] for key in keys if key in known}


def _breakdowns(
    groups: Any, sample: EventSample, chosen: Sequence[Chosen], samples: Any, keys: Iterable[str], confidence: float
) -> dict[str, Table]:
    """Every metric for each group of events, with its interval."""
    tables, keys = {}, set(keys)
    for axis, labels in _labels(groups, sample).items():
        if axis.removesuffix(".low").removesuffix(".high") in keys:
            raise OptionError(f"{axis!r:.40} names a metric and cannot name groups", fix="Use another text.")
        labels = [str(label) for label in labels]
        names = sorted(set(labels))
        places = {name: [place for place, label in enumerate(labels) if label == name] for name in names}
        columns: dict[str, Any] = {axis: np.array(names, np.str_), "n": np.array([len(places[name]) for name in names])}
        for metric, params in chosen:
            key = metric.key_of(**params)
            if key in keys:
                rows = [_of_group(metric, params, samples(metric).only(places[name]), confidence) for name in names]
                for part, column in zip((key, f"{key}.low", f"{key}.high"), np.array(rows).T, strict=True):
                    if part == key or np.isfinite(column).any():
                        columns[part] = column
        tables[axis] = Table(axis, columns)
    return tables


def _of_group(
    metric: Metric, params: Mapping[str, Any], sample: EventSample, confidence: float
) -> tuple[float, float, float]:
    estimate = metric(sample, **params)
    found = metric.interval_of(sample, estimate, confidence)
    value = float(estimate.value[0])
    if isinstance(found, NoInterval) or np.isnan(value):
        return value, np.nan, np.nan
    return value, float(found[1][0]), float(found[2][0])


def _labels(groups: Any, sample: EventSample) -> dict[str, list[Any]]:
    """The group of each event along each axis."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping | Iterable):
        raise OptionError(
            f"groups must be names or dictionaries by event, not {groups!r:.40}",
            fix=f"Use {' or '.join(map(repr, GROUPS))}, or {{name: {{event: group}}}}.",
        )
    given = dict(groups) if isinstance(groups, Mapping) else dict.fromkeys(_listed(groups))
    labels: dict[str, list[Any]] = {}
    for axis, by_event in given.items():
        if not isinstance(axis, str) or axis == "n":
            raise OptionError(f"{axis!r:.40} cannot name groups", fix="Use another text.")
        if by_event is None:
            one_of("group", axis, GROUPS)
            labels[axis] = [_own_group(axis, event) for event in sample.events]
            continue
        if not isinstance(by_event, Mapping):
            raise OptionError(f"groups of {axis!r:.40} must be a dictionary by event", fix="{event: group, …}.")
        names = {str(event): group for event, group in by_event.items()}
        absent = [
            event.row.id for event in sample.events if (group := names.get(str(event.row.id))) is None or group != group
        ]
        if absent:
            raise InputError(f"event {absent[0]!r:.80} has no group", where=f"groups, {axis}")
        labels[axis] = [names[str(event.row.id)] for event in sample.events]
    return labels


GROUPS = ("class", "correct")
# Answers of 32-bit networks this close are equal up to rounding.
_ROUNDING = 1e-6


def _listed(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _own_group(axis: str, event: Scored) -> Any:
    if not event.settings.asked:
        raise InputError(f"groups by {axis} need the answers of a model", where="groups")
    if axis == "class":
        return event.predicted
    label = event.row.context.label
    return "unknown" if label is None else "yes" if label == event.predicted else "no"


def as_table(table: Any) -> AnswerTable:
    if isinstance(table, AnswerTable):
        return table
    if isinstance(table, Sequence) and not isinstance(table, str) and table:
        return AnswerTable.of(table)
    raise InputError(
        f"expected the result of collect(), found {type(table).__name__}",
        where="table",
        fix="With a model, also pass explanations; read a file with read_table.",
    )


def _refuse_unknown(metrics: Sequence[str] | None, library: Convention | None) -> None:
    """Refuse unknown names before the model is run."""
    if library is None:
        asked("explanation", metrics)
    else:
        library.asked(metrics)


def _collected(
    model: Any, explanations: Any, explainer: str | None, rules: Rules, nan: str, options: Mapping[str, Any]
) -> AnswerTable:
    said = [one for event in grouped(explanations) for one in event.explanations]
    chosen_explainer((one.explainer for one in said), explainer)  # before the model is run
    return collect(model, said, options={"acc_auc": asdict(rules.acc_auc)}, nan=nan, **options)


def _chosen(
    metrics: Sequence[str] | None,
    library: Convention | None,
    samples: Mapping[str, EventSample],
    table: AnswerTable,
    rules: Rules,
) -> list[Chosen]:
    """The metrics to compute, in order, with the direction and bounds that follow from the options."""
    grid = table.settings.grid
    if library is not None:
        return library.chosen(metrics, samples["edges"], rules)
    chosen: dict[str, Chosen] = {}
    listed = select("explanation", metrics, samples, {"level": grid})
    named = {metric.key_of(**params) for metric, params in listed}
    for metric, params in listed:
        chosen[metric.key_of(**params)] = metric, params
        if not are_default(metrics) and metric.name in _BESIDE:
            other = _BESIDE[metric.name].format(**params)
            if other not in named:
                chosen[other] = find(other, "explanation")
    return [(directed(metric, rules), params) for metric, params in chosen.values()]


_TIES = {
    "fixed": "by time, source and target",
    "average": "average over random orders",
    "position": "by position",
}


# What happens to masked edges or features.
_MASKING = {
    "remove": "removed",
    "weight": "weighted: messages or features times 0",
}


def _conventions(table: AnswerTable, rules: Rules, nan: str) -> dict[str, str]:
    settings, sweep = table.settings, rules.acc_auc
    scores = {
        "class": "probability of the class predicted on the whole graph",
        "max": "largest probability",
        "label": "probability of the label",
    }
    return {
        **({} if settings.model_output is None else {"model_output": settings.model_output}),
        **({} if settings.masking is None else {"masking": _MASKING.get(settings.masking, settings.masking)}),
        "units": _units(table),
        "ties": _TIES[settings.ties],
        "ranking": f"by {'|importance|' if settings.by == 'abs' else 'importance'}, normalize {settings.normalize}",
        "score": scores[rules.score] + ("" if rules.absolute else ", signed"),
        "sweep": f"{sweep} at {sweep.points} points",
        "label_threshold": f"{rules.label_threshold:g}",
        "kl": "whole graph ‖ explanation" if rules.kl == "forward" else "explanation ‖ whole graph",
        **({"robust": str(settings.robust)} if {ROBUST_DROP, ROBUST_KEEP} & {*settings.asked} else {}),
        "delta_t": "range of the candidates' times" if rules.delta_t is None else f"{rules.delta_t:g}",
        "nan": nan,
    }


def _units(table: AnswerTable) -> str:
    """Which candidates are masked together."""
    parts = [row.subgraph for row in table if len(row.subgraph)]
    if all(part.unit_count == len(part) for part in parts):
        return "each alone"
    return "both directions of a pair together" if all(part.units is None for part in parts) else "as given"


def _achieved(sample: EventSample) -> list[float | None]:
    """The mean share k/E achieved at each level: the axis of a curve over levels."""
    shares = [sample.share(level) for level in sample.grid]
    return [None if share != share else share for share in shares]


def _notes(table: AnswerTable, sample: EventSample, explainer: str) -> tuple[str, ...]:
    notes = list(table.notes)
    absent = len(table) - len(sample)
    if absent:
        notes.append(f"{absent} of {len(table)} events are not explained by {explainer}")
    if sample.events:
        repeated = _repeated(sample)
        if repeated:
            notes.append(
                f"{repeated} of {len(sample)} events repeat the question and explanation of another, and "
                "intervals and tests count them as independent"
            )
    return tuple(notes)


def _repeated(sample: EventSample) -> int:
    """How many events have the same subgraph, target and importances as another."""
    found: dict[Any, list[Scored]] = {}
    for event in sample.events:
        said = [one.importance.tobytes() for one in event.explanations]
        found.setdefault((event.row.subgraph.edge_index.tobytes(), *said), []).append(event)
    repeated = 0
    for alike in found.values():
        distinct: list[Context] = []
        for event in alike:
            if not any(same_question(event.row.context, other) for other in distinct):
                distinct.append(event.row.context)
        repeated += len(alike) - len(distinct)
    return repeated
