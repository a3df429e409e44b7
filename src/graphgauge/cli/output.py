"""What a command does with an evaluation: files, then words, then gates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import click

from graphgauge.cli.command import DEBUG, QUIET, files_then_words, flag, say
from graphgauge.core.content import content_of
from graphgauge.core.disk import dump_json, write_text
from graphgauge.core.door import METRICS, Door, Option, Texts, in_words
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.evaluation import Evaluation, Run
from graphgauge.core.files import refuse_result, result_path
from graphgauge.core.gate import Gate, GateOutcome
from graphgauge.core.number import plain
from graphgauge.core.registry import DEFAULT, find
from graphgauge.core.sealed import encode
from graphgauge.core.view import numbers_grid, text
from graphgauge.study import ci

# Whose run it is.
RUN = (
    Option("method", str | None, None, "Name of the method; with it the result is kept below results/."),
    Option("dataset", str | None, None, "Name of the data."),
    Option("run_seed", int | None, None, "Seed that the run was trained with."),
    Option("threads", int | None, None, "At most so many threads.", 1),
)
FORMAT = Option("format", Literal["table", "json", "csv", "markdown", "latex"], "table", "Format of stdout.")
FIGURE = Option("figure", Path | None, None, "Draw it (.svg, .png, .pdf).")
GATES = Option(
    "gates",
    Texts,
    (),
    "Exit with 1 unless it holds. KEY.low and KEY.high are the interval, KEY[AXIS=LABEL] is a group and KEY[AXIS] all "
    "of them; chance can stand for NUMBER. Repeatable.",
    shown="'KEY >= NUMBER'",
)
# Gates for machines that build and test.
CI = (
    Option("junit", Path | None, None, "Write the gates as a test suite (JUnit XML)."),
    Option("summary", Path | None, None, "Write the gates in Markdown, for a pull request."),
)
# Endings that promise another format than JSON.
_NOT_JSON = (".html", ".htm", ".svg", ".png", ".pdf", ".csv", ".md", ".tex", ".txt")


def output_options(*, figure: bool, gates: bool = True, state: bool = False) -> tuple[Option, ...]:
    """What can be done with the results."""
    return (
        Option("output", Path | None, None, "Write the result file (JSON)."),
        Option("flat", Path | None, None, "Write all keys and numbers as plain JSON."),
        *([Option("state", Path | None, None, "Write the state (.npz), for `merge`.")] if state else []),
        FORMAT,
        *([FIGURE] if figure else []),
        Option("keep_items", bool, False, "Keep the values of single items beside the result."),
        *([GATES] if gates else []),
        QUIET,
        DEBUG,
    )


class Output:
    """Where the results of a command go; invalid gates and names of files fail before anything is evaluated."""

    def __init__(self, options: Mapping[str, Any], family: str, door: Door) -> None:
        self.family, self.door = family, door
        self.form, self.quiet, self.keep_items = options["format"], options["quiet"], options["keep_items"]
        self.flat, self.figure = options["flat"], options.get("figure")
        self.gates = [Gate.parse(each) for each in options.get("gates") or ()]
        self.path = _result_file(options, family)
        for product in (self.flat, self.figure):
            refuse_result(product)

    @property
    def written(self) -> list[Path | None]:
        """The files that it writes."""
        return [self.path, self.flat, self.figure]

    @property
    def metrics(self) -> dict[str, tuple[str, ...]]:
        """What to ask for where nothing is, if there are gates: the metrics of the default, and those of the gates."""
        keys = dict.fromkeys(gate.key for gate in self.gates if _is_asked(gate, self.family))
        return {METRICS.name: (DEFAULT, *keys)} if keys and METRICS in self.door.common else {}

    def finish(self, evaluation: Evaluation, *more: Callable[[], object]) -> None:
        """Write all files, also those that `more` writes, print, and check the gates."""
        outcomes: list[GateOutcome] = []
        refusal: InputError | None = None
        for gate in self.gates:
            try:
                outcomes.append(gate.check(evaluation))
            except InputError as error:  # told after everything was written
                refusal = refusal or error
        evaluation.gates = tuple(outcomes)
        kept = evaluation.__copy__()
        kept.per_item = evaluation.per_item if self.keep_items else None
        files: list[Callable[[], object]] = list(more)
        files += [] if self.path is None else [partial(kept.save, self.path)]
        files += [] if self.flat is None else [partial(_write_flat, self.flat, evaluation)]
        files += [] if self.figure is None else [partial(evaluation.plot, self.figure)]
        files_then_words(files, lambda: self.print(evaluation))
        if self.path is not None and not self.quiet:
            click.echo(f"wrote {self.path}", err=True)
        for outcome in outcomes:
            click.echo(str(outcome), err=True)
        if refusal is not None:
            raise refusal
        if not all(outcome.passed for outcome in outcomes):
            raise click.exceptions.Exit(1)

    def print(self, evaluation: Evaluation) -> None:
        """What stdout shows: only the results."""
        if self.form == "table":
            say(in_words(self.door.fields, text(evaluation), flag, hints=True))
        elif self.form == "json":
            click.echo(encode(content_of(evaluation)), nl=False)
        elif self.form == "csv":
            click.echo(numbers_grid(evaluation.values()).to_csv(), nl=False)
        else:
            click.echo(evaluation.to_grid().render(self.form), nl=False)


def gate_files(gates: Sequence[GateOutcome], title: str, options: Mapping[str, Any]) -> list[Callable[[], object]]:
    """What writes the files that `CI` asks for."""
    pages = {"junit": ci.junit(gates), "summary": ci.summary(gates, title)}
    return [partial(write_text, options[name], page) for name, page in pages.items() if options[name] is not None]


def announce(gates: Sequence[GateOutcome]) -> None:
    """Gates as annotations, in a step of GitHub Actions; it reads both streams."""
    for line in ci.annotated(gates) if ci.on_github() else ():
        click.echo(line, err=True)


def run_of(options: Mapping[str, Any]) -> Run:
    """The names of the run."""
    return Run(method=options.get("method"), dataset=options.get("dataset"), seed=options.get("run_seed"))


def _is_asked(gate: Gate, family: str) -> bool:
    """Whether to ask for the metric of a gate: a loss of the user's own is computed with the default ones.

    Groups may have a default metric that the whole has not, such as the f1 of each of several classes.
    """
    try:
        entry, params = find(gate.key, family)
    except LookupError:
        return False
    return gate.axis is None or bool(params) or not entry.default


def _write_flat(path: Path, evaluation: Evaluation) -> None:
    write_text(path, dump_json(plain(evaluation.to_flat())))


def _result_file(options: Mapping[str, Any], family: str) -> Path | None:
    path: Path | None = options["output"]
    if path is not None and path.suffix.lower() in _NOT_JSON:
        what = f"--output writes a result file, which is JSON, and {str(path)!r:.80} ends in {path.suffix}"
        raise OptionError(what, fix="Print other formats with --format, and draw with --figure.")
    if path is not None or options["method"] is None:
        return path
    return result_path("results", family, run_of(options))
