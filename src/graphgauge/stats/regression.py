"""Gates against a baseline: is a new model worse by more than a margin? A test of non-inferiority."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

from msgspec import Struct

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.gate import GateOutcome
from graphgauge.core.number import Number, percent
from graphgauge.stats import truth
from graphgauge.stats.comparison import compare
from graphgauge.stats.effects import units_needed
from graphgauge.stats.panel import DIRECTIONS, Better, panel_of
from graphgauge.stats.ranks import alpha_of
from graphgauge.stats.reading import is_evaluation, read_side, run_of
from graphgauge.stats.runs import Run, Runs, Seed, repetition
from graphgauge.stats.text import decimals, fixed, listing, sentence, several_of, units

OVER = ("auto", "items", "seeds", "intervals")
# The names of the two sides in comparisons.
NEW, BASELINE = "new", "baseline"
_POWER = 0.8
_GROUP = re.compile(r"(?P<key>[^\[\]]+)\[(?P<axis>[^=\]]+)=(?P<label>.*)\]")


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
        worse = f"worse by more than {self.margin:g}"
        return {
            "excluded": f"{self.metric} is not {worse}",
            "shown": f"{self.metric} is {worse}",
            "undecided": f"it is undecided whether {self.metric} is {worse}",
        }[self.worse]

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
        verdict: Any = {"excluded": "passed", "shown": "failed", "undecided": "undecided"}[self.worse]
        text = f"{self.metric} not worse by more than {self.margin:g}"
        why = f"{self.verdict}: {self.evidence}"
        return GateOutcome(gate=text, verdict=verdict, value=self.loss, limit=self.margin, why=why)

    def __str__(self) -> str:
        word = {"excluded": "passed", "shown": "failed", "undecided": "undecided"}[self.worse]
        return " ".join(
            filter(None, (f"gate {word}: {self.verdict}: {self.evidence}.", self.advice, *map(sentence, self.notes)))
        )


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
        The metric to compare on; a group, `mrr[relation=treats]`, is compared from intervals.
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
    if not (isinstance(margin, int | float) and 0 < margin < math.inf):
        raise OptionError(f"margin must be above 0, not {margin!r:.60}", fix="Name the loss that does not matter.")
    if alpha_of(confidence) >= 0.5:
        raise OptionError(f"confidence is {confidence:g}", fix="One-sided tests need one above 0.5.")
    if direction is not None:
        one_of("direction", direction, DIRECTIONS)
    group = _GROUP.fullmatch(metric)
    if group is not None and over not in ("auto", "intervals"):
        raise OptionError(f"the group {metric} is compared from intervals", fix="Leave over out.")
    sides = (_side(new, NEW), _side(against, BASELINE))
    runs = _on_one_dataset(*sides)
    # Refuses different truths, mixed conventions and unknown metrics, whatever is compared.
    panel = panel_of(runs, metric if group is None else group["key"], direction=direction, truths=truths)
    is_single = [len(side) for side in sides] == [1, 1]
    if is_single and truths == "same":
        truth.refuse(truth.conflicts(panel.truths, across_seeds=True))
    options: dict[str, Any] = {"metric": metric, "margin": margin, "confidence": confidence, "truths": truths}
    if group is None and over in ("auto", "items") and is_single:
        have = [run.items is not None and metric in run.items.values for run in runs]
        if over == "items" or all(have):
            return _tested(runs, "items", direction or panel.better, **options)
    elif over == "items":
        raise InputError("several runs of a side are compared over seeds", fix='Use over="seeds".')
    if group is not None or over == "intervals" or (over == "auto" and is_single):
        return _from_intervals(list(runs), panel.better, group, **options)
    return _tested(runs, "seeds", direction or panel.better, **options)


def _side(source: Any, name: str) -> list[Run]:
    """The runs of one side under its name; they have to be of one method."""
    parts = list(source) if isinstance(source, list | tuple) else [source]
    if all(map(is_evaluation, parts)):
        runs = [run_of(part, method=name) for part in parts]
        return [
            run if part.run.seed is not None or len(runs) == 1 else replace(run, seed=repetition(name, i))
            for i, (run, part) in enumerate(zip(runs, parts, strict=True), 1)
        ]
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


def _tested(
    runs: Runs,
    over: Literal["seeds", "items"],
    better: Better,
    *,
    metric: str,
    margin: float,
    confidence: float,
    truths: Any,
) -> Regression:
    """By a comparison over seeds or items."""
    counts = [sum(r.method == side and r.dataset == d for r in runs) for side in (NEW, BASELINE) for d in runs.datasets]
    these: Any = {"datasets": "these"} if over == "seeds" and len(runs.datasets) > 1 and min(counts) > 1 else {}
    options: dict[str, Any] = {"direction": better, **these} if over == "seeds" else {}
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
    if found.target is not None:
        raise OptionError(f"{metric} has a target", fix="Use a metric of which higher or lower is better.")
    (pair,), design = found.pairs, found.design
    sign = -1 if found.better == "higher" else 1
    if pair.wide is not None:
        low, high = sorted((sign * pair.wide.low, sign * pair.wide.high))
    else:  # without an interval nothing is known about other runs, unless all pairs differ alike
        low = high = sign * pair.difference if pair.error == 0 else math.nan
    needed = None
    if pair.error > 0:
        strata = design.number if design.datasets == "these" else 1
        std = pair.error * math.sqrt(design.count * strata / (1 if design.paired else 2))
        needed = units_needed(margin, std, paired=design.paired, power=_POWER, confidence=1 - 2 * alpha_of(confidence))
    return _judged(
        metric=metric,
        better=found.better,
        margin=margin,
        confidence=confidence,
        new=found[NEW].mean,
        baseline=found[BASELINE].mean,
        low=low,
        high=high,
        unit="cluster" if design.clusters else design.unit,
        n=design.count,
        paired=design.paired,
        test=pair.test,
        needed=needed,
        dataset=listing([name for name in runs.datasets if name]),
        notes=found.notes,
    )


def _from_intervals(
    runs: list[Run],
    better: Better,
    group: re.Match[str] | None,
    *,
    metric: str,
    margin: float,
    confidence: float,
    truths: Any,
) -> Regression:
    """From the intervals of both: the loss is between their extremes."""
    if len(runs) != 2 or any(run.evaluation is None for run in runs):
        raise InputError("only single result files are compared from intervals", fix='Use over="seeds".')
    (new, *of_new), (old, *of_old) = (_value_of(run.evaluation, metric, group) for run in runs)
    both = zip(of_new, of_old, strict=True)
    (low_new, low_old), (high_new, high_old) = both
    low, high = (
        (low_old - high_new, high_old - low_new) if better == "higher" else (low_new - high_old, high_new - low_old)
    )
    parts: dict[str, Any] = {"metric": metric, "better": better, "margin": margin, "confidence": confidence}
    parts |= {"new": new, "baseline": old, "low": low, "high": high, "unit": "interval", "n": 2, "paired": False}
    return _judged(**parts, test="two intervals", dataset=runs[0].dataset)


def _value_of(evaluation: Any, metric: str, group: re.Match[str] | None) -> tuple[float, float, float]:
    """A value with its interval, of a result or of one of its groups."""
    if group is None:
        result = evaluation[metric]
        low, high = result.interval or (math.nan, math.nan)
        return result.value, low, high
    grid, key = evaluation.by(group["axis"]), group["key"]
    labels = [str(label) for label in grid[group["axis"]].tolist()]
    row = labels.index(one_of(group["axis"], group["label"], labels))
    columns: Iterable[str] = (key, f"{key}.low", f"{key}.high")
    value, low, high = (float(grid[name][row]) if name in grid else math.nan for name in columns)
    return value, low, high


def _judged(**parts: Any) -> Regression:
    sign = 1 if parts["better"] == "higher" else -1
    worse = (
        "excluded" if parts["high"] < parts["margin"] else "shown" if parts["low"] > parts["margin"] else "undecided"
    )
    return Regression(**parts, loss=sign * (parts["baseline"] - parts["new"]), worse=worse)  # type: ignore[arg-type]
