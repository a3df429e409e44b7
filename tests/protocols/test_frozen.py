"""Every protocol against values of the evaluator that it reproduces, which were written down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.protocols.cases import FIRST, NAMES, case, ours

FROZEN = Path(__file__).with_name("frozen.json")
SEEDS = (0, 1, 2)
# Where they compute in float32, or round to four digits.
SLACK = {"ogbl-citation2": 1e-7, "tgbl-wiki": 1e-7, "fb15k-237": 1e-7, "notears": 5.1e-5}


def frozen() -> dict[str, list[dict[str, float]]]:
    return json.loads(FROZEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_reference(name: str) -> None:
    for seed, expected in zip(SEEDS, frozen()[name], strict=True):
        assert ours(name, case(name, seed)) == pytest.approx(expected, abs=SLACK.get(FIRST[name], 1e-12))
