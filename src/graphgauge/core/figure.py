"""Figures: one style with colours that colour-blind readers can distinguish, drawn by the families, written here.

The module `figure` of a family has `draw(figure, evaluations)`: the panels of these evaluations by name, on an empty
matplotlib figure, from what result files keep (values, breakdowns, `drawings`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from graphgauge.core.disk import atomic_path
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.extras import need
from graphgauge.core.family import family

# Okabe and Ito's palette, without its yellow, which is too light for lines on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
CHANCE = "#777777"
# Shapes repeat the information of colours.
SHAPES = ("o", "s", "^", "D", "v", "P", "X")
_STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#808080",
    "grid.alpha": 0.2,
    "font.size": 10,
    "figure.constrained_layout.use": True,
    "legend.frameon": False,
    # Text stays text: searchable, selectable, and without a random seed in the file.
    "svg.fonttype": "none",
    "svg.hashsalt": "graphgauge",
}
# Creation metadata of each file type, left out: equal data give equal files.
_UNDATED: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
}


@contextmanager
def styled() -> Iterator[None]:
    """Within this block matplotlib draws in the house's style."""
    matplotlib = need("matplotlib", "drawing a figure")
    with matplotlib.rc_context({**_STYLE, "axes.prop_cycle": matplotlib.cycler(color=COLOURS)}):
        yield


def new_figure(width: float = 4.6, height: float = 3.6) -> Any:
    """An empty figure, without the global state of pyplot; the last value of a notebook's cell is shown."""
    figures = need("matplotlib.figure", "drawing a figure")
    figure = figures.Figure(figsize=(width, height), layout="constrained")
    need("matplotlib.backends.backend_agg", "drawing a figure").FigureCanvasAgg(figure)
    figure._repr_png_ = partial(_png, figure)
    return figure


def _png(figure: Any) -> bytes:
    stream = BytesIO()
    with styled():
        figure.savefig(stream, format="png", dpi=100)
    return stream.getvalue()


def write_figure(figure: Any, path: str | Path) -> None:
    """Write a .svg, .png or .pdf file, completely or not at all."""
    target = Path(path)
    kind = target.suffix.lower()[1:]
    if kind not in _UNDATED:
        what = f"figures cannot be written as {target.suffix or 'files without a suffix'}"
        raise OptionError(what, fix="Use .svg, .png or .pdf.")
    with styled(), atomic_path(target) as temporary:
        figure.savefig(temporary, format=kind, dpi=150, metadata=_UNDATED[kind])


def svg_text(figure: Any) -> str:
    """A figure as an <svg> element for a page: text as text, in the colour of the text around it."""
    stream = BytesIO()
    with styled():
        figure.savefig(stream, format="svg", metadata=_UNDATED["svg"], transparent=True)
    text = stream.getvalue().decode()
    return re.sub("#000000|#333333", "currentColor", text[text.index("<svg") :])


def drawn(
    draw: Callable[[Any], None], width: float, height: float, path: str | Path | None = None, ax: Any = None
) -> Any:
    """What `draw` draws on a new figure, which is written to `path` if that is given; or in the place of axes."""
    if ax is None:
        part = figure = new_figure(width, height)
    else:
        figure, part = in_place_of(ax, path)
    with styled():
        draw(part)
    if path is not None:
        write_figure(figure, path)
    return figure


def family_figure(
    name: str, evaluations: Mapping[str, Evaluation], path: str | Path | None = None, ax: Any = None
) -> Any:
    """The figure that a family draws of evaluations by name, as `drawn` makes it."""
    module = family(name).module("figure")
    if module is None:
        raise InputError(f"{name} has no figure")
    width, height = getattr(module, "SIZE", (9.2, 3.6))
    return drawn(lambda part: module.draw(part, evaluations), width, height, path, ax)


def in_place_of(ax: Any, path: str | Path | None = None) -> tuple[Any, Any]:
    """The figure of these axes, and a part of it to draw on where they were."""
    if path is not None:
        raise OptionError("both path and ax are given", fix="Draw on ax, then save its figure with savefig().")
    place = getattr(ax, "get_subplotspec", lambda: None)()
    if place is None:
        what = f"{type(ax).__name__} has no place in a figure"
        raise InputError(what, where="ax", fix="Pass axes, such as plt.subplots()[1].")
    whole, part = ax.get_figure(root=True), ax.get_figure(root=False).add_subfigure(place)
    ax.remove()
    return whole, part
