"""The workflow of docs/gates.md in a repository of a model: a better, an equal and a worse checkpoint."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "gates.md"
SCORE = """import json
import numpy as np
draw = np.random.default_rng(0)
np.save("neg.npy", draw.normal(0, 1, (400, 20)))
np.save("pos.npy", draw.normal(1, 1, 400) + json.load(open("checkpoint.json"))["shift"])
"""
SHIFTS = {"better": 0.3, "equal": 0.0, "worse": -0.4}


def steps() -> list[str]:
    """The commands of the workflow, without the installation."""
    text = re.search(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert text is not None
    found = re.findall(r"^      - run: (>\n(?:          .*\n)+|.*\n)", text[1], re.MULTILINE)
    commands = [" ".join(step.removeprefix(">").split()) for step in found]
    assert commands[0].startswith("pip install")
    return [command.partition("  #")[0] for command in commands[1:]]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model")
    programs = place / ".programs"
    programs.mkdir()
    for name, module in {"graphgauge": "-m graphgauge", "python": ""}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n')
        (programs / name).chmod(0o755)
    (place / "score.py").write_text(SCORE)
    (place / "checkpoint.json").write_text('{"shift": 0.0}')
    git(place, "init", "-q", "-b", "main")
    done = job(place, [steps()[0], steps()[1].replace("new.json", "baseline/main.json")])
    assert all(step.returncode == 0 for step in done), done[-1].stderr
    git(place, "add", "score.py", "checkpoint.json", "baseline")
    git(place, "commit", "-qm", "main")
    for name, shift in SHIFTS.items():
        git(place, "checkout", "-q", "-b", name, "main")
        (place / "checkpoint.json").write_text(f'{{"shift": {shift}}}')
        git(place, "commit", "-qam", name, "--allow-empty")
    return place


def git(place: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *words], cwd=place, check=True, capture_output=True)


def job(place: Path, commands: list[str]) -> list[subprocess.CompletedProcess[str]]:
    """The steps, until one fails, as a runner of GitHub Actions would."""
    settings = {
        **os.environ,
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(place / "summary.md"),
        "PATH": f"{place / '.programs'}:{os.environ['PATH']}",
    }
    done = []
    for command in commands:
        ended = subprocess.run(
            ["bash", "-e", "-c", command], cwd=place, env=settings, capture_output=True, text=True, check=False
        )
        done.append(ended)
        if ended.returncode:
            break
    return done


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIFTS)
def test_a_pull_request(repository: Path, name: str) -> None:
    git(repository, "checkout", "-q", name)
    done = job(repository, steps())
    failed = name == "worse"
    assert len(done) == 3
    assert done[-1].returncode == int(failed), done[-1].stderr
    lines = done[-1].stderr.splitlines()
    assert len([line for line in lines if line.startswith("::error")]) == 2 * failed
    assert len([line for line in lines if line.startswith("::notice")]) == 1
    suite = ET.parse(repository / "gate.xml").getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("3", str(2 * failed))
    summary = (repository / "summary.md").read_text()
    assert ("did not pass" in summary) == failed
    assert "| " in summary
    assert (repository / "gate.svg").read_text().startswith("<?xml")
