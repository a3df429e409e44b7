"""How often a comparison errs, covers and detects, simulated at the sizes of a design."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import OptionError, one_of
from graphgauge.core.options import whole_number
from graphgauge.stats.design import Design
from graphgauge.stats.paired import STATISTICS, Plan, Statistic
from graphgauge.stats.rearrange import Pair
from graphgauge.stats.wilcoxon import as_on_paper, require_alpha

REPEATS = 1000
_DRAWS = 999
_TRUTH = 200_000


@dataclass(frozen=True)
class Simulated:
    """What a comparison does in repeated experiments.

    `error` is how often it rejects without a difference. `coverage`, `below` and `above` say how often the interval
    contains the true difference, lies below it and above it, with the effect; `none` how often there is no interval.
    `width` is the median width divided by that of an oracle that knows the spread of the estimate. `power` is how
    often the difference is found; NaN without an effect. `expected` is the mean of what intervals print about their
    coverage, where they print nothing their level; NaN if that was not asked for.
    """

    error: float
    coverage: float
    below: float
    above: float
    none: float
    width: float
    power: float
    effect: float
    repeats: int
    level: float = 0.95
    expected: float = math.nan

    def __str__(self) -> str:
        error = math.sqrt(0.05 * 0.95 / self.repeats)
        found = "" if math.isnan(self.power) else f"; a difference of {self.effect:g} is found in {self.power:.1%}"
        missing = f"; no interval in {self.none:.1%}" if self.none else ""
        return (
            f"Simulated at this design, {self.repeats:,} times (5 % is known to ± {2 * error:.1%}; normal scores): "
            f"without a difference {self.error:.1%} are significant; the {100 * self.level:g} % interval covers "
            f"{self.coverage:.1%} (misses {self.below:.1%} low, {self.above:.1%} high) at {self.width:.2f} times the "
            f"width of one with known spread{missing}{found}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The rates and the sentence.

        Returns
        -------
        dict[str, Any]
            Values that JSON can hold.
        """
        return {**asdict(self), "sentence": str(self)}


@dataclass(frozen=True)
class Model:
    """Scores of two methods: dataset effects, seed effects that they share, and their own noise.

    `between` is the standard deviation over datasets of the difference of the methods, `spreads` those of the runs of
    each, `correlation` that of two runs with the same seed. `shapes` are the distributions of the noise of each:
    `normal`, `exponential`, `lognormal`, or `-exponential` and `-lognormal` with the long tail below. Scores are
    rounded to a multiple of `grid` and cut at `ceiling`, if given.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import stats
    >>> model = stats.Model(effect=0.5)
    >>> [(ours, theirs)] = model.draw([(3, 3)], np.random.default_rng(0))
    >>> len(ours), model.truth()
    (3, 0.5)
    """

    effect: float = 0.0
    correlation: float = 0.0
    spreads: tuple[float, float] = (1.0, 1.0)
    between: float = 0.0
    grid: float | None = None
    ceiling: float | None = None
    shapes: tuple[str, str] = ("normal", "normal")

    def draw(self, sizes: Sequence[tuple[int, int]], generator: np.random.Generator) -> list[Pair]:
        """Draw the scores of both methods.

        Parameters
        ----------
        sizes
            Per dataset, the number of runs of the first and of the second method.
        generator
            Where random numbers come from.

        Returns
        -------
        list[Pair]
            Per dataset, the scores of both methods.
        """
        datasets = []
        for n, m in sizes:
            luck = generator.normal(size=max(n, m))
            shared, own = math.sqrt(self.correlation), math.sqrt(1 - self.correlation)
            ahead = self.effect + self.between * float(generator.normal()) if self.between else self.effect
            a, b = (
                self.spreads[index] * (shared * luck[:size] + own * _noise(self.shapes[index], size, generator))
                for index, size in enumerate((n, m))
            )
            datasets.append((self._shown(a + ahead / 2), self._shown(b - ahead / 2)))
        return datasets

    def _shown(self, scores: Floats) -> Floats:
        if self.ceiling is not None:
            scores = np.minimum(scores, self.ceiling)
        return scores if self.grid is None else as_on_paper(np.round(scores / self.grid) * self.grid, 1.0)

    def truth(self) -> float:
        """The difference of the means, which a ceiling makes smaller than the effect.

        Returns
        -------
        float
            The difference.
        """
        if self.ceiling is None and self.grid is None:
            return self.effect
        sizes = [(_TRUTH, _TRUTH)] if self.between == 0 else [(_TRUTH // 1000, _TRUTH // 1000)] * 1000
        return float(np.mean([a.mean() - b.mean() for a, b in self.draw(sizes, np.random.default_rng(0))]))


def _noise(shape: str, size: int, generator: np.random.Generator) -> Floats:
    """With mean 0 and variance 1."""
    kind = shape.removeprefix("-")
    one_of("shape", kind, ("normal", "exponential", "lognormal"))
    if kind == "normal":
        return generator.normal(size=size)
    if kind == "exponential":
        values = generator.exponential(size=size) - 1
    else:
        values = (np.exp(generator.normal(size=size)) - math.exp(0.5)) / math.sqrt(math.e * (math.e - 1))
    return np.asarray(-values if shape.startswith("-") else values)


def simulate(
    sizes: Sequence[tuple[int, int]],
    *,
    paired: bool = True,
    datasets: str = "these",
    model: Model | None = None,
    test: Statistic = "mean",
    alpha: float = 0.05,
    repeats: int = REPEATS,
    seed: int = 0,
    expectations: int = 0,
) -> Simulated:
    """Repeat a comparison of two methods with these numbers of runs per dataset on simulated scores.

    The error is that without an effect, everything else with the model's. If the datasets are `drawn`, they vary with
    `between`; if they are `these`, they do not. So many of the repetitions, `expectations`, also simulate what they
    expect of their interval.

    Parameters
    ----------
    sizes
        Numbers of runs of both methods, for each dataset.
    paired
        Whether runs are paired by seed.
    datasets
        `these` or `drawn`.
    model
        How scores vary; `Model()` by default.
    test
        `mean` or `ranks`.
    alpha
        Level of the test.
    repeats
        Number of simulated comparisons.
    seed
        Seed of the simulation.
    expectations
        Number of repetitions that also simulate their expected coverage.

    Returns
    -------
    Simulated
        The error, the power and the coverage of the interval, as shares of the repetitions.

    Raises
    ------
    OptionError
        If there are no sizes or repeats.

    Examples
    --------
    >>> from graphgauge import stats
    >>> stats.simulate([(6, 6)], repeats=200).error <= 0.06
    True
    """
    one_of("datasets", datasets, ("these", "drawn"))
    one_of("test", test, STATISTICS)
    require_alpha(alpha)
    whole_number("repeats", repeats, 1)
    if not sizes:
        raise OptionError("there are no sizes", fix="Pass the numbers of runs of both methods for each dataset.")
    model = model or Model()
    if not 0 <= model.correlation <= 1:
        raise OptionError(f"correlation must be between 0 and 1, not {model.correlation!r:.60}")
    drawn = datasets == "drawn" and len(sizes) > 1
    tested = ((len(sizes), len(sizes)),) if drawn else tuple(sizes)
    plan = Plan(tested, drawn or paired, test, alpha, seed=seed, draws=_DRAWS)
    generator = np.random.default_rng(seed)
    null = replace(model, effect=0.0)
    error = _outcomes(plan, null, sizes, drawn, alpha, repeats, generator)
    with_effect = error if model.effect == 0 else _outcomes(plan, model, sizes, drawn, alpha, repeats, generator)
    p, estimate, low, high = with_effect
    truth, given = model.truth(), ~np.isnan(low)
    slack = 1e-9 * (abs(truth) + 1)
    if model.grid is not None or model.ceiling is not None:
        slack += 3 * float(np.std(estimate)) * math.sqrt(max(map(sum, sizes)) / _TRUTH)
    below, above = high[given] < truth - slack, low[given] > truth + slack
    from scipy.special import ndtri

    oracle = 2 * float(ndtri(1 - alpha / 2)) * float(np.std(estimate))
    return Simulated(
        error=float(np.mean(error[0] <= alpha)),
        coverage=float(np.mean(~below & ~above)) if given.any() else math.nan,
        below=float(np.mean(below)) if given.any() else math.nan,
        above=float(np.mean(above)) if given.any() else math.nan,
        none=float(np.mean(~given)),
        width=float(np.median((high - low)[given])) / oracle if given.any() and oracle > 0 else math.nan,
        power=math.nan if model.effect == 0 else float(np.mean(p <= alpha)),
        effect=model.effect,
        repeats=repeats,
        level=1 - alpha,
        expected=_expected(plan, model, sizes, drawn, alpha, expectations, seed),
    )


def _expected(
    plan: Plan, model: Model, sizes: Sequence[tuple[int, int]], drawn: bool, alpha: float, repeats: int, seed: int
) -> float:
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(repeats):
        data = _tested(model.draw(sizes, generator), drawn)
        if not math.isnan(plan.outcome(data, alpha)[2]):
            found.append(plan.expected(data) or 1 - alpha)
    return float(np.mean(found)) if found else math.nan


def _tested(data: list[Pair], drawn: bool) -> list[Pair]:
    """The scores that are tested: means on each dataset, if these are drawn."""
    return [(np.array([a.mean() for a, _ in data]), np.array([b.mean() for _, b in data]))] if drawn else data


def _outcomes(
    plan: Plan,
    model: Model,
    sizes: Sequence[tuple[int, int]],
    drawn: bool,
    alpha: float,
    repeats: int,
    generator: np.random.Generator,
) -> tuple[Floats, Floats, Floats, Floats]:
    rows = []
    for _ in range(repeats):
        rows.append(plan.outcome(_tested(model.draw(sizes, generator), drawn), alpha))
    p, estimate, low, high = np.array(rows).T
    return p, estimate, low, high


def simulate_like(
    data: Sequence[Pair], design: Design, *, test: Statistic, alpha: float, effect: float | None, seed: int
) -> Simulated:
    """At the sizes, spreads and seed correlation of these runs."""
    paired, drawn = design.runs == "paired", design.datasets == "drawn"
    spreads = [_spread([pair[index] for pair in data]) for index in (0, 1)]
    correlation = min(max(design.correlation, 0.0), 1.0) if design.correlation == design.correlation else 0.0
    gaps = np.array([float(a.mean() - b.mean()) for a, b in data])
    between = 0.0
    if drawn:
        noise = float(np.mean([spreads[0] ** 2 / len(a) + spreads[1] ** 2 / len(b) for a, b in data]))
        if paired:
            noise -= 2 * correlation * spreads[0] * spreads[1] * float(np.mean([1 / len(a) for a, _ in data]))
        between = math.sqrt(max(float(gaps.var(ddof=1)) - noise, 0.0))
    if not max(*spreads, between) > 0:
        spreads = [1.0, 1.0]
    model = Model(effect or 0.0, correlation, (spreads[0], spreads[1]), between)
    sizes = [(len(a), len(b)) for a, b in data]
    return simulate(
        sizes, paired=paired, datasets="drawn" if drawn else "these", model=model, test=test, alpha=alpha, seed=seed
    )


def _spread(datasets: Sequence[Floats]) -> float:
    known = [float(values.var(ddof=1)) for values in datasets if len(values) > 1]
    return math.sqrt(float(np.mean(known))) if known else 0.0
