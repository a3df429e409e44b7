"""Sphinx settings. Pages are built from local files and load nothing from the network."""

from __future__ import annotations

import re
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

from graphgauge._version import __version__

sys.path.insert(0, str(Path(__file__).parent))
from generate import write

project = "graphgauge"
author = "The graphgauge developers"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
# Every parameter and return value is listed with its type, described or not.
autodoc_typehints = "description"
autodoc_typehints_description_target = "all"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
suppress_warnings = ["ref.python"]  # a name that several classes have
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "pydata_sphinx_theme"
html_title = f"graphgauge {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_js_files = ["copy.js"]
# All pages under their captions; the theme's own column shows only pages below the current one.
html_sidebars = {"**": ["globaltoc.html"]}
html_show_sourcelink = False
html_theme_options = {
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_nav_level": 2,
}


def as_rst(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with `code`: what reStructuredText would take for other markup is escaped."""
    found: list[str] = []
    for typed, block in groupby(lines, key=_Typed()):
        text = "\n".join(block)
        found += (text if typed else _CODE.sub(_escaped, text)).split("\n")
    lines[:] = found


class _Typed:
    """Whether a line belongs to an example: from a prompt to the next blank line."""

    inside = False

    def __call__(self, line: str) -> bool:
        self.inside = line.lstrip().startswith(">>>") or (self.inside and bool(line.strip()))
        return self.inside


_CODE = re.compile(r"`+([^`]+)`+|[^`]+")


def _escaped(found: re.Match[str]) -> str:
    if found[1] is not None:
        return f"``{found[1]}``"
    return re.sub(r"([*|]|_(?=\W|$))", r"\\\1", found[0])


def setup(app: Any) -> None:
    write()
    app.connect("autodoc-process-docstring", as_rst, priority=400)  # before numpydoc sections are read
