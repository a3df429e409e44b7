"""Real and generated samples by condition: what is compared with each other, tested, and which levels it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.generation.averages import FEWEST_COMPARED, Grouped, canonical_order, few, once
from graphgauge.generation.graphs import concatenated, rows_of
from graphgauge.generation.levels import MOST, Draws, apart, possible, redrawn, resampled, sums_of
from graphgauge.generation.sample import Samples, Sides
from graphgauge.generation.two_sample import Discrepancy, Kernel, Score, at_most

# Levels of generators that hand out training samples, with or without a change.
_COPIES = ("near_copy", "memoriser")


@dataclass(frozen=True, eq=False)
class Part:
    """Samples in the form in which they are compared, by condition, and which of them are in training."""

    rows: Any
    codes: Ints
    in_training: Mask | None

    @classmethod
    def in_order(cls, rows: Any, side: Samples, places: Ints | Mask) -> Part:
        """Some samples of a side, ordered by condition, and rows of numbers within it by content."""
        places = np.flatnonzero(places) if places.dtype == bool else places
        codes = side.conditions[places]
        by_content = isinstance(rows, np.ndarray)
        places = places[canonical_order(codes, rows[places]) if by_content else np.argsort(codes, kind="stable")]
        known = None if side.in_training is None else side.in_training[places]
        return cls(rows_of(rows, places), side.conditions[places], known)

    def __len__(self) -> int:
        return len(self.codes)

    def of(self, code: int) -> Any:
        """Those of one condition."""
        return rows_of(self.rows, self.codes == code)


class Compared(Grouped):
    """Valid held-out real samples and valid generated ones, with the conditions that have enough of both.

    `train` are training samples in the same form, for the levels of generators that copy them; `learned` are real
    samples that are in training. Both are None without any.
    """

    def __init__(
        self, sides: Sides, draws: Draws, rows_in: Callable[[Samples], Any], *, unseen_only: bool = False
    ) -> None:
        """`rows_in` makes the compared form of a side's samples, or None if it does not have what that takes.

        With `unseen_only` generated samples that are in training are left out, if real ones are.
        """
        super().__init__(sides.labels)
        real, made, train = sides.real, sides.generated, sides.train
        assert real is not None
        assert made is not None
        self.draws, learned = draws, real.kept & real.in_training
        has_copies = sides.copied is not None
        rows = rows_in(real)
        self.real = Part.in_order(rows, real, real.kept & ~real.in_training)
        self.learned = Part.in_order(rows, real, learned) if learned.any() else None
        kept = made.kept & ~made.in_training if has_copies and unseen_only else made.kept
        self.generated = Part.in_order(rows_in(made), made, kept)
        own = rows_in(train) if train is not None and len(train) and train.conditions is not None else None
        self.train = None if own is None or train is None else Part.in_order(own, train, np.arange(len(train)))
        copied = self.generated.in_training
        self.copied: Mask | None = copied if has_copies and copied is not None and copied.any() else None
        self.real_counts = np.bincount(self.real.codes, minlength=self.groups)
        self.counts = np.bincount(self.generated.codes, minlength=self.groups)
        self.enough: Mask = (self.real_counts >= FEWEST_COMPARED) & (self.counts >= FEWEST_COMPARED)
        # The number of generated samples in each compared condition.
        self.n = np.where(self.enough, self.counts, 0)

    def lack(self, code: int) -> str | None:
        real, generated = int(self.real_counts[code]), int(self.counts[code])
        if generated < FEWEST_COMPARED:
            return few(generated, FEWEST_COMPARED, "valid generated sample")
        return few(real, FEWEST_COMPARED, "real sample") if real < FEWEST_COMPARED else None

    def pair(self, code: int) -> tuple[Any, Any]:
        """The real and the generated samples of one condition."""
        return self.real.of(code), self.generated.of(code)

    def each(self, measure: Callable[[int], Any]) -> list[Any]:
        """The measurement in each condition with enough samples; None in the others."""
        return [measure(code) if self.enough[code] else None for code in range(self.groups)]

    # ---- tests

    @once
    def tests(self, kind: str) -> list[Discrepancy | None]:
        """The two-sample test of each condition."""
        return self.each(lambda code: self._test(kind, code, self.generated.codes == code))

    @once
    def fair_tests(self, kind: str) -> list[Discrepancy | None]:
        """The same without generated samples that are in training, for the p-value; None if too few are left.

        Real samples of the training set are left out of everything. If they are a part of what occurs often, a perfect
        generator would differ by them alone.
        """
        copied = self.copied
        if copied is None:
            return self.tests(kind)

        def test(code: int) -> Discrepancy | None:
            unseen = (self.generated.codes == code) & ~copied
            return self._test(kind, code, unseen) if np.count_nonzero(unseen) >= FEWEST_COMPARED else None

        return self.each(test)

    def _test(self, kind: str, code: int, rows: Mask) -> Discrepancy | None:
        """The real samples of a condition against some generated ones."""
        raise NotImplementedError

    # ---- levels

    @once
    def levels(self, kind: str) -> dict[str, Floats]:
        """Draws (draws, conditions) of the reference generators' values, by level."""

        def drawn(code: int) -> Mapping[str, Floats] | None:
            test = self.tests(kind)[code]
            return None if test is None else self._levels(kind, code, test)

        return self.by_level(self.each(drawn))

    def _levels(self, kind: str, code: int, test: Discrepancy) -> Mapping[str, Floats]:
        """The draws of one condition."""
        raise NotImplementedError

    def from_kernel(
        self,
        code: int,
        kernel: Kernel,
        score: Score,
        sizes: tuple[int, int],
        real: Any,
        fresh: Any,
        pools: Mapping[str, Any],
        generator: np.random.Generator,
    ) -> dict[str, Floats]:
        """Those of a discrepancy: two draws from the real items, and draws from each pool against them.

        `fresh` are the real items and further ones that a perfect generator generates as well. Pools of copies are of
        some training samples, of which a memoriser draws the same one now and then.
        """
        (n, m), draws = sizes, self.draws.draws
        trained = 0 if self.train is None else int(np.count_nonzero(self.train.codes == code))
        further = at_most(fresh[len(real) :], MOST, generator)
        real = at_most(real, MOST, generator)
        every = np.concatenate([real, further])
        within = kernel(every, every)
        found = {"perfect": redrawn(within, n, m, score, draws=draws, generator=generator, held_out=len(real))}
        within = within[: len(real), : len(real)]
        for name, pool in pools.items():
            if not len(pool):
                continue
            pool = at_most(pool, MOST, generator)
            inside, across = kernel(pool, pool), kernel(real, pool)
            counts = resampled(generator, m, len(pool), draws)
            second = sums_of(counts, *apart(inside, len(pool) / trained if name in _COPIES else 0.0))
            found[name] = possible(score(within.sum(), second, counts @ across.sum(0), len(real), m), score)
        return found

    def by_level(self, measured: list[Mapping[str, Floats] | None]) -> dict[str, Floats]:
        """The draws (draws, conditions) of each level that every compared condition has."""
        own = [(code, draws) for code, draws in enumerate(measured) if draws is not None]
        names = [name for name in (own[0][1] if own else ()) if all(name in draws for _, draws in own)]
        columns = {name: np.full((len(own[0][1][name]), self.groups), np.nan) for name in names}
        for code, draws in own:
            for name in names:
                columns[name][:, code] = draws[name]
        return columns

    def fresh(self, code: int, real: Any) -> Any:
        """Real samples and those that are in training: what a perfect generator would generate."""
        return real if self.learned is None else concatenated(real, self.learned.of(code))

    def copies(self, code: int, generator: np.random.Generator, most: int) -> Any:
        """At most this many training samples of one condition; None without any."""
        if self.train is None:
            return None
        rows = np.flatnonzero(self.train.codes == code)
        return rows_of(self.train.rows, np.sort(generator.permutation(rows)[:most])) if len(rows) else None
