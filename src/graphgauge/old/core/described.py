"""One docstring for the command and for the library: flags in the help, arguments in the reference."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from graphgauge.old.core.cluster import engine_of
from graphgauge.old.core.fields import Choice, Field, OneOrTwo, Several, fields_of

P = ParamSpec("P")
R = TypeVar("R")

_SECTION = re.compile(r"^(?:Parameters|Returns|Raises|Examples)\n-{3,}\n", re.MULTILINE)
_PARAMETERS = "Parameters\n----------\n"
_FLAG = re.compile(r"(?<!\w)--([a-z][a-z-]*)")


def of_files(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that evaluates files: it runs on its engine, and its docstring lists its fields."""

    @wraps(function)
    def evaluate(*args: P.args, **kwargs: P.kwargs) -> R:
        with engine_of(kwargs):
            return function(*args, **kwargs)

    evaluate.__doc__ = documented(function)
    return evaluate


def help_of(function: Callable[..., Any]) -> str:
    """The help of a function's command: its docstring up to the sections, which are for those who call it."""
    return _SECTION.split(inspect.getdoc(inspect.unwrap(function)) or "", maxsplit=1)[0].rstrip()


def documented(function: Callable[..., Any]) -> str | None:
    """The docstring of a function for those who call it: declared parameters are listed, and flags are arguments.

    A docstring without sections is left as it is. Parameters that it describes itself come last.
    """
    text = inspect.getdoc(function)
    if text is None or not _SECTION.search(text):
        return text
    head = help_of(function)
    rest = text[len(head) :].strip()
    own, rest = (rest.removeprefix(_PARAMETERS), "") if rest.startswith(_PARAMETERS) else ("", rest)
    if own and (next_section := _SECTION.search(own)):
        own, rest = own[: next_section.start()].rstrip(), own[next_section.start() :]
    listed = "\n".join([*map(_entry, fields_of(function).values()), *([own] if own else [])])
    return f"{_with_arguments(head)}\n\n{_PARAMETERS}{listed}\n\n{rest}"


def _entry(field: Field) -> str:
    kind = field.kind.each if isinstance(field.kind, Several) else field.kind
    names = f" One of {', '.join(f'`{name}`' for name in kind.names)}." if isinstance(kind, Choice | OneOrTwo) else ""
    return f"{field.name}\n    {_with_arguments(' '.join(field.kind.help.split()))}{names}"


def _with_arguments(text: str) -> str:
    """The text with arguments in place of flags; only commands repeat a flag or split at commas."""
    text = text.replace(" Repeatable.", "").replace(", separated by commas", "")
    return _FLAG.sub(lambda flag: f"`{flag[1].replace('-', '_')}`", text)
