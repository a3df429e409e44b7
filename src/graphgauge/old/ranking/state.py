"""The mergeable state of a ranking evaluation: counts of (groups, cluster, greater, equal, candidates)."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, as_labels, as_numeric, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import NAN_POLICIES, nan_policy, thread_count, whole_number
from graphgauge.kernels.tally import tally
from graphgauge.old.core.forms import chosen_form, given_names
from graphgauge.old.core.later import Later
from graphgauge.old.core.state import CountedShards, Place
from graphgauge.old.ranking.counts import RankingCounts
from graphgauge.old.ranking.family import FLAT, MATRIX
from graphgauge.old.ranking.inputs import (
    Counted,
    Scores,
    as_clusters,
    as_groups,
    as_integers,
    as_weights,
)
from graphgauge.old.ranking.items import Items, ListItems
from graphgauge.old.ranking.labels import QueryIds
from graphgauge.old.ranking.lists import FlatBatch, QueryLists, TopItems
from graphgauge.old.ranking.negative_sampling import Negatives, drawn_mask
from graphgauge.old.ranking.parts import CutLists, Layout, ListPart, in_range
from graphgauge.old.ranking.samples import Lists, Pooled, Ranks
from graphgauge.old.ranking.shared_pool import Part, SharedPool, is_pool, pool_counts

if TYPE_CHECKING:
    from graphgauge.old.core.evaluation import Evaluation
    from graphgauge.old.ranking.beyond import Catalog, Recommended


class RankingState(RankingCounts):
    """Counts over any number of batches, shards and machines; metrics are computed from them at the end.

    Memory is that of a sparse histogram: with k negatives at most (k+1)(k+2)/2 cells per group. `cluster` labels and
    ragged candidates can bring it near one cell per query. `pooled=True` also keeps all scores, for `roc_auc`,
    `average_precision` and `pooled_hits@k`. `keep="items"` keeps the counts of each query, for paired comparisons;
    `top=k` keeps the first k `items` of each query, for `coverage@k` and others. `negatives` says how the negatives of
    all batches were drawn. A `shard` name is that of the part that is counted: states with the same one do not merge.
    """

    kind = "ranking"

    def __init__(
        self,
        *,
        pooled: bool = False,
        keep: str | None = None,
        top: int | None = None,
        shard: str | None = None,
        negatives: Negatives | str | None = None,
    ) -> None:
        if keep is not None:
            one_of("keep", keep, ("items",))
        self.pooled, self.keep = pooled, keep
        self.top = None if top is None else whole_number("top", top, 1)
        self._negatives = None if negatives is None else str(negatives)
        self._first_shard = shard
        self.reset()

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
                where="negatives",
                fix="Give every batch its rows of the same negatives: negatives=drawn[rows].",
            )

    def reset(self) -> None:
        """Forget everything that was counted."""
        self._drawn: str | None = None
        self.dropped_queries = self.dropped_candidates = self.emptied_queries = self.without_positives = 0
        self.lowest_candidates = 0
        self._layout = Layout()
        self._cut = None
        self._own_clusters = 0
        self._numbered = 0
        self._labels = {}
        self._cells = None
        self._singles = []
        self._pool = []
        self._items = []
        self._lists = []
        self._uncounted = []
        self._top: list[TopItems] = []
        self._queries, self._ids = QueryIds.of_lists(), QueryIds.of_items()
        self._shared = None
        self._ranked: RankingState | None = None
        self._shards = CountedShards()
        self._own_shard = None

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
            As in `graphgauge.old.ranking.evaluate`, for the queries of this batch.
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
        given = {
            "pos_scores": pos_scores,
            "neg_scores": neg_scores,
            "offsets": offsets,
            "mask": mask,
            "ids": ids,
            "scores": scores,
            "labels": labels,
            "queries": queries,
            "negatives": negatives,
        }
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

    def _update_shared(self, part: Part, *, new: bool = False) -> None:
        pool = self._shared or SharedPool()
        pool.require_alike(part)
        if not new:
            pool.require_new(part.neg)
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
            self._ranked = RankingState(keep=self.keep)
            self._ranked.update_counts(greater, equal, candidates, groups=labels or None, cluster=cluster, ids=ids)
            self.emptied_queries = emptied
        return self._ranked

    def _refuse_weighted_pool(self, weights: Any) -> None:
        if self.pooled and weights is not None:
            raise OptionError("pooled metrics do not take weights", fix="Name other metrics, or give no weights.")

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
        counts = {
            "relevant": relevant,
            "candidates": candidates,
            "runs": runs,
            "start": start,
            "length": length,
            "positives": positives,
        }
        lists = QueryLists(
            **{name: as_integers(values, name) for name, values in counts.items()},
            grades=None if grades is None else as_numeric(grades, "grades").astype(float),
        )
        lists.check()
        names = None if queries is None else as_labels(queries, "queries")
        labels = as_groups(groups)
        given = {
            **labels,
            "queries": names,
            "cluster": None if cluster is None else as_clusters(cluster),
            "weights": None if weights is None else as_weights(weights),
        }
        for name, values in given.items():
            if values is not None:
                require_shape(values, (len(lists),), name, "One per query.")
        has = lists.relevant > 0
        numbers = np.arange(self._numbered, self._numbered + len(lists)) if names is None else names
        per_query: dict[str, Any] = {name: None if values is None else values[has] for name, values in given.items()}
        self._add_lists(
            lists.take(has),
            {axis: per_query[axis] for axis in labels},
            per_query["cluster"],
            per_query["weights"],
            numbers[has],
            names,
            cut,
        )
        self._numbered += len(lists) if names is None else 0
        self.without_positives += int(np.count_nonzero(~has))
        return self

    def _refuse_pool(self) -> None:
        if self.pooled:
            raise OptionError("pooled metrics need scores, not counts")

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
        frozen._uncounted = list(self._uncounted)
        return Later(partial(frozen.ranks, ties))

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
        from graphgauge.old.ranking.merged import merge

        return merge(self, other)

    # ----------------------------------------------------------------- out

    @property
    def n(self) -> int:
        """Queries counted so far; positives, if queries may have several."""
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
        return self._layout.axes if self._shared is None else self._ranked_in_pool(self._shared).axes

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

    def pool(self) -> Pooled | None:
        """All scores together, if they were kept.

        Returns
        -------
        Pooled | None
            The sample that pooled metrics take, or None.
        """
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
        from graphgauge.old.ranking.beyond import Recommended

        nothing = TopItems(*([np.empty(0, np.int64)] * 5))
        return Recommended.of(TopItems.join(self._top or [nothing]), catalog, self.top)

    def evaluate(self, **options: Any) -> Evaluation:
        """The metrics of everything counted so far; options as in `graphgauge.old.ranking.evaluate`.

        Parameters
        ----------
        options
            `k`, `ties`, `metrics`, `catalog` and `confidence`.

        Returns
        -------
        Evaluation
            As from `graphgauge.old.ranking.evaluate` of all batches together.

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
        from graphgauge.old.ranking.evaluate import evaluate_state

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
        from graphgauge.old.ranking.saved import save

        save(self, place)

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
        from graphgauge.old.ranking.saved import load

        return load(cls, place)
