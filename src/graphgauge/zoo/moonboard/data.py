"""Training and held-out problems: embedded or from a file, split by a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.generation.overlap import HASH_SIZE, Hashes
from graphgauge.zoo.moonboard.problems import Problems, read_problems
from graphgauge.zoo.moonboard.synthetic import synthetic

EMBEDDED = 6000
# Maximum number of problems that a file may request.
_MOST = 1_000_000


@dataclass(frozen=True)
class Origin:
    """The origin of a checkpoint's data: the number of embedded `problems`, or None for a file; and the split.

    `train_hashes` are the concatenated hashes of the training problems; older checkpoints have none.
    """

    problems: int | None
    data_hash: str
    split_seed: int
    validation: float
    train_hashes: bytes | None = None

    @classmethod
    def read(cls, content: Mapping[str, Any], where: str) -> Origin:
        """The origin recorded in a checkpoint."""
        hashes = content.get("train_hashes")
        try:
            problems, digest = content["problems"], content["data_hash"]
            seed, share = content["split_seed"], content["validation"]
        except KeyError as error:
            raise InputError(f"does not record {error} of its data", where=where, fix="Train it again.") from None
        sound = (
            (problems is None or (type(problems) is int and 0 < problems <= _MOST))
            and isinstance(digest, str)
            and type(seed) is int
            and seed >= 0
            and isinstance(share, float)
            and 0 < share < 1
            and (hashes is None or (isinstance(hashes, bytes) and len(hashes) % HASH_SIZE == 0))
        )
        if not sound:
            raise InputError("has an invalid record of its data", where=where, fix="Train it again.")
        return cls(problems, digest, seed, share, hashes)

    @property
    def seen(self) -> Hashes | None:
        """The hashes of the training problems, one row per problem."""
        if self.train_hashes is None:
            return None
        return np.frombuffer(self.train_hashes, np.uint8).reshape(-1, HASH_SIZE)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Split:
    origin: Origin
    train: Problems
    validation: Problems
    remark: str | None = None


@dataclass(frozen=True)
class HeldOut:
    """Problems to evaluate a checkpoint on, its training problems if available, and the hashes of these.

    Some problems may still be training problems; the hashes identify them.
    """

    problems: Problems
    train: Problems | None
    seen: Hashes | None
    notes: tuple[str, ...]


def open_split(
    data: str | Path | None, grades: Sequence[str] | None, *, problems: int, split_seed: int, validation: float
) -> Split:
    """The problems of a file, or embedded ones, split into two parts."""
    everything = _embedded(problems, grades) if data is None else read_problems(data, grades)
    train, held = everything.split(split_seed, validation)
    if not len(train) or not len(held):
        asked = f" of the grades {', '.join(grades)}" if grades is not None else ""
        raise InputError(f"too few problems{asked} ({len(everything)}) for a training and a held-out part")
    hashes = np.unique(train.sample_hashes, axis=0).tobytes()
    origin = Origin(problems if data is None else None, everything.hash, split_seed, validation, hashes)
    return Split(origin, train, held, everything.remark)


def held_out(origin: Origin, grades: Sequence[str], data: str | Path | None, where: str) -> HeldOut:
    """The problems to evaluate a checkpoint on, and the information about its training problems.

    From the data that the checkpoint was trained on, these are the held-out part; from any other file, all that are not
    training problems.
    """
    problems, train, remark = _parts(origin, grades, data, where)
    seen = origin.seen if origin.seen is not None or train is None else train.sample_hashes
    notes = [] if remark is None else [remark]
    if seen is None:
        notes.append(unchecked(where))
    return HeldOut(problems, train, seen, tuple(notes))


def unchecked(where: str) -> str:
    """The note for a checkpoint without hashes of its training problems."""
    return (
        f"{where} does not record its training problems, so whether it is evaluated on some of them cannot be "
        "checked; train it again"
    )


def _parts(
    origin: Origin, grades: Sequence[str], data: str | Path | None, where: str
) -> tuple[Problems, Problems | None, str | None]:
    """Problems to evaluate on, the training part if available, and a note about skipped problems."""
    if origin.problems is None and data is None:
        raise InputError("was trained on a problems file", where=where, fix="Pass that file with --data.")
    embedded = None if origin.problems is None else _embedded(origin.problems, grades)
    if data is None:
        assert embedded is not None
        if embedded.hash != origin.data_hash:
            raise InputError("was trained on embedded problems of another version", where=where, fix="Train it again.")
        train, validation = embedded.split(origin.split_seed, origin.validation)
        return validation, train, None
    given = read_problems(data, grades).only(grades)
    if given.hash == origin.data_hash:
        train, validation = given.split(origin.split_seed, origin.validation)
        return validation, train, given.remark
    known = embedded is not None and embedded.hash == origin.data_hash
    return given, embedded.split(origin.split_seed, origin.validation)[0] if embedded and known else None, given.remark


def _embedded(count: int, grades: Sequence[str] | None) -> Problems:
    made = synthetic(count)
    return made if grades is None else made.only(grades)
