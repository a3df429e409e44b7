"""What is evaluated: a cycle as given, and the options of the evaluation, checked once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphgauge.core.errors import OptionError, one_of
from graphgauge.core.options import nan_policy, whole_number
from graphgauge.core.types import Ints
from graphgauge.evolution.edges import as_edges
from graphgauge.evolution.points import SCORES, Score

UNDECLARED = ("refuse", "report")
# Each random draw in a cycle has its own stream, so that omitting a metric does not change the others.
_STREAMS = {"births": 0, "matched": 1, "held_out": 2, "newborn": 3}


@dataclass(frozen=True)
class Cycle:
    """One cycle of one run: its births, and the system before and after it, as given.

    `previous_embeddings` and `previous_edges` are None if unknown; births that are None are inferred from the graphs.
    """

    embeddings: Any
    new_edges: Any
    all_edges: Any
    cycle: int = 0
    previous_embeddings: Any = None
    tgc: float | None = None
    previous_edges: Any = None
    pools: Any = None
    inserted_embeddings: Any = None
    condition: str = "run"
    seed: int = 0


@dataclass(frozen=True)
class Past:
    """What a run remembers as codes of edges: the graph after its last cycle, every edge it had, its births; its tgc.

    The graph is None where a cycle is left out, because edges may have appeared in it.
    """

    edges: Ints | None = None
    seen: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    born: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    tgc: float | None = None


@dataclass(frozen=True)
class Options:
    """Options of the evaluation. `negatives` is how many pairs are drawn for each birth, or "all"."""

    negatives: int | str = 1
    folds: int = 5
    nan: str = "raise"
    seed: int = 0
    undeclared: str = "refuse"
    score: Score = "poincare"
    directed: bool = False
    test_edges: Any = None
    node_types: Any = None

    def __post_init__(self) -> None:
        if not callable(self.score):
            one_of("score", self.score, SCORES)
        if not isinstance(self.directed, bool | np.bool_):
            raise OptionError(f"directed must be True or False, not {self.directed!r:.80}")
        if self.negatives != "all":
            whole_number("negatives", self.negatives, 1)
        one_of("undeclared", self.undeclared, UNDECLARED)
        nan_policy(self.nan)
        whole_number("folds", self.folds, 2)
        whole_number("seed", self.seed)
        as_edges(self.test_edges, "test_edges")

    @property
    def per_birth(self) -> int | None:
        """How many pairs are drawn for each birth; None for all."""
        return None if self.negatives == "all" else int(self.negatives)

    @property
    def described(self) -> dict[str, Any]:
        """What a result file says about them."""
        return {name: getattr(self, name) for name in ("negatives", "folds", "seed", "directed")} | {
            "score": self.scored
        }

    @property
    def scored(self) -> str:
        return self.score if isinstance(self.score, str) else "a function"

    def rng(self, cycle: int, use: str) -> np.random.Generator:
        """The draws of one cycle for one use."""
        return np.random.default_rng([self.seed, cycle % 2**32, _STREAMS[use]])
