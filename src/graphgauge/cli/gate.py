"""`graphgauge gate NEW --against BASELINE --metric KEY --margin NUMBER`."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from msgspec.structs import asdict, replace

from graphgauge.cli.command import DEBUG, command, files_then_words, refuse_replacing
from graphgauge.cli.results import DIRECTION, TRUTHS
from graphgauge.core.door import CONFIDENCE, Option
from graphgauge.core.errors import OptionError

if TYPE_CHECKING:
    from graphgauge.core.gate import GateOutcome
    from graphgauge.stats.regression import Regression

_ENDINGS = (".json", ".md", ".xml", ".svg", ".png", ".pdf")
_OPTIONS = (
    Option("against", str | None, None, "The baseline: a result file, or a folder of results."),
    Option(
        "metric",
        tuple[str, ...],
        (),
        "A metric that must not become worse, or KEY[AXIS=LABEL]. Repeatable.",
        shown="KEY",
    ),
    Option("margin", tuple[float, ...], (), "The loss that does not matter; one for all metrics, or one for each."),
    Option(
        "gate",
        tuple[str, ...],
        (),
        "A requirement on NEW, a result file. Repeatable.",
        shown="'KEY >= NUMBER'",
    ),
    Option(
        "over",
        Literal["auto", "items", "seeds", "intervals"],
        "auto",
        "Compare runs, the items of single runs, or their intervals.",
    ),
    Option("undecided", Literal["fail", "pass"], "fail", "Whether an undecided test fails."),
    replace(CONFIDENCE, help="Confidence with which a larger loss is excluded."),
    DIRECTION,
    TRUTHS,
)
_OUTPUT = (
    Option(
        "output",
        tuple[str, ...],
        (),
        "Write all numbers (.json), a summary (.md), JUnit (.xml) or a figure (.svg, .png, .pdf). Repeatable.",
        shown="FILE",
    ),
    Option("format", Literal["table", "json", "markdown"], "table", "Format of stdout."),
    Option("annotate", bool, False, "Print annotations of GitHub Actions, as there."),
    DEBUG,
)


def _gate(new: str, against: str | None, **options: Any) -> None:
    """Test whether the results NEW are worse than a baseline by more than a margin, for CI.

    Each test excludes such a loss, shows it, or leaves it undecided and names what it would take to decide. Single
    runs are paired over their items if both were evaluated with --keep-items, several runs by seed. The exit code is 0
    only if every loss is excluded and every requirement holds, otherwise 1.
    """
    from graphgauge.core.content import GatesFile
    from graphgauge.core.disk import write_text
    from graphgauge.core.files import load, refuse_result, result_files
    from graphgauge.core.gate import Gate
    from graphgauge.core.sealed import encode
    from graphgauge.stats.figures import gate_figure
    from graphgauge.stats.regression import gate as test
    from graphgauge.study import ci

    limits = _margins(against, options["metric"], options["margin"], options["gate"])
    required = [Gate.parse(text) for text in options["gate"]]  # before anything is read
    inputs = [Path(path) for path in (new, against) if path is not None]
    folders = [path for path in inputs if path.is_dir()]
    refuse_replacing(options["output"], [*inputs, *(file for path in folders for file in result_files(path))])
    for path in options["output"]:
        refuse_result(path)
        if _ending(path) not in _ENDINGS:
            raise OptionError(f"--output {path!r:.80} has no known ending", fix=f"Use {', '.join(_ENDINGS)}.")
    asked = {name: options[name] for name in ("over", "confidence", "truths", "direction")}
    tests = [test(new, against, metric=key, margin=loss, **asked) for key, loss in limits.items()]
    gates = [_outcome(each, options["undecided"]) for each in tests]
    gates += [each.check(load(new, items=False)) for each in required]
    receipt = {"new": new, "against": against, "tests": [asdict(each) for each in tests]}
    pages: dict[str, Callable[[], str]] = {
        ".json": lambda: encode(GatesFile(gates=gates, receipt=receipt)),
        ".xml": lambda: ci.junit(gates),
        ".md": lambda: ci.summary(gates, new),
        "": lambda: "\n".join(map(str, gates)),
    }

    def write(path: str) -> None:
        page = pages.get(_ending(path))
        write_text(path, page()) if page is not None else gate_figure(tests, path)

    def words() -> None:
        form = options["format"]
        click.echo(pages[{"json": ".json", "markdown": ".md"}.get(form, "")]().rstrip("\n"))
        for line in ci.annotated(gates) if options["annotate"] or ci.on_github() else ():
            # Of JSON nothing else may be on stdout; GitHub reads both streams.
            click.echo(line, err=form != "table")

    files_then_words([partial(write, path) for path in options["output"]], words)
    if not all(each.passed for each in gates):
        raise click.exceptions.Exit(1)


def _outcome(found: Regression, undecided: str) -> GateOutcome:
    """A test as the outcome of a gate, with what it would take; one that is undecided may pass."""
    from graphgauge.stats.text import sentence

    outcome = found.outcome
    said = " ".join(filter(None, (f"{outcome.why}.", found.advice, *map(sentence, found.notes))))
    may_pass = outcome.verdict == "undecided" and undecided == "pass"
    return replace(outcome, why=said.rstrip("."), verdict="passed" if may_pass else outcome.verdict)


def _ending(path: str) -> str:
    """The ending of a file; that of GitHub's summary, which has none, is .md."""
    return ".md" if path == os.environ.get("GITHUB_STEP_SUMMARY") else Path(path).suffix.lower()


def _margins(
    against: str | None, metrics: tuple[str, ...], margins: tuple[float, ...], gates: tuple[str, ...]
) -> dict[str, float]:
    """The margin of every metric."""
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


gate = command(_gate, {"Options": _OPTIONS, "Output": _OUTPUT}, click.Argument(["new"], type=click.Path()))
