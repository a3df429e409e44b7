"""Nodes by number and by name: checks and matching of names, and numbering of edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, as_numeric, is_tensor
from graphgauge.core.errors import InputError, OptionError
from graphgauge.old.core.graphs import Names

_EDGE = "An edge is (source, target) or (source, target, weight)."


def counted_or_named(nodes: Any) -> tuple[int | None, Names | None]:
    """The value of `nodes=`: the number of nodes, and their names if given."""
    if nodes is None:
        return None, None
    if isinstance(nodes, int | np.integer) and not isinstance(nodes, bool) and nodes >= 0:
        return int(nodes), None
    if isinstance(nodes, int | np.integer | Set) or not np.iterable(nodes):
        raise OptionError(f"nodes must be a number of nodes, or their names in order, not {nodes!r:.80}")
    names = checked_names(nodes, "nodes")
    return len(names), names


def checked_names(names: Iterable[Any], where: str) -> Names:
    try:
        listed = tuple(names)
        counted = Counter(listed)
    except TypeError:
        raise InputError(f"{names!r:.80} cannot name nodes", where=where, fix="List text, numbers or tuples.") from None
    twice = next((label for label, count in counted.items() if count > 1), None)
    if twice is not None:
        raise InputError(f"the node {twice!r} occurs twice among the names", where=where)
    return listed


def by_number(names: Names) -> Names:
    """Names that are 0 … d − 1, as numbers or text, in the order that a matrix without names has; others unchanged."""
    ordered = sorted(names, key=lambda name: (len(str(name)), str(name)))
    return tuple(ordered) if are_numbers(tuple(ordered)) else names


def are_numbers(names: Names) -> bool:
    """Whether the names are 0 … d − 1 in order."""
    return all(
        isinstance(name, int | np.integer | str) and not isinstance(name, bool) and str(name) == str(number)
        for number, name in enumerate(names)
    )


def same_names(found: Names, expected: Names, name: str) -> None:
    held, wanted = set(found), set(expected)
    absent = [repr(label) for label in expected if label not in held]
    unknown = [repr(label) for label in found if label not in wanted]
    if absent or unknown:
        parts = [f"{text} {_some(labels)}" for text, labels in (("lacks", absent), ("adds", unknown)) if labels]
        raise InputError(f"node names differ: {' and '.join(parts)}", where=name, fix="Nodes are matched by name.")


def numbered_edges(listed: Any, name: str, order: Names | None, d: int) -> tuple[Ints, AnyArray]:
    """Edges (edges, 2) between d nodes by their numbers in `order`, and the weight of each, 1 by default."""
    if isinstance(listed, np.ndarray) or is_tensor(listed):
        return _split_array(listed, name, order, d)
    return _split_tuples(listed, name, order, d)


def _split_tuples(listed: Any, name: str, order: Names | None, d: int) -> tuple[Ints, AnyArray]:
    edges = list(listed) if np.iterable(listed) else [listed]
    wrong = [edge for edge in edges if not isinstance(edge, tuple | list) or len(edge) not in (2, 3)]
    if wrong:
        raise InputError(f"{wrong[0]!r:.80} is not an edge", where=name, fix=_EDGE)
    if len({len(edge) for edge in edges}) > 1:
        raise InputError("edges of different lengths", where=name, fix="Give all of them a weight, or none.")
    numbers = np.array(_numbered([edge[:2] for edge in edges], name, order, d), np.int64).reshape(-1, 2)
    if not edges or len(edges[0]) == 2:
        return numbers, np.ones(len(edges))
    return numbers, as_numeric([edge[2] for edge in edges], f"weights of {name}")


def _split_array(listed: Any, name: str, order: Names | None, d: int) -> tuple[Ints, AnyArray]:
    edges = as_numeric(listed, name)
    if edges.ndim != 2 or edges.shape[1] not in (2, 3):
        raise InputError(f"expected edges of shape (edges, 2 or 3), found {edges.shape}", where=name, fix=_EDGE)
    if order is not None and order != tuple(range(d)):
        raise InputError("edges by number, but the nodes have names", where=name, fix="List edges by name.")
    with np.errstate(invalid="ignore"):  # NaN and values out of range become some other number, which is not equal
        numbers = edges[:, :2].astype(np.int64)
    wrong = ((numbers < 0) | (numbers >= d) | (numbers != edges[:, :2])).any(1)
    if wrong.any():
        first = tuple(edges[np.argmax(wrong), :2].tolist())
        raise InputError(f"the edge {first!r} is not between nodes 0 … {d - 1}", where=name)
    return numbers, edges[:, 2] if edges.shape[1] == 3 else np.ones(len(edges))


def _numbered(ends: list[tuple[Any, ...]], name: str, order: Names | None, d: int) -> list[Any]:
    if order is None:
        wrong = next((edge for edge in ends if not all(_is_node_number(end, d) for end in edge)), None)
        if wrong is not None:
            raise InputError(
                f"the edge {wrong!r} is not between nodes 0 … {d - 1}",
                where=name,
                fix='Pass nodes= to name them, or nodes="listed" for those that occur.',
            )
        return ends
    place = {label: index for index, label in enumerate(order)}
    unknown = list(dict.fromkeys(repr(end) for edge in ends for end in edge if end not in place))
    if unknown:
        raise InputError(
            f"edges between unknown nodes: {_some(unknown)}",
            where=name,
            fix=f"Known: {_some([repr(label) for label in order])}.",
        )
    return [[place[end] for end in edge] for edge in ends]


def _some(labels: list[str]) -> str:
    return ", ".join(labels[:12]) + (" …" if len(labels) > 12 else "")


def _is_node_number(end: Any, d: int) -> bool:
    return isinstance(end, int | np.integer) and 0 <= int(end) < d
