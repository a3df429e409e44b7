"""Which files an evaluation reads, and whether they stayed the same meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any, ParamSpec, cast

from graphgauge.core.cluster import engine_of
from graphgauge.core.described import documented
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.fields import fields_of, named_paths, read_all
from graphgauge.core.files import Signature, files_named, signature_of
from graphgauge.core.urls import Url, is_url
from graphgauge.io.remote import Copies

P = ParamSpec("P")


class Watch:
    """The named files before an evaluation begins, so that a receipt names the files that were read."""

    def __init__(self, named: Iterable[str], folder: Path) -> None:
        self._folder, self._since = folder, time.time_ns()
        names = (name for text in named for name in files_named(text, folder))
        self._begun = {path: signature_of(path) for path in map(self._path, names)}

    def unchanged(self, inputs: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The entries of a receipt, hashed after evaluating, if the files have not changed since the beginning."""
        entries = list(inputs)
        for entry in entries:
            path = self._path(entry["path"])
            now = signature_of(path)
            # A file that no argument names, or that a pattern matched only later.
            changed = now != self._begun[path] if path in self._begun else self._is_new(path, now)
            if changed:
                raise InputError(f"changed while being evaluated: {entry['path']}", fix="Evaluate again.")
        return entries

    def _is_new(self, path: Path | Url, signature: Signature) -> bool:
        return isinstance(path, Path) and max(signature[1], signature[2]) > self._since

    def _path(self, name: str) -> Path | Url:
        if is_url(name):
            return Url(name)
        return Path(os.path.abspath(self._folder / name))  # noqa: PTH100, links need not be followed


def watched(function: Callable[P, Evaluation]) -> Callable[P, Evaluation]:
    """Decorate a function that evaluates files: a receipt of its result is refused if they have changed since.

    Receipts are made when a result is written, which may be long after the files were read.
    """
    inner = function.func if isinstance(function, partial) else function
    if getattr(inner, "is_watched", False):
        return function

    @wraps(function)
    def evaluate(*args: P.args, **kwargs: P.kwargs) -> Evaluation:
        fields = fields_of(function)
        values: dict[str, Any] = {}
        with suppress(OptionError):  # which the function itself reports
            values = read_all(fields, kwargs)
        with Copies(fields, values) as copies, engine_of(kwargs):
            watch = Watch(named_paths(fields, copies.values), Path.cwd())
            if not copies:
                evaluation = function(*args, **kwargs)
                inputs = evaluation.inputs
                evaluation.inputs = lambda: watch.unchanged(inputs())
                return evaluation
            if kwargs.get("scheduler") is not None:
                copies.refuse_for_others()
            evaluation = function(*args, **cast(Any, kwargs | {name: copies.values[name] for name in fields}))
            # Copies are removed, so the receipt is made now.
            entries = [copies.named(entry) for entry in watch.unchanged(evaluation.inputs())]
            evaluation.inputs = lambda: entries
            return evaluation

    evaluate.__doc__ = documented(function)
    evaluate.is_watched = True  # type: ignore[attr-defined]
    return evaluate
