"""The figures of the metric pages: small curves of how a metric moves, as SVG in the colours of the page."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

_WIDTH, _HEIGHT = 330, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 10, 8, 38
_STROKES = ("5 4", "1.5 3", "9 3 2 3", "3 3")
# Intervals may leave the frame by this share of what the values take up.
_BEYOND = 0.6


def figure(name: str, panels: Sequence[dict[str, Any]]) -> str:
    """The first two panels on which the metric moves, and below them what the lines are and what does not move it."""
    shown = [panel for panel in panels if moves(panel)][:2]
    still = [panel["knob"] for panel in panels if not moves(panel)]
    drawn = "\n".join(_panel(name, panel) for panel in shown)
    caption = _caption(shown) + (f" Not moved by: {html.escape(', '.join(still))}." if still else "")
    return f'<figure class="moves">\n{drawn}\n<figcaption>{caption}</figcaption>\n</figure>\n'


def moves(panel: dict[str, Any]) -> bool:
    return len(set(panel["value"]) - {None}) > 1


def _caption(panels: Sequence[dict[str, Any]]) -> str:
    keys = dict.fromkeys(panel["key"] for panel in panels)
    shown = " and ".join(f"<code>{html.escape(key)}</code>" for key in keys)
    band = any(number is not None for panel in panels for number in panel["low"])
    levels = dict.fromkeys(level for panel in panels for level in panel["chance"])
    kinds = ("dashed", "dotted", "dash-dotted", "fine dashes")
    chance = [f"{kind}: {html.escape(level)}" for kind, level in zip(kinds, levels, strict=False)]
    return "; ".join([f"Line: {shown}{' with its 95 % interval' if band else ''}", *chance]) + "."


def _panel(name: str, panel: dict[str, Any]) -> str:
    x = [math.log(number) for number in panel["x"]] if panel["log"] else panel["x"]
    low, high = _frame(panel)
    inner = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def across(value: float) -> float:
        return round(_LEFT + inner[0] * (value - x[0]) / (x[-1] - x[0]), 1)

    def down(value: float) -> float:
        return round(_TOP + inner[1] * (high - min(max(value, low), high)) / (high - low), 1)

    def points(numbers: Sequence[float | None]) -> list[list[str]]:
        runs: list[list[str]] = [[]]
        for place, number in zip(x, numbers, strict=True):
            if number is None:
                runs.append([])
            else:
                runs[-1].append(f"{across(place):g},{down(number):g}")
        return [run for run in runs if run]

    title = html.escape(f"{name} over {panel['knob']}: {_told(panel)}")
    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{title}">']
    for tick in _ticks(low, high):
        y = down(tick)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:g}H{_WIDTH - _RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{y + 3.5:g}" text-anchor="end">{_number(tick)}</text>')
    base = _HEIGHT - _BOTTOM + 14
    for number, place in zip(panel["x"], x, strict=True):
        if number in _labelled(panel["x"], panel["log"]):
            parts.append(f'<text x="{across(place):g}" y="{base}" text-anchor="middle">{_number(number)}</text>')
    knob = html.escape(panel["knob"])
    parts.append(f'<text x="{_LEFT + inner[0] / 2:g}" y="{_HEIGHT - 6}" text-anchor="middle">{knob}</text>')
    for upper, lower in zip(points(_where(panel, "high")), points(_where(panel, "low")), strict=True):
        parts.append(f'<polygon class="band" points="{" ".join([*upper, *reversed(lower)])}"/>')
    for stroke, numbers in zip(_STROKES, panel["chance"].values(), strict=False):
        parts += [
            f'<polyline class="chance" stroke-dasharray="{stroke}" points="{" ".join(run)}"/>'
            for run in points(numbers)
        ]
    parts += [f'<polyline class="value" points="{" ".join(run)}"/>' for run in points(panel["value"])]
    return "".join([*parts, "</svg>"])


def _where(panel: dict[str, Any], end: str) -> list[float | None]:
    """One end of the interval, where there are both."""
    both = zip(panel["low"], panel["high"], panel[end], strict=True)
    return [None if low is None or high is None else number for low, high, number in both]


def _told(panel: dict[str, Any]) -> str:
    numbers = [(at, value) for at, value in zip(panel["x"], panel["value"], strict=True) if value is not None]
    if not numbers:
        return "no value"
    (first, start), (last, stop) = numbers[0], numbers[-1]
    return f"{_number(start)} at {_number(first)}, {_number(stop)} at {_number(last)}"


def _frame(panel: dict[str, Any]) -> tuple[float, float]:
    held = [
        number for numbers in (panel["value"], *panel["chance"].values()) for number in numbers if number is not None
    ]
    if not held:
        return 0.0, 1.0
    low, high = min(held), max(held)
    room = _BEYOND * (high - low) or abs(low) / 2 or 0.5
    ends = [number for end in ("low", "high") for number in panel[end] if number is not None]
    low, high = max(min([low, *ends]), low - room), min(max([high, *ends]), high + room)
    if low == high:
        low, high = low - room, high + room
    pad = 0.04 * (high - low)
    return low - pad, high + pad


def _ticks(low: float, high: float) -> list[float]:
    """Three to six round numbers between two."""
    step = 10 ** math.floor(math.log10((high - low) / 2))
    step *= next(times for times in (5, 2, 1) if (high - low) / (times * step) >= 2 or times == 1)
    return [place * step for place in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _labelled(numbers: Sequence[float], log: bool) -> Sequence[float]:
    return numbers if log or len(numbers) <= 7 else numbers[::2]


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "−").replace("e−0", "e−").replace("e+0", "e")
