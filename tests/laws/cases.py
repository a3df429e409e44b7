"""What the laws need to know of a family, and the list of what they run over.

A case is one form of a family's input. A family adds a module `{family}_case.py` beside this one with its cases in
`CASES`; every registered metric has to be covered by one of them.
"""

from __future__ import annotations

import abc
import functools
import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from graphgauge.core.registry import metrics

# Of either registry, as long as rooms are not rebuilt.
Metric = Any
Evaluation = Any


# Keyword arguments of the family's evaluate().
Inputs = dict[str, Any]


class Case(abc.ABC):
    """One form of input. Scores are whole numbers from 0 to 16 as float64, which every dtype can represent."""

    name: str
    family: str
    # The arguments whose dtype and place in memory must not matter.
    scores: tuple[str, ...]

    @abc.abstractmethod
    def covers(self, metric: Metric) -> bool:
        """Whether this form can be measured by the metric."""

    def parameters(self, metric: Metric) -> Iterable[dict[str, Any]]:
        """The parameters to try a metric with."""
        return [dict(metric.params)]

    @functools.cached_property
    def entries(self) -> dict[str, Metric]:
        """The keys to evaluate, and the metric of each."""
        covered = [metric for metric in metrics(self.family) if self.covers(metric)]
        return {metric.key_of(**params): metric for metric in covered for params in self.parameters(metric)}

    def lawful(self, law: str) -> dict[str, Metric]:
        """The keys that a law is declared to hold for."""
        return {key: metric for key, metric in self.entries.items() if metric.laws[law] is True}

    def precondition(self, law: str, metric: Metric, *inputs: Inputs) -> bool:
        """Whether a law, which may hold only on some inputs, is to be tried on these."""
        return True

    @abc.abstractmethod
    def inputs(self) -> st.SearchStrategy[Inputs]:
        """Small inputs, with ties, of at least one item."""

    @abc.abstractmethod
    def typical(self) -> Inputs:
        """A few hundred items, the same every time."""

    @abc.abstractmethod
    def large(self) -> Inputs:
        """An input of several blocks, so that threads share the work."""

    @abc.abstractmethod
    def empty(self) -> Inputs:
        """Nothing to measure."""

    @abc.abstractmethod
    def evaluate(self, inputs: Inputs) -> Evaluation:
        """All of `entries`, through the family's public entry point."""

    @abc.abstractmethod
    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        """The same items in another order."""

    @abc.abstractmethod
    def improved(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        """A change for the better: no metric with the law `monotone` may call it worse."""

    @abc.abstractmethod
    def score_places(self, inputs: Inputs) -> list[tuple[str, tuple[int, ...]]]:
        """Arguments and indices of the scores that count, where NaN has to be refused."""

    def split(self, inputs: Inputs, parts: int, rng: np.random.Generator) -> list[Inputs]:
        """The items dealt out to shards; needed where `merge` is declared, as are the next two."""
        raise NotImplementedError

    def whole(self, inputs: Inputs) -> Inputs:
        """The inputs as the only batch of a state."""
        return {name: value for name, value in inputs.items() if name not in ("ties", "catalog")}

    def state(self, inputs: Inputs | None) -> Any:
        """A state that has counted the inputs, or nothing."""
        raise NotImplementedError

    def evaluate_state(self, state: Any, inputs: Inputs) -> Evaluation:
        """All of `entries` from a state, with the options in the inputs."""
        raise NotImplementedError

    def swapped(self, inputs: Inputs) -> Inputs:
        """Truth and prediction exchanged; needed where `symmetry` is declared."""
        raise NotImplementedError


def all_cases() -> list[Case]:
    modules = sorted(path.stem for path in Path(__file__).parent.glob("*_case.py"))
    return [case for name in modules for case in importlib.import_module(f"tests.laws.{name}").CASES]
