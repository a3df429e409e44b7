"""Metrics of replayed growth: what it changed, and whether chance growth would have changed as much."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.metric import (
    AS_CHOSEN,
    Bounds,
    ChanceFunction,
    Estimate,
    Exempt,
    IntervalRule,
    Level,
    MetricFunction,
    NoChance,
    NoInterval,
    metric,
)
from graphgauge.evolution.samples import CONDITIONS_APART, Trajectory, single
from graphgauge.stats.intervals import mean_interval, t_interval

CHANCES = {"shuffled": "ends shuffled", "redrawn": "targets redrawn"}
# Fewer runs have no interval over runs: Student's t would be several times as wide as their spread.
FEWEST_RUNS = 3
# Draws of one replay per run for the test over several runs.
_COMBINATIONS = 9999
ALPHA = 0.05


@dataclass(frozen=True)
class Replays:
    """One outcome of several runs: as it was, with its births withheld, and under each kind of chance growth.

    `units` are the differences between the run and its withheld replay, per node or edge, and `ends` the nodes that
    these edges share, both of each run.
    """

    grown: Floats
    withheld: Floats
    chance: Mapping[str, Floats]
    units: Sequence[Floats]
    ends: Sequence[Ints | None]
    conditions: int = 1
    reason: str = "no runs"
    seed: int = 0
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.grown)

    def estimate(self, value: Callable[[Replays], float]) -> Estimate:
        if self.conditions > 1:
            return single(np.nan, 0, CONDITIONS_APART)
        said = (f"{self.left_out} runs have no value ({self.reason}) and are left out",) if self.left_out else ()
        return single(value(self) if len(self) else np.nan, len(self), self.reason, said if len(self) else ())

    @cached_property
    def effects(self) -> Floats:
        return self.grown - self.withheld

    def over(self, kind: str) -> Floats:
        """The difference of each run to the mean of its chance replays."""
        return np.asarray(self.grown - self.chance[kind].mean(axis=1))

    @cached_property
    def _nulls(self) -> dict[str, Floats]:
        return {kind: self._null(kind) for kind in self.chance}

    def null(self, kind: str) -> Floats:
        """The mean over runs if each run is one of its replays at random, itself included, less the mean of all."""
        return self._nulls[kind]

    def _null(self, kind: str) -> Floats:
        every = np.column_stack([self.grown, self.chance[kind]])
        if len(every) == 1:
            return np.asarray(every[0, 1:] - self.chance[kind].mean())
        rng = np.random.default_rng([self.seed, 11])
        picked = rng.integers(0, every.shape[1], (_COMBINATIONS, len(every)))
        drawn = every[np.arange(len(every)), picked].mean(axis=1)
        return np.asarray(drawn - self.chance[kind].mean(axis=1).mean())

    def p(self, kind: str, *, worse: bool = False) -> float:
        """The probability that chance growth does at least as well, or with `worse`, at least as badly.

        Exact for growth that is exchangeable with its replays, for any number of them.
        """
        sign = -1 if worse else 1
        value, null = sign * float(self.over(kind).mean()), sign * self.null(kind)
        reached = np.count_nonzero(null >= value - 1e-12 * max(1.0, abs(value)))
        return float((1 + reached) / (1 + len(null)))

    def verdict(self, kind: str) -> str:
        """The answer of two one-sided tests at 5 % each: random growth is called better in 5 %, and worse in 5 %."""
        if self.p(kind) <= ALPHA:
            return "better than replays"
        return "worse than replays" if self.p(kind, worse=True) <= ALPHA else "as replays"

    def band(self, kind: str, level: float = 0.95) -> tuple[float, float]:
        """Where this share of the effects of chance growth is."""
        shift = float((self.chance[kind].mean(axis=1) - self.withheld).mean())
        low, high = np.quantile(self.null(kind), [(1 - level) / 2, (1 + level) / 2])
        return float(low + shift), float(high + shift)


def _over_runs(values: Floats) -> IntervalRule:
    def bounds(sample: Any, estimate: Estimate, confidence: float) -> Bounds:
        return mean_interval(estimate.value, values - values.mean(), None, confidence, float(np.abs(values).max()))

    return IntervalRule("t", "runs", bounds)


def _effect_rule(sample: Any, estimate: Estimate) -> IntervalRule | NoInterval:
    """Student's t over three or more runs; for one or two, over nodes or edges, which share ends."""
    if isinstance(sample, Trajectory):
        return sample.rule()
    if len(sample) >= FEWEST_RUNS:
        return _over_runs(sample.effects)
    if min(map(len, sample.units), default=0) < 2:
        return NoInterval(f"fewer than {FEWEST_RUNS} runs, and one value each")
    return IntervalRule("t", "nodes or edges", _unit_bounds)


def _unit_bounds(sample: Replays, estimate: Estimate, confidence: float) -> Bounds:
    variance = sum(_variance(own, ends) for own, ends in zip(sample.units, sample.ends, strict=True))
    error = np.sqrt(variance) / len(sample)
    scale = max(float(np.abs(own).max(initial=0)) for own in sample.units)
    return t_interval(estimate.value, np.array([error]), np.array([_df(sample)]), confidence, scale=scale)


def _variance(values: Floats, ends: Ints | None) -> float:
    """Of a mean over nodes, or over edges, where those that share a node may be dependent (Aronow et al., 2015)."""
    residuals, n = values - values.mean(), len(values)
    if ends is None:
        return float(residuals @ residuals / (n * (n - 1)))
    sums = np.bincount(ends.ravel(), np.repeat(residuals, 2))
    dyadic = float(sums @ sums - residuals @ residuals)
    # The dyadic sum may fall below the sum of squares by chance; it is not believed then.
    return max(dyadic, float(residuals @ residuals)) / (n * (n - 1))


def _df(sample: Replays) -> float:
    """Units, or the nodes that edges share, less one."""
    counts = [
        len(own) if ends is None else len(np.unique(ends)) for own, ends in zip(sample.units, sample.ends, strict=True)
    ]
    return float(min(counts) - 1)


def _chance_rule(kind: str) -> Any:
    def rule(sample: Any, estimate: Estimate) -> IntervalRule | NoInterval:
        """Student's t over three or more runs; for one or two, where chance growth would be instead."""
        if isinstance(sample, Trajectory):
            return sample.rule()
        if len(sample) >= FEWEST_RUNS:
            return _over_runs(sample.over(kind))

        def bounds(sample: Replays, estimate: Estimate, confidence: float) -> Bounds:
            ends = [(1 + confidence) / 2, (1 - confidence) / 2]
            low, high = estimate.value[0] - np.quantile(sample.null(kind), ends)
            spread = max(1.0, float(np.abs(sample.grown).max()))
            missing = high - low <= 1e-12 * spread
            return (np.array([np.nan]), np.array([np.nan])) if missing else (np.array([low]), np.array([high]))

        return IntervalRule("quantiles", "chance replays", bounds)

    rule.__doc__ = "Student's t over three or more runs; for one or two, quantiles of the difference to chance replays."
    return rule


def _levels(function: MetricFunction, sample: Any, params: Mapping[str, Any]) -> Mapping[str, float]:
    """The effect of chance growth, as a mean over its replays, with the band that contains 95 % of them."""
    if isinstance(sample, Trajectory):
        return dict(sample.chance)
    return {
        name: Level(float((sample.chance[kind].mean(axis=1) - sample.withheld).mean()), *sample.band(kind))
        for kind, name in CHANCES.items()
    }


def _no_difference(function: MetricFunction, sample: Any, params: Mapping[str, Any]) -> Mapping[str, float]:
    """Growth whose targets are random."""
    return dict(sample.chance) if isinstance(sample, Trajectory) else {"chance growth": 0.0}


_REPLAYED = Exempt("the graph is embedded anew for every change of a birth, by a function that may do anything")
_WHOLE = Exempt("runs are replayed as a whole")
_ROLES = Exempt("a run and its replays have different roles")
_FACTS: dict[str, Any] = {
    "family": "evolution",
    "direction": "higher",
    "unit": "run",
    "reference": "besag1989",
    "conventions": {"embed": AS_CHOSEN, "score": AS_CHOSEN, "draws": AS_CHOSEN, "empty": "nan"},
    "laws": {
        "permutation": Exempt("replays draw in the order of the births"),
        "merge": _WHOLE,
        "monotone": _REPLAYED,
        "symmetry": _ROLES,
    },
}
_MEANING = {
    "probe": "the accuracy of a plain classifier of the nodes' labels",
    "future": "the share of non-edges that future edges outscore",
    "retention": "the share of non-edges that the edges of the start outscore",
}
_RANGE = {"probe": (-np.inf, np.inf), "future": (-1, 1), "retention": (-1, 1)}


def _declare(outcome: str) -> None:
    """The five metrics of one outcome."""
    facts = _FACTS | {"needs": (f"replayed_{outcome}",)}
    effects: ChanceFunction = _levels

    def effect(sample: Replays) -> Estimate:
        return sample.estimate(lambda own: float(own.effects.mean()))

    effect.__doc__ = f"""What growth did to {_MEANING[outcome]}: the run, less its replay without births.

    Averaged over runs. Next to it: the effect of chance growth.
    """
    metric(key=f"growth_{outcome}", chance=effects, interval=_effect_rule, bounds=_RANGE[outcome], **facts)(effect)
    for kind, name in CHANCES.items():
        _declare_chance(outcome, kind, name, facts)


def _declare_chance(outcome: str, kind: str, name: str, facts: dict[str, Any]) -> None:
    def over(sample: Replays) -> Estimate:
        return sample.estimate(lambda own: float(own.over(kind).mean()))

    over.__doc__ = f"How much more growth did to {_MEANING[outcome]} than replays with {name}, on average."
    metric(
        key=f"growth_{outcome}_over_{kind}",
        chance=_no_difference,
        interval=_chance_rule(kind),
        bounds=_RANGE[outcome],
        **facts,
    )(over)

    def p(sample: Replays) -> Estimate:
        return sample.estimate(lambda own: own.p(kind))

    p.__doc__ = f"""Probability that replays with {name} do at least as well for {_MEANING[outcome]}.

    One-sided and exact: growth with random targets is below 0.05 in at most 5 % of cases, for any number of replays.
    """
    metric(
        key=f"growth_{outcome}_p_{kind}",
        chance=NoChance("a p-value is compared with its level"),
        interval=NoInterval("a p-value is not an estimate"),
        bounds=(0, 1),
        **facts | {"direction": "lower"},
    )(p)


for _outcome in _MEANING:
    _declare(_outcome)
