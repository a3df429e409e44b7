"""Methods compared item by item, such as rankers query by query: about these trained models on new items."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.family import family
from graphgauge.core.options import generator_of
from graphgauge.core.schema import dumps, require_unchanged
from graphgauge.stats.comparison import jsonable
from graphgauge.stats.many import holm
from graphgauge.stats.permutation import PairedItems, paired_items
from graphgauge.stats.present import Style
from graphgauge.stats.runs import Better, Missing, Panel, Run, Runs, seed_order, unchecked_runs
from graphgauge.stats.tables import Cell, Grid
from graphgauge.stats.text import listing, p_text, several
from graphgauge.stats.truths import Truths, different_truths, refuse_different, warnings_of


@dataclass(frozen=True)
class ItemsPair:
    """Two methods, and the sign-flip test of their differences on the same items."""

    names: tuple[str, str]
    test: PairedItems
    p_adjusted: float


@dataclass(frozen=True)
class ItemsComparison:
    """Outcome of `compare(over="items")`: all pairs, or each method against the baseline, with Holm's correction.

    `omitted` items were left out because some method has no value for them.
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

    @property
    def methods(self) -> list[str]:
        return list(self.means)

    def conclusion(self, pair: ItemsPair) -> str:
        names = pair.names
        if pair.p_adjusted > self.alpha:
            verdict = f"not significant at α = {self.alpha:g}, which does not show that they are equal"
            return f"{names[0]} vs {names[1]}: {verdict}."
        ahead = names[(pair.test.mean_difference > 0) == (self.better == "lower")]
        behind = names[1 - names.index(ahead)]
        return f"{ahead} is better than {behind} on these items ({p_text(pair.p_adjusted)} at α = {self.alpha:g})."

    def grid(self) -> Grid:
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
        return f"{head}\n{self.grid().text()}"

    def render(self, form: str, style: Style | None = None) -> str:
        if style is not None and style != Style():
            raise OptionError("a comparison over items has no digits, percent, order or marks to choose")
        if form == "json":
            return self.to_json()
        return self.summary if form == "table" else self.grid().render(form)

    def to_dict(self) -> dict[str, Any]:
        pairs = [
            {
                "names": pair.names,
                **asdict(pair.test),
                "p_adjusted": pair.p_adjusted,
                "conclusion": self.conclusion(pair),
            }
            for pair in self.pairs
        ]
        content = {
            name: getattr(self, name) for name in ("metric", "better", "dataset", "means", "seeds", "alpha", "omitted")
        }
        return dict(jsonable({**content, "pairs": pairs, "notes": self.notes}))

    def to_json(self) -> str:
        return dumps(self.to_dict())

    def __str__(self) -> str:
        return self.summary


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
    conflicts = different_truths(chosen, items=True)
    if truths == "same":
        refuse_different(conflicts)
    values: dict[str, list[Floats]] = {method: [] for method in sorted(view.methods)}
    ids, cluster = None, None
    for run in chosen:
        own, scores, groups = _items(run, view)
        if ids is None:
            ids, cluster = own, groups
        elif not np.array_equal(ids, own):
            raise InputError(f"{run} was evaluated on different items than {chosen[0]}",
                             fix="Evaluate all runs on the same items, under the same ids.")  # fmt: skip
        elif not _same(cluster, groups):
            raise InputError(f"the items of {run} are clustered differently from those of {chosen[0]}",
                             fix="Evaluate all runs with the same cluster=.")  # fmt: skip
        values[run.method].append(scores)
    return compared_items(
        view.metric, better, view.datasets[0],
        {method: np.mean(runs_of, axis=0) for method, runs_of in values.items()},
        seeds=len({run.seed for run in chosen}), cluster=cluster, baseline=baseline, alpha=alpha, seed=seed,
        notes=tuple(f"{note}." for note in (*warnings_of(conflicts), *unchecked_runs(chosen))),
    )  # fmt: skip


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
) -> ItemsComparison:
    """Compare methods by given values, one per method and item, with items in the same order."""
    known = ~np.isnan(list(values.values())).any(axis=0)
    values = {method: scores[known] for method, scores in values.items()}
    cluster = None if cluster is None else cluster[known]
    names = list(combinations(values, 2)) if baseline is None else [(m, baseline) for m in values if m != baseline]
    generator = generator_of(seed)
    tests = [
        paired_items(values[a] - values[b], cluster=cluster, seed=generator, confidence=1 - alpha) for a, b in names
    ]
    adjusted = holm([test.p_value for test in tests])
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
    )


def _same(one: NDArray[np.int64] | None, other: NDArray[np.int64] | None) -> bool:
    return one is other is None or (one is not None and other is not None and np.array_equal(one, other))


def _items(run: Run, view: Panel) -> tuple[NDArray[Any], Floats, NDArray[np.int64] | None]:
    """Sorted ids, and the values and clusters of the items, read by the family."""
    assert run.items is not None
    require_unchanged(run.items.path, run.items.hash)
    reader = family(run.family).module("items").Items
    items = reader.load(run.items.path)
    rules = {"ties": view.conventions["ties"]} if "ties" in view.conventions else {}
    order = np.argsort(items.ids, kind="stable")
    values = np.asarray(items.values(view.metric, **rules), dtype=float)
    ids = items.ids[order]
    if (ids[1:] == ids[:-1]).any():
        raise InputError("an id occurs twice", where=str(run.items.path), fix="Give each item a different id.")
    return ids, values[order], None if items.cluster is None else items.cluster[order]
