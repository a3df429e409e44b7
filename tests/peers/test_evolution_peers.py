"""Agreement with other libraries, and the table of the cases in which they differ.

`GRAPHGAUGE_REGENERATE=1` rewrites the table, `docs/agreement/evolution.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.evolution.grown import exact_distance
from tests.peers.agreement import assert_current, cases, lines, peer, versions

from graphgauge.core.errors import InputError
from graphgauge.evolution import AdaptiveEvaluator, poincare_distance
from graphgauge.evolution.edges import FreePairs, codes_of

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

TABLE = Path(__file__).parents[2] / "docs" / "agreement" / "evolution.md"
SHOWN = ("geoopt", "torch_geometric", "torch", "scikit-learn", "mpmath", "numpy")
GAPS = (0.5, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15)


def geoopt_distance(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    torch, ball = peer("torch"), peer("geoopt").PoincareBall(c=1.0)
    found: np.ndarray = ball.dist(torch.tensor(u, dtype=torch.float64), torch.tensor(v, dtype=torch.float64)).numpy()
    return found


def opposite(gap: float) -> tuple[np.ndarray, np.ndarray]:
    """Two points about `gap` inside the boundary."""
    return np.array([1 - gap, 0.0]), np.array([0.0, -(1 - gap)])


def test_distances_inside_the_ball_agree_with_geoopt() -> None:
    rng = np.random.default_rng(0)
    u, v = rng.uniform(-0.2, 0.2, (2, 500, 8))
    np.testing.assert_allclose(poincare_distance(u, v), geoopt_distance(u, v), rtol=1e-12)


def test_homophily_agrees_with_pyg() -> None:
    torch, utils = peer("torch"), peer("torch_geometric.utils")
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 4, 200)
    births = np.unique(np.sort(rng.integers(0, 200, (300, 2)), axis=1), axis=0)
    births = births[births[:, 0] != births[:, 1]]
    evaluator = AdaptiveEvaluator(range(200), labels, metrics=["homophily_new_edges"])
    found = evaluator.evaluate_cycle(np.zeros((200, 1)), births, births, 0, previous_edges=births[:0])
    edge_index, classes = torch.tensor(births.T), torch.tensor(labels)
    expected = utils.homophily(edge_index, classes, method="edge")
    assert found["homophily_new_edges"].value == pytest.approx(expected, rel=1e-6)


def drawn_by_pyg(nodes: int, edges: np.ndarray, count: int) -> np.ndarray:
    torch, utils = peer("torch"), peer("torch_geometric.utils")
    torch.manual_seed(0)
    peer("random").seed(0)
    np.random.seed(0)  # noqa: NPY002 (what it draws with)
    found: np.ndarray = utils.negative_sampling(torch.tensor(edges.T), nodes, count).numpy().T
    return found


def draws() -> dict[str, tuple[int, int, int]]:
    """Distinct unordered pairs, and reversed edges, among 60 negatives of 20 nodes with 60 edges."""
    rng = np.random.default_rng(2)
    pairs = np.argwhere(np.triu(np.ones((20, 20), bool), 1))
    edges = pairs[rng.permutation(len(pairs))[:60]]
    standing = {tuple(edge) for edge in edges.tolist()}

    def counted(found: np.ndarray) -> tuple[int, int, int]:
        unordered = [tuple(sorted(pair)) for pair in found.tolist()]
        return len(found), len(set(unordered)), sum(pair in standing for pair in unordered)

    taken = np.sort(codes_of(edges[:, 0], edges[:, 1]))
    ours = FreePairs(np.arange(20), np.arange(20), taken, 20).drawn(60, np.random.default_rng(0))
    return {
        "graphgauge": counted(np.stack(ours, axis=1)),
        "PyG": counted(drawn_by_pyg(20, edges, 60)),
    }


def test_our_negatives_are_distinct_and_no_edges() -> None:
    assert draws()["graphgauge"] == (60, 60, 0)


def distance_rows() -> Iterator[list[str]]:
    for gap in GAPS:
        u, v = opposite(gap)
        exact = exact_distance(u, v)
        ours, theirs = float(poincare_distance(u, v)), float(geoopt_distance(u, v))
        assert ours == pytest.approx(exact, rel=1e-15)
        yield [f"{gap:g}", f"{exact:.6f}", f"{ours:.6f}", f"{theirs:.6f}"]


def rule_rows() -> Iterator[list[str]]:
    u, _ = opposite(1e-9)
    own, theirs = f"{poincare_distance(u, u):g}", f"{float(geoopt_distance(u, u)):.3g}"
    yield ["distance of a point and itself", "exact", own, "geoopt", theirs]
    beyond = np.array([1.2, 0.0])
    with pytest.raises(InputError):
        poincare_distance(beyond, np.zeros(2))
    yield [
        "a point outside the ball, norm 1.2",
        "the error names the row",
        "InputError",
        "geoopt",
        f"{float(geoopt_distance(beyond, np.zeros(2))):.3g}",
    ]


def test_where_they_differ() -> None:
    found = draws()
    text = "\n".join(
        [
            "# Where evolution differs between libraries",
            "",
            "<!-- Written by tests/peers/test_evolution_peers.py; GRAPHGAUGE_REGENERATE=1 rewrites it. -->",
            "",
            "Distances well inside the ball, homophily and areas agree with the libraries below. Results differ at the",
            "boundary of the ball, and in the negatives drawn.",
            "",
            f"Observed with {versions(SHOWN)}.",
            "",
            "## Distance of (1 − gap, 0) and (0, gap − 1)",
            "",
            "mpmath with 100 digits on the same doubles; geoopt in float64.",
            "",
            *lines(["gap", "mpmath", "graphgauge", "geoopt"], list(distance_rows())),
            "",
            *cases(rule_rows()),
            "",
            "## Negatives of an undirected graph",
            "",
            "PyG's `negative_sampling` draws ordered pairs: if a graph's edges are listed in one direction, it may",
            "return a reversed edge, and a pair in both orders. Of 60 negatives of a graph with 20 nodes and 60 edges,",
            "each listed once:",
            "",
            *(
                f"- {name}: {distinct} distinct pairs, {reversed_} of them edges."
                for name, (_, distinct, reversed_) in found.items()
            ),
            "",
        ]
    )
    assert_current(TABLE, text)
