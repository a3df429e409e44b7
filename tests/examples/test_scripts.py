"""Every script in `examples/` runs; those that need further libraries run among the tests against these."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import ROOT

EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))
NOT_RUN = {
    "statistics_published.py": "data are in aeon's wheel",
    "workflow_explainers.py": "needs PyG and Captum; tests/peers/test_explanation_kinds.py runs parts of it",
    "workflow_pyg.py": "needs PyG; tests/peers/test_workflows.py runs it",
    "workflow_pykeen.py": "needs PyKEEN; tests/peers/test_workflows.py runs it",
}


def run(folder: Path, script: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / script), *words]
    one = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=folder, env=one, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in NOT_RUN])
def test_scripts_run(name: str, tmp_path: Path) -> None:
    done = run(tmp_path, name)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_scripts_that_are_not_run_are_there() -> None:
    assert set(NOT_RUN) < set(SCRIPTS)
