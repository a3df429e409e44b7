"""Pages of a study and of many results, made once, and one browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.report.chrome import BROWSER, DRIVER, Chrome
from tests.study.conftest import write_study

from graphgauge import Evaluation, Interval, Reference, Result
from graphgauge.report import write_report
from graphgauge.study import run

METRICS = 20


def evaluation(draw: np.random.Generator, method: str, seed: int, shift: float = 0.0) -> Evaluation:
    """Made-up results of many metrics."""
    values = draw.normal(0.5 + shift, 0.05, METRICS).clip(0, 1)
    results = [
        Result(
            key=f"metric-{number}",
            metric=f"metric-{number}",
            value=float(value),
            n=100,
            unit="query",
            direction="higher",
            bounds=(0.0, 1.0),
            interval=Interval(float(value) - 0.05, float(value) + 0.05, 0.95, "t", "queries"),
            references=(Reference("random", 0.1),),
        )
        for number, value in enumerate(values)
    ]
    return Evaluation("ranking", results).named(method=method, dataset="made up", seed=seed)


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two families with a comparison and gates, of which one does not hold."""
    folder = tmp_path_factory.mktemp("study")
    write_study(folder)
    with (folder / "study.toml").open("a") as stream:
        stream.write('[[gate]]\nrequire = "mrr >= 0.95"\nmethod = "poor"\n')
    run(folder / "study.toml", jobs=2)
    write_report(folder / "results", folder / "report.html")
    return folder


@pytest.fixture
def results(study: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(study / "results", tmp_path / "results"))


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of a thousand runs with twenty metrics."""
    folder, draw = tmp_path_factory.mktemp("large"), np.random.default_rng(0)
    for number in range(1000):
        evaluation(draw, f"method-{number // 50}", number % 50).save(folder / "results")
    return write_report(folder / "results", folder / "report.html")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    if BROWSER is None or DRIVER is None:
        pytest.skip("no chromium on this machine")
    chrome = Chrome(tmp_path_factory.mktemp("profile"))
    yield chrome
    chrome.close()
