"""Results of families that are not rebuilt: their files and comparisons are of the new kind, with the same numbers."""

from __future__ import annotations

import json
import math

import jsonschema
import numpy as np
import pytest

from graphgauge import generation, load
from graphgauge.core.content import ResultFile
from graphgauge.core.sealed import json_schema
from graphgauge.old import ranking
from graphgauge.old.bridge import new_evaluation
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.result import Result

RANDOM = np.random.default_rng(0)
POS, NEG = RANDOM.integers(0, 9, 30).astype(float), RANDOM.integers(0, 7, (30, 6)).astype(float)
SERIES = RANDOM.normal(size=(40, 3, 2))
SPECIAL = Result("x", "x", math.inf, 3, "query", "none", (-math.inf, math.inf), {"f": np.float32(0.5), "s": {1}})
EVALUATIONS = {
    "plain": lambda: ranking.evaluate(POS, NEG),
    "every metric": lambda: ranking.evaluate(POS, NEG, metrics=["roc_auc", "average_precision", "pooled_hits@3"]),
    "groups": lambda: ranking.evaluate(POS, NEG, groups={"text": list("abc" * 10), "number": np.arange(30)}),
    "items": lambda: ranking.evaluate(POS, NEG, keep="items"),
    "empty": lambda: ranking.evaluate(np.empty(0), np.empty((0, 3))),
    "findings": lambda: ranking.evaluate(np.zeros(3), np.zeros((3, 4)), ties="optimistic"),
    "boards": lambda: generation.evaluate(real=np.eye(6, dtype=bool), generated=np.eye(6, dtype=bool)),
    "special numbers": lambda: Evaluation(
        "ranking",
        [SPECIAL],
        options={"array": np.arange(3), "flag": np.True_, "nan": math.nan},
        skipped={"sid": "no gadjid"},
        run={"method": "m", "dataset": "d", "seed": 3, "tags": {"host": "none"}},
    ),
}


@pytest.fixture(params=EVALUATIONS)
def evaluation(request):
    return EVALUATIONS[request.param]()


def test_a_file_is_valid_and_has_the_same_numbers(evaluation, tmp_path):
    path = evaluation.save(tmp_path / "result.json", method="ours", dataset="toy", seed=0)
    content = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.validate(content, json_schema(ResultFile), cls=jsonschema.Draft202012Validator)
    back = load(path)
    assert list(back) == list(evaluation)
    assert back.run.method == "ours"
    assert back.skipped == evaluation.skipped
    for key, result in evaluation.items():
        other = back[key]
        assert (other.value, other.n) == (result.value, result.n) or math.isnan(result.value)
        assert tuple(other.interval or ()) == tuple(result.interval or ())
        assert [each.value for each in other.references if each.value == each.value] == [
            each.value for each in result.chance if each.value == each.value
        ]
        assert other.conventions == dict(result.conventions)
    for axis, table in evaluation.breakdowns.items():
        for name, values in table.columns.items():
            np.testing.assert_array_equal(back.by(axis)[name], values)
    assert [each.check for each in back.findings] == [each.check for each in evaluation.findings]


def test_the_old_reader_gives_the_same_evaluation(evaluation, tmp_path):
    path = evaluation.save(tmp_path / "result.json")
    # The first line has the conventions, in another order.
    assert str(Evaluation.load(path)).splitlines()[1:] == str(evaluation).splitlines()[1:]


def test_single_items_are_those_of_the_old_family():
    old = ranking.evaluate(POS, NEG, keep="items")
    new = new_evaluation(old)
    assert new.per_item.unit == "query"
    assert new.per_item["mrr"].mean() == pytest.approx(old["mrr"].value, rel=1e-12)
    assert tuple(new["mrr"].interval) == tuple(old["mrr"].interval)
