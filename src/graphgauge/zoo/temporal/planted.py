"""A seeded stream of contacts whose answers follow a planted rule, so that the true explanations are known.

People of a small town meet; in some meetings a parcel changes hands. The rule: the answer about two people is 1 if and
only if, within the window and among the last contacts of each, both exchanged a parcel with the same third person.
These contacts are the true explanation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Ints
from graphgauge.zoo.temporal.stream import Question, Stream

PARCEL = 0  # the column of a contact's features for parcels


@dataclass(frozen=True)
class Town:
    """Settings of the stream; the unit of time is one contact of the whole town."""

    people: int = 40
    acquaintances: int = 8
    contacts: int = 12_000
    parcels: float = 0.45
    recent: int = 6
    window: float = 70.0

    def stream(self, seed: int) -> Stream:
        draw = np.random.default_rng(seed)
        pairs = self._acquaintances(draw)
        ends = pairs[draw.integers(0, len(pairs), self.contacts)].T
        time = np.cumsum(draw.exponential(1.0, self.contacts))
        parcel = draw.random((self.contacts, 1)) < self.parcels
        return Stream(ends, time, parcel.astype(np.float64), np.empty((self.people, 0)))

    def _acquaintances(self, draw: np.random.Generator) -> Ints:
        """Pairs of people who can meet, with about this many others per person."""
        one, other = np.triu_indices(self.people, 1)
        known = draw.permutation(one.size)[: self.people * self.acquaintances // 2]
        return np.stack([one[known], other[known]], axis=1)

    def truth(self, stream: Stream, question: Question) -> NDArray[np.bool_]:
        """For each contact in the question's subgraph, whether it is part of the rule."""
        contacts = stream.around(question, self.recent)
        ends, time = stream.ends[:, contacts], stream.time[contacts]
        fresh = (stream.contact_features[contacts, PARCEL] > 0) & (question.time - time <= self.window)
        # The people that each of the two met; a common one is neither of the two.
        met = [
            np.where(fresh, np.where(ends[0] == person, ends[1], np.where(ends[1] == person, ends[0], -1)), -1)
            for person in (question.one, question.other)
        ]
        third = np.setdiff1d(np.intersect1d(met[0], met[1]), -1)
        return np.isin(met[0], third) | np.isin(met[1], third)

    def questions(self, stream: Stream, count: int, seed: int) -> list[Question]:
        """Half with the answer 1; half of the others are near misses: a shared contact, but old or without a parcel."""
        draw = np.random.default_rng([seed, 1])
        wanted = {"yes": count // 2, "near miss": count // 4, "no": count - count // 2 - count // 4}
        found: list[Question] = []
        while any(wanted.values()):
            time = float(draw.uniform(stream.time[self.contacts // 10], stream.time[-1]))
            third = int(draw.integers(self.people))
            met = np.setdiff1d(stream.ends[:, stream.recent(third, time, self.recent)], third)
            if met.size < 2:
                continue
            near = draw.random() < 0.8
            one, other = draw.choice(met if near else self.people, 2, replace=False).tolist()
            question = Question(one, other, time, 0)
            answer = int(self.truth(stream, question).any())
            kind = "yes" if answer else "near miss" if near else "no"
            if wanted[kind]:
                wanted[kind] -= 1
                found.append(Question(one, other, time, answer))
        return found
