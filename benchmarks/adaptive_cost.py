"""What adaptive evaluation costs: shares of queries and scores read, and time against a full ranking.

    python -m benchmarks.adaptive_cost fb15k237.npz [model.npz]   # trains a small model if there is no such file
    python -m benchmarks.adaptive_cost synthetic

Writes the tables of docs/adaptive.md, `docs/adaptive/cost_NAME.inc`: on a trained model of FB15k-237, and on synthetic
embeddings.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge import ranking

TABLES = Path(__file__).parents[1] / "docs" / "adaptive"
SEEDS = 3
WIDTHS = (0.02, 0.01, 0.005)
GAPS = (0.05, 0.02, 0.01)


# ------------------------------------------------------------------- a model


def trained(data: Mapping[str, np.ndarray], path: Path, width: int = 64, epochs: int = 12) -> tuple[np.ndarray, ...]:
    """DistMult by sampled softmax in both directions; also as it was some epochs before."""
    if path.exists():
        with np.load(path) as kept:
            return tuple(kept[name] for name in ("entities", "relations", "earlier_entities", "earlier_relations"))
    import torch

    torch.manual_seed(0)
    triples = torch.as_tensor(data["train"].astype(np.int64))
    count, kinds = int(max(data[part].max() for part in ("train", "test"))) + 1, int(data["train"][:, 1].max()) + 1
    tables = [torch.nn.Parameter(0.1 * torch.randn(number, width)) for number in (count, 2 * kinds)]
    optimiser = torch.optim.Adam(tables, lr=0.005)
    earlier: list[np.ndarray] = []
    for epoch in range(epochs):
        started, total = time.perf_counter(), 0.0
        for rows in torch.randperm(len(triples)).split(4096):
            h, r, t = triples[rows].T
            negatives = torch.randint(0, count, (1024,))
            loss = torch.zeros(())
            for given, kind, answer in ((h, r, t), (t, r + kinds, h)):
                query = tables[0][given] * tables[1][kind]
                own = (query * tables[0][answer]).sum(1, keepdim=True)
                logits = torch.cat([own, query @ tables[0][negatives].T], dim=1)
                loss = loss + torch.nn.functional.cross_entropy(logits, torch.zeros(len(rows), dtype=torch.long))
                loss = loss + 2e-3 * (query**2).sum(1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += float(loss.detach())
        print(f"epoch {epoch + 1}: loss {total:.1f}, {time.perf_counter() - started:.0f} s", flush=True)
        if epoch == epochs - 3:
            earlier = [table.detach().numpy().copy() for table in tables]
    entities, relations = (table.detach().numpy() for table in tables)
    names = ("entities", "relations", "earlier_entities", "earlier_relations")
    np.savez(path, **dict(zip(names, (entities, relations, *earlier), strict=True)))
    return entities, relations, *earlier


class Queries:
    """Both sides of the test triples as queries of embeddings."""

    def __init__(self, data: Mapping[str, np.ndarray], entities: np.ndarray, relations: np.ndarray) -> None:
        test = data["test"].astype(np.int64)
        kinds = len(relations) // 2
        everything = [data[part].astype(np.int64) for part in ("train", "valid", "test")]
        self.queries = np.concatenate([entities[test[:, 0]] * relations[test[:, 1]],
                                       entities[test[:, 2]] * relations[test[:, 1] + kinds]])  # fmt: skip
        self.entities, self.targets = entities, np.concatenate([test[:, 2], test[:, 0]])
        sides = [ranking.known_answers(test, everything, side) for side in ("tail", "head")]
        self.known = (np.concatenate([sides[0][0], sides[1][0]]),
                      np.concatenate([sides[0][1], sides[0][1][-1] + sides[1][1][1:]]))  # fmt: skip
        self.groups = {"relation": np.concatenate([test[:, 1], test[:, 1]]), "side": np.repeat([0, 1], len(test))}
        self.hard = _frequent(everything[0], kinds, self.groups)

    @property
    def arguments(self) -> tuple[np.ndarray, ...]:
        return self.queries, self.entities, self.targets


def _frequent(train: np.ndarray, kinds: int, groups: Mapping[str, np.ndarray], most: int = 50) -> list[np.ndarray]:
    """The most frequent answers of each relation and side."""
    sets = {}
    for side, column in ((0, 2), (1, 0)):
        for kind in range(kinds):
            found, count = np.unique(train[train[:, 1] == kind, column], return_counts=True)
            sets[kind, side] = found[np.argsort(-count, kind="stable")[:most]]
    return [sets[kind, side] for kind, side in zip(groups["relation"].tolist(), groups["side"].tolist(), strict=True)]


# ------------------------------------------------------------------- measuring


def runs(asked: Queries | Any, truth: float, **options: Any) -> tuple[float, float, float, int]:
    """Means over seeds: share of queries and of scores read, seconds; and how many intervals missed."""
    found = []
    for seed in range(SEEDS):
        started = time.perf_counter()
        evaluation = ranking.rank_until(*asked.arguments, known=asked.known, seed=seed, **options)
        seconds = time.perf_counter() - started
        until = evaluation.options["until"]
        interval = next(iter(evaluation.values())).interval
        missed = interval is not None and truth == truth and truth not in interval
        found.append((until["read"] / until["of"], until["scores"] / until["scores_of"], seconds, missed))
    queries, scores, seconds, missed = np.array(found, float).T
    return float(queries.mean()), float(scores.mean()), float(seconds.mean()), int(missed.sum())


def table(
    asked: Any, methods: Mapping[str, Mapping[str, Any]], widths: Sequence[float], full: float, truth: float
) -> list[str]:
    lines = ["| asked | with | queries read | scores read | fewer scores | seconds | faster than `rank_all` | missed |",
             "|---|---|---|---|---|---|---|---|"]  # fmt: skip

    def add(what: str, name: str, **options: Any) -> None:
        queries, scores, seconds, missed = runs(asked, truth if "within" in options else np.nan, **options)
        cells = [what, name, f"{queries:.1%}", f"{scores:.1%}", f"{1 / scores:.1f} ×", f"{seconds:.2f}",
                 f"{full / seconds:.1f} ×", f"{missed} of {SEEDS}" if "within" in options else "–"]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)

    for width in widths:
        for name, options in methods.items():
            add(f"mrr ± {width:g}", name, within={"mrr": width}, **options)
    for gap in GAPS:
        add(f"gate {gap:g} below", "–", gates=[f"mrr >= {truth - gap:.6f}"])
        add(f"gate {gap:g} above", "–", gates=[f"mrr >= {truth + gap:.6f}"])
    return lines


def fb15k237(path: Path, kept: Path) -> list[str]:
    with np.load(path) as archive:
        data = {name: archive[name] for name in ("train", "valid", "test")}
    entities, relations, *earlier = trained(data, kept)
    asked, before = Queries(data, entities, relations), Queries(data, *earlier)
    ranking.rank_all(asked.queries[:64], asked.entities, asked.targets[:64])  # compiles
    started = time.perf_counter()
    whole = ranking.rank_all(*asked.arguments, known=asked.known).evaluate()
    full = time.perf_counter() - started
    truth = whole["mrr"].value
    old = ranking.rank_all(*before.arguments, known=before.known, keep="items").evaluate()
    print(f"MRR {truth:.4f}, {full:.1f} s; earlier checkpoint {old['mrr'].value:.4f}", flush=True)
    by_relation: dict[str, Any] = {"groups": asked.groups, "assist": ["relation", "side"]}
    methods = {
        "–": {},
        "relation and side": by_relation,
        "an earlier checkpoint's ranks, and these": {**by_relation, "assist": ["relation", "side", old]},
        'guarantee="width"': {"guarantee": "width"},
        "race": {"inner": "race"},
        "race after 50 frequent answers, relation and side": {**by_relation, "inner": "race", "hard": asked.hard},
    }
    note = (f"FB15k-237, DistMult with {entities.shape[1]} dimensions: {len(asked.targets):,} filtered queries, "
            f"{len(entities):,} entities, MRR {truth:.4f}; `rank_all` takes {full:.1f} s. Means over {SEEDS} seeds. "
            f"The other model is the earlier checkpoint, with an MRR of {old['mrr'].value:.4f}.")  # fmt: skip
    return [note, "", *table(asked, methods, WIDTHS, full, truth), _pairs(asked, before, full)]


def _pairs(asked: Queries, before: Queries, full: float) -> str:
    found = []
    for seed in range(SEEDS):
        started = time.perf_counter()
        evaluation = ranking.rank_until(*asked.arguments, known=asked.known, seed=seed,
                                        against={"queries": before.queries, "entities": before.entities})  # fmt: skip
        found.append((evaluation.options["until"]["read"], time.perf_counter() - started))
    read, seconds = np.array(found, float).T
    share = read.mean() / len(asked.targets)
    cells = ["which checkpoint is better", "–", f"{share:.1%}", f"{share:.1%}", f"{1 / share:.1f} ×",
             f"{seconds.mean():.2f}", f"{2 * full / seconds.mean():.1f} ×", "–"]  # fmt: skip
    return f"| {' | '.join(cells)} |"


class Synthetic:
    """Embeddings with a MRR of about .3; few queries, because a full ranking of them is timed, too."""

    def __init__(self, entities: int, queries: int, width: int = 64) -> None:
        rng = np.random.default_rng(0)
        self.entities = rng.standard_normal((entities, width), dtype=np.float32)
        self.targets = rng.integers(0, entities, queries)
        noise = rng.uniform(0.4, 2.6, (queries, 1)).astype(np.float32)
        self.queries = self.entities[self.targets] + noise * rng.standard_normal((queries, width), dtype=np.float32)
        self.known = None

    @property
    def arguments(self) -> tuple[np.ndarray, ...]:
        return self.queries, self.entities, self.targets


def synthetic() -> list[str]:
    lines = []
    for count, queries, timed in ((200_000, 40_000, 400), (1_000_000, 40_000, 100)):
        asked = Synthetic(count, queries)
        ranking.rank_all(asked.queries[:8], asked.entities, asked.targets[:8])
        started = time.perf_counter()
        ranking.rank_all(asked.queries[:timed], asked.entities, asked.targets[:timed])
        each = (time.perf_counter() - started) / timed
        took = f"{each * queries / 60:.0f} minutes ({1000 * each:.1f} ms per query, measured on {timed})"
        size = f"{count:,} entities × {queries:,} queries, {asked.entities.shape[1]} dimensions"
        lines += [f"{size}; a full ranking would take {took}.", ""]
        lines += ["| asked | queries read | seconds | ms per query | overhead per query |", "|---|---|---|---|---|"]
        for what, options in (("mrr ± 0.05", {"within": {"mrr": 0.05}}), ("gate .05 below", {"gates": True})):
            given: dict[str, Any] = dict(options)
            if "gates" in given:
                sample = ranking.rank_all(asked.queries[:timed], asked.entities, asked.targets[:timed]).evaluate()
                given["gates"] = [f"mrr >= {sample['mrr'].value - 0.05:.4f}"]
            started = time.perf_counter()
            evaluation = ranking.rank_until(*asked.arguments, **given)
            seconds = time.perf_counter() - started
            read = evaluation.options["until"]["read"]
            cells = [what, f"{read:,} of {queries:,} ({read / queries:.1%})", f"{seconds:.1f}",
                     f"{1000 * seconds / read:.1f}", f"{seconds / read / each - 1:+.1%}"]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
        lines.append("")
    return lines


def main(arguments: Sequence[str]) -> None:
    if arguments[0] == "synthetic":
        name, lines = "synthetic", synthetic()
    else:
        path = Path(arguments[0])
        kept = Path(arguments[1]) if len(arguments) > 1 else Path("fb15k237_model.npz")
        name, lines = "fb15k237", fb15k237(path, kept)
    place = TABLES / f"cost_{name}.inc"
    place.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main(sys.argv[1:])
