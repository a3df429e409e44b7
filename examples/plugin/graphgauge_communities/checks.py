"""What the audit looks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge.core.finding import check
from graphgauge_communities.metrics import Groups


@check(
    "one-group-found",
    family="communities",
    severity="warning",
    message="all {nodes} nodes are in one found group",
    remedy="Accuracy is then the share of that group; look at nmi and ari.",
)
def one_group_found(groups: Groups) -> dict[str, Any] | None:
    """All nodes are in one group, and accuracy is the share of the largest class."""
    return {"nodes": groups.n} if groups.table.shape[1] == 1 and groups.table.shape[0] > 1 else None


@check(
    "groups-of-training",
    family="communities",
    severity="warning",
    message="{unseen} of {groups} true groups have no training node",
    remedy="A classifier cannot find them; leave them out, or train on them.",
)
def groups_of_training(true: Any, train: Any) -> dict[str, Any] | None:
    """Some true groups have no training node."""
    groups = np.unique(true).astype(str)
    unseen = np.setdiff1d(groups, np.unique(train).astype(str))
    return {"unseen": len(unseen), "groups": len(groups)} if len(unseen) else None
