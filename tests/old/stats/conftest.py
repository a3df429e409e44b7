"""Runs whose numbers are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphgauge.old.core.result import Evaluation, Result
from graphgauge.old.core.schema import write_result

WriteRun = Callable[..., Path]


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """Write a result file at the default place under `results/`."""

    def write(
        method: str, dataset: str, seed: int, values: dict[str, float], *, family: str = "recovery", **facts: Any
    ) -> Path:
        results = [
            Result(
                key=key,
                metric=key,
                value=value,
                n=facts.get("n", 20),
                unit="cell",
                direction=facts.get("direction", "lower" if "shd" in key else "higher"),
                target=facts.get("target"),
                bounds=facts.get("bounds", (0.0, 1.0)),
                conventions=facts.get("conventions", {}),
                reason="no edges" if value != value else None,
            )
            for key, value in values.items()
        ]
        evaluation = Evaluation(family, results, run={"method": method, "dataset": dataset, "seed": seed})
        name = facts.get("name", f"metrics_{dataset}_{seed}.json")
        return write_result(evaluation, tmp_path / "results" / method / family / name)

    return write


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"
