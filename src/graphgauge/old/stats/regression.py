"""Gates against a baseline: is a new model worse by more than a margin? A test of non-inferiority."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.files import read_json
from graphgauge.old.core.result import Result, Table
from graphgauge.old.core.schema import checked_content, is_result, read_result
from graphgauge.old.stats.compare import compare
from graphgauge.old.stats.compare_items import kept_items
from graphgauge.old.stats.comparison import jsonable
from graphgauge.old.stats.load import from_evaluation, from_result, load
from graphgauge.old.stats.method_test import PAIRED
from graphgauge.old.stats.names import usual_direction
from graphgauge.old.stats.paired import require_margin
from graphgauge.old.stats.power import fewest_units
from graphgauge.old.stats.runs import Better, Run, Runs, SideFile, panel, with_references
from graphgauge.old.stats.text import decimals, fixed, listing, several
from graphgauge.old.stats.truths import Truths, different_truths, refuse_different
from graphgauge.old.stats.wilcoxon import require_alpha

Worse = Literal["excluded", "shown", "undecided"]
OVER = ("auto", "items", "seeds", "intervals")
# The names of the two sides in comparisons and figures.
NEW, BASELINE = "new", "baseline"
_POWER = 0.8
_GROUP = re.compile(r"(?P<key>[^\[\]]+)\[(?P<axis>[^=\]]+)=(?P<label>.*)\]")


@dataclass(frozen=True)
class Regression:
    """Whether a new model is worse than its baseline by more than `margin`.

    `loss` is how much worse it is, negative if it is better. `interval` contains the losses that one-sided tests at
    level `alpha` do not reject: its level is 1 − 2α. `worse` is `excluded` if the whole interval is below the margin,
    `shown` if it is above, otherwise `undecided`; only `excluded` passes. `n` counts the `unit`s that are compared.
    `needed` is how many would exclude a loss of the margin with 80 % power, if the models are equal.
    """

    metric: str
    better: Better
    margin: float
    alpha: float
    new: float
    baseline: float
    loss: float
    interval: tuple[float, float] | None
    worse: Worse
    unit: str
    n: int
    paired: bool
    needed: int | None = None
    dataset: str = ""
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.worse == "excluded"

    def __bool__(self) -> bool:
        return self.passed

    @property
    def title(self) -> str:
        where = f" on {self.dataset}" if self.dataset else ""
        return f"{self.metric}{where}, margin {self.margin:g}"

    @property
    def verdict(self) -> str:
        worse = f"worse by more than {self.margin:g}"
        return {
            "excluded": f"{self.metric} is not {worse}",
            "shown": f"{self.metric} is {worse}",
            "undecided": f"it is undecided whether {self.metric} is {worse}",
        }[self.worse]

    @property
    def evidence(self) -> str:
        digits = self._digits
        values = f"new {fixed(self.new, digits)}, baseline {fixed(self.baseline, digits)}"
        # The sign that a reader expects: a loss is a lower score, or a higher error.
        change = f"{self.new - self.baseline:+.{digits}f}"
        if self.interval is None:
            return f"{values} ({change}), {self.how}"
        low, high = self.difference_interval or (math.nan, math.nan)
        level = f"{100 * (1 - 2 * self.alpha):g} % interval"
        return f"{values} ({change}, {level} [{low:+.{digits}f}, {high:+.{digits}f}], {self.how})"

    @property
    def difference_interval(self) -> tuple[float, float] | None:
        """The interval of new − baseline."""
        if self.interval is None:
            return None
        low, high = self.interval
        return (-high, -low) if self.better == "higher" else (low, high)

    @property
    def how(self) -> str:
        if self.unit == "interval":
            return "from the two intervals, not paired"
        return f"{'paired over' if self.paired else 'over'} {several(self.n, self.unit)}"

    @property
    def advice(self) -> str:
        """What it would take to decide, if it is undecided."""
        if self.worse != "undecided":
            return ""
        if self.unit == "interval":
            return 'Keep the values of items (keep="items", --keep items) on both sides, or evaluate several seeds.'
        if self.needed is None:
            return f"No number of {self.unit}s can be named, because there is no spread to plan with."
        if self.needed <= self.n:
            return (
                f"With these {several(self.n, self.unit)} a loss of {self.margin:g} would usually be excluded if the "
                "models were equal, so a loss is likely, or the draw was unlucky."
            )
        return (
            f"{several(self.needed, self.unit)} ({self.needed - self.n:,} more) would exclude it with "
            f"{100 * _POWER:g} % power, if the models are equal."
        )

    @property
    def _digits(self) -> int:
        low, high = self.interval or (0.0, 0.0)
        return max(decimals((high - low) / 4 if high > low else math.nan, self.baseline), decimals(self.margin))

    def __str__(self) -> str:
        word = "passed" if self.passed else "failed"
        said = (f"gate {word}: {self.verdict}: {self.evidence}.", self.advice, *self.notes)
        return " ".join(filter(None, said))

    def to_dict(self) -> dict[str, Any]:
        """Values, interval, verdict and advice, as in the JSON of `graphgauge gate --against`.

        Returns
        -------
        dict[str, Any]
            Values that JSON can hold.
        """
        facts = {**asdict(self), "passed": self.passed, "difference": self.new - self.baseline}
        facts |= {"verdict": self.verdict, "evidence": self.evidence, "advice": self.advice}
        return dict(jsonable({**facts, "difference_interval": self.difference_interval}))


def gate(
    new: Any,
    against: Any,
    *,
    metric: str,
    margin: float,
    over: str = "auto",
    alpha: float = 0.05,
    direction: Better | None = None,
    truths: Truths = "same",
    seed: int = 0,
) -> Regression:
    """Test whether a new model is worse than its baseline by more than a margin.

    Both are a result file, a folder of results, an evaluation, or a list of these. Several runs of a side are compared
    over runs, paired by seed if the seeds are the same. Single runs are compared over their items, if both were
    evaluated with `keep="items"`; otherwise from their two intervals, which decides less. `over` chooses among these:
    `"seeds"`, `"items"` or `"intervals"`. `metric` may be a group, `mrr[relation=treats]`, which is compared from
    intervals. Sides that were measured against different truths are refused, or compared with a note
    (`truths="any"`).

    The result is true if a loss of more than the margin is excluded.

    Parameters
    ----------
    new, against
        The new model and its baseline.
    metric
        The metric to compare on.
    margin
        The loss that is tolerated, at least 0.
    over
        `auto`, `seeds`, `items` or `intervals`.
    alpha
        Level of the test.
    direction
        `higher` or `lower`, for metrics that graphgauge does not know.
    truths
        `same` or `any`.
    seed
        Seed of random sign flips.

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
    >>> import numpy as np
    >>> from graphgauge import ranking, stats
    >>> rng = np.random.default_rng(0)
    >>> pos, neg = rng.normal(1, 1, 500), rng.normal(0, 1, (500, 20))
    >>> old, new = (ranking.evaluate(pos + shift, neg, keep="items") for shift in (0.0, 0.1))
    >>> stats.gate(new, old, metric="mrr", margin=0.01).worse
    'excluded'
    """
    one_of("over", over, OVER)
    require_margin(margin)
    require_alpha(alpha)
    if alpha >= 0.5:
        raise OptionError(f"alpha is {alpha:g}", fix="One-sided tests need an alpha below 0.5.")
    asked = _Asked(metric, margin, alpha, direction, truths, seed)
    with _loaded(new, NEW) as first, _loaded(against, BASELINE) as second:
        if _GROUP.fullmatch(metric) and over not in ("auto", "intervals"):
            raise OptionError(f"the group {metric} is compared from intervals", fix="Leave over out.")
        return _compared(first, second, asked, over)


@dataclass(frozen=True)
class _Asked:
    metric: str
    margin: float
    alpha: float
    direction: Better | None
    truths: Truths
    seed: int


@dataclass(frozen=True)
class _Side:
    """The runs of one side under its name, and the evaluation if there is only one."""

    runs: list[Run]
    evaluation: Evaluation | None
    notes: tuple[str, ...] = ()

    @property
    def has_items(self) -> bool:
        return all(run.items is not None for run in self.runs)


def _compared(new: _Side, old: _Side, asked: _Asked, over: str) -> Regression:
    runs = Runs(_on_one_dataset(new, old), (*new.notes, *old.notes))
    # Refuses different truths, mixed conventions and unknown metrics, whatever is compared.
    group = _GROUP.fullmatch(asked.metric)
    view = panel(runs, asked.metric if group is None else group["key"], direction=asked.direction, truths=asked.truths)
    single = len(new.runs) == len(old.runs) == 1
    if single and asked.truths == "same":
        # Seeds of single runs may differ, but not what they were measured on.
        scored = [(replace(run, truths={}), run.scores[view.metric]) for run in runs if view.metric in run.scores]
        refuse_different(different_truths(with_references(scored), items=True))
    if (
        group is not None
        or over == "intervals"
        or (over == "auto" and single and not (new.has_items and old.has_items))
    ):
        return _from_intervals(new, old, asked)
    if over == "items" or (over == "auto" and single):
        try:
            return _over_items(runs, asked)
        except InputError as error:
            if over == "items" or _is_about_items(new, old, view.metric):
                raise
            return replace(_from_intervals(new, old, asked), notes=(f"Not paired over items: {error.what}.",))
    return _over_runs(runs, asked)


def _on_one_dataset(new: _Side, old: _Side) -> list[Run]:
    """All runs; a side that does not name its dataset has that of the other."""
    first, second = ({run.dataset for run in side.runs} for side in (new, old))
    if first == second:
        return [*new.runs, *old.runs]
    if len(first) == len(second) == 1 and "" in first | second:
        name = max(*first, *second)
        return [replace(run, dataset=name) for run in (*new.runs, *old.runs)]
    sides = [listing(sorted(names)) or "no named dataset" for names in (first, second)]
    raise InputError(f"the new side is on {sides[0]}, the baseline on {sides[1]}", fix="Compare the same datasets.")


def _is_about_items(new: _Side, old: _Side, metric: str) -> bool:
    """Whether both sides have values of single items for the metric, so that an error is about the data."""
    for side in (new, old):
        (run,) = side.runs
        try:
            items = kept_items(run)
        except InputError:
            return True
        try:
            items.values(metric)
        except InputError:
            return False
    return True


def _over_items(runs: Runs, asked: _Asked) -> Regression:
    found = compare(
        runs,
        metric=asked.metric,
        baseline=BASELINE,
        over="items",
        margin=asked.margin,
        alpha=asked.alpha,
        direction=asked.direction,
        truths=asked.truths,
        seed=asked.seed,
    )
    (pair,) = found.pairs
    test = pair.test
    ci = test.margin_ci
    std = test.error * math.sqrt(test.units)
    bounds = (test.mean_difference,) * 2 if ci is None else (ci.low, ci.high)
    unit = "item" if test.units == test.n else "cluster"
    notes = tuple(note for note in found.notes)
    return _judged(
        asked,
        found.metric,
        found.better,
        (found.means[NEW], found.means[BASELINE]),
        bounds,
        unit=unit,
        n=test.units,
        paired=True,
        std=std,
        dataset=found.dataset,
        notes=notes,
    )


def _over_runs(runs: Runs, asked: _Asked) -> Regression:
    counts = [
        sum(run.method == side and run.dataset == dataset for run in runs)
        for side in (NEW, BASELINE)
        for dataset in runs.datasets
    ]
    these = len(runs.datasets) > 1 and min(counts) > 1
    found = compare(
        runs,
        metric=asked.metric,
        baseline=BASELINE,
        margin=asked.margin,
        effect=asked.margin,
        power=_POWER,
        alpha=asked.alpha,
        direction=asked.direction,
        truths=asked.truths,
        seed=asked.seed,
        datasets="these" if these else "drawn",
    )
    if found.target is not None:
        raise OptionError(f"{found.metric} has a target", fix="Use a metric of which higher or lower is better.")
    (test,) = found.tests
    ci = None if test.margin is None else test.margin.ci
    needed = found.needed[0] if found.needed else None
    if ci is not None:
        bounds: tuple[float, float] | None = (ci.low, ci.high)
    else:  # without an interval nothing is known about other runs, unless all pairs differ alike
        alike = needed is not None and needed.std == 0.0
        bounds = (test.mean_difference,) * 2 if alike else None
    values = found[NEW].mean, found[BASELINE].mean
    return _judged(
        asked,
        found.metric,
        found.better,
        values,
        bounds,
        unit=found.unit,
        n=test.pairs if these else len(found.units),
        paired=test.test in PAIRED,
        std=math.nan if needed is None else needed.std,
        datasets=len(found.units) if these else 1,
        dataset=listing([name for name in runs.datasets if name]),
        notes=tuple(found.notes),
    )


def _from_intervals(new: _Side, old: _Side, asked: _Asked) -> Regression:
    """From both intervals, each widened to neither's favour: the loss is between the extremes of the two."""
    values, bounds, results = [], [], []
    for side in (new, old):
        if side.evaluation is None:
            raise InputError("only single result files are compared from intervals", fix='Use over="seeds".')
        result, value, interval = _value(side.evaluation, asked.metric)
        results.append(result)
        values.append(value)
        bounds.append(interval)
    better = asked.direction or _direction(results[0])
    (low, high), (old_low, old_high) = bounds
    both = (low - old_high, high - old_low)
    known = not any(math.isnan(bound) for bound in both)
    levels = {result.interval.level for result in results if result.interval is not None}
    if known and any(level < 1 - 2 * asked.alpha - 1e-9 for level in levels):
        raise OptionError(
            f"the intervals have a level of {min(levels):g}, and alpha {asked.alpha:g} needs {1 - 2 * asked.alpha:g}",
            fix="Evaluate with a higher confidence.",
        )
    return _judged(
        asked,
        asked.metric,
        better,
        (values[0], values[1]),
        both if known else None,
        unit="interval",
        n=0,
        paired=False,
        std=math.nan,
        dataset=str(old.evaluation.run.get("dataset") or "") if old.evaluation else "",
    )


def _value(evaluation: Evaluation, metric: str) -> tuple[Result, float, tuple[float, float]]:
    """A metric, or a group of it, with its interval; NaN if it has none."""
    group = _GROUP.fullmatch(metric)
    if group is None:
        result = evaluation[metric]
        interval = result.interval
        return result, result.value, (math.nan, math.nan) if interval is None else (interval.low, interval.high)
    result = evaluation[group["key"]]
    table: Table = result.by(group["axis"])
    labels = [str(label) for label in table[group["axis"]]]
    row = labels.index(one_of(group["axis"], group["label"], labels))
    ends = [float(table[end][row]) if end in table.columns else math.nan for end in ("low", "high")]
    return result, float(table["value"][row]), (ends[0], ends[1])


def _direction(result: Result) -> Better:
    found = result.direction if result.direction in ("higher", "lower") else usual_direction(result.metric)
    if found not in ("higher", "lower"):
        raise OptionError(f"{result.key} has no better direction", fix="Use another metric, or pass direction=.")
    return found


def _judged(
    asked: _Asked,
    metric: str,
    better: Better,
    values: tuple[float, float],
    difference: tuple[float, float] | None,
    *,
    unit: str,
    n: int,
    paired: bool,
    std: float,
    dataset: str = "",
    datasets: int = 1,
    notes: tuple[str, ...] = (),
) -> Regression:
    """The verdict on an interval of new − baseline."""
    new, baseline = values
    sign = -1.0 if better == "higher" else 1.0
    worse: Worse = "undecided"
    interval = None
    if difference is not None:
        ends = sorted(sign * end for end in difference)
        interval = (ends[0], ends[1])
        worse = "excluded" if ends[1] < asked.margin else "shown" if ends[0] > asked.margin else "undecided"
    if not (math.isfinite(new) and math.isfinite(baseline)):
        worse = "undecided"
    needed = None
    if worse == "undecided" and std > 0:
        # One-sided, so at twice the level of a two-sided test.
        needed = fewest_units(asked.margin / std, paired, datasets, _POWER, min(2 * asked.alpha, 0.999))
    return Regression(
        metric,
        better,
        asked.margin,
        asked.alpha,
        new,
        baseline,
        sign * (new - baseline),
        interval,
        worse,
        unit,
        n,
        paired,
        needed,
        dataset,
        notes,
    )


# ------------------------------------------------------------------------------------------ sides


@contextmanager
def _loaded(source: Any, name: str) -> Iterator[_Side]:
    """The runs of a side; items of evaluations in memory are files for the time of the comparison."""
    with tempfile.TemporaryDirectory(prefix="graphgauge-") as scratch:
        side = _read(source, name, Path(scratch))
        failed = [str(run) for run in side.runs if run.failed]
        if failed:
            raise InputError(f"{listing(failed)} of the {name} side failed", fix="Repeat it.")
        yield side


def _read(source: Any, name: str, scratch: Path) -> _Side:
    if isinstance(source, Evaluation):
        return _of_evaluations([source], name, scratch)
    if isinstance(source, list | tuple) and len(source) == 1:
        return _read(source[0], name, scratch)
    if isinstance(source, list | tuple) and source and all(isinstance(part, Evaluation) for part in source):
        return _of_evaluations(list(source), name, scratch)
    if isinstance(source, str | Path) and Path(source).suffix == ".json" and Path(source).is_file():
        content = read_json(source)
        if is_result(content):
            return _of_file(checked_content(content, str(source)), Path(source), name)
    runs = load(source)
    methods = runs.methods
    if len(methods) > 1:
        raise InputError(
            f"the {name} side has {listing(methods)}", fix="Give the results of one method, such as its own folder."
        )
    return _Side([replace(run, method=name) for run in runs], None, tuple(runs.notes))


def _of_file(content: Mapping[str, Any], path: Path, name: str) -> _Side:
    """A result file; its method may have any name or none, its dataset none."""
    run = content["run"]
    named = {**run, "method": name, "dataset": run.get("dataset") or ""}
    found, evaluation = from_result({**content, "run": named}, path)
    if evaluation is not None:
        evaluation = read_result(path)  # with the breakdowns in side files
    return _Side([found], evaluation)


def _of_evaluations(evaluations: list[Evaluation], name: str, scratch: Path) -> _Side:
    runs = []
    for number, evaluation in enumerate(evaluations):
        stated = evaluation.run
        seed = stated["seed"] if stated.get("seed") is not None else number
        labels = {"method": name, "dataset": stated.get("dataset") or "", "seed": seed}
        run = from_evaluation(evaluation, labels=labels)
        if evaluation.per_item is not None:
            path = scratch / f"{number}.items.npz"
            evaluation.per_item.save(path)
            run = replace(run, items=SideFile.of(path))
        runs.append(run)
    return _Side(runs, evaluations[0] if len(evaluations) == 1 else None)
