"""Agreement with other libraries, the table of the cases in which they differ, and the Sachs network.

`GRAPHGAUGE_REGENERATE=1` rewrites the table, `docs/agreement/recovery.md`, and the one of the Sachs network in
`docs/recovery.md`.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.peers.agreement import assert_current, cases, lines, peer, versions
from tests.peers.test_recovery_definitions import definition_sections
from tests.recovery.forms import evaluate
from tests.recovery.forms import named as named_matrix

from graphgauge import recovery
from graphgauge.core.errors import InputError

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

DOCS = Path(__file__).parents[2] / "docs"
TABLE = DOCS / "agreement" / "recovery.md"
PAGE = DOCS / "recovery.md"
SHOWN = ("gcastle", "cdt", "causal-learn", "gadjid", "pgmpy", "tigramite", "scikit-learn", "numpy")
OFF = ~np.eye(8, dtype=bool)


# --------------------------------------------------------------------------------------------- the peers, as called


def gcastle(truth: Any, graph: Any) -> dict[str, float]:
    found: dict[str, float] = peer("castle.metrics").MetricsDAG(np.array(graph, int), np.array(truth, int)).metrics
    return found


def gcastle_shd(truth: Any, graph: Any) -> float:
    return gcastle(truth, graph)["shd"]


def cdt_shd(truth: Any, graph: Any) -> float:
    return float(peer("cdt.metrics").SHD(np.array(truth, int), np.array(graph, int)))


def cdt_shd_single(truth: Any, graph: Any) -> float:
    return float(peer("cdt.metrics").SHD(np.array(truth, int), np.array(graph, int), double_for_anticausal=False))


def cdt_auprc(truth: Any, scores: Any) -> float:
    return float(peer("cdt.metrics").precision_recall(np.array(truth, int), np.array(scores, float))[0])


def causal_learn_graph(matrix: Any) -> Any:
    graphs, nodes = peer("causallearn.graph.GeneralGraph"), peer("causallearn.graph.GraphNode")
    edges, ends = peer("causallearn.graph.Edge"), peer("causallearn.graph.Endpoint").Endpoint
    names = [nodes.GraphNode(f"X{index}") for index in range(len(matrix))]
    graph = graphs.GeneralGraph(names)
    for i, j in np.argwhere(np.asarray(matrix) != 0):
        if np.asarray(matrix)[j, i] and i > j:
            continue
        tail, head = (ends.TAIL, ends.TAIL) if np.asarray(matrix)[j, i] else (ends.TAIL, ends.ARROW)
        graph.add_edge(edges.Edge(names[i], names[j], tail, head))
    return graph


def causal_learn_shd(truth: Any, graph: Any) -> float:
    shd = peer("causallearn.graph.SHD").SHD
    return float(shd(causal_learn_graph(truth), causal_learn_graph(graph)).get_shd())


def causal_learn_cpdag(matrix: Any) -> Any:
    dags, nodes = peer("causallearn.graph.Dag"), peer("causallearn.graph.GraphNode")
    names = [nodes.GraphNode(f"X{index}") for index in range(len(matrix))]
    dag = dags.Dag(names)
    for i, j in np.argwhere(matrix):
        dag.add_directed_edge(names[i], names[j])
    return peer("causallearn.utils.DAG2CPDAG").dag2cpdag(dag).graph


def gadjid_shd(truth: Any, graph: Any) -> float:
    return float(peer("gadjid").shd(np.array(truth, np.int8), np.array(graph, np.int8))[1])


def in_a_process(call: str, truth: Any, graph: Any) -> str:
    """A call that may abort the interpreter, in a separate process."""
    code = (
        f"import gadjid, numpy as np; t, g = np.array({np.asarray(truth, int).tolist()}, np.int8), "
        f"np.array({np.asarray(graph, int).tolist()}, np.int8); print({call})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done.stdout.strip()
    # Its message may have several lines, and Rust's backtrace below it.
    raised = re.findall(r"^(?:\w+\.)*(\w+(?:Error|Exception)):", done.stderr, re.MULTILINE)[0]
    return "panics" if raised == "PanicException" else raised


def pgmpy_shd(truth: Any, graph: Any, penalty: int = 1) -> float:
    return float(
        peer("pgmpy.metrics").SHD(penalty)(true_causal_graph=pgmpy_dag(truth), est_causal_graph=pgmpy_dag(graph))
    )


def pgmpy_dag(matrix: Any) -> Any:
    dag = peer("pgmpy.base").DAG()
    dag.add_nodes_from(range(len(matrix)))
    dag.add_edges_from([tuple(map(int, cell)) for cell in np.argwhere(matrix)])
    return dag


# ----------------------------------------------------------------------------------- agreement on ordinary input


def random_dag(draw: np.random.Generator, density: float = 0.3) -> Any:
    upper = np.triu(draw.random((8, 8)) < density, 1)
    order = draw.permutation(8)
    return upper[np.ix_(order, order)].astype(int)


@pytest.mark.parametrize("seed", range(30))
def test_distances_and_shares_of_dags(seed: int) -> None:
    draw = np.random.default_rng(seed)
    truth, graph = random_dag(draw), random_dag(draw)
    evaluation = evaluate(truth, graph)
    pair, cell = recovery.shd(truth, graph), recovery.shd(truth, graph, kind="cell")
    for other in (gcastle_shd, cdt_shd_single, causal_learn_shd, gadjid_shd, pgmpy_shd):
        assert other(truth, graph) == pair, other.__name__
    assert cdt_shd(truth, graph) == pgmpy_shd(truth, graph, 2) == cell
    found = gcastle(truth, graph)
    for theirs, ours in (
        ("fdr", "fdr"),
        ("tpr", "tpr"),
        ("precision", "directed_precision"),
        ("recall", "directed_recall"),
        ("F1", "directed_f1"),
    ):
        if theirs != "F1" or evaluation["tp"].value:  # the table has the case without a hit
            assert found[theirs] == pytest.approx(evaluation[ours].value, abs=5e-5), theirs


@pytest.mark.parametrize("seed", range(30))
def test_arrows_and_adjacencies_of_classes(seed: int) -> None:
    """causal-learn's confusion counts leave undirected edges out of the arrows, on either side."""
    draw = np.random.default_rng(seed)
    graphs = random_dag(draw), random_dag(draw, 0.25)
    classes = [causal_learn_cpdag(graph) for graph in graphs]
    confusion = peer("causallearn.graph.ArrowConfusion").ArrowConfusion
    adjacency = peer("causallearn.graph.AdjacencyConfusion").AdjacencyConfusion
    for truth, found, codes in (
        (classes[0], classes[1], ("causal-learn", "causal-learn")),
        (graphs[0], classes[1], (None, "causal-learn")),
        (classes[0], graphs[1], ("causal-learn", None)),
    ):
        evaluation = evaluate(truth, found, encoding=codes)
        sides = [causal_learn_marks(side, code) for side, code in zip((truth, found), codes, strict=True)]
        arrows, adjacent = confusion(*sides), adjacency(*sides)
        theirs = [arrows.get_arrows_tp(), arrows.get_arrows_fp(), arrows.get_arrows_fn()]
        assert [evaluation[key].value for key in ("tp", "fp", "fn")] == theirs
        theirs = [adjacent.get_adj_tp(), adjacent.get_adj_fp(), adjacent.get_adj_fn()]
        assert [evaluation[f"skeleton_{key}"].value for key in ("tp", "fp", "fn")] == theirs


def causal_learn_marks(matrix: Any, code: str | None) -> Any:
    """A graph of causal-learn's from its own marks, or from a DAG."""
    if code is None:
        return causal_learn_graph(matrix)
    graph = causal_learn_graph(np.zeros_like(matrix))
    graph.graph = np.array(matrix)
    graph.reconstitute_dpath(graph.get_graph_edges())
    return graph


@pytest.mark.parametrize("seed", range(30))
def test_classes_and_colliders_of_dags(seed: int) -> None:
    draw = np.random.default_rng(seed)
    truth, graph = random_dag(draw), random_dag(draw, 0.25)
    evaluation = evaluate(truth, graph)
    classes = causal_learn_cpdag(truth), causal_learn_cpdag(graph)
    both = ("causal-learn", "causal-learn")
    assert evaluation["cpdag_shd"].value == recovery.shd(*classes, encoding=both)
    assert evaluate(truth, causal_learn_cpdag(truth), encoding="causal-learn")["cpdag_shd"].value == 0
    colliders = []
    for matrix in (truth, graph):
        found = pgmpy_dag(matrix).get_immoralities()
        listed = [(child, *sorted(pair)) for child, pairs in found.items() for pair in pairs]
        colliders.append(set(listed))
    common = len(colliders[0] & colliders[1])
    if colliders[0]:
        assert evaluation["v_structure_recall"].value == common / len(colliders[0])
    if colliders[1]:
        assert evaluation["v_structure_precision"].value == common / len(colliders[1])


@pytest.mark.parametrize("seed", range(20))
def test_any_directed_graph_against_cdt(seed: int) -> None:
    draw = np.random.default_rng(seed)
    truth, graph = ((draw.random((8, 8)) < 0.3) & OFF for _ in range(2))
    assert cdt_shd(truth, graph) == recovery.shd(truth, graph, kind="cell")
    assert cdt_shd_single(truth, graph) == recovery.shd(truth, graph)


@pytest.mark.parametrize("seed", range(20))
def test_areas_against_scikit_learn(seed: int) -> None:
    draw = np.random.default_rng(seed)
    truth, scores = draw.random((8, 8)) < 0.3, draw.integers(0, 12, (8, 8)) / 11
    sklearn = peer("sklearn.metrics")
    y, s = truth[OFF], scores[OFF]
    assert recovery.auprc(truth, scores) == pytest.approx(sklearn.average_precision_score(y, s), abs=1e-12)
    assert recovery.roc_auc(truth, scores) == pytest.approx(sklearn.roc_auc_score(y, s), abs=1e-12)
    precision, recall, _ = sklearn.precision_recall_curve(y, s)
    area = recovery.auprc(truth, scores, area="trapezoid")
    assert area == pytest.approx(sklearn.auc(recall, precision), abs=1e-12)


# ------------------------------------------------------------------------------------- where conventions differ


def matrix(*cells: tuple[int, int], d: int = 4) -> Any:
    graph = np.zeros((d, d), int)
    for cell in cells:
        graph[cell] = 1
    return graph


CHAIN = matrix((0, 1), (1, 2))
EXTRA = matrix((0, 1), (1, 2), (0, 3))
DISTANCES: dict[str, Callable[[Any, Any], Any]] = {
    "gcastle": gcastle_shd,
    "cdt": cdt_shd,
    "causal-learn": causal_learn_shd,
    "gadjid": lambda truth, graph: in_a_process("gadjid.shd(t, g)[1]", truth, graph),
    "pgmpy": pgmpy_shd,
}
# Title, truth, prediction.
GRAPHS = [
    ("an edge reversed", CHAIN, matrix((1, 0), (1, 2))),
    ("both directions for one", CHAIN, matrix((0, 1), (1, 0), (1, 2))),
    ("a self-loop", CHAIN, matrix((0, 1), (1, 2), (3, 3))),
    ("a cycle closed", CHAIN, matrix((0, 1), (1, 2), (2, 0))),
    ("a 2-cycle against itself", matrix((0, 1), (1, 0)), matrix((0, 1), (1, 0))),
]


def shown(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def answer(call: Callable[..., Any], *arguments: Any) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return shown(call(*arguments))
    except Exception as error:
        return type(error).__name__


def distance_rows() -> list[list[str]]:
    rows = []
    for title, truth, graph in GRAPHS:
        ours = f"{recovery.shd(truth, graph)} / {recovery.shd(truth, graph, kind='cell')}"
        rows.append([title, ours, *(answer(call, truth, graph) for call in DISTANCES.values())])
    return rows


ONES = np.ones((4, 4), int) - np.eye(4, dtype=int)
SAME = np.full((5, 5), 0.3)
TWO = matrix((0, 1), (2, 3), d=5)


def share_rows() -> list[list[str]]:
    """Cases of other metrics: title, rule, ours, whose, theirs."""
    sklearn = peer("sklearn.metrics")
    diagonal = np.full((5, 5), 0.3) + np.eye(5)
    cyclic = matrix((0, 1), (1, 2), (2, 0))
    undirected = matrix((0, 1), (1, 0), (1, 2))
    with_nan = np.where(TWO, np.nan, 0.1)
    return [
        [
            "precision when nothing is predicted",
            "with the reason; `zero_division=0` on request",
            ours(CHAIN, matrix(), "directed_precision"),
            "gcastle",
            answer(lambda: gcastle(CHAIN, matrix())["precision"]),
        ],
        [
            "F1 when no predicted edge is true",
            "no true edge was found",
            ours(CHAIN, matrix((2, 3)), "directed_f1"),
            "gcastle",
            answer(lambda: gcastle(CHAIN, matrix((2, 3)))["F1"]),
        ],
        [
            "recall when both directions of 0 → 1 are predicted",
            "the share of true edges that are found, at most 1",
            ours(CHAIN, undirected, "tpr"),
            "gcastle, `tpr`",
            answer(lambda: gcastle(CHAIN, undirected)["tpr"]),
        ],
        [
            "false positive rate of one extra edge",
            "over all cells without a true edge, here 10",
            ours(CHAIN, EXTRA, "fpr"),
            "gcastle, over pairs less true edges, here 4",
            answer(lambda: gcastle(CHAIN, EXTRA)["fpr"]),
        ],
        [
            "orientation when every cell is predicted",
            "wrong: a prediction of both directions has no orientation",
            ours(CHAIN, ONES, "orientation_accuracy"),
            "gcastle, `tpr` of the same graph",
            answer(lambda: gcastle(CHAIN, ONES)["tpr"]),
        ],
        [
            "AUPRC of a constant scorer, 2 edges in 20 cells",
            "step-wise average precision: the prevalence",
            ours(TWO, SAME, "auprc"),
            "scikit-learn's curve joined by `auc`",
            answer(lambda: sklearn.auc(*sklearn.precision_recall_curve(TWO[OFF[:5, :5]], SAME[OFF[:5, :5]])[1::-1])),
        ],
        [
            "AUPRC of the same, diagonal scored highest",
            "the diagonal is not a candidate",
            ours(TWO, diagonal, "auprc"),
            "cdt, diagonal included, trapezoids",
            answer(cdt_auprc, TWO, diagonal),
        ],
        [
            "a NaN score",
            'names the first; `nan="omit"` leaves the cell out of both graphs',
            ours(TWO, with_nan, "directed_f1"),
            "`numpy` comparison: no edge",
            answer(lambda: sklearn.f1_score(TWO[OFF[:5, :5]], (with_nan > 0.5)[OFF[:5, :5]])),
        ],
        [
            "SID of a cyclic truth",
            "with the cycle as the reason; the library is not called",
            ours(cyclic, CHAIN, "sid"),
            "gadjid",
            in_a_process('gadjid.sid(t, g, edge_direction="from row to column")', cyclic, CHAIN),
        ],
    ]


def ours(truth: Any, graph: Any, key: str) -> str:
    try:
        return shown(evaluate(truth, graph, metrics=[key])[key].value)
    except InputError:
        return "InputError"


def table_text() -> str:
    return "\n".join(
        [
            "# Where graph recovery differs between libraries",
            "",
            "<!-- Written by tests/peers/test_recovery_peers.py; GRAPHGAUGE_REGENERATE=1 rewrites it. -->",
            "",
            "On random pairs of DAGs the libraries below and graphgauge agree: structural Hamming distance,",
            "shares, equivalence classes, colliders, areas under curves. They differ if a convention is left",
            "open, or if a graph is not a DAG. Shown is what a library returned, the exception it raised, or",
            "“panics”.",
            "",
            f"Observed with {versions(SHOWN)}.",
            "",
            "## Structural Hamming distance of one change to 0 → 1 → 2 among four nodes",
            "",
            "graphgauge counts pairs that differ, or cells (`shd=`); loops are reported separately. cdt counts",
            "cells by default; pgmpy has its penalty of 1.",
            "",
            *lines(["case", "pairs / cells", *DISTANCES], distance_rows()),
            "",
            "## Other metrics",
            "",
            *cases(share_rows()),
            "",
            *definition_sections(),
        ]
    )


def test_the_table_of_differences_is_current() -> None:
    assert_current(TABLE, table_text())


# ------------------------------------------------------------------------------------------- the Sachs network

ALIASES = {"praf": "Raf", "pmek": "Mek", "plcg": "Plcg", "p44/42": "Erk", "pakts473": "Akt", "pjnk": "Jnk"}


def resources(package: str, *parts: str) -> Path:
    return Path(peer(package).__file__).parent.joinpath(*parts)


@cache
def measurements() -> tuple[tuple[str, ...], Any]:
    """The protein measurements in cdt's wheel: names, and logarithms brought to mean 0 and variance 1."""
    with resources("cdt", "data", "resources", "cyto_full_data.csv").open() as stream:
        head, *rows = csv.reader(stream)
    logs = np.log(np.array(rows, float))
    return tuple(ALIASES.get(name, name) for name in head), (logs - logs.mean(0)) / logs.std(0)


def truths() -> dict[str, Any]:
    with resources("cdt", "data", "resources", "cyto_full_target.csv").open() as stream:
        _, *rows = csv.reader(stream)
    listed = [(ALIASES.get(cause, cause), ALIASES.get(effect, effect)) for cause, effect in rows]
    with gzip.open(resources("pgmpy", "utils", "example_models", "sachs.bif.gz"), "rt") as stream:
        network = peer("pgmpy.readwrite").BIFReader(string=stream.read()).get_model()
    return {"17 edges": network, "18 edges": listed}


def test_two_truths_of_the_sachs_network() -> None:
    names, _ = measurements()
    pair = truths().values()
    evaluation = evaluate(*pair, nodes=names)
    assert [evaluation[key].value for key in ("tp", "fp", "fn")] == [13, 5, 4]
    assert recovery.shd(*pair, nodes=names) == 7
    assert recovery.shd(*pair, nodes=names, kind="cell") == 9


@cache
def learned() -> dict[str, tuple[Any, dict[str, Any]]]:
    """What two methods learn from the measurements by default (PC at level 0.01), and how each writes it."""
    names, data = measurements()
    pc = peer("causallearn.search.ConstraintBased.PC").pc(data, 0.01, "fisherz", show_progress=False).G.graph
    ges = peer("causallearn.search.ScoreBased.GES").ges(data, "local_score_BIC")["G"].graph
    encoded = {"encoding": "causal-learn"}
    found = {
        "PC (causal-learn)": (pc, encoded),
        "GES (causal-learn)": (ges, encoded),
        "empty graph": (np.zeros((len(names), len(names))), {}),
    }
    return {name: (named_matrix(graph, names), options) for name, (graph, options) in found.items()}


SACHS = (
    "tp",
    "fp",
    "fn",
    "directed_f1",
    "directed_shd",
    "skeleton_f1",
    "cpdag_shd",
    "parent_aid",
)


def sachs_rows() -> list[list[str]]:
    rows = []
    names, _ = measurements()
    for method, (prediction, options) in learned().items():
        evaluation = evaluate(truths()["17 edges"], prediction, nodes=names, **options)
        rows.append([method, *(f"{evaluation[key].value:.3g}" for key in SACHS)])
    return rows


def test_methods_on_the_sachs_measurements() -> None:
    begin, end = "<!-- sachs: written by tests/peers/test_recovery_peers.py -->\n", "<!-- /sachs -->"
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    text = "\n".join(lines(["method", *(f"`{key}`" for key in SACHS)], sachs_rows())) + "\n"
    if os.environ.get("GRAPHGAUGE_REGENERATE"):
        PAGE.write_text(before + begin + "\n" + text + "\n" + end + after, encoding="utf-8")
        page = PAGE.read_text(encoding="utf-8")
    assert text in page, "run with GRAPHGAUGE_REGENERATE=1"
