"""The tables of the statistics: those of `core.grids`, under the name by which families import them."""

from __future__ import annotations

from graphgauge.core.grids import FORMS, Cell, Grid, remark

__all__ = ["FORMS", "Cell", "Grid", "remark"]
