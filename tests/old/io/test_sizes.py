"""No number in a small file, and no text in it, asks for much more memory than the file has content."""

from __future__ import annotations

import json
import resource
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from graphgauge import explanation, generation
from graphgauge.core.arrays import as_labels
from graphgauge.core.errors import InputError
from graphgauge.generation.table import SampleTable
from graphgauge.old.io.arrays import read_array, read_labels

LARGE = 2**31
MEMORY = 1 << 29


def refused(read, match: str) -> None:
    """An InputError, without half a gigabyte of memory before it."""
    tracemalloc.start()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2 * MEMORY, hard))
    try:
        with pytest.raises(InputError, match=match):
            read()
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        tracemalloc.stop()


def event(number: int = 0, **subgraph) -> str:
    graph = {"edge_index": [[0, 1], [1, 2]], **subgraph}
    said = [{"explainer": "a", "importance": [1, 2]}]
    return json.dumps({"event": number, "target": 0, "subgraph": graph, "explanations": said}) + "\n"


LINES = {
    "a node's number": event(edge_index=[[0, 1], [1, LARGE]]),
    "many events": "".join(event(number, edge_index=[[0, 1], [1, 10**5]]) for number in range(500)),
    "a packed shape": event(times={"zlib": "eJw=", "dtype": "<f8", "shape": [LARGE]}),
    "packed inputs": event(node_inputs={"x": {"zlib": "eJw=", "dtype": "|b1", "shape": [3, LARGE]}}),
    "many truths": json.dumps(json.loads(event(edge_index=[[0] * 20_000, [1] * 20_000])) | {"truth": [[]] * 20_000}),
}


@pytest.mark.parametrize("name", LINES)
def test_explanations(name: str, tmp_path: Path) -> None:
    header = {"schema": "graphgauge/explanation/1", "settings": {}, "notes": []}
    path = tmp_path / "e.jsonl"
    path.write_text(LINES[name].rstrip("\n") + "\n")
    refused(lambda: explanation.read_explanations(path), "stand for")
    path.write_text(json.dumps(header) + "\n" + path.read_text())
    refused(lambda: explanation.read_table(path), "stand for")


def test_a_large_graph_with_few_edges_is_read_again(tmp_path: Path) -> None:
    graph = explanation.Subgraph(np.array([[0, 1], [1, 20_000]]))
    said = explanation.Explanation(explanation.Context(graph, target=0, event=0), np.array([1.0, 2.0]))
    explanation.write_explanations([said], tmp_path / "e.jsonl")
    assert "nodes" in json.loads((tmp_path / "e.jsonl").read_text())["subgraph"]
    (again,) = explanation.read_explanations(tmp_path / "e.jsonl")
    assert np.array_equal(again.context.subgraph.nodes, np.arange(20_001))


@pytest.mark.parametrize("nodes", [LARGE, 10**7])
def test_graphs_of_stated_nodes(nodes: int, tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    path.write_text(json.dumps([{"nodes": nodes, "edges": [[0, 1]]}]))
    pairs = [(nodes, [(0, 1)])]
    refused(lambda: SampleTable.of(generated=pairs), "nodes")
    refused(lambda: generation.evaluate_files(generated=str(path)), "nodes")


def test_one_long_text_among_many(tmp_path: Path) -> None:
    texts = ["a"] * 50_000 + ["b" * 100_000]
    (tmp_path / "l.txt").write_text("\n".join(texts))
    refused(lambda: read_labels(tmp_path / "l.txt"), "100,000 characters")
    refused(lambda: as_labels(texts, "labels"), "100,000 characters")
    refused(lambda: as_labels(np.array(texts, object), "labels"), "100,000 characters")
    graph = {"edge_index": [[0] * 50_000, [1] * 50_000], "nodes": ["a", "b"], "units": texts[1:]}
    (tmp_path / "e.jsonl").write_text(event(**graph))
    refused(lambda: explanation.read_explanations(tmp_path / "e.jsonl"), "100,000 characters")


def test_long_texts_that_are_alike_are_labels(tmp_path: Path) -> None:
    (tmp_path / "l.txt").write_text("\n".join(["x" * 5_000] * 100 + ["y"]))
    assert len(read_labels(tmp_path / "l.txt")) == 101


def test_one_number_in_all_places_of_a_tensor(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save(torch.zeros(1).expand(10**9), tmp_path / "a.pt")
    refused(lambda: read_array(tmp_path / "a.pt"), "unpacks from")
