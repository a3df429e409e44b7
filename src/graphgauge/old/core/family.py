"""Families: each is a value that the library, commands, studies, receipts, engines, the report and the laws read.

The inputs and options of a family are the parameters of its `evaluate_files`; see `core.fields`. Other packages add a
family with an entry point in the group `graphgauge.families`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from graphgauge.core.errors import GraphgaugeError, OptionError, UnknownNameError
from graphgauge.old.core.described import help_of
from graphgauge.old.core.fields import Fields, fields_of, read_all, refuse_overwriting
from graphgauge.old.core.forms import Form, Shown, chosen_form

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# With the line that `--help` shows, so that it loads no family.
BUILT_IN = {
    "ranking": "Link prediction: MRR, Hits@K and related metrics.",
    "generation": "Generators: reconstruction, diversity, statistics, latent space, conditioning.",
    "explanation": "Explanations of models: fidelity, acc-AUC, cohesiveness.",
    "evolution": "Graphs that a system grows itself, cycle by cycle.",
}
GROUP = "graphgauge.families"
# Names that mean something else on the command line and in results.
RESERVED = (
    "negatives",
    "merge",
    "aggregate",
    "compare",
    "init",
    "run",
    "verify",
    "gate",
    "report",
    "audit",
    "metrics",
    "demo",
    "results",
    "runs",
)

# Keys of `[[evaluate]]` in a study, and options of every command that evaluates.
RESERVED_FIELDS = (
    "family",
    "dataset",
    "datasets",
    "method",
    "methods",
    "seeds",
    "run_seed",
    "output",
    "flat",
    "format",
    "form",
    "figure",
    "gate",
    "gates",
    "quiet",
    "debug",
    "progress",
)


@dataclass(frozen=True)
class TruthInputs:
    """The truth in one form of input: `decisive` inputs belong to it even if absent, `given` ones only if present."""

    decisive: tuple[str, ...]
    given: tuple[str, ...] = ()


@dataclass(frozen=True)
class Split:
    """How an engine splits the input with these fields: `into` what, or, if it cannot, why not and what to do.

    Of the splits of a family the first whose fields are all given applies. `joined` says what comes back.
    """

    form: str
    given: tuple[str, ...]
    into: str | None = None
    joined: str = "states, merged in order"
    why: str = ""
    instead: str = "Leave out the engine."

    def fits(self, given: Collection[str]) -> bool:
        return all(name in given for name in self.given)


_LOADED: list[Family] = []


@dataclass(frozen=True)
class Family:
    """A family of metrics.

    `package` has the modules `metrics` (the registered metrics), `checks` (those of the audit, optional), and
    `from_files` with `evaluate_files`. `truths` maps an input that only one form has to the inputs that are the truth
    there. If evaluations can be merged, `state` names the class ("module:Class") and `along` the arguments of
    `evaluate` with one entry per item. `example` has inputs for the study that `graphgauge init` writes. `refuse`
    raises an error for values that do not go together beyond what the forms say. `classes` groups what predictions can
    be, from the reading `classes` to the names in `Metric.fair_to`, the narrowest first. `references` names levels that
    depend on the test alone, not on the method: if they differ, the tests do. `splits` says what engines can split.
    """

    name: str
    line: str
    question: str
    headlines: tuple[str, ...]
    package: str
    forms: tuple[Form, ...] = ()
    # The metrics of a breakdown on a terminal, in this order, if it has at least four of them.
    columns: tuple[str, ...] = ()
    truths: Mapping[str, TruthInputs] = field(default_factory=dict, hash=False)
    state: str | None = None
    along: tuple[str, ...] = ()
    example: Mapping[str, str] = field(default_factory=dict, hash=False)
    refuse: Callable[[Mapping[str, Any], Shown], None] | None = None
    classes: Mapping[str, str] = field(default_factory=dict, hash=False)
    references: tuple[str, ...] = ()
    splits: tuple[Split, ...] = ()

    def __post_init__(self) -> None:
        _LOADED.append(self)

    def module(self, name: str) -> ModuleType:
        with self._usable():
            return import_module(f"{self.package}.{name}")

    def has(self, name: str) -> bool:
        """Whether its package has this module."""
        try:
            import_module(f"{self.package}.{name}")
        except ModuleNotFoundError as error:
            return error.name != f"{self.package}.{name}"
        except (Exception, SystemExit):
            return True  # reading it raises the error
        return True

    @cached_property
    def evaluate_files(self) -> Callable[..., Any]:
        """The function that evaluates files; its parameters declare the inputs and options."""
        with self._usable():
            function: Callable[..., Any] = self.module("from_files").evaluate_files
            taken = [name for name in fields_of(function) if name in RESERVED_FIELDS]
            if taken:
                raise TypeError(f"{taken[0]!r} means something else in commands and studies")
        return function

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """What is wrong with the code of another package is told under its name."""
        try:
            yield
        except GraphgaugeError:
            raise
        except (Exception, SystemExit) as error:
            if self.name in BUILT_IN:
                raise
            what = f"the family {self.name!r} of {self.package} cannot be used ({_said(error)})"
            raise OptionError(what, fix="Update or uninstall the package.") from error

    @property
    def fields(self) -> Fields:
        return fields_of(self.evaluate_files)

    @property
    def help(self) -> str:
        return help_of(self.evaluate_files)

    def read(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """All inputs and options, typed and checked together; nothing is opened, and no output may be an input."""
        read = read_all(self.fields, values)
        self.check(read)
        refuse_overwriting(self.fields, read)
        return read

    def check(self, values: Mapping[str, Any], shown: Shown = str) -> Form | None:
        """The form that typed values select. Errors write field names as the user's door does."""
        given = [name for name, field in self.fields.items() if field.is_given(values.get(name))]
        form = chosen_form(self.forms, given, shown) if self.forms else None
        if self.refuse is not None:
            self.refuse(values, shown)
        self._check_engine(values, given, shown)
        return form

    def _check_engine(self, values: Mapping[str, Any], given: Collection[str], shown: Shown) -> None:
        if values.get("engine") != "dask":
            if values.get("scheduler") is not None:
                what = f"{shown('scheduler')} needs {shown('engine')} dask"
                raise OptionError(what, fix="Give both, or neither.").about("scheduler")
            return
        split = next((split for split in self.splits if split.fits(given)), None)
        if split is None or split.into is None:
            what = "this input" if split is None else split.form
            why = "" if split is None else f": {split.why}"
            known = "; ".join(f"{each.form}, into {each.into}" for each in self.splits if each.into is not None)
            raise OptionError(
                f"{shown('engine')} dask cannot split {what}{why}",
                fix=f"{'Leave out the engine.' if split is None else split.instead} It splits {known}.",
            ).about("engine")

    def state_class(self) -> Any:
        """The class of its states; only for families that have one."""
        module, _, name = str(self.state).partition(":")
        return getattr(import_module(module), name)


@cache
def family(name: str) -> Family:
    """The family of this name, built in or installed."""
    if name in BUILT_IN:
        moved = find_spec(f"graphgauge.old.{name}") is not None
        built_in: Family = import_module(f"graphgauge.{'old.' if moved else ''}{name}.family").FAMILY
        return built_in
    if name not in _installed():
        raise UnknownNameError("family", name, family_names())
    return _plugin(name)


def family_names() -> tuple[str, ...]:
    """The built-in families, then the installed ones by name; those that cannot be loaded are left out."""
    return (*BUILT_IN, *_plugins())


def is_declared(name: str) -> bool:
    """Whether a family of this name is built in or installed; nothing is loaded."""
    return name in BUILT_IN or name in _installed()


def lines() -> dict[str, str]:
    """What each family is about, in one line."""
    return BUILT_IN | {name: declared.line for name, declared in _plugins().items()}


def unusable() -> dict[str, str]:
    """Why installed families cannot be used, by name."""
    return {name: why for name, why in _loadable().items() if isinstance(why, str)}


@contextmanager
def left_out_if_broken(name: str) -> Iterator[None]:
    """What concerns all families goes on with a warning if the modules of an installed one cannot be imported."""
    try:
        yield
    except (Exception, SystemExit) as error:
        if name in BUILT_IN:
            raise
        warnings.warn(f"the family {name!r} is left out: {_said(error)}", RuntimeWarning, stacklevel=3)


def loaded() -> tuple[Family, ...]:
    """The families in use so far; the family of an evaluation is one of them."""
    return tuple(_LOADED)


def families() -> tuple[Family, ...]:
    return tuple(map(family, family_names()))


@cache
def _installed() -> dict[str, tuple[EntryPoint, ...]]:
    """The entry points by name. One that is found twice, along the path, counts once."""
    from importlib.metadata import entry_points

    found: dict[str, dict[str, EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        found.setdefault(entry.name, {}).setdefault(entry.value, entry)
    return {name: tuple(entries.values()) for name, entries in sorted(found.items())}


@cache
def _loadable() -> dict[str, Family | str]:
    """The installed families, or why they cannot be used."""
    found: dict[str, Family | str] = {}
    for name in _installed():
        try:
            found[name] = _plugin(name)
        except OptionError as error:
            found[name] = str(error)
    return found


def _plugins() -> dict[str, Family]:
    return {name: found for name, found in _loadable().items() if isinstance(found, Family)}


def _plugin(name: str) -> Family:
    """The family that one other package has under this name."""
    entries = _installed()[name]
    what = f"the family {name!r} of {' and '.join(sorted(map(_package, entries)))}"
    if name in BUILT_IN or name in RESERVED:
        taken = "a built-in family" if name in BUILT_IN else "a command"
        raise OptionError(f"{what} has the name of {taken}", fix="Its package has to rename it.")
    if len(entries) > 1:
        raise OptionError(f"{what} is declared more than once", fix="Uninstall all but one of them.")
    try:
        loaded = entries[0].load()
    except (Exception, SystemExit) as error:
        fix = "Update or uninstall the package."
        raise OptionError(f"{what} cannot be loaded ({_said(error)})", fix=fix) from error
    if not isinstance(loaded, Family) or loaded.name != name:
        fix = f"Entry points in {GROUP} name a Family, by its own name."
        raise OptionError(f"{what}: {entries[0].value} is not a Family of this name", fix=fix)
    return loaded


def _package(entry: EntryPoint) -> str:
    return entry.value if entry.dist is None else entry.dist.name


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split()):.200}"
