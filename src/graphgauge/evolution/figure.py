"""The evolution dashboard: metrics over cycles, growth against areas, and means side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.figures import CHANCE, COLOURS, SHAPES, canvas
from graphgauge.evolution.picture import AREAS, TITLES, Picture
from graphgauge.stats.text import p_text

# Lines differ in colour, dashes and marks: any one of the three is enough.
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)))
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++", "oo")
# The most scatter marks drawn as vectors; more are drawn as an image.
_VECTOR = 3000


def draw_evolution(picture: Picture, path: str | Path) -> None:
    """Draw the dashboard into a .svg, .png, .pdf or .html file."""
    if Path(path).suffix.lower() == ".html":
        from graphgauge.evolution.page import write_dashboard

        write_dashboard(picture, path)
        return
    rows = -(-len(picture.curves) // 3)
    with canvas(path, width=13.2, height=3.4 * (rows + 1)) as whole:
        grid = whole.add_gridspec(rows + 1, 3)
        for place, key in enumerate(picture.curves):
            _curves(whole.add_subplot(grid[place // 3, place % 3]), picture, key)
        handles, labels = whole.axes[0].get_legend_handles_labels()
        if picture.growth:
            _growth(whole.add_subplot(grid[rows, 0]), picture)
        _means(whole.add_subplot(grid[rows, 1 if picture.growth else 0 :]), picture)
        whole.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 6), fontsize=10,
                     title=f"Shaded: {picture.band}; dotted: chance", title_fontsize=9)  # fmt: skip


def _colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def _of(choices: tuple[Any, ...], index: int) -> Any:
    """Shifted by one after each round of colours, so that two conditions of one colour differ otherwise."""
    return choices[(index + index // len(COLOURS)) % len(choices)]


def _curves(axis: Any, picture: Picture, key: str) -> None:
    if key in picture.chance:
        axis.axhline(picture.chance[key], ls=(0, (1, 2)), lw=1.2, color=CHANCE)
    for index, (name, curve) in enumerate(picture.curves[key].items()):
        colour = _colour(index)
        axis.fill_between(curve.cycles, curve.low, curve.high, color=colour, alpha=0.16, lw=0)
        axis.plot(
            curve.cycles, curve.values, ls=_of(_DASHES, index), marker=_of(SHAPES, index), color=colour, lw=1.6, ms=4,
            markevery=max(1, len(curve.cycles) // 8), label=name,
        )  # fmt: skip
    if key in AREAS:
        axis.set_ylim(*picture.area_limits)
    axis.set(title=TITLES[key], xlabel="cycle", ylabel=key)
    axis.title.set_fontsize(10)


def _growth(axis: Any, picture: Picture) -> None:
    axis.set(xlabel="tgc", ylabel="auc_synthetic")
    for index, (_, (tgc, auc)) in enumerate(picture.growth.items()):
        axis.scatter(tgc, auc, s=14, alpha=0.5, color=_colour(index), marker=_of(SHAPES, index), lw=0,
                     rasterized=len(tgc) > _VECTOR)  # fmt: skip
    relation = picture.relation
    if relation is None:
        axis.set_title("Growth against AUC: nothing to correlate", fontsize=10)
        return
    ends = np.array(axis.get_xlim())
    axis.plot(ends, relation.intercept + relation.slope * ends, color="#000000", lw=1)
    axis.set_xlim(*ends)
    said = f"r = {relation.r:.3f}, {p_text(relation.p)} (as if cycles were independent)"
    axis.set_title(f"Growth against AUC, all cycles\n{said}", fontsize=10)


def _means(axis: Any, picture: Picture) -> None:
    width = 0.8 / len(picture.conditions)
    axis.axhline(0, color="#000000", lw=0.8)
    for index, name in enumerate(picture.conditions):
        offset = (index - (len(picture.conditions) - 1) / 2) * width
        for place, (_, means) in enumerate(picture.means.items()):
            mean = means[name]
            if mean.value != mean.value:
                axis.text(place + offset, 0.01, "–", ha="center", va="bottom", fontsize=8)
                continue
            axis.bar(place + offset, mean.value, width * 0.94, color=_colour(index), alpha=0.75,
                     hatch=_of(_HATCHES, index), edgecolor="white", lw=0.5)  # fmt: skip
            if mean.low == mean.low:
                axis.plot([place + offset] * 2, [mean.low, mean.high], color="#000000", lw=1.2)
            above = max(mean.value, mean.high) if mean.high == mean.high else mean.value
            if len(picture.conditions) <= 5:
                axis.annotate(f"{mean.value:.3f}", (place + offset, max(above, 0)), xytext=(0, 2),
                              textcoords="offset points", ha="center", va="bottom", fontsize=7)  # fmt: skip
    for place, key in enumerate(picture.means):
        if key in picture.chance:
            axis.plot([place - 0.44, place + 0.44], [picture.chance[key]] * 2, ls=(0, (1, 1)), color="#000000", lw=1.2)
    axis.set_xticks(range(len(picture.means)), list(picture.means), fontsize=8)
    axis.set(title="Means over cycles and seeds")
    axis.title.set_fontsize(10)
    axis.grid(visible=False, axis="x")
