"""The valid samples of a generator next to the real and the training samples: equality, distances, neighbours."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.generation.averages import FEWEST_COMPARED, FEWEST_VALID, canonical_order, flat, rows_by_code
from graphgauge.generation.distances import Pairs, hamming_pairs, jaccard_pairs, pair_distances
from graphgauge.generation.graphs import concatenated, rows_of
from graphgauge.generation.identity import Identity, Nearest, codes, nearest
from graphgauge.generation.levels import MOST, Draws, pair_means
from graphgauge.generation.references import near_copies
from graphgauge.generation.sample import Samples, Sides

# A count that a perfect generator has this rarely is no coincidence.
_NEVER = 1e-6
# Draws of mean distances.
_PAIR_DRAWS = 399


class Valid:
    """The valid samples and their references, in a fixed order; computed once, when first needed."""

    def __init__(self, sides: Sides, draws: Draws) -> None:
        assert sides.generated is not None
        self.groups, self.draws = sides.groups, draws
        # Real samples under the rules that generated ones passed: without them real ones are no level of repeats.
        self.same_rules = sides.same_rules
        self.generated, self.codes = _ordered(sides.generated)
        self.real, self.real_codes, self.learned = None, None, 0
        self.every_real, self.every_code = None, None
        if sides.real is not None and sides.real.items is not None:
            self.real, self.real_codes = _ordered(sides.held_out)
            # With the real samples of the training set: generated samples like them are compared, too.
            self.every_real, self.every_code = self.real, self.real_codes
            left = sides.learned.take(sides.learned.kept) if sides.real.in_training.any() else None
            if left is not None and len(left):
                self.learned = len(left)
                every = concatenated(self.real, left.items)
                self.every_real, self.every_code = _in_order(every, np.concatenate([self.real_codes, left.conditions]))
        self.train = None if sides.train is None else sides.train.items
        self.train_codes = None if sides.train is None else sides.train.conditions

    # ---- rows of each condition

    @cached_property
    def rows(self) -> list[Ints]:
        return rows_by_code(self.codes, self.groups)

    @cached_property
    def real_rows(self) -> list[Ints]:
        return [] if self.every_code is None else rows_by_code(self.every_code, self.groups)

    @cached_property
    def train_rows(self) -> list[Ints]:
        """The training samples of each condition; none if their conditions are not known."""
        if self.train_codes is None:
            return [np.empty(0, np.int64)] * self.groups
        return [np.flatnonzero(self.train_codes == code) for code in range(self.groups)]

    # ---- equality

    @cached_property
    def _compared(self) -> Identity:
        given = (self.generated, self.every_real, self.train)
        return codes(*(part for part in given if part is not None))

    @property
    def ids(self) -> Ints:
        return self._compared.ids[0]

    @property
    def real_ids(self) -> Ints | None:
        return None if self.real is None else self._compared.ids[1]

    @property
    def train_ids(self) -> Ints:
        return self._compared.ids[-1]

    @cached_property
    def novel(self) -> Mask:
        assert self.train is not None
        return ~np.isin(self.ids, self.train_ids)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes equality uncertain."""
        count = self._compared.undecided
        if not count:
            return ()
        return (
            f"{count} graphs are too symmetric to be compared within the time limit: those that colour refinement "
            "cannot distinguish count as equal",
        )

    @cached_property
    def given_out(self) -> tuple[int, float] | None:
        """How many valid samples are real ones, if more than a perfect generator would repeat, and the share of real
        ones that equal another.

        A real sample equals one of the others as often as a fresh one does. Copies of training samples do not count.
        """
        if self.real_ids is None or not len(self.real_ids) or not len(self.ids):
            return None
        from scipy.special import bdtrc

        repeated = np.unique(self.real_ids, return_inverse=True, return_counts=True)
        again = int(np.count_nonzero(repeated[2][repeated[1]] > 1))
        known = np.isin(self.ids, self.real_ids)
        if self.train is not None:
            known &= self.novel
        n, same = len(self.ids), int(np.count_nonzero(known))
        if not same:
            return None
        rate = min((again + 1) / (len(self.real_ids) + 1), 1.0)
        return (same, again / len(self.real_ids)) if bdtrc(same - 1, n, rate) < _NEVER else None

    # ---- distances within conditions, of bits

    @cached_property
    def hamming(self) -> list[Pairs | None]:
        return _pairs(hamming_pairs, self.generated, self.rows)

    @cached_property
    def real_hamming(self) -> list[Pairs | None]:
        return [None] * self.groups if self.real is None else _pairs(hamming_pairs, self.every_real, self.real_rows)

    @cached_property
    def jaccard(self) -> list[Pairs | None]:
        return _pairs(jaccard_pairs, self.generated, self.rows)

    @cached_property
    def real_jaccard(self) -> list[Pairs | None]:
        return [None] * self.groups if self.real is None else _pairs(jaccard_pairs, self.every_real, self.real_rows)

    def pair_draws(self, kind: str, copies: bool) -> Floats | None:
        """Mean distances (draws, conditions) within as many samples as were generated, fresh or of the training set."""
        if (kind, copies) not in self._pair_draws:
            self._pair_draws[kind, copies] = self._drawn_pairs(kind, copies)
        return self._pair_draws[kind, copies]

    @cached_property
    def _pair_draws(self) -> dict[tuple[str, bool], Floats | None]:
        return {}

    def _drawn_pairs(self, kind: str, copies: bool) -> Floats | None:
        samples, rows = (self.train, self.train_rows) if copies else (self.every_real, self.real_rows)
        if not isinstance(samples, np.ndarray):
            return None
        bits, generator = flat(samples), self.draws.generator(23, int(copies))
        drawn = np.full((min(self.draws.draws, _PAIR_DRAWS), self.groups), np.nan)
        for place, (mine, own) in enumerate(zip(self.rows, rows, strict=True)):
            if len(mine) >= FEWEST_VALID and len(own) >= FEWEST_VALID:
                some = bits[generator.permutation(own)[:MOST]]
                n, same = (None, len(some) / len(own)) if copies else (len(own), 0.0)
                distances = pair_distances(some, kind)
                drawn[:, place] = pair_means(distances, len(mine), n, len(drawn), generator, same=same)
        return drawn

    @property
    def width(self) -> int:
        """Number of bits of a sample; 1 if there are no samples."""
        return max(int(np.prod(self.generated.shape[1:])), 1)

    # ---- neighbours in training

    @cached_property
    def near_copy_novelty(self) -> float:
        """The share of near copies of training samples that are not in the training set."""
        copies = (
            None if self.train is None or not len(self.train) else near_copies(self.train, self.draws.generator(14))
        )
        if copies is None:
            return np.nan
        own, known = codes(copies, self.train).ids
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
        generator = self.draws.generator(13)
        near = near_copies(self.train, generator)
        return nearest(rows_of(self.generated, own), self.train, self.every_real, near, generator, self.draws.draws)


def _pairs(pairs: Callable[..., Pairs], samples: Any, rows: list[Ints]) -> list[Pairs | None]:
    bits = flat(samples)
    return [pairs(bits[own]) if len(own) >= FEWEST_VALID else None for own in rows]


def _ordered(side: Samples) -> tuple[Any, Ints]:
    """The valid samples of a side and their conditions, in an order by content."""
    kept = side.take(side.kept)
    return _in_order(kept.items, kept.conditions)


def _in_order(items: Any, conditions: Ints) -> tuple[Any, Ints]:
    bits = isinstance(items, np.ndarray)
    order = canonical_order(conditions, items) if bits else np.argsort(conditions, kind="stable")
    return rows_of(items, order), conditions[order]
