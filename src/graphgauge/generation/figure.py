"""The figure of a generator."""

from __future__ import annotations

from typing import Any

from graphgauge.core.grid import Grid


def drawings(sides: Any) -> dict[str, Grid]:
    return {}
