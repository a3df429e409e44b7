"""Which tests `make test` runs a second time, without numba.

As a plugin of the first run (`-p tests.twins`) this module notes which compiled loops ran in every test: in the test
itself, in a fixture that it uses, or in the import of its module. In the second run (with `GRAPHGAUGE_NUMBA=0`) it
leaves out the tests in which none ran, because they ran on the NumPy twins already. Of the others it takes those of
kernels, laws and golden values, and of the rest as many as each loop needs to be tried in every way that it is used:
some of each file. What was not seen is run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping
from typing import Any

import pytest

from graphgauge.kernels.jit import Kernel, numba_enabled

_CACHE = "graphgauge/loops"
_NOTE = "ran compiled loops"
# Folders whose tests are all run again, and how many tests of another file are run for each loop.
_WHOLE = ("tests/kernels/", "tests/laws/", "tests/golden/")
_OF_A_FILE = 3


class FirstRun:
    """Notes the compiled loops that run, and attributes them."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.running: set[str] = set()
        self.of_test: set[str] = set()
        self.touched: dict[Any, set[str]] = {}  # modules and fixtures in whose making loops ran
        self.seen: dict[str, list[str]] = {}
        choose = Kernel.implementation

        def implementation(kernel: Kernel[Any, Any], work: int) -> Any:
            chosen = choose(kernel, work)
            if chosen is not kernel.twin:
                self.running.add(f"{kernel.loop.__module__}.{kernel.loop.__qualname__}")
            return chosen

        Kernel.implementation = implementation  # type: ignore[method-assign]

    def _noting(self, made: Any) -> Generator[None, Any, Any]:
        """Attribute the loops that run meanwhile to what is made, and to what contains it."""
        outer, self.running = self.running, set()
        value = yield
        if self.running:
            self.touched.setdefault(made, set()).update(self.running)
        self.running |= outer
        return value

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        return (yield from self._noting(collector))

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        return (yield from self._noting(fixturedef))

    def pytest_runtest_logstart(self) -> None:
        self.running = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Function) -> Generator[None, Any, Any]:
        report = yield
        if report.when == "call":
            fixtures = (fixture for each in item._fixtureinfo.name2fixturedefs.values() for fixture in each)
            loops = self.running.union(*(self.touched.get(made, ()) for made in [*item.listchain(), *fixtures]))
            report.user_properties.append((_NOTE, sorted(loops)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """With several workers this runs where their reports come together."""
        if report.when == "call" and report.passed:
            self.seen[report.nodeid] = dict(report.user_properties).get(_NOTE, [])

    def pytest_sessionfinish(self) -> None:
        if not hasattr(self.config, "workerinput"):
            self.config.cache.set(_CACHE, self.seen)


class SecondRun:
    """Leaves out what the first run saw no loop in, and repetitions."""

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = chosen([item.nodeid for item in items], config.cache.get(_CACHE, {}))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
        items[:] = [item for item in items if item.nodeid in kept]


def chosen(tests: list[str], loops: Mapping[str, list[str]]) -> set[str]:
    """The tests to repeat, by the loops that ran in each that was seen."""
    tried: Counter[tuple[str, str]] = Counter()
    kept = set()
    for test in tests:
        file = test.partition("::")[0]
        ran = loops.get(test)
        if ran is None or (ran and (file.startswith(_WHOLE) or any(tried[file, loop] < _OF_A_FILE for loop in ran))):
            kept.add(test)
            tried.update((file, loop) for loop in ran or ())
    return kept


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(FirstRun(config) if numba_enabled() else SecondRun())
