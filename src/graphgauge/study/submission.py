"""Results of somebody else, verified against the truth of a benchmark's maintainer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.family import family
from graphgauge.core.files import require_file, split_member
from graphgauge.study.text import shown

_HASH = re.compile(r"sha256:([0-9a-f]{64})")
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
        return frozenset(truth.path for truth in self.truths if truth.path is not None)

    def contains(self, path: Path) -> bool:
        """Whether a path is in the folder, with all links followed."""
        try:
            return path.resolve().is_relative_to(self.folder)
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
        stated = {str(entry["name"]): entry for entry in inputs}
        for truth in given:
            if truth.path is not None:
                replaced = _replaced(replaced, truth)
            else:
                entry = stated.get(truth.name, {})
                if truth.digest not in (entry.get("hash"), entry.get("content")):
                    found = str(entry.get("hash", "none"))[:12]
                    raise Contradiction(f"truth differs: {shown(truth.name)} is {found}, not {truth.digest}")
        self._require_all(name, options, given)
        return replaced

    def _require_all(self, name: str, options: Mapping[str, Any], given: Sequence[GivenTruth]) -> None:
        """Every input that is part of the truth must be the maintainer's."""
        forms = family(name).truths
        form = next((form for by, form in forms.items() if options.get(by)), None)
        if form is None:
            raise Untested(f"not recomputed: results of {shown(name)} in this form have no truth that could be given")
        names = {truth.name for truth in given}
        used = [part for field in (*form.decisive, *form.given) for part in _parts(field, options.get(field))]
        lacking = [part for part in used if part not in names]
        if lacking:
            raise Untested(
                f"not recomputed: its truth {shown(', '.join(lacking))} is the submitter's own, none was given"
            )
        if not names & set(used):
            raise Untested("not recomputed: none of its inputs is a truth that was given")


class Contradiction(Exception):
    """The submission contradicts the truth."""


class Untested(Exception):
    """The submission cannot be tested against the truth."""


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
