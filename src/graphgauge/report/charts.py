"""The page's charts as Vega-Lite: data come by name from the page, colours from its style sheet."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
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
# The most rows of the first picture, and the fewest levels of a metric that make a curve.
_FOREST = 48
_LEVELS = 3
_CLOSE, _OTHER, _ALONE = "not significantly different", "significantly different", "not tested"
_STATUS = {
    "best": ("var(--accent)", "diamond"),
    _CLOSE: ("var(--c5)", "circle"),
    _OTHER: ("var(--quiet)", "square"),
    _ALONE: ("var(--accent)", "circle"),
}
_DASHES = [[1, 0], [7, 3], [2, 2], [7, 2, 2, 2], [10, 4], [4, 1], [1, 3]]


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


def forest_chart(families: Sequence[Family], identifier: str) -> Chart | None:
    """The first picture: methods × datasets by the leading metric, with intervals, chance and significance."""
    alt = need("altair", "the HTML report")
    rows = [row for family in families for row in _forest_rows(family)]
    if not rows:
        return None
    shown = list(dict.fromkeys(row["family"] for row in rows))
    base = alt.Chart(alt.NamedData("rows"))
    params = []
    if len(shown) > 1:
        metric = {row["family"]: row["metric"] for row in rows}
        labels = [f"{name}: {metric[name]}" for name in shown]
        params.append(_choice(alt, "chosen_family", "Family", shown, labels))
        base = base.transform_filter("datum.family === chosen_family")
    statuses = [status for status in _STATUS if any(row["status"] == status for row in rows)]
    key = alt.Legend(title=None, orient="top", columns=3, labelLimit=300)
    colours = alt.Scale(domain=statuses, range=[_STATUS[status][0] for status in statuses])
    shapes = alt.Scale(domain=statuses, range=[_STATUS[status][1] for status in statuses])
    place = alt.Y("line:N", sort=alt.EncodingSortField("order"), title=None, axis=alt.Axis(grid=False, labelLimit=260))
    axis = alt.X("value:Q", title=rows[0]["metric"] if len(shown) == 1 else None,
                 scale=alt.Scale(zero=False, nice=True), axis=_ticks(alt))  # fmt: skip
    colour = alt.Color("status:N", scale=colours, legend=key)
    layers = alt.layer(
        base.transform_filter("isFinite(datum.low) && isFinite(datum.high)")
        .mark_rule(strokeWidth=3, aria=False)
        .encode(alt.X("low:Q"), place, colour, x2="high:Q"),
        base.transform_filter("isFinite(datum.chance)")
        .mark_tick(color="var(--warm)", thickness=2, size=16, aria=False)
        .encode(alt.X("chance:Q"), place, tooltip=["line:N", "chance:Q"]),
        base.mark_point(filled=True, size=85, opacity=1, aria=False).encode(
            axis, place, colour, alt.Shape("status:N", scale=shapes, legend=key),
            tooltip=["method:N", "dataset:N", "metric:N", "value:Q", "low:Q", "high:Q", "chance:Q", "status:N"],
        ),
    )  # fmt: skip
    most = max(Counter(row["family"] for row in rows).values())
    cut = any(len(family.methods) * len(family.datasets) > _FOREST for family in families)
    return Chart(
        identifier,
        "Methods on datasets by the leading metric",
        "Mark: mean over runs, or the only run; line: its 95 % interval; orange tick: chance level. Best methods first"
        + (f"; at most {_FOREST} rows, the table has all." if cut else "."),
        finished(alt, layers.add_params(*params) if params else layers, 21 * most + 10),
        ["family", "dataset", "method", "metric", "value", "low", "high", "chance", "status"],
        rows,
    )


def _forest_rows(family: Family) -> list[dict[str, Any]]:
    if not family.headlines:
        return []
    metric = family.headlines[0]
    each = max(1, _FOREST // max(1, len(family.datasets)))
    several = len(family.datasets) > 1
    rows: list[dict[str, Any]] = []
    for dataset in family.datasets[:_FOREST]:
        ranked = [*family.places(dataset), *family.methods]
        found = [family.rows.get((metric, dataset, method)) for method in dict.fromkeys(ranked)]
        for row in [row for row in found if row is not None and row.value == row.value][:each]:
            level = row.chance[-1] if row.chance else None
            rows.append({
                "family": family.name, "dataset": dataset, "method": row.method, "order": len(rows),
                "line": f"{dataset} · {row.method}" if several else row.method,
                "metric": f"{metric} {ARROWS[family.facts[metric].direction]}".strip(),
                "value": number_to_json(row.value), "low": number_to_json(row.low), "high": number_to_json(row.high),
                "chance": None if level is None else number_to_json(level),
                "status": {"best": "best", "close": _CLOSE}.get(row.mark, _OTHER if row.mark or _tested(family, dataset)
                                                                else _ALONE),
            })  # fmt: skip
    return rows


def _tested(family: Family, dataset: str) -> bool:
    return any(row.mark for row in family.by(family.headlines[0], dataset))


def curves_chart(family: Family, identifier: str) -> Chart | None:
    """Metrics that were computed at several levels, such as Hits@k, as curves with the methods overlaid."""
    alt = need("altair", "the HTML report")
    curves = _curves(family)
    rows = [
        {
            "curve": curve, "dataset": dataset, "method": method, "level": level, "value": number_to_json(row.value),
            "low": number_to_json(row.low), "high": number_to_json(row.high),
            "chance": number_to_json(row.chance[-1]) if row.chance else None,
        }
        for curve, keys in curves.items()
        for dataset in family.datasets
        for method in family.methods
        for level, key in keys.items()
        if (row := family.rows.get((key, dataset, method))) is not None and row.value == row.value
    ]  # fmt: skip
    if not rows or len(rows) > _POINTS:
        return None
    names = [curve for curve in curves if any(row["curve"] == curve for row in rows)]
    params, rule = [_choice(alt, "chosen_curve", "Metric", names)] if len(names) > 1 else [], []
    if len(names) > 1:
        rule.append("datum.curve === chosen_curve")
    if len(family.datasets) > 1:
        params.append(_choice(alt, "chosen_dataset", "Dataset", family.datasets))
        rule.append("datum.dataset === chosen_dataset")
    base = alt.Chart(alt.NamedData("rows"))
    base = base.transform_filter(" && ".join(rule)) if rule else base
    told = ["method:N", "dataset:N", "curve:N", "level:Q", "value:Q", "low:Q", "high:Q", "chance:Q"]
    lines = _lines(alt, base, family, alt.X("level:Q", title=_level_title(names), axis=_ticks(alt)), told)
    chance = base.transform_filter("isFinite(datum.chance)").mark_line(
        color="var(--quiet)", strokeDash=[4, 4], strokeWidth=1.5, aria=False
    ).encode(alt.X("level:Q"), alt.Y("mean(chance):Q"))  # fmt: skip
    whole = alt.layer(chance, *lines)
    return Chart(
        identifier,
        f"{names[0]} over its levels" if len(names) == 1 else "Metrics over their levels",
        "A line per method: means over runs, with 95 % intervals; dashed: chance level, averaged over methods.",
        finished(alt, whole.add_params(*params) if params else whole, 300),
        ["curve", "dataset", "method", "level", "value", "low", "high", "chance"],
        rows,
    )


def _level_title(names: Sequence[str]) -> str:
    return names[0].partition("@")[2] if len(names) == 1 else "level"


def _curves(family: Family) -> dict[str, dict[float, str]]:
    """Metrics with one varying numeric parameter and at least three values of it: level to key, in order."""
    found: dict[str, dict[float, str]] = {}
    for key in family.keys:
        result = family.facts[key]
        name, at, level = key.partition("@")
        numeric = [item for item in result.params.items() if _is_number(item[1])]
        if at and len(result.params) == 1 and numeric and _is_number(_read(level)):
            found.setdefault(f"{name}@{numeric[0][0]}", {})[float(numeric[0][1])] = key
    return {name: dict(sorted(levels.items())) for name, levels in found.items() if len(levels) >= _LEVELS}


def _read(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _lines(alt: Any, base: Any, family: Family, axis: Any, tooltip: list[str]) -> list[Any]:
    """A line per method with marks and intervals, in the colours and shapes of the method."""
    colour, shape, dash = _method_scales(alt, family)
    height = alt.Y("value:Q", title=None, scale=alt.Scale(zero=False))
    return [
        base.transform_filter("isFinite(datum.low) && isFinite(datum.high)")
        .mark_area(opacity=0.13, aria=False)
        .encode(axis, alt.Y("low:Q"), colour, y2="high:Q"),
        base.mark_line(strokeWidth=2.2, aria=False).encode(axis, height, colour, dash),
        base.mark_point(filled=True, size=48, opacity=1, aria=False).encode(
            axis, height, colour, shape, tooltip=tooltip
        ),
    ]


def _method_scales(alt: Any, family: Family) -> tuple[Any, Any, Any]:
    methods = family.methods
    key = alt.Legend(title=None, orient="top", columns=4, symbolOpacity=1)
    palette = [f"var(--c{1 + index % 7})" for index in range(len(methods))]
    shapes = [SHAPES[index % len(SHAPES)] for index in range(len(methods))]
    dashes = [_DASHES[index % len(_DASHES)] for index in range(len(methods))]
    return (
        alt.Color("method:N", sort=methods, scale=alt.Scale(domain=methods, range=palette), legend=key),
        alt.Shape("method:N", sort=methods, scale=alt.Scale(domain=methods, range=shapes), legend=key),
        alt.StrokeDash("method:N", sort=methods, scale=alt.Scale(domain=methods, range=dashes), legend=key),
    )


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
    return finished(alt, layers, 26 * height + 10)


def groups_charts(family: Family, identifier: str) -> list[Chart]:
    """The leading metric of every run along each breakdown axis."""
    alt = need("altair", "the HTML report")
    charts = []
    for number, axis in enumerate(_axes(family)):
        metric, rows = _group_rows(family, axis)
        if not rows or len(rows) > _POINTS:
            continue
        params = []
        points = alt.Chart(alt.NamedData("rows"))
        if len(family.datasets) > 1:
            params.append(
                _choice(alt, "chosen_dataset", "Dataset", list(dict.fromkeys(row["dataset"] for row in rows)))
            )
            points = points.transform_filter("datum.dataset === chosen_dataset")
        if all(isinstance(row["group"], int | float) for row in rows):
            layers, height = _trajectory(alt, points, family, metric, axis), 300
            caption = f"A line per method: the mean over runs at each {axis}; band: from the lowest to the highest run."
        else:
            layers, height, caption = _groups(alt, points, family, metric, rows)
        charts.append(
            Chart(
                f"{identifier}-{number}",
                f"{metric} by {axis}",
                caption,
                finished(alt, layers.add_params(*params) if params else layers, height),
                ["dataset", "method", "seed", "group", "n", "value", "low", "high"],
                rows,
            )
        )
    return charts


def _trajectory(alt: Any, base: Any, family: Family, metric: str, axis: str) -> Any:
    """Ordered groups, such as cycles and horizons, as lines."""
    colour, shape, dash = _method_scales(alt, family)
    base = base.transform_filter("isFinite(datum.value)").transform_aggregate(
        mean="mean(value)", least="min(value)", most="max(value)", runs="count()",
        groupby=["method", "dataset", "group"],
    )  # fmt: skip
    ticks = alt.Axis(tickCount=alt.ExprRef("clamp(width / 60, 2, 12)"), tickMinStep=1)
    place = alt.X("group:Q", title=axis, axis=ticks, scale=alt.Scale(zero=False, nice=False))
    height = alt.Y("mean:Q", title=metric, scale=alt.Scale(zero=False))
    return alt.layer(
        base.mark_area(opacity=0.13, aria=False).encode(place, alt.Y("least:Q"), colour, y2="most:Q"),
        base.mark_line(strokeWidth=2.2, aria=False).encode(place, height, colour, dash),
        base.mark_point(filled=True, size=40, opacity=1, aria=False).encode(
            place, height, colour, shape,
            tooltip=["method:N", "dataset:N", "group:Q", "mean:Q", "least:Q", "most:Q", "runs:Q"],
        ),
    )  # fmt: skip


def _groups(alt: Any, points: Any, family: Family, metric: str, rows: Sequence[dict[str, Any]]) -> tuple[Any, int, str]:
    """Groups by name: a mark per run, in the order of their names if these count, else the largest first."""
    groups = list(dict.fromkeys(row["group"] for row in rows))
    colour, shape, _ = _method_scales(alt, family)
    drawn = points.mark_point(filled=True, size=46, opacity=0.7, aria=False).encode(
        alt.X("value:Q", title=metric, scale=alt.Scale(zero=False), axis=_ticks(alt)),
        alt.Y("group:N", sort=groups, title=None),
        colour,
        shape,
        yOffset=alt.YOffset("method:N", sort=family.methods),
        tooltip=["method:N", "dataset:N", "seed:N", "group:N", "n:Q", "value:Q"],
    )
    height = len(groups) * max(18, 9 * len(family.methods)) + 10
    return drawn, height, f"One mark per run and group; at most the {_GROUPS} largest groups."


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
    sizes: dict[Any, int] = {}
    for _, table in tables:
        for label, size in zip(table[axis].tolist(), table["n"].tolist(), strict=True):
            sizes.setdefault(label, size)
    numeric = all(_is_number(label) for label in sizes)
    # A trajectory needs all of its points, and names only as many as can be read.
    shown = set(sizes) if numeric else set(sorted(sizes, key=lambda label: -sizes[label])[:_GROUPS])
    order = _order(shown, sizes)
    rows = []
    for run, table in tables:
        names = [name for name in ("value", "low", "high") if name in table.columns]
        for label, size, *values in zip(
            table[axis].tolist(), table["n"].tolist(), *(table[name].tolist() for name in names), strict=True
        ):
            if label in shown:
                fields = dict(zip(names, map(number_to_json, values), strict=True))
                group = label if numeric else str(label)
                rows.append({"dataset": run.dataset, "method": run.method, "seed": run.seed, "group": group,
                             "n": size, **fields})  # fmt: skip
    return column, sorted(rows, key=lambda row: order[row["group"]])


def _order(labels: Iterable[Any], sizes: Mapping[Any, int]) -> dict[Any, int]:
    """Numbers, and names with numbers in them (6A, 6B, 7A; step 2, step 10), in their order; others by size."""
    known = list(labels)
    counted = all(_is_number(label) or any(c.isdigit() for c in str(label)) for label in known)
    by = sorted(known, key=_natural if counted else lambda label: -sizes[label])
    return {label if _is_number(label) and all(map(_is_number, known)) else str(label): n for n, label in enumerate(by)}


def _natural(label: Any) -> list[tuple[int, float, str]]:
    if _is_number(label):
        return [(0, float(label), "")]
    parts = re.split(r"(\d+)", str(label))
    return [(0, float(part), "") if part.isdigit() else (1, 0.0, part) for part in parts if part]


def _choice(alt: Any, name: str, title: str, options: Sequence[str], labels: Sequence[str] | None = None) -> Any:
    bound = alt.binding_select(options=list(options), labels=list(labels or options), name=f"{title} ")
    return alt.param(name=name, value=options[0], bind=bound)


def _ticks(alt: Any) -> Any:
    """As many as leave room for their labels, even on a phone."""
    return alt.Axis(tickCount=alt.ExprRef("clamp(width / 75, 2, 8)"))
