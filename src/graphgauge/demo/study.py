"""The parts of all families as one study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from graphgauge.core.disk import write_text
from graphgauge.core.errors import InputError
from graphgauge.demo import SEEDS, Demo, demos
from graphgauge.study.toml import lines


def write_study(folder: Path) -> Path:
    """Write the data and the study file of all families into a folder, replacing an existing demo."""
    path = folder / "study.toml"
    parts = list(demos().values())
    text = study_text(parts)
    if path.exists() and path.read_text(encoding="utf-8") != text:
        raise InputError("contains another study", where=str(path), fix="Choose another folder with --output.")
    try:
        for demo in parts:
            demo.write(folder)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", where=str(error.filename or folder)) from None
    write_text(path, text)
    return path


def study_text(parts: Iterable[Demo]) -> str:
    """The study of these parts."""
    return "\n".join([*lines({"schema": 1, "name": "graphgauge demo", "results": "results/"}), *_tables(parts), ""])


def _tables(parts: Iterable[Demo]) -> Iterator[str]:
    for demo in parts:
        named = {"family": demo.family, "dataset": demo.dataset, "methods": demo.methods, "seeds": SEEDS}
        yield from ("", "[[evaluate]]", *lines({**named, **demo.inputs}))
        yield from ("", "[[compare]]", *lines({"metric": demo.metric, "family": demo.family}))
