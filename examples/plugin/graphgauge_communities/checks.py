"""What the audit looks for."""

from __future__ import annotations

from graphgauge.core.findings import Evidence, check
from graphgauge_communities.metrics import Groups


@check(
    "one-group-found",
    family="communities",
    severity="warning",
    message="all {nodes} nodes are in one found group",
    remedy="Accuracy is then the share of that group; look at nmi and ari.",
)
def one_group_found(groups: Groups) -> Evidence | None:
    """All nodes are in one group, and accuracy is the share of the largest class."""
    return {"nodes": groups.n} if groups.table.shape[1] == 1 and groups.table.shape[0] > 1 else None
