"""The families' own figures with the methods overlaid: Hits@k, precision and recall, calibration, graphs, samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.extras import need
from graphgauge.old.core.pages import Chart, finished
from graphgauge.old.core.result import Table
from graphgauge.old.core.schema import number_to_json
from graphgauge.old.stats.collect import Record
from graphgauge.old.stats.runs import seed_order
from graphgauge.report.family import Family
from graphgauge.report.marks import POINTS, Panels, Picture, Sign, choice, lines, ticks
from graphgauge.report.tables import Cell, Head, PageTable

# The most pictures side by side, and edges in a table.
_PICTURES = 12
_EDGES = 20
# Larger drawings than a family writes come from a stranger's file.
_MOST_CELLS, _MOST_SIDE = 5000, 200
_RUNS = "the mean over runs; band: from the lowest to the highest run"


def figures(family: Family, identifier: str) -> list[Panels]:
    """The figures for which the results contain what they are drawn from."""
    found = [
        _hits(family, f"{identifier}-hits"),
        _precision(family, f"{identifier}-precision"),
        _calibration(family, f"{identifier}-calibration"),
        _graphs(family, f"{identifier}-graphs"),
        _samples(family, f"{identifier}-samples"),
    ]
    return [panels for panels in found if panels is not None]


# ----------------------------------------------------------------------------- curves


@dataclass(frozen=True)
class _Look:
    """A curve: its columns, its titles, and the dashed line below it, a column or an expression of the page."""

    x: str
    y: str
    title: str
    x_title: str
    y_title: str | None = None
    level: str | None = None
    formula: str | None = None
    log: bool = False
    # The ends of the vertical axis; as far as the values reach if there are none.
    bottom: float | None = 0.0
    top: float | None = 1.0


_HITS = _Look("k", "value", "Hits@k over all k", "k", level="random", log=True)
_PRECISION = _Look("recall", "precision", "Precision over recall", "recall")
_RELIABILITY = _Look(
    "reliability",
    "excess",
    "Reliability",
    "forecast probability",
    "share of truths below, less the probability",
    formula="0",
    bottom=None,
    top=None,
)
_PIT = _Look(
    "pit", "density", "PIT histogram", "forecast probability of less", "density of truths", formula="1", top=None
)


def _hits(family: Family, identifier: str) -> Panels | None:
    caption = "The share of queries whose positive is among the first k: the distribution of ranks. A line per method: "
    return _panels(
        _HITS.title,
        f"{caption}{_RUNS}; dashed: random order.",
        identifier,
        [_curve(family, identifier, _HITS, lambda record: _drawing(record, "hits"))],
    )


def _precision(family: Family, identifier: str) -> Panels | None:
    caption = "The precision of the best-scored edges that contain this share of the true ones. A line per method: "
    return _panels(
        _PRECISION.title,
        f"{caption}{_RUNS}.",
        identifier,
        [_curve(family, identifier, _PRECISION, lambda record: _drawing(record, "precision"))],
    )


def _calibration(family: Family, identifier: str) -> Panels | None:
    caption = (
        f"A line per method: {_RUNS}; dashed: calibrated. In the histogram, a hump: forecasts are too wide; high ends: "
        "too narrow; a slope: biased."
    )
    charts = [
        _curve(family, f"{identifier}-reliability", _RELIABILITY, _excess),
        _curve(family, f"{identifier}-pit", _PIT, _densities),
    ]
    return _panels("Calibration", caption, identifier, charts)


def _panels(title: str, caption: str, identifier: str, charts: Sequence[Chart | None]) -> Panels | None:
    drawn = [chart for chart in charts if chart is not None]
    return Panels(f"{identifier}-panels", title, caption, charts=drawn) if drawn else None


def _curve(family: Family, identifier: str, look: _Look, table_of: Callable[[Record], Table | None]) -> Chart | None:
    """Lines over a common axis: means over runs with their range."""
    rows = []
    for (dataset, method), tables in _by_method(family, table_of).items():
        usable = [table for table in tables if {look.x, look.y} <= table.columns.keys()]
        for place, at in _along(usable, look.x).items():
            values = at[look.y][np.isfinite(at[look.y])]
            if values.size:
                level = float(np.mean(at[look.level])) if look.level in at else math.nan
                rows.append(
                    {
                        "dataset": dataset,
                        "method": method,
                        "at": place,
                        "value": float(values.mean()),
                        "low": float(values.min()),
                        "high": float(values.max()),
                        "runs": int(values.size),
                        "level": number_to_json(level),
                    }
                )
    if not 0 < len(rows) <= POINTS:
        return None
    columns = ["dataset", "method", "at", "value", "low", "high", "runs"]
    return Chart(identifier, look.title, "", _curve_spec(family, look, rows), columns, rows)


def _curve_spec(family: Family, look: _Look, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    alt = need("altair", "the HTML report")
    base, params = alt.Chart(alt.NamedData("rows")), []
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    if len(datasets) > 1:
        params.append(choice(alt, "chosen_dataset", "Dataset", datasets))
        base = base.transform_filter("datum.dataset === chosen_dataset")
    scale = alt.Scale(type="log", nice=False) if look.log else alt.Scale(domain=[0, 1])
    axis = alt.X("at:Q", title=look.x_title, scale=scale, axis=ticks(alt, format="~s" if look.log else ".6~g"))
    limits = alt.Scale(zero=look.bottom is not None) if look.top is None else alt.Scale(domain=[look.bottom, look.top])
    height = alt.Y("value:Q", title=look.y_title, scale=limits)
    told = ["method:N", "dataset:N", alt.Tooltip("at:Q", title=look.x_title), "value:Q", "low:Q", "high:Q", "runs:Q"]
    layers = lines(alt, base, family, axis, height, told, size=16)
    under = base.transform_calculate(level=look.formula) if look.formula else base
    dashed = under.transform_filter("isFinite(datum.level)").mark_line(
        color="var(--quiet)", strokeDash=[4, 4], strokeWidth=1.5, aria=False
    )
    layers.insert(0, dashed.encode(axis, alt.Y("mean(level):Q")))
    drawn = alt.layer(*layers)
    return finished(alt, drawn.add_params(*params) if params else drawn, 300)


def _along(tables: Sequence[Table], x: str) -> dict[float, dict[str, Any]]:
    """The columns at every place that all runs have: curves of different lengths end with the shortest."""
    if not tables:
        return {}
    common = sorted(set.intersection(*({*table[x].tolist()} for table in tables)))
    rows = [{place: row for row, place in enumerate(table[x].tolist())} for table in tables]
    return {
        float(place): {
            name: np.array([table[name][row[place]] for table, row in zip(tables, rows, strict=True)], float)
            for name in tables[0].columns
            if all(name in table.columns for table in tables) and name != x
        }
        for place in common
        if isinstance(place, int | float)
    }


def _excess(record: Record) -> Table | None:
    """Shares of truths less their probabilities: on the diagonal, lines would hide each other."""
    table = _breakdown(record, "reliability")
    if table is None or "share" not in table.columns:
        return None
    p = table["reliability"].astype(float)
    return Table("reliability", {"reliability": p, "excess": table["share"] - p})


def _densities(record: Record) -> Table | None:
    """Shares of bars as densities at their middles, so that bars of different width compare."""
    table = _breakdown(record, "pit")
    if table is None or "share" not in table.columns:
        return None
    edges = np.append(0.0, table["pit"].astype(float))
    width = np.diff(edges)
    if not (width > 0).all():
        return None
    middle = np.round(edges[:-1] + width / 2, 10)
    return Table("pit", {"pit": middle, "density": table["share"] / width})


# ------------------------------------------------------------------------ graphs

# The kinds of edges: shape in the key, and the outline of a cell with its corner at x, y.
_SQUARE = "M{x} {y}h1v1h-1z"
_KINDS = {
    "correct": ("square", _SQUARE),
    "missing": ("hollow", "M{x} {y}m.12 .12h.76v.76h-.76z"),
    "extra": ("cross", "M{x} {y}m.1 .1l.8 .8m0-.8l-.8 .8"),
    "reversed": ("diamond", "M{x} {y}m.5 .04l.46 .46-.46 .46-.46-.46z"),
    "undirected in one": ("circle", "M{x} {y}m.18 .5a.32 .32 0 1 0 .64 0a.32 .32 0 1 0-.64 0z"),
}


def _graphs(family: Family, identifier: str) -> Panels | None:
    """Truth against prediction as matrices, of the first run of each method."""
    pictures, kinds = [], set()
    for dataset, _, record in _first_runs(family, "edges"):
        edges, nodes = _drawing(record, "edges"), _drawing(record, "nodes")
        size = 0 if nodes is None else len(nodes)
        if edges is None or not _is_drawable(edges, ("from", "to"), size, size):
            continue
        kind, source, target = (edges[name].tolist() for name in ("kind", "from", "to"))
        cells = {name: [(x, y) for k, y, x in zip(kind, source, target, strict=True) if k == name] for name in _KINDS}
        kinds |= {name for name, found in cells.items() if found}
        note = ", ".join(f"{len(found)} {name}" for name, found in cells.items() if found)
        paths = [(name.replace(" ", "-"), _path(_KINDS[name][1], found)) for name, found in cells.items() if found]
        pictures.append(Picture(_panel_title(family, dataset, record), note, size, size, paths))
    if not pictures:
        return None
    key = [Sign(_KINDS[name][0], name.replace(" ", "-"), name) for name in _KINDS if name in kinds]
    caption = "Adjacency matrices, an edge leads from its row to its column; correct and missing edges are the truth."
    return Panels(identifier, "Truth against prediction", caption, key, pictures=pictures)


def wrong_edges(family: Family, dataset: str) -> PageTable | None:
    """The edges that the leading method gets wrong in its first run, next to those of the others."""
    runs = [(method, record) for place, method, record in _first_runs(family, "edges") if place == dataset]
    if not runs:
        return None
    same = [(method, record) for method, record in runs if record.run.seed == runs[0][1].run.seed]
    kinds = {method: _kinds_of(record) for method, record in same}
    leader = same[0][0]
    wrong = [edge for edge, kind in kinds[leader].items() if kind != "correct"]
    if not wrong:
        return None
    order = {name: place for place, name in enumerate(("reversed", "missing", "extra"))}
    wrong.sort(key=lambda edge: order.get(kinds[leader][edge], len(order)))
    rows = [[Cell(edge), *(Cell(found.get(edge, "no edge")) for found in kinds.values())] for edge in wrong[:_EDGES]]
    heads = [Head("Edge"), *(Head(method) for method in kinds)]
    counted = f"{len(rows)} of {len(wrong)}" if len(rows) < len(wrong) else f"{len(wrong)}"
    seed = same[0][1].run.seed
    said = f"The {counted} edges that {leader} gets wrong with seed {seed}."
    notes = (f"{said} No edge: neither the truth nor the method has it.",)
    return PageTable(f"{family.name} on {dataset}: edges that {leader} gets wrong", heads, rows, notes=notes)


def _kinds_of(record: Record) -> dict[str, str]:
    edges, nodes = _drawing(record, "edges"), _drawing(record, "nodes")
    if edges is None or nodes is None or not _is_drawable(edges, ("from", "to"), len(nodes), len(nodes)):
        return {}
    names = [str(name) for name in nodes[nodes.axis].tolist()]
    ends = zip(edges["from"].astype(int).tolist(), edges["to"].astype(int).tolist(), strict=True)
    return {f"{names[a]} → {names[b]}": str(kind) for (a, b), kind in zip(ends, edges["kind"].tolist(), strict=True)}


# ------------------------------------------------------------------------ samples


def _samples(family: Family, identifier: str) -> Panels | None:
    """A few samples of each generator's first run, and of the real ones, with what they were meant to be."""
    pictures: list[Picture] = []
    channels: set[int] = set()
    real_from: set[str] = set()
    for dataset, method, record in _first_runs(family, "samples"):
        samples, cells = _drawing(record, "samples"), _drawing(record, "cells")
        if samples is None or cells is None or not {"height", "width", "real"} <= samples.columns.keys():
            continue
        numbers = cells[cells.axis].tolist()
        for number, words in enumerate(samples[samples.axis].tolist()):
            real = bool(samples["real"][number])
            if real and dataset in real_from:
                continue
            height, width = samples["height"][number], samples["width"][number]
            own = np.array([place == number for place in numbers], bool)
            part = Table(cells.axis, {name: column[own] for name, column in cells.columns.items()})
            if not _is_drawable(part, ("row", "column", "channel"), height, width):
                continue
            by_channel: dict[int, list[tuple[int, int]]] = {}
            for y, x, channel in zip(
                *(part[name].astype(int).tolist() for name in ("row", "column", "channel")), strict=True
            ):
                by_channel.setdefault(channel % len(_CHANNELS), []).append((x, y))
            channels |= by_channel.keys()
            paths = [(f"channel-{1 + at}", _path(_CHANNELS[at], found)) for at, found in sorted(by_channel.items())]
            whose = "" if real else method
            where = f"{dataset}, " if len(family.datasets) > 1 else ""
            pictures.append(Picture(f"{where}{whose or 'real'}", str(words), int(width), int(height), paths))
        real_from.add(dataset)
    if not pictures:
        return None
    pictures = [picture for picture in pictures if picture.title.endswith("real")][:_PICTURES] + [
        picture for picture in pictures if not picture.title.endswith("real")
    ]
    caption = "Real samples, and samples of each method's first run at equal distances: not chosen for their looks."
    if len(channels) > 1:
        caption += " Colours and shapes are the channels of a cell."
    return Panels(identifier, "Samples", caption, pictures=pictures[: 4 * _PICTURES])


# The outlines of the cells of channels.
_CHANNELS = (_SQUARE, _KINDS["reversed"][1], _KINDS["undirected in one"][1], _KINDS["extra"][1])


# ------------------------------------------------------------------------ what results contain


def _path(outline: str, cells: Sequence[tuple[Any, Any]]) -> str:
    return "".join(outline.format(x=int(x), y=int(y)) for x, y in cells)


def _is_drawable(table: Table, columns: Sequence[str], height: float, width: float) -> bool:
    """Whether a table of cells fits in its box: files of others may contain anything."""
    if not set(columns) <= table.columns.keys() or len(table) > _MOST_CELLS:
        return False
    if not (0 < height <= _MOST_SIDE and 0 < width <= _MOST_SIDE):
        return False
    places = [np.asarray(table[name], float) for name in columns]
    ends = [height, width, np.inf][: len(columns)]
    return all(bool(((at >= 0) & (at < end)).all()) for at, end in zip(places, ends, strict=True))


def _drawing(record: Record, name: str) -> Table | None:
    return None if record.evaluation is None else record.evaluation.drawings.get(name)


def _breakdown(record: Record, axis: str) -> Table | None:
    return None if record.evaluation is None else record.evaluation.breakdowns.get(axis)


def _by_method(family: Family, table_of: Callable[[Record], Table | None]) -> dict[tuple[str, str], list[Table]]:
    """The tables of all runs by dataset and method, best methods first."""
    found = {
        cell: [table for record in records if (table := table_of(record)) is not None]
        for cell, records in family.cells.items()
    }
    return {cell: tables for cell, tables in found.items() if tables}


def _first_runs(family: Family, name: str) -> list[tuple[str, str, Record]]:
    """The run with the first seed of each method that has a drawing, on as many datasets as there is room for."""
    found = []
    for (dataset, method), records in family.cells.items():
        own = [record for record in records if _drawing(record, name) is not None]
        if own:
            found.append((dataset, method, min(own, key=lambda record: seed_order(record.run.seed))))
    return found[:_PICTURES]


def _panel_title(family: Family, dataset: str, record: Record) -> str:
    where = f"{dataset}, " if len(family.datasets) > 1 else ""
    return f"{where}{record.run.method}, seed {record.run.seed}"
