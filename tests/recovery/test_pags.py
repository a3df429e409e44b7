"""The marks of PAGs against every MAG of their equivalence classes, found by separation alone."""

import itertools
from collections import defaultdict

import numpy as np
import pytest

from graphgauge import recovery
from graphgauge.recovery.classes import class_of
from graphgauge.recovery.comparison import Comparison
from graphgauge.recovery.pags import pag_of

CIRCLE, HEAD, TAIL = 1, 2, 3
KINDS = ((0, 0), (TAIL, HEAD), (HEAD, TAIL), (HEAD, HEAD))  # the marks at i and at j: none, →, ←, ↔


def graph_of(d, kinds):
    ends = np.zeros((d, d), int)
    for (i, j), (low, high) in zip(itertools.combinations(range(d), 2), kinds, strict=True):
        ends[j, i], ends[i, j] = low, high
    return ends


def ancestors(ends):
    """[i, j]: i is an ancestor of j, or j itself."""
    d = len(ends)
    reached = ((ends == HEAD) & (ends.T == TAIL)) | np.eye(d, dtype=bool)
    for _ in range(d):
        reached = reached | (reached.astype(int) @ reached.astype(int) > 0)
    return reached


def is_ancestral(ends):
    above = ancestors(ends)
    off = above & ~np.eye(len(ends), dtype=bool)
    return not (off & off.T).any() and not (off & (ends == HEAD) & (ends.T == HEAD)).any()


def paths(adjacent, start, end):
    waiting = [(start,)]
    while waiting:
        path = waiting.pop()
        for node in np.flatnonzero(adjacent[path[-1]]):
            if node == end:
                yield (*path, end)
            elif node not in path:
                waiting.append((*path, int(node)))


def separations(ends):
    """Every (i, j, Z) such that Z separates i and j: no path is open given Z."""
    d, above, adjacent = len(ends), ancestors(ends), ends > 0
    found = set()
    for i, j in itertools.combinations(range(d), 2):
        conditions = []  # of each path: the nodes that must not be given, and the colliders
        for path in paths(adjacent, i, j):
            colliders = [
                b
                for a, b, c in zip(path, path[1:], path[2:], strict=False)
                if ends[a, b] == HEAD and ends[c, b] == HEAD
            ]
            conditions.append((set(path[1:-1]) - set(colliders), colliders))
        others = [node for node in range(d) if node not in (i, j)]
        for size in range(d - 1):
            for given in itertools.combinations(others, size):
                is_open = any(
                    not plain & set(given) and all(any(above[b, z] for z in given) for b in colliders)
                    for plain, colliders in conditions
                )
                if not is_open:
                    found.add((i, j, given))
    return frozenset(found)


def is_maximal(ends, separated):
    apart = {(i, j) for i, j, _ in separated}
    return all(ends[i, j] or (i, j) in apart for i, j in itertools.combinations(range(len(ends)), 2))


def shared_marks(members):
    first = members[0]
    same = np.all([member == first for member in members], axis=0)
    return np.where(first == 0, 0, np.where(same, first, CIRCLE))


@pytest.fixture(scope="module")
def classes():
    """The MAGs of four nodes by their separations."""
    found = defaultdict(list)
    for kinds in itertools.product(KINDS, repeat=6):
        ends = graph_of(4, kinds)
        if is_ancestral(ends):
            separated = separations(ends)
            if is_maximal(ends, separated):
                found[separated].append(ends)
    return list(found.values())


def found_class(ends, kind="pag"):
    nothing = np.zeros_like(ends)
    model = Comparison.of(nothing, ends, encoding=(None, "pcalg-pag"), classes=(None, kind)).models()[0][1]
    return class_of(model)


def test_valid_mags_are_ancestral_and_maximal():
    """Graphs of four nodes and of five, with every kind of problem."""
    draw = np.random.default_rng(0)
    seen = defaultdict(int)
    small = [graph_of(4, kinds) for kinds in itertools.product(KINDS, repeat=6)]
    graphs = small[::7] + [ends for ends in small if is_ancestral(ends) and not is_maximal(ends, separations(ends))]
    graphs += [graph_of(5, [KINDS[draw.choice(4, p=(0.4, 0.3, 0.05, 0.25))] for _ in range(10)]) for _ in range(300)]
    for ends in graphs:
        expected = "not ancestral" if not is_ancestral(ends) else "valid"
        if expected == "valid" and not is_maximal(ends, separations(ends)):
            expected = "not maximal"
        kind = found_class(ends, "mag")
        seen[expected] += 1
        assert kind.is_valid == (expected == "valid"), (ends, kind)
        assert ("is not maximal" in str(kind)) == (expected == "not maximal"), (ends, kind)
    assert min(seen.values()) > 5, seen
    assert len(seen) == 3


def test_every_mag_of_four_nodes_gives_its_pag(classes):
    assert len(classes) > 100
    for members in classes:
        expected = shared_marks(members)
        for member in members:
            np.testing.assert_array_equal(pag_of(member.astype(np.int8)), expected, str(member))


def test_only_pags_are_called_maximally_informative(classes):
    """Every PAG of four nodes, and every graph that differs from one in one mark, up to the names of the nodes."""
    pags = {shared_marks(members).tobytes() for members in classes}
    seen = 0
    for text in {min(renamed(np.frombuffer(text, int).reshape(4, 4))) for text in pags}:
        pag = np.frombuffer(text, int).reshape(4, 4)
        for i, j in [(0, 0), *np.argwhere(pag)]:
            for mark in (CIRCLE, HEAD, TAIL):
                graph = pag.copy()
                graph[i, j] = mark if pag[i, j] else 0
                kind = found_class(graph)
                if np.isin(graph, TAIL).any() and ((graph != HEAD) & (graph.T == TAIL)).any():
                    continue  # an edge – or –o: not without selection bias
                informative = kind.is_valid and "is maximally informative" in (kind.remark or "")
                assert informative == (graph.tobytes() in pags), (graph, kind)
                seen += 1
    assert seen > 400


def renamed(ends):
    return [ends[np.ix_(order, order)].tobytes() for order in itertools.permutations(range(4))]


def latent_projection(draw, observed, latent):
    """The MAG of a random DAG over its first nodes: adjacent if nothing observed separates, marks by ancestry."""
    d = observed + latent
    order = draw.permutation(d)
    dag = np.triu(draw.random((d, d)) < 0.4, 1)[np.ix_(order, order)]
    ends = np.where(dag, HEAD, np.where(dag.T, TAIL, 0))
    above, separated = ancestors(ends), separations(ends)
    apart = {(i, j) for i, j, given in separated if max((i, j, *given)) < observed}
    mag = np.zeros((observed, observed), int)
    for i, j in itertools.combinations(range(observed), 2):
        if (i, j) not in apart:
            mag[i, j], mag[j, i] = TAIL if above[j, i] else HEAD, TAIL if above[i, j] else HEAD
    return mag


@pytest.mark.parametrize("seed", range(15))
def test_mags_of_five_nodes(seed):
    draw = np.random.default_rng(seed)
    drawn = (latent_projection(draw, 5, 2) for _ in itertools.count())
    mag = next(found for found in drawn if 4 <= np.count_nonzero(found) / 2 <= 6)
    wanted = separations(mag)
    edges = [(i, j) for i, j in itertools.combinations(range(5), 2) if mag[i, j]]
    members = []
    for kinds in itertools.product(KINDS[1:], repeat=len(edges)):
        ends = np.zeros_like(mag)
        for (i, j), (low, high) in zip(edges, kinds, strict=True):
            ends[j, i], ends[i, j] = low, high
        if is_ancestral(ends) and colliders(ends) == colliders(mag) and separations(ends) == wanted:
            members.append(ends)
    np.testing.assert_array_equal(pag_of(mag.astype(np.int8)), shared_marks(members))


def colliders(ends):
    return {
        (a, b, c)
        for b in range(len(ends))
        for a, c in itertools.combinations(np.flatnonzero(ends[:, b] == HEAD).tolist(), 2)
        if not ends[a, c]
    }


def marks(d, *edges):
    """`amat.pag` from (i, mark at i, mark at j, j)."""
    ends = np.zeros((d, d), int)
    for i, low, high, j in edges:
        ends[j, i], ends[i, j] = low, high
    return ends


def notes_of(ends, names=None, **options):
    given = ends if names is None else recovery.NamedMatrix(ends, names)
    return recovery.evaluate(
        np.eye(len(ends), k=1), given, encoding="pcalg-pag", metrics=["skeleton_f1"], **options
    ).notes


def test_an_evaluation_says_whether_a_pag_is_maximally_informative():
    collider = marks(3, (0, CIRCLE, HEAD, 1), (2, CIRCLE, HEAD, 1))
    assert "A_pred is maximally informative: no further mark follows from it" in notes_of(collider)
    # a o→ b o–o c: what makes b no collider makes b → c.
    opened = marks(3, (0, CIRCLE, HEAD, 1), (1, CIRCLE, CIRCLE, 2))
    note = next(note for note in notes_of(opened, ("a", "b", "c")) if "informative" in note)
    assert note == (
        "A_pred is not maximally informative: it leaves open what follows from the rest, the arrowhead at c of its "
        "edge with b, and 1 more"
    )
    closed = marks(2, (0, TAIL, HEAD, 1))
    assert found_class(closed).remark == (
        "A_pred states what its equivalence class leaves open, the arrowhead at 1 of its edge with 0, and 1 more"
    )


def test_what_is_not_checked_is_said():
    selected = marks(4, (0, TAIL, TAIL, 1), (2, CIRCLE, CIRCLE, 3))
    assert any("is not checked: it has edges that selection bias leaves" in note for note in notes_of(selected))
    star = marks(500, *((0, CIRCLE, CIRCLE, node) for node in range(1, 500)))
    assert any("is not checked: it has too many edges" in note for note in notes_of(star))


def test_the_graphs_of_a_list_are_counted():
    collider = marks(3, (0, CIRCLE, HEAD, 1), (2, CIRCLE, HEAD, 1))
    opened = marks(3, (0, CIRCLE, HEAD, 1), (1, CIRCLE, CIRCLE, 2))
    found = recovery.evaluate(
        np.eye(3, k=1), [collider, opened, collider], encoding="pcalg-pag", metrics=["skeleton_f1"]
    ).notes
    assert "2 of 3 graphs: A_pred is maximally informative: no further mark follows from it" in found
    assert any(note.startswith("1 of 3 graphs: A_pred is not maximally informative") for note in found)
