"""Ledgers of events: replayed as sets would be, read from the files people have, and reconciled with the graphs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphgauge.core.errors import InputError, OptionError
from graphgauge.evolution import Ledger, from_bitemporal, from_graphrag, from_snapshots, read_ledger

Edge = tuple[Any, Any, str]


def random_events(seed: int, *, directed: bool, cycles: int = 6, size: int = 40) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    names: list[Any] = ["a", "b", 1, "1", (2, 3), "é", 7.5, "node 8"]
    events: list[dict[str, Any]] = []
    for cycle in range(-1, cycles):
        for _ in range(size):
            first, second = rng.choice(len(names), 2, replace=False).tolist()
            event: dict[str, Any] = {"cycle": cycle}
            drawn = rng.random()
            if drawn < 0.55:
                event |= {"action": "birth", "source": names[first], "target": names[second]}
            elif drawn < 0.85:
                event |= {"action": "delete", "source": names[first], "target": names[second]}
            elif drawn < 0.93:
                event |= {"action": "death", "node": names[first]}
            else:
                event |= {"action": "merge", "node": names[first], "into": names[second]}
            if "source" in event:
                event["type"] = str(rng.choice(["likes", "knows"]))
            events.append(event)
    return events


def by_sets(events: list[dict[str, Any]], *, directed: bool) -> dict[int, dict[str, Any]]:
    """The same replay, one event at a time."""

    def key(source: Any, target: Any, kind: str) -> Any:
        return (source, target, kind) if directed else (frozenset((source, target)), kind)

    def ends(edge: Any) -> tuple[Any, Any]:
        return edge[:2] if directed else tuple(edge[0])

    # Every edge of the graph, and whether it was there before the cycle, perhaps with other ends.
    graph: dict[Any, bool] = {}
    died: set[Any] = set()
    present: set[Any] = set()
    found = {}
    for cycle in sorted({event["cycle"] for event in events}):
        before, repeated, merged = set(graph), 0, 0
        lost: Counter[Any] = Counter()
        graph = dict.fromkeys(graph, True)

        def remove(edge: Any, graph: dict[Any, bool] = graph, lost: Counter[Any] = lost) -> None:
            lost[edge] += graph.pop(edge, False)

        for event in (event for event in events if event["cycle"] == cycle):
            if "source" in event:
                edge = key(event["source"], event["target"], event["type"])
                if event["action"] == "birth":
                    present |= {event["source"], event["target"]}
                    repeated += edge in graph
                    if edge not in graph:
                        graph[edge] = lost[edge] > 0
                        lost[edge] -= graph[edge]
                else:
                    remove(edge)
            elif event["node"] in present:
                present.discard(event["node"])
                own = {edge: graph[edge] for edge in list(graph) if event["node"] in ends(edge)}
                if event["action"] == "death":
                    for edge in own:
                        remove(edge)
                    continue
                present.add(event["into"])
                for edge in own:
                    del graph[edge]
                # Old edges first: what one of them becomes is old, and a new one that joins it is no birth.
                for edge, is_old in sorted(own.items(), key=lambda item: not item[1]):
                    one, two = (event["into"] if end == event["node"] else end for end in ends(edge))
                    new = key(one, two, edge[-1])
                    if one == two:
                        merged += is_old
                    elif new in graph:
                        merged += is_old and graph[new]
                        graph[new] |= is_old
                    else:
                        graph[new] = is_old
        births = {edge for edge, is_old in graph.items() if not is_old}
        found[cycle] = {
            "births": births,
            "deaths": set(lost.elements()),
            "died": lost.total(),
            "reborn": births & died,
            "repeated": repeated,
            "graph": set(graph),
            "merged": merged,
        }
        died = (died | (before - set(graph))) - set(graph)
        # Edges that lived only within the cycle had died before its end, too, but were never in a graph.
    return found


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_a_replay_is_what_sets_say(seed: int, directed: bool):
    events = random_events(seed, directed=directed)
    ledger = Ledger.of(events, directed=directed)
    expected = by_sets(events, directed=directed)

    def keys(edges: np.ndarray) -> set[Any]:
        named = ledger.named(edges)
        return {edge if directed else (frozenset(edge[:2]), edge[2]) for edge in named}

    seen = []
    for change in ledger.changes(undeclared="report"):
        own = expected[change.cycle]
        seen.append(change.cycle)
        assert keys(change.births) == own["births"]
        assert keys(change.births[change.reborn]) == own["reborn"]
        assert keys(change.deaths) == own["deaths"]
        assert keys(change.edges_after) == own["graph"]
        assert keys(change.edges_before) == expected[change.cycle - 1]["graph"]
        assert change.balance.repeated == own["repeated"]
        assert change.balance.declared == len(own["births"])
        assert change.balance.merged_edges == own["merged"]
        assert change.balance.deaths == own["died"]
        more = len(own["births"]) - own["died"] - own["merged"]
        assert len(change.after) - len(change.before) == more
        assert keys(ledger.edges_at(change.cycle)) == own["graph"]
    assert seen == list(range(6))


def test_what_is_wrong_is_refused_with_examples_or_counted():
    events = [
        {"cycle": 0, "action": "birth", "node": "a"},
        {"cycle": 0, "action": "birth", "node": "b"},
        {"cycle": 0, "action": "birth", "source": "a", "target": "ghost"},
        {"cycle": 1, "action": "death", "source": "a", "target": "b"},
    ]
    with pytest.raises(InputError, match=r"cycle 0: 1 edges have an end that is not a node.*'a', 'ghost'"):
        list(Ledger.of(events).changes())
    with pytest.raises(InputError, match=r"cycle 1: 1 edges were declared to have died.*'a', 'b'"):
        list(Ledger.of([*events[:2], events[3]]).changes())
    table = Ledger.of(events).table()
    assert table["stray"].tolist() == [1, 0]
    assert table["absent"].tolist() == [0, 1]


def test_snapshots_are_reconciled():
    ledger = Ledger.of(
        [
            {"cycle": 0, "source": 0, "target": 1},
            {"cycle": 1, "source": 1, "target": 2},
            {"cycle": 2, "action": "death", "source": 1, "target": 2},
            {"cycle": 2, "source": 0, "target": 3},
        ],
        ids=range(5),
    )
    with pytest.raises(InputError, match=r"cycle 0: 1 edges are in the snapshot and were never declared: \(2, 3\)"):
        list(ledger.changes(snapshots={0: [(0, 1), (3, 2)]}))
    with pytest.raises(InputError, match="1 edges are missing from the snapshot"):
        list(ledger.changes(snapshots={1: [(1, 2)]}))
    told = [change.balance for change in ledger.changes(snapshots={1: [(1, 2), (3, 4)]}, undeclared="report")]
    assert [(own.appeared, own.lost) for own in told] == [(0, 0), (1, 1), (0, 0)]
    # Goes on with the graph that was seen.
    assert [
        change.edges_after.tolist() for change in ledger.changes(snapshots={1: [(1, 2), (3, 4)]}, undeclared="report")
    ][2] == [[0, 3], [3, 4]]
    assert all(
        own.appeared == own.lost == 0
        for own in (change.balance for change in ledger.changes(snapshots={0: [(1, 0)], 1: [(2, 1), (0, 1)]}))
    )


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_files_of_events_are_read(tmp_path: Path, ending: str):
    events = [event for event in random_events(3, directed=True) if "type" in event]
    for event in events:  # a Parquet column has one type
        event["source"], event["target"] = str(event["source"]), str(event["target"])
    path = tmp_path / f"log.{ending}"
    if ending == "jsonl":
        path.write_text("\n".join(map(json.dumps, events)) + "\n\n", encoding="utf-8")
    else:
        import pyarrow as arrow
        import pyarrow.parquet as parquet

        parquet.write_table(arrow.Table.from_pylist(events), path)
    read, own = read_ledger(path, directed=True), Ledger.of(events, directed=True)
    assert read.ids == own.ids
    for name, column in own.table().items():
        assert read.table()[name].tolist() == column.tolist()


def test_numbered_nodes_are_streamed_from_parquet(tmp_path: Path):
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    rng = np.random.default_rng(0)
    columns = {
        "cycle": np.sort(rng.integers(-1, 5, 400)),
        "source": rng.integers(0, 30, 400),
        "target": rng.integers(0, 30, 400),
        "action": rng.choice(["birth", "death"], 400),
    }
    parquet.write_table(arrow.table(columns), tmp_path / "log.parquet", row_group_size=64)
    streamed = read_ledger(tmp_path / "log.parquet")
    assert isinstance(streamed.ids, range)
    listed = [
        dict(zip(columns, row, strict=True)) for row in zip(*(part.tolist() for part in columns.values()), strict=False)
    ]
    kept = Ledger.of(listed, ids=range(30))
    for name, column in kept.table().items():
        assert streamed.table()[name].tolist() == column.tolist(), name
    parquet.write_table(arrow.table(columns).take(arrow.array(rng.permutation(400))), tmp_path / "mixed.parquet")
    with pytest.raises(InputError, match="not sorted by cycle"):
        read_ledger(tmp_path / "mixed.parquet")


def test_times_become_cycles():
    events = [
        {"time": f"2024-05-0{day}T{hour:02d}:00:00Z", "source": day, "target": 10 * day + hour}
        for day, hour in ((3, 1), (1, 5), (1, 23), (2, 0))
    ]
    assert Ledger.of(events, every="day").table()["declared"].tolist() == [2, 1, 1]
    assert Ledger.of(events).table()["declared"].tolist() == [1, 1, 1, 1]
    started = Ledger.of(events, every="day", start="2024-05-02")
    assert started.table()["declared"].tolist() == [1, 1]
    assert len(started.edges_at(-1)) == 2
    assert Ledger.of([{"t": own, "u": 0, "v": 1 + own} for own in (0, 4, 5, 11)], every=5).table()[
        "declared"
    ].tolist() == [2, 1, 1]
    # An offset is converted, not dropped.
    late = [
        {"time": "2024-05-01T23:30:00-02:00", "source": 0, "target": 1},
        {"time": "2024-05-02T00:30:00Z", "source": 0, "target": 2},
    ]
    assert Ledger.of(late, every="day").table()["declared"].tolist() == [2]
    with pytest.raises(InputError, match="is not a time"):
        Ledger.of([{"time": "soon", "source": 0, "target": 1}])
    with pytest.raises(OptionError, match="every"):
        Ledger.of(events, every=3)


def test_bitemporal_edges_live_from_the_first_to_the_last():
    rows = [
        {
            "source_node_uuid": "ann",
            "target_node_uuid": "acme",
            "name": "WORKS_AT",
            "created_at": "2024-01-01",
            "expired_at": "2024-03-01",
            "valid_at": "2020-01-01",
            "invalid_at": None,
        },
        {
            "source_node_uuid": "ann",
            "target_node_uuid": "acme",
            "name": "WORKS_AT",
            "created_at": "2024-02-01",
            "expired_at": None,
            "valid_at": "2021-01-01",
            "invalid_at": "2022-01-01",
        },
        {
            "source_node_uuid": "bob",
            "target_node_uuid": "acme",
            "name": "WORKS_AT",
            "created_at": "2024-02-01",
            "expired_at": "2024-04-01",
            "valid_at": "2019-01-01",
            "invalid_at": "2020-06-01",
        },
    ]
    system = from_bitemporal(rows)
    assert system.table()["declared"].tolist() == [1, 1, 0]
    assert system.table()["deaths"].tolist() == [0, 0, 1]  # ann's second edge outlives her first
    valid = from_bitemporal([SimpleNamespace(**row) for row in rows], axis="valid")
    assert valid.table()["declared"].tolist() == [1, 1, 0]
    assert valid.table()["deaths"].tolist() == [0, 0, 1]
    with pytest.raises(InputError, match="edge 0 has no valid_at"):
        from_bitemporal([rows[0] | {"valid_at": None}], axis="valid")


def test_snapshots_of_networkx_and_pyg():
    networkx = pytest.importorskip("networkx")
    first = networkx.Graph([("a", "b"), ("b", "c")])
    second = networkx.Graph([("b", "a"), ("c", "d")])
    third = networkx.Graph([("a", "b"), ("c", "b")])
    table = from_snapshots([first, second, third]).table()
    assert table["declared"].tolist() == [1, 1]
    assert table["reborn"].tolist() == [0, 1]
    assert table["deaths"].tolist() == [1, 1]
    assert table["node_births"].tolist() == [1, 0]
    assert table["node_deaths"].tolist() == [0, 1]
    typed = networkx.MultiDiGraph()
    typed.add_node("x", type="user")
    typed.add_edge("x", "y", type="reads")
    both = typed.copy()
    both.add_edge("y", "x", type="reads")
    grown = from_snapshots([typed, both])
    assert grown.directed
    assert grown.table()["declared"].tolist() == [1]
    assert "user" in grown.type_names
    data = [
        SimpleNamespace(edge_index=np.array(own).T, num_nodes=4, is_undirected=lambda: True)
        for own in ([(0, 1), (1, 0)], [(0, 1), (1, 0), (2, 3), (3, 2)])
    ]
    assert from_snapshots(data).table()["declared"].tolist() == [1]
    assert from_snapshots([[(0, 1)], [(1, 0), (1, 2)]]).table()["declared"].tolist() == [1]


def test_tables_of_graphrag(tmp_path: Path):
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    for number, edges in enumerate([[("ANN", "ACME")], [("ACME", "ANN"), ("BOB", "ACME")]]):
        place = tmp_path / str(number)
        place.mkdir()
        names = sorted({end for edge in edges for end in edge})
        parquet.write_table(
            arrow.table(
                {"id": list(range(len(names))), "title": names, "type": ["PERSON"] * len(names), "description": names}
            ),
            place / "entities.parquet",
        )
        parquet.write_table(
            arrow.table(
                {
                    "source": [edge[0] for edge in edges],
                    "target": [edge[1] for edge in edges],
                    "weight": [1.0] * len(edges),
                }
            ),
            place / "relationships.parquet",
        )
    ledger = from_graphrag([tmp_path / "0", tmp_path / "1"])
    assert set(ledger.ids) == {"ANN", "ACME", "BOB"}
    assert ledger.table()["declared"].tolist() == [1]
    assert ledger.table()["node_births"].tolist() == [1]
    with pytest.raises(InputError, match="has no entities"):
        from_graphrag([tmp_path])


@pytest.mark.parametrize(
    ("event", "match"),
    [
        ({"cycle": 0, "action": "explode", "source": 0, "target": 1}, "event 0 has the action 'explode'"),
        ({"cycle": 0.5, "source": 0, "target": 1}, "0.5 is not the number of a cycle"),
        ({"source": 0, "target": 1}, "event 0 has neither cycle nor time"),
        ({"cycle": 0, "action": "birth"}, "event 0 names no node"),
        ({"cycle": 0, "action": "merge", "node": 1}, "event 0 names no node"),
        ({"cycle": 0, "source": {"a": 1}, "target": 1}, "as a node"),
        (7, "event 0 is int"),
    ],
)
def test_a_bad_event_is_named(event: Any, match: str):
    with pytest.raises(InputError, match=match):
        Ledger.of([event])


def test_a_bad_line_is_named(tmp_path: Path):
    (tmp_path / "log.jsonl").write_text('{"cycle": 0, "source": 1, "target": 2}\n{"cycle":\n', encoding="utf-8")
    with pytest.raises(InputError, match="line 2 is not JSON"):
        read_ledger(tmp_path / "log.jsonl")
