"""Sphinx settings. Pages are built from local files and load nothing from the network."""

from __future__ import annotations

from graphgauge._version import __version__

project = "graphgauge"
author = "The graphgauge developers"
release = version = __version__

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "pydata_sphinx_theme"
html_title = f"graphgauge {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
# All pages under their captions; the theme's own column shows only pages below the current one.
html_sidebars = {"**": ["globaltoc.html"]}
html_show_sourcelink = False
html_use_index = False  # nothing is indexed: the page would be empty
html_theme_options = {
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_nav_level": 2,
}
