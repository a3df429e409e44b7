"""Forms of input: which fields select one, which go with it, and the error for everything else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphgauge.core.errors import OptionError

# How a door writes the name of a field.
Shown = Callable[[str], str]


@dataclass(frozen=True)
class Form:
    """One way to give a family its input.

    It `needs` all of some fields, or at least one of `any_of`, and `takes` others. `beside` maps a field to those of
    which one must be given with it; of a pair in `apart` only one may be given. Fields that no form names go with all.
    `samples` are those that its input can be counted into, if the form decides about them. `defaults` names the metrics
    that are computed from typed options without `metrics`, if they are not those of the family; None if they are.
    `axes` are groups that the form itself breaks results down by.
    """

    name: str
    needs: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    apart: tuple[tuple[str, str], ...] = ()
    samples: tuple[str, ...] = ()
    defaults: Callable[[Mapping[str, Any]], Sequence[str] | None] | None = field(default=None, hash=False)
    axes: tuple[str, ...] = ()

    @property
    def own(self) -> frozenset[str]:
        return frozenset((*self.needs, *self.any_of, *self.takes))

    def fit(self, given: Collection[str]) -> tuple[bool, int, int]:
        """How well the given fields fit: whether one selects it, how many are its own, and how few are missing."""
        missing = [name for name in self.needs if name not in given]
        return any(name in given for name in (*self.needs, *self.any_of)), len(self.own & {*given}), -len(missing)

    def described(self, shown: Shown) -> str:
        return _listed(map(shown, self.needs)) if self.needs else _listed(map(shown, self.any_of), "or")


def chosen_form(forms: Sequence[Form], given: Collection[str], shown: Shown = str) -> Form:
    """The form that the given fields select; errors name missing fields, and those that it does not take."""
    form = max(forms, key=lambda form: form.fit(given))
    if not form.fit(given)[0]:
        raise OptionError("nothing to evaluate", fix=_ways(forms, shown))
    require(form, given, forms, shown)
    return form


def require(form: Form, given: Collection[str], forms: Sequence[Form], shown: Shown = str) -> None:
    """Check that everything the form needs is given, and nothing that only other forms take."""
    missing = [shown(name) for name in form.needs if name not in given]
    if missing:
        raise OptionError(f"{_listed(missing)} not given", fix=f"{_sentence(form.name)} needs {form.described(shown)}.")
    known = frozenset[str]().union(*(other.own for other in forms))
    foreign = [name for name in given if name in known and name not in form.own]
    if foreign:
        takers = [other for other in forms if foreign[0] in other.own]
        raise OptionError(
            f"{form.name} does not take {_listed(map(shown, foreign))}",
            fix=f"{shown(foreign[0])} goes with {' or '.join(other.described(shown) for other in takers)}.",
        ).about(foreign[0])
    for first, second in form.apart:
        if first in given and second in given:
            raise OptionError(f"{shown(first)} and {shown(second)} exclude each other", fix="Give one of them.").about(
                second
            )
    for name, others in form.beside.items():
        if name in given and not any(other in given for other in others):
            needed = _listed(map(shown, others), "or")
            raise OptionError(f"{shown(name)} needs {needed}", fix="Give both, or neither.").about(name)


def given_names(values: Mapping[str, Any]) -> list[str]:
    """The names of the given arguments: all but None."""
    return [name for name, value in values.items() if value is not None]


def _ways(forms: Sequence[Form], shown: Shown) -> str:
    return "Give one form: " + "; or ".join(dict.fromkeys(form.described(shown) for form in forms)) + "."


def _listed(names: Iterable[str], word: str = "and") -> str:
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
