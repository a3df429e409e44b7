"""Inputs behind URLs: shards in .npy files are streamed, others are copied to temporary files while they are read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from graphgauge.core.errors import GraphgaugeError, InputError, OptionError
from graphgauge.core.fields import Fields, Files, named_paths
from graphgauge.core.files import is_pattern, matching, split_member, writing
from graphgauge.core.urls import Url, is_url
from graphgauge.io.hashing import knowing

_STREAMED = ".npy"


class Copies:
    """Local copies of what URLs name, in a temporary folder that is removed with this block."""

    def __init__(self, fields: Fields, values: Mapping[str, Any]) -> None:
        self.values = dict(values)
        self._urls: dict[str, str] = {}
        self._hashes: dict[str, str] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if any(map(is_url, named_paths(fields, values))):
            self._folder = tempfile.TemporaryDirectory(prefix="graphgauge-", ignore_cleanup_errors=True)
            self._fields = fields

    def __bool__(self) -> bool:
        """Whether there are any; then receipts must be made within the block."""
        return self._folder is not None

    def __enter__(self) -> Self:
        if self._folder is not None:
            try:
                for name, field in self._fields.items():
                    if field.is_given(self.values.get(name)):
                        self.values[name] = self._local(field.kind, self.values[name])
            except BaseException:
                self._folder.cleanup()
                raise
        self._known = knowing(self._hashes)
        self._known.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._known.__exit__(kind, error, trace)
        if self._folder is not None:
            self._folder.cleanup()
        if isinstance(error, GraphgaugeError):
            self._say_urls(error)

    def _local(self, kind: Any, value: Any) -> Any:
        if isinstance(kind, Files):
            return tuple(self._copied(name, kind) for text in value for name in _expanded(text))
        return kind.moved(value, lambda text: self._copied(text, kind))

    def _copied(self, text: str, kind: Any) -> str:
        place, member = split_member(text)
        if not isinstance(place, Url) or (isinstance(kind, Files) and place.suffix.lower() == _STREAMED):
            return text
        assert self._folder is not None
        known = next((local for local, url in self._urls.items() if url == str(place)), None)
        if known is None:
            # The same name, because endings and messages depend on it; a folder each, because names may be the same.
            target = Path(self._folder.name) / str(len(self._urls)) / place.name
            with writing(target, Path(self._folder.name)):
                target.parent.mkdir()
                digest = place.copy_to(target)
            known = str(target)
            self._urls[known], self._hashes[known] = str(place), digest
        return known if member is None else f"{known}:{member}"

    def refuse_for_others(self) -> None:
        """The workers of a scheduler may be on machines that do not have the copies."""
        if self._urls:
            raise OptionError(
                f"a scheduler's workers cannot read {next(iter(self._urls.values()))}: only .npy shards are read from "
                "URLs where the worker is, other inputs are copied to this machine",
                fix="Copy it to a folder that the workers see, or leave out the scheduler.",
            ).about("scheduler")

    def named(self, entry: Mapping[str, Any]) -> Mapping[str, Any]:
        """The entry of a receipt, with the URL in place of its copy."""
        return {**entry, "path": self._urls.get(entry["path"], entry["path"])}

    def _say_urls(self, error: GraphgaugeError) -> None:
        def said(text: Any) -> Any:
            for local, url in self._urls.items():
                text = text.replace(local, url) if isinstance(text, str) else text
            return text

        if isinstance(error, InputError):
            error.what, error.where = said(error.what), said(error.where)
        error.args = tuple(said(part) for part in error.args)


def _expanded(text: str) -> Iterator[str]:
    if not (is_url(text) and is_pattern(text)):
        yield text
        return
    found = matching(text)
    if not found:
        raise InputError("no file matches this pattern", where=text)
    yield from found
