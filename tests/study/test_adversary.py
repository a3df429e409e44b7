"""Attempts of somebody who did not write the verifier; none may pass as recomputed or pinned."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.study.test_submission import TRUE, edited, entry, only, options_of, submit

from graphgauge.study.claim import Examiner, Verdict
from graphgauge.study.submission import Submission
from graphgauge.study.verifier import verify


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("benchmark") / "honest"
    submit(folder, TRUE, TRUE + 0.1)
    return folder


# What the recomputed fields and the pinned inputs say, changed and sealed again.
FORGED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "content of the truth": lambda c: entry(c, "true").update(content="f" * 64),
    "a truth inside the predictions": lambda c: entry(c, "pred").update(truth="f" * 64),
    "a metric twice": lambda c: c["results"].append({**c["results"][0], "value": 0.0}),
    "a p-value": lambda c: c["results"][0].update(p_value=0.001),
    "a certificate in the run": lambda c: c["run"].update(verified_by="somebody"),
    "a finding": lambda c: c["findings"].append(
        {"check": "x", "severity": "note", "message": "certified", "evidence": {}, "remedy": "", "ignored": False}
    ),
    "itself as a side file": lambda c: c["side_files"].append(
        {"role": "items", "path": "result.json", "hash": "0" * 64, "rows": 1}
    ),
    "a value in the last digits": lambda c: c["results"][0].update(value=c["results"][0]["value"] * (1 + 1e-12)),
}
# What no computation can confirm.
CLAIMED: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a field of its own": (lambda c: c.update(award="first prize"), "award"),
    "a field of the receipt": (lambda c: c["receipt"].update(gpu="large"), "receipt.gpu"),
    "a name with an escape": (lambda c: c.update({"\x1b[2Jequal": 1}), "equal"),
    "another clock": (lambda c: c["receipt"].update(started="2099-01-01T00:00:00+00:00"), "receipt.started"),
    "a large seed": (lambda c: c["run"].update(seed=10**30), "run.seed"),
    "a command that was not followed": (
        lambda c: c["receipt"].update(study={"folder": ".", "options": dict(options_of(c)), "ignore": {}}),
        "receipt.command",
    ),
}


def test_forged_and_claimed_fields(honest: Path, tmp_path: Path) -> None:
    for name, change in [*FORGED.items(), *((name, change) for name, (change, _) in CLAIMED.items())]:
        folder = tmp_path / name.replace(" ", "-")
        shutil.copytree(honest, folder)
        edited(folder, change)
    found = {verdict.path.parent.name.replace("-", " "): verdict for verdict in verify(tmp_path, jobs=1)}
    for name in FORGED:
        assert found[name.replace("-", " ")].mismatch, name
    for name, (_, field) in CLAIMED.items():
        verdict = found[name]
        assert verdict.status == "equal", (name, verdict.detail)
        assert verdict.proof is not None
        assert any(field in text for text in verdict.proof.declared), name
        assert not any(field in text for text in (*verdict.proof.recomputed, *verdict.proof.pinned)), name
        assert "\x1b" not in "".join(verdict.proof.declared)


def examined(folder: Path) -> Verdict:
    submission = Submission.of(folder, [f"true=sha256:{'0' * 64}"])
    found = Examiner(submission).examined(folder / "result.json")
    assert isinstance(found, Verdict)
    return found


def test_a_side_file_outside_is_not_read(honest: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"a private key")
    folder = tmp_path / "s"
    shutil.copytree(honest, folder)
    (folder / "result.items.npz").symlink_to(secret)
    digest = hashlib.sha256(secret.read_bytes()).hexdigest()
    side = {"role": "items", "path": "result.items.npz", "hash": digest, "rows": 1}
    edited(folder, lambda c: c["side_files"].append(side))
    right = only(folder, f"true={honest / 'true.npy'}").detail
    assert "a side file is outside the submission" in right
    edited(folder, lambda c: c["side_files"][-1].update(hash="0" * 64))
    # The answer does not depend on what is in the file.
    assert only(folder, f"true={honest / 'true.npy'}").detail == right


def test_a_huge_result_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.touch()
    os.truncate(path, 1 << 40)
    assert examined(tmp_path).detail == "larger than 67,108,864 bytes"


def test_a_damaged_result_says_why(honest: Path, tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 20)
    shutil.copytree(honest, folder)
    edited(folder, lambda c: c["run"].update(seed=1.5))
    (verdict,) = verify(folder)
    assert verdict.status == "damaged"
    assert "run.seed is 1.5, not a whole number" in verdict.detail
