"""The mergeable state of a ranking evaluation: counts of (groups, cluster, greater, equal, candidates)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, as_labels, as_numeric, is_cuda, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.forms import chosen_form, given_names
from graphgauge.core.options import NAN_POLICIES, nan_policy, thread_count
from graphgauge.core.state import CountedShards, Place, load_state, place_name, save_state
from graphgauge.kernels.counting import joint_histogram, single_row_counts
from graphgauge.kernels.device import device_histogram
from graphgauge.kernels.histogram import Histogram
from graphgauge.kernels.tally import tally
from graphgauge.ranking.family import FLAT, MATRIX
from graphgauge.ranking.inputs import (
    Counted,
    FlatLists,
    Scores,
    as_clusters,
    as_groups,
    as_integers,
    checked_offsets,
    counted,
    one_per_query,
    runs_by_query,
)
from graphgauge.ranking.items import Items
from graphgauge.ranking.labels import Labels, QueryIds
from graphgauge.ranking.samples import Lists, Pooled, Ranks
from graphgauge.ranking.shared_pool import Part, SharedPool, is_pool, pool_counts

if TYPE_CHECKING:
    from graphgauge.core.result import Evaluation


# Single queries are gathered as plain integers and turned into arrays this many at a time.
_GATHER = 1 << 14
# The source of cluster labels: the caller, or the queries of the flat form in order of arrival.
_GIVEN, _BY_QUERY = "given", "by query"


class RankingState:
    """Counts over any number of batches, shards and machines; metrics are computed from them at the end.

    Memory is that of a sparse histogram: with k negatives at most (k+1)(k+2)/2 cells per group. `cluster` labels and
    ragged candidates can bring it near one cell per query; above `max_memory` bytes it is an error. `pooled=True`
    also keeps all scores, for `roc_auc`, `average_precision` and `pooled_hits@k`; `keep="items"` keeps the counts of
    each query, for paired comparisons.
    """

    kind = "ranking"

    def __init__(
        self, *, pooled: bool = False, keep: str | None = None, max_memory: int = 1 << 30, shard: str | None = None
    ) -> None:
        if keep is not None:
            one_of("keep", keep, ("items",))
        self.pooled, self.keep, self.max_memory = pooled, keep, max_memory
        self._first_shard = shard
        self.reset()

    def reset(self) -> None:
        """Forget everything that was counted."""
        self.dropped_queries = self.dropped_candidates = self.emptied_queries = self.without_positives = 0
        self._axes: tuple[str, ...] | None = None
        self._clusters: str | None = None
        self._own_clusters = 0
        self._numbered = 0
        self._labels: dict[str, Labels] = {}
        self._cells: Histogram | None = None
        self._singles: list[tuple[int, int, int]] = []
        self._pool: list[tuple[AnyArray, AnyArray, Ints, Ints | None]] = []
        self._items: list[Items] = []
        self._lists: list[dict[str, Ints]] = []
        self._queries = QueryIds()
        self._shared: SharedPool | None = None
        self._ranked: RankingState | None = None
        self._shards = CountedShards()
        self._own_shard: str | None = None

    # ------------------------------------------------------------------ in

    def update(
        self,
        pos_scores: Any = None,
        neg_scores: Any = None,
        *,
        scores: Any = None,
        labels: Any = None,
        queries: Any = None,
        groups: Mapping[str, Any] | None = None,
        cluster: Any = None,
        offsets: Any = None,
        mask: Any = None,
        ids: Any = None,
        nan: str = "raise",
        threads: int | None = None,
    ) -> RankingState:
        """Count one batch: positives with their negatives or a pool of them, or flat scores with labels and queries.

        In the form with one pool, positives and negatives add up over all batches; either may be empty in one.
        """
        if (
            type(neg_scores) is np.ndarray
            and self._counts_only
            and groups is cluster is offsets is mask is ids is scores is labels is queries is None
            and nan in NAN_POLICIES
            and self._count_single(pos_scores, neg_scores)
        ):
            return self
        nan_policy(nan)
        threads = thread_count(threads)
        given = {"pos_scores": pos_scores, "neg_scores": neg_scores, "offsets": offsets, "mask": mask, "ids": ids,
                 "scores": scores, "labels": labels, "queries": queries}  # fmt: skip
        if chosen_form((MATRIX, FLAT), given_names(given)) is FLAT:
            self._refuse_mixing(shared=False)
            self._update_flat(FlatLists.of(scores, labels, queries, nan), groups, cluster)
        elif is_pool(neg_scores, offsets):
            self._refuse_mixing(shared=True)
            self._update_shared(
                Part.of(pos_scores, neg_scores, mask=mask, groups=groups, cluster=cluster, ids=ids, nan=nan)
            )
        else:
            self._refuse_mixing(shared=False)
            batch = Scores.of(pos_scores, neg_scores, offsets=offsets, mask=mask)
            self._update_scores(batch, groups, cluster, ids, nan, threads)
        return self

    def _refuse_mixing(self, *, shared: bool) -> None:
        """Ranks among a query's own negatives and among one pool have different meanings."""
        if shared is (self._shared is not None) or (self._shared is None and not self._anything):
            return
        raise InputError(
            "some batches have negatives of each query, others one pool for all positives",
            fix="Use one state for each form of input.",
        )

    @property
    def _anything(self) -> bool:
        return bool(self._singles or self._lists or self._own_shard) or self._cells is not None

    def _update_shared(self, part: Part) -> None:
        pool = self._shared or SharedPool()
        pool.require_alike(part)
        self._mark()
        pool.add(part)
        self._shared, self._ranked = pool, None
        self.dropped_queries += part.dropped_queries
        self.dropped_candidates += part.dropped_candidates

    @property
    def shares_pool(self) -> bool:
        """Whether all positives are ranked among one pool of negatives."""
        return self._shared is not None

    def _ranked_in_pool(self, pool: SharedPool) -> RankingState:
        """The counts of each positive among the whole pool; made once for all that was given."""
        if self._ranked is None:
            whole = pool.joined()
            # Without any negative left, a positive would rank first with any score.
            emptied = len(whole.pos) if self.dropped_candidates and not len(whole.neg) else 0
            rows = slice(0, 0) if emptied else slice(None)
            greater, equal = pool_counts(whole.pos[rows], whole.neg)
            candidates = np.full(len(greater), len(whole.neg) + 1)
            labels = {axis: values[rows] for axis, values in whole.groups.items()}
            cluster, ids = (None if values is None else values[rows] for values in (whole.cluster, whole.ids))
            self._ranked = RankingState(keep=self.keep, max_memory=self.max_memory)
            self._ranked.update_counts(greater, equal, candidates, groups=labels or None, cluster=cluster, ids=ids)
            self.emptied_queries = emptied
        return self._ranked

    @property
    def _counts_only(self) -> bool:
        return not (self.pooled or self.keep or self._clusters or self._axes or self._shared)

    def _count_single(self, pos: Any, neg: AnyArray) -> bool:
        """The fast path for one query; False if the batch needs the general path."""
        if neg.ndim != 2 or len(neg) != 1 or neg.dtype.char not in "fd":
            return False
        if type(pos) is not np.ndarray or pos.shape != (1,) or neg.dtype != pos.dtype:
            return False
        score = pos[0]
        if score != score:
            return False
        greater, equal, missing = single_row_counts(score, neg[0])
        if missing:
            return False
        self._singles.append((greater, equal, neg.shape[1] + 1))
        if len(self._singles) >= _GATHER:
            self._gather()
        return True

    def _gather(self) -> None:
        if self._singles:
            rows = np.array(self._singles, dtype=np.int64).T
            self._singles = []
            self._add(Counted(rows[0], rows[1], rows[2], None), {}, None)

    def _update_scores(
        self, batch: Scores, groups: Mapping[str, Any] | None, cluster: Any, ids: Any, nan: str, threads: int | None
    ) -> None:
        if self.pooled and batch.repeats_one_row:
            raise InputError(
                f"is one row repeated {len(batch)} times: a pooled metric would count every negative that often",
                where="neg_scores",
                fix="Pass one pool for all positives as it is: neg_scores (m,).",
            )
        self._mark()
        matrix = batch.offsets is None and batch.mask is None
        if matrix and self._counts_only and groups is cluster is None:
            if is_cuda(batch.neg):
                cells = device_histogram(batch.pos, batch.neg)
            else:
                cells = joint_histogram(batch.pos, batch.neg, threads=threads)
            if cells is not None:
                candidates = np.full(len(cells.rows), batch.neg.shape[1] + 1, np.int64)
                self._layout((), None).add([cells.greater, cells.equal, candidates], cells.rows, folded=True)
                return
        counts = counted(batch, nan, threads)
        cluster = self._add_batch(counts, len(batch), groups, cluster, ids)
        if self.pooled:
            rows = np.ones(len(batch), bool) if counts.rows is None else counts.rows
            neg, lengths = batch.flat_negatives(rows)
            self._pool.append((as_numeric(batch.pos, "pos_scores")[rows], neg.copy(), lengths, cluster))

    def update_counts(
        self,
        greater: Ints,
        equal: Ints,
        candidates: Ints,
        *,
        groups: Mapping[str, Any] | None = None,
        cluster: Any = None,
        ids: Any = None,
    ) -> RankingState:
        """Add queries that were counted elsewhere: negatives above, negatives tied, candidates with the positive."""
        if self.pooled:
            raise OptionError("pooled metrics need scores, not counts")
        counts = Counted(
            as_integers(greater, "greater"), as_integers(equal, "equal"), as_integers(candidates, "candidates")
        )
        require_shape(counts.greater, (None,), "greater", "One count per query.")
        for name, column in (("equal", counts.equal), ("candidates", counts.candidates)):
            require_shape(column, counts.greater.shape, name, "One count per query.")
        if min(counts.greater.min(initial=0), counts.equal.min(initial=0)) < 0:
            raise InputError("counts below 0")
        if (counts.greater + counts.equal >= counts.candidates).any():
            raise InputError("more negatives above and tied with the positive than candidates")
        self._add_batch(counts, len(counts.greater), groups, cluster, ids)
        return self

    def _add_batch(
        self, counts: Counted, length: int, groups: Mapping[str, Any] | None, cluster: Any, ids: Any
    ) -> Ints | None:
        """Count queries under their labels; returns the clusters of those that were kept."""
        labels = as_groups(groups)
        cluster = None if cluster is None else as_clusters(cluster)
        numbers = self._item_ids(ids, length)
        for name, values in [*labels.items(), ("cluster", cluster), ("ids", numbers)]:
            if values is not None:
                require_shape(values, (length,), name, "One per query.")
        keep = slice(None) if counts.rows is None else counts.rows
        labels = {name: values[keep] for name, values in labels.items()}
        clusters: Ints | None = None if cluster is None else cluster[keep]
        self._add(counts, labels, clusters)
        if numbers is not None:
            self._items.append(Items(numbers[keep], counts.greater, counts.equal, counts.candidates, clusters))
            self._numbered += length if ids is None else 0
        return clusters

    def _item_ids(self, ids: Any, length: int) -> AnyArray | None:
        if self.keep is None:
            return None
        if ids is not None:
            return as_labels(ids, "ids")
        return np.arange(self._numbered, self._numbered + length)

    def _update_flat(self, lists: FlatLists, groups: Mapping[str, Any] | None, cluster: Any) -> None:
        if self.pooled or self.keep:
            raise OptionError("pooled metrics and kept items need pos_scores and neg_scores, not the flat form")
        self._queries.require_new(lists.names)
        self._mark()
        labels = {name: one_per_query(values, lists, name) for name, values in as_groups(groups).items()}
        clusters = None if cluster is None else one_per_query(as_clusters(cluster), lists, "cluster")
        owner = lists.positive_query
        dropped = lists.dropped_queries, lists.dropped_candidates, lists.emptied_queries
        counts = Counted(lists.greater, lists.equal, lists.negatives + 1, None, *dropped)
        # Positives of one query share its negatives and are not independent: the query is their cluster.
        shared, kind = clusters, _GIVEN
        if shared is None:
            shared, kind = np.arange(self._own_clusters, self._own_clusters + len(lists.relevant)), _BY_QUERY
        self._add(counts, {name: values[owner] for name, values in labels.items()}, shared[owner], kind)
        self._queries.add(lists.names)
        self._own_clusters += len(lists.relevant) if kind == _BY_QUERY else 0
        self.without_positives += lists.without_positives
        has = lists.relevant > 0
        codes = {f"group:{axis}": self._labels[axis].encode(values)[has] for axis, values in labels.items()}
        self._lists.append(
            {
                **codes,
                "cluster": clusters[has] if clusters is not None else np.empty(0, np.int64),
                "relevant": lists.relevant[has],
                "candidates": lists.candidates[has],
                "runs": np.bincount(lists.run_query, minlength=len(has))[has],
                # Runs come in descending order of their query; the stored ones follow the queries.
                **runs_by_query(lists),
            }
        )

    def name_parts(self, names: Sequence[str]) -> None:
        """Name the counted parts, instead of a random name: a state with one of these names will not merge."""
        self._shards.rename(self._own_shard, names)

    def _mark(self) -> None:
        if self._own_shard is None:
            self._own_shard = self._first_shard or self._shards.own()
            self._shards.add(self._own_shard)

    def _layout(self, axes: tuple[str, ...], clusters: str | None) -> Histogram:
        self._gather()
        if self._cells is None:
            self._axes, self._clusters = axes, clusters
            self._labels = {axis: Labels(axis) for axis in axes}
            self._cells = Histogram(len(axes) + (clusters is not None) + 3, self.max_memory)
        elif (axes, clusters) != (self._axes, self._clusters):
            raise InputError(
                f"this batch has groups {list(axes)} and clusters {clusters or 'none'}, "
                f"earlier ones {list(self._axes or ())} and {self._clusters or 'none'}",
                fix="Give every batch the same groups and cluster.",
            )
        return self._cells

    def _add(
        self, counts: Counted, labels: Mapping[str, AnyArray], cluster: Ints | None, clusters: str = _GIVEN
    ) -> None:
        self._mark()
        cells = self._layout(tuple(labels), None if cluster is None else clusters)
        for axis, values in labels.items():  # check all of them before any is changed
            self._labels[axis].require_kind(values)
        columns = [self._labels[axis].encode(values) for axis, values in labels.items()]
        columns += [] if cluster is None else [cluster]
        cells.add([*columns, counts.greater, counts.equal, counts.candidates])
        self.dropped_queries += counts.dropped_queries
        self.dropped_candidates += counts.dropped_candidates
        self.emptied_queries += counts.emptied_queries

    # --------------------------------------------------------------- merge

    def merge(self, other: RankingState) -> RankingState:
        """Add another state's counts to this one."""
        if not isinstance(other, RankingState):
            raise TypeError(f"cannot merge {type(other).__name__} into a RankingState")
        if (self.pooled, self.keep) != (other.pooled, other.keep):
            raise InputError("one state keeps pooled scores or items, the other does not", fix="Use the same options.")
        other._gather()
        if other._anything:
            self._refuse_mixing(shared=other.shares_pool)
        if other._shared is not None:
            return self._merge_shared(other, other._shared)
        if other._cells is not None:
            self._layout(other.axes, other._clusters)
            for axis, names in other._labels.items():
                self._labels[axis].require_kind(np.array(list(names)))
        queries = other._queries.all()
        # Nothing is counted before this check, and nothing can fail after it.
        self._shards.require_apart(other._shards)
        self._queries.require_new(queries)
        self._shards.absorb(other._shards)
        self._queries.add(queries)
        if other._cells is not None:
            columns, counts = other._cells.cells()
            recoded = [
                self._labels[axis].recode(column, names)
                for (axis, names), column in zip(other._labels.items(), columns, strict=False)
            ]
            columns = [*recoded, *columns[len(recoded) :]]
            if self._clusters == _BY_QUERY:
                columns[-4] = columns[-4] + self._own_clusters
            self._own_clusters += other._own_clusters
            self._layout(other.axes, other._clusters).add(columns, counts)
        for part in other._lists:
            codes = {
                f"group:{axis}": self._labels[axis].recode(part[f"group:{axis}"], names)
                for axis, names in other._labels.items()
            }
            self._lists.append(part | codes)
        self._pool += other._pool
        self._items += other._items
        self._numbered += other._numbered
        self.dropped_queries += other.dropped_queries
        self.dropped_candidates += other.dropped_candidates
        self.emptied_queries += other.emptied_queries
        self.without_positives += other.without_positives
        return self

    def _merge_shared(self, other: RankingState, others: SharedPool) -> RankingState:
        pool = self._shared or SharedPool()
        for part in others:
            pool.require_alike(part)
        self._shards.require_apart(other._shards)
        self._shards.absorb(other._shards)
        for part in others:
            pool.add(part)
            self.dropped_queries += part.dropped_queries
            self.dropped_candidates += part.dropped_candidates
        self._shared, self._ranked = pool, None
        return self

    # ----------------------------------------------------------------- out

    @property
    def n(self) -> int:
        """Queries counted so far."""
        if self._shared is not None:
            return self._ranked_in_pool(self._shared).n
        self._gather()
        return 0 if self._cells is None else int(self._cells.cells()[1].sum())

    @property
    def axes(self) -> tuple[str, ...]:
        return self._ranked_in_pool(self._shared).axes if self._shared is not None else self._axes or ()

    def labels(self, axis: str) -> AnyArray:
        """The distinct labels of a group axis, sorted."""
        if self._shared is not None:
            return self._ranked_in_pool(self._shared).labels(axis)
        return np.array(sorted(self._labels[axis]))

    def ranks(self, ties: str, axis: str | None = None) -> Ranks:
        """The counts, overall or by the labels of one axis; cells are sorted, so equal counts give equal bits."""
        if self._shared is not None:
            return replace(self._ranked_in_pool(self._shared).ranks(ties, axis), shared=True)
        self._gather()
        columns, counts = [np.empty(0, np.int64)] * 3, np.empty(0, np.int64)
        if self._cells is not None:
            columns, counts = self._cells.cells()
        group = None if axis is None else self._labels[axis].in_order(columns[self.axes.index(axis)])
        columns = columns[len(self.axes) :]
        if self.axes:
            columns, counts = tally(columns if group is None else [group, *columns], counts)
            group = None if axis is None else columns[0]
        return Ranks(
            count=counts,
            group=group,
            groups=1 if axis is None else len(self._labels[axis]),
            cluster=columns[-4] if self._clusters else None,
            over=self._over,
            greater=columns[-3],
            equal=columns[-2],
            candidates=columns[-1],
            ties=ties,
        )

    @property
    def _over(self) -> str:
        """The units of the intervals; a query with several positives is a cluster."""
        return "clusters" if self._clusters == _GIVEN else "queries"

    def lists(self, ties: str, axis: str | None = None) -> Lists | None:
        """The whole candidate lists, if the flat form was given."""
        if not self._lists:
            return None
        joined = {name: np.concatenate([part[name] for part in self._lists]) for name in self._lists[0]}
        relevant = joined["relevant"]
        return Lists(
            count=np.ones(len(relevant), np.int64),
            group=None if axis is None else self._labels[axis].in_order(joined[f"group:{axis}"]),
            groups=1 if axis is None else len(self._labels[axis]),
            cluster=joined["cluster"] if len(joined["cluster"]) else None,
            over=self._over,
            query=np.repeat(np.arange(len(relevant)), joined["runs"]),
            start=joined["start"],
            length=joined["length"],
            positives=joined["positives"],
            relevant=relevant,
            candidates=joined["candidates"],
            ties=ties,
        )

    def pool(self) -> Pooled | None:
        """All scores together, if they were kept."""
        if self._shared is not None:
            return self._pool_sample(self._shared)
        if not self.pooled:
            return None
        parts = self._pool or [(np.empty(0), np.empty(0), np.empty(0, np.int64), None)]
        pos, neg, lengths = (np.concatenate([part[column] for part in parts]) for column in range(3))
        clusters = [part[3] for part in parts if part[3] is not None]
        return Pooled(
            count=np.ones(len(pos), np.int64),
            group=None,
            groups=1,
            cluster=np.concatenate(clusters) if clusters else None,
            over=self._over,
            pos=pos,
            neg=neg,
            offsets=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        )

    def _pool_sample(self, pool: SharedPool) -> Pooled:
        whole = pool.joined()
        rows = slice(None) if len(whole.neg) or not self.dropped_candidates else slice(0, 0)
        cluster = None if whole.cluster is None else whole.cluster[rows]
        return Pooled(
            count=np.ones(len(whole.pos[rows]), np.int64),
            group=None,
            groups=1,
            cluster=cluster,
            over="positives" if cluster is None else "clusters",
            pos=whole.pos[rows],
            neg=whole.neg,
            offsets=np.empty(0, np.int64),
        )

    def items(self) -> Items | None:
        """The counts of each query, if they were kept."""
        if self._shared is not None:
            return self._ranked_in_pool(self._shared).items()
        return Items.join(self._items) if self.keep else None

    def evaluate(self, **options: Any) -> Evaluation:
        """The metrics of everything counted so far; options as in `graphgauge.ranking.evaluate`."""
        from graphgauge.ranking.evaluate import evaluate_state

        return evaluate_state(self, **options)

    compute = evaluate

    # ---------------------------------------------------------------- file

    def save(self, place: Place) -> None:
        """Write the state as `.npz`: to a file, atomically, or to a stream."""
        self._gather()
        columns, counts = self._cells.cells() if self._cells is not None else ([], np.empty(0, np.int64))
        arrays: dict[str, AnyArray] = {"cells": np.array([*columns, counts], dtype=np.int64)}
        pooled, items = (None, None) if self._shared is not None else (self.pool(), self.items())
        if self._shared is not None:
            arrays |= self._shared.arrays()
        if pooled is not None:
            arrays |= {"pos": pooled.pos, "neg": pooled.neg, "offsets": pooled.offsets}
            if pooled.cluster is not None:
                arrays["pool_cluster"] = pooled.cluster
        if items is not None:
            arrays |= {f"item_{name}": values for name, values in items.columns().items()}
        for name in self._lists[0] if self._lists else ():
            arrays[f"list_{name}"] = np.concatenate([part[name] for part in self._lists])
        if self._lists:
            arrays["queries"] = self._queries.all()
        facts = {
            "axes": None if self._cells is None else list(self._axes or ()),
            "labels": {axis: list(known) for axis, known in self._labels.items()},
            "clusters": self._clusters,
            "pooled": self.pooled,
            "shares_pool": self.shares_pool,
            "keep": self.keep,
            "max_memory": self.max_memory,
            "own_clusters": self._own_clusters,
            "numbered": self._numbered,
            "dropped": [self.dropped_queries, self.dropped_candidates, self.emptied_queries, self.without_positives],
            "shards": sorted(self._shards.names),
        }
        save_state(place, self.kind, facts, arrays)

    @classmethod
    def load(cls, place: Place) -> RankingState:
        """Read a saved state back."""
        _, facts, arrays = load_state(place, cls.kind)
        try:
            return cls._restored(facts, arrays)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            raise InputError("the saved state is damaged", where=place_name(place)) from None

    @classmethod
    def _restored(cls, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> RankingState:
        state = cls(pooled=facts["pooled"], keep=facts["keep"], max_memory=facts["max_memory"])
        state.dropped_queries, state.dropped_candidates, state.emptied_queries, state.without_positives = facts[
            "dropped"
        ]
        state._shards = CountedShards(facts["shards"])
        state._own_clusters, state._numbered = facts["own_clusters"], facts["numbered"]
        if facts.get("shares_pool"):
            state._shared = SharedPool.restored(arrays, (state.dropped_queries, state.dropped_candidates))
            return state
        if facts["axes"] is not None:
            cells = state._layout(tuple(facts["axes"]), facts["clusters"])
            state._labels = {axis: Labels(axis, facts["labels"][axis]) for axis in state.axes}
            cells.add(*_sound_cells(arrays["cells"], list(state._labels.values()), facts["clusters"]))
        if state.pooled:
            lengths = np.diff(checked_offsets(arrays["offsets"], len(arrays["pos"]), len(arrays["neg"])))
            state._pool = [(arrays["pos"], arrays["neg"], lengths, arrays.get("pool_cluster"))]
        if state.keep:
            state._items = [Items.from_columns({name[5:]: a for name, a in arrays.items() if name.startswith("item_")})]
        lists = {name[5:]: values for name, values in arrays.items() if name.startswith("list_")}
        if lists and (len(lists["relevant"]) != len(lists["runs"]) or len(lists["start"]) != lists["runs"].sum()):
            raise ValueError("lists of different lengths")
        state._lists = [lists] if lists else []
        if lists:
            state._queries.add(_sound_ids(arrays["queries"]))
        return state


def _sound_ids(saved: AnyArray) -> AnyArray:
    if saved.ndim != 1 or saved.dtype.kind not in "iU" or (saved[1:] <= saved[:-1]).any():
        raise ValueError("ids out of order")
    return saved


def _sound_cells(saved: AnyArray, labels: Sequence[Labels], clusters: str | None) -> tuple[list[Ints], Ints]:
    """The columns and counts of a saved histogram, if they are possible counts."""
    if saved.dtype != np.int64 or len(saved) != len(labels) + (clusters is not None) + 4:
        raise ValueError("wrong columns")
    *columns, counts = saved
    greater, equal, candidates = columns[-3:]
    possible = (greater >= 0) & (equal >= 0) & (greater + equal < candidates) & (counts > 0)
    for column, names in zip(columns, labels, strict=False):
        possible &= (column >= 0) & (column < len(names))
    if not possible.all():
        raise ValueError("impossible counts")
    return columns, counts
