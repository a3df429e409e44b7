"""The page as data for its template: the first screen, each family below, and the data for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphgauge.audit.lines import FindingLine, finding_lines
from graphgauge.core.errors import InputError
from graphgauge.old.core.pages import Chart
from graphgauge.old.core.result import Result
from graphgauge.old.core.schema import number_to_json
from graphgauge.old.stats.aggregate import Aggregate
from graphgauge.old.stats.collect import Collected
from graphgauge.old.stats.comparison import Comparison
from graphgauge.old.stats.runs import Seed
from graphgauge.old.stats.text import several
from graphgauge.report import sections
from graphgauge.report.asked import Asked, AskedComparison, GateLine
from graphgauge.report.charts import curves_chart, groups_charts, ranks_chart, values_chart
from graphgauge.report.family import Family, family
from graphgauge.report.figures import figures, wrong_edges
from graphgauge.report.forest import forest
from graphgauge.report.limits import limits
from graphgauge.report.marks import Panels
from graphgauge.report.tables import PageTable, from_grid
from graphgauge.report.verdict import Lead, leads, verdict
from graphgauge.report.worst import worst_items

# Findings on the first screen; the rest are below.
_TOP = 4


@dataclass(frozen=True)
class ComparisonView:
    scope: str
    summary: str
    standings: PageTable | None
    tests: PageTable | None
    conclusions: Sequence[str]
    chart: Chart | None
    open: bool


@dataclass(frozen=True)
class FamilyView:
    id: str
    name: str
    counts: str
    conventions: Sequence[tuple[str, str]]
    figures: Sequence[Panels]
    chart: Chart | None
    curves: Chart | None
    tables: Sequence[tuple[str, PageTable]]
    worst: Sequence[PageTable]
    groups: Sequence[Chart]
    comparisons: Sequence[ComparisonView]
    metrics: PageTable
    warnings: Sequence[str]

    @property
    def charts(self) -> list[Chart]:
        own = [chart for panels in self.figures for chart in panels.charts]
        found = [*own, self.chart, self.curves, *self.groups, *(item.chart for item in self.comparisons)]
        return [chart for chart in found if chart is not None]


@dataclass(frozen=True)
class Page:
    title: str
    verdict: str
    leads: Sequence[Lead]
    forest: Panels | None
    gates: Sequence[GateLine]
    comparisons: Sequence[AskedComparison]
    findings: Sequence[FindingLine]
    more_findings: Sequence[FindingLine]
    headline: PageTable
    limits: Sequence[str]
    provenance: str
    families: Sequence[FamilyView]
    data: dict[str, Any]


def page(collected: Collected, asked: Asked, title: str | None = None) -> Page:
    families = [family(name, collected.records, asked.metrics, asked.stratified) for name in collected.families]
    views = [_view(item, f"family-{number}") for number, item in enumerate(families, start=1)]
    evaluations = [record.evaluation for record in collected.records if record.evaluation is not None]
    found = finding_lines(evaluations, asked.ignored)
    first = forest(families, "forest")
    return Page(
        title=title or asked.name or "Evaluation report",
        verdict=verdict(families, asked.gates),
        leads=leads(families),
        forest=first,
        gates=asked.gates,
        comparisons=[item for item in asked.comparisons if not _repeats(item, families)],
        findings=found[:_TOP],
        more_findings=found[_TOP:],
        headline=sections.headline(families),
        limits=limits(collected, asked, families),
        provenance=sections.provenance(collected),
        families=views,
        data={
            "runs": _columns(_runs(families)),
            "rows": _columns(_rows(families)),
            "charts": [_content(chart) for chart in (first.charts if first else ())]
            + [_content(chart) for view in views for chart in view.charts],
            "latex": {item.name: _latex(item) for item in families},
        },
    )


def _repeats(item: AskedComparison, families: Sequence[Family]) -> bool:
    """Whether a comparison that the study asked for is one that its family shows: the same pairs, with the same p."""
    outcomes = [each.outcome for family in families for each in family.comparisons if each.outcome is not None]
    return item.pairs is not None and any(
        outcome.metric == item.metric and item.pairs == {frozenset(t.names): t.p_adjusted for t in outcome.tests}
        for outcome in outcomes
    )


def _view(item: Family, identifier: str) -> FamilyView:
    seeds = {record.run.seed for record in item.records}
    sizes = ((item.methods, "method"), (item.datasets, "dataset"), (seeds, "seed"), (item.records, "result"))
    counts = ", ".join(several(len(found), noun) for found, noun in sizes)
    return FamilyView(
        id=identifier,
        name=item.name,
        counts=counts,
        conventions=sections.shared_conventions(item),
        figures=figures(item, identifier),
        chart=values_chart(item, f"{identifier}-values") if any(row.runs for row in item.rows.values()) else None,
        curves=curves_chart(item, f"{identifier}-curves"),
        tables=[
            (dataset, table)
            for dataset in item.datasets
            if (table := sections.dataset_table(item, dataset)) is not None
        ],
        worst=[
            table
            for dataset in item.datasets
            for table in (*worst_items(item, dataset), wrong_edges(item, dataset))
            if table is not None
        ],
        groups=groups_charts(item, f"{identifier}-groups"),
        comparisons=[_compared(item, number, identifier) for number in range(len(item.comparisons))],
        metrics=sections.metric_table(item),
        warnings=sections.warnings(item),
    )


def _compared(item: Family, number: int, identifier: str) -> ComparisonView:
    compared = item.comparisons[number]
    outcome = compared.outcome
    if outcome is None:
        return ComparisonView(compared.scope, compared.reason, None, None, (), None, True)
    way = f"target {outcome.target:g}" if outcome.target is not None else f"{outcome.better} is better"
    return ComparisonView(
        scope=compared.scope,
        summary=f"{outcome.metric} ({way}) over {several(len(outcome.units), outcome.unit)}",
        standings=from_grid(outcome.grid(), f"Standings by {outcome.metric} on {compared.scope}"),
        tests=from_grid(outcome.tests_grid(), f"Pairs of methods, {outcome.metric} on {compared.scope}"),
        conclusions=_conclusions(outcome),
        chart=ranks_chart(compared, f"{identifier}-ranks-{number}"),
        open=len(item.comparisons) == 1 or any(test.can_reject for test in outcome.tests),
    )


def _conclusions(outcome: Comparison) -> list[str]:
    """What the tables do not say: the design, and why pairs cannot be rejected."""
    unable = list(dict.fromkeys(test.conclusion for test in outcome.tests if not test.can_reject))
    return [outcome.design.sentence, *unable[:1], *outcome.notes]


def _runs(families: Sequence[Family]) -> list[dict[str, Any]]:
    """Every value of every run, in full."""
    return [
        {
            "family": item.name,
            "dataset": record.run.dataset,
            "method": record.run.method,
            "seed": record.run.seed,
            "metric": key,
            "value": number_to_json(result.value),
            "low": number_to_json(result.interval.low) if result.interval else None,
            "high": number_to_json(result.interval.high) if result.interval else None,
            "chance": number_to_json(level.value) if (level := result.chance_level) else None,
            "ideal": number_to_json(_ideal(result)),
            "n": result.n,
            "unit": result.unit,
        }
        for item in families
        for record in item.records
        for key, result in (record.evaluation or {}).items()
    ]


def _ideal(result: Result) -> float | None:
    """The last of the levels that are the best possible on this data."""
    return next((level.value for level in reversed(result.chance) if level.kind == "ideal"), None)


def _rows(families: Sequence[Family]) -> list[dict[str, Any]]:
    """Every mean, as shown in the tables."""
    return [
        {
            "family": item.name,
            "dataset": row.dataset,
            "method": row.method,
            "metric": row.metric,
            "value": number_to_json(row.value),
            "low": number_to_json(row.low),
            "high": number_to_json(row.high),
            "over": row.over,
            "runs": row.runs,
            "planned": row.planned,
            "mark": row.mark,
        }
        for item in families
        for row in item.rows.values()
    ]


def _content(chart: Chart) -> dict[str, Any]:
    content = chart.content()
    return content if chart.rows is None else {**content, "rows": _columns(chart.rows)}


def _columns(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Rows as columns; repeated texts become indices into a list, and a column without values is null."""
    columns: dict[str, Any] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values: list[float | Seed | None] = [row.get(name) for row in rows]
        if all(value is None for value in values):
            columns[name] = None
        elif any(isinstance(value, str) for value in values):
            levels = {value: code for code, value in enumerate(dict.fromkeys(values))}
            columns[name] = {"levels": list(levels), "codes": [levels[value] for value in values]}
        else:
            columns[name] = values
    return columns


def _latex(item: Family) -> str:
    """The leading metrics as LaTeX; nothing if their marks cannot be decided."""
    tables = [item.tables[key] for key in item.headlines]
    if not tables:
        return ""
    rows = [row for table in tables for row in table.rows]
    panels = {key: panel for table in tables for key, panel in table.panels.items()}
    first = tables[0]
    whole = Aggregate(rows, panels, confidence=first.confidence, alpha=first.alpha, missing=first.missing)
    try:
        return whole.render("latex")
    except InputError:  # infinite values cannot be paired
        return ""
