"""Problems as JSON files and as grids."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import InputError, UnknownNameError
from graphgauge.core.files import read_json, write_text
from graphgauge.zoo.moonboard.board import CHANNELS, GRADES, SHAPE, Grids, cell, grade_name, hold, remarks

_FORMATS = (
    'A problems file is {"data": [{"grade": "6B+", "moves": [{"description": "J4", "isStart": true, "isEnd": false}, '
    "…]}, …]} or the list alone; keys may be in PascalCase."
)


# Maximum number of grades named in a note.
_LISTED = 8


@dataclass(frozen=True)
class Problems:
    """Grids with labels of their grades; `grades[label]` is the name of a grade.

    `passed_over` counts the skipped problems of the file by grade.
    """

    grids: Grids
    labels: NDArray[np.int64]
    grades: tuple[str, ...]
    passed_over: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def names(self) -> NDArray[np.str_]:
        return np.array(self.grades)[self.labels]

    @property
    def hash(self) -> str:
        """SHA-256 of the grids and their grades, equal for all files with the same problems in this order."""
        digest = hashlib.sha256(np.packbits(self.grids).tobytes())
        digest.update("\n".join(self.names.tolist()).encode())
        return digest.hexdigest()

    @property
    def remark(self) -> str | None:
        """A note about the number and the grades of skipped problems."""
        if not self.passed_over:
            return None
        named = [f"{grade} ({count})" for grade, count in sorted(self.passed_over.items())]
        listed = ", ".join(named[:_LISTED]) + (" …" if len(named) > _LISTED else "")
        return f"{sum(self.passed_over.values())} problems of other or unknown grades skipped: {listed}"

    def only(self, grades: Sequence[str]) -> Problems:
        """The problems of these grades, labelled in order of difficulty."""
        wanted = tuple(grade for grade in GRADES if grade in grades)
        relabel = np.array([wanted.index(name) if name in wanted else -1 for name in self.grades], dtype=np.int64)
        labels = relabel[self.labels]
        dropped = Counter(self.names[labels < 0].tolist())
        passed_over = dict(Counter(self.passed_over) + dropped)
        return Problems(self.grids[labels >= 0], labels[labels >= 0], wanted, passed_over)

    def split(self, seed: int, share: float = 0.2) -> tuple[Problems, Problems]:
        """A training and a validation part, stratified by grade."""
        draw = np.random.default_rng(seed)
        order = draw.permutation(len(self))
        held = np.zeros(len(self), dtype=bool)
        for label in range(len(self.grades)):
            members = order[self.labels[order] == label]
            held[members[: int(np.floor(share * len(members) + 0.5 + 1e-9))]] = True
        return self._part(~held), self._part(held)

    def _part(self, kept: NDArray[np.bool_]) -> Problems:
        return Problems(self.grids[kept], self.labels[kept], self.grades)


def graded(grids: Grids, labels: NDArray[np.int64]) -> Problems:
    """Problems with labels from the list of all grades, relabelled by the grades that occur."""
    return Problems(grids, labels, GRADES).only([GRADES[label] for label in np.unique(labels)])


def chosen_grades(text: str | None) -> tuple[str, ...] | None:
    """Parse grades separated by commas; None means all."""
    if text is None:
        return None
    names = [part.strip() for part in text.split(",") if part.strip()]
    for name in names:
        if grade_name(name) is None:
            raise UnknownNameError("grade", name, GRADES)
    return tuple(str(grade_name(name)) for name in names)


def read_problems(path: str | Path, grades: Sequence[str] | None = None) -> Problems:
    """Read the problems of a file; with `grades`, problems of other grades are skipped."""
    where = str(path)
    content = read_json(path, fix=_FORMATS)
    items = _field(content, "data") if isinstance(content, Mapping) else content
    if not isinstance(items, list):
        raise InputError("there is no list of problems", where=where, fix=_FORMATS)
    grids: list[Grids] = []
    labels: list[int] = []
    unknown: list[tuple[int, Any]] = []
    others: Counter[str] = Counter()
    for number, item in enumerate(items):
        place = f"{where}, problem {number}"
        if not isinstance(item, Mapping):
            raise InputError("is not an object", where=place, fix=_FORMATS)
        name = grade_name(_field(item, "grade"))
        if grades is not None and name not in grades:
            others[name or f"{_field(item, 'grade')!s:.20}"] += 1
            continue
        if name is None:
            unknown.append((number, _field(item, "grade")))
            continue
        grids.append(grid_of(_field(item, "moves"), place))
        labels.append(GRADES.index(name))
    if unknown:
        number, found = unknown[0]
        raise InputError(
            f"{len(unknown)} of {len(items)} problems have an unknown grade, the first is problem {number} "
            f"with {found!r:.40}",
            where=where,
            fix=f"Grades are {', '.join(GRADES)}; to skip other problems, name the grades to use with --grades.",
        )
    if not grids:
        asked = f" of the grades {', '.join(grades)}" if grades is not None else ""
        found = f", only of {', '.join(map(repr, list(others)[:5]))}" if others else ""
        raise InputError(f"there are no problems{asked}{found}", where=where, fix=_FORMATS)
    return replace(graded(np.stack(grids), np.array(labels)), passed_over=dict(others))


def grid_of(moves: Any, where: str = "moves") -> Grids:
    """The grid of a problem's moves. Duplicate entries of a hold are combined."""
    if not isinstance(moves, list):
        raise InputError("there is no list of moves", where=where, fix=_FORMATS)
    ends, used = np.zeros((2, *SHAPE[1:]), dtype=bool), np.zeros(SHAPE[1:], dtype=bool)
    for move in moves:
        description = _field(move, "description") if isinstance(move, Mapping) else None
        if not isinstance(description, str):
            raise InputError(f"the move {move!r:.60} names no hold", where=where, fix=_FORMATS)
        try:
            place = cell(description)
        except InputError as error:
            raise InputError(error.what, where=where, fix=error.fix) from None
        used[place] = True
        ends[0][place] |= bool(_field(move, "isStart"))
        ends[1][place] |= bool(_field(move, "isEnd"))
    return np.stack([ends[0], used & ~ends.any(axis=0), ends[1]]).astype(np.uint8)


def moves_of(grid: Any) -> list[dict[str, Any]]:
    """A grid's holds as moves, from the bottom up."""
    array = np.asarray(grid).astype(bool)
    start, end = CHANNELS.index("start"), CHANNELS.index("end")
    return [
        {
            "description": hold(row, column),
            "isStart": bool(array[start, row, column]),
            "isEnd": bool(array[end, row, column]),
        }
        for row, column in np.argwhere(array.any(axis=0))
    ]


def write_problems(path: str | Path, grids: Iterable[Any], names: Iterable[str]) -> None:
    """Problems with their rule violations and warnings, in the format of `read_problems`."""
    items = []
    for grid, name in zip(grids, names, strict=True):
        errors, warnings = remarks(grid)
        judged = {"valid": not errors, "errors": errors, "warnings": warnings}
        items.append({"grade": str(name), "moves": moves_of(grid), "validation": judged})
    write_text(path, json.dumps({"data": items}, indent=1) + "\n")


def _field(item: Mapping[str, Any], name: str) -> Any:
    """A field under its camelCase or PascalCase name."""
    return item.get(name, item.get(name[0].upper() + name[1:]))
