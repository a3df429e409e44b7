"""The first picture: methods × datasets by the leading metric, a panel for each family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphgauge.core.extras import need
from graphgauge.old.core.pages import Chart, finished
from graphgauge.old.core.schema import number_to_json
from graphgauge.old.core.text import ARROWS
from graphgauge.report.family import Family
from graphgauge.report.marks import Panels, Sign, ticks

# The most rows of a panel.
_ROWS = 48
# Longer names of rows are cut.
_NAME = 32
_CLOSE, _OTHER, _ALONE = "not significantly different", "significantly different", "not tested"
# Their colours, shapes, and classes in the key.
_STATUS = {
    "best": ("var(--accent)", "diamond", "accent"),
    _CLOSE: ("var(--c5)", "circle", "near"),
    _OTHER: ("var(--quiet)", "square", "quiet"),
    _ALONE: ("var(--accent)", "circle", "accent"),
}


def forest(families: Sequence[Family], identifier: str) -> Panels | None:
    """Every method on every dataset: the mean, its interval, the chance level, and whether it differs from the best."""
    found = [(family, rows) for family in families if (rows := _rows(family))]
    if not found:
        return None
    alone = len(found) == 1
    charts = [_chart(family, rows, f"{identifier}-{number}", alone) for number, (family, rows) in enumerate(found, 1)]
    every = [row for _, rows in found for row in rows]
    key = [
        Sign(shape, kind, status)
        for status, (_, shape, kind) in _STATUS.items()
        if any(row["status"] == status for row in every)
    ]
    if any(row["chance"] is not None for row in every):
        key.append(Sign("tick", "warm", "chance level"))
    cut = any(len(family.methods) * len(family.datasets) > _ROWS for family, _ in found)
    caption = "Mark: mean over runs, or the only run; line: its 95 % interval. Best methods first"
    title = "Methods on datasets by the leading metric" if not alone else f"{_heading(*found[0])}, method by method"
    more = f"; at most {_ROWS} rows, the table has all." if cut else "."
    return Panels(identifier, title, caption + more, key, charts)


def _heading(family: Family, rows: Sequence[dict[str, Any]]) -> str:
    return f"{family.name}: {rows[0]['metric']}"


def _chart(family: Family, rows: list[dict[str, Any]], identifier: str, alone: bool) -> Chart:
    alt = need("altair", "the HTML report")
    base = alt.Chart(alt.NamedData("rows"))
    statuses = list(_STATUS)
    colours = alt.Scale(domain=statuses, range=[_STATUS[status][0] for status in statuses])
    shapes = alt.Scale(domain=statuses, range=[_STATUS[status][1] for status in statuses])
    # Names take at most four tenths of a narrow panel.
    limit = alt.ExprRef(f"clamp(0.4 * containerSize()[0], 90, {320 if alone else 200})")
    place = alt.Y(
        "line:N", sort=alt.EncodingSortField("order"), title=None, axis=alt.Axis(grid=False, labelLimit=limit)
    )
    axis = alt.X(
        "value:Q", title=rows[0]["metric"] if alone else None, scale=alt.Scale(zero=False, nice=True), axis=ticks(alt)
    )
    colour = alt.Color("status:N", scale=colours, legend=None)
    layers = alt.layer(
        base.transform_filter("isFinite(datum.low) && isFinite(datum.high)")
        .mark_rule(strokeWidth=3, aria=False)
        .encode(alt.X("low:Q"), place, colour, x2="high:Q"),
        base.transform_filter("isFinite(datum.chance)")
        .mark_tick(color="var(--warm)", thickness=2, size=16, aria=False)
        .encode(alt.X("chance:Q"), place, tooltip=["line:N", "chance:Q"]),
        base.mark_point(filled=True, size=85, opacity=1, aria=False).encode(
            axis,
            place,
            colour,
            alt.Shape("status:N", scale=shapes, legend=None),
            tooltip=["method:N", "dataset:N", "metric:N", "value:Q", "low:Q", "high:Q", "chance:Q", "status:N"],
        ),
    )
    return Chart(
        identifier,
        _heading(family, rows),
        "",
        finished(alt, layers, 21 * len(rows) + 10),
        ["dataset", "method", "metric", "value", "low", "high", "chance", "status"],
        rows,
    )


def _rows(family: Family) -> list[dict[str, Any]]:
    if not family.headlines:
        return []
    metric = family.headlines[0]
    each = max(1, _ROWS // max(1, len(family.datasets)))
    several = len(family.datasets) > 1
    rows: list[dict[str, Any]] = []
    for dataset in family.datasets[:_ROWS]:
        ranked = [*family.places(dataset), *family.methods]
        found = [family.rows.get((metric, dataset, method)) for method in dict.fromkeys(ranked)]
        for row in [row for row in found if row is not None and row.value == row.value][:each]:
            level = row.chance[-1] if row.chance else None
            rows.append(
                {
                    "dataset": dataset,
                    "method": row.method,
                    "order": len(rows),
                    "line": _line(dataset, row.method, rows) if several else row.method,
                    "metric": f"{metric} {ARROWS[family.facts[metric].direction]}".strip(),
                    "value": number_to_json(row.value),
                    "low": number_to_json(row.low),
                    "high": number_to_json(row.high),
                    "chance": None if level is None else number_to_json(level),
                    "status": {"best": "best", "close": _CLOSE}.get(
                        row.mark, _OTHER if row.mark or _tested(family, dataset) else _ALONE
                    ),
                }
            )
    return rows


def _line(dataset: str, method: str, rows: Sequence[dict[str, Any]]) -> str:
    """The name of a row; of long ones the beginnings of both parts, and its number if that is not enough."""
    line = f"{dataset} · {method}"
    if len(line) > _NAME:
        line = " · ".join(
            part if len(part) <= _NAME // 2 else f"{part[: _NAME // 2 - 1]}…" for part in (dataset, method)
        )
    return f"{line} ({len(rows) + 1})" if any(row["line"] == line for row in rows) else line


def _tested(family: Family, dataset: str) -> bool:
    return any(row.mark for row in family.by(family.headlines[0], dataset))
