"""One run has one answer: through events, cycles and files, in any order, whatever its nodes are called."""

from __future__ import annotations

import json
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphgauge import evolution
from graphgauge.core.errors import InputError, OptionError
from graphgauge.evolution import Ledger, evaluate, from_bitemporal, from_graphrag, from_snapshots, replay_growth
from graphgauge.evolution.growth_runs import run_of_ledger

Event = dict[str, Any]


def growing(seed: int = 0, *, nodes: int = 12, cycles: int = 4, newborn: int = 3) -> tuple[list[Event], list[Event]]:
    """The same run as events and as cycles: a ring, to which new nodes attach themselves and old ones are linked."""
    rng = np.random.default_rng(seed)
    edges = np.array([(i, (i + 1) % nodes) for i in range(nodes)])
    points = rng.normal(size=(nodes + cycles * newborn, 3))
    events: list[Event] = [{"cycle": -1, "source": int(a), "target": int(b)} for a, b in edges]
    listed: list[Event] = []
    for cycle in range(cycles):
        there = nodes + cycle * newborn
        new = [(there + i, int(rng.integers(there))) for i in range(newborn)]
        old = [(i, (i + 2 + cycle) % nodes) for i in rng.choice(nodes, 4, replace=False).tolist()]
        births = np.array(new + old)
        events += [{"cycle": cycle, "source": int(a), "target": int(b)} for a, b in births]
        listed.append(
            {
                "embeddings": points[: there + newborn],
                "previous_embeddings": points[:there],
                "new_edges": births,
                "previous_edges": edges,
                "all_edges": np.concatenate([edges, births]),
            }
        )
        edges = listed[-1]["all_edges"]
    return events, listed


POINTS = growing()[1][-1]["embeddings"]
LABELS = {node: int(node < 14) for node in range(len(POINTS))}


@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
@pytest.mark.parametrize("named", [False, True], ids=["numbers", "text"])
def test_events_and_cycles_of_one_run_have_equal_values(named: bool, shuffled: bool):
    events, cycles = growing()
    name = (lambda node: f"n{node}") if named else (lambda node: node)
    if shuffled:
        order = np.random.default_rng(1).permutation(12).tolist()
        events = [events[place] for place in order] + events[12:]
    events = [{**event, "source": name(event["source"]), "target": name(event["target"])} for event in events]
    vectors: Any = {name(row): POINTS[row] for row in range(len(POINTS))} if named else POINTS
    labels = {name(node): own for node, own in LABELS.items()}
    options: dict[str, Any] = {"score": "cosine", "negatives": "all"}
    held = [(0, 6), (2, 9)]
    one = evaluate(
        Ledger.of(events), labels, embeddings=vectors, test_edges=[(name(a), name(b)) for a, b in held], **options
    )
    other = evaluate(cycles, LABELS, test_edges=held, **options)
    for key in other:
        if key != "nca_std" and not key.startswith("nca"):
            assert one.by("cycle")[key] == pytest.approx(other.by("cycle")[key], nan_ok=True), key
    assert not any("NaN" in note for note in one.notes)


def test_growth_is_counted_over_the_nodes_that_are_there():
    events, _ = growing(cycles=1)
    events += [{"cycle": 1, "action": "death", "node": 14}, {"cycle": 1, "source": 0, "target": 6}]
    found = evaluate(Ledger.of(events), LABELS, embeddings=POINTS, score="cosine")
    # 12 nodes and 3 new ones with 7 births; then 14 nodes and 1 birth, smoothed with weight 0.1.
    assert found.by("cycle")["tgc"] == pytest.approx([7 / 15, 0.9 * 7 / 15 + 0.1 / 14])
    # After the first cycle 14 of the 15 nodes are of one class, after the second all 14.
    assert found.by("cycle")["homophily_baseline"] == pytest.approx([13 / 15, 1])


def test_numbers_are_rows_in_every_reader(tmp_path: Path):
    pytest.importorskip("pyarrow")
    from graphgauge.io.parquet import write_parquet

    events, cycles = growing(newborn=0)
    order = np.random.default_rng(0).permutation(12).tolist()
    events = [events[place] for place in order] + events[12:]
    expected = evaluate(cycles, score="cosine", negatives="all")["auc_birth"].value
    for name in ("jsonl", "parquet"):
        place = tmp_path / name / "seed-0"
        place.mkdir(parents=True)
        np.save(place / "embeddings.npy", POINTS[:12])
        if name == "jsonl":
            (place / "events.jsonl").write_text("\n".join(map(json.dumps, events)))
        else:
            columns = ("cycle", "source", "target")
            write_parquet({key: [event[key] for event in events] for key in columns}, place / "events.parquet")
        found = evaluate(tmp_path, conditions=[name], score="cosine", negatives="all")
        assert found["auc_birth"].value == pytest.approx(expected)
    graphs = [np.array([(e["source"], e["target"]) for e in events if e["cycle"] < cycle]) for cycle in range(5)]
    found = evaluate(from_snapshots(graphs), embeddings=POINTS[:12], score="cosine", negatives="all")
    assert found["auc_birth"].value == pytest.approx(expected)
    # Rows beyond those that any event names are of no node.
    found = evaluate(from_snapshots(graphs), embeddings=POINTS, score="cosine", negatives="all")
    assert found["auc_birth"].value == pytest.approx(expected)


def test_numbers_with_gaps_are_no_rows():
    ledger = Ledger.of([{"cycle": 0, "source": 10**9, "target": 5}, {"cycle": 1, "source": 10**8, "target": 5}])
    with pytest.raises(InputError, match="no rows of an array"):
        evaluate(ledger, embeddings=np.ones((3, 2)), score="cosine")
    vectors = {10**9: [1, 0], 5: [0, 1], 10**8: [1, 1]}
    assert evaluate(ledger, embeddings=vectors, score="cosine")["auc_newborn"].n == 1
    ledger = Ledger.of([{"cycle": 0, "source": 10**9, "target": 5}], ids=[5, 10**9])
    evaluate(ledger, embeddings=np.eye(2), score="cosine")


def test_every_run_of_events_has_its_own_nodes(tmp_path: Path):
    """All births are within a class and a type; the runs list their nodes in different orders."""
    for seed in range(3):
        place = tmp_path / "A" / f"seed-{seed}"
        place.mkdir(parents=True)
        order = np.random.default_rng(seed).permutation(24).tolist()
        events: list[Event] = [
            {"cycle": -1, "action": "birth", "node": f"n{i}", "label": i % 2, "type": f"t{i % 2}"} for i in order
        ]
        events += [
            {"cycle": c, "source": f"n{i}", "target": f"n{(i + 2 * c + 4) % 24}"} for c in range(3) for i in range(4)
        ]
        (place / "events.jsonl").write_text("\n".join(map(json.dumps, events)))
        np.save(place / "embeddings.npy", np.random.default_rng(seed).normal(size=(24, 3)))
    found = evaluate(tmp_path, score="cosine", test_edges=[("n0", "n2")], negatives="all")
    assert found["homophily_new_edges"].value == 1
    # 12 births; after cycle c there are 2 · 66 pairs within a type, less the edges.
    assert found["n_synthetic_negatives"].value == pytest.approx(np.mean([2 * 66 - 4 * c for c in (1, 2, 3)]))
    mixed = tmp_path / "A" / "seed-3"
    mixed.mkdir()
    np.save(mixed / "embeddings.npy", np.ones((2, 3)))
    (mixed / "events.jsonl").write_text('{"cycle": 0, "source": "a", "target": "b"}')
    with pytest.raises(InputError, match=r"seed 3.*only one of them has labels"):
        evaluate(tmp_path, score="cosine")


def test_embeddings_that_a_system_updates_in_place_are_those_before():
    rng = np.random.default_rng(1)
    births = [[tuple(rng.choice(30, 2, replace=False).tolist()) for _ in range(6)] for _ in range(4)]
    events = [{"cycle": -1, "source": i, "target": (i + 1) % 30} for i in range(30)]
    events += [{"cycle": c, "source": a, "target": b} for c, own in enumerate(births) for a, b in own]
    found = []
    for kept in (np.copy, lambda rows: rows):
        rows = np.random.default_rng(2).normal(size=(30, 4))

        def embed(cycle: int, rows: np.ndarray = rows, kept: Any = kept) -> np.ndarray:
            for a, b in births[cycle] if cycle >= 0 else []:
                rows[a] = rows[b] = (rows[a] + rows[b]) / 2
            return kept(rows)

        found.append(evaluate(Ledger.of(events), embeddings=embed, score="euclidean", negatives="all"))
    assert found[0]["auc_birth"].value == found[1]["auc_birth"].value < 0.7 < found[1]["auc_synthetic"].value


def test_runs_are_replayed_whole_in_whatever_order_their_cycles_are_listed():
    runs = [
        [{**cycle, "seed": seed, "cycle": number} for number, cycle in enumerate(growing(seed, newborn=0)[1])]
        for seed in range(2)
    ]
    labels = np.arange(12) % 2
    one = replay_growth(runs[0] + runs[1], labels, draws=3)
    other = replay_growth([cycle for pair in zip(*runs, strict=True) for cycle in pair], labels, draws=3)
    assert one["growth_probe"].n == other["growth_probe"].n == 2
    assert one["growth_probe"].value == other["growth_probe"].value


RING = np.array([(i, (i + 1) % 30) for i in range(30)])
BORN = np.array([(0, 5), (1, 7), (2, 9), (3, 11)])
WRONG = {
    "births that are not in the graph": {"all_edges": RING},
    "undeclared removals": {"all_edges": np.concatenate([RING[1:], BORN])},
    "removed edges that never were": {"removed_edges": [(10, 20)]},
    "the whole graph": {"new_edges": np.concatenate([RING, BORN])},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_replay_refuses_what_an_evaluation_refuses(name: str):
    cycle = {
        "embeddings": np.eye(30),
        "previous_embeddings": np.eye(30),
        "new_edges": BORN,
        "previous_edges": RING,
        "all_edges": np.concatenate([RING, BORN]),
        **WRONG[name],
    }
    with pytest.raises(InputError) as one:
        evaluate([cycle], score="cosine")
    with pytest.raises(InputError) as other:
        replay_growth([cycle], np.arange(30) % 2, draws=3)
    assert one.value.what == other.value.what


def test_a_birth_that_was_removed_again_is_no_growth_and_relations_are_replayed():
    cycle: Event = {
        "embeddings": np.eye(30),
        "previous_embeddings": np.eye(30),
        "new_edges": BORN,
        "previous_edges": RING,
        "all_edges": np.concatenate([RING, BORN[1:]]),
        "removed_edges": BORN[:1],
    }
    seen: list[int] = []

    def embed(graph: Any) -> np.ndarray:
        seen.append(len(graph.edges))
        return np.eye(30)

    replay_growth([cycle], np.arange(30) % 2, embed=embed, draws=2)
    assert set(seen) == {30, 33}
    for name in ("new_edges", "previous_edges", "all_edges", "removed_edges"):
        cycle[name] = np.column_stack([cycle[name], np.arange(len(cycle[name])) % 2])
    seen.clear()
    with pytest.raises(InputError):  # the relations of births and of the graph differ
        replay_growth([cycle], np.arange(30) % 2, embed=embed, draws=2)
    cycle["all_edges"] = np.concatenate([cycle["previous_edges"], cycle["new_edges"][1:]])
    replay_growth([cycle], np.arange(30) % 2, embed=embed, draws=2)
    assert set(seen) == {30, 33}


def test_copies_of_a_run_count_once():
    runs = [
        {**cycle, "seed": seed, "cycle": number}
        for seed in range(6)
        for number, cycle in enumerate(growing(seed % 2, newborn=0)[1])
    ]
    two = evaluate([cycle for cycle in runs if cycle["seed"] < 2], score="cosine", negatives="all")
    six = evaluate(runs, score="cosine", negatives="all")
    assert six["auc_birth"].interval == two["auc_birth"].interval
    assert any("counted once: 4" in note for note in six.notes)
    assert not any("counted once" in note for note in two.notes)


# ---- nodes that leave


def leaving(seed: int, *, merging: bool = False) -> Ledger:
    rng = np.random.default_rng(seed)
    alive = list(range(30))
    events: list[Event] = [{"cycle": -1, "action": "birth", "node": i, "label": i % 2} for i in range(30)]
    events += [{"cycle": -1, "source": i, "target": (i + 1) % 30} for i in range(30)]
    for cycle in range(4):
        for _ in range(3):
            node, into = rng.choice(alive, 2, replace=False).tolist()
            alive.remove(node)
            more = {"action": "merge", "into": into} if merging else {"action": "death"}
            events.append({"cycle": cycle, "node": node, **more})
        events += [
            {"cycle": cycle, "source": a, "target": b}
            for a, b in (rng.choice(alive, 2, replace=False).tolist() for _ in range(8))
        ]
    return Ledger.of(events)


@pytest.mark.parametrize("merging", [False, True], ids=["deaths", "merges"])
@pytest.mark.parametrize("seed", range(4))
def test_no_replay_links_nodes_that_are_not_there(seed: int, merging: bool):
    ledger = leaving(seed, merging=merging)
    changes = list(ledger.changes())
    run = run_of_ledger(ledger)
    for cycle, change in enumerate(changes):
        assert set(map(tuple, np.sort(run.graph().at(cycle)).tolist())) == set(map(tuple, change.edges_after.tolist()))
    rng = np.random.default_rng(seed)
    for births in [*run.shuffled(5, rng), *run.redrawn(5, rng)]:
        assert (births != run.births).any()
        graph = run.graph(births)
        for cycle, change in enumerate(changes):
            assert change.present[graph.at(cycle)].all()
            assert len(run.graph().born_in(cycle)) == len(graph.born_in(cycle))
    gone = np.flatnonzero(~changes[-1].present)
    assert not np.isin(run.withheld().edges, gone).any()


def test_births_that_merges_moved_later_are_not_there_without_growth():
    ledger = Ledger.of(
        [
            {"cycle": -1, "source": "a", "target": "b"},
            {"cycle": -1, "source": "c", "target": "d"},
            {"cycle": 0, "source": "a", "target": "c"},
            {"cycle": 1, "action": "merge", "node": "c", "into": "b"},
        ]
    )
    run = run_of_ledger(ledger)
    # a–c became a–b, which was there; c–d of the start became b–d.
    assert [ledger.named(graph.edges) for graph in (run.graph(), run.withheld())] == [
        [("a", "b"), ("b", "d")],
        [("a", "b"), ("b", "d")],
    ]
    ledger = Ledger.of(
        [
            {"cycle": -1, "source": "a", "target": "b"},
            {"cycle": -1, "source": "e", "target": "d"},
            {"cycle": 0, "source": "a", "target": "c"},
            {"cycle": 1, "action": "merge", "node": "c", "into": "e"},
        ]
    )
    run = run_of_ledger(ledger)
    assert set(ledger.named(np.sort(run.graph().edges))) == {("a", "b"), ("e", "d"), ("a", "e")}
    assert set(ledger.named(run.withheld().edges)) == {("a", "b"), ("e", "d")}


def random_deaths(seed: int) -> Any:
    """Random births among the nodes that are there; most of one class dies on the way."""
    rng = np.random.default_rng(seed)
    taken: set[frozenset[int]] = set()
    alive = np.arange(60)

    def pair() -> Event:
        while True:
            a, b = rng.choice(alive, 2, replace=False).tolist()
            if frozenset((a, b)) not in taken:
                taken.add(frozenset((a, b)))
                return {"source": a, "target": b}

    events: list[Event] = [{"cycle": -1, "node": i, "label": i % 2} for i in range(60)]
    events += [{"cycle": -1, **pair()} for _ in range(60)]
    for cycle in range(3):
        if cycle == 2:
            dead = [i for i in range(0, 60, 2) if rng.random() < 0.8]
            alive = np.setdiff1d(alive, dead)
            events += [{"cycle": cycle, "action": "death", "node": i} for i in dead]
        events += [{"cycle": cycle, **pair()} for _ in range(20)]
    keys = ["growth_probe", "growth_probe_p_shuffled", "growth_probe_p_redrawn"]
    return replay_growth(Ledger.of(events), draws=19, seed=seed, metrics=keys, embed="neighbours")


def test_random_growth_of_a_graph_whose_nodes_die_is_seldom_called_helpful():
    found = [random_deaths(seed) for seed in range(12)]
    for kind in ("shuffled", "redrawn"):
        # With probability 0.05 each, more than 3 of 12 have probability 0.002.
        assert sum(one[f"growth_probe_p_{kind}"].value <= 0.05 for one in found) <= 3


# ---- events of nodes


def balances(events: list[Event], **options: Any) -> list[Any]:
    return [change.balance for change in Ledger.of(events).changes(**options)]


START: list[Event] = [{"cycle": -1, "node": "a"}, {"cycle": -1, "node": "b"}]


def test_a_node_that_dies_and_is_born_again_in_one_cycle_is_there():
    events = [
        *START,
        {"cycle": 0, "action": "death", "node": "a"},
        {"cycle": 0, "node": "a"},
        {"cycle": 0, "source": "a", "target": "b"},
    ]
    (change,) = Ledger.of(events).changes()
    assert change.present.all()
    assert (change.balance.declared, change.balance.node_deaths) == (1, 0)
    (change,) = Ledger.of([*START, {"cycle": 0, "node": "c"}, {"cycle": 0, "action": "death", "node": "c"}]).changes()
    assert change.present.tolist() == [True, True, False]


def test_a_label_that_comes_later_is_no_birth():
    edge = {"cycle": 0, "source": "a", "target": "b"}
    for more in ({"label": 1}, {"type": "person"}):
        one = balances([edge, {"cycle": 1, "node": "a", **more}])
        assert [(own.node_births, own.stray) for own in one] == [(2, 0), (0, 0)]
        dead = {"cycle": 1, "action": "death", "node": "a"}
        assert [own.node_reborn for own in balances([edge, dead, {"cycle": 2, "node": "a", **more}])] == [0, 0, 0]
        again = [*START, edge, dead, {"cycle": 2, "action": "birth", "node": "a", **more}]
        assert [own.node_reborn for own in balances(again)] == [0, 0, 1]
        same = balances([edge, {"cycle": 0, "node": "a", **more}])
        assert [(own.node_births, own.stray) for own in same] == [(2, 0)]
        # A node that is described before any edge names it is declared, as all others then have to be.
        with pytest.raises(InputError, match="an end that is not a node"):
            balances([{"cycle": -1, "node": "a", **more}, edge])


def test_nodes_that_are_declared_and_absent_are_refused_or_counted():
    for event in (
        {"action": "death", "node": "z"},
        {"action": "merge", "node": "z", "into": "a"},
        {"action": "merge", "node": "a", "into": "z"},
    ):
        with pytest.raises(InputError, match=r"cycle 0: 1 nodes were declared to have died or merged.*: z"):
            balances([*START, {"cycle": 0, **event}])
        (own,) = balances([*START, {"cycle": 0, **event}], undeclared="report")
        assert (own.absent_nodes, own.merges, own.node_births, own.node_deaths) == (1, 0, 0, 0)
    with pytest.raises(InputError, match="1 nodes were declared to have died"):
        balances([*START, *({"cycle": cycle, "action": "death", "node": "a"} for cycle in (0, 1))])
    assert balances([*START, {"cycle": 0, "action": "birth", "node": "a"}])[0].repeated_nodes == 1
    itself = {"cycle": 0, "action": "merge", "node": "a", "into": "a"}
    (own,) = balances([*START, itself, {"cycle": 0, "source": "a", "target": "b"}])
    assert (own.repeated_nodes, own.merges, own.declared, own.stray) == (1, 0, 1, 0)


def test_a_birth_whose_end_is_merged_in_its_cycle_is_a_birth_at_the_new_place():
    events = [
        {"cycle": -1, "source": "ann", "target": "z"},
        {"cycle": -1, "source": "bob", "target": "z"},
        {"cycle": 0, "source": "n", "target": "rob"},
        {"cycle": 0, "action": "merge", "node": "rob", "into": "bob"},
        {"cycle": 0, "action": "merge", "node": "bob", "into": "ann"},
    ]
    ledger = Ledger.of(events)
    (change,) = ledger.changes()
    assert ledger.named(change.births) == [("n", "ann")]
    # bob–z became ann–z, which was there: it is neither a death nor a birth.
    assert (change.balance.declared, change.balance.moved, change.balance.deaths, change.balance.transient) == (
        1,
        0,
        0,
        0,
    )
    assert ledger.named(run_of_ledger(ledger).growth) == [("n", "ann")]


# ---- options and tables


def test_options_of_times_are_refused_for_events_with_cycles(tmp_path: Path):
    pytest.importorskip("pyarrow")
    from graphgauge.io.parquet import write_parquet

    write_parquet({"cycle": [0], "source": [0], "target": [1]}, tmp_path / "events.parquet")
    for options in ({"start": 3}, {"every": "year"}):
        with pytest.raises(OptionError, match="these have cycles"):
            Ledger.of([{"cycle": 0, "time": "2024-01-01", "source": 0, "target": 1}], **options)
        with pytest.raises(OptionError, match="these have cycles"):
            evolution.read_ledger(tmp_path / "events.parquet", **options)


def test_weeks_begin_on_monday():
    days = [{"time": f"2025-01-{day:02d}T23:00:00Z", "source": day, "target": day + 1} for day in range(1, 20)]
    ledger = Ledger.of(days, every="week")
    assert [str(day) for day in ledger.times.values()] == ["2024-12-30", "2025-01-06", "2025-01-13"]
    assert ledger.table()["declared"].tolist() == [5, 7, 7]


def test_missing_values_of_pandas_are_missing():
    pandas = pytest.importorskip("pandas")
    edges = pandas.DataFrame(
        {
            "source_node_uuid": ["a", "b", "c"],
            "target_node_uuid": ["b", "c", "a"],
            "name": ["x", pandas.NA, "x"],
            "created_at": pandas.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"]),
            "expired_at": pandas.to_datetime(["2024-02-01", None, None]),
        }
    )
    forms = [edges, edges.to_dict("records"), edges.itertuples()]
    for form in forms:
        ledger = from_bitemporal(form)
        assert ledger.table()["deaths"].tolist() == [0, 0, 0, 1]
        assert set(ledger.relations) == {"x", ""}
    assert Ledger.of([{"cycle": 0, "source": "a", "target": "b", "type": pandas.NA}]).relations == ("",)
    with pytest.raises(InputError, match="names no node"):
        Ledger.of([{"cycle": 0, "source": pandas.NA, "target": "b"}])
    with pytest.raises(InputError, match="neither cycle nor time"):
        Ledger.of([{"time": pandas.NaT, "source": "a", "target": "b"}])
    entities = pandas.DataFrame({"title": ["A", "B"], "type": ["p", None]})
    tables = [
        (entities[:1], pandas.DataFrame({"source": [], "target": []})),
        (entities, pandas.DataFrame({"source": ["A"], "target": ["B"]})),
    ]
    assert from_graphrag(tables).table()["declared"].tolist() == [1]


def test_edges_are_read_from_tuples_and_data_classes():
    pair = namedtuple("pair", "source target created_at")

    @dataclass(slots=True)
    class Slotted:
        source: str
        target: str
        created_at: int

    for row in (pair("a", "b", 1), Slotted("a", "b", 1)):
        assert from_bitemporal([row]).ids == ("a", "b")
    with pytest.raises(InputError, match="edge 0 is int"):
        from_bitemporal([3])


def test_an_edge_that_ends_before_it_begins_is_refused_next_to_others():
    edges = [
        {"source": "a", "target": "b", "created_at": 1, "expired_at": 10},
        {"source": "a", "target": "b", "created_at": 5, "expired_at": 3},
    ]
    with pytest.raises(InputError, match="edge 1 ends before it begins"):
        from_bitemporal(edges)


def test_the_direction_of_snapshots_is_that_of_all_of_them():
    networkx = pytest.importorskip("networkx")
    one, two = networkx.Graph([(0, 1)]), networkx.DiGraph([(0, 1), (1, 2)])
    with pytest.raises(InputError, match="some snapshots are directed"):
        from_snapshots([one, two])
    assert from_snapshots([one, two], directed=True).directed
    typed = networkx.Graph()
    typed.add_node("x")
    later = networkx.Graph()
    later.add_node("x", type="person")
    ledger = from_snapshots([typed, later])
    assert ledger.node_types is not None
    assert ledger.type_names[ledger.node_types[0]] == "person"
    assert ledger.table()["repeated_nodes"].tolist() == [0]
    with pytest.raises(InputError, match=r"edge_index\.T"):
        from_snapshots([np.array([[0, 1, 2], [1, 2, 0]])])


def test_vectors_of_a_ledger_are_checked():
    ledger = Ledger.of([{"cycle": -1, "source": "a", "target": "b"}, {"cycle": 0, "source": "c", "target": "a"}])
    vectors: dict[str, Any] = {"a": [1.0, 2.0], "b": [1.0, 3.0], "c": [1.0, 2.1]}
    whole = evaluate(ledger, embeddings=vectors, score="cosine", negatives="all")["auc_newborn"].value
    # Vectors of nodes that are not there yet are not needed, those of other nodes are not used.
    by_cycle = {"start": {key: vectors[key] for key in "ab"}, 0: vectors}
    assert evaluate(ledger, embeddings=by_cycle, score="cosine", negatives="all")["auc_newborn"].value == whole
    more = {**vectors, "d": [0.0, 1.0]}
    assert evaluate(ledger, embeddings=more, score="cosine", negatives="all")["auc_newborn"].value == whole
    for wrong, what in (
        ({}, "none of the 0 vectors"),
        ({**vectors, "c": [1.0]}, "vectors of shapes"),
        ({"a": [1.0, 2.0]}, "NaN"),
        ({"x": [1.0]}, "none of the 1 vectors"),
    ):
        with pytest.raises(InputError, match=what):
            evaluate(ledger, embeddings=wrong, score="cosine")
    with pytest.raises(InputError, match="no cycle after the start"):
        evaluate(Ledger.of([{"cycle": -1, "source": "a", "target": "b"}]), embeddings=vectors, score="cosine")
    assert len(repr(ledger)) < 80


# ---- scores and relations


def area(points: np.ndarray, score: Any) -> float:
    cycle = {
        "embeddings": points,
        "previous_embeddings": points,
        "new_edges": BORN,
        "previous_edges": RING,
        "all_edges": np.concatenate([RING, BORN]),
    }
    return evaluate([cycle], score=score, negatives="all", metrics=["auc_birth"])["auc_birth"].value


@pytest.mark.parametrize("score", ["cosine", "euclidean", "dot"])
@pytest.mark.parametrize("factor", [1e160, 1e200, 1e-170])
def test_no_scale_of_the_embeddings_changes_an_area(score: str, factor: float):
    points = np.random.default_rng(0).normal(size=(30, 3))
    assert area(points * factor, score) == area(points, score)


@pytest.mark.parametrize("seed", range(4))
def test_parallel_vectors_have_equal_cosines(seed: int):
    rng = np.random.default_rng(seed)
    assert area(np.exp(rng.normal(size=30))[:, None] * rng.normal(size=7), "cosine") == 0.5


def test_infinite_scores_are_refused():
    scores = np.random.default_rng(0).normal(size=(30, 30))
    scores[0, 5], scores[5, 0] = np.inf, -np.inf
    with pytest.raises(InputError, match="infinite"):
        area(scores, "given")
    with pytest.raises(InputError, match="infinite"):
        area(np.eye(30), lambda a, b: np.full(len(a), np.inf))


def test_relations_whose_numbers_are_too_large_are_refused():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 3))

    def cycle(relation: int) -> Event:
        ring, born = (np.column_stack([part, np.full(len(part), relation)]) for part in (RING, BORN))
        return {
            "embeddings": points,
            "previous_embeddings": points,
            "new_edges": born,
            "previous_edges": ring,
            "all_edges": np.concatenate([ring, born]),
        }

    most = (2**63 - 1) // 900 - 1
    one, other = (evaluate([cycle(k)], score="cosine", negatives="all") for k in (0, most))
    assert one["auc_birth"].value == other["auc_birth"].value
    assert one["n_synthetic_negatives"].value == other["n_synthetic_negatives"].value == 435 - 34
    for use in (lambda own: evaluate([own], score="cosine"), lambda own: replay_growth([own], draws=2)):
        with pytest.raises(InputError, match="is too large for 30 nodes"):
            use(cycle(most + 1))


# ---- what is given by id is read by id


def test_pandas_objects_are_read_by_their_index():
    pandas = pytest.importorskip("pandas")
    ledger = Ledger.of(
        [
            {"cycle": -1, "source": "a", "target": "b"},
            {"cycle": -1, "source": "c", "target": "d"},
            {"cycle": 0, "source": "a", "target": "c"},
            {"cycle": 0, "source": "b", "target": "d"},
        ]
    )
    labels = pandas.Series({"d": 1, "b": 1, "c": 0, "a": 0})
    rows = np.random.default_rng(0).normal(size=(4, 2))
    keys = ["homophily_new_edges", "auc_birth"]
    expected = evaluate(ledger, labels.to_dict(), embeddings=rows, score="cosine", metrics=keys, negatives="all")
    assert expected["homophily_new_edges"].value == 1
    frame = pandas.DataFrame(rows, index=list("abcd")).loc[["c", "a", "d", "b"]]
    found = evaluate(ledger, labels, embeddings=frame, score="cosine", metrics=keys, negatives="all")
    assert [found[key].value for key in keys] == [expected[key].value for key in keys]
    cycle = {
        "embeddings": rows,
        "previous_embeddings": rows,
        "new_edges": [(0, 2), (1, 3)],
        "previous_edges": [(0, 1), (2, 3)],
        "all_edges": [(0, 1), (2, 3), (0, 2), (1, 3)],
    }
    by_number = pandas.Series({3: 1, 1: 1, 2: 0, 0: 0})
    shuffled = pandas.DataFrame(rows).loc[[2, 0, 3, 1]]
    cycle = {**cycle, "embeddings": shuffled, "previous_embeddings": shuffled}
    found = evaluate([cycle], by_number, score="cosine", metrics=keys, negatives="all")
    assert [found[key].value for key in keys] == [expected[key].value for key in keys]
    wrong = pandas.DataFrame(rows, index=list("abcd"))
    with pytest.raises(InputError, match="an index other than the numbers"):
        evaluate([{**cycle, "embeddings": wrong, "previous_embeddings": wrong}], score="cosine")


def test_types_by_node_are_looked_up():
    events, cycles = growing(newborn=0)
    types = {node: "even" if node % 2 == 0 else "odd" for node in range(12)}
    keys = ["n_synthetic_negatives", "auc_birth"]
    options: dict[str, Any] = {"score": "cosine", "negatives": "all", "metrics": keys}
    expected = evaluate(cycles, node_types=list(types.values()), **options)
    ledger = Ledger.of([{**e, "source": f"n{e['source']}", "target": f"n{e['target']}"} for e in events])
    named = {f"n{node}": own for node, own in types.items()}
    vectors = {f"n{node}": POINTS[node] for node in range(12)}
    for found in (
        evaluate(cycles, node_types=types, **options),
        evaluate(ledger, embeddings=vectors, node_types=named, **options),
    ):
        assert [found[key].value for key in keys] == [expected[key].value for key in keys]
    replay_growth(ledger, {f"n{node}": node % 2 for node in range(12)}, node_types=named, draws=2)
    for use in (
        lambda given: evaluate(cycles, node_types=given, **options),
        lambda given: replay_growth(cycles, np.arange(12) % 2, node_types=given, draws=2),
    ):
        with pytest.raises(InputError, match="1 of 12 nodes have no type"):
            use({node: own for node, own in types.items() if node})


def test_what_a_ledger_cannot_use_is_refused():
    ledger = Ledger.of([{"cycle": -1, "source": "a", "target": "b"}, {"cycle": 0, "source": "c", "target": "a"}])
    vectors = {"a": [1.0, 2.0], "b": [1.0, 3.0], "c": [1.0, 2.1]}
    for options in ({"directed": True}, {"conditions": ["Z"]}, {"log_seeds": [9]}):
        with pytest.raises(OptionError, match="ledger"):
            evaluate(ledger, embeddings=vectors, score="cosine", **options)
        with pytest.raises(OptionError, match="ledger"):
            replay_growth(ledger, {"a": 0, "b": 1}, **options)
    with pytest.raises(InputError, match="cycles that the ledger does not have: 5"):
        list(ledger.changes(snapshots={5: [(0, 1)]}))
    for event in ({"action": "death", "source": "a", "target": None}, {"source": "a", "target": float("nan")}):
        with pytest.raises(InputError, match="event 0 has a source and no target"):
            Ledger.of([{"cycle": 1, **event}])
    with pytest.raises(InputError, match="True as a node"):
        Ledger.of([{"cycle": 1, "source": True, "target": 1}])


def test_large_files_read_missing_values_as_small_ones_do(tmp_path: Path):
    arrow = pytest.importorskip("pyarrow")
    from graphgauge.io.parquet import write_parquet

    def table(**columns: Any) -> Path:
        write_parquet(arrow.table(columns), tmp_path / "events.parquet")
        return tmp_path / "events.parquet"

    path = table(cycle=[0, 1, 1, 2], action=[None, "death", None, "birth"], source=[0, 0, 1, 2], target=[1, 1, 2, 3])
    assert evolution.read_ledger(path).table()["declared"].tolist() == [1, 1, 1]
    for name in ("cycle", "source", "target"):
        given = {"cycle": [0, 1], "source": [0, 1], "target": [1, 2]} | {name: [None, 1]}
        with pytest.raises(InputError, match=f"missing values in '{name}'"):
            evolution.read_ledger(table(**given))
    with pytest.raises(InputError, match="Number the nodes from 0"):
        evolution.read_ledger(table(cycle=[0], source=[0], target=[10**10]))
    # Further columns do not change whose rows the embeddings are.
    ledger = evolution.read_ledger(table(cycle=[0, 0], source=[5, 1], target=[2, 3], relation=["a", "b"]))
    assert list(ledger.ids) == list(range(6))


def test_a_period_without_a_change_is_a_cycle():
    ring = np.array([(i, (i + 1) % 5) for i in range(5)])
    ledger = from_snapshots([ring, ring, np.concatenate([ring, [(0, 2)]]), np.concatenate([ring, [(0, 2)]])])
    assert ledger.table()["cycle"].tolist() == [0, 1, 2]
    assert ledger.table()["declared"].tolist() == [0, 1, 0]
    days = [{"time": "2025-01-01", "source": 0, "target": 1}, {"time": "2025-01-04", "source": 1, "target": 2}]
    assert Ledger.of(days, every="day").table()["declared"].tolist() == [1, 0, 0, 1]
    assert Ledger.of(days, every="month").table()["declared"].tolist() == [2]
    assert Ledger.of([{**own, "time": when} for own, when in zip(days, (0.05, 0.35), strict=True)], every=0.1).table()[
        "declared"
    ].tolist() == [1, 0, 0, 1]
    with pytest.raises(OptionError, match="cycles"):
        Ledger.of([days[0], {"time": "2029-01-01", "source": 1, "target": 2}], every="second")


def test_a_record_that_comes_again_is_a_later_version_of_the_edge():
    edge = {"uuid": "e1", "source_node_uuid": "a", "target_node_uuid": "b", "created_at": 1, "expired_at": None}
    ledger = from_bitemporal([edge, {**edge, "expired_at": 4}])
    assert ledger.table()["deaths"].tolist() == [0, 1]


def test_new_and_old_nodes_are_in_one_space():
    ring = np.array([(i, (i + 1) % 10) for i in range(10)])
    points = np.random.default_rng(0).normal(size=(11, 2))
    for before, inserted in ((points[:10, :1], None), (points[:10], np.ones((11, 3)))):
        with pytest.raises(InputError, match="coordinates"):
            evolution.AdaptiveEvaluator(score="euclidean").evaluate_cycle(
                points, [(10, 5)], np.concatenate([ring, [(10, 5)]]), 0, before, inserted_embeddings=inserted
            )
    with pytest.raises(InputError, match="too many to draw"):
        evolution.AdaptiveEvaluator(score="euclidean", negatives_per_positive=10**9).evaluate_cycle(
            points, [(10, 5)], np.concatenate([ring, [(10, 5)]]), 0, points[:10]
        )


@pytest.mark.parametrize("first", [[], [{"cycle": -1, "source": "x0", "target": "y1"}]], ids=["from nothing", "later"])
def test_the_chance_level_does_not_depend_on_the_first_cycle(first: list[Event]):
    events = first + [
        {"cycle": c, "source": f"n{c}{i}", "target": f"n{max(c - 1, 0)}{(i + 1) % 5}"}
        for c in range(3)
        for i in range(5)
    ]
    ledger = Ledger.of(events)
    found = evaluate(
        ledger,
        {own: int(str(own)[-1]) % 2 for own in ledger.ids},
        embeddings={own: [1.0, float(row)] for row, own in enumerate(ledger.ids)},
        score="cosine",
        metrics=["delta_homophily"],
    )
    assert [level.name for level in found["delta_homophily"].chance][-1] == "random pairs"


# ---- ends paired at random


def simple_graphs(degrees: list[int]) -> list[list[tuple[int, int]]]:
    from itertools import combinations

    pairs = list(combinations(range(len(degrees)), 2))
    return [
        list(chosen)
        for chosen in combinations(pairs, sum(degrees) // 2)
        if [sum(node in edge for edge in chosen) for node in range(len(degrees))] == degrees
    ]


def ends_of(edges: list[tuple[int, int]], classes: np.ndarray) -> Any:
    from graphgauge.evolution.samples import LabelPairs

    ends = np.array(edges)
    return LabelPairs(classes[ends], ends, len(ends), 2, len(classes), 0.5, 0.5)


@pytest.mark.parametrize("degrees", [[5, 1, 1, 1, 1, 1], [1] * 6, [3, 2, 2, 1, 1, 1], [3, 3, 2, 2, 2]])
def test_ends_paired_at_random_agree_as_in_all_graphs_with_these_degrees(degrees: list[int]):
    """Exactly for a star and for births without common nodes, nearly for others; two ends of a node are no pair."""
    every = simple_graphs(degrees)
    exact = max(degrees) == 1 or max(degrees) == sum(degrees) / 2
    for seed in range(6):
        classes = np.random.default_rng(seed).integers(0, 2, len(degrees))
        found = ends_of(every[0], classes).by_ends
        shares = [np.mean([classes[u] == classes[v] for u, v in graph]) for graph in every]
        assert found == pytest.approx(np.mean(shares), abs=1e-9 if exact else 0.06)


@pytest.mark.parametrize("hubs", [1, 2, 5])
def test_random_births_to_hubs_do_not_look_heterophilic(hubs: int):
    rng = np.random.default_rng(hubs)
    values = []
    for _ in range(300):
        births = np.unique(np.stack([rng.integers(hubs, 200, 40), rng.integers(0, hubs, 40)], axis=1), axis=0)
        pairs = ends_of(births.tolist(), rng.integers(0, 2, 200))
        values.append(pairs.share - pairs.by_ends)
    assert abs(np.mean(values)) <= 4 * np.std(values) / np.sqrt(300) + 1e-12


def test_births_that_all_agree_are_as_uncertain_as_their_share():
    classes = np.repeat([0, 1, 2], 20)
    edges = [(2 * i, 2 * i + 1) for i in range(30)]
    found = evaluate(
        [
            {
                "embeddings": np.eye(60),
                "previous_embeddings": np.eye(60),
                "new_edges": edges[:20],
                "previous_edges": edges[20:],
                "all_edges": edges,
            }
        ],
        classes,
        score="cosine",
    )
    share = found["homophily_new_edges"]
    for key in ("delta_homophily_ends", "adjusted_homophily"):
        own = found[key]
        assert own.value - own.interval.low >= share.value - share.interval.low - 1e-12
