"""What is known about samples, from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphgauge import generation
from graphgauge.core.errors import InputError, OptionError

QUICK: dict[str, Any] = {"permutations": 9, "resamples": 50}


@pytest.mark.parametrize("kind", ["csv", "npz"])
def test_files_give_what_arrays_give(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(0)
    arrays: dict[str, Any] = {
        "real": rng.integers(0, 2, (30, 6)),
        "generated": rng.integers(0, 2, (25, 6)),
        "latents": rng.normal(size=(30, 3)),
        "generated_latents": rng.normal(size=(25, 3)),
        "predicted": np.arange(25) % 2,
        "conditions": np.arange(25) % 2,
        "real_conditions": np.arange(30) % 2,
        "classifier_labels": np.arange(40) % 2,
        "classifier_predicted": np.arange(40) // 2 % 2,
        "valid": np.arange(25) > 1,
        "real_valid": np.arange(30) > 0,
    }
    tables = {
        "statistics": {"size": rng.normal(size=30), "width": rng.normal(size=30)},
        "generated_statistics": {"size": rng.normal(size=25), "width": rng.normal(size=25)},
    }
    files = {}
    for name, array in arrays.items():
        files[name] = str(tmp_path / f"{name}.npy")
        np.save(files[name], array)
    for name, columns in tables.items():
        files[name] = str(tmp_path / f"{name}.{kind}")
        if kind == "npz":
            np.savez(files[name], **columns)
        else:
            rows = zip(*columns.values(), strict=True)
            lines = [",".join(columns), *(",".join(repr(float(value)) for value in row) for row in rows)]
            Path(files[name]).write_text("\n".join(lines) + "\n")
    found = generation.evaluate_files(**files, **QUICK)
    expected = generation.evaluate(**arrays, **tables, **QUICK)
    assert {"overall_mean_distance", "mmd", "overall_exact_accuracy", "silhouette_score"} <= set(found)
    for key, result in expected.items():
        assert found[key].value == pytest.approx(result.value, nan_ok=True), key
        assert found[key].levels == result.levels, key


def test_files_without_named_columns_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "bits.npy", np.zeros((12, 2)))
    both = {"real": str(tmp_path / "bits.npy"), "generated": str(tmp_path / "bits.npy")}
    with pytest.raises(InputError, match="named columns"):
        generation.evaluate_files(**both, statistics=str(tmp_path / "bits.npy"))
    with pytest.raises(OptionError, match="statistics"):
        generation.evaluate_files(**both, generated_statistics=str(tmp_path / "x.csv"))
