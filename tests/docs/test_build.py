"""The pages build without a warning, and load nothing from the network."""

from __future__ import annotations

import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, generator
from tests.docs.test_reference import METHODS

pytestmark = pytest.mark.slow  # `make docs` builds them, too
LOADED = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["'](?:https?:)?//[^"']+""")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("html")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", str(folder / "cache")]
    done = subprocess.run(
        [*command, "docs", str(folder / "out")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "out"


def test_nothing_comes_from_the_network(built: Path) -> None:
    for page in built.rglob("*.html"):
        found = LOADED.findall(page.read_text(encoding="utf-8"))
        assert not found, f"{page.relative_to(built)} loads {found[0]}"


def test_every_public_name_is_in_the_inventory(built: Path) -> None:
    """Other projects link to any of them, through intersphinx."""
    inventory = (built / "objects.inv").read_bytes()
    listed = zlib.decompress(inventory.split(b"\n", 4)[4]).decode()
    found = {line.split(" ")[0] for line in listed.splitlines()}
    names = generator()["public_names"]()
    wanted = {f"graphgauge.{package}.{name}" for package, own in names.items() for name in own}
    assert len(wanted) > 150
    assert not wanted - found
    methods = {name for name, _ in METHODS}
    assert len(methods) > 100
    assert not methods - found
