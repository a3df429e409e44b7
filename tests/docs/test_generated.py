"""The generated pages are those that the registry and the commands would give now."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
FIX = "run: python docs/generate.py"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_current(generator: ModuleType) -> None:
    for path, text in generator.pages().items():
        assert path.exists(), f"{path.name} is missing; {FIX}"
        assert path.read_text(encoding="utf-8") == text, f"{path.parent.name}/{path.name} is out of date; {FIX}"


def test_no_page_is_left_over(generator: ModuleType) -> None:
    wanted = set(generator.pages())
    found = {path for folder in generator.GENERATED for path in (ROOT / "docs" / folder).glob("*.md")}
    assert found == wanted, FIX


def test_every_benchmark_table_is_shown() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    missing = [
        path.name for path in (ROOT / "benchmarks" / "results").glob("*.md") if f"results/{path.name}" not in page
    ]
    assert not missing, "docs/benchmarks.md includes every table of benchmarks/results"
