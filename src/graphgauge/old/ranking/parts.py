"""What a ranking state keeps: the layout of its cells and its lists, and whether saved ones are possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Floats, Ints
from graphgauge.old.ranking.labels import Labels
from graphgauge.old.ranking.lists import QueryLists


@dataclass(frozen=True)
class Layout:
    """What the cells of a state have: the same for all batches."""

    axes: tuple[str, ...] = ()
    clusters: str | None = None
    weighted: bool = False
    lists: bool = False
    cut: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of a cell, in their order."""
        groups = [f"group:{axis}" for axis in self.axes]
        optional = [name for name, there in (("cluster", self.clusters), ("weight", self.weighted)) if there]
        return (*groups, *optional, "greater", "equal", "candidates")

    def __str__(self) -> str:
        form = "several positives per query" if self.lists else "one positive per query"
        form = "lists of the first items" if self.cut else form
        weights = "weights" if self.weighted else "no weights"
        return f"{form}, groups {list(self.axes)}, clusters {self.clusters or 'none'} and {weights}"


@dataclass(frozen=True)
class CutLists:
    """How far lists are known: their first `depth` places, and whether the number of all items is known.

    `unfilled` places have no item, and `skipped` excluded items were passed over.
    """

    depth: int
    items_known: bool
    unfilled: int = 0
    skipped: int = 0

    def joined(self, other: CutLists | None) -> CutLists:
        """What is known of both: the places that all lists have."""
        if other is None:
            return self
        return CutLists(
            min(self.depth, other.depth),
            self.items_known and other.items_known,
            self.unfilled + other.unfilled,
            self.skipped + other.skipped,
        )

    @classmethod
    def restored(cls, facts: Mapping[str, Any] | None) -> CutLists | None:
        """As saved, if that is possible."""
        if facts is None:
            return None
        cut = cls(**facts)
        if cut.depth < 1 or cut.unfilled < 0 or cut.skipped < 0 or not isinstance(cut.items_known, bool):
            raise ValueError("impossible lengths of lists")
        return cut


@dataclass(frozen=True)
class ListPart:
    """Candidate lists that were counted together, with the codes of their groups; `ids` only if they are kept."""

    lists: QueryLists
    groups: dict[str, Ints]
    cluster: Ints | None = None
    weight: Floats | None = None
    ids: AnyArray | None = None

    def columns(self) -> dict[str, AnyArray]:
        """All arrays under their names, as they are saved."""
        others = {"cluster": self.cluster, "weight": self.weight, "ids": self.ids}
        return {
            **self.lists.columns(),
            **{f"group:{axis}": codes for axis, codes in self.groups.items()},
            **{name: values for name, values in others.items() if values is not None},
        }

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> ListPart:
        apart = {name: columns.get(name) for name in ("cluster", "weight", "ids")}
        groups = {name.removeprefix("group:"): codes for name, codes in columns.items() if name.startswith("group:")}
        counts = {name: values for name, values in columns.items() if name not in apart and ":" not in name}
        part = cls(QueryLists(**counts), groups, **apart)
        part.lists.check()
        if {len(values) for values in (*groups.values(), *apart.values()) if values is not None} - {len(part.lists)}:
            raise ValueError("lists of different lengths")
        return part

    @classmethod
    def join(cls, parts: Sequence[ListPart]) -> ListPart:
        def joined(name: str) -> Any:
            values = [getattr(part, name) for part in parts]
            return None if values[0] is None else np.concatenate(values)

        groups = {axis: np.concatenate([part.groups[axis] for part in parts]) for axis in parts[0].groups}
        lists = QueryLists.join([part.lists for part in parts])
        return cls(lists, groups, joined("cluster"), joined("weight"), joined("ids"))


def in_range(weights: Floats) -> Floats:
    """Weights up to 1: only their ratios matter, and sums and squares of larger ones could overflow."""
    exponent = np.frexp(weights.max(initial=0.0))[1]
    scaled: Floats = np.ldexp(weights, -exponent)  # a power of two, so that no digit is lost
    return scaled


def sound_ids(saved: AnyArray) -> AnyArray:
    """Saved ids, if they are sorted and distinct."""
    if saved.ndim != 1 or saved.dtype.kind not in "iU" or (saved[1:] <= saved[:-1]).any():
        raise ValueError("ids out of order")
    return saved


def sound_cells(saved: AnyArray, names: Sequence[str], labels: Mapping[str, Labels]) -> tuple[list[Ints], Ints]:
    """The columns and counts of a saved histogram, if they are possible counts."""
    if saved.dtype != np.int64 or len(saved) != len(names) + 1:
        raise ValueError("wrong columns")
    *rows, counts = saved
    columns = dict(zip(names, rows, strict=True))
    greater, equal, candidates = (columns[name] for name in ("greater", "equal", "candidates"))
    possible = (greater >= 0) & (equal >= 0) & (greater + equal < candidates) & (counts > 0)
    for axis, known in labels.items():
        possible &= (columns[f"group:{axis}"] >= 0) & (columns[f"group:{axis}"] < len(known))
    if "weight" in columns:
        weight = columns["weight"].view(float)
        possible &= np.isfinite(weight) & (weight > 0)
    if not possible.all():
        raise ValueError("impossible counts")
    return rows, counts
