"""Rows of this family."""

from __future__ import annotations

from benchmarks.harness import Row

ROWS: tuple[Row, ...] = ()
