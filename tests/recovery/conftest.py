"""Every answer is asked for twice where a kernel is behind it: from the compiled loops and from their NumPy twins."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from unittest import mock

import pytest

from graphgauge.kernels.jit import Kernel, numba_enabled


@pytest.fixture(params=["numba", "numpy"])
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "numba":
        if not numba_enabled():
            request.param = "numpy"  # the run without numba has only twins to test
        else:
            import_module("numba")
            yield "numba"
            return
    with mock.patch.multiple(Kernel, implementation=lambda self, work: self.twin):
        yield "numpy"
