"""Tables on disk: scored again without the model, read with suspicion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.explanation.brute import Weighted, random_explanations

from graphgauge import explanation as ex
from graphgauge.core.errors import InputError
from graphgauge.explanation.masks import Settings, cuts


def table_of(seed: int = 0, **options: Any) -> ex.AnswerTable:
    return ex.collect(Weighted(seed), random_explanations(seed, 5) + random_explanations(seed, 5, "two"), **options)


def assert_same(one: ex.AnswerTable, other: ex.AnswerTable) -> None:
    for name in ("one", "two"):
        first, second = (ex.evaluate(table, explainer=name) for table in (one, other))
        np.testing.assert_equal(
            {key: (r.value, r.n, [(e.name, e.value) for e in r.references]) for key, r in first.items()},
            {key: (r.value, r.n, [(e.name, e.value) for e in r.references]) for key, r in second.items()},
        )


@pytest.mark.parametrize("options", [{}, {"ties": "average", "topk": 2, "by": "abs", "metrics": "all", "acc_cap": 0.5}])
def test_a_stored_run_is_scored_again_without_the_model(tmp_path: Path, options: dict[str, Any]) -> None:
    table = table_of(3, **options)
    path = tmp_path / "run.jsonl"
    table.save(path)
    assert_same(ex.read_table(path), table)
    assert ex.read_table(path).settings == table.settings


def test_what_collect_appends_and_what_save_writes_are_one_format(tmp_path: Path) -> None:
    table = table_of(3, path=tmp_path / "appended.jsonl")
    table.save(tmp_path / "saved.jsonl")
    assert (tmp_path / "appended.jsonl").read_bytes() == (tmp_path / "saved.jsonl").read_bytes()


def records_of(table: ex.AnswerTable, folder: Path) -> list[Any]:
    table.save(folder / "records.jsonl")
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


def test_targets_and_ids_of_every_kind_survive(tmp_path: Path) -> None:
    subgraph = ex.Subgraph([[0, 1], [1, 2]], nodes=["a", "é", "c"], times=np.array([10**18, 10**18 + 1]))
    targets = [None, 3, "node", [1, 2.5], {"src": 1, "dst": [2, 3]}, np.array([1, 2])]
    explanations = [
        ex.Explanation(ex.Context(subgraph, target, event), [np.inf, -1], elapsed=0.1, seed=4)
        for target, event in zip(targets, [0, 1, "x", "y", 7, "z"], strict=True)
    ]
    table = ex.collect(Weighted(0), explanations)
    table.save(tmp_path / "t.jsonl")
    read = ex.read_table(tmp_path / "t.jsonl")
    assert [event.context.target for event in read] == [None, 3, "node", [1, 2.5], {"src": 1, "dst": [2, 3]}, [1, 2]]
    assert [row.id for row in read] == [0, 1, "x", "y", 7, "z"]
    np.testing.assert_array_equal(read.events[0].subgraph.times, [10**18, 10**18 + 1])
    assert read.events[0].explanations[0].importance.tolist() == [np.inf, -1]
    assert read.events[0].explanations[0].seed == 4
    with pytest.raises(InputError, match="target: object cannot be stored"):
        ex.collect(Weighted(0), [ex.Explanation(ex.Context(subgraph, object()), [1, 2])], path=tmp_path / "u.jsonl")


def test_explanations_come_back(tmp_path: Path) -> None:
    explanations = random_explanations(5, 4)
    ex.write_explanations(explanations, tmp_path / "run.jsonl")
    read = ex.read_explanations(tmp_path / "run.jsonl")
    assert len(read) == 4
    same = [ex.evaluate(Weighted(5), given)["necessity_auc"].value for given in (explanations, read)]
    assert same[0] == same[1]


def lines(tmp_path: Path) -> list[Any]:
    return records_of(table_of(3), tmp_path)


def written(tmp_path: Path, records: list[Any]) -> Path:
    path = tmp_path / "hostile.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def changed(record: dict[str, Any], place: tuple[Any, ...], value: Any) -> None:
    for step in place[:-1]:
        record = record[step]
    record[place[-1]] = value


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("masks",), ["zz"], "masks: cannot be read"),
        (("masks",), 3, r"Expected `array`, got `int` - at `\$.masks`"),
        (("masks",), [], "outputs: shape"),
        (("outputs",), [["a"]], r"at `\$.outputs\[0\]\[0\]`"),
        (("outputs",), [[1.0], [1.0, 2.0]], "outputs"),
        (("subgraph",), None, r"at `\$.subgraph`"),
        (("subgraph", "edge_index"), [[0], [10**9]], "there is no node 1000000000"),
        (("subgraph", "edge_index"), [[0, 1], [2]], "edge_index: cannot be read"),
        (("subgraph", "candidates"), [0, -1], "there is no edge -1"),
        (("explanations", 0, "importance"), [1], "importance"),
        (("explanations", 0, "model"), "os:system", "unknown field `model`"),
        (("explanations",), {}, r"Expected `array`, got `object` - at `\$.explanations`"),
        (("event",), None, r"at `\$.event`"),
        (("truth",), [999], "truth: expected candidate numbers"),
        (("apart",), "far", "apart"),
    ],
)
def test_damaged_lines_are_one_error_that_says_where(
    tmp_path: Path, place: tuple[Any, ...], value: Any, message: str
) -> None:
    records = lines(tmp_path)
    changed(records[2], place, value)
    with pytest.raises(InputError, match=message) as caught:
        ex.read_table(written(tmp_path, records))
    assert "hostile.jsonl, line 3" in str(caught.value)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("schema",), "other/1"),
        (("settings",), None),
        (("settings", "levels"), [5]),
        (("settings", "model_output"), "votes"),
        (("settings", "acc_points"), 10**400),
        (("settings", "unknown"), 1),
        (("settings", "asked"), ["everything"]),
        (("settings", "random"), 10**9),
    ],
)
def test_damaged_headers(tmp_path: Path, place: tuple[Any, ...], value: Any) -> None:
    records = lines(tmp_path)
    changed(records[0], place, value)
    with pytest.raises(InputError, match=r"line 1|table"):
        ex.read_table(written(tmp_path, records))


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"[1]\n", b"{\n", b"\x80\x04pickle\n", b"[" * 100_000 + b"\n", b"NaN\n"]
)
def test_files_that_are_no_tables(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"t\.jsonl"):
        ex.read_table(path)


def test_other_endings(tmp_path: Path) -> None:
    for name in ("t.csv", "absent.jsonl"):
        with pytest.raises(InputError):
            ex.read_table(tmp_path / name)
    with pytest.raises(InputError, match=r"unknown file ending '\.parquet' for a table. Use \.jsonl"):
        ex.read_table(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"unknown file ending '\.pkl'"):
        table_of(3).save(tmp_path / "t.pkl")


def test_an_event_that_stands_twice(tmp_path: Path) -> None:
    """The same line again, as where files are joined, changes nothing; another answer is refused."""
    records = lines(tmp_path)
    assert_same(ex.read_table(written(tmp_path, [*records, records[1]])), table_of(3))
    other = json.loads(json.dumps(records[1]))
    other["outputs"][0][0] += 1
    with pytest.raises(InputError, match="has another answer to a mask already"):
        ex.read_table(written(tmp_path, [*records, other]))


def test_tables_of_other_events_are_joined_as_files(tmp_path: Path) -> None:
    said = random_explanations(3, 5)
    for name, part in (("a", said[:2]), ("b", said[2:])):
        ex.collect(Weighted(3), part, path=tmp_path / f"{name}.jsonl")
    both = tmp_path / "both.jsonl"
    both.write_bytes((tmp_path / "a.jsonl").read_bytes() + (tmp_path / "b.jsonl").read_bytes())
    whole = ex.collect(Weighted(3), said)
    assert ex.evaluate(ex.read_table(both)).to_flat() == ex.evaluate(whole).to_flat()
    ex.collect(Weighted(3), said[:1], path=tmp_path / "c.jsonl", seed=1)
    both.write_bytes((tmp_path / "a.jsonl").read_bytes() + (tmp_path / "c.jsonl").read_bytes())
    with pytest.raises(InputError, match="a second header has other settings: seed"):
        ex.read_table(both)


def test_tables_of_other_explainers_are_joined_event_by_event(tmp_path: Path) -> None:
    one = random_explanations(3, 5)
    two = [ex.Explanation(each.context, -each.importance, "two") for each in one]
    for name, said in (("a", one), ("b", two)):
        ex.collect(Weighted(3), said, path=tmp_path / f"{name}.jsonl")
    both = tmp_path / "both.jsonl"
    both.write_bytes((tmp_path / "a.jsonl").read_bytes() + (tmp_path / "b.jsonl").read_bytes())
    assert_same(ex.read_table(both), ex.collect(Weighted(3), [*one, *two]))


def test_tables_lacking_masks_say_what_to_collect(tmp_path: Path) -> None:
    table = table_of(3, sparsity_levels=(0.1, 0.5))
    with pytest.raises(InputError, match=r"not asked about the level 0.9, but about 0.1, 0.5. Collect again with"):
        ex.evaluate(table, explainer="one", metrics=["fidelity_drop@0.9"])
    records = lines(tmp_path)
    records[1]["masks"], records[1]["outputs"] = records[1]["masks"][2:], records[1]["outputs"][2:]
    with pytest.raises(InputError, match="has no mask for the whole or the empty graph"):
        ex.evaluate(ex.read_table(written(tmp_path, records)), explainer="one")


@pytest.mark.parametrize("truth", ["x", {}, [None], [[[0]]], [[0], 1], [[-1]], ["0"], [0.5], [10**40], [-1], True])
def test_a_truth_is_a_list_of_candidates(tmp_path: Path, truth: Any) -> None:
    records = lines(tmp_path)
    records[2]["truth"] = truth
    with pytest.raises(InputError, match=r"truth: expected candidate numbers|at `\$.truth|out of range"):
        ex.read_table(written(tmp_path, records))


def test_nan_does_not_come_in_through_a_file(tmp_path: Path) -> None:
    records = lines(tmp_path)
    records[2]["explanations"][0]["importance"][0] = None
    with pytest.raises(InputError, match="line 3, importance: 1 of"):
        ex.read_table(written(tmp_path, records))


def test_many_accepted_explanations_of_many_candidates_are_refused(tmp_path: Path) -> None:
    """Empty lists are short, and as masks as long as the candidates."""
    edges = 20_000
    record = {
        "event": 0,
        "truth": [[] for _ in range(edges)],
        "subgraph": {"edge_index": [[0] * edges, [1] * edges]},
        "explanations": [],
    }
    path = written(tmp_path, [record])
    with pytest.raises(InputError, match="truth: expected candidate numbers"):
        ex.read_explanations(path)


def test_a_number_does_not_stand_for_many_nodes(tmp_path: Path) -> None:
    record = {"event": 0, "subgraph": {"edge_index": [[0], [10**12]]}, "explanations": []}
    with pytest.raises(InputError, match=r"there is no node 1000000000000. List the nodes"):
        ex.read_explanations(written(tmp_path, [record]))
    far = ex.Subgraph([[0, 5_000], [4_999, 1]])
    ex.write_explanations([ex.Explanation(ex.Context(far, event=0), [1, 2])], tmp_path / "far.jsonl")
    assert len(ex.read_explanations(tmp_path / "far.jsonl")[0].context.subgraph.nodes) == 5_001


def test_masks_without_end_are_refused() -> None:
    edges = 30_000
    subgraph = ex.Subgraph([[0] * edges, [1] * edges], units="edges")
    settings = Settings(model_output="logit", asked=("sweep",), acc_points=10_000)
    with pytest.raises(InputError, match="400 orders of 30,000 candidates are cut at"):
        cuts(subgraph, np.broadcast_to(np.arange(edges), (400, edges)), settings, 0)


def test_explanations_that_are_not_whole_are_refused(tmp_path: Path) -> None:
    """A table of answers can be completed; of explanations nobody would notice that some are missing."""
    path = tmp_path / "run.jsonl"
    ex.write_explanations(random_explanations(5, 4), path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match=r"run\.jsonl: the last line is incomplete"):
        ex.read_explanations(path)
    path.write_text("")
    with pytest.raises(InputError, match="is empty"):
        ex.read_explanations(path)


@pytest.mark.parametrize("changed", ["importance", "target", "answers"])
def test_two_tables_in_one_file_are_refused(tmp_path: Path, changed: str) -> None:
    context = ex.Context(ex.Subgraph([[0, 1, 2], [1, 2, 3]]), target=1, event=0)
    other = ex.Context(context.subgraph, target=2 if changed == "target" else 1, event=0)
    importance = [1.0, 2.0, 4.0] if changed == "importance" else [3.0, 2.0, 1.0]
    ex.collect(Weighted(0), [ex.Explanation(context, [3.0, 2.0, 1.0], "one")]).save(tmp_path / "a.jsonl")
    ex.collect(Weighted(changed == "answers"), [ex.Explanation(other, importance, "one")]).save(tmp_path / "b.jsonl")
    both = tmp_path / "both.jsonl"
    both.write_bytes((tmp_path / "a.jsonl").read_bytes() + (tmp_path / "b.jsonl").read_bytes())
    with pytest.raises(InputError, match=r"both.jsonl, line 4, event 0.*has (another|two different)"):
        ex.read_table(both)


def test_masks_are_listed_once(tmp_path: Path) -> None:
    """A second answer to a mask would silently win or lose."""
    said = [ex.Explanation(ex.Context(ex.Subgraph([[0, 1], [1, 2]]), event=event), [1, 2]) for event in (0, 1)]
    head, first, *_ = records_of(ex.collect(Weighted(0), said), tmp_path)
    forged = {**first, "masks": [first["masks"][0], *first["masks"]], "outputs": [[9.0, 0.0], *first["outputs"]]}
    with pytest.raises(InputError, match="line 2, masks: a mask is listed twice"):
        ex.read_table(written(tmp_path, [head, forged]))
