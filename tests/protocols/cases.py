"""Random cases of every protocol: inputs by a seed, as the reference takes them, and our values of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge import forecasting, prediction, ranking, recovery
from graphgauge.protocols import protocol, protocols

FAMILIES = ("ranking", "recovery", "prediction", "forecasting")
NAMES = [name for row in protocols() if row.family in FAMILIES for name in row.names]
FAMILY = {name: row.family for row in protocols() for name in row.names}
# Those of which all names of a row are evaluated alike, by the first.
FIRST = {name: row.names[0] for row in protocols() for name in row.names}
TASKS = {
    "ogbn-proteins": 112,
    "ogbg-molhiv": 1,
    "ogbg-molbace": 1,
    "ogbg-molbbbp": 1,
    "ogbg-molclintox": 2,
    "ogbg-moltox21": 12,
    "ogbg-moltoxcast": 617,
    "ogbg-molsider": 27,
    "ogbg-molpcba": 128,
    "ogbg-molmuv": 17,
    "ogbg-molesol": 1,
    "ogbg-molfreesolv": 1,
    "ogbg-mollipo": 1,
}


def case(name: str, seed: int) -> dict[str, Any]:
    """The arrays of a case; many scores are equal."""
    draw = np.random.default_rng([seed, sum(map(ord, name))])
    match FIRST[name]:
        case "ogbl-ppa" | "ogbl-collab" | "ogbl-ddi" | "ogbl-vessel":
            return {"pos": _rounded(draw, 0.5, 80), "neg": _rounded(draw, 0.0, 400)}
        case "ogbl-citation2" | "tgbl-wiki":
            return {"pos": _rounded(draw, 0.5, 80), "neg": _rounded(draw, 0.0, (80, 30))}
        case "tgbn-trade":
            true = draw.random((20, 40)) * (draw.random((20, 40)) < 0.3) + (np.arange(40) == 0) * 1e-3
            return {"true": true / true.sum(axis=1, keepdims=True), "pred": np.round(draw.random((20, 40)), 1)}
        case "fb15k-237":
            triples = np.unique(draw.integers(0, [14, 3, 14], (60, 3)), axis=0)
            triples = triples[draw.permutation(len(triples))]
            tables = {"entities": np.round(draw.normal(size=(14, 3))), "relations": np.round(draw.normal(size=(3, 3)))}
            return {"test": triples[:20], "known": triples[20:], **tables}
        case "notears":
            return {"true": _dag(draw), "pred": _dag(draw) * np.round(draw.uniform(-1, 1, (8, 8)), 3)}
        case "causal-learn":
            return {"true": _dag(draw), "pred": _dag(draw)}
        case "beeline":
            true = (draw.random((9, 9)) < 0.3) & (np.arange(9) < 4)[:, np.newaxis] & ~np.eye(9, dtype=bool)
            return {
                "true": true.astype(int),
                "pred": np.round(draw.normal(size=(9, 9)), 6),
            }  # of equal ones it takes all
        case "ogbn-arxiv":
            return {"true": draw.integers(0, 5, 150), "pred": draw.integers(0, 5, 150)}
        case "ogbg-molesol":
            return {"true": draw.normal(size=(150, 1)), "pred": draw.normal(size=(150, 1))}
        case "ogbn-proteins" | "ogbg-molpcba":
            true = (draw.random((150, TASKS[name])) < 0.4).astype(float)
            pred = np.round(true + draw.normal(size=true.shape), 1)
            if name.startswith("ogbg") and TASKS[name] > 1:
                true[draw.random(true.shape) < 0.3] = np.nan
            return {"true": true, "pred": pred}
        case "metr-la":
            true = np.where(draw.random((60, 12, 6)) < 0.2, 0.0, draw.uniform(20, 70, (60, 12, 6)))
            return {"true": true, "pred": true + draw.normal(size=true.shape)}
        case "m4":
            true = draw.uniform(5, 9, (6, 4))
            return {"true": true, "pred": true + draw.normal(size=true.shape), "train": draw.uniform(5, 9, (60, 4))}
    raise AssertionError(f"{name} has no case")


def ours(name: str, given: dict[str, Any]) -> dict[str, float]:
    """What the protocol says of a case."""
    under: dict[str, Any] = {"protocol": name}
    match FIRST[name]:
        case "tgbn-trade":
            nodes = np.repeat(np.arange(len(given["true"])), given["true"].shape[1])
            queries = ranking.Queries.from_lists(given["pred"].ravel(), given["true"].ravel(), nodes)
            found = ranking.evaluate(queries, **under)
        case "fb15k-237":
            model = given["entities"], given["relations"]
            queries = ranking.Queries.from_triples(model, given["test"], known=[given["known"]], score="distmult")
            found = ranking.evaluate(queries, **under)
        case "beeline":
            true = [(f"g{i}", f"g{j}") for i, j in np.argwhere(given["true"])]
            genes = sorted({gene for edge in true for gene in edge})
            pairs = [(f"g{i}", f"g{j}", given["pred"][i, j]) for i, j in np.argwhere(~np.eye(9, dtype=bool))]
            edges = [edge for edge in pairs if {*edge[:2]} <= {*genes}]
            found = recovery.evaluate(true, edges, nodes=genes, **under)
        case "m4":
            history = {"history": given["train"], "season": 4, "axes": ("time", "node")}
            found = forecasting.evaluate(given["true"], given["pred"], **history, **under)
        case _ if FAMILY[name] == "ranking":
            found = ranking.evaluate(given["pos"], given["neg"], **under)
        case _ if FAMILY[name] == "recovery":
            found = recovery.evaluate(given["true"], given["pred"], **under)
        case _ if FAMILY[name] == "forecasting":
            found = forecasting.evaluate(given["true"], given["pred"], **under)
        case _ if protocol("prediction", name).options["metrics"] in (["accuracy"], ["rmse"]):
            found = prediction.evaluate(given["true"], given["pred"], **under)
        case _:
            several = {"task": "multilabel"} if TASKS[name] > 1 else {}
            found = prediction.evaluate(given["true"], scores=given["pred"], **several, **under)
    return {key: each.value for key, each in found.items()}


def _rounded(draw: np.random.Generator, centre: float, shape: Any) -> Any:
    return np.round(draw.normal(centre, 1, shape), 1).astype(np.float32)


def _dag(draw: np.random.Generator) -> Any:
    upper, order = np.triu(draw.random((8, 8)) < 0.3, 1), draw.permutation(8)
    return upper[np.ix_(order, order)].astype(int)
