"""Check a result file against its root, its inputs and its study, without recomputing it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from graphgauge._version import __version__
from graphgauge.core.errors import GraphgaugeError, InputError
from graphgauge.old.core.fields import plain, read_all
from graphgauge.old.core.files import Search, files_named, read_json, signature_of
from graphgauge.old.core.schema import (
    edition_2,
    evaluation_from_dict,
    is_result,
    is_unchanged,
    require_schema,
    require_unchanged,
    require_valid,
    side_files,
    side_path,
)
from graphgauge.old.io.code import source_hash
from graphgauge.old.io.hashing import HashIndex
from graphgauge.study.model import Item, Study
from graphgauge.study.options import options_of
from graphgauge.study.parse import read_study
from graphgauge.study.recipe import MERGE, factories_of, fields_by_command
from graphgauge.study.text import sentence, shown

Status = Literal["equal", "drifted", "unchecked", "damaged", "failed"]
# Used if receipts do not name the study file.
_USUAL_STUDY = "study.toml"
# Options may name this many files beyond those in the receipt.
_MOST_FILES = 10_000
# Names that the search for them looks at.
_MOST_NAMES = 100_000
_DECLARED = "method, dataset and seed are as declared; no study file names them"


@dataclass(frozen=True)
class Verdict:
    """The verdict on one result.

    `equal`: recomputed, with the same outcome. `drifted`: the same inputs now give other values. `unchecked`: it could
    not be recomputed here. `damaged`: the file or one of its side files was changed after it was written. `failed`: the
    inputs or the study contradict it, or it cannot be computed from them. `detail` gives sizes and reasons. `version`
    is the library version that made it.
    """

    path: Path
    status: Status
    detail: str = ""
    version: str | None = None
    run: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def mismatch(self) -> bool:
        """Whether it is anything but recomputed and equal."""
        return self.status != "equal"

    def beside(self, faults: tuple[str, ...]) -> Verdict:
        """The same verdict with these faults added; a fault is always a failure."""
        if not faults:
            return self
        status = self.status if self.status == "drifted" else "damaged"
        return replace(self, status=status, detail="; ".join([*([self.detail] if self.detail else []), *faults]))

    def name(self, root: Path) -> str:
        """The path, relative to the folder that is verified."""
        base = root if self.path.is_relative_to(root) else root.resolve()
        inside = base.is_dir() and self.path.is_relative_to(base)
        return (self.path.relative_to(base) if inside else self.path).as_posix()

    def to_dict(self, root: Path | None = None) -> dict[str, Any]:
        """As JSON; the path is relative to `root`, if given."""
        return {
            "path": self.path.as_posix() if root is None else self.name(root),
            "outcome": self.status,
            "detail": self.detail,
            "run": dict(self.run),
            "versions": {"then": self.version, "now": __version__},
        }

    def __str__(self) -> str:
        made = f" (made by {shown(self.version)}, now {__version__})" if self.version not in (None, __version__) else ""
        return f"{self.status}{': ' + self.detail if self.detail else ''}{made}"


@dataclass(frozen=True)
class Claim:
    """A result file whose inputs are unchanged, and how it was made from them.

    `command` is the command that computes it: the family's, or `merge`. `code` are the factories to import. `faults`
    list changes in the file and its side files; `remark` lists what could not be checked.
    """

    path: Path
    content: dict[str, Any]
    item: Item
    folder: Path
    command: str
    code: tuple[str, ...] = ()
    remark: str = ""
    faults: tuple[str, ...] = ()

    def verdict(self, status: Status, detail: str = "") -> Verdict:
        return _verdict(self.path, self.content, status, detail).beside(self.faults)

    def beside(self, faults: tuple[str, ...]) -> Claim:
        return replace(self, faults=faults)


class _Refused(Exception):
    """Why there is nothing to recompute."""

    def __init__(self, status: Status, detail: str) -> None:
        self.status, self.detail = status, detail


class Examiner:
    """Reads result files, and caches the input hashes and studies that they share."""

    def __init__(self, *, trust_code: bool = False) -> None:
        self.indexes: dict[Path, HashIndex] = {}
        self._trust_code = trust_code
        self._studies: dict[Path, tuple[Study, frozenset[Item]] | InputError] = {}

    def examined(self, path: Path) -> Claim | Verdict | None:
        """A claim to recompute, or a verdict without recomputing; None for files that are not results."""
        try:
            written = edition_2(read_json(path), str(path))
        except InputError as error:
            return Verdict(path, "damaged", shown(error.what))
        if not is_result(written):
            return None
        try:
            require_schema(written, str(path))
            require_valid(written, str(path), whole=True)
            evaluation_from_dict(written, where=str(path))
            return self._claim(path, written).beside(tuple(self._faults(path, written)))
        except GraphgaugeError as error:
            return Verdict(path, "damaged", sentence(error.what if isinstance(error, InputError) else error))
        except (LookupError, ArithmeticError, TypeError, ValueError, AttributeError, OSError, RecursionError) as error:
            return Verdict(path, "damaged", f"its receipt cannot be read ({shown(f'{type(error).__name__} {error}')})")

    def _claim(self, path: Path, content: dict[str, Any]) -> Claim | Verdict:
        try:
            return self._checked(path, content)
        except _Refused as refused:
            return _verdict(path, content, refused.status, refused.detail)

    def _checked(self, path: Path, content: dict[str, Any]) -> Claim:
        if content["status"] == "failed":
            raise _Refused("failed", f"there is nothing to recompute ({shown(content['error'])})")
        receipt = content["receipt"]
        study, single = receipt.get("study"), receipt.get("command")
        recipe = single if study is None else study
        folder = Path.cwd() if recipe is None else (path.parent / recipe["folder"]).resolve()
        run = content["run"]
        index = self.indexes.setdefault(folder, HashIndex(folder))
        for entry in receipt["inputs"]:
            self._pin(entry, folder, index)
        if recipe is None:
            inputs = "its inputs are unchanged" if receipt["inputs"] else "it names no inputs"
            raise _Refused("unchecked", f"not recomputed: {inputs}, but it does not say how it was made")
        until = content["options"].get("until")
        if isinstance(until, Mapping) and until.get("resumed"):
            asked = "; ".join(shown(each) for each in until["resumed"])
            raise _Refused(
                "unchecked", f"not recomputed: it went on from a saved run that asked for something else ({asked})"
            )
        command = str(run["family"]) if study is not None else str(recipe["name"])
        if command not in (run["family"], MERGE):
            raise _Refused("failed", f"a result of {shown(run['family'])} is not made by {shown(command)}")
        item = Item(
            str(run["family"]),
            _name(run["method"]),
            _name(run["dataset"]),
            None if run["seed"] is None else int(run["seed"]),
            _options(command, recipe),
            {str(check): str(why) for check, why in recipe.get("ignore", {}).items()},
        )
        self._bound_files(command, item, folder, receipt)
        remark = _DECLARED
        if study is not None:
            differs, remark = self._against_study(path, item, folder, study.get("file"))
            if differs:
                raise _Refused("failed", f"study differs: {differs}")
        code = tuple(factories_of(command, item.options))
        if code:
            self._require_code(code, folder, receipt)
        return Claim(path, content, item, folder, command, code, remark)

    def _faults(self, path: Path, content: Mapping[str, Any]) -> Iterator[str]:
        if not is_unchanged(content):
            yield "the file was changed after it was written, its root does not match"
        for side in side_files(content, str(path)):
            place = side_path(path.parent, side)
            try:
                require_unchanged(place, side.get("hash"))
            except InputError as error:
                yield f"side_files differ, {shown(place.name)} {error.what}"

    def _pin(self, entry: Mapping[str, Any], folder: Path, index: HashIndex) -> None:
        """Refuse an input that is not the one in the receipt."""
        name = f"{shown(entry['path'])} ({shown(entry['name'])})"
        try:
            # A file of another size is not read: it may be large.
            size = signature_of(folder / entry["path"])[0]
            same_size = size == entry.get("bytes", math.nan)
            digest = index.hash(entry["path"]) if same_size or "bytes" not in entry else None
        except (OSError, InputError):
            raise _Refused("unchecked", f"inputs missing: {name}") from None
        if digest != entry["hash"]:
            raise _Refused("failed", f"inputs changed: {name}")

    def _bound_files(self, command: str, item: Item, folder: Path, receipt: Mapping[str, Any]) -> None:
        """Refuse options that name far more files than the receipt: a whole file system."""
        fields = fields_by_command(command)
        values = read_all(fields, item.options)
        most, number = _MOST_FILES + len(receipt["inputs"]), 0
        search = Search(_MOST_NAMES)
        for name, declared in fields.items():
            texts = [*declared.kind.paths(values[name])] if declared.is_given(values[name]) else []
            for _ in (file for text in texts for file in files_named(text, folder, search)):
                number += 1
                if number > most:
                    raise _Refused("failed", f"its options name more than {most:,} files")

    def _require_code(self, code: Sequence[str], folder: Path, receipt: Mapping[str, Any]) -> None:
        named = shown(", ".join(code))
        if not self._trust_code:
            raise _Refused("unchecked", f"not recomputed: model not rerun: {named} is not imported")
        stated = {entry["factory"]: entry["source_hash"] for entry in receipt["code"]}
        for factory in code:
            if stated.get(factory) != source_hash(factory, folder):
                raise _Refused("failed", f"code changed: {shown(factory)}")

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


def _options(command: str, recipe: Mapping[str, Any]) -> dict[str, Any]:
    """The options in a receipt; nothing in it is trusted."""
    return {name: plain(value) for name, value in options_of(command, dict(recipe["options"])).items()}


def _name(value: object) -> str | None:
    return None if value is None else str(value)


def _verdict(path: Path, content: Mapping[str, Any], status: Status, detail: str) -> Verdict:
    version = content["receipt"]["versions"].get("graphgauge")
    return Verdict(path, status, detail, None if version is None else str(version), dict(content["run"]))
