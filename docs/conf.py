"""Sphinx settings. Pages are built from local files and load nothing from the network."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from graphgauge._version import __version__

sys.path.insert(0, str(Path(__file__).parent))
from generate import write

project = "graphgauge"
author = "The graphgauge developers"
release = version = __version__

extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design"]
suppress_warnings = ["ref.python"]  # a name that several classes have
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"graphgauge {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 5,
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_nav_level": 1,
}


def setup(app: Any) -> None:
    write()
