"""Two results of one item are equal only to the last bit, intervals as well as values."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

from graphgauge.study.drift import differences

INTERVAL = {"low": 0.25, "high": 0.75, "level": 0.95, "method": "wilson"}
RESULT = {"key": "mrr", "value": 0.5, "n": 10, "unit": "query", "interval": INTERVAL}


def changed(**interval: Any) -> dict[str, Any]:
    return {"results": [{**RESULT, "interval": {**INTERVAL, **interval}}]}


@pytest.mark.parametrize("end", ["low", "high"])
@pytest.mark.parametrize("way", [-1, 1])
@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-7, 1e-3])
def test_ends_of_intervals_have_no_tolerance(end: str, way: int, size: float) -> None:
    other = INTERVAL[end] + way * size if size else math.nextafter(INTERVAL[end], way * math.inf)
    (said,) = differences(changed(**{end: other}), changed())
    assert said.startswith(f"mrr {end} ")
    assert f"(by {abs(other - INTERVAL[end]):.3g}, " in said
    assert differences(changed(), copy.deepcopy(changed())) == []


def test_what_an_interval_says_of_itself_is_compared() -> None:
    assert differences(changed(level=0.9), changed()) == ["the metadata of the values differs (interval)"]


@pytest.mark.parametrize(("name", "said"), [("", "''"), (" ", "' '"), ("\t", r"'\t'"), ("award", "award")])
def test_a_field_without_a_name_is_named(name: str, said: str) -> None:
    forged = {"results": [{**RESULT, name: 1}]}
    assert differences(forged, {"results": [RESULT]}) == [f"the metadata of the values differs ({said})"]
