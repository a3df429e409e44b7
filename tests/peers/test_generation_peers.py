"""Agreement with other libraries, and the table of the cases in which they differ.

`GRAPHGAUGE_REGENERATE=1` rewrites the table, `docs/agreement/generation.md`.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.peers.agreement import assert_current, cases, peer, versions

from graphgauge.core.errors import InputError
from graphgauge.generation.distances import hamming_pairs, jaccard_pairs, silhouettes, wasserstein
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.identity import codes as identity_codes
from graphgauge.generation.metrics.latent_space import spearman
from graphgauge.generation.two_sample import energy_test, prdc

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

TABLE = Path(__file__).parents[2] / "docs" / "agreement" / "generation.md"
SHOWN = ("scipy", "scikit-learn", "prdc", "dcor", "networkx", "numpy")
BOARD = 3 * 18 * 11


# --------------------------------------------------------------------------------------------- the peers, as called


def their_prdc(real: Any, generated: Any, k: int = 5) -> dict[str, float]:
    with contextlib.redirect_stdout(io.StringIO()):
        found: dict[str, float] = peer("prdc").compute_prdc(real, generated, nearest_k=k)
    return found


def pdist(bits: Any, metric: str) -> Any:
    return peer("scipy.spatial.distance").pdist(bits, metric)


def their_silhouette(points: Any, labels: Any) -> Any:
    return peer("sklearn.metrics").silhouette_samples(points, labels)


def one_distance(real: Any, generated: Any) -> float:
    columns = [np.asarray(side, np.float64)[:, np.newaxis] for side in (real, generated)]
    codes = [np.zeros(len(side), np.int64) for side in columns]
    return float(wasserstein(columns[0], columns[1], codes[0], codes[1], 1)[0, 0])


# ----------------------------------------------------------------------------------- agreement on ordinary input


@pytest.mark.parametrize("seed", range(10))
def test_pairs_of_samples_against_scipy_and_numpy(seed: int) -> None:
    draw = np.random.default_rng(seed)
    bits = draw.random((draw.integers(2, 400), draw.integers(1, BOARD))) < draw.choice([0.02, 0.3, 0.8])
    hamming, jaccard = pdist(bits, "hamming") * bits.shape[1], pdist(bits, "jaccard")
    for ours, theirs in ((hamming_pairs(bits), hamming), (jaccard_pairs(bits), jaccard)):
        assert ours.mean == pytest.approx(theirs.mean(), rel=1e-12)
        assert ours.std == pytest.approx(theirs.std(), rel=1e-9, abs=1e-12)
    assert len(np.unique(identity_codes(bits).ids[0])) == len(np.unique(bits, axis=0))


@pytest.mark.parametrize("seed", range(10))
def test_silhouettes_against_scikit_learn(seed: int) -> None:
    draw = np.random.default_rng(seed)
    clusters = int(draw.integers(2, 15))
    labels = draw.permutation(np.arange(draw.integers(50, 600)) % clusters)
    points = draw.standard_normal((len(labels), draw.integers(1, 33))) + draw.random() * labels[:, np.newaxis]
    ours = silhouettes(points, labels)
    np.testing.assert_allclose(ours, their_silhouette(points, labels), rtol=0, atol=1e-10)
    score = peer("sklearn.metrics").silhouette_score(points, labels)
    assert ours.mean() == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_wasserstein_against_scipy(seed: int) -> None:
    draw = np.random.default_rng(seed)
    real, generated = draw.poisson(8, (400, 6)).astype(float), draw.poisson(9, (250, 6)).astype(float)
    real[:, ::2] *= draw.random()
    real_codes, codes = draw.integers(0, 5, 400), draw.integers(0, 5, 250)
    found = wasserstein(real, generated, real_codes, codes, 5)
    theirs = peer("scipy.stats").wasserstein_distance
    for code in range(5):
        for column in range(6):
            expected = theirs(real[real_codes == code, column], generated[codes == code, column])
            assert found[code, column] == pytest.approx(expected, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 5])
def test_prdc_against_prdc(seed: int, k: int) -> None:
    draw = np.random.default_rng(seed)
    dimensions = draw.integers(1, 40)
    real = draw.standard_normal((draw.integers(20, 300), dimensions))
    generated = draw.standard_normal((draw.integers(20, 300), dimensions)) * draw.uniform(0.5, 1.5)
    assert prdc(real, generated, k=k)._asdict() == pytest.approx(their_prdc(real, generated, k), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_energy_distance_against_dcor_and_scipy(seed: int) -> None:
    draw = np.random.default_rng(seed)
    x, y = draw.standard_normal((60, 4)), draw.standard_normal((90, 4)) + 0.3 * seed / 4
    ours = energy_test(x, y, permutations=499, generator=np.random.default_rng(0))
    assert ours.value == pytest.approx(float(peer("dcor").energy_distance(x, y)), rel=1e-10)
    theirs = peer("dcor").homogeneity.energy_test(x, y, num_resamples=499, random_state=0)
    assert float(theirs.statistic) == pytest.approx(ours.weight * ours.value, rel=1e-10)
    assert theirs.pvalue == pytest.approx(ours.p_value, abs=0.09)
    line = energy_test(x[:, :1], y[:, :1], permutations=0, generator=np.random.default_rng(0))
    scipy_distance = peer("scipy.stats").energy_distance(x[:, 0], y[:, 0])
    assert line.value == pytest.approx(scipy_distance**2, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_rank_correlation_and_isomorphism(seed: int) -> None:
    draw = np.random.default_rng(seed)
    a, b = draw.integers(0, 9, 50), draw.integers(0, 9, 50)
    assert spearman(a, b) == pytest.approx(float(peer("scipy.stats").spearmanr(a, b).statistic), abs=1e-12)
    networkx = peer("networkx")
    graphs = [networkx.gnp_random_graph(6, 0.5, seed=int(draw.integers(10**6))) for _ in range(30)]
    ids = identity_codes(Graphs.from_objects(graphs)).ids[0]
    for i, first in enumerate(graphs):
        for j, second in enumerate(graphs[:i]):
            assert (ids[i] == ids[j]) == networkx.is_isomorphic(first, second)


# ------------------------------------------------------------------------------------- where conventions differ


def shown(value: Any) -> str:
    return value if isinstance(value, str) else f"{float(value):.4g}"


def answer(call: Callable[[], Any]) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return shown(call())
    except InputError:
        return "InputError"
    except Exception as error:
        return type(error).__name__


def steps_far_from_the_origin() -> tuple[Any, Any]:
    """Two clusters a millionth apart, at a hundred million."""
    draw = np.random.default_rng(0)
    labels = np.arange(200) % 2
    steps = draw.integers(0, 4, (200, 3)) + 8.0 * labels[:, np.newaxis]
    return steps * 2.0**-20 + 2.0**27, labels


def rows() -> list[list[str]]:
    """Case, graphgauge's rule, its result, the other library, and that library's result."""
    draw = np.random.default_rng(1)
    points = draw.standard_normal((40, 3))
    same = np.zeros(40, np.int64)
    far, two = steps_far_from_the_origin()
    near = far - 2.0**27
    few = draw.standard_normal((4, 3))
    distance = peer("scipy.stats").wasserstein_distance
    networkx = peer("networkx")
    cycles = [networkx.cycle_graph(6), networkx.disjoint_union(networkx.cycle_graph(3), networkx.cycle_graph(3))]
    energy = energy_test(points[:20, :1], points[20:, :1], permutations=0, generator=np.random.default_rng(0))
    return [
        [
            "silhouette if all samples have the same condition",
            "with the reason",
            answer(lambda: silhouettes(points, same).mean()),
            "scikit-learn",
            answer(lambda: their_silhouette(points, same).mean()),
        ],
        [
            "silhouette if every sample has a different condition",
            "as for any cluster of one sample",
            answer(lambda: silhouettes(points, np.arange(40)).mean()),
            "scikit-learn",
            answer(lambda: their_silhouette(points, np.arange(40)).mean()),
        ],
        [
            "silhouette of two clusters about 8 steps of 10⁻⁶ apart, at 10⁸",
            f"distances from differences: as at the origin, where it is {silhouettes(near, two).mean():.4g}",
            answer(lambda: silhouettes(far, two).mean()),
            "scikit-learn, distances from inner products",
            answer(lambda: their_silhouette(far, two).mean()),
        ],
        [
            "Wasserstein distance to an empty sample",
            "with the reason",
            answer(lambda: one_distance([1.0, 2.0], [])),
            "scipy",
            answer(lambda: distance([1.0, 2.0], [])),
        ],
        [
            "coverage of the first cluster by half of it, the same position and scale, k = 5",
            f"as at the origin, where it is {prdc(near[::2], near[::4]).coverage:.4g}",
            answer(lambda: prdc(far[::2], far[::4]).coverage),
            "prdc, distances from inner products",
            answer(lambda: their_prdc(far[::2], far[::4])["coverage"]),
        ],
        [
            "precision of 4 samples, k = 5",
            "no point has five neighbours",
            answer(lambda: prdc(few, points).precision),
            "prdc",
            answer(lambda: their_prdc(few, points)["precision"]),
        ],
        [
            "energy distance of two samples on a line",
            "2E‖X − Y‖ − E‖X − X'‖ − E‖Y − Y'‖, in any dimension",
            answer(lambda: energy.value),
            "scipy, its square root, on a line only",
            answer(lambda: peer("scipy.stats").energy_distance(points[:20, 0], points[20:, 0])),
        ],
        [
            "whether a hexagon and two triangles are the same graph",
            "isomorphism is checked if hashes agree",
            "no" if len(set(identity_codes(Graphs.from_objects(cycles)).ids[0].tolist())) == 2 else "yes",
            "networkx, equal hashes",
            answer(lambda: "yes" if len(set(map(networkx.weisfeiler_lehman_graph_hash, cycles))) == 1 else "no"),
        ],
    ]


def table_text() -> str:
    return "\n".join(
        [
            "# Where the evaluation of generators differs between libraries",
            "",
            "<!-- Written by tests/peers/test_generation_peers.py; GRAPHGAUGE_REGENERATE=1 rewrites it. -->",
            "",
            "On random samples the libraries below and graphgauge agree: pairwise Hamming and Jaccard distance,",
            "distinct samples, silhouettes, Wasserstein and energy distance, precision, recall, density and",
            "coverage, rank correlation, isomorphism. These are the edge cases in which they differ: first",
            "graphgauge's value and rule, then what the library returns or raises.",
            "",
            f"Observed with {versions(SHOWN)}.",
            "",
            *cases(rows()),
            "",
        ]
    )


def test_the_table_of_differences_is_current() -> None:
    assert_current(TABLE, table_text())
