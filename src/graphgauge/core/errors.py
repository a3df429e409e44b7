"""Errors for users: what was wrong, where, and how to fix it, in one paragraph."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any, Self


class GraphgaugeError(Exception):
    """Base of all deliberate errors; `exit_code` is the exit code of the command line.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> from graphgauge.core.errors import GraphgaugeError
    >>> try:
    ...     ranking.evaluate([0.5], [[float("nan")]])
    ... except GraphgaugeError as error:
    ...     print(type(error).__name__, error.exit_code)
    InputError 3
    """

    exit_code = 3

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle would call the class with the finished message, but the class takes its parts.
        return _rebuilt, (type(self), self.args, self.__dict__)


class InputError(GraphgaugeError, ValueError):
    """The data cannot be evaluated as given.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> from graphgauge.core.errors import InputError
    >>> try:
    ...     forecasting.evaluate([1, 2], [1, 2, 3])
    ... except InputError as error:
    ...     print(error)
    y_pred: has shape (3,), not (2,). Nothing is broadcast.
    """

    def __init__(self, what: str, *, where: str | None = None, fix: str | None = None) -> None:
        self.what, self.where, self.fix = what, where, fix
        super().__init__(" ".join(sentence(part) for part in (f"{where}: {what}" if where else what, fix) if part))

    def in_words(self, what: str, where: str | None, fix: str | None) -> Self:
        """The same error in other words.

        Parameters
        ----------
        what, where, fix
            As of the error.

        Returns
        -------
        InputError
            An error of the same class, to raise.
        """
        other = type(self).__new__(type(self))
        other.__dict__ |= self.__dict__
        InputError.__init__(other, what, where=where, fix=fix)
        return other


class OptionError(InputError):
    """An option has an invalid value, or does not go with the others; `field` names it, if it is one.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> from graphgauge.core.errors import OptionError
    >>> try:
    ...     ranking.evaluate([0.9], [[0.1]], confidence=95)
    ... except OptionError as error:
    ...     print(error)
    confidence must be between 0 and 1, not 95. Use 0.95 for a 95 % interval.
    """

    exit_code = 2
    field: str | None = None

    def about(self, field: str) -> OptionError:
        """Name the argument that the error is about.

        Parameters
        ----------
        field
            The name of the argument.

        Returns
        -------
        OptionError
            This error, to raise.
        """
        self.field = field
        return self


class UnknownNameError(OptionError, KeyError):
    """An unknown name, with the nearest known ones.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> from graphgauge.core.errors import UnknownNameError
    >>> try:
    ...     ranking.evaluate([0.9], [[0.1]], metrics=["mr"])
    ... except UnknownNameError as error:
    ...     print(error)
    unknown metric 'mr'. Did you mean 'mrr' or 'amri'?
    """

    __str__ = Exception.__str__  # KeyError would print the message quoted

    def __init__(
        self, kind: str, name: str, known: Iterable[str], *, always: bool = False, hint: str | None = None
    ) -> None:
        """`always` lists the known names even if there is a close match; a `hint` replaces them."""
        if hint is not None:
            super().__init__(f"unknown {kind} {name!r}", fix=hint)
            return
        names = list(known)
        # Names of the same letters come first: MRR is mrr.
        same = [known for known in names if known.lower() == name.lower()]
        # Then those that have it as one of their words: overall_uniqueness_ratio for uniqueness.
        within = [known for known in names if name.lower() in re.split("[^a-z0-9]", known.lower())][:3]
        near = same or within or difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        near = near or difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
        parts = [f"Did you mean {_either(near)}?"] if near else []
        parts += [f"Known: {', '.join(names)}."] if always or not near else []
        super().__init__(f"unknown {kind} {name!r}", fix=" ".join(parts))


class MissingExtraError(GraphgaugeError, ImportError):
    """An optional dependency is needed and not installed.

    Examples
    --------
    >>> from graphgauge.core.errors import GraphgaugeError, MissingExtraError
    >>> issubclass(MissingExtraError, GraphgaugeError), issubclass(MissingExtraError, ImportError)
    (True, True)
    """

    exit_code = 2

    def __init__(self, package: str, extra: str | None, purpose: str) -> None:
        """`extra` is None if no extra installs the package."""
        wanted = package if extra is None else f"'graphgauge[{extra}]'"
        super().__init__(f"{purpose} needs {package}. Install it with: pip install {wanted}")


def one_of(kind: str, name: str, known: Iterable[str]) -> str:
    """`name` if it is known; otherwise an error suggests the nearest ones."""
    names = list(known)
    if name not in names:
        raise UnknownNameError(kind, str(name), names)
    return name


def _rebuilt(kind: type[GraphgaugeError], args: tuple[Any, ...], facts: dict[str, Any]) -> GraphgaugeError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(facts)
    return error


def sentence(text: str) -> str:
    """With a full stop, unless it has an end."""
    return text if text.endswith((".", "?", "!")) else text + "."


def _either(names: list[str]) -> str:
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
