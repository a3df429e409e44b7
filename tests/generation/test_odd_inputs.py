"""Odd and hostile input: what is not there, what is too much, and files that say what cannot be."""

import json
import sys

import networkx
import numpy as np
import pytest
from click.testing import CliRunner
from tests.generation.toy import NAMES, Toy, case, data

from graphgauge import generation
from graphgauge.core.errors import InputError
from graphgauge.generation import SampleTable
from graphgauge.old.cli.family import family_command

command = family_command("generation")

QUICK = {"resamples": 20, "permutations": 19}
SAMPLES, CODES = data(40)


def run(*arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_latents_of_any_size_score_the_same():
    rng = np.random.default_rng(0)
    latents = rng.normal(size=(40, 3)) + CODES[:, None]
    given = {"real": SAMPLES, "real_conditions": CODES, "labels": NAMES, "ordered": True, "metrics": "latent_space"}
    small = generation.evaluate(latents=latents, **given)
    large = generation.evaluate(latents=np.ldexp(latents, 455), **given)
    for key in ("silhouette_score", "ordinal_spearman"):
        assert large[key].value == pytest.approx(small[key].value)
    both = small["latent_mean_macro_condition"], large["latent_mean_macro_condition"]
    np.testing.assert_allclose(np.ldexp([*both[1].interval], -455), [*both[0].interval])


def test_conditions_of_signed_and_unsigned_numbers_are_the_same():
    table = SampleTable.of(
        real=SAMPLES,
        generated=SAMPLES,
        real_conditions=CODES.astype(np.uint64) + np.uint64(2**60),
        conditions=CODES + 2**60,
    )
    assert table.labels == tuple(str(2**60 + code) for code in range(4))
    np.testing.assert_array_equal(table.codes, CODES)
    with pytest.raises(InputError, match="too large for a condition"):
        SampleTable.of(real=SAMPLES, real_conditions=np.full(40, 2**63, np.uint64))


def test_labels_of_different_lengths():
    with pytest.raises(InputError, match=r"real_conditions: labels are lists of different lengths.*one label per item"):
        SampleTable.of(real=SAMPLES[:2], real_conditions=[[1], [1, 2]])


@pytest.mark.parametrize("answer", [np.nan, np.inf, -1, 0.5, 4])
def test_answers_that_are_no_codes(answer):
    with pytest.raises(InputError, match=r"predicted: (1 of 40 values are NaN|unknown conditions)"):
        SampleTable.of(generated=SAMPLES, conditions=CODES, predicted=np.r_[answer, CODES[1:]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"valid": True}, r"valid: expected shape \(40\), found \(\)"),
        ({"valid": [[True]] * 40}, r"valid: expected shape \(40\), found \(40, 1\)"),
        ({"labels": 4}, "labels: expected a list of names, found 4"),
        ({"channels": 3}, "channels: expected a list of names, found 3"),
        ({"classifier_labels": 3, "classifier_predicted": 3}, "classifier_labels: expected shape"),
        (
            {"classifier_labels": CODES, "classifier_predicted": CODES[:3]},
            r"classifier_predicted: expected shape \(40\)",
        ),
    ],
)
def test_one_thing_in_the_place_of_many(given, message):
    with pytest.raises(InputError, match=message):
        SampleTable.of(generated=SAMPLES, conditions=CODES, **given)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, bool])
def test_validity_in_any_type_of_number(dtype):
    table = SampleTable.of(generated=SAMPLES[:3], valid=np.array([1, 0, 1], dtype))
    assert table.valid.tolist() == [True, False, True]


def test_validity_as_python_objects():
    answers = np.array([None, True, False, True], dtype=object)
    found = generation.evaluate(generated=SAMPLES[:4], valid=answers, metrics="diversity")
    assert found["validity_rate"] == 0.5


@pytest.mark.parametrize("empty", ["real", "generated", "train"])
def test_an_empty_list_is_no_samples_of_any_shape(empty):
    given = {"real": SAMPLES, "generated": SAMPLES, "train": SAMPLES} | {empty: []}
    found = generation.evaluate(**given, metrics=["diversity", "statistical"], **QUICK)
    assert found["total_valid"].n == (0 if empty == "generated" else 40)
    assert np.isnan(found["mmd"].value) == (empty != "train")


def test_samples_in_the_place_of_a_table():
    with pytest.raises(InputError, match=r"expected a table, found ndarray\. Pass samples as real= and generated="):
        generation.evaluate(SAMPLES)


class Nothing(Toy):
    def generate(self, condition, n, *, temperature, seed):
        return None


def test_a_generator_that_returns_nothing():
    with pytest.raises(InputError, match="generate returned NoneType samples of 6A, but 5 were requested"):
        generation.collect(Nothing(), num_samples=5)


def test_without_a_classifier_nothing_is_generated_for_it():
    subject = Toy()
    table = generation.collect(subject, data=data(), sections=["conditioning"], num_samples=5)
    assert subject.asked == []
    assert generation.evaluate(table, metrics="conditioning").skipped == {"conditioning": "no classifier given"}
    both = generation.collect(subject, data=data(), sections=["diversity", "conditioning"], num_samples=5)
    assert generation.evaluate(both, metrics="conditioning").skipped == {"conditioning": "no classifier given"}
    assert len(both.generated) == 5 * len(NAMES)


@pytest.mark.parametrize("nodes", [10**9, 10**12, 10**30])
def test_graphs_that_claim_to_be_enormous(nodes, tmp_path):
    path = tmp_path / "graphs.json"
    path.write_text(json.dumps([{"nodes": nodes, "edges": [[0, 1]]}] * 12))
    found = run("--generated", path).exception
    assert isinstance(found, InputError)
    assert "nodes together; the limit is 20000000" in str(found)


def test_a_spectrum_has_a_largest_graph():
    given = {"real": [(20_001, [(0, 1)])] * 10, "generated": [(3, [(0, 1)])] * 10}
    assert generation.evaluate(**given, metrics=["degree_mmd"], **QUICK)["degree_mmd"].value > 0
    with pytest.raises(InputError, match="spectral_mmd: a graph of 20001 nodes is too large"):
        generation.evaluate(**given, metrics=["spectral_mmd"], **QUICK)


@pytest.mark.parametrize("graph", [(3, [(0.5, 1)]), (3, [("a", "b")]), (3, [(2**70, 1)]), [({}, 1)]])
def test_ends_of_edges_that_are_none(graph):
    with pytest.raises(
        InputError, match=r"generated\[0\]: (some ends of edges are not integers|the name of a node is not hashable)"
    ):
        SampleTable.of(generated=[graph])


def resaved(path, facts=None, **arrays):
    with np.load(path) as archive:
        held = {name: archive[name] for name in archive.files}
    header = json.loads(held.pop("header").tobytes()) | (facts or {})
    np.savez(path, header=np.frombuffer(json.dumps(header).encode(), "u1"), **held | arrays)


@pytest.mark.parametrize(
    "facts", [{"options": 5}, {"missing": "x"}, {"labels": 5}, {"notes": 5}, {"statistics": ["a"]}]
)
def test_a_table_whose_facts_are_something_else(facts, tmp_path):
    path = tmp_path / "table.npz"
    generation.collect(case(), num_samples=5).save(path)
    resaved(path, facts)
    with pytest.raises(InputError):
        SampleTable.load(path)


@pytest.mark.parametrize(
    "arrays",
    [
        {"real.offsets": [0, 2, 1, 4]},
        {"real.offsets": [1, 2, 3, 4]},
        {"real.offsets": [0, 1, 2, 3]},
        {"real.offsets": [0, 1, 4]},
        {"real.offsets": [0, 1, 2, 2**62]},
        {"real.nodes": [3.0, 3.0, 3.0]},
        {"real.nodes": [10**12] * 3},
    ],
)
def test_a_table_whose_edges_belong_to_no_graph(arrays, tmp_path):
    path = tmp_path / "table.npz"
    SampleTable.of(real=[[(0, 1), (1, 2)], [(0, 1)], [(0, 2)]]).save(path)
    SampleTable.load(path)
    resaved(path, **{name: np.array(value) for name, value in arrays.items()})
    with pytest.raises(InputError):
        SampleTable.load(path)


def test_what_is_no_table_says_how_one_is_written(tmp_path):
    (tmp_path / "text.npz").write_text("no archive")
    for name in ("text.npz", "absent.npz"):
        found = run("--table", tmp_path / name).exception
        assert isinstance(found, InputError)
        assert "A table is written with table.save(), or with --save-table." in str(found)


def test_a_factory_that_raises(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    found = run("--subject", "os:system").exception
    assert isinstance(found, InputError)
    assert str(found).startswith("os:system: raised TypeError: ")


def test_a_subject_of_torch_tensors_that_still_have_gradients():
    torch = pytest.importorskip("torch")

    class Tensors(Toy):
        def _tensor(self, values):
            return torch.tensor(np.asarray(values, np.float32), requires_grad=True)

        def reconstruct(self, samples, conditions):
            return self._tensor(super().reconstruct(samples, conditions))

        def encode(self, samples, conditions):
            return self._tensor(super().encode(samples, conditions)).to(torch.bfloat16)

        def generate(self, condition, n, *, temperature, seed):
            return self._tensor(super().generate(condition, n, temperature=temperature, seed=seed))

    class Judge:
        def predict(self, samples):
            return torch.zeros(len(samples), dtype=torch.int64)

    table = generation.collect(Tensors(), data=data(), classifier=Judge(), num_samples=5)
    plain = generation.collect(Toy(), data=data(), num_samples=5)
    np.testing.assert_array_equal(table.generated, plain.generated)
    np.testing.assert_allclose(table.latents, plain.latents, rtol=1e-2)
    assert not table.leaks
    assert not table.predicted.any()


@pytest.mark.parametrize("kind", ["bits", "graphs"])
def test_generated_samples_that_are_the_real_ones(kind):
    """Every distance is as good as it can be, so it has to be said."""
    rng = np.random.default_rng(6)
    make = {
        "bits": lambda: rng.random((30, 40)) < 0.5,
        "graphs": lambda: [networkx.gnp_random_graph(10, 0.4, seed=int(seed)) for seed in rng.integers(0, 1 << 30, 30)],
    }[kind]
    real, fresh = make(), make()
    given = {"real": real, "train": make(), "metrics": ["novelty", "overall_uniqueness_ratio"], **QUICK}
    copied = generation.evaluate(generated=real, **given)
    for result in copied.values():
        assert "30 of 30 valid samples are real held-out samples, of which 0% equal another" in " ".join(
            result.warnings
        )
    assert not any(result.warnings for result in generation.evaluate(generated=fresh, **given).values())
    # Few different samples occur on both sides of any generator.
    few = {name: rng.random((40, 2)) < 0.5 for name in ("real", "generated")}
    assert not generation.evaluate(**few, metrics=["overall_uniqueness_ratio"], **QUICK)[
        "overall_uniqueness_ratio"
    ].warnings


def test_a_perfect_generator_of_many_samples_is_as_new_as_few_real_ones():
    rng = np.random.default_rng(7)
    found = generation.evaluate(
        real=rng.random((12, 60)) < 0.5,
        generated=rng.random((3000, 60)) < 0.5,
        train=rng.random((12, 60)) < 0.5,
        metrics=["novelty"],
        **QUICK,
    )
    assert found["novelty"] == 1
    assert "perfect" in found["novelty"].compatible
