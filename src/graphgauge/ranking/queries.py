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
from collections.abc import Iterator, Mapping
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
        from graphgauge.ranking.lists import from_lists

        about = {"groups": groups, "cluster": cluster, "weights": weights}
        return from_lists(scores, labels, queries, about, minus_inf=minus_inf, nan=nan)

    # ---- what a source has

    @abstractmethod
    def count_rows(self, rows: Rows) -> tuple[Counts, Mask | None]:
        """The counts of these queries, without labels, and which of them are left: None if all are.

        Queries that are left out (a positive is NaN, there is no positive) are counted in `Counts.met`.
        """

    def work(self) -> int:
        """How many scores all queries have: what blocks are sized by."""
        return self.n

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
