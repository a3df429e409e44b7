"""Per-query counts, kept to compare two rankers query by query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.old.core.metric import find, metrics
from graphgauge.old.core.shown import ItemTable
from graphgauge.old.core.state import load_state, save_state
from graphgauge.old.ranking.inputs import cutoff
from graphgauge.old.ranking.lists import QueryLists
from graphgauge.old.ranking.samples import Floats, Lists, Ranks
from graphgauge.old.ranking.ties import TIES

if TYPE_CHECKING:
    from graphgauge.old.stats.permutation import PairedItems

_KIND = "ranking-items"
# How `negatives` describes one pool that all positives share.
POOL = "one pool for all positives, which therefore err together"


@dataclass(frozen=True, repr=False)
class Items(ItemTable):
    """One row per query: its id, the negatives above and tied with its positive, and the candidates.

    `ties` is the tie rule of the evaluation that kept them, if there was one, and `negatives` says how the negatives
    were drawn, if that is known.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], keep="items")
    >>> ev.per_item.values("mrr").tolist()
    [1.0, 0.5]
    >>> ev.per_item.save("items.npz")
    >>> len(ranking.Items.load("items.npz"))
    2
    """

    ids: AnyArray
    greater: Ints
    equal: Ints
    candidates: Ints
    cluster: Ints | None = None
    ties: str | None = None
    negatives: str | None = None
    weight: Floats | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def shown(self) -> dict[str, AnyArray]:
        counts = {"greater": self.greater, "equal": self.equal, "candidates": self.candidates}
        return {"mrr": self.values_of("mrr"), **counts}

    def values_of(self, metric: str) -> Floats:
        """The value of each query under the tie rule of the evaluation.

        Parameters
        ----------
        metric
            The key of a metric that is a mean over queries.

        Returns
        -------
        array
            One number per query.
        """
        return self.values(metric, ties=self.ties or TIES[0])

    def values(self, metric: str = "mrr", *, ties: str = "realistic") -> Floats:
        """The value of each query, for a metric that is a mean over queries.

        Parameters
        ----------
        metric
            The key of a metric that is a mean over queries: `mrr`, `hits@k`, `ndcg@k` or `mean_rank`.
        ties
            The tie rule.

        Returns
        -------
        Floats
            One value per query.

        Raises
        ------
        OptionError
            If the metric is no mean over queries.
        """
        entry, params = find(metric, "ranking")
        if entry.name == "pooled_hits" and self.negatives == POOL:
            # Strictly above the k-th best of the pool: among the first k, and ties lose.
            entry, ties = find("hits", "ranking")[0], "pessimistic"
        if entry.name not in ("mrr", "hits", "mean_rank", "ndcg"):
            raise OptionError(f"{metric} is not a mean over queries", fix="Compare mrr, hits@k, ndcg@k or mean_rank.")
        if "k" in params:
            cutoff(params["k"])
        ranks = Ranks.of(self.greater, self.equal, self.candidates, ties=one_of("tie rule", ties, TIES))
        # Each query is a group: its value is exact, and equal queries have a difference of 0.
        alone = replace(ranks, group=np.arange(len(self)), groups=len(self))
        return entry(alone, **params).value

    def columns(self) -> dict[str, AnyArray]:
        """The columns of a stored file, by name.

        Returns
        -------
        dict[str, AnyArray]
            One array per column, with a row per query.
        """
        columns = {"ids": self.ids, "greater": self.greater, "equal": self.equal, "candidates": self.candidates}
        return columns | _given(cluster=self.cluster, weight=self.weight)

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> Items:
        """The items whose `columns` these are.

        Parameters
        ----------
        columns
            Arrays by name.

        Returns
        -------
        Items
            The items.

        Raises
        ------
        ValueError
            If columns have different lengths.
        """
        if len({values.shape for values in columns.values()}) != 1 or columns["ids"].ndim != 1:
            raise ValueError("columns of different lengths")
        return cls(**columns)

    @classmethod
    def join(cls, parts: Sequence[Items]) -> Items:
        """The items of several parts, one after the other.

        Parameters
        ----------
        parts
            Items with the same columns.

        Returns
        -------
        Items
            All items.
        """
        parts = [part for part in parts if len(part)]
        if not parts:
            nothing = np.empty(0, np.int64)
            return cls(nothing, nothing, nothing, nothing)
        columns: dict[str, Any] = {
            name: np.concatenate([part.columns()[name] for part in parts]) for name in parts[0].columns()
        }
        return cls(**columns)

    def save(self, path: str | Path) -> None:
        """Write the items to a file.

        Parameters
        ----------
        path
            The file; `load` reads it.
        """
        save_state(path, _KIND, {}, self.columns())

    @classmethod
    def load(cls, path: str | Path) -> Items | ListItems:
        """Read stored items back: one positive per query, or whole lists.

        Parameters
        ----------
        path
            A file that `save` or `--keep items` has written.

        Returns
        -------
        Items | ListItems
            The items.

        Raises
        ------
        InputError
            If the file contains something else, or is damaged.
        """
        _, _, columns = load_state(path, _KIND)
        kind = ListItems if "relevant" in columns else cls
        try:
            return kind.from_columns(columns)
        except (KeyError, TypeError, ValueError):
            raise InputError("not per-query ranking items", where=str(path)) from None


@dataclass(frozen=True, repr=False)
class ListItems(ItemTable):
    """Queries with any number of positives: their ids and the counts of their candidate lists, in the same order.

    `ties` is the tie rule of the evaluation that kept them, if there was one. Of lists cut at `depth` only what their
    first items decide is known.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> scores, labels, queries = [3, 2, 1, 3, 2, 1], [1, 0, 1, 0, 1, 0], [0, 0, 0, 1, 1, 1]
    >>> ev = ranking.evaluate(scores=scores, labels=labels, queries=queries, keep="items")
    >>> ev.per_item.values("recall@1").tolist()
    [0.5, 0.0]
    """

    ids: AnyArray
    lists: QueryLists
    cluster: Ints | None = None
    ties: str | None = None
    negatives: str | None = None
    depth: int | None = None
    weight: Floats | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def shown(self) -> dict[str, AnyArray]:
        return {"mrr_first": self.values_of("mrr_first")} if self.depth is None else {}

    def values_of(self, metric: str) -> Floats:
        """The value of each query under the tie rule of the evaluation.

        Parameters
        ----------
        metric
            The key of a metric that is a mean over queries.

        Returns
        -------
        array
            One number per query.
        """
        return self.values(metric, ties=self.ties or TIES[0])

    def values(self, metric: str = "mrr_first", *, ties: str = "realistic") -> Floats:
        """The value of each query, for a metric that is a mean over queries.

        Parameters
        ----------
        metric
            The key of a metric that is a mean over queries with several positives, such as `recall@10`.
        ties
            The tie rule.

        Returns
        -------
        Floats
            One value per query.

        Raises
        ------
        OptionError
            If the metric is no such mean, or needs longer lists than are known.
        """
        entry, params = find(metric, "ranking")
        if "lists" not in entry.needs:
            means = [known.key_of(**known.params) for known in metrics("ranking") if "lists" in known.needs]
            raise OptionError(
                f"{metric} is not a mean over queries with several positives", fix=f"Compare {', '.join(means)}."
            )
        if self.depth is not None and not params.get("k", np.inf) <= self.depth:
            raise OptionError(
                f"{metric} is not known from lists of the first {self.depth} items",
                fix="Compare a metric at a smaller k.",
            )
        if "k" in params:
            cutoff(params["k"])
        rule = one_of("tie rule", ties, TIES)
        each = np.arange(len(self))
        alone = Lists(np.ones(len(self), np.int64), each, len(self), None, "queries", self.lists, rule)
        return entry(alone, **params).value

    def columns(self) -> dict[str, AnyArray]:
        """The columns of a stored file, by name.

        Returns
        -------
        dict[str, AnyArray]
            Arrays by name.
        """
        columns = {"ids": self.ids, **self.lists.columns()}
        columns |= {} if self.depth is None else {"depth": np.array(self.depth)}
        return columns | _given(cluster=self.cluster, weight=self.weight)

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> ListItems:
        """The items whose `columns` these are.

        Parameters
        ----------
        columns
            Arrays by name.

        Returns
        -------
        ListItems
            The items.

        Raises
        ------
        ValueError
            If columns have different lengths.
        """
        own = {name: columns.get(name) for name in ("ids", "cluster", "weight")}
        lists = QueryLists(**{name: values for name, values in columns.items() if name not in (*own, "depth")})
        lists.check()
        if {len(values) for values in own.values() if values is not None} != {len(lists)}:
            raise ValueError("columns of different lengths")
        depth = int(columns["depth"]) if "depth" in columns else None
        return cls(columns["ids"], lists, own["cluster"], depth=depth, weight=own["weight"])

    save = Items.save


def _given(**columns: AnyArray | None) -> dict[str, AnyArray]:
    return {name: values for name, values in columns.items() if values is not None}


def compare(
    items_a: Items | ListItems,
    items_b: Items | ListItems,
    metric: str | None = None,
    *,
    ties: str | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> PairedItems:
    """Do two rankers differ on the same queries? Paired by id, tested by flipping the signs of differences.

    The estimate is the mean of a − b. If the items have clusters, whole clusters are flipped together. By default
    `metric` is `mrr`, or `mrr_first` for queries with several positives, and `ties` the rule of the two evaluations.

    Parameters
    ----------
    items_a, items_b
        `Evaluation.per_item` of two evaluations with `keep="items"`.
    metric
        A metric that is a mean over queries.
    ties
        The tie rule of the compared values.
    confidence
        Level of the interval.
    resamples
        Random sign flips if there are too many queries to take all.
    seed
        Seed of the sign flips.

    Returns
    -------
    PairedItems
        The mean difference with its interval and two-sided p.

    Raises
    ------
    InputError
        If the two have no queries in common, or ids that do not match.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import ranking
    >>> rng = np.random.default_rng(0)
    >>> pos, neg = rng.normal(1, 1, 50), rng.normal(0, 1, (50, 9))
    >>> strong, weak = (ranking.evaluate(pos + shift, neg, keep="items") for shift in (1, 0))
    >>> test = ranking.compare(strong.per_item, weak.per_item)
    >>> round(test.mean_difference, 3), test.p_value < 0.05
    (0.315, True)
    """
    from graphgauge.old.stats.permutation import paired_items

    for name, items in (("items_a", items_a), ("items_b", items_b)):
        if not isinstance(items, Items | ListItems):
            raise InputError(
                f"expected the items of a ranker, found {type(items).__name__}",
                where=name,
                fix='Pass evaluate(..., keep="items").per_item.',
            )
    if type(items_a) is not type(items_b):
        raise InputError(
            "one ranker has one positive per query, the other whole lists", fix="Evaluate both in the same form."
        )
    if items_a.weight is not None or items_b.weight is not None:
        raise InputError(
            "queries are weighted, and a paired comparison counts every query alike",
            fix="Evaluate both rankers without weights.",
        )
    metric = metric or ("mrr" if isinstance(items_a, Items) else "mrr_first")
    ties = ties or _common_rule(items_a, items_b)
    if items_a.negatives != items_b.negatives:
        raise InputError(
            f"the rankers were given different negatives: {items_a.negatives or 'not stated'}, and "
            f"{items_b.negatives or 'not stated'}",
            fix="Score the same negatives with both, and pass them as negatives= to both evaluations.",
        )
    order_a, order_b = _matched(items_a.ids, items_b.ids)
    if isinstance(items_a, ListItems) and isinstance(items_b, ListItems):
        _require_same_answers(items_a, items_b, order_a, order_b)
    differences = items_a.values(metric, ties=ties)[order_a] - items_b.values(metric, ties=ties)[order_b]
    cluster, other = (
        items.cluster if items.cluster is None else items.cluster[order]
        for items, order in ((items_a, order_a), (items_b, order_b))
    )
    if (cluster is None) != (other is None) or (cluster is not None and (cluster != other).any()):
        raise InputError("the two rankers' queries are clustered differently", fix="Give both the same cluster=.")
    return paired_items(differences, cluster=cluster, seed=seed, resamples=resamples, confidence=confidence)


def _require_same_answers(items_a: ListItems, items_b: ListItems, order_a: Ints, order_b: Ints) -> None:
    relevant, other = items_a.lists.relevant[order_a], items_b.lists.relevant[order_b]
    if (relevant != other).any():
        first = int(np.argmax(relevant != other))
        raise InputError(
            f"query {items_a.ids[order_a[first]]} has {relevant[first]} right answers for one ranker and "
            f"{other[first]} for the other",
            fix="Evaluate both rankers with the same labels.",
        )


def _common_rule(items_a: Items | ListItems, items_b: Items | ListItems) -> str:
    """The tie rule that both were evaluated under; `realistic`, the default, if neither says."""
    rules = {items.ties for items in (items_a, items_b) if items.ties is not None}
    if len(rules) > 1:
        raise OptionError(f"the tie rules differ: {' and '.join(sorted(rules))}", fix="Pass ties= to use one for both.")
    return rules.pop() if rules else "realistic"


def _matched(first: AnyArray, second: AnyArray) -> tuple[Ints, Ints]:
    order_a, order_b = np.argsort(first, kind="stable"), np.argsort(second, kind="stable")
    for name, ids, order in (("items_a", first, order_a), ("items_b", second, order_b)):
        if (ids[order][1:] == ids[order][:-1]).any():
            raise InputError("an id occurs twice", where=name, fix="Give each query a different id.")
    only_a, only_b = np.setdiff1d(first, second), np.setdiff1d(second, first)
    if len(only_a) or len(only_b):
        raise InputError(
            f"{len(only_a)} queries only in items_a (such as {only_a[:3].tolist()}), "
            f"{len(only_b)} only in items_b (such as {only_b[:3].tolist()})",
            fix="Compare rankers on the same queries.",
        )
    return order_a, order_b
