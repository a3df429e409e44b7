"""Explanations in time: results of time_to_explain, the events that can reach an answer, and cohesiveness."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric, on_host, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import number, whole_number
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.explanation.inputs import Context, Explanation, Subgraph, lined_up, whole_numbers

# Fields of a result of time_to_explain that list the chosen events; they rank before all others.
_SELECTED = ("selected_eidx", "cf_event_ids", "coalition_eidx", "explanation_event_ids", "omitted_edge_idxs")


def from_result(
    result: Any,
    context: Any = None,
    *,
    src: Any = None,
    dst: Any = None,
    time: Any = None,
    target: Any = None,
    explainer: str | None = None,
    event: str | int | None = None,
    label: int | None = None,
    truth: Any = None,
) -> Explanation:
    """An `Explanation` from a result of time_to_explain: an object with `importance_edges`, and its context.

    Every candidate event is a separate unit. If the result lists selected events (`extras["selected_eidx"]` and
    similar), these rank before all others, as in that library.

    Parameters
    ----------
    result
        An object with `importance_edges`.
    context
        The `ExplanationContext` of the result, with `subgraph.payload["candidate_eidx"]`; by default `result.context`.
    src, dst, time
        Ends and times of all events of the data; candidates are numbered from 0 and index into them. By default those
        of the context's subgraph, if it lists one edge for each candidate.
    target, label, explainer, event
        By default the context's target and label, the result's explainer, and its fingerprint.
    truth
        Which candidates are in the right explanation, if it is known.

    Returns
    -------
    Explanation
        For `collect`, `evaluate` and `write_explanations`.

    Raises
    ------
    InputError
        If candidates and importances have different lengths, or the ends of events are not known.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from graphgauge import explanation
    >>> context = SimpleNamespace(subgraph=SimpleNamespace(payload={"candidate_eidx": [2, 0]}), target=(0, 5.0))
    >>> result = SimpleNamespace(importance_edges=[0.2, 0.9], context=context, elapsed_sec=0.1)
    >>> events = {"src": [0, 1, 2], "dst": [1, 2, 0], "time": [1, 2, 3]}
    >>> found = explanation.from_result(result, **events, explainer="theirs", event=7)
    >>> found.importance.tolist(), found.context.subgraph.times.tolist()
    ([0.2, 0.9], [3, 1])
    """
    context = getattr(result, "context", None) if context is None else context
    native = getattr(context, "subgraph", None)
    if native is None:
        raise InputError("has no context with a subgraph", where="result", fix="Pass the result's context= as well.")
    payload, extras = getattr(native, "payload", None) or {}, getattr(result, "extras", None) or {}
    listed = payload.get("candidate_eidx", extras.get("candidate_eidx"))
    importance = getattr(result, "importance_edges", None)
    for name, values in (("importance_edges", importance), ("candidate_eidx", listed)):
        if values is None:
            raise InputError(f"there is no {name}", where="result")
    candidates = whole_numbers(listed, "candidate_eidx").reshape(-1)
    if src is None and dst is None:
        ends, times = _own_ends(len(candidates), native, payload, time)
    else:
        ends, times = _ends_in_data(candidates, src, dst, time)
    nodes, rows = np.unique(ends, return_inverse=True)
    subgraph = Subgraph(rows.reshape(ends.shape), nodes, times, units="edges", ids=candidates, native=native)

    target = getattr(context, "target", None) if target is None else target
    label = getattr(context, "label", None) if label is None else label
    event = getattr(result, "context_fp", None) or None if event is None else event
    name = str(explainer or getattr(result, "explainer", None) or "explainer")
    ranked = _selected_first(as_numeric(importance, "importance_edges"), candidates, extras)
    about = Context(subgraph, target, event, label, truth)
    return Explanation(about, ranked, name, getattr(result, "elapsed_sec", None))


def reaching_events(src: Any, dst: Any, time: Any, nodes: Any, before: float, *, hops: int | None = None) -> Ints:
    """The numbers of the events that can influence an answer about some nodes at a time, in the given order.

    An event before that time can matter if it shares a node with the target, or with a later event that can matter:
    memory and messages travel forward in time, through both ends of an event. Events at the same moment can influence
    each other. This is conservative: models that sample neighbours or forget see fewer events.

    One sweep from the last event to the first keeps how many events lie between each node and the target.

    Parameters
    ----------
    src, dst, time
        Ends and time of each event.
    nodes
        The nodes that the answer is about.
    before
        Only earlier events count.
    hops
        Most events on a path to the target, for models without memory that look this many hops back.

    Returns
    -------
    numpy.ndarray
        Numbers of events, in rising order.

    Raises
    ------
    InputError
        If the arrays have different lengths.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> explanation.reaching_events([0, 1, 5, 1], [1, 2, 6, 3], [1, 2, 3, 4], nodes=[2], before=5).tolist()
    [0, 1]
    """
    source, sink = _ends(src, dst)
    moments = _times(time, source)
    refuse_nan(moments, "time", fix="Give every event its time.")
    number("before", before)
    asked = as_labels(np.atleast_1d(on_host(nodes, "nodes")), "nodes")
    limit = len(source) if hops is None else whole_number("hops", hops, 1)
    source, sink, asked = _numbered(source, sink, asked)
    pairs = np.stack([source, sink], axis=1).tolist()
    away = [limit] * (1 + max(each.max(initial=0) for each in (source, sink, asked)))
    for node in asked.tolist():
        away[node] = 0
    reached = []
    for together in _moments_backwards(moments, before):
        if len(together) > 1:
            _spread_at_one_moment([pairs[event] for event in together], away)
        for event in together:
            one, other = pairs[event]
            nearer = min(away[one], away[other])
            if nearer < limit:
                reached.append(event)
                away[one], away[other] = min(away[one], nearer + 1), min(away[other], nearer + 1)
    return np.sort(np.array(reached, np.int64))


def cohesiveness(src: Any, dst: Any, time: Any, *, delta_t: float | None = None, pairs: str = "all") -> float:
    """The mean over ordered pairs of edges of cos(|tᵢ − tⱼ|/ΔT) if they share a node, and 0 otherwise.

    ΔT defaults to the range of the times; with a smaller ΔT the value can be negative. `pairs="adjacent"` takes the
    mean only over the pairs that share a node. NaN if there are no pairs or all times are the same.

    Parameters
    ----------
    src, dst, time
        Ends and time of each edge.
    delta_t
        ΔT, above 0.
    pairs
        `all` or `adjacent`.

    Returns
    -------
    float
        In [0, 1] with the default ΔT.

    Raises
    ------
    InputError
        If the arrays have different lengths.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> round(explanation.cohesiveness([0, 1, 3], [1, 2, 4], [0, 10, 5], delta_t=10), 4)
    0.1801
    """
    values = cohesiveness_prefixes(src, dst, time, delta_t=delta_t, pairs=pairs)
    return float(values[-1]) if values.size else math.nan


def cohesiveness_prefixes(src: Any, dst: Any, time: Any, *, delta_t: float | None = None, pairs: str = "all") -> Floats:
    """The cohesiveness of the first edge, of the first two, of the first three …, all with the ΔT of the whole.

    Time and memory grow with the number of edges, not of pairs.

    Parameters
    ----------
    src, dst, time, delta_t, pairs
        As in `cohesiveness`.

    Returns
    -------
    numpy.ndarray
        One value per edge (E,); the first is NaN, because one edge has no pair.

    Raises
    ------
    InputError
        If the arrays have different lengths.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> explanation.cohesiveness_prefixes([0, 1, 3], [1, 2, 4], [0, 10, 5], delta_t=10).round(4)
    array([   nan, 0.5403, 0.1801])
    """
    one_of("pairs", pairs, ("all", "adjacent"))
    source, sink = _ends(src, dst)
    phase = phases(_times(time, source), delta_t)
    if phase is None:
        return np.full(len(source), np.nan)
    source, sink = _numbered(source, sink)
    agreement, touched = touching(source, sink, phase, len(source))
    first = np.arange(1, len(source) + 1)
    count = first * (first - 1) if pairs == "all" else 2 * np.cumsum(touched)
    values: Floats = np.divide(2 * np.cumsum(agreement), count, out=np.full(len(source), np.nan), where=count > 0)
    return values


def phases(time: Any, delta_t: float | None = None) -> Floats | None:
    """Times since the first, over ΔT, which is their range by default; None if ΔT is 0 or there are no edges.

    Parameters
    ----------
    time
        Time of each edge.
    delta_t
        ΔT, at least 0.

    Returns
    -------
    numpy.ndarray or None
        (E,) from 0.

    Raises
    ------
    InputError
        If times are NaN or infinite.
    OptionError
        If ΔT is lost in rounding.
    """
    since = _since_first(as_numeric(time, "time"))
    span = float(since.max(initial=0.0))
    scale = span if delta_t is None else number("delta_t", delta_t, 0)
    if span > scale * 2.0**53 > 0:
        raise OptionError(f"delta_t = {delta_t} is lost in rounding for times with a range of {span}")
    return since / scale if scale and since.size else None


def touching(source: Ints, sink: Ints, phase: Floats, longest: int) -> tuple[Floats, Ints]:
    """For each edge: Σ cos(phase_i − phase_j) over the earlier edges that share a node with it, and their number.

    cos(a − b) = cos a · cos b + sin a · sin b, so one edge's agreement with all edges it touches is a product of two
    sums: those over the edges at either of its nodes, less those parallel to it, which are at both. The sums are of
    whole numbers (cosines and sines as multiples of a power of two): they are exact in any order, edges that touch
    nothing add nothing, and subtraction leaves no remainder.

    Parameters
    ----------
    source, sink
        Nodes numbered from 0. A loop counts once at its node, and parallel edges share both.
    phase
        One angle per edge.
    longest
        At least the number of edges that are connected: lists of edges without common nodes can be asked about at once.

    Returns
    -------
    tuple of numpy.ndarray
        (E,) sums and (E,) numbers of edges.
    """
    nodes = int(max(source.max(initial=-1), sink.max(initial=-1))) + 1
    # No sum of this many numbers exceeds 64 bits; up to a thousand edges nothing is rounded beyond the cosine itself.
    unit = 2.0 ** (62 - max(10, longest.bit_length()))
    cosine, sine = np.cos(phase), np.sin(phase)
    parts = np.stack([np.rint(cosine * unit), np.rint(sine * unit), np.ones(len(phase))]).astype(np.int64)
    loops = source == sink
    ends = np.stack([source, sink], axis=1).ravel()
    at_ends = _sums_before(ends, np.stack([parts, np.where(loops, 0, parts)], axis=2).reshape(3, -1)).reshape(3, -1, 2)
    beside = _sums_before(np.minimum(source, sink) * nodes + np.maximum(source, sink), parts)
    agreement_cosine, agreement_sine, touched = at_ends[:, :, 0] + np.where(loops, 0, at_ends[:, :, 1] - beside)
    return (cosine * agreement_cosine + sine * agreement_sine) / unit, touched


# ---- results of time_to_explain


def _own_ends(count: int, native: Any, payload: Mapping[str, Any], time: Any) -> tuple[AnyArray, AnyArray | None]:
    """Sources and targets of the candidates as two rows, and their times, from the context's own subgraph."""
    listed = payload.get("candidate_edge_index", getattr(native, "edge_index", None))
    pairs = np.asarray([] if listed is None else on_host(listed, "candidate_edge_index"))
    pairs = pairs.T if pairs.shape == (count, 2) else pairs
    if pairs.shape != (2, count):
        what = f"{count} candidates, but their edges have shape {pairs.shape}"
        fix = "Pass src= and dst= of all events."
        raise InputError(what, where="context.subgraph", fix=fix)
    moments = getattr(native, "timestamps", None) if time is None else time
    return pairs, None if moments is None else lined_up(moments, count, "timestamps", "candidate")


def _ends_in_data(candidates: Ints, src: Any, dst: Any, time: Any) -> tuple[AnyArray, AnyArray | None]:
    """Sources and targets of the candidates as two rows, and their times, from all events of the data."""
    source, sink = _ends(src, dst)
    outside = candidates[(candidates < 0) | (candidates >= len(source))]
    if outside.size:
        raise InputError(f"edge {outside[0]} is not among {len(source)}", where="candidate_eidx")
    times = None if time is None else _times(time, source)[candidates]
    return np.stack([source[candidates], sink[candidates]]), times


def _selected_first(importance: AnyArray, candidates: Ints, extras: Mapping[str, Any]) -> AnyArray:
    """The importance; if some events are selected, ranks in its place, with these first in the same order."""
    listed = next((extras[name] for name in _SELECTED if extras.get(name) is not None), None)
    if listed is None or importance.shape != candidates.shape or np.isnan(importance).any():
        return importance  # NaN is reported by the explanation
    chosen = np.isin(candidates, whole_numbers(listed, "selected events"))
    both = np.stack([chosen.astype(float), importance.astype(float)])
    return np.unique(both, axis=1, return_inverse=True)[1].reshape(-1).astype(float)


# ---- reach


def _moments_backwards(moments: AnyArray, before: float) -> Iterator[list[int]]:
    """The events before a time in groups of one moment, the latest first."""
    earlier = np.flatnonzero(moments < before)
    latest_first = earlier[np.argsort(moments[earlier], kind="stable")[::-1]]
    ordered, events = moments[latest_first], latest_first.tolist()
    cuts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    for first, last in pairwise([0, *cuts.tolist(), len(events)]):
        yield events[first:last]


def _spread_at_one_moment(pairs: list[list[int]], away: list[int]) -> None:
    """Shorten the distances of nodes that events at one moment connect; the nearest nodes first."""
    if all(abs(away[one] - away[other]) < 2 for one, other in pairs):
        return
    neighbours: dict[int, list[int]] = {}
    for one, other in pairs:
        neighbours.setdefault(one, []).append(other)
        neighbours.setdefault(other, []).append(one)
    nearest = [(away[node], node) for node in neighbours]
    heapify(nearest)
    while nearest:
        distance, node = heappop(nearest)
        for other in neighbours[node] if distance == away[node] else ():
            if distance + 1 < away[other]:
                away[other] = distance + 1
                heappush(nearest, (distance + 1, other))


# ---- cohesiveness


def _since_first(times: AnyArray) -> Floats:
    """Times relative to the first, subtracted in their own type: a float would lose nanoseconds since an epoch."""
    refuse_nan(times, "time", fix="Remove edges without a time.")
    if not times.size:
        return np.empty(0)
    if times.dtype.kind != "f":
        # The difference to the smallest is not negative, so it fits into 64 unsigned bits.
        wide = times.astype(np.uint64 if times.dtype == np.uint64 else np.int64)
        since: Floats = (wide - wide.min()).astype(np.uint64).astype(np.float64)
        return since
    first, last = float(times.min()), float(times.max())
    if not math.isfinite(last - first):
        raise InputError("times and their range must be finite", where="time")
    return np.subtract(times, first, dtype=np.float64)


def _sums_before(group: Ints, parts: Ints) -> Ints:
    """For each column of `parts`, the sum of the earlier columns of its group."""
    order = np.argsort(group, kind="stable")
    ordered = parts[:, order]
    # The running total over all groups may wrap around 64 bits: differences stay exact.
    total = np.cumsum(ordered, axis=1) - ordered
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    total -= np.repeat(total[:, starts], np.diff(starts, append=group.size), axis=1)
    sums = np.empty_like(total)
    sums[:, order] = total
    return sums


# ---- ends and times


def _ends(src: Any, dst: Any) -> tuple[AnyArray, AnyArray]:
    source, sink = as_labels(src, "src"), as_labels(dst, "dst")
    require_shape(sink, source.shape, "dst", "Pass one node per edge in src and in dst.")
    return source, sink


def _times(time: Any, source: AnyArray) -> AnyArray:
    times = as_numeric(time, "time")
    require_shape(times, source.shape, "time", "Pass one time per edge.")
    return times


def _numbered(*ids: AnyArray) -> list[Ints]:
    """Nodes as numbers from 0, which stand for the same ids in all arrays; whole numbers are not rounded."""
    if np.result_type(*ids).kind == "f":  # what NumPy makes of 64 bits with and without sign
        ids = tuple(array.astype(object) for array in ids)
    numbers = np.unique(np.concatenate(ids), return_inverse=True)[1].astype(np.int64)
    return np.split(numbers, np.cumsum([len(each) for each in ids])[:-1])
