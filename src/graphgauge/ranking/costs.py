"""What an evaluation of ranking files keeps in memory, known before it is read."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from graphgauge.io.arrays import ArrayFile
from graphgauge.ranking.fingerprints import MOST

# The most bytes of counts in memory if nothing is said; what is beyond is on disk.
_COUNTS = 1 << 30
# Bytes by which a saved state grows: the hashes of queries.
MOST_GROWTH = 8 * MOST


def kept_bytes(values: Mapping[str, Any], files: Mapping[str, list[ArrayFile]], share: float = 1.0) -> int | None:
    """The most bytes that are kept of this share of the queries; None for forms whose scores are not in shards.

    Of a matrix these are its cells, a row of integers each: at most one per query, and with k negatives at most
    (k + 1)(k + 2) / 2 per group. Of one pool these are the scores, unless `max_memory` has them counted.
    """
    pos, neg = files.get("pos_scores"), files.get("neg_scores")
    if not pos or not neg or values["offsets"] is not None:
        return None
    most = _COUNTS if values["max_memory"] is None else values["max_memory"]
    queries = round(share * sum(map(len, pos)))
    if len(neg[0].shape) == 1:
        scores = round(share * sum(prod(file.shape) * file.dtype.itemsize for file in (*pos, *neg)))
        return scores if values["max_memory"] is None else min(scores, most)
    candidates = neg[0].shape[1]
    labels = [name for name in ("groups", "cluster", "weights") if values[name]]
    cells = queries if labels else min(queries, (candidates + 1) * (candidates + 2) // 2)
    items = 8 * 4 * queries if values["keep"] or values["per_query"] else 0
    return min(8 * (4 + len(labels)) * cells, most) + items
