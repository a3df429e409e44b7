"""Figures of a page, as SVG with text as text: methods by their means over runs, and each family's own figure."""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.extras import need
from graphgauge.core.figure import CHANCE, COLOURS, family_figure, new_figure, styled, svg_text
from graphgauge.core.markup import plain_text
from graphgauge.core.result import ARROWS
from graphgauge.report.leaders import Leader
from graphgauge.stats.intervals import t_quantile

# Methods in one figure; a page with more shows the best.
_MOST = 24
# Methods in a family's own figure.
_PANELS = 6
# What matplotlib names and nothing refers to.
_ID = re.compile(r' id="([^"]*)"')
_REFERRED = re.compile(r'(?:href="#|url\(#)([^")]+)')
# Where something is, and the powers of ten of a logarithmic axis, which are a formula.
_PLACES = re.compile(r'\b(d|x|y|width|height|points|viewBox)="([^"]*)"')
_POWER = re.compile(r"\$\\mathdefault\{10\^\{([^}]*)\}\}\$")
_RAISED = str.maketrans("0123456789-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻")


class Figure(NamedTuple):
    """An <svg> element with what it shows in words."""

    svg: str
    title: str
    words: str
    is_wide: bool = False


class _Row(NamedTuple):
    """A method's values over its runs, their mean with its interval, and the level of chance."""

    method: str
    values: np.ndarray[Any, Any]
    mean: float
    low: float
    high: float
    chance: float


def figures(leaders: Sequence[Leader], evaluations: Sequence[Evaluation]) -> list[Figure]:
    """A figure for every family and dataset, and the families' own."""
    if need("matplotlib", "the figures of a report") is None:
        return []
    found = []
    for number, each in enumerate(leaders):
        own = [one for one in evaluations if (one.family, str(one.run.dataset)) == (each.family, each.dataset)]
        rows = _rows(each.metric, own)
        if rows:
            found.append(_forest(each, rows, own[0], number))
    for number, name in enumerate(dict.fromkeys(each.family for each in evaluations)):
        drawn = _of_family(name, evaluations, number)
        found += [] if drawn is None else [drawn]
    return found


def _rows(metric: str, evaluations: Sequence[Evaluation]) -> list[_Row]:
    """Methods, the best first."""
    rows = []
    for method in dict.fromkeys(str(each.run.method) for each in evaluations):
        results = [each[metric] for each in evaluations if str(each.run.method) == method and metric in each]
        results = [each for each in results if each.defined and math.isfinite(each.value)]
        if not results:
            continue
        values = np.array([each.value for each in results])
        low, high = _ends(values, results[0])
        levels = [each.chance.value for each in results if each.chance is not None and each.chance.own is None]
        chance = float(np.mean(levels)) if levels else math.nan
        rows.append(_Row(method, values, float(values.mean()), low, high, chance))
    return rows


def _ends(values: np.ndarray[Any, Any], first: Any) -> tuple[float, float]:
    """Student's t over several runs; the interval of a single one."""
    if len(values) > 1:
        margin = float(t_quantile(len(values) - 1, 0.95)) * values.std(ddof=1) / math.sqrt(len(values))
        return float(values.mean() - margin), float(values.mean() + margin)
    return (math.nan, math.nan) if first.interval is None else (first.interval.low, first.interval.high)


def _forest(leader: Leader, rows: list[_Row], one: Evaluation, number: int) -> Figure:
    """A row per method: its runs as light dots, their mean, and its interval."""
    result = next(each[leader.metric] for each in (one,) if leader.metric in each)
    ranked = sorted(rows, key=lambda row: row.mean, reverse=result.direction == "higher")[:_MOST]
    label = f"{plain_text(leader.metric)} {ARROWS[result.direction]}".strip()
    with _drawing():
        figure = new_figure(6.4, 0.85 + 0.3 * len(ranked))
        axes = figure.subplots()
        for place, row in enumerate(ranked):
            axes.plot(row.values, [place] * len(row.values), "o", color=COLOURS[0], alpha=0.4, markersize=4)
            if math.isfinite(row.low) and math.isfinite(row.high):
                axes.plot([row.low, row.high], [place, place], color=COLOURS[0], linewidth=2)
            axes.plot([row.mean], [place], "D", color=COLOURS[0], markersize=5)
        levels = [row.chance for row in ranked if math.isfinite(row.chance)]
        if levels:
            axes.axvline(float(np.mean(levels)), color=CHANCE, linestyle="--", linewidth=1)
        axes.set_yticks(range(len(ranked)), [plain_text(row.method)[:40] for row in ranked])
        axes.set_ylim(len(ranked) - 0.5, -0.5)
        axes.set_xlabel(label)
        svg = svg_text(figure)
    runs = max(len(row.values) for row in ranked)
    shown = f"{runs} runs each as dots, " if runs > 1 else ""
    more = f" The best {_MOST} of {len(rows)} methods." if len(rows) > _MOST else ""
    dashed = " Dashed: chance." if levels else ""
    words = f"{leader.metric}: {shown}the mean as a diamond, its 95 % interval as a line.{dashed}{more}"
    return Figure(_own_ids(svg, f"f{number}"), f"{leader.family} on {leader.dataset}", words)


def _of_family(name: str, evaluations: Sequence[Evaluation], number: int) -> Figure | None:
    """The family's figure of the first run of every method on its first dataset."""
    own = [each for each in evaluations if each.family == name]
    dataset, seed = own[0].run.dataset, own[0].run.seed
    there = {str(each.run.method): each for each in reversed(own) if each.run.dataset == dataset}
    chosen = {method: there[method] for method in list(reversed(there))[:_PANELS]}
    try:
        with _drawing():
            svg = svg_text(family_figure(name, chosen))
    except InputError:  # a family without a figure
        return None
    of = "" if seed is None else f", seed {seed}"
    return Figure(_own_ids(svg, f"g{number}"), f"{name} on {dataset}{of}", f"The figure of {name}, by method.", True)


@contextmanager
def _drawing() -> Iterator[None]:
    """The house's style; dollar signs in names are no formulas, and the reader's fonts have letters that ours lack."""
    context = need("matplotlib", "a figure").rc_context({"text.parse_math": False})
    with styled(), context, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph ")
        yield


def _own_ids(svg: str, prefix: str) -> str:
    """The element with names of its own on the page, in the page's font and a few bytes.

    Names that nothing refers to go, styles that are repeated become classes, and a tenth of a point is enough.
    """
    referred = set(_REFERRED.findall(svg))
    svg = _ID.sub(lambda found: f' id="{prefix}-{found[1]}"' if found[1] in referred else "", svg)
    svg = re.sub(r'(href="#|url\(#)([^")]+)', lambda found: f"{found[1]}{prefix}-{found[2]}", svg)
    svg = re.sub(r'<svg ([^>]*?)width="[\d.]+pt" height="[\d.]+pt"', r"<svg \1", svg.replace("\n", " "), count=1)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg)
    svg = _POWER.sub(lambda found: "10" + found[1].translate(_RAISED), re.sub(r"; font-family: [^;\"]*", "", svg))
    svg = _PLACES.sub(lambda found: f'{found[1]}="{_short(found[2])}"', re.sub(r"> +<", "><", svg))
    styles = [style for style, count in Counter(re.findall(r' style="([^"]*)"', svg)).items() if count > 1]
    names = {style: f"{prefix}{number}" for number, style in enumerate(styles)}
    rules = "".join(f".{name}{{{style}}}" for style, name in names.items())
    svg = re.sub(
        r' style="([^"]*)"', lambda found: f' class="{names[found[1]]}"' if found[1] in names else found[0], svg
    )
    return svg.replace("</style>", f"{rules}</style>", 1)


def _short(places: str) -> str:
    """Coordinates to a tenth, without spaces that separate nothing."""
    return re.sub(r" *([A-Za-z,()]) *", r"\1", re.sub(r"(\.\d)\d+", r"\1", places)).replace(".0", "").strip()
