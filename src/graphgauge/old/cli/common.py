"""Shared parts of the families' commands: options, output, gates and the exit code."""

from __future__ import annotations

import csv
import os
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

from graphgauge.core.errors import InputError
from graphgauge.old.cli.flags import in_flags
from graphgauge.old.cli.options import OUTPUT_FILE
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.files import write_text
from graphgauge.old.core.gates import Gate, GateOutcome
from graphgauge.old.core.result import Result
from graphgauge.old.core.schema import dumps, plain, result_path, write_result

# What every command that evaluates can do with the result.
OUTPUT_OPTIONS = [
    click.Option(["--method"], help="Name of the evaluated method; with it the result file has a default path."),
    click.Option(["--dataset"], help="Name of the data."),
    click.Option(["--run-seed"], type=int, help="Seed that the evaluated run was trained with."),
    click.Option(["--output", "-o"], type=OUTPUT_FILE, help="Write the result file (JSON)."),
    click.Option(["--flat"], type=OUTPUT_FILE, help="Also write a plain key → number JSON."),
    click.Option(
        ["--format", "form"],
        type=click.Choice(["table", "json", "csv"]),
        default="table",
        show_default=True,
        help="Format of stdout.",
    ),
    click.Option(["--figure"], type=OUTPUT_FILE, help="Draw the figure (.svg, .png, .pdf)."),
    click.Option(
        ["--gate", "gates"],
        multiple=True,
        metavar="'KEY >= NUMBER'",
        help="Exit with 1 unless it holds. KEY.low and KEY.high are the interval, KEY[AXIS=LABEL] is a "
        "group and KEY[AXIS] every one; chance can stand for NUMBER. Repeatable.",
    ),
    click.Option(["--quiet"], is_flag=True, help="No progress and no notes on stderr."),
    click.Option(["--debug"], is_flag=True, help="Show tracebacks."),
]

# Endings that promise another format than JSON, and what writes it.
_FIGURE = "Draw a figure with --figure."
_PRINTED = "Print other formats with --format."
_NOT_JSON = {
    ".html": "Write a page with `graphgauge report` from the result file.",
    ".htm": "Write a page with `graphgauge report` from the result file.",
    ".svg": _FIGURE,
    ".png": _FIGURE,
    ".pdf": _FIGURE,
    ".csv": _PRINTED,
    ".md": _PRINTED,
    ".tex": _PRINTED,
    ".txt": _PRINTED,
}

Inputs = Callable[[], Iterable[Mapping[str, Any]]]


@dataclass
class Run:
    """Whose run is evaluated, and the output of its evaluation."""

    method: str | None
    dataset: str | None
    run_seed: int | None
    output: str | None
    flat: str | None
    form: str
    figure: str | None
    gates: tuple[str, ...]
    quiet: bool
    debug: bool
    started: float = field(default_factory=time.time)
    # The command and its options, as the receipt has them.
    recipe: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        # An invalid gate should fail before the evaluation, not after it.
        self._gates = [Gate.parse(text) for text in self.gates]
        ending = Path(self.output).suffix.lower() if self.output is not None else ""
        if ending in _NOT_JSON:
            what = f"--output writes a result file, which is JSON, and {self.output!r:.80} ends in {ending}."
            raise click.UsageError(f"{what} {_NOT_JSON[ending]}")

    @classmethod
    def split(cls, options: Mapping[str, Any]) -> tuple[Run, dict[str, Any]]:
        """These options, and those of the evaluation."""
        shared = {name for name in cls.__dataclass_fields__ if name in options}
        return (
            cls(**{name: options[name] for name in shared}),
            {name: value for name, value in options.items() if name not in shared},
        )

    @property
    def identity(self) -> dict[str, Any]:
        return {"method": self.method, "dataset": self.dataset, "seed": self.run_seed}

    @property
    def is_kept(self) -> bool:
        """Whether a result file is written."""
        return self.output is not None or self.method is not None

    def finish(self, evaluation: Evaluation, inputs: Inputs) -> None:
        """Write, draw, print, and check gates."""
        evaluation.run |= self.identity
        evaluation.gates, undecided = self._checked(evaluation)
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
        for outcome in evaluation.gates:
            click.echo(str(outcome), err=True)
        if undecided is not None:
            raise undecided
        if not all(outcome.passed for outcome in evaluation.gates):
            raise click.exceptions.Exit(1)

    def _checked(self, evaluation: Evaluation) -> tuple[tuple[GateOutcome, ...], InputError | None]:
        """The outcomes of the gates, and why one could not be checked, if so."""
        outcomes: list[GateOutcome] = []
        for gate in self._gates:
            try:
                outcomes.append(gate.check(evaluation))
            except InputError as error:
                return tuple(outcomes), error
        return tuple(outcomes), None

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
        if self.recipe is not None:
            folder = os.path.relpath(Path.cwd(), Path(path).absolute().parent)
            code = [{"factory": name, "source_hash": digest} for name, digest in self.recipe["code"].items()]
            made = {"name": self.recipe["name"], "folder": folder, "options": self.recipe["options"]}
            receipt |= {"command": made, "code": code}
        return write_result(evaluation, path, receipt=receipt)

    def say(self, text: str) -> None:
        if not self.quiet:
            click.echo(text, err=True)


@contextmanager
def stage_bars(run: Run) -> Iterator[Callable[[str, int, int, str], None]]:
    """A function of stage, done, total and a detail that shows one progress bar per stage on a terminal's stderr."""
    if run.quiet or not sys.stderr.isatty():
        yield lambda stage, done, total, detail: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def update(stage: str, done: int, total: int, detail: str) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=total)
            shown = f"{stage}: {detail}" if detail else stage
            bar.update(tasks[stage], completed=done, total=total, description=shown)

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

        from graphgauge.old.core.console import evaluation_text, render

        if sys.stdout.isatty():
            console = Console(highlight=False)
            with console.capture() as shown:
                console.print(render(evaluation))
            click.echo(in_flags(shown.get()), nl=False)
        else:
            click.echo(in_flags(evaluation_text(evaluation)))


def as_csv(evaluation: Evaluation) -> str:
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["key", "value", "low", "high", "n", "unit", "direction"])
    for result in evaluation.values():
        low, high = result.interval or (None, None)
        cells = [result.value if result.defined else None, low, high, result.n, result.unit, result.direction]
        writer.writerow([result.key, *cells])
        if not result.defined:
            writer.writerows(_group_rows(result))
    return stream.getvalue()


def _group_rows(result: Result) -> Iterator[list[Any]]:
    """A result that has values only for each group, such as a condition: a row for every group."""
    for axis in result.breakdowns:
        table = result.by(axis)
        for row in range(len(table)):
            cells = [table[name][row] if name in table.columns else None for name in ("value", "low", "high", "n")]
            known = [None if cell is None or cell != cell else cell for cell in cells]
            if known[0] is not None:
                yield [f"{result.key}[{axis}={table[axis][row]}]", *known, result.unit, result.direction]
