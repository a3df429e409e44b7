"""The generated pages are those that the registry and the commands would give now."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys

import pytest
from tests.docs.pages import DOCS, ROOT

FIX = "run: python docs/generate.py"
# In a process of its own: click remembers from the first call of a command how its help is asked for.
PAGES = """
import json, runpy
made = runpy.run_path("docs/generate.py")
print(json.dumps({path.relative_to(made["DOCS"]).as_posix(): text for path, text in made["pages"]().items()}))
"""


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    done = subprocess.run([sys.executable, "-c", PAGES], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages: dict[str, str] = json.loads(done.stdout)
    return pages


def test_pages_are_current(generated: dict[str, str]) -> None:
    for name, text in generated.items():
        assert (DOCS / name).exists(), f"{name} is missing; {FIX}"
        assert (DOCS / name).read_text(encoding="utf-8") == text, f"{name} is out of date; {FIX}"


def test_no_page_is_left_over(generated: dict[str, str]) -> None:
    folders = runpy.run_path(str(DOCS / "generate.py"))["GENERATED"]
    wanted = {name for name in generated if name.partition("/")[0] in folders}
    found = {path.relative_to(DOCS).as_posix() for folder in folders for path in (DOCS / folder).glob("*.md")}
    assert found == wanted, FIX


def test_every_benchmark_table_is_shown() -> None:
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    missing = [
        path.name for path in (ROOT / "benchmarks" / "results").glob("*.md") if f"results/{path.name}" not in page
    ]
    assert not missing, "docs/benchmarks.md includes every table of benchmarks/results"
