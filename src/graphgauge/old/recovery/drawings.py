"""What reports draw of a recovered graph: the cells in which it or the truth has an edge, and precision by recall."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.old.core.result import Table
from graphgauge.old.recovery.comparison import Comparison, Stack
from graphgauge.old.recovery.curves import Curve
from graphgauge.old.recovery.pairs import DensePair, SparsePair, curve_of

Ends = tuple[Ints, Ints]

# Larger graphs are unreadable in a small picture, and denser ones too long for a result file.
_NODES, _CELLS = 60, 800
_RECALLS = np.linspace(0.05, 1, 20).round(2)


def drawn_graph(comparison: Comparison | Stack) -> tuple[Comparison, str]:
    """The graph that is drawn, and which it is: the first of a stack, or the summary graph over all lags."""
    if isinstance(comparison, Stack):
        return comparison.first, f"prediction, the first of {len(comparison.parts)} graphs"
    if comparison.options.lagged:
        return comparison.summary, "prediction, over all lags"
    if len(comparison.counts) > 1:
        return comparison.first, f"prediction, the first of {len(comparison.counts)} graphs"
    return comparison, "prediction"


def drawings(comparison: Comparison | Stack) -> dict[str, Table]:
    """Tables of the cells by kind, of the names of nodes, and of precision by recall; none for large graphs."""
    names = (comparison.first if isinstance(comparison, Stack) else comparison).truth.names
    shown, _ = drawn_graph(comparison)
    if not 0 < shown.d <= _NODES:
        return {}
    cells = cells_by_kind(shown.pair, shown.d)
    kinds = np.repeat([*cells], [len(source) for source, _ in cells.values()])
    if not 0 < len(kinds) <= _CELLS:
        return {}
    source, target = (np.concatenate([ends[side] for ends in cells.values()]) for side in (0, 1))
    nodes = [str(name) for name in (names if names is not None else range(shown.d))]
    found = {
        "edges": Table("kind", {"kind": kinds, "from": source, "to": target}),
        "nodes": Table("node", {"node": np.array(nodes), "n": np.arange(len(nodes))}),
    }
    curve = curve_of(shown.pair, [0])
    if curve.edges:
        found["precision"] = Table("recall", {"recall": _RECALLS, "precision": _precision(curve)})
    return found


def _precision(curve: Curve) -> Floats:
    """The precision of the smallest set of best-scored cells that has at least this share of the true edges."""
    at = np.searchsorted(curve.found, _RECALLS * curve.edges - 1e-9)
    known = at < len(curve.found)
    at = np.minimum(at, len(curve.found) - 1)
    return np.where(known, curve.found[at] / np.maximum(curve.selected[at], 1), np.nan)


def cells_by_kind(pair: DensePair | SparsePair, d: int) -> Mapping[str, Ends]:
    """The ends of the edges that are correct, missing, extra, reversed, or directed in one of the graphs only."""
    whole_truth, whole_prediction = pair.true_edges(0), pair.predicted_edges(0)
    elsewhere = _directed_in_one(whole_truth, whole_prediction, pair.undirected(0), d)
    true, predicted = np.setdiff1d(whole_truth, elsewhere), np.setdiff1d(whole_prediction, elsewhere)
    extra = np.setdiff1d(predicted, true, assume_unique=True)
    missing = np.setdiff1d(true, predicted, assume_unique=True)
    turned = np.intersect1d(extra, np.sort(missing % d * d + missing // d), assume_unique=True)
    marked = {
        "correct": np.intersect1d(true, predicted, assume_unique=True),
        "missing": np.setdiff1d(missing, turned % d * d + turned // d),
        "extra": np.setdiff1d(extra, turned, assume_unique=True),
        "reversed": turned,
    }
    if elsewhere.size:
        marked["undirected in one"] = np.intersect1d(whole_prediction, elsewhere)
    return {name: np.divmod(cells, d) for name, cells in marked.items()}


def _directed_in_one(true: Ints, predicted: Ints, undirected: Ends, d: int) -> Ints:
    """Both cells of the pairs that are adjacent in both graphs and undirected in one of them."""
    in_one = np.setxor1d(*undirected)
    source, target = np.divmod(in_one, d)
    back = target * d + source
    held = [np.isin(in_one, edges) | np.isin(back, edges) for edges in (true, predicted)]
    return in_one[held[0] & held[1]]
