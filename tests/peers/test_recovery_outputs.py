"""The results of other libraries as they return them, one call each, and many of them on random data."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from tests.peers.agreement import peer
from tests.recovery.forms import evaluate
from tests.recovery.forms import named as named_matrix

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

NEEDING_A_CLASS = ("cpdag_shd", "parent_aid", "member_sid_min", "member_sid_max")


def simulated(seed: int, d: int = 7, samples: int = 200, density: float = 0.4) -> tuple[Any, Any]:
    """A random DAG, and linear data with uniform noise drawn from it."""
    draw = np.random.default_rng(seed)
    weights = np.triu(
        draw.choice([-1, 1], (d, d)) * draw.uniform(0.5, 1.5, (d, d)) * (draw.random((d, d)) < density), 1
    )
    order = draw.permutation(d)
    weights = weights[np.ix_(order, order)]
    noise = draw.uniform(-1, 1, (samples, d))
    return weights, noise @ np.linalg.inv(np.eye(d) - weights)


def pc(data: Any, **options: Any) -> Any:
    return peer("causallearn.search.ConstraintBased.PC").pc(data, 0.05, "fisherz", show_progress=False, **options)


def fci(data: Any) -> Any:
    return peer("causallearn.search.ConstraintBased.FCI").fci(data, "fisherz", 0.05, show_progress=False, verbose=False)


def ges(data: Any) -> Any:
    return peer("causallearn.search.ScoreBased.GES").ges(data, "local_score_BIC")


def same(found: Any, expected: Any) -> None:
    np.testing.assert_equal(found.to_flat(), expected.to_flat())


def by_hand(truth: Any, marks: Any) -> list[float]:
    """Arrowheads of causal-learn's marks against a DAG: right, predicted, true."""
    heads = (marks == 1).T  # the mark in row i, column j is at i
    return [float((heads & (truth != 0)).sum()), float(heads.sum()), float((truth != 0).sum())]


# 180 of PC, 180 of FCI and 140 of GES, which is slower, on 4 to 9 variables and 30 to 300 samples.
RUNS = (
    [("pc", seed) for seed in range(180)]
    + [("fci", seed) for seed in range(180)]
    + [("ges", seed) for seed in range(140)]
)


@pytest.mark.parametrize("part", range(10))
def test_five_hundred_outputs(part: int) -> None:
    """No crash, and no value without a word where the class is not valid."""
    learners = {"pc": pc, "fci": fci, "ges": ges}
    for name, seed in RUNS[part::10]:
        weights, data = simulated(seed, 4 + seed % 6, 30 + seed % 10 * 30)
        truth = weights != 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = learners[name](data)
        marks = found[0].graph if name == "fci" else found["G"].graph if name == "ges" else found.G.graph
        evaluation = evaluate(truth, found)
        named = evaluate(truth, found, metrics=[*NEEDING_A_CLASS, "arrowhead_f1"])
        right, predicted, true = by_hand(truth, marks)
        assert evaluation["tp"].defined
        if true:
            assert evaluation["arrowhead_recall"].value == pytest.approx(right / true)
        if predicted:
            assert evaluation["arrowhead_precision"].value == pytest.approx(right / predicted)
        assert evaluation["skeleton_tp"].value == np.triu((marks != 0) & (truth | truth.T)).sum()
        kind = evaluation.conventions.get("classes", "DAG and DAG").removeprefix("DAG and ")
        for key in NEEDING_A_CLASS:
            result = named[key]
            assert result.defined or result.reason, (name, seed, key)
            if kind in ("MAG", "PAG"):
                assert not result.defined


@pytest.mark.parametrize("seed", range(30))
def test_arrowheads_are_those_of_causal_learn(seed: int) -> None:
    weights, data = simulated(seed, 8)
    graph, _ = fci(data)
    nodes = graph.get_nodes()
    truth = peer("causallearn.graph.GeneralGraph").GeneralGraph(nodes)
    for source, target in np.argwhere(weights):
        truth.add_directed_edge(nodes[source], nodes[target])
    confusion = peer("causallearn.graph.ArrowConfusion").ArrowConfusion(truth, graph)
    tp, fp, fn = confusion.get_arrows_tp(), confusion.get_arrows_fp(), confusion.get_arrows_fn()
    evaluation = evaluate(weights != 0, graph)
    for key, (part, whole) in {"arrowhead_precision": (tp, tp + fp), "arrowhead_recall": (tp, tp + fn)}.items():
        np.testing.assert_equal(evaluation[key].value, part / whole if whole else np.nan)


def test_a_dag_of_causal_learn_is_a_truth() -> None:
    weights, data = simulated(1)
    found = pc(data)
    truth = peer("causallearn.graph.Dag").Dag(found.G.get_nodes())
    for source, target in np.argwhere(weights):
        truth.add_directed_edge(*(found.G.get_nodes()[end] for end in (source, target)))
    same(evaluate(truth, found), evaluate(weights != 0, found))


def test_causal_learn_objects() -> None:
    weights, data = simulated(1)
    found = pc(data)
    for value in (found, found.G, found.G.graph):
        options = {"encoding": "causal-learn"} if isinstance(value, np.ndarray) else {}
        same(
            evaluate(weights != 0, value, **options),
            evaluate(weights != 0, found.G.graph, encoding="causal-learn"),
        )
    names = [f"gene {index}" for index in range(7)]
    named = pc(data, node_names=names)
    order = np.random.default_rng(0).permutation(7)
    truth = named_matrix((weights != 0)[np.ix_(order, order)], tuple(names[index] for index in order))
    assert evaluate(truth, named)["directed_shd"].value == evaluate(weights != 0, found)["directed_shd"].value


def test_gcastle_learners() -> None:
    weights, data = simulated(2)
    algorithms = peer("castle.algorithms")
    learner = algorithms.PC()
    learner.learn(data)
    found = evaluate(weights != 0, learner)
    again = evaluate(weights != 0, np.array(learner.causal_matrix), encoding="gcastle")
    same(found, again)
    lingam = algorithms.DirectLiNGAM()
    lingam.learn(data)
    assert evaluate(weights != 0, lingam)["directed_f1"].value > 0.3


def test_lingam_models() -> None:
    weights, data = simulated(3, samples=1000)
    model = peer("lingam").DirectLiNGAM()
    model.fit(data)
    keys = ["directed_f1", "sign_accuracy", "weight_rmse"]
    evaluation = evaluate(weights, model, sign="absolute", threshold=0.1, metrics=keys)
    assert evaluation["directed_f1"].value > 0.9
    assert evaluation["sign_accuracy"].value == 1
    assert evaluation["weight_rmse"].value < 0.1


def series(seed: int, d: int = 4, length: int = 500) -> tuple[Any, Any]:
    """A lagged graph [i, j, lag], and a series drawn from it; the noise is uniform."""
    draw = np.random.default_rng(seed)
    truth = np.zeros((d, d, 2))
    truth[np.arange(d), np.arange(d), 1] = 0.4
    truth[0, 1, 1] = truth[1, 2, 1] = 0.6
    truth[0, 3, 0] = 0.7
    values = draw.uniform(-1, 1, (length, d))
    mixing = np.linalg.inv(np.eye(d) - truth[:, :, 0])
    for step in range(1, length):
        values[step] = (values[step - 1] @ truth[:, :, 1] + values[step]) @ mixing
    return truth, values


def test_lingam_with_lags() -> None:
    truth, values = series(0)
    model = peer("lingam").VARLiNGAM(lags=1, prune=True)
    model.fit(values)
    evaluation = evaluate(truth, model, lagged=True, sign="absolute", threshold=0.2)
    assert evaluation["directed_f1"].value > 0.8


@pytest.mark.parametrize("method", ["pcmciplus", "lpcmci"])
def test_tigramite_results(method: str) -> None:
    truth, values = series(1)
    frame = peer("tigramite.data_processing").DataFrame(values)
    test = peer("tigramite.independence_tests.parcorr").ParCorr()
    module, name, call = {
        "pcmciplus": ("tigramite.pcmci", "PCMCI", "run_pcmciplus"),
        "lpcmci": ("tigramite.lpcmci", "LPCMCI", "run_lpcmci"),
    }[method]
    search = getattr(peer(module), name)(dataframe=frame, cond_ind_test=test, verbosity=0)
    results = getattr(search, call)(tau_max=1, pc_alpha=0.01)
    evaluation = evaluate(truth, results, lagged=True)
    again = evaluate(truth, results["graph"], lagged=True, encoding="tigramite")
    # The size of the test statistics ranks the cells; all else is the same.
    for key in again:
        if not key.startswith(("auprc", "roc", "f1_at", "best", "early")):
            np.testing.assert_equal(evaluation[key].value, again[key].value, err_msg=key)
    assert evaluation["skeleton_f1"].value > 0.8
    # Counted once more from the links: lagged arrows, and arrows of lag 0 in one cell.
    links = results["graph"]
    arrows = [(i, j, lag) for i, j, lag in itertools.product(range(4), range(4), range(2)) if links[i, j, lag] == "-->"]
    assert evaluation["tp"].value == sum(truth[arrow] != 0 for arrow in arrows)
    assert evaluation["fp"].value == sum(truth[arrow] == 0 for arrow in arrows)


def test_pgmpy_graphs() -> None:
    base, models = peer("pgmpy.base"), peer("pgmpy.models")
    edges = [("a", "b"), ("b", "c")]
    for graph in (base.DAG(edges), models.DiscreteBayesianNetwork(edges)):
        assert evaluate(edges, graph, nodes=("a", "b", "c"))["directed_f1"].value == 1
    mixed = base.PDAG(directed_ebunch=[("a", "b")], undirected_ebunch=[("b", "c")])
    evaluation = evaluate(edges, mixed, nodes=("a", "b", "c"))
    assert evaluation["directed_recall"].value == 0.5
    assert evaluation["shd_undirected"].value == 1
