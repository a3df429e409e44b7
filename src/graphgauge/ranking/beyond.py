"""What is recommended, apart from whether it is right: coverage, evenness, popularity, and how lists differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric, require_shape
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.metric import Estimate, Exempt, Metric, MetricFunction, NoChance, NoInterval
from graphgauge.core.options import whole_number
from graphgauge.core.registry import metric, metrics
from graphgauge.core.result import Reference
from graphgauge.core.types import Floats, Ints
from graphgauge.ranking import errors
from graphgauge.ranking.counting import distinct, runs_of
from graphgauge.ranking.samples import Sample

_FIT = "The catalogue's arrays have one value per item, and items are numbered from 0."
_PARTS = ("popularity", "categories")


@dataclass(frozen=True, eq=False)
class Catalog:
    """All items that could have been recommended, numbered from 0.

    `size` is their number, by default the length of the arrays. `popularity` is, for example, how often each item
    occurs in training; `categories` are one label per item.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> catalog = ranking.Catalog(popularity=[4, 2, 1, 1], categories=["a", "a", "b", "b"])
    >>> queries = ranking.Queries.from_topk([[0, 1], [0, 2]], targets=[0, 2], catalog=catalog)
    >>> ev = ranking.evaluate(queries, k=2)
    >>> ev["coverage@2"].value, ev["popularity@2"].value, ev["diversity@2"].value
    (0.75, 2.75, 0.5)
    """

    size: Any = None
    popularity: Any = None
    categories: Any = None

    def __post_init__(self) -> None:
        size = self.size
        if self.popularity is not None:
            popularity = as_numeric(self.popularity, "popularity").astype(np.float64)
            require_shape(popularity, (size,), "popularity", _FIT)
            if not (np.isfinite(popularity) & (popularity >= 0)).all():
                raise InputError("popularity must be finite and at least 0", where="popularity")
            object.__setattr__(self, "popularity", popularity)
            size = len(popularity)
        if self.categories is not None:
            categories = as_labels(self.categories, "categories")
            require_shape(categories, (size,), "categories", _FIT)
            object.__setattr__(self, "categories", np.unique(categories, return_inverse=True)[1])
            size = len(categories)
        if size is None:
            raise OptionError("a catalogue needs its size", fix="Pass size=, popularity= or categories=.")
        object.__setattr__(self, "size", whole_number("size", size, 1))

    @classmethod
    def of(cls, given: Any, items: int | None = None) -> Catalog | None:
        """A catalogue that is `given` as it is, or as a dictionary of its parts; of `items` items, if that is known."""
        if given is None:
            return None
        if isinstance(given, Mapping) and {*given} <= {"size", *_PARTS}:
            given = cls(**given)
        if not isinstance(given, Catalog):
            fix = "Pass ranking.Catalog(size=, popularity=, categories=)."
            raise InputError("expected a Catalog", where="catalog", fix=fix)
        if items is not None and given.size != items:
            raise InputError(f"a catalogue of {given.size} items for {items}", where="catalog", fix=_FIT)
        return given

    @property
    def samples(self) -> list[str]:
        """The names of the samples that metrics need: the lists alone, or with something of the catalogue."""
        return ["recommended", *(name for name in _PARTS if getattr(self, name) is not None)]

    @property
    def metrics(self) -> list[str]:
        """The metrics that are computed without being named."""
        return [each.name for each in metrics("ranking") if each.needs[0] in self.samples]


@dataclass(frozen=True, eq=False, kw_only=True)
class Recommended(Sample):
    """The first `kept` items of each query, with all that tie for the last place; also of queries without right ones.

    Item i is in a run of `length` equal scores after `start` better candidates of its `query`, at any of the places of
    the run with the same probability. `candidates` are those of each query.
    """

    query: Ints
    item: Ints
    start: Ints
    length: Ints
    candidates: Ints
    catalog: Catalog
    kept: int

    @classmethod
    def of(cls, query: Ints, item: Ints, start: Ints, length: Ints, **about: Any) -> Recommended:
        beyond, items = item[item >= about["catalog"].size], about["catalog"].size
        if len(beyond):
            raise InputError(f"item {beyond[0]} in a catalogue of {items} items", where="catalog", fix=_FIT)
        one = np.ones(len(about["candidates"]), np.int64)
        about |= {"ties": "expected", "count": one.astype(float), "items": one}
        return cls(query=query, item=item, start=start, length=length, **about)

    @classmethod
    def placed(cls, query: Ints, item: Ints, score: Floats, **about: Any) -> Recommended:
        """From entries that include all candidates of the first places: those that can be among them."""
        order = np.lexsort((item, -score, query))
        query, item = query[order], item[order]
        run, _, size, start = runs_of(query, score[order])
        near = start[run] < about["kept"]
        return cls.of(query[near], item[near], start[run][near], size[run][near], **about)

    @property
    def queries(self) -> int:
        return len(self.candidates)

    def places(self, k: int) -> Floats:
        """The probability of each item to be among the first k of its query."""
        if k > self.kept and self.queries:
            raise OptionError(f"only the first {self.kept} items are known", fix="Ask for a smaller k.")
        share: Floats = np.clip(k - self.start, 0, self.length) / self.length
        return share

    def shown(self, k: int) -> Ints:
        """How many items each query's list has."""
        return np.minimum(self.candidates, k)

    def by_item(self, values: Floats) -> Floats:
        """The sum of one value per entry for each item of the catalogue, in an order that is not that of queries."""
        order = np.lexsort((values, self.item))
        return np.bincount(self.item[order], values[order], self.catalog.size).astype(np.float64)

    def of_all_lists(self, value: float) -> Estimate:
        return Estimate(np.array([value if self.queries else np.nan]), self.n, reason="no queries")


# ---- metrics

_WHOLE = NoInterval("it is a property of all lists together, which grows with their number")
_RULES = {"ties": "the mean over random order", "empty": "nan", "lists": "of all queries, with or without positives"}
_LAWS: dict[str, bool | Exempt] = {
    "permutation": True,
    "merge": Exempt("states keep counts, and no items"),
    "symmetry": Exempt("a query and an item have different roles"),
    "monotone": Exempt("it does not depend on which items are right"),
}


def _of_items(
    key: str, needs: str, chance: Any, rules: Mapping[str, str] | None = None, **properties: Any
) -> Callable[[MetricFunction], Metric]:
    """Declare a metric of what is recommended, a mean over queries unless the properties say otherwise."""
    common: dict[str, Any] = {"direction": "higher", "bounds": (0, 1), "unit": "query", "interval": errors.of_mean}
    shared = {"laws": _LAWS, "conventions": {**_RULES, **(rules or {})}, "needs": (needs,), "chance": chance}
    return lambda function: metric(key, family="ranking", **common | shared | properties)(function)


def _random_coverage(sample: Recommended, *, k: int) -> Iterable[Reference]:
    """Lists of lengths L, drawn from the whole catalogue, cover the share 1 − Π (1 − L / items) of it."""
    missed = np.prod(1 - sample.shown(k) / sample.catalog.size)
    return [Reference("random lists", float(1 - missed))]


@_of_items("coverage@{k}", "recommended", _random_coverage, interval=_WHOLE, reference="herlocker2004")
def coverage_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """Share of the catalogue that is among the first k of at least one query."""
    with np.errstate(divide="ignore"):
        missed = np.log1p(-sample.places(k))
    return sample.of_all_lists(float(-np.expm1(sample.by_item(missed)).mean()))


_EXPOSURE = {"exposure": "the expected number of lists with an item, over the whole catalogue"}
_BY_LISTS = NoChance("it depends on the number of lists")


@_of_items("gini@{k}", "recommended", _BY_LISTS, _EXPOSURE, direction="lower", interval=_WHOLE, reference="fleder2009")
def gini_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """Gini coefficient of how often the items of the catalogue are among the first k: 0 if all are as often."""
    exposure = np.sort(sample.by_item(sample.places(k)))
    items, total = len(exposure), float(exposure.sum())
    rising = 2 * np.arange(1, items + 1) - items - 1
    value = float((rising * exposure).sum()) / (items * total) if total else np.nan
    return sample.of_all_lists(float(np.clip(value, 0.0, 1.0)))  # rounding of equal exposures


def _mean_popularity(sample: Recommended, *, k: int) -> Iterable[Reference]:
    """The mean popularity of all items."""
    return [Reference("random lists", float(np.mean(sample.catalog.popularity)))]


_ANY: dict[str, Any] = {"bounds": (0, np.inf)}


@_of_items("popularity@{k}", "popularity", _mean_popularity, direction="lower", reference="abdollahpouri2019", **_ANY)
def popularity_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """Mean popularity of a query's first k items, mean over queries (average recommendation popularity)."""
    popularity = sample.catalog.popularity
    sums = np.bincount(sample.query, sample.places(k) * popularity[sample.item], sample.queries)
    ends = float(popularity.min()), float(popularity.max())
    return sample.estimate(sums / np.maximum(sample.shown(k), 1), ends=ends)


def _random_overlap(sample: Recommended, *, k: int) -> Iterable[Reference]:
    """Two lists of lengths L1 and L2, drawn from the whole catalogue, share L1 · L2 / items."""
    root, queries = np.sqrt(sample.shown(k).astype(float)), sample.queries
    alike = (root.sum() ** 2 - (root**2).sum()) / (queries * (queries - 1))
    return [Reference("random lists", float(1 - alike / sample.catalog.size))]


_LISTS_ALIKE, _SAME_OR_NOT = {"similarity": "cosine of two lists"}, {"similarity": "1 within a category, else 0"}


@_of_items("personalization@{k}", "recommended", _random_overlap, _LISTS_ALIKE, reference="zhou2010")
def personalization_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """1 − the mean share of items that the lists of two queries have in common, over all pairs of queries."""
    queries = sample.queries
    if queries < 2:
        return Estimate(np.array([np.nan]), sample.n, reason="needs two queries")
    share = sample.places(k) / np.sqrt(np.maximum(sample.shown(k), 1))[sample.query]
    others = sample.by_item(share)[sample.item] - share
    overlap = np.bincount(sample.query, share * others, queries) / (queries - 1)
    mean = sample.estimate(np.clip(1 - overlap, 0.0, 1.0))
    assert mean.influence is not None
    # A query is in all of its pairs: the error of the mean over pairs is twice that of a mean over queries.
    return replace(mean, influence=2 * mean.influence)


def _same_category(sample: Recommended, *, k: int) -> Iterable[Reference]:
    """The share of pairs of items of the catalogue that are of different categories."""
    count, items = np.bincount(sample.catalog.categories).astype(float), sample.catalog.size
    alike = float((count * (count - 1)).sum())
    return [Reference("random lists", 1 - alike / (items * (items - 1)))] if items > 1 else []


@_of_items("diversity@{k}", "categories", _same_category, _SAME_OR_NOT, reference="ziegler2005")
def diversity_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """Share of pairs of a query's first k items that are of different categories, mean over queries.

    Of b items that tie for the last m places, two are both in the list with probability m (m − 1) / (b (b − 1)).
    Lists with fewer than two items are left out.
    """
    share, pairs = sample.places(k), sample.shown(k) * (sample.shown(k) - 1.0)
    tied = (share > 0) & (share < 1)
    places, length = np.zeros(sample.queries), np.ones(sample.queries)
    cut = sample.query[tied]
    places[cut], length[cut] = k - sample.start[tied], sample.length[tied]
    first, cell = distinct([sample.query, sample.catalog.categories[sample.item]])
    sure, open_ = (np.bincount(cell, which, len(first)) for which in (share == 1, tied))
    query = sample.query[first]
    m, b = places[query], length[query]
    both = m * (m - 1) / np.maximum(b * (b - 1), 1)
    alike = sure * (sure - 1) + 2 * m / b * sure * open_ + both * open_ * (open_ - 1)
    enough = pairs > 0
    values = np.where(enough, 1 - np.bincount(query, alike, sample.queries) / np.where(enough, pairs, 1.0), 0.0)
    ratio = sample.ratio(np.clip(values, 0.0, 1.0), enough.astype(float))
    return replace(ratio, n=np.count_nonzero(enough, keepdims=True), reason="no list has two items")
