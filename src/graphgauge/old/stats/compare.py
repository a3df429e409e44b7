"""Compare many methods on the same seeds or datasets: which ones differ significantly."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import generator_of, whole_number
from graphgauge.old.core.result import Interval, enclosing
from graphgauge.old.stats.compare_items import ItemsComparison, compare_items
from graphgauge.old.stats.comparison import Comparison, Improvement, Standing
from graphgauge.old.stats.design import (
    DATASETS,
    DESIGNS,
    Cells,
    DatasetsDesign,
    Design,
    RunsDesign,
    design_of,
    present,
    runs_design,
)
from graphgauge.old.stats.intervals import Bounds, agreement_interval, sample_interval, sample_std, t_interval
from graphgauge.old.stats.load import load
from graphgauge.old.stats.many import critical_difference, friedman, holm, mean_ranks, method_pairs
from graphgauge.old.stats.method_test import MethodTest
from graphgauge.old.stats.names import by_name, usual_direction
from graphgauge.old.stats.paired import STATISTICS, Plan, Statistic, require_margin
from graphgauge.old.stats.power import Needed, needed, require_effect
from graphgauge.old.stats.resample import (
    Counts,
    counted_chances,
    counted_interquartile_means,
    drawn_counts,
    interquartile_mean,
    stratified_bounds,
    win_matrix,
)
from graphgauge.old.stats.runs import MISSING, Better, Gap, Missing, Panel, Runs, Seed, on_dataset, panel, seed_order
from graphgauge.old.stats.text import listing, several
from graphgauge.old.stats.truths import Truths
from graphgauge.old.stats.wilcoxon import as_on_paper, require_alpha

# The fewest seeds per dataset, and over all datasets, for an interval of P(first better).
_FEWEST_SEEDS = 3
_FEWEST_RUNS = 15
_BLOCK = 1 << 22
# The squares of larger scores are infinite.
_LARGEST = 1e150


@overload
def compare(
    runs: Any,
    *,
    metric: str | None = ...,
    baseline: str | None = ...,
    over: Literal["seeds"] = ...,
    design: RunsDesign = ...,
    datasets: DatasetsDesign = ...,
    test: Statistic = ...,
    margin: float | None = ...,
    effect: float | None = ...,
    power: float = ...,
    metrics_compared: int = ...,
    missing: Missing = ...,
    alpha: float = ...,
    direction: Better | None = ...,
    seed: int = ...,
    resamples: int = ...,
    truths: Truths = ...,
) -> Comparison: ...
@overload
def compare(
    runs: Any,
    *,
    metric: str | None = ...,
    baseline: str | None = ...,
    over: Literal["items"],
    margin: float | None = ...,
    effect: float | None = ...,
    power: float = ...,
    metrics_compared: int = ...,
    missing: Missing = ...,
    alpha: float = ...,
    direction: Better | None = ...,
    seed: int = ...,
    truths: Truths = ...,
) -> ItemsComparison: ...
def compare(
    runs: Any,
    *,
    metric: str | None = None,
    baseline: str | None = None,
    over: Literal["seeds", "items"] = "seeds",
    design: RunsDesign = "auto",
    datasets: DatasetsDesign = "drawn",
    test: Statistic = "mean",
    margin: float | None = None,
    effect: float | None = None,
    power: float = 0.8,
    metrics_compared: int = 1,
    missing: Missing = "raise",
    alpha: float = 0.05,
    direction: Better | None = None,
    seed: int = 0,
    resamples: int = 2000,
    truths: Truths = "same",
) -> Comparison | ItemsComparison:
    """Compare methods on one metric: all pairs, or each against a baseline, with Holm's correction.

    `metric` may be left out if the runs have one only. `direction` (`higher` or `lower`) is needed for a metric that is
    neither one of graphgauge's nor has a usual name, such as accuracy or loss.

    The design is named first, from the ids of the runs. Methods with the same seeds are paired by seed, methods
    without a common seed are unpaired, which `design="paired"` or `"unpaired"` overrules. Several datasets are `drawn`
    from others like them: seeds are averaged within each and the dataset is the unit, because runs on one dataset are
    no evidence about others. With `datasets="these"` the claim is about these datasets only, and runs are tested
    within each.

    The test rearranges scores: signs of paired differences, or runs of a dataset between the methods. It concerns the
    mean difference, and its interval contains the differences that the test does not reject. `test="ranks"` uses
    Wilcoxon's tests with Hodges and Lehmann's interval. `margin` is a difference that does not matter: equivalence and
    non-inferiority are reported. `effect` is a difference that does matter: how many seeds, datasets or items would
    detect it with this `power`. `metrics_compared` corrects for further metrics.

    Runs with failures are an error, or left out (`missing="omit"`), or scored at the metric's worst bound
    (`missing="worst"`). `over="items"` compares the per-item values of one dataset by sign flips instead.

    Result files record the hashes of their inputs: methods measured against different truths on the same
    dataset and seed are refused, or compared with a warning (`truths="any"`).

    Parameters
    ----------
    runs
        Anything that `load` takes.
    metric
        The metric to compare on.
    baseline
        The method to compare all others with; by default all pairs.
    over
        `seeds`, or `items`.
    design
        `auto`, `paired` or `unpaired`.
    datasets
        `drawn` or `these`.
    test
        `mean` or `ranks`.
    margin, effect, power
        A difference that does not matter, one that does, and the probability with which it should be found.
    metrics_compared
        Number of metrics that are compared, for the correction.
    missing
        `raise`, `omit` or `worst`.
    alpha
        Level of the family of tests.
    direction
        `higher` or `lower`.
    seed, resamples
        Seed and number of random rearrangements, if there are too many to take all.
    truths
        `same` or `any`.

    Returns
    -------
    Comparison or ItemsComparison
        Differences with intervals and adjusted p, ranks, and a conclusion in words; `ItemsComparison` over items.

    Raises
    ------
    InputError
        If runs are missing or were measured against different truths.
    OptionError
        If the metric or its direction is unknown.

    Examples
    --------
    >>> from graphgauge import stats
    >>> scores = {"ours": [.91, .93, .95, .90, .91, .94], "theirs": [.64, .70, .66, .58, .67, .71]}
    >>> found = stats.compare(scores, metric="accuracy")
    >>> found.tests[0].p_value, found.tests[0].significant
    (0.0021645021645021645, True)
    """
    one_of("over", over, ("seeds", "items"))
    one_of("design", design, DESIGNS)
    one_of("datasets", datasets, DATASETS)
    one_of("test", test, STATISTICS)
    one_of("missing", missing, MISSING)
    require_alpha(alpha)
    require_margin(margin)
    require_effect(effect, power)
    whole_number("resamples", resamples, 1)
    whole_number("metrics_compared", metrics_compared, 1)
    known = load(runs)
    view = panel(known, _only(known) if metric is None else metric, direction=direction, truths=truths)
    usual = None if view.direction else usual_direction(view.metric)
    view = replace(view, direction=view.direction or usual)
    if baseline is not None:
        one_of("method", baseline, view.methods)
    better = _better(view, known.notes)
    if over == "items":
        refuse_over_items(design, datasets, test)
        return compare_items(
            known,
            view,
            better,
            baseline=baseline,
            missing=missing,
            alpha=alpha,
            seed=seed,
            truths=truths,
            margin=margin,
            effect=effect,
            power=power,
            metrics_compared=metrics_compared,
        )
    cells = _cells(view, missing, paired=runs_design(view, design, missing) == "paired")
    if test == "ranks" and datasets == "these" and len(cells.datasets) > 1:
        raise OptionError(
            "ranks are not compared within several datasets", fix='Use test="mean", or datasets="drawn" with ranks.'
        )
    chosen = [run for run in known if view.metric in run.scores]
    ask = _Asked(
        baseline,
        alpha,
        test,
        margin,
        effect,
        power,
        metrics_compared,
        seed,
        resamples,
        design_of(cells, design, datasets, chosen),
    )
    notes = _one_run(cells, chosen)
    if usual is not None:
        notes.append(by_name(view.metric, usual))
    return _compared(view, better, cells, ask, notes)


@dataclass(frozen=True)
class _Asked:
    baseline: str | None
    alpha: float
    test: Statistic
    margin: float | None
    effect: float | None
    power: float
    metrics_compared: int
    seed: int
    resamples: int
    design: Design


def refuse_over_items(design: str, datasets: str, test: str) -> None:
    given = {"design": design != "auto", "datasets": datasets != "drawn", "test": test != "mean"}
    wrong = [name for name, is_given in given.items() if is_given]
    if wrong:
        raise OptionError(f'{listing(wrong)} and over="items" exclude each other', fix='Drop it, or use over="seeds".')


def _only(runs: Runs) -> str:
    if len(runs.metrics) != 1:
        raise OptionError("metric is missing", fix=f"The runs have {listing(runs.metrics) or 'no metric'}.")
    return runs.metrics[0]


def _better(view: Panel, notes: Sequence[str]) -> Better:
    if len(view.methods) < 2:
        raise InputError(
            f"only {view.methods[0]!r} has {view.metric}",
            fix=" ".join(["A comparison needs at least two methods.", *(f"{note}." for note in notes)]),
        )
    if view.direction == "none":
        raise OptionError(f"{view.metric} has no better direction", fix="Compare another metric.")
    if view.better is None:
        raise OptionError(
            f"the better direction of {view.metric} is not known",
            fix='Pass direction="higher" or direction="lower".',
        )
    return view.better


def _cells(view: Panel, missing: Missing, *, paired: bool) -> Cells:
    """The scores of each dataset and method, and notes on those left out."""
    methods = sorted(view.methods)
    runs = present(view)
    gaps = [gap for gap in view.gaps if paired or gap.seed in runs[gap.dataset][gap.method]]
    if missing == "raise":
        lacking = _unmatched(view) if paired else _without_runs(runs, methods)
        view.refuse_missing([*map(str, gaps), *lacking], unpaired=paired and bool(lacking))
    if missing == "worst":
        gaps += [] if paired else _whole_gaps(runs, methods)
        view = view.filled(gaps)
    cells = Cells(methods, [], [], [], paired, [])
    infinite: list[str] = []
    for dataset, by_method in sorted(view.values.items()):
        every = sorted({seed for seeds in runs[dataset].values() for seed in seeds}, key=seed_order)
        kept = _kept(by_method, every, methods, paired)
        if paired and len(kept[0]) < len(every):
            cells.notes.append(
                f"{dataset or view.metric}: {len(kept[0])} of {several(len(every), 'seed')} used, those of every "
                "method."
            )
        lost = sum(math.isnan(by_method[m][s]) for m in methods for s in runs[dataset][m] if s in by_method[m])
        if not paired and lost:
            cells.notes.append(f"{dataset or view.metric}: {several(lost, 'run')} without a value left out.")
        infinite += [
            f"{on_dataset(method, dataset)} seed {seed}{_squared(by_method[method][seed])}"
            for method, seeds in zip(methods, kept, strict=True)
            for seed in seeds
            if abs(by_method[method][seed]) > _LARGEST
        ]
        without = [method for method, seeds in zip(methods, kept, strict=True) if not seeds]
        if without and not paired:
            cells.notes.append(f"{dataset or view.metric} is left out: {listing(without)} without a score there.")
        if not without:
            cells.datasets.append(dataset)
            cells.seeds.append([str(seed) for seed in kept[0]])
            cells.scores.append(
                [np.array([by_method[m][seed] for seed in seeds]) for m, seeds in zip(methods, kept, strict=True)]
            )
    if infinite:
        raise InputError(f"{view.metric} is infinite: {listing(infinite)}", fix="Repeat those runs, or leave them out.")
    if not cells.datasets:
        what = "dataset and seed" if paired else "dataset"
        raise InputError(f"there is no {what} with {view.metric} for all of {listing(methods)}")
    if gaps and missing == "worst":
        cells.notes.append(f"Scored at the bound {view.worst:g}: {listing([str(gap) for gap in gaps])}.")
    cells.notes.extend(f"{note}." for note in view.notes)
    return cells


def _kept(by_method: Any, every: list[Seed], methods: list[str], paired: bool) -> list[list[Seed]]:
    """The seeds with a value: of every method if they are paired, otherwise of each one."""
    own = [[seed for seed in every if not math.isnan(by_method[m].get(seed, math.nan))] for m in methods]
    if not paired:
        return own
    common = set(own[0]).intersection(*own[1:])
    return [[seed for seed in every if seed in common]] * len(methods)


def _squared(score: float) -> str:
    """What to add to a score that is infinite only if it is squared."""
    return "" if math.isinf(score) else f" ({score:g} squared)"


def _unmatched(view: Panel) -> list[str]:
    methods = sorted(view.methods)
    return [
        f"{on_dataset(method, dataset)} seed {seed} (other methods have it)"
        for dataset, by_method in sorted(view.values.items())
        for seed in sorted({seed for seeds in by_method.values() for seed in seeds}, key=seed_order)
        for method in methods
        if seed not in by_method[method]
    ]


def _without_runs(runs: Mapping[str, Mapping[str, set[Seed]]], methods: list[str]) -> list[str]:
    """Methods without any run on a dataset; how many runs they should have, nothing says."""
    return [
        f"{on_dataset(method, dataset)} (no run)"
        for dataset, by_method in runs.items()
        for method in methods
        if not by_method[method]
    ]


def _whole_gaps(runs: Mapping[str, Mapping[str, set[Seed]]], methods: list[str]) -> list[Gap]:
    """For methods without any run on a dataset, as many gaps as the most runs of another one."""
    gaps = []
    for dataset, by_method in runs.items():
        most: set[Seed] = max(by_method.values(), key=lambda seeds: len(seeds))
        lacking = [method for method in methods if not by_method[method]]
        gaps += [Gap(method, dataset, seed, "no run") for method in lacking for seed in sorted(most, key=seed_order)]
    return gaps


def _compared(view: Panel, better: Better, cells: Cells, ask: _Asked, notes: list[str]) -> Comparison:
    design, alpha = ask.design, ask.alpha
    largest = max(float(np.abs(values).max()) for row in cells.scores for values in row)
    # Tests round differences; ranks and wins must see the same ties.
    judged = [[as_on_paper(_badness(view, values), largest) for values in row] for row in cells.scores]
    blocks = design.datasets == "one" and cells.paired
    if blocks:
        scores, bad = np.array(cells.scores[0]).T, np.array(judged[0]).T
    else:
        scores, bad = (np.array([[values.mean() for values in row] for row in each]) for each in (cells.scores, judged))
        bad = as_on_paper(bad, largest)
    ranks = mean_ranks(-bad)
    order = np.lexsort((bad.mean(axis=0), ranks))
    methods = [cells.methods[index] for index in order]
    scores, bad, ranks = scores[:, order], bad[:, order], ranks[order]
    own, low = ([[row[index] for index in order] for row in each] for each in (cells.scores, judged))
    unit = "dataset" if design.datasets == "drawn" else "seed" if cells.paired else "run"
    pairs = _pairs(methods, ask.baseline)
    iqms, chances, (iqm_bounds, chance_bounds) = _resampled(own, low, pairs, cells.paired, ask)
    tests = _tests(view, low if view.direction == "target" else own, methods, pairs, better, ask, unit)
    units = cells.seeds[0] if blocks else cells.datasets
    if design.datasets == "one" and not cells.paired:
        units = [str(number) for number in range(1, max(cells.sizes[0]) + 1)]
        scores = _padded(own[0])
    return Comparison(
        metric=view.metric,
        better=better,
        target=view.target if view.direction == "target" else None,
        conventions=view.conventions,
        unit=unit,
        units=tuple(units),
        standings=_standings(methods, own, scores, ranks, iqms, iqm_bounds, ask, unit, view.bounds),
        tests=tests,
        improvements=_improvements(
            [(methods[a], methods[b]) for a, b in pairs],
            chances,
            chance_bounds,
            [min(map(len, row)) for row in own],
            1 - alpha,
            paired=cells.paired,
        ),
        friedman=friedman(-bad) if len(methods) > 2 and len(bad) > 1 and (blocks or unit == "dataset") else None,
        critical_difference=critical_difference(len(methods), len(bad), alpha),
        alpha=alpha,
        baseline=ask.baseline,
        best=methods[int(np.argmin([np.mean([row[i].mean() for row in low]) for i in range(len(methods))]))],
        scores=scores,
        notes=(*notes, *_few_datasets(design, tests), *cells.notes, *_one_seed(cells)),
        design=design,
        metrics_compared=ask.metrics_compared,
        needed=_needed(tests, own, pairs, ask),
        unfair=_unfair(view),
    )


def _unfair(view: Panel) -> str | None:
    fairness = view.fairness
    return fairness.sentence(view.metric, view.fair_metrics) if fairness is not None and fairness.unfair_to else None


def _badness(view: Panel, values: Floats) -> Floats:
    """Lower is better, for any direction."""
    return np.array([view.badness(float(value)) for value in values])


def _padded(columns: list[Floats]) -> Floats:
    longest = max(map(len, columns))
    return np.array([np.pad(values, (0, longest - len(values)), constant_values=np.nan) for values in columns]).T


def _resampled(
    own: list[list[Floats]], low: list[list[Floats]], pairs: list[tuple[int, int]], paired: bool, ask: _Asked
) -> tuple[Floats, Floats, tuple[Bounds, Bounds]]:
    """IQMs and chances of improvement, with bootstrap bounds over the runs of each dataset.

    Seeds are drawn for all methods at once if they share them. Runs of one seed are not compared.
    """
    generator = generator_of(ask.seed)
    methods = range(len(own[0]))
    runs, widest = sum(len(row[0]) for row in own), max(len(values) for row in own for values in row)
    rows = max(1, min(ask.resamples, _BLOCK // max(runs, widest**2, widest * len(pairs))))
    iqms, chances = [], []
    for done in range(0, ask.resamples, rows):
        size = min(rows, ask.resamples - done)
        if paired:
            shared = drawn_counts([len(row[0]) for row in own], size, generator)
            counts = [shared] * len(methods)
        else:
            counts = [drawn_counts([len(row[m]) for row in own], size, generator) for m in methods]
        iqms.append(
            np.stack(
                [
                    counted_interquartile_means(
                        np.concatenate([row[m] for row in own]), np.concatenate(counts[m], axis=1)
                    )
                    for m in methods
                ],
                axis=1,
            )
        )
        chances.append(_chances(low, pairs, [list(each) for each in zip(*counts, strict=True)], paired))
    once = [[np.ones((1, len(values)), np.float32) for values in row] for row in own]
    whole = np.array([interquartile_mean(np.concatenate([row[m] for row in own])) for m in methods])
    datasets, confidence = len(own), 1 - ask.alpha
    bounds = [stratified_bounds(np.concatenate(drawn), runs, datasets, confidence) for drawn in (iqms, chances)]
    return whole, _chances(low, pairs, once, paired)[0], (bounds[0], bounds[1])


def _chances(low: list[list[Floats]], pairs: list[tuple[int, int]], counts: list[list[Counts]], paired: bool) -> Floats:
    """Of each pair, the mean over datasets, lower scores being better; resamples × pairs."""
    total: Floats = np.zeros((len(counts[0][0]), len(pairs)))
    known = np.zeros_like(total)
    for row, drawn in zip(low, counts, strict=True):
        if paired:
            scores, (first, second) = -np.array(row), np.transpose(pairs)
            each = counted_chances(win_matrix(scores[first], scores[second]), drawn[0])
        else:
            wins = [win_matrix(-row[a], -row[b]) for a, b in pairs]
            runs = [len(row[a]) * len(row[b]) for a, b in pairs]
            each = np.stack(
                [
                    np.einsum("rj,rj->r", drawn[a] @ matrix, drawn[b]) / size
                    for (a, b), matrix, size in zip(pairs, wins, runs, strict=True)
                ],
                axis=1,
            )
        there = ~np.isnan(each)
        total += np.where(there, each, 0.0)
        known += there
    return np.asarray(np.divide(total, known, out=np.full_like(total, np.nan), where=known > 0))


def _standings(
    methods: list[str],
    own: list[list[Floats]],
    scores: Floats,
    ranks: Floats,
    iqms: Floats,
    drawn: Bounds,
    ask: _Asked,
    unit: str,
    bounds: tuple[float, float],
) -> tuple[Standing, ...]:
    rows = zip(methods, ranks.tolist(), iqms.tolist(), np.transpose(drawn).tolist(), strict=True)
    found = []
    for index, (method, rank, iqm, (low, high)) in enumerate(rows):
        if ask.design.datasets == "these":
            mean, std, ci = _within([row[index] for row in own], 1 - ask.alpha, unit, bounds)
        else:
            values = scores[:, index]
            values = values[~np.isnan(values)]
            mean, std = float(values.mean()), sample_std(values)
            ci = sample_interval(values, 1 - ask.alpha, f"{unit}s", bounds)
        found.append(Standing(method, mean, std, ci, rank, iqm, (low, high)))
    return tuple(found)


def _within(
    datasets: list[Floats], confidence: float, unit: str, bounds: tuple[float, float]
) -> tuple[float, float, Interval | None]:
    """Mean over these datasets, the spread of runs within one, and the interval for further runs on them."""
    mean = float(np.mean([values.mean() for values in datasets]))
    if min(map(len, datasets)) < 2:
        return mean, math.nan, None
    spreads = np.array([values.var(ddof=1) for values in datasets])
    errors = spreads / np.array([len(values) for values in datasets])
    freedom = np.array([len(values) - 1 for values in datasets])
    total = float(errors.sum())
    df = total**2 / float(np.sum(errors**2 / freedom)) if total > 0 else float(freedom.sum())
    low, high = t_interval(mean, math.sqrt(total) / len(datasets), df, confidence)
    low, high = enclosing(mean, low, high, bounds)
    interval = None if np.isnan(low[0]) else Interval(float(low[0]), float(high[0]), confidence, "t", f"{unit}s")
    return mean, math.sqrt(float(spreads.mean())), interval


def _improvements(
    names: list[tuple[str, str]], chances: Floats, bounds: Bounds, seeds: list[int], confidence: float, *, paired: bool
) -> tuple[Improvement, ...]:
    reason = _too_few_seeds(seeds, "seed" if paired else "run")
    if reason is not None:
        return tuple(
            Improvement(*pair, chance, (math.nan, math.nan), reason)
            for pair, chance in zip(names, chances.tolist(), strict=True)
        )
    units = len(seeds) * min(seeds)
    # A method that always wins, or always loses, has no spread to resample.
    always = (chances == 0) | (chances == 1)
    agreement = agreement_interval(chances, np.full(len(names), units), (0.0, 1.0), confidence)
    low, high = (np.where(always, sure, drawn).tolist() for sure, drawn in zip(agreement, bounds, strict=True))
    rows = zip(names, chances.tolist(), zip(low, high, strict=True), strict=True)
    return tuple(
        Improvement(*pair, chance, interval, "all resamples give the same value" if math.isnan(interval[0]) else None)
        for pair, chance, interval in rows
    )


def _one_seed(cells: Cells) -> list[str]:
    seeds = [sizes[0] for sizes in cells.sizes]
    alone = seeds.count(1)
    if not (alone and cells.paired):
        return []
    which = (
        "there is one seed"
        if len(seeds) == 1
        else f"{alone} of {len(seeds)} datasets {'has' if alone == 1 else 'have'} one seed"
    )
    return [f"P(first better) compares runs on different seeds of a dataset, but {which}."]


def _few_datasets(design: Design, tests: tuple[MethodTest, ...]) -> list[str]:
    if design.datasets != "drawn" or any(test.can_reject for test in tests):
        return []
    return [
        f"{design.count} datasets are too few for a claim about others like them. Whether the methods differ on these "
        'datasets is another question, which their runs can answer: datasets="these".'
    ]


def _one_run(cells: Cells, runs: list[Any]) -> list[str]:
    """Where to look if there is one run of each method on one dataset."""
    if len(cells.datasets) > 1 or max(cells.sizes[0]) > 1:
        return []
    kept = all(run.items is not None for run in runs)
    text = "One run of each method on one dataset cannot be tested over seeds."
    if any(run.partial for run in runs):
        return [f"{text} Compare adaptive runs with against=."]
    if any(run.family == "generation" for run in runs):
        # Discrepancies are of all samples together, so there are no items to keep.
        return [f"{text} Compare the samples: generation.compare_samples (graphgauge generation --against)."]
    how = 'over="items"' + ("" if kept else ', after evaluating with keep="items" (--keep items)')
    text += f" Compare the items: {how}."
    return [text]


def _too_few_seeds(seeds: list[int], unit: str = "seed") -> str | None:
    """Why runs on this many seeds per dataset give no interval of P(first better).

    If methods share much of the effect of a seed, few seeds rarely disagree, and a bootstrap sees no spread: in
    simulations a nominal .95 covered .33 to .66 at 1 × 5 seeds, .80 at 1 × 10 and 10 × 2, .91 at 2 × 5, and .91 or more
    from three seeds per dataset and 15 in all.
    """
    fewest, total = min(seeds), sum(seeds)
    if fewest >= _FEWEST_SEEDS and total >= _FEWEST_RUNS:
        return None
    have = several(total, unit) if len(seeds) == 1 else f"{total} in all, {fewest} in the smallest dataset"
    return (
        f"its coverage needs at least {_FEWEST_SEEDS} {unit}s in every dataset and {_FEWEST_RUNS} in all, "
        f"and there {'is' if total == 1 else 'are'} {have}"
    )


def _pairs(methods: list[str], baseline: str | None) -> list[tuple[int, int]]:
    place = {method: index for index, method in enumerate(methods)}
    return [(place[one], place[other]) for one, other in method_pairs(methods, baseline)]


def tested_scores(own: list[list[Floats]], drawn: bool) -> list[list[Floats]]:
    """What methods are tested on: their runs on each dataset, or one mean per dataset if these are drawn."""
    return [[np.array([row[m].mean() for row in own]) for m in range(len(own[0]))]] if drawn else own


def _tests(
    view: Panel,
    own: list[list[Floats]],
    methods: list[str],
    pairs: list[tuple[int, int]],
    better: Better,
    ask: _Asked,
    unit: str,
) -> tuple[MethodTest, ...]:
    label = f"{view.metric}, distance from {view.target:g}" if view.direction == "target" else view.metric
    drawn = ask.design.datasets == "drawn"
    plans: dict[tuple[tuple[int, int], ...], Plan] = {}
    tests, scores = [], tested_scores(own, drawn)
    for a, b in pairs:
        data = [(row[a], row[b]) for row in scores]
        sizes = tuple((len(first), len(second)) for first, second in data)
        if sizes not in plans:
            plans[sizes] = Plan(sizes, drawn or ask.design.runs == "paired", ask.test, ask.alpha, ask.margin, ask.seed)
        tests.append(
            plans[sizes].tested(
                data, names=(methods[a], methods[b]), better=better, metric=label, unit=unit, bounds=view.bounds
            )
        )
    adjusted = np.minimum(holm([test.p_value for test in tests]) * ask.metrics_compared, 1.0)
    count = len(tests) * ask.metrics_compared
    return tuple(test.among(count, float(p)) for test, p in zip(tests, adjusted, strict=True))


def _needed(
    tests: tuple[MethodTest, ...], own: list[list[Floats]], pairs: list[tuple[int, int]], ask: _Asked
) -> tuple[Needed, ...]:
    if ask.effect is None:
        return ()
    drawn = ask.design.datasets == "drawn"
    scores = tested_scores(own, drawn)
    return tuple(
        needed(
            [(row[a], row[b]) for row in scores],
            effect=ask.effect,
            power=ask.power,
            alpha=ask.alpha,
            comparisons=len(tests) * ask.metrics_compared,
            paired=drawn or ask.design.runs == "paired",
            unit="dataset" if drawn else "seed",
            names=test.names,
        )
        for (a, b), test in zip(pairs, tests, strict=True)
    )
