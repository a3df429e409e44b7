"""What importing costs, and which names are public."""

from __future__ import annotations

import subprocess
import sys

import pytest

import graphgauge

HEAVY = ("scipy", "sklearn", "pandas", "matplotlib", "torch", "jinja2", "altair", "pyarrow", "networkx")


@pytest.mark.parametrize("module", ["graphgauge", "graphgauge.core.files", "graphgauge.ranking", "graphgauge.stats"])
def test_imports_are_light(module: str) -> None:
    code = f"import sys, {module}; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


def test_a_small_evaluation_stays_light() -> None:
    code = (
        "import sys, graphgauge; str(graphgauge.ranking.evaluate([1, 2], [[0, 3], [1, 1]]))\n"
        f"print(*(name for name in {HEAVY!r} if name in sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


def test_public_names() -> None:
    assert graphgauge.__all__ == sorted(graphgauge.__all__)
    assert set(graphgauge.__all__) >= {"__version__", "core", "ranking", "stats"}
    assert dir(graphgauge) == sorted(graphgauge.__all__)
    for name in graphgauge.__all__:
        assert getattr(graphgauge, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        graphgauge.nothing  # noqa: B018
