"""What goes in: samples of three sides, conditions, answers; saved and read again; what is refused, and how."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas
import pytest
from tests.generation.flat import evaluated, side
from tests.generation.toy import NAMES, Judge, Toy, case, data

from graphgauge import generation
from graphgauge.core.errors import InputError, OptionError
from graphgauge.generation import Graphs, Samples, Sides, evaluate

QUICK = {"draws": 19}
SAMPLES, CODES = data(40).items, data(40).conditions


def sides_of(**columns: Any) -> Sides:
    """Sides of columns that are named by side, such as `generated_latents`."""
    real, generated, train, classifier = (side(columns, name) for name in ("real", "generated", "train", "classifier"))
    return Sides.from_samples(real, generated, train, classifier=classifier, **columns)


def values(evaluation: Any) -> dict[str, float]:
    return {key: each.value for key, each in evaluation.items()}


# ---- samples


def test_a_side_is_taken_with_all_its_columns() -> None:
    own = Samples(SAMPLES, conditions=CODES.tolist(), statistics={"size": CODES * 2}, latents=np.eye(40))
    some = own.take([3, 1])
    assert len(some) == 2
    assert some.conditions == [3, 1]
    assert some.statistics["size"].tolist() == [6, 2]
    np.testing.assert_array_equal(some.items, SAMPLES[[3, 1]])
    assert len(own.take(CODES == 0)) == 10


def test_saved_and_read_again(tmp_path: Path) -> None:
    sides = generation.collect(case(), num_samples=15)
    sides.save(tmp_path / "sides.npz")
    again = Sides.load(tmp_path / "sides.npz")
    assert again.labels == NAMES
    assert again.options == sides.options
    np.testing.assert_equal(values(evaluate(again, **QUICK)), values(evaluate(sides, **QUICK)))


def test_graphs_saved_and_read_again(tmp_path: Path) -> None:
    graphs = Graphs.from_objects([networkx.path_graph(4), networkx.empty_graph(2), networkx.complete_graph(3)] * 4)
    sides = Sides.from_samples(graphs, graphs.take(np.arange(12)[::-1]), graphs.take([0, 1]))
    sides.save(tmp_path / "graphs.npz")
    again = evaluate(Sides.load(tmp_path / "graphs.npz"), **QUICK)
    np.testing.assert_equal(values(again), values(evaluate(sides, **QUICK)))


def test_files_that_are_damaged_or_something_else(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("no archive")
    np.savez(tmp_path / "objects.npz", header=np.array([{"code": 1}], dtype=object))
    Sides.from_samples(SAMPLES).save(tmp_path / "changed.npz")
    with np.load(tmp_path / "changed.npz") as archive:
        held = {name: archive[name] for name in archive.files}
    np.savez(tmp_path / "changed.npz", **held | {"real.items": ~held["real.items"]})
    for name in ("text", "objects", "changed", "absent"):
        with pytest.raises(InputError):
            Sides.load(tmp_path / f"{name}.npz")


@pytest.mark.parametrize("empty", ["real", "generated", "train"])
def test_an_empty_list_is_no_samples_of_any_shape(empty: str) -> None:
    given: dict[str, Any] = {"real": SAMPLES, "generated": SAMPLES, "train": SAMPLES[:3]} | {empty: []}
    found = evaluated(**given, metrics=["diversity", "statistical"], **QUICK)
    assert found["total_valid"].n == (0 if empty == "generated" else 40)
    assert np.isnan(found["mmd"].value) == (empty != "train")


def test_no_argument_is_changed() -> None:
    before = SAMPLES.copy()
    evaluated(real=SAMPLES, generated=SAMPLES, real_conditions=CODES, generated_conditions=CODES, **QUICK)
    np.testing.assert_array_equal(SAMPLES, before)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "probabilities": ({"real": np.full((2, 3), 0.4)}, "neither 0 nor 1"),
    "graphs or bits": (
        {"real": 1 - np.eye(3)[np.newaxis].repeat(4, 0)},
        r"Graphs\.from_adjacency\(array\), bits array",
    ),
    "no cells": ({"real": np.zeros((3, 0))}, r"expected samples of shape \(n, …\), found \(3, 0\)"),
    "too large": ({"real": SAMPLES, "real_latents": np.full((40, 2), 1e300)}, "cannot be squared"),
    "one axis": ({"real": np.zeros(4)}, "expected samples of shape"),
    "text": ({"generated": ["CCO", "CC"]}, r"Molecules\.from_smiles\(texts\)"),
    "rows": ({"generated": pandas.DataFrame({"a": [1]})}, r"rows of a table.*Samples\(statistics=table\)"),
    "shapes": (
        {"real": SAMPLES, "generated": SAMPLES[:, :2]},
        r"shapes of samples differ: \(3, 6, 4\) of real and \(2, 6, 4\) of generated",
    ),
    "unknown": ({"real": SAMPLES, "real_conditions": ["9A"] * 40, "labels": NAMES}, "unknown conditions '9A'"),
    "code": ({"real": SAMPLES, "real_conditions": CODES + 1, "labels": NAMES}, "unknown conditions 4"),
    "count": ({"real": SAMPLES, "real_conditions": CODES[:-1]}, "39 conditions for 40 samples"),
    "one side": ({"real": SAMPLES, "real_conditions": CODES, "generated": SAMPLES}, "conditions are missing"),
    "kinds": (
        {"real": SAMPLES, "real_conditions": CODES, "generated": SAMPLES, "generated_conditions": ["a"] * 40},
        "text in one argument",
    ),
    "rows of latents": ({"real": SAMPLES, "real_latents": np.zeros((3, 2))}, "expected shape"),
    "infinite": ({"real": SAMPLES, "real_latents": np.full((40, 2), np.inf)}, "infinite values"),
    "widths": (
        {"real_latents": np.zeros((40, 2)), "generated_latents": np.zeros((40, 3))},
        "latents differ: 2 of real and 3 of generated",
    ),
    "statistics": (
        {"real_statistics": {"a": CODES}, "generated_statistics": {"b": CODES}},
        "statistics differ: a of real and b of generated",
    ),
    "kinds of statistics": (
        {"real_statistics": {"a": CODES}, "generated_statistics": {"a": ["x"] * 40}},
        r"statistics differ: a of real and a \(text\) of generated",
    ),
    "validity": ({"generated": SAMPLES, "generated_valid": [2] * 40}, "True, False or None"),
    "one validity": ({"generated": SAMPLES, "generated_valid": True}, r"expected shape \(40\), found \(\)"),
    "twice": ({"real_statistics": {1: CODES, "1": CODES}}, "two columns have the same name"),
    "answers": (
        {"generated": SAMPLES, "generated_predicted": CODES + 1},
        "1, 2, 3, 4. Known: all, or codes 0",
    ),
    "half": ({"generated": SAMPLES, "classifier_conditions": CODES}, "expected true and predicted conditions"),
    "reconstructed": ({"real": SAMPLES, "real_reconstructed": SAMPLES[:3]}, "real samples have"),
    "channels": ({"real": SAMPLES, "channels": ["a"]}, "1 channels named"),
    "labels": ({"real": SAMPLES, "real_conditions": CODES, "labels": ["a", "a"]}, "must be given and must differ"),
    "no labels": ({"real": SAMPLES, "real_conditions": CODES, "labels": 4}, "expected a list of names, found 4"),
    "training": (
        {"generated": SAMPLES, "generated_conditions": CODES, "train": SAMPLES, "train_conditions": ["A"] * 40},
        "no sample has a known condition, but 'A'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    given, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        sides_of(**given)


def test_nan_is_counted_and_refused() -> None:
    latents = np.ones((40, 2))
    latents[3, 1] = np.nan
    with pytest.raises(InputError, match=r"real\.latents: 1 of 80 values are NaN, the first at index \(3, 1\)"):
        sides_of(real=SAMPLES, real_latents=latents)


def test_sides_take_no_more_samples() -> None:
    with pytest.raises(InputError, match="generated: has no column"):
        evaluate(SAMPLES, Samples())
    with pytest.raises(OptionError, match="sides already have what generated would say"):
        evaluate(Sides.from_samples(SAMPLES), SAMPLES)


# ---- conditions


def test_conditions_by_name_and_by_code() -> None:
    named = sides_of(real=SAMPLES, real_conditions=[NAMES[code] for code in CODES], labels=NAMES)
    coded = sides_of(real=SAMPLES, real_conditions=CODES, labels=NAMES)
    assert named.real is not None
    assert coded.real is not None
    np.testing.assert_array_equal(named.real.conditions, coded.real.conditions)
    found = sides_of(real=SAMPLES, generated=SAMPLES[:4], real_conditions=CODES + 5, generated_conditions=[8, 5, 5, 6])
    assert found.labels == ("5", "6", "7", "8")
    assert found.generated is not None
    assert found.generated.conditions.tolist() == [3, 0, 0, 1]
    large = CODES.astype(np.uint64) + np.uint64(2**60)
    assert sides_of(real=SAMPLES, real_conditions=large).labels == tuple(str(2**60 + code) for code in range(4))


@pytest.mark.parametrize("kind", [np.str_, object, list])
def test_text_has_no_order_of_its_own(kind: Any) -> None:
    order = ["hard", "easy", "middle", "expert"]
    names: Any = np.array(order)[CODES]
    names = names.tolist() if kind is list else names.astype(kind)
    given = {"real": SAMPLES, "real_conditions": names}
    with pytest.raises(OptionError, match=r"order is not given.*in order with labels="):
        sides_of(ordered=True, **given)
    assert sides_of(**given).labels == ("easy", "expert", "hard", "middle")
    assert sides_of(ordered=True, labels=order, **given).labels == tuple(order)
    assert sides_of(ordered=True, real=SAMPLES, real_conditions=np.full(40, "easy")).labels == ("easy",)


ASKED = np.repeat([1, 2, 3], 20)
ANSWERS = np.minimum(ASKED, 2)  # right about two of three conditions
LETTERS = np.array(list("abc"))


@pytest.mark.parametrize(
    ("conditions", "predicted", "labels"),
    [
        (ASKED, ANSWERS, None),
        (ASKED, ANSWERS.astype(float), None),
        (ASKED * 7 - 20, ANSWERS * 7 - 20, None),
        (ASKED - 1, ANSWERS - 1, ["a", "b", "c"]),
        (LETTERS[ASKED - 1], ANSWERS - 1, ["a", "b", "c"]),
        (LETTERS[ASKED - 1], LETTERS[ANSWERS - 1], None),
        (ASKED.astype(str), ANSWERS.astype(str), None),
        (ASKED.astype(str), ANSWERS, None),
    ],
)
def test_predictions_name_conditions_as_conditions_do(conditions: Any, predicted: Any, labels: Any) -> None:
    bits = np.random.default_rng(0).random((60, 6)) < 0.5
    given = {"generated": bits, "generated_conditions": conditions, "generated_predicted": predicted, "labels": labels}
    judged = {"classifier_conditions": predicted, "classifier_predicted": predicted}
    found = evaluated(**given, metrics=["overall_exact_accuracy"], **QUICK)
    assert found["overall_exact_accuracy"].value == pytest.approx(2 / 3)
    sides = sides_of(**given, **judged)
    assert sides.generated is not None
    assert sides.classifier is not None
    assert sides.generated.predicted.tolist() == sides.classifier.conditions.tolist() == (ANSWERS - 1).tolist()


# ---- statistics of data frames


def test_categories_and_missing_entries_of_frames() -> None:
    real, made = (pandas.DataFrame({"a": pandas.Categorical(each)}) for each in ([1, 2] * 10, [1, 5] * 10))
    found = evaluated(real_statistics=real, generated_statistics=made, metrics=["wasserstein_a"], **QUICK)
    assert found["wasserstein_a"].value == 0.5
    text = pandas.DataFrame({"a": pandas.array(["x", None] * 10, dtype="string")})
    for missing in (pandas.NA, pandas.NaT, None, np.nan):
        other = pandas.DataFrame({"a": np.array(["x", missing] * 10, object)})
        found = evaluated(real_statistics=text, generated_statistics=other, metrics=["wasserstein_a"], **QUICK)
        assert found["wasserstein_a"].value == 0


# ---- validity


def test_one_function_judges_both_sides() -> None:
    found = evaluate(SAMPLES, SAMPLES[::2], validate=lambda items: items[:, 0].sum((1, 2)) > 5, metrics="validity_rate")
    levels = {each.name: each.value for each in found["validity_rate"].references}
    assert found["validity_rate"].value == np.mean(SAMPLES[::2, 0].sum((1, 2)) > 5)
    assert levels["perfect"] == np.mean(SAMPLES[:, 0].sum((1, 2)) > 5)
    with pytest.raises(OptionError, match=r"validate and generated\.valid are both given"):
        evaluate(SAMPLES, Samples(SAMPLES, valid=np.ones(40)), validate=lambda items: items[:, 0].any((1, 2)))


def test_a_function_of_one_sample_is_told_that_it_gets_all() -> None:
    graphs = [networkx.path_graph(3), networkx.path_graph(4)]
    with pytest.raises(InputError, match=r"real: validate failed: AttributeError.*\[f\(each\) for each in samples\]"):
        evaluate(graphs, graphs[:1], validate=networkx.is_connected)


def test_validity_of_one_side_alone_gives_no_false_alarm() -> None:
    """A perfect generator whose valid samples repeat more often than all real ones do."""
    rng = np.random.default_rng(0)

    def some(count: int) -> np.ndarray:
        repeated = np.repeat(rng.random((4, 24)) < 0.5, count // 8, axis=0)
        return np.concatenate([repeated, rng.random((count - len(repeated), 24)) < 0.5])

    real, made = some(80), some(80)
    valid = np.arange(80) < 50
    alone = evaluated(real=real, generated=made, generated_valid=valid, metrics="overall_uniqueness_ratio", **QUICK)
    assert "repeated-samples" not in {each.check for each in alone.findings}
    assert any("validity of real samples is not known" in each.message for each in alone.findings)
    assert "perfect" not in {each.name for each in alone["overall_uniqueness_ratio"].references}
    both = evaluated(real=real, real_valid=valid, generated=made, generated_valid=valid, **QUICK)
    assert "perfect" in {each.name for each in both["overall_uniqueness_ratio"].references}


def test_graphs_without_nodes_are_not_valid() -> None:
    rng = np.random.default_rng(0)
    graphs = [networkx.gnp_random_graph(8, 0.4, seed=int(seed)) for seed in rng.integers(0, 1 << 30, 60)]
    empty = [networkx.empty_graph(0)] * 10
    real, made = Graphs.from_objects(graphs[:30] + empty), Graphs.from_objects(graphs[30:] + empty)
    found, plain = (
        evaluate(*pair, metrics=["spectral_mmd"], **QUICK)
        for pair in ((real, made), (Graphs.from_objects(graphs[:30]), Graphs.from_objects(graphs[30:])))
    )
    assert found["spectral_mmd"].value == plain["spectral_mmd"].value
    assert evaluate(real, made, metrics=["validity_rate"], **QUICK)["validity_rate"].value == 30 / 40
    assert any("10 of 40 real graphs have no nodes and are left out" in each.message for each in found.findings)


def held_out_of(kind: str, rng: np.random.Generator) -> tuple[Any, Any, np.ndarray]:
    """Real samples, of which every third is in the training set, likewise; and which are not."""
    keep = np.arange(30) % 3 > 0
    if kind == "graphs":
        real = [networkx.gnp_random_graph(9, 0.4, seed=seed) for seed in range(30)]
        relabelled = [networkx.relabel_nodes(graph, dict(enumerate(rng.permutation(9).tolist()))) for graph in real]
        return real, [graph for graph, kept in zip(relabelled, keep, strict=True) if not kept][::-1], keep
    real = rng.random((30, 3, 8)) < 0.5
    return real, rng.permutation(np.concatenate([real[~keep]] * 2)).astype(np.uint8), keep


@pytest.mark.parametrize("kind", ["bits", "graphs"])
def test_real_samples_of_the_training_set_are_left_out_with_all_that_is_known_of_them(kind: str) -> None:
    rng = np.random.default_rng(3)
    real, train, keep = held_out_of(kind, rng)
    codes, latents, size = np.arange(30) % 2, rng.normal(size=(30, 4)), rng.normal(size=30)
    made = {"generated": real, "generated_conditions": codes, "train": train}
    sides = sides_of(real=real, real_conditions=codes, real_latents=latents, real_statistics={"size": size}, **made)
    np.testing.assert_array_equal(sides.held_out.conditions, codes[keep])
    np.testing.assert_array_equal(sides.held_out.latents, latents[keep])
    np.testing.assert_array_equal(sides.held_out.statistics["size"], size[keep])
    np.testing.assert_array_equal(sides.real.take(sides.real.in_training).conditions, codes[~keep])
    found = evaluate(sides, **QUICK)
    (finding,) = [each for each in found.findings if each.check == "learned-real-samples"]
    assert finding.evidence == {"excluded": 10, "given": 30, "compared": 20}
    levels = {each.name: each.value for each in found["novelty"].references}
    assert levels["perfect"] == pytest.approx(20 / 30)
    kept = np.flatnonzero(keep)
    alone = evaluate(
        sides_of(
            real=[real[place] for place in kept] if kind == "graphs" else real[keep],
            real_conditions=codes[keep],
            real_latents=latents[keep],
            real_statistics={"size": size[keep]},
            **made,
        ),
        **QUICK,
    )
    assert not any(each.check == "learned-real-samples" for each in alone.findings)
    for key, result in alone.items():
        if not key.endswith("p_value"):  # tests leave out generated samples of the training set as well
            assert found[key].value == pytest.approx(result.value, nan_ok=True), key


def test_nothing_is_held_out_of_the_training_set_itself() -> None:
    found = evaluated(real=SAMPLES, generated=SAMPLES, train=SAMPLES[::-1], metrics="all", **QUICK)
    assert found["novelty"].value == 0
    assert not found["prdc_precision"].defined
    (finding,) = [each for each in found.findings if each.check == "learned-real-samples"]
    assert (finding.evidence["excluded"], finding.evidence["compared"]) == (40, 0)


def test_columns_without_items_are_compared() -> None:
    rng = np.random.default_rng(0)
    sides = [Samples(statistics={"x": rng.normal(size=30)}, latents=rng.normal(size=(30, 3))) for _ in range(2)]
    found = evaluate(*sides, **QUICK)
    assert set(found) == {
        "overall_mean_distance",
        "energy_p_value",
        "mmd",
        "mmd_p_value",
        "silhouette_score",
        "ordinal_spearman",
    }
    assert found.skipped["diversity"].startswith("no generated samples given")


# ---- copies


@pytest.mark.parametrize("kind", ["bits", "graphs"])
def test_generated_samples_that_are_the_real_ones(kind: str) -> None:
    """Every distance is as good as it can be, so it has to be an error."""
    rng = np.random.default_rng(6)

    def make() -> Any:
        if kind == "bits":
            return rng.random((30, 40)) < 0.5
        return [networkx.gnp_random_graph(10, 0.4, seed=int(seed)) for seed in rng.integers(0, 1 << 30, 30)]

    real, fresh, train = make(), make(), make()
    copied = evaluate(real, real, train=train, **QUICK)
    (finding,) = [each for each in copied.findings if each.check == "copied-test-set"]
    assert finding.severity == "error"
    assert copied.findings.worst()[0] == finding
    assert finding.evidence["copied"] == finding.evidence["n"] == 30
    assert str(copied).splitlines()[-1].endswith("nothing can be concluded.")
    assert not any(each.severity == "error" for each in evaluate(real, fresh, train=train, **QUICK).findings)


@pytest.mark.parametrize("learned", [None, 200])
def test_a_split_of_a_finite_space_is_no_copy(learned: int | None) -> None:
    """Real samples without repeats, as of QM9: a generator that draws from the space makes some of them."""
    alarms = {0.0: 0, 1.0: 0}
    for run in range(20):
        rng = np.random.default_rng([9, run])
        space = (rng.permutation(512)[:, None] >> np.arange(9) & 1).astype(bool)
        for share in alarms:
            made = space[rng.integers(0, 512, 200)]
            copies = rng.random(200) < share
            made[copies] = space[rng.integers(0, 100, copies.sum())]
            train = None if learned is None else space[100 : 100 + learned]
            found = evaluate(
                space[:100], made, train=train, draws=19, metrics=["total_valid", "novelty"][: 1 + bool(learned)]
            )
            alarms[share] += any(each.check.startswith("copied") for each in found.findings)
    assert alarms == {0.0: 0, 1.0: 20}


def test_few_different_samples_occur_on_both_sides_of_any_generator() -> None:
    rng = np.random.default_rng(6)
    few = [rng.random((40, 2)) < 0.5 for _ in range(2)]
    assert not any(each.severity == "error" for each in evaluate(*few, **QUICK).findings)


def test_latents_of_any_size_score_the_same() -> None:
    latents = np.random.default_rng(0).normal(size=(40, 3)) + CODES[:, None]
    given = {"real": SAMPLES, "real_conditions": CODES, "labels": NAMES, "ordered": True, "metrics": "latent_space"}
    small = evaluated(real_latents=latents, **given)
    large = evaluated(real_latents=np.ldexp(latents, 455), **given)
    for key in ("silhouette_score", "ordinal_spearman"):
        assert large[key].value == pytest.approx(small[key].value)


def test_a_subject_of_torch_tensors_that_still_have_gradients() -> None:
    torch = pytest.importorskip("torch")

    class Tensors(Toy):
        def _tensor(self, array: Any) -> Any:
            return torch.tensor(np.asarray(array, np.float32), requires_grad=True)

        def reconstruct(self, samples: Any, conditions: Any) -> Any:
            return self._tensor(super().reconstruct(samples, conditions))

        def encode(self, samples: Any, conditions: Any) -> Any:
            return self._tensor(super().encode(samples, conditions)).to(torch.bfloat16)

        def generate(self, condition: int, n: int, *, temperature: float, seed: int) -> Any:
            return self._tensor(super().generate(condition, n, temperature=temperature, seed=seed))

    sides = generation.collect(Tensors(), data=data(), classifier=Judge(), num_samples=5)
    plain = generation.collect(Toy(), data=data(), classifier=Judge(), num_samples=5)
    assert sides.generated is not None
    assert plain.generated is not None
    np.testing.assert_array_equal(sides.generated.items, plain.generated.items)
    np.testing.assert_allclose(sides.held_out.latents, plain.held_out.latents, rtol=1e-2)


def test_a_perfect_generator_of_many_samples_is_as_new_as_few_real_ones() -> None:
    rng = np.random.default_rng(7)
    real, made, train = (rng.random((count, 60)) < 0.5 for count in (12, 3000, 12))
    found = evaluate(real, made, train=train, metrics=["novelty"], **QUICK)
    assert found["novelty"] == 1
    assert "perfect" in (found["novelty"].compatible or ())


def test_results_are_json(tmp_path: Path) -> None:
    path = evaluate(SAMPLES, SAMPLES[::2], **QUICK).save(tmp_path / "a.json")
    assert json.loads(path.read_text())["family"] == "generation"
