"""What is recommended, apart from whether it is right: coverage, popularity, diversity, and how lists differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric, refuse_nan, require_shape, sorted_unique
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.metric import Estimate, Exempt, Metric, MetricFunction, NoChance, NoInterval
from graphgauge.core.options import whole_number
from graphgauge.core.registry import metric, metrics
from graphgauge.core.result import Reference
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.ranking import errors
from graphgauge.ranking.counting import distinct, runs_of
from graphgauge.ranking.samples import Sample

_FIT = "The catalogue's arrays have one row per item, and items are numbered from 0."
# What may be known of items, and the shapes of these arrays.
_PARTS: dict[str, tuple[None, ...]] = {"popularity": (None,), "categories": (None,), "embeddings": (None, None)}
# Sums over two sets of entries of the lists, given by their weights, query by query.
Similarity = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True, eq=False)
class Catalog:
    """All items that could have been recommended, numbered from 0, and what is known about them.

    `size` is their number, by default the length of the arrays. `popularity` is, for example, how often each item
    occurs in training; `categories` are one label per item, and `embeddings` one row.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> catalog = ranking.Catalog(popularity=[4, 2, 1, 1], categories=["a", "a", "b", "b"])
    >>> queries = ranking.Queries.from_topk([[0, 1], [0, 2]], targets=[0, 2], catalog=catalog)
    >>> ev = ranking.evaluate(queries, k=2)
    >>> ev["coverage@2"].value, ev["diversity@2"].value
    (0.75, 0.5)
    """

    size: Any = None
    popularity: Any = None
    categories: Any = None
    embeddings: Any = None

    def __post_init__(self) -> None:
        lengths = set() if self.size is None else {self.size}
        for name, shape in _PARTS.items():
            given = getattr(self, name)
            if given is None:
                continue
            if name == "categories":
                values: AnyArray = np.unique(as_labels(given, name), return_inverse=True)[1]
            else:
                values = as_numeric(given, name).astype(np.float64)
            require_shape(values, shape, name, _FIT)
            refuse_nan(values, name, fix="Every item needs a value.")
            object.__setattr__(self, name, values)
            lengths.add(len(values))
        if self.popularity is not None and (not np.isfinite(self.popularity).all() or (self.popularity < 0).any()):
            raise InputError("popularity must be finite and at least 0", where="popularity")
        if not lengths:
            raise OptionError("a catalogue needs its size", fix="Pass size=, popularity=, categories= or embeddings=.")
        if len(lengths) > 1:
            raise InputError(f"different numbers of items: {sorted(lengths)}", where="catalog", fix=_FIT)
        object.__setattr__(self, "size", whole_number("size", lengths.pop(), 1))

    @classmethod
    def of(cls, given: Any, items: int | None = None) -> Catalog | None:
        """A catalogue that is `given` as it is, or as a dictionary of its parts; of `items` items, if that is known."""
        if given is None:
            return None
        if isinstance(given, Mapping) and {*given} <= {"size", *_PARTS}:
            given = cls(**given)
        if not isinstance(given, Catalog):
            fix = "Pass ranking.Catalog(size=, popularity=, categories=, embeddings=)."
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

    @cached_property
    def directions(self) -> Floats:
        """Embeddings of length 1."""
        length = np.linalg.norm(self.embeddings, axis=1, keepdims=True)
        if not (length > 0).all():
            what = f"the embedding of item {int(np.argmin(length))} is zero"
            raise InputError(what, where="embeddings", fix="A cosine needs a direction.")
        unit: Floats = self.embeddings / length
        return unit

    @cached_property
    def information(self) -> Floats:
        """The self-information −log2 p of each item, p its share of all popularity."""
        with np.errstate(divide="ignore", invalid="ignore"):
            information: Floats = -np.log2(self.popularity / self.popularity.sum())
        return information


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

    def by_query(self, values: Floats) -> Floats:
        return np.bincount(self.query, values, self.queries).astype(np.float64)

    def of_all_lists(self, value: float) -> Estimate:
        return Estimate(np.array([value if self.queries else np.nan]), self.n, reason="no queries")

    def mean_of_items(self, values: Floats, k: int) -> Estimate:
        """The mean over queries of the mean over their first k items."""
        known = values[np.isfinite(values)]
        sums = self.by_query(self.places(k) * np.where(np.isfinite(values), values, 0.0)[self.item])
        ends = float(known.min(initial=0.0 if not len(known) else known[0])), float(known.max(initial=0.0))
        return self.estimate(sums / np.maximum(self.shown(k), 1), ends=ends)

    def similar_pairs(self, k: int, similarity: Similarity) -> Floats:
        """The similarities of all ordered pairs of different items in each list, added up; the mean over ties.

        Entries are certain, or tied at the cut, where m of b places are left: two of these are both in the list with
        probability m (m − 1) / (b (b − 1)).
        """
        share = self.places(k)
        certain, tied = (share == 1).astype(float), ((share > 0) & (share < 1)).astype(float)
        left, size = np.zeros(self.queries), np.ones(self.queries)
        at_cut = np.flatnonzero(tied)
        cut = self.query[at_cut]
        left[cut], size[cut] = (k - self.start)[at_cut], self.length[at_cut]
        both = left * (left - 1) / np.maximum(size * (size - 1), 1)
        within = similarity(certain, certain) - self.by_query(certain)
        across = 2 * (left / size) * similarity(certain, tied)
        return within + across + both * (similarity(tied, tied) - self.by_query(tied))

    def diversity(self, k: int, similarity: Similarity, *, largest: float) -> Estimate:
        """1 − the mean similarity of two different items of a list; lists with fewer than two items have none."""
        pairs = self.shown(k) * (self.shown(k) - 1.0)
        enough = pairs > 0
        values = np.where(enough, 1 - self.similar_pairs(k, similarity) / np.where(enough, pairs, 1.0), 0.0)
        # Equal items may round to slightly more or less.
        ratio = self.ratio(np.clip(values, 0.0, 2.0), enough.astype(float), ends=(0.0, largest))
        return replace(ratio, n=np.count_nonzero(enough, keepdims=True), reason="no list has two items")


# ---- chance: lists of as many items, drawn from the whole catalogue


def _level(value: float) -> list[Reference]:
    return [Reference("random lists", value)]


def _random_coverage(sample: Recommended, *, k: int) -> Iterable[Reference]:
    """Such lists of lengths L cover the share 1 − Π (1 − L / items) of the catalogue."""
    return _level(float(1 - np.prod(1 - sample.shown(k) / sample.catalog.size)))


def _random_overlap(sample: Recommended, *, k: int) -> Iterable[Reference]:
    """Two such lists share L1 · L2 / items."""
    root, queries = np.sqrt(sample.shown(k).astype(float)), sample.queries
    return _level(float(1 - (root.sum() ** 2 - (root**2).sum()) / (queries * (queries - 1)) / sample.catalog.size))


def _mean_popularity(sample: Recommended, *, k: int) -> Iterable[Reference]:
    """The mean popularity of all items."""
    return _level(float(np.mean(sample.catalog.popularity)))


def _mean_information(sample: Recommended, *, k: int) -> Iterable[Reference]:
    """The mean self-information of all items; none if it is infinite, because an item has popularity 0."""
    mean = float(np.mean(sample.catalog.information))
    return _level(mean) if math.isfinite(mean) else []


def _same_category(sample: Recommended, *, k: int) -> Iterable[Reference]:
    """The share of pairs of items that are of different categories."""
    count, items = np.bincount(sample.catalog.categories).astype(float), sample.catalog.size
    return _level(1 - float((count * (count - 1)).sum()) / (items * (items - 1))) if items > 1 else []


def _same_direction(sample: Recommended, *, k: int) -> Iterable[Reference]:
    """1 − the mean cosine of the embeddings of two items."""
    items = sample.catalog.size
    total = float(np.square(sample.catalog.directions.sum(axis=0)).sum()) - items
    return _level(1 - total / (items * (items - 1))) if items > 1 else []


# ---- metrics

_WHOLE = NoInterval("it is a property of all lists together, which grows with their number")
_PER = {"ties": "the mean over random order", "empty": "nan", "lists": "of all queries, with or without positives"}
_LAWS: dict[str, bool | Exempt] = {
    "permutation": True,
    "merge": Exempt("states keep counts, and no items"),
    "symmetry": Exempt("a query and an item have different roles"),
    "monotone": Exempt("it does not depend on which items are right"),
}


_LISTS_ALIKE, _SAME_OR_NOT, _COSINE, _OF_SUM = (
    {"similarity": "cosine of two lists"},
    {"similarity": "1 within a category, else 0"},
    {"similarity": "cosine of embeddings"},
    {"probability": "popularity over its sum"},
)


def _of_items(
    key: str, needs: str, chance: Any, rules: Mapping[str, str] | None = None, **properties: Any
) -> Callable[[MetricFunction], Metric]:
    """Declare a metric of what is recommended."""
    common: dict[str, Any] = {"direction": "higher", "bounds": (0, 1), "unit": "query", "interval": errors.of_mean}
    shared = {"laws": _LAWS, "conventions": {**_PER, **(rules or {})}, "needs": (needs,), "chance": chance}

    def declare(function: MetricFunction) -> Metric:
        return metric(key, family="ranking", **common | shared | properties)(function)

    return declare


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


@_of_items("personalization@{k}", "recommended", _random_overlap, _LISTS_ALIKE, reference="zhou2010")
def personalization_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """1 − the mean share of items that the lists of two queries have in common, over all pairs of queries."""
    queries = sample.queries
    if queries < 2:
        return Estimate(np.array([np.nan]), sample.n, reason="needs two queries")
    share = sample.places(k) / np.sqrt(np.maximum(sample.shown(k), 1))[sample.query]
    shared, own = sample.by_query(share * sample.by_item(share)[sample.item]), sample.by_query(share**2)
    mean = sample.estimate(np.clip(1 - (shared - own) / (queries - 1), 0.0, 1.0))
    assert mean.influence is not None
    # A query is in all of its pairs: the error of the mean over pairs is twice that of a mean over queries.
    return replace(mean, influence=2 * mean.influence)


_ANY: dict[str, Any] = {"bounds": (0, np.inf)}


@_of_items("popularity@{k}", "popularity", _mean_popularity, direction="lower", reference="abdollahpouri2019", **_ANY)
def popularity_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """Mean popularity of a query's first k items, mean over queries (average recommendation popularity)."""
    return sample.mean_of_items(sample.catalog.popularity, k)


@_of_items("novelty@{k}", "popularity", _mean_information, _OF_SUM, reference="zhou2010", **_ANY)
def novelty_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """Mean self-information −log2 p of a query's first k items, p an item's share of all popularity."""
    values = sample.catalog.information
    seen = sorted_unique(sample.item[sample.places(k) > 0])
    if not np.isfinite(values[seen]).all():
        reason = "an item in the lists has popularity 0, and infinite self-information"
        return Estimate(np.array([np.nan]), sample.n, reason=reason)
    return sample.mean_of_items(values, k)


@_of_items("diversity@{k}", "categories", _same_category, _SAME_OR_NOT, reference="ziegler2005")
def diversity_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """Share of pairs of a query's first k items that are of different categories, mean over queries."""
    query = sample.query
    first, pair = distinct([query, sample.catalog.categories[sample.item]])

    def similarity(one: Floats, other: Floats) -> Floats:
        together = np.bincount(pair, one, len(first)) * np.bincount(pair, other, len(first))
        return np.bincount(query[first], together, sample.queries).astype(np.float64)

    return sample.diversity(k, similarity, largest=1.0)


@_of_items("embedding_diversity@{k}", "embeddings", _same_direction, _COSINE, bounds=(0, 2), reference="ziegler2005")
def embedding_diversity_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """1 − the mean cosine of the embeddings of two of a query's first k items, mean over queries."""
    from scipy.sparse import csr_array

    cells, shape = (sample.query, sample.item), (sample.queries, sample.catalog.size)

    def similarity(one: Floats, other: Floats) -> Floats:
        first, second = (
            np.asarray(csr_array((weight, cells), shape=shape) @ sample.catalog.directions) for weight in (one, other)
        )
        return np.asarray((first * second).sum(axis=1))

    return sample.diversity(k, similarity, largest=2.0)
