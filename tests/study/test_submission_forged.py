"""What a submitter can write into a result and its receipt, with a new root: none of it is called equal."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.sealed import sealed, write_sealed

from graphgauge.cli.app import cli
from graphgauge.core.family import family, family_names
from graphgauge.study import verify_submission
from graphgauge.study.page import verdicts_page, verdicts_to_dict
from graphgauge.study.submission import GivenTruth, Submission, Untested, hash_differences

TRUE = np.random.default_rng(0).normal(size=(60, 3))
PRED = TRUE + np.random.default_rng(1).normal(size=TRUE.shape)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The maintainer's `truth` folder, and the submission `own`, with the shell in it."""
    place = tmp_path_factory.mktemp("forged")
    own, truth = place / "own", place / "truth"
    for part in (own, truth):
        part.mkdir()
        np.save(part / "true.npy", TRUE)
        np.savez(part / "t.npz", y=TRUE, z=0 * TRUE)
    np.save(own / "pred.npy", PRED)
    np.save(own / "easy.npy", np.zeros((600, 3)))
    np.save(own / "zero.npy", 0 * TRUE)
    np.save(own / "w.npy", np.array([1.0, 0, 0]))
    before = Path.cwd()
    os.chdir(own)
    yield place
    os.chdir(before)


def made(name: str, *words: str, true: tuple[str, ...] = ("true.npy",), pred: tuple[str, ...] = ("pred.npy",)) -> Any:
    files = [word for path in true for word in ("--true", path)] + [word for path in pred for word in ("--pred", path)]
    done = CliRunner().invoke(cli, ["forecasting", *files, "--axes", "time,node", *words, "-o", name, "--quiet"])
    assert done.exit_code == 0, done.output
    return json.loads(Path(name).read_text())


def verdicts(folder: Path, *truths: str) -> dict[str, Any]:
    return {verdict.path.stem: verdict for verdict in verify_submission(folder / "own", truths)}


def clear(folder: Path) -> None:
    for path in (folder / "own").glob("*.json"):
        path.unlink()


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_hash_is_compared_with_what_was_read(folder: Path) -> None:
    """Not with what the receipt says; of every file; and of the array, not of the archive around it."""
    clear(folder)
    asked = digest(folder / "truth/true.npy")
    made("honest.json")
    made("archive.json", true=("t.npz:y",))
    for fact in ("content", "truth", "hash"):
        content = made(f"said_{fact}.json", true=("zero.npy",))
        for entry in content["receipt"]["inputs"]:
            if entry["name"] == "true":
                entry[fact] = asked
        write_sealed(Path(f"said_{fact}.json"), content)
    content = made("shards.json", true=("easy.npy", "true.npy"), pred=("easy.npy", "pred.npy"))
    # With one entry for two files, too.
    content["receipt"]["inputs"] = [e for e in content["receipt"]["inputs"] if e["path"] != "easy.npy"]
    write_sealed(Path("hidden_shard.json"), content)
    made("other_member.json", true=("t.npz:z",))
    found = verdicts(folder, f"true=sha256:{asked}")
    assert {name: verdict.status for name, verdict in found.items()} == {
        "honest": "equal",
        "archive": "equal",
        "said_content": "failed",
        "said_truth": "failed",
        "said_hash": "failed",
        "shards": "failed",
        "hidden_shard": "failed",
        "other_member": "failed",
    }
    for name in ("said_content", "shards", "hidden_shard", "other_member"):
        assert "truth differs: true" in found[name].detail
    of_archive = verdicts(folder, f"true=sha256:{digest(folder / 'truth/t.npz')}")
    assert not any(verdict.status == "equal" for verdict in of_archive.values())


def test_one_hash_is_of_one_file() -> None:
    truth = GivenTruth("true", None, None, "a" * 64)
    entry = {"name": "true", "path": "x.npy", "hash": "a" * 64}
    assert not list(hash_differences([truth], [entry]))
    for inputs in ([], [entry, entry], [{**entry, "path": "x.npz"}], [{**entry, "hash": "b" * 64}]):
        assert len(list(hash_differences([truth], inputs))) == 1


EDITS: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "a value twice": ("damaged", lambda c: c["results"].insert(0, {**c["results"][0], "value": 1e-4})),
    "an unknown field of a value": ("drifted", lambda c: c["results"][0].update(certified=True)),
    "a count as a float": ("damaged", lambda c: c["results"][0].update(n=float(c["results"][0]["n"]))),
    "a flag as a number": ("damaged", lambda c: c["results"][0].update(oracle=0)),
    "versions null": ("damaged", lambda c: c["receipt"].update(versions=None)),
    "versions as a list": ("damaged", lambda c: c["receipt"].update(versions=["x"])),
    "no versions": ("damaged", lambda c: c["receipt"].pop("versions")),
    "no side files": ("damaged", lambda c: c.pop("side_files")),
    "no receipt": ("damaged", lambda c: c.pop("receipt")),
    "inputs without hash": ("damaged", lambda c: [entry.pop("hash") for entry in c["receipt"]["inputs"]]),
    "inputs as text": ("damaged", lambda c: c["receipt"].update(inputs=["true"])),
    "a seed as a list": ("damaged", lambda c: c["run"].update(seed=[1])),
    "a level as text": ("damaged", lambda c: c["results"][0]["interval"].update(level="high")),
    "a line of its own": ("damaged", lambda c: c["conventions"].update({"x\nother.json: equal": 3})),
    "a pattern without end": ("damaged", lambda c: _options(c).update(pred=["*/../" * 9 + "pred*.npy"])),
    "a pattern of the system": ("failed", lambda c: _options(c).update(pred=["/*" * 7 + "/x.npy"])),
    "a mesh of links": ("failed", lambda c: _options(c).update(pred=["mesh"])),
    "the same without harm": ("equal", lambda c: c["receipt"].update(certified="by nobody")),
    "an unknown field": ("equal", lambda c: c.update(headline="SOTA")),
}


def _options(content: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = content["receipt"]["command"]["options"]
    return options


def test_edits_with_a_new_root(folder: Path) -> None:
    """One verification of all: none stops that of the others, and a verdict comes within seconds."""
    clear(folder)
    honest = made("honest.json")
    for one in range(8):
        (folder / f"own/d{one}").mkdir()
        (folder / f"own/mesh/l{one}").mkdir(parents=True, exist_ok=True)
        for other in range(8):
            (folder / f"own/mesh/l{one}/k{other}").symlink_to(folder / f"own/mesh/l{other}")
    for name, (_, edit) in EDITS.items():
        content = copy.deepcopy(honest)
        edit(content)
        write_sealed(Path(f"{name}.json"), content)
    content = {**honest, "run": {**honest["run"], "note": 12345678}}
    Path("a number beyond all floats.json").write_text(json.dumps(sealed(content)).replace("12345678", "1e400"))
    made("weights.json", "--weights", "w.npy")
    made("null.json", "--null-value", "0", "--null-tolerance", "1")
    shutil.copy("pred.npy", "1²3.npy")
    made("digits.json", pred=("1*.npy",))
    begin = time.perf_counter()
    found = verdicts(folder, f"true={folder / 'truth/t.npz'}:y")
    assert time.perf_counter() - begin < 120
    expected = {name: status for name, (status, _) in EDITS.items()}
    expected |= {
        "honest": "equal",
        "a number beyond all floats": "damaged",
        "weights": "unchecked",
        "null": "equal",
        "digits": "equal",
    }
    assert {name: verdict.status for name, verdict in found.items()} == expected
    assert "weights is the submitter's own" in found["weights"].detail
    assert not any("\n" in verdict.detail for verdict in found.values())
    # Options are the submitter's choice, so they are shown.
    assert "null_value 0.0, null_tolerance 1.0" in found["null"].detail
    assert found["null"].options["null_tolerance"] == 1.0
    # What nobody knows is declared, and nothing more.
    assert "receipt.certified" in found["the same without harm"].proof.declared
    assert "headline" in found["an unknown field"].proof.declared
    page = verdicts_page({folder / "own": list(found.values())})
    assert "null_tolerance 1.0" in page
    assert "options differ" in page
    json.dumps(verdicts_to_dict({folder / "own": list(found.values())}), allow_nan=False)


def test_side_files_are_not_read_through_links_out_of_the_submission(folder: Path) -> None:
    clear(folder)
    np.save("pos.npy", PRED[:, 0])
    np.save("neg.npy", PRED)
    words = ["ranking", "--pos-scores", "pos.npy", "--neg-scores", "neg.npy", "--keep", "items", "-o", "items.json"]
    assert CliRunner().invoke(cli, words).exit_code == 0
    shutil.move("items.items.npz", folder / "outside.npz")
    Path("items.items.npz").symlink_to(folder / "outside.npz")
    (verdict,) = verdicts(folder, f"mask={folder / 'truth/true.npy'}").values()
    assert (verdict.status, "outside the submission" in verdict.detail) == ("damaged", True)
    Path("items.items.npz").unlink()


FORMS = [(name, by) for name in family_names() for by in family(name).truths]


@pytest.mark.parametrize(("name", "by"), FORMS)
def test_every_file_but_the_answers_must_be_given(name: str, by: str, tmp_path: Path) -> None:
    declared = family(name)
    form = declared.truths[by]
    truth = GivenTruth("mask" if by in form.answers else by, None, None, "a" * 64)
    required = {field: "y.npy" for field, one in declared.fields.items() if one.required}
    tried = []
    submission = Submission(tmp_path, (truth,))
    for field, one in declared.fields.items():
        value = {"a": "x.npy"} if field in ("groups", "against") else "x.npy"
        try:
            read = one.read(value)
        except Exception:  # not a file
            continue
        if field in (by, truth.name, *form.answers, *declared.truths) or not any(True for _ in one.kind.paths(read)):
            continue
        options = {**required, by: "truth.npy", field: value}
        tried.append(field)
        with pytest.raises(Untested, match=f"its truth .*{field}"):
            submission._require_all(name, options, [truth])
    assert tried or name == "recovery"  # whose only files are the two graphs
