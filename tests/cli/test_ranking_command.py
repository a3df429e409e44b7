"""`graphgauge ranking` as a user meets it: results on stdout, everything else on stderr, and the right exit code."""

import csv
import io
import json
import os
import pickle
import signal
import subprocess
import time

import numpy as np
import pytest
from tests.command import MODULE
from tests.command import graphgauge as run

import graphgauge
from graphgauge.core.errors import InputError


@pytest.fixture
def scores(tmp_path):
    """Three shards of positives and negatives, and the arrays they come from."""
    draw = np.random.default_rng(7)
    pos = draw.normal(1, 1, 120).astype(np.float32)
    neg = draw.normal(0, 1, (120, 20)).astype(np.float32)
    for shard in range(3):
        np.save(tmp_path / f"pos-{shard}.npy", pos[shard * 40 : shard * 40 + 40])
        np.save(tmp_path / f"neg-{shard}.npy", neg[shard * 40 : shard * 40 + 40])
    np.save(tmp_path / "pos.npy", pos)
    np.save(tmp_path / "neg.npy", neg)
    return tmp_path, pos, neg


MATRIX = ("ranking", "--pos-scores", "pos.npy", "--neg-scores", "neg.npy")
SHARDS = ("ranking", "--pos-scores", "pos-*.npy", "--neg-scores", "neg-*.npy")


def test_shards_give_what_the_library_gives(scores):
    folder, pos, neg = scores
    done = run(*SHARDS, "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = {entry["key"]: entry["value"] for entry in json.loads(done.stdout)["results"]}
    expected = graphgauge.ranking.evaluate(pos, neg)
    assert found == {key: result.value for key, result in expected.items()}


def test_one_file_of_positives_beside_several_of_negatives(scores):
    folder, _, _ = scores
    one = run("ranking", "--pos-scores", "pos.npy", "--neg-scores", "neg-*.npy", "--format", "csv", cwd=folder)
    both = run(*MATRIX, "--format", "csv", cwd=folder)
    assert one.stdout == both.stdout


def test_a_shard_with_fewer_negatives_is_refused(scores):
    folder, _, neg = scores
    np.save(folder / "neg-1.npy", neg[40:80, :10])
    with pytest.raises(InputError, match=r"neg-1\.npy\): has 10 negatives per query, and neg-0\.npy has 20"):
        graphgauge.ranking.evaluate_files(pos_scores=str(folder / "pos-*.npy"), neg_scores=str(folder / "neg-?.npy"))


def test_numbered_shards_are_read_in_numeric_order(tmp_path):
    pos, neg = np.arange(12.0), np.tile(np.arange(12.0)[:, None], (1, 3))
    for part in range(12):
        np.save(tmp_path / f"neg-{part}.npy", neg[part : part + 1] + 0.5)
    np.save(tmp_path / "pos.npy", pos)
    done = run(
        "ranking",
        "--pos-scores",
        "pos.npy",
        "--neg-scores",
        "neg-*.npy",
        "--metrics",
        "mean_rank",
        "--format",
        "csv",
        cwd=tmp_path,
    )
    # Each positive stands just below its own negatives, and above or below others' by far.
    assert next(csv.DictReader(io.StringIO(done.stdout)))["value"] == "4.0"


@pytest.mark.parametrize("kind", ["npz", "pt", "safetensors", "parquet", "csv"])
def test_every_format_reads_the_same_scores(scores, kind):
    folder, pos, neg = scores
    for name, array in (("pos", pos), ("neg", neg)):
        write(folder / f"{name}.{kind}", array)
    other = run("ranking", "--pos-scores", f"pos.{kind}", "--neg-scores", f"neg.{kind}", "--format", "csv", cwd=folder)
    assert other.stdout == run(*MATRIX, "--format", "csv", cwd=folder).stdout, other.stderr


def write(path, array):
    match path.suffix:
        case ".npz":
            np.savez(path, scores=array)
        case ".pt":
            torch = pytest.importorskip("torch")
            torch.save(torch.from_numpy(array), path)
        case ".safetensors":
            pytest.importorskip("safetensors.numpy").save_file({"scores": np.ascontiguousarray(array)}, path)
        case ".parquet":
            arrow = pytest.importorskip("pyarrow")
            columns = {f"s{i}": column for i, column in enumerate(np.atleast_2d(array.T))}
            pytest.importorskip("pyarrow.parquet").write_table(arrow.table(columns), path, row_group_size=50)
        case ".csv":
            np.savetxt(path, array, delimiter=",", fmt="%.9g")


def test_groups_cluster_and_per_query(scores):
    folder, pos, neg = scores
    relation = np.where(np.arange(120) % 3 == 0, "likes", "knows")
    (folder / "relation.txt").write_text("\n".join(relation) + "\n")
    np.save(folder / "cluster.npy", np.arange(120) // 2)
    done = run(
        *SHARDS,
        "--groups",
        "relation=relation.txt",
        "--cluster",
        "cluster.npy",
        "--per-query",
        "q.csv",
        "--format",
        "json",
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["breakdowns"]["relation"]["relation"] == ["knows", "likes"]
    assert content["results"][0]["interval"]["over"] == "clusters"
    rows = list(csv.DictReader(io.StringIO((folder / "q.csv").read_text())))
    assert [float(row["rank"]) for row in rows] == graphgauge.ranking.ranks(pos, neg).tolist()


def test_flat_form(tmp_path):
    np.save(tmp_path / "s.npy", [3.0, 2.0, 1.0, 5.0, 4.0])
    np.save(tmp_path / "y.npy", [0, 1, 1, 1, 0])
    (tmp_path / "q.txt").write_text("a\na\na\nb\nb\n")
    done = run(
        "ranking",
        "--scores",
        "s.npy",
        "--labels",
        "y.npy",
        "--queries",
        "q.txt",
        "--k",
        "2",
        "--metrics",
        "mrr,recall,precision",
        "--format",
        "csv",
        cwd=tmp_path,
    )
    values = {row["key"]: float(row["value"]) for row in csv.DictReader(io.StringIO(done.stdout))}
    # Query a: both positives stand below its one negative, so rank 2 each; query b: rank 1.
    assert values == {"mrr": pytest.approx((0.5 + 0.5 + 1) / 3), "recall@2": 0.75, "precision@2": 0.5}


def test_all_entities_filtered(tmp_path):
    np.save(tmp_path / "entities.npy", np.array([[3.0], [2.0], [1.0], [0.0]], np.float32))
    np.save(tmp_path / "queries.npy", np.array([[1.0], [1.0]], np.float32))
    np.save(tmp_path / "targets.npy", [2, 1])
    np.save(tmp_path / "known.npy", [0])
    np.save(tmp_path / "offsets.npy", [0, 1, 1])
    done = run(
        "ranking",
        "--queries-emb",
        "queries.npy",
        "--entities",
        "entities.npy",
        "--targets",
        "targets.npy",
        "--known-values",
        "known.npy",
        "--known-offsets",
        "offsets.npy",
        "--metrics",
        "mean_rank",
        "--format",
        "csv",
        cwd=tmp_path,
    )
    # Query 0: entity 0 is known, entity 1 outscores the target; query 1: entity 0 outscores it.
    assert next(csv.DictReader(io.StringIO(done.stdout)))["value"] == "2.0", done.stderr


def test_saved_states_merge_to_the_whole(scores):
    folder, _, _ = scores
    for shard in range(3):
        run(
            "ranking",
            "--pos-scores",
            f"pos-{shard}.npy",
            "--neg-scores",
            f"neg-{shard}.npy",
            "--save-state",
            f"s{shard}.npz",
            "--quiet",
            cwd=folder,
        )
    merged = run("merge", "s2.npz", "s0.npz", "s1.npz", "--format", "csv", "--save", "all.npz", cwd=folder)
    assert merged.stdout == run(*MATRIX, "--format", "csv", cwd=folder).stdout
    assert run("merge", "all.npz", "--format", "csv", cwd=folder).stdout == merged.stdout
    twice = run("merge", "all.npz", "s0.npz", cwd=folder)
    assert twice.returncode == 3
    assert "both states have the shard" in twice.stderr


@pytest.mark.parametrize("how", ["named twice", "symlink"])
def test_a_shard_is_counted_once(scores, how):
    folder, _, _ = scores
    pos, neg = "pos-1.npy", "neg-1.npy"
    if how == "symlink":
        for name in (pos, neg):
            (folder / f"again-{name}").symlink_to(folder / name)
        pos, neg = f"again-{pos}", f"again-{neg}"
    twice = run(
        "ranking",
        "--pos-scores",
        pos,
        "--pos-scores",
        "pos-?.npy",
        "--neg-scores",
        neg,
        "--neg-scores",
        "neg-?.npy",
        cwd=folder,
    )
    assert twice.returncode == 3
    assert "its queries would count twice" in twice.stderr


def test_shards_that_share_positives_or_negatives_are_different_shards(tmp_path):
    draw = np.random.default_rng(1)
    pos, neg = draw.normal(size=(2, 10)), draw.normal(size=(2, 10, 4))
    for name, p, n in (("a", 0, 0), ("b", 0, 1), ("c", 1, 1)):
        np.save(tmp_path / f"pos-{name}.npy", pos[p])
        np.save(tmp_path / f"neg-{name}.npy", neg[n])
    np.savez(tmp_path / "both.npz", pos=pos[0], neg=neg[0])
    done = run("ranking", "--pos-scores", "pos-*.npy", "--neg-scores", "neg-*.npy", "--format", "csv", cwd=tmp_path)
    assert next(csv.DictReader(io.StringIO(done.stdout)))["n"] == "30", done.stderr
    members = run("ranking", "--pos-scores", "both.npz:pos", "--neg-scores", "both.npz:neg", cwd=tmp_path)
    assert members.returncode == 0, members.stderr


def test_gates_decide_the_exit_code(scores):
    folder, _, _ = scores
    assert run(*MATRIX, "--gate", "mrr >= 0.01", "--gate", "mrr.low > 0", cwd=folder).returncode == 0
    failed = run(*MATRIX, "--gate", "mrr.low >= 0.99", cwd=folder)
    assert failed.returncode == 1
    assert "gate failed: mrr.low >= 0.99" in failed.stderr
    assert run(*MATRIX, "--gate", "mrr is good", cwd=folder).returncode == 2
    assert run(*MATRIX, "--gate", "mmr >= 0.5", cwd=folder).returncode == 2


def test_gates_on_groups_and_chance(scores):
    folder, pos, neg = scores
    np.save(folder / "relation.npy", np.arange(120) % 4)
    options = (*MATRIX, "--groups", "relation=relation.npy", "--gate", "mrr.low > chance")
    assert run(*options, "--gate", "mrr[relation=2].low > 0", cwd=folder).returncode == 0
    failed = run(*options, "--gate", "mrr[relation] >= 0.9", cwd=folder)
    table = graphgauge.ranking.evaluate(pos, neg, groups={"relation": np.arange(120) % 4})["mrr"].by("relation")
    assert failed.returncode == 1
    assert f"for relation={table['value'].argmin()})" in failed.stderr
    assert "gate passed: mrr.low > chance (found" in failed.stderr


def test_a_gate_on_what_is_not_computed_fails_before_the_run(tmp_path):
    """No file exists, and none is opened."""
    for words, said in (
        (["--gate", "mrr > 0.5", "--metrics", "hits@10"], "--metrics is hits@10"),
        (["--gate", "hits@50 > 0.5", "--metrics", "hits@10,mrr"], "--metrics has hits@10. Name hits@50 there"),
        (["--gate", "mrr[relation=2] > 0.5"], "with --groups"),
    ):
        done = run(*MATRIX, *words, cwd=tmp_path)
        assert done.returncode == 2
        assert said in done.stderr


def test_a_named_run_is_written_to_its_place(scores):
    folder, _, _ = scores
    done = run(*SHARDS, "--method", "trans/e", "--dataset", "wn", "--run-seed", 3, cwd=folder)
    assert done.returncode == 0, done.stderr
    (path,) = (folder / "results").rglob("*.json")
    assert path.name == "metrics_wn_3.json"
    assert path.parent.name == "ranking"
    content = json.loads(path.read_text())
    assert content["run"] == {"method": "trans/e", "dataset": "wn", "seed": 3, "tags": {}}
    assert [entry["path"] for entry in content["receipt"]["inputs"][:3]] == ["pos-0.npy", "pos-1.npy", "pos-2.npy"]


def test_figure_and_flat_file(scores):
    folder, _, _ = scores
    done = run(*MATRIX, "--figure", "f.svg", "--flat", "flat.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "f.svg").read_text().startswith("<?xml")
    assert json.loads((folder / "flat.json").read_text())["hits@10"] == pytest.approx(
        graphgauge.ranking.hits_at_k(*scores[1:], k=10)
    )


class Trap:
    """Leaves a trace when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("unpickled",)


def bad_input(folder):
    """(arguments, exit code, words of the message) for everything that must be refused."""
    np.save(folder / "row.npy", np.zeros((1, 9)))
    np.save(folder / "four.npy", np.zeros(4))
    np.save(folder / "cube.npy", np.zeros((4, 2, 2)))
    nan = np.zeros((4, 2))
    nan[2, 1] = np.nan
    np.save(folder / "nan.npy", nan)
    np.save(folder / "text.npy", np.array([["a", "b"]] * 4))
    np.save(folder / "objects.npy", np.array([[Trap()]] * 4, dtype=object), allow_pickle=True)
    with (folder / "plain.pt").open("wb") as stream:
        pickle.dump(Trap(), stream)
    np.save(folder / "cut.npy", np.zeros((4, 100)))
    (folder / "cut.npy").write_bytes((folder / "cut.npy").read_bytes()[:-50])
    (folder / "empty.npy").write_bytes(b"")
    np.save(folder / "p-0.npy", np.zeros(3))
    np.save(folder / "p-1.npy", np.zeros(5))
    np.save(folder / "n-0.npy", np.zeros((4, 2)))
    np.save(folder / "n-1.npy", np.zeros((4, 2)))

    def pair(neg, pos="four.npy"):
        return ("ranking", "--pos-scores", pos, "--neg-scores", neg)

    yield pair("row.npy"), 3, ["four.npy has 4 rows", "row.npy has 1"]
    yield pair("nan.npy"), 3, ["neg_scores", "1 of 8 values are NaN", "(2, 1)", "omit"]
    yield pair("text.npy"), 3, ["neg_scores", "expected numbers"]
    yield pair("objects.npy"), 3, ["objects.npy", "not read"]
    yield pair("plain.pt"), 3, ["plain.pt", "not loaded"]
    yield pair("cut.npy"), 3, ["cut.npy", "is truncated"]
    yield pair("missing.npy"), 3, ["missing.npy", "no such file"]
    yield pair("*.nothing"), 3, ["no file matches"]
    yield pair("empty.npy"), 3, ["empty.npy", "is empty"]
    yield pair("n-*.npy", "p-*.npy"), 3, ["p-0.npy has 3 rows", "n-0.npy has 4"]
    yield (*pair("n-0.npy"), "--k", "0"), 2, ["--k", "below 1"]
    yield (*pair("n-0.npy"), "--ties", "hopeful"), 2, ["--ties", "realistic"]
    yield (*pair("n-0.npy"), "--metrics", "mr"), 2, ["unknown metric 'mr'", "mrr"]
    yield (*pair("n-0.npy"), "--confidence", "1.5"), 2, ["--confidence"]
    yield pair("cube.npy"), 3, ["neg_scores", "(n, k)"]
    yield ("ranking", "--pos-scores", "four.npy"), 2, ["--neg-scores not given"]
    yield (*pair("n-0.npy"), "--offsets", "o.npy", "--mask", "nosuch.npy"), 2, ["--offsets and --mask exclude"]
    yield (*pair("n-0.npy"), "--known-values", "nosuch.npy"), 2, ["does not take --known-values"]
    yield (
        ("ranking", "--scores", "s.npy", "--labels", "y.npy", "--queries", "q.npy", "--mask", "m.npy"),
        2,
        ["the flat form does not take --mask"],
    )
    yield ("ranking",), 2, ["nothing to evaluate"]
    yield (*pair("n-0.npy"), "--groups", "relation"), 2, ["NAME=FILE"]
    yield ("merge", "four.npy"), 3, ["not a saved graphgauge state"]
    yield ("rankings",), 2, ["Did you mean 'ranking'"]


def test_bad_input_is_refused_in_one_paragraph(tmp_path):
    for arguments, code, words in bad_input(tmp_path):
        done = run(*arguments, cwd=tmp_path)
        message = done.stderr.strip()
        assert done.returncode == code, (arguments, done)
        assert all(word in message for word in words), (arguments, message)
        assert "Traceback" not in message
        assert done.stdout == ""
    assert not (tmp_path / "unpickled").exists()


def test_an_output_that_cannot_be_written_is_an_error_after_the_result(scores):
    folder, _, _ = scores
    done = run(*MATRIX, "--output", "pos.npy/x.json", cwd=folder)
    assert done.returncode == 3
    assert "cannot be written" in done.stderr
    assert "mrr" in done.stdout


def test_debug_shows_the_traceback(tmp_path):
    done = run("ranking", "--pos-scores", "x.npy", "--neg-scores", "y.npy", "--debug", cwd=tmp_path)
    assert "Traceback" in done.stderr


def test_killed_in_the_middle_leaves_no_half_written_output(scores):
    """Killed at many moments: the output is absent or whole, and an older one stays whole."""
    folder, _, _ = scores
    output = folder / "out.json"
    arguments = [*MODULE, *SHARDS, "-o", "out.json", "--per-query", "q.csv", "--quiet"]
    started = time.perf_counter()
    subprocess.run(arguments, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    usual = time.perf_counter() - started
    whole = json.loads(output.read_text())["results"]
    lines = (folder / "q.csv").read_text()
    for moment in np.linspace(0.3, 1.1, 12):
        if moment > 0.7:
            output.unlink(missing_ok=True)
        process = subprocess.Popen(arguments, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(usual * moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if output.exists():
            assert json.loads(output.read_text())["results"] == whole
        assert (folder / "q.csv").read_text() == lines


def test_lists_of_two_models_are_compared_over_queries(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.random((40, 12)) < 0.2
    labels[:, 0] = True
    np.save(tmp_path / "y.npy", labels.ravel())
    np.save(tmp_path / "q.npy", np.repeat(np.arange(40), 12))
    for name, strength in (("good", 2.0), ("poor", 0.2)):
        np.save(tmp_path / f"{name}.npy", (rng.normal(size=(40, 12)) + strength * labels).ravel())
        done = run(
            "ranking",
            "--scores",
            f"{name}.npy",
            "--labels",
            "y.npy",
            "--queries",
            "q.npy",
            "--keep",
            "items",
            "--method",
            name,
            "--dataset",
            "made",
            "-o",
            f"{name}.json",
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
    for metric in ("recall@3", "ndcg@10", "map@10", "mrr_first"):
        done = run(
            "compare", "good.json", "poor.json", "--metric", metric, "--over", "items", "--format", "json", cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)["comparison"]
        (pair,) = found["pairs"]
        assert pair["p_value"] < 0.01
        assert found["design"]["units"] == [40, 40]


def test_items_weights_and_queries_as_files(tmp_path):
    np.save(tmp_path / "s.npy", [3.0, 2.0, 1.0, 3.0, 2.0, 1.0])
    np.save(tmp_path / "y.npy", [1, 0, 0, 0, 2, 0])
    (tmp_path / "q.txt").write_text("a\na\na\nb\nb\nb\n")
    np.save(tmp_path / "i.npy", [0, 1, 2, 0, 2, 3])
    np.save(tmp_path / "popularity.npy", [4, 2, 1, 1])
    np.save(tmp_path / "w.npy", [3.0, 1.0])
    flat = ("ranking", "--scores", "s.npy", "--labels", "y.npy", "--queries", "q.txt", "--k", "2", "--format", "csv")
    items = ("--items", "i.npy", "--item-popularity", "popularity.npy", "--metrics", "coverage,popularity,mrr_first")
    weights = ("--weights", "w.npy", "--per-query", "queries.csv", "--metrics", "mrr_first")
    for options, expected in (
        (items, {"coverage@2": 0.75, "popularity@2": 2.75, "mrr_first": 0.75}),
        (weights, {"mrr_first": (3 * 1 + 1 * 0.5) / 4}),
    ):
        done = run(*flat, *options, cwd=tmp_path)
        values = {row["key"]: float(row["value"]) for row in csv.DictReader(io.StringIO(done.stdout))}
        assert values == expected, done.stderr
    assert "do not take weights" in run(*flat, *items, "--weights", "w.npy", cwd=tmp_path).stderr
    rows = list(csv.DictReader(io.StringIO((tmp_path / "queries.csv").read_text())))
    assert [(row["ids"], float(row["reciprocal_rank"]), row["relevant"]) for row in rows] == [
        ("a", 1.0, "1"),
        ("b", 0.5, "1"),
    ]
    assert "needs" in run(*flat, "--items", "i.npy", cwd=tmp_path).stderr
    assert "needs" in run(*flat, "--item-count", "4", cwd=tmp_path).stderr


def test_states_of_lists_merge_on_the_command_line(tmp_path):
    draw = np.random.default_rng(0)
    lists, right = np.array([draw.permutation(30)[:6] for _ in range(20)]), draw.integers(0, 30, 20)
    for number, part in enumerate((slice(0, 8), slice(8, 20))):
        np.save(tmp_path / "lists.npy", lists[part])
        np.save(tmp_path / "right.npy", right[part])
        done = run(
            "ranking",
            "--topk",
            tmp_path / "lists.npy",
            "--targets",
            tmp_path / "right.npy",
            "--n-items",
            "30",
            "--save-state",
            tmp_path / f"{number}.npz",
            "--k",
            "3,6",
            "--quiet",
        )
        assert done.returncode == 0, done.stderr
    done = run("merge", tmp_path / "0.npz", tmp_path / "1.npz", "--k", "3,6", "-o", tmp_path / "merged.json", "--quiet")
    assert done.returncode == 0, done.stderr
    expected = graphgauge.ranking.rank_topk(lists, right, n_items=30).evaluate(k=[3, 6])
    merged = json.loads((tmp_path / "merged.json").read_text())
    found = {entry["key"]: entry["value"] for entry in merged["results"]}
    assert found == {key: result.value for key, result in expected.items()}
    assert merged["conventions"] == expected.conventions
    for options, words in ((["--ties", "expected"], "no ties"), (["--metrics", "mrr"], "beyond the lists")):
        refused = run("merge", tmp_path / "0.npz", tmp_path / "1.npz", "--k", "3", *options)
        assert refused.returncode == 2
        assert words in refused.stderr
    again = run("merge", tmp_path / "0.npz", tmp_path / "0.npz", "--k", "3")
    assert again.returncode == 3


def test_recommenders_and_triples_as_files(tmp_path):
    draw = np.random.default_rng(1)
    scores = draw.normal(size=(12, 40))
    three = np.array([draw.permutation(40)[:3] for _ in range(12)])
    test = np.stack([np.repeat(np.arange(12), 2), three[:, :2].ravel()], axis=1)
    train = np.stack([np.arange(12), three[:, 2]], axis=1)
    triples = np.unique(draw.integers(0, [15, 3, 15], (90, 3)), axis=0)
    draw.shuffle(triples)
    entities, relations = draw.normal(size=(15, 4)), draw.normal(size=(3, 4))
    named = {
        "scores": scores,
        "test": test,
        "train": train,
        "asked": triples[:20],
        "known-a": triples[20:50],
        "known-b": triples[50:],
        "entities": entities,
        "relations": relations,
    }
    for name, array in named.items():
        np.save(tmp_path / f"{name}.npy", array)
    np.savetxt(tmp_path / "test.csv", test, fmt="%d", delimiter=",")

    def values(*options):
        place = tmp_path / "result.json"
        done = run("ranking", *options, "-o", place, "--quiet")
        assert done.returncode == 0, done.stderr
        return {entry["key"]: entry["value"] for entry in json.loads(place.read_text())["results"]}

    expected = graphgauge.ranking.recommend(scores, test=test, train=train, k=[5, 10])
    for form in ("npy", "csv"):
        found = values(
            "--user-scores",
            tmp_path / "scores.npy",
            "--test-items",
            tmp_path / f"test.{form}",
            "--train-items",
            tmp_path / "train.npy",
            "--k",
            "5,10",
            "--per-query",
            tmp_path / "each.csv",
            "--gate",
            "recall@5 > 0",
        )
        assert found == {key: result.value for key, result in expected.items()}
    rows = list(csv.DictReader(io.StringIO((tmp_path / "each.csv").read_text())))
    assert [float(row["reciprocal_rank"]) for row in rows] == pytest.approx(
        [
            max(
                1 / (1 + sum(scores[user] > scores[user, item]) - (scores[user, three[user, 2]] > scores[user, item]))
                for item in three[user, :2]
            )
            for user in range(12)
        ]
    )
    known = [triples[20:50], triples[50:]]
    ranked = graphgauge.ranking.rank_triples((entities, relations), triples[:20], score="l2", known=known).evaluate()
    found = values(
        "--triples",
        tmp_path / "asked.npy",
        "--known-triples",
        tmp_path / "known-*.npy",
        "--entities",
        tmp_path / "entities.npy",
        "--relation-vectors",
        tmp_path / "relations.npy",
        "--score",
        "l2",
        "--gate",
        "mrr_macro_relation > 0",
        "--gate",
        "mrr[side] > 0",
    )
    assert found == {key: result.value for key, result in ranked.items()}
    for options, words in (
        (["--entities", "e.npy"], "--entities needs --relation-vectors"),
        ([], "--triples needs --model or --entities"),
        (["--entities", "e.npy", "--relation-vectors", "r.npy"], "--score not given"),
        (["--model", "a:b", "--score", "l1"], "--score needs --entities"),
        (["--model", "a:b", "--gate", "mrr_macro_half > 0"], "there are no groups 'half': they are side, relation"),
    ):
        refused = run("ranking", "--triples", tmp_path / "asked.npy", *options)
        assert refused.returncode == 2
        assert words in " ".join(refused.stderr.split())
    wide = run("ranking", "--user-scores", tmp_path / "scores.npy", "--test-items", tmp_path / "scores.npy")
    assert wide.returncode == 3
    assert "test_items" in wide.stderr
