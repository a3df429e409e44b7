"""How often adaptive runs are wrong: the table of docs/adaptive.md."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[3] / "docs"


def simulation() -> ModuleType:
    spec = importlib.util.spec_from_file_location("adaptive_rates", DOCS / "adaptive_rates.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["adaptive_rates"] = module
    spec.loader.exec_module(module)
    return module


def test_the_table_has_every_design_within_its_bound() -> None:
    module = simulation()
    rows = [
        line.split(" | ") for line in (DOCS / "adaptive" / "rates.inc").read_text(encoding="utf-8").splitlines()[2:]
    ]
    names = [row[0].removeprefix("| ") for row in rows]
    designs = [design.name for design in module.designs()]
    assert names[: len(designs)] == designs
    for name, row in zip(names, rows, strict=True):
        bound, rate, runs = float(row[2]), float(row[3]), int(row[5].removesuffix(" |").replace(",", ""))
        assert rate <= bound + 3 * (bound * (1 - bound) / runs) ** 0.5, name


def test_a_few_runs_of_every_kind() -> None:
    """The simulation works; the slow test counts."""
    module = simulation()
    for design in module.designs():
        assert not design.happened(3, design.truth) or design.gate


@pytest.mark.slow
def test_it_is_rarely_wrong_however_often_one_looks() -> None:
    module = simulation()
    rates = module.all_rates()
    for rate in rates:
        assert rate.rate <= rate.bound + 3 * rate.error, rate
    if os.environ.get("GRAPHGAUGE_REGENERATE"):
        module.write(rates)
