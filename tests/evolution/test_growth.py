"""Replayed growth: chance replays keep what they promise, effects are right, random growth is not called helpful."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from graphgauge.core.errors import GraphgaugeError, InputError, OptionError
from graphgauge.evolution import (
    EvolutionLog,
    GrownGraph,
    Ledger,
    evaluate,
    is_harmful,
    is_helpful,
    replay_growth,
)
from graphgauge.evolution.growth_metrics import Replays, _variance
from graphgauge.evolution.growth_outcomes import embedded, fastrp, neighbours, probe_hits, spectral
from graphgauge.evolution.growth_runs import NEVER, read_run, run_of_ledger

NODES = 24


def random_pair(rng, labels, same):
    u = int(rng.integers(len(labels)))
    return u, int(rng.choice(np.flatnonzero((labels == labels[u]) == (rng.random() < same))))


def system(seed=0, births=24, cycles=4, same=None, nodes=NODES, newborn=0, start=40):
    """A graph with three classes; `same` is the share of births within a class, None for random pairs."""
    rng = np.random.default_rng(seed)
    labels = np.arange(nodes) % 3
    taken, edges = set(), []
    while len(edges) < start:
        pair = random_pair(rng, labels, 0.75)
        if pair[0] != pair[1] and frozenset(pair) not in taken:
            taken.add(frozenset(pair))
            edges.append(pair)
    log, size = [], nodes
    before = np.array(edges)
    for cycle in range(cycles):
        new = []
        for own in range(newborn):
            new += [(size + own, int(v)) for v in rng.choice(nodes, 2, replace=False)]
        while len(new) < births // cycles:
            pair = tuple(rng.integers(0, nodes, 2).tolist()) if same is None else random_pair(rng, labels, same)
            if pair[0] != pair[1] and frozenset(pair) not in taken:
                taken.add(frozenset(pair))
                new.append(pair)
        after = np.concatenate([before, np.array(new, int).reshape(-1, 2)])
        log.append(
            {
                "cycle": cycle,
                "embeddings": np.zeros((size + newborn, 2)),
                "previous_embeddings": np.zeros((size, 2)),
                "new_edges": new,
                "all_edges": after,
                "previous_edges": before,
            }
        )
        size, before = size + newborn, after
    return log, labels


def cycles(log):
    from graphgauge.evolution.log import as_cycles

    return read_run(as_cycles(log))


def pairs(edges):
    return [frozenset(edge) for edge in np.asarray(edges).tolist()]


@pytest.mark.parametrize("newborn", [0, 2])
@pytest.mark.parametrize("seed", range(4))
def test_chance_replays_keep_sources_and_are_possible(seed, newborn):
    run = cycles(system(seed, newborn=newborn)[0])
    start = set(pairs(run.start))
    for kind in ("shuffled", "redrawn"):
        draws = getattr(run, kind)(5, np.random.default_rng(seed))
        assert any(pairs(births) != pairs(run.births) for births in draws)
        for births in draws:
            found = pairs(births)
            assert len(set(found)) == len(found)
            assert all(len(edge) == 2 for edge in found)
            assert not start & set(found)
            arrived = run.arrived[births]
            assert (arrived <= run.born[:, None]).all()
            new, own = (np.sort(run.arrived[each] == run.born[:, None]) for each in (births, run.births))
            np.testing.assert_array_equal(new, own)
            if kind == "shuffled":
                assert Counter(births.ravel().tolist()) == Counter(run.births.ravel().tolist())
            else:
                np.testing.assert_array_equal(births[:, 0], run.births[:, 0])


def test_shuffles_and_redraws_are_uniform_over_what_is_possible():
    """Three births, 0-3, 1-4, 2-5, and the edge 0-4 at the start: four of six pairings are possible."""
    log = [
        {
            "embeddings": np.zeros((6, 1)),
            "previous_embeddings": np.zeros((6, 1)),
            "new_edges": np.array([[0, 3], [1, 4], [2, 5]]),
            "previous_edges": np.array([[0, 4]]),
            "all_edges": np.array([[0, 4], [0, 3], [1, 4], [2, 5]]),
        }
    ]
    run = read_run(cycles_of(log), directed=True)
    rng = np.random.default_rng(0)
    drawn = Counter(tuple(births[:, 1].tolist()) for births in run.shuffled(1200, rng))
    expected = [order for order in itertools.permutations([3, 4, 5]) if order[0] != 4]
    assert set(drawn) == set(expected)
    assert max(abs(count - 300) for count in drawn.values()) < 75
    first = Counter(int(births[0, 1]) for births in run.redrawn(1200, rng))
    assert set(first) == {1, 2, 3, 5}
    assert max(abs(count - 300) for count in first.values()) < 75


def test_every_graph_with_these_degrees_stays_equally_likely():
    """Without direction, births are read towards hubs; graphs that are drawn uniformly stay so under exchanges."""
    degrees = [3, 2, 2, 1, 1, 1]
    every = [
        frozenset(chosen)
        for chosen in itertools.combinations(itertools.combinations(range(6), 2), 5)
        if [sum(node in edge for edge in chosen) for node in range(6)] == degrees
    ]
    reached, calls = Counter(), 100
    for number, graph in enumerate(every):
        edges = np.array(sorted(graph))
        log = [
            {
                "embeddings": np.zeros((6, 1)),
                "previous_embeddings": np.zeros((6, 1)),
                "new_edges": edges,
                "previous_edges": np.empty((0, 2), int),
                "all_edges": edges,
            }
        ]
        run, rng = cycles(log), np.random.default_rng(number)
        for _ in range(calls):
            reached[frozenset(tuple(sorted(edge)) for edge in run.shuffled(1, rng)[0].tolist())] += 1
    assert set(reached) == set(every)
    # The standard error of a count is at most 10.
    assert max(abs(count - calls) for count in reached.values()) < 40


@pytest.mark.parametrize("turned", [False, True])
def test_the_order_of_the_ends_changes_no_replay(turned):
    log, labels = system(2)
    other = [{**cycle, "new_edges": np.sort(cycle["new_edges"], axis=1)[:, :: -1 if turned else 1]} for cycle in log]
    one, two = (replay_growth(each, labels, draws=9) for each in (log, other))
    for key in one:
        assert one[key].value == two[key].value


def test_sorted_ends_are_not_taken_for_growth():
    """Random births between two blocks of numbers, each listed with the smaller number first."""
    blocks = np.arange(40) >= 20

    def within(points, graph):
        return float(np.mean(blocks[graph.edges[:, 0]] == blocks[graph.edges[:, 1]]))

    rejected = 0
    every = np.array([(i, j) for j in range(40) for i in range(j)])
    for seed in range(12):
        edges = every[np.random.default_rng(seed).permutation(len(every))[:90]]
        log = [
            {
                "embeddings": np.zeros((40, 1)),
                "previous_embeddings": np.zeros((40, 1)),
                "new_edges": edges[30:],
                "previous_edges": edges[:30],
                "all_edges": edges,
            }
        ]
        found = replay_growth(log, embed=lambda graph: np.zeros((40, 1)), probe=within, draws=19, seed=seed)
        rejected += found["growth_probe_p_shuffled"].value <= 0.05
    # With probability 0.05 each, more than 3 of 12 have probability 0.002.
    assert rejected <= 3


def test_types_relations_and_pools_limit_the_targets():
    log, _ = system(1)
    types = np.arange(NODES) % 2
    run = read_run(cycles_of(log), types=types)
    for births in (*run.shuffled(4, np.random.default_rng(0)), *run.redrawn(4, np.random.default_rng(0))):
        np.testing.assert_array_equal(np.sort(types[births]), np.sort(types[run.births]))
    pools = np.arange(NODES) // 6
    run = cycles([{**cycle, "pools": pools} for cycle in log])
    for births in run.redrawn(4, np.random.default_rng(0)):
        np.testing.assert_array_equal(pools[births[:, 1]], pools[run.births[:, 1]])


def cycles_of(log):
    from graphgauge.evolution.log import as_cycles

    return as_cycles(log)


EVENTS = [
    {"cycle": -1, "action": "birth", "source": "a", "target": "b", "type": "knows"},
    {"cycle": -1, "action": "birth", "source": "b", "target": "c", "type": "likes"},
    {"cycle": 0, "action": "birth", "source": "c", "target": "d", "type": "knows"},
    {"cycle": 1, "action": "birth", "source": "a", "target": "c", "type": "likes"},
    {"cycle": 1, "action": "death", "source": "a", "target": "b", "type": "knows"},
    {"cycle": 2, "action": "birth", "source": "d", "target": "a", "type": "knows"},
    {"cycle": 2, "action": "death", "source": "c", "target": "d", "type": "knows"},
]


@pytest.mark.parametrize("directed", [False, True])
def test_a_ledger_is_read_with_deaths_relations_and_ids(directed):
    run = run_of_ledger(Ledger.of(EVENTS, directed=directed))
    graph = run.graph()
    named = [{graph.ids[u] + graph.ids[v] for u, v in graph.at(cycle).tolist()} for cycle in range(-1, 3)]
    ordered = [{"".join(sorted(edge)) for edge in edges} for edges in named]
    assert ordered == [{"ab", "bc"}, {"ab", "bc", "cd"}, {"bc", "cd", "ac"}, {"bc", "ac", "ad"}]
    if directed:
        assert named[3] == {"bc", "ac", "da"}
    assert dict(zip(graph.ids, graph.arrived.tolist(), strict=True)) == {"a": -1, "b": -1, "c": -1, "d": 0}
    left = {"".join(sorted(graph.ids[u] + graph.ids[v])) for u, v in run.withheld().edges.tolist()}
    assert left == {"bc"}
    assert Counter(run.relations.tolist()) == {0: 2, 1: 1}


def test_reborn_edges_are_kept_and_merges_are_no_growth():
    events = [
        *EVENTS,
        {"cycle": 3, "action": "birth", "source": "c", "target": "d", "type": "knows"},
        {"cycle": 4, "action": "merge", "node": "d", "into": "b"},
    ]
    run = run_of_ledger(Ledger.of(events))
    assert any("more than once" in note for note in run.notes)
    assert any("merges" in note for note in run.notes)
    for births in run.redrawn(3, np.random.default_rng(0)):
        np.testing.assert_array_equal(births[run.fixed], run.births[run.fixed])
    moved = {frozenset(edge) for edge in run.births[run.moved].tolist()}
    assert moved <= set(pairs(run.withheld().edges))


def test_edges_end_when_they_are_removed():
    edges = np.array([[0, 1], [1, 2], [2, 3]])
    log = [
        {
            "embeddings": np.zeros((5, 1)),
            "previous_embeddings": np.zeros((5, 1)),
            "previous_edges": edges,
            "new_edges": [[3, 4]],
            "all_edges": [[0, 1], [1, 2], [3, 4]],
            "removed_edges": [[2, 3]],
        },
        {
            "embeddings": np.zeros((5, 1)),
            "new_edges": [[0, 4]],
            "all_edges": [[0, 1], [1, 2], [0, 4]],
            "removed_edges": [[3, 4]],
        },
    ]
    run = cycles(log)
    assert run.start_gone.tolist() == [NEVER, NEVER, 0]
    assert run.gone.tolist() == [1, NEVER]
    assert set(pairs(run.graph().edges)) == set(pairs([[0, 1], [1, 2], [0, 4]]))
    assert set(pairs(run.withheld().edges)) == set(pairs([[0, 1], [1, 2]]))


def test_undeclared_births_are_refused_or_replayed():
    log, labels = system(2)
    hidden = [{**log[0], "new_edges": log[0]["new_edges"][1:]}, *log[1:]]
    with pytest.raises(InputError, match="run, seed 0, cycle 0: all_edges: 1 edges were neither"):
        replay_growth(hidden, labels, draws=1)
    found = replay_growth(hidden, labels, draws=1, undeclared="report")
    assert any("undeclared edges, replayed as births: 1" in note for note in found.notes)
    with pytest.raises(InputError, match="not the one after the last cycle"):
        replay_growth([log[0], log[2]], labels, draws=1)


def test_births_listed_both_ways_get_a_source_by_chance():
    log, _ = system(3, births=40, cycles=1)
    new = np.array(log[0]["new_edges"])
    both = [{**log[0], "new_edges": np.concatenate([new, new[:, ::-1]])}]
    run = cycles(both)
    assert set(pairs(run.births)) == set(pairs(log[0]["new_edges"]))
    assert len(run.births) == 40
    assert 8 < np.count_nonzero(run.births[:, 0] < run.births[:, 1]) < 32


def test_one_type_has_all_the_sources_and_new_nodes_choose():
    log, _ = system(3, births=40, cycles=1, newborn=2)
    types = np.arange(NODES + 2) % 2
    new = np.array(log[0]["new_edges"])
    new = np.where((types[new[:, :1]] == 1) & (types[new[:, 1:]] == 0), new[:, ::-1], new)
    run = read_run(cycles_of([{**log[0], "new_edges": new}]), types=types)
    old = (run.births < NODES).all(axis=1)
    apart = old & (types[run.births[:, 0]] != types[run.births[:, 1]])
    assert apart.any()
    assert (types[run.births[apart, 0]] == 0).all()
    assert (run.births[~old, 0] >= NODES).all()


# ---- deaths of nodes


def topics(seed, nodes=60, births=20, dying=0.8, renewed=False, edges_die=False):
    """Two classes in turn; births join random nodes that are there; most of class 0 leaves in cycle 2."""
    rng = np.random.default_rng(seed)
    taken, there = set(), np.arange(nodes)

    def pair():
        while True:
            ends = frozenset(rng.choice(there, 2, replace=False).tolist())
            if ends not in taken:
                taken.add(ends)
                return dict(zip(("source", "target"), ends, strict=True))

    events = [{"cycle": -1, "node": node, "label": node % 2} for node in range(nodes)]
    events += [{"cycle": -1, **pair()} for _ in range(nodes)]
    early = []
    for cycle in range(4):
        if cycle == 2:
            dead = [node for node in range(0, nodes, 2) if rng.random() < dying]
            if edges_die:
                events += [{"cycle": 2, "action": "death", **edge} for edge in early[::5]]
            events += [{"cycle": 2, "action": "death", "node": node} for node in dead]
            if renewed:
                events += [{"cycle": 2, "node": node} for node in dead]
            else:
                there = np.setdiff1d(there, dead)
        new = [pair() for _ in range(births)]
        early += new if cycle < 2 else []
        events += [{"cycle": cycle, **edge} for edge in new]
    return Ledger.of(events)


@pytest.mark.parametrize("renewed", [False, True])
def test_no_birth_outlives_its_nodes_in_a_replay(renewed):
    """A node that dies and comes back in one cycle has lost its edges, in every replay."""
    ledger = topics(0, renewed=renewed)
    run = run_of_ledger(ledger)
    changes = list(ledger.changes())
    dead = run.renewed[2] if renewed else np.flatnonzero(~changes[2].present)
    assert len(dead) > 10
    draws = [*run.shuffled(5, np.random.default_rng(0)), *run.redrawn(5, np.random.default_rng(0))]
    assert any(np.isin(births[run.born < 2], dead).any() for births in draws)
    for births in (run.births, *draws):
        graph = run.graph(births)
        old = graph.history[(graph.born < 2) & (graph.gone > 2)]
        assert not np.isin(old, dead).any()
        # A birth that was removed with its node is not removed from another node.
        own = run.gone[run.born < 2]
        assert (own == NEVER).all()
    for cycle, change in enumerate(changes):
        assert set(pairs(run.graph().at(cycle))) == set(pairs(change.edges_after))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [{"dying": 0.7}, {"dying": 1.0, "renewed": True}, {"edges_die": True}])
def test_random_growth_among_nodes_that_die_is_rarely_called_helpful(kind):
    def alike(points, graph):
        return float(np.mean(graph.edges[:, 0] % 2 == graph.edges[:, 1] % 2))

    small = []
    for seed in range(60):
        found = replay_growth(
            topics(seed, **kind), embed=lambda graph: np.zeros((graph.num_nodes, 1)), probe=alike, draws=19, seed=seed
        )
        both = [found[f"growth_probe_p_{kind}"].value <= 0.05 for kind in ("shuffled", "redrawn")]
        small.append([*both, is_helpful(found)])
    assert (np.mean(small, axis=0) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)).all()


# ---- outcomes


def test_leaving_one_out_in_closed_form_equals_leaving_one_out():
    rng = np.random.default_rng(0)
    points, classes = rng.normal(size=(30, 4)), rng.integers(0, 3, 30)
    scaled = (points - points.mean(axis=0)) / points.std(axis=0)
    design, targets = np.column_stack([np.ones(30), scaled]), np.eye(3)[classes]
    expected = []
    for node in range(30):
        rest = np.arange(30) != node
        x, penalty = design[rest], np.diag([0.0, 1, 1, 1, 1])
        weights = np.linalg.solve(x.T @ x + penalty, x.T @ targets[rest])
        expected.append(float(np.argmax(design[node] @ weights) == classes[node]))
    assert probe_hits(points, classes).tolist() == expected


def test_the_variance_over_edges_counts_every_pair_that_shares_a_node():
    rng = np.random.default_rng(1)
    ends, values = rng.integers(0, 8, (20, 2)), rng.normal(size=20)
    ends = ends[ends[:, 0] != ends[:, 1]]
    values = values[: len(ends)] + 2.0 * (ends[:, 0] == 0)
    residuals = values - values.mean()
    total = 0.0
    for i, j in itertools.product(range(len(ends)), repeat=2):
        shared = len(set(ends[i].tolist()) & set(ends[j].tolist()))
        # An edge listed twice shares both ends, and counts as often.
        total += residuals[i] * residuals[j] * (shared if i != j else 1)
    expected = max(total, residuals @ residuals) / (len(ends) * (len(ends) - 1))
    assert _variance(values, ends) == pytest.approx(expected)


@pytest.mark.parametrize("embed", [fastrp, spectral, neighbours])
@pytest.mark.parametrize("nodes", [3, 24, 140])
def test_embeddings_have_a_finite_row_for_every_node(embed, nodes):
    log, _ = system(0, nodes=nodes, births=2, cycles=1, start=min(2 * nodes, 40) if nodes > 3 else 1, newborn=1)
    run = cycles(log)
    for graph in (run.graph(), run.withheld()):
        rows = embedded(embed, "own", graph)
        assert len(rows) == nodes + 1
        np.testing.assert_array_equal(rows, embed(graph))


def counted(labels):
    """An embedding that shows how many neighbours of each class a node has."""

    def embed(graph: GrownGraph):
        matrix = graph.adjacency().toarray()[:, : len(labels)]
        return matrix @ np.eye(3)[labels] + 1e-3

    return embed


def test_effects_are_differences_of_the_probe_by_hand():
    log, labels = system(4, births=40, same=0.95)
    found = replay_growth(log, labels, embed=counted(labels), draws=19, seed=5)
    run = cycles(log)
    measured = {}
    for name, graph in (("grown", run.graph()), ("withheld", run.withheld())):
        measured[name] = probe_hits(counted(labels)(graph)[:NODES], labels).mean()
    assert found["growth_probe"].value == pytest.approx(measured["grown"] - measured["withheld"])
    replay = found.materials["replays"][0]
    over = measured["grown"] - replay.chance["redrawn"]["probe"].mean()
    assert found["growth_probe_over_redrawn"].value == pytest.approx(over)
    reached = np.count_nonzero(replay.chance["redrawn"]["probe"] >= measured["grown"])
    assert found["growth_probe_p_redrawn"].value == pytest.approx((1 + reached) / 20)
    assert is_helpful(found)
    assert not is_harmful(found)
    level = {level.name: level for level in found["growth_probe"].levels}["targets redrawn"]
    assert level.value == pytest.approx(replay.chance["redrawn"]["probe"].mean() - measured["withheld"])
    assert level.low <= level.value <= level.high


def test_planted_harm_is_called_harmful():
    log, labels = system(4, births=120, same=0.0, nodes=60, start=120)
    found = replay_growth(log, labels, embed=counted(labels), draws=19)
    assert is_harmful(found)
    assert not is_helpful(found)


def test_future_edges_are_scored_against_the_same_non_edges_everywhere():
    log, labels = system(5, births=30, same=0.9)
    run = cycles(log)
    taken = set(pairs(run.start))
    alike = [(u, v) for u in range(NODES) for v in range(u) if labels[u] == labels[v]]
    future = [pair for pair in alike if frozenset(pair) not in taken]
    found = replay_growth(log, labels, embed="neighbours", future_edges=future, draws=9)
    assert -1 <= found["growth_future"].value <= 1
    own = len({frozenset(edge) for edge in future} & set(pairs(run.births)))
    assert any(f"future edges that the run added itself, scored like the others: {own}" in note for note in found.notes)
    without = replay_growth(log, labels, embed="neighbours", draws=2)
    assert without.skipped["growth_future"] == "no future edges given"
    assert "growth_future" not in without


def test_without_labels_there_is_no_probe_and_a_probe_of_your_own_needs_none():
    log, _ = system(6)
    found = replay_growth(log, draws=2)
    assert found.skipped["growth_probe"] == "no labels given"
    own = replay_growth(log, probe=lambda points, graph: len(graph.edges), draws=2, embed="neighbours")
    assert own["growth_probe"].value == 24
    assert own["growth_probe"].interval is None
    assert own["growth_probe_p_shuffled"].value == 1  # all replays have as many edges


def test_several_runs_have_intervals_over_runs_and_conditions_are_read_one_by_one():
    log, labels, keys = [], None, ["growth_probe", "growth_probe_p_shuffled"]
    for condition, same in (("good", 0.95), ("bad", 0.0)):
        for seed in range(4):
            own, labels = system(seed, births=20, cycles=2, same=same)
            log += [{**cycle, "condition": condition, "seed": seed} for cycle in own]
    found = replay_growth(log, labels, embed=counted(labels), draws=9, metrics=keys)
    assert np.isnan(found["growth_probe"].value)
    assert "not averaged" in found["growth_probe"].reason
    table = found["growth_probe"].by("condition")
    assert table["value"][0] > 0 > table["value"][1]
    alone = replay_growth(log, labels, embed=counted(labels), draws=9, conditions=["good"], metrics=keys)
    assert alone["growth_probe"].interval.over == "runs"
    assert alone["growth_probe"].value == pytest.approx(table["value"][0])
    effects = [run.grown["probe"].mean() - run.withheld["probe"].mean() for run in alone.materials["replays"]]
    from scipy import stats

    half = stats.t.ppf(0.975, 3) * np.std(effects, ddof=1) / 2
    low, high = alone["growth_probe"].interval
    assert (low, high) == pytest.approx((np.mean(effects) - half, np.mean(effects) + half))
    assert alone["growth_probe_p_shuffled"].value < 0.02  # four runs with nine replays each


def test_two_runs_have_no_interval_over_runs():
    values = np.array([0.5, 0.7])
    sample = Replays(
        values,
        values - 0.1,
        {"shuffled": np.full((2, 3), 0.4), "redrawn": np.full((2, 3), 0.4)},
        [np.array([0.1]), np.array([0.1])],
        [None, None],
    )
    from graphgauge.core.metric import find

    metric, _ = find("growth_probe", "evolution")
    assert "fewer than 3 runs" in metric.interval(sample, metric(sample)).reason


@pytest.mark.slow
def test_a_test_over_runs_is_exact_for_exchangeable_runs():
    rng = np.random.default_rng(0)
    small = []
    for seed in range(1500):
        every = rng.normal(size=(3, 10)) ** 3 + rng.normal(size=(3, 1))
        sample = Replays(every[:, 0], every[:, 0], {"shuffled": every[:, 1:]}, [], [], seed=seed)
        small.append(sample.p("shuffled") <= 0.05)
    assert abs(np.mean(small) - 0.05) < 0.017  # three standard errors


@pytest.mark.slow
def test_random_growth_is_rarely_called_helpful():
    """The rates over many designs are on the page of counterfactual growth; this is a small one of them."""
    said = []
    for seed in range(60):
        log, labels = system(100 + seed, births=20, same=None)
        found = replay_growth(
            log,
            labels,
            embed=counted(labels),
            draws=19,
            seed=seed,
            metrics=["growth_probe", "growth_probe_p_shuffled", "growth_probe_p_redrawn"],
        )
        p = [found[f"growth_probe_p_{kind}"].value <= 0.05 for kind in ("shuffled", "redrawn")]
        said.append([is_helpful(found), *p])
    assert (np.mean(said, axis=0) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)).all()


# ---- doors and errors


def test_evaluate_replays_a_stored_log_and_refuses_options_of_the_other_form(tmp_path):
    log, labels = system(7)
    stored = EvolutionLog(tmp_path)
    stored.begin("run", 0, edges=log[0]["previous_edges"], embeddings=log[0]["previous_embeddings"])
    for cycle in log:
        stored.append_cycle("run", 0, cycle["cycle"], embeddings=cycle["embeddings"], new_edges=cycle["new_edges"])
    found = evaluate(tmp_path, labels, replay="fastrp", replays=3)
    assert found["growth_probe"].value == replay_growth(log, labels, draws=3)["growth_probe"].value
    with pytest.raises(OptionError, match="negatives"):
        evaluate(tmp_path, labels, replay="fastrp", replays=3, negatives="all")
    with pytest.raises(OptionError, match="replay"):
        evaluate(tmp_path, labels, replays=3)
    found.to_json()
    found._figure(found, tmp_path / "growth.svg")
    assert "targets redrawn" in (tmp_path / "growth.svg").read_text()


def failing(graph):
    raise RuntimeError("no memory")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"embed": "node2vec"}, "node2vec"),
        ({"embed": lambda graph: np.zeros((3, 2))}, "returned 3 rows for 24 nodes"),
        ({"embed": lambda graph: np.full((24, 2), np.nan)}, "NaN"),
        ({"embed": lambda graph: np.full((24, 2), np.inf)}, "infinite"),
        ({"embed": lambda graph: np.zeros(24)}, "shape"),
        ({"embed": failing}, "RuntimeError: no memory"),
        ({"probe": lambda points, graph: "good"}, "probe"),
        ({"probe": lambda points, graph: np.nan}, "finite"),
        ({"probe": 3}, "probe is not a function"),
        ({"score": "jaccard"}, "jaccard"),
        ({"draws": 0}, "draws"),
        ({"undeclared": "ignore"}, "undeclared"),
        ({"node_types": [1, 2]}, "one type for each of the 24 nodes"),
        ({"future_edges": [[0, 99]]}, "future_edges"),
        ({"metrics": ["auc_birth"]}, "auc_birth needs"),
        ({"score": "poincare", "embed": "neighbours"}, "unit ball"),
    ],
)
def test_errors_say_what_is_wrong(options, words):
    log, labels = system(8)
    with pytest.raises(GraphgaugeError, match=words):
        replay_growth(log, labels, **{"draws": 1, **options})
    with pytest.raises(GraphgaugeError, match="replays are not stored"):
        is_harmful(evaluate(log, labels, metrics=["delta_homophily"]))


def test_growth_that_leaves_no_choice_is_noted():
    """A complete bipartite start: every birth is the only possible one."""
    nodes = 6
    every = list(itertools.combinations(range(nodes), 2))
    log = [
        {
            "embeddings": np.zeros((nodes, 1)),
            "previous_embeddings": np.zeros((nodes, 1)),
            "new_edges": every[:2],
            "previous_edges": every[2:],
            "all_edges": every,
        }
    ]
    found = replay_growth(log, [0, 1, 0, 1, 0, 1], draws=3)
    assert any("keep 100% of the births" in note for note in found.notes)
    assert found["growth_probe_p_shuffled"].value == 1


def test_no_births_at_all():
    log, labels = system(9, births=0)
    found = replay_growth(log, labels, draws=2)
    assert found["growth_probe"].value == 0
    assert found["growth_probe_p_redrawn"].value == 1
