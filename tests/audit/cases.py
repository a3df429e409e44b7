"""What a check is held to: clean inputs that it must pass in silence, and faults planted in three strengths.

A family adds a module `{family}_cases.py` with its cases in `CASES`; every registered check has to have one.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.audit import Check, checks

Materials = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """`strengths` describes three sizes of the fault, the weakest first, and gives each to `planted`."""

    check: str
    clean: Callable[[np.random.Generator], Materials]
    planted: Callable[[np.random.Generator, Any], Materials]
    strengths: Mapping[str, Any]

    @property
    def registered(self) -> Check:
        return next(item for item in checks() if item.name == self.check)

    def fires(self, materials: Materials) -> bool:
        assert all(materials.get(name) is not None for name in self.registered.needs)
        return self.registered.run(materials) is not None

    def alarms(self, draws: int, seed: int = 0) -> float:
        """The share of clean inputs on which it fires."""
        return float(np.mean([self.fires(self.clean(np.random.default_rng((seed, i)))) for i in range(draws)]))

    def power(self, strength: str, draws: int, seed: int = 1) -> float:
        """The share of planted faults that it finds."""
        planted = self.strengths[strength]
        return float(
            np.mean([self.fires(self.planted(np.random.default_rng((seed, i)), planted)) for i in range(draws)])
        )


def all_cases() -> list[Case]:
    modules = sorted(path.stem for path in Path(__file__).parent.glob("*_cases.py"))
    return [case for name in modules for case in importlib.import_module(f"tests.audit.{name}").CASES]
