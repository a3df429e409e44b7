"""Every definition written down a second time, plainly, and held against the evaluation on uneven random input."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist
from scipy.stats import t as student
from scipy.stats import wasserstein_distance

from graphgauge import generation

NAMES = ("6A", "6A+", "6B", "6B+")
PRESENT = range(3)  # nothing was generated for the last
N_REAL, N_MADE = 160, 120


def samples(codes, rng):
    return rng.random((len(codes), 3, 5, 4)) < (0.12 + 0.1 * codes)[:, None, None, None]


def described(bits):
    first = bits[:, 0].sum((1, 2)) + bits[:, 1].sum((1, 2)) / 2
    return {"size": bits.sum((1, 2, 3)), "first": first, "flat": np.ones(len(bits))}


def blurred(codes, rng):
    """Answers that are off by one or two now and then."""
    off = rng.integers(-2, 3, len(codes)) * (rng.random(len(codes)) < 0.3)
    return np.clip(codes + off, 0, len(NAMES) - 1)


@pytest.fixture(scope="module")
def given():
    rng = np.random.default_rng(5)
    real_codes, codes = rng.integers(0, 4, N_REAL), np.sort(rng.integers(0, 3, N_MADE) ** 2 % 3)
    codes[-25:] = 2
    real, made = samples(real_codes, rng), samples(codes, rng)
    made[::7] = made[0]
    reconstructed = real ^ (rng.random(real.shape) < 0.05)
    real[5, 0] = reconstructed[5, 0] = False
    real[9] = reconstructed[9] = False
    truth = rng.integers(0, 4, 400)
    return {
        "real": real, "generated": made, "reconstructed": reconstructed, "real_conditions": real_codes,
        "conditions": codes, "train": np.concatenate([made[:10], real[:20]]),
        "valid": [None if draw < 0.1 else bool(draw < 0.8) for draw in rng.random(N_MADE)],
        "statistics": described(real), "generated_statistics": described(made),
        "latents": rng.normal(size=(N_REAL, 6)) + real_codes[:, None] / 2,
        "generated_latents": rng.normal(size=(N_MADE, 6)) + codes[:, None] / 3,
        "predicted": blurred(codes, rng), "classifier_labels": truth, "classifier_predicted": blurred(truth, rng),
        "labels": NAMES, "ordered": True, "channels": ("start", "middle", "end"), "threshold": 0.4,
    }  # fmt: skip


@pytest.fixture(scope="module")
def found(given):
    return generation.evaluate(**given, k=(3, 10), resamples=400, permutations=99)


@pytest.fixture(scope="module")
def parts(given):
    """The rows of real samples, and of valid generated ones, of each condition."""
    valid = np.array([answer is True for answer in given["valid"]])
    return (
        [np.flatnonzero(given["real_conditions"] == code) for code in range(4)],
        [np.flatnonzero((given["conditions"] == code) & valid) for code in PRESENT],
    )


def held(evaluation, key, each, weights):
    """Both averages and the column of a metric against its values in the conditions that have one."""
    own = evaluation[key]
    other = {"macro": "micro", "micro": "macro"}[own.conventions["average"]]
    both = {own.conventions["average"]: own.value, other: evaluation[f"{key}_{other}_condition"].value}
    assert both["macro"] == pytest.approx(np.mean(each))
    assert both["micro"] == pytest.approx(np.average(each, weights=weights))
    np.testing.assert_allclose(own.by("condition")["value"][: len(each)], each)


@pytest.mark.parametrize("empty", [1, "nan", "skip"])
def test_reconstruction(given, empty):
    evaluation = generation.evaluate(**given, metrics="reconstruction", empty=empty)

    def overlap(first, second):
        union = (first | second).sum()
        return (first & second).sum() / union if union else (1.0 if empty == 1 else np.nan)

    mean, std = (np.nanmean, np.nanstd) if empty == "skip" else (np.mean, np.std)
    pairs = list(zip(given["real"], given["reconstructed"], strict=True))
    each = np.array([overlap(*pair) for pair in pairs])
    np.testing.assert_allclose(evaluation["mean_iou"].value, mean(each))
    np.testing.assert_allclose(evaluation["std_iou"].value, std(each))
    conditions = given["real_conditions"]
    table = evaluation.by("condition")
    np.testing.assert_allclose(table["mean_iou"], [mean(each[conditions == code]) for code in range(4)])
    np.testing.assert_allclose(table["std_iou"], [std(each[conditions == code]) for code in range(4)])
    for place in range(3):
        channel = np.array([overlap(first[place], second[place]) for first, second in pairs])
        np.testing.assert_allclose(evaluation.by("channel")["mean_iou"][place], mean(channel))
        np.testing.assert_allclose(evaluation.by("channel")["std_iou"][place], std(channel))
    assert evaluation["num_samples"] == N_REAL
    assert evaluation["threshold"] == 0.4


def test_diversity(given, found, parts):
    valid = np.array([answer is True for answer in given["valid"]])
    asked = [valid[given["conditions"] == code] for code in PRESENT]
    held(found, "validity_rate", [part.mean() for part in asked], [len(part) for part in asked])
    rows = [given["generated"][own].reshape(len(own), -1) for own in parts[1]]
    sizes = [len(part) for part in rows]
    hamming = [pdist(part, "hamming") for part in rows]
    held(found, "overall_mean_diversity", [part.mean() for part in hamming], sizes)
    held(found, "overall_std_diversity", [part.std() for part in hamming], sizes)
    held(found, "mean_hamming_bits", [part.mean() * 60 for part in hamming], sizes)
    held(found, "mean_jaccard", [pdist(part, "jaccard").mean() for part in rows], sizes)
    names = [[row.tobytes() for row in part] for part in rows]
    distinct = [len(set(part)) for part in names]
    held(found, "overall_uniqueness_ratio", np.divide(distinct, sizes), sizes)
    assert found["unique_problems"] == sum(distinct)
    assert found["total_valid"] == sum(sizes) == valid.sum()
    known = {row.tobytes() for row in given["train"].reshape(30, -1)}
    held(found, "novelty", [np.mean([name not in known for name in part]) for part in names], sizes)
    triples = [[len(set(triple)) / 3 for triple in itertools.combinations(part, 3)] for part in names]
    held(found, "unique@3", [np.mean(part) for part in triples], sizes)


def test_statistical(given, found, parts):
    raw = {name: [] for name in given["statistics"]}
    for name, distances in raw.items():
        for real, made in zip(parts[0][:3], parts[1], strict=True):
            sides = given["statistics"][name][real], given["generated_statistics"][name][made]
            distances.append(wasserstein_distance(*sides))
    sizes = [len(own) for own in parts[1]]
    scale = {name: [given["statistics"][name][own].std() for own in parts[0][:3]] for name in ("size", "first")}
    scaled = {name: np.divide(raw[name], scale[name]) for name in scale}
    for name in scale:
        held(found, f"wasserstein_{name}", raw[name], sizes)
        held(found, f"scaled_wasserstein_{name}", scaled[name], sizes)
    held(found, "overall_mean_distance", np.mean(list(scaled.values()), axis=0), sizes)
    assert np.isnan(found["scaled_wasserstein_flat"].value)
    energies, neighbours, discrepancies = [], [], []
    for code in PRESENT:
        real, made = (
            np.column_stack([given[side][name][rows[code]] / scale[name][code] for name in scale])
            for side, rows in zip(("statistics", "generated_statistics"), parts, strict=True)
        )
        energies.append(2 * cdist(real, made).mean() - cdist(real, real).mean() - cdist(made, made).mean())
        encoded = given["latents"][parts[0][code]], given["generated_latents"][parts[1][code]]
        neighbours.append(five_neighbours(*encoded))
        discrepancies.append(discrepancy(*encoded))
    held(found, "energy_distance", energies, sizes)
    for place, name in enumerate(("precision", "recall", "density", "coverage")):
        held(found, f"prdc_{name}", [values[place] for values in neighbours], sizes)
    held(found, "mmd", [value for value, _ in discrepancies], sizes)
    held(found, "mmd_bandwidth", [bandwidth for _, bandwidth in discrepancies], sizes)


def five_neighbours(real, made):
    radii, own = (np.sort(cdist(part, part), axis=1)[:, 5] for part in (real, made))
    across = cdist(real, made)
    inside = across < radii[:, None]
    return inside.any(0).mean(), (across < own).any(1).mean(), inside.sum(0).mean() / 5, inside.any(1).mean()


def discrepancy(real, made):
    everything = np.concatenate([real, made])
    bandwidth = np.median(pdist(everything))
    kernel = np.exp(-cdist(everything, everything, "sqeuclidean") / (2 * bandwidth**2))
    n, m = len(real), len(made)
    within = [(part.sum() - len(part)) / (len(part) * (len(part) - 1)) for part in (kernel[:n, :n], kernel[n:, n:])]
    return sum(within) - 2 * kernel[:n, n:].sum() / (n * m), bandwidth


def test_the_null_is_two_draws_from_the_real_samples(given, found, parts):
    rng, draws = np.random.default_rng(0), []
    for _ in range(400):
        means = []
        for real, made in zip(parts[0][:3], parts[1], strict=True):
            first, second = rng.choice(real, len(made)), rng.choice(real, len(real))
            columns = [given["statistics"][name] for name in ("size", "first")]
            means.append(np.mean([wasserstein_distance(part[first], part[second]) / part[real].std()
                                  for part in columns]))  # fmt: skip
        draws.append(np.mean(means))
    levels = {level.name: level.value for level in found["overall_mean_distance"].chance}
    # Four standard errors of two sets of 400 draws.
    error = np.std(draws) * np.sqrt(2 / 400)
    assert levels["real against real"] == pytest.approx(np.mean(draws), abs=4 * error)
    assert levels["real against real, 95th percentile"] == pytest.approx(np.quantile(draws, 0.95), abs=10 * error)
    assert found["overall_mean_distance"].goal == levels["real against real, 95th percentile"]


def test_latent_space(given, found, parts):
    centroids = np.array([given["latents"][own].mean(0) for own in parts[0]])
    apart = np.linalg.norm(np.diff(centroids, axis=0), axis=1).mean()
    assert found["grade_separation"].value == pytest.approx(apart)
    table = found.by("per_grade_centroids")
    np.testing.assert_allclose(np.column_stack([table[f"z{place}"] for place in range(6)]), centroids)
    away = [given["latents"][own] - centroid for own, centroid in zip(parts[0], centroids, strict=True)]
    np.testing.assert_allclose(table["spread"], [np.sqrt((part**2).sum(1).mean()) for part in away])
    assert found["latent_mean"].value == pytest.approx(np.abs(given["latents"]).mean())


def test_conditioning(given, found, parts):
    off = np.abs(given["predicted"] - given["conditions"])
    sizes = [len(own) for own in parts[1]]
    held(found, "overall_exact_accuracy", [(off[own] == 0).mean() for own in parts[1]], sizes)
    held(found, "overall_tolerance_1_accuracy", [(off[own] <= 1).mean() for own in parts[1]], sizes)
    truth, answers = given["classifier_labels"], given["classifier_predicted"]
    assert found["classifier_exact_accuracy"].value == pytest.approx((truth == answers).mean())
    assert found["classifier_tolerance_1_accuracy"].value == pytest.approx((abs(truth - answers) <= 1).mean())
    confusion = np.zeros((4, 4))
    np.add.at(confusion, (truth, answers), 1)
    confusion /= confusion.sum(1, keepdims=True)
    assert found["classifier_condition_number"].value == pytest.approx(np.linalg.cond(confusion))
    assert found["classifier_condition_number"].value < 10
    exact, near = [], []
    for code, own in enumerate(parts[1]):
        answered = np.bincount(given["predicted"][own], minlength=4) / len(own)
        shares = minimize(
            lambda mixture, answered=answered: -answered @ np.log(np.maximum(mixture @ confusion, 1e-300)),
            np.full(4, 0.25), bounds=[(0, 1)] * 4, constraints={"type": "eq", "fun": lambda mixture: mixture.sum() - 1},
            method="SLSQP", options={"ftol": 1e-12, "maxiter": 1000},
        ).x  # fmt: skip
        exact.append(shares[code])
        near.append(shares[max(0, code - 1) : code + 2].sum())
    for key, each in (("corrected_exact_accuracy", exact), ("corrected_tolerance_1_accuracy", near)):
        assert found[key].value == pytest.approx(np.mean(each), abs=1e-3)
        np.testing.assert_allclose(found[key].by("condition")["value"][:3], each, atol=1e-3)


def test_what_was_not_generated_is_listed(found):
    assert set(found.skipped) == {"diversity of 6B+", "statistical of 6B+", "conditioning of 6B+"}
    for key in ("overall_uniqueness_ratio", "mean_jaccard", "overall_mean_distance", "overall_exact_accuracy"):
        assert np.isnan(found[key].by("condition")["value"][3])


@pytest.mark.parametrize(("right", "number"), [(34, 1 / 0.12), (31, 1 / 0.08)])
def test_confusions_are_undone_up_to_a_condition_number_of_ten(given, right, number):
    # Of a hundred of each, so many are taken for what they are and the others for each of the rest alike.
    counts = np.full((4, 4), (100 - right) // 3) + np.eye(4, dtype=int) * (right - (100 - right) // 3)
    truth, answers = (np.repeat(places.ravel(), counts.ravel()) for places in np.indices((4, 4)))
    judged = given | {"classifier_labels": truth, "classifier_predicted": answers}
    evaluation = generation.evaluate(**judged, metrics="conditioning", resamples=20)
    assert evaluation["classifier_condition_number"].value == pytest.approx(number)
    assert evaluation["corrected_exact_accuracy"].defined == (number <= 10)
    if number > 10:
        assert "is 12.5, above 10" in evaluation["corrected_exact_accuracy"].reason


def test_the_interval_of_a_mean_over_conditions_is_welch_and_satterthwaites(given, found, parts):
    items = [np.abs(given["latents"][own]).mean(1) for own in parts[0]]
    squares = np.array([part.var(ddof=1) / len(part) for part in items])
    freedom = squares.sum() ** 2 / (squares**2 / [len(part) - 1 for part in items]).sum()
    centre, margin = np.mean([part.mean() for part in items]), student.ppf(0.975, freedom) * np.sqrt(squares.sum()) / 4
    assert [*found["latent_mean_macro_condition"].interval] == pytest.approx([centre - margin, centre + margin])
