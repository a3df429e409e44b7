"""All checks, and the page of each: what goes wrong, an example with figures, and how to fix it."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import graphgauge.audit.runs  # noqa: F401, for the checks that it declares
from graphgauge.core.errors import one_of
from graphgauge.core.family import usable_names
from graphgauge.core.finding import RUNS
from graphgauge.core.finding import checks as declared

# In a wheel the pages are next to this module; in a checkout they are in the docs.
_PLACES = (Path(__file__).with_name("markdown"), Path(__file__).parents[3] / "docs" / "audit")


def checks(family: str | None = None) -> tuple[Any, ...]:
    """All checks, or those of one family.

    Parameters
    ----------
    family
        A family, or `runs` for the checks of many results together.

    Returns
    -------
    tuple of Check
        In the order in which they are declared.

    Examples
    --------
    >>> from graphgauge import audit
    >>> [check.name for check in audit.checks("runs")][:2]
    ['few-seeds', 'unpaired-seeds']
    """
    names = (*usable_names(), RUNS) if family is None else (one_of("family", family, (*usable_names(), RUNS)),)
    return tuple(each for name in names for each in declared(name))


def explain(name: str) -> str:
    """The page of a check as Markdown.

    Parameters
    ----------
    name
        The name of a check, as findings give it.

    Returns
    -------
    str
        What goes wrong, an example, and how to fix it.

    Examples
    --------
    >>> from graphgauge.audit import explain
    >>> explain("few-seeds").splitlines()[0]
    '# `few-seeds`'
    """
    known = {each.name: each for each in checks()}
    check = known[one_of("check", name, known)]
    for folder in _PLACES:
        if (folder / f"{name}.md").is_file():
            return (folder / f"{name}.md").read_text(encoding="utf-8")
    return f"# `{check.name}`\n\n{inspect.getdoc(check.function) or ''}\n\n**Fix.** {check.remedy}\n"
