"""`graphgauge merge`: the options of the command reach the evaluation of the merged state."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from graphgauge.old.cli.merge import command
from graphgauge.old.ranking import RankingState


@pytest.fixture
def ranked(tmp_path):
    draw = np.random.default_rng(0)
    RankingState().update(draw.normal(1, 1, 20), draw.normal(0, 1, (20, 5))).save(tmp_path / "state.npz")
    return str(tmp_path / "state.npz")


def merged(*arguments):
    done = CliRunner().invoke(command, [*arguments, "--format", "json", "--quiet"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_conventions_are_those_that_were_asked_for(ranked):
    content = merged(ranked, "--nan", "omit", "--ties", "expected")
    assert content["conventions"] == {"ties": "expected", "nan": "omit"}


def test_a_tie_rule_that_is_none_is_refused_with_those_there_are(ranked):
    done = CliRunner().invoke(command, [ranked, "--ties", "hopeful"])
    assert done.exit_code == 2
    assert "'realistic'" in done.output
