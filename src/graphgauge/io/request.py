"""Requests: one evaluation from files, as a command, an item of a study and a receipt name it."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from graphgauge.core.door import Door, Input, door_of
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.evaluation import Evaluation, Run
from graphgauge.core.family import family
from graphgauge.core.number import plain
from graphgauge.core.progress import SILENT, Progress
from graphgauge.core.state import State, state_class
from graphgauge.io.code import source_hash
from graphgauge.io.hashing import array_hash, file_hash
from graphgauge.io.kinds import open_input, without_headers
from graphgauge.io.places import is_pattern, is_url, local_file, matching, split_member

# The input, the name of its file, and its value if it is of this file alone.
Files = tuple[tuple[str, str, Any], ...]


@dataclass(frozen=True)
class Opened:
    """The arguments of a door's function, and the files that they were read from."""

    arguments: dict[str, Any]
    files: Files


class Request(Struct, frozen=True, kw_only=True):
    """One evaluation from files: a door, its fields, and the names of the run.

    Fields are what a study or a command gives; those that are left out have the door's defaults.
    """

    family: str
    door: str = ""
    fields: dict[str, Any] = {}
    run: Run = Run()

    @property
    def declared(self) -> Door:
        """The door that it asks for."""
        return door_of(self.family, self.door)

    def checked(self) -> Request:
        """This request with typed fields; errors name the field. Nothing is opened."""
        door = self.declared
        values = door.read(self.fields)
        return replace(self, fields={name: value for name, value in values.items() if name in self.fields})

    def code(self) -> tuple[str, ...]:
        """Every `module:factory` that it would import."""
        names = [each.name for each in self.declared.inputs if each.is_code]
        return tuple(self.fields[name] for name in names if self.fields.get(name) is not None)

    def files(self, folder: Path = Path()) -> list[tuple[str, str]]:
        """The name of the input and of the file, for every file that it reads; patterns are looked up."""
        values = self.declared.read(self.fields)
        return [
            (each.name, text)
            for each in self.declared.inputs
            if not each.is_code and values[each.name] is not None
            for text in _texts(each, values[each.name], folder)
        ]

    def open(self, folder: Path = Path(), *, trust_code: bool = False) -> Opened:
        """Open every input: the arguments of the door's function."""
        door = self.declared
        values = door.read(self.fields)
        files: list[tuple[str, str]] = []
        fields = dict(values)
        for each in door.inputs:
            value = values[each.name]
            if value is None:
                continue
            if each.many == "parts":
                value = _texts(each, value, folder)
            values[each.name] = open_input(each, value, folder, trust_code=trust_code)
            if not each.is_code:
                files += [(each.name, text) for text in _texts(each, value, folder)]
        if not door.parts:
            without_headers(door.inputs, values, fields, folder)
        several = Counter(name for name, _ in files)
        return Opened(values, tuple((name, text, values[name] if several[name] == 1 else None) for name, text in files))

    def parts(self, folder: Path = Path()) -> list[Request]:
        """This request in as many parts as its inputs have files: one, unless states of the family can be merged."""
        if self.declared.of_state is None:
            return [self]
        door = self.declared
        inputs, values = {each.name: each for each in door.inputs}, door.read(self.fields)
        texts = {name: _texts(inputs[name], values[name], folder) for name in door.parts if values[name] is not None}
        counts = {name: len(each) for name, each in texts.items()}
        if len(set(counts.values())) > 1:
            several = ", ".join(f"{name} has {count}" for name, count in counts.items())
            raise OptionError(f"inputs in parts need as many files each: {several}", fix="Name a file for every part.")
        number = next(iter(counts.values()), 1)
        return [
            replace(self, fields={**self.fields, **{name: each[part] for name, each in texts.items()}})
            for part in range(number)
        ]

    def call(self, folder: Path = Path(), progress: Progress = SILENT, *, trust_code: bool = False) -> Any:
        """Open the inputs and call the function: an evaluation, or what else the door makes."""
        return self._called(self.open(folder, trust_code=trust_code), progress)

    def evaluate(
        self,
        folder: Path = Path(),
        progress: Progress = SILENT,
        *,
        trust_code: bool = False,
        keep: bool = True,
        state: State | None = None,
    ) -> Evaluation:
        """Open the inputs, or take a `state` of them, and evaluate; to `keep` it, its receipt has hashes of all files.

        Inputs in several parts are counted one after the other if the family has states.
        """
        started = time.time()
        if state is None and len(self.parts(folder)) > 1:
            state = self.state(folder, progress)
        files: Files
        if state is not None:
            evaluation, files = self.of_state(state), tuple((name, text, None) for name, text in self.files(folder))
        else:
            opened = self.open(folder, trust_code=trust_code)
            evaluation, files = self._called(opened, progress), opened.files
        if not isinstance(evaluation, Evaluation):
            raise OptionError(f"{self.door or self.family} makes {self.declared.product}, and no results")
        evaluation = evaluation.named(**_names(self.run))
        if keep:
            evaluation.receipt = self.receipt(files, folder, started)
        return evaluation

    def items(self, folder: Path = Path()) -> int:
        """How many items its inputs have, by the first of those that may come in parts."""
        door = self.declared
        first = next(each for each in door.inputs if each.many == "parts")
        texts = _texts(first, door.read(self.fields)[first.name], folder)
        return sum(len(open_input(first, [text], folder, trust_code=False)) for text in texts)

    def state(
        self, folder: Path = Path(), progress: Progress = SILENT, *, start: int = 0, of: int | None = None
    ) -> State:
        """A state of the family with all parts of the inputs, from item `start` on, `of` so many there are."""
        parts, door = self.parts(folder), self.declared
        if door.of_state is None:
            raise OptionError(f"states of {self.family} are not made by this door")
        total = sum(part.items(folder) for part in parts) if of is None else of
        state: State | None = None
        for number, part in enumerate(parts):
            progress.stage("parts", number, len(parts))
            arguments = part.open(folder).arguments
            if state is None:
                state = state_class(self.family)(**door.arguments({name: arguments[name] for name in door.of_state}))
            stop = start + len(arguments[door.parts[0]])
            given = [
                each for each in door.inputs if each.name not in door.of_state and arguments[each.name] is not None
            ]
            inputs = {each.name: arguments[each.name] for each in given}
            inputs |= {each.name: _cut(each, inputs[each.name], start, stop, total) for each in given if each.along}
            state.update(**door.arguments(inputs), start=start)
            start = stop
        assert state is not None, "there is at least one part"
        progress.stage("parts", len(parts), len(parts))
        return state

    def of_state(self, state: State) -> Evaluation:
        """The results of a state, with the options of this request."""
        door = self.declared
        values, apart = door.read(self.fields), {*(door.of_state or ()), *(each.name for each in door.inputs)}
        evaluation: Evaluation = state.evaluate(**{name: each for name, each in values.items() if name not in apart})
        return evaluation

    def receipt(self, files: Files, folder: Path = Path(), started: float | None = None) -> dict[str, Any]:
        """What a result file says about where its numbers come from."""
        begun = time.time() if started is None else started
        truths = declared_truths(self.family)
        return {
            "request": {"family": self.family, "door": self.door, "fields": plain(self._written())},
            "inputs": [_entry(*file, folder, file[0] in truths) for file in files],
            "code": [{"factory": name, "source_hash": source_hash(name, folder.resolve())} for name in self.code()],
            "started": datetime.fromtimestamp(begun, UTC).isoformat(timespec="seconds"),
            "seconds": round(time.time() - begun, 3),
        }

    def _called(self, opened: Opened, progress: Progress) -> Any:
        extra = {"progress": progress} if self.declared.progress else {}
        values = opened.arguments
        if (
            values.get("protocol") is not None
        ):  # which refuses other values of its options, and so defaults that are passed
            values = {name: value for name, value in values.items() if name in self.fields}
        return self.declared(values, **extra)

    def _written(self) -> dict[str, Any]:
        """The fields, without files that are written."""
        outputs = {each.name for each in self.declared.options if each.is_output}
        return {name: value for name, value in self.fields.items() if name not in outputs}


def declared_truths(name: str) -> tuple[str, ...]:
    """The inputs of a family that are the truth."""
    return family(name).truths


def evaluate_files(family: str, door: str = "", **fields: Any) -> Evaluation:
    """Evaluate files through a door of a family, as its command does.

    Parameters
    ----------
    family
        Its name, such as "ranking".
    door
        The name of the door; the first of the family if left out.
    **fields
        Names of files for inputs, and values of options, as in the signature of the door's function.

    Returns
    -------
    Evaluation
        With a receipt that has the hashes of all files.

    Examples
    --------
    >>> import graphgauge, numpy as np
    >>> np.save("pos.npy", [0.9, 0.4])
    >>> np.save("neg.npy", [[0.7, 0.1], [0.8, 0.3]])
    >>> graphgauge.evaluate_files("ranking", pos_scores="pos.npy", neg_scores="neg.npy")["mrr"].value
    0.75
    """
    return Request(family=family, door=door, fields=fields).checked().evaluate(trust_code=True)


def _texts(declared: Input, value: Any, folder: Path) -> list[str]:
    """The names of files in a value, patterns as the files that they match."""
    if isinstance(value, dict):
        return list(value.values())
    texts = [value] if isinstance(value, str) else list(value)
    if declared.many != "parts":
        return texts
    return [name for text in texts for name in (matching(text, folder) if is_pattern(text, folder) else [text])]


def _cut(declared: Input, value: Any, start: int, stop: int, total: int) -> Any:
    """The entries of some items."""
    if isinstance(value, dict):
        return {name: _cut(declared, each, start, stop, total) for name, each in value.items()}
    if len(value) != total:
        raise InputError(f"has {len(value):,} entries for {total:,} items", where=declared.name)
    return value[start:stop]


def _entry(name: str, text: str, value: Any, folder: Path, is_truth: bool) -> dict[str, Any]:
    """What a receipt says about a file; that of a truth has the hash of its array as .npy, whatever its format."""
    path = folder / split_member(text)[0] if not is_url(text) else local_file(text)
    entry: dict[str, Any] = {"name": name, "path": text}
    if path.is_dir():
        return entry
    entry |= {"bytes": path.stat().st_size, "hash": file_hash(path)}
    if isinstance(value, np.ndarray):
        entry |= {"shape": list(value.shape), "dtype": str(value.dtype)}
        content = array_hash(value) if is_truth and path.suffix.lower() != ".npy" else None
        entry |= {} if content is None else {"content": content}
    return entry


def _names(run: Run) -> dict[str, Any]:
    return {"method": run.method, "dataset": run.dataset, "seed": run.seed, "tags": run.tags or None}
