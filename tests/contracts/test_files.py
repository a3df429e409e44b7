"""Result files: everything comes back, and nothing changed is read."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.contracts import toy

from graphgauge import Evaluation, Grid, Interval, Reference, Result, load
from graphgauge.core.content import GatesFile, ResultFile, content_of
from graphgauge.core.errors import GraphgaugeError, InputError, OptionError
from graphgauge.core.evaluation import Run
from graphgauge.core.files import result_files, result_path
from graphgauge.core.finding import Finding
from graphgauge.core.gate import GateOutcome
from graphgauge.core.items import Items
from graphgauge.core.sealed import decode, encode, json_schema, read, root_of

numbers = st.floats(allow_nan=True, allow_infinity=True)
texts = st.text(max_size=10)
values = st.recursive(
    st.one_of(texts, numbers, st.integers(), st.booleans(), st.none()),
    lambda each: st.lists(each, max_size=3),
    max_leaves=4,
)
intervals = st.builds(Interval, numbers, numbers, st.floats(0.5, 0.999), texts, texts)
references = st.builds(
    Reference,
    texts,
    numbers,
    st.sampled_from(["chance", "baseline", "ideal"]),
    low=st.none() | st.floats(0, 1),
    note=st.none() | texts,
)
results = st.builds(
    Result,
    key=texts,
    metric=texts,
    value=numbers,
    n=st.integers(0, 2**53),
    unit=texts,
    direction=st.sampled_from(["higher", "lower", "none"]),
    bounds=st.tuples(numbers, numbers),
    params=st.dictionaries(texts, values, max_size=2),
    target=st.none() | st.floats(-1, 1),
    interval=st.none() | intervals,
    references=st.lists(references, max_size=2).map(tuple),
    conventions=st.dictionaries(texts, texts, max_size=2),
    reason=st.none() | texts,
)
columns = st.integers(0, 4).flatmap(
    lambda rows: st.dictionaries(texts, st.lists(numbers, min_size=rows, max_size=rows), min_size=1, max_size=3)
)
evaluations = st.builds(
    lambda each, tables, options, run, skipped: Evaluation(
        "toy",
        each,
        breakdowns={
            name: Grid.of() if not table else Grid({k: np.array(v, dtype=float) for k, v in table.items()})
            for name, table in tables.items()
        },
        options=options,
        run=run,
        skipped=skipped,
        findings=[Finding(check="c", severity="note", message="m", remedy="r", evidence=options)],
    ),
    st.lists(results, max_size=3, unique_by=lambda each: each.key),
    st.dictionaries(texts, columns, max_size=2),
    st.dictionaries(texts, values, max_size=2),
    st.builds(
        Run,
        method=st.none() | texts,
        dataset=st.none() | texts,
        seed=st.none() | st.integers(-5, 5) | texts,
        tags=st.dictionaries(texts, texts, max_size=1),
    ),
    st.dictionaries(texts, texts, max_size=2),
)
quick = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def same(one, other):
    """Equal, NaN being equal to NaN and a list to a tuple."""
    if isinstance(one, dict):
        return (
            isinstance(other, dict) and one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
        )
    if isinstance(one, list | tuple):
        return isinstance(other, list | tuple) and len(one) == len(other) and all(map(same, one, other))
    return (
        one == other
        or (one != one and (other != other or other is None))
        or (isinstance(one, float) and math.isinf(one) and other == str(one))
    )


@quick
@given(evaluations)
def test_what_is_saved_is_loaded(tmp_path, evaluation):
    path = evaluation.save(tmp_path / "result.json")
    back = load(path)
    assert list(back) == list(evaluation)
    for key, result in evaluation.items():
        for name in Result.__struct_fields__:
            one, other = getattr(result, name), getattr(back[key], name)
            if name in ("interval", "references"):
                assert str(one) == str(other)
            else:
                assert same(one, other), name
    assert back.run == evaluation.run
    assert back.skipped == evaluation.skipped
    assert same(evaluation.options, back.options)
    for axis, grid in evaluation.breakdowns.items():
        assert back.by(axis) == grid
    assert encode(content_of(back)) == encode(content_of(evaluation))


@quick
@given(
    st.lists(
        st.builds(
            GateOutcome,
            gate=texts,
            verdict=st.sampled_from(["passed", "failed", "undecided"]),
            value=numbers,
            limit=st.none() | numbers.filter(lambda x: x == x),
            group=st.none() | texts,
        ),
        max_size=3,
    )
)
def test_gates_come_back(outcomes):
    text = encode(GatesFile(gates=outcomes))
    assert str(decode(json.loads(text), GatesFile, "here").gates) == str(outcomes)


def test_every_kind_of_file_has_a_schema_that_its_files_fit(tmp_path):
    evaluation = toy.evaluate(np.array([1, 2, 9]), groups={"side": np.array(["a", "b", "b"])})
    result = json.loads(evaluation.save(tmp_path / "result.json").read_text(encoding="utf-8"))
    jsonschema.validate(result, json_schema(ResultFile), cls=jsonschema.Draft202012Validator)
    outcome = json.loads(encode(GatesFile(gates=[evaluation.gate("hits@3 > chance")])))
    jsonschema.validate(outcome, json_schema(GatesFile), cls=jsonschema.Draft202012Validator)
    for kind in (ResultFile, GatesFile):
        jsonschema.Draft202012Validator.check_schema(json_schema(kind))


def test_a_long_breakdown_and_items_are_beside_the_result(tmp_path):
    n = 100_000
    grid = Grid.of(node=np.arange(n), mae=np.linspace(0, 1, n), **{"mae.low": np.full(n, -math.inf)})
    items = Items(
        "step", np.arange(n), {"mae": np.linspace(0, 1, n)}, cluster=np.array(["a", "b"] * (n // 2), dtype=object)
    )
    evaluation = Evaluation("toy", toy.evaluate(np.array([1, 2])).values(), breakdowns={"node": grid}, per_item=items)
    path = evaluation.save(tmp_path / "result.json")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["result.items.npz", "result.json", "result.node.json"]
    assert path.stat().st_size < 10_000
    back = load(path)
    assert back.by("node") == grid
    assert back.by("node")["node"].dtype.kind == "i"
    assert np.array_equal(back.per_item["mae"], items["mae"])
    assert back.per_item.cluster.tolist() == items.cluster.tolist()
    assert load(path, items=False).per_item is None


@pytest.mark.parametrize("name", ["result.node.json", "result.items.npz"])
@pytest.mark.parametrize("how", ["gone", "changed", "pipe"])
def test_what_is_beside_a_result_belongs_to_it(tmp_path, name, how):
    import os

    grid = Grid.of(node=np.arange(2000), mae=np.zeros(2000))
    items = Items("step", np.arange(3), {"mae": np.zeros(3)})
    evaluation = Evaluation("toy", toy.evaluate(np.array([1, 2])).values(), breakdowns={"node": grid}, per_item=items)
    path, side = evaluation.save(tmp_path / "result.json"), tmp_path / name
    if how == "changed":
        side.write_bytes(side.read_bytes() + b" ")
    else:
        side.unlink()
    if how == "pipe":
        os.mkfifo(side)
    words = {"gone": "no such file", "changed": "has changed since", "pipe": "is not a regular file"}[how]
    with pytest.raises(InputError, match=words):
        load(path)


def flipped(path, times, seed=0):
    """The file with one bit flipped, so many times."""
    content, rng = path.read_bytes(), random.Random(seed)
    for _ in range(times):
        place, bit = rng.randrange(len(content)), 1 << rng.randrange(8)
        path.write_bytes(content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :])
        yield
    path.write_bytes(content)


def flips(tmp_path, times):
    evaluation = toy.evaluate(np.array([1, 2, 9]), groups={"side": np.array(["ä", "b", "b"])}, method="ours")
    path = evaluation.save(tmp_path / "result.json")
    said, refused = str(load(path)), 0
    for _ in flipped(path, times):
        try:
            assert str(load(path)) == said
        except GraphgaugeError:
            refused += 1
    return refused


def test_a_flipped_bit_is_refused_or_changes_nothing(tmp_path):
    assert flips(tmp_path, 1000) > 900


@pytest.mark.slow
def test_twenty_thousand_flipped_bits(tmp_path):
    assert flips(tmp_path, 20_000) > 18_000


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda fields: fields | {"schema": "graphgauge/result/2"}, "its schema is 'graphgauge/result/2'"),
        (lambda fields: [fields], "its schema is 'list'"),
        (lambda fields: fields | {"family": "ranking"}, "its root does not match"),
        (lambda fields: sealed(fields | {"results": "none"}), r"Expected `array`, got `str` - at `\$.results`"),
        (lambda fields: sealed(fields | {"results": fields["results"] * 2}), "a metric occurs more than once"),
        (
            lambda fields: sealed(fields | {"status": "failed", "error": "out of memory"}),
            "the run failed: out of memory",
        ),
        (
            lambda fields: sealed(fields | {"breakdowns": {"side": {"side": ["a"], "x": [1.0, 2.0]}}}),
            "differ in length",
        ),
        (lambda fields: sealed(fields | {"breakdowns": {"side": {"side": ["a"], "x": [[1]]}}}), None),
        (lambda fields: sealed(fields | {"added": "by a later version"}), None),
    ],
)
def test_what_is_not_a_result_is_refused_in_words(tmp_path, edit, words):
    path = toy.evaluate(np.array([1, 2, 9])).save(tmp_path / "result.json")
    path.write_text(json.dumps(edit(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")
    if words is None:
        assert len(load(path)) == 2
        return
    with pytest.raises(InputError, match=words):
        load(path)


def sealed(fields):
    return {**fields, "root": root_of(fields)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1, "a": 2}', "the key 'a' occurs more than once"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": 1e999}', "too large for a number"),
        ('{"a": ' + "9" * 400 + "}", "too large for a number"),
        ("[" * 100 + "]" * 100, "nested"),
        ("[" * 100_000, "not a JSON file"),
        ("", "not a JSON file"),
    ],
)
def test_json_of_others_is_read_with_suspicion(tmp_path, text, words):
    path = tmp_path / "result.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        load(path)


def test_a_folder_has_a_place_for_every_run(tmp_path):
    evaluation = toy.evaluate(np.array([1, 2]))
    path = evaluation.save(tmp_path, method="../ours", dataset="a/b", seed=3)
    assert path.parent.parent.parent == tmp_path
    assert result_files(tmp_path) == [path]
    assert result_path("r", "toy", Run(method="ours", dataset="cora", seed=0)) == Path("r/ours/toy/metrics_cora_0.json")
    assert result_path("r", "toy", Run(method="a-b")) != result_path("r", "toy", Run(method="a/b"))


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(OptionError, match="result files are JSON"):
        toy.evaluate(np.array([1, 2])).save(tmp_path / "result.csv")


def test_times_are_not_part_of_the_root(tmp_path):
    evaluation = toy.evaluate(np.array([1, 2]))
    roots = set()
    for seconds in (1.0, 2.0):
        evaluation.receipt = {"seconds": seconds, "inputs": []}
        roots.add(read(evaluation.save(tmp_path / "result.json"), ResultFile).root)
    evaluation.receipt = {"inputs": ["other"]}
    roots.add(read(evaluation.save(tmp_path / "result.json"), ResultFile).root)
    assert len(roots) == 2
