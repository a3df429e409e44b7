"""Types of option values that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # older releases of click take no argument here

T = TypeVar("T")


class Listed(_ParamType, Generic[T]):
    """Values separated by commas; `each` reads one, and raises ValueError if it cannot."""

    def __init__(self, name: str, each: Callable[[str], T], kind: str, example: str) -> None:
        self.name = name
        self._each, self._kind, self._example = each, kind, example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[T, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(self._each(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is not a list of {self._kind} such as {self._example}", param, ctx)


class _Integers(Listed[int]):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        numbers = super().convert(value, param, ctx)
        if min(numbers) < 1:
            self.fail(f"{min(numbers)} is below 1", param, ctx)
        return numbers


class _Names(_ParamType):
    """Names, separated by commas; empty ones are dropped."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        return value if isinstance(value, tuple) else names_in(str(value))


class _Factory(_ParamType):
    """Code to import and call; studies print it first, and recognise such options by this type."""

    name = "module:factory"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        module, _, factory = str(value).partition(":")
        if not all(part.isidentifier() for part in (*module.split("."), factory)):
            self.fail(f"{value!r:.80} is not MODULE:FACTORY, such as models.gcn:load", param, ctx)
        return str(value)


class OneOrTwo(_ParamType):
    """One name, for the prediction, or two separated by a comma, for truth and prediction; either may be empty."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.name = "|".join(names)
        self._names = names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        parts = tuple(part.strip() or None for part in str(value).split(","))
        for part in parts:
            if part is not None and part not in self._names:
                self.fail(f"{part!r} is not one of {', '.join(self._names)}", param, ctx)
        if len(parts) > 2:
            self.fail("one name, or two for truth and prediction", param, ctx)
        return parts[0] if len(parts) == 1 else parts


def names_in(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _seed(text: str) -> int:
    if not text.strip().isdecimal():
        raise ValueError(text)
    return int(text)


OUTPUT_FILE = click.Path(dir_okay=False)
OPEN_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
INTEGERS = _Integers("integers", int, "whole numbers", "1,3,10")
SEEDS = Listed("seeds", _seed, "seeds", "0,1,2")
NUMBERS = Listed("numbers", float, "numbers", "0.5,0.95")
SHARES = Listed("numbers", float, "shares", "0.1,0.2")
NAMES = _Names()
FACTORY = _Factory()
