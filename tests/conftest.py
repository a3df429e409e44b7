"""Settings for the whole suite: how Hypothesis draws, and what a skip means in CI."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

CI = os.environ.get("CI") == "true"

# The first call of a kernel compiles it, so no example has a deadline. In CI the examples are the same every time.
settings.register_profile("local", deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, print_blob=True)
settings.load_profile("ci" if CI else "local")

# What a machine without these cannot run; every other skip would hide a test that CI is there to run.
ALLOWED_SKIPS = ("no CUDA", "shared data absent")
if os.environ.get("GRAPHGAUGE_NUMBA") == "0":  # the run that proves the NumPy twins has no compiled loops to test
    ALLOWED_SKIPS += ("numba is not there or switched off",)


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
