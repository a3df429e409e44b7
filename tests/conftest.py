"""Settings for the whole suite: how examples are drawn, and what a skip means in CI."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from tests import fuzz

CI = os.environ.get("CI") == "true"

# `make test` draws the same examples every time and everywhere; `make fuzz` looks for new ones, with a seed a round.
settings.register_profile(
    "test",
    deadline=None,
    max_examples=10,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("fuzz", settings.get_profile("test"), max_examples=100, derandomize=False)
settings.load_profile("test")
# Hypothesis mixes in the constants of the modules that happen to be loaded, which depends on the tests that ran before.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants


def pytest_runtest_setup() -> None:
    """What draws without a seed of its own draws the same whichever tests ran before."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 (other libraries draw from it)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


@pytest.fixture
def simulated() -> Iterator[Any]:
    """A CUDA device that the host simulates; see `tests.simulated`."""
    from tests.simulated import Simulated

    with Simulated() as found:
        yield found


# What a machine without these cannot run; every other skip would hide a test that CI is there to run.
ALLOWED_SKIPS = ("no CUDA", "shared data absent")
if fuzz.DEADLINE in os.environ:  # the tests that a round of random search has no time left for
    ALLOWED_SKIPS += (fuzz.TIME_IS_UP,)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if CI and report.skipped and not hasattr(report, "wasxfail"):
        _fail_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if CI and report.skipped:  # importorskip at the top of a module
        _fail_skip(report)
    return report


def _fail_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = reason.removeprefix("Skipped: ")
    if not reason.startswith(ALLOWED_SKIPS):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {reason}"
