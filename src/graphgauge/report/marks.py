"""What the charts share: scales of methods, lists to choose from, ticks, and panels side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from graphgauge.old.core.pages import SHAPES, Chart
from graphgauge.report.family import Family

_DASHES = [[1, 0], [7, 3], [2, 2], [7, 2, 2, 2], [10, 4], [4, 1], [1, 3]]
# Axes whose numbers are names: their order says nothing.
_NAMED = ("class", "community", "edge", "entity", "graph", "group", "item", "node", "relation", "type", "user")
# The most points in a chart that keep it readable and the page small.
POINTS = 5000


@dataclass(frozen=True)
class Sign:
    """An entry of a key: a shape, the class of its colour, and what it means."""

    shape: str
    kind: str
    text: str


@dataclass(frozen=True)
class Picture:
    """A drawing that needs no script: paths of unit cells by class, in a box of width × height cells."""

    title: str
    note: str
    width: int
    height: int
    paths: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Panels:
    """Charts or pictures side by side under one title, with one key."""

    id: str
    title: str
    caption: str
    key: Sequence[Sign] = ()
    charts: Sequence[Chart] = ()
    pictures: Sequence[Picture] = ()


def choice(alt: Any, name: str, title: str, options: Sequence[str], labels: Sequence[str] | None = None) -> Any:
    bound = alt.binding_select(options=list(options), labels=list(labels or options), name=f"{title} ")
    return alt.param(name=name, value=options[0], bind=bound)


def ticks(alt: Any, **options: Any) -> Any:
    """As many as leave room for their labels, even on a phone."""
    return alt.Axis(tickCount=alt.ExprRef("clamp(width / 75, 2, 8)"), **options)


def method_scales(alt: Any, family: Family) -> tuple[Any, Any, Any]:
    """Colours, shapes and dashes of the methods; each of the three is enough for the first seven."""
    methods = family.methods
    key = alt.Legend(title=None, orient="top", columns=alt.ExprRef("width < 420 ? 2 : 4"), symbolOpacity=1)
    palette = [f"var(--c{1 + index % 7})" for index in range(len(methods))]
    shapes = [SHAPES[(index + index // 7) % len(SHAPES)] for index in range(len(methods))]
    dashes = [_DASHES[(index + index // 7) % len(_DASHES)] for index in range(len(methods))]
    return (
        alt.Color("method:N", sort=methods, scale=alt.Scale(domain=methods, range=palette), legend=key),
        alt.Shape("method:N", sort=methods, scale=alt.Scale(domain=methods, range=shapes), legend=key),
        alt.StrokeDash("method:N", sort=methods, scale=alt.Scale(domain=methods, range=dashes), legend=key),
    )


def lines(alt: Any, base: Any, family: Family, axis: Any, height: Any, tooltip: list[str], size: int = 48) -> list[Any]:
    """A line per method with marks and a band from `low` to `high`, in the colours and shapes of the method."""
    colour, shape, dash = method_scales(alt, family)
    return [
        base.transform_filter("isFinite(datum.low) && isFinite(datum.high)")
        .mark_area(opacity=0.13, aria=False)
        .encode(axis, alt.Y("low:Q"), colour, y2="high:Q"),
        base.mark_line(strokeWidth=2.2, aria=False).encode(axis, height, colour, dash),
        base.mark_point(filled=True, size=size, opacity=1, aria=False).encode(
            axis, height, colour, shape, tooltip=tooltip
        ),
    ]


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_ordered(axis: str, labels: Iterable[object]) -> bool:
    """Whether the labels of an axis are numbers that count something, such as cycles and horizons."""
    return axis not in _NAMED and all(is_number(label) for label in labels)
