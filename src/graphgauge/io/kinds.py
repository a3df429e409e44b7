"""The kinds of inputs of doors: a value for the name of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.disk import read_json
from graphgauge.core.door import Input, named
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.items import Items
from graphgauge.io.arrays import open_array
from graphgauge.io.code import load_code
from graphgauge.io.places import is_url, local_file, readable
from graphgauge.io.tables import begins_with_zero, read_labels, read_ragged, read_set, read_table
from graphgauge.io.text import read_lines

READERS: dict[str, Callable[[str, Path], Any]] = {
    "array": open_array,
    "ragged": read_ragged,
    "set": read_set,
    "table": read_table,
    "labels": read_labels,
    "lines": lambda text, folder: read_lines(local_file(text, folder)),
    "json": lambda text, folder: read_json(local_file(text, folder)),
    "items": lambda text, folder: Items.load(local_file(text, folder)),
    "file": local_file,
}


def open_input(declared: Input, value: Any, folder: Path, *, trust_code: bool) -> Any:
    """The argument of a door that this value names: of one file, of several, or of one per name."""
    if declared.many == "named":
        return {name: _open(declared, text, folder, trust_code) for name, text in value.items()}
    if isinstance(value, tuple | list):
        return _joined(declared, [_open(declared, text, folder, trust_code) for text in value], list(value))
    return _open(declared, value, folder, trust_code)


def without_headers(inputs: Iterable[Input], values: dict[str, Any], fields: dict[str, Any], folder: Path) -> None:
    """Take the header 0, which data frames write above a column that has no name, from `values`, one per item.

    Above whole numbers and scores it may be an entry as well: one row more than others have tells. Where nothing does,
    two such files are refused.
    """
    along = [each for each in inputs if each.along and not each.many and values[each.name] is not None]
    read_whole = [each.name for each in along if each.kind == "array" or values[each.name].dtype.kind == "i"]
    doubtful = [name for name in read_whole if values[name].ndim == 1 and begins_with_zero(fields[name], folder)]
    rows = {len(values[each.name]) for each in along if each.name not in doubtful}
    lengths = {len(values[name]) for name in doubtful}
    if not rows and len(lengths) == 1 and len(doubtful) > 1:
        what = f"{' and '.join(doubtful)} begin with 0, which may be a header or the first entry"
        raise InputError(what, fix='Name the columns: pandas.Series(labels, name="label").to_csv(path, index=False).')
    for name in doubtful:
        if (rows or {min(lengths)}) == {len(values[name]) - 1}:
            values[name] = values[name][1:]


def _open(declared: Input, text: str, folder: Path, trust_code: bool) -> Any:
    if declared.kind == "code":
        if not trust_code:
            fix = "Give --trust-code to run it; it can do whatever you can."
            raise OptionError(f"{text} is code, which is not run unasked", where=declared.name, fix=fix)
        return load_code(text, folder)
    if declared.kind == "folder":
        if not (folder / text).is_dir():
            raise InputError("no such folder", where=text)
        return folder / text
    if declared.kind in READERS:
        return READERS[declared.kind](text, folder)
    path = local_file(text, folder) if is_url(text) else folder / text
    if not path.exists():
        raise InputError("no such file", where=text)
    with readable(text):
        return named(declared.kind)(path)


def _joined(declared: Input, parts: list[Any], names: list[str]) -> Any:
    """The arrays of several files as one, from the first row to the last."""
    if len(parts) == 1:
        return parts[0]
    for part, name in zip(parts, names, strict=True):
        if not isinstance(part, np.ndarray):
            raise InputError("is no array, and only arrays come in parts", where=f"{declared.name} ({name})")
        for what, here, first in (
            ("dtype", part.dtype, parts[0].dtype),
            ("row shape", part.shape[1:], parts[0].shape[1:]),
        ):
            if here != first:
                said = f"has the {what} {here}, and {names[0]} has {first}"
                raise InputError(said, where=f"{declared.name} ({name})", fix="Write all parts alike.")
    return np.concatenate(parts)
