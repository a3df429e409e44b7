"""Which events of a temporal graph can reach a prediction."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, as_labels, as_numeric, on_host, refuse_nan, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.options import whole_number


def reaching_events(src: Any, dst: Any, time: Any, nodes: Any, before: float, *, hops: int | None = None) -> Ints:
    """The numbers of the events that can influence an answer about some nodes at a time, in the given order.

    An event before that time can matter if it shares a node with the target, or with a later event that can matter:
    memory and messages travel forward in time, through both ends of an event. Events at the same moment can influence
    each other. This is conservative: models that sample neighbours or forget see fewer events.

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
    source, sink, moments = as_labels(src, "src"), as_labels(dst, "dst"), as_numeric(time, "time")
    require_shape(sink, source.shape, "dst", "Pass one node per event in src and in dst.")
    require_shape(moments, source.shape, "time", "Pass one time per event.")
    refuse_nan(moments, "time", fix="Give every event its time.")
    if not isinstance(before, Real) or before != before:
        raise InputError(f"expected a time, found {before!r:.60}", where="before")
    asked = as_labels(np.atleast_1d(on_host(nodes, "nodes")), "nodes")
    hops = None if hops is None else whole_number("hops", hops, 1)
    source, sink, asked = _alike({"src": source, "dst": sink, "nodes": asked})
    names, ends = np.unique(np.stack([source, sink]), return_inverse=True)
    ends = ends.reshape(2, -1)
    # How many events lie between a node and the target, from each moment on.
    far = np.full(len(names), np.iinfo(np.int64).max)
    far[np.isin(names, asked)] = 0
    limit = len(source) if hops is None else hops
    reached = np.zeros(len(source), bool)
    earlier = np.flatnonzero(moments < before)
    for moment in np.unique(moments[earlier])[::-1]:
        together = earlier[moments[earlier] == moment]
        while True:
            distance = far[ends[:, together]].min(axis=0)
            chosen = together[distance < limit]
            nearer = far.copy()
            for side in ends[:, chosen]:
                np.minimum.at(nearer, side, distance[distance < limit] + 1)
            reached[chosen] = True
            if (nearer == far).all():
                break
            far = nearer
    return np.flatnonzero(reached)


def _alike(given: Mapping[str, AnyArray]) -> list[AnyArray]:
    """Node ids as arrays of one type: text, or whole numbers, which are not rounded."""
    ids = {name: array for name, array in given.items() if array.size}
    texts = [name for name, array in ids.items() if array.dtype.kind == "U"]
    if texts and len(texts) < len(ids):
        number = next(name for name in ids if name not in texts)
        raise InputError(
            f"are text, and those of {number} are numbers", where=texts[0], fix="Use the same ids for all nodes."
        )
    if texts:
        return [array.astype(np.str_) for array in given.values()]
    if any(array.max() > np.iinfo(np.int64).max for array in ids.values()):
        if any(array.min() < 0 for array in ids.values()):
            raise InputError("negative numbers and numbers of 64 bits without sign cannot be compared", where="nodes")
        return [array.astype(np.uint64) for array in given.values()]
    return [array.astype(np.int64) for array in given.values()]
