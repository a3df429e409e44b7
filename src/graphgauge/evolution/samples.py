"""The samples of one cycle, each made when it is first read, and what checks look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.evolution import areas
from graphgauge.evolution.edges import among, set_of
from graphgauge.evolution.growth import Growth, Kept, largest_component, tgc_step, two_sides
from graphgauge.evolution.homophily import Folds, LabelPairs, probe
from graphgauge.evolution.state import State


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


def _probe(state: State) -> Folds:
    nodes, classes = state.original.ids, state.original.classes[state.original.original]
    used = (classes >= 0) & state.after.present[nodes]
    rows = state.after.rows[nodes[used]]
    return probe(rows, classes[used], folds=state.options.folds, seed=state.options.seed)


def _kept(state: State) -> Kept:
    born = state.past.born
    return Kept(0, 0) if born is None else Kept(len(born), int(np.count_nonzero(among(born, state.births.after))))


def _growth(state: State) -> Growth:
    if state.tgc is not None:
        return Growth(state.tgc, state.nodes)
    component = largest_component(state.births.after, state.nodes)
    return Growth(tgc_step(len(state.births), state.nodes, component, state.past.tgc), state.nodes)


_MAKERS: Mapping[str, Callable[[State], Any]] = {
    "after": areas.after,
    "before": areas.before,
    "matched": areas.matched,
    "newborn": areas.newborn,
    "held_out": areas.held_out,
    "labels": LabelPairs.from_state,
    "probe": _probe,
    "kept": _kept,
    "growth": _growth,
}


# ---- what checks look at


def of_cycle(samples: Samples, *, first: bool) -> dict[str, Any]:
    """That of one cycle; the sides of the graph and held-out edges in it are looked for in the first one."""
    state, births, sides, held = samples.state, samples.state.births, None, None
    gained = areas.gains(samples["after"], samples["before"]) if "after" in samples.made else None
    if first and state.types is None and len(births):
        sides = two_sides(births.either, state.nodes)
    if first and len(state.test_edges):
        test = set_of(state.test_edges, state.options.directed)
        held = len(test), int(np.count_nonzero(among(test, births.before)))
    return {
        "balances": () if births.balance is None else (births.balance,),
        "paired": () if gained is None else (gained,),
        "inferred": births.inferred,
        "sides": sides,
        "held": held,
    }


def of_cycles(cycles: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """That of all cycles together."""
    return {
        "balances": tuple(each for own in cycles for each in own["balances"]),
        "paired": tuple(each for own in cycles for each in own["paired"]),
        "inferred": sum(own["inferred"] for own in cycles),
        "sides": next((own["sides"] for own in cycles if own["sides"]), None),
        "held": next((own["held"] for own in cycles if own["held"]), None),
    }
