"""Code that a study names: found, hashed and printed, and not imported to do so."""

from __future__ import annotations

import sys
from typing import Annotated

import pytest
from tests.sealed import write_sealed

from graphgauge.core.errors import InputError, OptionError
from graphgauge.old.core.family import Family
from graphgauge.old.core.fields import Factory
from graphgauge.old.core.result import Evaluation
from graphgauge.old.io.code import source_hash, sources
from graphgauge.old.io.hashing import HashIndex
from graphgauge.study import options, parse, recipe
from graphgauge.study.model import Item
from graphgauge.study.recipe import Recipe, factories

TRAP = "raise SystemExit('imported')\n"


@pytest.fixture
def models(tmp_path):
    package = tmp_path / "models"
    (package / "layers").mkdir(parents=True)
    (package / "__init__.py").write_text(TRAP)
    (package / "gcn.py").write_text(
        TRAP + "import numpy\nfrom . import base\nfrom .layers import dense\nimport helper\n"
    )
    (package / "base.py").write_text(TRAP)
    (package / "unused.py").write_text(TRAP)
    (package / "layers" / "__init__.py").write_text("")
    (package / "layers" / "dense.py").write_text("from ..base import x\n")
    (tmp_path / "helper.py").write_text(TRAP)
    return tmp_path


def test_the_sources_behind_a_factory(models):
    found = set(sources("models.gcn:load", models))
    assert found == {"models", "models.gcn", "models.base", "models.layers", "models.layers.dense", "helper"}
    assert not [name for name in sys.modules if name.startswith("models")]


@pytest.mark.parametrize("edited", ["models/gcn.py", "models/__init__.py", "models/layers/dense.py", "helper.py"])
def test_an_edit_changes_the_hash(models, edited):
    before = source_hash("models.gcn:load", models)
    (models / edited).write_text((models / edited).read_text() + "# edited\n")
    assert source_hash("models.gcn:load", models) != before


def test_what_is_not_imported_does_not_count(models):
    before = source_hash("models.gcn:load", models)
    (models / "models" / "unused.py").write_text("# edited\n")
    assert source_hash("models.gcn:load", models) == before
    (models / "models" / "gcn.py").write_text("this is no Python\n")
    assert source_hash("models.gcn:load", models) != before


def test_a_module_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"no module 'nowhere\.at'"):
        source_hash("nowhere.at:all", tmp_path)


class Asking:
    """The modules of a family whose input is code."""

    @staticmethod
    def evaluate_files(*, subject: Annotated[str | None, Factory("Code.")] = None) -> Evaluation:
        raise AssertionError("not evaluated here")


@pytest.fixture
def asking_family(monkeypatch):
    monkeypatch.setattr(Family, "module", lambda family, name: Asking)
    asking = Family("ranking", line="", question="", headlines=(), package="none")
    for module in (options, parse, recipe):
        monkeypatch.setattr(module, "family", lambda name: asking)


@pytest.mark.usefixtures("asking_family")
def test_an_edited_factory_is_not_taken_from_the_cache(models):
    item = Item("ranking", "m", "d", 0, {"subject": "models.gcn:load"})
    assert factories(item) == ["models.gcn:load"]
    before = Recipe.of(item, models, HashIndex(models))
    assert Recipe.of(item, models, HashIndex(models)).key == before.key
    (models / "models" / "base.py").write_text("x = 2\n")
    assert Recipe.of(item, models, HashIndex(models)).key != before.key


@pytest.mark.usefixtures("asking_family")
def test_a_run_prints_what_it_will_import_and_verify_does_not_import(models, capsys):
    from graphgauge.cli.run import command as run
    from graphgauge.study import verify

    text = 'schema = 1\n[[evaluate]]\nfamily = "ranking"\nmethod = "m"\ndataset = "d"\nsubject = "models.gcn:load"\n'
    (models / "study.toml").write_text(text)
    run.main([str(models / "study.toml"), "--plan", "--quiet"], standalone_mode=False)
    assert "imports models.gcn:load" in capsys.readouterr().err
    content = Evaluation("ranking", [], run={"method": "m", "dataset": "d", "seed": None}).to_dict()
    content["receipt"]["study"] = {"folder": ".", "options": {"subject": "models.gcn:load"}, "ignore": {}}
    write_sealed(models / "result.json", content)
    (verdict,) = verify(models / "result.json")
    assert str(verdict) == "unchecked: not recomputed: model not rerun: models.gcn:load is not imported"
    assert not [name for name in sys.modules if name.startswith("models")]


@pytest.mark.parametrize("text", ["os", "os:", ":f", "a b:c", "a.b:c d", "/tmp/x.py:f", "a:b:c"])
def test_what_is_no_factory(text):
    with pytest.raises(OptionError, match="MODULE:FACTORY"):
        Factory("").read(text)
