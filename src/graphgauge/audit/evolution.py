"""Checks of graphs that rewrite themselves."""

from __future__ import annotations

from collections.abc import Mapping

from graphgauge.core.findings import Evidence, check
from graphgauge.core.result import Result


@check(
    "circular-auc",
    family="evolution",
    severity="warning",
    message="births score {after:.3f} on the embeddings after them and {before:.3f} on those before: the first number "
    "is made by the births themselves",
    remedy="Judge growth by auc_birth or auc_matched.",
)
def circular_auc(results: Mapping[str, Result]) -> Evidence | None:
    """Births score far better on the embeddings after them than on those before."""
    after, before = results.get("auc_synthetic"), results.get("auc_birth")
    if after is None or before is None or after.interval is None or before.interval is None:
        return None
    if after.interval.low <= before.interval.high:
        return None
    return {"after": after.value, "before": before.value}
