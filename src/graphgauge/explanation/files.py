"""Plain dictionaries in files: one per line of JSON, or one per row of Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.core.files import atomic_path

Record = dict[str, Any]
# Fields whose type differs between rows are stored as JSON text.
_AS_JSON = ("event", "target")


def path_of(path: Any) -> Path:
    try:
        return Path(path)
    except TypeError:
        raise InputError(f"expected a path, found {type(path).__name__}", where="path") from None


def json_line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, allow_nan=False, separators=(",", ":")) + "\n"


def write_lines(records: Iterable[Mapping[str, Any]], path: Path) -> None:
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        stream.writelines(map(json_line, records))


def read_lines(path: Path) -> tuple[list[tuple[str, Record]], bool]:
    """The dictionaries of a JSON Lines file, each with its location, and whether an incomplete line follows."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError("no such file", where=str(path)) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot be read ({reason})", where=str(path)) from None
    lines = [(f"{path}, line {number}", line) for number, line in enumerate(content.split(b"\n"), 1) if line.strip()]
    records: list[tuple[str, Record]] = []
    for place, line in lines:
        try:
            records.append((place, _parsed(line, place)))
        except InputError:
            if not records or line is not lines[-1][1] or content.endswith(b"\n"):
                raise
            return records, True
    return records, False


def _parsed(line: bytes, where: str) -> Record:
    try:
        record = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON ({error})", where=where) from None
    if not isinstance(record, dict):
        raise InputError(f"expected a table, found {type(record).__name__}", where=where)
    return record


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON; write null")


def write_parquet(head: Mapping[str, Any], records: Iterable[Record], path: Path) -> None:
    """Write records as rows, and the header as metadata."""
    arrow, parquet = need("pyarrow", "writing .parquet"), need("pyarrow.parquet", "writing .parquet")
    rows = list(records)
    names = list(dict.fromkeys(name for row in rows for name in row))
    # Arrow takes the columns of a table from its first row.
    rows = [{name: json.dumps(row.get(name)) if name in _AS_JSON else row.get(name) for name in names} for row in rows]
    try:
        columns = arrow.Table.from_pylist(rows)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError) as error:
        raise InputError(f"events have different types ({error})", where=str(path), fix="Save it as .jsonl.") from None
    columns = columns.replace_schema_metadata({"graphgauge": json.dumps(head)})
    with atomic_path(path) as temporary:
        parquet.write_table(columns, temporary, compression="zstd")


def read_parquet(path: Path) -> Iterator[Any]:
    """The header, followed by the records."""
    arrow, parquet = need("pyarrow", "reading .parquet"), need("pyarrow.parquet", "reading .parquet")
    if not path.is_file():
        raise InputError("is a folder" if path.is_dir() else "no such file", where=str(path))
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
    """Remove empty fields, because Parquet gives every record all fields."""
    if isinstance(value, dict):
        return {name: _without_absent(item) for name, item in value.items() if item is not None}
    return [_without_absent(item) for item in value] if isinstance(value, list) else value
