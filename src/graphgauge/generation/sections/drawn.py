"""Graphs on both sides, and the discrepancies of their structure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.generation.graph_mmd import CONVENTIONS, feature_mmd, padded
from graphgauge.generation.graphs import Graphs, concatenated
from graphgauge.generation.inputs import Bits
from graphgauge.generation.levels import Draws, kernel_levels, near_copies, unstructured
from graphgauge.generation.sections.two_sided import Sides
from graphgauge.generation.table import SampleTable
from graphgauge.generation.two_sample import MMDTest, biased

# Graphs of each reference generator at most.
_POOL = 200


class Drawn(Sides):
    """Graphs on both sides."""

    def __init__(self, table: SampleTable, draws: Draws, convention: str) -> None:
        self._draws, self.convention = draws, CONVENTIONS[convention]
        assert isinstance(table.real, Graphs)
        assert isinstance(table.generated, Graphs)
        fit, kept = table.real_kept, table.kept
        super().__init__(
            table.real.take(fit),
            table.real_codes[fit],
            table.generated.take(kept),
            table.codes[kept],
            len(table.labels),
        )
        if isinstance(table.train, Graphs) and len(table.train) and table.train_codes is not None:
            self.train, self.train_codes = table.train, table.train_codes
        if table.copied is not None and table.copied[kept].any():
            self.copied = table.copied[kept]
        if isinstance(table.excluded_samples, Graphs) and len(table.excluded):
            fits = table.excluded_kept
            self.left, self.left_codes = table.excluded_samples.take(fits), table.excluded[fits]
        self._tests: dict[str, list[MMDTest | None]] = {}
        self._features: dict[str, tuple[Floats, Floats]] = {}

    def _described(self, kind: str) -> tuple[Floats, Floats]:
        if kind not in self._features:
            features = self.convention.kernels[kind].features
            real, generated = padded(features(self.real), features(self.generated))
            self._features[kind] = real, generated
        return self._features[kind]

    def mmd(self, kind: str) -> list[MMDTest | None]:
        if kind not in self._tests:
            self._tests[kind] = self.each(lambda code: self._mmd(kind, code, self.codes == code))
        return self._tests[kind]

    def mmd_tested(self, kind: str) -> list[MMDTest | None]:
        """The same without training graphs, for the p-value."""
        if self.copied is None:
            return self.mmd(kind)

        def test(code: int) -> MMDTest | None:
            rows = self.unseen(code)
            return None if rows is None else self._mmd(kind, code, rows)

        return self.each(test)

    def _mmd(self, kind: str, code: int, rows: Bits) -> MMDTest:
        real, generated = self._described(kind)
        return feature_mmd(
            _by_content(real[self.real_codes == code]),
            _by_content(self._kept(generated[rows], kind, code)),
            self.convention.kernels[kind],
            self.convention.score,
            permutations=self._draws.permutations,
            generator=self._draws.generator(5, code),
        )

    def _kept(self, generated: Floats, kind: str, code: int) -> Floats:
        """The generated graphs that the convention compares."""
        return generated[: self.real_counts[code]] if kind in self.convention.truncated else generated

    def ratio(self, code: int) -> float:
        """The mean over statistics of the MMD² of generated graphs over that of the training set, both biased."""
        own = None if self.train_codes is None else self.train.take(self.train_codes == code)
        if own is None or len(own) < 2:
            return np.nan
        found = []
        for kind, chosen in self.convention.kernels.items():
            real, generated = (
                side[codes == code]
                for side, codes in zip(self._described(kind), (self.real_codes, self.codes), strict=True)
            )
            generated = self._kept(generated, kind, code)
            real, generated, train = padded(real, generated, chosen.features(own))
            inside = chosen.kernel(real, real).sum()
            values = [
                biased(
                    inside, chosen.kernel(other, other).sum(), chosen.kernel(real, other).sum(), len(real), len(other)
                )
                for other in (generated, train)
            ]
            found.append(values[0] / values[1] if values[1] > 0 else np.nan)
        known = [value for value in found if value == value]
        return float(np.mean(known)) if known else np.nan

    def mmd_levels(self, kind: str) -> dict[str, Floats]:
        chosen, real = self.convention.kernels[kind], self._described(kind)[0]

        def levels(code: int) -> Mapping[str, Floats]:
            own = _by_content(real[self.real_codes == code])
            test = self.mmd(kind)[code]
            assert test is not None
            n, m = test.n
            pools = {name: chosen.features(pool) for name, pool in self._pools(code, m).items()}
            if self.left is not None and self.left_codes is not None:
                pools["left"] = chosen.features(self.left.take(self.left_codes == code))
            width = max([own.shape[1], *(pool.shape[1] for pool in pools.values())])

            def wide(rows: Floats) -> Floats:
                return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))

            wider = {name: wide(pool) for name, pool in pools.items()}
            fresh = concatenated(wide(own), wider.pop("left", None))
            return kernel_levels(
                chosen.kernel,
                wide(own),
                wider,
                n,
                m,
                self.convention.score,
                draws=self._draws.resamples,
                generator=self._draws.generator(11, code),
                fresh=fresh,
            )

        return self.drawn(self.each(levels))

    def _pools(self, code: int, count: int) -> dict[str, Graphs]:
        if code not in self._pool_cache:
            generator = self._draws.generator(12, code)
            real, _ = self.pair(code)
            pools = {} if real.directed else {"chance": unstructured(real, min(count, _POOL), generator)}
            train = self.copies(code, generator, _POOL)
            if train is not None:
                pools["memoriser"] = train
                if not train.directed:
                    pools["near_copy"] = near_copies(train, generator)
            self._pool_cache[code] = pools
        return self._pool_cache[code]

    @cached_property
    def _pool_cache(self) -> dict[int, dict[str, Graphs]]:
        return {}


def _by_content(rows: Floats) -> Floats:
    """Rows in an order that does not depend on that of the graphs."""
    return rows[np.lexsort(rows.T[::-1])] if rows.size else rows
