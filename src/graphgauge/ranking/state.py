"""The mergeable state of a ranking evaluation: counts of (groups, cluster, greater, equal, candidates)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Floats, Ints, as_labels, as_numeric, is_cuda, require_shape, sorted_unique
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.forms import chosen_form, given_names
from graphgauge.core.later import Later
from graphgauge.core.options import NAN_POLICIES, nan_policy, thread_count, whole_number
from graphgauge.core.state import CountedShards, Place, load_state, place_name, save_state
from graphgauge.kernels.counting import joint_histogram, single_row_counts
from graphgauge.kernels.device import device_histogram
from graphgauge.kernels.histogram import Histogram
from graphgauge.kernels.score_cells import Blocks, ScoreCells, require_countable
from graphgauge.kernels.tally import tally
from graphgauge.ranking.counted_pool import CountedPool
from graphgauge.ranking.family import FLAT, MATRIX
from graphgauge.ranking.fingerprints import Fingerprints
from graphgauge.ranking.inputs import (
    Counted,
    Scores,
    as_clusters,
    as_groups,
    as_integers,
    as_weights,
    checked_offsets,
    counted,
    named_groups,
)
from graphgauge.ranking.items import Items, ListItems
from graphgauge.ranking.labels import Labels, QueryIds
from graphgauge.ranking.lists import FlatBatch, QueryLists, TopItems
from graphgauge.ranking.negative_sampling import Negatives, drawn_mask
from graphgauge.ranking.parts import CutLists, Layout, ListPart, in_range, sound_cells, sound_ids
from graphgauge.ranking.samples import Lists, Pooled, Ranks
from graphgauge.ranking.shared_pool import Part, SharedPool, is_pool, pool_counts

if TYPE_CHECKING:
    from graphgauge.core.evaluation import Evaluation
    from graphgauge.ranking.beyond import Catalog, Recommended


# Single queries are gathered as plain integers and turned into arrays this many at a time.
_GATHER = 1 << 14
# The most bytes of counts in memory, if nothing is said.
_COUNTS_BYTES = 1 << 30
# The source of cluster labels: the caller, or the queries of the flat form in order of arrival.
_GIVEN, _BY_QUERY = "given", "by query"


class RankingState:
    """Counts over any number of batches, shards and machines; metrics are computed from them at the end.

    Memory is that of a sparse histogram: with k negatives at most (k+1)(k+2)/2 cells per group. `cluster` labels and
    ragged candidates can bring it near one cell per query; what exceeds `max_memory` bytes is kept in a temporary
    file, with the same results. `pooled=True` also keeps all scores, for `roc_auc`, `average_precision` and
    `pooled_hits@k`. If `max_memory` is given and they take more, they are counted in cells of close scores: then
    these metrics have guaranteed bounds (`Result.guaranteed`), and `read_again` makes them exact. `keep="items"` keeps
    the counts of each query, for paired comparisons; `top=k` keeps the first k `items` of each query, for `coverage@k`
    and others. `negatives` says how the negatives of all batches were drawn.
    """

    kind = "ranking"

    def __init__(
        self,
        *,
        pooled: bool = False,
        keep: str | None = None,
        top: int | None = None,
        max_memory: int | None = None,
        shard: str | None = None,
        negatives: Negatives | str | None = None,
    ) -> None:
        if keep is not None:
            one_of("keep", keep, ("items",))
        self.pooled, self.keep = pooled, keep
        self.top = None if top is None else whole_number("top", top, 1)
        self._max_memory = _COUNTS_BYTES if max_memory is None else whole_number("max_memory", max_memory)
        self._limits_pool = max_memory is not None
        self._negatives = None if negatives is None else str(negatives)
        self._first_shard = shard
        self.reset()

    @property
    def max_memory(self) -> int:
        """The most bytes of counts in memory, and once it is set of pooled scores; it can be changed at any time."""
        return self._max_memory

    @max_memory.setter
    def max_memory(self, most: int) -> None:
        self._max_memory, self._limits_pool = whole_number("max_memory", most), True
        if self._cells is not None:
            self._cells.max_bytes = self._max_memory

    @property
    def pool_limit(self) -> int | None:
        """The most bytes of pooled scores; None if they are kept however many."""
        return self._max_memory if self._limits_pool else None

    @property
    def negatives(self) -> str | None:
        """How the negatives were drawn, if that is known."""
        return self._negatives or self._drawn

    def _require_negatives(self, negatives: Negatives | None) -> None:
        """Refuse a batch with other negatives than earlier ones, or of which it is not known whether it has."""
        if self._negatives is not None and negatives is None:
            return  # stated for all batches
        drawn = None if negatives is None else str(negatives)
        if (self._anything or self._negatives is not None) and self.negatives != drawn:
            raise InputError(
                f"this batch has other negatives ({drawn or 'not stated'}) than earlier ones "
                f"({self.negatives or 'not stated'})",
                where="negatives", fix="Give every batch its rows of the same negatives: negatives=drawn[rows].",
            )  # fmt: skip

    def reset(self) -> None:
        """Forget everything that was counted."""
        self._drawn: str | None = None
        self.dropped_queries = self.dropped_candidates = self.emptied_queries = self.without_positives = 0
        self.lowest_candidates = 0
        self._layout = Layout()
        self._cut: CutLists | None = None
        self._own_clusters = 0
        self._numbered = 0
        self._labels: dict[str, Labels] = {}
        self._cells: Histogram | None = None
        self._singles: list[tuple[int, int, int]] = []
        self._pool: list[tuple[AnyArray, AnyArray, Ints, Ints | None]] = []
        self._counted_pool: ScoreCells | None = None
        self._read_again: CountedPool | None = None
        self._items: list[Items] = []
        self._lists: list[ListPart] = []
        # Lists that are not among the cells yet, with the clusters of their queries: many metrics need no ranks.
        self._uncounted: list[tuple[ListPart, Ints]] = []
        self._top: list[TopItems] = []
        self._queries, self._ids = QueryIds.of_lists(), QueryIds.of_items()
        self._shared: SharedPool | None = None
        self._ranked: RankingState | None = None
        self._shards, self._fingerprints = CountedShards(), Fingerprints()
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
        items: Any = None,
        groups: Mapping[str, Any] | None = None,
        cluster: Any = None,
        weights: Any = None,
        offsets: Any = None,
        mask: Any = None,
        negatives: Negatives | None = None,
        ids: Any = None,
        nan: str = "raise",
        threads: int | None = None,
    ) -> RankingState:
        """Count one batch: positives with their negatives or a pool of them, or flat scores with labels and queries.

        In the form with one pool, positives and negatives add up over all batches; either may be empty in one.

        Parameters
        ----------
        pos_scores, neg_scores, offsets, mask, scores, labels, queries, items
            As in `graphgauge.ranking.evaluate`, for the queries of this batch.
        groups, cluster, weights, ids, nan, threads
            The same.
        negatives
            The negatives of this batch, as `ranking.negatives` drew them.

        Returns
        -------
        RankingState
            This state.

        Raises
        ------
        InputError
            If the batch is invalid, or has another form than earlier ones. Nothing is counted then.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> state = ranking.RankingState()
        >>> for pos, neg in (([0.9], [[0.7, 0.1]]), ([0.4], [[0.8, 0.3]])):
        ...     _ = state.update(pos, neg)
        >>> state.n, state.evaluate()["mrr"].value
        (2, 0.75)
        """
        if (
            type(neg_scores) is np.ndarray
            and self._counts_only
            and groups is cluster is weights is offsets is mask is ids is scores is labels is queries is items is None
            and negatives is None
            and self._drawn is None
            and nan in NAN_POLICIES
            and self._count_single(pos_scores, neg_scores)
        ):
            return self
        nan_policy(nan)
        threads = thread_count(threads)
        self._refuse_weighted_pool(weights)
        given = {"pos_scores": pos_scores, "neg_scores": neg_scores, "offsets": offsets, "mask": mask, "ids": ids,
                 "scores": scores, "labels": labels, "queries": queries, "negatives": negatives}  # fmt: skip
        form = chosen_form((MATRIX, FLAT), given_names(given))
        if items is not None and weights is not None:
            raise OptionError("metrics of recommended items do not take weights", fix="Leave out items, or weights.")
        if items is not None and form is not FLAT:
            raise OptionError(f"{form.name} does not take items", fix="Items go with scores, labels and queries.")
        if negatives is not None:
            mask = drawn_mask(negatives, neg_scores)
        self._require_negatives(negatives)
        if form is FLAT:
            self._refuse_mixing(shared=False)
            if (self.top is None) != (items is None):
                raise OptionError("top= and items= go together", fix="Count with RankingState(top=k), and give items=.")
            batch = FlatBatch.of(scores, labels, queries, nan, threads)
            top = None if self.top is None else batch.top(items, self.top, threads)
            self._update_flat(batch, groups, cluster, weights)
            self._top += [] if top is None else [top]
        elif is_pool(neg_scores, offsets):
            self._refuse_mixing(shared=True)
            if weights is not None:
                raise OptionError("the form with one pool of negatives does not take weights", fix="Leave them out.")
            self._update_shared(
                Part.of(pos_scores, neg_scores, mask=mask, groups=groups, cluster=cluster, ids=ids, nan=nan)
            )
        else:
            self._refuse_mixing(shared=False)
            scored = Scores.of(pos_scores, neg_scores, offsets=offsets, mask=mask)
            self._update_scores(scored, groups, cluster, weights, ids, nan, threads)
            self._drawn = None if negatives is None else str(negatives)
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
        return bool(self._singles or self._lists) or self._cells is not None or self._shared is not None

    def update_pool(self, pos_scores: Any, neg_scores: Any, *, nan: str = "raise") -> RankingState:
        """Count a block of one pool (m,) and of its positives (n,), as `update`; blocks may have the same scores.

        Parameters
        ----------
        pos_scores
            Scores of positives (n,).
        neg_scores
            Scores of negatives of the pool (m,).
        nan
            `raise`, or `omit` to drop and count NaN scores.

        Returns
        -------
        RankingState
            This state.

        Raises
        ------
        InputError
            If queries with negatives of their own were counted before.
        """
        self._refuse_mixing(shared=True)
        self._require_negatives(None)
        part = Part.of(pos_scores, neg_scores, mask=None, groups=None, cluster=None, ids=None, nan=nan_policy(nan))
        self._update_shared(part, new=True)
        return self

    def count_pool(self) -> RankingState:
        """Count the scores of one pool from the first on: it is known that they take more than `max_memory`.

        Returns
        -------
        RankingState
            This state.
        """
        self._refuse_mixing(shared=True)
        self._shared = self._shared or SharedPool()
        self._shared.count(self.max_memory)
        return self

    def _update_shared(self, part: Part, *, new: bool = False) -> None:
        pool = self._shared or SharedPool()
        pool.require_alike(part)
        self._require_countable(part.pos, part.neg)
        if not new:
            pool.require_new(part.neg)
        self._mark()
        pool.add(part)
        self._shared, self._ranked = pool, None
        self.dropped_queries += part.dropped_queries
        self.dropped_candidates += part.dropped_candidates
        self._count_pool()

    def _require_countable(self, *scores: AnyArray) -> None:
        """Refuse integers that cells cannot tell apart, before anything is counted."""
        for each in scores if self._limits_pool else ():
            require_countable(each)

    def _count_pool(self) -> None:
        """Count pooled scores in cells, if they take more memory than they may.

        What is known about single positives needs their scores, which are then kept.
        """
        self._read_again = None
        if self._shared is not None:
            free = self.keep is None and not self._shared.labelled
            if self._limits_pool and free and self._shared.bytes > self.max_memory:
                self._shared.count(self.max_memory)
            return
        held = sum(pos.nbytes + neg.nbytes for pos, neg, *_ in self._pool)
        if self._counted_pool is None and self._limits_pool and held > self.max_memory:
            self._counted_pool = ScoreCells(self.max_memory)
        if self._counted_pool is not None:
            for pos, neg, *_ in self._pool:
                self._counted_pool.add(pos, neg)
            self._pool = []

    @property
    def counts_pool(self) -> bool:
        """Whether pooled scores were counted in cells, because they take more than `max_memory`."""
        return self._pool_cells is not None

    @property
    def reads_again(self) -> bool:
        """Whether they were then read again."""
        return self._read_again is not None

    @property
    def _pool_cells(self) -> ScoreCells | None:
        return self._counted_pool if self._shared is None else self._shared.counted

    def read_again(self, positives: Blocks, negatives: Blocks) -> RankingState:
        """Make pooled metrics exact: both functions give all scores that were counted, again, in any blocks.

        Nothing is done if the scores were kept, or if their counts are exact.

        Parameters
        ----------
        positives, negatives
            Functions without arguments that return iterators over blocks of scores.

        Returns
        -------
        RankingState
            This state.
        """
        pooled = self.pool()
        if isinstance(pooled, CountedPool):
            self._read_again = pooled.read_again(positives, negatives)
        return self

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

    def _refuse_weighted_pool(self, weights: Any) -> None:
        if self.pooled and weights is not None:
            raise OptionError("pooled metrics do not take weights", fix="Name other metrics, or give no weights.")

    @property
    def _counts_only(self) -> bool:
        return not (self.pooled or self.keep) and self._layout == Layout() and self._shared is None

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
            singles, self._singles = self._singles, []
            rows = np.array(singles, dtype=np.int64).T
            try:
                self._add(Counted(rows[0], rows[1], rows[2], None), {}, None)
            except InputError:  # a full disk
                self._singles = singles
                raise

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
        if self.pooled and self._limits_pool:
            self._require_countable(as_numeric(batch.pos, "pos_scores"), as_numeric(batch.neg, "neg_scores"))
        matrix = batch.offsets is None and batch.mask is None
        if matrix and self._counts_only and groups is cluster is weights is ids is None:
            if is_cuda(batch.neg):
                cells = device_histogram(batch.pos, batch.neg)
            else:
                cells = joint_histogram(batch.pos, batch.neg, threads=threads)
            if cells is not None:
                candidates = np.full(len(cells.rows), batch.neg.shape[1] + 1, np.int64)
                self._mark()
                self._histogram(Layout()).add([cells.greater, cells.equal, candidates], cells.rows, folded=True)
                return
        counts = counted(batch, nan, threads)
        cluster = self._add_batch(counts, len(batch), groups, cluster, weights, ids)
        if self.pooled:
            rows = np.ones(len(batch), bool) if counts.rows is None else counts.rows
            neg, lengths = batch.flat_negatives(rows)
            self._pool.append((as_numeric(batch.pos, "pos_scores")[rows], neg.copy(), lengths, cluster))
            self._count_pool()

    def update_counts(
        self,
        greater: Ints,
        equal: Ints,
        candidates: Ints,
        *,
        groups: Mapping[str, Any] | None = None,
        cluster: Any = None,
        weights: Any = None,
        ids: Any = None,
    ) -> RankingState:
        """Add queries that were counted elsewhere: negatives above, negatives tied, candidates with the positive.

        Parameters
        ----------
        greater, equal
            Per query, the negatives above and tied with its positive.
        candidates
            Per query, its negatives and its positive.
        groups, cluster, weights, ids
            As in `update`.

        Returns
        -------
        RankingState
            This state.

        Raises
        ------
        InputError
            If counts are negative, or larger than the number of candidates.
        """
        self._refuse_pool()
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
        self._add_batch(counts, len(counts.greater), groups, cluster, weights, ids)
        return self

    def update_lists(
        self,
        relevant: Any,
        candidates: Any,
        runs: Any,
        start: Any,
        length: Any,
        positives: Any,
        *,
        grades: Any = None,
        queries: Any = None,
        groups: Mapping[str, Any] | None = None,
        cluster: Any = None,
        weights: Any = None,
        cut: CutLists | None = None,
    ) -> RankingState:
        """Add candidate lists that were counted elsewhere, as `QueryLists` describes them.

        Per query: its positives, all candidates, and the runs of equal scores with a positive. Per run, query by query
        and best first: the candidates with higher scores, its length, and its positives. `grades` are one per positive.
        If only the first items of the lists are known, `cut` says how many.

        Parameters
        ----------
        relevant, candidates, runs
            Per query, as described above.
        start, length, positives
            Per run, as described above.
        grades
            One grade per positive, query by query.
        queries, groups, cluster, weights
            As in `update`, one per query.
        cut
            How many items of each list are known, if not all.

        Returns
        -------
        RankingState
            This state.

        Raises
        ------
        InputError
            If the counts contradict each other.
        """
        self._refuse_pool()
        counts = {"relevant": relevant, "candidates": candidates, "runs": runs, "start": start, "length": length,
                  "positives": positives}  # fmt: skip
        lists = QueryLists(
            **{name: as_integers(values, name) for name, values in counts.items()},
            grades=None if grades is None else as_numeric(grades, "grades").astype(float),
        )
        lists.check()
        names = None if queries is None else as_labels(queries, "queries")
        labels = as_groups(groups)
        given = {**labels, "queries": names, "cluster": None if cluster is None else as_clusters(cluster),
                 "weights": None if weights is None else as_weights(weights)}  # fmt: skip
        for name, values in given.items():
            if values is not None:
                require_shape(values, (len(lists),), name, "One per query.")
        has = lists.relevant > 0
        numbers = np.arange(self._numbered, self._numbered + len(lists)) if names is None else names
        per_query: dict[str, Any] = {name: None if values is None else values[has] for name, values in given.items()}
        self._add_lists(lists.take(has), {axis: per_query[axis] for axis in labels}, per_query["cluster"],
                        per_query["weights"], numbers[has], names, cut)  # fmt: skip
        self._numbered += len(lists) if names is None else 0
        self.without_positives += int(np.count_nonzero(~has))
        return self

    def _refuse_pool(self) -> None:
        if self.pooled:
            raise OptionError("pooled metrics need scores, not counts")

    def _add_batch(
        self, counts: Counted, length: int, groups: Mapping[str, Any] | None, cluster: Any, weights: Any, ids: Any
    ) -> Ints | None:
        """Count queries under their labels; returns the clusters of those that were kept."""
        labels = as_groups(groups)
        cluster = None if cluster is None else as_clusters(cluster)
        weights = None if weights is None else as_weights(weights)
        self._store_items()
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
                Items(numbers[keep], counts.greater, counts.equal, counts.candidates, clusters,
                      weight=None if weights is None else weights[keep])
            )  # fmt: skip
            self._numbered += length if ids is None else 0
        return clusters

    def _store_items(self) -> None:
        """Move kept items to disk if they take more than they may; as for counts, before anything is added."""
        if sum(part.held_bytes for part in self._items) > self.max_memory:
            held = [part for part in self._items if part.held_bytes]
            self._items = [*(part for part in self._items if not part.held_bytes), Items.join(held).stored()]

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
        kind = _GIVEN if clusters is not None else _BY_QUERY
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
        if self.pooled:
            self._require_countable(*batch.pool()[:2])
        self._add_lists(batch.lists, labels, clusters, weight, queries.names[kept], queries.names)
        if self.pooled:
            units = np.arange(first, first + len(batch.lists)) if clusters is None else clusters
            pos, neg, negatives = batch.pool()
            # The negatives of a query are listed with its first positive; clusters bring them together.
            lengths = np.where(batch.lists.place_in_query == 0, negatives[batch.lists.positive_query], 0)
            self._pool.append((pos, neg, lengths, units[batch.lists.positive_query]))
            self._count_pool()
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
        units, kind = (self._new_clusters(len(lists)), _BY_QUERY) if clusters is None else (clusters, _GIVEN)
        self._histogram(Layout(tuple(labels), kind, weight is not None, lists=True, cut=cut is not None))
        codes = self._encoded(labels)
        self._cut = None if cut is None else cut.joined(self._cut)
        if names is not None:
            self._queries.add(np.sort(names))
        self._own_clusters += len(lists) if kind == _BY_QUERY else 0
        part = ListPart(lists, codes, clusters, weight, ids if self.keep else None)
        self._lists.append(part)
        self._uncounted.append((part, units))

    def _count_lists(self) -> None:
        """Count the positives of all lists among the cells."""
        while self._uncounted:
            part, units = self._uncounted[0]
            owner, above, beside, positives = part.lists.cells()
            candidates = (part.lists.candidates - part.lists.relevant + 1)[owner]
            columns: dict[str, Any] = {f"group:{axis}": codes[owner] for axis, codes in part.groups.items()}
            columns |= {"cluster": units[owner], "greater": above, "equal": beside, "candidates": candidates}
            if part.weight is not None:
                columns["weight"] = part.weight[owner].view(np.int64)
            # Cells come query by query: if queries are their own clusters, nothing is left to sort.
            folded = self._layout.clusters == _BY_QUERY and not part.groups
            self._histogram(self._layout).add(
                [columns[name] for name in self._layout.columns], positives, folded=folded
            )
            self._uncounted.pop(0)  # not before: a full disk is reported, and nothing is lost

    def ranks_later(self, ties: str) -> Later:
        """The counts as they are now, computed when they are read.

        Parameters
        ----------
        ties
            The tie rule.

        Returns
        -------
        Later
            A value that is computed when it is first read.
        """
        frozen = copy(self)
        frozen._cells = None if self._cells is None else self._cells.copy()
        frozen._uncounted, frozen._singles = list(self._uncounted), list(self._singles)
        return Later(partial(frozen.ranks, ties))

    def _encoded(self, labels: Mapping[str, AnyArray]) -> dict[str, Ints]:
        """The codes of labels; all of them are checked before any is changed."""
        for axis, values in labels.items():
            self._labels[axis].require_kind(values)
        return {axis: self._labels[axis].encode(values) for axis, values in labels.items()}

    def name_parts(self, names: Sequence[str], queries: Fingerprints | None = None) -> None:
        """Name the counted parts, instead of a random name: a state with one of these names will not merge.

        Nor will one that has hashed `queries` in common.

        Parameters
        ----------
        names
            One name per counted part.
        queries
            Hashes of the counted queries.
        """
        if self._own_shard is None:  # everything was counted elsewhere, under random names
            self._shards = CountedShards()
        self._shards.rename(self._own_shard, names)
        if queries is not None:
            self._fingerprints.absorb(queries)

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
            self._cells = Histogram(len(layout.columns), self.max_memory)
        elif layout != self._layout:
            raise InputError(
                f"this batch has {layout}; earlier ones have {self._layout}",
                fix="Give every batch in the same form, with the same groups, cluster and weights.",
            )
        self._cells.make_room()
        return self._cells

    def _add(
        self,
        counts: Counted,
        labels: Mapping[str, AnyArray],
        cluster: Ints | None,
        clusters: str = _GIVEN,
        weight: Floats | None = None,
    ) -> None:
        self._mark()
        cells = self._histogram(Layout(tuple(labels), None if cluster is None else clusters, weight is not None))
        columns: dict[str, Any] = {f"group:{axis}": codes for axis, codes in self._encoded(labels).items()}
        columns |= {"cluster": cluster, "greater": counts.greater, "equal": counts.equal,
                    "candidates": counts.candidates}  # fmt: skip
        if weight is not None:
            columns["weight"] = weight.view(np.int64)  # by its bits: cells have integer columns
        cells.add([columns[name] for name in self._layout.columns])
        self.dropped_queries += counts.dropped_queries
        self.dropped_candidates += counts.dropped_candidates
        self.emptied_queries += counts.emptied_queries

    def _counted_cells(self) -> tuple[dict[str, Ints], Ints]:
        """The columns of all cells by name, and how many queries (or positives) each has."""
        self._gather()
        self._count_lists()
        if self._cells is None:
            return dict.fromkeys(self._layout.columns, np.empty(0, np.int64)), np.empty(0, np.int64)
        columns, counts = self._cells.cells()
        return dict(zip(self._layout.columns, columns, strict=True)), counts

    # --------------------------------------------------------------- merge

    def merge(self, other: RankingState) -> RankingState:
        """Add another state's counts to this one.

        Parameters
        ----------
        other
            A state of other queries, which is left as it is.

        Returns
        -------
        RankingState
            This state.

        Raises
        ------
        InputError
            If a part was counted in both, or they were counted with other options.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> state = ranking.RankingState().update([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]])
        >>> other = ranking.RankingState().update([0.5], [[0.7, 0.1]])
        >>> state.merge(other).n
        3
        """
        if not isinstance(other, RankingState):
            raise TypeError(f"cannot merge {type(other).__name__} into a RankingState")
        if (self.pooled, self.keep, self.top) != (other.pooled, other.keep, other.top):
            raise InputError("one state keeps pooled scores or items, the other does not", fix="Use the same options.")
        if other._anything and (self._anything or self._negatives) and self.negatives != other.negatives:
            raise InputError(
                f"the states have different negatives: {self.negatives or 'not stated'}, and "
                f"{other.negatives or 'not stated'}",
                fix="Rank all queries against the same negatives.",
            )
        other._gather()
        if other._anything:
            self._refuse_mixing(shared=other.shares_pool)
            drawn = other.negatives
        else:
            drawn = self._drawn
        if other._shared is not None:
            return self._merge_shared(other, other._shared)
        if other._cells is not None:
            self._histogram(other._layout)
            for axis, names in other._labels.items():
                self._labels[axis].require_kind(np.array(list(names)))
            cells = other._counted_cells()
        queries, ids = other._queries.all(), other._ids.all()
        # Nothing is counted before this check, and nothing can fail after it.
        self._shards.require_apart(other._shards)
        self._fingerprints.require_apart(other._fingerprints)
        self._queries.require_new(queries)
        self._ids.require_new(ids)
        self._ids.add(ids)
        self._fingerprints.absorb(other._fingerprints)
        self._shards.absorb(other._shards)
        self._drawn = None if self._negatives else drawn
        self._queries.add(queries)
        if other._cells is not None:
            columns, counts = cells
            for axis, names in other._labels.items():
                columns[f"group:{axis}"] = self._labels[axis].recode(columns[f"group:{axis}"], names)
            shift = self._own_clusters if self._layout.clusters == _BY_QUERY else 0
            if shift:
                columns["cluster"] = columns["cluster"] + shift
            self._own_clusters += other._own_clusters
            self._pool += [
                (pos, neg, lengths, None if units is None else units + shift)
                for pos, neg, lengths, units in other._pool
            ]
            if other._counted_pool is not None:
                self._counted_pool = self._counted_pool or ScoreCells(self.max_memory)
                self._counted_pool.merge(other._counted_pool)
            self._count_pool()
            self._histogram(other._layout).add([columns[name] for name in self._layout.columns], counts)
        for part in other._lists:
            codes = {axis: self._labels[axis].recode(part.groups[axis], names) for axis, names in other._labels.items()}
            self._lists.append(replace(part, groups=codes))
        self._items += other._items
        self._cut = self._cut if other._cut is None else other._cut.joined(self._cut)
        self._top += other._top
        self._numbered += other._numbered
        self.dropped_queries += other.dropped_queries
        self.dropped_candidates += other.dropped_candidates
        self.emptied_queries += other.emptied_queries
        self.without_positives += other.without_positives
        self.lowest_candidates += other.lowest_candidates
        return self

    def _merge_shared(self, other: RankingState, others: SharedPool) -> RankingState:
        pool = self._shared or SharedPool()
        if pool.counted is not None or others.counted is not None:
            return self._merge_counted(other, pool, others)
        for part in others:
            pool.require_alike(part)
        self._shards.require_apart(other._shards)
        for part in (*others, others.joined()):
            pool.require_new(part.neg)
        others.require_new(pool.joined().neg)
        self._shards.absorb(other._shards)
        for part in others:
            pool.add(part)
            self.dropped_queries += part.dropped_queries
            self.dropped_candidates += part.dropped_candidates
        self._shared, self._ranked = pool, None
        self._count_pool()
        return self

    def _merge_counted(self, other: RankingState, pool: SharedPool, others: SharedPool) -> RankingState:
        if pool.labelled or others.labelled or self.keep is not None:
            raise InputError(
                "one state has counted its pooled scores, the other has groups, cluster or ids of its positives",
                fix="Raise max_memory, or leave them out.",
            )
        self._shards.require_apart(other._shards)
        pool.require_apart(others)
        pool.merge_counted(others, self.max_memory)
        self._shards.absorb(other._shards)
        self.dropped_queries += other.dropped_queries
        self.dropped_candidates += other.dropped_candidates
        self._shared, self._ranked, self._read_again = pool, None, None
        return self

    # ----------------------------------------------------------------- out

    @property
    def n(self) -> int:
        """Queries counted so far; positives, if queries may have several."""
        if self._shared is not None and self._shared.counted is not None:
            return int(self._shared.counted.columns()[1].sum())
        if self._shared is not None:
            return self._ranked_in_pool(self._shared).n
        self._gather()
        pending = sum(int(part.lists.relevant.sum()) for part, _ in self._uncounted)
        return pending + (0 if self._cells is None else self._cells.total)

    @property
    def cut(self) -> CutLists | None:
        """How far lists are known, if only their first items are."""
        return self._cut

    @property
    def counts_positives(self) -> bool:
        """Whether queries may have several positives, each of which is counted."""
        return self._layout.lists

    @property
    def axes(self) -> tuple[str, ...]:
        if self._shared is None:
            return self._layout.axes
        return () if self.counts_pool else self._ranked_in_pool(self._shared).axes

    def labels(self, axis: str) -> AnyArray:
        """The distinct labels of a group axis, sorted.

        Parameters
        ----------
        axis
            The name of a group axis.

        Returns
        -------
        AnyArray
            The labels.
        """
        if self._shared is not None:
            return self._ranked_in_pool(self._shared).labels(axis)
        return np.array(sorted(self._labels[axis]))

    def ranks(self, ties: str, axis: str | None = None) -> Ranks:
        """The counts, overall or by the labels of one axis; cells are sorted, so equal counts give equal bits.

        Parameters
        ----------
        ties
            The tie rule.
        axis
            A group axis, or None for all queries together.

        Returns
        -------
        Ranks
            The sample that metrics of ranks take.
        """
        if self._shared is not None:
            return replace(self._ranked_in_pool(self._shared).ranks(ties, axis), shared=True, unit="positive")
        columns, counts = self._counted_cells()
        if self.axes:
            # Cells that differ only in their groups on other axes are one.
            kept = [name for name in columns if not name.startswith("group:") or name == f"group:{axis}"]
            rows, counts = tally([columns[name] for name in kept], counts)
            columns = dict(zip(kept, rows, strict=True))
        group = None if axis is None else self._labels[axis].in_order(columns[f"group:{axis}"])
        return Ranks(
            count=counts if "weight" not in columns else counts * in_range(columns["weight"].view(float)),
            items=counts,
            group=group,
            groups=1 if axis is None else len(self._labels[axis]),
            cluster=columns.get("cluster"),
            over=self._over,
            unit="positive" if self.counts_positives else "query",
            greater=columns["greater"],
            equal=columns["equal"],
            candidates=columns["candidates"],
            ties=ties,
        )

    @property
    def _over(self) -> str:
        """The units of the intervals; a query with several positives is a cluster."""
        return "clusters" if self._layout.clusters == _GIVEN else "queries"

    def lists(self, ties: str, axis: str | None = None) -> Lists | None:
        """The whole candidate lists, if there are any.

        Parameters
        ----------
        ties
            The tie rule.
        axis
            A group axis, or None for all queries together.

        Returns
        -------
        Lists | None
            The sample that metrics of lists take, or None.
        """
        if not self._lists:
            return None
        part = ListPart.join(self._lists)
        lists = part.lists
        weighted = part.weight is not None
        return Lists(
            count=np.ones(len(lists), np.int64) if part.weight is None else in_range(part.weight),
            items=np.ones(len(lists), np.int64),
            group=None if axis is None else self._labels[axis].in_order(part.groups[axis]),
            groups=1 if axis is None else len(self._labels[axis]),
            cluster=np.arange(len(lists)) if weighted and part.cluster is None else part.cluster,
            over=self._over,
            counts=lists,
            ties=ties,
        )

    def pool(self) -> Pooled | CountedPool | None:
        """All scores together, if they were kept or counted.

        Returns
        -------
        Pooled | CountedPool | None
            The sample that pooled metrics take, or None.
        """
        if self._read_again is not None:
            return self._read_again
        if (cells := self._pool_cells) is not None:
            shared = self._shared is not None
            return CountedPool.of(
                cells, belong=not shared, over="positives" if shared else self._over,
                unit="positive" if shared or self.counts_positives else "query",
            )  # fmt: skip
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
            unit="positive" if self.counts_positives else "query",
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
            unit="positive",
            pos=whole.pos[rows],
            neg=whole.neg,
            offsets=np.empty(0, np.int64),
        )

    def items(self) -> Items | ListItems | None:
        """The counts of each query, if they were kept.

        Returns
        -------
        Items | ListItems | None
            The items, or None if the state does not keep them.
        """
        if not self.keep:
            return None
        if self._shared is not None:
            return self._ranked_in_pool(self._shared).items()
        if not self._lists:
            return Items.join(self._items)
        part = ListPart.join(self._lists)
        assert part.ids is not None
        depth = None if self._cut is None else self._cut.depth
        return ListItems(part.ids, part.lists, part.cluster, depth=depth, weight=part.weight)

    def recommended(self, catalog: Catalog | None) -> Recommended | None:
        """The first items of each query, if they were kept.

        Parameters
        ----------
        catalog
            The catalogue that the items are from.

        Returns
        -------
        Recommended | None
            The sample that metrics of coverage, novelty and diversity take, or None.
        """
        if self.top is None or catalog is None:
            return None
        from graphgauge.ranking.beyond import Recommended

        nothing = TopItems(*([np.empty(0, np.int64)] * 5))
        return Recommended.of(TopItems.join(self._top or [nothing]), catalog, self.top)

    def evaluate(self, **options: Any) -> Evaluation:
        """The metrics of everything counted so far; options as in `graphgauge.ranking.evaluate`.

        Parameters
        ----------
        options
            `k`, `ties`, `metrics`, `catalog` and `confidence`.

        Returns
        -------
        Evaluation
            As from `graphgauge.ranking.evaluate` of all batches together.

        Raises
        ------
        OptionError
            If an argument has no such value.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> state = ranking.RankingState().update([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]])
        >>> state.evaluate(k=1)["mrr"].value
        0.75
        """
        from graphgauge.ranking.evaluate import evaluate_state

        return evaluate_state(self, **options)

    compute = evaluate

    # ---------------------------------------------------------------- file

    def save(self, place: Place) -> None:
        """Write the state as `.npz`: to a file, atomically, or to a stream.

        Parameters
        ----------
        place
            A path, or a stream that is open for bytes.

        Returns
        -------
        None
            The file is complete when the method returns.

        Raises
        ------
        UnwritableError
            If the file cannot be written.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> state = ranking.RankingState().update([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]])
        >>> state.save("state.npz")
        >>> ranking.RankingState.load("state.npz").n
        2
        """
        columns, counts = self._counted_cells()
        cells = [*columns.values(), counts] if self._cells is not None else [counts]
        arrays: dict[str, AnyArray] = {"cells": np.array(cells, dtype=np.int64)}
        pooled, items = self.pool(), Items.join(self._items) if self.keep else None
        if self._shared is not None:
            pooled, items, arrays = None, None, arrays | self._shared.arrays()
        if (counted := self._pool_cells) is not None:
            names = ("counted_keys", "counted_pos", "counted_neg")
            arrays |= dict(zip(names, counted.columns(), strict=True))
        elif isinstance(pooled, Pooled):
            arrays |= {"pos": pooled.pos, "neg": pooled.neg, "offsets": pooled.offsets}
            if pooled.cluster is not None:
                arrays["pool_cluster"] = pooled.cluster
        if self._top:
            arrays |= {f"top_{name}": values for name, values in TopItems.join(self._top).columns().items()}
        if items is not None:
            arrays |= {f"item_{name}": values for name, values in items.columns().items()}
        if self._lists:
            arrays |= {f"list_{name}": values for name, values in ListPart.join(self._lists).columns().items()}
            arrays["queries"] = self._queries.all()
        if len(self._fingerprints.all()):
            arrays |= {"fingerprints": self._fingerprints.all(), "fingerprint_bits": np.array(self._fingerprints.shift)}
        facts = {
            "axes": None if self._cells is None else list(self._layout.axes),
            "labels": {axis: list(known) for axis, known in self._labels.items()},
            "clusters": self._layout.clusters,
            "weighted": self._layout.weighted,
            "lists": self._layout.lists,
            "cut": None if self._cut is None else vars(self._cut),
            "pooled": self.pooled,
            "shares_pool": self.shares_pool,
            "keep": self.keep,
            "top": self.top,
            "max_memory": self.max_memory,
            "limits_pool": self._limits_pool,
            "counted": None if counted is None else counted.shift,
            "pool_contents": [] if self._shared is None or counted is None else self._shared.contents,
            "negatives": self.negatives,
            "own_clusters": self._own_clusters,
            "numbered": self._numbered,
            "dropped": [self.dropped_queries, self.dropped_candidates, self.emptied_queries, self.without_positives],
            "lowest": self.lowest_candidates,
            "shards": sorted(self._shards.names),
        }
        save_state(place, self.kind, facts, arrays)

    @classmethod
    def load(cls, place: Place) -> RankingState:
        """Read a saved state back.

        Parameters
        ----------
        place
            A path, or a stream that is open for bytes.

        Returns
        -------
        RankingState
            With the same counts.

        Raises
        ------
        InputError
            If the file is damaged, or the state of another family.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> state = ranking.RankingState().update([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]])
        >>> state.save("state.npz")
        >>> ranking.RankingState.load("state.npz").evaluate()["mrr"].value
        0.75
        """
        _, facts, arrays = load_state(place, cls.kind)
        try:
            return cls._restored(facts, arrays)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            raise InputError("the saved state is damaged", where=place_name(place)) from None

    @classmethod
    def _restored(cls, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> RankingState:
        options = {name: facts[name] for name in ("pooled", "keep", "max_memory")}
        state = cls(**options, top=facts.get("top"))
        state._limits_pool = bool(facts.get("limits_pool", False))
        state._drawn = facts.get("negatives")
        state.dropped_queries, state.dropped_candidates, state.emptied_queries, state.without_positives = facts[
            "dropped"
        ]
        state.lowest_candidates = facts.get("lowest", 0)
        state._shards = CountedShards(facts["shards"])
        state._fingerprints = Fingerprints(arrays.get("fingerprints"), int(arrays.get("fingerprint_bits", 0)))
        state._own_clusters, state._numbered = facts["own_clusters"], facts["numbered"]
        counted = None
        if facts.get("counted") is not None:
            columns = arrays["counted_keys"], arrays["counted_pos"], arrays["counted_neg"]
            counted = ScoreCells.restored(state.max_memory, int(facts["counted"]), columns)
        if facts.get("shares_pool"):
            state._shared = SharedPool.restored(arrays, (state.dropped_queries, state.dropped_candidates))
            if counted is not None:
                state._shared.restore_counted(counted, facts["pool_contents"])
            return state
        state._counted_pool = counted
        if facts["axes"] is not None:
            lists = facts.get("lists", any(name.startswith("list_") for name in arrays))
            state._cut = CutLists.restored(facts.get("cut"))
            layout = Layout(
                tuple(facts["axes"]), facts["clusters"], facts.get("weighted", False), lists, state._cut is not None
            )
            cells = state._histogram(layout)
            state._labels = {axis: Labels(axis, facts["labels"][axis]) for axis in state.axes}
            cells.add(*sound_cells(arrays["cells"], layout.columns, state._labels))
        if state.pooled and counted is None:
            lengths = np.diff(checked_offsets(arrays["offsets"], len(arrays["pos"]), len(arrays["neg"])))
            state._pool = [(arrays["pos"], arrays["neg"], lengths, arrays.get("pool_cluster"))]
        if state.keep:
            state._items = [Items.from_columns({name[5:]: a for name, a in arrays.items() if name.startswith("item_")})]
            state._ids.add(state._items[0].ids)
        top = {name[4:]: values for name, values in arrays.items() if name.startswith("top_")}
        if top:
            state._top = [TopItems(**top)]
            state._top[0].check()
        lists = {name[5:]: values for name, values in arrays.items() if name.startswith("list_")}
        state._lists = [ListPart.from_columns(lists)] if lists else []
        if lists:
            state._queries.add(sound_ids(arrays["queries"]))
        return state
