"""The answers of a model to the masks of every event, kept so that they can be scored again without the model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, refuse_nan
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.core.extras import need
from graphgauge.core.files import atomic_path
from graphgauge.core.schema import number_from_json, number_to_json
from graphgauge.explanation.inputs import Context, Explanation, Floats, Masks, Subgraph
from graphgauge.explanation.masks import Settings
from graphgauge.explanation.records import Event, EventId, grouped, masks_from_text, masks_to_text

SCHEMA = "graphgauge/explanation/1"
_ENDINGS = (".jsonl", ".parquet")
# How far probabilities may lie outside [0, 1], and their sum from 1, by rounding in the model.
_OUTSIDE = 1e-6
_SUM = 1e-3


@dataclass(frozen=True, eq=False)
class Answered:
    """One event with its distinct masks (R, E) and what the model answered to each, (R, C)."""

    event: Event
    masks: Masks
    outputs: Floats

    @property
    def id(self) -> EventId:
        return self.event.id

    @property
    def context(self) -> Context:
        return self.event.context

    @property
    def subgraph(self) -> Subgraph:
        return self.event.subgraph

    def of(self, explainer: str) -> list[Explanation]:
        return [explanation for explanation in self.event.explanations if explanation.explainer == explainer]

    def to_dict(self) -> dict[str, Any]:
        outputs = [[number_to_json(value) for value in row] for row in self.outputs]
        return {**self.event.to_dict(), "masks": masks_to_text(self.masks), "outputs": outputs}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], model_output: str) -> Answered:
        event = Event.from_dict(record)
        for explanation in event.explanations:
            explanation.refuse_nan()
        masks = masks_from_text(record.get("masks"), len(event.subgraph))
        try:
            rows = [[number_from_json(value) for value in row] for row in record["outputs"]]
            outputs = np.array(rows, np.float64).reshape(len(rows), -1)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise InputError("expected rows of numbers, one for each mask", where="outputs") from None
        return cls(event, masks, checked_outputs(outputs, len(masks), model_output, "outputs"))


def checked_outputs(answer: Any, rows: int, model_output: str, where: str) -> Floats:
    """What a model said to `rows` masks, as (rows, C): finite, of the right shape, and what it is declared to be."""
    array = as_numeric(answer, where)
    if array.shape == (rows,):
        array = array[:, np.newaxis]
    if array.ndim != 2 or len(array) != rows or array.shape[1] < 1:
        raise InputError(
            f"shape {array.shape} for {rows} masks", where=where, fix=f"Expected ({rows}, classes) or ({rows},)."
        )
    outputs = array.astype(np.float64)
    refuse_nan(outputs, where, fix='Repair the model, or pass nan="omit" to leave such events out.')
    if model_output == "logit":
        if outputs.shape[1] > 1 and (np.isposinf(outputs).any() or np.isneginf(outputs).all(axis=1).any()):
            raise InputError("infinite logits have no probabilities", where=where)
        return outputs
    if outputs.size and (outputs.min() < -_OUTSIDE or outputs.max() > 1 + _OUTSIDE):
        worst = outputs.min() if outputs.min() < -_OUTSIDE else outputs.max()
        raise InputError(f"{worst:.4g} is no probability", where=where, fix='Logits? Pass model_output="logit".')
    if outputs.shape[1] > 1 and (np.abs(outputs.sum(axis=1) - 1) > _SUM).any():
        total = outputs.sum(axis=1)[np.argmax(np.abs(outputs.sum(axis=1) - 1))]
        raise InputError(
            f"probabilities of one mask sum to {total:.4g}", where=where,
            fix="Classes exclude each other here: normalise them, or give one output.",
        )  # fmt: skip
    return np.clip(outputs, 0, 1)


def probabilities(outputs: Floats, model_output: str) -> Floats:
    """Class probabilities (R, C ≥ 2): softmax of logits, and one output p as (1 − p, p)."""
    if outputs.shape[1] > 1:
        if model_output == "probability":
            return outputs
        shifted = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
    one = outputs[:, 0]
    if model_output == "logit":
        # Of the two classes the less likely is computed, which loses no digits.
        with np.errstate(over="ignore"):
            less = np.exp(-np.abs(one)) / (1 + np.exp(-np.abs(one)))
        one = np.where(one >= 0, 1 - less, less)
    return np.stack([1 - one, one], axis=1)


@dataclass(frozen=True, eq=False)
class Table:
    """Answered events, in the order in which they were asked, and what was asked."""

    settings: Settings
    rows: tuple[Answered, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        classes = {row.outputs.shape[1] for row in self.rows}
        if len(classes) > 1:
            raise InputError(f"answers of {' and '.join(map(str, sorted(classes)))} classes in one table")
        ids = [row.id for row in self.rows]
        if len(set(ids)) < len(ids):
            twice = next(name for index, name in enumerate(ids) if name in ids[:index])
            raise InputError(f"event {twice!r:.80} stands twice in the table")

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Answered]:
        return iter(self.rows)

    @property
    def explainers(self) -> list[str]:
        return list(dict.fromkeys(one.explainer for row in self.rows for one in row.event.explanations))

    @property
    def masks(self) -> int:
        """How many masks the model answered for."""
        return sum(len(row.masks) for row in self.rows)

    def explainer(self, name: str | None) -> str:
        """The one to evaluate: the only one, or the one that is named."""
        return chosen_explainer(self.explainers, name)

    @classmethod
    def of(cls, records: Iterable[Mapping[str, Any]], where: str = "table") -> Table:
        """A table from its dictionaries: the header, then one for each event."""
        head, *lines = _numbered(records, where)
        settings, notes = header_from_dict(head[1], head[0])
        rows = []
        for place, record in lines:
            if "notes" in record and "event" not in record:
                notes = (*notes, *map(str, record["notes"]))
            else:
                rows.append(_answered(record, settings, place))
        return cls(settings, tuple(rows), notes)

    def to_dicts(self) -> Iterator[dict[str, Any]]:
        yield header_to_dict(self.settings, self.notes)
        yield from (row.to_dict() for row in self.rows)

    def save(self, path: str | Path) -> None:
        """Write a .jsonl or .parquet file, whole or not at all."""
        target = Path(path)
        if _ending(target) == ".parquet":
            _write_parquet(self, target)
            return
        with atomic_path(target) as temporary, temporary.open("w", encoding="utf-8") as stream:
            stream.writelines(json_line(record) for record in self.to_dicts())


def chosen_explainer(known: Iterable[str], name: str | None) -> str:
    """The only one of the known explainers, or the one that is named."""
    names = list(dict.fromkeys(known))
    if name is None and len(names) > 1:
        raise OptionError(
            f"{len(names)} explainers: {', '.join(names)}",
            fix="Choose one with explainer= or --explainer; compare() sets them side by side.",
        )
    if name is not None and name not in names:
        raise UnknownNameError("explainer", name, names)
    return name or (names[0] if names else "explainer")


def read_table(path: str | Path) -> Table:
    """Read a table back; nothing in a file is ever executed. A last line that is not whole is left out, with a note."""
    target = Path(path)
    if _ending(target) == ".parquet":
        return Table.of(_parquet_records(target), str(path))
    records, cut_off = read_lines(target)
    if not records:
        raise InputError("holds no header", where=str(path), fix="Is it a file that collect() wrote?")
    table = Table.of(records, str(path))
    if not cut_off:
        return table
    return Table(table.settings, table.rows, (*table.notes, "the last line of the file is not whole and was left out"))


def read_explanations(path: str | Path) -> list[Explanation]:
    """The explanations in a .jsonl file: one event a line with its subgraph, its explanations and no answers."""
    records, _ = read_lines(Path(path))
    explanations: list[Explanation] = []
    for place, record in _numbered(records, str(path)):
        if "event" not in record and ("schema" in record or "notes" in record):
            continue  # of a table the events are read, and not the answers
        with _located(place):
            explanations += Event.from_dict(record).explanations
    return explanations


def write_explanations(explanations: Iterable[Explanation], path: str | Path) -> None:
    """Write explanations with their subgraphs to a .jsonl file, one event a line."""
    events = grouped(explanations)
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        stream.writelines(json_line(event.to_dict()) for event in events)


def json_line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, allow_nan=False, separators=(",", ":")) + "\n"


def header_to_dict(settings: Settings, notes: Iterable[str] = ()) -> dict[str, Any]:
    return {"schema": SCHEMA, "settings": settings.to_dict(), "notes": list(notes)}


def header_from_dict(record: Mapping[str, Any], where: str) -> tuple[Settings, tuple[str, ...]]:
    if record.get("schema") != SCHEMA:
        found = record.get("schema")
        raise InputError(f"not a table: its schema is {found!r:.80}", where=where, fix=f"Expected {SCHEMA!r}.")
    try:
        return Settings.from_dict(record["settings"]), tuple(str(note) for note in record.get("notes", ()))
    except InputError as error:
        raise InputError(f"settings: {error.what}", where=where) from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(f"not a header ({type(error).__name__} {error})", where=where) from None


def read_lines(path: Path) -> tuple[list[dict[str, Any]], bool]:
    """The dictionaries of a JSON Lines file, and whether an unfinished line followed them."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError("no such file", where=str(path)) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error})", where=str(path)) from None
    *lines, rest = content.split(b"\n")
    records = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        records.append(_parsed(line, f"{path}, line {number}"))
    if rest.strip():
        try:
            return [*records, _parsed(rest, f"{path}, line {len(lines) + 1}")], False
        except InputError:
            if not records:
                raise
            return records, True
    return records, False


def _parsed(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON ({error})", where=where) from None
    if not isinstance(record, dict):
        raise InputError(f"expected a table, found {type(record).__name__}", where=where)
    return record


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON; write null")


def _numbered(records: Iterable[Mapping[str, Any]], where: str) -> list[tuple[str, Mapping[str, Any]]]:
    listed = []
    for number, record in enumerate(records, 1):
        if not isinstance(record, Mapping):
            raise InputError(f"expected a table, found {type(record).__name__}", where=f"{where}, line {number}")
        listed.append((f"{where}, line {number}", record))
    if not listed:
        raise InputError("is empty", where=where)
    return listed


def _answered(record: Mapping[str, Any], settings: Settings, where: str) -> Answered:
    with _located(where):
        return Answered.from_dict(record, settings.model_output)


@contextmanager
def _located(place: str) -> Iterator[None]:
    """Errors of a line say which line it was."""
    try:
        yield
    except InputError as error:
        where = place if error.where is None else f"{place}, {error.where}"
        raise InputError(error.what, where=where, fix=error.fix) from None


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in _ENDINGS:
        raise InputError(f"tables are not kept in files ending in {ending or 'nothing'}", where=str(path),
                         fix=f"Use {' or '.join(_ENDINGS)}.")  # fmt: skip
    return ending


# What has no one type over all events is kept as JSON inside its column.
_AS_JSON = ("event", "target")


def _write_parquet(table: Table, path: Path) -> None:
    arrow, parquet = need("pyarrow", "writing .parquet"), need("pyarrow.parquet", "writing .parquet")
    head, *records = table.to_dicts()
    names = list(dict.fromkeys(name for record in records for name in record))
    # Arrow takes the columns of a table from its first row.
    records = [{name: record.get(name) for name in names} for record in records]
    for record in records:
        record |= {name: json.dumps(record[name]) for name in _AS_JSON}
    try:
        columns = arrow.Table.from_pylist(records)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError) as error:
        raise InputError(f"events differ in their types ({error})", where=str(path), fix="Save it as .jsonl.") from None
    columns = columns.replace_schema_metadata({"graphgauge": json.dumps(head)})
    with atomic_path(path) as temporary:
        parquet.write_table(columns, temporary, compression="zstd")


def _parquet_records(path: Path) -> Iterator[dict[str, Any]]:
    arrow, parquet = need("pyarrow", "reading .parquet"), need("pyarrow.parquet", "reading .parquet")
    if not path.is_file():
        raise InputError("no such file", where=str(path))
    try:
        content = parquet.read_table(path)
        head = json.loads((content.schema.metadata or {})[b"graphgauge"])
        records = [
            _without_absent(record) | {name: json.loads(record[name]) for name in _AS_JSON}
            for record in content.to_pylist()
        ]
    except (arrow.ArrowException, KeyError, TypeError, ValueError, OSError, RecursionError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"not a table ({first})", where=str(path), fix="Is it a file that save() wrote?") from None
    yield head
    yield from records


def _without_absent(value: Any) -> Any:
    """Parquet has every field of a record everywhere; those that hold nothing are left out again."""
    if isinstance(value, dict):
        return {name: _without_absent(item) for name, item in value.items() if item is not None}
    return [_without_absent(item) for item in value] if isinstance(value, list) else value
