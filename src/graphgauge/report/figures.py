"""Printable figures: one style, colours that colour-blind readers tell apart."""

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
_STYLE = {
    "axes.prop_cycle": None,
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


@contextmanager
def figure(path: str | Path, columns: int = 1, *, width: float = 4.6, height: float = 3.6) -> Iterator[Any]:
    """Axes side by side; the file is written when the block ends, undated, so that equal data give equal files."""
    target = Path(path)
    if target.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise OptionError(
            f"figures are not drawn as {target.suffix or 'files without ending'}", fix="Use .svg, .png or .pdf."
        )
    matplotlib = need("matplotlib", "drawing a figure")
    figures, backend = (
        need("matplotlib.figure", "drawing a figure"),
        need("matplotlib.backends.backend_agg", "a figure"),
    )
    cycler = need("matplotlib", "drawing a figure").cycler
    with matplotlib.rc_context({**_STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
        # Without pyplot there is no global state: figures may be drawn from any thread.
        canvas = figures.Figure(figsize=(width * columns, height))
        backend.FigureCanvasAgg(canvas)
        yield canvas.subplots(1, columns, squeeze=False)[0]
        with atomic_path(target) as temporary:
            kind = target.suffix.lower()[1:]
            metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}[kind]
            canvas.savefig(temporary, format=kind, dpi=150, metadata=metadata)
