"""Definitions of programs that are not Python libraries, and graphs of tigramite, counted again from their sources.

Tetrad: its statistics, as their source defines them (cmu-phil/tetrad, `algcomparison/statistic`, ebe4ebb7, and
`GraphSearchUtils.structuralHammingDistance`, e5311361). SID: the example of `structIntervDist` in R's package SID 1.1
and in Peters and Bühlmann (2015), and SID by its definition, by trying every path. None of it uses graphgauge's own
parts. `GRAPHGAUGE_SID_VALUES` may name a folder with gadjid's test graphs, which have values of R's package.
"""

from __future__ import annotations

import csv
import itertools
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.peers.agreement import peer
from tests.recovery.forms import evaluate

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

CIRCLE, HEAD, TAIL = 1, 2, 3
EDGES = {
    "->": (TAIL, HEAD),
    "<-": (HEAD, TAIL),
    "--": (TAIL, TAIL),
    "<>": (HEAD, HEAD),
    "o>": (CIRCLE, HEAD),
    "<o": (HEAD, CIRCLE),
    "oo": (CIRCLE, CIRCLE),
}
BOTH = ("pcalg-pag", "pcalg-pag")


def graph(d: int, *edges: str) -> Any:
    """Marks from edges such as `0->1`: [i, j] is the mark at j."""
    ends = np.zeros((d, d), int)
    for edge in edges:
        i, j = int(edge[0]), int(edge[3])
        ends[j, i], ends[i, j] = EDGES[edge[1:3]]
    return ends


# --------------------------------------------------------------------------------------------------------- Tetrad


def share(part: int, *others: int) -> float:
    whole = part + sum(others)
    return part / whole if whole else float("nan")


def tetrad(truth: Any, estimate: Any) -> dict[str, float]:
    """Adjacencies, and the ends of edges with an arrowhead or a tail: right, wrong and missed ones."""
    pairs = list(itertools.combinations(range(len(truth)), 2))
    adjacent = [(bool(truth[pair]), bool(estimate[pair])) for pair in pairs]
    found = {
        "skeleton_precision": share(adjacent.count((True, True)), adjacent.count((False, True))),
        "skeleton_recall": share(adjacent.count((True, True)), adjacent.count((True, False))),
    }
    for name, mark in (("arrowhead", HEAD), ("tail", TAIL)):
        ends = [(truth[i, j] == mark, estimate[i, j] == mark) for i, j in itertools.permutations(range(len(truth)), 2)]
        found[f"{name}_precision"] = share(ends.count((True, True)), ends.count((False, True)))
        found[f"{name}_recall"] = share(ends.count((True, True)), ends.count((True, False)))
    return found


def tetrad_shd(truth: Any, estimate: Any) -> int:
    """Between CPDAGs: an edge that only one has costs 2 if it is directed and 1 if not; a different one costs 1."""
    cost = 0
    for i, j in itertools.combinations(range(len(truth)), 2):
        edges = [(int(side[j, i]), int(side[i, j])) for side in (truth, estimate)]
        present = [edge for edge in edges if edge != (0, 0)]
        if len(present) == 1:
            cost += 1 if present[0] == (TAIL, TAIL) else 2
        else:
            cost += edges[0] != edges[1]
    return cost


def class_of(dag: Any) -> Any:
    """The marks of the CPDAG of a DAG, by trying every DAG with its adjacencies and v-structures."""
    pairs = [pair for pair in itertools.combinations(range(len(dag)), 2) if dag[pair] or dag[pair[::-1]]]
    members = []
    for turns in itertools.product((False, True), repeat=len(pairs)):
        other = np.zeros_like(dag)
        for (i, j), turn in zip(pairs, turns, strict=True):
            other[(j, i) if turn else (i, j)] = 1
        if is_acyclic(other) and v_structures(other) == v_structures(dag):
            members.append(other)
    whole = np.any(members, axis=0)
    return np.where(whole & ~whole.T, HEAD, np.where(whole | whole.T, TAIL, 0)), members


def is_acyclic(dag: Any) -> bool:
    return not np.linalg.matrix_power(dag.astype(int) + np.eye(len(dag), dtype=int), len(dag)).trace() > len(dag)


def v_structures(dag: Any) -> set[tuple[int, int, int]]:
    return {
        (a, c, b)
        for c in range(len(dag))
        for a, b in itertools.combinations(np.flatnonzero(dag[:, c]).tolist(), 2)
        if not dag[a, b] and not dag[b, a]
    }


def random_dag(draw: np.random.Generator, d: int = 5, density: float = 0.5) -> Any:
    order = draw.permutation(d)
    return np.triu(draw.random((d, d)) < density, 1)[np.ix_(order, order)].astype(int)


def random_marks(draw: np.random.Generator, kinds: list[str], d: int = 7) -> Any:
    chosen = [f"{i}{draw.choice(kinds)}{j}" for i, j in itertools.combinations(range(d), 2) if draw.random() < 0.5]
    return graph(d, *chosen)


WITHOUT_CIRCLES = ["->", "<-", "--", "<>"]


@pytest.mark.parametrize("seed", range(60))
def test_tetrads_statistics(seed: int) -> None:
    """A truth of any class without circles, and a prediction of any class."""
    draw = np.random.default_rng(seed)
    truth = random_marks(draw, [["->", "<-"], ["->", "<-", "--"], WITHOUT_CIRCLES][seed % 3])
    found = random_marks(draw, [*WITHOUT_CIRCLES, "o>", "<o", "oo"])
    evaluation = evaluate(truth, found, encoding=BOTH)
    for key, value in tetrad(truth, found).items():
        np.testing.assert_equal(evaluation[key].value, value, key)


@pytest.mark.parametrize("seed", range(40))
def test_tetrads_distance_adds_one_for_every_arrow_of_one_graph(seed: int) -> None:
    draw = np.random.default_rng(seed)
    dags = random_dag(draw), random_dag(draw)
    classes = [class_of(dag)[0] for dag in dags]
    directed = [(marks == HEAD) | (marks == HEAD).T for marks in classes]
    alone = sum(np.triu(own & (other == 0)).sum() for own, other in zip(directed, classes[::-1], strict=True))
    ours = evaluate(*dags, metrics=["cpdag_shd"])["cpdag_shd"].value
    assert tetrad_shd(*classes) == ours + alone


# ------------------------------------------------------------------------------------------------------------ SID

FIRST = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)]
G, H1, H2 = (np.zeros((5, 5), int) for _ in range(3))
for _cell in FIRST:
    G[_cell] = H1[_cell] = H2[_cell] = 1
H1[2, 3] = 1
H2[0, 1], H2[1, 0] = 0, 1
# The values of the example in the package and in the paper's introduction.
PUBLISHED = {"H1": (H1, 1, 0), "H2": (H2, 1, 8)}


def sid_by_definition(truth: Any, estimate: Any) -> int:
    """Ordered pairs (i, j) for which adjusting for the estimate's parents of i is wrong, by every path of the truth."""
    d = len(truth)
    below = np.linalg.matrix_power(truth + np.eye(d, dtype=int), d) > 0
    wrong = 0
    for i, j in itertools.permutations(range(d), 2):
        parents = set(np.flatnonzero(estimate[:, i]).tolist())
        wrong += bool(below[i, j]) if j in parents else not is_adjustment(truth, below, i, j, parents)
    return wrong


def is_adjustment(truth: Any, below: Any, i: int, j: int, given: set[int]) -> bool:
    """No node of a causal path, or a descendant of one, is given, and every other path is blocked."""
    for path in simple_paths((truth + truth.T) > 0, i, j):
        steps = list(itertools.pairwise(path))
        if all(truth[step] for step in steps):
            if any(below[node, z] for node in path[1:] for z in given):
                return False
            continue
        blocked = False
        for before, node, after in zip(path, path[1:], path[2:], strict=False):
            if truth[before, node] and truth[after, node]:
                blocked |= not any(below[node, z] for z in given)
            else:
                blocked |= node in given
        if not blocked:
            return False
    return True


def simple_paths(adjacent: Any, start: int, end: int) -> Any:
    waiting = [(start,)]
    while waiting:
        path = waiting.pop()
        for node in np.flatnonzero(adjacent[path[-1]]).tolist():
            if node == end:
                yield (*path, node)
            elif node not in path:
                waiting.append((*path, node))


def bounds(truth: Any, marks: Any) -> list[float]:
    keys = ["member_sid_min", "member_sid_mean", "member_sid_max"]
    evaluation = evaluate(truth, marks, encoding="pcalg-pag", metrics=keys)
    return [evaluation[key].value for key in keys]


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_values_of_sid(name: str) -> None:
    found, shd, sid = PUBLISHED[name]
    evaluation = evaluate(G, found)
    assert [evaluation["directed_shd"].value, evaluation["sid"].value] == [shd, sid]
    assert sid_by_definition(G, found) == sid


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_bounds_of_the_published_classes(name: str) -> None:
    """The class of H1 is the package's example of a CPDAG; H1 is a member, so its least value is the published 0."""
    marks, members = class_of(PUBLISHED[name][0])
    each = [sid_by_definition(G, member) for member in members]
    assert bounds(G, marks) == pytest.approx([min(each), np.mean(each), max(each)])
    assert min(each) <= PUBLISHED[name][2] <= max(each)


@pytest.mark.parametrize("seed", range(30))
def test_sid_by_its_definition(seed: int) -> None:
    draw = np.random.default_rng(seed)
    truth, found = random_dag(draw), random_dag(draw)
    assert evaluate(truth, found, metrics=["sid"])["sid"].value == sid_by_definition(truth, found)
    marks, members = class_of(found)
    each = [sid_by_definition(truth, member) for member in members]
    assert bounds(truth, marks) == pytest.approx([min(each), np.mean(each), max(each)])


VALUES = os.environ.get("GRAPHGAUGE_SID_VALUES")


@pytest.mark.skipif(not VALUES, reason="shared data absent: GRAPHGAUGE_SID_VALUES names no folder")
@pytest.mark.parametrize("d", [10, 100])
def test_the_values_of_rs_package(d: int) -> None:
    from scipy.io import mmread

    folder = Path(str(VALUES))
    graphs: dict[str, Any] = {}
    with (folder / f"SID-{d}-node-DAGs.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        pair = []
        for name in (row["G_true"], row["G_guess"]):
            if name not in graphs:
                graphs[name] = np.asarray(mmread(folder / f"{d}-node-DAG-{name}.mtx").todense())
            pair.append(graphs[name])
        keys = ["sid", "directed_shd", "member_sid_min"]
        found = evaluate(*pair, metrics=keys)
        assert [found[key].value for key in keys] == [int(row["SID"]), int(row["SHD"]), int(row["SID"])], row
    assert len(rows) == 90


# ------------------------------------------------------------------------------------------------------ tigramite


def strength(value: float) -> float:
    return value


LINKS = {
    0: [((0, -1), 0.5, strength)],
    1: [((1, -1), 0.4, strength), ((0, -1), 0.6, strength)],
    2: [((2, -1), 0.4, strength), ((1, -2), 0.5, strength), ((3, 0), 0.6, strength)],
    3: [((3, -1), 0.3, strength)],
}


def tigramite_graphs(method: str) -> tuple[Any, Any]:
    """The true links, and those that a method finds in a series drawn from them, as tigramite writes both."""
    toys = peer("tigramite.toymodels.structural_causal_processes")
    truth = toys.links_to_graph(LINKS, tau_max=2)
    series, _ = toys.structural_causal_process(LINKS, T=400, seed=1)
    frame = peer("tigramite.data_processing").DataFrame(series)
    test = peer("tigramite.independence_tests.parcorr").ParCorr()
    module, name, call = {
        "PCMCI": ("tigramite.pcmci", "PCMCI", "run_pcmci"),
        "PCMCI+": ("tigramite.pcmci", "PCMCI", "run_pcmciplus"),
        "LPCMCI": ("tigramite.lpcmci", "LPCMCI", "run_lpcmci"),
    }[method]
    search = getattr(peer(module), name)(dataframe=frame, cond_ind_test=test, verbosity=0)
    options = {"alpha_level": 0.01} if method == "PCMCI" else {}
    return truth, getattr(search, call)(tau_max=2, pc_alpha=0.05, **options)["graph"]


def counted_links(truth: Any, found: Any) -> dict[str, float]:
    """Adjacencies: lagged cells and pairs of lag 0, once each. Arrows: links `-->`."""
    d, lags = truth.shape[0], truth.shape[2]
    cells = [(i, j, lag) for lag in range(lags) for i in range(d) for j in range(d) if lag or i < j]
    adjacent = [(truth[cell] != "", found[cell] != "") for cell in cells]
    every = itertools.product(range(d), range(d), range(lags))
    arrows = [(truth[cell] == "-->", found[cell] == "-->") for cell in every]
    return {
        "skeleton_precision": share(adjacent.count((True, True)), adjacent.count((False, True))),
        "skeleton_recall": share(adjacent.count((True, True)), adjacent.count((True, False))),
        "directed_precision": share(arrows.count((True, True)), arrows.count((False, True))),
        "directed_recall": share(arrows.count((True, True)), arrows.count((True, False))),
    }


METHODS = ("PCMCI", "PCMCI+", "LPCMCI")


@pytest.mark.parametrize("method", METHODS)
def test_links_of_tigramite(method: str) -> None:
    truth, found = tigramite_graphs(method)
    evaluation = evaluate(truth, found, lagged=True, encoding=("tigramite", "tigramite"))
    for key, value in counted_links(truth, found).items():
        np.testing.assert_equal(evaluation[key].value, value, key)
    lagged = evaluation.by("lag")
    late = truth[:, :, 1:], found[:, :, 1:]
    row = list(lagged["lag"]).index("lagged")
    assert lagged["skeleton_tp"][row] == ((late[0] != "") & (late[1] != "")).sum()
    first = list(lagged["lag"]).index("0")
    both = (truth[:, :, 0] != "") & (found[:, :, 0] != "")
    assert lagged["skeleton_tp"][first] == np.triu(both).sum()


# ------------------------------------------------------------------------------------------------------- the page


def test_tetrad_counts_marks_where_the_truth_has_a_circle() -> None:
    truth, found = graph(3, "0o>1", "2o>1"), graph(3, "0->1", "2->1")
    assert math.isnan(evaluate(truth, found, encoding=BOTH)["tail_precision"].value)
    assert tetrad(truth, found)["tail_precision"] == 0


def definition_sections() -> list[str]:
    """The part of the page on definitions outside Python, and on tigramite."""
    return [
        "## Definitions outside Python",
        "",
        "- **Tetrad's statistics** (cmu-phil/tetrad, `algcomparison/statistic`, commit ebe4ebb7):",
        "  `skeleton_precision`, `skeleton_recall` (AP, AR), `arrowhead_*` (AHP, AHR) and `tail_*` equal Tetrad's",
        "  on 60 random pairs of graphs whose truth has no circle. Where a true PAG has a circle, Tetrad counts a",
        "  predicted mark as wrong; graphgauge leaves it out. For 0 o→ 1 ←o 2, predicted as 0 → 1 ← 2,",
        "  `tail_precision` is NaN, Tetrad's 0.",
        "- **Tetrad's SHD** (`GraphSearchUtils`, commit e5311361) is `cpdag_shd` plus one for every arrow that",
        "  only one of the two classes has, on 40 random pairs: a missing arrow of a collider costs 2 here and 3",
        "  there.",
        "- **SID in R**: the examples of Peters and Bühlmann (2015) and of the package SID 1.1, and the package's",
        "  values for 180 pairs of DAGs of 10 and 100 nodes (gadjid, commit 5b97028) equal `sid`. `member_sid_*`",
        "  equal the values counted from the definition, member by member, also on 30 random pairs.",
        "- **tigramite**: for a true graph of `links_to_graph` and what PCMCI, PCMCI+ and LPCMCI find in 400",
        "  steps, shares of adjacencies and arrows equal those counted from the links as text.",
        "",
    ]
