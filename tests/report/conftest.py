"""One browser a worker for all tests of the page, and pages to look at, made once for all workers."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.report.chrome import BROWSER, DRIVER, Chrome
from tests.report.sample import write_large, write_outcome, write_ranking, write_recovery

from graphgauge.report.html import write_report


def once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], None]) -> Path:
    """A folder that the first worker to ask for it fills, while the others wait."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"report-{name}"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            build(folder)
            (folder / "done").touch()
    return folder


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two families, two datasets in one of them, what a study leaves beside its results, and the page."""

    def build(folder: Path) -> None:
        write_ranking(folder / "results", queries=200, keep="items", ids=np.arange(200))
        write_recovery(folder / "results")
        write_outcome(folder / "results")
        write_report(folder / "results", folder / "report.html")

    return once(tmp_path_factory, "study", build)


@pytest.fixture
def results(study: Path) -> Path:
    return study / "results"


@pytest.fixture
def report(study: Path) -> Path:
    return study / "report.html"


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """A page of many results, and the processor seconds that it took."""

    def build(folder: Path) -> None:
        write_large(folder / "results")
        start = time.process_time()
        write_report(folder / "results", folder / "report.html")
        (folder / "seconds.json").write_text(json.dumps(time.process_time() - start))

    folder = once(tmp_path_factory, "large", build)
    return folder / "report.html", json.loads((folder / "seconds.json").read_text())


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    if BROWSER is None or DRIVER is None:
        pytest.skip("no chromium on this machine")
    chrome = Chrome(tmp_path_factory.mktemp("profile"))
    yield chrome
    chrome.close()
