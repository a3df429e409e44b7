"""The tables and the figure of `evolution_cora.md`: `python docs/evolution_cora.py cora.npz`."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from graphgauge.evolution import EvaluationSuite
from graphgauge.stats.text import fixed
from graphgauge.zoo.zaratustra import GraphData, Settings, Zaratustra, read_graph_data
from graphgauge.zoo.zaratustra.engine import elites, periphery

PLACE = Path(__file__).parent / "evolution_cora"
CONDITIONS = ("Normal", "Off", "Inverted")
CYCLES, SEEDS = 50, 8
EACH_CYCLE = ("auc_synthetic", "auc_birth", "auc_matched", "delta_homophily")
AT_THE_END = "nca_mean"
SETTINGS = {
    f"{anchor}, w = {smoothing}": Settings(anchor=anchor, smoothing=smoothing)
    for smoothing, anchor in itertools.product((0.1, 0.5), ("uniform", "distance"))
}


def main() -> None:
    data = read_graph_data(sys.argv[1])
    PLACE.mkdir(exist_ok=True)
    suites = {name: grown(data, settings) for name, settings in SETTINGS.items()}
    write("means", means(suites))
    write("tests", tests(suites))
    write("predictions", predictions(suites))
    write("settings", [f"- {name}: {value}" for name, value in asdict(Settings()).items()])
    write("distances", distances(data))
    write("control", control(data))
    next(iter(suites.values()))[0].plot(PLACE / "dashboard.svg")


def grown(data: GraphData, settings: Settings) -> tuple[EvaluationSuite, EvaluationSuite]:
    """Evaluate every cycle without the probe, and the last one with the probe alone."""
    nodes = range(data.num_nodes)
    cycles = EvaluationSuite(nodes, data.labels, CONDITIONS, metrics=[*EACH_CYCLE, "tgc"])
    last = EvaluationSuite(nodes, data.labels, CONDITIONS, metrics=[AT_THE_END])
    for condition, seed in itertools.product(CONDITIONS, range(SEEDS)):
        engine = Zaratustra(data, settings, seed=seed)
        cycles.begin(condition, engine.embeddings, engine.edges, seed)
        for cycle in range(CYCLES):
            births = engine.step(condition)
            given = engine.embeddings, births, engine.edges, cycle, engine.compute_tgc(), seed
            cycles.step(condition, *given, pools=engine.pools)
        last.step(condition, *given)
        print(f"{settings.anchor} {settings.smoothing} {condition} {seed}", file=sys.stderr)
    return cycles, last


def of(suites: tuple[EvaluationSuite, EvaluationSuite], key: str) -> EvaluationSuite:
    return suites[key == AT_THE_END]


def means(suites: dict[str, tuple[EvaluationSuite, EvaluationSuite]]) -> Iterator[str]:
    keys = (*EACH_CYCLE, AT_THE_END)
    yield f"| anchors, smoothing | condition | {' | '.join(f'`{key}`' for key in keys)} |"
    yield "|---|---|" + "---|" * len(keys)
    for name, pair in suites.items():
        for condition in CONDITIONS:
            cells = []
            for key in keys:
                table = of(pair, key).evaluation()[key].by("condition")
                row = list(table["condition"]).index(condition)
                value, low, high = (float(table[column][row]) for column in ("value", "low", "high"))
                cells.append(f"{fixed(value, 3)} [{fixed(low, 3)}, {fixed(high, 3)}]")
            yield f"| {name} | {condition} | {' | '.join(cells)} |"


def tests(suites: dict[str, tuple[EvaluationSuite, EvaluationSuite]]) -> Iterator[str]:
    yield "| anchors, smoothing | metric | pair | mean difference | interval | p (Holm) |"
    yield "|---|---|---|---|---|---|"
    for name, pair in suites.items():
        for key in (*EACH_CYCLE, AT_THE_END):
            for test in of(pair, key).compare(key, test="ranks").tests:
                low, high = test.ci or (float("nan"), float("nan"))
                yield (
                    f"| {name} | `{key}` | {test.names[0]} − {test.names[1]} | {fixed(test.mean_difference, 3)} | "
                    f"[{fixed(low, 3)}, {fixed(high, 3)}] | {test.p_adjusted:.3g} |"
                )


def predictions(suites: dict[str, tuple[EvaluationSuite, EvaluationSuite]]) -> Iterator[str]:
    yield "| anchors, smoothing | metric | Normal > Off | Off > Inverted |"
    yield "|---|---|---|---|"
    for name, pair in suites.items():
        for key in (*EACH_CYCLE, AT_THE_END):
            found = {frozenset(test.names): test for test in of(pair, key).compare(key, test="ranks").tests}
            verdicts = []
            for better, worse in (("Normal", "Off"), ("Off", "Inverted")):
                test = found[frozenset((better, worse))]
                ahead = test.mean_difference if test.names[0] == better else -test.mean_difference
                verdicts.append(("holds" if ahead > 0 else "reversed") if test.significant else "not significant")
            yield f"| {name} | `{key}` | {' | '.join(verdicts)} |"


def distances(data: GraphData) -> Iterator[str]:
    """The norms of hubs after smoothing, and their classes."""
    engine = Zaratustra(data, Settings())
    hubs, rim = elites(engine.degrees), periphery(engine.degrees)
    before = np.linalg.norm(engine.embeddings, axis=1)
    for _ in range(10):
        engine.step("Off")
    after = np.linalg.norm(engine.embeddings, axis=1)
    yield "| mean norm of the embeddings | at the start | after 10 cycles of Off, w = 0.1 |"
    yield "|---|---|---|"
    for name, nodes in (("elites", hubs), ("all original nodes", slice(data.num_nodes)), ("low-degree nodes", rim)):
        yield f"| {name} | {before[nodes].mean():.3f} | {after[nodes].mean():.3f} |"
    shares = np.bincount(data.labels) / data.num_nodes
    largest = int(shares.argmax())
    yield ""
    yield (
        f"The largest class has {shares[largest]:.0%} of the nodes and {(data.labels[hubs] == largest).mean():.0%} of "
        f"the {len(hubs)} elites."
    )


class Averaged(Zaratustra):
    """Every node moves towards the mean of its neighbours."""

    def _smooth(self) -> None:
        edges, nodes = self.edges, self.num_nodes
        half = sp.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(nodes, nodes))
        sums = half @ self.embeddings + half.T @ self.embeddings
        w, degrees = self.settings.smoothing, self.degrees[:, None]
        mean = np.where(degrees > 0, sums / np.maximum(degrees, 1), self.embeddings)
        self.embeddings = (1 - w) * self.embeddings + w * mean


class SameNorms(Zaratustra):
    """The engine's smoothing with the norm of every node kept."""

    def _smooth(self) -> None:
        before = np.linalg.norm(self.embeddings, axis=1, keepdims=True)
        super()._smooth()
        self.embeddings = self.embeddings * before / np.linalg.norm(self.embeddings, axis=1, keepdims=True)


def control(data: GraphData, cycles: int = 30, seeds: int = 2) -> Iterator[str]:
    """The same growth under other ways of smoothing: the norms of the hubs decide the order."""
    keys = ("auc_birth", "auc_matched")
    yield (
        "| smoothing | condition | mean norm of the elites / of all, at the end | "
        + " | ".join(f"`{k}`" for k in keys)
        + " |"
    )
    yield "|---|---|---|" + "---|" * len(keys)
    rules = {"symmetric, as in the engine": Zaratustra, "mean of the neighbours": Averaged, "norms kept": SameNorms}
    for name, engine_of in rules.items():
        suite = EvaluationSuite(range(data.num_nodes), data.labels, CONDITIONS, metrics=list(keys))
        ratios: dict[str, list[float]] = {condition: [] for condition in CONDITIONS}
        for condition in CONDITIONS:
            for seed in range(seeds):
                engine = engine_of(data, Settings(), seed=seed)
                hubs = elites(engine.degrees)
                suite.begin(condition, engine.embeddings, engine.edges, seed)
                for cycle in range(cycles):
                    births = engine.step(condition)
                    suite.step(condition, engine.embeddings, births, engine.edges, cycle, seed=seed, pools=engine.pools)
                norms = np.linalg.norm(engine.embeddings, axis=1)
                ratios[condition].append(float(norms[hubs].mean() / norms[: data.num_nodes].mean()))
        table = suite.evaluation().breakdowns["condition"]
        for row, condition in enumerate(table["condition"]):
            cells = [
                f"{float(np.mean(ratios[str(condition)])):.2f}",
                *(fixed(float(table[key][row]), 3) for key in keys),
            ]
            yield f"| {name} | {condition} | {' | '.join(cells)} |"


def write(name: str, lines: Iterator[str] | list[str]) -> None:
    (PLACE / f"{name}.inc").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
