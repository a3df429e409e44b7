"""Metrics of a model's answers on masked graphs, also as the original protocol reads them.

Those of the edges alone are in `metrics`.

f(G) is the score of the whole graph, by default the probability of the class predicted on it. E is the number of units,
and k at a level s is s · E as Python rounds it. Values are means over events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.metric import AS_CHOSEN, Bounds, Estimate, Metric, NoChance
from graphgauge.core.types import Floats, Ints
from graphgauge.explanation.declared import EMPTY, SCORED, against, explained
from graphgauge.explanation.inputs import RANDOM
from graphgauge.explanation.masks import Level
from graphgauge.explanation.sample import EMPTY as NOTHING
from graphgauge.explanation.sample import Sample, over_events

# Warn if removing the explanation raises the score in more than this share of events.
_MANY = 0.25
_USUAL = Level("0.1")
_UNIT = (0.0, 1.0)
_label = partial(explained, conventions=EMPTY, reference="amara2022", bounds=(0, 1), compared=True)
_sweep = partial(
    explained, conventions=EMPTY | {"sweep": AS_CHOSEN}, reference="chen2023", bounds=(0, 1), compared=True
)
_AREA = {"area": "trapezoid over the achieved k/E, divided by its span"}
_curve = partial(explained, conventions=SCORED | _AREA, curve=True, compared=True, default=True)
_FROM_0 = {"area": "trapezoid over the achieved k/E from 0, divided by its span"}
_score_curve = partial(
    explained, conventions=SCORED | _FROM_0, reference="petsiuk2018", curve=True, compared=True, bounds=(0, 1)
)
_robust = partial(
    explained,
    needs=("robust",),
    reference="zheng2024",
    conventions=SCORED | {"robust": AS_CHOSEN},
    compared=True,
    levels=against("random"),
)


# ---- the score, dropped and kept


@explained("fidelity_drop@{level}", "drop")
def fidelity_drop(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """Change of the score when the explanation is dropped: |f(G) − f(G without the top k)|.

    A large value means that the explanation is necessary.
    """
    change = s.drops[:, s.level(level)]
    estimate = s.mean(np.abs(change), ends=s.rules.ends)
    raised = s.per_event((change < 0).astype(np.float64))
    share = float(np.nanmean(raised)) if s.who not in (RANDOM, NOTHING) and np.isfinite(raised).any() else 0.0
    if share <= _MANY or s.group is not None:
        return estimate
    words = f"removal raises the score in {share:.0%} of events; see fidelity_drop.signed@{level}"
    return replace(estimate, warnings=(*estimate.warnings, words))


@explained("fidelity_drop.signed@{level}", "drop", compared=True)
def fidelity_drop_signed(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """Decrease of the score when the explanation is dropped, f(G) − f(G without the top k); negative if it rises."""
    return s.mean(s.drops[:, s.level(level)])


@explained("fidelity_keep@{level}", "keep", direction="lower")
def fidelity_keep(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """Change of the score when only the explanation is kept: |f(G) − f(top k only)|.

    A small value means that the explanation is sufficient.
    """
    return s.mean(np.abs(s.keeps[:, s.level(level)]), ends=s.rules.ends)


@explained("fidelity_keep.signed@{level}", "keep", compared=True, direction="lower")
def fidelity_keep_signed(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """Decrease of the score when only the explanation is kept, f(G) − f(top k only); negative if it rises."""
    return s.mean(s.keeps[:, s.level(level)])


def _by_count(s: Sample, heights: Floats) -> tuple[Floats, Floats]:
    """Counts and heights (M, L) of each ranking, in rising order of the counts."""
    counts = s.counts[s.event]
    order = np.argsort(counts, axis=1, kind="stable")
    return np.take_along_axis(counts, order, 1).astype(np.float64), np.take_along_axis(heights, order, 1)


def _reached(s: Sample, heights: Floats, best: Floats) -> Estimate:
    """The smallest share k/E at which a ranking has its best height."""
    counts, heights = _by_count(s, heights)
    first = (heights == best[:, np.newaxis]).argmax(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.take_along_axis(counts, first[:, np.newaxis], 1)[:, 0] / s.units[s.event]
    return replace(s.mean(shares, ends=_UNIT), oracle=True)


@explained("fidelity_best", "drop", curve=True)
def fidelity_best(s: Sample) -> Estimate:
    """The largest |f(G) − f(G without the top k)| of each event over all levels.

    The level is chosen on the answers, so the value is marked as an oracle.
    """
    return replace(s.mean(np.abs(s.drops).max(axis=1), ends=s.rules.ends), oracle=True)


_NO_LEVEL_CHANCE = NoChance("a level is chosen, not scored")


@explained("fidelity_best.k", "drop", curve=True, direction="none", chance=_NO_LEVEL_CHANCE)
def fidelity_best_k(s: Sample) -> Estimate:
    """The smallest share k/E of the edges at which `fidelity_best` is reached."""
    heights = np.abs(s.drops)
    return _reached(s, heights, heights.max(axis=1))


@explained("fidelity_best_keep", "keep", curve=True, direction="lower")
def fidelity_best_keep(s: Sample) -> Estimate:
    """The smallest |f(G) − f(top k only)| of each event over all levels, marked as an oracle.

    In the original protocol it is the largest: the change at the level where the explanation suffices least.
    """
    return replace(s.mean(np.abs(s.keeps).min(axis=1), ends=_UNIT), oracle=True)


@explained("fidelity_best_keep.k", "keep", curve=True, direction="none", chance=_NO_LEVEL_CHANCE)
def fidelity_best_keep_k(s: Sample) -> Estimate:
    """The smallest share k/E of the edges at which `fidelity_best_keep` is reached."""
    heights = np.abs(s.keeps)
    return _reached(s, heights, heights.min(axis=1))


@explained(
    "fidelity_tempme@{level}",
    "keep",
    compared=True,
    reference="chen2023",
    conventions=EMPTY | {"classes": "two", "label_threshold": AS_CHOSEN},
)
def fidelity_tempme(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """How far the kept explanation pushes a binary model towards the event's label.

    With p the probability of class 1: p(top k only) − p(G) if the label is 1, and p(G) − p(top k only) if it is 0. The
    label is that of the event; without one, it is 1 if p(G) ≥ `label_threshold`.
    """
    if s.answers.probabilities.shape[1] != 2:
        raise InputError(f"fidelity_tempme is for two classes, but the model has {s.answers.probabilities.shape[1]}")
    refuse_third_label(s)
    positive = s.answers.probabilities[:, 1]
    whole, kept = positive[s.answers.whole], positive[s.masked("keep")[:, s.level(level)]]
    label = np.where(s.label >= 0, s.label == 1, whole >= s.rules.label_threshold)[s.event]
    return s.mean(np.where(label, kept - whole[s.event], whole[s.event] - kept))


def refuse_third_label(s: Sample) -> None:
    """Labels of `fidelity_tempme` are 0 and 1."""
    wrong = next((event for event in s.events if event.context.label not in (None, 0, 1)), None)
    if wrong is not None:
        what = f"event {wrong.id!r:.80} has the label {wrong.context.label!r}"
        raise InputError(what, fix="Use the labels 0 and 1.")


# ---- areas under curves


def _trapezoid(heights: Floats, places: Floats) -> Floats:
    """The area under each row."""
    return np.asarray(np.trapezoid(heights, places, axis=1), np.float64)


def _kept_label(s: Sample, kind: str) -> Estimate:
    """The share of the sweep over nominal shares that has the label of the whole graph, by trapezoids."""
    area = _trapezoid(s.same(kind), s.settings.shares)
    return s.mean(area / s.settings.acc_cap, ends=_UNIT)


@_sweep("acc_auc", "sweep", default=True)
def acc_auc(s: Sample) -> Estimate:
    """Share of a sweep over sparse explanations that keeps the label predicted on the whole graph.

    At each share s from 0 to the cap (0.3): 1 if the top s alone have the label of the whole graph, else 0. The value
    is the trapezoid area over s, divided by the cap.
    """
    return _kept_label(s, "sweep")


@_sweep("acc_auc.drop", "sweep_drop", direction="lower")
def acc_auc_drop(s: Sample) -> Estimate:
    """Share of a sweep that has the label of the whole graph without the top s, for s from 0 to the cap."""
    return _kept_label(s, "sweep_drop")


@_sweep("acc_auc.complement", "sweep_complement")
def acc_auc_complement(s: Sample) -> Estimate:
    """Share of a sweep that has the label of the whole graph with the top 1 − s, for s from 0 to the cap.

    This is the sweep of the original protocol.
    """
    return _kept_label(s, "sweep_complement")


def _area(s: Sample, counts: Floats, heights: Floats, reason: str, ends: tuple[float, float]) -> Estimate:
    """The mean height of curves over counts (M, L), by trapezoids."""
    width = counts[:, -1] - counts[:, 0]
    area = np.divide(_trapezoid(heights, counts), width, out=np.full(len(width), np.nan), where=width > 0)
    return s.mean(area, reason, ends)


_TWO = "fewer than two distinct levels"


@_curve("necessity_auc", "drop")
def necessity_auc(s: Sample) -> Estimate:
    """The mean height of the curve of `fidelity_drop.signed` over the achieved shares k/E."""
    return _area(s, *_by_count(s, s.drops), _TWO, (-1.0, 1.0))


@_curve("sufficiency_auc", "keep", direction="lower")
def sufficiency_auc(s: Sample) -> Estimate:
    """The mean height of the curve of `fidelity_keep.signed` over the achieved shares k/E."""
    return _area(s, *_by_count(s, s.keeps), _TWO, (-1.0, 1.0))


def _score_area(s: Sample, kind: str, first: Floats) -> Estimate:
    """The mean height of the score itself over the achieved shares, from 0 on, where it is `first` (M,)."""
    counts, heights = _by_count(s, s.f(s.masked(kind), s.event))
    counts = np.concatenate([np.zeros((len(counts), 1)), counts], axis=1)
    return _area(s, counts, np.column_stack([first, heights]), "no level above 0", _UNIT)


@_score_curve("deletion_auc", "drop", direction="lower")
def deletion_auc(s: Sample) -> Estimate:
    """The mean score while the most important edges are removed, from the whole graph to the largest level."""
    return _score_area(s, "drop", s.whole())


@_score_curve("insertion_auc", "keep")
def insertion_auc(s: Sample) -> Estimate:
    """The mean score while the most important edges are added, from the empty graph to the largest level."""
    return _score_area(s, "keep", s.f(s.answers.empty, np.arange(len(s)))[s.event])


# ---- labels and all probabilities


@_label("label_flip_drop@{level}", "drop")
def label_flip_drop(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """Share of events whose predicted label changes when the explanation is dropped."""
    return s.mean(1 - s.same("drop")[:, s.level(level)], ends=_UNIT)


@_label("label_flip_keep@{level}", "keep", direction="lower")
def label_flip_keep(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """Share of events whose predicted label changes when only the explanation is kept."""
    return s.mean(1 - s.same("keep")[:, s.level(level)], ends=_UNIT)


def _over_both(sample: Sample, estimate: Estimate, confidence: float) -> Bounds:
    """Student's t over events, by linearisation; if all events agree, the harmonic means of both parts' bounds.

    The harmonic mean grows in drop and in 1 − keep. If all events agree in both, as where nothing changes the score,
    their number bounds how many may differ, and these bounds are carried over.
    """
    own = over_events(sample, estimate, confidence)
    drop, keep = (over_events(sample, part, confidence) for part in estimate.facts["parts"])
    low, high = _harmonic(drop.low, 1 - keep.high), _harmonic(drop.high, 1 - keep.low)
    flat = np.isnan(own.low)
    return replace(own, low=np.where(flat, low, own.low), high=np.where(flat, high, own.high))


def _harmonic(one: Floats, other: Floats) -> Floats:
    one, other = np.clip(one, 0, 1), np.clip(other, 0, 1)
    with np.errstate(invalid="ignore"):
        return np.where(one + other == 0, 0.0, 2 * one * other / (one + other))


@explained("characterization@{level}", "drop", "keep", reference="amara2022", interval=_over_both)
def characterization(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """Necessity and sufficiency in one: the harmonic mean of `fidelity_drop` and 1 − `fidelity_keep`.

    Of the means over events; an event has no value of its own.
    """
    drop, keep = fidelity_drop.function(s, level=level), fidelity_keep.function(s, level=level)
    group = np.zeros(len(s), np.int64) if s.group is None else s.group
    a, c = drop.value, 1 - keep.value
    assert drop.influence is not None
    assert keep.influence is not None
    with np.errstate(invalid="ignore", divide="ignore"):
        both = (2 * (c**2)[group] * drop.influence - 2 * (a**2)[group] * keep.influence) / ((a + c) ** 2)[group]
    influence = np.where(((a + c) == 0)[group], 0.0, both)
    facts = {"parts": (drop, keep)}
    return replace(drop, value=_harmonic(a, c), influence=influence, facts=facts, warnings=keep.warnings)


@explained("unfaithfulness@{level}", "keep", direction="lower", reference="agarwal2023", conventions=EMPTY)
def unfaithfulness(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """Change of all class probabilities when only the explanation is kept: 1 − exp(−KL(whole graph ‖ top k only))."""
    p = s.answers.probabilities[s.answers.whole][s.event]
    q = s.answers.probabilities[s.masked("keep")[:, s.level(level)]]
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = np.where(p > 0, p * (np.log(p) - np.log(q)), 0.0).sum(axis=1)
    return s.mean(-np.expm1(-np.maximum(divergence, 0.0)), ends=_UNIT)


# ---- robust fidelity


def _sampled(s: Sample, kind: str, level: Level) -> Floats:
    """(M,) f(G) less the mean score over the samples."""
    return np.asarray(s.change(kind)[:, s.level(level)].mean(axis=1))


@_robust("robust_drop@{level}", "robust_drop")
def robust_drop(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """Robust fidelity+: the decrease of the score when a small random part of the explanation is dropped.

    f(G) − E f(G without a random share `robust_drop` of the top k). The masked graphs stay close to the graphs that the
    model was trained on.
    """
    return s.mean(_sampled(s, "robust_drop", level))


@_robust("robust_keep@{level}", "robust_keep", direction="lower")
def robust_keep(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """Robust fidelity−: the decrease of the score when a small random part of the other edges is dropped.

    f(G) − E f(the top k and a random share `robust_keep` of the others).
    """
    return s.mean(_sampled(s, "robust_keep", level))


@_robust("robust_delta@{level}", "robust_drop", "robust_keep", bounds=(-2, 2))
def robust_delta(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """Robust fidelity+ minus robust fidelity−: a part of the explanation matters more than a part of the rest."""
    return s.mean(_sampled(s, "robust_drop", level) - _sampled(s, "robust_keep", level), ends=(-2.0, 2.0))


# ---- the original protocol, where it differs: as its library computes it, and as its reference document defines it
#
# `time_to_explain` is the library's public source at commit 239f3f2: scores are outputs as they are, `fidelity_keep` is
# 1 minus a change, and every fidelity is better if it is higher. `time_to_explain_reference` is the document: f is the
# largest probability, and the best of `fidelity_keep` is its largest value. Their other options are in `protocols`.

_ANY = (-np.inf, np.inf)


def under(metric: Metric, protocol: str | None) -> Metric:
    """A metric as a protocol reads it."""
    changes = READINGS.get(protocol or "", {}).get(metric.key)
    if changes is None:
        return metric
    function = changes.get("function", metric.function)
    chance = metric.chance if isinstance(metric.chance, NoChance) else against("empty", "random")(function)
    return replace(metric, **{"bounds": _ANY, **changes, "chance": chance})


def refuse_joined(sample: Sample, protocol: str | None) -> None:
    """The library masks candidates one by one."""
    joined = np.flatnonzero(sample.units != [len(event.subgraph) for event in sample.events])
    if protocol == "time_to_explain" and joined.size:
        what = f"event {sample.events[joined[0]].id!r:.80} masks edges together, and {protocol} masks them one by one"
        raise InputError(what, where="units", fix='Pass units="edges" to Subgraph or from_pyg; from_result does.')


# ---- both


def _largest(s: Sample, heights: Floats) -> Estimate:
    """The largest height of each event over all levels."""
    return replace(s.mean(heights.max(axis=1), ends=_ANY), oracle=True)


def _level_of(s: Sample, heights: Floats) -> Estimate:
    """The level at which it is reached: a share, or a number of edges."""
    levels = np.array([float(level.removeprefix("k=")) for level in s.grid])
    return replace(s.mean(levels[heights.argmax(axis=1)], ends=_ANY), oracle=True)


def _best_level(s: Sample) -> Estimate:
    """The level of the largest |f(G) − f(G without the top k)|."""
    return _level_of(s, np.abs(s.drops))


def _pushed(s: Sample, level: Level, positive: Any) -> Estimate:
    """f(top k only) − f(G) where an event is positive, and the opposite otherwise."""
    gain = -s.keeps[:, s.level(level)]
    label = np.where(s.label >= 0, s.label == 1, positive)[s.event]
    return s.mean(np.where(label, gain, -gain), ends=_ANY)


# ---- the library


def _kept(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """1 − |f(G) − f(top k only)|."""
    return s.mean(1 - np.abs(s.keeps[:, s.level(level)]), ends=_ANY)


def _library_labels(s: Sample, rows: Ints) -> Ints:
    """The class of answers: of a single output, whether it is at the threshold."""
    outputs = s.answers.outputs[rows]
    if outputs.shape[-1] == 1:
        return (outputs[..., 0] >= s.rules.label_threshold).astype(np.int64)
    return np.asarray(outputs.argmax(axis=-1))


def _tempme(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """f(top k only) − f(G) if the label is 1, and the opposite otherwise; by default the label of the whole graph."""
    return _pushed(s, level, _library_labels(s, s.answers.whole) == 1)


def _library_sweep(s: Sample) -> Estimate:
    """Share of a sweep over the kept top edges that has the label of the whole graph; shares may round to no edge."""
    none = np.rint(s.settings.shares * s.units[s.event][:, np.newaxis]) == 0
    rows = np.where(none, s.answers.empty[s.event][:, np.newaxis], s.masked("sweep"))
    same = _library_labels(s, rows) == _library_labels(s, s.answers.whole)[s.event][:, np.newaxis]
    area = np.trapezoid(same.astype(np.float64), s.settings.shares, axis=1)
    return s.mean(area / s.settings.acc_cap, ends=(0.0, 1.0))


# ---- the document


def _reference_tempme(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """f(top k only) − f(G) if the label is 1, and the opposite otherwise; without one, it is 1 if f(G) ≥ threshold."""
    refuse_third_label(s)
    return _pushed(s, level, s.f(s.answers.whole, np.arange(len(s))) >= s.rules.label_threshold)


def _keeping(heights: Callable[[Sample], Floats], **changes: Any) -> dict[str, dict[str, Any]]:
    """The best of `fidelity_keep` and its level, where higher is better."""
    best = {"function": lambda s: _largest(s, heights(s)), "direction": "higher", **changes}
    return {
        "fidelity_best.k": {"function": _best_level},
        "fidelity_best_keep": best,
        "fidelity_best_keep.k": {"function": lambda s: _level_of(s, heights(s))},
    }


READINGS: Mapping[str, Mapping[str, dict[str, Any]]] = {
    "time_to_explain": {
        "fidelity_drop@{level}": {},
        "fidelity_keep@{level}": {"function": _kept, "direction": "higher"},
        "fidelity_best": {},
        **_keeping(lambda s: 1 - np.abs(s.keeps)),
        "fidelity_tempme@{level}": {"function": _tempme},
        "acc_auc": {"function": _library_sweep, "bounds": (0, 1)},
    },
    "time_to_explain_reference": {
        "fidelity_keep@{level}": {"direction": "higher", "bounds": (0, 1)},
        **_keeping(lambda s: np.abs(s.keeps), bounds=(0, 1)),
        "fidelity_tempme@{level}": {"function": _reference_tempme, "bounds": (-1, 1)},
    },
}
