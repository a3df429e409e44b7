"""The page of each check: what goes wrong, an example with figures, and how to fix it."""

from __future__ import annotations

import re
from pathlib import Path

from graphgauge.audit.runs import checks
from graphgauge.core.errors import InputError, one_of

# In a wheel the pages are next to this module; in a checkout they are in the docs.
_PLACES = (Path(__file__).with_name("markdown"), Path(__file__).parents[3] / "docs" / "audit")
_INCLUDE = re.compile(r"```\{include\} ([\w.-]+)\n```")


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
    >>> from graphgauge.audit import explain
    >>> explain("tied-scores").splitlines()[0]
    '# `tied-scores`'
    """
    one_of("check", name, [item.name for item in checks()])
    page = next((folder / f"{name}.md" for folder in _PLACES if (folder / f"{name}.md").is_file()), None)
    if page is None:
        raise InputError("the pages of the audit are missing from this installation", where=name, fix="Reinstall it.")
    return _INCLUDE.sub(lambda found: _read(page.with_name(found[1])).strip(), _read(page))


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
