"""Train a generator of climbing problems and a classifier of their grades, and evaluate the generator.

    python examples/moonboard/main.py train --output models
    python examples/moonboard/main.py evaluate --checkpoint models/vae.pth --classifier-checkpoint models/classifier.pth

Without --data, problems are made from a seed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch
from board import Problems, read_problems, synthetic
from model import VAE, Classifier, Generator, load, save, train

from graphgauge import generation

METRICS = ("reconstruction", "diversity", "statistical", "latent_space", "grade_conditioning")


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
    sections = [name.removeprefix("grade_") for name in wanted]
    device = "cuda" if torch.cuda.is_available() and not arguments.cpu else "cpu"
    model, grades, origin = load(arguments.checkpoint, VAE, device)
    learned, held = data_of(origin, arguments.data)
    judge = None
    if arguments.classifier_checkpoint:
        # It has seen the same training problems, because both are split by one seed.
        judge, judged, seen = load(arguments.classifier_checkpoint, Classifier, device)
        if (judged, seen) != (grades, origin):
            raise ValueError(f"{arguments.classifier_checkpoint} was trained on other data than the generator")
    table = generation.collect(
        Generator(model, grades),
        data=generation.Labelled(held.grids, held.labels),
        train=generation.Labelled(learned.grids, learned.labels),
        classifier=judge,
        num_samples=arguments.num_samples,
        sections=sections,
    )
    evaluation = generation.evaluate(table, metrics=sections)
    print(f"=== GENERATOR EVALUATION ===\nModel: {arguments.checkpoint}\n\n{evaluation}")
    if arguments.output:
        arguments.output.write_text(evaluation.to_json(), encoding="utf-8")


def data_of(origin: dict[str, int | None], path: Path | None) -> tuple[Problems, Problems]:
    """The problems for training and the held-out ones: of the file, or made again."""
    if origin["problems"] is None and path is None:
        raise ValueError("the generator was trained on a file: pass it with --data")
    problems = synthetic(origin["problems"], origin["seed"]) if path is None else read_problems(path)
    return problems.split(origin["seed"])


if __name__ == "__main__":
    main()
