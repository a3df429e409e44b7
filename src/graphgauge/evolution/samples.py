"""The samples that metrics are computed on: of one cycle, each made when it is first read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.evolution import compared
from graphgauge.evolution.edges import among
from graphgauge.evolution.growth import Growth, Kept, largest_component, tgc_step
from graphgauge.evolution.homophily import LabelPairs
from graphgauge.evolution.probe import Folds, probe
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
    "after": compared.after,
    "before": compared.before,
    "matched": compared.matched,
    "newborn": compared.newborn,
    "held_out": compared.held_out,
    "labels": LabelPairs.from_state,
    "probe": _probe,
    "kept": _kept,
    "growth": _growth,
}
