"""Graphs on both sides, and the discrepancies of their structure."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphgauge.core.types import Floats, Mask
from graphgauge.generation.averages import once
from graphgauge.generation.graph_features import CONVENTIONS, padded
from graphgauge.generation.graphs import Graphs, concatenated
from graphgauge.generation.levels import Rules, near_copies, unstructured
from graphgauge.generation.molecules import Molecules
from graphgauge.generation.sample import Samples, Sides
from graphgauge.generation.sections.two_sided import Compared
from graphgauge.generation.two_sample import Discrepancy, biased, kernel_test

# Graphs of each reference generator at most.
_POOL = 200


class Drawn(Compared):
    """Graphs on both sides."""

    def __init__(self, sides: Sides, rules: Rules) -> None:
        self.convention = CONVENTIONS[rules.convention]
        self.conventions = {"protocol": self.convention.name, "power": self.convention.estimator}
        super().__init__(sides, rules, graphs_of)

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
        return kernel_test(
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

    def ratio(self, code: int) -> float:
        """The mean over statistics of the MMD² of generated graphs over that of the training set, both biased."""
        own = None if self.train is None else self.train.of(code)
        if own is None or len(own) < 2:
            return np.nan
        ratios = []
        for kind, chosen in self.convention.kernels.items():
            parts = zip(self._features(kind), (self.real, self.generated), strict=True)
            real, generated = (side[part.codes == code] for side, part in parts)
            real, generated, train = padded(real, self._kept(generated, kind, code), chosen.features(own))
            inside = chosen.kernel(real, real).sum()
            values = [
                biased(inside, chosen.kernel(each, each).sum(), chosen.kernel(real, each).sum(), len(real), len(each))
                for each in (generated, train)
            ]
            ratios.append(values[0] / values[1] if values[1] > 0 else np.nan)
        known = [value for value in ratios if value == value]
        return float(np.mean(known)) if known else np.nan

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
        pools = {} if real.directed else {"chance": unstructured(real, min(int(self.counts[code]), _POOL), generator)}
        train = self.copies(code, generator, _POOL)
        near = None if train is None else near_copies(train, generator)
        return pools | {name: part for name, part in (("memoriser", train), ("near_copy", near)) if part is not None}


def graphs_of(side: Samples) -> Graphs | None:
    """The graphs of a side: its items, or those of its molecules."""
    graphs: Graphs | None = side.items.graphs if isinstance(side.items, Molecules) else side.items
    return graphs


def _by_content(rows: Floats) -> Floats:
    """Rows in an order that does not depend on that of the graphs."""
    return rows[np.lexsort(rows.T[::-1])] if rows.size else rows
