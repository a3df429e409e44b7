"""Families: each is a value that the library, commands, studies, receipts, engines, the report and the laws read.

The inputs and options of a family are the parameters of its `evaluate_files`; see `core.fields`. Other packages add a
family with an entry point in the group `graphgauge.families`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.core.fields import Fields, fields_of, read_all
from graphgauge.core.forms import Form, Shown, chosen_form

# With the line that `--help` shows, so that it loads no family.
BUILT_IN = {
    "ranking": "Link prediction: MRR, Hits@K and related metrics.",
    "recovery": "Learned graphs against true ones: SHD, F1, AUPRC.",
    "forecasting": "Forecasts on nodes: errors, calibration and coverage.",
    "generation": "Generators: reconstruction, diversity, statistics, latent space, conditioning.",
    "explanation": "Explanations of models: fidelity, acc-AUC, cohesiveness.",
    "evolution": "Graphs that a system grows itself, cycle by cycle.",
}
GROUP = "graphgauge.families"


@dataclass(frozen=True)
class TruthInputs:
    """The truth in one form of input: `decisive` inputs belong to it even if absent, `given` ones only if present."""

    decisive: tuple[str, ...]
    given: tuple[str, ...] = ()


_LOADED: dict[str, Family] = {}


@dataclass(frozen=True)
class Family:
    """A family of metrics.

    `package` has the modules `metrics` (the registered metrics), `checks` (those of the audit, optional), and
    `from_files` with `evaluate_files`. `truths` maps an input that only one form has to the inputs that are the truth
    there. If evaluations can be merged, `state` names the class ("module:Class") and `along` the arguments of
    `evaluate` with one entry per item. `example` has inputs for the study that `graphgauge init` writes. `refuse`
    raises an error for values that do not go together beyond what the forms say.
    """

    name: str
    line: str
    question: str
    headlines: tuple[str, ...]
    package: str
    forms: tuple[Form, ...] = ()
    truths: Mapping[str, TruthInputs] = field(default_factory=dict, hash=False)
    state: str | None = None
    along: tuple[str, ...] = ()
    example: Mapping[str, str] = field(default_factory=dict, hash=False)
    refuse: Callable[[Mapping[str, Any], Shown], None] | None = None

    def __post_init__(self) -> None:
        _LOADED[self.name] = self

    def module(self, name: str) -> ModuleType:
        return import_module(f"{self.package}.{name}")

    def has(self, name: str) -> bool:
        """Whether its package has this module."""
        try:
            self.module(name)
        except ModuleNotFoundError as error:
            if error.name != f"{self.package}.{name}":
                raise
            return False
        return True

    @cached_property
    def evaluate_files(self) -> Callable[..., Any]:
        """The function that evaluates files; its parameters declare the inputs and options."""
        function: Callable[..., Any] = self.module("from_files").evaluate_files
        return function

    @property
    def fields(self) -> Fields:
        return fields_of(self.evaluate_files)

    @property
    def help(self) -> str:
        return inspect.getdoc(self.evaluate_files) or ""

    def read(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """All inputs and options, typed and checked together; nothing is opened."""
        read = read_all(self.fields, values)
        self.check(read)
        return read

    def check(self, values: Mapping[str, Any], shown: Shown = str) -> Form | None:
        """The form that typed values select. Errors write field names as the user's door does."""
        given = [name for name, field in self.fields.items() if field.is_given(values.get(name))]
        form = chosen_form(self.forms, given, shown) if self.forms else None
        if self.refuse is not None:
            self.refuse(values, shown)
        return form

    def state_class(self) -> Any:
        """The class of its states; only for families that have one."""
        module, _, name = str(self.state).partition(":")
        return getattr(import_module(module), name)


@cache
def family(name: str) -> Family:
    """The family of this name, built in or installed."""
    if name in BUILT_IN:
        built_in: Family = import_module(f"graphgauge.{name}.family").FAMILY
        return built_in
    found = _installed().get(name)
    if found is None:
        raise UnknownNameError("family", name, family_names())
    try:
        loaded = found.load()
    except Exception as error:
        raise InputError(
            f"the installed family {name!r} cannot be loaded ({type(error).__name__}: {error})",
            where=found.value, fix="Fix or uninstall its package.",
        ) from error  # fmt: skip
    if not isinstance(loaded, Family) or loaded.name != name:
        raise OptionError(f"{found.value} is not the family {name!r}", fix=f"Entry points in {GROUP} name a Family.")
    return loaded


def family_names() -> tuple[str, ...]:
    """The built-in families, then the installed ones by name."""
    return (*BUILT_IN, *sorted(_installed()))


def lines() -> dict[str, str]:
    """What each family is about, in one line; a package that cannot be loaded does not hide the others."""
    return BUILT_IN | {name: _line(name) for name in sorted(_installed())}


def _line(name: str) -> str:
    try:
        return family(name).line
    except InputError as error:
        return str(error)


def loaded() -> tuple[Family, ...]:
    """The families in use so far; the family of an evaluation is one of them."""
    return tuple(_LOADED.values())


def families() -> tuple[Family, ...]:
    return tuple(map(family, family_names()))


@cache
def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in BUILT_IN}
