"""Shared parts of the families' commands: options, output, gates and the exit code."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import click

from graphgauge.cli.options import CONFIDENCE, DEBUG
from graphgauge.cli.types import OUTPUT_FILE, names_in
from graphgauge.core.files import write_text
from graphgauge.core.gates import Gate
from graphgauge.core.result import Evaluation
from graphgauge.core.schema import dumps, plain, result_path, write_result

_SHARED = [
    click.option("--metrics", help="Keys, or sections, to compute, separated by commas (see `graphgauge metrics`)."),
    CONFIDENCE,
    click.option("--nan", type=click.Choice(["raise", "omit"]), default="raise", show_default=True,
                 help="NaN is an error, or is dropped and counted."),
    click.option("--seed", type=int, default=0, show_default=True, help="Random seed."),
    click.option("--method", help="Name of the evaluated method; with it the result file has a default path."),
    click.option("--dataset", help="Name of the data."),
    click.option("--run-seed", type=int, help="Seed that the evaluated run was trained with."),
    click.option("--output", "-o", type=OUTPUT_FILE, help="Write the result file (JSON)."),
    click.option("--flat", type=OUTPUT_FILE, help="Also write a plain key → number JSON."),
    click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True,
                 help="Format of stdout."),
    click.option("--figure", type=OUTPUT_FILE, help="Draw the figure (.svg, .png, .pdf)."),
    click.option("--gate", "gates", multiple=True, metavar="'KEY >= NUMBER'",
                 help="Exit with 1 unless it holds; KEY.low and KEY.high are the interval. Repeatable."),
    click.option("--threads", type=click.IntRange(min=1), help="At most this many threads (default: all cores)."),
    click.option("--quiet", is_flag=True, help="No progress and no notes on stderr."),
    DEBUG,
]  # fmt: skip


Inputs = Callable[[], Iterable[Mapping[str, Any]]]
Evaluate = Callable[..., tuple[Evaluation, Inputs]]


class FamilyCallback:
    """The click callback: evaluates, then writes, draws, prints and checks gates. `evaluate` does only the first."""

    def __init__(self, evaluate: Evaluate) -> None:
        self.evaluate = evaluate
        self.__doc__, self.__name__ = evaluate.__doc__, evaluate.__name__
        self.__click_params__: list[click.Parameter] = list(getattr(evaluate, "__click_params__", []))

    def __call__(self, **options: Any) -> None:
        run, own = Run.split(options)
        run.writes = True
        if run.output is None and run.method is None:  # no result file, so no receipt
            run.finish(*self.evaluate(run=run, **own))
            return
        from graphgauge.study.recipe import Watch

        watch = Watch(click.get_current_context().command, options, Path.cwd())
        evaluation, inputs = self.evaluate(run=run, **own)
        run.finish(evaluation, lambda: watch.unchanged(inputs()))


def family_options(evaluate: Evaluate) -> FamilyCallback:
    """Make a command of a function that evaluates: it gets the shared options as one `Run`, and its own.

    The function returns the evaluation and a callable that describes its input files, which only a result file needs:
    hashing them takes longer than evaluating them.
    """
    callback = FamilyCallback(evaluate)
    for option in reversed(_SHARED):
        callback = option(callback)
    return callback


def evaluated(command: click.Command, arguments: list[str]) -> tuple[Run, Evaluation, Inputs]:
    """The evaluation of a family's command for these arguments, without printing or writing anything."""
    return evaluated_with(command, command.make_context(command.name, arguments).params)


def evaluated_with(command: click.Command, parameters: Mapping[str, Any]) -> tuple[Run, Evaluation, Inputs]:
    """The same for parsed parameters."""
    run, own = Run.split(parameters)
    assert isinstance(command.callback, FamilyCallback)
    evaluation, inputs = command.callback.evaluate(run=run, **own)
    evaluation.run |= run.identity
    return run, evaluation, inputs


@dataclass
class Run:
    """The shared options of one call, and the output of its evaluation."""

    metrics: str | None
    confidence: float
    nan: str
    seed: int
    method: str | None
    dataset: str | None
    run_seed: int | None
    output: str | None
    flat: str | None
    form: str
    figure: str | None
    gates: tuple[str, ...]
    threads: int | None
    quiet: bool
    debug: bool
    started: float = field(default_factory=time.time)
    # Whether a command may write while it evaluates; a study keeps its own files.
    writes: bool = False

    def __post_init__(self) -> None:
        # An invalid gate should fail before the evaluation, not after it.
        self._gates = [Gate.parse(text) for text in self.gates]

    @classmethod
    def split(cls, options: Mapping[str, Any]) -> tuple[Run, dict[str, Any]]:
        """The shared options, and the family's own."""
        shared = {name for name in cls.__dataclass_fields__ if name in options}
        return (
            cls(**{name: options[name] for name in shared}),
            {name: value for name, value in options.items() if name not in shared},
        )

    @property
    def identity(self) -> dict[str, Any]:
        return {"method": self.method, "dataset": self.dataset, "seed": self.run_seed}

    @property
    def metric_keys(self) -> list[str] | None:
        return None if self.metrics is None else list(names_in(self.metrics))

    def finish(self, evaluation: Evaluation, inputs: Inputs) -> None:
        """Write, draw, print, and check gates."""
        evaluation.run |= self.identity
        path, flat, figure = self.place(evaluation.family), self.flat, self.figure
        files: list[Callable[[], object]] = []
        if path is not None:
            files.append(lambda: self.write(evaluation, path, inputs))
        if flat is not None:
            files.append(lambda: write_text(flat, dumps(plain(evaluation.to_flat()))))
        if figure is not None:
            files.append(lambda: evaluation.plot(figure))
        files_then_words(files, lambda: emit(evaluation, self.form))
        if path is not None:
            self.say(f"wrote {path}")
        outcomes = [gate.check(evaluation) for gate in self._gates]
        for outcome in outcomes:
            click.echo(str(outcome), err=True)
        if not all(outcome.passed for outcome in outcomes):
            raise click.exceptions.Exit(1)

    def place(self, family: str) -> Path | None:
        """The path of the result file, if one is written."""
        if self.output is not None:
            return Path(self.output)
        return None if self.method is None else result_path("results", family, self.identity)

    def write(self, evaluation: Evaluation, path: Path, inputs: Inputs) -> Path:
        """Write the result file with its receipt."""
        evaluation.run |= self.identity
        seconds = time.time() - self.started
        started = datetime.fromtimestamp(self.started, UTC).isoformat(timespec="seconds")
        receipt = {"inputs": list(inputs()), "started": started, "seconds": round(seconds, 3)}
        return write_result(evaluation, path, receipt=receipt)

    def say(self, text: str) -> None:
        if not self.quiet:
            click.echo(text, err=True)


def progress(blocks: Iterable[slice], total: int, run: Run) -> Iterator[slice]:
    """The blocks, with a bar on a terminal's stderr."""
    with stage_bars(run) as update:
        for block in blocks:
            update("counting", block.start, total)
            yield block
            update("counting", block.stop, total)


@contextmanager
def stage_bars(run: Run) -> Iterator[Callable[[str, int, int], None]]:
    """A function of stage, done and total that shows one progress bar per stage on a terminal's stderr."""
    if run.quiet or not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def update(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=total)
            bar.update(tasks[stage], completed=done, total=total)

        yield update


def files_then_words(files: Iterable[Callable[[], object]], words: Callable[[], object]) -> None:
    """Write every file, then print: a closed pipe loses no file, and a full disk loses neither output nor other files.

    A write error is raised at the end; if there are several, the others are printed before.
    """
    failures: list[Exception] = []
    for write in files:
        try:
            write()
        except Exception as error:
            failures.append(error)
    words()
    for failure in failures[1:]:
        click.echo(f"Error: {failure}", err=True)
    if failures:
        raise failures[0]


def emit(evaluation: Evaluation, form: str) -> None:
    """Print only the result on stdout."""
    if form == "json":
        click.echo(evaluation.to_json(), nl=False)
    elif form == "csv":
        click.echo(as_csv(evaluation), nl=False)
    else:
        from rich.console import Console

        from graphgauge.core.console import evaluation_text, render

        if sys.stdout.isatty():
            Console(highlight=False).print(render(evaluation))
        else:
            click.echo(evaluation_text(evaluation))


def as_csv(evaluation: Evaluation) -> str:
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["key", "value", "low", "high", "n", "unit", "direction", "approximate"])
    for result in evaluation.values():
        low, high = result.interval or (None, None)
        cells = [result.value if result.defined else None, low, high, result.n, result.unit, result.direction]
        # Why the interval is approximate, if it is.
        note = (result.interval.note or "yes") if result.interval and result.interval.approximate else None
        writer.writerow([result.key, *cells, note])
    return stream.getvalue()
