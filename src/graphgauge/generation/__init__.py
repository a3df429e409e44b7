"""Generators of samples: whether what they make is valid, new, diverse, like real data and as requested."""

from typing import Any

from graphgauge.generation.evaluate import evaluate
from graphgauge.generation.graphs import Graphs, read_graphs
from graphgauge.generation.molecules import Molecules, read_molecules
from graphgauge.generation.sample import Samples, Sides
from graphgauge.generation.subjects import Case, collect
from graphgauge.generation.two_sample import energy_distance, mmd, prdc

__all__ = [
    "Case",
    "Graphs",
    "Molecules",
    "Samples",
    "Sides",
    "collect",
    "compare_samples",
    "energy_distance",
    "evaluate",
    "mmd",
    "prdc",
    "read_graphs",
    "read_molecules",
]


def __getattr__(name: str) -> Any:
    """The comparison of generators, which imports much that an evaluation does not need."""
    if name == "compare_samples":
        from graphgauge.generation.compare import compare_samples

        return compare_samples
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
