"""What is recommended, apart from whether it is right: how much of the catalogue, how evenly, and how popular it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, require_shape
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.metric import Estimate, Exempt, Metric, MetricFunction, NoChance, NoInterval
from graphgauge.core.options import whole_number
from graphgauge.core.registry import metric, metrics
from graphgauge.core.result import Reference
from graphgauge.core.types import Floats, Ints
from graphgauge.ranking import errors
from graphgauge.ranking.counting import runs_of
from graphgauge.ranking.samples import Sample

_FIT = "The catalogue has one popularity per item, and items are numbered from 0."


@dataclass(frozen=True, eq=False)
class Catalog:
    """All items that could have been recommended, numbered from 0.

    `size` is their number, by default the length of `popularity`, which is, for example, how often each item occurs in
    training.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> catalog = ranking.Catalog(popularity=[4, 2, 1, 1])
    >>> queries = ranking.Queries.from_topk([[0, 1], [0, 2]], targets=[0, 2], catalog=catalog)
    >>> ev = ranking.evaluate(queries, k=2)
    >>> ev["coverage@2"].value, ev["popularity@2"].value
    (0.75, 2.75)
    """

    size: Any = None
    popularity: Any = None

    def __post_init__(self) -> None:
        size = self.size
        if self.popularity is not None:
            popularity = as_numeric(self.popularity, "popularity").astype(np.float64)
            require_shape(popularity, (size,), "popularity", _FIT)
            if not (np.isfinite(popularity) & (popularity >= 0)).all():
                raise InputError("popularity must be finite and at least 0", where="popularity")
            object.__setattr__(self, "popularity", popularity)
            size = len(popularity)
        if size is None:
            raise OptionError("a catalogue needs its size", fix="Pass size= or popularity=.")
        object.__setattr__(self, "size", whole_number("size", size, 1))

    @classmethod
    def of(cls, given: Any, items: int | None = None) -> Catalog | None:
        """A catalogue that is `given` as it is, or as a dictionary of its parts; of `items` items, if that is known."""
        if given is None:
            return None
        if isinstance(given, Mapping) and {*given} <= {"size", "popularity"}:
            given = cls(**given)
        if not isinstance(given, Catalog):
            raise InputError("expected a Catalog", where="catalog", fix="Pass ranking.Catalog(size=, popularity=).")
        if items is not None and given.size != items:
            raise InputError(f"a catalogue of {given.size} items for {items}", where="catalog", fix=_FIT)
        return given

    @property
    def samples(self) -> list[str]:
        """The names of the samples that metrics need: the lists alone, or with the popularity of items."""
        return ["recommended", *["popularity"] * (self.popularity is not None)]

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


def _of_items(key: str, needs: str, **properties: Any) -> Callable[[MetricFunction], Metric]:
    """Declare a metric of what is recommended."""
    common: dict[str, Any] = {"bounds": (0, 1), "unit": "query", "laws": _LAWS, "conventions": _RULES}
    return lambda function: metric(key, family="ranking", needs=(needs,), **common | properties)(function)


def _random_coverage(sample: Recommended, *, k: int) -> Iterable[Reference]:
    """Lists of lengths L, drawn from the whole catalogue, cover the share 1 − Π (1 − L / items) of it."""
    missed = np.prod(1 - sample.shown(k) / sample.catalog.size)
    return [Reference("random lists", float(1 - missed))]


@_of_items(
    "coverage@{k}",
    "recommended",
    direction="higher",
    chance=_random_coverage,
    interval=_WHOLE,
    reference="herlocker2004",
)
def coverage_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """Share of the catalogue that is among the first k of at least one query."""
    with np.errstate(divide="ignore"):
        missed = np.log1p(-sample.places(k))
    return sample.of_all_lists(float(-np.expm1(sample.by_item(missed)).mean()))


@_of_items(
    "gini@{k}",
    "recommended",
    direction="lower",
    conventions=_RULES | {"exposure": "the expected number of lists with an item, over the whole catalogue"},
    chance=NoChance("it depends on the number of lists"),
    interval=_WHOLE,
    reference="fleder2009",
)
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


@_of_items(
    "popularity@{k}",
    "popularity",
    direction="lower",
    bounds=(0, np.inf),
    chance=_mean_popularity,
    interval=errors.of_mean,
    reference="abdollahpouri2019",
)
def popularity_at_k(sample: Recommended, *, k: int = 10) -> Estimate:
    """Mean popularity of a query's first k items, mean over queries (average recommendation popularity)."""
    popularity = sample.catalog.popularity
    sums = np.bincount(sample.query, sample.places(k) * popularity[sample.item], sample.queries)
    ends = float(popularity.min()), float(popularity.max())
    return sample.estimate(sums / np.maximum(sample.shown(k), 1), ends=ends)
