"""The page's charts as Vega-Lite: data come by name from the page, colours from its style sheet."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from graphgauge.core.extras import need
from graphgauge.old.core.pages import Chart, finished
from graphgauge.old.core.schema import number_to_json
from graphgauge.old.core.text import ARROWS
from graphgauge.old.stats.collect import Record
from graphgauge.report.family import Compared, Family
from graphgauge.report.marks import POINTS, choice, is_number, is_ordered, lines, method_scales, ticks
from graphgauge.report.tables import natural

# The number of groups in a chart: the largest ones.
_GROUPS = 25
# The fewest levels of a metric that make a curve.
_LEVELS = 3
# Metrics that the groups of a family can be shown by.
_METRICS = 3


def values_chart(family: Family, identifier: str) -> Chart:
    """Every run, the mean over runs with its interval, and its levels, for one metric and dataset at a time."""
    alt = need("altair", "the HTML report")
    metrics = [*family.headlines, *(key for key in family.keys if key not in family.headlines)]
    labels = [f"{key} {ARROWS[family.facts[key].direction]}".strip() for key in metrics]
    chosen = [choice(alt, "chosen_metric", "Metric", metrics, labels)]
    rule = "datum.metric === chosen_metric"
    if len(family.datasets) > 1:
        chosen.append(choice(alt, "chosen_dataset", "Dataset", family.datasets))
        rule += " && datum.dataset === chosen_dataset"
    place = alt.Y("method:N", sort=family.methods, title=None, axis=alt.Axis(grid=False))
    axis = alt.X("value:Q", title=None, scale=alt.Scale(zero=False, nice=True), axis=ticks(alt))
    runs = alt.Chart(alt.NamedData("runs")).transform_filter(f"{rule} && isFinite(datum.value)")
    means = alt.Chart(alt.NamedData("rows")).transform_filter(f"{rule} && isFinite(datum.value)")
    layers = alt.layer(
        runs.mark_point(size=36, color="var(--quiet)", opacity=0.75, aria=False).encode(
            axis, place, tooltip=["method:N", "dataset:N", "seed:N", "metric:N", "value:Q"]
        ),
        *(
            runs.transform_filter(f"isFinite(datum.{level})")
            .mark_tick(color=colour, thickness=thickness, size=22, aria=False)
            .encode(alt.X(f"{level}:Q"), place, tooltip=["method:N", f"{level}:Q"])
            for level, colour, thickness in (("chance", "var(--warm)", 2), ("ideal", "var(--good)", 4))
        ),
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
        "single runs; thin orange tick: chance level; thick green tick: the best level on this data, if it is known.",
        finished(alt, layers.add_params(*chosen), 34 * len(family.methods) + 20),
        ["dataset", "method", "metric", "value", "low", "high", "over", "runs", "planned"],
        family=family.name,
    )


def curves_chart(family: Family, identifier: str) -> Chart | None:
    """Metrics that were computed at several levels, such as Hits@k, as curves with the methods overlaid."""
    alt = need("altair", "the HTML report")
    curves = _curves(family)
    rows = [
        {
            "curve": curve,
            "dataset": dataset,
            "method": method,
            "level": level,
            "value": number_to_json(row.value),
            "low": number_to_json(row.low),
            "high": number_to_json(row.high),
            "chance": number_to_json(row.chance[-1]) if row.chance else None,
        }
        for curve, keys in curves.items()
        for dataset in family.datasets
        for method in family.methods
        for level, key in keys.items()
        if (row := family.rows.get((key, dataset, method))) is not None and row.value == row.value
    ]
    if not rows or len(rows) > POINTS:
        return None
    names = [curve for curve in curves if any(row["curve"] == curve for row in rows)]
    params, rule = [choice(alt, "chosen_curve", "Metric", names)] if len(names) > 1 else [], []
    if len(names) > 1:
        rule.append("datum.curve === chosen_curve")
    if len(family.datasets) > 1:
        params.append(choice(alt, "chosen_dataset", "Dataset", family.datasets))
        rule.append("datum.dataset === chosen_dataset")
    base = alt.Chart(alt.NamedData("rows"))
    base = base.transform_filter(" && ".join(rule)) if rule else base
    told = ["method:N", "dataset:N", "curve:N", "level:Q", "value:Q", "low:Q", "high:Q", "chance:Q"]
    levels = sorted({level for keys in curves.values() for level in keys})
    titles = {re.split("@| by ", name)[-1] for name in names}
    counted = all(level >= 1 and level == int(level) for level in levels)  # such as k, over decades
    scale = alt.Scale(type="log", nice=False) if counted and levels[-1] >= 10 * levels[0] else alt.Scale(zero=False)
    marked = alt.Axis(values=levels, format=".6~g", grid=False) if len(levels) <= 8 else ticks(alt)
    axis = alt.X("level:Q", title=titles.pop() if len(titles) == 1 else "level", axis=marked, scale=scale)
    chance = (
        base.transform_filter("isFinite(datum.chance)")
        .mark_line(color="var(--quiet)", strokeDash=[4, 4], strokeWidth=1.5, aria=False)
        .encode(axis, alt.Y("mean(chance):Q"))
    )
    height = alt.Y("value:Q", title=None, scale=alt.Scale(zero=False))
    whole = alt.layer(chance, *lines(alt, base, family, axis, height, told))
    return Chart(
        identifier,
        f"{names[0]} over its levels" if len(names) == 1 else "Metrics over their levels",
        "A line per method: means over runs, with 95 % intervals; dashed: chance level, averaged over methods.",
        finished(alt, whole.add_params(*params) if params else whole, 300),
        ["curve", "dataset", "method", "level", "value", "low", "high", "chance"],
        rows,
    )


def _curves(family: Family) -> dict[str, dict[float, str]]:
    """Metrics with one varying numeric parameter and at least three values of it: level to key, in order."""
    found: dict[str, dict[float, str]] = {}
    for key in family.keys:
        result = family.facts[key]
        if len(result.params) != 1:
            continue
        ((param, given),) = result.params.items()
        if result.metric == "hits" and any(_has_hits(record) for record in family.records):
            continue  # shown over all k
        name, at, _ = key.partition("@")
        level = float(given) if is_number(given) else _read(given)
        if level is not None and math.isfinite(level):
            found.setdefault(f"{name}@{param}" if at else f"{result.metric} by {param}", {})[level] = key
    return {name: dict(sorted(levels.items())) for name, levels in found.items() if len(levels) >= _LEVELS}


def _has_hits(record: Record) -> bool:
    return record.evaluation is not None and "hits" in record.evaluation.drawings


def _read(text: object) -> float | None:
    try:
        return float(text) if isinstance(text, str) else None
    except ValueError:
        return None


def ranks_chart(compared: Compared, identifier: str) -> Chart | None:
    """The critical-difference diagram: mean ranks on a line, bars joining methods without a significant difference."""
    comparison = compared.outcome
    if comparison is None or len(comparison.standings) < 3:
        return None
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
    over = comparison.over
    return Chart(
        identifier,
        f"Critical-difference diagram, {comparison.metric} on {compared.scope}",
        f"Mean rank over {over}. A bar joins methods without a significant difference by pairwise tests with Holm's "
        f"correction at α = {comparison.alpha:g}. Nemenyi's critical difference: {comparison.critical_difference:.3g}.",
        _ranks_spec(count, len(bars)),
        ["method", "mean_rank"],
        ranks,
        more={"bars": bars, "members": members},
    )


@lru_cache(maxsize=64)
def _ranks_spec(count: int, bars: int) -> dict[str, Any]:
    """The diagram of so many methods and groups, which is the same for all data."""
    alt = need("altair", "the HTML report")
    height = count + bars
    axis = alt.X(
        "mean_rank:Q",
        title="mean rank, 1 is best",
        scale=alt.Scale(domain=[1, count]),
        axis=alt.Axis(orient="top", values=list(range(1, count + 1)), format="d"),
    )
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
    return finished(alt, layers, 26 * height + 10)


def groups_charts(family: Family, identifier: str) -> list[Chart]:
    """The leading metrics along each breakdown axis, with the methods overlaid."""
    alt = need("altair", "the HTML report")
    charts = []
    for number, axis in enumerate(_axes(family)):
        rows = _group_rows(family, axis)
        if not rows or len(rows) > POINTS:
            continue
        params, rules = [], []
        metrics, datasets = (list(dict.fromkeys(row[name] for row in rows)) for name in ("metric", "dataset"))
        for name, title, options in (("metric", "Metric", metrics), ("dataset", "Dataset", datasets)):
            if len(options) > 1:
                params.append(choice(alt, f"chosen_{name}", title, options))
                rules.append(f"datum.{name} === chosen_{name}")
        points = alt.Chart(alt.NamedData("rows")).transform_filter(" && ".join([*rules, "isFinite(datum.value)"]))
        title = metrics[0] if len(metrics) == 1 else "value"
        if is_ordered(axis, [row["group"] for row in rows]):
            layers, height = _trajectory(alt, points, family, title, axis), 300
            caption = f"A line per method: the mean over runs at each {axis}; band: from the lowest to the highest run."
        else:
            layers, height, caption = _groups(alt, points, family, title, rows)
        charts.append(
            Chart(
                f"{identifier}-{number}",
                f"{metrics[0] if len(metrics) == 1 else 'Leading metrics'} by {axis}",
                caption,
                finished(alt, layers.add_params(*params) if params else layers, height),
                ["metric", "dataset", "method", "seed", "group", "n", "value", "low", "high"],
                rows,
            )
        )
    return charts


def _over_runs(points: Any) -> Any:
    return points.transform_aggregate(
        value="mean(value)", low="min(value)", high="max(value)", runs="count()", groupby=["method", "dataset", "group"]
    )


def _trajectory(alt: Any, points: Any, family: Family, title: str, axis: str) -> Any:
    """Ordered groups, such as cycles and horizons, as lines."""
    marked = alt.Axis(tickCount=alt.ExprRef("clamp(width / 60, 2, 12)"), tickMinStep=1)
    place = alt.X("group:Q", title=axis, axis=marked, scale=alt.Scale(zero=False, nice=False))
    height = alt.Y("value:Q", title=title, scale=alt.Scale(zero=False))
    told = ["method:N", "dataset:N", "group:Q", "value:Q", "low:Q", "high:Q", "runs:Q"]
    return alt.layer(*lines(alt, _over_runs(points), family, place, height, told, size=40))


def _groups(alt: Any, points: Any, family: Family, title: str, rows: Sequence[dict[str, Any]]) -> tuple[Any, int, str]:
    """Groups by name, in the order of their names if these count, else the largest first."""
    groups = list(dict.fromkeys(row["group"] for row in rows))
    colour, shape, _ = method_scales(alt, family)
    place = alt.Y("group:N", sort=groups, title=None, axis=alt.Axis(grid=True, tickBand="extent", labelLimit=180))
    beside = alt.YOffset("method:N", sort=family.methods, scale=alt.Scale(paddingOuter=0.6))
    axis = alt.X("value:Q", title=title, scale=alt.Scale(zero=False), axis=ticks(alt, grid=False))
    means = _over_runs(points)
    layers = alt.layer(
        points.mark_point(filled=True, size=14, opacity=0.45, aria=False).encode(
            axis,
            place,
            colour,
            yOffset=beside,
            tooltip=["method:N", "dataset:N", "seed:N", "group:N", "n:Q", "value:Q"],
        ),
        means.mark_rule(opacity=0.55, aria=False).encode(alt.X("low:Q"), place, colour, x2="high:Q", yOffset=beside),
        means.mark_point(filled=True, size=62, opacity=1, aria=False).encode(
            axis,
            place,
            colour,
            shape,
            yOffset=beside,
            tooltip=["method:N", "dataset:N", "group:N", "value:Q", "low:Q", "high:Q", "runs:Q"],
        ),
    )
    height = len(groups) * (14 * min(len(family.methods), 20) + 14) + 10
    few = f"; the {_GROUPS} largest groups" if len(groups) == _GROUPS else ""
    return layers, height, f"Large marks: means over runs; small: single runs, joined by a line{few}."


def _axes(family: Family) -> list[str]:
    evaluations = [record.evaluation for record in family.records if record.evaluation is not None]
    return list(dict.fromkeys(axis for evaluation in evaluations for axis in evaluation.breakdowns))


def _group_rows(family: Family, axis: str) -> list[dict[str, Any]]:
    """Values of the axis's leading metrics, for the groups that are largest where they first occur."""
    evaluated = [(record.run, record.evaluation) for record in family.records if record.evaluation is not None]
    broken = [(run, evaluation) for run, evaluation in evaluated if axis in evaluation.breakdowns]
    first = broken[0][1].breakdowns[axis]
    metrics = [
        key for key in (*family.headlines, *family.keys) if key != axis and first.column_of(key) in first.columns
    ]
    chosen = [key for key in dict.fromkeys(metrics) if key in family.headlines][:_METRICS] or metrics[:1]
    tables = [
        (run, evaluation[key].by(axis), evaluation.breakdowns[axis].column_of(key))
        for key in chosen
        for run, evaluation in broken
        if key in evaluation and first.column_of(key) in evaluation.breakdowns[axis].columns
    ]
    sizes: dict[Any, int] = {}
    for _, table, _ in tables:
        for label, size in zip(table[axis].tolist(), table["n"].tolist(), strict=True):
            sizes.setdefault(label, size)
    ordered = is_ordered(axis, sizes)
    # A trajectory needs all of its points, and names only as many as can be read.
    shown = set(sizes) if ordered else set(sorted(sizes, key=lambda label: -sizes[label])[:_GROUPS])
    order = _order(shown, sizes)
    rows = []
    for run, table, column in tables:
        names = [name for name in ("value", "low", "high") if name in table.columns]
        for label, size, *values in zip(
            table[axis].tolist(), table["n"].tolist(), *(table[name].tolist() for name in names), strict=True
        ):
            if label in shown:
                fields = dict(zip(names, map(number_to_json, values), strict=True))
                group = label if ordered else str(label)
                rows.append(
                    {
                        "metric": column,
                        "dataset": run.dataset,
                        "method": run.method,
                        "seed": run.seed,
                        "group": group,
                        "n": size,
                        **fields,
                    }
                )
    return sorted(rows, key=lambda row: order[str(row["group"])])


def _order(labels: Iterable[Any], sizes: Mapping[Any, int]) -> dict[str, int]:
    """Numbers, and names with numbers in them (6A, 6B, 7A; step 2, step 10), in their order; others by size."""
    known = list(labels)
    counted = all(is_number(label) or any(c.isdigit() for c in str(label)) for label in known)
    by = sorted(known, key=natural if counted else lambda label: -sizes[label])
    return {str(label): place for place, label in enumerate(by)}
