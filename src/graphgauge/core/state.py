"""States: what is counted of some items, merged with others, evaluated when all are there.

A family whose evaluations can be merged names the class of its states in `Family.state`, and has a door that says which
arguments a state is made with (`Door.of_state`).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

from graphgauge.core.archive import archive_kind
from graphgauge.core.door import named, state_door
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.family import family, family_names


@runtime_checkable
class State(Protocol):
    """Counts of items. The order of updates and merges does not change the results.

    `save` writes an archive of the kind of its family (`core.archive`), and states can be copied and pickled.
    """

    def update(self, *arrays: Any, start: int | None = None, **named: Any) -> Self:
        """Count more items, of which the first is number `start`: the same numbers are refused a second time."""

    def merge(self, other: Self) -> Self:
        """Add the counts of another state, which is unchanged."""

    def reset(self) -> None:
        """Forget what was counted."""

    def compute(self) -> dict[str, float]:
        """The values alone."""

    def evaluate(self, **options: Any) -> Evaluation:
        """The results of all items."""

    def save(self, path: str | Path) -> None:
        """Write it."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote."""


def state_class(name: str) -> type[State]:
    """The class of the states of a family."""
    declared = family(name)
    if declared.state is None:
        raise OptionError(f"{name} has no states", fix="Evaluate all data at once.")
    kind: type[State] = named(declared.state)
    return kind


def family_of(path: str | Path) -> str:
    """The family of the state in a file."""
    name = archive_kind(path)
    if name not in family_names():
        raise InputError("is not a saved state", where=str(path), fix="--state and save() write them.")
    return name


def load_states(paths: Iterable[str | Path]) -> State:
    """The states in files, of one family, as one."""
    whole: State | None = None
    first = ""
    for path in paths:
        name = family_of(path)
        if whole is not None and name != first:
            raise InputError(f"is a state of {name}, and the first is of {first}", where=str(path))
        state, first = state_class(name).load(path), name
        whole = state if whole is None else whole.merge(state)
    if whole is None:
        raise OptionError("no states to merge")
    return whole


def merged(states: Iterable[State]) -> State:
    """States as one; they are unchanged, because an engine may use them again."""
    first, *others = states
    whole = deepcopy(first)
    for state in others:
        whole.merge(state)
    return whole


def routed(name: str, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Arguments of an evaluation as those of the state itself, of its `update`, and of its `evaluate`."""
    kind, door = state_class(name), state_door(name)
    own = {*inspect.signature(kind).parameters}
    counted = {*inspect.signature(kind.update).parameters, *(each.name for each in door.inputs)} - {
        *own,
        "self",
        "start",
    }
    for each in arguments:
        if each not in own | counted and each not in door.fields:
            raise UnknownNameError("input or option", each, door.fields)
    given = {each: value for each, value in arguments.items() if value is not None}
    return (
        {each: value for each, value in given.items() if each in own},
        {each: value for each, value in given.items() if each in counted},
        {each: value for each, value in given.items() if each not in own | counted},
    )
