"""Results of somebody else, verified against the truth of a benchmark's maintainer."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.family import family
from graphgauge.core.fields import read_all
from graphgauge.core.files import ARCHIVES, require_file, split_member
from graphgauge.stats.text import several
from graphgauge.study.text import shown

_HASH = re.compile(r"sha256:([0-9a-f]{64})")
# Links on the way to a file.
_MOST_LINKS = 100
_FIX = "Write NAME=FILE or NAME=sha256:HASH, such as labels=truth/labels.npy; DATASET/NAME is for one dataset."


@dataclass(frozen=True)
class GivenTruth:
    """A truth of the maintainer: an input's name, and the file that replaces it or the hash that it must have."""

    name: str
    dataset: str | None
    path: str | None
    digest: str | None

    @classmethod
    def parse(cls, text: str) -> GivenTruth:
        place, equals, value = text.partition("=")
        dataset, slash, name = place.rpartition("/")
        if not equals or not name or not value:
            raise OptionError(f"truth {text!r:.80} cannot be read", fix=_FIX)
        match = _HASH.fullmatch(value)
        if match is None and value.startswith("sha256:"):
            raise OptionError(f"truth {text!r:.80}: a SHA-256 hash has 64 digits", fix=_FIX)
        path = None
        if match is None:
            require_file(split_member(value)[0], value)
            path = str(Path(value).resolve())
        return cls(name, dataset if slash else None, path, match[1] if match else None)


@dataclass(frozen=True)
class Submission:
    """A folder that is not trusted: only files inside it are read, and the given truths."""

    folder: Path
    truths: tuple[GivenTruth, ...]

    @classmethod
    def of(cls, folder: str | Path, truths: Iterable[GivenTruth | str]) -> Submission:
        place = Path(folder)
        if not place.is_dir():
            raise InputError("no such folder", where=str(folder))
        read = tuple(truth if isinstance(truth, GivenTruth) else GivenTruth.parse(truth) for truth in truths)
        places = [(truth.dataset, truth.name) for truth in read]
        for dataset, name in places:
            if places.count((dataset, name)) > 1:
                raise OptionError(f"the truth {name!r} is given twice", fix=_FIX)
        return cls(place.resolve(), read)

    @property
    def files(self) -> frozenset[str]:
        """The files of the given truths; of `archive.npz:name`, the archive."""
        return frozenset(str(split_member(truth.path)[0]) for truth in self.truths if truth.path is not None)

    def contains(self, path: Path) -> bool:
        """Whether a path is in the folder, with all links followed.

        Paths through /proc lead to other places in another process, so they are in no folder.
        """
        try:
            return path.resolve().is_relative_to(self.folder) and not any(map(_in_proc, _followed(path)))
        except (OSError, RuntimeError, ValueError):  # links in a circle, or no name of a file
            return False

    def require_inside(self, path: Path, what: str) -> None:
        if not self.contains(path):
            raise InputError(f"{what} is outside the submission", where=str(path))

    def given(self, dataset: object) -> tuple[GivenTruth, ...]:
        """The truths for results on this dataset; those of the dataset come before those for all."""
        own = [truth for truth in self.truths if truth.dataset is not None and truth.dataset == dataset]
        named = {truth.name for truth in own}
        return (*own, *(truth for truth in self.truths if truth.dataset is None and truth.name not in named))

    def with_truths(
        self, name: str, options: Mapping[str, Any], given: Sequence[GivenTruth], inputs: Iterable[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """The options with the maintainer's truth; a result that is not about this truth is refused."""
        replaced = dict(options)
        for truth in given:
            if truth.path is not None:
                replaced = _replaced(replaced, truth)
        for difference in hash_differences(given, inputs):
            raise Contradiction(difference)
        self._require_all(name, options, given)
        return replaced

    def _require_all(self, name: str, options: Mapping[str, Any], given: Sequence[GivenTruth]) -> None:
        """Every file but the predictions must be the maintainer's: it decides what counts."""
        declared = family(name)
        form = next((form for by, form in declared.truths.items() if options.get(by)), None)
        if form is None:
            raise Untested(f"not recomputed: results of {shown(name)} in this form have no truth that could be given")
        names = {truth.name for truth in given}
        values = read_all(declared.fields, options)
        files = [
            field
            for field, one in declared.fields.items()
            if one.is_given(values[field]) and any(True for _ in one.kind.paths(values[field]))
        ]
        used = [part for field in files if field not in form.answers for part in _parts(field, values[field])]
        lacking = [part for part in used if part not in names]
        if lacking:
            raise Untested(
                f"not recomputed: its truth {shown(', '.join(lacking))} is the submitter's own, none was given"
            )
        if not names & set(used):
            raise Untested("not recomputed: none of its inputs is a truth that was given")


def hash_differences(given: Iterable[GivenTruth], inputs: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Truths given by their hash that a receipt does not have. The receipt of a new computation cannot be forged.

    An input of several files has several hashes, and no single one says in which order they are read. The hash of an
    archive does not say which of its arrays is read, so only that of the array counts.
    """
    entries = list(inputs)
    for truth in given:
        if truth.digest is None:
            continue
        own = [entry for entry in entries if entry["name"] == truth.name]
        if len(own) != 1:
            yield f"truth differs: {shown(truth.name)} has {several(len(own), 'file')}, and the given hash is of one"
            continue
        (entry,) = own
        is_archive = Path(entry["path"]).suffix.lower() in ARCHIVES
        hashes = [entry.get("content")] if is_archive else [entry.get("content"), entry["hash"]]
        if truth.digest not in hashes:
            what = "the array" if is_archive else "it"
            found = next((one for one in hashes if one is not None), None)
            said = "has no hash of the array" if found is None else f"is {shown(found[:12])}"
            yield f"truth differs: {shown(truth.name)} {said}, and the given hash of {what} is {truth.digest[:12]}"


class Contradiction(Exception):
    """The submission contradicts the truth."""


class Untested(Exception):
    """The submission cannot be tested against the truth."""


def _followed(path: Path) -> Iterator[Path]:
    """The path, and what each link on its way says."""
    waiting, seen = [path.absolute()], set[Path]()
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        if len(seen) == _MOST_LINKS:
            raise OSError("too many links")
        seen.add(place)
        yield place
        for link in (one for one in (place, *place.parents) if one.is_symlink()):
            waiting.append(link.parent / link.readlink() / place.relative_to(link))


def _in_proc(path: Path) -> bool:
    return any(parts[1:2] == ("proc",) for parts in (path.parts, Path(os.path.normpath(path)).parts))


def _parts(field: str, value: Any) -> list[str]:
    if not value:
        return []
    return [f"{field}.{name}" for name in value] if isinstance(value, Mapping) else [field]


def _replaced(options: Mapping[str, Any], truth: GivenTruth) -> dict[str, Any]:
    field, _, part = truth.name.partition(".")
    old = options.get(field)
    if not old or (part and (not isinstance(old, Mapping) or part not in old)):
        raise Contradiction(f"truth differs: the submission does not use {shown(truth.name)}")
    if part:
        return {**options, field: {**old, part: truth.path}}
    return {**options, field: [truth.path] if isinstance(old, list) else truth.path}
