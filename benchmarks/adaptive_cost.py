"""What adaptive evaluation costs on FB15k-237: shares of queries read, and how often its intervals miss.

    python -m benchmarks.adaptive_cost fb15k237.npz [model.npz] [runs]   # trains a small model if there is no such file

The ranks of a full evaluation are read again in other orders: an adaptive run on them reads what a real one does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge import ranking
from graphgauge.ranking.counts import Counts, Labels

WIDTHS = (0.02, 0.01, 0.005)
GAP = 0.02


class Replayed(ranking.Queries):
    """Queries whose counts are known."""

    def __init__(self, counts: Counts) -> None:
        self.counts = replace(counts, labels=Labels())
        self.n, self.labels = len(counts.candidates), counts.labels

    def count_rows(self, rows: Any) -> tuple[Counts, None]:
        return self.counts.take(rows), None


def trained(data: Mapping[str, np.ndarray], path: Path, width: int = 64, epochs: int = 12) -> tuple[np.ndarray, ...]:
    """DistMult by sampled softmax in both directions; also as it was three epochs before."""
    names = ("entities", "relations", "earlier_entities", "earlier_relations")
    if path.exists():
        with np.load(path) as kept:
            return tuple(kept[name] for name in names)
    import torch

    torch.manual_seed(0)
    triples = torch.as_tensor(data["train"].astype(np.int64))
    count, kinds = int(max(data[part].max() for part in ("train", "test"))) + 1, int(data["train"][:, 1].max()) + 1
    tables = [torch.nn.Parameter(0.1 * torch.randn(number, width)) for number in (count, 2 * kinds)]
    optimiser = torch.optim.Adam(tables, lr=0.005)
    earlier: list[np.ndarray] = []
    for epoch in range(epochs):
        for rows in torch.randperm(len(triples)).split(4096):
            h, r, t = triples[rows].T
            negatives = torch.randint(0, count, (1024,))
            loss = torch.zeros(())
            for fixed, kind, answer in ((h, r, t), (t, r + kinds, h)):
                query = tables[0][fixed] * tables[1][kind]
                own = (query * tables[0][answer]).sum(1, keepdim=True)
                logits = torch.cat([own, query @ tables[0][negatives].T], dim=1)
                loss = loss + torch.nn.functional.cross_entropy(logits, torch.zeros(len(rows), dtype=torch.long))
                loss = loss + 2e-3 * (query**2).sum(1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        if epoch == epochs - 3:
            earlier = [table.detach().numpy().copy() for table in tables]
    entities, relations = (table.detach().numpy() for table in tables)
    np.savez(path, **dict(zip(names, (entities, relations, *earlier), strict=True)))
    return entities, relations, *earlier


def queries_of(data: Mapping[str, np.ndarray], entities: np.ndarray, relations: np.ndarray) -> ranking.Queries:
    """Both sides of the test triples; the second half of the relations is asked backwards."""
    kinds = len(relations) // 2
    model = {
        "tail": lambda pairs: (entities[pairs[:, 0]] * relations[pairs[:, 1]]) @ entities.T,
        "head": lambda pairs: (entities[pairs[:, 1]] * relations[pairs[:, 0] + kinds]) @ entities.T,
    }
    known = [data["train"], data["valid"]]
    return ranking.Queries.from_triples(model, data["test"], known=known, entities=len(entities))


def main(path: Path, kept: Path, runs: int) -> None:
    with np.load(path) as archive:
        data = {name: archive[name].astype(np.int64) for name in ("train", "valid", "test")}
    tables = trained(data, kept)
    started = time.perf_counter()
    whole = queries_of(data, *tables[:2]).count()
    print(f"everything: {time.perf_counter() - started:.1f} s")
    queries, before = Replayed(whole), ranking.evaluate(queries_of(data, *tables[2:]))
    truth = ranking.evaluate(queries)["mrr"].value
    print(f"MRR {truth:.4f}, of the earlier checkpoint {before['mrr'].value:.4f}, {len(queries):,} queries")
    for name, assist in (
        ("none", ()),
        ("relation, side", ("relation", "side")),
        ("earlier", ("relation", "side", before)),
    ):
        for width in WIDTHS:
            read = [
                ranking.evaluate_until(queries, within={"mrr": width}, assist=assist, seed=seed).options["until"][
                    "read"
                ]
                for seed in range(10)
            ]
            print(f"± {width:g}, predictors {name}: {np.mean(read) / len(queries):.1%} of the queries")
    gate = f"mrr >= {truth - GAP:.4f}"
    shares, missed, wrong = [], 0, 0
    for seed in range(runs):
        run = ranking.evaluate_until(
            queries, within={"mrr": 0.01}, gates=[gate], assist=["relation", "side", before], seed=seed
        )
        facts = run.options["until"]
        shares.append(facts["read"] / len(queries))
        missed += any(not low <= truth <= high for _, low, high in facts["trail"])
        wrong += not run.gate(gate).passed
    print(f"± 0.01 and {gate}: {np.mean(shares):.1%} of the queries, at most {np.max(shares):.1%}; in {runs} runs")
    print(f"the interval missed at some look in {missed}, the gate was wrong in {wrong}")


if __name__ == "__main__":
    main(
        Path(sys.argv[1]),
        Path(sys.argv[2] if len(sys.argv) > 2 else "model.npz"),
        int(sys.argv[3]) if len(sys.argv) > 3 else 400,
    )
