"""Files that are read only if nothing in them was changed: JSON with a schema, and the SHA-256 of its content.

The content of each kind of file is a msgspec struct with the fields `schema` and `root`. Numbers are as `core.number`
says. A later version may add fields, which this one does not read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec
import numpy as np
from msgspec import Struct

from graphgauge.core.disk import dump_json, read_json
from graphgauge.core.errors import InputError
from graphgauge.core.number import SCHEMA as NUMBER_SCHEMA
from graphgauge.core.number import Number, from_file, plain

# What two identical computations differ in.
TIMES = ("started", "seconds")
File = TypeVar("File", bound=Struct)


def encode(content: Struct) -> str:
    """The text of a file, with its root."""
    fields = plain(msgspec.to_builtins(content, enc_hook=_builtin))
    text = dump_json(fields)
    if not text.isascii():  # names of files may have bytes that are no text
        fields = json.loads(text.encode("utf-8", "replace"))
    return dump_json({**fields, "root": root_of(fields)})


def read(path: str | Path, kind: type[File]) -> File:
    """The content of a file of this kind, if it is unchanged since it was written."""
    return decode(read_json(path), kind, str(path))


def decode(fields: Any, kind: type[File], where: str) -> File:
    """JSON as the content of a file: of the right schema, with the root that belongs to it, of the right types."""
    wanted = get_args(get_type_hints(kind)["schema"])[0]
    found = fields.get("schema") if isinstance(fields, dict) else type(fields).__name__
    if found != wanted:
        raise InputError(f"its schema is {found!r:.60}", where=where, fix=f"Expected {wanted!r}.")
    if fields.get("root") != root_of(fields):
        what = "its root does not match its content: it was damaged or edited after it was written"
        raise InputError(what, where=where, fix="Evaluate again, or fetch the file again.")
    try:
        return msgspec.convert(fields, kind, dec_hook=_number)
    except (msgspec.ValidationError, OverflowError, UnicodeError) as error:
        raise InputError(f"not a valid file: {error}", where=where, fix="Evaluate again, or fetch it again.") from None


def root_of(fields: Mapping[str, Any]) -> str:
    """The SHA-256 of a file's canonical JSON, without the root itself and the times: equal for equal computations."""
    kept = {name: value for name, value in fields.items() if name != "root"}
    if isinstance(kept.get("receipt"), dict):
        kept["receipt"] = {name: value for name, value in kept["receipt"].items() if name not in TIMES}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def json_schema(kind: type[Struct]) -> dict[str, Any]:
    """The JSON Schema of a kind of files."""
    return msgspec.json.schema(kind, schema_hook=lambda _: NUMBER_SCHEMA)


def _builtin(value: Any) -> Any:
    """What is left in options and evidence: NumPy's numbers and arrays, floats of a class of their own, paths."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


def _number(kind: type, value: Any) -> float:
    if kind is not Number:
        raise NotImplementedError(kind)
    return from_file(value)
