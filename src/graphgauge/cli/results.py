"""What the commands about results of many runs share: how runs are read, and what becomes of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from graphgauge.cli.command import OUTPUT_FILE, Section, files_then_words, flag, refuse_replacing
from graphgauge.core.door import in_words, split_list
from graphgauge.core.errors import OptionError, one_of

FORMATS = ("table", "markdown", "latex", "html", "csv", "json")
ROLES = ("method", "dataset", "family")
RESULTS = click.Argument(["results"], nargs=-1, required=True, type=click.Path())


def reading_options() -> list[click.Option]:
    """Which runs are read, and from which columns of tables."""
    return [
        Section("Runs", "--only", multiple=True, metavar="ROLE=NAME", help="Only this method, dataset or family."),
        Section(
            "Runs",
            "--columns",
            multiple=True,
            metavar="ROLE=COLUMN,…",
            help="Columns of tables: method, dataset, seed, metric, value, mean, std, n.",
        ),
        Section(
            "Runs",
            "--missing",
            type=click.Choice(["raise", "omit", "worst"]),
            default="raise",
            help="Runs without a value: an error, left out, or the metric's worst bound.  [raise]",
        ),
        Section(
            "Runs",
            "--truths",
            type=click.Choice(["same", "any"]),
            default="same",
            help="Refuse runs measured against different truths, or not.  [same]",
        ),
    ]


def confidence_option(text: str) -> click.Option:
    kind = click.FloatRange(0, 1, min_open=True, max_open=True)
    return Section("Options", "--confidence", type=kind, metavar="LEVEL", default=0.95, help=f"{text}  [0.95]")


def output_options(drawn: str) -> list[click.Option]:
    """What becomes of the table."""
    return [
        Section(
            "Output",
            "--format",
            "form",
            type=click.Choice(FORMATS),
            default="table",
            metavar="|".join(FORMATS),
            help="Format of stdout.  [table]",
        ),
        Section(
            "Output",
            "--output",
            "-o",
            type=OUTPUT_FILE,
            metavar="FILE",
            help="Also write .json, .csv, .md, .tex, .html or .txt.",
        ),
        Section("Output", "--figure", type=OUTPUT_FILE, metavar="FILE", help=f"{drawn} (.svg, .png, .pdf)."),
        Section("Output", "--debug", is_flag=True, help="Show tracebacks."),
    ]


def chosen_runs(results: tuple[str, ...], options: Mapping[str, Any]) -> Any:
    """The runs in these files and folders, those of `--only` if it names some; no output may replace one of them."""
    from graphgauge.stats.reading import read_runs

    kept: dict[str, list[str]] = {}
    for text in options["only"]:
        role, sign, name = text.partition("=")
        if not sign:
            raise OptionError(f"--only {text!r:.60} is not ROLE=NAME", fix="For example --only dataset=cora.")
        kept.setdefault(one_of("role", role.strip(), ROLES), []).append(name.strip())
    runs = read_runs(list(results), columns=list(options["columns"]) or None)
    refuse_replacing([options["output"], options["figure"]], [*results, *(run.source for run in runs)])
    families = kept.pop("family", [])
    if len(families) > 1:
        raise OptionError("--only names several families", fix="Name one.")
    return runs.only(**kept, family=families[0] if families else None)


def directions_of(texts: Iterable[str]) -> dict[str, str]:
    """`KEY=higher` and `KEY=lower`, separated by commas or repeated."""
    directions = {}
    for text in (part for each in texts for part in split_list(each)):
        key, sign, direction = text.rpartition("=")
        if not sign or direction not in ("higher", "lower"):
            raise OptionError(f"--direction {text!r:.60} is not KEY=higher or KEY=lower", fix="Such as f1=higher.")
        directions[key] = direction
    return directions


def finish(table: Any, options: Mapping[str, Any], style: Mapping[str, Any] | None = None) -> None:
    """Write files, then print; the words have options as the command line writes them."""
    form, output, figure = options["form"], options["output"], options["figure"]
    files: list[Callable[[], object]] = []
    if output is not None:
        files.append(lambda: table.save(output, **(style or {})))
    if figure is not None:
        files.append(lambda: table.plot(figure))

    def words() -> None:
        text = table.render(form, **({} if form in ("csv", "json") else style or {}))
        if form == "table":
            text = in_words(("missing", "truths", "design", "over", "direction", "datasets"), text, flag, hints=True)
        click.echo(text.rstrip("\n"))

        for path in (output, figure):
            if path is not None:
                click.echo(f"wrote {path}", err=True)

    files_then_words(files, words)
