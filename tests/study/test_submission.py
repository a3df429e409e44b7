"""Submissions to a benchmark: the maintainer's truth, limits, and attempts to get a wrong number through."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import graphgauge
from tests.sealed import write_sealed

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.schema import read_content
from graphgauge.study import verify_submission
from graphgauge.study.confine import Limits, protections

TRUE = np.random.default_rng(0).normal(size=(40, 2, 3))


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The maintainer's truth, and an honest submission."""
    place = tmp_path_factory.mktemp("benchmark")
    np.save(place / "true.npy", TRUE)
    submit(place / "honest", TRUE, TRUE + 0.1)
    return place


def submit(folder: Path, true: Any, pred: Any) -> Path:
    folder.mkdir(parents=True)
    np.save(folder / "true.npy", true)
    np.save(folder / "pred.npy", pred)
    done = graphgauge(
        "forecasting",
        "--true",
        "true.npy",
        "--pred",
        "pred.npy",
        "--method",
        folder.name,
        "--dataset",
        "toy",
        "-o",
        "result.json",
        "--quiet",
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return folder


def only(folder: Path, truth: str, **options: Any) -> Any:
    (verdict,) = verify_submission(folder, [truth], **options)
    return verdict


def test_an_honest_submission_is_equal_against_the_maintainers_file(benchmark: Path) -> None:
    digest = hashlib.sha256((benchmark / "true.npy").read_bytes()).hexdigest()
    for truth in (f"true={benchmark / 'true.npy'}", f"toy/true={benchmark / 'true.npy'}", f"true=sha256:{digest}"):
        verdict = only(benchmark / "honest", truth)
        assert verdict.status == "equal", str(verdict)
    assert any("true" in pinned for pinned in verdict.proof.pinned)
    assert verdict.values["mae"]["value"] == pytest.approx(0.1)


def test_a_submission_need_not_contain_the_truth(benchmark: Path, tmp_path: Path) -> None:
    shutil.copytree(benchmark / "honest", tmp_path / "s")
    (tmp_path / "s/true.npy").unlink()
    assert only(tmp_path / "s", f"true={benchmark / 'true.npy'}").status == "equal"


def edited(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    content = copy.deepcopy(read_content(folder / "result.json"))
    change(content)
    write_sealed(folder / "result.json", content)


def entry(content: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in content["receipt"]["inputs"] if each["name"] == name)


def options_of(content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = content["receipt"]["command"]["options"]
    return found


# Attempts to have a wrong number called equal: the submission's folder, that of the maintainer, and the content.
ATTEMPTS: dict[str, Callable[[Path, Path, dict[str, Any]], Any]] = {
    "value": lambda own, theirs, c: c["results"][0].update(value=0.0),
    "another truth": lambda own, theirs, c: _own_truth(own, c),
    "predictions are the maintainer's truth": lambda own, theirs, c: _steal(own, theirs, c, "path"),
    "and not in the receipt": lambda own, theirs, c: _steal(own, theirs, c, "option"),
    "by a link": lambda own, theirs, c: _link(own, theirs, c),
    "by a link to the folder": lambda own, theirs, c: _link_folder(own, theirs, c),
    "predictions outside": lambda own, theirs, c: options_of(c).update(pred=["../../elsewhere.npy"]),
    "inputs by another name": lambda own, theirs, c: entry(c, "pred").update(name="true"),
    "truth in place of predictions": lambda own, theirs, c: options_of(c).update(pred=options_of(c)["true"]),
    "no truth": lambda own, theirs, c: options_of(c).pop("true"),
    "another family": lambda own, theirs, c: c["run"].update(family="recovery"),
    "another command": lambda own, theirs, c: c["receipt"]["command"].update(name="merge"),
    "folder above": lambda own, theirs, c: c["receipt"]["command"].update(folder="../.."),
    "folder of the system": lambda own, theirs, c: c["receipt"]["command"].update(folder="/etc"),
    "a mask of its own": lambda own, theirs, c: _mask(own, c),
    "no command": lambda own, theirs, c: c["receipt"].pop("command"),
    "an output": lambda own, theirs, c: options_of(c).update(save_state="x.npz"),
    "a device": lambda own, theirs, c: options_of(c).update(pred=["/dev/zero"]),
    "a pattern of the system": lambda own, theirs, c: options_of(c).update(pred=["/usr/**/*.npy"]),
    "no inputs": lambda own, theirs, c: c["receipt"].update(inputs=[]),
    "an older edition": lambda own, theirs, c: c.update(schema="graphgauge/result/1"),
    "failed": lambda own, theirs, c: c.update(status="failed", error="x"),
}


def _own_truth(own: Path, content: dict[str, Any]) -> None:
    """Everything is consistent with a truth that is easier."""
    shutil.rmtree(own)
    submit(own, TRUE + 0.1, TRUE + 0.1)
    content |= read_content(own / "result.json")


def _steal(own: Path, theirs: Path, content: dict[str, Any], how: str) -> None:
    stolen = theirs / "true.npy"
    options_of(content).update(pred=[str(stolen)])
    if how == "path":
        entry(content, "pred").update(path=str(stolen), hash=hashlib.sha256(stolen.read_bytes()).hexdigest())


def _link(own: Path, theirs: Path, content: dict[str, Any]) -> None:
    (own / "pred.npy").unlink()
    (own / "pred.npy").symlink_to(theirs / "true.npy")
    entry(content, "pred").update(hash=hashlib.sha256((theirs / "true.npy").read_bytes()).hexdigest())


def _link_folder(own: Path, theirs: Path, content: dict[str, Any]) -> None:
    (own / "deep").symlink_to(theirs)
    digest = hashlib.sha256((theirs / "true.npy").read_bytes()).hexdigest()
    entry(content, "pred").update(path="deep/true.npy", hash=digest)
    options_of(content).update(pred=["deep/true.npy"])


def _mask(own: Path, content: dict[str, Any]) -> None:
    np.save(own / "mask.npy", np.ones(TRUE.shape, bool))
    options_of(content).update(mask=["mask.npy"])


# Each starts a process, so that the others are slow tests.
FIRST = ("value", "predictions are the maintainer's truth", "by a link", "folder of the system")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FIRST else pytest.mark.slow) for name in ATTEMPTS]
)
def test_no_wrong_number_is_called_equal(benchmark: Path, tmp_path: Path, name: str) -> None:
    own, theirs = tmp_path / "s", tmp_path / "theirs"
    shutil.copytree(benchmark / "honest", own)
    theirs.mkdir()
    shutil.copy(benchmark / "true.npy", theirs)
    edited(own, lambda content: ATTEMPTS[name](own, theirs, content))
    before = sorted(tmp_path.rglob("*"))
    verdict = only(own, f"true={theirs / 'true.npy'}", limits=Limits(seconds=60))
    assert verdict.mismatch, str(verdict)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_truth_that_is_not_given_leaves_it_unchecked(benchmark: Path, tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    for name in ("true", "pred"):
        shutil.copy(benchmark / f"honest/{name}.npy", folder)
    np.save(folder / "mask.npy", np.ones(TRUE.shape, bool))
    graphgauge(
        "forecasting", "--true", "true.npy", "--pred", "pred.npy", "--mask", "mask.npy", "-o", "r.json", cwd=folder
    )
    verdict = only(folder, f"true={benchmark / 'true.npy'}")
    assert (verdict.status, "mask is the submitter's own" in verdict.detail) == ("unchecked", True)


@pytest.mark.parametrize(
    ("truth", "said"),
    [
        ("true", "cannot be read"),
        ("=x", "cannot be read"),
        ("true=", "cannot be read"),
        ("true=sha256:12", "64 digits"),
    ],
)
def test_truths_that_cannot_be_read(tmp_path: Path, truth: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        verify_submission(tmp_path, [truth])


def test_missing_files_are_named(benchmark: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        verify_submission(benchmark / "honest", ["true=nowhere.npy"])
    with pytest.raises(InputError, match="no such folder"):
        verify_submission(benchmark / "nobody", [f"true={benchmark / 'true.npy'}"])


def test_a_claim_takes_no_longer_than_its_limit(benchmark: Path) -> None:
    verdict = only(benchmark / "honest", f"true={benchmark / 'true.npy'}", limits=Limits(seconds=0.01))
    assert (verdict.status, "took longer than 0.01 s" in verdict.detail) == ("unchecked", True)


# ------------------------------------------------------------------------------------------------- code

SPY = """
import os, pathlib, socket
def model():
    found = []
    try:
        socket.create_connection(("127.0.0.1", {port}), timeout=1); found.append("network")
    except OSError:
        pass
    try:
        found.append(open({secret!r}).read())
    except OSError:
        pass
    try:
        pathlib.Path({outside!r}).write_text("x"); found.append("wrote")
    except OSError:
        pass
    if found:
        raise SystemExit(",".join(found))
    return lambda heads, relations, tails: heads * 0.0 + tails
"""


@pytest.mark.skipif("files" not in protections() or "network" not in protections(), reason="needs Landlock and seccomp")
def test_trusted_code_has_no_network_and_no_other_files(tmp_path: Path) -> None:
    """The code tries to connect, to read and to write outside; in all three it fails, and the result is equal."""
    listener = socket.create_server(("127.0.0.1", 0))
    secret, outside = tmp_path / "secret", tmp_path / "outside"
    secret.write_text("s")
    folder = tmp_path / "s"
    folder.mkdir()
    code = SPY.format(port=listener.getsockname()[1], secret=str(secret), outside=str(outside))
    # Made where nothing is to be found, so that the same code makes the result.
    (folder / "spy.py").write_text(code.replace("if found:", 'if found and "GRAPHGAUGE_SPY" not in os.environ:'))
    np.save(folder / "triples.npy", np.array([[0, 0, 1], [1, 0, 2], [2, 0, 3]]))
    done = graphgauge(
        "ranking",
        "--triples",
        "triples.npy",
        "--model",
        "spy:model",
        "--n-entities",
        5,
        "--method",
        "m",
        "--dataset",
        "d",
        "-o",
        "r.json",
        cwd=folder,
        GRAPHGAUGE_SPY="1",
    )
    assert done.returncode == 0, done.stderr
    outside.unlink(missing_ok=True)
    truth = f"triples={folder / 'triples.npy'}"
    assert "is not imported" in only(folder, truth).detail
    verdict = only(folder, truth, trust_code=True)
    assert verdict.status == "equal", str(verdict)
    assert not outside.exists()
    (folder / "spy.py").write_text("def model(): return lambda h, r, t: h * 0.0\n")
    assert "code changed" in only(folder, truth, trust_code=True).detail
    listener.close()


# ----------------------------------------------------------------------------------------------- the page


def test_the_page_and_the_json_of_a_benchmark(benchmark: Path, tmp_path: Path) -> None:
    shutil.copytree(benchmark / "honest", tmp_path / "good")
    shutil.copytree(benchmark / "honest", tmp_path / "<b>bad")
    edited(tmp_path / "<b>bad", lambda c: (c["results"][0].update(value=0.0), c["run"].update(method="<script>x")))
    words = [word for name in ("good", "<b>bad") for word in ("--submission", name)]
    done = graphgauge(
        "verify", *words, "--truth", f"true={benchmark / 'true.npy'}", "-o", "v.json", "--page", "v.html", cwd=tmp_path
    )
    assert done.returncode == 1, done.stderr
    content = json.loads((tmp_path / "v.json").read_text())
    assert content["outcomes"] == {"equal": 1, "drifted": 1}
    assert [folder["folder"] for folder in content["folders"]] == ["good", "<b>bad"]
    page = (tmp_path / "v.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;x" in page
    assert page.index("Recomputed and equal") < page.index("Not accepted")
    assert "mae 0.1" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "RESULTS, or --submission"),
        (["--submission", "s"], "needs --truth"),
        (["r", "--truth", "a=b"], "needs --sub"),
        (["r", "--submission", "s"], "RESULTS, or --submission"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "s").mkdir()
    done = graphgauge("verify", *words, cwd=tmp_path)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_links_out_of_a_submission_are_not_read(benchmark: Path, tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "result.json").symlink_to(benchmark / "honest/result.json")
    verdict = only(folder, f"true={benchmark / 'true.npy'}")
    assert (verdict.status, "outside the submission" in verdict.detail) == ("damaged", True)
