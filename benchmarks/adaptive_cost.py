"""What adaptive evaluation costs: shares of queries and scores read, and time against a full ranking.

    python -m benchmarks.adaptive_cost fb15k237.npz [model.npz]   # trains a small model if there is no such file
    python -m benchmarks.adaptive_cost synthetic
    python -m benchmarks.adaptive_cost overhead

Writes the tables of docs/adaptive.md, `docs/adaptive/cost_NAME.inc`: on a trained model of FB15k-237, on synthetic
embeddings, and what following queries takes besides scoring them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge import ranking
from graphgauge.old.core.result import Evaluation
from graphgauge.old.ranking.drawn import EntityQueries
from graphgauge.old.ranking.items import Items
from graphgauge.old.ranking.until import rank_until

TABLES = Path(__file__).parents[1] / "docs" / "adaptive"
SEEDS = 10
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
        self.queries = np.concatenate(
            [entities[test[:, 0]] * relations[test[:, 1]], entities[test[:, 2]] * relations[test[:, 1] + kinds]]
        )
        self.entities, self.targets = entities, np.concatenate([test[:, 2], test[:, 0]])
        sides = [ranking.known_answers(test, everything, side) for side in ("tail", "head")]
        self.known = (
            np.concatenate([sides[0][0], sides[1][0]]),
            np.concatenate([sides[0][1], sides[0][1][-1] + sides[1][1][1:]]),
        )
        self.groups = {"relation": np.concatenate([test[:, 1], test[:, 1]]), "side": np.repeat([0, 1], len(test))}

    @property
    def arguments(self) -> tuple[np.ndarray, ...]:
        return self.queries, self.entities, self.targets


# ------------------------------------------------------------------- measuring


class Replayed:
    """Queries whose counts are known from a full ranking: an adaptive run on them reads the same as a real one."""

    step = EntityQueries.step

    def __init__(self, kept: Items) -> None:
        self.kept, self.queries = kept, len(kept)

    def count(self, rows: np.ndarray) -> Items:
        kept = self.kept
        return Items(rows, kept.greater[rows], kept.equal[rows], kept.candidates[rows])


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What was found, and the seconds of processor time that it took."""
    started = time.process_time()
    found = work()
    return found, time.process_time() - started


HEADS = ("asked", "with", "queries read", "scores read", "fewer scores", "seconds", "faster than `rank_all`", "missed")


def row(*cells: object) -> str:
    text = f"| {' | '.join(map(str, cells))} |"
    print(text, flush=True)
    return text


def fb15k237(path: Path, kept: Path) -> list[str]:
    with np.load(path) as archive:
        data = {name: archive[name] for name in ("train", "valid", "test")}
    entities, relations, *earlier = trained(data, kept)
    asked, before = Queries(data, entities, relations), Queries(data, *earlier)
    ranking.rank_all(asked.queries[:64], asked.entities, asked.targets[:64])  # compiles
    whole, full = timed(lambda: ranking.rank_all(*asked.arguments, known=asked.known, keep="items").evaluate())
    old, _ = timed(lambda: ranking.rank_all(*before.arguments, known=before.known, keep="items").evaluate())
    truth = whole["mrr"].value
    print(f"MRR {truth:.4f}, {full:.1f} s; earlier checkpoint {old['mrr'].value:.4f}", flush=True)
    replayed, replayed_before = (Replayed(each.per_item) for each in (whole, old))
    by_relation: dict[str, Any] = {"groups": asked.groups, "assist": ["relation", "side"]}
    methods: dict[str, dict[str, Any]] = {
        "–": {},
        "relation and side": by_relation,
        "an earlier checkpoint's ranks, and these": {**by_relation, "assist": ["relation", "side", old]},
    }
    lines = [row(*HEADS), "|" + "---|" * len(HEADS)]

    def real(**options: Any) -> tuple[Evaluation, list[str]]:
        found, seconds = timed(lambda: ranking.rank_until(*asked.arguments, known=asked.known, **options))
        return found, [f"{seconds:.2f}", f"{full / seconds:.1f} ×"]

    def add(what: str, name: str, clock: Sequence[str], **options: Any) -> None:
        found = [rank_until(source=replayed, seed=seed, **options) for seed in range(SEEDS)]
        share = np.mean([each.options["until"]["read"] for each in found]) / replayed.queries
        followed = [next(iter(each.values())).interval for each in found]
        missed = sum(interval is not None and truth not in interval for interval in followed)
        wrong = f"{missed} of {SEEDS}" if "within" in options else "–"
        lines.append(row(what, name, f"{share:.1%}", f"{share:.1%}", f"{1 / share:.1f} ×", *clock, wrong))

    for width in WIDTHS:
        for name, options in methods.items():
            clock = real(within={"mrr": width}, **options)[1] if name == "–" and width > WIDTHS[-1] else ["–", "–"]
            add(f"mrr ± {width:g}", name, clock, within={"mrr": width}, **options)
    for gap in GAPS:
        for side, sign in (("below", -1), ("above", 1)):
            gates = [f"mrr >= {truth + sign * gap:.6f}"]
            clock = real(gates=gates)[1] if gap == GAPS[0] else ["–", "–"]
            add(f"gate {gap:g} {side} the value", "–", clock, gates=gates)
    pairs = [rank_until(source=replayed, against={"source": replayed_before}, seed=seed) for seed in range(SEEDS)]
    share = np.mean([each.options["until"]["read"] for each in pairs]) / replayed.queries
    lines.append(
        row(
            f"which is better: {truth:.4f} or {old['mrr'].value:.4f}",
            "–",
            f"{share:.1%}",
            f"{share:.1%}",
            f"{1 / share:.1f} ×",
            "–",
            "–",
            "–",
        )
    )
    kept_now, number = replayed.kept, np.arange(replayed.queries)
    greater = np.where(number % 8, 1, 2) * kept_now.greater + (number % 12 == 0)
    worse = Replayed(Items(kept_now.ids, greater, kept_now.equal, kept_now.candidates))
    other = float(np.mean(worse.kept.values("mrr")))
    pairs = [rank_until(source=replayed, against={"source": worse}, seed=seed) for seed in range(SEEDS)]
    share = np.mean([each.options["until"]["read"] for each in pairs]) / replayed.queries
    lines.append(
        row(
            f"which is better: {truth:.4f} or, made worse, {other:.4f}",
            "–",
            f"{share:.1%}",
            f"{share:.1%}",
            f"{1 / share:.1f} ×",
            "–",
            "–",
            "–",
        )
    )
    note = (
        f"FB15k-237, DistMult with {entities.shape[1]} dimensions: {len(asked.targets):,} filtered queries, "
        f"{len(entities):,} entities, MRR {truth:.4f}. Shares are means over {SEEDS} seeds. "
        f"Seconds are processor time on one thread, of one run; `rank_all` takes {full:.1f}."
    )
    return [note, "", *lines]


class Synthetic:
    """Embeddings with a MRR of about .3, and another model of the same queries that is slightly worse."""

    def __init__(self, entities: int, queries: int, width: int = 16) -> None:
        rng = np.random.default_rng(0)
        self.entities = rng.standard_normal((entities, width), dtype=np.float32)
        self.targets = rng.integers(0, entities, queries)
        noise = np.exp(rng.uniform(-1.2, 1.3, (queries, 1))).astype(np.float32)
        own = rng.standard_normal((queries, width), dtype=np.float32)
        # Entities and queries of length 1, so that the nearest entity is the one with the greatest product.
        self.entities /= np.linalg.norm(self.entities, axis=1, keepdims=True)
        near = self.entities[self.targets]
        self.queries = near + noise / np.sqrt(width) * own
        self.worse = near + 1.04 * noise / np.sqrt(width) * own

    @property
    def arguments(self) -> tuple[np.ndarray, ...]:
        return self.queries, self.entities, self.targets


SYNTHETIC = ((200_000, 200_000, 400), (1_000_000, 1_000_000, 200))
# Runs that would read more than so many queries are made on ranks like those read, not on scores.
MOST_SCORED = 4_000


def synthetic() -> list[str]:
    """As many queries as entities. Queries are scored while they are few; longer runs read ranks like theirs."""
    lines = []
    for count, queries, number in SYNTHETIC:
        asked = Synthetic(count, queries)
        # The queries that `rank_all` would rank, without its preparation, which both have.
        counted, rows = EntityQueries(*asked.arguments), np.arange(number)
        each = min(timed(partial(counted.count, rows))[1] for _ in range(3)) / number
        sample, worse = (
            ranking.rank_until(
                rows, *asked.arguments[1:], within={"mrr": 1e-6}, max_queries=MOST_SCORED, seed=99, keep="items"
            ).per_item
            for rows in (asked.queries, asked.worse)
        )
        # The ranks of all queries: those of the sample, each drawn many times, for both models alike.
        chosen = np.random.default_rng(1).integers(0, len(sample), queries)
        first, second = (
            Replayed(Items(np.arange(queries), kept.greater[chosen], kept.equal[chosen], kept.candidates[chosen]))
            for kept in (sample, worse)
        )
        value, other = (float(np.mean(source.kept.values("mrr"))) for source in (first, second))
        size = f"{count:,} entities × {queries:,} queries, {asked.entities.shape[1]} dimensions, MRR {value:.3f}"
        lines += [
            f"{size}: a full ranking would take {each * queries / 60:.0f} minutes of processor time on one "
            f"thread, by {number} queries that were timed ({1000 * each:.2f} ms each).",
            "",
        ]
        lines += [
            "| asked | queries and scores read | fewer | seconds of following them | scoring and following | faster |",
            "|---|---|---|---|---|---|",
        ]
        pair: dict[str, Any] = {"against": {"source": second}}
        given: dict[str, dict[str, Any]] = {
            **{f"mrr ± {width:g}": {"within": {"mrr": width}} for width in WIDTHS},
            **{
                f"gate {gap:g} {side} the value": {"gates": [f"mrr >= {value + sign * gap:.6f}"]}
                for gap in GAPS
                for side, sign in (("below", -1), ("above", 1))
            },
            f"which is better: {value:.4f} or {other:.4f}": pair,
        }
        for what, options in given.items():
            runs = [timed(partial(ranking.rank_until, source=first, seed=seed, **options)) for seed in range(3)]
            read = float(np.mean([found.options["until"]["read"] for found, _ in runs]))
            took, models = min(spent for _, spent in runs), 2 if "against" in options else 1
            total = took + models * each * read
            lines.append(
                row(
                    what,
                    f"{read:,.0f} ({read / queries:.2%})",
                    f"{queries / read:.0f} ×",
                    f"{took:.2f}",
                    f"{total:.1f}",
                    f"{models * each * queries / total:.0f} ×",
                )
            )
        real, spent = timed(partial(ranking.rank_until, *asked.arguments, within={"mrr": WIDTHS[0]}))
        read = real.options["until"]["read"]
        faster = f"{each * queries / spent:.0f} ×"
        lines.append(
            row(
                f"mrr ± {WIDTHS[0]:g}, on embeddings",
                f"{read:,} ({read / queries:.2%})",
                f"{queries / read:.0f} ×",
                "–",
                f"{spent:.1f}",
                faster,
            )
        )
        lines.append("")
    return lines


def overhead(entities: int = 10_000, queries: int = 40_000) -> list[str]:
    """What following queries takes besides scoring them, per query that is read: the slope between two runs."""
    rng = np.random.default_rng(0)
    groups = {"relation": rng.integers(0, 200, queries), "side": rng.integers(0, 2, queries)}
    earlier = rng.random(queries)
    methods: dict[str, dict[str, Any]] = {
        "no predictor": {},
        "relation and side": {"groups": groups, "assist": ["relation", "side"]},
        "these and an earlier model's values": {"groups": groups, "assist": ["relation", "side", earlier]},
    }
    ranks = np.ceil(np.exp(rng.exponential(2.1, queries))).clip(1, entities).astype(np.int64)
    zeros = np.zeros(queries, np.int64)
    source = Replayed(Items(np.arange(queries), ranks - 1, zeros, zeros + entities))
    work = {
        (name, most): partial(ranking.rank_until, source=source, within={"mrr": 1e-6}, max_queries=most, **options)
        for name, options in methods.items()
        for most in (1_000, 9_000)
    }
    spent = dict.fromkeys(work, np.inf)
    for _ in range(25):  # in turn, because other programs disturb for a while
        spent = {which: min(spent[which], timed(each)[1]) for which, each in work.items()}
    following = {}
    for name in methods:
        each = (spent[name, 9_000] - spent[name, 1_000]) / 8_000
        following[name] = each, spent[name, 1_000] - 1_000 * each
    heads = ("dimensions", "scoring a query", *(f"following it, {name}" for name in methods))
    lines = [row(*heads), "|" + "---|" * len(heads)]
    for width in (64, 128, 256):
        asked = Synthetic(entities, 4_000, width)
        counted, rows = EntityQueries(*asked.arguments), np.arange(4_000)
        scoring = min(timed(partial(counted.count, rows))[1] for _ in range(7)) / 4_000
        shares = [f"{1e6 * each:.1f} µs ({each / scoring:.1%})" for each, _ in following.values()]
        lines.append(row(width, f"{1e6 * scoring:.0f} µs", *shares))
    prepared = ", ".join(f"{1000 * once:.0f}" for _, once in following.values())
    note = (
        f"{entities:,} entities, {queries:,} queries, of which 1,000 to 9,000 are read, processor time on one "
        f"thread. Preparation, once in a run, takes {prepared} ms."
    )
    return [note, "", *lines]


def main(arguments: Sequence[str]) -> None:
    if arguments[0] in ("synthetic", "overhead"):
        name, lines = arguments[0], synthetic() if arguments[0] == "synthetic" else overhead()
    else:
        path = Path(arguments[0])
        kept = Path(arguments[1]) if len(arguments) > 1 else Path("fb15k237_model.npz")
        name, lines = "fb15k237", fb15k237(path, kept)
    place = TABLES / f"cost_{name}.inc"
    place.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main(sys.argv[1:])
