"""Real and generated samples by condition, as encodings and as graphs: how far they are apart, tests, and levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.generation import levels, two_sample
from graphgauge.generation.averages import FEWEST_COMPARED, Grouped, canonical_order, few, flat, once
from graphgauge.generation.distances import squared_distances
from graphgauge.generation.graph_features import CONVENTIONS, padded
from graphgauge.generation.graphs import Graphs, concatenated, rows_of
from graphgauge.generation.levels import Draws, Rules
from graphgauge.generation.molecules import Molecules
from graphgauge.generation.sample import Samples, Sides
from graphgauge.generation.two_sample import PRDC, Discrepancy, Kernel, Score

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

    def __init__(self, sides: Sides, draws: Draws, rows_in: Callable[[Samples], Any], *, unseen: bool = False) -> None:
        """`rows_in` makes the compared form of a side's samples, or None if it does not have what that takes.

        With `unseen` generated samples that are in training are left out, if real ones are.
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
        kept = made.kept & ~made.in_training if has_copies and unseen else made.kept
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
        further = two_sample.at_most(fresh[len(real) :], levels.MOST, generator)
        real = two_sample.at_most(real, levels.MOST, generator)
        every = np.concatenate([real, further])
        within = kernel(every, every)
        found = {"perfect": levels.redrawn(within, n, m, score, draws=draws, generator=generator, held_out=len(real))}
        within = within[: len(real), : len(real)]
        for name, pool in pools.items():
            if not len(pool):
                continue
            pool = two_sample.at_most(pool, levels.MOST, generator)
            inside, across = kernel(pool, pool), kernel(real, pool)
            counts = levels.resampled(generator, m, len(pool), draws)
            second = levels.sums_of(counts, *levels.apart(inside, len(pool) / trained if name in _COPIES else 0.0))
            found[name] = levels.possible(score(within.sum(), second, counts @ across.sum(0), len(real), m), score)
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


# ---- encodings

# The number of neighbours in precision, recall, density and coverage.
NEIGHBOURS = 5


class Encoded(Compared):
    """Encodings (n, d) of both sides: latent vectors, or without an encoder bits, or fingerprints of molecules."""

    def __init__(self, sides: Sides, draws: Draws) -> None:
        self.space = "fingerprints" if sides.kind == "molecules" else "bits"
        if all(side is not None and side.latents is not None for side in (sides.real, sides.generated)):
            self.space = "latent vectors"
        self.conventions = {"encodings": self.space}
        super().__init__(sides, draws, self._rows)

    def _rows(self, side: Samples) -> Floats | None:
        if self.space == "latent vectors":
            latents: Floats | None = side.latents
            return latents
        return None if side.items is None else vectors(side.items).astype(np.float64)

    def _pools(self, code: int, real: Floats, count: int, generator: np.random.Generator) -> dict[str, Floats]:
        """Samples of the reference generators other than the perfect one."""
        pools: dict[str, Floats] = {}
        train = self.copies(code, generator, levels.MOST)
        if train is not None:
            pools["memoriser"] = train
            if self.space == "bits":
                pools["near_copy"] = levels.near_copies(train, generator)
        if real.shape[1] > 1:
            pools["chance"] = _unstructured(real, count, generator)
        return pools

    # ---- neighbourhoods

    @cached_property
    def prdc(self) -> list[PRDC | None]:
        return self.each(lambda code: two_sample.prdc(*self.pair(code), k=NEIGHBOURS))

    # ---- discrepancies

    def _test(self, kind: str, code: int, rows: Mask) -> Discrepancy:
        draws, generator = self.draws.draws, self.draws.generator(4, code)
        return two_sample.mmd_test(
            self.real.of(code), self.generated.rows[rows], permutations=draws, generator=generator
        )

    def _levels(self, kind: str, code: int, test: Discrepancy) -> Mapping[str, Floats]:
        generator, width, count = self.draws.generator(10, code), -2 * test.bandwidth**2, min(test.n[1], levels.MOST)

        def kernel(x: Floats, y: Floats) -> Floats:
            return np.exp(squared_distances(x, y) / width)

        def drawn_from(real: Floats, fresh: Floats, pools: Mapping[str, Floats]) -> dict[str, Floats]:
            sizes = min(len(real), test.n[0]), test.n[1]
            return self.from_kernel(code, kernel, two_sample.unbiased, sizes, real, fresh, pools, generator)

        real = self.real.of(code)
        pools = self._pools(code, real, count, generator)
        structured = pools.pop("chance", None) is not None
        drawn = drawn_from(real, self.fresh(code, real), pools)
        if structured:
            # Samples made of the coordinates of the same real ones would be too near to them.
            first, second = real[::2], real[1::2]
            drawn["chance"] = drawn_from(first, first, {"chance": _unstructured(second, count, generator)})["chance"]
        return drawn


def vectors(items: Any) -> Mask:
    """The bits (n, d) of samples, or of molecules their fingerprints."""
    bits: Mask = items.fingerprints if isinstance(items, Molecules) else flat(items)
    return bits


def _unstructured(real: Floats, count: int, generator: np.random.Generator) -> Floats:
    """At least this many samples with separate coordinates, and four times as many if that is quick."""
    pool: Floats = levels.unstructured(real, max(count, min(4 * count, levels.MOST)), generator)
    return pool


# ---- graphs

# Graphs of each reference generator at most.
_POOL = 200


class Drawn(Compared):
    """Graphs on both sides."""

    def __init__(self, sides: Sides, rules: Rules) -> None:
        self.convention = CONVENTIONS[rules.convention]
        self.conventions = {"protocol": self.convention.name, "power": self.convention.estimator}
        super().__init__(sides, rules, lambda side: side.items)

    @once
    def _features(self, kind: str) -> list[Floats]:
        """Those of real and of generated graphs."""
        features = self.convention.kernels[kind].features
        return padded(features(self.real.rows), features(self.generated.rows))

    def _test(self, kind: str, code: int, rows: Mask) -> Discrepancy:
        chosen, (real, generated) = self.convention.kernels[kind], self._features(kind)
        real = _by_content(real[self.real.codes == code])
        generated = _by_content(self._kept(generated[rows], kind, code))
        every = np.concatenate([real, generated])
        return two_sample.kernel_test(
            lambda some: chosen.kernel(every[some], every),
            len(real),
            len(generated),
            chosen.bandwidth,
            permutations=self.draws.draws,
            generator=self.draws.generator(5, code),
            score=self.convention.score,
        )

    def _kept(self, generated: Floats, kind: str, code: int) -> Floats:
        """The generated graphs that the convention compares."""
        return generated[: self.real_counts[code]] if kind in self.convention.truncated else generated

    def ratios(self, train: Part) -> Floats:
        """MMD² of generated graphs over that of training graphs (conditions, statistics), both biased.

        NaN where MMD² of training graphs is 0, or there are fewer than two of them.
        """
        found = np.full((self.groups, len(self.convention.kernels)), np.nan)
        for code in np.flatnonzero(self.enough & (np.bincount(train.codes, minlength=self.groups) > 1)).tolist():
            for place, (kind, chosen) in enumerate(self.convention.kernels.items()):
                real, generated = self._features(kind)
                generated = self._kept(generated[self.generated.codes == code], kind, code)
                real, *others = padded(real[self.real.codes == code], generated, chosen.features(train.of(code)))
                above, below = (_biased(chosen.kernel, real, each) for each in others)
                found[code, place] = above / below if below > 0 else np.nan
        return found

    def _levels(self, kind: str, code: int, test: Discrepancy) -> Mapping[str, Floats]:
        chosen = self.convention.kernels[kind]
        own = _by_content(self._features(kind)[0][self.real.codes == code])
        learned = [] if self.learned is None else [self.learned.of(code)]
        pools = self._pools(code)
        own, *others = padded(own, *(chosen.features(graphs) for graphs in (*pools.values(), *learned)))
        fresh = concatenated(own, others[-1]) if learned else own
        features = dict(zip(pools, others, strict=False))
        generator = self.draws.generator(11, code)
        return self.from_kernel(code, chosen.kernel, self.convention.score, test.n, own, fresh, features, generator)

    @once
    def _pools(self, code: int) -> dict[str, Graphs]:
        """Graphs of the reference generators other than the perfect one."""
        generator, real = self.draws.generator(12, code), self.real.of(code)
        pools = (
            {}
            if real.directed
            else {"chance": levels.unstructured(real, min(int(self.counts[code]), _POOL), generator)}
        )
        train = self.copies(code, generator, _POOL)
        near = None if train is None else levels.near_copies(train, generator)
        return pools | {name: part for name, part in (("memoriser", train), ("near_copy", near)) if part is not None}


def _biased(kernel: Kernel, real: Floats, others: Floats) -> float:
    sums = (kernel(real, real).sum(), kernel(others, others).sum(), kernel(real, others).sum())
    return float(two_sample.biased(*sums, len(real), len(others)))


def _by_content(rows: Floats) -> Floats:
    """Rows in an order that does not depend on that of the graphs."""
    return rows[np.lexsort(rows.T[::-1])] if rows.size else rows
