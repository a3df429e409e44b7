"""Which tests `make test` runs a second time, without numba.

As a plugin of the first run (`-p tests.twins`) this module notes every test in which no compiled loop ran. In the
second run (with `GRAPHGAUGE_NUMBA=0`) it leaves these out, because they ran on the NumPy twins already. A loop counts
for a test if it ran in the test itself, in a fixture that it uses, or in the import of its module. What was not seen is
run.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from graphgauge.kernels.jit import Kernel, numba_enabled

_CACHE = "graphgauge/no_loop"
_NOTE = "ran a compiled loop"


class FirstRun:
    """Counts the compiled loops that run, and attributes them."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.loops = 0
        self.touched: set[Any] = set()  # modules and fixtures in whose making a loop ran
        self.loops_before_test = 0
        self.seen: dict[str, bool] = {}
        choose = Kernel.implementation

        def implementation(kernel: Kernel[Any, Any], work: int) -> Any:
            chosen = choose(kernel, work)
            self.loops += chosen is not kernel.twin
            return chosen

        Kernel.implementation = implementation  # type: ignore[method-assign]

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        before = self.loops
        report = yield
        if self.loops > before:
            self.touched.add(collector)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        before = self.loops
        value = yield
        if self.loops > before:
            self.touched.add(fixturedef)
        return value

    def pytest_runtest_logstart(self) -> None:
        self.loops_before_test = self.loops

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Function) -> Generator[None, Any, Any]:
        report = yield
        fixtures = (fixture for each in item._fixtureinfo.name2fixturedefs.values() for fixture in each)
        made = {*item.listchain(), *fixtures}
        if report.when == "call" and (self.loops > self.loops_before_test or made & self.touched):
            report.user_properties.append((_NOTE, True))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """With several workers this runs where their reports come together."""
        if report.when == "call" and report.passed:
            self.seen[report.nodeid] = (_NOTE, True) in map(tuple, report.user_properties)

    def pytest_sessionfinish(self) -> None:
        if not hasattr(self.config, "workerinput"):
            self.config.cache.set(_CACHE, sorted(name for name, ran in self.seen.items() if not ran))


class SecondRun:
    """Leaves out what the first run saw no loop in."""

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        no_loop = set(config.cache.get(_CACHE, []))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in no_loop])
        items[:] = [item for item in items if item.nodeid not in no_loop]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(FirstRun(config) if numba_enabled() else SecondRun())
