"""The result file, `graphgauge/result/2`: conversion to a dictionary and back, atomic writing, checked reading."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from graphgauge._version import __version__
from graphgauge.core.arrays import text_array
from graphgauge.core.content import ResultFile
from graphgauge.core.disk import dump_json
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.sealed import decode
from graphgauge.core.sealed import root_of as new_root_of
from graphgauge.old.bridge import aged, items_of, text_of
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.files import read_json, write_text
from graphgauge.old.core.findings import Finding
from graphgauge.old.core.json_schema import checker
from graphgauge.old.core.result import READINGS, Chance, Direction, Interval, Kind, Result, Table

# Every edition's schema begins with this.
FORMAT = "graphgauge/result/"
SCHEMA = f"{FORMAT}2"
SCHEMA_FILE = Path(__file__).parents[2] / "schema" / "result-2.json"
# Breakdowns with more rows than this go to a side file.
INLINE_ROWS = 1000
# Entries that differ between two identical computations.
_TIMINGS = ("started", "seconds")
_FIELDS = frozenset(("status", "run", "conventions", "options", "results", "breakdowns", "findings", "receipt"))
# How archives of items and states, and arrays, begin.
# Levels of a result's JSON; a breakdown has four.
_DEEPEST = 50
_DATA = (b"PK\x03\x04", b"\x93NUMPY")
# Parts that are lists of entries, each with its own key.
_KEYS = (("results", "key"), ("skipped", "key"), ("breakdowns", "axis"), ("side_files", "path"), ("drawings", "name"))
_SPECIAL = {"inf": math.inf, "-inf": -math.inf}


def number_to_json(value: float | None) -> float | str | None:
    """JSON has neither NaN nor infinity: `null`, `"inf"` and `"-inf"` stand for them."""
    if value is None or math.isnan(value):
        return None
    # Always a float: a bound of 0 and one of 0.0 are the same content, and have the same hash.
    return float(value) if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def number_from_json(value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, str) and value in _SPECIAL:
        return _SPECIAL[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"expected a number, found {value!r:.60}")
    return float(value)


def evaluation_to_dict(evaluation: Evaluation) -> dict[str, Any]:
    """The result file's content, with its root."""
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "status": "partial" if evaluation.skipped else "ok",
        "run": {"family": evaluation.family, **evaluation.run},
        **_split_readings(evaluation.conventions),
        "options": plain(evaluation.options),
        "results": [result_to_dict(result) for result in evaluation.values()],
        "breakdowns": [_table_to_dict(table) for table in evaluation.breakdowns.values() if len(table) <= INLINE_ROWS],
        "side_files": [],
        "skipped": [{"key": key, "reason": reason} for key, reason in evaluation.skipped.items()],
        "findings": [plain(asdict(finding)) for finding in evaluation.findings],
        "notes": list(evaluation.notes),
        "error": None,
        **({"gates": [outcome.to_dict() for outcome in evaluation.gates]} if evaluation.gates else {}),
        **({"drawings": _drawings_to_list(evaluation.drawings)} if evaluation.drawings else {}),
        "receipt": {"inputs": [], "code": [], "versions": versions()},
    }
    return sealed(content)


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with the root that belongs to it."""
    return {**content, "root": root_of(content)}


def root_of(content: Mapping[str, Any]) -> str:
    """The SHA-256 of a result file's canonical JSON: sorted keys, no spaces, ASCII.

    The root itself and the timings are left out, so that the same computation has the same root. Side files are covered
    by their hashes.
    """
    return _digest(_untimed(_without(content, ("root",))), separators=(",", ":"))


def is_unchanged(content: Mapping[str, Any]) -> bool:
    """Whether a result file's root matches its content."""
    try:
        return content.get("root") == root_of(content)
    except (ValueError, RecursionError):  # a number that JSON does not have, or brackets nested too deep
        return False


def _untimed(content: dict[str, Any]) -> dict[str, Any]:
    receipt = content.get("receipt")
    return {**content, "receipt": _without(receipt, _TIMINGS)} if isinstance(receipt, Mapping) else content


def _without(content: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name not in names}


def _digest(content: Mapping[str, Any], separators: tuple[str, str] | None = None) -> str:
    text = json.dumps(content, sort_keys=True, allow_nan=False, separators=separators)
    return hashlib.sha256(text.encode()).hexdigest()


def versions() -> dict[str, str]:
    """The versions of the packages that computed the numbers."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"graphgauge": __version__, "python": platform.python_version()}
    for package in ("numpy", "scipy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def dumps(content: Mapping[str, Any]) -> str:
    if content.get("schema") == SCHEMA:
        return text_of(content)
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    if not _is_unicode(text):  # file names need not be; their stray bytes are escaped
        text = json.dumps(content, indent=1, allow_nan=False)
    return text + "\n"


def default_path(evaluation: Evaluation, root: str | Path = "results") -> Path:
    """`results/{method}/{family}/metrics_{dataset}_{seed}.json`, with every part made safe as a file name."""
    return result_path(root, evaluation.family, evaluation.run)


def result_path(root: str | Path, family: str, run: Mapping[str, Any]) -> Path:
    parts = {name: file_part(run[name]) for name in ("method", "dataset", "seed")}
    return Path(root) / parts["method"] / family / f"metrics_{parts['dataset']}_{parts['seed']}.json"


def file_part(value: Any) -> str:
    """A name as one component of a path; unsafe characters are replaced, and a hash is appended."""
    text = "none" if value is None else str(value)
    # File systems count bytes; a character cut in half is dropped.
    head = text[:80].encode("utf-8", "replace")[:80].decode(errors="ignore").lstrip(".")
    safe = "".join(character if character.isalnum() or character in "-_.+=" else "-" for character in head)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return safe if safe and safe == text else f"{safe}~{digest}"


def result_files(folder: Path) -> list[Path]:
    """Every JSON file in a folder that may be a result. Hidden files are incomplete or not results.

    Links to folders are not followed, and folders that cannot be listed, such as those nested too deeply, are left out.
    """
    found: list[Path] = []
    folders = [str(folder)]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):  # a method's folder may end in .json
                    folders.append(entry.path)
                elif entry.name.endswith(".json") and Path(entry.path).is_file():
                    found.append(Path(entry.path))
    return sorted(found)


def write_result(evaluation: Evaluation, path: str | Path, *, receipt: Mapping[str, Any] | None = None) -> Path:
    """Write the result file, and long breakdowns and per-item values to side files next to it."""
    target = Path(path)
    content = evaluation.to_dict()
    content["receipt"] |= dict(receipt or {})
    for axis, table in evaluation.breakdowns.items():
        if len(table) > INLINE_ROWS:
            side = target.with_suffix(f".{file_part(axis)}.json")
            write_text(side, dump_json(plain(table.to_dict())))
            content["side_files"].append({**_side_file("breakdown", side, len(table)), "axis": axis})
    if evaluation.per_item is not None:
        side = target.with_suffix(".kept.npz")
        evaluation.per_item.save(side)
        content["side_files"].append(_side_file("items", side, len(evaluation.per_item)))
        items = items_of(evaluation)
        if items is not None:
            side = target.with_suffix(".items.npz")
            items.save(side)
            content["side_files"].append({**_side_file("items", side, len(items)), "new": True})
    write_text(target, dumps(sealed(content)))
    return target


def saved(evaluation: Evaluation, path: str | Path, identity: Mapping[str, Any]) -> Path:
    """Write the result file of a run: to a .json file, or into a folder under the name of the run."""
    target = Path(path)
    if target.suffix and target.suffix.lower() != ".json" and not target.is_dir():
        raise OptionError(
            f"result files are JSON, and {target.name!r:.60} ends in {target.suffix}",
            fix="Name a .json file or a folder; to_frame() and plot() have other formats.",
        )
    evaluation.run |= identity
    if target.suffix.lower() != ".json" or target.is_dir():
        target = default_path(evaluation, target)
    return write_result(evaluation, target, receipt={"inputs": list(evaluation.inputs())})


def read_result(path: str | Path) -> Evaluation:
    """Read a result file back into an Evaluation, with the breakdowns in its side files.

    A file that is not a result, or whose side files are missing or changed, is an error.
    """
    content = read_content(path)
    sides = side_files(content, str(path))
    beside = [_side_breakdown(Path(path).parent, side) for side in sides if side.get("role") == "breakdown"]
    return evaluation_from_dict(content, where=str(path), beside=beside)


def read_content(path: str | Path) -> dict[str, Any]:
    """The dictionary in a result file, with its schema and its root checked."""
    return checked_content(read_json(path), str(path))


def is_result(content: Any) -> bool:
    """Whether JSON is meant as a result file, even if damage hides its schema."""
    return isinstance(content, dict) and (
        str(content.get("schema")).startswith(FORMAT) or len(_FIELDS & content.keys()) > len(_FIELDS) / 2
    )


def is_data(path: Path) -> bool:
    """Whether a file is a result, one of its side files or an archive: data, which no table or page must replace."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            head = stream.read(8)
        if head.startswith(_DATA):
            return True
        content = read_json(path) if head.lstrip()[:1] == b"{" else None
    except (OSError, ValueError):
        return False
    return is_result(content) or (isinstance(content, dict) and {"axis", "columns"} <= content.keys())


def refuse_data(path: str | Path) -> None:
    """Refuse a result, or its data, in the place of a file about results."""
    if is_data(Path(path)):
        raise OptionError(f"{path} is a result, or data of one", fix="Give the output another name.")


def write_product(path: str | Path, text: str) -> None:
    """Write a table or a page, but not in the place of a result or of its data."""
    refuse_data(path)
    write_text(path, text)


def checked_content(content: Any, where: str) -> dict[str, Any]:
    """The content of an unchanged result file, as edition 2 has it."""
    if isinstance(content, dict) and content.get("schema") == "graphgauge/result/3":
        return sealed(aged(decode(content, ResultFile, where)))
    require_schema(content, where)
    if not is_unchanged(content):
        raise InputError(
            "its root does not match its content: it was damaged or edited after it was written",
            where=where,
            fix="Evaluate again, or fetch the file again.",
        )
    require_valid(content, where)
    return dict(content)


def edition_2(content: Any, where: str) -> Any:
    """The content of a result file as edition 2 has it, with a wrong root if its root was; other JSON as it is."""
    if not isinstance(content, dict) or content.get("schema") != "graphgauge/result/3":
        return content
    root = new_root_of(content)
    found = sealed(aged(decode({**content, "root": root}, ResultFile, where)))
    return found if content.get("root") == root else {**found, "root": "0" * 64}


def _require_shallow(content: Mapping[str, Any], where: str) -> None:
    """Refuse values that are nested more deeply than any result is: what is recursive would fail on them."""
    tables = content.get("breakdowns")
    level: list[Any] = [
        # Columns are long, and checked when they are read.
        {name: part for name, part in table.items() if name != "columns"} if isinstance(table, dict) else [table]
        for table in (tables if isinstance(tables, list) else [tables])
    ]
    level.append({name: part for name, part in content.items() if name != "breakdowns"})
    depth = 0
    while level:
        if depth > _DEEPEST:
            raise InputError(f"is nested more than {_DEEPEST} levels deep", where=where)
        parts = [list(value.values()) if isinstance(value, dict) else value for value in level]
        level = [value for part in parts for value in part if isinstance(value, dict | list)]
        depth += 1


def require_schema(content: Any, where: str) -> None:
    found = content.get("schema") if isinstance(content, dict) else type(content).__name__
    if not isinstance(content, dict) or found != SCHEMA:
        raise InputError(f"not a result file: schema is {found!r:.80}", where=where, fix=f"Expected {SCHEMA!r}.")
    _require_shallow(content, where)


def require_valid(content: Mapping[str, Any], where: str, *, whole: bool = False) -> None:
    """Refuse wrong types, missing parts, and keys that occur twice, of which readers would take different ones.

    Parts that no reader needs may be missing, unless it is to be `whole`.
    """
    try:
        wrong = _checker(whole)(content)
        for part, name in _KEYS if wrong is None else ():
            times = Counter(entry.get(name) for entry in content.get(part, ()))
            twice = next((key for key, count in times.items() if count > 1), None)
            if twice is not None:
                wrong = f"the {name} {twice!r:.60} occurs more than once in {part}"
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _invalid(error, where) from None
    if wrong is not None:
        raise InputError(f"not a valid result file: {wrong}", where=where, fix="Evaluate again, or fetch it again.")


@cache
def _checker(whole: bool) -> Callable[[Any], str | None]:
    return checker(_schema(whole))


@cache
def _columns_checker() -> Callable[[Any], str | None]:
    return checker(_schema()["$defs"]["columns"], _schema())


@cache
def _schema(whole: bool = True) -> dict[str, Any]:
    """The schema, or what it says about the parts that are there.

    That the root matches is checked where it is read.
    """
    schema = read_json(SCHEMA_FILE)
    required = [name for name in schema["required"] if name != "root"]
    if whole:
        return {**schema, "required": required}
    parts = {name: _optional(part) for name, part in schema["properties"].items()}
    return {**_without(schema, ("required",)), "properties": parts}


def _optional(schema: Any) -> Any:
    """A schema in which nothing is required."""
    if isinstance(schema, dict):
        return {name: _optional(part) for name, part in schema.items() if name != "required"}
    return schema


def _split_readings(conventions: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Conventions of the metric, and how the outputs were read."""
    return {
        "conventions": _without(conventions, READINGS),
        "readings": {name: value for name, value in conventions.items() if name in READINGS},
    }


def _invalid(error: Exception, where: str) -> InputError:
    return InputError(f"not a valid result file: {type(error).__name__} {error}", where=where)


def evaluation_from_dict(
    content: Mapping[str, Any], *, where: str = "result", beside: Sequence[Any] = ()
) -> Evaluation:
    """The evaluation in a result file's content; `beside` are the breakdowns from side files."""
    from graphgauge.old.core.gates import GateOutcome

    try:
        run = dict(content["run"])
        tables = [*content["breakdowns"], *beside]
        evaluation = Evaluation(
            str(run.pop("family")),
            [_result_from_dict(entry) for entry in content["results"]],
            conventions=_stated(content),
            options=content["options"],
            breakdowns={entry["axis"]: _table_from_dict(entry) for entry in tables},
            skipped={entry["key"]: entry["reason"] for entry in content["skipped"]},
            findings=tuple(Finding(**{"message": "", **_known(Finding, entry)}) for entry in content["findings"]),
            notes=tuple(content.get("notes", ())),
            run=run,
            drawings={entry["name"]: _drawing_from_dict(entry) for entry in content.get("drawings", ())},
        )
        evaluation.gates = tuple(GateOutcome.from_dict(entry) for entry in content.get("gates", ()))
        return evaluation
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise _invalid(error, where) from None


def _stated(entry: Mapping[str, Any]) -> dict[str, str]:
    """Conventions and readings together."""
    return {str(name): str(value) for part in ("conventions", "readings") for name, value in entry[part].items()}


def result_to_dict(result: Result) -> dict[str, Any]:
    interval = result.interval
    return {
        "key": result.key,
        "metric": result.metric,
        "params": plain(result.params),
        "section": result.section,
        "value": number_to_json(result.value),
        "n": result.n,
        "unit": result.unit,
        "direction": result.direction,
        "target": number_to_json(result.target),
        "bounds": [number_to_json(bound) for bound in result.bounds],
        "interval": None if interval is None else _interval_to_dict(interval),
        "no_interval": result.no_interval,
        "levels": [_level_to_dict(level) for level in result.chance],
        **_split_readings(result.conventions),
        "reason": result.reason,
        "oracle": result.oracle,
        "warnings": list(result.warnings),
        **_judgement(result),
        **({} if result.new_queries is None else {"new_queries": _interval_to_dict(result.new_queries)}),
    }


def _interval_to_dict(interval: Interval) -> dict[str, Any]:
    return {**asdict(interval), "low": number_to_json(interval.low), "high": number_to_json(interval.high)}


def _interval_from_dict(entry: Mapping[str, Any] | None) -> Interval | None:
    if entry is None:
        return None
    ends = {name: number_from_json(entry[name]) for name in ("low", "high")}
    return Interval(**{**_known(Interval, entry), **ends})


def _judgement(result: Result) -> dict[str, Any]:
    """The goal, priority and interpretation, if there are any."""
    stated = {
        "goal": number_to_json(result.goal),
        "priority": result.priority,
        "interpretation": result.interpretation,
    }
    return {name: value for name, value in stated.items() if value is not None}


def _result_from_dict(entry: Mapping[str, Any]) -> Result:
    interval = entry["interval"]
    low, high = (number_from_json(bound) for bound in entry["bounds"])
    return Result(
        key=str(entry["key"]),
        metric=str(entry["metric"]),
        params=entry["params"],
        section=entry["section"],
        value=number_from_json(entry["value"]),
        n=int(entry["n"]),
        unit=str(entry["unit"]),
        direction=cast(Direction, one_of("direction", entry["direction"], get_args(Direction))),
        target=None if entry["target"] is None else number_from_json(entry["target"]),
        bounds=(low, high),
        interval=_interval_from_dict(interval),
        new_queries=_interval_from_dict(entry.get("new_queries")),
        no_interval=entry.get("no_interval"),
        chance=tuple(_level_from_dict(level) for level in entry["levels"]),
        conventions=_stated(entry),
        reason=entry["reason"],
        oracle=bool(entry["oracle"]),
        warnings=tuple(entry["warnings"]),
        goal=number_from_json(entry["goal"]) if "goal" in entry else None,
        priority=entry.get("priority"),
        interpretation=entry.get("interpretation"),
    )


# What only simulated levels have.
_SIMULATED = ("low", "high", "own")


def _level_to_dict(level: Chance) -> dict[str, Any]:
    simulated = {name: number_to_json(getattr(level, name)) for name in _SIMULATED if getattr(level, name) is not None}
    noted = {} if level.note is None else {"note": level.note}
    return {"name": level.name, "value": number_to_json(level.value), "kind": level.kind, **simulated, **noted}


def _level_from_dict(level: Mapping[str, Any]) -> Chance:
    kind = cast(Kind, one_of("kind", level["kind"], get_args(Kind)))
    simulated = {name: number_from_json(level[name]) for name in _SIMULATED if name in level}
    return Chance(str(level["name"]), number_from_json(level["value"]), kind, note=level.get("note"), **simulated)


def _table_to_dict(table: Table) -> dict[str, Any]:
    return {"axis": table.axis, "columns": plain(table.to_dict())}


def _drawings_to_list(drawings: Mapping[str, Table]) -> list[dict[str, Any]]:
    return [{"name": name, **_table_to_dict(table)} for name, table in drawings.items()]


def _table_from_dict(entry: Mapping[str, Any]) -> Table:
    axis = str(entry["axis"])
    wrong = _columns_checker()(entry["columns"])
    if wrong is not None:
        raise TypeError(f"in the breakdown by {axis}, {wrong}")
    columns = {name: _column(axis, name, values) for name, values in entry["columns"].items()}
    if {values.shape for values in columns.values()} != {(len(columns[axis]),)}:
        raise ValueError(f"columns of the breakdown by {axis} differ in length")
    return Table(axis, columns)


def _drawing_from_dict(entry: Mapping[str, Any]) -> Table:
    """Places in a drawing are whole numbers, and stay so."""
    table = _table_from_dict(entry)

    def whole(name: str, column: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        are_whole = column.dtype.kind == "f" and all(type(value) is int for value in entry["columns"][name])
        return column.astype(np.int64) if are_whole and np.abs(column).max(initial=0) < 2**53 else column

    return Table(table.axis, {name: whole(name, column) for name, column in table.columns.items()})


def _column(axis: str, name: str, values: list[Any]) -> np.ndarray[Any, Any]:
    if name == axis:
        texts = bool(values) and all(type(value) is str for value in values)
        return text_array(values, f"breakdown by {axis}") if texts else np.array(values)
    numbers = _numbers(values)
    if name != "n" and not name.endswith(".n"):
        return numbers
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise ValueError(f"in the breakdown by {axis}, {name} has values that are not counts")
    return np.array(values)


def _numbers(values: Any) -> np.ndarray[Any, Any]:
    if set(map(type, values)) == {float}:
        return np.array(values)
    return np.array([number_from_json(value) for value in values])


def _known(kind: type[Finding | Interval], entry: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that this version knows; later ones may add to them."""
    return {field.name: entry[field.name] for field in fields(kind) if field.name in entry}


def side_files(content: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    """The entries of a result file for its side files."""
    sides = content.get("side_files", [])
    if not isinstance(sides, list) or not all(isinstance(side, dict) for side in sides):
        raise InputError("not a valid result file: side_files is not a list of objects", where=where)
    return sides


def side_path(folder: Path, side: Mapping[str, Any]) -> Path:
    """The path of a side file, always in the folder of its result."""
    return folder / Path(str(side.get("path"))).name


def require_unchanged(path: Path, digest: Any) -> None:
    """Refuse a side file that is not the one written with the result."""
    try:
        if not path.is_file():  # other kinds, such as devices, may be endless
            raise InputError("is missing", where=str(path), fix="It belongs next to its result.")
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot be read ({reason})", where=str(path)) from None
    if found != digest:
        raise InputError("has changed since its result was written", where=str(path), fix="Evaluate again.")


def _side_breakdown(folder: Path, side: Mapping[str, Any]) -> Any:
    path = side_path(folder, side)
    require_unchanged(path, side.get("hash"))
    return {"axis": side.get("axis"), "columns": read_json(path)}


def _side_file(role: str, path: Path, rows: int) -> dict[str, Any]:
    return {"role": role, "path": path.name, "hash": hashlib.sha256(path.read_bytes()).hexdigest(), "rows": rows}


def plain(value: Any) -> Any:
    """NumPy scalars, tuples and special floats as JSON values."""
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    return number_to_json(value) if isinstance(value, float) else cast(Any, value)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
