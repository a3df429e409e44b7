"""`graphgauge verify`: equal, drifted and by how much, inputs changed or missing and which; and nothing is imported."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pytest
from tests.command import graphgauge as command

from graphgauge._version import __version__
from graphgauge.old.core.schema import root_of
from graphgauge.study import verify
from graphgauge.study.drift import differences

RESULT = "results/good/ranking/metrics_toy_1.json"


def changed(path, change, *, sealed=False):
    """Change a result file's content, with its hash brought up to date if it is to pass for an older version's."""
    content = json.loads(path.read_text())
    change(content)
    if sealed:
        content["root"] = root_of(content)
    path.write_text(json.dumps(content))


def verdict_of(folder, name=RESULT):
    (found,) = verify(folder / name)
    return found


def test_equal_results_and_exit_code(finished):
    done = command("verify", "results", cwd=finished)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": equal\n") == 6
    assert "6 results: 6 equal" in done.stderr
    assert command("verify", "results", "--quiet", cwd=finished).stdout == ""


def test_one_byte_of_an_input_is_named(finished):
    path = finished / "scores/good/1/neg-1.npy"
    before, content = path.stat(), bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # also if nothing else shows it
    done = command("verify", "results", cwd=finished)
    assert done.returncode == 1
    assert (
        "good/ranking/metrics_toy_1.json: failed: inputs changed: scores/good/1/neg-1.npy (neg_scores)" in done.stdout
    )
    assert done.stdout.count(": equal\n") == 5


def test_a_missing_input_is_named(finished):
    (finished / "scores/good/1/pos.npy").unlink()
    assert str(verdict_of(finished)) == "unchecked: inputs missing: scores/good/1/pos.npy (pos_scores)"


def test_drift_of_another_version_is_told_with_its_size(finished):
    def other_version(content):
        content["receipt"]["versions"]["graphgauge"] = "0.0.1"
        content["results"][0]["value"] *= 1.01
        content["results"][0]["interval"]["low"] *= 0.999

    changed(finished / RESULT, other_version, sealed=True)
    verdict = verdict_of(finished)
    assert verdict.status == "drifted"
    text = str(verdict)
    assert "mrr 0." in text
    assert "0.0099 of it" in text
    assert "low" in text
    assert f"made by 0.0.1, now {__version__}" in text
    assert "changed after it was written" not in text
    assert command("verify", "results", cwd=finished).returncode == 1


def test_another_version_with_the_same_numbers_is_equal_and_named(finished):
    changed(finished / RESULT, lambda content: content["receipt"]["versions"].update(graphgauge="0.0.1"), sealed=True)
    assert str(verdict_of(finished)) == f"equal (made by 0.0.1, now {__version__})"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: content["results"][0].update(value=0.9), ["mrr 0.9 →", "changed after it was written"]),
        (lambda content: content["results"].pop(), ["is new"]),
        (lambda content: content["results"].append({**content["results"][0], "key": "made@1"}), ["made@1 is missing"]),
        (lambda content: content["results"][0].update(value=None, reason="x"), ["nan →"]),
        (lambda content: content["conventions"].update(ties="optimistic"), ["conventions differ"]),
        (lambda content: content["breakdowns"][0]["columns"]["mrr"].reverse(), ["breakdowns differ"]),
        (lambda content: content["results"][0].update(direction="lower"), ["the metadata of the values differs"]),
    ],
)
def test_edited_results_are_found(finished, change, words):
    changed(finished / RESULT, change)
    verdict = verdict_of(finished)
    assert verdict.status == "drifted"
    assert all(word in verdict.detail for word in words), verdict.detail


def test_what_is_no_longer_infinite_has_moved_farthest():
    then, now = (
        {"results": [{"key": key, "value": value, "interval": None, "n": 1} for key, value in values.items()]}
        for values in ({"a": 1.0, "b": "inf", "c": 2.0}, {"a": 1.5, "b": 3.0, "c": 2.0})
    )
    assert differences(then, now) == ["b inf → 3", "a 1 → 1.5 (by 0.5, 0.33 of it)"]


def test_files_beside_a_result_are_compared(study):
    text = (study / "study.toml").read_text().replace("k = [1, 3]", 'keep = "items"')
    (study / "study.toml").write_text(text)
    command("run", "study.toml", "--quiet", cwd=study)
    assert verdict_of(study).status == "equal"
    changed(study / RESULT, lambda content: content["side_files"][0].update(hash="0" * 64), sealed=True)
    assert "side_files differ" in verdict_of(study).detail


def test_a_moved_study_is_still_verified(finished, tmp_path_factory):
    new = tmp_path_factory.mktemp("new") / "place"
    shutil.move(finished, new)
    assert {verdict.status for verdict in verify(new / "results")} == {"equal"}


def test_failed_and_foreign_results(finished):
    np.save(finished / "scores/good/1/pos.npy", np.full(60, np.nan))
    command("run", "study.toml", "--quiet", cwd=finished)
    assert verdict_of(finished).status == "failed"
    scores = ("--pos-scores", "scores/poor/1/pos.npy", "--neg-scores", "scores/poor/1/neg-*.npy")
    command("ranking", *scores, "-o", "x.json", cwd=finished)
    done = command("verify", "x.json", cwd=finished)
    assert done.returncode == 0
    assert "x.json: equal: method, dataset and seed are as declared" in done.stdout
    changed(finished / "x.json", lambda content: content["receipt"].pop("command"), sealed=True)
    done = command("verify", "x.json", cwd=finished)
    assert "unchecked: not recomputed: its inputs are unchanged, but it does not say how it was made" in done.stdout
    assert done.returncode == 1


def test_verdicts_as_json(finished):
    done = command("verify", "results", "--format", "json", "-o", "verdicts.json", cwd=finished)
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content == json.loads((finished / "verdicts.json").read_text())
    assert (content["passed"], content["outcomes"]) == (True, {"equal": 6})
    assert [verdict["outcome"] for verdict in content["verdicts"]] == ["equal"] * 6
    assert f"results/{content['verdicts'][1]['path']}" == RESULT


def test_damaged_files_are_mismatches_and_other_json_is_none(finished):
    (finished / RESULT).write_text('{"schema": "graphgauge/result/2"}')
    (finished / "results/notes.json").write_text('{"a": 1}')
    (finished / "results/cut.json").write_text('{"a": ')
    found = {verdict.path.name: verdict.status for verdict in verify(finished / "results") if verdict.status != "equal"}
    assert found == {"metrics_toy_1.json": "damaged", "cut.json": "damaged"}


@pytest.mark.parametrize(
    "change",
    [
        lambda receipt: receipt["study"]["options"].update(save_state="stolen.npz"),
        lambda receipt: receipt["study"]["options"].update(output="stolen.npz"),
        lambda receipt: receipt["study"]["options"].update(progress="stolen.npz"),
        lambda receipt: receipt["study"]["options"].update(k="stolen.npz"),
        lambda receipt: receipt["study"]["options"].update(pos_scores=[{"a": 3}]),
        lambda receipt: receipt["study"].update(options=["stolen.npz"]),
        lambda receipt: receipt["study"].update(options=3),
        lambda receipt: receipt["study"].update(folder=["x"]),
        lambda receipt: receipt.update(study=7),
        lambda receipt: receipt.update(inputs=[{"path": "/dev/zero", "name": "n", "hash": "h"}]),
        lambda receipt: receipt.update(inputs=[{"path": "x\0y", "name": "n", "hash": "h"}]),
        lambda receipt: receipt.update(inputs={"a": "b"}),
    ],
)
def test_receipts_are_data(finished, change):
    """Whatever a receipt says, nothing is written, nothing hangs and nothing is taken for equal."""
    changed(finished / RESULT, lambda content: change(content["receipt"]))
    before = set(finished.rglob("*"))
    assert verdict_of(finished).mismatch
    assert set(finished.rglob("*")) == before


def test_a_family_from_data_is_one_that_exists(finished):
    changed(finished / RESULT, lambda content: content["run"].update(family="os"))
    assert verdict_of(finished).status == "damaged"


def test_nothing_to_verify(tmp_path):
    assert command("verify", ".", cwd=tmp_path).returncode == 3
    assert command("verify", "nowhere", cwd=tmp_path).returncode == 3
