"""Examples of the reference that need PyG or RDKit."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from tests.docs.test_reference import NEEDS_PEERS, PUBLIC, run_examples

# The import of PyG warns of torch.jit.
pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]


@pytest.mark.parametrize("name", sorted(NEEDS_PEERS))
def test_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(verbose=False)
    run_examples(name, dict(PUBLIC)[name], runner)
    found = runner.summarize(verbose=False)
    assert found.attempted
    assert not found.failed
