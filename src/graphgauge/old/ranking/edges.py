"""Training and test edges as integers for fast lookup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Ints, as_numeric
from graphgauge.core.errors import InputError


@dataclass(frozen=True)
class Edges:
    """Pairs, or triples of head, relation and tail; pairs have one relation, 0."""

    head: Ints
    relation: Ints
    tail: Ints

    @classmethod
    def of(cls, edges: Any, name: str) -> Edges:
        array = as_numeric(edges, name)
        if array.ndim != 2 or array.shape[1] not in (2, 3) or array.dtype.kind not in "iu":
            raise InputError(
                f"expected whole numbers of shape (n, 2) or (n, 3), found {array.dtype} {array.shape}", where=name
            )
        if array.size and array.min() < 0:
            raise InputError(f"names the node {array.min()}", where=name, fix="Number nodes and relations from 0.")
        columns = array.astype(np.int64, copy=False).T
        middle = columns[1] if len(columns) == 3 else np.zeros(array.shape[0], dtype=np.int64)
        return cls(columns[0], middle, columns[-1])

    @classmethod
    def all_of(cls, **lists: Any) -> list[Edges]:
        """Several lists under their names, without those that are None; all of pairs, or all of triples."""
        given = {name: edges for name, edges in lists.items() if edges is not None}
        found = [cls.of(edges, name) for name, edges in given.items()]
        widths = {name: np.shape(edges)[1] for name, edges in given.items()}
        if len(set(widths.values())) > 1:
            named = ", ".join(f"{name} (n, {width})" for name, width in widths.items())
            raise InputError(f"pairs and triples are mixed: {named}", fix="Pass all with relations, or all without.")
        return found

    def __len__(self) -> int:
        return len(self.head)

    @property
    def reversed(self) -> Edges:
        return Edges(self.tail, self.relation, self.head)

    def take(self, chosen: Any) -> Edges:
        return Edges(self.head[chosen], self.relation[chosen], self.tail[chosen])

    @staticmethod
    def joined(lists: Sequence[Edges]) -> Edges:
        columns = zip(*((each.head, each.relation, each.tail) for each in lists), strict=True)
        return Edges(*(np.concatenate(column) for column in columns))

    @cached_property
    def repeats(self) -> float:
        """The share of edges that repeat another one."""
        rows = np.stack([self.head, self.relation, self.tail], axis=1)
        return 1 - len(np.unique(rows, axis=0)) / len(self) if len(self) else 0.0

    def among(self, others: Edges) -> NDArray[np.bool_]:
        """Which of these edges are among the others."""
        nodes = 1 + max(int(ids.max(initial=0)) for ids in (self.head, self.tail, others.head, others.tail))
        relations = 1 + max(int(self.relation.max(initial=0)), int(others.relation.max(initial=0)))
        if nodes * nodes * relations > np.iinfo(np.int64).max:
            raise InputError("node numbers are too large to be looked up", fix="Number nodes from 0 without gaps.")
        mine, theirs = ((part.head * relations + part.relation) * nodes + part.tail for part in (self, others))
        return np.isin(mine, theirs)
