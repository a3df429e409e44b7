"""Where the positives of candidate lists stand, for tensors on a CUDA device, which stay there; see `kernels.lists`.

A query's candidates are adjacent, and its positives few: those are sorted, and each candidate is looked up among them.
Queries with many positives are sorted whole, as are all queries without Triton.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from graphgauge.kernels.device import fused

# Elements that are looked at together; `nonzero` takes no more than 2**31.
_AT_ONCE = 1 << 27
# Up to this many positives of a query, candidates are looked up and not sorted: a program counts them by positive.
LOOKED_UP = 1022
# Candidates that are sorted at once, except those of one query.
_SORTED = 1 << 26


def marked(values: Any) -> Any:
    """The places of all values that are not 0, ascending.

    >>> import torch
    >>> marked(torch.tensor([0, 2, 1])).tolist()
    [1, 2]
    """
    import torch

    parts = [values[part].nonzero()[:, 0] + part.start for part in _parts(len(values), _AT_ONCE)]
    return torch.cat(parts) if parts else torch.empty(0, dtype=torch.int64, device=values.device)


def changes(ids: Any) -> Any:
    """The rows at which the id differs from that of the row before; the first row is one.

    >>> import torch
    >>> changes(torch.tensor([4, 4, 1, 1, 1, 4])).tolist()
    [0, 2, 5]
    """
    import torch

    found = [torch.zeros(min(1, len(ids)), dtype=torch.int64, device=ids.device)]
    for part in _parts(max(0, len(ids) - 1), _AT_ONCE):
        differ = ids[part.start + 1 : part.stop + 1] != ids[part]
        found.append(differ.nonzero()[:, 0] + part.start + 1)
    return torch.cat(found)


def list_places(scores: Any, positive: Any, begin: Any, size: Any, first: Any) -> tuple[Any, Any]:
    """For each positive the candidates of its query with a higher score, and with the same, itself among them.

    Query q has the candidates `scores[begin[q]:begin[q] + size[q]]`; its positives are at
    `positive[first[q]:first[q + 1]]`, ascending. There must be no NaN.
    """
    import torch

    ahead, tied = (torch.zeros(len(positive), dtype=torch.int64, device=scores.device) for _ in range(2))
    if not len(positive):
        return ahead, tied
    relevant, longest = (int(most) for most in torch.stack([first.diff().max(), size.max()]).tolist())
    if scores.is_cuda and relevant <= LOOKED_UP and (kernels := fused()):
        return looked_up(kernels, scores, scores[positive], begin, size, first, relevant, longest)
    for queries in _groups(size):
        own = slice(int(first[queries.start]), int(first[queries.stop]))
        if own.stop > own.start:
            ahead[own], tied[own] = _sorted_places(scores, positive[own], begin[queries], size[queries])
    return ahead, tied


def looked_up(
    kernels: Any, scores: Any, levels: Any, begin: Any, size: Any, first: Any, relevant: int, longest: int
) -> tuple[Any, Any]:
    """As `list_places`, for levels in place of positives; those of query q are `levels[first[q]:first[q + 1]]`.

    A NaN among the scores is neither above a level nor equal to it. `relevant` and `longest` are the most levels and
    candidates of a query.
    """
    import torch

    query = torch.repeat_interleave(torch.arange(len(size), device=size.device), first.diff())
    order = levels.argsort()
    order = order[query[order].argsort(stable=True)]  # levels come query by query, so `query` is sorted as it is
    levels = levels[order]
    ahead, tied = (torch.zeros(len(levels), dtype=torch.int64, device=scores.device) for _ in range(2))
    kernels.count_places(scores, levels, begin, size, first, ahead, tied, relevant=relevant, longest=longest)
    run, run_start, _ = _runs(levels, query)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=order.device)
    return ahead[place], tied[run_start[run[place]]]


def _runs(values: Any, query: Any) -> tuple[Any, Any, Any]:
    """The run of equal values of a query that each is in, and where each run starts and how long it is."""
    import torch

    new = torch.ones(len(values), dtype=torch.bool, device=values.device)
    new[1:] = (values[1:] != values[:-1]) | (query[1:] != query[:-1])
    start = new.nonzero()[:, 0]
    return new.cumsum(0) - 1, start, torch.diff(start, append=start.new_tensor([len(values)]))


def _sorted_places(scores: Any, positive: Any, begin: Any, size: Any) -> tuple[Any, Any]:
    import torch

    start = size.cumsum(0) - size
    query = torch.repeat_interleave(torch.arange(len(size), device=size.device), size)
    candidate = torch.arange(len(query), device=size.device) + (begin - start)[query]
    values = scores[candidate]
    order = values.argsort(descending=True)
    order = order[query[order].argsort(stable=True)]
    values, query = values[order], query[order]
    run, run_start, length = _runs(values, query)
    place = torch.empty_like(order)
    place[order] = run
    # Positives ascend, and so do the candidates of the queries that they belong to.
    owner = torch.searchsorted(begin, positive, right=True) - 1
    own = place[positive - (begin - start)[owner]]
    return run_start[own] - start[owner], length[own]


def _groups(size: Any) -> Iterator[slice]:
    """Successive queries with about `_SORTED` candidates each."""
    import torch

    if not len(size):
        return
    ends = size.cumsum(0)
    goals = torch.arange(_SORTED, int(ends[-1]) + _SORTED, _SORTED, device=size.device)
    edges = sorted({0, len(size), *torch.searchsorted(ends, goals, right=True).clamp(max=len(size)).tolist()})
    yield from (slice(start, stop) for start, stop in pairwise(edges))


def _parts(length: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, length)) for start in range(0, length, size))
