"""Methods compared item by item, such as rankers query by query: about these trained models on new items."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.core.options import generator_of
from graphgauge.core.scrub import harmless
from graphgauge.old.core.family import family
from graphgauge.old.core.grids import Cell, Grid
from graphgauge.old.core.schema import dumps, require_unchanged
from graphgauge.old.stats.comparison import jsonable
from graphgauge.old.stats.many import holm, method_pairs
from graphgauge.old.stats.method_test import Margin, margin_words
from graphgauge.old.stats.permutation import PairedItems, paired_items
from graphgauge.old.stats.power import Needed, fewest_units
from graphgauge.old.stats.present import Presented, Style
from graphgauge.old.stats.runs import (
    Better,
    Missing,
    Panel,
    Run,
    Runs,
    SideFile,
    found_in_some,
    seed_order,
    with_references,
)
from graphgauge.old.stats.text import listing, p_text, several
from graphgauge.old.stats.truths import Truths, different_truths, refuse_different, warnings_of


@dataclass(frozen=True)
class ItemsPair:
    """Two methods, and the sign-flip test of their differences on the same items."""

    names: tuple[str, str]
    test: PairedItems
    p_adjusted: float


@dataclass(frozen=True, eq=False)
class ItemsComparison(Presented):
    """Outcome of `compare(over="items")`: all pairs, or each method against the baseline, with Holm's correction.

    `omitted` items were left out because some method has no value for them.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import ranking, stats
    >>> rng = np.random.default_rng(0)
    >>> pos, neg = rng.normal(1, 1, 60), rng.normal(0, 1, (60, 9))
    >>> runs = [ranking.evaluate(pos + shift, neg, keep="items") for shift in (0, 0.5)]
    >>> for name, run in zip(("old", "new"), runs):
    ...     run.run |= {"method": name, "dataset": "toy", "seed": 0}
    >>> found = stats.compare(runs, metric="mrr", over="items")
    >>> found.conclusion(found.pairs[0])
    'new is better than old on these items (p = 0.0001 at α = 0.05).'
    """

    metric: str
    better: Better
    dataset: str
    means: dict[str, float]
    seeds: int
    pairs: tuple[ItemsPair, ...]
    alpha: float
    omitted: int = 0
    notes: tuple[str, ...] = ()
    design: str = ""
    margin: float | None = None
    needed: tuple[Needed, ...] = ()

    @property
    def methods(self) -> list[str]:
        return list(self.means)

    def conclusion(self, pair: ItemsPair) -> str:
        """The verdict on a pair in a sentence.

        Parameters
        ----------
        pair
            One of `pairs`.

        Returns
        -------
        str
            The sentence.
        """
        names = pair.names
        if pair.p_adjusted > self.alpha:
            verdict = f"not significant at α = {self.alpha:g}, which does not show that they are equal"
            return f"{names[0]} vs {names[1]}: {verdict}."
        ahead = names[(pair.test.mean_difference > 0) == (self.better == "lower")]
        behind = names[1 - names.index(ahead)]
        return f"{ahead} is better than {behind} on these items ({p_text(pair.p_adjusted)} at α = {self.alpha:g})."

    def equivalence(self, pair: ItemsPair) -> str:
        """What the interval says about differences of at most the margin.

        Parameters
        ----------
        pair
            One of `pairs`.

        Returns
        -------
        str
            The sentence.
        """
        assert self.margin is not None
        return margin_words(pair.names, Margin(self.margin, pair.test.margin_ci), self.better)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return (pair.names for pair in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, key: Any) -> ItemsPair:
        """The test of a pair of methods, named in either order."""
        for pair in self.pairs:
            if not isinstance(key, str) and set(pair.names) == set(key):
                return pair
        raise UnknownNameError("pair", str(key), [str(pair.names) for pair in self.pairs])

    def records(self) -> list[dict[str, Any]]:
        """Every test as a dictionary.

        Returns
        -------
        list[dict[str, Any]]
            One dictionary per pair.
        """
        return [
            {
                "metric": self.metric,
                "first": pair.names[0],
                "second": pair.names[1],
                **asdict(pair.test),
                "p_adjusted": pair.p_adjusted,
            }
            for pair in self.pairs
        ]

    def grid(self, style: Style | None = None) -> Grid:
        """The tests: a row per pair.

        Parameters
        ----------
        style
            Not supported here; None.

        Returns
        -------
        Grid
            The table, which renders as text, Markdown, LaTeX or CSV.

        Raises
        ------
        OptionError
            If a style is given.
        """
        if style is not None and style != Style():
            raise OptionError("a comparison over items has no digits, percent, order or marks to choose")
        rows = [
            [
                Cell(" vs ".join(pair.names)),
                Cell(f"{pair.test.mean_difference:.4g}"),
                Cell("–" if pair.test.ci is None else "[{:.4g}, {:.4g}]".format(*pair.test.ci)),
                Cell(f"{pair.test.p_value:.4g} ± {pair.test.p_error:.1g}"),
                Cell(f"{pair.p_adjusted:.4g}"),
                Cell(f"{pair.test.positive:,} / {pair.test.zero:,} / {pair.test.negative:,}"),
            ]
            for pair in self.pairs
        ]
        notes = (
            *(self.conclusion(pair) for pair in self.pairs),
            *(f"{' vs '.join(pair.names)}: {self.equivalence(pair)}" for pair in self.pairs if self.margin is not None),
            *map(str, self.needed),
            "Items were resampled, models were not: the result is about these trained models, not about retraining.",
            *self.notes,
        )
        return Grid(["pair", "difference", "interval", "p", "p (Holm)", "higher / equal / lower"], rows, notes)

    @property
    def summary(self) -> str:
        first = self.pairs[0].test
        means = ", ".join(f"{method} {mean:.4g}" for method, mean in self.means.items())
        seeds = f", averaged over {several(self.seeds, 'seed')}" if self.seeds > 1 else ""
        less = f" ({self.omitted:,} left out, without a value for every method)" if self.omitted else ""
        head = f"{self.metric} ({self.better} is better) on {self.dataset} over {first.n:,} items{less}{seeds}: {means}"
        return harmless(f"{head}\n{self.design}\n\n{self.grid().text()}")

    def render(self, form: str, style: Style | None = None) -> str:
        """The comparison as `table`, `markdown`, `latex`, `csv` or `json`.

        Parameters
        ----------
        form
            One of these.
        style
            Not supported here; None.

        Returns
        -------
        str
            The text.
        """
        table = self.grid(style)
        if form == "json":
            return self.to_json()
        return self.summary if form == "table" else table.render(form)

    def to_dict(self) -> dict[str, Any]:
        """Pairs, tests and conclusions, as in the JSON of `graphgauge compare --over items`.

        Returns
        -------
        dict[str, Any]
            Values that JSON can hold.
        """
        pairs = [
            {
                "names": pair.names,
                **asdict(pair.test),
                "p_adjusted": pair.p_adjusted,
                "conclusion": self.conclusion(pair),
                "equivalence": None if self.margin is None else self.equivalence(pair),
            }
            for pair in self.pairs
        ]
        content = {
            name: getattr(self, name) for name in ("metric", "better", "dataset", "means", "seeds", "alpha", "omitted")
        }
        asked = {
            "design": self.design,
            "margin": self.margin,
            "needed": [need.to_dict() for need in self.needed],
        }
        return dict(jsonable({**content, **asked, "pairs": pairs, "notes": self.notes}))

    def to_json(self) -> str:
        """`to_dict` as text.

        Returns
        -------
        str
            JSON.
        """
        return dumps(self.to_dict())

    def __str__(self) -> str:
        return self.summary

    def __repr__(self) -> str:
        return f"<ItemsComparison by {self.metric} on {self.dataset}: {', '.join(self.methods)}>"


def compare_items(
    runs: Runs,
    view: Panel,
    better: Better,
    *,
    baseline: str | None,
    missing: Missing,
    alpha: float,
    seed: int,
    truths: Truths = "same",
    margin: float | None = None,
    effect: float | None = None,
    power: float = 0.8,
    metrics_compared: int = 1,
) -> ItemsComparison:
    """Sign-flip tests over the items of one dataset; several seeds of a method are averaged item by item."""
    if len(view.datasets) > 1:
        raise InputError(f"items of {listing(view.datasets)} cannot be pooled", fix="Choose one dataset.")
    if view.direction == "target":
        raise InputError(f"{view.metric} has a target, which single items do not have", fix='Use over="seeds".')
    if missing == "raise":
        view.refuse_missing([str(gap) for gap in view.gaps])
    if missing == "worst":
        raise OptionError('missing="worst" scores runs, not their items', fix='Use missing="omit", or over="seeds".')
    chosen = sorted((run for run in runs if view.metric in run.scores), key=lambda run: seed_order(run.seed))
    without = [method for method in view.methods if method not in {run.method for run in chosen}]
    if without:
        raise InputError(f"no run of {listing(without)} has {view.metric}", fix="Repeat them, or compare the others.")
    lacking = [str(run) for run in chosen if run.items is None]
    if lacking:
        raise InputError(f"no per-item values are kept for {listing(lacking)}", fix='Evaluate again with keep="items".')
    partial = [f"{run} ({run.partial})" for run in chosen if run.partial]
    if partial:
        raise InputError(
            f"adaptive runs that have not read everything: {listing(partial)}; their items were not drawn with equal "
            "chances",
            fix="Compare the models adaptively with against=, or read everything.",
        )
    conflicts = different_truths(with_references((run, run.scores[view.metric]) for run in chosen), items=True)
    if truths == "same":
        refuse_different(conflicts)
    methods = sorted(view.methods)
    read = [(run, *_items(run, view)) for run in chosen]
    values, cluster, nested = _together([row[:4] for row in read], methods)
    remarks = dict.fromkeys(row[4] for row in read if row[4] is not None)
    seeds = len({run.seed for run in chosen})
    return compared_items(
        view.metric,
        better,
        view.datasets[0],
        values,
        seeds=seeds,
        cluster=cluster,
        baseline=baseline,
        alpha=alpha,
        seed=seed,
        nested=nested,
        margin=margin,
        effect=effect,
        power=power,
        metrics_compared=metrics_compared,
        notes=tuple(
            f"{note}."
            for note in (
                *remarks,
                *warnings_of(conflicts),
                *found_in_some(chosen),
            )
        ),
    )


_Read = tuple[Run, NDArray[Any], Floats, NDArray[np.int64] | None]


def _together(read: list[_Read], methods: list[str]) -> tuple[dict[str, Floats], NDArray[np.int64] | None, bool]:
    """The values of each method item by item, the clusters, and whether items are nested in seeds.

    Items are crossed with seeds if every run has the same ones: their values are averaged over seeds. They are nested
    if each seed has its own, the same for all methods. An item that occurs under several seeds is then one cluster.
    """
    first = read[0]
    different = next((row for row in read if not np.array_equal(row[1], first[1])), None)
    if different is None:
        for run, _, _, groups in read:
            _refuse_clusters(run, groups, first)
        by_method = {m: [values for run, _, values, _ in read if run.method == m] for m in methods}
        return {m: np.mean(runs_of, axis=0) for m, runs_of in by_method.items()}, first[3], False
    by_seed: dict[Any, list[_Read]] = {}
    for row in read:
        by_seed.setdefault(row[0].seed, []).append(row)
    for rows in by_seed.values():
        same = all(np.array_equal(row[1], rows[0][1]) for row in rows)
        if not same or sorted(row[0].method for row in rows) != methods:
            raise InputError(
                f"{different[0]} was evaluated on different items than {first[0]}",
                fix="Evaluate all runs on the same items, or all methods on the same items of each seed, "
                "under the same ids.",
            )
        for run, _, _, groups in rows:
            _refuse_clusters(run, groups, rows[0])
    order = list(by_seed.values())
    values = {
        m: np.concatenate([next(row[2] for row in rows if row[0].method == m) for rows in order]) for m in methods
    }
    given = [rows[0][3] for rows in order]
    clusters = [groups for groups in given if groups is not None]
    label = np.concatenate(clusters if len(clusters) == len(given) else [rows[0][1] for rows in order])
    return values, np.unique(label, return_inverse=True)[1].astype(np.int64), True


def _refuse_clusters(run: Run, groups: NDArray[np.int64] | None, first: _Read) -> None:
    if not _same(first[3], groups):
        raise InputError(
            f"the items of {run} are clustered differently from those of {first[0]}",
            fix="Evaluate all runs with the same cluster=.",
        )


def compared_items(
    metric: str,
    better: Better,
    dataset: str,
    values: dict[str, Floats],
    *,
    seeds: int,
    cluster: NDArray[np.int64] | None,
    baseline: str | None,
    alpha: float,
    seed: int,
    notes: tuple[str, ...] = (),
    nested: bool = False,
    margin: float | None = None,
    effect: float | None = None,
    power: float = 0.8,
    metrics_compared: int = 1,
) -> ItemsComparison:
    """Compare methods by given values, one per method and item, with items in the same order."""
    known = ~np.isnan(list(values.values())).any(axis=0)
    values = {method: scores[known] for method, scores in values.items()}
    cluster = None if cluster is None else cluster[known]
    names = method_pairs(list(values), baseline)
    generator = generator_of(seed)
    tests = [
        paired_items(values[a] - values[b], cluster=cluster, seed=generator, confidence=1 - alpha) for a, b in names
    ]
    adjusted = np.minimum(holm([test.p_value for test in tests]) * metrics_compared, 1.0)
    return ItemsComparison(
        metric=metric,
        better=better,
        dataset=dataset,
        means={method: float(scores.mean()) for method, scores in values.items()},
        seeds=seeds,
        pairs=tuple(ItemsPair(*row) for row in zip(names, tests, adjusted.tolist(), strict=True)),
        alpha=alpha,
        omitted=int(np.count_nonzero(~known)),
        notes=notes,
        design=_design(tests[0], seeds, nested),
        margin=margin,
        needed=tuple(
            _items_needed(pair, test, effect, power, alpha, len(tests) * metrics_compared)
            for pair, test in zip(names, tests, strict=True)
        )
        if effect is not None
        else (),
    )


def _design(test: PairedItems, seeds: int, nested: bool) -> str:
    items = "every seed has its own items (nested)" if nested else "all runs have the same items (crossed)"
    averaged = f", averaged over {several(seeds, 'seed')}" if seeds > 1 and not nested else ""
    units = f", {test.units:,} independent clusters" if test.units != test.n else ""
    return (
        f"Design: paired by item, {items}{averaged}, {test.n:,} items{units}; the claim is about these trained models "
        "on further items."
    )


def _items_needed(
    names: tuple[str, str], test: PairedItems, effect: float, power: float, alpha: float, comparisons: int
) -> Needed:
    """From the spread of the units: items, or whole clusters."""
    std = test.error * math.sqrt(test.units)
    unit = "item" if test.units == test.n else "cluster"
    if not std > 0:
        return Needed(names, effect, power, unit, test.units, None, None, std)
    total = fewest_units(abs(effect) / std, True, 1, power, alpha / comparisons)
    return Needed(names, effect, power, unit, test.units, total, None, std)


def _same(one: NDArray[np.int64] | None, other: NDArray[np.int64] | None) -> bool:
    return one is other is None or (one is not None and other is not None and np.array_equal(one, other))


def kept_items(run: Run) -> Any:
    """The items of a run: in memory, or in the unchanged side file of its result."""
    if not isinstance(run.items, SideFile):
        return run.items
    require_unchanged(run.items.path, run.items.hash)
    return family(run.family).module("items").Items.load(run.items.path)


def _items(run: Run, view: Panel) -> tuple[NDArray[Any], Floats, NDArray[np.int64] | None, str | None]:
    """Sorted ids, the values and clusters of the items, read by the family, and what it remarks on them."""
    items = kept_items(run)
    if getattr(items, "weight", None) is not None:
        raise InputError(
            f"the items of {run} are weighted, and a paired comparison counts every item alike",
            fix='Evaluate without weights, or use over="seeds".',
        )
    rules = {"ties": view.conventions["ties"]} if "ties" in view.conventions else {}
    order = np.argsort(items.ids, kind="stable")
    values = np.asarray(items.values(view.metric, **rules), dtype=float)
    ids = items.ids[order]
    if (ids[1:] == ids[:-1]).any():
        raise InputError("an id occurs twice", where=str(run), fix="Give each item a different id.")
    remark = items.remark(view.metric) if hasattr(items, "remark") else None
    return ids, values[order], None if items.cluster is None else items.cluster[order], remark
