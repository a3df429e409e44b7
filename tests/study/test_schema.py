"""The published schema of study files: current, and of one mind with the reader."""

from __future__ import annotations

import json
import tomllib

import jsonschema
import pytest
from tests.command import graphgauge as command
from tests.study.conftest import STUDY

from graphgauge.demo import demos
from graphgauge.demo.study import study_text as demo_text
from graphgauge.old.core.family import BUILT_IN as FAMILIES
from graphgauge.study import read_study
from graphgauge.study.init import study_text
from graphgauge.study.schema import SCHEMA_FILE, text


@pytest.fixture(scope="module")
def validator():
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_schema_is_current():
    assert SCHEMA_FILE.read_text(encoding="utf-8") == text(), "run: python -m graphgauge.study.schema"


EXAMPLES = [STUDY, study_text(), *(study_text([family]) for family in FAMILIES), demo_text(demos().values())]


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_fit_and_can_be_read(validator, tmp_path, example):
    validator.validate(tomllib.loads(example))
    (tmp_path / "study.toml").write_text(example, encoding="utf-8")
    assert read_study(tmp_path / "study.toml").items


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("schema = 1", "schema = 2"),
        ("k = [1, 3]", "k = true"),
        ("k = [1, 3]", "threads = 2"),
        ("k = [1, 3]", 'ties = "hopeful"'),
        ("k = [1, 3]", "confidence = 1.5"),
        ('family = "ranking"', 'family = "rankings"'),
        ('dataset = "toy"\n', ""),
        ('dataset = "toy"', 'dataset = "toy"\ndatasets = ["toy"]'),
        ('methods = ["good", "poor"]', 'methods = "good"'),
        ("pos_scores = ", "pos_score = "),
        ('metric = "mrr"\n', ""),
        ("[[gate]]", "[[gates]]"),
        ('require = "mrr > 0.2"\n', ""),
    ],
)
def test_what_the_reader_refuses_the_schema_refuses(validator, tmp_path, old, new):
    wrong = STUDY.replace(old, new, 1)
    assert not validator.is_valid(tomllib.loads(wrong))
    (tmp_path / "study.toml").write_text(wrong, encoding="utf-8")
    with pytest.raises(ValueError, match="line"):
        read_study(tmp_path / "study.toml")


def test_init_writes_once(tmp_path):
    assert command("init", "ranking", cwd=tmp_path).returncode == 0
    assert read_study(tmp_path / "study.toml").items
    (tmp_path / "study.toml").write_text("mine")
    again = command("init", cwd=tmp_path)
    assert again.returncode == 2
    assert "study.toml: already exists" in again.stderr
    assert (tmp_path / "study.toml").read_text() == "mine"
    assert command("init", "--force", cwd=tmp_path).returncode == 0
    unknown = command("init", "rankings", "-o", "new.toml", cwd=tmp_path)
    assert unknown.returncode == 2
    assert "'ranking'" in unknown.stderr
    assert not (tmp_path / "new.toml").exists()


def test_every_option_is_explained_by_init():
    from graphgauge.old.core.family import family as declared
    from graphgauge.study.options import keys_of

    for family in FAMILIES:
        written = study_text([family])
        for key in keys_of(declared(family).fields):
            assert f"{key} = " in written
