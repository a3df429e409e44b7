"""What an evaluation holds: sections, averages, what was left out and why, and how it is judged."""

import json
import math

import jsonschema
import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from scipy.stats import wasserstein_distance
from sklearn.metrics import silhouette_score
from tests.generation.flat import evaluated
from tests.generation.toy import NAMES, Judge, Toy, case, data

from graphgauge import generation
from graphgauge.core.content import ResultFile
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.sealed import json_schema

QUICK = {"draws": 99}
SECTIONS = ("reconstruction", "diversity", "statistical", "latent_space", "grade_conditioning")


@pytest.fixture(scope="module")
def table():
    return generation.collect(case(), num_samples=40)


@pytest.fixture(scope="module")
def evaluation(table):
    return generation.evaluate(table, metrics="all", **QUICK)


def groups(samples, codes):
    return [samples[codes == code].reshape(int((codes == code).sum()), -1) for code in range(len(NAMES))]


def test_all_five_sections_with_their_keys(evaluation):
    assert evaluation.sections == SECTIONS
    keys = {name: [key for key in evaluation.section(name) if not key.endswith("_condition")] for name in SECTIONS}
    assert keys["reconstruction"] == ["mean_iou", "std_iou", "num_samples", "threshold"]
    assert set(keys["diversity"]) >= {
        "validity_rate",
        "overall_mean_diversity",
        "overall_std_diversity",
        "overall_uniqueness_ratio",
        "novelty",
        "unique@10",
    }
    assert set(keys["statistical"]) >= {
        "overall_mean_distance",
        "wasserstein_size",
        "scaled_wasserstein_size",
        "energy_distance",
        "energy_p_value",
        "prdc_precision",
        "prdc_recall",
        "prdc_density",
        "prdc_coverage",
        "mmd",
    }
    assert keys["latent_space"] == [
        "silhouette_score",
        "latent_mean",
        "latent_std",
        "grade_separation",
        "ordinal_spearman",
    ]
    assert set(keys["grade_conditioning"]) >= {"overall_exact_accuracy", "overall_tolerance_1_accuracy"}
    columns = evaluation.by("condition").columns
    for name in (
        "mean_iou",
        "mean_diversity",
        "std_diversity",
        "unique_problems",
        "total_valid",
        "uniqueness_ratio",
        "mean_distance",
        "num_generated",
        "num_real",
        "exact_accuracy",
        "tolerance_1_accuracy",
    ):
        assert name in columns, name
    assert evaluation.by("condition")["condition"].tolist() == list(NAMES)
    assert evaluation.by("channel")["channel"].tolist() == ["start", "middle", "end"]


def test_values_against_other_libraries(table, evaluation):
    kept = table.generated.items[table.generated.valid]
    codes = table.generated.conditions[table.generated.valid]
    hamming = [pdist(part, "hamming") for part in groups(kept, codes)]
    assert evaluation["overall_mean_diversity"].value == pytest.approx(np.mean([part.mean() for part in hamming]))
    assert evaluation["overall_std_diversity"].value == pytest.approx(np.mean([part.std() for part in hamming]))
    unique = [len(np.unique(part, axis=0)) / len(part) for part in groups(kept, codes)]
    np.testing.assert_allclose(evaluation.by("condition")["uniqueness_ratio"], unique)
    real, made = table.real.statistics["size"], table.generated.statistics["size"][table.generated.valid]
    distances = [wasserstein_distance(real[table.real.conditions == code], made[codes == code]) for code in range(4)]
    np.testing.assert_allclose(evaluation.by("condition")["wasserstein_size"], distances)
    spreads = [real[table.real.conditions == code].std() for code in range(4)]
    np.testing.assert_allclose(evaluation.by("condition")["scaled_wasserstein_size"], np.array(distances) / spreads)
    assert evaluation["silhouette_score"].value == pytest.approx(
        silhouette_score(table.real.latents, table.real.conditions)
    )
    assert evaluation["latent_std"].value == pytest.approx(table.real.latents.std())
    right = Judge().predict(kept) == codes
    by_grade = [part.mean() for part in groups(right, codes)]
    assert evaluation["overall_exact_accuracy"].value == pytest.approx(np.mean(by_grade))
    assert evaluation["validity_rate"].value == pytest.approx(table.generated.valid.mean())


def test_macro_and_micro(evaluation):
    for key in ("validity_rate", "overall_mean_diversity", "overall_uniqueness_ratio", "overall_exact_accuracy"):
        table, name, own = evaluation.by("condition"), key.removeprefix("overall_"), evaluation[key]
        weights = {"macro": None, "micro": table[f"{name}.n"]}[own.conventions["average"]]
        assert own.value == pytest.approx(np.average(table[name], weights=weights))
        assert own.n == table[f"{name}.n"].sum()


def test_perfect_reconstruction_is_one(evaluation):
    assert evaluation["mean_iou"] == 1
    assert evaluation["mean_iou"].reached
    assert evaluation["mean_iou"].interval.low > 0.97
    assert evaluation["mean_iou"].references[-1].name == "another real sample"
    assert evaluation["mean_iou"].references[-1].value < 0.6


def test_real_samples_lie_within_their_own_null(evaluation):
    result = evaluation["overall_mean_distance"]
    perfect = {level.name: level for level in result.references}["perfect"]
    assert perfect.low < perfect.value < result.goal < perfect.high
    assert result.reached
    assert result.compatible == ("memoriser", "perfect")  # training samples have the same distribution
    assert "within" in result.interpretation
    assert evaluation["energy_p_value"].value > 0.01


def test_goals_and_what_is_printed(table, evaluation):
    judged = {result.section: result for result in evaluation.values() if result.interpretation}
    assert set(judged) == set(SECTIONS)
    assert judged["reconstruction"].goal == 0.7
    assert judged["diversity"].goal == 0.8
    assert judged["latent_space"].goal == 0.2
    text = str(generation.evaluate(table, **QUICK))
    assert len(text.splitlines()) <= 25
    assert "perfect" in text
    assert "memoriser" in text
    assert "The result has tables by condition, channel" in text
    assert text.splitlines()[-1].startswith("No difference between generated and real samples is found (2 tests,")


def test_file_and_back(evaluation, tmp_path):
    path = evaluation.save(tmp_path / "a.json")
    jsonschema.validate(json.loads(path.read_text()), json_schema(ResultFile))
    again = Evaluation.load(path)
    assert {key: each.value for key, each in again.items()} == pytest.approx(
        {key: each.value for key, each in evaluation.items()}, nan_ok=True, abs=0
    )
    assert str(again).splitlines()[-1] == str(evaluation).splitlines()[-1]
    flat = evaluation.to_flat()
    assert flat["uniqueness_ratio_per_condition"] == evaluation.by("condition")["uniqueness_ratio"].tolist()


def test_sections_and_keys_may_be_named(table):
    found = generation.evaluate(table, metrics=["mean_iou", "grade_conditioning"], **QUICK)
    assert found.sections == ("reconstruction", "grade_conditioning")
    assert list(found.section("reconstruction")) == ["mean_iou"]
    assert generation.evaluate(table, metrics="unique@3", **QUICK)["unique@3"].value > 0
    with pytest.raises(UnknownNameError, match="Did you mean 'reconstruction'"):
        generation.evaluate(table, metrics=["reconstructoin"])


def test_the_same_whatever_is_asked_for_beside_it(table, evaluation):
    alone = generation.evaluate(table, metrics=["statistical"], **QUICK)
    for key, result in alone.items():
        assert result.value == pytest.approx(evaluation[key].value, nan_ok=True, abs=0), key


def test_what_is_missing_is_said(table):
    subject = Toy()
    found = generation.evaluate(generation.collect(subject, num_samples=20), **QUICK)
    assert found.skipped["reconstruction"] == "no real samples given"
    assert found.skipped["grade_conditioning"] == "no classifier given"
    assert found.skipped["novelty"] == "no training set given"
    assert found.sections == ("diversity",)
    with pytest.raises(InputError, match="was skipped: no classifier given"):
        found["grade_conditioning"]
    with pytest.raises(OptionError, match="mean_iou cannot be computed: no real samples given"):
        generation.evaluate(generation.collect(subject, num_samples=20), metrics=["mean_iou"])


def test_conditions_with_too_few_samples_are_listed():
    samples, codes = data(120).items, data(120).conditions
    rare = codes != 3
    rare[np.flatnonzero(codes == 3)[:5]] = True
    found = evaluated(
        real=samples,
        generated=samples[rare],
        real_conditions=codes,
        generated_conditions=codes[rare],
        labels=[*NAMES, "7A"],
        real_statistics={"size": samples.sum((1, 2, 3))},
        generated_statistics={"size": samples[rare].sum((1, 2, 3))},
        **QUICK,
    )
    assert found.skipped["statistical of 6B+"] == "5 valid generated samples; at least 10 are needed"
    assert found.skipped["diversity of 7A"] == "no samples were generated"
    assert "diversity of 6B+" not in found.skipped
    assert math.isnan(found.by("condition")["mean_distance"][3])
    assert any("2 of 5 conditions have no value" in text for text in found["overall_mean_distance"].warnings)


def test_fewer_than_two_valid_samples():
    samples = data(12).items
    valid = [True] + [None] * 11
    found = evaluated(generated=samples, generated_valid=valid, metrics="all")
    assert found["validity_rate"].value == pytest.approx(1 / 12)
    assert not found["overall_mean_diversity"].defined
    assert found["overall_mean_diversity"].reason == "no condition has 2 valid samples"


def constant_in_real(made, real=1.0, n=40):
    """An evaluation with one statistic that varies as it should, and one that is constant in the real samples."""
    rng = np.random.default_rng(0)
    blank = np.zeros((n, 1), bool), np.zeros((len(made), 1), bool)
    return evaluated(
        real=blank[0],
        generated=blank[1],
        real_statistics={"size": rng.standard_normal(n), "ends": np.full(n, real)},
        generated_statistics={"size": rng.standard_normal(len(made)), "ends": np.asarray(made, float)},
        metrics=["statistical"],
        draws=200,
    )


@pytest.mark.parametrize("size", [20, 40, 160])
@pytest.mark.parametrize(
    "made",
    [
        lambda size: 2 + np.arange(size) % 10,
        lambda size: np.full(size, 2.0),
        lambda size: np.where(np.arange(size) % 2, 1.0, -5.0),
        lambda size: 1 + 1e-6 * (1 + np.arange(size)),
    ],
)
def test_a_statistic_that_is_constant_in_the_real_samples_counts(made, size):
    values = made(size)
    found = constant_in_real(values)
    together = np.r_[np.ones(40), values]
    distance = np.abs(values - 1).mean() / together.std()  # from a constant, Wasserstein is the mean deviation
    assert found["scaled_wasserstein_ends"].value == pytest.approx(distance)
    expected = (found["scaled_wasserstein_size"].value + distance) / 2
    assert found["overall_mean_distance"].value == pytest.approx(expected)
    assert not found["overall_mean_distance"].reached
    assert found["energy_p_value"].value <= 0.01
    rows = [np.column_stack([np.zeros(n), ends]) for n, ends in ((40, np.ones(40)), (size, values))]
    assert any("ends is constant" in text for text in found["overall_mean_distance"].warnings)
    assert found["energy_distance"].value > by_energy(*(side / together.std() for side in rows)) / 2


def by_energy(x, y):
    return 2 * cdist(x, y).mean() - cdist(x, x).mean() - cdist(y, y).mean()


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1 + 0.2])
def test_a_constant_on_both_sides_is_no_distance(value):
    found = constant_in_real(np.full(40, 0.3 if 0.2 < value < 0.4 else value), real=value)
    assert found["scaled_wasserstein_ends"].value == 0
    assert found["overall_mean_distance"].value == pytest.approx(found["scaled_wasserstein_size"].value / 2)
    assert found["overall_mean_distance"].reached
    assert found["energy_p_value"].value > 0.05


def test_nothing_but_constants():
    blank = np.zeros((20, 1), bool)
    same = evaluated(
        real=blank,
        generated=blank,
        real_statistics={"one": np.ones(20)},
        generated_statistics={"one": np.ones(20)},
        metrics=["statistical"],
        **QUICK,
    )
    assert (same["overall_mean_distance"], same["energy_distance"], same["energy_p_value"]) == (0, 0, 1)
    assert same["overall_mean_distance"].reached


def test_a_rare_event_that_real_samples_happen_to_lack_is_no_difference():
    """One in fifty on both sides: real samples of a third of the runs lack it, and chance covers that."""
    rng = np.random.default_rng(1)
    blank = np.zeros((50, 1), bool)
    missed, lacking = [], 0
    for _ in range(150):
        real, made = ((rng.random(50) < 0.02).astype(float) for _ in range(2))
        lacking += not real.any()
        found = evaluated(
            real=blank,
            generated=blank,
            real_statistics={"rare": real},
            generated_statistics={"rare": made},
            metrics=["overall_mean_distance", "energy_p_value"],
            draws=39,
        )
        missed.append((not found["overall_mean_distance"].reached, found["energy_p_value"].value <= 0.05))
    assert lacking > 30
    assert np.mean(missed, axis=0).max() < 0.1


@pytest.mark.parametrize(("empty", "expected"), [(1, 0.75), (0, 0.25)])
def test_two_empty_sides(empty, expected):
    real = np.array([[0, 0, 0, 0], [1, 1, 0, 0]])
    back = np.array([[0, 0, 0, 0], [1, 0, 0, 0]])
    found = evaluated(real=real, real_reconstructed=back, metrics=["reconstruction"], empty=empty)
    assert found["mean_iou"].value == pytest.approx(expected)
    assert found.conventions["two empty sides"] == str(empty)


def test_conditions_without_order_have_no_neighbours(table):
    found = evaluated(
        real=table.real.items,
        real_conditions=table.real.conditions,
        real_latents=table.real.latents,
        generated=table.generated.items,
        generated_conditions=table.generated.conditions,
        generated_predicted=table.generated.predicted,
        metrics="all",
        **QUICK,
    )
    for key in ("grade_separation", "ordinal_spearman", "overall_tolerance_1_accuracy"):
        assert found[key].reason == "conditions have no order", key
    assert found["classifier_exact_accuracy"].reason == "the classifier was not tested on real held-out samples"


def test_one_condition_has_nothing_to_be_apart_from():
    samples = data(30).items
    found = evaluated(real=samples, real_latents=samples.reshape(30, -1)[:, :3])
    assert not found["silhouette_score"].defined
    assert "fewer than two conditions" in found["silhouette_score"].reason


def test_a_confused_classifier_is_not_undone(table):
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 4
    answers = np.where(rng.random(400) < 0.3, labels, rng.integers(0, 4, 400))
    given = {
        "generated": table.generated.items,
        "generated_conditions": table.generated.conditions,
        "generated_predicted": table.generated.predicted,
        "labels": NAMES,
        "classifier_conditions": labels,
        "ordered": True,
    }
    good = evaluated(
        **given, classifier_predicted=np.where(rng.random(400) < 0.8, labels, answers), metrics="all", **QUICK
    )
    assert good["corrected_exact_accuracy"].defined
    assert good["corrected_exact_accuracy"].interval is not None
    bad = evaluated(**given, classifier_predicted=(labels > 1) * 2, metrics="all", **QUICK)
    assert not bad["corrected_exact_accuracy"].defined
    assert "above 10" in bad["corrected_exact_accuracy"].reason


def test_a_classifier_that_knows_nothing_is_found_out(table):
    labels = np.arange(40) % 4
    found = evaluated(
        generated=table.generated.items,
        generated_conditions=table.generated.conditions,
        generated_predicted=table.generated.predicted,
        labels=NAMES,
        classifier_conditions=labels,
        classifier_predicted=np.zeros(40, int),
        **QUICK,
    )
    assert [finding.check for finding in found.findings] == ["blind-classifier"]


def test_copies_of_the_training_set_are_found_out():
    held, codes = data(80).items, data(80).conditions
    train = data(80, seed=1).items
    found = evaluated(
        real=held,
        generated=train,
        real_conditions=codes,
        generated_conditions=codes,
        train=train,
        metrics=["diversity"],
    )
    assert found["novelty"] == 0
    assert {level.name: level.value for level in found["novelty"].references}["perfect"] == 1
    assert [finding.check for finding in found.findings] == ["copied-training-set"]


def test_a_generator_that_repeats_itself():
    samples, codes = data(80).items, data(80).conditions
    repeated = samples[np.arange(80) % 4]
    found = evaluated(
        generated=repeated, generated_conditions=codes, real=samples, real_conditions=codes, metrics="diversity"
    )
    assert found["overall_uniqueness_ratio"] == 1 / 20
    assert not found["overall_uniqueness_ratio"].reached
    assert "repeats itself" in found["overall_uniqueness_ratio"].interpretation
    assert found["overall_mean_diversity"] == 0
    assert {finding.check for finding in found.findings} == {"copied-test-set", "repeated-samples"}


def test_an_encoder_that_is_told_the_condition():
    class Told(Toy):
        def encode(self, samples, conditions):
            return np.column_stack([conditions, super().encode(samples, conditions)])

    table = generation.collect(Told(), data=data(), sections=["latent_space"])
    assert table.leaks
    found = generation.evaluate(table, metrics=["latent_space"])
    assert any("given the condition" in text for text in found["silhouette_score"].warnings)
    assert generation.collect(Toy(), data=data(), sections=["latent_space"]).leaks is False


def test_an_encoder_with_noise_of_its_own_is_not_told_the_condition():
    class Noisy(Toy):
        shifts = (0.0, 0.0, 0.1, 0.15)  # for the latent vectors themselves, and thrice to see what changes them

        def encode(self, samples, conditions):
            self.asked.append("encode")
            return np.zeros((len(samples), 2)) + self.shifts[len(self.asked) - 1]

    assert generation.collect(Noisy(), data=data(), sections=["latent_space"]).leaks is False


def test_graphs_as_samples():
    networkx = pytest.importorskip("networkx")
    paths = [networkx.path_graph(n) for n in range(2, 14)]
    stars = [networkx.star_graph(n) for n in range(2, 14)]
    relabelled = [networkx.relabel_nodes(graph, lambda node: 100 - node) for graph in paths]
    found = evaluated(real=paths, generated=relabelled, train=paths[:6], **QUICK)
    assert found["novelty"] == 0.5
    assert found["overall_uniqueness_ratio"] == 1
    assert "overall_mean_diversity" not in found
    assert not found["degree_mmd"].defined  # six of the twelve real graphs are in the training set
    found = evaluated(real=paths, generated=relabelled, **QUICK)
    assert found["degree_mmd"].value == pytest.approx(
        evaluated(real=paths, generated=paths, metrics="degree_mmd", **QUICK)["degree_mmd"].value
    )
    other = evaluated(real=paths, generated=stars, **QUICK)
    assert other["degree_mmd"].value > found["degree_mmd"].value
    assert other["spectral_mmd"].value > found["spectral_mmd"].value
    with pytest.raises(InputError, match="samples differ: graphs of real and bits of generated"):
        evaluated(real=paths, generated=np.zeros((12, 3)))


def test_options_that_make_no_sense(table):
    for options in (
        {"seed": -1},
        {"draws": 0},
        {"empty": "one"},
        {"metrics": ()},
        {"metrics": "wasserstein_beauty"},
        {"metrics": "unique@0"},
        {"metrics": "unique@-3"},
        {"metrics": "diversity", "empty": "one"},
    ):
        with pytest.raises(OptionError):
            generation.evaluate(table, **options)
    with pytest.raises(OptionError, match="nothing to evaluate"):
        evaluated(labels=NAMES)
    with pytest.raises(OptionError, match="threshold must be between 0 and 1"):
        evaluated(real=table.real.items, real_reconstructed=table.real.items, threshold=2.0)
    with pytest.raises(InputError, match=r"real: conditions are missing.*Samples\(items, conditions="):
        evaluated(real=table.real.items, labels=NAMES)
    for options in ({"ordered": True}, {"empty": 0}, {"threshold": 0.4}):
        with pytest.raises(OptionError, match=rf"^{next(iter(options))} needs "):
            evaluated(real=table.real.items, **options)


def test_names_from_data_are_shown_as_they_are(tmp_path):
    samples = data(40).items
    named = {"[red]size": samples.sum((1, 2, 3)), "a.n": samples[:, 0].sum((1, 2))}
    found = evaluated(
        real=samples,
        generated=samples,
        real_statistics=named,
        generated_statistics=named,
        real_conditions=["[/x]"] * 20 + ["y"] * 20,
        generated_conditions=["[/x]"] * 20 + ["y"] * 20,
        metrics="statistical",
        **QUICK,
    )
    assert "wasserstein_[red]size" in str(found)
    assert found.by("condition")["condition"].tolist() == ["[/x]", "y"]
    again = Evaluation.load(found.save(tmp_path / "a.json"))
    assert again.by("condition").columns.keys() == found.by("condition").columns.keys()
    assert set(again.breakdowns) == set(found.breakdowns)


def test_figure(evaluation, tmp_path):
    evaluation.plot(tmp_path / "sections.svg")
    picture = (tmp_path / "sections.svg").read_text()
    for text in ("values and levels", "mean_iou", "overall_mean_distance", "real (above) and generated samples"):
        assert text in picture, text
