"""The page about weather, which needs xarray: its blocks run, and print what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.peers

PAGE = Path(__file__).parents[2] / "docs" / "forecasting_weather.md"


def test_weather_page() -> None:
    pytest.importorskip("xarray")
    names: dict[str, Any] = {}
    blocks = re.findall(r"```(py|text)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    printed = ""
    for kind, text in blocks:
        if kind == "text":
            assert printed == text
            continue
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            exec(text, names)
        printed = stream.getvalue()
    assert len(blocks) == 8
