"""The valid samples of a generator next to the real and the training samples: equality, distances, neighbours."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.generation.declared import FEWEST_COMPARED, FEWEST_VALID, members
from graphgauge.generation.distances import Pairs, hamming_pairs, jaccard_pairs, pair_distances, row_ids
from graphgauge.generation.graphs import Graphs, concatenated, rows_of
from graphgauge.generation.inputs import Bits, Codes, Samples
from graphgauge.generation.isomorphism import GraphIds, compared
from graphgauge.generation.levels import MOST, Draws, near_copies, pair_means
from graphgauge.generation.nearest import Nearest, as_points
from graphgauge.generation.samples import canonical_order
from graphgauge.generation.table import SampleTable

# A count that a perfect generator has this rarely is no coincidence.
_NEVER = 1e-6
# Draws of mean distances.
_PAIR_DRAWS = 399


class Valid:
    """The valid samples and their references, in a fixed order; computed once, when first needed."""

    def __init__(self, table: SampleTable, draws: Draws, threads: int | None) -> None:
        assert table.generated is not None
        self.groups, self._threads, self.draws = len(table.labels), threads, draws
        self._index = _order(table.generated, table.codes, table.kept)
        self.generated, self.codes = rows_of(table.generated, self._index), table.codes[self._index]
        self._table = table
        self.real, self.real_codes = None, None
        if table.real is not None:
            self.real, self.real_codes = _ordered(table.real, table.real_codes, table.real_kept)
        # With the real samples that were left out, because generated ones like them are not.
        self.every_real, self.every_code = self.real, self.real_codes
        left, fits = table.excluded_samples, table.excluded_kept
        self.excluded = int(np.count_nonzero(fits))
        if left is not None and self.real is not None and self.real_codes is not None and self.excluded:
            codes = np.concatenate([self.real_codes, table.excluded[fits]])
            every = concatenated(self.real, rows_of(left, np.flatnonzero(fits)))
            self.every_real, self.every_code = _ordered(every, codes, np.ones(len(codes), bool))
        self.train, self.train_codes = table.train, table.train_codes

    @cached_property
    def rows(self) -> list[Codes]:
        return members(self.codes, self.groups)

    @cached_property
    def real_rows(self) -> list[Codes]:
        return [] if self.every_code is None else members(self.every_code, self.groups)

    @cached_property
    def _compared(self) -> GraphIds:
        """Ids of samples: equal samples have equal ids; graphs are equal up to isomorphism."""
        given = [part for part in (self.generated, self.every_real, self.train) if part is not None]
        graphs = [part for part in given if isinstance(part, Graphs)]
        return compared(*graphs) if graphs else GraphIds(row_ids(*(_flat(part) for part in given)), 0)

    @property
    def _ids(self) -> tuple[Codes, ...]:
        return self._compared.ids

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes ids uncertain, and samples that are those they are compared with."""
        count, found = self._compared.undecided, []
        if count:
            found.append(
                f"{count} graphs are too symmetric to be compared within the time limit: those that colour refinement "
                "cannot distinguish count as equal"
            )
        given = self._given_out
        if given is not None:
            found.append(
                f"{given[0]} of {len(self.ids)} valid samples are real held-out samples, of which {given[1]:.0%} equal "
                "another one: does the generator know the evaluation data, or was one file given twice?"
            )
        return tuple(found)

    @property
    def _given_out(self) -> tuple[int, float] | None:
        """How many samples are real ones, if more than a perfect generator would repeat, and how many of those repeat.

        A real sample equals one of the others as often as a fresh one does.
        """
        if self.real_ids is None or not len(self.real_ids) or not len(self.ids):
            return None
        from scipy.stats import binom

        repeated = np.unique(self.real_ids, return_inverse=True, return_counts=True)
        again = int(np.count_nonzero(repeated[2][repeated[1]] > 1))
        known = np.isin(self.ids, self.real_ids)
        if self.train is not None:
            known &= self.novel  # copies of training samples have a finding of their own
        n, same = len(self.ids), int(np.count_nonzero(known))
        rate = (again + 1) / (len(self.real_ids) + 1)
        return (same, again / len(self.real_ids)) if binom.sf(same - 1, n, min(rate, 1.0)) < _NEVER else None

    @property
    def ids(self) -> Codes:
        return self._ids[0]

    @property
    def real_ids(self) -> Codes | None:
        return None if self.real is None else self._ids[1]

    @property
    def train_ids(self) -> Codes:
        return self._ids[-1]

    @cached_property
    def novel(self) -> Bits:
        assert self.train is not None
        return ~np.isin(self.ids, self._ids[-1])

    @cached_property
    def hamming(self) -> list[Pairs | None]:
        return self._pairs(hamming_pairs, self.generated, self.rows)

    @cached_property
    def real_hamming(self) -> list[Pairs | None]:
        return self._pairs(hamming_pairs, self.every_real, self.real_rows)

    @cached_property
    def jaccard(self) -> list[Pairs | None]:
        return self._pairs(jaccard_pairs, self.generated, self.rows)

    @cached_property
    def real_jaccard(self) -> list[Pairs | None]:
        return self._pairs(jaccard_pairs, self.every_real, self.real_rows)

    def _pairs(self, pairs: Callable[..., Pairs], samples: Samples | None, rows: list[Codes]) -> list[Pairs | None]:
        if samples is None:
            return [None] * self.groups
        bits = _flat(samples)
        return [pairs(bits[own], threads=self._threads) if len(own) >= FEWEST_VALID else None for own in rows]

    @cached_property
    def train_rows(self) -> list[Codes]:
        """The training samples of each condition; none if their conditions are not known."""
        if self.train_codes is None:
            return [np.empty(0, np.int64)] * self.groups
        return [np.flatnonzero(self.train_codes == code) for code in range(self.groups)]

    def pair_draws(self, kind: str, copies: bool) -> Floats | None:
        """Mean distances (draws, conditions) within as many samples as were generated, fresh or of the training set."""
        if (kind, copies) not in self._pair_draws:
            self._pair_draws[kind, copies] = self._drawn_pairs(kind, copies)
        return self._pair_draws[kind, copies]

    def _drawn_pairs(self, kind: str, copies: bool) -> Floats | None:
        samples, rows = (self.train, self.train_rows) if copies else (self.every_real, self.real_rows)
        if not isinstance(samples, np.ndarray):
            return None
        bits, generator = _flat(samples), self.draws.generator(23, int(copies))
        found = np.full((min(self.draws.resamples, _PAIR_DRAWS), self.groups), np.nan)
        for place, (mine, own) in enumerate(zip(self.rows, rows, strict=True)):
            if len(mine) >= FEWEST_VALID and len(own) >= FEWEST_VALID:
                some = bits[generator.permutation(own)[:MOST]]
                n = None if copies else len(own)
                found[:, place] = pair_means(pair_distances(some, kind), len(mine), n, len(found), generator)
        return found

    @cached_property
    def _pair_draws(self) -> dict[tuple[str, bool], Floats | None]:
        return {}

    @cached_property
    def near_copy_novelty(self) -> float:
        """The share of near copies of training samples that are not in the training set."""
        if self.train is None or not len(self.train) or getattr(self.train, "directed", False):
            return np.nan
        copies = near_copies(self.train, self.draws.generator(14))
        if not isinstance(self.train, Graphs):
            own, known = row_ids(_flat(copies), _flat(self.train))
        else:
            own, known = compared(copies, self.train).ids
        return float(np.mean(~np.isin(own, known)))

    @cached_property
    def nearest(self) -> Nearest | None:
        """Whether generated samples are nearer to training samples than to real ones; None without enough."""
        assert self.train is not None
        if self.real is None or self.real_ids is None:
            return None
        own = np.flatnonzero(self.novel & ~np.isin(self.ids, self.real_ids))
        if min(len(own), len(self.real), len(self.train)) < FEWEST_COMPARED:
            return None
        # Samples in both the training set and the real ones are ties, so that both are samples of one distribution.
        assert self.every_real is not None
        generator = self.draws.generator(13)
        made, train, real = map(as_points, (rows_of(self.generated, own), self.train, self.every_real))
        copies = None if getattr(self.train, "directed", False) else near_copies(self.train, generator)
        near = None if copies is None else as_points(copies)
        return Nearest.of(made, train, real, near, generator, self.draws.resamples)

    @property
    def width(self) -> int:
        """Number of bits of a sample; 1 if there are no samples."""
        assert isinstance(self.generated, np.ndarray)
        return max(int(np.prod(self.generated.shape[1:])), 1)


def _order(samples: Samples, codes: Codes, kept: Bits) -> Codes:
    index = np.flatnonzero(kept)
    if isinstance(samples, Graphs):
        return index[np.argsort(codes[index], kind="stable")]
    return index[canonical_order(codes[index], samples[index])]


def _ordered(samples: Samples, codes: Codes, kept: Bits) -> tuple[Samples, Codes]:
    index = _order(samples, codes, kept)
    return rows_of(samples, index), codes[index]


def _flat(samples: Any) -> Bits:
    return np.ascontiguousarray(samples.reshape(len(samples), int(np.prod(samples.shape[1:]))))
