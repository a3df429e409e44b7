"""When the nodes of a run come and leave: a chance replay may give a birth only a target that lived as long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from graphgauge.core.arrays import Ints
from graphgauge.evolution.inputs import Flags

NEVER = np.iinfo(np.int64).max


class Life(NamedTuple):
    """From the cycle in which a node comes to that in which it leaves; `into` is the node it merges into, or −1."""

    came: int
    left: int
    into: int = -1


class Fate(NamedTuple):
    """What a node is in one cycle: new or not, and when and how it leaves."""

    is_new: bool
    left: int
    into: int


@dataclass(frozen=True)
class Lives:
    """The first cycle of every node (−1: at the start), and all lives of the nodes that ever leave."""

    arrived: Ints
    ended: Mapping[int, tuple[Life, ...]] = field(default_factory=dict)

    def fate(self, node: int, cycle: int) -> Fate | None:
        """None if the node is not there after the cycle."""
        if node not in self.ended:
            came = self._first[node]
            return Fate(came == cycle, NEVER, -1) if came <= cycle else None
        for came, left, into in self.ended[node]:
            if came <= cycle < left:
                return Fate(came == cycle, left, into)
        return None

    def alike(self, one: int, other: int, cycle: int) -> bool:
        """Whether both are there after a cycle, as new as each other, and leave together."""
        if one not in self.ended and other not in self.ended:
            first, second = self._first[one], self._first[other]
            return first <= cycle and second <= cycle and (first == cycle) == (second == cycle)
        fate = self.fate(one, cycle)
        return fate is not None and fate == self.fate(other, cycle)

    @cached_property
    def _first(self) -> list[int]:
        return self.arrived.tolist()

    def with_fate(self, fate: Fate, cycle: int) -> Flags:
        """The nodes that have this fate in a cycle."""
        stays = fate.left == NEVER
        found = (self.arrived == cycle if fate.is_new else self.arrived < cycle) & stays
        for node in self.ended:
            found[node] = self.fate(node, cycle) == fate
        return found

    @cached_property
    def left(self) -> Ints:
        """The cycle in which each node leaves for good; `NEVER` if it is there at the end."""
        found = np.full(len(self.arrived), NEVER)
        for node, lives in self.ended.items():
            found[node] = lives[-1].left
        return found


class Register:
    """Lives while a run is read, cycle by cycle."""

    def __init__(self, arrived: Ints) -> None:
        self.arrived, self._came = arrived, arrived.copy()
        self._ended: dict[int, list[Life]] = {}

    def arrive(self, nodes: Ints, cycle: int) -> None:
        first = nodes[self.arrived[nodes] == NEVER]
        self.arrived[first] = cycle
        self._came[nodes] = cycle

    def leave(self, nodes: Ints, cycle: int, into: Mapping[int, int]) -> None:
        for node in nodes.tolist():
            came = int(self._came[node])
            if came < cycle:
                self._ended.setdefault(node, []).append(Life(came, cycle, into.get(node, -1)))
            self._came[node] = NEVER

    def lives(self) -> Lives:
        back = {node: [Life(int(self._came[node]), NEVER)] for node in self._ended if self._came[node] != NEVER}
        return Lives(self.arrived, {node: (*own, *back.get(node, ())) for node, own in self._ended.items()})
