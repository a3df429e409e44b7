"""The steps that were counted, so that none counts twice."""

from __future__ import annotations

from collections.abc import Iterable

from graphgauge.core.errors import InputError

Range = tuple[int, int]


class Steps:
    """Half-open ranges of steps, sorted and disjoint."""

    def __init__(self, ranges: Iterable[Iterable[int]] = ()) -> None:
        self.ranges: list[Range] = []
        for first, end in sorted((int(first), int(end)) for first, end in ranges):
            if not 0 <= first < end or (self.ranges and first < self.ranges[-1][1]):
                raise ValueError("ranges that overlap or are empty")
            if self.ranges and first == self.ranges[-1][1]:
                self.ranges[-1] = self.ranges[-1][0], end
            else:
                self.ranges.append((first, end))

    def refuse_shared(self, other: Steps, fix: str) -> None:
        """Raise an error that names the first steps that both contain."""
        mine, theirs = iter(self.ranges), iter(other.ranges)
        one, two = next(mine, None), next(theirs, None)
        while one is not None and two is not None:
            first, end = max(one[0], two[0]), min(one[1], two[1])
            if first < end:
                raise InputError(f"time steps {first} to {end - 1} were already counted", where="start", fix=fix)
            if one[1] <= two[1]:
                one = next(mine, None)
            else:
                two = next(theirs, None)

    def __len__(self) -> int:
        return sum(end - first for first, end in self.ranges)

    def union(self, other: Steps) -> Steps:
        """The union of disjoint ranges."""
        return Steps([*self.ranges, *other.ranges])
