"""A temporal graph network, trained on a stream of contacts, and explainers of its answers."""

from __future__ import annotations

import os
from typing import Any


def load() -> Any:
    """The network from the checkpoint in $GRAPHGAUGE_TEMPORAL, by default temporal.pt.

    For `graphgauge explanation --model graphgauge.zoo.temporal:load`.
    """
    from graphgauge.core.extras import need

    need("torch", "the temporal network")
    from graphgauge.zoo.temporal.model import TemporalGNN

    return TemporalGNN.load(os.environ.get("GRAPHGAUGE_TEMPORAL", "temporal.pt"))
