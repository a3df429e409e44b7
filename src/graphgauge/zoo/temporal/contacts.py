"""Recorded face-to-face contacts as a stream, in the format of SocioPatterns.

A line is a time in seconds, two people and the group of each, separated by tabs: they faced each other in the
20 seconds before that time. Consecutive lines of one pair are one contact. Its time is its start; its duration is not a
feature, because it is unknown at that time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphgauge.core.arrays import Ints
from graphgauge.core.errors import InputError
from graphgauge.zoo.temporal.stream import Question, Stream

# Largest gap in seconds between two lines of one contact; there is one record every 20 seconds.
_BREAK = 20
# A person without a record for this many seconds may have gone home.
_PRESENT = 3600
# Number of contacts tried per question before giving up.
_TRIES = 20
_COLUMNS = "time, person, person, group, group, separated by tabs"


@dataclass(frozen=True)
class Contacts:
    """The last `recent` contacts of each of two people, to predict whether they are in contact now."""

    recent: int = 6

    def stream(self, path: str | Path) -> Stream:
        time, people, groups = _read(Path(path))
        names, ends = np.unique(people, return_inverse=True)
        ends = ends.reshape(people.shape)
        kinds, kind = np.unique(groups, return_inverse=True)
        group = np.zeros((names.size, kinds.size))
        group[ends.ravel(), kind.ravel()] = 1
        begins = _beginnings(time, ends)
        if not np.ptp(time[begins]):
            raise InputError("all contacts begin at one time", where=str(path))
        return Stream(
            ends=np.sort(ends[begins], axis=1).T,
            time=time[begins].astype(np.float64),
            contact_features=np.empty((begins.size, 0)),
            node_features=group,
        )

    def questions(self, stream: Stream, count: int, seed: int) -> list[Question]:
        """Half are contacts at their start; in the others, one of the two is replaced by another person present."""
        draw = np.random.default_rng([seed, 1])
        found: list[Question] = []
        for _ in range(_TRIES * count):
            if len(found) >= 2 * (count // 2):
                return found
            contact = int(draw.integers(stream.time.size // 20, stream.time.size))
            time = float(stream.time[contact])
            one, other = draw.permutation(stream.ends[:, contact]).tolist()
            late = slice(int(np.searchsorted(stream.time, time - _PRESENT)), int(np.searchsorted(stream.time, time)))
            now = stream.ends[:, stream.time == time]
            busy = now[:, (now == one).any(0)]
            absent = np.setdiff1d(stream.ends[:, late], np.append(busy.ravel(), one))
            if absent.size and min(len(stream.recent(node, time, 1)) for node in (one, other)):
                found.append(Question(one, other, time, 1))
                found.append(Question(one, int(draw.choice(absent)), time, 0))
        raise InputError(
            f"{stream.time.size} contacts of {stream.nodes} people are too few to ask {count} questions",
            where="contacts",
        )


def _read(path: Path) -> tuple[Ints, Ints, np.ndarray[tuple[int, ...], np.dtype[np.str_]]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"cannot be read ({reason})", where=str(path)) from None
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row = line.split("\t")
        if len(row) != 5 or not all(cell.isascii() and cell.isdigit() and len(cell) < 18 for cell in row[:3]):
            raise InputError(f"line {number} is not {_COLUMNS}: {line!r:.80}", where=str(path))
        if int(row[1]) == int(row[2]):
            raise InputError(f"line {number} has a contact of person {int(row[1])} with themselves", where=str(path))
        rows.append(row)
    if not rows:
        raise InputError("contains no contacts", where=str(path), fix=f"Give lines of {_COLUMNS}.")
    whole = np.array([row[:3] for row in rows]).astype(np.int64)
    return whole[:, 0], whole[:, 1:], np.array([row[3:] for row in rows])


def _beginnings(time: Ints, ends: Ints) -> Ints:
    """The first lines of contacts, sorted by time."""
    low, high = ends.min(1), ends.max(1)
    order = np.lexsort((time, high, low))
    follows = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0) & (np.diff(time[order]) <= _BREAK)
    begins = order[np.concatenate([[True], ~follows])]
    in_time: Ints = begins[np.lexsort((high[begins], low[begins], time[begins]))]
    return in_time
