"""`graphgauge merge`: the options of the command reach the evaluation of the merged state."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from graphgauge.cli.app import cli
from graphgauge.core.errors import InputError
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


def test_the_same_scores_do_not_count_twice(tmp_path, monkeypatch):
    """Two commands that count one file, one of them through a link, save states that do not merge."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    np.save("pos.npy", draw.normal(1, 1, 20))
    np.save("neg.npy", draw.normal(0, 1, (20, 5)))
    (tmp_path / "link.npy").symlink_to("pos.npy")
    for number, name in enumerate(("pos.npy", "link.npy")):
        words = ["ranking", "--pos-scores", name, "--neg-scores", "neg.npy", "--save-state", f"{number}.npz", "--quiet"]
        assert CliRunner().invoke(cli, words).exit_code == 0
    done = CliRunner().invoke(command, ["0.npz", "1.npz"])
    assert isinstance(done.exception, InputError)
    assert "pos.npy" in str(done.exception)
