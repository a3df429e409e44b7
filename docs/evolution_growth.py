"""The tables of `evolution_growth.md`: how often planted growth is called helpful.

`python docs/evolution_growth.py` writes them, or only those that are named (null, hostile, planted). A number limits
the systems per row, for a quick look.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphgauge.evolution import Ledger, is_harmful, is_helpful, replay_growth

PLACE = Path(__file__).parent
# Fixed before any of them was run.
NODES, CLASSES, DEGREE, SAME, CYCLES, DRAWS, FUTURE = 150, 3, 4.0, 0.7, 5, 19, 100
SIZES = (10, 20, 40, 80)
SYSTEMS = {"null": 60, "hostile": 40, "planted": 30}
Rng = np.random.Generator


@dataclass
class System:
    """A graph with communities that grows by a rule."""

    rng: Rng
    labels: np.ndarray
    taken: set[frozenset[int]]
    degrees: list[int]

    @classmethod
    def new(cls, rng: Rng) -> System:
        system = cls(rng, np.arange(NODES) % CLASSES, set(), [0] * NODES)
        while len(system.taken) < NODES * DEGREE / 2:
            system.join(*system.pair(SAME))
        return system

    def pair(self, same: float) -> tuple[int, int]:
        """A random node and one of its class with this probability, else of another."""
        u = int(self.rng.integers(NODES))
        inside = (self.labels == self.labels[u]) == (self.rng.random() < same)
        return u, int(self.rng.choice(np.flatnonzero(inside)))

    def is_free(self, u: int, v: int) -> bool:
        return u != v and frozenset((u, v)) not in self.taken

    def join(self, u: int, v: int) -> None:
        if self.is_free(u, v):
            self.taken.add(frozenset((u, v)))
            self.degrees[u] += 1
            self.degrees[v] += 1


Rule = Callable[[System, int], tuple[int, int]]


def uniform(system: System, step: int) -> tuple[int, int]:
    return tuple(system.rng.integers(NODES, size=2).tolist())


def by_degree(system: System, step: int) -> tuple[int, int]:
    weights = np.array(system.degrees[:NODES], float)
    return int(system.rng.integers(NODES)), int(system.rng.choice(NODES, p=weights / weights.sum()))


def five_hubs(system: System, step: int) -> tuple[int, int]:
    """The five nodes of the highest degree at the start, which need not be of equal classes."""
    hubs = np.argsort(system.degrees[:NODES])[-5:]
    return int(system.rng.integers(NODES)), int(system.rng.choice(hubs))


def newborn(system: System, step: int) -> tuple[int, int]:
    """Every two births share a new node."""
    return NODES + step // 2, int(system.rng.integers(NODES))


def newborn_good(system: System, step: int) -> tuple[int, int]:
    """Both edges of a new node go to one class."""
    members = np.flatnonzero(system.labels == (step // 2) % CLASSES)
    return NODES + step // 2, int(system.rng.choice(members))


def planted(same: float) -> Rule:
    return lambda system, step: system.pair(same)


def sorted_by_class(rule: Rule) -> Rule:
    """The end of the lower class is listed first, which says nothing of who chose whom."""

    def pair(system: System, step: int) -> tuple[int, int]:
        u, v = rule(system, step)
        return (u, v) if (system.labels[u], u) < (system.labels[v], v) else (v, u)

    return pair


def dying(births: int, rng: Rng, *, back: bool = False) -> tuple[Ledger, dict[int, int], np.ndarray]:
    """Random pairs of the nodes that are there; after half of the cycles, four fifths of a class die.

    With `back`, they are born again at once, without their edges.
    """
    system = System.new(rng)
    labels = dict(enumerate(system.labels.tolist()))
    events = [{"cycle": -1, "action": "birth", "node": node} for node in labels]
    events += [{"cycle": -1, "source": u, "target": v} for u, v in map(sorted, system.taken)]
    there = np.arange(NODES)
    for cycle in range(CYCLES):
        if cycle == CYCLES // 2:
            dead = [node for node in labels if labels[node] == 0 and rng.random() < 0.8]
            events += [{"cycle": cycle, "action": "death", "node": node} for node in dead]
            if back:
                events += [{"cycle": cycle, "action": "birth", "node": node} for node in dead]
            else:
                there = np.setdiff1d(there, dead)
        count = 0
        while count < births // CYCLES:
            u, v = rng.choice(there, 2, replace=False).tolist()
            if system.is_free(u, v):
                system.join(u, v)
                events.append({"cycle": cycle, "source": u, "target": v})
                count += 1
    future: list[tuple[int, int]] = []
    while len(future) < FUTURE:
        u, v = system.pair(SAME)
        if system.is_free(u, v) and u in there and v in there:
            future.append((u, v))
    return Ledger.of(events), labels, np.array(future)


NULLS: dict[str, Rule | None] = {
    "random pairs": uniform,
    "random, by degree": by_degree,
    "random, to five hubs": five_hubs,
    "new nodes, random anchors": newborn,
    "random pairs, nodes die": None,
}
HOSTILE: dict[str, Rule | None] = {
    "random pairs, ends sorted by class": sorted_by_class(uniform),
    "random, to five hubs, ends sorted by class": sorted_by_class(five_hubs),
    "random pairs, nodes die and come back": None,
}
PLANTED: dict[str, Rule | None] = {
    "good: 90 % within a class": planted(0.9),
    "weakly good: 50 %": planted(0.5),
    "harmful: 5 %": planted(0.05),
    "new nodes, anchors of one class": newborn_good,
}


def grown(rule: Rule, births: int, rng: Rng) -> tuple[list[dict], np.ndarray, np.ndarray]:
    system = System.new(rng)
    edges = np.array([sorted(edge) for edge in system.taken])
    system.degrees += [0] * births
    cycles, nodes, step = [], NODES, 0
    for cycle in range(CYCLES):
        new: list[tuple[int, int]] = []
        while len(new) < births // CYCLES:
            u, v = rule(system, step)
            if system.is_free(u, v):
                system.join(u, v)
                new.append((u, v))
                step += 1
        after = np.concatenate([edges, np.array(new)])
        before, nodes = nodes, max(nodes, int(after.max()) + 1)
        cycles.append(
            {
                "cycle": cycle,
                "embeddings": np.zeros((nodes, 1)),
                "previous_embeddings": np.zeros((before, 1)),
                "new_edges": np.array(new),
                "all_edges": after,
                "previous_edges": edges,
            }
        )
        edges = after
    future: list[tuple[int, int]] = []
    while len(future) < FUTURE:
        u, v = system.pair(SAME)
        if system.is_free(u, v):
            future.append((u, v))
    return cycles, system.labels, np.array(future)


def rates(name: str, rule: Rule | None, births: int, systems: int) -> dict[str, float]:
    """Shares of systems whose growth is called better or worse than chance, and helpful."""
    said: dict[str, list[float]] = {}
    for number in range(systems):
        rng = np.random.default_rng([zlib.crc32(name.encode()), births, number])
        cycles, labels, future = dying(births, rng, back="back" in name) if rule is None else grown(rule, births, rng)
        keys = [f"growth_{o}{part}" for o in ("probe", "future") for part in ("", "_p_shuffled", "_p_redrawn")]
        found = replay_growth(cycles, labels, future_edges=future, draws=DRAWS, metrics=keys, seed=number)
        for outcome in ("probe", "future"):
            said.setdefault(f"{outcome} effect", []).append(found[f"growth_{outcome}"].value)
            said.setdefault(f"{outcome} helpful", []).append(is_helpful(found, outcome))
            said.setdefault(f"{outcome} harmful", []).append(is_harmful(found, outcome))
            for kind in ("shuffled", "redrawn"):
                p = found[f"growth_{outcome}_p_{kind}"].value
                said.setdefault(f"{outcome} {kind}", []).append(p <= 0.05)
    return {key: float(np.mean(values)) for key, values in said.items()}


def table(rules: dict[str, Rule | None], systems: int) -> list[str]:
    columns = [f"{o} {c}" for o in ("probe", "future") for c in ("effect", "shuffled", "redrawn", "helpful", "harmful")]
    lines = [f"| growth | births | systems | {' | '.join(columns)} |", "|---|---|---|" + "---|" * len(columns)]
    for name, rule in rules.items():
        for births in SIZES:
            found = rates(name, rule, births, systems)
            cells = [f"{found[c]:+.3f}" if c.endswith("effect") else f"{found[c]:.3f}" for c in columns]
            lines.append(f"| {name} | {births} | {systems} | {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return lines


def main() -> None:
    limit = next((int(own) for own in sys.argv[1:] if own.isdigit()), None)
    named = [own for own in sys.argv[1:] if not own.isdigit()]
    for name, rules in (("null", NULLS), ("hostile", HOSTILE), ("planted", PLANTED)):
        if named and name not in named:
            continue
        lines = table(rules, limit or SYSTEMS[name])
        if limit is None:
            (PLACE / f"evolution_growth_{name}.inc").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
