"""Metrics of a model's answers on masked graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError
from graphgauge.explanation.declared import (
    DEFAULT,
    EMPTY,
    EXPLAINED,
    SCORED,
    t_bounds,
)
from graphgauge.explanation.masks import ROBUST_DROP, ROBUST_KEEP, Level
from graphgauge.explanation.samples import NO_CANDIDATES, EventSample, Path, Scored, ordered_mean
from graphgauge.old.core.metric import AS_CHOSEN, Bounds, Estimate, IntervalRule, NoChance, NoInterval, metric
from graphgauge.old.stats.intervals import mean_interval

# Warn if removing the explanation raises the score in more than this share of events.
_MANY = 0.25
_SIGNED = EXPLAINED | {"bounds": (-1, 1)}
_LABELS = EXPLAINED | {"conventions": EMPTY, "reference": "amara2022"}


def _change(sample: EventSample, event: Scored, path: Path, mode: str, level: Level) -> float:
    """f(whole graph) − f(masked graph)."""
    scores = event.score(sample.rules.score)
    return scores[event.whole] - scores[path.row(mode, level.of(event.units))]


def _fidelity(sample: EventSample, mode: str, level: Level, absolute: bool) -> Estimate:
    def value(event: Scored, path: Path) -> float:
        found = _change(sample, event, path, mode, level)
        return abs(found) if absolute else found

    return sample.each(value, NO_CANDIDATES, (0.0 if absolute else -1.0, 1.0))


@metric(key="fidelity_drop@{level}", **EXPLAINED)
def fidelity_drop(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """Change of the predicted class's score when the explanation is dropped.

    |f(G) − f(G without the top edges)|, where f is the probability of the class that is predicted on the whole graph.
    A large value means that the explanation is necessary.
    """
    estimate = _fidelity(sample, "drop", level, sample.rules.absolute)
    if not sample.rules.absolute or sample.paths != "own":  # the sign is visible, or the value is a baseline's
        return estimate
    raised = sample.values(lambda event, path: float(_change(sample, event, path, "drop", level) < 0))
    share = float(np.nanmean(raised)) if np.isfinite(raised).any() else 0.0
    if share > _MANY:
        return estimate.warned(f"removal raises the score in {share:.0%} of events; see fidelity_drop.signed@{level}")
    return estimate


@metric(key="fidelity_drop.signed@{level}", **_SIGNED)
def fidelity_drop_signed(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """Decrease of the predicted class's score when the explanation is dropped; negative if it rises."""
    return _fidelity(sample, "drop", level, False)


@metric(key="fidelity_keep@{level}", **EXPLAINED | {"direction": "lower"})
def fidelity_keep(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """Change of the predicted class's score when only the explanation is kept.

    |f(G) − f(top edges only)|. A small value means that the explanation is sufficient.
    """
    return _fidelity(sample, "keep", level, sample.rules.absolute)


@metric(key="fidelity_keep.signed@{level}", **_SIGNED | {"direction": "lower"})
def fidelity_keep_signed(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """Decrease of the predicted class's score when only the explanation is kept; negative if it rises."""
    return _fidelity(sample, "keep", level, False)


def _best(sample: EventSample, event: Scored, path: Path) -> tuple[float, float]:
    """The best fidelity of one ranking over all levels, and the smallest share of the edges that reached it."""
    mode = sample.rules.best
    counts = sorted({level.of(event.units) for level in sample.grid})
    changes = np.array([_change(sample, event, path, mode, Level(f"k={count}")) for count in counts])
    changes = np.abs(changes) if sample.rules.absolute else changes
    place = int(np.argmax(changes) if mode == "drop" else np.argmin(changes))
    return float(changes[place]), counts[place] / event.units


@metric(key="fidelity_best", **EXPLAINED)
def fidelity_best(sample: EventSample) -> Estimate:
    """The best fidelity of each event over all levels: the largest when dropping, the smallest when keeping.

    The level is chosen on the answers, so the value is marked as an oracle.
    """
    possible = (0.0 if sample.rules.absolute else -1.0, 1.0)
    estimate = sample.each(lambda event, path: _best(sample, event, path)[0], NO_CANDIDATES, possible)
    return _oracle(estimate)


@metric(
    key="fidelity_best.k",
    **EXPLAINED | {"direction": "none", "chance": NoChance("a level is chosen, not scored")},
)
def fidelity_best_k(sample: EventSample) -> Estimate:
    """The smallest share k/E of the edges at which the best fidelity was reached."""
    return _oracle(sample.each(lambda event, path: _best(sample, event, path)[1], NO_CANDIDATES, (0.0, 1.0)))


def _oracle(estimate: Estimate) -> Estimate:
    return replace(estimate, oracle=True)


@metric(
    key="fidelity_tempme@{level}",
    **EXPLAINED
    | {
        "bounds": (-1, 1),
        "reference": "chen2023",
        "conventions": EMPTY | {"classes": "two", "label_threshold": AS_CHOSEN},
    },
)
def fidelity_tempme(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """How far the kept explanation pushes a binary model towards the event's label.

    With p the probability of class 1: p(top edges only) − p(G) if the label is 1, and p(G) − p(top edges only) if it is
    0. The label is that of the event; without one, it is 1 if p(G) ≥ `label_threshold`.
    """
    if sample.classes != 2:
        raise InputError(f"fidelity_tempme is for two classes, but the model has {sample.classes}")

    def value(event: Scored, path: Path) -> float:
        whole = float(event.probabilities[event.whole, 1])
        kept = float(event.probabilities[path.row("keep", level.of(event.units)), 1])
        label = event.row.context.label
        if label not in (None, 0, 1):
            raise InputError(f"event {event.row.id!r:.80} has the label {label!r}", fix="Use the labels 0 and 1.")
        positive = whole >= sample.rules.label_threshold if label is None else label == 1
        return kept - whole if positive else whole - kept

    return sample.each(value, NO_CANDIDATES, (-1.0, 1.0))


@metric(
    key="acc_auc",
    **_LABELS | {"reference": "chen2023", "conventions": EMPTY | {"sweep": AS_CHOSEN}},
)
def acc_auc(sample: EventSample) -> Estimate:
    """Share of a sweep over sparse explanations that keeps the label predicted on the whole graph.

    At each share s from 0 to the cap: 1 if the top-s edges alone (or, when dropping, the others alone) have the label
    of the whole graph, else 0. The value is the trapezoid area over s, divided by the range of s.
    """
    sweep = sample.rules.acc_auc
    shares = sweep.shares

    def value(event: Scored, path: Path) -> float:
        rows = [path.row(sweep.mode, count) for count in sweep.counts(event.units)]
        same = np.array([event.same_label[row] for row in rows], float)
        return float(np.trapezoid(same, shares) / sweep.cap)

    return sample.each(value, NO_CANDIDATES, (0.0, 1.0))


def _flips(sample: EventSample, mode: str, level: Level) -> Estimate:
    def value(event: Scored, path: Path) -> float:
        return float(not event.same_label[path.row(mode, level.of(event.units))])

    return sample.each(value, NO_CANDIDATES, (0.0, 1.0))


@metric(key="label_flip_drop@{level}", **_LABELS | {"default": False})
def label_flip_drop(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """Share of events whose predicted label changes when the explanation is dropped."""
    return _flips(sample, "drop", level)


@metric(key="label_flip_keep@{level}", **_LABELS | {"direction": "lower", "default": False})
def label_flip_keep(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """Share of events whose predicted label changes when only the explanation is kept."""
    return _flips(sample, "keep", level)


def harmonic(drop: Estimate, keep: Estimate) -> Estimate:
    """The harmonic mean of drop and 1 − keep, with its error by linearisation."""
    a, c = float(drop.value[0]), 1 - float(keep.value[0])
    assert drop.influence is not None
    assert keep.influence is not None
    facts = {"parts": (drop, keep)}  # no per-event values: it is not a mean over events
    if np.isnan(a) or a + c == 0:
        return replace(drop, influence=np.zeros(len(drop.influence)), facts=facts)
    influence = (2 * c**2 * drop.influence - 2 * a**2 * keep.influence) / (a + c) ** 2
    return replace(drop, value=np.array([2 * a * c / (a + c)]), influence=influence, facts=facts)


def _harmonic_bounds(sample: EventSample, estimate: Estimate, confidence: float) -> Bounds:
    """Student's t by linearisation; without a spread, the harmonic means of the bounds of both parts.

    The harmonic mean grows in drop and in 1 − keep. If all events agree in both, as where nothing changes a label,
    their number bounds how many may differ, and these bounds are carried over.
    """
    assert estimate.influence is not None
    low, high = mean_interval(estimate.value, estimate.influence, None, confidence)
    if not np.isnan(low).any() or "parts" not in estimate.facts:
        return low, high
    drop, keep = (t_bounds(sample, part, confidence) for part in estimate.facts["parts"])
    return _harmonic_mean(drop[0], 1 - keep[1]), _harmonic_mean(drop[1], 1 - keep[0])


def _harmonic_mean(a: NDArray[np.floating], c: NDArray[np.floating]) -> Floats:
    a, c = np.clip(a, 0, 1), np.clip(c, 0, 1)
    with np.errstate(invalid="ignore"):
        return np.where(a + c == 0, 0.0, 2 * a * c / (a + c)).astype(np.float64)


def _over_both(sample: EventSample, estimate: Estimate) -> IntervalRule:
    """Student's t over events, by linearisation; if all events agree, from the bounds of both parts."""
    return IntervalRule("t", "events", _harmonic_bounds)


@metric(
    key="characterization@{level}", **EXPLAINED | {"reference": "amara2022", "default": False, "interval": _over_both}
)
def characterization(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """Necessity and sufficiency in one: the harmonic mean of `fidelity_drop` and 1 − `fidelity_keep`."""
    return harmonic(*(_fidelity(sample, mode, level, True) for mode in ("drop", "keep")))


@metric(key="label_flip_characterization@{level}", **_LABELS | {"default": False, "interval": _over_both})
def label_flip_characterization(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """The harmonic mean of `label_flip_drop` and 1 − `label_flip_keep`."""
    return harmonic(*(_flips(sample, mode, level) for mode in ("drop", "keep")))


def _area(sample: EventSample, mode: str) -> Estimate:
    def value(event: Scored, path: Path) -> float:
        counts = np.array(sorted({level.of(event.units) for level in sample.grid}))
        if len(counts) < 2:
            return np.nan
        heights = np.array([_change(sample, event, path, mode, Level(f"k={count}")) for count in counts])
        heights = np.abs(heights) if sample.rules.absolute else heights
        return float(np.trapezoid(heights, counts) / (counts[-1] - counts[0]))

    possible = (0.0 if sample.rules.absolute else -1.0, 1.0)
    return sample.each(value, "fewer than two distinct levels", possible)


_CURVE = EXPLAINED | {"conventions": SCORED | {"area": "trapezoid over the achieved k/E, divided by its span"}}


@metric(key="necessity_auc", **_CURVE)
def necessity_auc(sample: EventSample) -> Estimate:
    """The mean height of the curve of `fidelity_drop` over the achieved shares k/E."""
    return _area(sample, "drop")


@metric(key="sufficiency_auc", **_CURVE | {"direction": "lower"})
def sufficiency_auc(sample: EventSample) -> Estimate:
    """The mean height of the curve of `fidelity_keep` over the achieved shares k/E."""
    return _area(sample, "keep")


def _score_area(sample: EventSample, mode: str) -> Estimate:
    """The mean height of the score itself over the achieved shares, from 0 on."""

    def value(event: Scored, path: Path) -> float:
        scores = event.score(sample.rules.score)
        counts = np.array(sorted({0, *(level.of(event.units) for level in sample.grid)}))
        if len(counts) < 2:
            return np.nan
        heights = np.array([scores[path.row(mode, int(count))] for count in counts])
        return float(np.trapezoid(heights, counts) / counts[-1])

    return sample.each(value, "no level above 0", (0.0, 1.0))


_AREA = EXPLAINED | {
    "conventions": SCORED | {"area": "trapezoid over the achieved k/E from 0, divided by its span"},
    "reference": "petsiuk2018",
    "default": False,
}


@metric(key="deletion_auc", **_AREA | {"direction": "lower"})
def deletion_auc(sample: EventSample) -> Estimate:
    """The mean score while the most important edges are removed, from the whole graph to the largest level."""
    return _score_area(sample, "drop")


@metric(key="insertion_auc", **_AREA)
def insertion_auc(sample: EventSample) -> Estimate:
    """The mean score while the most important edges are added, from the empty graph to the largest level."""
    return _score_area(sample, "keep")


def _robust(sample: EventSample, kind: str, level: Level) -> Estimate:
    def value(event: Scored, path: Path) -> float:
        if path.ranking is None:
            return np.nan
        scores = event.score(sample.rules.score)
        rows = path.robust_rows(kind, level.of(event.units))
        return scores[event.whole] - ordered_mean([scores[row] for row in rows])

    return sample.each(value, NO_CANDIDATES, (-1.0, 1.0))


_ROBUST = EXPLAINED | {
    "bounds": (-1, 1),
    "reference": "zheng2024",
    "default": False,
    "conventions": SCORED | {"robust": AS_CHOSEN},
}


@metric(key="robust_drop@{level}", **_ROBUST)
def robust_drop(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """Robust fidelity+: the decrease of the score when a small random part of the explanation is dropped.

    f(G) − E f(G without a random share `robust_drop` of the top edges). The masked graphs stay close to the graphs that
    the model was trained on.
    """
    return _robust(sample, ROBUST_DROP, level)


@metric(key="robust_keep@{level}", **_ROBUST | {"direction": "lower"})
def robust_keep(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """Robust fidelity−: the decrease of the score when a small random part of the other edges is dropped.

    f(G) − E f(the top edges and a random share `robust_keep` of the others).
    """
    return _robust(sample, ROBUST_KEEP, level)


@metric(key="robust_delta@{level}", **_ROBUST | {"bounds": (-2, 2)})
def robust_delta(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """Robust fidelity+ minus robust fidelity−: a part of the explanation matters more than a part of the rest."""
    drop, keep = (_robust(sample, kind, level).facts["events"] for kind in (ROBUST_DROP, ROBUST_KEEP))
    return sample.mean(drop - keep, NO_CANDIDATES, (-2.0, 2.0))


@metric(
    key="unfaithfulness@{level}",
    **EXPLAINED
    | {
        "direction": "lower",
        "reference": "agarwal2023",
        "conventions": EMPTY | {"kl": AS_CHOSEN},
        "default": False,
    },
)
def unfaithfulness(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """Change of all class probabilities when only the explanation is kept: 1 − exp(−KL).

    KL(whole graph ‖ explanation), or in reverse with `kl="reverse"`.
    """

    def value(event: Scored, path: Path) -> float:
        whole, kept = event.probabilities[[event.whole, path.row("keep", level.of(event.units))]]
        first, second = (whole, kept) if sample.rules.kl == "forward" else (kept, whole)
        return float(-np.expm1(-max(_kl(first, second), 0.0)))

    return sample.each(value, NO_CANDIDATES, (0.0, 1.0))


def _kl(first: Floats, second: Floats) -> float:
    present = first > 0
    with np.errstate(divide="ignore"):
        return float(np.sum(first[present] * (np.log(first[present]) - np.log(second[present]))))


@metric(
    key="fidelity_curve_auc",
    **_LABELS
    | {
        "default": False,
        "bounds": (0, np.inf),
        "interval": NoInterval("an area under ratios of means"),
        "chance": NoChance("a random explainer may change every label, and then the ratio is undefined"),
    },
)
def fidelity_curve_auc(sample: EventSample) -> Estimate:
    """The trapezoid area under `label_flip_drop` / (1 − `label_flip_keep`) over the mean achieved shares k/E."""
    shares = [sample.share(level) for level in sample.grid]
    pairs = [[float(_flips(sample, mode, level).value[0]) for mode in ("drop", "keep")] for level in sample.grid]
    n = np.array([np.count_nonzero([event.units > 0 for event in sample.events])])
    if not n[0] or any(keep == 1 for _, keep in pairs):
        reason = "keeping the explanation changes every label at some level" if n[0] else NO_CANDIDATES
        return Estimate(np.array([np.nan]), n, reason=reason)
    heights = [drop / (1 - keep) for drop, keep in pairs]
    order = np.argsort(shares, kind="stable")
    area = float(np.trapezoid(np.array(heights)[order], np.array(shares)[order]))
    return Estimate(np.array([area]), n)
