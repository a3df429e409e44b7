"""The result file: valid under its schema, the same after a round trip, and read with suspicion."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sealed import write_sealed

from graphgauge import forecasting, ranking
from graphgauge.core.errors import GraphgaugeError, InputError
from graphgauge.old.core.result import Evaluation, Result, Table
from graphgauge.old.core.schema import (
    SCHEMA_FILE,
    default_path,
    file_part,
    number_from_json,
    number_to_json,
    read_result,
    write_result,
)

RANDOM = np.random.default_rng(0)
POS, NEG = RANDOM.integers(0, 9, 30).astype(float), RANDOM.integers(0, 7, (30, 6)).astype(float)
VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))

EVALUATIONS: dict[str, Any] = {
    "plain": lambda: ranking.evaluate(POS, NEG),
    "every metric": lambda: ranking.evaluate(POS, NEG, metrics=["roc_auc", "average_precision", "pooled_hits@3"]),
    "groups": lambda: ranking.evaluate(POS, NEG, groups={"text": list("abc" * 10), "number": np.arange(30)}),
    "empty": lambda: ranking.evaluate(np.empty(0), np.empty((0, 3))),
    "flat": lambda: ranking.evaluate(scores=NEG[0], labels=[1, 0, 0, 1, 0, 0], queries=[0] * 6),
    "omitted": lambda: ranking.evaluate(np.r_[np.nan, POS], np.r_[NEG[:1], NEG], nan="omit"),
    "findings": lambda: ranking.evaluate(np.zeros(3), np.zeros((3, 4)), ties="optimistic"),
    "special numbers": lambda: Evaluation(
        "ranking",
        [Result("x", "x", math.inf, 3, "query", "none", (-math.inf, math.inf), {"f": np.float32(0.5), "s": {1}})],
        options={"array": np.arange(3), "flag": np.True_, "nan": math.nan},
        skipped={"sid": "no gadjid"},
        run={"method": "m", "dataset": "d", "seed": 3, "tags": {"host": "none"}},
    ),
}


@pytest.fixture(params=EVALUATIONS)
def evaluation(request: pytest.FixtureRequest) -> Evaluation:
    made: Evaluation = EVALUATIONS[request.param]()
    return made


def plain(evaluation: Evaluation) -> dict[str, Any]:
    return json.loads(evaluation.to_json())


def test_files_are_valid_under_the_schema(evaluation: Evaluation) -> None:
    VALIDATOR.validate(plain(evaluation))


def test_the_schema_itself_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(VALIDATOR.schema)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("results"),
        lambda content: content.update(schema="graphgauge/result/1"),
        lambda content: content.update(status="fine"),
        lambda content: content["results"][0].update(value="high"),
        lambda content: content["results"][0].update(value=None),
        lambda content: content["results"][0].update(n=-1),
        lambda content: content["results"][0].update(direction="up"),
        lambda content: content["results"][0].pop("bounds"),
        lambda content: content["results"][0]["interval"].update(level=95),
        lambda content: content["run"].update(seed=1.5),
        lambda content: content["run"].update(seed=[1]),
    ],
)
def test_the_schema_refuses_what_is_wrong(change: Any) -> None:
    content = plain(EVALUATIONS["plain"]())
    change(content)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(content)


def test_round_trip(evaluation: Evaluation, tmp_path: Path) -> None:
    path = write_result(evaluation, tmp_path / "deep" / "down" / "x.json")
    VALIDATOR.validate(json.loads(path.read_text(encoding="utf-8")))
    again = read_result(path)
    assert plain(again) == plain(evaluation)
    assert list(again) == list(evaluation)
    for axis in evaluation.breakdowns:
        for key in evaluation.by(axis).columns:
            assert again.by(axis)[key].tolist() == pytest.approx(evaluation.by(axis)[key].tolist(), nan_ok=True)
        assert again["mrr"].by(axis)["value"].tolist() == pytest.approx(evaluation["mrr"].by(axis)["value"].tolist())


def test_the_same_numbers_have_the_same_root() -> None:
    first, second = EVALUATIONS["groups"](), EVALUATIONS["groups"]()
    assert first.to_json() == second.to_json()
    assert first.to_dict()["root"] != EVALUATIONS["plain"]().to_dict()["root"]


def test_a_receipt_is_written_and_hashed_but_for_its_timings(tmp_path: Path) -> None:
    evaluation = EVALUATIONS["plain"]()
    receipt = {"inputs": [{"name": "pos", "path": "p.npy", "bytes": 3, "hash": "0"}], "seconds": 1.5, "started": "now"}
    content = json.loads(write_result(evaluation, tmp_path / "x.json", receipt=receipt).read_text())
    VALIDATOR.validate(content)
    assert content["root"] != evaluation.to_dict()["root"]
    slower = write_result(evaluation, tmp_path / "y.json", receipt={**receipt, "seconds": 9, "started": "then"})
    assert content["root"] == json.loads(slower.read_text())["root"]
    assert content["receipt"]["seconds"] == 1.5
    assert content["receipt"]["versions"]["numpy"] == np.__version__


def test_long_breakdowns_and_items_go_to_side_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    evaluation = ranking.evaluate(
        rng.random(1001), rng.random((1001, 3)), groups={"../x": np.arange(1001)}, keep="items"
    )
    path = write_result(evaluation, tmp_path / "x.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    VALIDATOR.validate(content)
    assert content["breakdowns"] == []
    assert [(side["role"], side["rows"]) for side in content["side_files"]] == [("breakdown", 1001), ("items", 1001)]
    assert {file.name for file in tmp_path.iterdir()} == {"x.json", *(side["path"] for side in content["side_files"])}
    table = json.loads((tmp_path / content["side_files"][0]["path"]).read_text())
    assert table["columns"]["mrr"] == evaluation.by("../x")["mrr"].tolist()
    again = read_result(path)
    for name, values in evaluation.by("../x").columns.items():
        np.testing.assert_array_equal(again.by("../x")[name], values)
    np.testing.assert_array_equal(again["mrr"].by("../x")["value"], evaluation["mrr"].by("../x")["value"])


@pytest.mark.parametrize("damage", ["gone", "changed", "no JSON", "no table", "elsewhere", "no list"])
def test_side_files_are_read_with_suspicion(damage: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    path = write_result(
        ranking.evaluate(rng.random(1001), rng.random((1001, 3)), groups={"x": np.arange(1001)}),
        tmp_path / "a" / "r.json",
    )
    content = json.loads(path.read_text(encoding="utf-8"))
    (side,) = content["side_files"]
    beside = path.parent / side["path"]
    if damage == "gone":
        beside.unlink()
    elif damage == "changed":
        beside.write_text(beside.read_text().replace("0.5", "0.6", 1))
    elif damage == "elsewhere":
        side["path"] = f"../{beside.rename(tmp_path / 'outside.json').name}"
    elif damage == "no list":
        content["side_files"] = 3
    else:
        beside.write_text("{" if damage == "no JSON" else "[1]")
        side["hash"] = hashlib.sha256(beside.read_bytes()).hexdigest()
    write_sealed(path, content)
    words = {"gone": "is missing", "changed": "has changed", "no JSON": "not a JSON", "elsewhere": "is missing"}
    with pytest.raises(InputError, match=words.get(damage, "not a valid result file")):
        read_result(path)


def test_the_root_is_the_hash_of_the_canonical_json(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    evaluation = ranking.evaluate(rng.random(1001), rng.random((1001, 3)), groups={"ü": np.arange(1001)}, keep="items")
    content = json.loads(write_result(evaluation, tmp_path / "x.json", receipt={"seconds": 2.5}).read_text("utf-8"))
    root = content.pop("root")
    del content["receipt"]["seconds"]
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert root == hashlib.sha256(canonical.encode("ascii")).hexdigest()
    assert {side["hash"] for side in content["side_files"]} == {
        hashlib.sha256((tmp_path / side["path"]).read_bytes()).hexdigest() for side in content["side_files"]
    }


def leaves(content: Any, path: tuple[Any, ...] = ()) -> Any:
    if isinstance(content, dict | list) and content:
        for key in content if isinstance(content, dict) else range(len(content)):
            yield from leaves(content[key], (*path, key))
    else:
        yield path


def test_a_change_of_any_value_is_refused_by_name(tmp_path: Path) -> None:
    evaluation = ranking.evaluate(POS, NEG, groups={"side": np.arange(30) % 2}, metrics=["mrr"], keep="items")
    path = write_result(evaluation, tmp_path / "x.json", receipt={"started": "now", "seconds": 1.0})
    written = json.loads(path.read_text(encoding="utf-8"))
    places = [place for place in leaves(written) if place not in (("receipt", "started"), ("receipt", "seconds"))]
    assert len(places) > 60
    for place in places:
        content = copy.deepcopy(written)
        inner = content
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = "edited"
        path.write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(InputError) as caught:
            read_result(path)
        assert str(caught.value).startswith(f"{path}: "), place
        for forged in ({**content, "schema": "graphgauge/result/1"}, {**content, "root": None}):
            path.write_text(json.dumps(forged), encoding="utf-8")
            with pytest.raises(InputError):
                read_result(path)


def test_an_edited_file_ends_commands_with_3_and_verify_with_1(tmp_path: Path) -> None:
    evaluation = ranking.evaluate(POS, NEG)
    evaluation.run |= {"method": "m", "dataset": "d", "seed": 0}
    path = write_result(evaluation, tmp_path / "x.json")
    path.write_text(path.read_text().replace('"method": "m"', '"method": "ours"'))
    for command, code in ((["aggregate"], 3), (["compare", "--metric", "mrr"], 3), (["verify"], 1)):
        done = subprocess.run(
            [sys.executable, "-m", "graphgauge", *command, "x.json"], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == code, done.stderr
        assert "x.json" in done.stdout + done.stderr
        assert "root does not match" in done.stdout + done.stderr


def test_every_level_has_its_kind() -> None:
    rng = np.random.default_rng(0)
    y, mean = rng.normal(size=(2, 40, 3))
    found = forecasting.evaluate(y, mean, std=np.ones((40, 3)), axes=("time", "node"))
    kinds = {level.name: level.kind for result in found.values() for level in result.levels}
    assert {name: kind for name, kind in kinds.items() if kind != "ideal"} == {
        "zero forecast": "chance",
        "mean of the truth": "baseline",
        "one Gaussian with the truth's moments": "baseline",
    }
    assert all(name.startswith("perfect forecaster") for name, kind in kinds.items() if kind == "ideal")


@given(st.floats())
def test_numbers_survive(value: float) -> None:
    text = json.dumps(number_to_json(value), allow_nan=False)
    back = number_from_json(json.loads(text))
    assert back == value or (math.isnan(back) and math.isnan(value))


# ------------------------------------------------------------------- hostile files


def test_fields_may_be_added_by_later_versions(tmp_path: Path) -> None:
    content = plain(EVALUATIONS["findings"]())
    content["future"] = content["results"][0]["future"] = 1
    content["results"][0]["interval"]["future"] = content["findings"][0]["future"] = "x"
    content["findings"][0].pop("message")  # the schema does not ask for it
    VALIDATOR.validate(content)
    path = tmp_path / "x.json"
    write_sealed(path, content)
    again = read_result(path)
    assert again["mrr"].interval is not None
    assert again.findings[0].check == "tied-scores"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"3",
        b'"x"',
        b"\xff\xfe{}",
        b"\xef\xbb\xbf{}",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b"NaN",
        b'{"schema": "graphgauge/result/3"}',
        b'{"schema": NaN}',
        b"1" * 5000,
        b'{"schema": "graphgauge/result/1"}',
        b'{"schema": "graphgauge/result/1", "run": 3}',
        b'{"schema": "graphgauge/result/2"}',
        b'{"schema": "graphgauge/result/2", "run": 3}',
    ],
)
def test_what_is_no_result_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_result(path)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < 500 + len(str(path))


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_result(tmp_path / "none.json")
    with pytest.raises(InputError):
        read_result(tmp_path)


WRONG: dict[str, Any] = {
    "results as text": lambda c: c.update(results="abc"),
    "result as text": lambda c: c.update(results=["abc"]),
    "value as text": lambda c: c["results"][0].update(value="0.5"),
    "value as a flag": lambda c: c["results"][0].update(value=True),
    "value as a list": lambda c: c["results"][0].update(value=[1]),
    "value beyond all floats": lambda c: c["results"][0].update(value=10**400),
    "n as null": lambda c: c["results"][0].update(n=None),
    "n of no end": lambda c: c["results"][0].update(n="inf"),
    "one bound": lambda c: c["results"][0].update(bounds=[0]),
    "unknown direction": lambda c: c["results"][0].update(direction="up"),
    "interval as a list": lambda c: c["results"][0].update(interval=[0, 1]),
    "interval without bounds": lambda c: c["results"][0].update(interval={}),
    "levels as a number": lambda c: c["results"][0].update(levels=3),
    "a level without a kind": lambda c: c["results"][0]["levels"][0].pop("kind"),
    "an unknown kind": lambda c: c["results"][0]["levels"][0].update(kind="lucky"),
    "readings as a list": lambda c: c.update(readings=[]),
    "conventions as a list": lambda c: c.update(conventions=[]),
    "findings of nothing": lambda c: c.update(findings=[{}]),
    "findings as text": lambda c: c.update(findings=["x"]),
    "skipped without reason": lambda c: c.update(skipped=[{"key": "x"}]),
    "a breakdown without its axis": lambda c: c["breakdowns"][0]["columns"].pop("side"),
    "columns of different lengths": lambda c: c["breakdowns"][0]["columns"]["mrr"].pop(),
    "columns as text": lambda c: c["breakdowns"][0].update(columns="x"),
    "cells as text": lambda c: c["breakdowns"][0]["columns"].update(mrr=["x", "y"]),
    "nested labels": lambda c: c["breakdowns"][0]["columns"].update(side=[[1], [1, 2]]),
}


@pytest.mark.parametrize("change", WRONG)
def test_wrong_content_is_refused(change: str, tmp_path: Path) -> None:
    content = plain(ranking.evaluate(POS, NEG, groups={"side": np.arange(30) % 2}))
    WRONG[change](content)
    path = tmp_path / "x.json"
    write_sealed(path, content)
    with pytest.raises(InputError) as caught:
        read_result(path)
    assert str(caught.value).startswith(f"{path}: not a valid result file")


def test_a_number_beyond_all_floats_is_refused(tmp_path: Path) -> None:
    """JSON can write it, and Python reads an infinity, which no result file has."""
    content = plain(EVALUATIONS["plain"]())
    content["results"][0]["n"] = math.inf
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content).replace("Infinity", "1e400"))
    with pytest.raises(InputError, match=r"not a JSON file .1e400 is too large for a number"):
        read_result(path)


TWICE: dict[str, Any] = {
    "results": lambda c: c["results"].insert(0, {**c["results"][0], "value": 0.9}),
    "skipped": lambda c: c.update(skipped=[{"key": "x", "reason": "a"}, {"key": "x", "reason": "b"}]),
    "breakdowns": lambda c: c["breakdowns"].append(c["breakdowns"][0]),
    "side_files": lambda c: c.update(side_files=[{"role": "x", "path": "a", "hash": "", "rows": n} for n in (1, 2)]),
}


@pytest.mark.parametrize("part", TWICE)
def test_a_key_that_occurs_twice_is_refused(part: str, tmp_path: Path) -> None:
    """Readers would take different ones: the last of a dictionary, the first of a list."""
    content = plain(ranking.evaluate(POS, NEG, groups={"side": np.arange(30) % 2}))
    TWICE[part](content)
    write_sealed(tmp_path / "x.json", content)
    with pytest.raises(InputError, match=f"occurs more than once in {part}"):
        read_result(tmp_path / "x.json")


ODD = [None, True, -1, 1.5, "x", "<b>", [], {}, [1, "a"], {"a": 1}, 10**400, "inf", [None], [[1]], "\ud800"]


def places(content: Any, path: tuple[Any, ...] = ()) -> Any:
    yield from [path] if path else []
    for step in (
        content if isinstance(content, dict) else range(min(len(content), 2)) if content.__class__ is list else ()
    ):
        yield from places(content[step], (*path, step))


def cases() -> list[tuple[tuple[Any, ...], Any]]:
    own = [path for path in places(CONTENT) if path[0] not in ("root", "schema") and path[:2] != ("results", 1)]
    return [(path, value) for path in own for value in (*ODD, KeyError)]


def try_case(path: tuple[Any, ...], value: Any) -> None:
    from graphgauge.old.core.schema import checked_content, evaluation_from_dict, require_valid, sealed

    content = copy.deepcopy(CONTENT)
    place = content
    for step in path[:-1]:
        place = place[step]
    if value is KeyError:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    try:
        evaluation = evaluation_from_dict(checked_content(json.loads(json.dumps(sealed(content))), "x"))
    except InputError:
        return
    # Whatever is accepted can be shown, or an error says why not.
    with suppress(GraphgaugeError):
        str(evaluation), evaluation.to_markdown(), evaluation.to_latex(), evaluation._repr_html_()
        for shown in (*evaluation.values(), *evaluation.breakdowns.values()):
            str(shown), shown.to_markdown(), shown._repr_html_()
    # Readers accept files without parts that they do not need; whole ones are valid under the schema.
    with suppress(InputError):
        require_valid(content, "x", whole=True)
        VALIDATOR.validate(content)


def test_what_is_read_can_be_shown() -> None:
    every = cases()
    for number in np.random.default_rng(0).choice(len(every), 60, replace=False):
        try_case(*every[number])


@pytest.mark.slow
def test_every_change_of_one_value_can_be_shown_or_is_refused() -> None:
    for case in cases():
        try_case(*case)


@given(data=st.data())
def test_any_part_may_be_missing_or_replaced(data: st.DataObject) -> None:
    """Whatever one change does to a file, reading gives an evaluation or an InputError."""
    from graphgauge.old.core.schema import evaluation_from_dict

    content = copy.deepcopy(CONTENT)
    place: Any = content
    while True:
        step = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[step], dict | list) or not place[step] or data.draw(st.booleans()):
            break
        place = place[step]
    junk = st.sampled_from([None, True, -1, 10**400, 1e308, "x", "inf", [], {}, [[]], [{}], {"a": None}])
    if isinstance(place, dict) and data.draw(st.booleans()):
        del place[step]
    else:
        place[step] = data.draw(junk)
    try:
        evaluation = evaluation_from_dict(content)
    except InputError:
        return
    assert isinstance(evaluation, Evaluation)


CONTENT = plain(ranking.evaluate(np.zeros(4), np.zeros((4, 2)), k=1, groups={"side": np.arange(4) % 2}))
CONTENT["gates"] = [ranking.evaluate(np.ones(4), np.zeros((4, 2))).gate("mrr >= 0.1").to_dict()]
CONTENT["receipt"] |= {
    "inputs": [{"name": "pos_scores", "path": "a.npy", "bytes": 3, "hash": "0" * 64, "shape": [3], "dtype": "float64"}],
    "command": {"name": "ranking", "folder": ".", "options": {}},
}


# --------------------------------------------------------------------------- paths


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../../x",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "a\0b",
        "x" * 500,
        "字" * 300,
        "é" * 90,
        ".hidden",
        "a b",
        "con:1",
        "\ud800",
        "~root",
        "-rf",
        "naïve",
        "$(x)",
        "🙂" * 100,
        "a\nb",
        None,
        3,
        1.5,
    ],
)
def test_default_path_stays_in_its_folder(name: Any, tmp_path: Path) -> None:
    evaluation = Evaluation("ranking", [], run={"method": name, "dataset": name, "seed": name})
    path = default_path(evaluation, tmp_path)
    assert path.parent.parent.parent == tmp_path
    assert path.parent.name == "ranking"
    assert path.name.startswith("metrics_")
    assert all(part not in ("", ".", "..") and len(part.encode()) <= 255 for part in path.relative_to(tmp_path).parts)
    path.parent.mkdir(parents=True)
    path.write_text("x")
    assert path.resolve().is_relative_to(tmp_path.resolve())


def test_different_names_never_share_a_path() -> None:
    names = [
        "a/b",
        "a-b",
        "a b",
        "a\0b",
        "",
        "~",
        ".x",
        "x",
        "..x",
        "y" * 80,
        "y" * 81,
        "y" * 82,
        "none",
        "字" * 40,
        "字" * 41,
    ]
    parts = [file_part(name) for name in names]
    assert len(set(parts)) == len(parts)
    assert file_part("wn18rr") == "wn18rr"
    assert file_part(None) == "none"


def test_default_path_of_a_named_run() -> None:
    evaluation = Evaluation("ranking", [], run={"method": "transe", "dataset": "wn18rr", "seed": 0})
    assert default_path(evaluation).as_posix() == "results/transe/ranking/metrics_wn18rr_0.json"


def test_tables_know_their_length() -> None:
    assert len(Table("k", {"k": np.arange(3)})) == 3
