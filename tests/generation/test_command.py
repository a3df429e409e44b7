"""`graphgauge generation` as a user meets it: samples from files, a model that is asked, and what is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from tests.command import graphgauge
from tests.generation.toy import NAMES, Attack, case, data

from graphgauge import evaluate_files, generation
from graphgauge.core.errors import GraphgaugeError

FEW = ["--draws", "49"]
ROOT = str(Path(__file__).parents[2])


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another folder than that of the source, all of which would be taken for the subject's own."""
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.chdir(tmp_path)


def values(evaluation: Any) -> dict[str, float]:
    return {key: each.value for key, each in evaluation.items()}


def refused(code: int, door: str = "", **fields: Any) -> str:
    """The message of a refusal with this exit code."""
    with pytest.raises(GraphgaugeError) as caught:
        evaluate_files("generation", door, **fields)
    assert caught.value.exit_code == code, caught.value
    return str(caught.value)


def write_boards() -> None:
    side = data(80)
    np.save("real.npy", side.items)
    np.save("generated.npy", side.items[::-1])
    np.save("train.npy", side.items[:8])
    for name, codes in (("real", side.conditions), ("generated", side.conditions[::-1])):
        Path(f"{name}.txt").write_text("".join(f"{NAMES[code]}\n" for code in codes))


def test_files_give_what_arrays_give() -> None:
    rng, side = np.random.default_rng(0), data(80)
    size, latents = rng.normal(size=80), rng.normal(size=(80, 3))
    write_boards()
    np.savez("size.npz", size=size)
    np.save("latents.npy", latents)
    found = evaluate_files(
        "generation",
        real="real.npy",
        generated="generated.npy",
        train="train.npy",
        column={
            "real.conditions": "real.txt",
            "generated.conditions": "generated.txt",
            "real.statistics": "size.npz",
            "generated.statistics": "size.npz",
            "real.latents": "latents.npy",
        },
        labels=NAMES,
        draws=49,
    )
    real = generation.Samples(side.items, conditions=side.conditions, statistics={"size": size}, latents=latents)
    made = generation.Samples(side.items[::-1], conditions=side.conditions[::-1], statistics={"size": size})
    expected = generation.evaluate(real, made, train=side.items[:8], labels=NAMES, draws=49)
    np.testing.assert_equal(values(found), values(expected))
    assert {each["name"] for each in found.receipt["inputs"]} == {"real", "generated", "train", "column"}


def test_columns_of_one_file() -> None:
    side = data(80)
    np.savez("real.npz", items=side.items, conditions=side.conditions, **{"statistics.size": side.items.sum((1, 2, 3))})
    found = evaluate_files("generation", real="real.npz", generated="real.npz", draws=49)
    assert "overall_mean_distance" in found
    np.savez("odd.npz", items=side.items, colours=side.conditions)
    assert "column of real 'colours'" in refused(2, real="odd.npz")


def test_a_shell_prints_few_lines_and_writes_what_is_asked_for() -> None:
    write_boards()
    words = ["--real", "real.npy", "--generated", "generated.npy", "--column", "real.conditions=real.txt"]
    words += ["--column", "generated.conditions=generated.txt", *FEW]
    done = graphgauge("generation", *words, "--output", "r.json", "--figure", "f.svg")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) <= 25
    assert "error [copied-test-set]" in done.stdout
    assert "values and levels" in Path("f.svg").read_text()
    assert {each["key"] for each in json.loads(Path("r.json").read_text())["results"]} >= {"mmd", "mmd_p_value"}
    gated = graphgauge("generation", *words, "--gate", "overall_uniqueness_ratio <= 0.5")
    assert gated.returncode == 1


# ---- graphs


def test_graphs_from_json_graph6_and_matrices() -> None:
    graphs = [networkx.gnp_random_graph(6, 0.5, seed=seed) for seed in range(12)]
    Path("graphs.json").write_text(
        json.dumps([{"nodes": 6, "edges": [list(edge) for edge in g.edges]} for g in graphs])
    )
    np.save("graphs.npy", np.stack([networkx.to_numpy_array(g, dtype=int) for g in graphs]))
    for ending, written in (("g6", networkx.to_graph6_bytes), ("s6", networkx.to_sparse6_bytes)):
        Path(f"graphs.{ending}").write_bytes(b"".join(written(graph, header=False) for graph in graphs))
    expected = values(generation.evaluate(graphs, graphs, draws=9, metrics="degree_mmd"))
    for ending in ("json", "g6", "s6"):
        found = evaluate_files(
            "generation",
            real=f"graphs.{ending}",
            generated="graphs.json",
            draws=9,
            metrics="degree_mmd",
            node_labels=None,
        )
        assert values(found) == pytest.approx(expected), ending
    assert "may be graphs or bits" in refused(3, generated="graphs.npy")
    both = {"real": "graphs.npy", "generated": "graphs.npy", "draws": 9, "metrics": "degree_mmd"}
    assert values(evaluate_files("generation", adjacency="plain", **both)) == pytest.approx(expected)
    gran = evaluate_files("generation", adjacency="plain", protocol="gran", **both)
    assert gran.options["protocol"] == "gran"
    Path("bad.g6").write_text("!!!\n")
    assert "bad.g6" in refused(3, generated="bad.g6")


def test_types_of_nodes_make_edge_types_graphs() -> None:
    """As DiGress has them: types of nodes (n, N), and of edges (n, N, N)."""
    rng = np.random.default_rng(0)
    upper, types = np.triu(rng.integers(0, 3, (20, 5, 5)), 1), rng.integers(0, 4, (20, 5))
    edges = upper + upper.transpose(0, 2, 1)
    np.save("types.npy", types)
    np.save("edges.npy", edges)
    np.savez("both.npz", items=edges, node_types=types)
    graphs = generation.Graphs.from_adjacency(edges, node_types=types)
    expected = values(generation.evaluate(graphs, graphs, draws=9, metrics="unique_problems"))
    column = {"generated.node_types": "types.npy"}
    given = {"real": "both.npz", "generated": "edges.npy", "column": column, "draws": 9, "metrics": "unique_problems"}
    assert values(evaluate_files("generation", **given)) == expected


def test_graphs_that_claim_to_be_enormous() -> None:
    for nodes in (10**9, 10**12, 10**30):
        Path("graphs.json").write_text(json.dumps([{"nodes": nodes, "edges": [[0, 1]]}] * 12))
        assert "nodes" in refused(3, generated="graphs.json")


@pytest.mark.parametrize("name", ["graphs.p", "graphs.pickle", "graphs"])
def test_pickles_are_not_loaded(name: str, tmp_path: Path) -> None:
    Path(name).write_bytes(pickle.dumps([Attack(tmp_path / "run")]))
    refused(3, generated=name)
    assert not (tmp_path / "run").exists()


# ---- models


def test_a_model_gives_what_the_library_gives() -> None:
    found = evaluate_files("generation", "model", subject="tests.generation.toy:case", num_samples=15, draws=49)
    expected = generation.evaluate(generation.collect(case(), num_samples=15), draws=49)
    np.testing.assert_equal(values(found), values(expected))
    given = {"subject": "tests.generation.toy:case", "num_samples": 5, "draws": 9}
    some = evaluate_files("generation", "model", **given, metrics="mean_iou", save_samples="s.npz")
    assert list(some) == ["mean_iou"]
    again = evaluate_files("generation", samples="s.npz", metrics="mean_iou")
    assert values(again) == values(some)


def test_files_are_handed_to_the_factory() -> None:
    Path("vae.pth").write_text(" ".join(NAMES))
    given = {"checkpoint": "vae.pth", "classifier_checkpoint": "vae.pth", "cpu": True, "num_samples": 15, "draws": 9}
    found = evaluate_files("generation", "model", subject="tests.generation.toy:opened", **given)
    assert any("cpu: True" in each.message for each in found.findings)
    assert {"checkpoint", "classifier_checkpoint"} <= {each["name"] for each in found.receipt["inputs"]}
    assert "overall_exact_accuracy" in found
    wrong = refused(3, "model", subject="tests.generation.toy:case", checkpoint="vae.pth")
    assert wrong.startswith("case: raised TypeError: case() got an unexpected keyword argument 'checkpoint'")


LEAVING = """
import sys
sys.path.insert(0, {root!r})
from tests.generation.toy import Case, Judge, Toy, data

class Leaving(Toy):
    def {method}(self, *arguments, **options):
        sys.exit(0)

class LeavingJudge(Judge):
    def {method}(self, *arguments, **options):
        sys.exit(0)

def load():
    return Case(Leaving(), data(), data(seed=1), LeavingJudge())
"""


@pytest.mark.parametrize("method", ["__init__", "validate", "predict"])
def test_a_subject_that_exits_has_not_passed(tmp_path: Path, method: str) -> None:
    (tmp_path / "leaving.py").write_text(LEAVING.format(root=ROOT, method=method))
    words = ["--subject", "leaving:load", "--trust-code", *FEW, "--num-samples", "5", "--gate", "mean_iou >= 0"]
    found = graphgauge("generation", "model", *[word for word in words if word != "--trust-code"], "-o", "r.json")
    assert found.returncode == 3, found.stderr
    assert "raised SystemExit: 0" in found.stderr
    assert "passed" not in found.stderr
    assert not (tmp_path / "r.json").exists()


def test_no_traceback_in_a_shell(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Mine:\n    def generate(self, condition, n, *, temperature, seed):\n        return open('absent.npy')\n"
    )
    failing = graphgauge("generation", "model", "--subject", "mine:Mine")
    assert (failing.returncode, failing.stdout) == (3, "")
    assert failing.stderr.startswith("Error: Mine.generate: raised FileNotFoundError")
    debugged = graphgauge("generation", "model", "--subject", "mine:Mine", "--debug")
    assert "return open('absent.npy')" in debugged.stderr


# ---- what is refused


def test_what_is_not_there() -> None:
    write_boards()
    assert "nothing to evaluate" in refused(2)
    assert "no such file" in refused(3, real="absent.npy")
    assert "Write SIDE.NAME" in refused(2, real="real.npy", column={"real.colour": "real.txt"})
    assert "unknown metric 'beauty'" in refused(2, real="real.npy", metrics="beauty")
    assert "is for graphs in .json files" in refused(2, real="real.npy", node_labels=["atom"])
    assert "compares graphs" in refused(2, real="real.npy", generated="real.npy", protocol="gran")
