"""What a page or an example declares is forgotten after its test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphgauge.core import finding, registry


@pytest.fixture(autouse=True)
def _declared_is_forgotten() -> Iterator[None]:
    yield
    for known in (*registry._METRICS.values(), finding._CHECKS):
        for name in [name for name, entry in known.items() if entry.function.__module__ == "__main__"]:
            del known[name]
