"""Forms of input: which options select one and which go with it. Options of other forms are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import click
from click.core import ParameterSource


@dataclass(frozen=True)
class Form:
    """One way to give a command its input.

    Any option of `begins` selects it, those of `takes` go with it, and `needs` maps some of them to options of
    which at least one is required.
    """

    begins: tuple[str, ...]
    takes: tuple[str, ...] = ()
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Misplaced(click.UsageError):
    """An option that does not go with the others; a study shows the line of `param`."""

    def __init__(self, message: str, ctx: click.Context, param: click.Parameter | None) -> None:
        super().__init__(message, ctx)
        self.param = param


class FormCommand(click.Command):
    """A command whose `forms` define which options go together. Options of no form go with all of them."""

    def __init__(self, *args: Any, forms: Mapping[str, Form], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.forms = forms

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            self._check(ctx)
        return rest

    def _check(self, ctx: click.Context) -> None:
        begun = _begun(self.forms, ctx.params)
        if len(begun) != 1:
            ways = "; ".join(_flags(form.begins, "and") for form in self.forms.values())
            what = "Give one form of input" if begun else "Nothing to evaluate"
            raise Misplaced(f"{what}. One of: {ways}.", ctx, None)
        form = self.forms[begun[0]]
        bound = {name for other in self.forms.values() for name in (*other.begins, *other.takes)}
        for option in self.params:
            name = str(option.name)
            if name not in bound or ctx.get_parameter_source(name) is ParameterSource.DEFAULT:
                continue
            if name not in (*form.begins, *form.takes):
                owners = [other for other in self.forms.values() if name in (*other.begins, *other.takes)]
                places = " or ".join(dict.fromkeys(_flags(other.begins, "and") for other in owners))
                flag, chosen = _flags((name,)), _flags(form.begins, "and")
                raise Misplaced(f"{flag} goes with {places}; it is not used with {chosen}.", ctx, option)
            wanted = form.needs.get(name, ())
            if wanted and not any(ctx.params[other] for other in wanted):
                raise Misplaced(f"{_flags((name,))} needs {_flags(wanted, 'or')}.", ctx, option)


def form_of(forms: Mapping[str, Form], parameters: Mapping[str, Any]) -> str:
    """The form that the parameters of a command select."""
    return _begun(forms, parameters)[0]


def _begun(forms: Mapping[str, Form], parameters: Mapping[str, Any]) -> list[str]:
    return [name for name, form in forms.items() if any(parameters[key] for key in form.begins)]


def _flags(names: tuple[str, ...], word: str = "") -> str:
    return f" {word} ".join(f"--{name.replace('_', '-')}" for name in names)
