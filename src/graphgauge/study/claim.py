"""Check a result file against its root, its inputs and its study, without recomputing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from graphgauge._version import __version__
from graphgauge.core.errors import GraphgaugeError, InputError
from graphgauge.core.fields import plain
from graphgauge.core.files import read_json
from graphgauge.core.schema import (
    FIRST_SCHEMA,
    UNCHECKED,
    as_current,
    evaluation_from_dict,
    is_result,
    is_unchanged,
    require_schema,
    require_unchanged,
    side_files,
    side_path,
)
from graphgauge.io.hashing import HashIndex
from graphgauge.study.model import Item, Study
from graphgauge.study.options import from_arguments, options_of
from graphgauge.study.parse import read_study
from graphgauge.study.recipe import factories
from graphgauge.study.text import shown

Status = Literal[
    "equal", "drifted", "inputs changed", "inputs missing", "study differs", "damaged", "not recomputed", "failed"
]
# Used if receipts do not name the study file.
_USUAL_STUDY = "study.toml"
_DECLARED = "method, dataset and seed are as declared; no study file names them"


@dataclass(frozen=True)
class Verdict:
    """The verdict on one result; `version` is the library version that made it."""

    path: Path
    status: Status
    detail: str = ""
    version: str | None = None

    @property
    def mismatch(self) -> bool:
        """Whether it is anything but recomputed and equal."""
        return self.status != "equal"

    def unchecked(self) -> Verdict:
        """The same verdict, on a file of the first edition."""
        return replace(self, detail="; ".join(filter(None, (self.detail, UNCHECKED))))

    def beside(self, faults: tuple[str, ...]) -> Verdict:
        """The same verdict with these faults added; a fault is always a failure."""
        if not faults:
            return self
        status = "damaged" if self.status in ("equal", "not recomputed", "failed") else self.status
        return replace(self, status=status, detail="; ".join([*([self.detail] if self.detail else []), *faults]))

    def __str__(self) -> str:
        made = f" (made by {shown(self.version)}, now {__version__})" if self.version not in (None, __version__) else ""
        return f"{self.status}{': ' + self.detail if self.detail else ''}{made}"


@dataclass(frozen=True)
class Claim:
    """A result file whose inputs are unchanged, and how it was made from them.

    `faults` list changes in the file and its side files; `remark` lists what could not be checked.
    """

    path: Path
    content: dict[str, Any]
    item: Item
    folder: Path
    remark: str = ""
    faults: tuple[str, ...] = ()
    first_edition: bool = False

    def verdict(self, status: Status, detail: str = "") -> Verdict:
        found = _verdict(self.path, self.content, status, detail)
        return (found.unchecked() if self.first_edition else found).beside(self.faults)

    def beside(self, faults: tuple[str, ...]) -> Claim:
        return replace(self, faults=faults)

    def unchecked(self) -> Claim:
        """The same claim, read from a file of the first edition."""
        return replace(self, first_edition=True)


class Examiner:
    """Reads result files, and caches the input hashes and studies that they share."""

    def __init__(self) -> None:
        self.indexes: dict[Path, HashIndex] = {}
        self._studies: dict[Path, tuple[Study, frozenset[Item]] | InputError] = {}

    def examined(self, path: Path) -> Claim | Verdict | None:
        """A claim to recompute, or a verdict without recomputing; None for files that are not results."""
        try:
            written = read_json(path)
        except InputError:
            return Verdict(path, "damaged", "not a JSON file")
        if not is_result(written):
            return None
        try:
            require_schema(written, str(path))
            content = as_current(written, str(path))
            evaluation_from_dict(content, where=str(path))
            found = self._claim(path, content)
            found = found.unchecked() if written["schema"] == FIRST_SCHEMA else found
            return found.beside(tuple(_faults(path, written)))
        except GraphgaugeError as error:
            return Verdict(path, "damaged", shown(error))
        except (KeyError, TypeError, ValueError, AttributeError, OSError) as error:
            return Verdict(path, "damaged", f"its receipt cannot be read ({shown(f'{type(error).__name__} {error}')})")

    def _claim(self, path: Path, content: dict[str, Any]) -> Claim | Verdict:
        if content["status"] == "failed":
            return _verdict(path, content, "failed", f"there is nothing to recompute ({shown(content['error'])})")
        receipt = content["receipt"]
        study = receipt.get("study")
        folder = Path.cwd() if study is None else (path.parent / study["folder"]).resolve()
        index = self.indexes.setdefault(folder, HashIndex(folder))
        for entry in receipt["inputs"]:
            name = f"{shown(entry['path'])} ({shown(entry['name'])})"
            try:
                digest = index.hash(entry["path"])
            except (OSError, InputError):
                return _verdict(path, content, "inputs missing", name)
            if digest != entry["hash"]:
                return _verdict(path, content, "inputs changed", name)
        if study is None:
            inputs = "its inputs are unchanged" if receipt["inputs"] else "it names no inputs"
            return _verdict(path, content, "not recomputed", f"{inputs}, but no study describes how it was made")
        run = content["run"]
        item = Item(
            str(run["family"]), str(run["method"]), str(run["dataset"]),
            None if run["seed"] is None else int(run["seed"]),
            _options(str(run["family"]), study), {str(check): str(why) for check, why in study["ignore"].items()},
        )  # fmt: skip
        differs, remark = self._against_study(path, item, folder, study.get("file"))
        if differs:
            return _verdict(path, content, "study differs", differs)
        code = factories(item)
        if code:
            named = shown(", ".join(code))
            return _verdict(path, content, "not recomputed", f"model not rerun: {named} is not imported")
        return Claim(path, content, item, folder, remark)

    def _against_study(self, path: Path, item: Item, folder: Path, named: object) -> tuple[str, str]:
        """Contradictions between study and result, and what the study does not cover; both usually empty."""
        file = folder / (_USUAL_STUDY if named is None else Path(str(named)).name)
        if not file.is_file():
            return "", _DECLARED
        found = self._study(file)
        name = shown(file.name)
        if isinstance(found, InputError):
            return f"{name} cannot be read ({shown(found)})", ""
        study, items = found
        # Results of older versions do not name their study, and may come from another file.
        if named is None and not path.resolve().is_relative_to(study.results.resolve()):
            return "", _DECLARED
        if item in items:
            return "", ""
        same = [other for other in study.items if (other.family, other.options) == (item.family, item.options)]
        if same and item.run not in [other.run for other in same]:
            return f"{name} has these inputs and options for {same[0]}", ""
        if any(other.family == item.family and other.run == item.run for other in study.items):
            return f"{name} has other options for {item}", ""
        return ("", _DECLARED) if named is None else (f"{name} has no {item}", "")

    def _study(self, file: Path) -> tuple[Study, frozenset[Item]] | InputError:
        if file not in self._studies:
            try:
                study = read_study(file)
                self._studies[file] = study, frozenset(study.items)
            except InputError as error:
                self._studies[file] = error
        return self._studies[file]


def _options(family: str, study: Mapping[str, Any]) -> dict[str, Any]:
    """The options in a receipt; nothing in it is trusted."""
    if "options" in study:
        read = options_of(family, dict(study["options"]))
    else:
        read = from_arguments(family, [str(argument) for argument in study["arguments"]])
    return {name: plain(value) for name, value in read.items()}


def _faults(path: Path, content: Mapping[str, Any]) -> Iterator[str]:
    if not is_unchanged(content):
        yield "the file was changed after it was written, its root does not match"
    for side in side_files(content, str(path)):
        try:
            require_unchanged(side_path(path.parent, side), side.get("hash"))
        except InputError as error:
            yield f"side_files differ, {shown(side_path(path.parent, side).name)} {error.what}"


def _verdict(path: Path, content: Mapping[str, Any], status: Status, detail: str) -> Verdict:
    version = content["receipt"].get("versions", {}).get("graphgauge")
    return Verdict(path, status, detail, None if version is None else str(version))
