"""One browser for all tests of the page, and pages to look at."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.report.chrome import BROWSER, DRIVER, Chrome
from tests.report.sample import write_large, write_outcome, write_ranking, write_recovery

from graphgauge.report.html import write_report


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
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """A page of many results, and the processor seconds that it took."""
    root = tmp_path_factory.mktemp("large") / "results"
    write_large(root)
    start = time.process_time()
    page = write_report(root, root.parent / "report.html")
    return page, time.process_time() - start


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    if BROWSER is None or DRIVER is None:
        pytest.skip("no chromium on this machine")
    chrome = Chrome(tmp_path_factory.mktemp("profile"))
    yield chrome
    chrome.close()
