"""Results to report on, from real evaluations of simulated methods."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from graphgauge import ranking
from graphgauge.old import recovery
from graphgauge.old.core.files import write_text
from graphgauge.old.core.result import Chance, Evaluation, Interval, Result
from graphgauge.old.core.schema import default_path, read_result, write_result
from graphgauge.old.stats import compare, load

RELATIONS = np.array(["member of", "part of", "type of", "derived from", "similar to", "verb group"])


def write_ranking(root: Path, *, methods=None, datasets=("nations", "kinships"), seeds=8, queries=400, **more) -> None:
    methods = methods or {"degree": 0.5, "distmult": 1.35, "rotate": 1.75, "transe": 1.3}
    for d, dataset in enumerate(datasets):
        relation = RELATIONS[np.random.default_rng(d).integers(0, len(RELATIONS), queries)]
        for m, (method, skill) in enumerate(methods.items()):
            for seed in range(seeds):
                draw = np.random.default_rng([d, m, seed])
                lift = skill - 0.25 * d + 0.06 * draw.normal() + 0.3 * (relation == "type of")
                positives = draw.normal(lift, 1)
                negatives = draw.normal(0, 1, (queries, 50))
                if method == "degree":
                    positives, negatives = positives.round(0), negatives.round(0)
                evaluation = ranking.evaluate(positives, negatives, groups={"relation": relation}, **more)
                write(evaluation, root, method, dataset, seed, d)


def write_recovery(root: Path, *, seeds=5, nodes=15) -> None:
    draw = np.random.default_rng(3)
    truth = np.triu(draw.random((nodes, nodes)) < 0.2, 1).astype(int)
    for m, (method, noise) in enumerate({"notears": 0.35, "pc": 0.5, "random": 3.0}.items()):
        for seed in range(seeds):
            draw = np.random.default_rng([9, m, seed])
            scores = np.clip(0.75 * truth + noise * draw.normal(0, 0.5, truth.shape), 0, 1)
            np.fill_diagonal(scores, 0)
            write(recovery.evaluate(truth, scores), root, method, "erdos-renyi", seed, 7)


def write_large(root: Path) -> None:
    """A thousand results with twenty metrics each, of numbers that only look like measurements."""
    for number in range(1000):
        method, dataset, seed = f"method {number % 10}", f"data {number // 10 % 10}", number // 100
        results = [
            Result(
                key=f"metric_{k}",
                metric=f"metric_{k}",
                value=(number * 7919 + k * 104729) % 1000 / 1000,
                n=1000,
                unit="query",
                direction="higher",
                bounds=(0, 1),
                chance=(Chance("random", 0.1),),
                interval=Interval(0.1, 0.9, 0.95, "t", "queries"),
            )
            for k in range(20)
        ]
        write(Evaluation("ranking", results), root, method, dataset, seed)


def write_outcome(root: Path, name: str = "Link prediction and causal discovery") -> None:
    """What a study leaves beside its results: one comparison and three gates, one of which fails."""
    comparison = compare(load(root).only(dataset=["nations"]), metric="mrr", baseline="transe")
    write_text(root / "comparisons" / "1-mrr.json", comparison.to_json())
    gates = []
    for gate, method, limit in (("mrr.low >= 0.3", "rotate", 0.3), ("mrr >= 0.4", "transe", 0.4)):
        for seed in range(8):
            result = read_result(root / method / "ranking" / f"metrics_nations_{seed}.json")["mrr"]
            found = result.interval.low if ".low" in gate else result.value
            run = {"family": "ranking", "method": method, "dataset": "nations", "seed": seed}
            gates.append({"gate": gate, "run": run, "passed": found >= limit, "found": found, "reason": None})
    comparisons = [{"title": "mrr on nations, against transe", "file": "comparisons/1-mrr.json", "error": None}]
    content = {"study": name, "gates": gates, "comparisons": comparisons}
    write_text(root / "study.json", json.dumps(content))


def write(evaluation, root: Path, method: str, dataset: str, seed: int, content: int = 0) -> Path:
    evaluation.run |= {"method": method, "dataset": dataset, "seed": seed}
    path, digest = f"{method}/{dataset}/{seed}.npy", f"{method}{dataset}{seed}{content}"
    inputs = [{"name": "scores", "path": path, "bytes": 1, "hash": digest}]
    receipt = {"inputs": inputs, "started": f"2025-03-0{1 + seed % 9}T12:00:00+00:00", "seconds": 1.0}
    return write_result(evaluation, default_path(evaluation, root), receipt=receipt)
