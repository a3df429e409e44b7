"""The page: one file without network, read from the top: a sentence, a table, figures, findings, gates, all runs."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from graphgauge._version import __version__
from graphgauge.audit.runner import together
from graphgauge.core.disk import write_text
from graphgauge.core.errors import OptionError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.extras import need
from graphgauge.core.finding import SEVERITIES, Finding
from graphgauge.core.gate import GateOutcome
from graphgauge.core.grid import Grid
from graphgauge.core.markup import clean, html_text
from graphgauge.core.number import plural, shown
from graphgauge.core.result import ARROWS
from graphgauge.report.figures import figures
from graphgauge.report.leaders import Leader, leaders
from graphgauge.report.material import Material, gathered
from graphgauge.stats.outcome import Comparison
from graphgauge.study.ci import conclusion, titled, words

_TEMPLATES = Path(__file__).parent / "templates"
# Rows of a table that is not the one of all runs.
_MOST = 200


def write_report(results: Any, path: str | Path, *, title: str | None = None) -> Path:
    """Write one page from folders of results or result files; it needs no network and no other file.

    Parameters
    ----------
    results
        A folder or a result file, or several of them.
    path
        The page to write.
    title
        Its heading; by default the study's name.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    InputError
        If there are no results.
    OptionError
        If the path has another ending than .html.

    Examples
    --------
    >>> from graphgauge import Evaluation, Result
    >>> from graphgauge.report import write_report
    >>> mrr = Result(key="mrr", metric="mrr", value=0.25, n=40, unit="query", direction="higher", bounds=(0, 1))
    >>> _ = Evaluation("ranking", [mrr]).save("results", method="ours", dataset="nations", seed=0)
    >>> write_report("results", "report.html").name
    'report.html'
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"{Path(path).name} is no name of a page", fix="Give it the ending .html.")
    places = [results] if isinstance(results, str | Path) else list(results)
    material = gathered(places)
    heading = title or next((study.name for study in material.studies), "Results")
    write_text(path, rendered(material, heading))
    return Path(path)


def rendered(material: Material, title: str) -> str:
    """The text of the page."""
    compared = [each.metric for _, each in material.comparisons if not isinstance(each, str)]
    found = leaders(material.runs, compared)
    findings = [*material.findings, *together(material.evaluations)]
    jinja2, markup = need("jinja2", "the HTML report"), need("markupsafe", "the HTML report").Markup
    loader = jinja2.FileSystemLoader(_TEMPLATES)
    options: dict[str, Any] = {"finalize": lambda text: clean(text) if type(text) is str else text}
    options |= {"autoescape": True, "undefined": jinja2.StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    script, style = ((_TEMPLATES / name).read_text(encoding="utf-8") for name in ("page.js", "page.css"))
    return str(
        jinja2.Environment(loader=loader, **options)
        .get_template("page.html.j2")
        .render(
            title=title,
            answer=answer(found, material.gates, findings, len(material.runs), len(material.failed)),
            leaders=markup(_leaders(found).to_html()),
            figures=[
                (markup(each.svg), each.title, each.words, each.is_wide)
                for each in figures(found, material.evaluations)
            ],
            findings=markup(_findings(findings).to_html(_MOST)) if findings else None,
            gates=markup(_gates(material.gates).to_html(_MOST)) if material.gates else None,
            gate_words=conclusion(material.gates),
            comparisons=[(name, *_comparison(each, markup)) for name, each in material.comparisons],
            failed=markup(_failed(material.failed).to_html(_MOST)) if material.failed else None,
            runs=[(name, len(grid), markup(grid.to_html())) for name, grid in _runs(material.evaluations)],
            skipped=_skipped(material.evaluations),
            ignored={check: why for study in material.studies for check, why in study.ignored.items()},
            hashes=[(study.name, study.hash) for study in material.studies],
            version=__version__,
            style=markup(style),
            script=markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


def answer(
    found: Sequence[Leader], gates: Sequence[GateOutcome], findings: Iterable[Finding], runs: int, failed: int
) -> str:
    """The whole page in a sentence."""
    compared = [each for each in found if each.second is not None]
    ahead = sum(each.is_ahead for each in compared)
    if not compared:
        said = f"{plural(runs, 'result')}, and no two methods to compare"
    elif len(compared) == 1:
        one = compared[0]
        lead = "is significantly ahead of" if one.is_ahead else "leads, not significantly, over"
        said = f"{one.best} {lead} {one.second} by {one.metric} on {one.dataset}"
    else:
        said = f"One method is significantly ahead of the next in {ahead} of {len(compared)} comparisons"
    missed = sum(not gate.passed for gate in gates)
    if gates:
        said += f"; {plural(missed, 'gate')} of {len(gates)} did not pass" if missed else f"; {_all(len(gates))}"
    if failed:
        said += f"; {plural(failed, 'file')} failed or cannot be read"
    wrong = sum(each.severity == "error" and not each.ignored for each in findings)
    said += f"; {plural(wrong, 'finding')} say that numbers are wrong" if wrong > 1 else ""
    said += "; one finding says that numbers are wrong" if wrong == 1 else ""
    return said + "."


def _leaders(found: Sequence[Leader]) -> Grid:
    rows = [
        (
            each.family,
            each.dataset,
            each.best,
            each.second or "–",
            each.verdict,
            each.metric,
            each.value,
            each.difference,
            _ends(each),
            each.runs,
        )
        for each in found
    ]
    names = ("family", "dataset", "leader", "next", "verdict", "by", "value", "difference", "95 % interval", "runs")
    notes = ("Difference: leader minus next; significant at 5 %, corrected for all pairs of methods.",)
    return Grid.of_rows(names, rows, caption="Who leads, by family and dataset", notes=notes)


def _ends(each: Leader) -> str:
    return "–" if math.isnan(each.low) else f"{shown(each.low)} to {shown(each.high)}"


def _findings(findings: Sequence[Finding]) -> Grid:
    """Once per check: the worst of its findings, and where else it was found."""
    ranked = sorted(findings, key=lambda each: (each.ignored, -SEVERITIES.index(each.severity)))
    first: dict[str, Finding] = {}
    places: dict[str, list[str]] = {}
    for each in ranked:
        first.setdefault(each.check, each)
        places.setdefault(each.check, []).append(each.where or "all results together")
    rows = [
        (
            name,
            "ignored" if each.ignored else each.severity,
            f"{each.message}.",
            "; ".join(dict.fromkeys(places[name])),
            each.remedy,
        )
        for name, each in first.items()
    ]
    return Grid.of_rows(("check", "severity", "what", "where", "what to do"), rows, caption="Findings, once per check")


def _gates(gates: Sequence[GateOutcome]) -> Grid:
    ranked = sorted(gates, key=lambda each: each.passed)
    rows = [(titled(each), each.verdict, words(each)) for each in ranked]
    return Grid.of_rows(("gate", "outcome", "what decided"), rows, caption="Gates, those that did not pass first")


def _failed(failed: Sequence[tuple[str, str]]) -> Grid:
    return Grid.of_rows(("file", "why"), failed, caption="Files without results")


def _comparison(compared: Comparison | str, markup: Any) -> tuple[str, Any]:
    """Why there is no comparison, or its conclusion with its tables of methods and of pairs."""
    if isinstance(compared, str):
        return compared, None
    tables = [compared.to_grid("standings"), compared.to_grid("pairs")]
    return "", markup("".join([f"<p>{html_text(compared.conclusion)}</p>", *(each.to_html(_MOST) for each in tables)]))


def _runs(evaluations: Sequence[Evaluation]) -> list[tuple[str, Grid]]:
    """A table per family with a row for every run."""
    tables = []
    for name in dict.fromkeys(each.family for each in evaluations):
        own = [each for each in evaluations if each.family == name]
        keys = list(dict.fromkeys(key for each in own for key in each))
        heads = {key: f"{key} {ARROWS[_one(own, key).direction]}".strip() for key in keys}
        columns: dict[str, Any] = {
            "method": [str(each.run.method) for each in own],
            "dataset": [str(each.run.dataset) for each in own],
            "seed": ["–" if each.run.seed is None else each.run.seed for each in own],
        }
        columns |= {heads[key]: [each[key].value if key in each else math.nan for each in own] for key in keys}
        show: dict[str, Callable[[Any], str]] = {"seed": str}
        show |= {head: _decimals for head in heads.values() if not _whole(columns[head])}
        tables.append((name, Grid(Grid.of(**columns).columns, shown=show, caption=f"All runs of {name}")))
    return tables


def _whole(values: Sequence[float]) -> bool:
    return all(value != value or float(value).is_integer() for value in values)


def _decimals(value: float) -> str:
    """With four decimals, as the other numbers of its column."""
    return f"{value:,.4f}" if 1e-3 <= abs(value) < 1e6 else shown(value)


def _one(evaluations: Sequence[Evaluation], key: str) -> Any:
    return next(each[key] for each in evaluations if key in each)


def _skipped(evaluations: Sequence[Evaluation]) -> list[tuple[str, str, int]]:
    """Metrics that were not computed, why, and in how many runs."""
    counts: dict[tuple[str, str], int] = {}
    for each in evaluations:
        for key, why in each.skipped.items():
            place = (f"{each.family}: {key}", why)
            counts[place] = counts.get(place, 0) + 1
    return [(key, why, count) for (key, why), count in counts.items()][:_MOST]


def _all(gates: int) -> str:
    return "the gate holds" if gates == 1 else f"all {gates} gates hold"
