"""Stored runs: written whole, read back the same, gone on with, and never trusted."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.old.evolution.conftest import Graph, block_graph, same

from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.old.evolution import Cycle, EvaluationSuite, EvolutionLog, evaluate


def grow(graph: Graph, cycles: int, seed: int = 0) -> list[dict[str, np.ndarray]]:
    """What a system would say of each cycle: births, a removal, points that drift, a newborn node."""
    rng = np.random.default_rng(seed)
    points, edges, said = graph.points, graph.edges, []
    for _ in range(cycles):
        points = np.concatenate([points * 0.99, rng.uniform(-0.2, 0.2, (1, 4))])
        new = np.stack([rng.choice(graph.nodes, 8, replace=False), rng.integers(0, graph.nodes, 8)], axis=1)
        new = np.concatenate([new[new[:, 0] != new[:, 1]], [[len(points) - 1, 0]]])
        edges = np.concatenate([edges[2:], new])
        said.append({"embeddings": points, "new_edges": new, "all_edges": edges})
    return said


def stored(folder: Path, graph: Graph, cycles: int = 3, conditions=("Normal", "Off"), seeds=(0, 1)) -> EvolutionLog:
    log = EvolutionLog(folder)
    for condition in conditions:
        for seed in seeds:
            log.begin(condition, seed, edges=graph.edges, embeddings=graph.points)
            for cycle, said in enumerate(grow(graph, cycles, seed + len(condition))):
                log.append_cycle(condition, seed, cycle, tgc=0.1 * cycle, **said)
    return log


def test_what_is_written_is_read(tmp_path: Path, graph: Graph):
    log = stored(tmp_path / "run", graph)
    assert log.runs == (("Normal", 0), ("Normal", 1), ("Off", 0), ("Off", 1))
    said = grow(graph, 3, 1 + len("Off"))
    before = graph.points, graph.edges
    for number, cycle in enumerate(log.cycles("Off", 1)):
        assert (cycle.condition, cycle.seed, cycle.cycle, cycle.tgc) == ("Off", 1, number, pytest.approx(0.1 * number))
        assert cycle.embeddings.tobytes() == said[number]["embeddings"].tobytes()
        assert cycle.new_edges.tolist() == said[number]["new_edges"].tolist()
        kept = {frozenset(edge) for edge in said[number]["all_edges"].tolist()}
        assert {frozenset(edge) for edge in cycle.all_edges.tolist()} == kept
        assert cycle.previous_embeddings.tobytes() == before[0].tobytes()
        assert {frozenset(edge) for edge in cycle.previous_edges.tolist()} == {frozenset(e) for e in before[1].tolist()}
        before = said[number]["embeddings"], said[number]["all_edges"]
    assert log.latest("Off", 1).cycle == 2
    assert log.latest("Off", 9) is None


def test_live_and_stored_runs_get_the_same_numbers(tmp_path: Path, graph: Graph):
    suite = EvaluationSuite(range(graph.nodes), graph.labels, ["Normal", "Off"], folds=2)
    for condition in ("Normal", "Off"):
        for seed in (0, 1):
            suite.begin(condition, graph.points, graph.edges, seed)
            for cycle, said in enumerate(grow(graph, 3, seed + len(condition))):
                suite.step(
                    condition, said["embeddings"], said["new_edges"], said["all_edges"], cycle, 0.1 * cycle, seed
                )
    found = evaluate(stored(tmp_path / "run", graph), graph.labels, folds=2)
    assert found.to_json() == suite.evaluation().to_json()
    assert evaluate(str(tmp_path / "run"), graph.labels, folds=2).to_json() == found.to_json()


def test_a_run_goes_on_where_it_stopped(tmp_path: Path, graph: Graph):
    said = grow(graph, 4)
    log = EvolutionLog(tmp_path)
    assert log.next_cycle("Normal", 3) == 0
    for cycle in range(2):
        log.append_cycle("Normal", 3, cycle, **said[cycle])
    again = EvolutionLog(tmp_path)
    assert again.next_cycle("Normal", 3) == 2
    for wrong in (0, 1, 3):
        with pytest.raises(InputError, match=r"is not the next one\. Continue with cycle 2"):
            again.append_cycle("Normal", 3, wrong, **said[wrong])
    for cycle in range(2, 4):
        again.append_cycle("Normal", 3, cycle, **said[cycle])
    assert [cycle.cycle for cycle in again.cycles("Normal", 3)] == [0, 1, 2, 3]


def test_an_interrupted_write_leaves_nothing(tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch):
    log = stored(tmp_path, graph, conditions=["Off"], seeds=[0], cycles=1)

    def interrupted(stream, **arrays):
        stream.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        log.append_cycle("Off", 0, 1, embeddings=graph.points, new_edges=[[0, 1]])
    monkeypatch.undo()
    assert log.next_cycle("Off", 0) == 1
    assert sorted(path.name for path in (tmp_path / "Off" / "seed-0").iterdir()) == ["cycle-00000.npz", "start.npz"]


def test_a_folder_of_cycles_is_one_run(tmp_path: Path, graph: Graph):
    stored(tmp_path / "run", graph, conditions=["Off"], seeds=[4])
    alone = EvolutionLog(tmp_path / "run" / "Off" / "seed-4")
    assert alone.runs == (("Off", 4),)
    whole = evaluate(tmp_path / "run", graph.labels, folds=2)
    assert same(evaluate(alone, graph.labels, folds=2).to_flat(), whole.to_flat())


def test_some_conditions_and_seeds(tmp_path: Path, graph: Graph):
    log = stored(tmp_path, graph)
    both = evaluate(log, graph.labels, folds=2)
    assert both.by("condition")["condition"].tolist() == ["Normal", "Off"]
    off = evaluate(log, graph.labels, conditions=["Off"], folds=2)
    assert off["auc_birth"].value == both.by("condition")["auc_birth"][1]
    assert off["auc_birth"].interval.over == "seeds"
    assert off["auc_birth"].interval.low == both.by("condition")["auc_birth.low"][1]
    one = evaluate(log, graph.labels, conditions="Off", log_seeds=[1], folds=2)
    assert one["auc_birth"].n == 3
    with pytest.raises(UnknownNameError, match="Normal"):
        evaluate(log, graph.labels, conditions=["normal"])
    with pytest.raises(InputError, match="no run has seed 7"):
        evaluate(log, graph.labels, log_seeds=[7])


def test_cycles_from_memory(tmp_path: Path, graph: Graph):
    log = stored(tmp_path, graph, conditions=["Off"], seeds=[0])
    cycles = list(log.cycles("Off", 0))
    assert same(evaluate(cycles, graph.labels, folds=2).to_flat(), evaluate(log, graph.labels, folds=2).to_flat())
    labels = dict(enumerate(graph.labels.tolist()))
    assert same(evaluate(cycles, labels, folds=2).to_flat(), evaluate(log, graph.labels, folds=2).to_flat())
    for wrong, said in (
        (5, "found int"),
        ({"embeddings": 1}, "found dict"),
        ([3], "item 0 is int"),
        ([{"embeddings": graph.points}], "cycle 0 has no new_edges"),
        ([{"embedings": graph.points}], "embeddings"),
        ([], "no cycle was evaluated"),
        ([Cycle(["x"], 0, 0, *([graph.points] * 3))], "the condition of item 0"),
    ):
        with pytest.raises(InputError, match=said):
            evaluate(wrong, graph.labels)


@pytest.mark.parametrize("name", ["", ".hidden", "..", "a/b", "a\\b", "a\nb", "x" * 65, "/root"])
def test_conditions_that_are_no_folder_names(tmp_path: Path, graph: Graph, name: str):
    with pytest.raises(InputError, match="is not a valid condition name"):
        EvolutionLog(tmp_path).begin(name, 0, edges=graph.edges, embeddings=graph.points)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_read(tmp_path: Path, graph: Graph):
    with pytest.raises(InputError, match="contains no run"):
        evaluate(tmp_path, graph.labels)
    with pytest.raises(InputError, match="contains no run"):
        evaluate(tmp_path / "absent", graph.labels)
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        EvolutionLog(tmp_path / "file")
    log = stored(tmp_path / "run", graph, conditions=["Off"], seeds=[0])
    with pytest.raises(UnknownNameError, match="Off, seed 0"):
        log.cycles("Off", 1)
    path = tmp_path / "run" / "Off" / "seed-0" / "cycle-00001.npz"
    for content in (b"", b"no archive", path.read_bytes()[:300]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"cycle-00001.npz: cannot be read"):
            evaluate(log, graph.labels)
    np.savez(path, embeddings=np.array([{}], object), new_edges=np.empty((0, 2)))
    with pytest.raises(InputError, match="Python objects are not supported"):
        evaluate(log, graph.labels)
    np.savez(path, new_edges=np.empty((0, 2)))
    with pytest.raises(InputError, match="has no array 'embeddings'"):
        evaluate(log, graph.labels)
    for wrong, said in (
        ({"tgc": np.array("fast")}, "tgc: expected numbers"),
        ({"tgc": np.zeros(2)}, "tgc contains 2 numbers"),
        ({"tgc": np.array(np.nan)}, "tgc: found nan"),
        ({"pools": np.array(["a"])}, "pools: expected numbers"),
        ({"new_edges": np.array(["ab"])}, "new_edges: expected numbers"),
        ({"embeddings": np.array("x")}, "embeddings: expected numbers"),
        ({"embeddings": np.zeros((3, 4, 5))}, "embeddings: expected shape"),
        ({"removed_edges": graph.edges[:2]}, "has removed_edges and no all_edges. Store all_edges"),
    ):
        np.savez(path, **{"embeddings": np.zeros((122, 4)), "new_edges": np.empty((0, 2))} | wrong)
        with pytest.raises(InputError, match=said):
            evaluate(log, graph.labels)


def test_edges_must_be_known(tmp_path: Path, graph: Graph):
    log = EvolutionLog(tmp_path)
    with pytest.raises(InputError, match="begin"):
        log.append_cycle("Off", 0, 0, embeddings=graph.points, new_edges=[[0, 1]])
    log.append_cycle("Off", 0, 0, embeddings=graph.points, new_edges=[[0, 1]], all_edges=[[0, 1], [1, 2]])
    np.savez(tmp_path / "Off" / "seed-0" / "cycle-00001.npz", embeddings=graph.points, new_edges=[[0, 2]])
    cycles = log.cycles("Off", 0)
    first = next(cycles)
    assert first.previous_embeddings is None
    assert first.previous_edges is None
    assert next(cycles).all_edges.tolist() == [[0, 1], [1, 2], [0, 2]]
    (tmp_path / "Off" / "seed-0" / "cycle-00000.npz").unlink()
    with pytest.raises(InputError, match="has no all_edges"):
        list(log.cycles("Off", 0))


@pytest.mark.parametrize("name", ["run (1)", ".hidden", "[x]"])
def test_a_run_is_read_whatever_its_folder_is_called(tmp_path: Path, graph: Graph, name: str):
    stored(tmp_path / "run", graph, conditions=["Off"], seeds=[0])
    expected = evaluate(tmp_path / "run", graph.labels, metrics=["tgc"])["tgc"].value
    (tmp_path / "run" / "Off" / "seed-0").rename(tmp_path / name)
    assert evaluate(tmp_path / name, graph.labels, metrics=["tgc"])["tgc"].value == expected
    (tmp_path / f"{name} of").mkdir()
    (tmp_path / name).rename(tmp_path / f"{name} of" / "seed-3")
    alone = EvolutionLog(tmp_path / f"{name} of" / "seed-3")
    assert alone.runs == ((f"{name} of", 3),)
    assert alone.next_cycle(f"{name} of", 3) == 3
    assert evaluate(alone, graph.labels, metrics=["tgc"])["tgc"].value == expected


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"condition": 5}, "5 is not a valid"),
        ({"condition": None}, "None is not a valid condition name"),
        ({"condition": []}, "is not a valid"),
        ({"seed": 1.5}, "seed must be a whole number of at least 0, not 1.5"),
        ({"seed": "x"}, "seed must be"),
        ({"seed": -1}, "seed must be"),
        ({"cycle": 0.0}, "cycle must be"),
        ({"cycle": "0"}, "cycle must be"),
        ({"tgc": "a"}, "tgc: expected numbers"),
        ({"tgc": [1, 2]}, "tgc: found"),
        ({"tgc": math.nan}, "tgc: found nan"),
        ({"embeddings": [1, 2]}, "embeddings: expected shape"),
        ({"new_edges": "a"}, "new_edges: expected numbers"),
        ({"pools": "a"}, "pools: expected numbers"),
    ],
)
def test_what_is_wrong_is_not_written(tmp_path: Path, graph: Graph, changed: dict, said: str):
    given = {
        "condition": "Off",
        "seed": 0,
        "cycle": 0,
        "embeddings": graph.points,
        "new_edges": [[0, 1]],
        "all_edges": graph.edges,
    }
    with pytest.raises(InputError, match=said):
        EvolutionLog(tmp_path).append_cycle(**given | changed)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("folder", [None, 5, b"run", ["run"]])
def test_a_log_is_a_folder(folder: object):
    with pytest.raises(InputError, match="expected a folder"):
        EvolutionLog(folder)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"log_seeds": 7}, "no run has seed 7. Stored: 0, 1"),
        ({"log_seeds": "0"}, "no run has seed '0'. Stored: 0, 1"),
        ({"log_seeds": []}, "seeds is empty"),
        ({"conditions": []}, "conditions is empty"),
        ({"conditions": 5}, "unknown condition '5'"),
        ({"conditions": ["Of"]}, "Off"),
    ],
)
def test_runs_that_are_not_there(tmp_path: Path, graph: Graph, options: dict, said: str):
    log = stored(tmp_path, graph, cycles=1, conditions=["Off"])
    for given in (log, [cycle for run in log.runs for cycle in log.cycles(*run)]):
        with pytest.raises(InputError, match=said):
            evaluate(given, graph.labels, **options)
        assert evaluate(given, graph.labels, log_seeds=1, metrics=["tgc"])["tgc"].defined


def test_a_cycle_object_is_enough(tmp_path: Path):
    graph = block_graph(30)
    cycle = Cycle("x", 0, 5, graph.points, graph.free()[:4], np.concatenate([graph.edges, graph.free()[:4]]))
    found = evaluate([cycle], graph.labels, folds=2)
    assert found.options["cycle"] == 5
    found.plot(tmp_path / "one.svg")
    assert (tmp_path / "one.svg").exists()
    assert math.isnan(found["auc_birth"].value)
    with pytest.raises(OptionError, match="seed"):
        evaluate([Cycle("x", "0", 5, *([graph.points] * 3))], graph.labels)


def test_a_cycle_that_is_missing_is_noticed_where_edges_are_added_up(tmp_path: Path, graph: Graph):
    log = EvolutionLog(tmp_path)
    log.begin("Off", 0, edges=graph.edges, embeddings=graph.points)
    for cycle, new in enumerate(graph.free()[:3]):
        log.append_cycle("Off", 0, cycle, embeddings=graph.points, new_edges=new[None])
    (tmp_path / "Off" / "seed-0" / "cycle-00001.npz").unlink()
    with pytest.raises(InputError, match="cycle 1 is missing"):
        list(log.cycles("Off", 0))


def test_what_a_cycle_says_of_the_time_before_is_taken(graph: Graph):
    """Each cycle of the list has its own past; the one before it in the list is only what stands in for that."""
    rng = np.random.default_rng(0)
    items = [
        {
            "embeddings": graph.points,
            "new_edges": new,
            "all_edges": np.concatenate([graph.edges, new]),
            "previous_embeddings": rng.permutation(graph.points),
            "previous_edges": graph.edges,
        }
        for new in np.split(graph.free()[:20], 2)
    ]
    both = evaluate(items, graph.labels, metrics=["auc_birth"], negatives="all")
    alone = [evaluate([item], graph.labels, metrics=["auc_birth"], negatives="all") for item in items]
    assert both.by("cycle")["auc_birth"].tolist() == [one["auc_birth"].value for one in alone]
