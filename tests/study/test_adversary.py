"""Attempts of somebody who did not write the verifier: none may pass as recomputed, or stop a verification."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.command import graphgauge
from tests.sealed import sealed, write_sealed

from graphgauge.cli.app import cli
from graphgauge.core.errors import InputError
from graphgauge.old.core.schema import read_content, read_result, result_files
from graphgauge.study import verify

TRUE = np.random.default_rng(0).normal(size=(60, 3))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The shell is in it."""
    place = tmp_path_factory.mktemp("forged")
    np.save(place / "true.npy", TRUE)
    np.save(place / "pred.npy", TRUE + np.random.default_rng(1).normal(size=TRUE.shape))
    before = Path.cwd()
    os.chdir(place)
    yield place
    os.chdir(before)


def made(name: str, pred: str = "pred.npy") -> dict[str, Any]:
    files = ["--true", "true.npy", "--pred", pred, "--axes", "time,node"]
    done = CliRunner().invoke(cli, ["forecasting", *files, "-o", name, "--quiet"])
    assert done.exit_code == 0, done.output
    content: dict[str, Any] = json.loads(Path(name).read_text())
    return content


def entry(content: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in content["receipt"]["inputs"] if each["name"] == name)


def options_of(content: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = content["receipt"]["command"]["options"]
    return options


# What the recomputed fields and the pinned inputs say, changed and sealed again.
FORGED: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "content of the truth": ("drifted", lambda c: entry(c, "true").update(content="f" * 64)),
    "a truth inside the predictions": ("drifted", lambda c: entry(c, "pred").update(truth="f" * 64)),
    "a metric twice": ("damaged", lambda c: c["results"].append({**c["results"][0], "value": 0.0})),
    "a value twice": ("damaged", lambda c: c["results"].insert(0, {**c["results"][0], "value": 1e-4})),
    "a p-value": ("drifted", lambda c: c["results"][0].update(p_value=0.001)),
    "an unknown field of a value": ("drifted", lambda c: c["results"][0].update(certified=True)),
    "a certificate in the run": ("drifted", lambda c: c["run"].update(verified_by="somebody")),
    "a finding": (
        "drifted",
        lambda c: c["findings"].append(
            {"check": "x", "severity": "note", "message": "certified", "evidence": {}, "remedy": "", "ignored": False}
        ),
    ),
    "itself as a side file": (
        "drifted",
        lambda c: c["side_files"].append({"role": "items", "path": "x.json", "hash": "0" * 64, "rows": 1}),
    ),
    "a value in the last digits": (
        "drifted",
        lambda c: c["results"][0].update(value=c["results"][0]["value"] * (1 + 1e-12)),
    ),
    "a count as a float": ("damaged", lambda c: c["results"][0].update(n=float(c["results"][0]["n"]))),
    "a flag as a number": ("damaged", lambda c: c["results"][0].update(oracle=0)),
    "versions null": ("damaged", lambda c: c["receipt"].update(versions=None)),
    "versions as a list": ("damaged", lambda c: c["receipt"].update(versions=["x"])),
    "no versions": ("damaged", lambda c: c["receipt"].pop("versions")),
    "no side files": ("damaged", lambda c: c.pop("side_files")),
    "no receipt": ("damaged", lambda c: c.pop("receipt")),
    "inputs without hash": ("damaged", lambda c: [each.pop("hash") for each in c["receipt"]["inputs"]]),
    "inputs as text": ("damaged", lambda c: c["receipt"].update(inputs=["true"])),
    "a seed as a list": ("damaged", lambda c: c["run"].update(seed=[1])),
    "a seed as a fraction": ("damaged", lambda c: c["run"].update(seed=1.5)),
    "a level as text": ("damaged", lambda c: c["results"][0]["interval"].update(level="high")),
    "a line of its own": ("damaged", lambda c: c["conventions"].update({"x\nother.json: equal": 3})),
    "a pattern without end": ("damaged", lambda c: options_of(c).update(pred=["*/../" * 9 + "pred*.npy"])),
    "a pattern of the system": ("damaged", lambda c: options_of(c).update(pred=["/*" * 7 + "/x.npy"])),
    "a mesh of links": ("failed", lambda c: options_of(c).update(pred=["mesh"])),
}
# What no computation can confirm.
CLAIMED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a field of its own": lambda c: c.update(award="first prize"),
    "a field of the receipt": lambda c: c["receipt"].update(gpu="large"),
    "a name with an escape": lambda c: c.update({"\x1b[2Jequal": 1}),
    "another clock": lambda c: c["receipt"].update(started="2099-01-01T00:00:00+00:00"),
    "a large seed": lambda c: c["run"].update(seed=10**30),
}


def test_forged_and_claimed_fields(folder: Path) -> None:
    """One verification of all: none stops that of the others, and a verdict comes within seconds."""
    honest = made("honest.json")
    for one in range(8):
        (folder / f"d{one}").mkdir()
        (folder / f"mesh/l{one}").mkdir(parents=True, exist_ok=True)
        for other in range(8):
            (folder / f"mesh/l{one}/k{other}").symlink_to(folder / f"mesh/l{other}")
    expected = {name: status for name, (status, _) in FORGED.items()} | dict.fromkeys(CLAIMED, "equal")
    for name, change in {**{name: change for name, (_, change) in FORGED.items()}, **CLAIMED}.items():
        content = copy.deepcopy(honest)
        change(content)
        write_sealed(Path(f"{name}.json"), content)
    content = {**honest, "run": {**honest["run"], "note": 12345678}}
    Path("a number beyond all floats.json").write_text(json.dumps(sealed(content)).replace("12345678", "1e400"))
    shutil.copy("pred.npy", "1²3.npy")
    made("digits.json", "1*.npy")
    begin = time.perf_counter()
    found = {verdict.path.stem: verdict for verdict in verify(folder, jobs=1)}
    assert time.perf_counter() - begin < 120
    expected |= {"honest": "equal", "a number beyond all floats": "damaged", "digits": "equal"}
    assert {name: verdict.status for name, verdict in found.items()} == expected
    assert not any("\n" in verdict.detail for verdict in found.values())
    assert "run.seed is 1.5, not a whole number" in found["a seed as a fraction"].detail
    json.dumps([verdict.to_dict(folder) for verdict in found.values()], allow_nan=False)


PLACES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "run": lambda c: c["run"],
    "receipt": lambda c: c["receipt"],
    "file": lambda c: c,
    "a value": lambda c: c["results"][0],
    "options": lambda c: c["options"],
}


@pytest.fixture
def own(folder: Path, tmp_path: Path) -> Path:
    made("own.json")
    for name in ("own.json", "true.npy", "pred.npy"):
        shutil.copy(folder / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("depth", "lists"), [(60, False), (900, True)])
def test_deep_nesting(own: Path, place: str, depth: int, lists: bool) -> None:
    content = read_content(own / "own.json")
    deep: Any = 1
    for _ in range(depth):
        deep = [deep] if lists else {"a": deep}
    PLACES[place](content)["deep"] = deep
    content = sealed(content) if depth < 500 else content
    (own / "own.json").write_text(json.dumps(content))
    (verdict,) = verify(own / "own.json")
    assert verdict.status == "damaged"
    assert "nested more than 50 levels deep" in verdict.detail
    with pytest.raises(InputError, match="nested more than 50 levels deep"):
        read_result(own / "own.json")


def test_folders_nested_beyond_any_path(own: Path) -> None:
    before = Path.cwd()
    (own / "round").symlink_to(own)
    (own / "loop.json").symlink_to("loop.json")
    try:
        os.chdir(own)
        for _ in range(1500):
            Path("abcd").mkdir()
            os.chdir("abcd")
        assert result_files(own) == [own / "own.json"]
    finally:
        os.chdir(before)
        # Python's own functions do not remove folders that are nested as deeply as this.
        subprocess.run(["rm", "-rf", own / "abcd"], check=True)


def test_pipes_are_not_waited_for(own: Path) -> None:
    os.mkfifo(own / "x.json")
    assert result_files(own) == [own / "own.json"]
    (own / "pred.npy").unlink()
    os.mkfifo(own / "pred.npy")
    (verdict,) = verify(own / "own.json")
    assert (verdict.status, "inputs missing" in verdict.detail) == ("unchecked", True)


def test_code_is_imported_only_if_it_is_trusted_and_unchanged(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("def model(): return lambda heads, relations, tails: heads * 0.0 + tails\n")
    np.save(tmp_path / "triples.npy", np.array([[0, 0, 1], [1, 0, 2], [2, 0, 3]]))
    words = ("ranking", "--triples", "triples.npy", "--model", "model:model", "--n-entities", 5)
    done = graphgauge(*words, "--method", "m", "--dataset", "d", "-o", "r.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (verdict,) = verify(tmp_path / "r.json")
    assert (verdict.status, "is not imported" in verdict.detail) == ("unchecked", True)
    (verdict,) = verify(tmp_path / "r.json", trust_code=True)
    assert verdict.status == "equal", str(verdict)
    (tmp_path / "model.py").write_text("def model(): return lambda h, r, t: h * 0.0\n")
    (verdict,) = verify(tmp_path / "r.json", trust_code=True)
    assert (verdict.status, "code changed" in verdict.detail) == ("failed", True)
