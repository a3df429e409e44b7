"""`graphgauge generation` as a user meets it: every form of input, and what it refuses."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.command import graphgauge
from tests.generation.test_two_samples import prdc_by_hand
from tests.generation.toy import NAMES, Attack, case, data

from graphgauge import generation
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.old.cli.family import family_command

command = family_command("generation")
FEW = ["--resamples", "50", "--permutations", "49"]
QUICK = [*FEW, "--num-samples", "15"]
SECTIONS = ["reconstruction", "diversity", "statistical", "latent_space", "conditioning"]
SUBJECT = ["--subject", "tests.generation.toy:case", *QUICK]
OPENED = "tests.generation.toy:opened"


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    """Another folder than that of the source, all of which would be taken for the subject's own."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    monkeypatch.chdir(tmp_path)


def run(*arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def content(path):
    return json.loads(Path(path).read_text())


def test_a_subject_gives_what_the_library_gives():
    outcome = run(*SUBJECT, "--format", "json")
    assert outcome.exit_code == 0, outcome.output
    found = {entry["key"]: entry["value"] for entry in json.loads(outcome.stdout)["results"]}
    table = generation.collect(case(), num_samples=15)
    expected = generation.evaluate(table, resamples=50, permutations=49)
    assert list(found) == list(expected)
    np.testing.assert_equal(
        {key: np.nan if value is None else value for key, value in found.items()},
        {key: result.value for key, result in expected.items()},
    )


def test_header_sections_tables_and_summary():
    text = run(*SUBJECT).stdout
    assert text.startswith("generation · tests.generation.toy:case")
    places = [text.index(f"\n{name}\n") for name in (*SECTIONS, "summary")]
    assert places == sorted(places)
    assert text.count("by condition") == 5
    for name in NAMES:
        assert f" {name} " in text
    rows = [line.split()[:2] for line in text[: places[1]].splitlines()]
    assert ["6A", "60"] in rows  # real samples that were reconstructed, not the 15 attempts of the other sections
    assert "target ≤" in text


def test_samples_without_a_model(tmp_path):
    samples, codes = data(80)
    np.save(tmp_path / "real.npy", samples)
    np.save(tmp_path / "generated.npy", samples[::-1])
    np.save(tmp_path / "train.npy", samples[:8])
    (tmp_path / "real.txt").write_text("".join(f"{NAMES[code]}\n" for code in codes))
    (tmp_path / "generated.txt").write_text("".join(f"{NAMES[code]}\n" for code in codes[::-1]))
    outcome = run(
        "--real",
        tmp_path / "real.npy",
        "--generated",
        tmp_path / "generated.npy",
        "--train",
        tmp_path / "train.npy",
        "--real-conditions",
        tmp_path / "real.txt",
        "--conditions",
        tmp_path / "generated.txt",
        "--format",
        "json",
        *FEW,
    )
    assert outcome.exit_code == 0, outcome.output
    found = {entry["key"]: entry["value"] for entry in json.loads(outcome.stdout)["results"]}
    assert found["novelty"] == pytest.approx(0.9)
    held = samples[8:].reshape(72, -1).astype(float), codes[8:]  # the others are in the training set
    made = samples.reshape(80, -1).astype(float)
    inside = [prdc_by_hand(held[0][held[1] == code], made[codes == code], 5).precision for code in range(4)]
    assert found["prdc_precision"] == pytest.approx(np.mean(inside))
    (finding,) = [one for one in json.loads(outcome.stdout)["findings"] if one["check"] == "learned-real-samples"]
    assert finding["evidence"] == {"excluded": 8, "given": 80, "compared": 72}
    skipped = json.loads(outcome.stdout)["skipped"]
    assert skipped["conditioning"] == "no classifier given"


def test_graphs_without_a_model(tmp_path):
    (tmp_path / "real.json").write_text(json.dumps([[[0, 1], [1, 2]]] * 12))
    (tmp_path / "generated.json").write_text(json.dumps([{"nodes": 3, "edges": [[0, 1], [0, 2]]}] * 12))
    outcome = run(
        "--real", tmp_path / "real.json", "--generated", tmp_path / "generated.json", "--format", "json", *FEW
    )
    assert outcome.exit_code == 0, outcome.output
    found = {entry["key"]: entry["value"] for entry in json.loads(outcome.stdout)["results"]}
    assert found["degree_mmd"] == pytest.approx(0)
    assert found["overall_uniqueness_ratio"] == pytest.approx(1 / 12)
    for text in ("[[0, 1]", '{"edges": 1}', "[5]", '[[["a", {}]]]', '[{"nodes": -1, "edges": []}]'):
        (tmp_path / "real.json").write_text(text)
        assert isinstance(run("--real", tmp_path / "real.json").exception, InputError), text


def test_a_table_saved_and_evaluated_again(tmp_path):
    path = tmp_path / "answers.npz"
    first = run(*SUBJECT, "--save-table", path, "--format", "json")
    again = run("--table", path, "--format", "json", *FEW)
    assert json.loads(first.stdout)["results"] == json.loads(again.stdout)["results"]
    assert isinstance(run("--table", tmp_path / "absent.npz").exception, InputError)


def test_gate_and_figure(tmp_path):
    figure = tmp_path / "sections.svg"
    gates = ["--gate", "mean_iou >= 0.9", "--gate", "novelty.low >= 0.5"]
    assert run(*SUBJECT, "--figure", figure, *gates).exit_code == 0
    assert "reconstruction: IoU" in figure.read_text()
    assert run(*SUBJECT, "--metrics", "diversity", "--gate", "novelty <= 0.5").exit_code == 1


def test_what_is_not_there(tmp_path):
    assert isinstance(run().exception, OptionError)
    assert isinstance(run("--real", "a.npy", "--table", "b.npz").exception, OptionError)
    unknown = run(*SUBJECT, "--metrics", "beauty").exception
    assert isinstance(unknown, UnknownNameError)
    for name in SECTIONS:
        assert name in str(unknown)
    assert isinstance(run("--subject", OPENED, "--checkpoint", tmp_path / "absent.pth").exception, InputError)
    assert isinstance(run("--subject", "tests.generation.toy:absent").exception, OptionError)
    assert isinstance(run("--subject", "tests.generation.absent:case").exception, OptionError)
    assert run("--subject", "no factory").exit_code == 2


def test_a_checkpoint_is_passed_to_the_factory(tmp_path):
    weights, out = tmp_path / "vae.pth", tmp_path / "result.json"
    weights.write_text(" ".join(NAMES))
    given = ["--subject", OPENED, "--checkpoint", weights, "--classifier-checkpoint", weights, "--cpu"]
    outcome = run(*given, *QUICK, "--output", out)
    assert outcome.exit_code == 0, outcome.output
    found = content(out)
    assert "cpu: True" in found["receipt"]["kept"]["notes"]
    assert found["run"]["tags"] == {"model": "vae.pth"}
    assert {"checkpoint", "classifier_checkpoint"} <= {entry["name"] for entry in found["receipt"]["inputs"]}
    plain = generation.evaluate(generation.collect(case(), num_samples=15), resamples=50, permutations=49)
    accuracy = {entry["key"]: entry["value"] for entry in found["results"]}["classifier_exact_accuracy"]
    assert accuracy == plain["classifier_exact_accuracy"].value
    alone = run("--checkpoint", weights).exception
    assert isinstance(alone, OptionError)


def test_data_of_a_subject_from_a_file(tmp_path):
    samples, codes = data(80)
    np.savez(tmp_path / "data.npz", samples=samples, conditions=codes)
    outcome = run("--subject", "tests.generation.toy:Toy", "--data", tmp_path / "data.npz", "--format", "json", *QUICK)
    assert outcome.exit_code == 0, outcome.output
    found = {entry["key"]: entry["value"] for entry in json.loads(outcome.stdout)["results"]}
    assert found["num_samples"] == 80
    wrong = run("--subject", "tests.generation.toy:Toy", "--data", tmp_path / "data.csv")
    assert isinstance(wrong.exception, InputError)


def test_no_traceback_and_exit_codes_in_a_shell(tmp_path):
    def shell(*arguments):
        return graphgauge("generation", *arguments, cwd=tmp_path)

    absent = shell("--subject", "mine:Mine", "--checkpoint", "absent.pth", "--cpu")
    assert (absent.returncode, absent.stdout) == (3, "")
    assert absent.stderr == "Error: absent.pth: no such file.\n"
    alone = shell("--checkpoint", "absent.pth")
    assert (alone.returncode, alone.stdout) == (2, "")
    assert alone.stderr.endswith(
        "--subject not given. A checkpoint for module:factory needs --subject and --checkpoint.\n"
    )
    (tmp_path / "mine.py").write_text(
        "class Mine:\n    def generate(self, condition, n, *, temperature, seed):\n        return open('absent.npy')\n"
    )
    failing = shell("--subject", "mine:Mine")
    assert (failing.returncode, failing.stdout) == (3, "")
    assert failing.stderr == (
        "Error: Mine.generate: raised FileNotFoundError: [Errno 2] No such file or directory: 'absent.npy'. "
        "Run it alone; --debug shows the traceback.\n"
    )
    debugged = shell("--subject", "mine:Mine", "--debug")
    assert "return open('absent.npy')" in debugged.stderr
    unknown = shell("--subject", "mine:Mine", "--metrics", "nothing")
    assert unknown.returncode == 2
    assert "Known: reconstruction, diversity" in unknown.stderr


LEAVING = """
import sys
sys.path.insert(0, {root!r})
from tests.generation.toy import Case, Judge, Toy, data

class Leaving(Toy):
    def {method}(self, *arguments, **options):
        sys.exit(0)

class LeavingJudge(Judge):
    def {method}(self, *arguments, **options):
        sys.exit(0)

def load():
    return Case(Leaving(), data(), data(seed=1), LeavingJudge())
"""


@pytest.mark.parametrize("method", ["__init__", "validate", "encode", "predict"])
def test_a_subject_that_exits_has_not_passed(tmp_path, method):
    (tmp_path / "leaving.py").write_text(LEAVING.format(root=str(Path(__file__).parents[2]), method=method))
    arguments = ["--subject", "leaving:load", *QUICK]
    found = graphgauge("generation", *arguments, "--gate", "mean_iou >= 0", "-o", "r.json", cwd=tmp_path)
    assert found.returncode == 3, found.stderr
    assert "raised SystemExit: 0" in found.stderr
    assert "passed" not in found.stderr
    assert found.stdout == ""
    assert not (tmp_path / "r.json").exists()
    (tmp_path / "study.toml").write_text(
        'schema = 1\nname = "leaving"\n[[evaluate]]\nfamily = "generation"\ndataset = "toy"\nmethod = "toy"\n'
        'subject = "leaving:load"\nnum_samples = 15\nresamples = 50\npermutations = 49\n'
    )
    found = graphgauge("run", "study.toml", cwd=tmp_path)
    assert found.returncode == 4, found.stderr
    assert "SystemExit" in found.stdout + found.stderr


def test_the_order_of_text_has_to_be_given(tmp_path):
    samples, codes = data(80)
    names = np.array(["hard", "easy", "middle", "expert"])
    np.save(tmp_path / "samples.npy", samples)
    np.save(tmp_path / "names.npy", names[codes])
    both = [
        "--real",
        "samples.npy",
        "--generated",
        "samples.npy",
        "--real-conditions",
        "names.npy",
        "--conditions",
        "names.npy",
        "--metrics",
        "diversity",
        *FEW,
    ]
    refused = run(*both, "--ordered")
    assert isinstance(refused.exception, OptionError)
    assert "in order with labels=" in str(refused.exception)
    outcome = run(*both, "--ordered", "--labels", "easy,middle,hard,expert", "--format", "json")
    assert outcome.exit_code == 0, outcome.output
    assert json.loads(outcome.stdout)["conventions"]["conditions"] == "4 in order"
    by_condition = run(*both, "--ordered", "--labels", "easy,middle,hard,expert").stdout
    assert by_condition.index(" easy ") < by_condition.index(" middle ") < by_condition.index(" hard ")
    assert run(*both).exit_code == 0


def test_two_single_sets_are_compared(tmp_path):
    rng = np.random.default_rng(0)
    sides = {"real": 0.2, "generated": 0.2, "rival": 0.5}
    arrays = {name: rng.random((40, 8)) < rate for name, rate in sides.items()}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    said = ["--real", "real.npy", "--generated", "generated.npy", "--against", "rival.npy", "--permutations", "199"]
    outcome = run(*said, "--output", "out.json")
    assert outcome.exit_code == 0, outcome.output
    notes = content("out.json")["receipt"]["kept"]["notes"]
    (line,) = [note for note in notes if note.startswith("mmd: ")]
    assert line.endswith("better: generated")
    (expected,) = [
        one
        for one in generation.compare_samples(
            arrays["real"], {"generated": arrays["generated"], "rival": arrays["rival"]}, permutations=199
        )
        if one.metric == "mmd"
    ]
    assert line == str(expected)


# ------------------------------------------------------------------------------------------- graphs and other readers


def write_graphs(path, *labels, **more):
    graphs = [{"nodes": 3, "edges": [[0, 1], [1, 2]], "node_labels": list(text), **more} for text in labels]
    Path(path).write_text(
        json.dumps([graph if any(graph["node_labels"]) else graph | {"node_labels": None} for graph in graphs])
    )
    return path


def refused(code, *arguments):
    """The message of a refusal with this exit code."""
    error = run(*arguments).exception
    assert isinstance(error, InputError)
    assert error.exit_code == code
    return str(error)


def unique_of(*arguments):
    outcome = run(*arguments, "--metrics", "overall_uniqueness_ratio", "--format", "json", *FEW)
    assert outcome.exit_code == 0, outcome.output
    return json.loads(outcome.stdout)["results"][0]["value"]


def test_labels_of_graphs_in_files_can_be_ignored():
    file = write_graphs("labelled.json", "CCO", "CCN")
    assert unique_of("--generated", file) == 1
    assert unique_of("--generated", file, "--node-labels", "") == 0.5
    keyed = generation.evaluate_files(generated=file, node_labels=[], metrics=["overall_uniqueness_ratio"])
    assert keyed["overall_uniqueness_ratio"].value == 0.5  # as in a study, whose fields are these
    assert "labels of nodes have no names" in refused(3, "--generated", file, "--node-labels", "atom")


def test_files_of_graphs_that_cannot_be_compared():
    plain = Path("plain.json")
    plain.write_text(json.dumps([[[0, 1], [1, 2]]] * 12))
    for file, message in (
        (write_graphs("labelled.json", *["CCO"] * 12), "labelled nodes and others do not"),
        (write_graphs("directed.json", *["CCO"] * 12, directed=True), "some graphs are directed"),
        (write_graphs("text.json", *["CCO"] * 12, directed="false"), "directed is 'false'"),
    ):
        assert message in refused(3, "--real", plain, "--generated", file)


def test_graph6_files():
    networkx = pytest.importorskip("networkx")
    graphs = [networkx.gnp_random_graph(6, 0.5, seed=seed) for seed in range(12)]
    for ending, written in (("g6", networkx.to_graph6_bytes), ("s6", networkx.to_sparse6_bytes)):
        Path(f"graphs.{ending}").write_bytes(b"".join(written(graph, header=False) for graph in graphs))
        expected = generation.evaluate(generated=graphs, metrics=["overall_uniqueness_ratio"])
        assert unique_of("--generated", f"graphs.{ending}") == expected["overall_uniqueness_ratio"].value
    Path("bad.g6").write_text("!!!\n")
    assert "cannot be read" in refused(3, "--generated", "bad.g6")


@pytest.mark.parametrize("name", ["graphs.p", "graphs.pickle", "graphs"])
def test_the_format_for_graphs_is_named(name):
    Path(name).write_bytes(pickle.dumps([1]))
    assert ".json" in refused(3, "--generated", name)


def test_torch_files_of_objects_are_not_loaded(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save([Attack(tmp_path / "run")], "graphs.pt")
    message = refused(3, "--generated", "graphs.pt")
    assert "contains objects other than tensors" in message
    assert ".json" in message
    assert not (tmp_path / "run").exists()


def test_padded_matrices_in_files():
    stack = np.zeros((12, 6, 6), int)
    for place, matrix in enumerate(stack):
        size = 3 + place % 3
        matrix[np.arange(size - 1), np.arange(1, size)] = matrix[np.arange(1, size), np.arange(size - 1)] = 1
    np.save("stack.npy", stack)
    assert "padded" in refused(3, "--generated", "stack.npy")
    Path("paths.json").write_text(json.dumps([[[i, i + 1] for i in range(2 + place % 3)] for place in range(12)]))
    outcome = run(
        "--real",
        "paths.json",
        "--generated",
        "stack.npy",
        "--samples",
        "padded",
        "--metrics",
        "degree_mmd",
        "--convention",
        "gran",
        "--format",
        "json",
        *FEW,
    )
    assert json.loads(outcome.stdout)["results"][0]["value"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    "option", [("--convention", "gran"), ("--node-labels", "atom"), ("--edge-labels", ""), ("--against-valid", "x.npy")]
)
def test_options_that_samples_do_not_use(option):
    np.save("bits.npy", np.eye(12))
    assert option[0].strip("-").replace("-", " ") in refused(2, "--generated", "bits.npy", *option).replace(
        "_", " "
    ).replace("-", " ")


def test_predictions_by_name():
    np.save("bits.npy", np.eye(12))
    Path("asked.txt").write_text("a\nb\nc\n" * 4)
    Path("answers.txt").write_text("a\nb\nb\n" * 4)
    outcome = run(
        "--generated",
        "bits.npy",
        "--conditions",
        "asked.txt",
        "--predicted",
        "answers.txt",
        "--metrics",
        "overall_exact_accuracy",
        "--format",
        "json",
        *FEW,
    )
    assert json.loads(outcome.stdout)["results"][0]["value"] == pytest.approx(2 / 3)


def test_another_generator_is_compared_with_its_own_validity_and_statistics():
    rng = np.random.default_rng(0)
    arrays = {name: rng.random((40, 6)) < 0.5 for name in ("real", "made", "other")}
    valid = {"made": np.arange(40) < 30, "other": np.arange(40) < 24}
    sizes = {name: rng.normal(size=40) for name in arrays}
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)
        np.savez(f"{name}_sizes.npz", size=sizes[name])
    for name, array in valid.items():
        np.save(f"{name}_valid.npy", array)
    basic = ["--real", "real.npy", "--generated", "made.npy", "--against", "other.npy", "--valid", "made_valid.npy"]
    assert "--against-valid" in refused(2, *basic, *FEW)
    both = [
        *basic,
        "--against-valid",
        "other_valid.npy",
        "--statistics",
        "real_sizes.npz",
        "--generated-statistics",
        "made_sizes.npz",
        "--metrics",
        "validity_rate,energy_distance",
    ]
    expected = generation.compare_samples(
        arrays["real"],
        {"generated": arrays["made"], "other": arrays["other"]},
        valid={"generated": valid["made"], "other": valid["other"]},
        statistics={"size": sizes["real"]},
        generated_statistics={"generated": {"size": sizes["made"]}, "other": {"size": sizes["other"]}},
        metrics=["validity_rate", "energy_distance"],
        resamples=50,
        permutations=49,
    )
    outcome = run(*both, "--against-statistics", "other_sizes.npz", "--format", "json", *FEW)
    notes = json.loads(outcome.stdout)["receipt"]["kept"]["notes"]
    assert [note for note in notes if "difference" in note] == [str(one) for one in expected]
    assert expected[0].values == (0.75, 0.6)
    notes = json.loads(run(*both, "--format", "json", *FEW).stdout)["receipt"]["kept"]["notes"]
    assert any("is made without --statistics, --generated-statistics" in note for note in notes)
