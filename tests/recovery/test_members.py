"""Minimum, mean and maximum over the members of classes, against every member listed."""

import itertools

import numpy as np
import pytest
from tests.recovery.forms import class_graph, evaluate, model
from tests.recovery.test_classes import extensions, random_graph

from graphgauge.core.errors import UnknownNameError
from graphgauge.recovery.structure import MOST_MEMBERS, _acyclic

BOUNDS = {"min": np.min, "mean": np.mean, "max": np.max}


def random_dag(draw, d, density):
    dag = np.triu(draw.random((d, d)) < density, 1)
    order = draw.permutation(d)
    return dag[np.ix_(order, order)]


def drawn(draw, d):
    """A graph of background knowledge, or a class."""
    graph = random_graph(draw, d, 0.7)
    valid = model(graph, undirected=True).flaw is None
    return graph if valid and draw.random() < 0.5 else class_graph(random_dag(draw, d, 0.6))


def is_valid_adjustment(dag, source, target, given):
    """Adjustment for `given` by the definition: no descendant of a causal path, and every other path blocked."""
    d = len(dag)
    paths = [[source]]
    found = []
    while paths:
        path = paths.pop()
        if path[-1] == target:
            found.append(path)
            continue
        paths += [
            [*path, node] for node in range(d) if node not in path and (dag[path[-1], node] or dag[node, path[-1]])
        ]
    below = np.eye(d, dtype=bool)
    for _ in range(d):
        below = below | (below.astype(int) @ dag.astype(int) > 0)
    for path in found:
        causal = all(dag[a, b] for a, b in itertools.pairwise(path))
        if causal:
            if any(below[node, other] for node in path[1:] for other in given):
                return False
            continue
        is_open = True
        for before, node, after in zip(path, path[1:], path[2:], strict=False):
            collider = dag[before, node] and dag[after, node]
            is_open &= any(below[node, other] for other in given) if collider else node not in given
        if is_open:
            return False
    return True


def sid(truth, dag):
    """The structural intervention distance by its definition."""
    d, wrong = len(truth), 0
    below = np.eye(d, dtype=bool)
    for _ in range(d):
        below = below | (below.astype(int) @ truth.astype(int) > 0)
    for i, j in itertools.permutations(range(d), 2):
        parents = set(np.flatnonzero(dag[:, i]).tolist())
        wrong += below[i, j] if j in parents else not is_valid_adjustment(truth, i, j, parents)
    return wrong


@pytest.mark.parametrize("seed", range(40))
def test_every_member_is_tried(seed):
    draw = np.random.default_rng(seed)
    d = int(draw.integers(2, 5))
    truth, graph = random_dag(draw, d, 0.5), drawn(draw, d)
    keys = [f"member_sid_{bound}" for bound in BOUNDS]
    evaluation = evaluate(truth, graph.T.astype(int), encoding="pcalg", metrics=keys)
    values = [sid(truth, member) for member in extensions(graph)]
    for bound, extreme in BOUNDS.items():
        np.testing.assert_allclose(evaluation[f"member_sid_{bound}"].value, extreme(values), rtol=1e-12)


def test_a_class_as_truth_has_no_members_to_compare_with():
    chain = np.eye(4, k=1, dtype=int)
    evaluation = evaluate(chain + chain.T, chain, encoding=("mixed", "mixed"), metrics=["member_sid"])
    for bound in BOUNDS:
        assert "A_true has undirected edges" in evaluation[f"member_sid_{bound}"].reason


@pytest.mark.parametrize("size", range(1, 6))
def test_a_clique_has_as_many_directions_as_orders(size):
    lines = ~np.eye(size, dtype=bool)
    found = {dag.tobytes() for dag in _acyclic(lines)}
    assert len(found) == len(list(_acyclic(lines))) == np.prod(np.arange(1, size + 1))


def test_a_dag_is_its_only_member():
    draw = np.random.default_rng(1)
    truth, graph = random_dag(draw, 8, 0.4), random_dag(draw, 8, 0.4)
    evaluation = evaluate(truth, graph, metrics=["member_sid", "sid"])
    for bound in BOUNDS:
        assert evaluation[f"member_sid_{bound}"].value == pytest.approx(evaluation["sid"].value, rel=1e-14)


def test_too_many_members_have_no_value_and_say_so():
    d = 9
    truth, clique = np.triu(np.ones((d, d), bool), 1), ~np.eye(d, dtype=bool)
    keys = ["member_sid_min", "member_sid_max"]
    evaluation = evaluate(truth, clique.astype(int), encoding="gcastle", metrics=keys)
    for key in keys:
        assert evaluation[key].reason == f"a class has more than {MOST_MEMBERS:,} members to enumerate"


def test_an_unknown_bound_is_refused():
    with pytest.raises(UnknownNameError, match="median"):
        evaluate(np.eye(3, k=1), np.eye(3, k=1), metrics=["member_sid_median"])
