"""Methods are compared only where they were measured against the same truth, as far as receipts say."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.command import graphgauge
from tests.sealed import write_sealed

from graphgauge import explanation, generation
from graphgauge.core.errors import InputError
from graphgauge.old.core.family import BUILT_IN as FAMILIES
from graphgauge.old.core.family import family as declared
from graphgauge.old.core.truths import truths_of
from graphgauge.old.stats import aggregate, compare, load
from graphgauge.report import write_report

REFUSED = "measured against different truths"


def entry(name, digest, path=None, **more):
    return {"name": name, "path": path or f"{name}.npy", "bytes": 1, "hash": digest, **more}


def result(family, method, seed, inputs, *, dataset="toy", value=None):
    """A result file's content, with one metric and these inputs."""
    fact = {
        "key": "score",
        "metric": "score",
        "params": {},
        "section": None,
        "n": 10,
        "unit": "query",
        "value": 0.1 * seed + len(method) if value is None else value,
        "direction": "higher",
        "target": None,
        "bounds": [0, None],
        "interval": None,
        "levels": [],
        "conventions": {},
        "readings": {},
        "reason": None,
        "oracle": False,
        "warnings": [],
    }
    return {
        "schema": "graphgauge/result/2",
        "status": "ok",
        "conventions": {},
        "readings": {},
        "options": {},
        "run": {"family": family, "method": method, "dataset": dataset, "seed": seed, "tags": {}},
        "results": [fact],
        "breakdowns": [],
        "side_files": [],
        "skipped": [],
        "findings": [],
        "error": None,
        "receipt": {"inputs": inputs, "code": [], "versions": {}},
    }


def write(folder, contents):
    for content in contents:
        run = content["run"]
        path = folder / run["method"] / run["family"] / f"metrics_{run['dataset']}_{run['seed']}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_sealed(path, content)
    return folder


def every_form():
    return [
        (family, by, name)
        for family in FAMILIES
        for by, form in declared(family).truths.items()
        for name in (*form.decisive, *form.given)
    ]


def test_every_family_says_what_its_truth_is():
    for family, by, name in every_form():
        assert {by, name} <= set(declared(family).fields)


@pytest.mark.parametrize(("family", "by", "name"), every_form())
def test_another_truth_is_refused_in_every_family(tmp_path, family, by, name):
    def inputs(digest):
        named = f"{name}.relation" if name == "groups" else name
        return [entry(by, "shared"), entry(named, digest)] if name != by else [entry(by, digest)]

    same = write(tmp_path / "same", [result(family, m, s, inputs("t")) for m, s in product(("a", "bb"), (0, 1))])
    compare(str(same), metric="score")
    aggregate(str(same))
    other = write(tmp_path / "other", [result(family, m, s, inputs(m)) for m, s in product(("a", "bb"), (0, 1))])
    for judged in (lambda: compare(str(other), metric="score"), lambda: aggregate(str(other))):
        with pytest.raises(InputError, match=REFUSED) as error:
            judged()
        for word in ("toy", "seed 0", name, "for a", "for bb", "(a…)", "(bb…)"):
            assert word in str(error.value)


@pytest.mark.parametrize(
    ("family", "by", "name"),
    [("ranking", "pos_scores", "mask"), ("ranking", "targets", "known_values")],
)
def test_a_truth_that_one_method_lacks(tmp_path, family, by, name):
    with_it = [result(family, "a", s, [entry(by, "t"), entry(name, "m")]) for s in (0, 1)]
    without = [result(family, "bb", s, [entry(by, "t")]) for s in (0, 1)]
    with pytest.raises(InputError, match=rf"{name} is .* for a, none for bb"):
        compare(str(write(tmp_path, with_it + without)), metric="score")


def test_what_only_breaks_down_may_be_absent(tmp_path):
    with_it = [result("ranking", "a", s, [entry("pos_scores", "a"), entry("groups.kind", "g")]) for s in (0, 1)]
    without = [result("ranking", "bb", s, [entry("pos_scores", "b")]) for s in (0, 1)]
    compare(str(write(tmp_path, with_it + without)), metric="score")


def truths(*rows):
    return [result("recovery", method, seed, [entry("true", digest)]) for method, seed, digest in rows]


def test_truths_may_differ_from_seed_to_seed(tmp_path):
    rows = truths(*((method, seed, f"graph {seed}") for method in ("a", "bb") for seed in range(3)))
    found = compare(str(write(tmp_path, rows)), metric="score")
    assert found.notes == ()


def test_one_seed_that_differs_is_named(tmp_path):
    rows = truths(*(("a", seed, f"graph {seed}") for seed in range(3)), *(("bb", seed, "graph 0") for seed in range(3)))
    with pytest.raises(InputError, match=r"seed 1: true is 'true.npy' \(graph 1…\) for a, 'true.npy' \(graph 0…\) for"):
        compare(str(write(tmp_path, rows)), metric="score")


def test_methods_without_a_common_seed(tmp_path):
    rows = truths(("a", 0, "t"), ("a", 1, "t"), ("bb", 2, "u"), ("bb", 3, "u"))
    with pytest.raises(InputError, match=REFUSED):
        aggregate(str(write(tmp_path / "apart", rows)))
    # One seed each: the truth may be that of the seed.
    aggregate(str(write(tmp_path / "open", truths(("a", 0, "t"), ("bb", 1, "u")))))


def test_datasets_are_judged_apart(tmp_path):
    rows = truths(("a", 0, "t"), ("bb", 0, "t"))
    rows += [result("recovery", m, 0, [entry("true", m)], dataset="other") for m in ("a", "bb")]
    runs = load(str(write(tmp_path, rows)))
    aggregate(runs.only(dataset=["toy"]))
    with pytest.raises(InputError, match="on other, true is"):
        aggregate(runs)


def test_any_truth_with_a_warning_and_without_marks(tmp_path):
    folder = str(write(tmp_path, truths(*((m, s, m) for m in ("a", "bb") for s in range(7)))))
    table = aggregate(folder, truths="any")
    assert table.marks("score", "toy") == {}
    assert REFUSED in str(table)
    assert any(REFUSED in note for note in table.to_dict()["notes"])
    found = compare(folder, metric="score", truths="any")
    assert any(REFUSED in note for note in found.to_dict()["notes"])
    with pytest.raises(InputError, match="unknown truths"):
        compare(folder, metric="score", truths="some")


def test_without_receipts_nothing_can_be_said():
    compare(
        [{"method": m, "seed": s, "f1": s + len(m)} for m in ("a", "bb") for s in range(2)],
        metric="f1",
        direction="higher",
    )


@pytest.mark.parametrize(
    "receipt",
    [
        None,
        3,
        {},
        {"inputs": 3},
        {"inputs": [3, {}, {"name": "true"}, {"name": 3, "path": "x", "hash": "y"}]},
        {"inputs": [entry("true", ["list"])]},
        {"inputs": [entry("table", "x")]},
        {"inputs": [entry("state", "x")]},
    ],
)
def test_receipts_that_say_nothing(receipt):
    assert truths_of("recovery", receipt) == {}


def test_an_archive_with_truth_and_answers_says_nothing_of_the_truth_alone():
    both = [entry("true", "z", "a.pt"), entry("pred", "z", "a.pt")]
    assert truths_of("recovery", {"inputs": both}) == {}
    both = [entry("true", "z", "a.npz", content="t"), entry("pred", "z", "a.npz", content="p")]
    assert truths_of("recovery", {"inputs": both})["true"].hashes == ("t",)


# ------------------------------------------------------------ from real files


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """Two truths of the same size, as .npy and in archives together with the predictions."""
    folder = tmp_path_factory.mktemp("graphs")
    truth = np.triu(np.ones((6, 6)), 1)
    other = np.tril(np.ones((6, 6)), -1)
    prediction = np.triu(np.random.default_rng(0).random((6, 6)), 1)
    np.save(folder / "true.npy", truth)
    np.save(folder / "other.npy", other)
    np.save(folder / "pred.npy", prediction)
    np.savez(folder / "alone.npz", truth)
    np.savez_compressed(folder / "one.npz", true=truth, pred=prediction)
    np.savez(folder / "two.npz", true=truth, pred=prediction.T)
    np.savez(folder / "three.npz", true=other, pred=prediction)
    return folder


def evaluated(graphs, folder, method, true, pred):
    where = folder / f"{method}.json"
    named = ("--method", method, "--dataset", "six", "--run-seed", 0, "-o", where, "--quiet")
    done = graphgauge("recovery", "--true", true, "--pred", pred, *named, cwd=graphs)
    assert done.returncode == 0, done.stderr


def test_equal_arrays_are_one_truth_in_any_archive(graphs, tmp_path):
    evaluated(graphs, tmp_path, "a", "true.npy", "pred.npy")
    evaluated(graphs, tmp_path, "b", "one.npz:true", "one.npz:pred")
    evaluated(graphs, tmp_path, "c", "two.npz:true", "two.npz:pred")
    evaluated(graphs, tmp_path, "d", "alone.npz", "pred.npy")
    aggregate(str(tmp_path))
    evaluated(graphs, tmp_path, "e", "three.npz:true", "three.npz:pred")
    with pytest.raises(InputError, match=r"'true.npy' \(.*for a, 'three.npz' \(.*for e"):
        aggregate(str(tmp_path))


def test_the_commands_refuse_with_3_and_the_page_says_it(graphs, tmp_path):
    results = tmp_path / "results"
    evaluated(graphs, results, "a", "true.npy", "pred.npy")
    evaluated(graphs, results, "b", "other.npy", "pred.npy")
    for command in (("compare", results, "--metric", "directed_f1"), ("aggregate", results)):
        done = graphgauge(*command, cwd=tmp_path)
        assert done.returncode == 3
        assert REFUSED in done.stderr
        assert "other.npy" in done.stderr
        done = graphgauge(*command, "--truths", "any", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert f"warning: methods were {REFUSED}" in done.stdout
    page = write_report(str(results), tmp_path / "page.html").read_text()
    assert REFUSED in page
    assert "directed_f1" in page


STUDY = """\
schema = 1
[[evaluate]]
family = "recovery"
dataset = "six"
method = "a"
run_seed = 0
true = "true.npy"
pred = "pred.npy"
[[evaluate]]
family = "recovery"
dataset = "six"
method = "b"
run_seed = 0
true = "other.npy"
pred = "pred.npy"
[[compare]]
metric = "directed_f1"
"""


def test_a_study_says_that_it_cannot_compare(graphs):
    from graphgauge.study import run

    (graphs / "study.toml").write_text(STUDY)
    outcome = run(graphs / "study.toml")
    assert outcome.exit_code == 4
    assert REFUSED in outcome.judgement.compared[0][0].error
    (graphs / "study.toml").write_text(STUDY + 'truths = "any"\n')
    outcome = run(graphs / "study.toml")
    assert outcome.exit_code == 0
    assert any(REFUSED in note for note in outcome.judgement.compared[0][1].notes)


@pytest.mark.parametrize("seeds", [(0, 0), (0, 1)])
def test_over_items_too(tmp_path, seeds):
    """Items are paired by their ids, whatever the seeds of the runs."""
    rng = np.random.default_rng(3)
    np.save(tmp_path / "pos.npy", rng.normal(1, 1, 40))
    np.save(tmp_path / "neg.npy", rng.normal(0, 1, (40, 5)))
    for method, seed in zip(("a", "b"), seeds, strict=True):
        np.save(tmp_path / f"mask-{method}.npy", rng.random((40, 5)) < 0.8)
        done = graphgauge(
            "ranking",
            "--pos-scores",
            "pos.npy",
            "--neg-scores",
            "neg.npy",
            "--mask",
            f"mask-{method}.npy",
            "--keep",
            "items",
            "--method",
            method,
            "--dataset",
            "toy",
            "--run-seed",
            seed,
            "--quiet",
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
    with pytest.raises(InputError, match=REFUSED):
        compare(str(tmp_path / "results"), metric="mrr", over="items", missing="omit")
    found = compare(str(tmp_path / "results"), metric="mrr", over="items", missing="omit", truths="any")
    assert any(REFUSED in note for note in found.to_dict()["notes"])
    assert REFUSED in str(found)


# ---- files that contain truth and answers


def sample_table(path, real, shift):
    generation.SampleTable.of(real=real, generated=np.roll(real, shift, axis=1)).save(path)
    return {"family": "generation", "table": str(path)}


def explained(path, truth, importance):
    graph = explanation.Subgraph(np.array([[0, 1, 2], [1, 2, 0]]))
    explanation.write_explanations(
        [
            explanation.Explanation(explanation.Context(graph, target=0, event=event, truth=truth), importance)
            for event in range(3)
        ],
        path,
    )
    return {"family": "explanation", "explanations": str(path), "metrics": ("truth_auc",)}


REAL = np.random.default_rng(0).random((12, 6)) > 0.5
MIXED = {
    "samples": ("t.npz", sample_table, (REAL, 1), (REAL, 2), True),
    "samples of other data": ("t.npz", sample_table, (REAL, 1), (~REAL, 1), False),
    "explanations": ("e.jsonl", explained, ([1, 0, 0], [3, 2, 1]), ([1, 0, 0], [1, 2, 3]), True),
    "explanations of another truth": ("e.jsonl", explained, ([1, 0, 0], [3, 2, 1]), ([0, 0, 1], [3, 2, 1]), False),
}


@pytest.mark.parametrize("kind", MIXED)
def test_the_truth_in_files_that_also_have_answers(tmp_path, kind):
    name, write_table, one, other, same = MIXED[kind]
    for method, given in (("a", one), ("bb", other)):
        (tmp_path / method).mkdir()
        options = write_table(tmp_path / method / name, *given)
        evaluated = declared(options.pop("family")).evaluate_files(**options)
        for seed in (0, 1):
            evaluated.save(tmp_path / "results" / f"{method}{seed}.json", method=method, dataset="toy", seed=seed)
    if same:
        aggregate(str(tmp_path / "results"))
    else:
        with pytest.raises(InputError, match=REFUSED):
            aggregate(str(tmp_path / "results"))
