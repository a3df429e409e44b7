"""What is recommended, apart from whether it is right: coverage, popularity, diversity, and how lists differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import (
    AnyArray,
    Floats,
    Ints,
    as_labels,
    as_numeric,
    refuse_nan,
    require_shape,
    sorted_unique,
)
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import whole_number
from graphgauge.kernels.tally import distinct
from graphgauge.old.core.metric import Estimate, Exempt, Laws, MetricFunction, NoChance, NoInterval, metric
from graphgauge.old.ranking.lists import TopItems
from graphgauge.old.ranking.metrics import _NO_SYMMETRY, _mean
from graphgauge.old.ranking.samples import Sample

_FIT = "The catalogue's arrays have one row per item, and items are numbered from 0."


@dataclass(frozen=True)
class Catalog:
    """All items that could have been recommended, numbered from 0, and what is known about them.

    `size` is their number, by default the length of the arrays. `popularity` is, for example, how often each item
    occurs in training; `categories` are one label per item, and `embeddings` one row.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> catalog = ranking.Catalog(popularity=[4, 2, 1, 1], categories=["a", "a", "b", "b"])
    >>> scores, labels, queries = [3, 2, 1, 3, 2, 1], [1, 0, 0, 0, 1, 0], [0, 0, 0, 1, 1, 1]
    >>> items = [0, 1, 2, 0, 2, 3]
    >>> ev = ranking.evaluate(scores=scores, labels=labels, queries=queries, items=items, catalog=catalog, k=2)
    >>> ev["coverage@2"].value, ev["diversity@2"].value
    (0.75, 0.5)
    """

    size: int | None = None
    popularity: Any = None
    categories: Any = None
    embeddings: Any = None

    def __post_init__(self) -> None:
        arrays: dict[str, AnyArray] = {}
        if self.popularity is not None:
            arrays["popularity"] = as_numeric(self.popularity, "popularity").astype(float)
            require_shape(arrays["popularity"], (None,), "popularity", _FIT)
        if self.categories is not None:
            arrays["categories"] = np.unique(as_labels(self.categories, "categories"), return_inverse=True)[1]
        if self.embeddings is not None:
            arrays["embeddings"] = as_numeric(self.embeddings, "embeddings").astype(float)
            require_shape(arrays["embeddings"], (None, None), "embeddings", _FIT)
        for name, values in arrays.items():
            refuse_nan(values, name, fix="Every item needs a value.")
            object.__setattr__(self, name, values)
        if self.popularity is not None and (not np.isfinite(self.popularity).all() or (self.popularity < 0).any()):
            raise InputError("popularity must be finite and at least 0", where="popularity")
        lengths = {len(values) for values in arrays.values()} | ({self.size} if self.size is not None else set())
        if not lengths:
            raise OptionError("a catalogue needs its size", fix="Pass size=, popularity=, categories= or embeddings=.")
        if len(lengths) > 1:
            raise InputError(f"different numbers of items: {sorted(lengths)}", where="catalog", fix=_FIT)
        object.__setattr__(self, "size", whole_number("size", lengths.pop(), 1))

    @classmethod
    def of(cls, given: Catalog | Mapping[str, Any] | None) -> Catalog | None:
        """A catalogue as it is, or from its parts by name.

        Parameters
        ----------
        given
            A catalogue, a dictionary of its parts, or None.

        Returns
        -------
        Catalog | None
            The catalogue, or None.

        Raises
        ------
        InputError
            If it is neither.
        """
        if given is None or isinstance(given, Catalog):
            return given
        if not isinstance(given, Mapping) or not {*given} <= {"size", "popularity", "categories", "embeddings"}:
            raise InputError(
                "expected a Catalog",
                where="catalog",
                fix="Pass ranking.Catalog(size=, popularity=, categories=, embeddings=).",
            )
        return cls(**given)

    @property
    def items(self) -> int:
        assert self.size is not None
        return self.size

    @cached_property
    def directions(self) -> Floats:
        """Embeddings of length 1."""
        length = np.linalg.norm(self.embeddings, axis=1, keepdims=True)
        if not (length > 0).all():
            raise InputError(
                f"the embedding of item {int(np.argmin(length))} is zero",
                where="embeddings",
                fix="A cosine needs a direction.",
            )
        unit: Floats = self.embeddings / length
        return unit


@dataclass(frozen=True)
class Recommended(Sample):
    """The first items of each query; every query has the weight 1."""

    top: TopItems
    catalog: Catalog
    kept: int

    @classmethod
    def of(cls, top: TopItems, catalog: Catalog, kept: int) -> Recommended:
        queries = len(top.lengths)
        beyond = top.item[top.item >= catalog.items]
        if len(beyond):
            raise InputError(f"item {beyond[0]} in a catalogue of {catalog.items} items", where="items", fix=_FIT)
        return cls(np.ones(queries, np.int64), None, 1, None, "queries", top, catalog, kept)

    def _total(self, values: Any) -> Floats:
        return self._total_in_any_order(values).astype(float)

    @cached_property
    def query(self) -> Ints:
        return np.repeat(np.arange(len(self.top.lengths)), self.top.lengths)

    def places(self, k: int) -> Floats:
        """The probability of each kept item to be among the first k of its query."""
        if k > self.kept:
            raise OptionError(f"only the first {self.kept} items were kept", fix=f"Count with top={k} or more.")
        top = self.top
        share: Floats = np.clip(k - top.start, 0, top.length) / top.length
        return share

    def shown(self, k: int) -> Ints:
        """How many items each query's list has."""
        return np.minimum(self.top.candidates, k)

    def exposure(self, share: Floats) -> Floats:
        """How many lists each item is in, on average over ties."""
        order = np.lexsort((share, self.top.item))  # sums that do not depend on the order of the queries
        return np.bincount(self.top.item[order], share[order], self.catalog.items).astype(float)

    def of_all_lists(self, value: Floats) -> Estimate:
        return Estimate(value if self.n[0] else np.array([np.nan]), self.n, reason="no queries")

    def mean_of_items(self, values: Floats, k: int, **facts: Any) -> Estimate:
        """The mean over queries of the mean over their first k items."""
        share = self.places(k)
        sums = np.bincount(self.query, share * values[self.top.item], len(self.top.lengths))
        return self.estimate(sums / np.maximum(self.shown(k), 1), **facts)

    def similar_pairs(self, k: int, similarity: Similarity) -> Floats:
        """The similarities of all ordered pairs of different items in each list, added up; the mean over ties.

        Entries are certain, or tied at the cut, where m of b places are left: two of these are both in the list with
        probability m (m − 1) / (b (b − 1)).
        """
        top, share = self.top, self.places(k)
        certain, tied = (share == 1).astype(float), ((share > 0) & (share < 1)).astype(float)
        queries = len(top.lengths)
        left, size = np.zeros(queries), np.ones(queries)
        at_cut = np.flatnonzero(tied)
        left[self.query[at_cut]] = (k - top.start)[at_cut]
        size[self.query[at_cut]] = top.length[at_cut]
        alone = [np.bincount(self.query, entries, queries) for entries in (certain, tied)]
        both = left * (left - 1) / np.maximum(size * (size - 1), 1)
        within = similarity(certain, certain) - alone[0]
        across = 2 * (left / size) * similarity(certain, tied)
        return within + across + both * (similarity(tied, tied) - alone[1])

    def diversity(self, k: int, similarity: Similarity, *, largest: float) -> Estimate:
        """1 − the mean similarity of two different items of a list; lists with fewer than two items have none."""
        pairs = self.shown(k) * (self.shown(k) - 1.0)
        enough = pairs > 0
        lists = np.count_nonzero(enough, keepdims=True)
        values = np.where(enough, 1 - self.similar_pairs(k, similarity) / np.where(enough, pairs, 1.0), 0.0)
        values = np.clip(values, 0.0, 2.0)  # rounding of equal items
        value = self._total(values) / np.where(lists > 0, lists, np.nan)
        # A mean over some of the lists: the others add nothing to its error.
        share = np.maximum(lists, 1) / max(len(enough), 1)
        influence = np.where(enough, values - value, 0.0) / share
        facts = {"range": (0.0, largest)}
        return Estimate(value, lists, influence, reason="no list has two items", facts=facts)


def beyond_samples(recommended: Recommended | None) -> dict[str, Recommended]:
    """The samples of metrics that need no more than the lists, and of those that need something of the catalogue."""
    if recommended is None:
        return {}
    arrays = ("popularity", "categories", "embeddings")
    known = [name for name in arrays if getattr(recommended.catalog, name) is not None]
    return dict.fromkeys(("recommended", *known), recommended)


# The similarities between two sets of entries of the lists, given by weights, added up query by query.
Similarity = Callable[[Floats, Floats], Floats]

_PER = {"ties": "the mean over random order", "empty": "nan", "lists": "of all queries, with or without positives"}
_LAWS: Laws = {
    "permutation": True,
    "merge": True,
    "symmetry": _NO_SYMMETRY,
    "monotone": Exempt("it does not depend on which items are right"),
}


def _of_catalog(function: MetricFunction, sample: Recommended, params: Mapping[str, Any]) -> dict[str, float]:
    """The mean over all items of the catalogue."""
    values = sample.catalog.popularity if function is popularity_at_k.function else _self_information(sample.catalog)
    return {"random lists": float(np.mean(values))}


def _random_coverage(function: MetricFunction, sample: Recommended, params: Mapping[str, Any]) -> dict[str, float]:
    """Lists of as many items, drawn from the whole catalogue."""
    return {"random lists": float(1 - np.prod(1 - sample.shown(params["k"]) / sample.catalog.items))}


def _random_overlap(function: MetricFunction, sample: Recommended, params: Mapping[str, Any]) -> dict[str, float]:
    """Lists of as many items, drawn from the whole catalogue: two of them share L1 · L2 / items."""
    root = np.sqrt(sample.shown(params["k"]).astype(float))
    queries = len(root)
    overlap = (root.sum() ** 2 - (root**2).sum()) / (queries * (queries - 1)) / sample.catalog.items
    return {"random lists": float(1 - overlap)}


def _same_category(function: MetricFunction, sample: Recommended, params: Mapping[str, Any]) -> dict[str, float]:
    """Two different items of the catalogue."""
    count = np.bincount(sample.catalog.categories).astype(float)
    items = sample.catalog.items
    return {"random lists": 1 - float((count * (count - 1)).sum()) / (items * (items - 1))} if items > 1 else {}


def _same_direction(function: MetricFunction, sample: Recommended, params: Mapping[str, Any]) -> dict[str, float]:
    """Two different items of the catalogue."""
    items, directions = sample.catalog.items, sample.catalog.directions
    total = float(np.square(directions.sum(axis=0)).sum()) - items
    return {"random lists": 1 - total / (items * (items - 1))} if items > 1 else {}


_WHOLE = NoInterval("it is a property of all lists together, which grows with their number")


# What these metrics have in common.
_OF_ITEMS: dict[str, Any] = {"family": "ranking", "unit": "query", "laws": _LAWS}


@metric(
    key="coverage@{k}",
    **_OF_ITEMS,
    needs=("recommended",),
    direction="higher",
    bounds=(0, 1),
    conventions=_PER,
    reference="herlocker2004",
    chance=_random_coverage,
    interval=_WHOLE,
)
def coverage_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """Share of the catalogue that is among the first k of at least one query."""
    with np.errstate(divide="ignore"):
        missed = np.log1p(-sample.places(k))
    # Sums in an order that does not depend on that of the queries.
    order = np.lexsort((missed, sample.top.item))
    absent = np.bincount(sample.top.item[order], missed[order], sample.catalog.items)
    return sample.of_all_lists(-np.expm1(absent).mean(keepdims=True))


@metric(
    key="gini@{k}",
    **_OF_ITEMS,
    needs=("recommended",),
    direction="lower",
    bounds=(0, 1),
    conventions=_PER | {"exposure": "the expected number of lists with an item, over the whole catalogue"},
    reference="fleder2009",
    chance=NoChance("it depends on the number of lists"),
    interval=_WHOLE,
)
def gini_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """Gini coefficient of how often the items of the catalogue are among the first k: 0 if all are as often."""
    exposure = np.sort(sample.exposure(sample.places(k)))
    items, total = len(exposure), exposure.sum()
    rising = 2 * np.arange(1, items + 1) - items - 1
    value = (rising * exposure).sum() / (items * total) if total else np.nan
    return sample.of_all_lists(np.clip([value], 0.0, 1.0))  # rounding of equal exposures


@metric(
    key="personalization@{k}",
    **_OF_ITEMS,
    needs=("recommended",),
    direction="higher",
    bounds=(0, 1),
    conventions=_PER | {"similarity": "cosine of two lists"},
    reference="zhou2010",
    chance=_random_overlap,
    interval=_mean,
)
def personalization_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """1 − the mean share of items that the lists of two queries have in common, over all pairs of queries."""
    queries = len(sample.top.lengths)
    if queries < 2:
        return Estimate(np.array([np.nan]), sample.n, reason="needs two queries")
    share = sample.places(k) / np.sqrt(np.maximum(sample.shown(k), 1))[sample.query]
    shared = np.bincount(sample.query, share * sample.exposure(share)[sample.top.item], queries)
    own = np.bincount(sample.query, share**2, queries)
    # A query is in all of its pairs: the error of the mean over pairs is twice that of a mean over queries.
    found = sample.estimate(np.clip(1 - (shared - own) / (queries - 1), 0.0, 1.0), range=(0.0, 1.0))
    assert found.influence is not None
    return replace(found, influence=2 * found.influence)


@metric(
    key="popularity@{k}",
    **_OF_ITEMS,
    needs=("popularity",),
    direction="lower",
    bounds=(0, np.inf),
    conventions=_PER,
    reference="abdollahpouri2019",
    chance=_of_catalog,
    interval=_mean,
)
def popularity_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """Mean popularity of a query's first k items, mean over queries (average recommendation popularity)."""
    values = sample.catalog.popularity
    return sample.mean_of_items(values, k, ends=(float(values.min()), float(values.max())))


@metric(
    key="novelty@{k}",
    **_OF_ITEMS,
    needs=("popularity",),
    direction="higher",
    bounds=(0, np.inf),
    conventions=_PER | {"probability": "popularity over its sum"},
    reference="zhou2010",
    chance=_of_catalog,
    interval=_mean,
)
def novelty_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """Mean self-information −log2 p of a query's first k items, p an item's share of all popularity."""
    values = _self_information(sample.catalog)
    seen = sorted_unique(sample.top.item[sample.places(k) > 0])
    if not np.isfinite(values[seen]).all():
        reason = "an item in the lists has popularity 0, and infinite self-information"
        return Estimate(np.array([np.nan]), sample.n, reason=reason)
    known = values[np.isfinite(values)]
    values = np.where(np.isfinite(values), values, 0.0)
    return sample.mean_of_items(values, k, ends=(float(known.min(initial=0)), float(known.max(initial=0))))


def _self_information(catalog: Catalog) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        information: Floats = -np.log2(catalog.popularity / catalog.popularity.sum())
    return information


@metric(
    key="diversity@{k}",
    **_OF_ITEMS,
    needs=("categories",),
    direction="higher",
    bounds=(0, 1),
    conventions=_PER | {"similarity": "1 within a category, else 0"},
    reference="ziegler2005",
    chance=_same_category,
    interval=_mean,
)
def diversity_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """Share of pairs of a query's first k items that are of different categories, mean over queries."""
    queries = len(sample.top.lengths)
    first, pair = distinct([sample.query, sample.catalog.categories[sample.top.item]])

    def similarity(one: Floats, other: Floats) -> Floats:
        together = np.bincount(pair, one, len(first)) * np.bincount(pair, other, len(first))
        return np.bincount(sample.query[first], together, queries).astype(float)

    return sample.diversity(k, similarity, largest=1.0)


@metric(
    key="embedding_diversity@{k}",
    **_OF_ITEMS,
    needs=("embeddings",),
    direction="higher",
    bounds=(0, 2),
    conventions=_PER | {"similarity": "cosine of embeddings"},
    reference="ziegler2005",
    chance=_same_direction,
    interval=_mean,
)
def embedding_diversity_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """1 − the mean cosine of the embeddings of two of a query's first k items, mean over queries."""
    from scipy.sparse import csr_array

    ends = np.concatenate(([0], np.cumsum(sample.top.lengths)))
    shape = len(sample.top.lengths), sample.catalog.items

    def similarity(one: Floats, other: Floats) -> Floats:
        sums = [
            csr_array((weight, sample.top.item, ends), shape=shape) @ sample.catalog.directions
            for weight in (one, other)
        ]
        products: Floats = np.einsum("qd,qd->q", *sums)
        return products

    return sample.diversity(k, similarity, largest=2.0)
