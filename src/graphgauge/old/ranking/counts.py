"""What a ranking state has counted: cells of (groups, cluster, greater, equal, candidates), lists, items and a pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Floats, Ints, as_labels, is_cuda, require_shape, sorted_unique
from graphgauge.core.errors import InputError
from graphgauge.kernels.counting import Cells, joint_histogram, single_row_counts
from graphgauge.kernels.histogram import Histogram
from graphgauge.old.core.state import CountedShards
from graphgauge.old.ranking.inputs import Counted, Scores, as_clusters, as_groups, as_weights, counted, named_groups
from graphgauge.old.ranking.items import Items
from graphgauge.old.ranking.labels import Labels, QueryIds
from graphgauge.old.ranking.lists import FlatBatch, QueryLists
from graphgauge.old.ranking.parts import CutLists, Layout, ListPart
from graphgauge.old.ranking.shared_pool import SharedPool

# Single queries are gathered as plain integers and turned into arrays this many at a time.
_GATHER = 1 << 14
# The source of cluster labels: the caller, or the queries of the flat form in order of arrival.
GIVEN, BY_QUERY = "given", "by query"


class RankingCounts:
    """The columns and accumulators of a `RankingState`, and how a batch is added to them.

    The state chooses the form of a batch and empties the accumulators.
    """

    pooled: bool
    keep: str | None
    dropped_queries: int
    dropped_candidates: int
    emptied_queries: int
    without_positives: int
    lowest_candidates: int
    _first_shard: str | None
    _own_shard: str | None
    _shards: CountedShards
    _layout: Layout
    _cut: CutLists | None
    _own_clusters: int
    _numbered: int
    _labels: dict[str, Labels]
    _cells: Histogram | None
    _singles: list[tuple[int, int, int]]
    _pool: list[tuple[AnyArray, AnyArray, Ints, Ints | None]]
    _items: list[Items]
    _lists: list[ListPart]
    # Lists that are not among the cells yet, with the clusters of their queries: many metrics need no ranks.
    _uncounted: list[tuple[ListPart, Ints]]
    _queries: QueryIds
    _ids: QueryIds
    _shared: SharedPool | None

    @property
    def _anything(self) -> bool:
        return bool(self._singles or self._lists) or self._cells is not None or self._shared is not None

    @property
    def _counts_only(self) -> bool:
        return not (self.pooled or self.keep) and self._layout == Layout() and self._shared is None

    @property
    def _over(self) -> str:
        """The units of the intervals; a query with several positives is a cluster."""
        return "clusters" if self._layout.clusters == GIVEN else "queries"

    def _mark(self) -> None:
        if self._own_shard is None:
            self._own_shard = self._first_shard or self._shards.own()
            self._shards.add(self._own_shard)

    def _histogram(self, layout: Layout) -> Histogram:
        """The counts, for cells of this layout."""
        self._gather()
        if self._cells is None:
            self._layout = layout
            self._labels = {axis: Labels(axis) for axis in layout.axes}
            self._cells = Histogram(len(layout.columns))
        elif layout != self._layout:
            raise InputError(
                f"this batch has {layout}; earlier ones have {self._layout}",
                fix="Give every batch in the same form, with the same groups, cluster and weights.",
            )
        return self._cells

    def _encoded(self, labels: Mapping[str, AnyArray]) -> dict[str, Ints]:
        """The codes of labels; all of them are checked before any is changed."""
        for axis, values in labels.items():
            self._labels[axis].require_kind(values)
        return {axis: self._labels[axis].encode(values) for axis, values in labels.items()}

    def _add(
        self,
        counts: Counted,
        labels: Mapping[str, AnyArray],
        cluster: Ints | None,
        clusters: str = GIVEN,
        weight: Floats | None = None,
    ) -> None:
        self._mark()
        cells = self._histogram(Layout(tuple(labels), None if cluster is None else clusters, weight is not None))
        columns: dict[str, Any] = {f"group:{axis}": codes for axis, codes in self._encoded(labels).items()}
        columns |= {
            "cluster": cluster,
            "greater": counts.greater,
            "equal": counts.equal,
            "candidates": counts.candidates,
        }
        if weight is not None:
            columns["weight"] = weight.view(np.int64)  # by its bits: cells have integer columns
        cells.add([columns[name] for name in self._layout.columns])
        self.dropped_queries += counts.dropped_queries
        self.dropped_candidates += counts.dropped_candidates
        self.emptied_queries += counts.emptied_queries

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
        if len(self._singles) >= _GATHER:
            self._gather()
        self._singles.append((greater, equal, neg.shape[1] + 1))
        return True

    def _gather(self) -> None:
        """Add single queries, which are not among the cells yet: whatever reads them comes here first."""
        if self._singles:
            singles, self._singles = self._singles, []
            rows = np.array(singles, dtype=np.int64).T
            self._add(Counted(rows[0], rows[1], rows[2], None), {}, None)

    def _add_cells(self, cells: Cells, width: int) -> None:
        """Add cells of queries with as many negatives each."""
        candidates = np.full(len(cells.rows), width + 1, np.int64)
        self._mark()
        self._histogram(Layout()).add([cells.greater, cells.equal, candidates], cells.rows, folded=True)

    def _counted_cells(self) -> tuple[dict[str, Ints], Ints]:
        """The columns of all cells by name, and how many queries (or positives) each has."""
        self._gather()
        self._count_lists()
        if self._cells is None:
            return dict.fromkeys(self._layout.columns, np.empty(0, np.int64)), np.empty(0, np.int64)
        columns, counts = self._cells.cells()
        return dict(zip(self._layout.columns, columns, strict=True)), counts

    def _update_scores(
        self,
        batch: Scores,
        groups: Mapping[str, Any] | None,
        cluster: Any,
        weights: Any,
        ids: Any,
        nan: str,
        threads: int | None,
    ) -> None:
        if self.pooled and batch.repeats_one_row:
            raise InputError(
                f"is one row repeated {len(batch)} times: a pooled metric would count every negative that often",
                where="neg_scores",
                fix="Pass one pool for all positives as it is: neg_scores (m,).",
            )
        if self.pooled:
            batch = batch.on_host()  # a pool keeps all scores there
        matrix = batch.offsets is None and batch.mask is None and not is_cuda(batch.neg)
        if matrix and self._counts_only and groups is cluster is weights is ids is None:
            cells = joint_histogram(batch.pos, batch.neg, threads=threads)
            if cells is not None:
                self._add_cells(cells, batch.neg.shape[1])
                return
        counts = counted(batch, nan, threads)
        cluster = self._add_batch(counts, len(batch), groups, cluster, weights, ids)
        if self.pooled:
            rows = np.ones(len(batch), bool) if counts.rows is None else counts.rows
            neg, lengths = batch.flat_negatives(rows)
            self._pool.append((batch.pos[rows], neg.copy(), lengths, cluster))

    def _add_batch(
        self, counts: Counted, length: int, groups: Mapping[str, Any] | None, cluster: Any, weights: Any, ids: Any
    ) -> Ints | None:
        """Count queries under their labels; returns the clusters of those that were kept."""
        labels = as_groups(groups)
        cluster = None if cluster is None else as_clusters(cluster)
        weights = None if weights is None else as_weights(weights)
        numbers = self._item_ids(ids, length)
        for name, values in [*labels.items(), ("cluster", cluster), ("weights", weights), ("ids", numbers)]:
            if values is not None:
                require_shape(values, (length,), name, "One per query.")
        if numbers is not None:
            self._ids.require_new(numbers)
        keep = slice(None) if counts.rows is None else counts.rows
        labels = {name: values[keep] for name, values in labels.items()}
        clusters: Ints | None = None if cluster is None else cluster[keep]
        if weights is None:
            self._add(counts, labels, clusters)
        else:
            self._add_weighted(counts, labels, clusters, weights[keep])
        if numbers is not None:
            self._ids.add(numbers)
        if numbers is not None and self.keep is not None:
            self._items.append(
                Items(
                    numbers[keep],
                    counts.greater,
                    counts.equal,
                    counts.candidates,
                    clusters,
                    weight=None if weights is None else weights[keep],
                )
            )
            self._numbered += length if ids is None else 0
        return clusters

    def _item_ids(self, ids: Any, length: int) -> AnyArray | None:
        """The ids of a batch; given ones are checked also if no items are kept."""
        if ids is not None:
            names = as_labels(ids, "ids")
            if len(sorted_unique(names)) < names.size:
                raise InputError("an id occurs twice", where="ids", fix="Give every query its own id.")
            return names
        return None if self.keep is None else np.arange(self._numbered, self._numbered + length)

    def _add_weighted(
        self, counts: Counted, labels: Mapping[str, AnyArray], clusters: Ints | None, weights: Floats
    ) -> None:
        """Without clusters every query is one of its own, because its weight must be in its error, too."""
        kind = GIVEN if clusters is not None else BY_QUERY
        units = self._new_clusters(len(weights)) if clusters is None else clusters
        self._add(counts, labels, units, kind, weights)
        self._own_clusters += len(weights) if clusters is None else 0

    def _new_clusters(self, queries: int) -> Ints:
        return np.arange(self._own_clusters, self._own_clusters + queries)

    def _update_flat(self, batch: FlatBatch, groups: Mapping[str, Any] | None, cluster: Any, weights: Any) -> None:
        queries, kept = batch.queries, batch.kept

        def per_query(values: Any, name: str, convert: Callable[[Any], AnyArray]) -> AnyArray:
            return queries.one_each(values, name, convert)[kept]

        labels = {}
        for axis, values in named_groups(groups).items():
            name = f"groups[{axis!r}]"
            labels[axis] = per_query(values, name, partial(as_labels, name=name))
        clusters = None if cluster is None else per_query(cluster, "cluster", as_clusters)
        weight = None if weights is None else per_query(weights, "weights", as_weights)
        first = self._own_clusters
        pool = batch.pool() if self.pooled else None
        self._add_lists(batch.lists, labels, clusters, weight, queries.names[kept], queries.names)
        if pool is not None:
            units = np.arange(first, first + len(batch.lists)) if clusters is None else clusters
            pos, neg, negatives = pool
            # The negatives of a query are listed with its first positive; clusters bring them together.
            lengths = np.where(batch.lists.place_in_query == 0, negatives[batch.lists.positive_query], 0)
            self._pool.append((pos, neg, lengths, units[batch.lists.positive_query]))
        self.dropped_queries += batch.dropped_queries
        self.dropped_candidates += batch.dropped_candidates
        self.emptied_queries += batch.emptied_queries
        self.without_positives += batch.without_positives
        self.lowest_candidates += batch.lowest_candidates

    def _add_lists(
        self,
        lists: QueryLists,
        labels: Mapping[str, AnyArray],
        clusters: Ints | None,
        weight: Floats | None,
        ids: AnyArray,
        names: AnyArray | None,
        cut: CutLists | None = None,
    ) -> None:
        """Count lists under their labels and `ids`; queries that have `names` must be new."""
        if names is not None:
            self._queries.require_new(np.sort(names))
        self._mark()
        # Positives of one query share its negatives and are not independent: the query is their cluster.
        units, kind = (self._new_clusters(len(lists)), BY_QUERY) if clusters is None else (clusters, GIVEN)
        self._histogram(Layout(tuple(labels), kind, weight is not None, lists=True, cut=cut is not None))
        codes = self._encoded(labels)
        self._cut = None if cut is None else cut.joined(self._cut)
        if names is not None:
            self._queries.add(np.sort(names))
        self._own_clusters += len(lists) if kind == BY_QUERY else 0
        part = ListPart(lists, codes, clusters, weight, ids if self.keep else None)
        self._lists.append(part)
        self._uncounted.append((part, units))

    def _count_lists(self) -> None:
        """Count the positives of all lists among the cells."""
        uncounted, self._uncounted = self._uncounted, []
        for part, units in uncounted:
            owner, above, beside, positives = part.lists.cells()
            candidates = (part.lists.candidates - part.lists.relevant + 1)[owner]
            columns: dict[str, Any] = {f"group:{axis}": codes[owner] for axis, codes in part.groups.items()}
            columns |= {"cluster": units[owner], "greater": above, "equal": beside, "candidates": candidates}
            if part.weight is not None:
                columns["weight"] = part.weight[owner].view(np.int64)
            # Cells come query by query: if queries are their own clusters, nothing is left to sort.
            folded = self._layout.clusters == BY_QUERY and not part.groups
            self._histogram(self._layout).add(
                [columns[name] for name in self._layout.columns], positives, folded=folded
            )
