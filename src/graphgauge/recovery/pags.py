"""Partial ancestral graphs: the marks that follow from a maximal ancestral graph, by the rules of FCI.

A PAG represents the MAGs with the same separations. Its arrowheads and tails are those that all of them share. Without
selection bias the rules R0 to R4 find these arrowheads, and R8 to R10 the tails (Zhang 2008).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from graphgauge.recovery.marks import ARROWHEAD, CIRCLE, NO_MARK, TAIL, Ends

Cells = NDArray[np.bool_]


def pag_of(mag: Ends) -> Ends:
    """The marks of the PAG of a MAG without undirected edges; [i, j] is the mark at j."""
    circles = np.where(mag != NO_MARK, CIRCLE, NO_MARK).astype(np.int8)
    orienting = _Orienting(mag, circles)
    orienting.colliders()
    return orienting.marks()


def with_what_follows(pag: Ends, mag: Ends) -> Ends:
    """The marks of a graph and those that the rules add to it; the MAG decides where paths discriminate."""
    return _Orienting(mag, pag.copy()).marks()


class _Orienting:
    """The marks found so far; the rules are those of Zhang (2008), with his letters a, b, c, d for nodes."""

    def __init__(self, mag: Ends, ends: Ends) -> None:
        self.mag, self.ends = mag, ends
        self.adjacent = mag != NO_MARK
        self.near: list[list[int]] = [np.flatnonzero(row).tolist() for row in self.adjacent]

    def marks(self) -> Ends:
        for rules in ((self._away, self._along, self._across, self._discriminated), (self._short, self._uncovered)):
            while sum(rule() for rule in rules):
                pass
        return self.ends

    def _set(self, i: int, j: int, mark: int) -> bool:
        """The mark at j, where it is open."""
        if self.ends[i, j] != CIRCLE:
            return False
        self.ends[i, j] = mark
        return True

    def _open(self) -> list[tuple[int, int]]:
        """Edges i, j with a circle at j."""
        return [(int(i), int(j)) for i, j in np.argwhere(self.ends == CIRCLE)]

    def _leads(self, i: int, j: int) -> bool:
        return bool(self.ends[i, j] == ARROWHEAD and self.ends[j, i] == TAIL)

    def colliders(self) -> None:
        """R0: a *→ b ←* c with a and c apart."""
        for b in range(len(self.near)):
            heads = np.flatnonzero(self.mag[:, b] == ARROWHEAD)
            apart = ~self.adjacent[np.ix_(heads, heads)]
            np.fill_diagonal(apart, False)
            self.ends[heads[apart.any(1)], b] = ARROWHEAD

    def _away(self) -> bool:
        """R1: a *→ b o–* c with a and c apart gives b → c."""
        changed = False
        for c, b in self._open():
            into = self.ends[:, b] == ARROWHEAD
            into[c] = False
            if (into & ~self.adjacent[c]).any():
                changed |= self._set(c, b, TAIL)
                self._set(b, c, ARROWHEAD)
        return changed

    def _along(self) -> bool:
        """R2: a → b *→ c, or a *→ b → c, with a *–o c gives a *→ c."""
        changed = False
        for a, c in self._open():
            for b in self.near[a]:
                if (
                    self.ends[a, b] == ARROWHEAD
                    and self.ends[b, c] == ARROWHEAD
                    and (self.ends[b, a] == TAIL or self.ends[c, b] == TAIL)
                ):
                    changed |= self._set(a, c, ARROWHEAD)
                    break
        return changed

    def _across(self) -> bool:
        """R3: a *→ b ←* c, a *–o d o–* c, a and c apart, and d *–o b give d *→ b."""
        changed = False
        for d, b in self._open():
            middle = [x for x in self.near[d] if self.ends[x, b] == ARROWHEAD and self.ends[x, d] == CIRCLE]
            if any(not self.adjacent[a, c] for k, a in enumerate(middle) for c in middle[k + 1 :]):
                changed |= self._set(d, b, ARROWHEAD)
        return changed

    def _discriminated(self) -> bool:
        """R4: on a path that discriminates b before c, b o–* c becomes a ↔ b ↔ c if b is a collider, or b → c."""
        changed = False
        for c, b in self._open():
            for a in self.near[b]:
                if self.ends[c, b] != CIRCLE:
                    break
                if a == c or self.ends[b, a] != ARROWHEAD or not self._leads(a, c) or not self._reaches(a, b, c):
                    continue
                if self.mag[a, b] == ARROWHEAD and self.mag[c, b] == ARROWHEAD:
                    self._set(a, b, ARROWHEAD)
                    changed |= self._set(c, b, ARROWHEAD)
                else:
                    changed |= self._set(c, b, TAIL)
                self._set(b, c, ARROWHEAD)
        return changed

    def _reaches(self, a: int, b: int, c: int) -> bool:
        """Whether colliders that lead to c connect a with a node that is apart from c."""
        waiting, seen = [a], {a, b, c}
        while waiting:
            here = waiting.pop()
            for node in self.near[here]:
                if node in seen or self.ends[node, here] != ARROWHEAD:
                    continue
                if not self.adjacent[node, c]:
                    return True
                if self.ends[here, node] == ARROWHEAD and self._leads(node, c):
                    seen.add(node)
                    waiting.append(node)
        return False

    def _half_open(self) -> Iterator[tuple[int, int]]:
        """Edges a o→ c."""
        for c, a in self._open():
            if self.ends[a, c] == ARROWHEAD:
                yield a, c

    def _short(self) -> bool:
        """R8: a → b → c with a o→ c gives a → c."""
        changed = False
        for a, c in self._half_open():
            if any(self._leads(a, b) and self._leads(b, c) for b in self.near[a]):
                changed |= self._set(c, a, TAIL)
        return changed

    def _uncovered(self) -> bool:
        """R9 and R10: uncovered paths from a, on which all edges may lead away from it, give a → c for a o→ c.

        R9: one to c whose second node is apart from c. R10: two to parents of c, whose second nodes are apart.
        """
        changed = False
        reached: dict[tuple[int, int], set[int]] = {}
        for a, c in self._half_open():
            parents = {node for node in self.near[c] if self._leads(node, c)}
            possible = {node for node in self.near[c] if node != a and self._may_lead(node, c)}
            starts = [b for b in self.near[a] if b != c and self._may_lead(a, b)]
            if not possible or not starts:
                continue
            for b in starts:
                if (a, b) not in reached:
                    reached[a, b] = self._reached(a, b)
            apart = any(not self.adjacent[b, c] and c in reached[a, b] for b in starts)
            ends = {b: reached[a, b] & parents for b in starts}
            if apart or any(
                ends[b] and ends[d] and not self.adjacent[b, d] and len(ends[b] | ends[d]) > 1
                for k, b in enumerate(starts)
                for d in starts[k + 1 :]
            ):
                changed |= self._set(c, a, TAIL)
        return changed

    def _may_lead(self, i: int, j: int) -> bool:
        return bool(self.ends[j, i] != ARROWHEAD and self.ends[i, j] != TAIL)

    def _reached(self, a: int, b: int) -> set[int]:
        """The nodes on uncovered paths from a over b whose edges may all lead away from a."""
        waiting, seen = [(a, b)], {(a, b)}
        while waiting:
            before, here = waiting.pop()
            for node in self.near[here]:
                step = here, node
                if step in seen or node in (a, before) or self.adjacent[before, node]:
                    continue
                if self._may_lead(here, node):
                    seen.add(step)
                    waiting.append(step)
        return {node for _, node in seen}
