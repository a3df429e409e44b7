"""`Queries`: what every input becomes. Validated, nothing counted yet; `count(rows)` counts some of them.

A source is a subclass that a constructor `Queries.from_…` makes. It says how many queries there are and counts those of
some rows; blocks, labels, joining, drawn rows and engines are here and the same for all.

    class Mine(Queries):
        def count_rows(self, rows):              # a slice, or numbers in any order
            return counts, kept                  # Counts without labels; kept is None, or a mask over the rows

`evaluate(queries)` counts block by block and joins, `evaluate_until` counts drawn rows, an engine counts slices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.types import Ints, Mask
from graphgauge.ranking.counts import SINGLE, Counts, Labels

if TYPE_CHECKING:
    from graphgauge.ranking import entities, lists, scores
    from graphgauge.ranking.beyond import Catalog, Recommended
    from graphgauge.ranking.samples import Pooled

Rows = slice | Ints


class _Source:
    """A constructor, which is imported with the module of its source when it is first used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        return getattr(import_module(f"graphgauge.ranking.{self._module}"), self._name)


class Queries(ABC):
    """The queries of an evaluation, with their candidates and positives.

    Attributes
    ----------
    n
        The number of queries.
    labels
        Their ids, groups, clusters and weights.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ranking.Queries.from_scores([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]]).n
    2
    """

    n: int
    labels: Labels
    # Scores that are counted at once: enough for all threads, few enough to stay in memory.
    block_work = 1 << 26

    if TYPE_CHECKING:
        from_scores = staticmethod(scores.from_scores)
        from_lists = staticmethod(lists.from_lists)
        from_function = staticmethod(scores.from_function)
        from_embeddings = staticmethod(entities.from_embeddings)
        from_triples = staticmethod(entities.from_triples)
        from_topk = staticmethod(lists.from_topk)
    else:
        from_scores = _Source("scores")
        from_lists = _Source("lists")
        from_function = _Source("scores")
        from_embeddings = _Source("entities")
        from_triples = _Source("entities")
        from_topk = _Source("lists")

    # ---- what a source has

    @abstractmethod
    def count_rows(self, rows: Rows) -> tuple[Counts, Mask | None]:
        """The counts of these queries, without labels, and which of them are left: None if all are.

        Queries that are left out (a positive is NaN, there is no positive) are counted in `Counts.met`.
        """

    def work(self) -> int:
        """How many scores all queries have: what blocks are sized by."""
        return self.n

    # How many right answers each query has, if some may have none: these are left out.
    answers: Ints | None = None

    # Whether the source has `pool`, and the catalogue of a source that has `recommended`.
    has_pool = False
    catalog: Catalog | None = None

    def pool(self) -> Pooled:
        """The scores of all queries together, for metrics that pool them."""
        raise NotImplementedError

    def recommended(self, k: int) -> Recommended:
        """The first `k` items of each query, for metrics of what is recommended."""
        raise NotImplementedError

    # ---- what all have

    def __len__(self) -> int:
        return self.n

    def answered(self, rows: Rows = slice(None)) -> Mask | None:
        """Which of some queries have a right answer; None if all have. The others are left out."""
        has = None if self.answers is None else self.answers[rows] > 0
        return None if has is None or has.all() else has

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
            if kept is None:
                return replace(counts, labels=labels)
            return replace(counts, labels=labels.take(kept), left=np.flatnonzero(~kept))
        # So many queries are kept as cells of those that count the same, unless they have names.
        fold = self.n > SINGLE and self.labels.ids is None
        parts = [counts.fold() if fold else counts for counts in map(self.count, self.blocks())]
        whole = Counts.join(parts) if parts else self.count(slice(0, 0))
        return whole.fold() if fold else whole

    def rows(self, rows: Rows) -> Ints:
        """Rows as numbers."""
        return np.arange(self.n)[rows]


class CountedQueries(Queries):
    """Queries that were counted before, perhaps with all their scores."""

    def __init__(self, counts: Counts, pooled: Pooled | None = None) -> None:
        self.n, self.labels, self.has_pool = len(counts.candidates), counts.labels, pooled is not None
        self.counts, self._pooled = counts, pooled

    def __len__(self) -> int:
        return len(self.counts)

    def count_rows(self, rows: Rows) -> tuple[Counts, Mask | None]:
        return self.counts.take(rows), None

    def count(self, rows: Rows | None = None) -> Counts:
        return self.counts if rows is None else self.counts.take(rows)

    def pool(self) -> Pooled:
        assert self._pooled is not None
        return self._pooled

    @staticmethod
    def join(parts: Sequence[CountedQueries]) -> CountedQueries:
        """The queries of several parts, one after the other; all have the same labels."""
        pools = [part.pool() for part in parts if part.has_pool]
        pooled = type(pools[0]).join(pools) if pools else None
        return CountedQueries(Counts.join([part.counts for part in parts]), pooled)
