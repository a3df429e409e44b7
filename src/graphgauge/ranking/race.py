"""Races: the candidates of a query are read in random order until one beats the right answer.

T, the position of the first that does, or M + 1 if none of the M does, gives T / (M + 1), which is 1 / rank on average,
exactly. With a hard set read first, of which G beat the right answer, the rest is read in random order up to the share
U = 1 − V^(1 / (G + 1)), V uniform; 1 / (G + 1) if none of it beats the right answer, else 0, is 1 / rank on average.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import OptionError, one_of
from graphgauge.ranking.all_entities import Compared
from graphgauge.ranking.drawn import EntityQueries, Source
from graphgauge.ranking.entity_sets import EntitySets, SomeSets

# Ties are broken by coin, or by rule; a mean place between ties is no place in a race.
RACE_TIES = ("expected", "optimistic", "pessimistic")
# Candidates of a query scored at once, at first; the number doubles from turn to turn.
_FIRST = 64


class Race:
    """Reciprocal ranks of queries, unbiased, from a part of their candidates."""

    def __init__(self, source: Source, ties: str, hard: Any = None) -> None:
        sides: list[EntityQueries] = getattr(source, "races", [])
        if not sides or not all(side.one_each and side.can_race for side in sides):
            raise OptionError(
                'inner="race" needs one target per query, and scores of some entities without those of all',
                fix='Pass embeddings, or a function that scores the entities it gets; or leave inner at "exact".',
            )
        self._sides, self._ties = sides, one_of("tie rule of a race", ties, RACE_TIES)
        self._source, self.entities = sides[0], sides[0].entities
        self._rng = np.random.default_rng(0)
        self._compared: Compared
        self._scorer: Any = None
        self._given = None if hard is None else SomeSets(hard, source.queries, "hard")
        self._hard: EntitySets | None = None
        self.scores = 0

    def run(self, rows: Ints, seed: Sequence[int] = (0,), start: int = 0) -> Floats:
        """The value of each query; each race has a seed of its own, with its number from `start` on."""
        values = np.empty(len(rows))
        query, side = np.divmod(rows, len(self._sides))
        for number, source in enumerate(self._sides):
            places = np.flatnonzero(side == number)
            if not len(places):
                continue
            self._source = source
            self._scorer, self._field = source.asking(query[places])
            self._negatives = self._field.negatives()
            self._hard = (
                None
                if self._given is None
                else EntitySets.of(self._given.take(rows[places]), len(places), source.entities, "hard")
            )
            for row, place in enumerate(places.tolist()):
                self._rng = np.random.default_rng([*seed, start + place])
                values[place] = self._one(row)
        return values

    def _one(self, row: int) -> float:
        field, scorer = self._field, self._scorer
        target = field.answers.within(slice(row, row + 1))
        self._compared = scorer.racing(row, target)
        absent = field.absent.within(slice(row, row + 1))
        # The place of the right answer among those that tie with it, for the rule that takes the mean over all.
        lost_coins = {"optimistic": 0.0, "pessimistic": 1.0}.get(self._ties, self._rng.random())
        rest, ahead, skip = int(self._negatives[row]), 0, absent
        if self._hard is not None:
            hard = np.setdiff1d(self._hard.within(slice(row, row + 1)), absent)
            if field.allowed is not None:
                hard = np.intersect1d(hard, self._allowed(row))
            ahead = int(np.count_nonzero(self._beats(hard, lost_coins)))
            rest, skip = rest - len(hard), np.union1d(absent, hard)
            # Candidates come at uniform times, and the race ends at a time that is drawn first.
            end = 1.0 - self._rng.random() ** (1.0 / (ahead + 1))
            running = int(self._rng.binomial(rest, end))
            return 0.0 if self._first(row, skip, running, lost_coins) <= running else 1.0 / (ahead + 1)
        return self._first(row, skip, rest, lost_coins) / (rest + 1)

    def _first(self, row: int, skip: Ints, running: int, lost_coins: float) -> int:
        """The position, from 1, of the first of the `running` that beats the right answer; one more if none does."""
        start = 0
        for part in self._order(row, skip):
            part = part[: running - start]
            beats = self._beats(part, lost_coins) if len(part) else np.zeros(0, bool)
            if beats.any():
                return start + int(np.argmax(beats)) + 1
            start += len(part)
            if start >= running:
                break
        return running + 1

    def _order(self, row: int, skip: Ints) -> Iterator[Ints]:
        """The candidates but those to skip, each once, in random order, in parts that grow."""
        every = self._allowed(row) if self._field.allowed is not None else None
        count = self._source.entities if every is None else len(every)
        size, seen = _FIRST, skip
        while size * 8 < count:
            # The order in which numbers first occur among independent draws is a random one.
            drawn = self._rng.integers(count, size=size)
            drawn = drawn if every is None else every[drawn]
            drawn = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
            place = np.minimum(np.searchsorted(seen, drawn), max(len(seen) - 1, 0))
            fresh = drawn if not len(seen) else drawn[seen[place] != drawn]
            yield fresh
            seen, size = np.union1d(seen, fresh), 2 * size
        left = np.ones(self._source.entities, bool)
        left[seen] = False
        rest = np.flatnonzero(left) if every is None else every[left[every]]
        self._rng.shuffle(rest)
        for start in range(0, len(rest), size):
            yield rest[start : start + size]

    def _allowed(self, row: int) -> Ints:
        field = self._field
        assert field.allowed is not None
        return field.allowed.within(slice(int(field.kind[row]), int(field.kind[row]) + 1))

    def _beats(self, entities: Ints, lost_coins: float) -> NDArray[np.bool_]:
        greater, tied, again = self._compared(entities)
        self.scores += len(entities) + again
        if tied.any():
            tied &= self._rng.random(len(tied)) < lost_coins
        beats: NDArray[np.bool_] = greater | tied
        return beats
