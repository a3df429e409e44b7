"""`graphgauge merge`: the options of the command reach the evaluation of the merged state."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from graphgauge.cli.app import cli
from graphgauge.core.errors import InputError, OptionError
from graphgauge.forecasting import ForecastState
from graphgauge.old.cli.merge import command
from graphgauge.old.engines.merge import merge_files
from graphgauge.ranking import RankingState


@pytest.fixture
def ranked(tmp_path):
    draw = np.random.default_rng(0)
    RankingState().update(draw.normal(1, 1, 20), draw.normal(0, 1, (20, 5))).save(tmp_path / "state.npz")
    return str(tmp_path / "state.npz")


def forecast(path, start):
    draw = np.random.default_rng(start)
    truth = draw.normal(0, 1, (30, 2, 3))
    forecasts = {"y_pred": truth + draw.normal(0, 1, truth.shape), "std": np.ones(truth.shape)}
    ForecastState().update(truth, **forecasts, start=start).save(path)
    return str(path)


def merged(*arguments):
    done = CliRunner().invoke(command, [*arguments, "--format", "json", "--quiet"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_conventions_are_those_that_were_asked_for(ranked):
    content = merged(ranked, "--nan", "omit", "--ties", "expected")
    assert content["conventions"] == {"ties": "expected", "nan": "omit"}


def test_forecasts_get_the_threads(tmp_path, monkeypatch):
    states = [forecast(tmp_path / f"{start}.npz", start) for start in (0, 30)]
    given = {}
    evaluate = ForecastState.evaluate
    monkeypatch.setattr(
        ForecastState, "evaluate", lambda state, **options: given.update(options) or evaluate(state, **options)
    )
    content = merged(*states, "--threads", "1", "--nan", "omit")
    assert given["threads"] == 1
    assert content["conventions"]["nan"] == "omit"
    assert content["results"][0]["n"] == 2 * 30 * 2 * 3


def test_a_tie_rule_that_is_none_is_refused_with_those_there_are(ranked):
    done = CliRunner().invoke(command, [ranked, "--ties", "hopeful"])
    assert done.exit_code == 2
    assert "'realistic'" in done.output


@pytest.mark.parametrize("option", [["--k", "5"], ["--ties", "expected"]])
def test_options_of_other_states_are_refused(tmp_path, option):
    done = CliRunner().invoke(command, [forecast(tmp_path / "0.npz", 0), *option])
    assert f"{option[0]} does not go with states of forecasting" in str(done.exception)


def test_python_names_options_as_python_does(tmp_path):
    with pytest.raises(OptionError, match=r"^ties does not go with states of forecasting") as caught:
        merge_files(states=forecast(tmp_path / "0.npz", 0), ties="expected")
    assert caught.value.field == "ties"


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
