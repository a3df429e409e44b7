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
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, Mask
from graphgauge.ranking.counts import Counts
from graphgauge.ranking.labels import Labels

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

    # ---- what a source has

    @abstractmethod
    def count_rows(self, rows: Rows) -> tuple[Counts, Mask | None]:
        """The counts of these queries, without labels, and which of them are left: None if all are.

        Queries that are left out (a positive is NaN, there is no positive) are counted in `Counts.met`.
        """

    def work(self) -> int:
        """How many scores all queries have: what blocks are sized by."""
        return self.n

    def pool(self) -> tuple[AnyArray, AnyArray, Ints | None] | None:
        """Scores of positives, of negatives, and where the negatives of each begin: for metrics that pool them.

        Offsets are None if the negatives belong to no query. None if the source cannot give them.
        """
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
