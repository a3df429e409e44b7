"""`Queries`: what every input becomes. Validated, nothing counted yet; `count(rows)` counts some of them.

A source is a subclass that a constructor `Queries.from_…` makes. It says how many queries there are and counts those of
some rows; blocks, labels, joining, drawn rows and engines are here and the same for all.

    class Mine(Queries):
        def count_rows(self, rows):              # a slice, or numbers in any order
            return counts, kept                  # Counts without labels; kept is None, or a mask over the rows

Its constructor is a static method `Queries.from_…` below, which imports the module of the source and passes everything
on. `evaluate(queries)` counts block by block and joins, `evaluate_until` counts drawn rows, an engine counts slices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.types import Ints, Mask
from graphgauge.ranking.counts import Counts
from graphgauge.ranking.labels import Labels

if TYPE_CHECKING:
    from graphgauge.ranking.pooled import Pooled

Rows = slice | Ints


class Queries(ABC):
    """The queries of an evaluation, with their candidates and positives.

    Attributes
    ----------
    n
        The number of queries.
    labels
        Their ids, groups, clusters and weights.
    """

    n: int
    labels: Labels

    # ---- the sources

    @staticmethod
    def from_scores(
        pos_scores: Any,
        neg_scores: Any,
        *,
        mask: Any = None,
        negatives: Any = None,
        ids: Any = None,
        groups: Mapping[str, Any] | None = None,
        cluster: Any = None,
        weights: Any = None,
        minus_inf: str = "rank",
        nan: str = "raise",
    ) -> Queries:
        """One positive per query with negatives of its own, or one pool of negatives for all.

        Parameters
        ----------
        pos_scores
            Scores (n,) of the positives, higher is better: NumPy, torch or a list.
        neg_scores
            Those of their negatives: a matrix (n, k); a list of n arrays, as TGB's evaluators take; a pair
            `(values, offsets)`, where those of query i are `values[offsets[i] : offsets[i + 1]]`; or
            one pool (m,) that all positives share, as in OGB.
        mask
            Which cells of a matrix are negatives.
        negatives
            The negatives that were scored, as `ranking.negatives` drew them: their mask is used, and results name them,
            so that methods are compared on the same negatives only.
        ids
            Names of the queries, by which evaluations are compared.
        groups
            Labels per query to break results down by, `{"relation": …}`.
        cluster
            Labels; queries with the same one (head and tail of a triple) err together.
        weights
            How much each query counts, above 0.
        minus_inf
            What a negative at −inf is: a candidate (`rank`), or left out (`exclude`).
        nan
            `raise`, or `omit`: a NaN positive drops the query, a NaN negative the candidate, and if all negatives are
            NaN the query; all are counted.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> queries = ranking.Queries.from_scores([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]])
        >>> ranking.evaluate(queries)["mrr"].value
        0.75
        """
        from graphgauge.ranking.scores import from_scores

        about = {"ids": ids, "groups": groups, "cluster": cluster, "weights": weights}
        return from_scores(
            pos_scores,
            neg_scores,
            about,
            mask=mask,
            negatives=negatives,
            minus_inf=minus_inf,
            nan=nan,
        )

    @staticmethod
    def from_lists(
        scores: Any,
        labels: Any,
        queries: Any,
        *,
        groups: Mapping[str, Any] | None = None,
        cluster: Any = None,
        weights: Any = None,
        minus_inf: str = "rank",
        nan: str = "raise",
    ) -> Queries:
        """Candidate lists with any number of positives: a score, a label and a query for each candidate.

        Parameters
        ----------
        scores
            One score per candidate, higher is better.
        labels
            0 for negatives, and 1 or a grade of relevance above 0 for positives.
        queries
            The query of each candidate: numbers or names, in any order.
        groups, cluster, weights
            As in `from_scores`: one per query in the order in which queries first occur, one per candidate, or
            `{query: value}`.
        minus_inf, nan
            As in `from_scores`.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> queries = ranking.Queries.from_lists([0.9, 0.4, 0.2, 0.7], [1, 0, 1, 0], ["a", "a", "b", "b"])
        >>> ranking.evaluate(queries, k=1)["recall@1"].value
        0.5
        """
        from graphgauge.ranking.flat import from_lists

        about = {"groups": groups, "cluster": cluster, "weights": weights}
        return from_lists(scores, labels, queries, about, minus_inf=minus_inf, nan=nan)

    @staticmethod
    def from_embeddings(
        queries: Any = None,
        entities: Any = None,
        *,
        targets: Any,
        scores: Any = None,
        score: str | Callable[[Any, Any], Any] = "dot",
        known: Any = None,
        candidates: Any = None,
        minus_inf: str | None = None,
        catalog: Any = None,
        names: Any = None,
        groups: Mapping[str, Any] | None = None,
        cluster: Any = None,
        weights: Any = None,
        ids: Any = None,
    ) -> Queries:
        """Right answers of each query among all entities, by embeddings, a scoring function, or a matrix of scores.

        Sets of entities (`targets`, `known`, `candidates`) have one meaning everywhere: a sparse or a boolean matrix
        (q, m), `(values, offsets)`, a list with the entities of each query, a dictionary by query, an array (n, 2) or a
        frame of pairs of query and entity.

        Parameters
        ----------
        queries, entities
            Embeddings (q, d) and (m, d). For `distmult` queries are a pair (heads, relations). With a scoring function,
            any arrays or tensors, or tuples of them, with one row per query and per entity.
        targets
            The number of the right entity of each query (q,); or sets, for metrics of whole lists.
        scores
            In place of embeddings: a matrix (q, m), in memory, mapped from a file, or on a CUDA device.
        score
            `dot`, `distmult`, `l1` and `l2` (negated distances), or a function that scores a block of queries against
            the entities, (b, …), (m, …) → (b, m). The named ones are exact: equal rows tie.
        known
            Other right answers, and items of training: they are no candidates. Targets may be among them.
        candidates
            The only candidates of each query, as sets.
        minus_inf
            What a score of −inf means: `rank`, a low score like any other; `exclude`, no candidate, as libraries mark
            them. Without it, it is an error.
        catalog
            A `Catalog`, for `coverage@k` and the other metrics of what is recommended.
        names
            The names of the entities in order, if sets name them.
        groups, cluster, weights, ids
            As in `from_scores`.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> queries = ranking.Queries.from_embeddings([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]], targets=[0])
        >>> ranking.evaluate(queries)["mrr"].value
        0.5
        """
        from graphgauge.ranking.entities import from_embeddings

        about = {"ids": ids, "groups": groups, "cluster": cluster, "weights": weights}
        return from_embeddings(
            queries,
            entities,
            about,
            targets=targets,
            scores=scores,
            score=score,
            known=known,
            candidates=candidates,
            minus_inf=minus_inf,
            catalog=catalog,
            names=names,
        )

    @staticmethod
    def from_function(
        n: int,
        score_query: Callable[[int], Any],
        *,
        several: bool = False,
        groups: Mapping[str, Any] | None = None,
        cluster: Any = None,
        weights: Any = None,
        ids: Any = None,
    ) -> Queries:
        """Scores that a function returns query by query: for adaptive runs that score only the queries they read.

        Parameters
        ----------
        n
            The number of queries.
        score_query
            A function of a query's number, 0 … n − 1, that returns the score of its right answer and an array of those
            of the wrong ones.
        several
            Whether queries may have several right answers, whose scores are then an array.
        groups, cluster, weights, ids
            As in `from_scores`.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> queries = ranking.Queries.from_function(2, lambda number: (0.5, [0.1, 0.7 * number]))
        >>> ranking.evaluate(queries)["mrr"].value
        0.75
        """
        from graphgauge.ranking.entities import from_function

        about = {"ids": ids, "groups": groups, "cluster": cluster, "weights": weights}
        return from_function(n, score_query, several, about)

    @staticmethod
    def from_triples(
        model: Any,
        test: Any,
        *,
        known: Any = None,
        score: str | None = None,
        sides: Sequence[str] = ("head", "tail"),
        entities: int | None = None,
        candidates: Mapping[str, Any] | None = None,
        names: Any = None,
        groups: Mapping[str, Any] | None = None,
        cluster: Any = None,
        weights: Any = None,
    ) -> Queries:
        """The heads and tails of test triples among all entities; broken down by `side` and `relation`.

        The queries of one triple are one cluster. Triples are an array (n, 3) of head, relation and tail, a frame with
        these columns, a TriplesFactory of PyKEEN, or a list of these.

        Parameters
        ----------
        model
            Embeddings (entities, relations) with `score`; a model with `predict_t` and `predict_h`, as in PyKEEN; a
            dictionary `{"tail": f, "head": g}` of such functions of pairs (head, relation) and (relation, tail), which
            score all entities; or a function of heads, relations and tails that broadcasts, for tails (b, 1), (b, 1)
            and (1, entities).
        test
            The triples to rank.
        known
            True triples, training and validation, whose answers are left out; those of `test` with them. None ranks
            without a filter.
        score
            How embeddings are scored: `distmult`, or `l1` or `l2`, the distances of TransE.
        sides
            The ends that are asked for.
        entities
            The number of entities, if the model does not have it as `num_entities`.
        candidates
            The only candidates by relation, `{"tail": sets, "head": sets}`: one set per relation.
        names
            (entity names, relation names) in order, or a TriplesFactory, if triples name them.
        groups, cluster, weights
            As in `from_scores`, one per triple.

        Examples
        --------
        >>> import numpy as np
        >>> from graphgauge import ranking
        >>> model = np.eye(3), np.ones((1, 3))
        >>> queries = ranking.Queries.from_triples(model, np.array([[0, 0, 0], [1, 0, 2]]), score="distmult")
        >>> round(ranking.evaluate(queries)["mrr"].value, 4)
        0.7
        """
        from graphgauge.ranking.triples import from_triples

        about = {"groups": groups, "cluster": cluster, "weights": weights}
        return from_triples(
            model,
            test,
            about,
            known=known,
            score=score,
            sides=sides,
            entities=entities,
            candidates=candidates,
            names=names,
        )

    @staticmethod
    def from_topk(
        indices: Any,
        targets: Any,
        *,
        known: Any = None,
        n_items: int | None = None,
        catalog: Any = None,
        names: Any = None,
        groups: Mapping[str, Any] | None = None,
        cluster: Any = None,
        weights: Any = None,
        ids: Any = None,
    ) -> Queries:
        """Lists of the first items of each query, best first, as FAISS, recommenders and search engines return them.

        Parameters
        ----------
        indices
            Items (q, length), −1 for unfilled places at the end; a list of arrays; or a run `{query: {document:
            score}}`, as ranx and ir_measures take it.
        targets
            The right items of each query: a number each (q,), or sets as in `from_embeddings`; of a run its judgements,
            `{query: {document: grade}}`.
        known
            Items of training, as sets: no candidates. Those in a list are passed over and counted.
        n_items
            The number of items, for chance levels; by default that of `catalog`, or the largest that occurs, plus one.
        catalog
            A `Catalog`, for `coverage@k` and the other metrics of what is recommended.
        names
            The names of the items in order, if lists name them.
        groups, cluster, weights, ids
            As in `from_scores`.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate(ranking.Queries.from_topk([[3, 1], [2, 0]], [1, 2], n_items=5), k=2)
        >>> ev["recall@2"].value, ev["mrr_first@2"].value
        (1.0, 0.75)
        """
        from graphgauge.ranking.topk import from_topk

        about = {"ids": ids, "groups": groups, "cluster": cluster, "weights": weights}
        return from_topk(indices, targets, about, known=known, n_items=n_items, catalog=catalog, names=names)

    # ---- what a source has

    @abstractmethod
    def count_rows(self, rows: Rows) -> tuple[Counts, Mask | None]:
        """The counts of these queries, without labels, and which of them are left: None if all are.

        Queries that are left out (a positive is NaN, there is no positive) are counted in `Counts.met`.
        """

    def work(self) -> int:
        """How many scores all queries have: what blocks are sized by."""
        return self.n

    def answered(self) -> Mask | None:
        """Which queries have a positive; None if all have. The others are left out."""
        return None

    def pool(self) -> Pooled | None:
        """The scores of all queries together, for metrics that pool them; None if the source cannot give them."""
        return None

    def samples(self, k: int) -> Mapping[str, Any]:
        """Other samples that metrics need, by name, such as the first `k` items of each query."""
        return {}

    # ---- what all have

    # Scores that are counted at once: enough for all threads, few enough to stay in memory.
    block_work = 1 << 26

    def __len__(self) -> int:
        return self.n

    def blocks(self) -> Iterator[slice]:
        """Rows that are counted together."""
        size = max(1, self.n * self.block_work // max(self.work(), 1))
        for start in range(0, self.n, size):
            yield slice(start, min(start + size, self.n))

    def count(self, rows: Rows | None = None) -> Counts:
        """The counts of these queries, or of all."""
        if rows is not None:
            counts, kept = self.count_rows(rows)
            labels = self.labels.take(rows)
            return replace(counts, labels=labels if kept is None else labels.take(kept))
        parts = [self.count(block) for block in self.blocks()]
        return Counts.join(parts) if parts else self.count(slice(0, 0))

    def rows(self, rows: Rows) -> Ints:
        """Rows as numbers."""
        return np.arange(self.n)[rows]
