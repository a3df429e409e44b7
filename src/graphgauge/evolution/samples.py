"""The samples of one cycle, each made when it is first read, and what checks look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.evolution import areas
from graphgauge.evolution.edges import among, set_of
from graphgauge.evolution.growth import two_sides
from graphgauge.evolution.homophily import LabelPairs
from graphgauge.evolution.probe import Folds
from graphgauge.evolution.state import State

_MAKERS: Mapping[str, Callable[[State], Any]] = {
    "after": areas.after,
    "before": areas.before,
    "matched": areas.matched,
    "newborn": areas.newborn,
    "held_out": areas.held_out,
    "labels": LabelPairs,
    "probe": Folds.from_state,
    "cycle": lambda state: state,
}


class Samples(Mapping[str, Any]):
    """Samples of a cycle by name."""

    def __init__(self, state: State, names: Sequence[str]) -> None:
        self.state, self._names = state, names
        self.made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.made:
            self.made[name] = _MAKERS[name](self.state)
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def available(*, labels: bool, test_edges: bool) -> list[str]:
    """The names of the samples that can be made."""
    absent = {"labels": not labels, "probe": not labels, "held_out": not test_edges}
    return [name for name in _MAKERS if not absent.get(name)]


def evidence_of(samples: Samples, *, first: bool) -> dict[str, tuple[Any, ...]]:
    """What checks look at, nothing or one entry each; sides of the graph and test edges in it only in the `first`."""
    state, births = samples.state, samples.state.births
    gained = areas.gains(samples["after"], samples["before"]) if "after" in samples.made else None
    look_for_sides = first and state.types is None and len(births) > 0
    sides = two_sides(births.either, state.nodes) if look_for_sides else None
    test = set_of(state.test_edges, state.options.directed) if first else state.test_edges[:0]
    return {
        "balances": (births.balance,),
        "inferred": (births.inferred,),
        "paired": () if gained is None else (gained,),
        "sides": () if sides is None else (sides,),
        "held": ((len(test), int(np.count_nonzero(among(test, births.before)))),) if len(test) else (),
    }
