"""How every metric moves: its value while one property of the inputs is turned, written to docs/moves.json.

`python docs/moves.py` evaluates the sweeps below with graphgauge, in about a minute; `python docs/generate.py` draws
them on the metric pages. The same random numbers are used along a sweep, so curves show the knob and not the draw.

A new metric is swept if the first of its samples (`needs`) is among those of a sweep of its family. If it is not, add
its sample to a sweep whose inputs have it, or add a sweep.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx
import numpy as np

from graphgauge.core.metric import Metric, metrics
from graphgauge.core.result import Result
from graphgauge.explanation import Context, Explanation, Subgraph

MOVES = Path(__file__).parent / "moves.json"
# Parameters of metrics, where the sweeps do not use the default.
PARAMETERS: dict[str, dict[str, Any]] = {
    "generation": {"statistic": "size"},
    "forecasting": {"threshold": 10.0},
    "explanation": {"level": 0.2},
}
_DIGITS = 4
_OF_EVOLUTION = ("after", "before", "newborn", "matched", "labels", "probe", "kept", "held_out", "growth")
_REPLAYED = ("replayed_probe", "replayed_future", "replayed_retention")


@dataclass(frozen=True)
class Sweep:
    """One property of the inputs of a family, the values it takes, and the inputs at each of them.

    `knob` is printed below the axis; `needs` are the samples that the inputs have. If `by_level`, the inputs stay,
    and the values are levels of explanations, a parameter of metrics.
    """

    family: str
    knob: str
    values: Sequence[float]
    needs: tuple[str, ...]
    inputs: Callable[[float], dict[str, Any]]
    log: bool = False
    by_level: bool = False

    def covers(self, metric: Metric) -> bool:
        asks = not self.by_level or "level" in metric.params
        return metric.family == self.family and asks and metric.needs[0] in self.needs

    def key(self, metric: Metric, value: float) -> str:
        chosen = PARAMETERS.get(self.family, {}) | ({"level": value} if self.by_level else {})
        return metric.key_of(**{name: type(usual)(chosen.get(name, usual)) for name, usual in metric.params.items()})

    def evaluate(self, value: float, chosen: Sequence[Metric]) -> dict[str, Result]:
        evaluate = importlib.import_module(f"graphgauge.{self.family}").evaluate
        keys = {metric.key: self.key(metric, value) for metric in chosen}
        found = evaluate(**self.inputs(value), metrics=list(dict.fromkeys(keys.values())))
        return {name: found[key] for name, key in keys.items()}


def curves(sweep: Sweep, values: Sequence[float]) -> dict[str, dict[str, Any]]:
    """By metric: its values, the ends of its intervals and its chance levels along a sweep."""
    chosen = [metric for metric in metrics(sweep.family) if sweep.covers(metric)]
    steps = [sweep.evaluate(value, chosen) for value in values]
    found: dict[str, dict[str, Any]] = {}
    for metric in chosen:
        results = [step[metric.key] for step in steps]
        levels = dict.fromkeys(level.name for result in results for level in result.chance)
        named = [{level.name: level.value for level in result.chance} for result in results]
        found[metric.key] = {
            "key": sweep.key(metric, values[0]) if not sweep.by_level else metric.key.replace("{level}", "…"),
            "value": [_short(result.value) for result in results],
            "low": [_short(result.ci.low if result.ci else math.nan) for result in results],
            "high": [_short(result.ci.high if result.ci else math.nan) for result in results],
            "chance": {name: [_short(level.get(name, math.nan)) for level in named] for name in levels},
        }
    return found


def _short(number: float) -> float | None:
    return float(f"{number:.{_DIGITS}g}") if math.isfinite(number) else None


def main() -> None:
    found: list[dict[str, Any]] = []
    for sweep in SWEEPS:
        values = [_short(value) for value in sweep.values]
        made = curves(sweep, sweep.values)
        if made:
            found.append({"family": sweep.family, "knob": sweep.knob, "log": sweep.log, "x": values, "curves": made})
        print(f"{sweep.family}: {sweep.knob}, {len(made)} metrics", file=sys.stderr)
    lines = [json.dumps(each, ensure_ascii=False).replace('}, "', '},\n"') for each in found]
    MOVES.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


# ------------------------------------------------------------------- ranking


def _ranks(separation: float, negatives: int = 50) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"pos_scores": rng.normal(size=300) + separation, "neg_scores": rng.normal(size=(300, negatives))}


def _lists(separation: float, popularity: float = 0.0, candidates: int = 60) -> dict[str, Any]:
    """60 queries, each with a tenth of its candidates relevant, of a catalogue of 200 items."""
    rng = np.random.default_rng(1)
    queries, catalogue = 60, 200
    taste, groups = rng.normal(size=(queries, 2)), np.arange(catalogue) % 8
    centres = rng.normal(size=(8, 2))
    known = 100 / (1 + np.arange(catalogue))
    items = np.stack([rng.permutation(catalogue)[:candidates] for _ in range(queries)])
    liking = np.einsum("qd,qid->qi", taste, centres[groups[items]]) + 0.5 * rng.normal(size=items.shape)
    relevant = np.argsort(np.argsort(-liking, axis=1), axis=1) < candidates // 10
    noise = rng.normal(size=items.shape)
    scores = separation * relevant + noise + popularity * np.log(known[items])
    vectors = centres[groups] + 0.2 * rng.normal(size=(catalogue, 2))
    return {
        "scores": scores.ravel(),
        "labels": relevant.ravel().astype(int),
        "queries": np.repeat(np.arange(queries), candidates),
        "items": items.ravel(),
        "catalog": {"popularity": known, "categories": [f"c{group}" for group in groups], "embeddings": vectors},
    }


# ------------------------------------------------------------------ recovery


def _graphs(right: float, threshold: float = 0.5) -> dict[str, Any]:
    """A DAG of 15 nodes; of its edges a share is found, the others give way to edges that are not there.

    The prediction follows an order of nodes that is the noisier the less is right, so that it is a DAG at every
    threshold, and some of its edges are reversed. Found edges mostly have higher scores.
    """
    rng = np.random.default_rng(2)
    nodes = 15
    above = np.triu(rng.random((nodes, nodes)) < 0.25, 1)
    scores = rng.random((nodes, nodes))
    kept, chance = rng.random((nodes, nodes)), rng.random((nodes, nodes))
    places = np.argsort(np.argsort(np.arange(nodes) + 6 * (1 - right) * rng.normal(size=nodes)))
    joined = (above & (kept < right)) | (np.triu(~above, 1) & (chance < 0.35 * (1 - right)))
    joined |= joined.T
    likely = np.triu(above, 1) | np.triu(above, 1).T
    strength = np.where(likely, 0.4 + 0.6 * scores, 0.75 * scores + 0.1)
    forward = places[:, np.newaxis] < places
    return {"A_true": above.astype(float), "A_pred": np.where(joined & forward, strength, 0), "threshold": threshold}


def _undirected(share: float) -> dict[str, Any]:
    """The true graph, with a share of its edges left without direction."""
    truth = _graphs(1.0)["A_true"]
    both = np.triu(np.random.default_rng(9).random(truth.shape) < share, 1)
    return {"A_true": truth, "A_pred": np.maximum(truth, (truth * both).T), "encoding": "gcastle"}


def _weights(right: float, threshold: float = 0.1) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    nodes = 12
    weights = np.triu(rng.random((nodes, nodes)) < 0.3, 1) * rng.choice([-1, 1], (nodes, nodes))
    weights = weights * rng.uniform(0.5, 2, (nodes, nodes))
    found = weights + np.triu(rng.normal(size=(nodes, nodes)), 1) * 1.5 * (1 - right)
    return {"A_true": weights, "A_pred": found, "threshold": threshold, "sign": "absolute"}


# --------------------------------------------------------------- forecasting


def _series() -> tuple[np.random.Generator, np.ndarray]:
    """150 time steps, 3 horizons, 4 nodes; the errors to come share the generator."""
    rng = np.random.default_rng(4)
    steps = np.arange(150)[:, None, None] + np.arange(3)[None, :, None]
    return rng, 10 + 3 * np.sin(2 * np.pi * steps / 24) + np.arange(4) + rng.normal(size=(150, 3, 4))


def _gaussians(error: float = 1.0, claimed: float = 1.0, offset: float = 0.0) -> dict[str, Any]:
    rng, truth = _series()
    history = truth[:, 0] + rng.normal(size=(150, 4))
    centre = truth - error * rng.normal(size=truth.shape) + offset
    spread = error * claimed * np.exp(0.3 * rng.normal(size=truth.shape))
    return {"y_true": truth, "y_pred": centre, "std": spread, "naive": history, "thresholds": [10.0]}


def _quantiles(error: float = 1.0, claimed: float = 1.0) -> dict[str, Any]:
    given, levels = _gaussians(error, claimed), np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    ends = np.array([-1.6449, -0.6745, 0, 0.6745, 1.6449])
    found = given["y_pred"][..., None] + given["std"][..., None] * ends
    return {"y_true": given["y_true"], "y_pred": given["y_pred"], "quantiles": found, "levels": levels}


def _members(error: float = 1.0, claimed: float = 1.0, common: float = 0.7) -> dict[str, Any]:
    """Twenty members; the errors of nodes and horizons have the correlation 0.7, those of members `common`."""
    rng, truth = _series()

    def noise(shape: tuple[int, ...], correlation: float) -> np.ndarray:
        shared = rng.normal(size=(shape[0], 1, 1, *shape[3:]))
        return math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * rng.normal(size=shape)

    centre = truth - error * noise(truth.shape, 0.7)
    members = centre[..., None] + error * claimed * noise((*truth.shape, 20), common)
    return {"y_true": truth, "samples": members, "graph": [[0, 1], [1, 2], [2, 3]], "thresholds": [10.0]}


# ---------------------------------------------------------------- generation


def _samples(
    off: float = 0.0, copied: float = 0.0, confused: float = 0.1, threshold: float = 0.5, n: int = 60
) -> dict[str, Any]:
    """Samples of 12 bits in three conditions; `off` moves what is generated away from what is real."""
    rng = np.random.default_rng(5)
    shape = (3, 4)
    codes, draws = np.arange(n) % 3, rng.random((n, *shape))
    rates = np.array([0.3, 0.5, 0.7])[codes][:, None, None]
    real = (rng.random((n, *shape)) < rates).astype(float)
    train = (rng.random((n, *shape)) < rates).astype(float)
    generated = (draws < rates + off * (0.95 - rates)).astype(float)
    copies = rng.random(n) < copied
    generated[copies] = train[0]
    centres = np.array([[-2.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    latents, noise = 0.7 * rng.normal(size=(n, 2)), 0.7 * rng.normal(size=(n, 2))
    made = centres[codes] + noise + 3 * off
    made[copies] = centres[0]
    likely = (0.3 + 0.4 * (1 - off)) * real + (0.3 + 0.4 * off) * rng.random((n, *shape))
    asked = np.where(rng.random(n) < 0.7 * off, rng.integers(0, 3, n), codes)
    seen, known = (np.where(rng.random(n) < confused, rng.integers(0, 3, n), true) for true in (asked, codes))
    return {
        "real": real,
        "generated": generated,
        "real_conditions": codes,
        "conditions": codes,
        "train": train,
        "reconstructed": (likely > threshold).astype(float),
        "valid": rng.random(n) >= 0.4 * off,
        "latents": (1 - off) * centres[codes] + latents * [1, 1 - off],
        "latent_variances": np.full((n, 2), 0.2 + 0.8 * off),
        "generated_latents": made,
        "statistics": {"size": real.sum((1, 2))},
        "generated_statistics": {"size": generated.sum((1, 2))},
        "predicted": seen,
        "classifier_labels": codes,
        "classifier_predicted": known,
        "labels": ["easy", "middle", "hard"],
        "ordered": True,
        "threshold": threshold,
        "resamples": 50,
        "permutations": 99,
    }


def _drawn_graphs(off: float, count: int = 30) -> dict[str, Any]:
    def drawn(start: int, density: float) -> list[Any]:
        return [networkx.gnp_random_graph(10, density, seed=start + place) for place in range(count)]

    return {
        "real": drawn(0, 0.3),
        "train": drawn(1000, 0.3),
        "generated": drawn(2000, 0.3 + 0.4 * off),
        "resamples": 50,
        "permutations": 99,
    }


def _columns(common: float, n: int = 80) -> dict[str, Any]:
    """Rows of two numbers and a category; those of real rows have a correlation of .7."""
    rng = np.random.default_rng(7)

    def rows(common: float) -> dict[str, Any]:
        first = rng.normal(size=n)
        second = common * first + (1 - common**2) ** 0.5 * rng.normal(size=n)
        third = common * first + (1 - common**2) ** 0.5 * rng.normal(size=n)
        return {"first": first, "second": second, "third": np.where(third > 0, "x", "y")}

    return {"real": rows(0.7), "generated": rows(common), "resamples": 50, "permutations": 99}


# --------------------------------------------------------------- explanation

_LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)


class _Added:
    """A model whose logit is the sum of the weights of the edges that are kept."""

    model_output = "logit"

    def predict(self, subgraph: Subgraph, target: Any, masks: np.ndarray) -> np.ndarray:
        found: np.ndarray = masks @ np.array(target["weights"]) - 1.0
        return found


def _explained(noise: float) -> dict[str, Any]:
    """20 events of 10 edges; the three edges that matter are known. Importances are weights and noise."""
    rng = np.random.default_rng(6)
    edges, explanations = 10, []
    for event in range(20):
        weights = 0.1 * rng.normal(size=edges)
        important = rng.permutation(edges)[:3]
        weights[important] += 1.0
        ends = np.stack([np.arange(edges) // 2, np.arange(1, edges + 1)])
        subgraph = Subgraph(ends, np.arange(edges + 2), np.sort(rng.random(edges)))
        truth = np.isin(np.arange(edges), important).astype(float)
        context = Context(subgraph, {"weights": weights.tolist()}, str(event), truth=truth)
        for seed in range(2):
            found = weights + noise * rng.normal(size=edges)
            explanations.append(Explanation(context, found, "explainer", 0.5 + noise, seed))
    return {
        "table": _Added(),
        "explanations": explanations,
        "levels": _LEVELS,
        "topk": 2,
        "random": 20,
        "robust_samples": 20,
        "options": {"acc_auc": {"points": 11}},
    }


# ----------------------------------------------------------------- evolution


def _cycle(rng: np.random.Generator, sense: float, births: int, largest: float = 0.0) -> dict[str, Any]:
    """A graph of 60 nodes in three classes that grows by `births` edges, of which a share joins near nodes."""
    nodes = 60
    places = np.arange(nodes)
    classes = np.where(places < largest * nodes, 0, 1 + places % 2) if largest else places % 3
    centres = 0.5 * np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]])
    before = np.clip(centres[classes] + 0.35 * rng.normal(size=(nodes, 2)), -0.65, 0.65)
    pairs = np.argwhere(np.triu(np.ones((nodes, nodes), bool), 1))
    pairs = pairs[rng.permutation(len(pairs))]
    gaps = np.linalg.norm(before[pairs[:, 0]] - before[pairs[:, 1]], axis=1) + 0.3 * rng.random(len(pairs))
    near, later = pairs[np.argsort(gaps)], rng.random(len(pairs))
    old, free = near[:300:3], np.delete(near, np.s_[:300:3], axis=0)
    future, free = free[:120:3], np.delete(free, np.s_[:120:3], axis=0)
    blind = free[np.argsort(rng.random(len(free)))]
    chosen = np.where((later[: len(free)] < sense)[:, None], free, blind)
    new = list(dict.fromkeys(map(tuple, chosen.tolist())))[:births]
    after = before.copy()
    for source, target in new:
        after[[source, target]] += 0.05 * (after[[target, source]] - after[[source, target]])
    return {"classes": classes, "before": before, "after": after, "old": old, "new": np.array(new), "future": future}


def _grown(sense: float, births: int = 30, largest: float = 0.0) -> dict[str, Any]:
    """Two cycles: in the first, a new node is born as well; in the second, some of its births are removed."""
    rng = np.random.default_rng(7)
    found = _cycle(rng, sense, births, largest)
    nodes, near = len(found["before"]), int(np.argmin(np.linalg.norm(found["before"], axis=1)))
    link = near if sense >= 0.5 else int(rng.integers(nodes))
    new = np.vstack([found["new"], [[nodes, link]]])
    newborn = found["before"][near] * 0.9
    grown = np.vstack([found["after"], newborn])
    first = {
        "embeddings": grown,
        "previous_embeddings": found["before"],
        "previous_edges": found["old"],
        "new_edges": new,
        "all_edges": np.vstack([found["old"], new]),
    }
    same = found["classes"][found["new"][:, 0]] == found["classes"][found["new"][:, 1]]
    removed, kept = found["new"][~same], np.vstack([found["old"], found["new"][same], [[nodes, link]]])
    second = {
        "embeddings": grown,
        "previous_embeddings": grown,
        "new_edges": found["future"][:5],
        "all_edges": np.vstack([kept, found["future"][:5]]),
        "removed_edges": removed,
    }
    return {
        "log": [first, second],
        "labels": found["classes"],
        "test_edges": found["future"][5:],
        "negatives": "all",
        "folds": 3,
    }


def _replayed(sense: float, births: int = 30) -> dict[str, Any]:
    found = _cycle(np.random.default_rng(8), sense, births)
    cycle = {
        "embeddings": found["after"],
        "previous_embeddings": found["before"],
        "previous_edges": found["old"],
        "new_edges": found["new"],
        "all_edges": np.vstack([found["old"], found["new"]]),
    }
    return {
        "log": [cycle],
        "labels": found["classes"],
        "future_edges": found["future"],
        "replay": "fastrp",
        "replays": 19,
    }


# -------------------------------------------------------------------- sweeps

_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_SEPARATIONS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)
_RATIOS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
_ERRORS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
_COUNTS = (5, 10, 20, 50, 100, 200, 500)
_BIRTHS = (10, 20, 30, 45, 60, 90, 120)
_IN_LISTS = ("lists", "recommended", "popularity", "categories", "embeddings")
_SHOWN = ("recommended", "popularity", "categories", "embeddings")
_GAUSSIAN = ("scaled", "root_scaled", "gaussian", "spread", "reliability", "scaled_scores")
_BITS = (
    "reconstructions",
    "validity",
    "pairs",
    "attempts",
    "novelty",
    "copies",
    "statistics",
    "encodings",
    "latents",
    "posteriors",
    "answers",
    "recognition",
)
_EXPLAINED = ("answers", "times", "edges", "elapsed", "truth", "seeds")

SWEEPS = (
    Sweep("ranking", "positives above negatives (sd)", _SEPARATIONS, ("ranks", "pooled"), _ranks),
    Sweep("ranking", "negatives per query", _COUNTS, ("ranks", "pooled"), lambda n: _ranks(1.0, int(n)), log=True),
    Sweep("ranking", "relevant above other items (sd)", _SEPARATIONS, _IN_LISTS, _lists),
    Sweep("ranking", "weight of popularity in scores", _SHARES, _SHOWN, lambda pull: _lists(1.5, pull)),
    Sweep(
        "ranking",
        "candidates per query",
        (20, 30, 50, 80, 120, 160, 200),
        ("lists",),
        lambda n: _lists(0.7, 0.0, int(n)),
        log=True,
    ),
    Sweep("recovery", "share of edges found", _SHARES, ("edges", "curves", "models"), _graphs),
    Sweep(
        "recovery",
        "threshold",
        tuple(value for value in _SHARES if value < 1),
        ("edges", "curves", "models"),
        lambda threshold: _graphs(0.7, threshold),
    ),
    Sweep("recovery", "share of true edges left undirected", _SHARES, ("edges",), _undirected),
    Sweep("recovery", "accuracy of weights", _SHARES, ("weights",), _weights),
    Sweep("recovery", "threshold", _SHARES, ("weights",), lambda threshold: _weights(0.7, threshold)),
    Sweep("forecasting", "error (sd)", _ERRORS, ("errors", *_GAUSSIAN), _gaussians),
    Sweep(
        "forecasting",
        "forecasts too high by",
        (-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0),
        ("errors", "scaled", "root_scaled"),
        lambda offset: _gaussians(offset=offset),
    ),
    Sweep(
        "forecasting",
        "stated spread / actual spread",
        _RATIOS,
        _GAUSSIAN,
        lambda claimed: _gaussians(claimed=claimed),
        log=True,
    ),
    Sweep("forecasting", "error (sd)", _ERRORS, ("quantiles",), _quantiles),
    Sweep(
        "forecasting",
        "stated spread / actual spread",
        _RATIOS,
        ("quantiles",),
        lambda claimed: _quantiles(claimed=claimed),
        log=True,
    ),
    Sweep("forecasting", "error (sd)", _ERRORS, ("samples", "joint", "pairs", "paths"), _members),
    Sweep(
        "forecasting",
        "stated spread / actual spread",
        _RATIOS,
        ("samples",),
        lambda claimed: _members(claimed=claimed),
        log=True,
    ),
    Sweep(
        "forecasting",
        "correlation of members (of the truth: 0.7)",
        (0.0, 0.15, 0.3, 0.45, 0.6, 0.7, 0.8, 0.9, 1.0),
        ("joint", "pairs", "paths"),
        lambda common: _members(common=common),
    ),
    Sweep("generation", "distance of generator from data", _SHARES, _BITS, _samples),
    Sweep("generation", "share of copies of one training sample", _SHARES, _BITS, lambda share: _samples(copied=share)),
    Sweep(
        "generation",
        "answers of the classifier at random",
        _SHARES[:8],
        ("answers",),
        lambda share: _samples(0.3, confused=share),
    ),
    Sweep(
        "generation",
        "threshold",
        _SHARES[1:-1],
        ("reconstructions",),
        lambda threshold: _samples(0.3, threshold=threshold),
    ),
    Sweep(
        "generation",
        "samples on each side",
        (30, 45, 60, 90, 120),
        ("reconstructions", "statistics"),
        lambda n: _samples(0.3, n=int(n)),
        log=True,
    ),
    Sweep("generation", "edges in excess (density)", _SHARES, ("graphs", "graph_training"), _drawn_graphs),
    Sweep(
        "generation",
        "graphs on each side",
        (10, 15, 20, 30, 45, 60),
        ("graphs", "graph_training"),
        lambda n: _drawn_graphs(0.25, int(n)),
        log=True,
    ),
    Sweep(
        "generation",
        "correlation of generated columns (of the real ones: 0.7)",
        (-0.9, -0.5, 0.0, 0.3, 0.5, 0.7, 0.8, 0.95),
        ("columns",),
        _columns,
    ),
    Sweep("explanation", "noise in importances (sd)", (0.0, 0.2, 0.4, 0.6, 0.8, 1.2, 2.0), _EXPLAINED, _explained),
    Sweep("explanation", "share of edges (level)", _LEVELS, _EXPLAINED, lambda level: _explained(0.5), by_level=True),
    Sweep("evolution", "share of births between near nodes", _SHARES, _OF_EVOLUTION, _grown),
    Sweep("evolution", "births in the cycle", _BIRTHS, _OF_EVOLUTION, lambda n: _grown(0.7, int(n)), log=True),
    Sweep(
        "evolution",
        "share of nodes in the largest class",
        (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        ("labels",),
        lambda share: _grown(0.7, largest=share),
    ),
    Sweep("evolution", "share of births between near nodes", _SHARES, _REPLAYED, _replayed),
    Sweep("evolution", "births in the cycle", _BIRTHS, _REPLAYED, lambda n: _replayed(0.7, int(n)), log=True),
)


if __name__ == "__main__":
    main()
