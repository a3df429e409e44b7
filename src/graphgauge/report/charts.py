"""The page's charts as Vega-Lite: data come by name from the page, colours from its style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphgauge.core.extras import need
from graphgauge.core.pages import SHAPES, Chart, finished
from graphgauge.core.schema import number_to_json
from graphgauge.core.text import ARROWS
from graphgauge.report.family import Compared, Family

# The number of groups in a chart: the largest ones.
_GROUPS = 25
# The most points in a chart of groups that keep it readable and the page small.
_POINTS = 5000


def values_chart(family: Family, identifier: str) -> Chart:
    """Every run, the mean over runs with its interval, and chance, for one metric and dataset at a time."""
    alt = need("altair", "the HTML report")
    metrics = [*family.headlines, *(key for key in family.keys if key not in family.headlines)]
    labels = [f"{key} {ARROWS[family.facts[key].direction]}".strip() for key in metrics]
    chosen = [_choice(alt, "chosen_metric", "Metric", metrics, labels)]
    rule = "datum.metric === chosen_metric"
    if len(family.datasets) > 1:
        chosen.append(_choice(alt, "chosen_dataset", "Dataset", family.datasets))
        rule += " && datum.dataset === chosen_dataset"
    place = alt.Y("method:N", sort=family.methods, title=None, axis=alt.Axis(grid=False))
    axis = alt.X("value:Q", title=None, scale=alt.Scale(zero=False, nice=True), axis=_ticks(alt))
    runs = alt.Chart(alt.NamedData("runs")).transform_filter(f"{rule} && isFinite(datum.value)")
    means = alt.Chart(alt.NamedData("rows")).transform_filter(f"{rule} && isFinite(datum.value)")
    layers = alt.layer(
        runs.mark_point(size=36, color="var(--quiet)", opacity=0.75, aria=False).encode(
            axis, place, tooltip=["method:N", "dataset:N", "seed:N", "metric:N", "value:Q"]
        ),
        runs.transform_filter("isFinite(datum.chance)")
        .mark_tick(color="var(--warm)", thickness=2, size=22, aria=False)
        .encode(alt.X("chance:Q"), place, tooltip=["method:N", "chance:Q"]),
        means.transform_filter("isFinite(datum.low) && isFinite(datum.high)")
        .mark_rule(color="var(--accent)", strokeWidth=3, aria=False)
        .encode(alt.X("low:Q"), place, x2="high:Q"),
        means.mark_point(filled=True, size=90, color="var(--accent)", opacity=1, aria=False).encode(
            axis, place, tooltip=["method:N", "dataset:N", "metric:N", "value:Q", "low:Q", "high:Q", "over:N", "runs:Q"]
        ),
    )
    return Chart(
        identifier,
        "Methods side by side",
        "Large dot: mean over runs, or the only run; line: its 95 % interval; open circles: "
        "single runs; orange tick: chance level.",
        finished(alt, layers.add_params(*chosen), 34 * len(family.methods) + 20),
        ["dataset", "method", "metric", "value", "low", "high", "over", "runs", "planned"],
        family=family.name,
    )


def ranks_chart(compared: Compared, identifier: str) -> Chart | None:
    """The critical-difference diagram: mean ranks on a line, bars joining methods without a significant difference."""
    comparison = compared.outcome
    if comparison is None or len(comparison.standings) < 3:
        return None
    alt = need("altair", "the HTML report")
    count = len(comparison.standings)
    place = {standing.method: standing.mean_rank for standing in comparison.standings}
    ranks = [
        {"method": method, "mean_rank": rank, "line": line, "label": f"{method}  {rank:.2f}"}
        for line, (method, rank) in enumerate(place.items())
    ]
    members = [
        {"line": count + line, "mean_rank": place[name], "method": name}
        for line, clique in enumerate(comparison.cliques)
        for name in clique
    ]
    # Cliques list their methods in the order of ranks.
    bars = [
        {"line": count + line, "first": place[clique[0]], "last": place[clique[-1]]}
        for line, clique in enumerate(comparison.cliques)
    ]
    height = count + len(bars)
    axis = alt.X("mean_rank:Q", title="mean rank, 1 is best", scale=alt.Scale(domain=[1, count]),
                 axis=alt.Axis(orient="top", values=list(range(1, count + 1)), format="d"))  # fmt: skip
    line = alt.Y(
        "line:Q", axis=None, scale=alt.Scale(domain=[-0.6, height - 0.4], reverse=True, nice=False, zero=False)
    )
    points = alt.Chart(alt.NamedData("rows"))
    left = f"datum.mean_rank <= {(count + 1) / 2}"
    layers = alt.layer(
        points.mark_rule(color="var(--quiet)", strokeDash=[2, 3], aria=False).encode(axis, line, y2=alt.value(0)),
        points.mark_point(filled=True, size=80, color="var(--accent)", opacity=1, aria=False).encode(
            axis, line, tooltip=["method:N", "mean_rank:Q"]
        ),
        *(
            points.transform_filter(rule)
            .mark_text(align=align, dx=shift, fontSize=12, color="var(--ink)", aria=False, limit=320, **outline)
            .encode(axis, line, text="label:N")
            for rule, align, shift in ((left, "left", 9), (f"!({left})", "right", -9))
            # Lines from other methods end at the outline of a name.
            for outline in ({"stroke": "var(--page)", "strokeWidth": 5}, {})
        ),
        alt.Chart(alt.NamedData("bars"))
        .mark_rule(color="var(--accent)", strokeWidth=7, strokeCap="round", aria=False)
        .encode(alt.X("first:Q"), line, x2="last:Q"),
        alt.Chart(alt.NamedData("members"))
        .mark_point(filled=True, size=14, color="var(--page)", opacity=1, aria=False)
        .encode(axis, line, tooltip=["method:N"]),
    )
    over = comparison.over
    return Chart(
        identifier,
        f"Critical-difference diagram, {comparison.metric} on {compared.scope}",
        f"Mean rank over {over}. A bar joins methods without a significant difference by pairwise tests with Holm's "
        f"correction at α = {comparison.alpha:g}. Nemenyi's critical difference: {comparison.critical_difference:.3g}.",
        finished(alt, layers, 26 * height + 10),
        ["method", "mean_rank"],
        ranks,
        more={"bars": bars, "members": members},
    )


def groups_charts(family: Family, identifier: str) -> list[Chart]:
    """The leading metric of every run along each breakdown axis."""
    alt = need("altair", "the HTML report")
    charts = []
    for number, axis in enumerate(_axes(family)):
        metric, rows = _group_rows(family, axis)
        if not rows or len(rows) > _POINTS:
            continue
        groups = list(dict.fromkeys(row["group"] for row in rows))
        methods = family.methods
        palette = [f"var(--c{1 + index % 7})" for index in range(len(methods))]
        shapes = [SHAPES[index % len(SHAPES)] for index in range(len(methods))]
        points = alt.Chart(alt.NamedData("rows"))
        params = []
        if len(family.datasets) > 1:
            params.append(
                _choice(alt, "chosen_dataset", "Dataset", list(dict.fromkeys(row["dataset"] for row in rows)))
            )
            points = points.transform_filter("datum.dataset === chosen_dataset")
        key = alt.Legend(title=None, orient="top", columns=4)
        points = points.mark_point(filled=True, size=46, opacity=0.7, aria=False).encode(
            alt.X("value:Q", title=metric, scale=alt.Scale(zero=False), axis=_ticks(alt)),
            alt.Y("group:N", sort=groups, title=None),
            alt.Color("method:N", sort=methods, scale=alt.Scale(domain=methods, range=palette), legend=key),
            alt.Shape("method:N", sort=methods, scale=alt.Scale(domain=methods, range=shapes), legend=key),
            yOffset=alt.YOffset("method:N", sort=methods),
            tooltip=["method:N", "dataset:N", "seed:N", "group:N", "n:Q", "value:Q"],
        )
        charts.append(
            Chart(
                f"{identifier}-{number}",
                f"{metric} by {axis}",
                f"One mark per run and group; at most the {_GROUPS} largest groups.",
                finished(
                    alt, points.add_params(*params) if params else points, len(groups) * max(18, 9 * len(methods)) + 10
                ),
                ["dataset", "method", "seed", "group", "n", "value", "low", "high"],
                rows,
            )
        )
    return charts


def _axes(family: Family) -> list[str]:
    evaluations = [record.evaluation for record in family.records if record.evaluation is not None]
    return list(dict.fromkeys(axis for evaluation in evaluations for axis in evaluation.breakdowns))


def _group_rows(family: Family, axis: str) -> tuple[str, list[dict[str, Any]]]:
    """The axis's leading metric, for the groups that are largest where they first occur."""
    evaluated = [(record.run, record.evaluation) for record in family.records if record.evaluation is not None]
    broken = [(run, evaluation, evaluation.breakdowns[axis]) for run, evaluation in evaluated
              if axis in evaluation.breakdowns]  # fmt: skip
    _, _, first = broken[0]
    metrics = [key for key in (*family.headlines, *family.keys) if key != axis]
    metric = next((key for key in metrics if first.column_of(key) in first.columns), None)
    if metric is None:
        return "", []
    column = first.column_of(metric)
    tables = [(run, evaluation[metric].by(axis)) for run, evaluation, table in broken
              if metric in evaluation and column in table.columns]  # fmt: skip
    sizes: dict[str, int] = {}
    for _, table in tables:
        for label, size in zip(table[axis].tolist(), table["n"].tolist(), strict=True):
            sizes.setdefault(str(label), size)
    shown = set(sorted(sizes, key=lambda label: -sizes[label])[:_GROUPS])
    rows = []
    for run, table in tables:
        names = [name for name in ("value", "low", "high") if name in table.columns]
        for label, size, *values in zip(
            table[axis].tolist(), table["n"].tolist(), *(table[name].tolist() for name in names), strict=True
        ):
            if str(label) in shown:
                fields = dict(zip(names, map(number_to_json, values), strict=True))
                rows.append({"dataset": run.dataset, "method": run.method, "seed": run.seed, "group": str(label),
                             "n": size, **fields})  # fmt: skip
    return column, sorted(rows, key=lambda row: -sizes[row["group"]])


def _choice(alt: Any, name: str, title: str, options: Sequence[str], labels: Sequence[str] | None = None) -> Any:
    bound = alt.binding_select(options=list(options), labels=list(labels or options), name=f"{title} ")
    return alt.param(name=name, value=options[0], bind=bound)


def _ticks(alt: Any) -> Any:
    """As many as leave room for their labels, even on a phone."""
    return alt.Axis(tickCount=alt.ExprRef("clamp(width / 75, 2, 8)"))
