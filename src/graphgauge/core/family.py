"""Families: what one is, which there are, and how its modules are loaded."""

from __future__ import annotations

import importlib
from functools import cache
from importlib.util import find_spec
from types import ModuleType

from msgspec import Struct

from graphgauge.core.errors import OptionError, UnknownNameError

# With the line that `--help` shows, so that it loads no family.
BUILT_IN = {
    "ranking": "Link prediction, retrieval, recommendation: MRR, Hits@K and related metrics.",
    "recovery": "Learned graphs against true ones: SHD, F1, AUPRC.",
    "forecasting": "Forecasts on nodes: errors, calibration and coverage.",
    "generation": "Generators: reconstruction, diversity, statistics, latent space, conditioning.",
    "explanation": "Explanations of models: fidelity, acc-AUC, cohesiveness.",
    "evolution": "Graphs that a system grows itself, cycle by cycle.",
    "prediction": "Labels and targets of nodes, edges and graphs: accuracy, ROC-AUC, MAE.",
}
# Names that mean something else on the command line and in results.
RESERVED = (
    "aggregate",
    "audit",
    "compare",
    "demo",
    "gate",
    "init",
    "merge",
    "metrics",
    "report",
    "results",
    "run",
    "runs",
    "verify",
)
# Other packages add a family with an entry point in this group, which names a Family.
GROUP = "graphgauge.families"


class Family(Struct, frozen=True, kw_only=True):
    """A family of metrics: the value `FAMILY` of its module `family`.

    `package` has the modules `metrics` (declared with `@metric`) and, where there are any, `checks`, `doors`, `figure`;
    a family of a script has none.
    `headlines` are the metrics that comparisons and reports show first. `truths` names the inputs that are the truth:
    methods are comparable only on the same truth. `references` are levels that depend on the test alone: where they
    differ, methods had other candidates, masks or weights, and are not comparable either. `classes` are kinds of
    predictions that not every metric is fair to (`Metric.fair_to`), the narrowest first. `levels` are named levels that
    tables have a column for, beside that of chance; a terminal then shows all sections in one table, and no breakdown.
    `state` names the class of its mergeable states as "module:Class".
    """

    name: str
    line: str
    question: str
    headlines: tuple[str, ...]
    package: str = ""
    truths: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    state: str | None = None

    def module(self, name: str) -> ModuleType | None:
        """One of its modules, or None if it has none of this name."""
        path = f"{self.package}.{name}"
        return importlib.import_module(path) if self.package and find_spec(path) else None


# Families that were declared by a script or a test.
_DECLARED: dict[str, Family] = {}


def declare(family: Family) -> Family:
    """Make a family known that no installed package has, such as one of a script or a test.

    Parameters
    ----------
    family
        What it is; a package of its own may have its modules.

    Returns
    -------
    Family
        The same family.

    Examples
    --------
    >>> from graphgauge.core.family import Family, declare
    >>> words = {"line": "Partitions.", "question": "Which nodes belong together?"}
    >>> declare(Family(name="communities", headlines=("accuracy",), **words)).name
    'communities'
    """
    if family.name in BUILT_IN:
        raise OptionError(f"there is a family {family.name!r} already", fix="Give yours another name.")
    _DECLARED[family.name] = family
    return family


def family(name: str) -> Family:
    """The family of this name: built in, declared or installed."""
    if name in _DECLARED:
        return _DECLARED[name]
    if name in BUILT_IN:
        return _built_in(name)
    if name in _installed():
        return _plugin(name)
    raise UnknownNameError("family", name, family_names())


def family_names() -> tuple[str, ...]:
    """All families; nothing is imported."""
    return tuple(dict.fromkeys((*BUILT_IN, *_DECLARED, *_installed())))


def usable_names() -> tuple[str, ...]:
    """All families that can be used; those of other packages are loaded."""
    unusable = installed_lines()[1]
    return tuple(name for name in family_names() if name not in unusable or name in BUILT_IN)


def is_family(name: str) -> bool:
    """Whether there is a family of this name; packages are looked up only for a name that is not built in."""
    return name in BUILT_IN or name in _DECLARED or name in _installed()


def load_module(name: str, part: str) -> None:
    """Import a module of a family for what it declares; a name that is no family has none."""
    if is_family(name):
        family(name).module(part)


@cache
def _built_in(name: str) -> Family:
    declared: Family = importlib.import_module(f"graphgauge.{name}.family").FAMILY
    return declared


def installed_lines() -> tuple[dict[str, str], dict[str, str]]:
    """What each family of another package is about, and why others cannot be used; all are loaded."""
    usable, unusable = {}, {}
    for name in _installed():
        try:
            usable[name] = _plugin(name).line
        except OptionError as error:
            unusable[name] = str(error)
    return usable, unusable


@cache
def _installed() -> dict[str, dict[str, str]]:
    """Families of other packages by name: where each is, with its package. One that is found twice counts once."""
    from importlib.metadata import entry_points

    places: dict[str, dict[str, str]] = {}
    for entry in entry_points(group=GROUP):
        package = entry.value if entry.dist is None else entry.dist.name
        places.setdefault(entry.name, {})[entry.value] = package
    return dict(sorted(places.items()))


@cache
def _plugin(name: str) -> Family:
    """The family that one other package has under this name."""
    places = _installed()[name]
    what = f"the family {name!r} of {' and '.join(sorted(places.values()))}"
    if name in BUILT_IN or name in RESERVED:
        taken = "a built-in family" if name in BUILT_IN else "a command"
        raise OptionError(f"{what} has the name of {taken}", fix="Its package has to rename it.")
    if len(places) > 1:
        raise OptionError(f"{what} is declared more than once", fix="Uninstall all but one of them.")
    (place,) = places
    module, _, attribute = place.partition(":")
    try:
        declared = getattr(importlib.import_module(module), attribute or "FAMILY")
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {' '.join(str(error).split()):.200}"
        raise OptionError(f"{what} cannot be loaded ({said})", fix="Update or uninstall the package.") from error
    if not isinstance(declared, Family) or declared.name != name:
        fix = f"Entry points in {GROUP} name a Family, by its own name."
        raise OptionError(f"{what}: {place} is not a Family of this name", fix=fix)
    return declared
