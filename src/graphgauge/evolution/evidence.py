"""What the checks look at: of one cycle, and of all cycles together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.evolution.compared import gains
from graphgauge.evolution.edges import among, set_of
from graphgauge.evolution.growth import two_sides
from graphgauge.evolution.samples import Samples


def of_cycle(samples: Samples, *, first: bool) -> dict[str, Any]:
    """That of one cycle; the sides of the graph and held-out edges in it are looked for in the first one."""
    state, births, sides, held = samples.state, samples.state.births, None, None
    gained = gains(samples["after"], samples["before"]) if "after" in samples.made else None
    if first and state.types is None and len(births):
        sides = two_sides(births.either, state.nodes)
    if first and len(state.test_edges):
        test = set_of(state.test_edges, state.options.directed)
        held = len(test), int(np.count_nonzero(among(test, births.before)))
    return {
        "balances": () if births.balance is None else (births.balance,),
        "paired": () if gained is None else (gained,),
        "inferred": births.inferred,
        "sides": sides,
        "held": held,
    }


def of_cycles(cycles: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """That of all cycles together."""
    return {
        "balances": tuple(each for own in cycles for each in own["balances"]),
        "paired": tuple(each for own in cycles for each in own["paired"]),
        "inferred": sum(own["inferred"] for own in cycles),
        "sides": next((own["sides"] for own in cycles if own["sides"]), None),
        "held": next((own["held"] for own in cycles if own["held"]), None),
    }
