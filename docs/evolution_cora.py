"""The tables and figures of `evolution_cora.md`: `python docs/evolution_cora.py cora.npz [PART …]`.

Parts: premise, geometry, growth. All by default.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np

from graphgauge.core.figures import CHANCE, COLOURS, canvas
from graphgauge.evolution import EvaluationSuite, is_harmful, is_helpful, poincare_distance, replay_growth
from graphgauge.stats.text import fixed
from graphgauge.zoo.zaratustra import GraphData, Settings, Zaratustra, read_graph_data, replaying
from graphgauge.zoo.zaratustra.engine import elites

PLACE = Path(__file__).parent / "evolution_cora"
CONDITIONS = ("Normal", "Off", "Inverted")  # in the predicted order
CYCLES = 50
SEEDS = {"premise": 3, "geometry": 5, "growth": 3}
DRAWS = 19
GEOMETRIES = {
    "symmetric (default)": {"average": "symmetric", "radius_by": "smoothing"},
    "mean of the neighbours": {"average": "mean", "radius_by": "smoothing"},
    "norms of the start": {"average": "symmetric", "radius_by": "start"},
    "radius by degree": {"average": "symmetric", "radius_by": "degree"},
}
ANCHORS = ("uniform", "distance")
HELD_OUT = 0.1
# Nodes farther out than this quantile of all norms are called boundary nodes.
BOUNDARY = 0.9


def main() -> None:
    data = read_graph_data(sys.argv[1])
    parts: dict[str, Callable[[GraphData], None]] = {"premise": premise, "geometry": geometry, "growth": growth}
    PLACE.mkdir(exist_ok=True)
    for name in sys.argv[2:] or parts:
        parts[name](data)
    write("settings", [f"- {name}: {value}" for name, value in asdict(Settings()).items()])


def held_out(data: GraphData) -> tuple[GraphData, np.ndarray]:
    """The graph without a tenth of its edges, and these."""
    chosen = np.random.default_rng(0).permutation(len(data.edges))
    test, kept = np.split(chosen, [int(HELD_OUT * len(chosen))])
    return GraphData(data.edges[np.sort(kept)], data.labels, data.features), data.edges[test]


# ---- the premise: why a score of held-out edges falls


def area(points: np.ndarray, positives: np.ndarray, edges: np.ndarray, eligible: np.ndarray, seed: int) -> float:
    """Held-out edges against non-edges between eligible nodes, by distance."""
    rng = np.random.default_rng(seed)
    taken = {frozenset(edge) for edge in np.concatenate([edges, positives]).tolist()}
    drawn = (tuple(rng.choice(eligible, 2, replace=False).tolist()) for _ in itertools.count())
    negatives = np.array(list(itertools.islice((p for p in drawn if frozenset(p) not in taken), len(positives))))
    near, far = (poincare_distance(points[pairs[:, 0]], points[pairs[:, 1]]) for pairs in (positives, negatives))
    return float((near[:, None] < far).mean() + 0.5 * (near[:, None] == far).mean())


def premise(data: GraphData) -> None:
    kept, test = held_out(data)
    seeds, old = range(SEEDS["premise"]), np.arange(data.num_nodes)
    rows: dict[str, list[list[float]]] = {}

    def add(name: str, values: list[float]) -> None:
        rows.setdefault(name, []).append(values)

    for seed in seeds:
        for condition in ("Still", *CONDITIONS):
            for births in (0,) if condition == "Still" else (0, 2):
                engine = Zaratustra(kept, Settings(births_per_cycle=births), seed=seed)
                first = area(engine.embeddings, test, engine.edges, old, seed)
                if condition == "Still":
                    add("1. embeddings fixed", [first] * 3)
                found: dict[str, list[float]] = {"": [], "original nodes": [], "without boundary nodes": []}
                for cycle in range(CYCLES):
                    engine.step(condition)
                    if cycle + 1 not in (10, 25, 50):
                        continue
                    points, everyone = engine.embeddings, np.arange(engine.num_nodes)
                    norms = np.linalg.norm(points, axis=1)
                    inner = everyone[norms <= np.quantile(norms, BOUNDARY)]
                    nodes = {"": everyone, "original nodes": old, "without boundary nodes": inner}
                    for name, eligible in nodes.items():
                        found[name].append(area(points, test, engine.edges, eligible, seed))
                if condition == "Still":
                    add("1. embeddings drift (smoothing alone)", found[""])
                    add("3. smoothing alone, negatives without boundary nodes", found["without boundary nodes"])
                elif births == 0:
                    add(f"2. {condition}, nodes fixed", found[""])
                else:
                    add(f"2. {condition}, nodes grow, negatives of original nodes", found["original nodes"])
                    add(f"2. {condition}, nodes grow, negatives of all nodes", found[""])
                    add(f"3. {condition}, negatives without boundary nodes", found["without boundary nodes"])
                say("premise", condition, births, seed)
    lines = ["| what varies | after 10 cycles | 25 | 50 |", "|---|---|---|---|"]
    for name in sorted(rows):
        means = np.mean(rows[name], axis=0)
        lines.append(f"| {name} | {' | '.join(fixed(float(value), 3) for value in means)} |")
    write("premise", lines)


# ---- four geometries, two anchor rules


def geometry(data: GraphData) -> None:
    keys = ("auc_birth", "auc_matched", "delta_homophily")
    nodes = range(data.num_nodes)
    table = [f"| geometry | anchors | condition | elites / all | {' | '.join(f'`{k}`' for k in keys)} | `nca_mean` |"]
    table.append("|---|---|---|---|" + "---|" * (len(keys) + 1))
    order = ["| geometry | anchors | metric | Page's L | p | mean ranks (3 is best) |", "|---|---|---|---|---|---|"]
    curves: dict[str, dict[str, np.ndarray]] = {}
    trajectory = ["| geometry | condition | cycles 1–5 | 6–20 | 21–50 |", "|---|---|---|---|---|"]
    for name, anchor in itertools.product(GEOMETRIES, ANCHORS):
        settings = Settings(anchor=anchor, **GEOMETRIES[name])
        conditions = (*CONDITIONS, "Still") if anchor == "uniform" else CONDITIONS
        suite = EvaluationSuite(nodes, data.labels, CONDITIONS, metrics=list(keys))
        last = EvaluationSuite(nodes, data.labels, conditions, metrics=["nca_mean"])
        ratios: dict[str, list[float]] = {condition: [] for condition in conditions}
        for condition, seed in itertools.product(conditions, range(SEEDS["geometry"])):
            engine = Zaratustra(data, settings, seed=seed)
            hubs = elites(engine.degrees)
            if condition != "Still":
                suite.begin(condition, engine.embeddings, engine.edges, seed)
            for cycle in range(CYCLES):
                births = engine.step(condition)
                if condition != "Still":
                    suite.step(
                        condition,
                        engine.embeddings,
                        births,
                        engine.edges,
                        cycle,
                        engine.compute_tgc(),
                        seed,
                        pools=engine.pools,
                    )
            last.step(condition, engine.embeddings, births, engine.edges, CYCLES - 1, engine.compute_tgc(), seed)
            norms = np.linalg.norm(engine.embeddings[: data.num_nodes], axis=1)
            ratios[condition].append(float(norms[hubs].mean() / norms.mean()))
            say(name, anchor, condition, seed)
        values = {key: {c: runs(suite, key, c) for c in CONDITIONS} for key in keys}
        probe = {c: runs(last, "nca_mean", c) for c in conditions}
        for condition in conditions:
            cells = [interval(values[key][condition]) if condition != "Still" else "–" for key in keys]
            cells = [f"{np.mean(ratios[condition]):.2f}", *cells, interval(probe[condition])]
            table.append(f"| {name} | {anchor} | {condition} | {' | '.join(cells)} |")
        for key, found in (*values.items(), ("nca_mean", probe)):
            order.append(f"| {name} | {anchor} | `{key}` | {page(found)} |")
        if anchor == "uniform":
            curves[name] = {c: by_cycle(suite, "auc_birth", c) for c in CONDITIONS}
            for condition, curve in curves[name].items():
                parts = (curve[:5], curve[5:20], curve[20:])
                means = " | ".join(fixed(float(part.mean()), 3) for part in parts)
                trajectory.append(f"| {name} | {condition} | {means} |")
    write("geometry", table)
    write("order", order)
    write("trajectory", trajectory)
    draw(curves)


def runs(suite: EvaluationSuite, key: str, condition: str) -> np.ndarray:
    """The mean over cycles of every run."""
    return np.array([np.nanmean(own.history[key]) for own in suite.of(condition)])


def by_cycle(suite: EvaluationSuite, key: str, condition: str) -> np.ndarray:
    return np.array([own.history[key] for own in suite.of(condition)]).mean(axis=0)


def interval(values: np.ndarray) -> str:
    from scipy import stats

    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{fixed(float(values.mean()), 3)} ± {half:.3f}"


def page(found: dict[str, np.ndarray]) -> str:
    """Page's test of Normal > Off > Inverted over seeds."""
    from scipy import stats

    matrix = np.stack([found[condition] for condition in reversed(CONDITIONS)], axis=1)
    tested = stats.page_trend_test(matrix)
    ranks = stats.rankdata(matrix, axis=1).mean(axis=0)[::-1]
    shown = ", ".join(f"{name} {rank:.1f}" for name, rank in zip(CONDITIONS, ranks, strict=True))
    return f"{tested.statistic:g} | {tested.pvalue:.2g} | {shown}"


def draw(curves: dict[str, dict[str, np.ndarray]]) -> None:
    """`auc_birth` over cycles, one panel per geometry."""
    with canvas(PLACE / "trajectories.svg", width=10, height=3) as whole:
        panels = whole.subplots(1, len(curves), sharey=True)
        for panel, (name, found) in zip(panels, curves.items(), strict=True):
            panel.axhline(0.5, color=CHANCE, linewidth=1, linestyle="--")
            for (condition, curve), colour, style in zip(found.items(), COLOURS, ("-", "--", ":"), strict=False):
                panel.plot(np.arange(1, len(curve) + 1), curve, style, color=colour, label=condition)
            panel.set_title(name, fontsize=9)
            panel.set_xlabel("cycle")
        panels[0].set_ylabel("auc_birth")
        panels[0].legend(fontsize=8)


# ---- counterfactual growth


def growth(data: GraphData) -> None:
    kept, test = held_out(data)
    columns = (
        "geometry",
        "anchors",
        "condition",
        "outcome",
        "without growth",
        "effect",
        "over shuffled",
        "p",
        "over redrawn",
        "p",
        "called",
    )
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for name, anchor in itertools.product(("symmetric (default)", "radius by degree"), ANCHORS):
        settings = Settings(anchor=anchor, **GEOMETRIES[name])
        for condition in CONDITIONS:
            if condition == "Off" and anchor == "distance":
                continue  # the same growth as with uniform anchors
            found = replay_growth(
                list(
                    itertools.chain.from_iterable(
                        stored(kept, settings, condition, seed) for seed in range(SEEDS["growth"])
                    )
                ),
                data.labels,
                embed=replaying(settings),
                score="poincare",
                future_edges=test,
                draws=DRAWS,
            )
            for outcome in ("probe", "future", "retention"):
                base = np.mean([run.withheld[outcome].mean() for run in found.materials["replays"]])
                effect = found[f"growth_{outcome}"]
                cells = [f"{base:.3f}", with_interval(effect)]
                for kind in ("shuffled", "redrawn"):
                    cells.append(with_interval(found[f"growth_{outcome}_over_{kind}"]))
                    cells.append(f"{found[f'growth_{outcome}_p_{kind}'].value:.2g}")
                called = "helpful" if is_helpful(found, outcome) else "harmful" if is_harmful(found, outcome) else "–"
                lines.append(f"| {name} | {anchor} | {condition} | {outcome} | {' | '.join(cells)} | {called} |")
            say("growth", name, anchor, condition)
    write("growth", lines)


def stored(data: GraphData, settings: Settings, condition: str, seed: int) -> Iterator[dict[str, object]]:
    engine = Zaratustra(data, settings, seed=seed)
    for cycle in range(CYCLES):
        before, edges = engine.embeddings, engine.edges
        births = engine.step(condition)
        yield {
            "condition": condition,
            "seed": seed,
            "cycle": cycle,
            "embeddings": engine.embeddings,
            "previous_embeddings": before,
            "new_edges": births,
            "previous_edges": edges,
            "all_edges": engine.edges,
            "pools": engine.pools,
        }


def with_interval(result: object) -> str:
    low, high = result.interval or (np.nan, np.nan)
    return f"{fixed(result.value, 3)} [{fixed(low, 3)}, {fixed(high, 3)}]"


def say(*words: object) -> None:
    print(*words, file=sys.stderr, flush=True)


def write(name: str, lines: list[str]) -> None:
    (PLACE / f"{name}.inc").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
