"""Every answer is asked for twice: from the compiled loops and from their NumPy twins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pkgutil import iter_modules
from unittest import mock

import pytest

from graphgauge import kernels
from graphgauge.kernels.jit import Kernel, numba_enabled

NAMES = [name for _, name, _ in iter_modules(kernels.__path__)]
MODULES = [import_module(f"graphgauge.kernels.{name}") for name in NAMES]
KERNELS = [value for module in MODULES for value in vars(module).values() if isinstance(value, Kernel)]


@contextmanager
def _numpy_twins() -> Iterator[None]:
    with mock.patch.multiple(Kernel, implementation=lambda self, work: self.twin):
        yield


@contextmanager
def _compiled_loops() -> Iterator[None]:
    if not numba_enabled():
        pytest.skip("numba is not there or switched off")
    import_module("numba")
    for kernel in KERNELS:
        assert kernel.implementation(0) is not kernel.twin
    yield


@pytest.fixture(scope="session")
def running() -> Callable[[str], AbstractContextManager[None]]:
    """`with running("numba"):` or `with running("numpy"):`."""
    return lambda name: {"numba": _compiled_loops, "numpy": _numpy_twins}[name]()


@pytest.fixture(params=["numba", "numpy"])
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    with {"numba": _compiled_loops, "numpy": _numpy_twins}[request.param]():
        yield request.param
