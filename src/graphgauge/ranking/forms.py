"""The forms of ranking input: what each needs, what else it takes, and the error for everything else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphgauge.core.errors import OptionError

Shown = Callable[[str], str]


@dataclass(frozen=True)
class Form:
    """Required inputs, and options that this form `takes` in addition to those of every form.

    Of a pair in `together` give both or neither, of a pair in `apart` at most one.
    """

    name: str
    needs: tuple[str, ...]
    takes: tuple[str, ...] = ()
    together: tuple[tuple[str, str], ...] = ()
    apart: tuple[tuple[str, str], ...] = ()

    @property
    def own(self) -> frozenset[str]:
        return frozenset((*self.needs, *self.takes))

    def require(self, given: Collection[str], shown: Shown = str) -> None:
        """Check that everything needed is given, and nothing that belongs to another form."""
        missing = [shown(name) for name in self.needs if name not in given]
        if missing:
            raise OptionError(f"{' and '.join(missing)} not given", fix=f"{_sentence(self.name)} needs "
                              f"{_listed(map(shown, self.needs))}.")  # fmt: skip
        foreign = [shown(name) for name in given if name in OF_SOME_FORM and name not in self.own]
        if foreign:
            raise OptionError(f"{self.name} does not take {_listed(foreign)}", fix=_ways(FORMS, shown))
        for first, second in self.apart:
            if first in given and second in given:
                raise OptionError(f"{shown(first)} and {shown(second)} exclude each other",
                                  fix="Give ragged negatives in one way.")  # fmt: skip
        for first, second in self.together:
            if (first in given) != (second in given):
                raise OptionError(f"{shown(first)} and {shown(second)} go together", fix="Give both, or neither.")


MATRIX = Form(
    "the form with positives and negatives",
    needs=("pos_scores", "neg_scores"),
    takes=("offsets", "mask", "ids", "keep", "per_query", "nan"),
    apart=(("offsets", "mask"),),
)
FLAT = Form("the flat form", needs=("scores", "labels", "queries"), takes=("nan",))
ALL_ENTITIES = Form(
    "the form with embeddings",
    needs=("queries_emb", "entities", "targets"),
    takes=("known_values", "known_offsets", "relations", "score", "ids", "keep", "per_query"),
    together=(("known_values", "known_offsets"),),
)
FORMS = (MATRIX, FLAT, ALL_ENTITIES)
# Options of some forms only: groups, clusters, cut-offs and tie rules go with every form.
OF_SOME_FORM = frozenset().union(*(form.own for form in FORMS))


def chosen_form(given: Collection[str], forms: Sequence[Form] = FORMS, shown: Shown = str) -> Form:
    """The form that the given names make up; an error names missing inputs, or those of another form."""
    form = max(forms, key=lambda form: sum(name in given for name in form.needs))
    if not any(name in given for name in form.needs):
        raise OptionError(f"nothing to evaluate: {_listed(map(shown, form.needs))} not given", fix=_ways(forms, shown))
    form.require(given, shown)
    return form


def given_names(values: Mapping[str, Any]) -> list[str]:
    """The names of the given arguments: all but None and empty repeatable options."""
    return [name for name, value in values.items() if value is not None and not (type(value) is tuple and not value)]


def _ways(forms: Sequence[Form], shown: Shown) -> str:
    return "Give one form: " + "; or ".join(_listed(map(shown, form.needs)) for form in forms) + "."


def _listed(names: Iterator[str] | Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
