"""Every metric against at least one number worked by hand, with its origin."""

from __future__ import annotations

import importlib
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.generation.forms import evaluate_sides
from tests.ranking.forms import evaluate_any

from graphgauge.core.registry import find, metrics

FILES = sorted(Path(__file__).parent.glob("*.toml"))
CONTENTS = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in FILES}
ROWS = [(family, row) for family, content in CONTENTS.items() for row in content["row"]]

# Families whose inputs are objects of their own.
OWN = {"ranking": evaluate_any, "generation": evaluate_sides}


@pytest.mark.parametrize(("family", "row"), ROWS, ids=[f"{family}-{row['key']}-{row['input']}" for family, row in ROWS])
def test_golden(family: str, row: dict[str, Any]) -> None:
    assert row["origin"]
    evaluate = OWN.get(family) or importlib.import_module(f"graphgauge.{family}").evaluate
    options = {name: value for name, value in row.items() if name not in ("key", "input", "value", "origin")}
    result = evaluate(**CONTENTS[family]["inputs"][row["input"]], metrics=[row["key"]], **options)[row["key"]]
    assert result.value == pytest.approx(float(Fraction(row["value"])), rel=1e-14)


@pytest.mark.parametrize("family", CONTENTS)
def test_every_metric_has_a_golden_row(family: str) -> None:
    found = {find(row["key"], family)[0].key for row in CONTENTS[family]["row"]}
    missing = {metric.key for metric in metrics(family)} - found
    assert not missing, f"add a [[row]] for each to tests/golden/{family}.toml: its page prints it as a worked example"


@pytest.mark.parametrize("family", CONTENTS)
def test_every_input_is_described(family: str) -> None:
    content = CONTENTS[family]
    assert set(content["about"]) == set(content["inputs"]), f"[about] in tests/golden/{family}.toml describes each"
