"""The attempts of a generator: the valid ones next to real and training samples; equality, distances, neighbours."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.types import Ints, Mask
from graphgauge.generation.averages import FEWEST_COMPARED, FEWEST_VALID, Grouped, few, flat, rows_by_code
from graphgauge.generation.distances import Pairs, hamming_pairs
from graphgauge.generation.graphs import rows_of
from graphgauge.generation.identity import Identity, Nearest, codes, nearest
from graphgauge.generation.levels import Draws, near_copies
from graphgauge.generation.metrics.compared import Part
from graphgauge.generation.sample import Sides

# A count that a perfect generator has this rarely is no coincidence.
_NEVER = 1e-6
# The same of a control of how often distinct samples are generated, which counts only beside the first.
_HARDLY = 1e-4
# The same of a control that excuses copies of the training set.
_RARELY = 1e-3
# The least share of samples in no file of a generator that is not one of what is in the files.
_OUTSIDE = 0.02


class Attempts(Grouped):
    """All attempts with their conditions, `codes`, and validity, `answers`; the valid ones and their references.

    `valid` are the valid attempts in a fixed order, `real` the valid real samples, of which `held_out` are not in
    training, `train` the training samples. `same_rules` is whether real samples passed the rules that
    generated ones did: without that they are no level of repeats. `real_answers` are validity and conditions of all
    real samples.
    """

    def __init__(self, sides: Sides, draws: Draws) -> None:
        super().__init__(sides.labels)
        made, real, train = sides.generated, sides.real, sides.train
        assert made is not None
        self.draws, self.same_rules = draws, sides.same_rules
        self.codes, self.answers = made.conditions, made.valid
        self.valid = Part.in_order(made.items, made, made.kept)
        self.attempts, self.counts = (
            np.bincount(each, minlength=self.groups) for each in (self.codes, self.valid.codes)
        )
        self.enough: Mask = self.counts >= FEWEST_VALID
        self.real, self.held_out = None, 0
        if real is not None and real.items is not None:
            order = np.argsort(real.in_training, kind="stable")
            self.real = Part.in_order(real.items, real, order[real.kept[order]])
            self.held_out = int(np.count_nonzero(real.kept & ~real.in_training))
        self.train = None if train is None else train.items
        self._train_codes = None if train is None else train.conditions
        known = real is not None and real.valid is not None
        self.real_answers = (real.valid, real.conditions) if real is not None and known else None

    def lack(self, code: int) -> str | None:
        count, tried = int(self.counts[code]), int(self.attempts[code])
        if count >= FEWEST_VALID:
            return None
        return few(count, FEWEST_VALID, "valid sample", tried) if tried else "no samples were generated"

    # ---- rows of each condition

    @cached_property
    def rows(self) -> list[Ints]:
        return rows_by_code(self.valid.codes, self.groups)

    @cached_property
    def real_rows(self) -> list[Ints]:
        return [] if self.real is None else rows_by_code(self.real.codes, self.groups)

    @cached_property
    def train_rows(self) -> list[Ints]:
        """The training samples of each condition; none if their conditions are not known."""
        if self._train_codes is None:
            return [np.empty(0, np.int64)] * self.groups
        return [np.flatnonzero(self._train_codes == code) for code in range(self.groups)]

    # ---- equality

    @cached_property
    def _compared(self) -> Identity:
        real = None if self.real is None else self.real.rows
        return codes(*(part for part in (self.valid.rows, real, self.train) if part is not None))

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
    def _hits(self) -> tuple[Mask, int, int, int, int]:
        """Which valid samples are held-out real ones; how many distinct ones these are, of how many, and how many
        distinct training samples are generated, of how many."""
        assert self.real_ids is not None
        train = np.unique(self.train_ids) if self.train is not None else np.empty(0, np.int64)
        real, made = np.setdiff1d(self.real_ids, train), np.unique(self.ids)
        hits = np.isin(self.ids, real)
        return hits, int(np.isin(made, real).sum()), len(real), int(np.isin(made, train).sum()), len(train)

    @cached_property
    def given_out(self) -> tuple[int, float] | None:
        """How many valid samples are real ones, if no control explains them, and the share of real ones that equal
        another.

        A real sample equals one of the others as often as a fresh one does; if repeats were removed, this control is
        blind, and three remain. A generator that has not seen the real samples makes each distinct one as often as a
        distinct training sample, and one that draws from a finite space makes it as often as it repeats itself. And it
        makes samples that are in no file, without training samples at least as many as real ones.
        """
        if self.real_ids is None or not len(self.real_ids) or not len(self.ids):
            return None
        from scipy.special import bdtrc

        n, again = len(self.ids), _repeated(self.real_ids)
        hits, distinct, size, learned, learned_size = self._hits
        same = int(hits.sum())
        rate = min((again + 1) / (len(self.real_ids) + 1), 1.0)
        if not same or bdtrc(same - 1, n, rate) >= _NEVER:
            return None
        if self.train is None:
            only_known = same > n / 2
        else:
            only_known = n - same - int(np.count_nonzero(~self.novel)) < _OUTSIDE * n
            only_known |= _far_more(distinct, size, learned, learned_size)
        if only_known or _far_more(same, size, n - len(np.unique(self.ids)), max(n // 2, 1)):
            return same, again / len(self.real_ids)
        return None

    @property
    def finite(self) -> bool:
        """Whether no real sample is a training sample, and distinct ones of both are generated equally often, and about
        as often as others repeat: then samples are few, and their split, not the generator, makes the real ones new."""
        if self.train is None or self.real is None or self.held_out < len(self.real):
            return False
        from scipy.special import bdtr

        hits, distinct, size, learned, learned_size = self._hits
        known = hits | ~self.novel
        others = self.ids[~known]
        copied = _far_more(int(known.sum()), size + learned_size, _repeated(others), max(len(np.unique(others)), 1))
        if not distinct or copied:
            return False
        return bool(bdtr(distinct, distinct + learned, size / (size + learned_size)) > _RARELY)

    # ---- Hamming distances within conditions, of bits

    @cached_property
    def pairs(self) -> list[Pairs | None]:
        """The distances of each condition's valid samples."""
        return _pairs(self.valid.rows, self.rows)

    @cached_property
    def real_pairs(self) -> list[Pairs | None]:
        """Those of real samples."""
        return [None] * self.groups if self.real is None else _pairs(self.real.rows, self.real_rows)

    @property
    def width(self) -> int:
        """Number of bits of a sample; 1 if there are no samples."""
        return max(int(np.prod(self.valid.rows.shape[1:])), 1)

    # ---- neighbours in training

    @cached_property
    def nearest(self) -> Nearest | None:
        """Whether generated samples are nearer to training samples than to real ones; None without enough."""
        assert self.train is not None
        if self.real is None or self.real_ids is None:
            return None
        own = np.flatnonzero(self.novel & ~np.isin(self.ids, self.real_ids))
        if min(len(own), self.held_out, len(self.train)) < FEWEST_COMPARED:
            return None
        # Samples in both the training set and the real ones are ties, so that both are samples of one distribution.
        generator = self.draws.generator(13)
        near = near_copies(self.train, generator)
        return nearest(rows_of(self.valid.rows, own), self.train, self.real.rows, near, generator, self.draws.draws)


def _repeated(ids: Ints) -> int:
    """How many equal another one."""
    _, place, counts = np.unique(ids, return_inverse=True, return_counts=True)
    return int(np.count_nonzero(counts[place] > 1))


def _far_more(hits: int, size: int, others: int, among: int) -> bool:
    """Whether hits of `size` distinct samples are at least twice as frequent as others of `among`, beyond chance."""
    from scipy.special import bdtrc

    chance = bdtrc(hits - 1, hits + others, size / (size + among))
    return bool(hits * among > 2 * others * size and chance < _HARDLY)


def _pairs(samples: Any, rows: list[Ints]) -> list[Pairs | None]:
    bits = flat(samples)
    return [hamming_pairs(bits[own]) if len(own) >= FEWEST_VALID else None for own in rows]
