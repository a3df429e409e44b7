"""Families that are not rebuilt, as doors: their fields, files and results through `evaluate_files` of 0.2."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphgauge.core.errors import UnknownNameError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.progress import Progress
from graphgauge.old.bridge import new_evaluation
from graphgauge.old.core.family import family
from graphgauge.old.core.fields import located, named_factories, named_paths, read_all
from graphgauge.old.core.files import files_named


def checked(name: str, door: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The given fields, typed; errors name them. Nothing is opened."""
    if door:
        raise UnknownNameError(f"door of {name}", door, ())
    old = family(name)
    for field in fields:
        if field not in old.fields:
            raise UnknownNameError("input or option", field, old.fields).about(field)
    values = old.read(fields)
    return {field: values[field] for field in fields}


def code(name: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Every `module:factory` that the evaluation would import."""
    old = family(name)
    return tuple(named_factories(old.fields, read_all(old.fields, fields)))


def files(name: str, fields: Mapping[str, Any], folder: Path) -> list[tuple[str, str]]:
    """The name of the input and of the file, for every file that is read."""
    old = family(name)
    values = read_all(old.fields, fields)
    return [
        (field, path)
        for field in old.fields
        for text in named_paths({field: old.fields[field]}, values)
        for path in (list(files_named(text, folder)) or [text])
    ]


def evaluate(name: str, door: str, fields: Mapping[str, Any], folder: Path, progress: Progress) -> Evaluation:
    """The evaluation, with the inputs in its receipt."""
    old = family(name)
    checked(name, door, fields)
    values = located(old.fields, old.read(fields), folder.resolve())
    result = old.evaluate_files(**values, progress=progress)
    evaluation = new_evaluation(result)
    evaluation.receipt = {
        "request": {"family": name, "door": "", "fields": dict(fields)},
        "inputs": [{**each, "path": _below(each["path"], folder)} for each in result.inputs()],
    }
    return evaluation


def _below(path: str, folder: Path) -> str:
    """A path as the fields name it, which is below the folder."""
    place = Path(path)
    return place.relative_to(folder.resolve()).as_posix() if place.is_relative_to(folder.resolve()) else path
