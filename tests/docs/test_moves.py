"""Every metric has curves of how it moves, and they are those that the library gives now."""

from __future__ import annotations

import json
import runpy
import sys
from typing import Any

import pytest
from tests.docs.pages import DOCS

from graphgauge.core.metric import metrics

FIX = "run: python docs/moves.py"
STORED: list[dict[str, Any]] = json.loads((DOCS / "moves.json").read_text(encoding="utf-8"))
PANELS = runpy.run_path(str(DOCS / "curves.py"))


@pytest.fixture(scope="module")
def script() -> Any:
    sys.path.insert(0, str(DOCS))
    try:
        import moves
    finally:
        sys.path.remove(str(DOCS))
    return moves


def panels(family: str, key: str) -> list[dict[str, Any]]:
    found = [each for each in STORED if each["family"] == family and key in each["curves"]]
    return [each | each["curves"][key] for each in found]


def test_every_metric_moves() -> None:
    still = [
        f"{metric.family} {metric.key}"
        for metric in metrics()
        if not any(PANELS["moves"](panel) for panel in panels(metric.family, metric.key))
    ]
    assert not still, f"no sweep of docs/moves.py moves them: add one, then {FIX}"


def test_no_curve_is_left_over() -> None:
    known = {(metric.family, metric.key) for metric in metrics()}
    assert {(each["family"], key) for each in STORED for key in each["curves"]} == known, FIX


def test_curves_are_current(script: Any) -> None:
    """The middle of every sweep: the inputs, and the values, intervals and chance levels of all its metrics."""
    assert [(each.family, each.knob, list(each.values)) for each in script.SWEEPS] == [
        (each["family"], each["knob"], each["x"]) for each in STORED
    ], FIX
    for sweep, stored in zip(script.SWEEPS, STORED, strict=True):
        middle = len(sweep.values) // 2
        now = script.curves(sweep, [sweep.values[middle]])
        for key, curve in stored["curves"].items():
            then = {"key": curve["key"]} | {part: curve[part][middle] for part in ("value", "low", "high")}
            levels = {name: numbers[middle] for name, numbers in curve["chance"].items()}
            assert close(now[key], then), (key, FIX)
            assert close(now[key]["chance"], {name: levels[name] for name in now[key]["chance"]}), (key, FIX)


def close(now: dict[str, Any], then: dict[str, Any]) -> bool:
    """The same names and numbers; the last of four digits may differ between machines."""
    return all(
        now[name] == number
        if isinstance(number, str)
        else now[name] == [number] or (number is not None and now[name] == pytest.approx([number], rel=1e-3, abs=1e-3))
        for name, number in then.items()
    )


def test_a_figure_says_what_it_shows() -> None:
    panel = {
        "knob": "noise",
        "log": False,
        "x": [0, 1, 2],
        "key": "mae",
        "value": [1, None, 3],
        "low": [0.5, None, 2],
        "high": [2, None, 9],
        "chance": {"mean < 1": [2, 2, 2]},
    }
    flat = panel | {"knob": "size", "value": [2, 2, 2]}
    drawn = PANELS["figure"]("mae", [panel, flat])
    assert drawn.count("<svg") == 1
    assert 'aria-label="mae over noise: 1 at 0, 3 at 2"' in drawn
    assert "dashed: mean &lt; 1. Not moved by: size." in drawn
