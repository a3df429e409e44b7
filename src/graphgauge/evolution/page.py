"""The evolution dashboard as one HTML file: charts that follow dark mode and print, with a table of their numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphgauge.core.extras import need
from graphgauge.core.pages import SHAPES, Chart, finished, rendered
from graphgauge.core.schema import number_to_json, write_product
from graphgauge.core.scrub import clean
from graphgauge.evolution.figure import AREAS, TITLES, Picture
from graphgauge.stats.text import bounds, fixed

_TEMPLATE = Path(__file__).parent / "templates" / "dashboard"
_DASHES = ([1, 0], [7, 3], [2, 3], [7, 3, 2, 3], [12, 3], [4, 2, 1, 2], [1, 2])
_HEIGHT = 220
# Colours of the style sheet.
_COLOURS = 7


def write_dashboard(picture: Picture, path: str | Path) -> None:
    """Write the page; it needs no network and no other file."""
    charts = [*_curves(picture), *_growth(picture), _means(picture)]
    names = {name: clean(name) for name in picture.conditions}
    rows = [
        [names[name], *(f"{fixed(own[name].value, 4)} {_bounds(own[name])}".strip() for own in picture.means.values())]
        for name in picture.conditions
    ]
    content = {"charts": [{"id": chart.id, "spec": chart.spec, "rows": chart.rows} for chart in charts]}
    text = rendered(
        _TEMPLATE, content, charts=charts, heads=["condition", *picture.means], rows=rows, band=picture.band
    )
    write_product(path, text)


def _bounds(mean: Any) -> str:
    return bounds((mean.low, mean.high), 4) if mean.low == mean.low else ""


def _scales(alt: Any, picture: Picture) -> dict[str, Any]:
    """Conditions differ in colour, dashes and marks: any one of the three is enough."""
    names = [clean(name) for name in picture.conditions]
    count = range(len(names))
    key = alt.Legend(title=None, orient="top", columns=4, symbolOpacity=1)

    def scale(choices: Any) -> Any:
        # Shifted by one after each round of colours: two conditions of one colour differ otherwise.
        chosen = [choices[(index + index // _COLOURS) % len(choices)] for index in count]
        return alt.Scale(domain=names, range=chosen)

    colours = alt.Scale(domain=names, range=[f"var(--c{1 + index % _COLOURS})" for index in count])
    return {
        "color": alt.Color("condition:N", sort=names, scale=colours, legend=key),
        "dash": alt.StrokeDash("condition:N", sort=names, scale=scale(_DASHES), legend=key),
        "shape": alt.Shape("condition:N", sort=names, scale=scale(SHAPES), legend=key),
    }


def _curves(picture: Picture) -> list[Chart]:
    alt = need("altair", "the HTML dashboard")
    scales = _scales(alt, picture)
    charts = []
    for key, curves in picture.curves.items():
        rows = [
            {
                "condition": clean(name),
                "cycle": cycle,
                "value": number_to_json(value),
                "low": number_to_json(low),
                "high": number_to_json(high),
                "chance": number_to_json(picture.chance.get(key, float("nan"))),
            }
            for name, curve in curves.items()
            for cycle, value, low, high in zip(
                curve.cycles.tolist(), curve.values.tolist(), curve.low.tolist(), curve.high.tolist(), strict=True
            )
        ]
        data = alt.Chart(alt.NamedData("rows"))
        axis = alt.X("cycle:Q", title="cycle", axis=alt.Axis(tickMinStep=1), scale=alt.Scale(nice=False))
        limits = alt.Scale(domain=list(picture.area_limits)) if key in AREAS else alt.Scale(zero=False)
        value = alt.Y("value:Q", title=key, scale=limits)
        tips = ["condition:N", "cycle:Q", "value:Q", "low:Q", "high:Q"]
        layers = alt.layer(
            data.transform_filter("isFinite(datum.chance)")
            .mark_rule(color="var(--quiet)", strokeDash=[1, 3], aria=False)
            .encode(alt.Y("mean(chance):Q", title=key, scale=limits)),
            data.transform_filter("isFinite(datum.low)")
            .mark_area(opacity=0.18, aria=False)
            .encode(axis, alt.Y("low:Q", title=key, scale=limits), y2="high:Q", color=scales["color"]),
            data.transform_filter("isFinite(datum.value)")
            .mark_line(strokeWidth=2, aria=False)
            .encode(axis, value, scales["color"], scales["dash"]),
            data.transform_filter("isFinite(datum.value)")
            .mark_point(filled=True, size=24, aria=False)
            .encode(axis, value, scales["color"], scales["shape"], tooltip=tips),
        )
        charts.append(
            Chart(
                f"curve-{key}",
                TITLES[key],
                f"Shaded: {picture.band}; dotted: chance.",
                finished(alt, layers, _HEIGHT),
                list(rows[0]),
                rows,
            )
        )
    return charts


def _growth(picture: Picture) -> list[Chart]:
    if not any(len(tgc) for tgc, _ in picture.growth.values()):
        return []
    alt = need("altair", "the HTML dashboard")
    scales = _scales(alt, picture)
    rows = [
        {"condition": clean(name), "tgc": x, "auc_synthetic": y}
        for name, (tgc, auc) in picture.growth.items()
        for x, y in zip(tgc.tolist(), auc.tolist(), strict=True)
    ]
    data = alt.Chart(alt.NamedData("rows"))
    axis = alt.X("tgc:Q", scale=alt.Scale(zero=False))
    value = alt.Y("auc_synthetic:Q", scale=alt.Scale(zero=False))
    points = data.mark_point(filled=True, size=26, opacity=0.6, aria=False).encode(
        axis, value, scales["color"], scales["shape"], tooltip=["condition:N", "tgc:Q", "auc_synthetic:Q"]
    )
    relation, said, layers = picture.relation, "Nothing to correlate.", points
    if relation is not None:
        line = data.transform_regression("tgc", "auc_synthetic", groupby=["condition"]).mark_line(aria=False)
        layers = alt.layer(points, line.encode(axis, value, scales["color"], scales["dash"]))
        said = f"{relation.words}. Lines: within each condition."
    return [
        Chart("growth", "Growth against AUC, by condition", said, finished(alt, layers, _HEIGHT), list(rows[0]), rows)
    ]


def _means(picture: Picture) -> Chart:
    alt = need("altair", "the HTML dashboard")
    scales = _scales(alt, picture)
    names = [clean(name) for name in picture.conditions]
    rows = [
        {
            "metric": key,
            "condition": clean(name),
            "value": number_to_json(mean.value),
            "low": number_to_json(mean.low),
            "high": number_to_json(mean.high),
            "chance": number_to_json(picture.chance.get(key, float("nan"))),
        }
        for key, own in picture.means.items()
        for name, mean in own.items()
    ]
    data = alt.Chart(alt.NamedData("rows"))
    place = alt.X("metric:N", sort=list(picture.means), title=None, axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset("condition:N", sort=names)
    layers = alt.layer(
        data.transform_filter("isFinite(datum.value)")
        .mark_bar(opacity=0.85, aria=False)
        .encode(
            place,
            alt.Y("value:Q", title=None),
            scales["color"],
            offset,
            tooltip=["metric:N", "condition:N", "value:Q", "low:Q", "high:Q", "chance:Q"],
        ),
        data.transform_filter("isFinite(datum.low)")
        .mark_rule(color="var(--ink)", strokeWidth=2, aria=False)
        .encode(place, alt.Y("low:Q", title=None), alt.Y2("high:Q"), offset),
        data.transform_filter("isFinite(datum.chance)")
        .mark_tick(color="var(--ink)", thickness=2, aria=False)
        .encode(place, alt.Y("chance:Q", title=None), offset),
    )
    said = "Line: interval over seeds; tick: chance. Conditions are from left to right as listed."
    return Chart("means", "Means over cycles and seeds", said, finished(alt, layers, 280), list(rows[0]), rows)
