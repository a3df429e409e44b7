"""`graphgauge gate NEW --against BASELINE --metric KEY --margin NUMBER`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import click

from graphgauge.core.errors import OptionError
from graphgauge.old.cli.common import files_then_words
from graphgauge.old.cli.options import DEBUG, PRODUCT_FILE, OnceCommand, refuse_replacing
from graphgauge.old.core.files import write_text
from graphgauge.old.stats.regression import OVER
from graphgauge.old.stats.truths import TRUTHS


@click.command(name="gate", cls=OnceCommand)
@click.argument("new", type=click.Path())
@click.option("--against", type=click.Path(), help="The baseline: a result file, or a folder of results.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="KEY",
    help="With --against: a metric that must not become worse, or a group KEY[AXIS=LABEL]. Repeatable.",
)
@click.option(
    "--margin",
    "margins",
    multiple=True,
    type=float,
    help="With --against: the loss that does not matter; one for all metrics, or one for each.",
)
@click.option(
    "--gate",
    "gates",
    multiple=True,
    metavar="'KEY >= NUMBER'",
    help="A requirement on NEW alone, which must be a result file. Repeatable.",
)
@click.option(
    "--over",
    type=click.Choice(OVER),
    default="auto",
    show_default=True,
    help="Compare runs, the items of single runs, or their intervals.",
)
@click.option(
    "--undecided",
    type=click.Choice(["fail", "pass"]),
    default="fail",
    show_default=True,
    help="Whether an undecided test fails.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 0.5, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Level of the one-sided tests.",
)
@click.option(
    "--truths",
    type=click.Choice(TRUTHS),
    default="same",
    show_default=True,
    help="Refuse results against different truths, or compare them with a note.",
)
@click.option("--higher", is_flag=True, help="Higher is better for the metrics.")
@click.option("--lower", is_flag=True, help="Lower is better for the metrics.")
@click.option("--output", "-o", type=PRODUCT_FILE, help="Write the outcomes (JSON).")
@click.option("--junit", type=PRODUCT_FILE, help="Write the outcomes as a test suite (JUnit XML).")
@click.option("--summary", type=PRODUCT_FILE, help="Write a summary (Markdown), such as $GITHUB_STEP_SUMMARY.")
@click.option("--figure", type=PRODUCT_FILE, help="Draw the changes with their margins (.svg, .png, .pdf).")
@click.option(
    "--annotate/--no-annotate", default=None, help="Print annotations of GitHub Actions (default: if it runs there)."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="Format of stdout.",
)
@DEBUG
def command(
    new: str,
    against: str | None,
    metrics: tuple[str, ...],
    margins: tuple[float, ...],
    gates: tuple[str, ...],
    over: str,
    undecided: str,
    alpha: float,
    truths: Any,
    higher: bool,
    lower: bool,
    output: str | None,
    junit: str | None,
    summary: str | None,
    figure: str | None,
    annotate: bool | None,
    form: str,
    debug: bool,
) -> None:
    """Test whether the results NEW are worse than a baseline by more than a margin, for CI.

    Each test excludes such a loss, shows it, or leaves it undecided and names what it would take to decide. Single
    runs are paired over their items if both were evaluated with --keep items, several runs by seed. The exit code is 0
    only if every loss is excluded and every requirement holds, otherwise 1.
    """
    from graphgauge.old.core.gates import Gate
    from graphgauge.old.core.schema import read_result
    from graphgauge.old.stats import gate_files
    from graphgauge.old.stats.regression import gate

    if higher and lower:
        raise OptionError("--higher and --lower exclude each other", fix="Give one of them.")
    limits = _margins(against, metrics, margins, gates)
    required = [Gate.parse(text) for text in gates]  # before anything is read
    direction: Any = "higher" if higher else "lower" if lower else None
    outcomes = []
    for metric, margin in limits.items():
        found = gate(
            new, against, metric=metric, margin=margin, over=over, alpha=alpha, truths=truths, direction=direction
        )
        outcomes.append(gate_files.Outcome.of(found, undecided=undecided))
    if required:
        evaluation = read_result(new)
        outcomes += [gate_files.Outcome.of(each.check(evaluation)) for each in required]
    passed = all(outcome.passed for outcome in outcomes)
    content = _json(
        {
            "schema": "graphgauge/gates/1",
            "passed": passed,
            "new": new,
            "against": against,
            "gates": [outcome.to_dict() for outcome in outcomes],
        }
    )
    page = gate_files.markdown(outcomes, new, against)
    files: list[tuple[str | None, Callable[[str], None]]] = [
        (output, lambda path: write_text(path, content)),
        (junit, lambda path: write_text(path, gate_files.junit(outcomes))),
        (summary, lambda path: write_text(path, page)),
        (figure, lambda path: gate_files.draw(outcomes, path)),
    ]
    if annotate is None:
        annotate = os.environ.get("GITHUB_ACTIONS") == "true"

    def words() -> None:
        lines = {"text": "\n".join(map(str, outcomes)) + "\n", "json": content, "markdown": page}[form]
        click.echo(lines, nl=False)
        for line in gate_files.annotation_lines(outcomes) if annotate else ():
            # Of JSON nothing else may be on stdout; GitHub reads both streams.
            click.echo(line, err=form != "text")

    refuse_replacing([path for path, _ in files], [new, against])
    files_then_words([partial(write, path) for path, write in files if path is not None], words)
    if not passed:
        raise click.exceptions.Exit(1)


def _margins(
    against: str | None, metrics: tuple[str, ...], margins: tuple[float, ...], gates: tuple[str, ...]
) -> dict[str, float]:
    if against is None:
        if metrics or margins:
            raise OptionError("--metric and --margin need --against", fix="Name the results of the baseline.")
        if not gates:
            raise OptionError("there is no gate", fix="Give --against with --metric and --margin, or --gate.")
        return {}
    if not metrics or not margins:
        raise OptionError("--against needs --metric and --margin", fix="For example --metric mrr --margin 0.005.")
    if len(margins) not in (1, len(metrics)):
        raise OptionError(f"{len(margins)} margins are given for {len(metrics)} metrics", fix="Give one, or one each.")
    if len(set(metrics)) < len(metrics):
        raise OptionError("a metric is given twice", fix="Give each metric once.")
    return dict(zip(metrics, margins * len(metrics) if len(margins) == 1 else margins, strict=True))


def _json(content: object) -> str:
    return json.dumps(content, indent=1, allow_nan=False) + "\n"
