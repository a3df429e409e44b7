"""Laws for families of other packages: `python -m graphgauge.testing FAMILY`, or `check_laws(case)` in a test.

The package of the family has a module `laws` with a list `CASES`.
"""

from __future__ import annotations

import abc
import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.family import family
from graphgauge.core.metric import Metric
from graphgauge.core.registry import find, metrics

Inputs = dict[str, Any]
# Values that are sums in another order may differ by rounding.
_ROUNDING = 1e-9


class Case(abc.ABC):
    """One form of a family's input, and how it can be changed."""

    family: str

    @abc.abstractmethod
    def inputs(self, rng: np.random.Generator) -> Inputs:
        """A small random input."""

    @abc.abstractmethod
    def evaluate(self, inputs: Inputs) -> Evaluation:
        """The evaluation of the input."""

    @abc.abstractmethod
    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        """The same items in another order."""

    def improved(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        """A change for the better; needed if a metric declares `monotone`."""
        raise NotImplementedError

    def swapped(self, inputs: Inputs) -> Inputs:
        """Truth and prediction exchanged; needed if a metric declares `symmetry`."""
        raise NotImplementedError


def check_laws(case: Case, *, examples: int = 50, seed: int = 0) -> int:
    """Check every declared law of the metrics on random inputs; return how many comparisons were made.

    Values, intervals and levels must be within their bounds, an interval contains its value, and a NaN has a reason.
    The declared laws `permutation`, `monotone` and `symmetry` must hold. A broken law is an AssertionError.
    """
    rng, checked = np.random.default_rng(seed), 0
    for _ in range(examples):
        inputs = case.inputs(rng)
        found = case.evaluate(inputs)
        _check_sound(found)
        for law, changed in _changes(case, inputs, rng):
            other = case.evaluate(changed)
            for key, metric in _lawful(case.family, found, law):
                _check(law, key, metric, found[key].value, other[key].value)
                checked += 1
    return checked


def _changes(case: Case, inputs: Inputs, rng: np.random.Generator) -> Iterator[tuple[str, Inputs]]:
    declared = {law for metric in metrics(case.family) for law, holds in metric.laws.items() if holds is True}
    yield "permutation", case.permuted(inputs, rng)
    if "monotone" in declared:
        yield "monotone", case.improved(inputs, rng)
    if "symmetry" in declared:
        yield "symmetry", case.swapped(inputs)


def _lawful(name: str, found: Evaluation, law: str) -> Iterator[tuple[str, Metric]]:
    for key in found:
        metric, _ = find(key, name)
        if metric.laws[law] is True:
            yield key, metric


def _check(law: str, key: str, metric: Metric, before: float, after: float) -> None:
    if math.isnan(before) or math.isnan(after):
        _require(
            law == "monotone" or math.isnan(before) == math.isnan(after), key, f"{law} gives {after}, not {before}"
        )
        return
    slack = _ROUNDING * max(1.0, abs(before))
    if law != "monotone":
        _require(abs(before - after) <= slack, key, f"{law} gives {after}, not {before}")
        return
    worse = before - after if metric.direction == "higher" else after - before
    _require(worse <= slack, key, f"a better prediction has {after}, the other {before}")


def _check_sound(found: Evaluation) -> None:
    for key, result in found.items():
        low, high = result.bounds
        if not result.defined:
            _require(bool(result.reason), key, "NaN without a reason")
            continue
        _require(low <= result.value <= high, key, f"{result.value} is outside {result.bounds}")
        _require(result.n > 0, key, "a value and no items")
        if result.interval is None:
            _require(bool(result.no_interval), key, "neither an interval nor the reason why there is none")
        else:
            inside = low <= result.interval.low <= result.value <= result.interval.high <= high
            _require(inside, key, f"{result.value} with {result.interval} in {result.bounds}")
        for level in result.references:
            _require(low <= level.value <= high, key, f"the level {level.name} is {level.value}")


def _require(holds: bool, key: str, what: str) -> None:
    if not holds:
        raise AssertionError(f"{key}: {what}")


def main(name: str) -> None:
    laws = family(name).module("laws")
    if laws is None:
        raise SystemExit(f"{name} has no module laws")
    for case in laws.CASES:
        print(f"{name}, {type(case).__name__}: {check_laws(case)} comparisons, every law holds")


if __name__ == "__main__":
    main(sys.argv[1])
