"""Which problems a system is trained on and which are held out: embedded ones or a file's, split by a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.zoo.moonboard.problems import Problems, read_problems
from graphgauge.zoo.moonboard.synthetic import synthetic

EMBEDDED = 6000
# More than this many problems are not made because a file says so.
_MOST = 1_000_000


@dataclass(frozen=True)
class Origin:
    """Where a checkpoint's data came from: `problems` embedded ones, or a file (None); and how they were split."""

    problems: int | None
    data_hash: str
    split_seed: int
    validation: float

    @classmethod
    def read(cls, content: Mapping[str, Any], where: str) -> Origin:
        """The origin that a checkpoint states."""
        try:
            problems, digest = content["problems"], content["data_hash"]
            seed, share = content["split_seed"], content["validation"]
        except KeyError as error:
            raise InputError(f"does not say {error} of its data", where=where, fix="Train it again.") from None
        sound = (
            (problems is None or (type(problems) is int and 0 < problems <= _MOST))
            and isinstance(digest, str)
            and type(seed) is int
            and seed >= 0
            and isinstance(share, float)
            and 0 < share < 1
        )
        if not sound:
            raise InputError("says something impossible about its data", where=where, fix="Train it again.")
        return cls(problems, digest, seed, share)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Split:
    origin: Origin
    train: Problems
    validation: Problems


def open_split(
    data: str | Path | None, grades: Sequence[str] | None, *, problems: int, split_seed: int, validation: float
) -> Split:
    """The problems of a file, or embedded ones, in two parts."""
    everything = _embedded(problems, grades) if data is None else read_problems(data, grades)
    train, held = everything.split(split_seed, validation)
    if not len(train) or not len(held):
        asked = f" of the grades {', '.join(grades)}" if grades is not None else ""
        raise InputError(f"too few problems{asked}, {len(everything)}, for a training and a held-out part")
    origin = Origin(problems if data is None else None, everything.hash, split_seed, validation)
    return Split(origin, train, held)


def held_out(
    origin: Origin, grades: Sequence[str], data: str | Path | None, where: str
) -> tuple[Problems, Problems | None]:
    """The problems a checkpoint was not trained on, and those it was.

    A file that is not the one it was trained on is held out as a whole; the training part is then known only where it
    was an embedded one.
    """
    if origin.problems is None and data is None:
        raise InputError("was trained on a problems file", where=where, fix="Give that file with --data.")
    embedded = None if origin.problems is None else _embedded(origin.problems, grades)
    if data is None:
        assert embedded is not None
        if embedded.hash != origin.data_hash:
            raise InputError(
                "was trained on embedded problems that this version no longer makes", where=where, fix="Train it again."
            )
        train, validation = embedded.split(origin.split_seed, origin.validation)
        return validation, train
    given = read_problems(data, grades).only(grades)
    if given.hash == origin.data_hash:
        train, validation = given.split(origin.split_seed, origin.validation)
        return validation, train
    given = read_problems(data).only(grades)  # of another file nobody has said that unknown grades may be passed over
    return given, None if embedded is None else embedded.split(origin.split_seed, origin.validation)[0]


def _embedded(count: int, grades: Sequence[str] | None) -> Problems:
    made = synthetic(count)
    return made if grades is None else made.only(grades)
