"""Printable figures: one style, with colours that colour-blind readers can distinguish."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.extras import need
from graphgauge.old.core.files import atomic_path

# Okabe and Ito's palette, without its yellow, which is too light for lines on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
CHANCE = "#777777"
# Shapes repeat the information of colours.
SHAPES = ("o", "s", "^", "D", "v", "P", "X")
_STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "font.size": 10,
    "figure.constrained_layout.use": True,
    "legend.frameon": False,
    # Text stays text: searchable, selectable, and without a random seed in the file.
    "svg.fonttype": "none",
    "svg.hashsalt": "graphgauge",
}
# Creation metadata of each file type, left out.
_UNDATED: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
}


@dataclass
class _Sheet:
    """Where `drawn` wants the next figure: in memory, or in the place of axes; and the figure that was drawn."""

    ax: Any
    to_file: bool
    figure: Any = None


_SHEET: ContextVar[_Sheet | None] = ContextVar("sheet", default=None)


def drawn(draw: Callable[[Path], None], path: str | Path | None = None, ax: Any = None) -> Any:
    """The matplotlib figure that `draw` makes: new, or in the place of `ax`; it is also written to a given path.

    Several panels replace the axes by as many smaller ones. A file has the figure alone, so `path` and `ax` exclude
    each other.
    """
    if path is not None and ax is not None:
        raise OptionError("both path and ax are given", fix="Draw on ax, then save its figure with savefig().")
    if ax is not None and not hasattr(ax, "get_subplotspec"):
        raise InputError(
            f"found {type(ax).__name__}", where="ax", fix="Pass matplotlib axes, such as plt.subplots()[1]."
        )
    sheet = _Sheet(ax, to_file=path is not None)
    token = _SHEET.set(sheet)
    try:
        draw(Path("in memory.png") if path is None else Path(path))
    finally:
        _SHEET.reset(token)
    return sheet.figure


@contextmanager
def figure(path: str | Path, columns: int = 1, *, width: float = 4.6, height: float = 3.6) -> Iterator[Any]:
    """Axes side by side, each of this width."""
    sheet = _SHEET.get()
    if columns == 1 and sheet is not None and sheet.ax is not None:
        sheet.figure = sheet.ax.get_figure(root=True)
        with _styled():
            yield [sheet.ax]
        return
    with canvas(path, width=width * columns, height=height) as whole:
        yield whole.subplots(1, columns, squeeze=False)[0]


@contextmanager
def canvas(path: str | Path, *, width: float, height: float) -> Iterator[Any]:
    """An empty figure; the file is written when the block ends, without a date, so that equal data give equal files."""
    target, sheet = Path(path), _SHEET.get()
    kind = target.suffix.lower()[1:]
    if kind not in _UNDATED:
        raise OptionError(
            f"figures cannot be written as {target.suffix or 'files without a suffix'}", fix="Use .svg, .png or .pdf."
        )
    with _styled():
        if sheet is not None and sheet.ax is not None:
            yield _in_place_of(sheet)
            return
        # Without pyplot there is no global state: figures may be drawn from any thread.
        whole = _shown_figure()(figsize=(width, height))
        need("matplotlib.backends.backend_agg", "drawing a figure").FigureCanvasAgg(whole)
        yield whole
        if sheet is not None:
            sheet.figure = whole
        if sheet is None or sheet.to_file:
            with atomic_path(target) as temporary:
                whole.savefig(temporary, format=kind, dpi=150, metadata=_UNDATED[kind])


@contextmanager
def _styled() -> Iterator[None]:
    matplotlib = need("matplotlib", "drawing a figure")
    with matplotlib.rc_context({**_STYLE, "axes.prop_cycle": matplotlib.cycler(color=COLOURS)}):
        yield


def _in_place_of(sheet: _Sheet) -> Any:
    """A part of a figure, where the axes were."""
    ax, place = sheet.ax, sheet.ax.get_subplotspec()
    if place is None:
        raise InputError(
            "this figure has several panels, and the axes have no place in a grid",
            where="ax",
            fix="Pass axes of plt.subplots(), or none.",
        )
    sheet.figure = ax.get_figure(root=True)
    part = ax.get_figure(root=False).add_subfigure(place)
    ax.remove()
    return part


@cache
def _shown_figure() -> Any:
    """A figure that notebooks show as the last value of a cell, whether pyplot was imported or not."""
    figures = need("matplotlib.figure", "drawing a figure")

    def picture(self: Any) -> bytes:
        stream = BytesIO()
        with _styled():
            self.savefig(stream, format="png", dpi=110, metadata=_UNDATED["png"])
        return stream.getvalue()

    return type("ShownFigure", (figures.Figure,), {"_repr_png_": picture, "__module__": __name__})


def __getattr__(name: str) -> Any:
    """The class of drawn figures, by the name under which pickle looks for it."""
    if name == "ShownFigure":
        return _shown_figure()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
