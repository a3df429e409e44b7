"""Figures are drawn, say what they show, and do not change from run to run."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphgauge.core.errors import OptionError
from graphgauge.old.stats import aggregate, compare
from graphgauge.old.stats.figures import draw_differences, draw_intervals, draw_ranks

RNG = np.random.default_rng(0)
RECORDS = [
    {"method": method, "dataset": "sachs", "seed": seed, "f1": level + float(RNG.normal(0, 0.02))}
    for method, level in (("notears", 0.65), ("golem", 0.89), ("dagma", 0.9))
    for seed in range(8)
]


@pytest.mark.parametrize("draw", [draw_ranks, draw_differences])
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


@pytest.fixture(scope="module")
def many() -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    return [
        {"method": f"method-{m:02d}", "dataset": f"data-{d}", "seed": 0, "f1": 0.6 + 0.004 * m + rng.normal(0, 0.05)}
        for m in range(40)
        for d in range(50)
    ]


@pytest.fixture(scope="module")
def forty(many: list[dict[str, Any]]) -> Any:
    return compare(many, metric="f1", direction="higher", resamples=10)


def _legible(path: Path) -> None:
    """Every name is there, in letters that can be read, on a page that fits a screen or two."""
    text = path.read_text()
    assert all(f"method-{m:02d}" in text for m in range(40))
    width, height = (float(re.search(rf'{side}="([\d.]+)pt"', text)[1]) / 72 for side in ("width", "height"))  # type: ignore[index]
    assert width < 16
    assert height < 16
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: ?(?:[a-z]+ )*([\d.]+)px", text)]
    assert sizes
    assert min(sizes) >= 7


def test_forty_methods_on_fifty_datasets(forty: Any, tmp_path: Path) -> None:
    start = time.process_time()
    forty.plot(tmp_path / "a.svg", "ranks")
    assert time.process_time() - start < 10
    _legible(tmp_path / "a.svg")
    with pytest.raises(OptionError, match="780 pairs are more than the 45 that are drawn"):
        forty.plot(tmp_path / "b.svg", "differences")


def test_the_means_of_forty_methods_on_fifty_datasets(many: list[dict[str, Any]], tmp_path: Path) -> None:
    start = time.process_time()
    aggregate(many, directions={"f1": "higher"}).plot(tmp_path / "a.svg")
    assert time.process_time() - start < 10
    _legible(tmp_path / "a.svg")


def test_other_endings(tmp_path: Path) -> None:
    comparison = compare(RECORDS, metric="f1", direction="higher")
    draw_ranks(comparison, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(OptionError):
        draw_ranks(comparison, tmp_path / "a.doc")


@pytest.mark.parametrize("draw", [draw_ranks, draw_differences])
@pytest.mark.parametrize(
    ("options", "said"), [({"design": "unpaired"}, "3 to 8 runs"), ({"datasets": "these"}, "runs on 2")]
)
def test_every_design_is_drawn(draw: Callable[..., None], options: Any, said: str, tmp_path: Path) -> None:
    runs = RECORDS[:-5] if "design" in options else [*RECORDS, *({**row, "dataset": "other"} for row in RECORDS)]
    comparison = compare(runs, metric="f1", direction="higher", resamples=20, **options)
    draw(comparison, tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    assert "dagma" in text
    assert said in text
