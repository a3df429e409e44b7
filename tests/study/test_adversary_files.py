"""Files of a submission that would stop the verification of all, or be read from somewhere else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.sealed import write_sealed

from graphgauge.cli.app import cli
from graphgauge.core.errors import InputError
from graphgauge.core.schema import read_content, read_result, result_files, sealed
from graphgauge.study.claim import Claim, Examiner, Verdict
from graphgauge.study.confine import Limits
from graphgauge.study.page import verdicts_page, verdicts_to_dict
from graphgauge.study.submission import Submission

TRUE = np.random.default_rng(0).normal(size=(30, 3))
HOLE = 1 << 42  # bytes


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("benchmark") / "honest"
    folder.mkdir()
    np.save(folder.parent / "true.npy", TRUE)
    np.save(folder / "true.npy", TRUE)
    np.save(folder / "pred.npy", TRUE + 0.1)
    before = Path.cwd()
    os.chdir(folder)
    try:
        words = ["forecasting", "--true=true.npy", "--pred=pred.npy", "--axes=time,node", "--metrics=mae", "--quiet"]
        cli.main([*words, "--format=json", "--output=result.json"], standalone_mode=False)
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def folder(honest: Path, tmp_path: Path) -> Path:
    shutil.copytree(honest, tmp_path / "own")
    shutil.copy(honest.parent / "true.npy", tmp_path / "true.npy")
    return tmp_path / "own"


def examined(folder: Path, **limits: Any) -> Claim | Verdict:
    submission = Submission.of(folder, [f"true={folder.parent / 'true.npy'}"])
    found = Examiner(submission, limits=Limits(**limits)).examined(folder / "result.json")
    assert found is not None
    return found


def refused(folder: Path, status: str, words: str, **limits: Any) -> None:
    begin = time.perf_counter()
    found = examined(folder, **limits)
    assert isinstance(found, Verdict)
    assert found.status == status, str(found)
    assert words in found.detail
    assert time.perf_counter() - begin < 5
    verdicts_page({folder: [found]}).encode()
    json.dumps(verdicts_to_dict({folder: [found]}), allow_nan=False).encode()


def edit(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    content = read_content(folder / "result.json")
    change(content)
    write_sealed(folder / "result.json", content)


def of_pred(content: dict[str, Any]) -> dict[str, Any]:
    return next(entry for entry in content["receipt"]["inputs"] if entry["name"] == "pred")


def test_an_honest_submission_is_a_claim(folder: Path) -> None:
    assert isinstance(examined(folder), Claim)


PLACES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "run": lambda c: c["run"],
    "receipt": lambda c: c["receipt"],
    "file": lambda c: c,
    "a value": lambda c: c["results"][0],
    "options": lambda c: c["options"],
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("depth", "lists"), [(60, False), (900, True)])
def test_deep_nesting(folder: Path, place: str, depth: int, lists: bool) -> None:
    content = read_content(folder / "result.json")
    deep: Any = 1
    for _ in range(depth):
        deep = [deep] if lists else {"a": deep}
    PLACES[place](content)["deep"] = deep
    content = sealed(content) if depth < 500 else content
    (folder / "result.json").write_text(json.dumps(content))
    refused(folder, "damaged", "nested more than 50 levels deep")
    with pytest.raises(InputError, match="nested more than 50 levels deep"):
        read_result(folder / "result.json")


def test_files_with_holes(folder: Path) -> None:
    with (folder / "pred.npy").open("r+b") as stream:
        stream.truncate(HOLE)
    edit(folder, lambda c: of_pred(c).update(bytes=HOLE))
    refused(folder, "unchecked", "larger than the limit of memory")
    refused(folder, "unchecked", "took longer than 0 s", memory=2 * HOLE, seconds=0)


def test_a_side_file_with_a_hole(folder: Path) -> None:
    with (folder / "result.items.npz").open("wb") as stream:
        stream.truncate(HOLE)
    side = {"role": "items", "path": "result.items.npz", "hash": "0" * 64, "rows": 1}
    edit(folder, lambda c: c["side_files"].append(side))
    begin = time.perf_counter()
    assert any("larger than the limit of a file" in fault for fault in examined(folder).faults)  # type: ignore[union-attr]
    assert time.perf_counter() - begin < 5


PATHS = {
    "the working folder": "/proc/self/cwd/{up}{truth}",
    "the root": "/proc/self/root{truth}",
    "a thread": "/proc/thread-self/cwd/pred.npy",
    "nothing that is there": "/nowhere/pred.npy",
    "above": "../{name}/../true.npy",
}


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("linked", [False, True])
def test_predictions_from_elsewhere(folder: Path, name: str, linked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)  # so that /proc/self/cwd is inside for this process
    truth = str(folder.parent / "true.npy")
    path = PATHS[name].format(up="../" * 20, truth=truth.lstrip("/") if "cwd" in PATHS[name] else truth, name="own")
    if linked:
        (folder / "link.npy").symlink_to(path)
        path = "link.npy"
    edit(folder, lambda c: (c["receipt"]["command"]["options"].update(pred=[path]), of_pred(c).update(path=path)))
    refused(folder, "failed", "is outside the submission")


def test_links_through_proc_are_not_inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "one").symlink_to("two")
    (folder / "two").symlink_to("/proc/self/cwd")
    submission = Submission.of(folder, [])
    assert (folder / "one/pred.npy").resolve() == (folder / "pred.npy").resolve()
    assert not submission.contains(folder / "one/pred.npy")
    assert not submission.contains(folder / f"two/../{folder.name}/pred.npy")
    (folder / "round").symlink_to("round/further")
    assert not submission.contains(folder / "round/pred.npy")
    assert submission.contains(folder / "pred.npy")
    assert submission.contains(folder / "absent.npy")


def test_folders_nested_beyond_any_path(folder: Path) -> None:
    before = Path.cwd()
    (folder / "round").symlink_to(folder)
    (folder / "loop.json").symlink_to("loop.json")
    try:
        os.chdir(folder)
        for _ in range(1500):
            Path("abcd").mkdir()
            os.chdir("abcd")
        assert result_files(folder) == [folder / "result.json"]
    finally:
        os.chdir(before)
        # Python's own functions do not remove folders that are nested as deeply as this.
        subprocess.run(["rm", "-rf", folder / "abcd"], check=True)


def test_pipes_are_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "x.json")
    assert result_files(folder) == [folder / "result.json"]
    (folder / "pred.npy").unlink()
    os.mkfifo(folder / "pred.npy")
    refused(folder, "unchecked", "inputs missing")
