"""A temporal graph network, trained on a stream of contacts, and explainers of what it answers."""

from __future__ import annotations

import os
from typing import Any


def load() -> Any:
    """The network of the checkpoint that $GRAPHGAUGE_TEMPORAL names, or of temporal.pt.

    `graphgauge explanation --model graphgauge.zoo.temporal:load` asks it.
    """
    from graphgauge.core.extras import need

    need("torch", "the temporal network")
    from graphgauge.zoo.temporal.model import TemporalGNN

    return TemporalGNN.load(os.environ.get("GRAPHGAUGE_TEMPORAL", "temporal.pt"))
