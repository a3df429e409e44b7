"""`graphgauge run`: what is evaluated, what is taken from before, what a failure does, and the exit code."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from tests.command import graphgauge as command
from tests.sealed import write_sealed
from tests.study.conftest import STUDY, results_of, write_scores, write_study

import graphgauge
from graphgauge import load
from graphgauge.core.content import GatesFile
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.sealed import read
from graphgauge.stats.outcome import Comparison
from graphgauge.study import run
from graphgauge.study.model import StudyFile
from graphgauge.study.store import sole_writer

POOR = "results/poor/ranking/metrics_toy_0.json"


def ran(folder: Path, **options: object) -> list[str]:
    """The labels of the evaluations that a run made."""
    return sorted(done.item.label for done in run(folder / "study.toml", jobs=1, **options).done)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_results_are_what_the_library_gives(finished):
    for method in ("good", "poor"):
        for seed in range(3):
            place = finished / "scores" / method / str(seed)
            neg = np.load(place / "neg.npy")
            expected = graphgauge.ranking.evaluate(np.load(place / "pos.npy"), neg, k=(1, 3))
            found = load(finished / f"results/{method}/ranking/metrics_toy_{seed}.json")
            assert {key: found[key].value for key in expected} == {key: each.value for key, each in expected.items()}
            assert (found.run.method, found.run.dataset, found.run.seed) == (method, "toy", seed)
            assert f"scores/{method}/{seed}/neg.npy" in [each["path"] for each in found.receipt["inputs"]]


def test_what_is_written_beside_the_results(finished):
    results = finished / "results"
    summary = read(results / "study.json", StudyFile)
    assert summary.name == "two scorers"
    assert len(summary.runs) == 10
    assert all((results / name).is_file() for name in summary.runs)
    assert [each.verdict for each in read(results / "gates.json", GatesFile).gates] == ["passed"] * 3
    (entry,) = summary.comparisons
    comparison = Comparison.load(results / str(entry.file))
    assert (comparison.metric, comparison.baseline) == ("mrr", "poor")


def test_what_is_up_to_date_is_not_evaluated_again(finished):
    before = {path: path.stat().st_mtime_ns for path in (finished / "results").rglob("metrics_*.json")}
    assert ran(finished) == []
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.parametrize(
    ("change", "again"),
    [
        (lambda f: np.save(f / "scores/good/1/pos.npy", np.ones(60)), ["ranking/good/toy/1"]),
        (lambda f: (f / POOR).unlink(), ["ranking/poor/toy/0"]),
        (lambda f: edit(f / POOR, '"n": 60', '"n": 61'), ["ranking/poor/toy/0"]),
        (lambda f: (f / POOR).write_text(""), ["ranking/poor/toy/0"]),
        (lambda f: edit(f / "study.toml", "k = [1, 3]", "k = [1, 2]"), 6),
        (lambda f: as_if_by_version(f, "0.0.1"), 10),
    ],
)
def test_what_changed_is_evaluated_again(finished, change, again):
    change(finished)
    evaluated = ran(finished)
    assert evaluated == again if isinstance(again, list) else len(evaluated) == again
    assert ran(finished) == []


def as_if_by_version(folder, version):
    for path in (folder / "results").rglob("metrics_*.json"):
        content = json.loads(path.read_text())
        content["receipt"]["versions"]["graphgauge"] = version
        write_sealed(path, content)


def test_an_edit_whose_time_was_set_back_is_found(finished):
    path = finished / "scores/good/1/pos.npy"
    ran(finished)
    before, scores = path.stat(), np.load(path)
    with path.open("r+b") as stream:
        stream.seek(-8, os.SEEK_END)
        stream.write(np.float64(scores[-1] + 5).tobytes())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert ran(finished) == ["ranking/good/toy/1"]


def test_only_runs_what_fits_and_judges_when_all_is_there(study):
    assert ran(study, only="ranking/good") == [f"ranking/good/toy/{seed}" for seed in range(3)]
    assert not (study / "results/study.json").exists()
    assert len(ran(study, only="*/p*")) == 3
    assert len(ran(study, only="recovery")) == 4
    assert (study / "results/study.json").exists()
    with pytest.raises(OptionError, match="no evaluation matches 'best'"):
        ran(study, only="best")


def test_an_old_judgement_does_not_stand_beside_new_results(finished):
    for method in ("good", "poor"):
        np.save(finished / f"scores/{method}/1/pos.npy", np.ones(60))
    ran(finished, only="ranking/good")
    assert not (finished / "results/study.json").exists()
    assert not (finished / "results/gates.json").exists()
    assert not list((finished / "results/comparisons").iterdir())


def test_dry_evaluates_nothing_and_names_what_is_missing(study):
    (study / "scores/poor/1/pos.npy").unlink()
    done = command("run", "study.toml", "--dry", cwd=study)
    assert done.returncode == 0
    assert "10 to run" in done.stderr
    assert "missing: scores/poor/1/pos.npy" in done.stderr
    assert not list((study / "results").rglob("metrics_*"))


def test_a_failing_item_stops_no_other_and_wins_over_gates(study):
    (study / "scores/poor/1/pos.npy").write_bytes(b"not an array")
    edit(study / "study.toml", "mrr > 0.2", "mrr > 0.99")
    done = command("run", "study.toml", "--jobs", 1, cwd=study)
    assert done.returncode == 4
    assert "failed: ranking/poor/toy/1: " in done.stdout
    assert "gate failed: mrr > 0.99 on ranking/good/toy/0" in done.stdout
    assert done.stdout.rstrip().endswith("and 1 failed. 3 of 3 gates did not pass.")
    content = json.loads((study / "results/poor/ranking/metrics_toy_1.json").read_text())
    assert (content["status"], content.get("results", [])) == ("failed", [])
    write_scores(study)
    edit(study / "study.toml", "mrr > 0.99", "mrr > 0.2")
    assert run(study / "study.toml", jobs=1).exit_code == 0


def test_gates_decide_the_exit_code(study):
    edit(study / "study.toml", "mrr > 0.2", "mrr[relation].low > 0.99")
    with (study / "study.toml").open("a") as stream:
        stream.write('[[gate]]\nrequire = "mrr.low > chance"\n[[gate]]\nrequire = "hits@10 > 0.1"\n')
    outcome = run(study / "study.toml", jobs=1)
    assert outcome.exit_code == 1
    words = {each.gate: each for each in outcome.judgement.gates}
    assert str(words["mrr[relation].low > 0.99"].group).startswith("relation=")
    assert words["mrr.low > chance"].limit < words["mrr.low > chance"].value
    assert "name it in metrics" in words["hits@10 > 0.1"].words


def test_a_baseline_is_a_gate(finished):
    (finished / "results").rename(finished / "before")
    gate = '[[gate]]\nagainst = "before"\nmetric = "mrr"\nmargin = 0.5\nmethod = "good"\n'
    (finished / "study.toml").write_text(STUDY + gate)
    outcome = run(finished / "study.toml", jobs=1)
    assert outcome.exit_code == 0
    assert [each.of for each in outcome.judgement.gates][-1] == "ranking/good/toy"
    edit(finished / "study.toml", '"before"', '"gone"')
    with pytest.raises(InputError, match="A gate names it as against"):
        run(finished / "study.toml")


def test_findings_can_be_ignored_with_a_reason(study):
    np.save(study / "scores/good/0/neg.npy", np.zeros((60, 20)))
    np.save(study / "scores/good/0/pos.npy", np.zeros(60))
    text = '\n[audit]\nignore = [{ check = "tied-scores", because = "it is constant" }]\n'
    with (study / "study.toml").open("a") as stream:
        stream.write(text)
    ran(study)
    found = load(study / "results/good/ranking/metrics_toy_0.json").findings
    assert [each.ignored for each in found if each.check == "tied-scores"] == [True]
    assert read(study / "results/study.json", StudyFile).ignored == {"tied-scores": "it is constant"}


def test_a_comparison_that_cannot_be_made_is_said(study):
    edit(study / "study.toml", 'metric = "mrr"', 'metric = "mrr"\nmethod = "poor"')
    outcome = run(study / "study.toml", jobs=1)
    assert outcome.exit_code == 4
    assert outcome.judgement.compared[0][0].error


def test_items_are_kept_where_they_are_asked_for(study):
    edit(study / "study.toml", "groups =", "keep_items = true\ngroups =")
    ran(study, only="ranking/good")
    assert len(load(study / "results/good/ranking/metrics_toy_0.json").per_item) == 60


def test_a_process_that_dies_takes_only_its_item_with_it(study):
    """One of the evaluations ends its process; the others are all there."""
    code = "import os\ndef load():\n    os._exit(9)\n"
    (study / "deadly.py").write_text(code)
    with (study / "study.toml").open("a") as stream:
        stream.write('\n[[evaluate]]\nfamily = "explanation"\nmethod = "m"\ndataset = "d"\nmodel = "deadly:load"\n')
        stream.write('explanations = "e.jsonl"\n')
    (study / "e.jsonl").write_text(json.dumps({"edges": [[0, 1]], "importance": [1.0], "target": 0}) + "\n")
    outcome = run(study / "study.toml", jobs=2)
    assert [each.item.family for each in outcome.failed] == ["explanation"]
    assert len(outcome.done) == 11
    assert outcome.exit_code == 4


@pytest.mark.parametrize("jobs", [0, "two", 1.5])
def test_options_that_cannot_be_are_refused(study, jobs):
    with pytest.raises(OptionError, match=r"jobs is .*\. Pass "):
        run(study / "study.toml", jobs=jobs)
    assert not list((study / "results").rglob("metrics_*"))


def test_the_same_results_with_any_number_of_processes(finished, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    write_scores(other)
    (other / "study.toml").write_text(STUDY)
    run(other / "study.toml", jobs=2)
    results = results_of(finished)
    own = {name: content for name, content in results_of(other).items() if "metrics" in name}
    assert own.items() <= results.items()
    assert len(own) == 6


def test_two_runs_at_once_are_refused(study):
    with sole_writer(study / "results"), pytest.raises(InputError, match="another run is writing here"):
        run(study / "study.toml")


@pytest.mark.parametrize(
    "name", ["study.json", "gates.json", "comparisons/1-mrr.json", "good/ranking/metrics_toy_0.json"]
)
def test_what_others_wrote_is_not_overwritten(study, name):
    path = study / "results" / name
    path.parent.mkdir(parents=True)
    path.write_text('{"mine": 1}')
    with pytest.raises(InputError, match="would be overwritten"):
        run(study / "study.toml")
    assert path.read_text() == '{"mine": 1}'


def test_another_study_keeps_its_outcome(finished):
    edit(finished / "study.toml", "two scorers", "another")
    with pytest.raises(InputError, match="the outcome of another study, 'two scorers'"):
        run(finished / "study.toml")


def test_inputs_are_taken_from_the_study_file(study, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = command("run", study / "study.toml", "--quiet", cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    assert (study / "results/good/ranking/metrics_toy_0.json").exists()
    assert not list(elsewhere.iterdir())


def test_hostile_names_stay_in_the_results_and_off_the_terminal(tmp_path):
    study = tmp_path / "study"
    study.mkdir()
    write_study(study)
    names = ["<script>alert(1)</script>", "../../x", "/etc/passwd", "..", "a\\nb\\r\\u001b[31mred", "=1+1", "x" * 1000]
    tables = "".join(
        f'[[evaluate]]\nfamily = "ranking"\ndataset = "../up"\nmethod = "{name}"\n'
        'pos_scores = "scores/good/0/pos.npy"\nneg_scores = "scores/good/0/neg.npy"\n'
        for name in names
    )
    (study / "study.toml").write_text(f'schema = 1\nname = "{names[4]}"\n{tables}[[gate]]\nrequire = "mrr > 1"\n')
    before = set(tmp_path.rglob("*"))
    done = command("run", "study.toml", cwd=study)
    assert done.returncode == 1
    added = {path for path in tmp_path.rglob("*") if path not in before and path.is_file()}
    assert [path for path in added if not path.is_relative_to(study / "results")] == []
    assert len(list((study / "results").rglob("metrics_*.json"))) == len(names)
    for stream in (done.stdout, done.stderr):
        assert not re.search(r"[\x1b\r]", stream)
        assert max(map(len, stream.split("\n"))) < 600
    assert command("verify", "study.toml", cwd=study).returncode == 0
