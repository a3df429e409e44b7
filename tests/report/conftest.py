"""One browser for all tests of the page, and pages to look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from graphgauge.report.html import write_report
from tests.report.chrome import BROWSER, DRIVER, Chrome
from tests.report.sample import write_outcome, write_ranking, write_recovery


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two families, two datasets in one of them, and what a study leaves beside its results."""
    root = tmp_path_factory.mktemp("study") / "results"
    write_ranking(root, queries=200)
    write_recovery(root)
    write_outcome(root)
    return root


@pytest.fixture(scope="session")
def report(results: Path) -> Path:
    return write_report(results, results.parent / "report.html")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    if BROWSER is None or DRIVER is None:
        pytest.skip("no chromium on this machine")
    chrome = Chrome(tmp_path_factory.mktemp("profile"))
    yield chrome
    chrome.close()
