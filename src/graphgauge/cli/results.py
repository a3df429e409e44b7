"""Commands about results of many runs: aggregate, compare, gate, audit and report."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import click
from msgspec.structs import asdict

from graphgauge.cli.command import DEBUG, command, files_then_words, flag, refuse_replacing, say
from graphgauge.cli.output import CI, FIGURE, announce, gate_files
from graphgauge.core.door import CONFIDENCE, Option, Texts, in_words
from graphgauge.core.errors import OptionError, one_of
from graphgauge.core.family import family_names
from graphgauge.core.markup import clean
from graphgauge.core.number import plural
from graphgauge.study.tables import COMPARISONS, MISSING, REGRESSIONS, TRUTHS

_RESULTS = click.Argument(["results"], nargs=-1, required=True, type=click.Path())
_DIRECTION = Option("direction", Literal["higher", "lower"] | None, None, "Which is better.")
# Which runs are read, and from which columns of tables.
_RUNS = (
    Option("only", Texts, (), "This method, dataset or family alone. Repeatable.", shown="ROLE=NAME"),
    Option("columns", Texts, (), "Columns of tables: method, dataset, seed, metric, value, …", shown="ROLE=COLUMN,…"),
    MISSING,
    TRUTHS,
)
# What becomes of the table.
_OUTPUT = (
    Option("format", Literal["table", "markdown", "latex", "html", "csv", "json"], "table", "Format of stdout."),
    Option("output", Path | None, None, "Also write .json, .csv, .md, .tex, .html or .txt."),
    FIGURE,
    DEBUG,
)
_AGGREGATE = (
    Option("metric", Texts, (), "Metrics; by default the headlines.", shown="KEY,…"),
    Option("all", bool, False, "All metrics."),
    CONFIDENCE,
    Option("direction", dict[str, str] | None, None, "Which is better, if no name says it.", shown="KEY=higher"),
)
_STYLE = (
    Option("marks", Literal["best", "tests", "none"], "best", "Mark the best mean, or what is as good, or nothing."),
    Option("digits", int | None, None, "Digits after the point.", 0, 15),
    Option("percent", bool, False, "Numbers times 100."),
    Option("order", Texts, (), "Methods that come first.", shown="NAME,…"),
)
_COMPARE = (
    Option("metric", str | None, None, "The metric; not needed if there is only one.", shown="KEY"),
    *COMPARISONS,
    _DIRECTION,
)
_GATE = (
    Option("against", str | None, None, "The baseline: a result file, or a folder of results."),
    Option("metric", Texts, (), "What must not become worse. Repeatable.", shown="KEY"),
    Option("margin", tuple[float, ...], (), "The loss that does not matter; one for all metrics, or one for each."),
    Option("gate", Texts, (), "A requirement on NEW, a result file. Repeatable.", shown="'KEY >= NUMBER'"),
    *REGRESSIONS,
    _DIRECTION,
    TRUTHS,
)
_NUMBERS = (
    Option("output", Path | None, None, "Write all numbers (JSON)."),
    *CI,
    FIGURE,
    Option("format", Literal["table", "json"], "table", "Format of stdout."),
    DEBUG,
)
_AUDIT = (
    Option("only", Texts, (), "Run this check alone. Repeatable.", shown="CHECK"),
    Option("ignore", Texts, (), "Leave out the findings of a check. Repeatable.", shown="CHECK"),
    Option("fail_on", Literal["note", "warning", "error", "never"], "error", "Exit with 1 at this severity or worse."),
    Option("explain", str | None, None, "Show the page of a check and exit.", shown="CHECK"),
    Option("format", Literal["text", "json", "csv", "markdown", "latex"], "text", "Format of stdout."),
    DEBUG,
)
_REPORT = (
    Option("output", Path, Path("report.html"), "The page that is written."),
    Option("title", str | None, None, "The page's heading (default: the study's name)."),
    DEBUG,
)
# Words of the library that are options here, some under another name.
_WORDS = ("missing", "truths", "design", "over", "direction", "datasets", "directions", "metrics")
_RENAMED = {"directions": "direction", "metrics": "metric"}


def _aggregate(results: Texts, **options: Any) -> None:
    """Mean and standard deviation over runs, with intervals, as a table.

    RESULTS are result files or folders of them, flat metrics_DATASET_SEED.json, or tables (.csv, .parquet, .json). The
    best mean is marked; whether it differs from the others is the question of `graphgauge compare`. Each family has a
    table of its own, unless --metric names metrics of several.
    """
    from graphgauge.stats.summaries import aggregate

    if options["metric"] and options["all"]:
        raise OptionError("--metric and --all exclude each other", fix="Give one of them.")
    runs = _chosen(results, options)
    present = dict.fromkeys(run.family for run in runs if run.family)
    families = list(dict.fromkeys([*filter(present.__contains__, family_names()), *present]))
    apart = len(families) > 1 and not options["metric"]
    if apart and (options["output"] or options["figure"] or options["format"] in ("csv", "json")):
        what = f"there are results of {', '.join(families)}, and a file has the table of one family"
        raise OptionError(what, fix=f"Name one: --only family={families[0]}.")
    style = {each.name: options[each.name] for each in _STYLE if options[each.name] != each.default}
    for name in families if apart else [None]:
        table = aggregate(
            runs.only(family=name),
            metrics="all" if options["all"] else list(options["metric"]) or None,
            **{name: options[name] for name in ("confidence", "missing", "truths")},
            directions=options["direction"],
        )
        if name is not None:
            click.echo(f"\n{name}\n")
        _finish(table, options, style)


def _compare(results: Texts, **options: Any) -> None:
    """Which method is better by a metric, by how much, and how sure that is.

    RESULTS are result files or folders of them, flat metrics_DATASET_SEED.json, or tables (.csv, .parquet, .json).
    Methods with the same seeds are paired; several datasets are drawn from others like them, unless --datasets these.
    """
    from graphgauge.stats.comparison import compare

    asked = {name: options[name] for name in (*(each.name for each in _COMPARE), "missing", "truths")}
    _finish(compare(_chosen(results, options), **asked), options)


def _chosen(results: Texts, options: Mapping[str, Any]) -> Any:
    """The runs in these files and folders, those of `--only` if it names some; no output may replace one of them."""
    from graphgauge.stats.reading import read_runs

    kept: dict[str, list[str]] = {}
    for text in options["only"]:
        role, sign, name = text.partition("=")
        if not sign:
            raise OptionError(f"--only {text!r:.60} is not ROLE=NAME", fix="For example --only dataset=cora.")
        kept.setdefault(one_of("role", role.strip(), ("method", "dataset", "family")), []).append(name.strip())
    runs = read_runs(list(results), columns=list(options["columns"]) or None)
    refuse_replacing([options["output"], options["figure"]], [*results, *(run.source for run in runs)])
    families = kept.pop("family", [])
    if len(families) > 1:
        raise OptionError("--only names several families", fix="Name one.")
    return runs.only(**kept, family=families[0] if families else None)


def _finish(table: Any, options: Mapping[str, Any], style: Mapping[str, Any] | None = None) -> None:
    """Write files, then print; the words have options as the command line writes them."""
    form, output, figure = options["format"], options["output"], options["figure"]
    files = [] if output is None else [partial(table.save, output, **(style or {}))]
    files += [] if figure is None else [partial(table.plot, figure)]

    def words() -> None:
        text = table.render(form, **({} if form in ("csv", "json") else style or {}))
        if form == "table":
            text = text.replace('metrics="all"', flag("all"))
            say(in_words(_WORDS, text, lambda word: flag(_RENAMED.get(word, word)), hints=True).rstrip("\n"))
        else:
            click.echo(text.rstrip("\n"))
        for path in (output, figure):
            if path is not None:
                click.echo(f"wrote {path}", err=True)

    files_then_words(files, words)


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
    return dict(zip(metrics, margins * len(metrics), strict=False))


def _audit(path: str | None, explain: str | None, fail_on: str, format: str, **options: Any) -> None:
    """Look for misleading evaluations in PATH, a folder of results or a result file."""
    from graphgauge import audit as checks
    from graphgauge.core.finding import SEVERITIES, Findings

    if explain is not None:
        click.echo(checks.explain(explain))
        return
    if path is None:
        raise OptionError("nothing to audit", fix="Name a folder of results or a result file, or --explain CHECK.")
    only, ignore = options["only"] or None, options["ignore"]
    found = Findings(each for each in checks.run(path, only=only, ignore=ignore) if not each.ignored)
    if format == "text":
        for each in found:
            say(clean(str(each), 1000))
        say(_closing([each.severity for each in found]))
    else:
        click.echo(found.to_grid().render(format), nl=False)
    worst = max((SEVERITIES.index(each.severity) for each in found), default=-1)
    if fail_on != "never" and worst >= SEVERITIES.index(fail_on):
        raise click.exceptions.Exit(1)


def _closing(severities: list[str]) -> str:
    counts = {name: severities.count(name) for name in ("error", "warning", "note")}
    said = [plural(count, name) for name, count in counts.items() if count]
    return f"{', '.join(said)}: `graphgauge audit --explain CHECK` says more." if said else "Nothing found."


def _report(results: Texts, output: Path, title: str | None, **options: Any) -> None:
    """Write one page from folders of results or result files: who leads, gates, findings, figures, every run.

    The page is one file that needs no network. Code and files named in results are not imported or opened.
    """
    from graphgauge.report import write_report

    click.echo(write_report(results, output, title=title))


aggregate = command(_aggregate, {"Options": _AGGREGATE, "Runs": _RUNS, "Table": _STYLE, "Output": _OUTPUT}, _RESULTS)
compare = command(_compare, {"Options": _COMPARE, "Runs": _RUNS, "Output": _OUTPUT}, _RESULTS)
gate = command(_gate, {"Options": _GATE, "Output": _NUMBERS}, click.Argument(["new"], type=click.Path()))
audit = command(_audit, {"Options": _AUDIT}, click.Argument(["path"], required=False, type=click.Path()))
report = command(_report, {"Options": _REPORT}, _RESULTS)
