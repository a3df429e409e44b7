"""The table of differences between libraries: graphgauge's own column, held to the library without the others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphgauge import ranking
from graphgauge.core.errors import InputError

TABLE = Path(__file__).parents[3] / "docs" / "agreement" / "ranking.md"
ROW = re.compile(r"\| (?P<title>[^|]+)<br>`(?P<inputs>[^`]+)` \| (?P<rule>[^|]+) \| (?P<ours>[^|]+) \|")
ANSWER = re.compile(r"`(?P<call>.+)` → (?P<value>[^ ,]+)(?: \((?P<reason>.+)\))?(?P<warned>, with a warning)?")


def _answers() -> list[Any]:
    found, section = [], ""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        section = line.removeprefix("## ") if line.startswith("## ") else section
        if row := ROW.match(line):
            for answer in row["ours"].split("<br>"):
                found.append(pytest.param(row["inputs"], answer, id=f"{section}-{row['title']}-{answer}"))
    return found


@pytest.mark.parametrize(("inputs", "answer"), _answers())
def test_graphgauge_answers_as_the_table_says(inputs: str, answer: str) -> None:
    printed = ANSWER.fullmatch(answer)
    assert printed is not None
    names: dict[str, Any] = {"np": np, "inf": np.inf, "nan": np.nan}
    exec(inputs, names)
    if printed["value"] == "InputError":
        with pytest.raises(InputError):
            eval(printed["call"], vars(ranking) | names)
        return
    found = eval(printed["call"], vars(ranking) | names)
    assert float(found) == pytest.approx(float(printed["value"]), rel=1e-3, abs=5e-5, nan_ok=True)
    if not isinstance(found, float):
        assert found.reason == printed["reason"]
        assert bool(found.warnings) == bool(printed["warned"])


def test_the_table_has_every_case_that_ought_to_be_there() -> None:
    titles = {row["title"] for row in map(ROW.match, TABLE.read_text(encoding="utf-8").splitlines()) if row}
    assert titles >= {
        "constant scorer",
        "one tied negative",
        "NaN scorer",
        "NaN positive",
        "NaN negatives",
        "+inf tied with +inf",
        "−inf positive",
        "K above the number of candidates",
        "no queries",
        "float16, different in float64",
        "ragged negatives, padded with −inf for the others",
    }
