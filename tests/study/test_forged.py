"""Whatever is edited in a result, beside it or in its receipt is found, also where its root was brought up to date."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import shutil

import numpy as np
import pytest
from tests.command import graphgauge
from tests.sealed import write_sealed
from tests.study.conftest import STUDY, write_scores

from graphgauge.old.core.schema import dumps, read_content
from graphgauge.old.ranking.items import Items
from graphgauge.study import run, verify

QUERIES = 1100  # so that the breakdown by query goes to a file beside the result
NAME = "metrics_toy_1.json"


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("original")
    write_scores(folder, queries=QUERIES, seeds=2)
    np.save(folder / "query.npy", np.arange(QUERIES))
    text = STUDY.replace("seeds = [0, 1, 2]", "seeds = [0, 1]").replace("k = [1, 3]", 'k = [1, 3]\nkeep = "items"')
    text = text.replace('relation = "relation.npy"', 'relation = "relation.npy", query = "query.npy"')
    (folder / "study.toml").write_text(text.partition("[[compare]]")[0])
    assert run(folder / "study.toml", jobs=1).exit_code == 0
    return folder


@pytest.fixture
def folder(original, tmp_path):
    shutil.copytree(original, tmp_path / "copy")
    return tmp_path / "copy"


def first(content):
    return content["results"][0]


EDITS = {
    "method": lambda c: c["run"].update(method="poor"),
    "method that is nowhere": lambda c: c["run"].update(method="ours"),
    "dataset": lambda c: c["run"].update(dataset="hard"),
    "seed": lambda c: c["run"].update(seed=0),
    "seed of another kind": lambda c: c["run"].update(seed=True),
    "tags": lambda c: c["run"].update(tags={"model": "large"}),
    "another name in the run": lambda c: c["run"].update(host="h"),
    "value": lambda c: first(c).update(value=0.99),
    "value by one unit in the last place": lambda c: first(c).update(value=float(np.nextafter(first(c)["value"], 1))),
    "interval": lambda c: first(c)["interval"].update(low=first(c)["interval"]["low"] - 1e-9),
    "interval's level": lambda c: first(c)["interval"].update(level=0.5),
    "interval's rule": lambda c: first(c)["interval"].update(method="exact"),
    "no interval": lambda c: first(c).update(interval=None, no_interval="none"),
    "n": lambda c: first(c).update(n=10 * QUERIES),
    "unit": lambda c: first(c).update(unit="graph"),
    "level": lambda c: first(c)["levels"][0].update(value=0.001),
    "kind of a level": lambda c: first(c)["levels"][0].update(kind="ideal"),
    "bounds": lambda c: first(c).update(bounds=[0.0, 2.0]),
    "oracle": lambda c: first(c).update(oracle=not first(c)["oracle"]),
    "warnings": lambda c: first(c)["warnings"].append("fine"),
    "conventions of one": lambda c: first(c).update(conventions={"ties": "pessimistic"}),
    "readings of one": lambda c: first(c)["readings"].update(nan="omit"),
    "readings": lambda c: c["readings"].update(sign="ignored"),
    "conventions": lambda c: c["conventions"].update(ties="pessimistic"),
    "options": lambda c: c["options"].update(confidence=0.99),
    "findings": lambda c: c["findings"].append(
        {"check": "tied-scores", "severity": "note", "evidence": {}, "remedy": "", "ignored": True}
    ),
    "notes": lambda c: c["notes"].append("checked by us"),
    "skipped": lambda c: c["skipped"].append({"key": "mrr_hard", "reason": "x"}),
    "status": lambda c: c.update(status="partial"),
    "failed after all": lambda c: c.update(status="failed", error="out of memory", results=[]),
    "error": lambda c: c.update(error="none"),
    "breakdown": lambda c: c["breakdowns"][0]["columns"]["mrr"].reverse(),
    "a breakdown less": lambda c: c["breakdowns"].clear(),
    "result dropped": lambda c: c["results"].pop(),
    "result added": lambda c: c["results"].append({**first(c), "key": "ours@1"}),
    "no side files": lambda c: c["side_files"].clear(),
    "side file twice": lambda c: c["side_files"].append(dict(c["side_files"][0])),
    "rows of a side file": lambda c: c["side_files"][0].update(rows=1),
    "hash of a side file": lambda c: c["side_files"][0].update(hash="0" * 64),
    "no inputs": lambda c: c["receipt"].update(inputs=[]),
    "an input less": lambda c: c["receipt"]["inputs"].pop(),
    "name of an input": lambda c: c["receipt"]["inputs"][0].update(name="truth"),
    "shape of an input": lambda c: c["receipt"]["inputs"][0].update(shape=[7]),
    "code": lambda c: c["receipt"].update(code=[{"factory": "m:f", "source_hash": "0"}]),
    "options of the study": lambda c: c["receipt"]["study"]["options"].update(confidence=0.5),
    "harmless options": lambda c: c["receipt"]["study"]["options"].update(ties="realistic"),
    "no options": lambda c: c["receipt"]["study"].pop("options"),
    "arguments": lambda c: c["receipt"]["study"].update(options=None, arguments=["--ties=realistic"]),
    "ignored checks": lambda c: c["receipt"]["study"].update(ignore={"tied-scores": "known"}),
    "no study": lambda c: c["receipt"].pop("study"),
    "another study": lambda c: c["receipt"]["study"].update(file="../study.toml", folder="nowhere"),
}


@pytest.mark.parametrize("is_sealed", [False, True], ids=["as edited", "with a new root"])
def test_every_edit_is_found(folder, is_sealed):
    place = folder / "results/good/ranking"
    content = read_content(place / NAME)
    for name, edit in {**EDITS, "nothing": lambda c: None}.items():
        forged = copy.deepcopy(content)
        edit(forged)
        other = place.parent / name  # as deep as the original, from which the study is found
        shutil.copytree(place, other, ignore=shutil.ignore_patterns("metrics_toy_0*"))
        if is_sealed:
            write_sealed(other / NAME, forged)
        else:
            (other / NAME).write_text(dumps(forged))
    verdicts = {verdict.path.parent.name: verdict for verdict in verify(folder / "results/good", jobs=1)}
    assert [name for name, verdict in verdicts.items() if not verdict.mismatch] == ["nothing", "ranking"]
    assert set(verdicts) == {*EDITS, "nothing", "ranking"}


def relabelled(folder, **run):
    path = folder / "results/good/ranking" / NAME
    content = read_content(path)
    content["run"] |= run
    write_sealed(path, content)
    (verdict,) = verify(path)
    return str(verdict)


def test_a_relabelled_result_is_told_whose_inputs_it_has(folder):
    said = "failed: study differs: study.toml has these inputs and options for ranking: good on toy, seed 1"
    assert relabelled(folder, method="poor") == said
    assert relabelled(folder, method="good", dataset="hard") == said


def test_without_the_study_file_names_are_declared(folder):
    (folder / "study.toml").unlink()
    assert relabelled(folder, method="ours").startswith("equal: method, dataset and seed are as declared")


def test_a_study_file_that_changed_or_cannot_be_read_is_named(folder):
    path = folder / "study.toml"
    text = path.read_text()
    path.write_text(text.replace("k = [1, 3]", "k = [1, 5]"))
    assert relabelled(folder) == "failed: study differs: study.toml has other options for ranking: good on toy, seed 1"
    path.write_text(text.replace("seeds = [0, 1]", "seeds = [0]"))
    assert relabelled(folder) == "failed: study differs: study.toml has no ranking: good on toy, seed 1"
    path.write_text("schema = ")
    assert relabelled(folder).startswith("failed: study differs: study.toml cannot be read")


def test_a_study_of_more_evaluations_than_can_be_is_refused(folder):
    names = ", ".join(f'"{number}"' for number in range(400))
    text = f'schema = 1\n[[evaluate]]\nfamily = "ranking"\ndatasets = [{names}]\nmethods = [{names}]\n'
    (folder / "study.toml").write_text(text)
    assert "study.toml cannot be read" in relabelled(folder)
    done = graphgauge("run", "study.toml", cwd=folder)
    assert done.returncode == 3
    assert "asks for 160,000 evaluations" in done.stderr


@pytest.mark.parametrize("is_sealed", [False, True], ids=["as edited", "with a new root"])
@pytest.mark.parametrize("role", ["items", "breakdown"])
@pytest.mark.parametrize("change", ["edited", "gone"])
def test_files_beside_a_result_are_checked(folder, role, change, is_sealed):
    path = folder / "results/good/ranking" / NAME
    content = read_content(path)
    (side,) = (side for side in content["side_files"] if side["role"] == role)
    beside = path.parent / side["path"]
    if change == "gone":
        beside.unlink()
    elif role == "items":
        items = Items.load(beside)
        items.greater[:] = 0
        items.save(beside)
    else:
        table = json.loads(beside.read_text())
        table["columns"]["mrr"][0] = 1.0 - table["columns"]["mrr"][0]
        beside.write_text(dumps(table))
    if is_sealed and change == "edited":
        side["hash"] = hashlib.sha256(beside.read_bytes()).hexdigest()
        write_sealed(path, content)
    (verdict,) = verify(path)
    assert verdict.mismatch
    assert f"side_files differ, {beside.name}" in verdict.detail
    if role == "items" and not is_sealed:
        done = graphgauge("compare", "results", "--metric", "mrr", "--over", "items", cwd=folder)
        assert done.returncode == 3
        assert beside.name in done.stderr


def test_the_same_arrays_in_another_archive_are_equal(folder):
    """Another release of Python or NumPy writes other bytes around the same arrays."""
    path = folder / "results/good/ranking" / NAME
    content = read_content(path)
    side = next(side for side in content["side_files"] if side["role"] == "items")
    beside = path.parent / side["path"]
    with np.load(beside) as archive:
        arrays = dict(archive)
    np.savez_compressed(beside, **arrays)
    assert side["hash"] != hashlib.sha256(beside.read_bytes()).hexdigest()
    side["hash"] = hashlib.sha256(beside.read_bytes()).hexdigest()
    write_sealed(path, content)
    assert [str(verdict) for verdict in verify(path)] == ["equal"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_beside_a_result_is_not_waited_for(folder):
    path = folder / "results/good/ranking" / NAME
    beside = path.with_suffix(".items.npz")
    beside.unlink()
    os.mkfifo(beside)
    (verdict,) = verify(path)
    assert f"side_files differ, {beside.name} is missing" in verdict.detail


def test_an_archive_that_unpacks_to_much_more_is_not_unpacked(folder, monkeypatch):
    from graphgauge.study import verifier

    path = folder / "results/good/ranking" / NAME
    content = read_content(path)
    side = next(side for side in content["side_files"] if side["role"] == "items")
    beside = path.parent / side["path"]
    np.savez_compressed(beside, ids=np.zeros(1 << 20))
    side["hash"] = hashlib.sha256(beside.read_bytes()).hexdigest()
    write_sealed(path, content)
    monkeypatch.setattr(verifier, "load_state", None)
    (verdict,) = verify(path)
    assert f"side_files differ, {beside.name}" in verdict.detail


# What does not concern results of single commands, and what only they have.
_STUDY_ONLY = ("study", "ignored checks", "arguments", "options of", "harmless", "no options")
_DECLARED = ("method", "dataset", "seed")
SINGLE = {
    **{name: edit for name, edit in EDITS.items() if not any(part in name for part in (*_STUDY_ONLY, *_DECLARED))},
    "no command": lambda c: c["receipt"].pop("command"),
    "another command": lambda c: c["receipt"]["command"].update(name="recovery"),
    "merge": lambda c: c["receipt"]["command"].update(name="merge"),
    "options of the command": lambda c: c["receipt"]["command"]["options"].update(confidence=0.5),
    "fewer options": lambda c: c["receipt"]["command"]["options"].pop("k"),
    "options of an output": lambda c: c["receipt"]["command"]["options"].update(save_state="x.npz"),
    "folder": lambda c: c["receipt"]["command"].update(folder="nowhere"),
    "inputs of another": lambda c: c["receipt"]["command"]["options"].update(pos_scores=["scores/poor/1/pos.npy"]),
    "value without inputs": lambda c: (first(c).update(value=0.99), c["receipt"].update(inputs=[])),
}


@pytest.mark.parametrize("is_sealed", [False, True], ids=["as edited", "with a new root"])
def test_every_edit_of_a_single_commands_result_is_found(folder, is_sealed):
    scores = ("--pos-scores", "scores/good/1/pos.npy", "--neg-scores", "scores/good/1/neg-*.npy", "--k", "1,3")
    groups = ("--groups", "relation=relation.npy", "--groups", "query=query.npy")
    options = (*scores, *groups, "--keep", "items", "--method", "good", "--dataset", "toy", "--quiet")
    done = graphgauge("ranking", *options, "-o", f"single/original/{NAME}", cwd=folder)
    assert done.returncode == 0, done.stderr
    place = folder / "single/original"
    content = read_content(place / NAME)
    declared = {
        name: lambda c, name=name: c["run"].update({name: "other" if name != "seed" else 7}) for name in _DECLARED
    }
    for name, edit in {**SINGLE, **declared, "nothing": lambda c: None}.items():
        forged = copy.deepcopy(content)
        edit(forged)
        other = place.parent / name
        shutil.copytree(place, other)
        if is_sealed:
            write_sealed(other / NAME, forged)
        else:
            (other / NAME).write_text(dumps(forged))
    verdicts = {verdict.path.parent.name: verdict for verdict in verify(folder / "single", jobs=1)}
    passed = [name for name, verdict in verdicts.items() if not verdict.mismatch]
    # Names are the author's word: with a new root they pass.
    assert passed == sorted(["nothing", "original", *(_DECLARED if is_sealed else ())])
    assert set(verdicts) == {*SINGLE, *_DECLARED, "nothing", "original"}


@pytest.mark.parametrize("trouble", ["lost", "lacking"])
def test_what_could_not_be_computed_here_has_not_drifted(folder, monkeypatch, trouble):
    answer = {"status": "lost" if trouble == "lost" else "failed", "lacking": trouble == "lacking", "error": "no torch"}
    monkeypatch.setattr("graphgauge.study.verifier.answered", lambda tasks, **options: [(0, answer)])
    (verdict,) = verify(folder / "results/good/ranking" / NAME)
    assert str(verdict) == "unchecked: not recomputed: no torch"
    assert verdict.mismatch


def test_results_of_several_studies_are_verified_together(folder, tmp_path):
    """Each worker may get items of both, whose inputs have the same names."""
    other = tmp_path / "another"
    shutil.copytree(folder, other, ignore=shutil.ignore_patterns("results"))
    np.save(other / "scores/good/1/pos.npy", np.load(other / "scores/good/1/pos.npy") + 0.5)
    assert run(other / "study.toml", jobs=1).exit_code == 0
    assert {str(verdict) for verdict in verify(tmp_path, jobs=1)} == {"equal"}
