"""What a command does with an evaluation: files, then words, then gates."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from graphgauge.cli.command import OUTPUT_FILE, Section, files_then_words, flag
from graphgauge.core.content import content_of
from graphgauge.core.disk import dump_json, write_text
from graphgauge.core.door import METRICS, Door, in_words
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.files import refuse_result, result_path
from graphgauge.core.gate import Gate, GateOutcome
from graphgauge.core.grid import Grid
from graphgauge.core.number import plain
from graphgauge.core.progress import Progress
from graphgauge.core.registry import DEFAULT, find
from graphgauge.core.sealed import encode
from graphgauge.core.view import text

FORMATS = ("table", "json", "csv", "markdown", "latex")
# Endings that promise another format than JSON.
_NOT_JSON = (".html", ".htm", ".svg", ".png", ".pdf", ".csv", ".md", ".tex", ".txt")
_GATE = (
    "Exit with 1 unless it holds. KEY.low and KEY.high are the interval, KEY[AXIS=LABEL] is a group and KEY[AXIS] all "
    "of them; chance can stand for NUMBER. Repeatable."
)


def run_options() -> list[click.Option]:
    """Whose run it is; a method's name gives the result file a default path."""
    return [
        Section("Run", "--method", help="Name of the method; with it the result is kept below results/."),
        Section("Run", "--dataset", help="Name of the data."),
        Section("Run", "--run-seed", type=int, help="Seed that the run was trained with."),
        Section("Run", "--threads", type=click.IntRange(1), metavar="N", help="At most so many threads."),
    ]


def output_options(*, figure: bool, gates: bool = True) -> list[click.Option]:
    """What can be done with the results."""
    drawn = Section("Output", "--figure", type=OUTPUT_FILE, metavar="FILE", help="Draw it (.svg, .png, .pdf).")
    required = Section("Output", "--gate", "gates", multiple=True, metavar="'KEY >= NUMBER'", help=_GATE)
    return [
        Section("Output", "--output", "-o", type=OUTPUT_FILE, metavar="FILE", help="Write the result file (JSON)."),
        Section("Output", "--flat", type=OUTPUT_FILE, metavar="FILE", help="Write all keys and numbers as plain JSON."),
        Section(
            "Output",
            "--format",
            "form",
            type=click.Choice(FORMATS),
            default="table",
            metavar="|".join(FORMATS),
            help="Format of stdout.  [table]",
        ),
        *([drawn] if figure else []),
        Section("Output", "--keep-items", is_flag=True, help="Keep the values of single items beside the result."),
        *([required] if gates else []),
        *debug_options(),
    ]


def debug_options() -> list[click.Option]:
    return [
        Section("Output", "--quiet", is_flag=True, help="Nothing on stderr but errors and gates."),
        Section("Output", "--debug", is_flag=True, help="Show tracebacks."),
    ]


class Output:
    """Where the results of a command go; invalid gates and names of files fail before anything is evaluated."""

    def __init__(self, options: dict[str, Any], family: str, door: Door) -> None:
        self.door = door
        self.form, self.quiet = options["form"], options["quiet"]
        self.keep_items = options["keep_items"]
        self.flat, self.figure = options["flat"], options.get("figure")
        self.by_default = METRICS in door.common and not (options.get(METRICS.name) or options.get("all_metrics"))
        self.gates = [Gate.parse(each) for each in options.get("gates") or ()]
        self.path = _result_file(options, family)
        for product in (self.flat, self.figure):
            refuse_result(product)

    @property
    def written(self) -> list[str | Path | None]:
        """The files that it writes."""
        return [self.path, self.flat, self.figure]

    @property
    def is_kept(self) -> bool:
        """Whether a result file is written."""
        return self.path is not None

    def metrics(self, family: str) -> tuple[str, ...]:
        """What `metrics` has to ask for if there are gates: those of the default, and those that gates name."""
        keys = dict.fromkeys(gate.key for gate in self.gates if self.by_default and _is_metric(gate.key, family))
        return (DEFAULT, *keys) if keys else ()

    def finish(self, evaluation: Evaluation, *more: Callable[[], object]) -> None:
        """Write all files, also those that `more` writes, print, and check the gates."""
        evaluation.gates, undecided = self._checked(evaluation)
        files: list[Callable[[], object]] = list(more)
        path, flat, figure = self.path, self.flat, self.figure
        kept = evaluation.__copy__()
        if not self.keep_items:
            kept.per_item = None
        if path is not None:
            files.append(lambda: kept.save(path))
        if flat is not None:
            files.append(lambda: write_text(flat, dump_json(plain(evaluation.to_flat()))))
        if figure is not None:
            files.append(lambda: evaluation.plot(figure))
        files_then_words(files, lambda: click.echo(self.words(evaluation), nl=False))
        if path is not None:
            self.say(f"wrote {path}")
        for outcome in evaluation.gates:
            click.echo(str(outcome), err=True)
        if undecided is not None:
            raise undecided
        if not all(outcome.passed for outcome in evaluation.gates):
            raise click.exceptions.Exit(1)

    def words(self, evaluation: Evaluation) -> str:
        """What stdout shows: only the results."""
        if self.form == "json":
            return encode(content_of(evaluation))
        if self.form == "csv":
            return csv_grid(evaluation).to_csv()
        if self.form in ("markdown", "latex"):
            return evaluation.to_grid().render(self.form)
        return in_words(self.door.fields, text(evaluation), flag, hints=True) + "\n"

    def say(self, line: str) -> None:
        if not self.quiet:
            click.echo(line, err=True)

    def _checked(self, evaluation: Evaluation) -> tuple[tuple[GateOutcome, ...], InputError | None]:
        """The outcomes of the gates, and why one could not be checked, if so."""
        outcomes: list[GateOutcome] = []
        for gate in self.gates:
            try:
                outcomes.append(gate.check(evaluation))
            except InputError as error:
                return tuple(outcomes), error
        return tuple(outcomes), None


def _is_metric(key: str, family: str) -> bool:
    """Whether a key is that of a metric; a loss of the user's own is not, and is computed with the default ones."""
    try:
        find(key, family)
    except LookupError:
        return False
    return True


class Bar(Progress):
    """Progress as one line of a terminal's stderr."""

    def __init__(self, quiet: bool) -> None:
        self._shown = not quiet and sys.stderr.isatty()
        self._quiet = quiet

    def stage(self, name: str, done: int, total: int, detail: str = "") -> None:
        if self._shown:
            share = f"{100 * done // max(total, 1):3d} %"
            click.echo(f"\r\x1b[2K{share}  {name}{f': {detail}' if detail else ''}"[:100], err=True, nl=False)
            if done >= total:
                click.echo("\r\x1b[2K", err=True, nl=False)

    def say(self, text: str) -> None:
        if not self._quiet:
            click.echo(text, err=True)


def csv_grid(evaluation: Evaluation) -> Grid:
    """A row per metric, with plain names."""
    rows = [
        (each.key, each.value, *(each.interval or (float("nan"),) * 2), each.n, each.unit, each.direction)
        for each in evaluation.values()
    ]
    return Grid.of_rows(("key", "value", "low", "high", "n", "unit", "direction"), rows)


def _result_file(options: dict[str, Any], family: str) -> Path | None:
    from graphgauge.core.evaluation import Run

    path = options["output"]
    if path is not None and Path(path).suffix.lower() in _NOT_JSON:
        what = f"--output writes a result file, which is JSON, and {path!r:.80} ends in {Path(path).suffix}"
        raise OptionError(what, fix="Print other formats with --format, and draw with --figure.")
    if path is not None or options["method"] is None:
        return None if path is None else Path(path)
    run = Run(method=options["method"], dataset=options["dataset"], seed=options["run_seed"])
    return result_path("results", family, run)
