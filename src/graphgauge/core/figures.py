"""Printable figures: one style, with colours that colour-blind readers can distinguish."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphgauge.core.errors import OptionError
from graphgauge.core.extras import need
from graphgauge.core.files import atomic_path

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


@contextmanager
def figure(path: str | Path, columns: int = 1, *, width: float = 4.6, height: float = 3.6) -> Iterator[Any]:
    """Axes side by side, each of this width."""
    with canvas(path, width=width * columns, height=height) as whole:
        yield whole.subplots(1, columns, squeeze=False)[0]


@contextmanager
def canvas(path: str | Path, *, width: float, height: float) -> Iterator[Any]:
    """An empty figure; the file is written when the block ends, without a date, so that equal data give equal files."""
    target = Path(path)
    kind = target.suffix.lower()[1:]
    if kind not in _UNDATED:
        raise OptionError(
            f"figures cannot be written as {target.suffix or 'files without a suffix'}", fix="Use .svg, .png or .pdf."
        )
    matplotlib = need("matplotlib", "drawing a figure")
    figures = need("matplotlib.figure", "drawing a figure")
    backend = need("matplotlib.backends.backend_agg", "drawing a figure")
    with matplotlib.rc_context({**_STYLE, "axes.prop_cycle": matplotlib.cycler(color=COLOURS)}):
        # Without pyplot there is no global state: figures may be drawn from any thread.
        whole = figures.Figure(figsize=(width, height))
        backend.FigureCanvasAgg(whole)
        yield whole
        with atomic_path(target) as temporary:
            whole.savefig(temporary, format=kind, dpi=150, metadata=_UNDATED[kind])
