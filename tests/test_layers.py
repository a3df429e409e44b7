"""The packages form layers: each imports only what is below it, and a small call imports only what it needs."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from tests import layers

from graphgauge import Evaluation, Finding, forecasting, ranking, recovery


@pytest.fixture(scope="module")
def found():
    return layers.imports()


def test_every_package_has_a_layer():
    assert layers.unknown_packages() == set(), "name it in LAYERS of tests/layers.py"


def test_no_package_imports_upward(found):
    assert not layers.upward(found), "\n" + "\n".join(map(str, layers.upward(found)))


def test_every_exception_is_needed(found):
    assert set(layers.ALLOWED) == {(each.file, each.package) for each in found} & set(layers.ALLOWED)


def test_the_packages_without_those_still_to_go_have_no_cycle(found):
    """Independent of the order: packages without remaining imports are removed until none is left."""
    kept = [each for each in found if (each.file, each.package) not in layers.ALLOWED]
    edges = {(each.importer, each.package) for each in kept}
    left = {name for edge in edges for name in edge}
    while left:
        leaves = {name for name in left if not any(a == name and b in left for a, b in edges)}
        assert leaves, f"these import each other in circles: {sorted(left)}"
        left -= leaves


@pytest.mark.parametrize(
    ("file", "text", "package"),
    [
        ("core/a.py", "import os\nfrom graphgauge.report import html\n", "report"),
        ("core/a.py", "import os\nimport graphgauge.audit.runs as runs\n", "audit"),
        ("core/a.py", "import os\nfrom graphgauge import study\n", "study"),
        ("core/a.py", "def late():\n    from graphgauge.ranking.state import RankingState\n", "ranking"),
        ("core/a.py", "class A:\n    from graphgauge.stats import text\n", "stats"),
        ("core/a.py", "import os\nfrom ..cli import app\n", "cli"),
        ("core/deep/a.py", "import os\nfrom ...cli import app\n", "cli"),
        ("core/a.py", "import graphgauge\ngraphgauge.audit.run()\n", "audit"),
        ("core/a.py", "import graphgauge as gg\ngg.audit.run()\n", "audit"),
        ("core/a.py", "TABLE = {\n'x': 'graphgauge.demo.ranking:DEMO'}\n", "demo"),
        ("core/a.py", "import importlib\nimportlib.import_module(f'graphgauge.audit.{name}')\n", "audit"),
        ("core/a.py", "import importlib\nimportlib.import_module(f'graphgauge.{name}.checks')\n", "families"),
        ("core/a.py", "from importlib import import_module as load\nload(f'graphgauge.{name}')\n", "families"),
        ("core/a.py", "name = 'x'\n__import__(f'graphgauge.{name}')\n", "families"),
        ("core/a.py", "import importlib\nplace = 'graphgauge.' + name; importlib.import_module(place)\n", "families"),
        ("core/a.py", "import importlib\nimportlib.import_module('graphgauge.{}'.format(name))\n", "families"),
        ("core/a.py", "if TYPE_CHECKING: pass\nelse: import graphgauge.cli\n", "cli"),
        ("ranking/a.py", "import os\nfrom graphgauge.recovery import evaluate\n", "recovery"),
        ("io/a.py", "try:\n    import graphgauge.stats.text\nexcept ImportError: pass\n", "stats"),
    ],
)
def test_an_upward_import_of_any_kind_is_reported_with_file_and_line(tmp_path, file, text, package):
    """All of them are on the second line."""
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    (report,) = map(str, layers.upward(layers.imports(tmp_path)))
    assert report == f"{file}:2: {file.partition('/')[0]} imports {package}, which is not below it"


@pytest.mark.parametrize(
    "text",
    [
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from graphgauge.report import html\n",
        "import typing\nif typing.TYPE_CHECKING:\n    import graphgauge.cli\n",
        '"""Calls graphgauge.report in words."""\n',
        "log = f'graphgauge.{name}'\n",
        "from importlib import metadata\nGROUP = 'graphgauge.families'\n",
        "import graphgauge.core.types as text\ntext.report()\n",
        "from graphgauge.core.errors import InputError\nfrom . import result\n",
    ],
)
def test_types_words_and_own_modules_are_no_imports(tmp_path, text):
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "a.py").write_text(text, encoding="utf-8")
    assert layers.imports(tmp_path) == []


# --------------------------------------------------------------------- what a small call imports

UNNEEDED = (
    "scipy",
    "rich",
    "click",
    "jinja2",
    "matplotlib",
    "altair",
    "pandas",
    "graphgauge.report",
    "graphgauge.audit",
)
CALLS = {
    "ranking": "ranking.evaluate([.9, .2], [[.1, .5], [.3, .4]], groups={'side': [0, 1]})",
    "recovery": "recovery.evaluate([[0, 1], [0, 0]], [[0, 0], [1, 0]])",
    "forecasting": "forecasting.evaluate(y, y + 1)",
}


@pytest.mark.parametrize("family", CALLS)
def test_an_evaluation_of_arrays_imports_neither_report_nor_audit(family):
    code = f"""
import sys
import numpy as np
from graphgauge import {family}
y = np.arange(120.).reshape(30, 2, 2)
found = {CALLS[family]}
[(result.value, result.interval, result.chance) for result in found.values()]
assert "rich" not in sys.modules
found.findings, getattr(found, "to_json", found.to_flat)(), found._repr_html_()
print(*[name for name in {UNNEEDED} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr + done.stdout


# ----------------------------------------------------------------------------------- findings


def test_the_constructor_runs_no_check(monkeypatch):
    ran = []
    monkeypatch.setattr("graphgauge.core.evaluation.findings_of", lambda family, given: ran.append(family) or ())
    evaluation = Evaluation("ranking", [], materials={"ranks": None})
    assert ran == []
    assert evaluation.findings == evaluation.findings == ()
    assert ran == ["ranking"]


def test_findings_that_were_set_stay():
    mine = (Finding(check="x", severity="note", message="m", remedy="r"),)
    evaluation = ranking.evaluate([0.5] * 4, [[0.5, 0.5]] * 4)
    assert [finding.check for finding in evaluation.findings] == ["tied-scores", "cutoff-above-candidates"]
    assert Evaluation("ranking", [], findings=mine).findings == mine
    assert Evaluation("ranking", []).findings == ()


def _ranking(pos, neg):
    return ranking.evaluate(pos, neg, metrics=["mrr", "roc_auc", "average_precision"])


def _recovery_omit(truth, prediction):
    return recovery.evaluate(truth, prediction, nan="omit", metrics=["best_threshold"])


def _state(y, forecast):
    state = forecasting.ForecastState().update(y, forecast, start=0)
    found = state.evaluate()
    state.update(y + 3, forecast * 0, start=len(y))
    return found


def _ranking_state(pos, neg):
    state = ranking.RankingState().update(pos, neg)
    found = state.evaluate()
    state.update(pos + 9, neg)
    return found


def _cases(rng):
    pos, neg = rng.integers(0, 3, 60).astype(float), rng.integers(0, 3, (60, 30)).astype(float)
    truth = np.triu(rng.random((12, 12)) < 0.4, 1).astype(float)
    y = rng.normal(size=(80, 2, 3))
    return {
        "ranking": (_ranking, (pos, neg)),
        "ranking state": (_ranking_state, (pos, neg)),
        "recovery": (recovery.evaluate, (truth, truth.T.copy())),
        "recovery with gaps": (_recovery_omit, (truth, np.where(rng.random((12, 12)) < 0.1, np.nan, truth.T))),
        "recovery stack": (recovery.evaluate, (np.stack([truth] * 2), np.stack([truth.T] * 2))),
        "forecasting": (forecasting.evaluate, (y, y + 5)),
        "forecasting state": (_state, (y, y + 5)),
    }


@pytest.mark.parametrize("name", _cases(np.random.default_rng(0)))
def test_findings_do_not_see_what_happens_after_the_call(name):
    function, arrays = _cases(np.random.default_rng(0))[name]
    at_once = [finding.message for finding in function(*arrays).findings]
    assert at_once
    later = function(*arrays)
    for array in arrays:
        array[...] = np.random.default_rng(1).normal(size=array.shape)
    assert [finding.message for finding in later.findings] == at_once
