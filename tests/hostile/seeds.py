"""Real files to damage, one for each reader, and the function that reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, save_npz

MATRIX = np.random.default_rng(0).normal(size=(6, 6)).round(3)
SQUARE = (MATRIX > 0.3).astype(float)
BIF = """network unknown { }
variable a { type discrete [ 2 ] { yes, no }; }
variable b { type discrete [ 2 ] { yes, no }; } // a comment
variable "c d" { type discrete [ 2 ] { yes, no }; } /* another */
probability ( a ) { table 0.2, 0.8; }
probability ( b | a ) { (yes) 0.2, 0.8; (no) 0.3, 0.7; }
probability ( "c d" | a, b ) { table 0.1, 0.9; }
"""
STUDY = """schema = 1
name = "fuzz"
[[evaluate]]
family = "ranking"
dataset = "toy"
methods = ["a", "b"]
seeds = [0, 1]
pos_scores = "{method}/{seed}/pos.npy"
neg_scores = ["{method}/{seed}/neg-*.npy"]
groups = { relation = "r.npy" }
[[compare]]
metric = "mrr"
baseline = "b"
[[gate]]
require = "mrr.low > 0.2"
method = "a"
"""


@dataclass(frozen=True)
class Reader:
    """A reader, and how a sound file for it is written."""

    name: str
    file: str
    write: Callable[[Path], Any]
    read: Callable[[Path], Any]


GRAPHS = [{"nodes": 3, "edges": [[0, 1], [1, 2]], "node_labels": ["C", "O", "C"]}]


def readers() -> list[Reader]:
    from graphgauge import load
    from graphgauge.core.door import Input
    from graphgauge.core.items import Items
    from graphgauge.core.sealed import encode, read
    from graphgauge.explanation.table import read_explanations, read_table
    from graphgauge.forecasting.state import ForecastState
    from graphgauge.generation import Sides
    from graphgauge.generation.graphs import read_graphs
    from graphgauge.io.arrays import open_array
    from graphgauge.io.hashing import HashIndex
    from graphgauge.io.kinds import READERS, open_input
    from graphgauge.ranking import Negatives, RankingState
    from graphgauge.stats import read_runs
    from graphgauge.study.model import StudyFile
    from graphgauge.study.parse import read_study

    text = Path.write_text
    graph = Input("graph", "A graph.", "graphgauge.recovery.doors:read_graph")

    def read_graph(path: Path) -> Any:
        return open_input(graph, str(path), Path(), trust_code=False)

    table = "method,dataset,seed,mrr\n" + "".join(f"{m},d,{s},0.{s}{i}\n" for i, m in enumerate("ab") for s in range(4))
    return [
        Reader("array .npy", "a.npy", lambda p: np.save(p, MATRIX), open_array),
        Reader("array .npz", "a.npz", lambda p: np.savez_compressed(p, a=MATRIX), open_array),
        Reader("array .csv", "a.csv", lambda p: np.savetxt(p, MATRIX, delimiter=","), open_array),
        Reader("array .parquet", "a.parquet", _parquet, open_array),
        Reader("array .safetensors", "a.safetensors", _safetensors, open_array),
        Reader("array .pt", "a.pt", _torch, open_array),
        Reader(
            "labels .txt", "l.txt", lambda p: text(p, "a\nb\nc\n" * 9), lambda p: READERS["labels"](str(p), p.parent)
        ),
        Reader("graph .npz (sparse)", "g.npz", lambda p: save_npz(p, csr_array(SQUARE)), read_graph),
        Reader("graph .csv", "g.csv", lambda p: text(p, "source,target,weight\na,b,1\nb,c,0.5\n"), read_graph),
        Reader("graph .json", "g.json", lambda p: text(p, json.dumps(SQUARE.tolist())), read_graph),
        Reader("graph .gml", "g.gml", _gml, read_graph),
        Reader("graph .graphml", "g.graphml", _graphml, read_graph),
        Reader("table .csv", "t.csv", lambda p: text(p, table), read_runs),
        Reader("columns .parquet", "r.parquet", _parquet, lambda p: READERS["table"](str(p), p.parent)),
        Reader("flat JSON", "metrics_d_0.json", lambda p: text(p, '{"mrr": 0.5, "hits@10": 0.7}'), read_runs),
        Reader("result file", "r.json", _result, lambda p: load(p, items=False)),
        Reader("result file in statistics", "r.json", _result, read_runs),
        Reader("items", "i.npz", lambda p: _evaluation().per_item.save(p), Items.load),
        Reader("state", "s.npz", _state, RankingState.load),
        Reader("study", "study.toml", lambda p: text(p, STUDY), read_study),
        Reader("state of forecasts", "f.npz", _forecasts, ForecastState.load),
        Reader("negatives", "n.npz", _negatives, Negatives.load),
        Reader("explanations", "e.jsonl", _explanations, read_explanations),
        Reader("sides of samples", "t.npz", _samples, Sides.load),
        Reader(
            "outcome of a study",
            "study.json",
            lambda p: text(p, encode(StudyFile(name="s", hash="0", runs={"m.json": "ok"}))),
            lambda p: read(p, StudyFile),
        ),
        Reader("answers .jsonl", "t.jsonl", _answers, read_table),
        Reader("sides of graphs", "t.npz", _graphs, Sides.load),
        Reader("graphs .json", "graphs.json", lambda p: text(p, json.dumps(GRAPHS)), read_graphs),
        Reader("graphs .g6", "graphs.g6", lambda p: text(p, "Bw\nCF\n"), read_graphs),
        Reader("cycle of a log", "cycle-00001.npz", _cycle, _read_cycle),
        Reader("index of hashes", "h.json", _hashes, lambda p: HashIndex.load(p.parent, p)),
        Reader("columns .csv", "c.csv", lambda p: text(p, table), lambda p: READERS["table"](str(p), p.parent)),
    ]


def _evaluation() -> Any:
    from graphgauge import ranking

    draw = np.random.default_rng(0)
    scores = draw.normal(1, 1, 60), draw.normal(0, 1, (60, 5))
    return ranking.evaluate(*scores, groups={"part": np.arange(60) % 3}, metrics=("mrr", "hits@10"))


def _result(path: Path) -> None:
    evaluation = _evaluation()
    inputs = [{"name": "pos_scores", "path": "p.npy", "bytes": 3, "hash": "0" * 64}]
    evaluation.receipt = {"inputs": inputs, "started": "now", "seconds": 1.0}
    evaluation.save(path, method="a", dataset="toy", seed=0)


def _state(path: Path) -> None:
    from graphgauge.ranking import RankingState

    draw = np.random.default_rng(0)
    RankingState().update(draw.normal(1, 1, 40), draw.normal(0, 1, (40, 5))).save(path)


def _parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({name: MATRIX[:, index] for index, name in enumerate("abcdef")}), path)


def _safetensors(path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"a": MATRIX}, path)


def _torch(path: Path) -> None:
    import torch

    torch.save(torch.from_numpy(MATRIX.copy()), path)


def _gml(path: Path) -> None:
    import networkx

    networkx.write_gml(networkx.relabel_nodes(networkx.path_graph(5, networkx.DiGraph), str), path)


def _graphml(path: Path) -> None:
    import networkx

    networkx.write_graphml(networkx.path_graph(5, networkx.DiGraph), path)


def _tetrad(path: Path) -> None:
    path.write_text("Graph Nodes:\na;b;c\n\nGraph Edges:\n1. a --> b\n2. b o-o c\n")


def _forecasts(path: Path) -> None:
    from graphgauge.forecasting.state import ForecastState

    state = ForecastState()
    true = np.random.default_rng(0).normal(size=(20, 2, 3))
    state.update(true, true + 0.1, start=0)
    state.save(path)


def _negatives(path: Path) -> None:
    from graphgauge.ranking import negatives

    negatives(np.random.default_rng(0).integers(0, 20, (9, 2)), k=3).save(path)


def _explanations(path: Path) -> None:
    from graphgauge.explanation.inputs import Context, Explanation, Subgraph
    from graphgauge.explanation.table import write_explanations

    graph = Subgraph(np.array([[0, 1, 0], [1, 2, 2]]))
    write_explanations([Explanation(Context(graph, target=0, event=n), MATRIX[n, :3]) for n in range(3)], path)


def _samples(path: Path) -> None:
    from graphgauge.generation import Sides

    Sides.from_samples(MATRIX > 0, generated=MATRIX < 0).save(path)


def _graphs(path: Path) -> None:
    from graphgauge.generation import Graphs, Sides

    graphs = Graphs.from_objects([(3, [(0, 1), (1, 2)]), (2, [(0, 1)]), (3, [(0, 1), (1, 2), (0, 2)])])
    Sides.from_samples(graphs, generated=graphs.take([2, 1, 0])).save(path)


def _answers(path: Path) -> None:
    from tests.explanation.brute import Weighted

    from graphgauge import explanation

    graph = explanation.Subgraph(np.array([[0, 1, 0], [1, 2, 2]]))
    said = [explanation.Explanation(explanation.Context(graph, target=0, event=n), MATRIX[n, :3]) for n in range(2)]
    explanation.collect(Weighted(0), said).save(path)


def _cycle(path: Path) -> None:
    from graphgauge.evolution import Log

    log = Log(path.parent / "log")
    log.begin("a", 0, edges=[(0, 1), (1, 2)], embeddings=MATRIX[:4, :2] / 9)
    for cycle, edge in enumerate([(0, 2), (0, 3)]):
        log.append("a", 0, cycle, embeddings=MATRIX[:4, :2] / 9, new_edges=[edge])
    (place,) = (path.parent / "log").rglob(path.name)
    path.write_bytes(place.read_bytes())


def _read_cycle(path: Path) -> Any:
    from graphgauge.evolution import Log

    (place,) = (path.parent / "log").rglob(path.name)
    place.write_bytes(path.read_bytes())
    return list(Log(path.parent / "log").cycles("a", 0))


def _hashes(path: Path) -> None:
    path.write_text(json.dumps({"files": {"pos.npy": [1, 2, 3, 4, "0" * 64]}}))
