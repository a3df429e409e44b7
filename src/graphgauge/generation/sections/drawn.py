"""Graphs on both sides, and the discrepancies of their structure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from graphgauge.core.types import Floats, Mask
from graphgauge.generation.graph_features import CONVENTIONS, feature_mmd, padded
from graphgauge.generation.graphs import Graphs, concatenated
from graphgauge.generation.levels import Draws, kernel_levels
from graphgauge.generation.molecules import Molecules
from graphgauge.generation.references import near_copies, unstructured
from graphgauge.generation.sample import Samples, Sides
from graphgauge.generation.sections.two_sided import Compared
from graphgauge.generation.two_sample import MMDTest, biased

# Graphs of each reference generator at most.
_POOL = 200


class Drawn(Compared):
    """Graphs on both sides."""

    def __init__(self, sides: Sides, draws: Draws, convention: str) -> None:
        self._draws, self.convention = draws, CONVENTIONS[convention]
        super().__init__(sides, graphs_of)
        self._tests: dict[str, list[MMDTest | None]] = {}
        self._features: dict[str, tuple[Floats, Floats]] = {}

    @property
    def conventions(self) -> dict[str, str]:
        return {"protocol": self.convention.name, "power": self.convention.estimator}

    def _described(self, kind: str) -> tuple[Floats, Floats]:
        if kind not in self._features:
            features = self.convention.kernels[kind].features
            real, generated = padded(features(self.real.rows), features(self.generated.rows))
            self._features[kind] = real, generated
        return self._features[kind]

    def mmd(self, kind: str) -> list[MMDTest | None]:
        if kind not in self._tests:
            self._tests[kind] = self.each(lambda code: self._mmd(kind, code, self.generated.codes == code))
        return self._tests[kind]

    def mmd_tested(self, kind: str) -> list[MMDTest | None]:
        """The same without training graphs, for the p-value."""
        if self.copied is None:
            return self.mmd(kind)

        def test(code: int) -> MMDTest | None:
            rows = self.unseen(code)
            return None if rows is None else self._mmd(kind, code, rows)

        return self.each(test)

    def _mmd(self, kind: str, code: int, rows: Mask) -> MMDTest:
        real, generated = self._described(kind)
        return feature_mmd(
            _by_content(real[self.real.codes == code]),
            _by_content(self._kept(generated[rows], kind, code)),
            self.convention.kernels[kind],
            self.convention.score,
            permutations=self._draws.draws,
            generator=self._draws.generator(5, code),
        )

    def _kept(self, generated: Floats, kind: str, code: int) -> Floats:
        """The generated graphs that the convention compares."""
        return generated[: self.real_counts[code]] if kind in self.convention.truncated else generated

    def ratio(self, code: int) -> float:
        """The mean over statistics of the MMD² of generated graphs over that of the training set, both biased."""
        own = None if self.train is None else self.train.of(code)
        if own is None or len(own) < 2:
            return np.nan
        ratios = []
        for kind, chosen in self.convention.kernels.items():
            real, generated = (
                side[part.codes == code]
                for side, part in zip(self._described(kind), (self.real, self.generated), strict=True)
            )
            real, generated, train = padded(real, self._kept(generated, kind, code), chosen.features(own))
            inside = chosen.kernel(real, real).sum()
            values = [
                biased(inside, chosen.kernel(each, each).sum(), chosen.kernel(real, each).sum(), len(real), len(each))
                for each in (generated, train)
            ]
            ratios.append(values[0] / values[1] if values[1] > 0 else np.nan)
        known = [value for value in ratios if value == value]
        return float(np.mean(known)) if known else np.nan

    def mmd_levels(self, kind: str) -> dict[str, Floats]:
        chosen, real = self.convention.kernels[kind], self._described(kind)[0]

        def levels(code: int) -> Mapping[str, Floats]:
            own = _by_content(real[self.real.codes == code])
            test = self.mmd(kind)[code]
            assert test is not None
            pools = {name: chosen.features(pool) for name, pool in self._pools(code, test.n[1]).items()}
            if self.learned is not None:
                pools["learned"] = chosen.features(self.learned.of(code))
            width = max([own.shape[1], *(pool.shape[1] for pool in pools.values())])

            def wide(rows: Floats) -> Floats:
                return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))

            wider = {name: wide(pool) for name, pool in pools.items()}
            fresh = concatenated(wide(own), wider.pop("learned", None))
            return kernel_levels(
                chosen.kernel,
                wide(own),
                wider,
                *test.n,
                self.convention.score,
                draws=self._draws.draws,
                generator=self._draws.generator(11, code),
                fresh=fresh,
                train=self.trained(code),
            )

        return self.drawn(self.each(levels))

    def _pools(self, code: int, count: int) -> dict[str, Graphs]:
        if code not in self._pool_cache:
            generator = self._draws.generator(12, code)
            real = self.real.of(code)
            pools = {} if real.directed else {"chance": unstructured(real, min(count, _POOL), generator)}
            train = self.copies(code, generator, _POOL)
            if train is not None:
                pools["memoriser"] = train
                near = near_copies(train, generator)
                pools |= {} if near is None else {"near_copy": near}
            self._pool_cache[code] = pools
        return self._pool_cache[code]

    @cached_property
    def _pool_cache(self) -> dict[int, dict[str, Graphs]]:
        return {}


def graphs_of(side: Samples) -> Graphs | None:
    """The graphs of a side: its items, or those of its molecules."""
    graphs: Graphs | None = side.items.graphs if isinstance(side.items, Molecules) else side.items
    return graphs


def _by_content(rows: Floats) -> Floats:
    """Rows in an order that does not depend on that of the graphs."""
    return rows[np.lexsort(rows.T[::-1])] if rows.size else rows
