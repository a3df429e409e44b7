"""`graphgauge gate NEW --against BASELINE --metric KEY --margin NUMBER`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal

import click
from msgspec.structs import asdict

from graphgauge.cli.command import DEBUG, command, files_then_words, refuse_replacing, say
from graphgauge.cli.output import CI, FIGURE, announce, gate_files
from graphgauge.cli.results import DIRECTION
from graphgauge.core.door import Option, Texts
from graphgauge.core.errors import OptionError
from graphgauge.study.tables import REGRESSIONS, TRUTHS

_OPTIONS = (
    Option("against", str | None, None, "The baseline: a result file, or a folder of results."),
    Option("metric", Texts, (), "What must not become worse. Repeatable.", shown="KEY"),
    Option("margin", tuple[float, ...], (), "The loss that does not matter; one for all metrics, or one for each."),
    Option("gate", Texts, (), "A requirement on NEW, a result file. Repeatable.", shown="'KEY >= NUMBER'"),
    *REGRESSIONS,
    DIRECTION,
    TRUTHS,
)
_OUTPUT = (
    Option("output", Path | None, None, "Write all numbers (JSON)."),
    *CI,
    FIGURE,
    Option("format", Literal["table", "json"], "table", "Format of stdout."),
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
    from graphgauge.study.judge import outcome_of

    limits = _margins(against, options["metric"], options["margin"])
    required = [Gate.parse(text) for text in options["gate"]]  # before anything is read
    if not limits and not required:
        raise OptionError("there is no gate", fix="Give --against with --metric and --margin, or --gate.")
    sides = [Path(path) for path in (new, against) if path is not None]
    written = [options[name] for name in ("output", "junit", "summary", "figure")]
    refuse_replacing(written, [*sides, *(file for side in sides if side.is_dir() for file in result_files(side))])
    for path in written:
        refuse_result(path)
    asked = {name: options[name] for name in ("over", "confidence", "truths", "direction")}
    tests = [test(new, against, metric=key, margin=loss, **asked) for key, loss in limits.items()]
    gates = [outcome_of(each, options["undecided"]) for each in tests]
    gates += [each.check(load(new, items=False)) for each in required]
    receipt = {"new": new, "against": against, "tests": list(map(asdict, tests))}
    numbers = encode(GatesFile(gates=gates, receipt=receipt))
    files = gate_files(gates, new, options)
    files += [] if options["output"] is None else [partial(write_text, options["output"], numbers)]
    files += [] if options["figure"] is None else [partial(gate_figure, tests, options["figure"])]
    words = numbers.rstrip("\n") if options["format"] == "json" else "\n".join(map(str, gates))
    files_then_words(files, lambda: say(words) if options["format"] == "table" else click.echo(words))
    announce(gates)
    if not all(each.passed for each in gates):
        raise click.exceptions.Exit(1)


def _margins(against: str | None, metrics: Texts, margins: tuple[float, ...]) -> dict[str, float]:
    """The margin of every metric."""
    if against is None and (metrics or margins):
        raise OptionError("--metric and --margin need --against", fix="Name the results of the baseline.")
    if against is not None and not (metrics and margins):
        raise OptionError("--against needs --metric and --margin", fix="For example --metric mrr --margin 0.005.")
    if len(margins) > 1 and len(margins) != len(metrics):
        what = f"{len(margins)} margins are given for {len(metrics)} metrics"
        raise OptionError(what, fix="Give one, or one each.")
    if len(set(metrics)) < len(metrics):
        raise OptionError("a metric is given twice", fix="Give each metric once.")
    return dict(zip(metrics, margins * len(metrics), strict=False))


gate = command(_gate, {"Options": _OPTIONS, "Output": _OUTPUT}, click.Argument(["new"], type=click.Path()))
