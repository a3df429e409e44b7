"""The page of each check: what goes wrong, an example with figures, and how to fix it."""

from __future__ import annotations

import inspect
from pathlib import Path

from graphgauge.core.errors import InputError, one_of
from graphgauge.old.audit.runs import checks
from graphgauge.old.core.family import BUILT_IN
from graphgauge.old.core.findings import RUNS, Check

# In a wheel the pages are next to this module; in a checkout they are in the docs.
_PLACES = (Path(__file__).with_name("markdown"), Path(__file__).parents[4] / "docs" / "audit")


def explain(name: str) -> str:
    """Return the page of a check as Markdown.

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
    >>> from graphgauge.old.audit import explain
    >>> explain("tied-scores").splitlines()[0]
    '# `tied-scores`'
    """
    known = {item.name: item for item in checks()}
    check = known[one_of("check", name, known)]
    if check.family not in (*BUILT_IN, RUNS):
        return _declared(check)
    page = next((folder / f"{name}.md" for folder in _PLACES if (folder / f"{name}.md").is_file()), None)
    if page is None:
        raise InputError("the pages of the audit are missing from this installation", where=name, fix="Reinstall it.")
    return page.read_text(encoding="utf-8")


def _declared(check: Check) -> str:
    """The page of a check of another package: its docstring and its remedy."""
    what = inspect.getdoc(check.function) or ""
    return f"# `{check.name}`\n\n## What goes wrong\n\n{what}\n\n## How to fix it\n\n{check.remedy}\n"
