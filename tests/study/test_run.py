"""`graphgauge run`: what is evaluated, what is taken from before, what a failure does, and the exit code."""

from __future__ import annotations

import json
import os
import re
import threading
import time

import numpy as np
import pytest
from tests.command import graphgauge as command
from tests.sealed import write_sealed
from tests.study.conftest import STUDY, results_of, write_scores

import graphgauge
from graphgauge.study import run
from graphgauge.study.runner import Share

POOR = "results/poor/ranking/metrics_toy_0.json"
IGNORE = '\n[audit]\nignore = [{ check = "tied-scores", because = "it is constant" }]\n'


def ran(folder, *arguments):
    """The labels of the evaluations that a run made, in order of the plan's text."""
    done = command("run", "study.toml", "--jobs", 1, *arguments, cwd=folder)
    return done, sorted(re.findall(r"^\[\d+/\d+\] ranking: (\w+) on toy, seed (\d)", done.stderr, re.MULTILINE))


def test_results_are_what_the_library_gives(finished):
    for method in ("good", "poor"):
        for seed in range(3):
            place = finished / "scores" / method / str(seed)
            neg = np.concatenate([np.load(place / f"neg-{shard}.npy") for shard in range(2)])
            expected = graphgauge.ranking.evaluate(np.load(place / "pos.npy"), neg, k=(1, 3))
            content = json.loads((finished / f"results/{method}/ranking/metrics_toy_{seed}.json").read_text())
            found = {entry["key"]: entry["value"] for entry in content["results"]}
            assert {key: found[key] for key in expected} == {key: result.value for key, result in expected.items()}
            assert content["run"] == {"family": "ranking", "method": method, "dataset": "toy", "seed": seed, "tags": {}}
            paths = [entry["path"] for entry in content["receipt"]["inputs"]]
            assert f"scores/{method}/{seed}/neg-1.npy" in paths
            assert content["receipt"]["study"]["folder"] == "../../.."


def test_plan_tables_comparison_and_gates(study):
    done, evaluated = ran(study)
    assert done.returncode == 0, done.stderr
    assert "two scorers: 6 evaluations, 0 up to date, 6 to run" in done.stderr
    assert "ranking: good on toy, seed 0: new" in done.stderr
    assert len(evaluated) == 6
    assert re.search(r"about [\d.]+ s left", done.stderr)
    assert "ranking on toy" in done.stdout
    assert "good vs poor" in done.stdout
    assert "gate passed: mrr > 0.2  (3 results)" in done.stdout
    summary = json.loads((study / "results/study.json").read_text())
    assert [verdict["passed"] for verdict in summary["gates"]] == [True] * 3
    comparison = json.loads((study / "results" / summary["comparisons"][0]["file"]).read_text())
    assert (comparison["metric"], comparison["baseline"]) == ("mrr", "poor")


def test_what_is_up_to_date_is_not_evaluated_again(finished):
    before = {path: path.stat().st_mtime_ns for path in (finished / "results").rglob("metrics_*.json")}
    done, evaluated = ran(finished)
    assert evaluated == []
    assert "6 up to date, 0 to run" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.parametrize(
    ("change", "again", "why"),
    [
        (lambda f: np.save(f / "scores/good/1/pos.npy", np.ones(60)), [("good", "1")], "scores/good/1/pos.npy changed"),
        (lambda f: np.save(f / "scores/good/1/neg-2.npy", np.ones((0, 20))), [("good", "1")], "inputs changed"),
        (lambda f: (f / POOR).unlink(), [("poor", "0")], "new"),
        (lambda f: edit(f / POOR, '"n": 60', '"n": 61'), [("poor", "0")], "damaged"),
        (lambda f: (f / POOR).write_text("{"), [("poor", "0")], "damaged"),
        (lambda f: with_receipt(f / POOR, {}), [("poor", "0")], "its receipt is damaged"),
        (lambda f: with_receipt(f / POOR, 7), [("poor", "0")], "its result is damaged"),
        (lambda f: edit(f / "study.toml", "k = [1, 3]", "k = [1, 2]"), 6, "options changed"),
        (lambda f: edit(f / "study.toml", "", "", IGNORE), 6, "options changed"),
        (lambda f: as_if_by_version(f, "0.0.1"), 6, "made by version 0.0.1"),
    ],
)
def test_what_changed_is_evaluated_again(finished, change, again, why):
    change(finished)
    done, evaluated = ran(finished)
    assert evaluated == again if isinstance(again, list) else len(evaluated) == again
    assert why in done.stderr
    assert ran(finished)[1] == []


def edit(path, old, new, added=""):
    text = path.read_text()
    assert added or old in text
    path.write_text(text.replace(old, new, 1) + added)


def with_receipt(path, receipt):
    write_sealed(path, json.loads(path.read_text()) | {"receipt": receipt})


def as_if_by_version(folder, version):
    for path in (folder / "results").rglob("metrics_*.json"):
        content = json.loads(path.read_text())
        content["receipt"]["versions"]["graphgauge"] = version
        content["receipt"]["key"] = "of another version"
        write_sealed(path, content)


def test_an_edit_whose_time_was_set_back_is_found(finished):
    path = finished / "scores/good/1/pos.npy"
    time.sleep(2.1)  # hashes are kept once the files are older than the clock's tick
    ran(finished)
    assert json.loads((finished / "results/.graphgauge/hashes.json").read_text())["files"]
    before, scores = path.stat(), np.load(path)
    with path.open("r+b") as stream:
        stream.seek(-8, os.SEEK_END)
        stream.write(np.float64(scores[-1] + 5).tobytes())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert ran(finished)[1] == [("good", "1")]


def test_rehash_does_not_ask_the_hashes_that_are_kept(finished):
    path, kept = finished / "scores/good/1/pos.npy", finished / "results/.graphgauge/hashes.json"
    time.sleep(2.1)
    ran(finished)
    known = json.loads(kept.read_text())
    np.save(path, np.load(path) + 1)
    found = path.stat()  # as if nothing on this file system showed the change
    entry = known["files"]["scores/good/1/pos.npy"]
    entry[:-1] = [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]
    kept.write_text(json.dumps(known))
    assert ran(finished)[1] == []
    assert ran(finished, "--rehash")[1] == [("good", "1")]


def test_only_runs_what_fits_and_judges_when_all_is_there(study):
    done, evaluated = ran(study, "--only", "good")
    assert evaluated == [("good", str(seed)) for seed in range(3)]
    assert "Not compared, and no gate checked: --only left out 3 evaluations" in done.stderr
    assert not (study / "results/study.json").exists()
    done, evaluated = ran(study, "--only", "ranking/p*")
    assert (study / "results/study.json").exists()
    assert evaluated == [("poor", str(seed)) for seed in range(3)]
    assert "gate passed" in done.stdout
    nothing = command("run", "study.toml", "--only", "best", cwd=study)
    assert nothing.returncode == 2
    assert "no evaluation matches" in nothing.stderr


def test_an_old_judgement_does_not_stand_beside_new_results(finished):
    np.save(finished / "scores/good/1/pos.npy", np.ones(60))
    np.save(finished / "scores/poor/1/pos.npy", np.ones(60))
    ran(finished, "--only", "good")
    assert not (finished / "results/study.json").exists()
    assert not list((finished / "results/comparisons").iterdir())


def test_plan_evaluates_nothing(study):
    done = command("run", "study.toml", "--plan", cwd=study)
    assert done.returncode == 0
    assert "6 to run" in done.stderr
    assert not list((study / "results").rglob("*.json*"))[1:]


def test_a_failing_item_stops_no_other_and_wins_over_gates(study):
    (study / "scores/poor/1/pos.npy").write_bytes(b"not an array")
    edit(study / "study.toml", "mrr > 0.2", "mrr > 0.99")
    done, evaluated = ran(study)
    assert done.returncode == 4
    assert len(evaluated) == 6
    assert "failed: ranking: poor on toy, seed 1: scores/poor/1/pos.npy: cannot be read" in done.stderr
    assert "gate failed: mrr > 0.99" in done.stdout
    content = json.loads((study / "results/poor/ranking/metrics_toy_1.json").read_text())
    assert (content["status"], content["results"]) == ("failed", [])
    assert "cannot be read" in content["error"]
    write_scores(study)
    edit(study / "study.toml", "mrr > 0.99", "mrr > 0.2")
    done, _ = ran(study)
    assert "it failed before" in done.stderr
    assert done.returncode == 0


def test_gates_decide_the_exit_code(study):
    edit(study / "study.toml", "mrr > 0.2", "mrr.low > 0.99")
    done, _ = ran(study)
    assert done.returncode == 1
    assert "gate failed: mrr.low > 0.99  (good on toy, seed 2: found" in done.stdout
    edit(study / "study.toml", "mrr.low > 0.99", "mmr > 0.5")
    done, _ = ran(study)
    assert done.returncode == 3
    assert "gate 'mmr > 0.5': unknown metric 'mmr'" in done.stderr
    assert "Did you mean 'mrr'" in done.stderr


def test_gates_on_groups_and_chance(study):
    edit(study / "study.toml", 'require = "mrr > 0.2"', 'require = "mrr[relation].low > 0.99"')
    with (study / "study.toml").open("a") as stream:
        stream.write('[[gate]]\nrequire = "mrr.low > chance"\n[[gate]]\nrequire = "mrr[relation=1] > 0.1"\n')
    done, _ = ran(study)
    assert done.returncode == 1
    assert "for relation=" in done.stdout
    assert "gate passed: mrr.low > chance" in done.stdout
    assert "gate passed: mrr[relation=1] > 0.1" in done.stdout
    verdict = next(v for v in json.loads((study / "results/study.json").read_text())["gates"] if "chance" in v["gate"])
    assert verdict["limit"] < verdict["found"]
    page = command("report", "results", "-o", "page.html", cwd=study)
    assert page.returncode == 0, page.stderr
    assert "for relation=" in (study / "page.html").read_text(encoding="utf-8")


def test_a_gate_on_what_is_not_computed_fails_before_the_run(study):
    require = "mrr[side=head] > 0.5"
    edit(study / "study.toml", "mrr > 0.2", require)
    done, _ = ran(study)
    assert done.returncode == 3
    assert f"line 22: gate '{require}': there are no groups 'side': they are relation" in done.stderr
    assert not (study / "results").exists()


def test_the_metrics_of_gates_are_computed(study):
    for require in ("hits@10 > 0", "roc_auc > 0"):
        edit(study / "study.toml", "mrr > 0.2", require)
        done, _ = ran(study)
        assert done.returncode == 0, done.stderr
        results = [json.loads(path.read_text()) for path in (study / "results/good").rglob("metrics_*.json")]
        assert all(require.split()[0] in {entry["key"] for entry in content["results"]} for content in results)
        edit(study / "study.toml", require, "mrr > 0.2")


def test_a_gate_on_what_a_pool_computes_by_default(study):
    text = (study / "study.toml").read_text()
    for old, new in (
        ("neg-*.npy", "pool.npy"),
        ('groups = { relation = "relation.npy" }\n', ""),
        ("mrr > 0.2", "roc_auc > 0"),
    ):
        text = text.replace(old, new)
    (study / "study.toml").write_text(text)
    for place in (study / "scores").glob("*/*"):
        np.save(place / "pool.npy", np.load(place / "neg-0.npy").ravel())
    (study / "elsewhere").mkdir()
    done = command("run", "../study.toml", "--jobs", 1, cwd=study / "elsewhere")
    assert done.returncode == 0, done.stderr
    assert "gate passed: roc_auc > 0" in done.stdout


def test_comparison_over_items(study):
    edit(study / "study.toml", "k = [1, 3]", 'keep = "items"')
    edit(study / "study.toml", 'baseline = "poor"', 'over = "items"')
    done, _ = ran(study)
    assert done.returncode == 0, done.stderr
    assert "good is better than poor on these items" in done.stdout
    (study / "results/good/ranking/metrics_toy_0.items.npz").unlink()
    done, evaluated = ran(study)
    assert evaluated == [("good", "0")]


def test_comparison_that_cannot_be_made_is_told(study):
    edit(study / "study.toml", 'baseline = "poor"', 'over = "items"')
    done, _ = ran(study)
    assert done.returncode == 4
    assert "failed: comparison of mrr over items: no per-item values are kept" in done.stderr


def test_findings_can_be_ignored_with_a_reason(study):
    for seed in range(3):
        np.save(study / f"scores/poor/{seed}/pos.npy", np.zeros(60))
        for shard in range(2):
            np.save(study / f"scores/poor/{seed}/neg-{shard}.npy", np.zeros((30, 20)))
    edit(study / "study.toml", "", "", IGNORE)
    ran(study)
    content = json.loads((study / "results/poor/ranking/metrics_toy_1.json").read_text())
    assert {entry["check"]: entry["ignored"] for entry in content["findings"]}["tied-scores"]
    assert "tied-scores is ignored: it is constant" in content["notes"]


def test_what_is_found_in_all_results_stands_beside_them(study):
    done, _ = ran(study)
    assert "warning [few-seeds] ranking on toy: 2 methods are compared on 3 seeds" in done.stdout
    summary = json.loads((study / "results/study.json").read_text())
    assert "few-seeds" in {line["check"] for line in summary["findings"]}
    assert summary["ignore"] == {}


def test_checks_of_all_results_can_be_ignored(study):
    edit(study / "study.toml", "", "", IGNORE.replace("tied-scores", "few-seeds"))
    done, _ = ran(study)
    assert "few-seeds" not in done.stdout
    summary = json.loads((study / "results/study.json").read_text())
    assert "few-seeds" in summary["ignore"]
    assert "few-seeds" not in {line["check"] for line in summary["findings"]}


def test_a_process_that_dies_takes_only_its_item_with_it(study, monkeypatch):
    """The first worker to start is killed from outside; its item fails and all others are evaluated."""
    from graphgauge.study import pool

    killed = threading.Event()
    started = pool.Worker._started

    def started_and_killed(worker):
        process = started(worker)
        if not killed.is_set():
            killed.set()
            process.kill()
        return process

    monkeypatch.setattr(pool.Worker, "_started", started_and_killed)
    outcome = run(study / "study.toml", jobs=1)
    assert [done.status for done in outcome.done] == ["failed", *["ok"] * 5]
    assert "ended by signal 9" in outcome.failed[0].error
    assert outcome.exit_code == 4
    assert run(study / "study.toml").exit_code == 0


def test_processes_times_threads_stay_within_the_cores(monkeypatch):
    for cores in (1, 2, 3, 8, 64):
        monkeypatch.setattr("graphgauge.study.runner.available_threads", lambda cores=cores: cores)
        for jobs in (None, 1, 2, 5, 100):
            for items in (0, 1, 3, 1000):
                share = Share.of(items, jobs)
                assert share.jobs >= 1
                assert 1 <= share.jobs * share.threads <= cores


@pytest.mark.parametrize(
    "option", [{"jobs": 0}, {"jobs": "two"}, {"jobs": 1.5}, {"only": 5}, {"only": ["good", "poor"]}]
)
def test_options_that_cannot_be_are_refused(study, option):
    from graphgauge.core.errors import OptionError

    (name,) = option
    with pytest.raises(OptionError, match=rf"{name} is .*\. Pass "):
        run(study / "study.toml", **option)
    assert not list((study / "results").rglob("metrics_*"))


def test_the_same_results_with_any_number_of_processes(study, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    write_scores(other)
    (other / "study.toml").write_text(STUDY)
    run(study / "study.toml", jobs=1)
    run(other / "study.toml", jobs=2)
    assert results_of(study) == results_of(other)


def test_two_runs_at_once_are_refused(study):
    from graphgauge.core.errors import InputError
    from graphgauge.study.store import sole_writer

    with sole_writer(study / "results"), pytest.raises(InputError, match="another run is writing here"):
        run(study / "study.toml")


def test_inputs_are_taken_from_the_study_file(study, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = command("run", study / "study.toml", "--quiet", cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    assert (study / "results/good/ranking/metrics_toy_0.json").exists()
    assert not list(elsewhere.iterdir())
