"""The MoonBoard example: it trains, and evaluates what it has trained, as a command."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.examples.test_scripts import EXAMPLES, run

MAIN = "moonboard/main.py"
CHECKPOINTS = ("--checkpoint", "models/vae.pth", "--classifier-checkpoint", "models/classifier.pth")
# One process trains, and evaluates what it has trained.
pytestmark = pytest.mark.xdist_group("moonboard")


def values_of(path: Path) -> dict[str, float]:
    """The values of all sections by their keys."""
    return {key: value for part in json.loads(path.read_text(encoding="utf-8")).values() for key, value in part.items()}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("moonboard")
    done = run(folder, MAIN, "train", "--problems", "800", "--epochs", "20")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def board():
    sys.path.insert(0, str(EXAMPLES / "moonboard"))
    import board

    sys.path.remove(str(EXAMPLES / "moonboard"))
    return board


def test_it_evaluates_what_it_has_trained(models: Path) -> None:
    metrics = "reconstruction,diversity,statistical,latent_space,grade_conditioning"
    words = ("--metrics", metrics, "--num-samples", "20", "--output", "results.json", "--cpu")
    done = run(models, MAIN, "evaluate", *CHECKPOINTS, *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("=== GENERATOR EVALUATION ===\nModel: models/vae.pth\n")
    values = values_of(models / "results.json")
    assert 0 < values["mean_iou"] <= 1
    assert 0 <= values["validity_rate"] <= 1
    # The classifier is better than chance on problems that it has not seen.
    assert values["classifier_exact_accuracy"] > 0.4
    assert -1 <= values["silhouette_score"] <= 1
    parts = json.loads((models / "results.json").read_text(encoding="utf-8"))
    assert list(parts) == metrics.split(",")
    grades = ["6A", "6B", "6C", "7A", "7B"]
    assert list(parts["reconstruction"]["per_grade_iou"]) == list(parts["diversity"]["per_grade"]) == grades
    assert list(parts["reconstruction"]["per_channel_iou"]) == ["start", "middle", "end"]
    assert len(parts["latent_space"]["per_grade_centroids"]["6A"]["mean"]) == 24
    assert parts["reconstruction"]["interpretation"].startswith("mean_iou: ")
    assert {"mean_iou", "std_iou", "num_samples", "threshold"} <= parts["reconstruction"].keys()
    assert {"unique_problems", "overall_mean_diversity", "overall_std_diversity"} <= parts["diversity"].keys()
    assert {"latent_mean", "latent_std", "grade_separation", "silhouette_score"} <= parts["latent_space"].keys()
    assert {"overall_mean_distance", "num_generated", "num_real"} <= parts["statistical"].keys()


def test_without_a_classifier_conditioning_is_skipped_with_its_reason(models: Path) -> None:
    words = ("--metrics", "grade_conditioning", "--num-samples", "5", "--output", "skipped.json", "--cpu")
    done = run(models, MAIN, "evaluate", "--checkpoint", "models/vae.pth", *words)
    assert done.returncode == 0, done.stderr
    assert "skipped grade_conditioning: no classifier given." in done.stdout
    parts = json.loads((models / "skipped.json").read_text(encoding="utf-8"))
    assert parts == {"grade_conditioning": {"skipped": True, "error": "no classifier given"}}


def test_metrics_are_chosen_and_a_classifier_is_not_needed(models: Path) -> None:
    done = run(models, MAIN, "evaluate", "--checkpoint", "models/vae.pth", "--metrics", "reconstruction", "--cpu")
    assert done.returncode == 0, done.stderr
    assert "mean_iou" in done.stdout
    assert "validity_rate" not in done.stdout
    wrong = run(models, MAIN, "evaluate", "--checkpoint", "models/vae.pth", "--metrics", "beauty")
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("Error: unknown metrics beauty; known are reconstruction, ")


def test_problems_of_a_file(models: Path, board, tmp_path: Path) -> None:
    made = board.synthetic(300, seed=3)
    items = []
    for grid, label in zip(made.grids, made.labels, strict=True):
        moves = [
            {"Description": f"{board.COLUMNS[column]}{row + 1}", "IsStart": channel == 0, "IsEnd": channel == 2}
            for channel, row, column in np.argwhere(grid).tolist()
        ]
        items.append({"Grade": made.grades[label], "Moves": moves})
    path = tmp_path / "problems.json"
    path.write_text(json.dumps({"data": items}))
    found = board.read_problems(path)
    np.testing.assert_array_equal(found.grids, made.grids)
    np.testing.assert_array_equal(found.labels, made.labels)
    done = run(tmp_path, MAIN, "train", "--data", "problems.json", "--epochs", "1")
    assert done.returncode == 0, done.stderr
    refused = run(tmp_path, MAIN, "evaluate", "--checkpoint", "models/vae.pth")
    assert refused.stderr == "Error: the generator was trained on a file: pass it with --data\n"
    mixed = ("--checkpoint", str(models / "models/vae.pth"), "--classifier-checkpoint", "models/classifier.pth")
    other = run(tmp_path, MAIN, "evaluate", *mixed)
    assert "was trained on other data than the generator" in other.stderr
    other = run(tmp_path, MAIN, "evaluate", "--checkpoint", "models/classifier.pth", "--data", "problems.json")
    assert other.stderr == "Error: models/classifier.pth is no checkpoint of a VAE\n"
    renamed = [item | {"Grade": {"6A": "8A"}.get(item["Grade"], item["Grade"])} for item in items]
    (tmp_path / "renamed.json").write_text(json.dumps(renamed))
    other = run(tmp_path, MAIN, "evaluate", "--checkpoint", "models/vae.pth", "--data", "renamed.json")
    assert "have the grades 6B, 6C, 7A, 7B, 8A, and the generator was trained on 6A, 6B" in other.stderr
    for wrong in ({"a": 1}, [], [3]):
        (tmp_path / "wrong.json").write_text(json.dumps(wrong))
        with pytest.raises(ValueError, match=r"has no problems|problem 0: expected an object with 'grade', found 3"):
            board.read_problems(tmp_path / "wrong.json")
    items[0]["Moves"][0]["Description"] = "L1"
    path.write_text(json.dumps(items))
    with pytest.raises(ValueError, match=r"problem 0: the hold 'L1' is not on the board: A1 to K18"):
        board.read_problems(path)


def test_parts_share_no_problem(board) -> None:
    learned, held = board.synthetic(500).split(0)
    train, rest = ({grid.tobytes() for grid in part.grids} for part in (learned, held))
    assert not train & rest
    assert len(learned.grids) + len(held.grids) == 500


def test_statistics_of_a_problem(board) -> None:
    grid = np.zeros((1, *board.SHAPE), bool)
    for channel, row, column in [(0, 2, 3), (1, 5, 4), (1, 8, 2), (1, 11, 6), (2, 17, 5), (0, 17, 5)]:
        grid[0, channel, row, column] = True
    found = {name: values.tolist() for name, values in board.statistics(grid).items()}
    assert found == {
        "num_holds": [5],
        "num_start": [2],
        "num_middle": [3],
        "num_end": [1],
        "vertical_spread": [15],
        "horizontal_spread": [4],
    }
    assert board.valid(grid).tolist() == [True]
    grid[0, 2] = False
    assert board.valid(grid).tolist() == [False]


class Hostile:
    def __reduce__(self):
        return Path("ran").touch, ()


def test_code_in_a_checkpoint_is_not_run(tmp_path: Path) -> None:
    torch.save(Hostile(), tmp_path / "vae.pth")
    done = run(tmp_path, MAIN, "evaluate", "--checkpoint", "vae.pth")
    assert done.returncode == 1
    assert done.stderr == "Error: vae.pth has more than weights and plain values in it, and was not run\n"
    assert [path.name for path in tmp_path.iterdir()] == ["vae.pth"]


@pytest.mark.slow
def test_trained_as_shown_it_mostly_generates_valid_problems_of_the_asked_grade(tmp_path: Path) -> None:
    assert run(tmp_path, MAIN, "train").returncode == 0
    assert run(tmp_path, MAIN, "evaluate", *CHECKPOINTS, "--output", "results.json", "--cpu").returncode == 0
    values = values_of(tmp_path / "results.json")
    assert values["validity_rate"] > 0.3
    assert values["overall_exact_accuracy"] > 0.4
    assert values["mean_iou"] > 0.6
