"""`graphgauge zoo moonboard train|train-classifier|generate`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from graphgauge.cli.common import files_then_words
from graphgauge.core.errors import UnknownNameError
from graphgauge.core.extras import need
from graphgauge.zoo.moonboard.data import EMBEDDED

if TYPE_CHECKING:
    from graphgauge.zoo.moonboard.data import Split

# Maximum number of boards in the figure.
_DRAWN = 50


@click.group(name="moonboard")
def command() -> None:
    """Climbing problems on the MoonBoard: a conditional VAE that generates them, and a classifier of their grades."""
    need("torch", "the MoonBoard system")


def _options(*options: Any) -> Callable[[Any], Any]:
    """Several options as one decorator, followed by the common options."""

    def add(function: Any) -> Any:
        for option in reversed((*options, *_EVERYWHERE)):
            function = option(function)
        return function

    return add


_EVERYWHERE = (
    click.option("--cpu", is_flag=True, help="Do not use a GPU."),
    click.option("--quiet", is_flag=True, help="No progress and no notes on stderr."),
    click.option("--debug", is_flag=True, help="Show tracebacks."),
)


def _training(output: str, epochs: int) -> Callable[[Any], Any]:
    """The options of both trainings."""
    return _options(
        click.option(
            "--data", type=click.Path(dir_okay=False), metavar="FILE", help="Problems (JSON); default: embedded ones."
        ),
        click.option("--grades", metavar="6A,6A+,…", help="Use only these grades (default: all that occur)."),
        click.option(
            "--problems",
            type=click.IntRange(1, 1_000_000),
            default=EMBEDDED,
            show_default=True,
            help="Number of embedded problems.",
        ),
        click.option(
            "--output", "-o", type=click.Path(dir_okay=False), default=output, show_default=True, help="The checkpoint."
        ),
        click.option("--epochs", type=click.IntRange(min=1), default=epochs, show_default=True),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Seed for weights, order and noise.",
        ),
        click.option(
            "--split-seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed for the held-out part."
        ),
        click.option(
            "--validation",
            type=click.FloatRange(0, 1, min_open=True, max_open=True),
            default=0.2,
            show_default=True,
            help="Share of each grade that is held out.",
        ),
        click.option("--batch-size", type=click.IntRange(min=2), default=128, show_default=True),
        click.option("--learning-rate", type=click.FloatRange(0, min_open=True), default=4e-3, show_default=True),
    )


@command.command()
@click.option("--latent", type=click.IntRange(1, 4096), default=32, show_default=True, help="Size of the latent space.")
@click.option("--beta", type=click.FloatRange(0), default=0.3, show_default=True, help="Weight of the KL term.")
@_training("models/vae.pth", 20)
def train(latent: int, beta: float, **options: Any) -> None:
    """Train the generator."""
    from graphgauge.generation import evaluate
    from graphgauge.zoo.moonboard.subject import Moonboard
    from graphgauge.zoo.moonboard.training import train_generator

    def fit(split: Split, schedule: Any, device: str, epochs: Any) -> tuple[Any, dict[str, float]]:
        model, losses = train_generator(split.train, schedule, latent=latent, beta=beta, device=device, epochs=epochs)
        held = split.validation
        subject = Moonboard(model, held.grades, device=device)
        same = subject.reconstruct(held.grids, held.labels) > 0.5
        iou = evaluate(real=held.grids, reconstructed=same, metrics="mean_iou")["mean_iou"]
        return model, {**losses, "validation_iou": iou.value}

    _train(fit, {"latent": latent, "beta": beta}, **options)


@command.command("train-classifier")
@_training("models/classifier.pth", 10)
def train_classifier_command(**options: Any) -> None:
    """Train the classifier of grades that `graphgauge generation` uses to judge generated problems."""
    from graphgauge.zoo.moonboard.subject import MoonboardClassifier
    from graphgauge.zoo.moonboard.training import train_classifier

    def fit(split: Split, schedule: Any, device: str, epochs: Any) -> tuple[Any, dict[str, float]]:
        model, losses = train_classifier(split.train, schedule, device=device, epochs=epochs)
        held = split.validation
        off = abs(MoonboardClassifier(model, held.grades, device=device).predict(held.grids) - held.labels)
        return model, {**losses, "validation_exact": float((off == 0).mean()), "within_1": float((off <= 1).mean())}

    _train(fit, {}, **options)


def _train(
    fit: Any,
    own: dict[str, Any],
    *,
    data: str | None,
    grades: str | None,
    problems: int,
    output: str,
    epochs: int,
    seed: int,
    split_seed: int,
    validation: float,
    batch_size: int,
    learning_rate: float,
    cpu: bool,
    quiet: bool,
    debug: bool,
) -> None:
    from graphgauge.generation.subjects import best_device
    from graphgauge.zoo.moonboard.checkpoint import save_checkpoint
    from graphgauge.zoo.moonboard.data import open_split
    from graphgauge.zoo.moonboard.problems import chosen_grades
    from graphgauge.zoo.moonboard.training import Schedule

    split = open_split(data, chosen_grades(grades), problems=problems, split_seed=split_seed, validation=validation)
    if not quiet:
        counts = f"{len(split.train)} problems to train on, {len(split.validation)} held out"
        click.echo(f"{counts}, {len(split.train.grades)} grades", err=True)
        if split.remark is not None:
            click.echo(split.remark, err=True)
    schedule = Schedule(epochs, seed, batch_size, learning_rate)
    begin = time.perf_counter()
    model, measured = fit(split, schedule, best_device(cpu), lambda numbers: _bar(numbers, quiet))
    training = {**own, **vars(schedule), **measured}
    save_checkpoint(output, model, grades=split.train.grades, origin=split.origin, training=training)
    click.echo("  ".join(f"{name} {value:.4g}" for name, value in measured.items()))
    if not quiet:
        click.echo(f"wrote {output} after {time.perf_counter() - begin:.0f} s", err=True)


@command.command()
@click.option("--checkpoint", type=click.Path(dir_okay=False), required=True, help="From `train`.")
@click.option("--grade", required=True, metavar="6B+", help="Grade of the problems.")
@click.option("--num-samples", type=click.IntRange(1, 10_000), default=10, show_default=True)
@click.option(
    "--temperature", type=click.FloatRange(0), default=1.0, show_default=True, help="Scale of the latent noise."
)
@click.option(
    "--threshold", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="Set holds above this probability."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--figure",
    type=click.Path(dir_okay=False),
    help=f"Draw the holds of the first {_DRAWN} on the board (.svg, .png, .pdf).",
)
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write the problems (JSON).")
@_options()
def generate(
    checkpoint: str,
    grade: str,
    num_samples: int,
    temperature: float,
    threshold: float,
    seed: int,
    figure: str | None,
    output: str | None,
    cpu: bool,
    quiet: bool,
    debug: bool,
) -> None:
    """Generate problems of a grade. Invalid problems are shown and marked, not replaced."""
    from graphgauge.generation.subjects import best_device, read_checkpoint
    from graphgauge.zoo.moonboard.board import grade_name, remarks
    from graphgauge.zoo.moonboard.checkpoint import restore
    from graphgauge.zoo.moonboard.figure import draw_boards
    from graphgauge.zoo.moonboard.problems import write_problems
    from graphgauge.zoo.moonboard.subject import Moonboard

    device = best_device(cpu)
    restored = restore(read_checkpoint(checkpoint), "generator", device)
    name = grade_name(grade)
    if name not in restored.grades:
        raise UnknownNameError("grade", grade, restored.grades)
    subject = Moonboard(restored.model, restored.grades, device=device)
    code = restored.grades.index(name)
    grids = subject.generate(code, num_samples, temperature=temperature, seed=seed) > threshold
    titles, lines = [], []
    for number, grid in enumerate(grids, 1):
        errors, warnings = remarks(grid)
        judged = "; ".join(errors) if errors else "valid"
        titles.append(f"{name} #{number}" + (" (not valid)" if errors else ""))
        lines.append(f"{number:>3}  {_text(grid)}  {judged}{''.join(f' ({note})' for note in warnings)}")
    files: list[Callable[[], object]] = []
    if output is not None:
        files.append(lambda: write_problems(output, grids, [name] * len(grids)))
    if figure is not None:
        files.append(lambda: draw_boards(figure, list(grids[:_DRAWN]), titles[:_DRAWN]))
    files_then_words(files, lambda: click.echo("\n".join(lines)))
    if not quiet:
        for path in (output, figure):
            if path is not None:
                click.echo(f"wrote {path}", err=True)


def _text(grid: Any) -> str:
    """Start, middle and end holds from the bottom up."""
    from graphgauge.zoo.moonboard.problems import moves_of

    moves = moves_of(grid)
    kinds = (
        [move["description"] for move in moves if move["isStart"]],
        [move["description"] for move in moves if not move["isStart"] and not move["isEnd"]],
        [move["description"] for move in moves if move["isEnd"]],
    )
    return " | ".join(" ".join(kind) or "–" for kind in kinds)


def _bar(epochs: range, quiet: bool) -> Iterable[int]:
    return epochs if quiet or not sys.stderr.isatty() else _shown(epochs)


def _shown(epochs: range) -> Iterator[int]:
    from rich.console import Console
    from rich.progress import track

    yield from track(epochs, "epochs", console=Console(stderr=True), transient=True)
