"""The demo's climbing problems: made without torch, from what a VAE has left."""

import subprocess
import sys

import numpy as np
import pytest

from graphgauge import generation
from graphgauge.demo import generation as demo
from graphgauge.generation.subjects import offers
from graphgauge.zoo.moonboard.board import SHAPE, valid


@pytest.fixture(scope="module")
def train():
    return demo.split(0)[0]


@pytest.mark.parametrize("name", demo.DEMO.methods)
def test_setters_make_boards(train, name):
    setter = demo._SETTERS[name](train, 0)
    assert offers(setter)["generate"]
    made = setter.generate(1, demo.SAMPLES, temperature=1.0, seed=0)
    assert made.shape == (demo.SAMPLES, *SHAPE)
    assert made.dtype == bool
    assert (made == setter.generate(1, demo.SAMPLES, temperature=1.0, seed=0)).all()
    assert valid(made).mean() > 0.3


def test_every_run_of_the_vae_is_stored_and_differs(train):
    runs = [demo.StoredVAE(train, seed).generate(0, demo.SAMPLES, temperature=1.0, seed=0) for seed in demo.SEEDS]
    assert len(np.unique(np.concatenate(runs).reshape(-1, np.prod(SHAPE)), axis=0)) > 0.9 * len(runs) * demo.SAMPLES


def test_splices_come_from_known_problems(train):
    made = demo.Splices(train, 0).generate(2, 30, temperature=1.0, seed=1)
    known = train.grids[train.labels == 2].astype(bool)
    for board in made:
        assert any((board[:, :7] == problem[:, :7]).all() for problem in known)
        assert any((board[:, 12:] == problem[:, 12:]).all() for problem in known)


def test_it_writes_a_table_for_each_method_and_seed(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "SEEDS", (3,))
    demo.DEMO.write(tmp_path)
    for method in demo.DEMO.methods:
        path = tmp_path / demo.DEMO.inputs["table"].format(method=method, seed=3)
        found = generation.evaluate(
            generation.SampleTable.load(path), metrics=[demo.DEMO.metric, "classifier_exact_accuracy"]
        )
        assert found["classifier_exact_accuracy"] == 1
        assert found[demo.DEMO.metric] > found[demo.DEMO.metric].chance[0].value


def test_no_torch_is_loaded():
    code = "import sys, graphgauge.demo.generation as demo; demo.split(0); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
