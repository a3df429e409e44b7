"""`graphgauge audit`: families, folders of results, exit codes, and what is recorded."""

import json

import numpy as np
import pytest
from tests.command import graphgauge

from graphgauge import audit
from graphgauge.audit import checks
from graphgauge.core.errors import GraphgaugeError
from graphgauge.old import recovery
from graphgauge.old.core.schema import read_result, write_result
from graphgauge.ranking import evaluate


def run(*arguments):
    return graphgauge("audit", *arguments)


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "pos.npy", np.ones(60))
    np.save(tmp_path / "neg.npy", np.ones((60, 20)))
    edges = rng.integers(0, 40, (60, 2))
    np.save(tmp_path / "test.npy", edges)
    np.save(tmp_path / "train.npy", np.concatenate([edges[:30], rng.integers(0, 40, (200, 2))]))
    return tmp_path


def ranking(files, *more):
    return run("ranking", "--pos-scores", files / "pos.npy", "--neg-scores", files / "neg.npy", *more)


def test_a_familys_inputs(files):
    done = ranking(files, "--test-edges", files / "test.npy", "--train-edges", files / "train.npy")
    assert done.returncode == 0, done.stderr
    assert "warning [tied-scores] 100.0%" in done.stdout
    assert "error [seen-in-training]" in done.stdout
    assert done.stdout.index("error [") < done.stdout.index("warning [")  # the worst first
    assert "not run [easy-negatives]: needs neg_targets" in done.stdout


def test_the_familys_own_scores_are_looked_at(tmp_path):
    """Shards too, as the family reads them."""
    rng = np.random.default_rng(0)
    for shard in range(2):
        np.save(tmp_path / f"pos-{shard}.npy", (1 + 0.01 * rng.normal(0.5, 1, 100)).astype(np.float16))
        np.save(tmp_path / f"neg-{shard}.npy", (1 + 0.01 * rng.normal(0, 1, (100, 50))).astype(np.float16))
    done = run("ranking", "--pos-scores", tmp_path / "pos-*.npy", "--neg-scores", tmp_path / "neg-*.npy")
    assert "warning [rounded-scores] every score is a float16 number" in done.stdout, done.stderr


def test_fail_on_is_for_somebodys_ci(files):
    assert ranking(files, "--fail-on", "error").returncode == 0
    assert ranking(files, "--fail-on", "warning").returncode == 1
    assert ranking(files, "--fail-on", "warning", "--ignore", "tied-scores").returncode == 0
    assert ranking(files, "--fail-on", "warning", "--only", "cutoff-above-candidates").returncode == 0


def test_what_is_ignored_is_recorded(files):
    result = files / "result.json"
    ranking(files, "--ignore", "tied-scores", "--output", result)
    (finding,) = read_result(result).findings
    assert (finding.check, finding.ignored) == ("tied-scores", True)
    assert "ignored [tied-scores]" in run(result, "--accept-ignored").stdout
    # A result may come from somebody else, who may not decide what is ignored.
    asked = run(result, "--fail-on", "warning")
    assert asked.returncode == 1
    assert "the results or their study ignore tied-scores" in asked.stdout


def test_json(files):
    content = json.loads(ranking(files, "--format", "json").stdout)
    assert content["findings"][0]["check"] == "tied-scores"
    assert content["findings"][0]["evidence"]["pessimistic"] == pytest.approx(1 / 21)
    assert content["findings"][0]["more"] == "graphgauge audit --explain tied-scores"
    assert "easy-negatives" in content["not_run"]


def test_a_folder_of_results(tmp_path):
    rng = np.random.default_rng(1)
    for method, ties in (("a", "realistic"), ("b", "optimistic")):
        evaluation = evaluate(np.ones(50), rng.integers(0, 2, (50, 9)), ties=ties)
        evaluation.run |= {"method": method, "dataset": "toy", "seed": 0}
        write_result(evaluation, tmp_path / method / "r.json")
    done = run(tmp_path, "--fail-on", "error")
    assert done.returncode == 1
    for words in ("[mixed-conventions] ranking on toy: mrr of b", "[few-seeds]", "[tied-scores] b on toy, seed 0:"):
        assert words in done.stdout


def test_the_list_names_every_check():
    listed = run("--list").stdout
    for item in checks():
        assert f"{item.name}  (" in listed
        assert item.summary in listed


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nowhere"], 3, "no such file"),
        (["ranking", "--only", "tied-score"], 2, "nothing to evaluate"),
        (["."], 3, "no result files"),
    ],
)
def test_bad_calls(tmp_path, monkeypatch, arguments, code, words):
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_unknown_checks_suggest_the_nearest(files):
    done = ranking(files, "--only", "tied-score")
    assert done.returncode == 2
    assert "'tied-scores'" in done.stderr
    assert ranking(files, "--ignore", "tied-score").returncode == 2


@pytest.mark.parametrize(
    "edges",
    [np.zeros((3, 4), int), np.zeros(3, int), np.zeros((3, 2)), -np.ones((3, 2), int), [[1, 2], [3]], "edges", [["a"]]],
)
def test_edges_that_are_none(edges):
    with pytest.raises(GraphgaugeError, match="test_edges"):
        audit.run(family="ranking", test_edges=edges, train_edges=np.zeros((3, 2), int))


def test_pairs_are_not_looked_up_among_triples():
    pairs, triples = np.zeros((3, 2), int), np.zeros((3, 3), int)
    for only, given in (
        ("seen-in-training", {}),
        ("known-positives-as-negatives", {"neg_targets": np.ones((3, 4), int)}),
    ):
        with pytest.raises(GraphgaugeError, match=r"test_edges \(n, 2\), train_edges \(n, 3\)"):
            audit.run(family="ranking", only=only, test_edges=pairs, train_edges=triples, **given)


@pytest.mark.parametrize("targets", [np.ones((2, 4), int), np.ones(3, int), np.ones((3, 4)), [[1], [1, 2], [3]]])
def test_targets_that_are_none(targets):
    edges = np.zeros((3, 2), int)
    with pytest.raises(GraphgaugeError, match="neg_targets"):
        audit.run(family="ranking", only=["known-positives-as-negatives"], test_edges=edges, neg_targets=targets)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda ev: audit.run(family="rankings"), "'ranking'"),
        (lambda ev: audit.run(5), "found int"),
        (lambda ev: audit.run([ev, "b"]), "found str"),
        (lambda ev: audit.run({"a": ev}), "found str"),
        (lambda ev: audit.run(ev, train_edge=np.zeros((1, 2), int)), "'train_edges'"),
        (lambda ev: audit.run([ev], train_edges=np.zeros((1, 2), int)), "one by one"),
        (lambda ev: audit.run(ev, only=["tied-score"]), "'tied-scores'"),
        (lambda ev: audit.run(ev, only=[5]), "unknown check"),
        (lambda ev: audit.run(ev).at_least("worse"), "severity"),
        (lambda ev: audit.run(ev, ignore="tied-score"), "'tied-scores'"),
    ],
)
def test_wrong_calls_say_what_was_meant(call, words):
    with pytest.raises(GraphgaugeError, match=words):
        call(evaluate(np.ones(50), np.ones((50, 9))))


def test_one_name_may_stand_alone():
    evaluation = evaluate(np.ones(50), np.ones((50, 9)))
    (finding,) = audit.run(evaluation, only="tied-scores", ignore="tied-scores")
    assert finding.ignored


def test_the_worst_cut_off_is_named():
    evaluation = evaluate(np.ones(50), np.zeros((50, 2)), k=[1, 3, 10])
    (finding,) = audit.run(evaluation, only=["cutoff-above-candidates"])
    assert finding.evidence["key"] == "hits@3"  # before hits@10, of which the same is true
    mask = np.arange(9) < np.where(np.arange(50) < 5, 2, 8)[:, None]
    evaluation = evaluate(np.ones(50), np.zeros((50, 9)), mask=mask, k=[1, 3, 10])
    (finding,) = audit.run(evaluation, only=["cutoff-above-candidates"])
    assert (finding.evidence["key"], finding.evidence["share"]) == ("hits@10", 1.0)


@pytest.mark.parametrize("data", [np.ones((9, 4)), np.full((9, 3), np.nan), [["a"] * 3], [[1], [1, 2]]])
def test_data_that_are_none(data):
    evaluation = recovery.evaluate(np.eye(3, k=1), np.eye(3, k=1))
    with pytest.raises(GraphgaugeError, match="data"):
        audit.run(evaluation, only=["variance-tells-order"], data=data)


def test_library():
    evaluation = evaluate(np.ones(50), np.ones((50, 9)))
    found = audit.run(evaluation)
    assert [finding.check for finding in found] == ["tied-scores", "cutoff-above-candidates"]
    assert found.at_least("error") == ()
    assert "seen-in-training" in found.not_run
    assert audit.run(evaluation, only=["rounded-scores"]).not_run == {"rounded-scores": ("pos_scores", "neg_scores")}
    ignored = audit.run(evaluation, ignore=["tied-scores"])
    assert [finding.check for finding in ignored.at_least("note")] == ["cutoff-above-candidates"]
    with pytest.raises(GraphgaugeError, match="one of the two"):
        audit.run(evaluation, family="ranking")
    with pytest.raises(GraphgaugeError, match="one of the two"):
        audit.run()


def test_a_folder_is_read_with_what_its_study_ignores(tmp_path):
    for method in ("a", "b"):
        evaluation = evaluate(np.ones(50), np.ones((50, 9)))
        evaluation.run |= {"method": method, "dataset": "toy", "seed": 0}
        write_result(evaluation, tmp_path / method / "r.json")
    summary = {"study": "s", "gates": [], "comparisons": [], "ignore": {"few-seeds": "a pilot"}}
    (tmp_path / "study.json").write_text(json.dumps(summary))
    found = audit.run(tmp_path)
    assert not any(finding.ignored for finding in found)
    assert found.claimed == ("few-seeds",)
    assert "few-seeds" in {finding.check for finding in found.at_least("note")}
    found = audit.run(tmp_path, accept_ignored=True)
    assert {finding.check for finding in found if finding.ignored} == {"few-seeds"}
    assert found.claimed == ()


def test_a_damaged_result_is_named_and_the_others_are_audited(tmp_path):
    for method in ("a", "b"):
        evaluation = evaluate(np.ones(50), np.ones((50, 9)))
        evaluation.run |= {"method": method, "dataset": "toy", "seed": 0}
        write_result(evaluation, tmp_path / method / "r.json")
    damaged = tmp_path / "b" / "r.json"
    damaged.write_text(damaged.read_text().replace('"b"', '"c"'))
    found = audit.run(tmp_path)
    assert "tied-scores" in {finding.check for finding in found}
    assert len(found.unreadable) == 1
    done = run(tmp_path)
    assert done.returncode == 3
    assert "tied-scores" in done.stdout
    assert "not audited" in done.stdout
    assert "b/r.json" in done.stdout


def test_explain_prints_the_page_of_a_check(files):
    done = run("--explain", "tied-scores")
    assert done.returncode == 0
    assert done.stdout.startswith("# `tied-scores`")
    assert "{include}" not in done.stdout
    wrong = run("--explain", "tied-score")
    assert wrong.returncode == 2
    assert "Did you mean 'tied-scores'" in wrong.stderr
    # What a finding says to run is that command.
    assert "More: graphgauge audit --explain tied-scores" in ranking(files).stdout
