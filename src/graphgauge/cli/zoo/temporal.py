"""`graphgauge zoo temporal …`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from graphgauge.cli.options import names_in
from graphgauge.core.errors import OptionError, one_of
from graphgauge.core.extras import need
from graphgauge.zoo.temporal.explainers import EXPLAINERS

_NAMES = f"Some of {', '.join(EXPLAINERS)}, separated by commas."

F = TypeVar("F", bound=Callable[..., Any])


@click.group(name="temporal")
def command() -> None:
    """A network whose nodes attend to their last contacts, and explainers of its answers."""


def _options(function: F) -> F:
    for option in reversed(
        [
            click.option(
                "--contacts",
                metavar="FILE",
                help="Recorded contacts instead of the planted rule: lines of "
                "time, person, person, group, group, separated by tabs.",
            ),
            click.option("--quiet", is_flag=True, help="No progress on stderr."),
            click.option("--debug", is_flag=True, help="Show tracebacks."),
        ]
    ):
        function = option(function)
    return function


_seed = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
_epochs = click.option(
    "--epochs", type=click.IntRange(min=1), default=20, show_default=True, help="Passes over the questions."
)
_questions = click.option(
    "--questions",
    type=click.IntRange(min=20),
    help="Number of questions; the network trains on the earlier 80 %.  [default: 3000, with contacts 4000]",
)
_events = click.option(
    "--events", type=click.IntRange(min=1), default=100, show_default=True, help="Number of answers to explain."
)


@command.command()
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False), default="temporal.pt", show_default=True, help="The checkpoint."
)
@_questions
@_epochs
@_seed
@_options
def train(
    output: str, questions: int | None, epochs: int, seed: int, contacts: str | None, quiet: bool, debug: bool
) -> None:
    """Train the network and write its checkpoint."""
    need("torch", "the temporal network")
    from graphgauge.zoo.temporal.model import train as fit
    from graphgauge.zoo.temporal.task import accuracy, task

    asked = task("contacts" if contacts else "planted", seed=seed, questions=questions, contacts=contacts)
    model = fit(asked.config, asked.training, epochs=epochs, progress=None if quiet else _tell)
    model.save(output)
    click.echo(f"{output}: right on {accuracy(model, asked.held_out):.1%} of {len(asked.held_out)} later questions")


@command.command()
@click.option(
    "--checkpoint", type=click.Path(dir_okay=False), default="temporal.pt", show_default=True, help="Written by train."
)
@click.option("--explainers", default="random,occlusion", show_default=True, help=_NAMES)
@_events
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of random explainers.")
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False),
    default="explanations.jsonl",
    show_default=True,
    help="The explanations, with their subgraphs.",
)
@_options
def explain(
    checkpoint: str,
    explainers: str,
    events: int,
    seed: int,
    output: str,
    contacts: str | None,
    quiet: bool,
    debug: bool,
) -> None:
    """Explain a checkpoint's correct answers to later questions.

    `graphgauge explanation` evaluates the file.
    """
    need("torch", "the temporal network")
    from graphgauge.explanation.table import write_explanations
    from graphgauge.zoo.temporal.explainers import explain as explained
    from graphgauge.zoo.temporal.model import TemporalGNN
    from graphgauge.zoo.temporal.task import found, task

    names, model = _names(explainers), TemporalGNN.load(checkpoint)
    config = model.config
    asked = task(config.data, seed=config.seed, questions=config.questions, contacts=contacts)
    contexts = found(model, asked.held_out, events)
    write_explanations(explained(model, contexts, names, seed=seed), output)
    click.echo(f"{output}: {len(contexts)} events")
    if not quiet:
        click.echo(
            f"evaluate with: GRAPHGAUGE_TEMPORAL={checkpoint} graphgauge explanation --explanations {output} "
            f"--model graphgauge.zoo.temporal:load --explainer {names[-1]}",
            err=True,
        )


@command.command()
@click.option(
    "--output",
    "-o",
    type=click.Path(file_okay=False),
    default="temporal",
    show_default=True,
    metavar="DIR",
    help="Output folder.",
)
@click.option("--explainers", help=f"{_NAMES}  [default: all that fit the data]")
@_events
@_questions
@_epochs
@_seed
@_options
def run(
    output: str,
    explainers: str | None,
    events: int,
    questions: int | None,
    epochs: int,
    seed: int,
    contacts: str | None,
    quiet: bool,
    debug: bool,
) -> None:
    """Train, explain, run the network with masks, evaluate every explainer and compare them."""
    need("torch", "the temporal network")
    from graphgauge.zoo.temporal.experiment import Experiment
    from graphgauge.zoo.temporal.model import train as fit
    from graphgauge.zoo.temporal.task import accuracy, found, task

    folder, chosen = Path(output), None if explainers is None else _names(explainers)
    asked = task("contacts" if contacts else "planted", seed=seed, questions=questions, contacts=contacts)
    model = fit(asked.config, asked.training, epochs=epochs, progress=None if quiet else _tell)
    model.save(folder / "temporal.pt")
    experiment = Experiment.of(
        model,
        found(model, asked.held_out, events),
        chosen,
        dataset=asked.config.data,
        accuracy=accuracy(model, asked.held_out),
        seed=seed,
    )
    experiment.write(folder)
    click.echo(str(experiment))


@command.command()
@click.option(
    "--output",
    "-o",
    type=click.Path(file_okay=False),
    default="houses",
    show_default=True,
    metavar="DIR",
    help="Output folder.",
)
@click.option("--events", type=click.IntRange(min=1), default=50, show_default=True, help="Number of nodes to explain.")
@_seed
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def houses(output: str, events: int, seed: int, debug: bool) -> None:
    """The same explainers on a network without times, on torch_geometric's graph of houses."""
    need("torch", "the houses network")
    from graphgauge.zoo.temporal.experiment import Experiment
    from graphgauge.zoo.temporal.houses import houses as made

    data = made(seed)
    experiment = Experiment.of(
        data.model, data.contexts(events), None, dataset="houses", accuracy=data.accuracy, seed=seed
    )
    experiment.write(Path(output))
    click.echo(str(experiment))


def _names(text: str) -> list[str]:
    names = [one_of("explainer", name, EXPLAINERS) for name in names_in(text)]
    if not names:
        raise OptionError("--explainers is empty", fix=_NAMES)
    return names


def _tell(epoch: int, loss: float) -> None:
    click.echo(f"epoch {epoch}: loss {loss:.4f}", err=True)
