"""Gates against a baseline: is a new model worse by more than a margin? A test of non-inferiority."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from graphgauge.core.errors import InputError, OptionError, one_of, sentence
from graphgauge.core.gate import GateOutcome, Verdict
from graphgauge.core.number import Number, percent
from graphgauge.core.options import number
from graphgauge.stats import truth
from graphgauge.stats.comparison import compare
from graphgauge.stats.design import has_items
from graphgauge.stats.panel import DIRECTIONS, Better, panel_of
from graphgauge.stats.ranks import alpha_of
from graphgauge.stats.reading import read_side
from graphgauge.stats.runs import Run, Runs, Seed, repetition
from graphgauge.stats.text import decimals, fixed, listing, several_of, units

OVER = ("auto", "items", "seeds", "intervals")
# The names of the two sides in comparisons.
NEW, BASELINE = "new", "baseline"
_POWER = 0.8
_WORDS: dict[str, tuple[Verdict, str]] = {
    "excluded": ("passed", "{metric} is not worse by more than {margin:g}"),
    "shown": ("failed", "{metric} is worse by more than {margin:g}"),
    "undecided": ("undecided", "it is undecided whether {metric} is worse by more than {margin:g}"),
}


class Regression(Struct, frozen=True, kw_only=True):
    """Whether a new model is worse than its baseline by more than `margin`; true if that is excluded.

    `loss` is how much worse it is, negative if it is better. `low` and `high` are the ends of the losses that one-sided
    tests do not reject, NaN without an interval. `worse` is `excluded` if all of them are below the margin, `shown` if
    they are above, otherwise `undecided`. `n` counts the units that are compared, and `needed` is how many would
    exclude a loss of the margin with 80 % power, if the models are equal.
    """

    metric: str
    better: Better
    margin: float
    confidence: float
    new: Number
    baseline: Number
    loss: Number
    low: Number
    high: Number
    worse: Literal["excluded", "shown", "undecided"]
    unit: str
    n: int
    paired: bool
    test: str
    needed: int | None = None
    dataset: str = ""
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether a larger loss is excluded."""
        return self.worse == "excluded"

    def __bool__(self) -> bool:
        return self.passed

    @property
    def verdict(self) -> str:
        """What is known, in words."""
        return _WORDS[self.worse][1].format(metric=self.metric, margin=self.margin)

    @property
    def evidence(self) -> str:
        """Values, difference and its interval: a loss of a score is negative, one of an error positive."""
        digits = max(decimals((self.high - self.low) / 4, self.baseline), decimals(self.margin))
        sign = -1 if self.better == "higher" else 1
        low, high = sorted((sign * self.low, sign * self.high))
        interval = "no interval" if math.isnan(self.low) else f"[{low:+.{digits}f}, {high:+.{digits}f}]"
        level = percent(1 - 2 * alpha_of(self.confidence))
        how = "from two intervals" if self.unit == "interval" else f"over {units(self.n, self.unit)}"
        values = f"new {fixed(self.new, digits)}, baseline {fixed(self.baseline, digits)}"
        paired = "paired " if self.paired else ""
        return f"{values} ({self.new - self.baseline:+.{digits}f}, {level} interval {interval}, {paired}{how})"

    @property
    def advice(self) -> str:
        """What it would take to decide, if it is undecided."""
        if self.worse != "undecided":
            return ""
        if self.unit == "interval":
            return "Keep the values of items on both sides (--keep-items), or evaluate several seeds."
        if self.needed is None:
            return f"Without a spread no number of {several_of(self.unit)} can be named."
        if self.needed <= self.n:
            return "So many would usually exclude it if the models were equal: a loss is likely, or the draw unlucky."
        more = f"{units(self.needed, self.unit)} ({self.needed - self.n:,} more)"
        return f"{more} would exclude it with {100 * _POWER:g} % power, if the models are equal."

    @property
    def outcome(self) -> GateOutcome:
        """As the outcome of a gate, for files and pages."""
        text = f"{self.metric} not worse by more than {self.margin:g}"
        why = f"{self.verdict}: {self.evidence}"
        return GateOutcome(gate=text, verdict=_WORDS[self.worse][0], value=self.loss, limit=self.margin, why=why)

    def __str__(self) -> str:
        said = f"gate {_WORDS[self.worse][0]}: {self.verdict}: {self.evidence}."
        return " ".join(filter(None, (said, self.advice, *map(sentence, self.notes))))


def gate(
    new: Any,
    against: Any,
    *,
    metric: str,
    margin: float,
    over: Literal["auto", "items", "seeds", "intervals"] = "auto",
    confidence: float = 0.95,
    direction: Better | None = None,
    truths: Literal["same", "any"] = "same",
) -> Regression:
    """Test whether a new model is worse than its baseline by more than a margin.

    Several runs of a side are compared over seeds, paired if the seeds are the same. Single runs are compared over
    their items, if both kept them; otherwise from their two intervals, which decides less.

    Parameters
    ----------
    new, against
        The new model and its baseline: a result file, a folder of results, an evaluation, or a list of these.
    metric
        The metric to compare on.
    margin
        The loss that is tolerated.
    over
        `auto`, `seeds`, `items` or `intervals`.
    confidence
        The confidence with which a larger loss is excluded.
    direction
        `higher` or `lower`, for metrics that graphgauge does not know.
    truths
        Whether both must be measured against the `same` truth, or `any`.

    Returns
    -------
    Regression
        True if a larger loss is excluded; `worse` is `excluded`, `shown` or `undecided`.

    Raises
    ------
    InputError
        If a side has no results or not those that `over` asks for, or both have different truths.

    Examples
    --------
    >>> from graphgauge import stats
    >>> old = {seed: 0.70 + 0.01 * (seed % 3) for seed in range(8)}
    >>> new = {seed: score - 0.002 for seed, score in old.items()} | {0: 0.701}
    >>> stats.gate({"m": new}, {"m": old}, metric="accuracy", margin=0.01).worse
    'excluded'
    """
    one_of("over", over, OVER)
    number("margin", margin, 0, inside=True)
    if alpha_of(confidence) >= 0.5:
        raise OptionError(f"confidence is {confidence:g}", fix="One-sided tests need one above 0.5.")
    if direction is not None:
        one_of("direction", direction, DIRECTIONS)
    sides = (_side(new, NEW), _side(against, BASELINE))
    runs = _on_one_dataset(*sides)
    # Refuses different truths, mixed conventions and unknown metrics, whatever is compared.
    panel = panel_of(runs, metric, direction=direction, truths=truths)
    is_single = [len(side) for side in sides] == [1, 1]
    if is_single and truths == "same":
        truth.refuse(truth.conflicts(panel.truths, across_seeds=True))
    if over == "items" and not is_single:
        raise InputError("several runs of a side are compared over seeds", fix='Use over="seeds".')
    if over == "auto":
        kept = is_single and all(has_items(run, metric) for run in runs)
        over = "items" if kept else "intervals" if is_single else "seeds"
    asked = _Asked(metric, direction or panel.better, margin, confidence)
    return _from_intervals(list(runs), asked) if over == "intervals" else _tested(runs, over, asked, truths)


def _side(source: Any, name: str) -> list[Run]:
    """The runs of one side under its name; they have to be of one method."""
    known = read_side(source, name)
    failed = [f"{run}: {run.failed}" for run in known if run.failed]
    if failed:
        raise InputError(f"a run of the {name} side failed: {listing(failed, 2)}", fix="Repeat it.")
    if len(known.methods) > 1:
        what = f"the {name} side has {len(known.methods)} methods: {listing(known.methods)}"
        raise InputError(what, fix="Pass the results of one method.")
    # Repetitions of both sides are independent, also if their methods have one name.
    repeated: dict[Seed, Seed] = {
        repetition(run.method, i): repetition(name, i) for run in known for i in range(1, len(known) + 1)
    }
    return [replace(run, method=name, seed=repeated.get(run.seed, run.seed)) for run in known]


def _on_one_dataset(new: list[Run], old: list[Run]) -> Runs:
    """All runs; a side that does not name its dataset has that of the other."""
    first, second = ({run.dataset for run in side} for side in (new, old))
    if first == second:
        return Runs([*new, *old])
    if len(first) == len(second) == 1 and "" in first | second:
        return Runs(replace(run, dataset=max(*first, *second)) for run in (*new, *old))
    sides = [listing(sorted(names)) or "no named dataset" for names in (first, second)]
    raise InputError(f"the new side is on {sides[0]}, the baseline on {sides[1]}", fix="Compare the same datasets.")


class _Asked(NamedTuple):
    """What a test is asked: by which metric, in which direction, against which margin."""

    metric: str
    better: Better
    margin: float
    confidence: float

    def answer(self, low: float, high: float, *, new: float, baseline: float, **facts: Any) -> Regression:
        """The answer from the ends of the losses that are not rejected."""
        loss = baseline - new if self.better == "higher" else new - baseline
        worse: Any = "excluded" if high < self.margin else "shown" if low > self.margin else "undecided"
        values: dict[str, Any] = {"new": new, "baseline": baseline, "loss": loss, "low": low, "high": high}
        return Regression(**self._asdict(), **values, worse=worse, **facts)


def _tested(runs: Runs, over: Literal["seeds", "items"], asked: _Asked, truths: Any) -> Regression:
    """By a comparison over seeds or items."""
    counts = [sum(r.method == side and r.dataset == d for r in runs) for side in (NEW, BASELINE) for d in runs.datasets]
    options: dict[str, Any] = {"direction": asked.better} if over == "seeds" else {}
    if over == "seeds" and len(runs.datasets) > 1 and min(counts) > 1:
        options["datasets"] = "these"
    metric, _, margin, confidence = asked
    found = compare(
        runs,
        metric=metric,
        baseline=BASELINE,
        over=over,
        margin=margin,
        confidence=confidence,
        truths=truths,
        **options,
    )
    if len(found.invalid) == 2:
        raise InputError(found.conclusion, fix="Evaluate both sides in the same way.")
    if found.target is not None:
        raise OptionError(f"{metric} has a target", fix="Use a metric of which higher or lower is better.")
    (pair,), design = found.pairs, found.design
    sign = -1 if found.better == "higher" else 1
    if pair.wide is not None:
        low, high = sorted((sign * pair.wide.low, sign * pair.wide.high))
    else:  # without an interval nothing is known about other runs, unless all pairs differ alike
        low = high = sign * pair.difference if pair.error == 0 else math.nan
    return asked._replace(better=found.better).answer(
        low,
        high,
        new=found[NEW].mean,
        baseline=found[BASELINE].mean,
        unit="cluster" if design.clusters else design.unit,
        n=design.count,
        paired=design.paired,
        test=pair.test,
        needed=design.units_for(margin, pair.error, _POWER, 1 - 2 * alpha_of(confidence)),
        dataset=listing([name for name in runs.datasets if name]),
        notes=found.notes,
    )


def _from_intervals(runs: list[Run], asked: _Asked) -> Regression:
    """From the intervals of both: the loss is between their extremes."""
    if len(runs) != 2 or any(run.evaluation is None for run in runs):
        raise InputError("only single result files are compared from intervals", fix='Use over="seeds".')
    new, old = (run.evaluation[asked.metric] for run in runs if run.evaluation is not None)
    better, worse = (new, old) if asked.better == "lower" else (old, new)
    (lowest, highest), (low, high) = (each.interval or (math.nan, math.nan) for each in (better, worse))
    return asked.answer(
        lowest - high,
        highest - low,
        new=new.value,
        baseline=old.value,
        unit="interval",
        n=2,
        paired=False,
        test="two intervals",
        dataset=runs[0].dataset,
    )
