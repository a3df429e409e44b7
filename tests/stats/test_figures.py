"""Figures are drawn, say what they show, and do not change from run to run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphgauge.core.errors import OptionError
from graphgauge.stats.figures import draw_differences, draw_intervals, draw_profile, draw_ranks
from graphgauge.stats import aggregate, compare

RNG = np.random.default_rng(0)
RECORDS = [
    {"method": method, "dataset": "sachs", "seed": seed, "f1": level + float(RNG.normal(0, 0.02))}
    for method, level in (("notears", 0.65), ("golem", 0.89), ("dagma", 0.9))
    for seed in range(8)
]


@pytest.mark.parametrize("draw", [draw_ranks, draw_differences, draw_profile])
@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_comparisons_are_drawn(draw: Callable[..., None], direction: Any, tmp_path: Path) -> None:
    comparison = compare(RECORDS, metric="f1", direction=direction)
    draw(comparison, tmp_path / "a.svg")
    draw(comparison, tmp_path / "b.svg")
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    assert all(name in text for name in ("notears", "golem", "dagma", "f1"))


def test_intervals_are_drawn_with_what_is_missing(tmp_path: Path) -> None:
    draw_intervals(aggregate(RECORDS[1:]), tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    assert "no value" in text
    assert "95 % interval" in text


def test_other_endings(tmp_path: Path) -> None:
    comparison = compare(RECORDS, metric="f1", direction="higher")
    draw_ranks(comparison, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(OptionError):
        draw_ranks(comparison, tmp_path / "a.doc")
