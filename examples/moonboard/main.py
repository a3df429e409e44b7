"""Train a generator of climbing problems and a classifier of their grades, and evaluate the generator.

    python examples/moonboard/main.py train --output models
    python examples/moonboard/main.py evaluate --checkpoint models/vae.pth --classifier-checkpoint models/classifier.pth

Without --data, problems are made from a seed. With it, they are
{"data": [{"grade": "6B+", "moves": [{"description": "J4", "isStart": true, "isEnd": false}, ...]}, ...]}
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import torch
from board import Problems, read_problems, synthetic
from model import VAE, Classifier, Generator, load, save, train

from graphgauge import Evaluation, generation
from graphgauge.core.grid import Grid

# The values that the original protocol reports, by section, and few more.
METRICS = {
    "reconstruction": ("mean_iou", "std_iou", "num_samples", "threshold"),
    "diversity": (
        "validity_rate",
        "overall_mean_diversity",
        "overall_std_diversity",
        "unique_problems",
        "overall_uniqueness_ratio",
        "novelty",
    ),
    "statistical": (
        "overall_mean_distance_raw",
        "overall_mean_distance",
        "wasserstein_{statistic}",
        "energy_p_value",
        "num_generated",
        "num_real",
    ),
    "latent_space": ("silhouette_score", "latent_mean", "latent_std", "grade_separation", "ordinal_spearman"),
    "grade_conditioning": (
        "overall_exact_accuracy",
        "overall_tolerance_1_accuracy",
        "classifier_exact_accuracy",
        "total_valid",
    ),
}
# The columns of tables by grade and by channel.
SHOWN = ("mean_iou", "validity_rate", "uniqueness_ratio", "mean_distance", "silhouette_score", "exact_accuracy")
# The original protocol's names of values that have others here.
ORIGINAL = {
    "overall_mean_distance": "overall_mean_distance_scaled",
    "overall_mean_distance_raw": "overall_mean_distance",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)

    training = commands.add_parser("train", help="Train both models and write their checkpoints.")
    training.add_argument("--data", type=Path, help="problems as JSON; without it, they are made")
    training.add_argument("--output", type=Path, default=Path("models"), help="folder of the two checkpoints")
    training.add_argument("--problems", type=int, default=4000, help="how many problems to make")
    training.add_argument("--epochs", type=int, default=30)
    training.add_argument("--seed", type=int, default=0)

    evaluating = commands.add_parser("evaluate", help="Evaluate a generator on held-out problems.")
    evaluating.add_argument("--checkpoint", type=Path, required=True, help="the generator")
    evaluating.add_argument("--data", type=Path, help="the problems that it was trained on, if they came from a file")
    evaluating.add_argument("--classifier-checkpoint", type=Path, help="for grade_conditioning")
    evaluating.add_argument("--metrics", default=",".join(METRICS), help="some of %(default)s")
    evaluating.add_argument("--num-samples", type=int, default=100, help="attempts for each grade")
    evaluating.add_argument("--output", type=Path, help="JSON file")
    evaluating.add_argument("--cpu", action="store_true", help="do not use a GPU")

    arguments = parser.parse_args()
    try:
        {"train": run_training, "evaluate": run_evaluation}[arguments.command](arguments)
    except (OSError, ValueError) as error:
        sys.exit(f"Error: {error}")


def run_training(arguments: argparse.Namespace) -> None:
    origin = {"problems": None if arguments.data else arguments.problems, "seed": arguments.seed}
    learned, _ = data_of(origin, arguments.data)
    for name, kind in (("vae", VAE), ("classifier", Classifier)):
        torch.manual_seed(arguments.seed)
        model = kind(len(learned.grades))
        loss = train(model, learned, epochs=arguments.epochs, seed=arguments.seed)
        save(arguments.output / f"{name}.pth", model, learned.grades, origin)
        print(f"{arguments.output / name}.pth: {len(learned.grids)} problems, loss {loss:.3f}")


def run_evaluation(arguments: argparse.Namespace) -> None:
    wanted = [name.strip() for name in arguments.metrics.split(",")]
    if unknown := set(wanted) - set(METRICS):
        raise ValueError(f"unknown metrics {', '.join(sorted(unknown))}; known are {', '.join(METRICS)}")
    device = "cuda" if torch.cuda.is_available() and not arguments.cpu else "cpu"
    model, grades, origin = load(arguments.checkpoint, VAE, device)
    learned, held = data_of(origin, arguments.data)
    if learned.grades != grades:
        found, trained = (", ".join(names) for names in (learned.grades, grades))
        raise ValueError(f"the problems have the grades {found}, and the generator was trained on {trained}")
    judge = None
    if arguments.classifier_checkpoint:
        # It has seen the same training problems, because both are split by one seed.
        judge, judged, seen = load(arguments.classifier_checkpoint, Classifier, device)
        if (judged, seen) != (grades, origin):
            raise ValueError(f"{arguments.classifier_checkpoint} was trained on other data than the generator")
    sides = generation.collect(
        Generator(model, grades),
        data=generation.Samples(held.grids, conditions=held.labels),
        train=generation.Samples(learned.grids, conditions=learned.labels),
        classifier=judge,
        num_samples=arguments.num_samples,
        sections=wanted,
    )
    # Without a classifier its section is skipped, with the reason.
    keys = [key for name in wanted for key in (METRICS[name] if judge or name != "grade_conditioning" else [name])]
    evaluation = generation.evaluate(sides, metrics=list(dict.fromkeys(keys)))
    print(f"=== GENERATOR EVALUATION ===\nModel: {arguments.checkpoint}\n\n{evaluation}")
    for axis in ("condition", "channel"):
        if axis in evaluation.breakdowns and len((grid := narrow(evaluation.by(axis), axis)).columns) > 2:
            print(f"\n{grid}")
    if arguments.output:
        arguments.output.write_text(json.dumps(nested(evaluation, wanted), indent=2), encoding="utf-8")


def narrow(grid: Grid, axis: str) -> Grid:
    """The main columns of a breakdown."""
    return Grid({name: grid[name] for name in (axis, "n", *SHOWN) if name in grid})


def nested(evaluation: Evaluation, wanted: list[str]) -> dict[str, Any]:
    """By section, the values under the original protocol's keys, with a part per grade and what they mean."""
    found: dict[str, Any] = {}
    for section in wanted:
        if section in evaluation.skipped:
            found[section] = {"skipped": True, "error": evaluation.skipped[section]}
            continue
        results = evaluation.section(section) if section in evaluation.sections else {}
        part: dict[str, Any] = {ORIGINAL.get(key, key): number(each.value) for key, each in results.items()}
        said = [f"{each.key}: {each.interpretation}" for each in results.values() if each.interpretation]
        part |= {
            "interpretation": "; ".join(said),
            "warnings": [text for each in results.values() for text in each.warnings],
        }
        found[section] = part | per_grade(evaluation, section, list(results))
    return found


def per_grade(evaluation: Evaluation, section: str, keys: list[str]) -> dict[str, Any]:
    """The values of each grade by its name; of reconstructions also those of each channel, of latents the centroids."""
    parts: dict[str, Any] = {}
    if "condition" in evaluation.breakdowns:
        grid = evaluation.by("condition")
        names = [name for key in keys if (name := key.removeprefix("overall_")) in grid]
        rows = zip(*(grid[name].tolist() for name in ("condition", *names)), strict=True)
        parts["per_grade"] = {str(grade): dict(zip(names, map(number, values), strict=True)) for grade, *values in rows}
    if section == "reconstruction" and "channel" in evaluation.breakdowns:
        grid = evaluation.by("channel")
        parts["per_channel_iou"] = dict(
            zip(grid["channel"].tolist(), map(number, grid["mean_iou"].tolist()), strict=True)
        )
        parts["per_grade_iou"] = {grade: values["mean_iou"] for grade, values in parts.get("per_grade", {}).items()}
    if section == "latent_space" and "per_grade_centroids" in evaluation.breakdowns:
        grid = evaluation.by("per_grade_centroids")
        places = [name for name in grid.columns if name.startswith("z")]
        parts["per_grade_centroids"] = {
            str(grade): {
                "mean": [number(float(grid[place][row])) for place in places],
                "std": number(float(grid["spread"][row])),
            }
            for row, grade in enumerate(grid["per_grade_centroids"].tolist())
        }
    return parts


def number(value: float) -> float | None:
    return None if math.isnan(value) else value


def data_of(origin: dict[str, int | None], path: Path | None) -> tuple[Problems, Problems]:
    """The problems for training and the held-out ones: of the file, or made again."""
    if origin["problems"] is None and path is None:
        raise ValueError("the generator was trained on a file: pass it with --data")
    problems = synthetic(origin["problems"], origin["seed"]) if path is None else read_problems(path)
    return problems.split(origin["seed"])


if __name__ == "__main__":
    main()
