"""A benchmark's maintainer verifies ten submissions: five right, three wrong, two hostile."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.sealed import write_sealed

from graphgauge.cli.app import cli
from graphgauge.core.schema import read_content

TRUE = np.random.default_rng(0).normal(size=(40, 3))


def submit(folder: Path, error: float, true: Any = TRUE) -> dict[str, Any]:
    folder.mkdir(parents=True)
    np.save(folder / "true.npy", true)
    np.save(folder / "pred.npy", true + error * np.random.default_rng(1).normal(size=TRUE.shape))
    before = Path.cwd()
    os.chdir(folder)
    try:
        words = ["forecasting", "--true=true.npy", "--pred=pred.npy", "--axes=time,node", "--metrics=mae,rmse"]
        names = [f"--method={folder.name}", "--dataset=toy", "--quiet", "--output=result.json"]
        done = CliRunner().invoke(cli, [*words, *names])
        assert done.exit_code == 0, done.output
    finally:
        os.chdir(before)
    return read_content(folder / "result.json")


@pytest.mark.slow
def test_ten_submissions(tmp_path: Path) -> None:
    np.save(tmp_path / "truth.npy", TRUE)
    place = tmp_path / "submissions"
    right = {f"right{number}": 0.1 * (number + 1) for number in range(5)}
    for name, error in right.items():
        submit(place / name, error)
    # A better value than its predictions give, an easier truth, and the predictions of another model.
    content = submit(place / "wrong0", 0.5)
    content["results"][0]["value"] /= 2
    write_sealed(place / "wrong0/result.json", content)
    submit(place / "wrong1", 0.01, 0 * TRUE)
    submit(place / "wrong2", 0.5)
    np.save(place / "wrong2/pred.npy", TRUE)
    # Predictions that are the maintainer's truth, by a link and by a way through /proc, under names that would run.
    for number, path in enumerate([str(tmp_path / "truth.npy"), f"/proc/self/root{tmp_path}/truth.npy"]):
        name = f"hostile{number}"
        content = submit(place / name, 0.5)
        (place / name / "link.npy").symlink_to(path)
        content["run"]["method"] = "<script>alert(1)</script>\x1b[2J"
        content["receipt"]["command"]["options"]["pred"] = ["link.npy"]
        for entry in content["receipt"]["inputs"]:
            entry["path"] = "link.npy" if entry["name"] == "pred" else entry["path"]
        write_sealed(place / name / "result.json", content)
    folders = [word for folder in sorted(place.iterdir()) for word in ("--submission", str(folder))]
    files = ["--page", str(tmp_path / "page.html"), "--output", str(tmp_path / "verdicts.json")]
    done = CliRunner().invoke(
        cli, ["verify", *folders, "--truth", f"true={tmp_path / 'truth.npy'}", *files, "--jobs", "1"]
    )
    assert done.exit_code == 1, done.output
    verdicts = json.loads((tmp_path / "verdicts.json").read_text())
    text = json.dumps(verdicts)
    assert text.count('"outcome": "equal"') == 5, done.output
    assert "\x1b" not in done.output
    page = (tmp_path / "page.html").read_text()
    assert "<script>alert(1)" not in page
    outcomes = {line.split("/")[0]: line for line in done.output.splitlines() if "result.json" in line}
    assert all("equal" in outcomes[name] for name in right), done.output
    assert not any("equal" in line for name, line in outcomes.items() if name not in right), done.output
    assert all("outside the submission" in outcomes[f"hostile{number}"] for number in range(2)), done.output
    print(done.output)
