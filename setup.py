"""Puts the pages of the audit's checks into the wheel, where `graphgauge audit --explain` reads them."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PAGES = Path("docs", "audit")


class BuildWithPages(build_py):
    def run(self) -> None:
        super().run()
        if self.editable_mode:  # a checkout reads docs/ itself
            return
        target = Path(self.build_lib, "graphgauge", "audit", "markdown")
        target.mkdir(parents=True, exist_ok=True)
        for page in PAGES.glob("*.md"):
            shutil.copy(page, target / page.name)


setup(cmdclass={"build_py": BuildWithPages})
