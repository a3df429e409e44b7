"""Messages of commands name flags and formats that the commands have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.command import graphgauge as run

from graphgauge.cli.command import flag
from graphgauge.core.door import door_of, in_words


@pytest.fixture
def scores(tmp_path: Path) -> list[str]:
    rng = np.random.default_rng(0)
    positives = rng.normal(1, 1, 20)
    positives[3] = np.nan
    np.save(tmp_path / "pos.npy", positives)
    np.save(tmp_path / "neg.npy", rng.normal(0, 1, (20, 5)))
    return ["ranking", "--pos-scores", str(tmp_path / "pos.npy"), "--neg-scores", str(tmp_path / "neg.npy")]


def test_an_argument_of_the_library_is_named_as_a_flag(scores: list[str]) -> None:
    done = run(*scores)
    assert done.returncode == 3
    assert "--nan omit" in done.stderr
    assert 'nan="' not in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('Pass nan="omit" to drop them.', "Pass --nan omit to drop them."),
        ('Name it: metrics=["mrr", "hits@5"].', "Name it: --metrics mrr,hits@5."),
        ("Give both the same cluster=.", "Give both the same --cluster."),
        ("pos_scores[3] is NaN", "--pos-scores[3] is NaN"),
        ('Pass direction="higher" or direction="lower".', 'Pass direction="higher" or direction="lower".'),
        ("mrr[relation=treats] and a=b", "mrr[relation=treats] and a=b"),
        ("k of a cluster", "--k of a cluster"),
        ("these k of a cluster", "these k of a cluster"),
    ],
)
def test_every_form_of_an_argument_is_translated(text: str, said: str) -> None:
    assert in_words(door_of("ranking").fields, text, flag) == said


def test_notes_and_remedies_name_flags(tmp_path: Path) -> None:
    """Not only errors: what stands below a table does, too."""
    rows = [
        "method,seed,accuracy",
        *(f"{name},{seed},0.{seed}{name == 'b':d}" for name in "ab" for seed in range(1, 9)),
    ]
    (tmp_path / "runs.csv").write_text("\n".join(rows))
    done = run("compare", str(tmp_path / "runs.csv"), "--metric", "accuracy")
    assert "b is better than a by accuracy" in done.stdout
    (tmp_path / "runs.csv").write_text("\n".join(rows).replace("accuracy", "gap"))
    done = run("compare", str(tmp_path / "runs.csv"))
    assert "Pass --direction higher or --direction lower." in done.stderr
    rng = np.random.default_rng(0)
    truth = 50 + 5 * rng.normal(size=(400, 1, 4))
    np.save(tmp_path / "forecast.npy", truth + rng.normal(size=truth.shape))
    np.save(tmp_path / "truth.npy", np.where(rng.random(truth.shape) < 0.1, 0.0, truth))
    done = run("forecasting", "--true", str(tmp_path / "truth.npy"), "--pred", str(tmp_path / "forecast.npy"))
    assert "unmasked-zeros" in done.stdout
    assert "Pass that number as --null-value, or a mask" in done.stdout


@pytest.mark.parametrize("ending", ["html", "svg", "csv", "tex", "PDF"])
def test_another_format_than_json_is_refused_before_anything_is_computed(
    scores: list[str], ending: str, tmp_path: Path
) -> None:
    done = run(*scores, "-o", str(tmp_path / f"out.{ending}"))
    assert done.returncode == 2
    assert "which is JSON" in done.stderr
    assert not (tmp_path / f"out.{ending}").exists()
