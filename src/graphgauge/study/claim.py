"""Check a result file against its root, its inputs and its study, without recomputing it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from graphgauge._version import __version__
from graphgauge.core.errors import GraphgaugeError, InputError
from graphgauge.core.fields import plain, read_all
from graphgauge.core.files import Search, files_named, is_pattern, read_json, signature_of
from graphgauge.core.schema import (
    evaluation_from_dict,
    is_result,
    is_unchanged,
    require_schema,
    require_unchanged,
    require_valid,
    side_files,
    side_path,
)
from graphgauge.io.code import source_hash
from graphgauge.io.hashing import HashIndex
from graphgauge.study.confine import Limits
from graphgauge.study.model import Item, Study
from graphgauge.study.options import from_arguments, options_of
from graphgauge.study.parse import read_study
from graphgauge.study.proof import Proof, proof
from graphgauge.study.recipe import MERGE, factories_of, fields_by_command
from graphgauge.study.submission import Contradiction, GivenTruth, Submission, Untested
from graphgauge.study.text import sentence, shown

Status = Literal["equal", "drifted", "unchecked", "damaged", "failed"]
# Options that change no value.
_INDIFFERENT = ("threads",)
# Used if receipts do not name the study file.
_USUAL_STUDY = "study.toml"
# Options may name this many files beyond those in the receipt.
_MOST_FILES = 10_000
# Names that the search for them looks at.
_MOST_NAMES = 100_000
# Bytes of a result file in a submission; it is read in the process that is not confined.
_LONGEST_RESULT = 1 << 26
_DECLARED = "method, dataset and seed are as declared; no study file names them"


@dataclass(frozen=True)
class Verdict:
    """The verdict on one result.

    `equal`: recomputed, with the same outcome. `drifted`: the same inputs now give other values. `unchecked`: it could
    not be recomputed here. `damaged`: the file or one of its side files was changed after it was written. `failed`: the
    inputs or the study contradict it, or it cannot be computed from them. `detail` gives sizes and reasons. `version`
    is the library version that made it, `proof` which fields are proved; `values` are the recomputed ones, with these
    `options`: those that are not files, as far as they differ from the defaults.
    """

    path: Path
    status: Status
    detail: str = ""
    version: str | None = None
    run: Mapping[str, Any] = field(default_factory=dict, hash=False)
    proof: Proof | None = None
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)

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

    def name(self, root: Path, *, several: bool = False) -> str:
        """The path, relative to the folder that is verified; with the folder's name if there are several."""
        base = root if self.path.is_relative_to(root) else root.resolve()
        if base.is_dir() and self.path.is_relative_to(base):
            inside = self.path.relative_to(base)
            return (Path(root.name) / inside if several else inside).as_posix()
        return self.path.as_posix()

    def to_dict(self, root: Path | None = None) -> dict[str, Any]:
        """As JSON; the path is relative to `root`, if given."""
        return {
            "path": self.path.as_posix() if root is None else self.name(root),
            "outcome": self.status,
            "detail": self.detail,
            "run": dict(self.run),
            "versions": {"then": self.version, "now": __version__},
            "fields": None if self.proof is None else self.proof.to_dict(),
            "values": dict(self.values),
            "options": dict(self.options),
        }

    def __str__(self) -> str:
        made = f" (made by {shown(self.version)}, now {__version__})" if self.version not in (None, __version__) else ""
        return f"{self.status}{': ' + self.detail if self.detail else ''}{made}"


@dataclass(frozen=True)
class Claim:
    """A result file whose inputs are unchanged, and how it was made from them.

    `command` is the command that computes it: the family's, or `merge`. `inputs` are the pinned entries of its receipt,
    `code` the factories to import. `replaced` names the inputs for which a truth was given. `faults` list changes in
    the file and its side files; `remark` lists what could not be checked. `given` are the truths for its dataset,
    `options` the choices that are not files.
    """

    path: Path
    content: dict[str, Any]
    item: Item
    folder: Path
    command: str
    inputs: tuple[Mapping[str, Any], ...] = ()
    code: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    remark: str = ""
    faults: tuple[str, ...] = ()
    given: tuple[GivenTruth, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def verdict(self, status: Status, detail: str = "", values: Mapping[str, Any] | None = None) -> Verdict:
        found = _verdict(self.path, self.content, status, detail, self.inputs, self.replaced)
        found = replace(found, values=values or {}, options=self.options)
        return found.beside(self.faults)

    def beside(self, faults: tuple[str, ...]) -> Claim:
        return replace(self, faults=faults)


class _Refused(Exception):
    """Why there is nothing to recompute."""

    def __init__(self, status: Status, detail: str) -> None:
        self.status, self.detail = status, detail


class Examiner:
    """Reads result files, and caches the input hashes and studies that they share."""

    def __init__(
        self,
        submission: Submission | None = None,
        *,
        trust_code: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self.indexes: dict[Path, HashIndex] = {}
        self._limits, self._begin = limits, time.monotonic()
        self._submission, self._trust_code = submission, trust_code
        self._studies: dict[Path, tuple[Study, frozenset[Item]] | InputError] = {}

    def examined(self, path: Path) -> Claim | Verdict | None:
        """A claim to recompute, or a verdict without recomputing; None for files that are not results."""
        self._begin = time.monotonic()
        try:
            if self._submission is not None:
                self._submission.require_inside(path, "the file")
                if path.stat().st_size > _LONGEST_RESULT:
                    return Verdict(path, "damaged", f"larger than {_LONGEST_RESULT:,} bytes")
            written = read_json(path)
            self._require_sides_inside(path, written)
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
        pinned: list[Mapping[str, Any]] = []
        try:
            return self._checked(path, content, pinned)
        except _Refused as refused:
            return _verdict(path, content, refused.status, refused.detail, pinned)
        except Contradiction as error:
            return _verdict(path, content, "failed", str(error), pinned)
        except Untested as error:
            return _verdict(path, content, "unchecked", str(error), pinned)

    def _checked(self, path: Path, content: dict[str, Any], pinned: list[Mapping[str, Any]]) -> Claim:
        """The claim in a result file; the inputs that hold are added to `pinned`."""
        if content["status"] == "failed":
            raise _Refused("failed", f"there is nothing to recompute ({shown(content['error'])})")
        receipt = content["receipt"]
        study, single = receipt.get("study"), receipt.get("command")
        recipe = single if study is None else study
        folder = Path.cwd() if recipe is None else (path.parent / recipe["folder"]).resolve()
        self._require_inside(folder, "the folder of its inputs")
        run = content["run"]
        given = () if self._submission is None else self._submission.given(run.get("dataset"))
        names = {truth.name for truth in given if truth.path is not None}
        index = self.indexes.setdefault(folder, HashIndex(folder))
        for entry in receipt["inputs"]:
            if entry["name"] not in names:
                self._pin(entry, folder, index)
                pinned.append(entry)
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
        options = _options(command, recipe)
        if self._submission is not None:
            options = self._submission.with_truths(str(run["family"]), options, given, receipt["inputs"])
        item = Item(
            str(run["family"]),
            _name(run["method"]),
            _name(run["dataset"]),
            None if run["seed"] is None else int(run["seed"]),
            options,
            {str(check): str(why) for check, why in recipe.get("ignore", {}).items()},
        )
        self._bound_files(command, item, folder, receipt, names)
        chosen = _chosen(command, options)
        remark = _DECLARED if self._submission is None else _with(chosen)
        if study is not None and self._submission is None:
            differs, remark = self._against_study(path, item, folder, study.get("file"))
            if differs:
                raise _Refused("failed", f"study differs: {differs}")
        code = tuple(factories_of(command, item.options))
        if code:
            self._require_code(code, folder, receipt)
        return Claim(
            path,
            content,
            item,
            folder,
            command,
            tuple(pinned),
            code,
            tuple(sorted(names)),
            remark,
            given=given,
            options=chosen,
        )

    def _require_sides_inside(self, path: Path, content: Any) -> None:
        """Refuse side files that are links out of the submission, before any is read."""
        if self._submission is not None and is_result(content):
            for side in side_files(content, str(path)):
                place = side_path(path.parent, side)
                self._submission.require_inside(place, "a side file")

    def _faults(self, path: Path, content: Mapping[str, Any]) -> Iterator[str]:
        if not is_unchanged(content):
            yield "the file was changed after it was written, its root does not match"
        for side in side_files(content, str(path)):
            place = side_path(path.parent, side)
            try:
                if self._limits is not None and place.is_file() and place.stat().st_size > self._limits.file_size:
                    raise InputError("is larger than the limit of a file")
                require_unchanged(place, side.get("hash"))
            except InputError as error:
                yield f"side_files differ, {shown(place.name)} {error.what}"

    def _require_inside(self, path: Path, what: str) -> None:
        if self._submission is not None and not self._submission.contains(path):
            raise _Refused("failed", f"{what} is outside the submission")

    def _pin(self, entry: Mapping[str, Any], folder: Path, index: HashIndex) -> None:
        """Refuse an input that is not the one in the receipt."""
        name = f"{shown(entry['path'])} ({shown(entry['name'])})"
        self._require_inside(folder / entry["path"], shown(entry["path"]))
        try:
            # A file of another size is not read: it may be large.
            size = signature_of(folder / entry["path"])[0]
            same_size = size == entry.get("bytes", math.nan)
            self._require_readable(size, name)
            digest = index.hash(entry["path"]) if same_size or "bytes" not in entry else None
        except (OSError, InputError):
            raise _Refused("unchecked", f"inputs missing: {name}") from None
        if digest != entry["hash"]:
            raise _Refused("failed", f"inputs changed: {name}")

    def _require_readable(self, size: int, name: str) -> None:
        """Refuse to hash more than its evaluation could read: a file with a hole can be of any size."""
        if self._limits is None:
            return
        if size > self._limits.memory:
            raise _Refused("unchecked", f"not recomputed: {name} is larger than the limit of memory")
        if time.monotonic() - self._begin > self._limits.seconds:
            raise _Refused(
                "unchecked", f"not recomputed: reading its inputs took longer than {self._limits.seconds:g} s"
            )

    def _bound_files(
        self, command: str, item: Item, folder: Path, receipt: Mapping[str, Any], replaced: Set[str]
    ) -> None:
        """Refuse options that name files elsewhere, or far more of them than the receipt: a whole file system."""
        fields = fields_by_command(command)
        values = read_all(fields, item.options)
        most, number = _MOST_FILES + len(receipt["inputs"]), 0
        truths = frozenset() if self._submission is None else self._submission.files
        with_truth = {name.partition(".")[0] for name in replaced}
        search = Search(_MOST_NAMES, lambda place: self._require_inside(place, shown(str(place))))
        for name, declared in fields.items():
            texts = [*declared.kind.paths(values[name])] if declared.is_given(values[name]) else []
            for file in (file for text in texts for file in self._named(text, folder, search)):
                number += 1
                if number > most:
                    raise _Refused("failed", f"its options name more than {most:,} files")
                # Predictions must not be taken from the maintainer's truth.
                if not (name in with_truth and file in truths):
                    self._require_inside(folder / file, shown(file))

    def _named(self, text: str, folder: Path, search: Search) -> Iterator[str]:
        """The files that a text names; of a submission, also a path at which there is none for this process."""
        found = False
        for file in files_named(text, folder, search):
            found = True
            yield file
        if not found and self._submission is not None and not is_pattern(text, folder):
            yield text

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
    if "options" in recipe:
        read = options_of(command, dict(recipe["options"]))
    else:
        read = from_arguments(command, [str(argument) for argument in recipe["arguments"]])
    return {name: plain(value) for name, value in read.items()}


def _chosen(command: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are not files, as far as they differ from the defaults: they can decide a value, too."""
    fields = fields_by_command(command)
    values = read_all(fields, options)
    return {
        name: plain(values[name])
        for name, one in fields.items()
        if one.is_given(values[name])
        and name not in _INDIFFERENT
        and next(iter(one.kind.paths(values[name])), None) is None
    }


def _with(options: Mapping[str, Any]) -> str:
    """Options in words; a long one is cut, but none is left out."""
    texts = (
        f"{name} {shown(','.join(map(str, value)) if isinstance(value, list) else value)}"
        for name, value in options.items()
    )
    return f"with {', '.join(texts)}" if options else ""


def _name(value: object) -> str | None:
    return None if value is None else str(value)


def _verdict(
    path: Path,
    content: Mapping[str, Any],
    status: Status,
    detail: str,
    inputs: Iterable[Mapping[str, Any]] = (),
    given: Iterable[str] = (),
) -> Verdict:
    version = content["receipt"]["versions"].get("graphgauge")
    proved = proof(content, equal=status == "equal", inputs=inputs, given=given)
    return Verdict(path, status, detail, None if version is None else str(version), dict(content["run"]), proved)
