"""Every definition written down a second time, plainly, and held against the evaluation on uneven random input."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist
from scipy.stats import norm, wasserstein_distance
from scipy.stats import t as student
from tests.generation.flat import evaluated

from graphgauge.generation import Samples, Sides
from graphgauge.generation.averages import View
from graphgauge.generation.distances import null_distances
from graphgauge.generation.levels import Draws
from graphgauge.generation.metrics.compared import Encoded
from graphgauge.generation.metrics.conditioning import bootstrapped_compositions
from graphgauge.generation.metrics.described import Described
from graphgauge.stats.intervals import agreement_interval

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
        "real": real,
        "generated": made,
        "real_reconstructed": reconstructed,
        "real_conditions": real_codes,
        "generated_conditions": codes,
        "train": np.concatenate([made[:10], learned()[0]]),
        "generated_valid": [None if draw < 0.1 else bool(draw < 0.8) for draw in rng.random(N_MADE)],
        "real_statistics": described(real),
        "generated_statistics": described(made),
        "real_latents": rng.normal(size=(N_REAL, 6)) + real_codes[:, None] / 2,
        "generated_latents": rng.normal(size=(N_MADE, 6)) + codes[:, None] / 3,
        "generated_predicted": blurred(codes, rng),
        "classifier_conditions": truth,
        "classifier_predicted": blurred(truth, rng),
        "labels": NAMES,
        "ordered": True,
        "channels": ("start", "middle", "end"),
        "threshold": 0.4,
    }


def learned():
    """Twenty samples of the training set, and their conditions."""
    rng = np.random.default_rng(50)
    codes = rng.integers(0, 4, 20)
    return samples(codes, rng), codes


def learned_latents():
    return np.random.default_rng(52).normal(size=(20, 6)) + learned()[1][:, None] / 2


@pytest.fixture(scope="module")
def offered(given):
    """The same with real samples among them that are in the training set: they must not change anything but the levels,
    in which they are samples of a perfect generator."""
    extra, codes = learned()
    more = {
        "real": extra,
        "real_reconstructed": extra,
        "real_conditions": codes,
        "real_latents": learned_latents(),
        "real_statistics": described(extra),
    }
    order = np.random.default_rng(51).permutation(N_REAL + 20)

    def mixed(own, other):
        if isinstance(own, dict):
            return {name: mixed(own[name], other[name]) for name in own}
        return np.concatenate([own, other])[order]

    valid = {"real_valid": np.ones(N_REAL + 20, bool)}
    return given | valid | {name: mixed(given[name], values) for name, values in more.items()}


@pytest.fixture(scope="module")
def found(offered):
    return evaluated(**offered, metrics="all", draws=400)


@pytest.fixture(scope="module")
def by_three(offered):
    return evaluated(**offered, metrics="unique@3", draws=19)


@pytest.fixture(scope="module")
def parts(given):
    """The rows of real samples, and of valid generated ones, of each condition."""
    valid = np.array([answer is True for answer in given["generated_valid"]])
    return (
        [np.flatnonzero(given["real_conditions"] == code) for code in range(4)],
        [np.flatnonzero((given["generated_conditions"] == code) & valid) for code in PRESENT],
    )


def held(evaluation, key, each, weights):
    """The average and the column of a metric against its values in the conditions that have one."""
    own = evaluation[key]
    weights = {"macro": None, "micro": weights}[own.conventions["average"]]
    assert own.value == pytest.approx(np.average(each, weights=weights))
    np.testing.assert_allclose(evaluation.by("condition")[key.removeprefix("overall_")][: len(each)], each)


@pytest.mark.parametrize("empty", [1, 0])
def test_reconstruction(given, offered, empty):
    evaluation = evaluated(**offered, metrics="reconstruction", empty=empty)

    def overlap(first, second):
        union = (first | second).sum()
        return (first & second).sum() / union if union else empty

    mean, std = np.mean, np.std
    pairs = list(zip(given["real"], given["real_reconstructed"], strict=True))
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


def test_diversity(given, found, by_three, parts):
    valid = np.array([answer is True for answer in given["generated_valid"]])
    asked = [valid[given["generated_conditions"] == code] for code in PRESENT]
    held(found, "validity_rate", [part.mean() for part in asked], [len(part) for part in asked])
    rows = [given["generated"][own].reshape(len(own), -1) for own in parts[1]]
    sizes = [len(part) for part in rows]
    hamming = [pdist(part, "hamming") for part in rows]
    held(found, "overall_mean_diversity", [part.mean() for part in hamming], sizes)
    held(found, "overall_std_diversity", [part.std() for part in hamming], sizes)
    names = [[row.tobytes() for row in part] for part in rows]
    distinct = [len(set(part)) for part in names]
    held(found, "overall_uniqueness_ratio", np.divide(distinct, sizes), sizes)
    assert found["unique_problems"] == sum(distinct)
    assert found["total_valid"] == sum(sizes) == valid.sum()
    known = {row.tobytes() for row in given["train"].reshape(30, -1)}
    held(found, "novelty", [np.mean([name not in known for name in part]) for part in names], sizes)
    triples = [[len(set(triple)) / 3 for triple in itertools.combinations(part, 3)] for part in names]
    assert by_three["unique@3"].value == pytest.approx(np.mean([np.mean(part) for part in triples]))


def test_statistical(given, found, parts):
    raw = {name: [] for name in given["real_statistics"]}
    for name, distances in raw.items():
        for real, made in zip(parts[0][:3], parts[1], strict=True):
            sides = given["real_statistics"][name][real], given["generated_statistics"][name][made]
            distances.append(wasserstein_distance(*sides))
    sizes = [len(own) for own in parts[1]]
    scale = {name: [given["real_statistics"][name][own].std() for own in parts[0][:3]] for name in ("size", "first")}
    scaled = {name: np.divide(raw[name], scale[name]) for name in scale}
    for name in scale:
        held(found, f"wasserstein_{name}", raw[name], sizes)
        held(found, f"scaled_wasserstein_{name}", scaled[name], sizes)
    scaled["flat"] = np.zeros(3)  # the same constant on both sides
    held(found, "scaled_wasserstein_flat", scaled["flat"], sizes)
    held(found, "overall_mean_distance", np.mean(list(scaled.values()), axis=0), sizes)
    energies, neighbours, discrepancies = [], [], []
    for code in PRESENT:
        real, made = (
            np.column_stack([given[side][name][rows[code]] / scale[name][code] for name in scale])
            for side, rows in zip(("real_statistics", "generated_statistics"), parts, strict=True)
        )
        energies.append(2 * cdist(real, made).mean() - cdist(real, real).mean() - cdist(made, made).mean())
        encoded = given["real_latents"][parts[0][code]], given["generated_latents"][parts[1][code]]
        neighbours.append(five_neighbours(*encoded))
        discrepancies.append(discrepancy(*encoded))
    held(found, "energy_distance", energies, sizes)
    for place, name in enumerate(("precision", "recall", "density", "coverage")):
        held(found, f"prdc_{name}", [values[place] for values in neighbours], sizes)
    held(found, "mmd", [value for value, _ in discrepancies], sizes)


def five_neighbours(real, made):
    radii, own = (np.sort(cdist(part, part), axis=1)[:, 5] for part in (real, made))
    across = cdist(real, made)
    inside = across < radii[:, None]
    return inside.any(0).mean(), (across < own).any(1).mean(), inside.sum(0).mean() / 5, inside.any(1).mean()


def discrepancy(real, made, bandwidth=None):
    everything = np.concatenate([real, made])
    bandwidth = np.median(pdist(everything)) if bandwidth is None else bandwidth
    kernel = np.exp(-cdist(everything, everything, "sqeuclidean") / (2 * bandwidth**2))
    n, m = len(real), len(made)
    within = [(part.sum() - len(part)) / (len(part) * (len(part) - 1)) for part in (kernel[:n, :n], kernel[n:, n:])]
    return sum(within) - 2 * kernel[:n, n:].sum() / (n * m), bandwidth


def test_the_null_is_two_draws_from_the_real_samples(given, found, parts):
    rng, draws = np.random.default_rng(0), []
    extra, codes = learned()
    columns = [np.concatenate([given["real_statistics"][name], described(extra)[name]]) for name in ("size", "first")]
    for _ in range(400):
        means = []
        for code, (real, made) in enumerate(zip(parts[0][:3], parts[1], strict=True)):
            every = np.concatenate([real, N_REAL + np.flatnonzero(codes == code)])
            first, second = rng.choice(every, len(made)), rng.choice(real, len(real))
            wider = np.sqrt(len(real) / (len(real) - 1))
            distances = [
                wider * wasserstein_distance(part[first], part[second]) / part[second].std() for part in columns
            ]
            means.append(np.mean([*distances, 0]))  # the third is the same constant on both sides
        draws.append(np.mean(means))
    result = found["overall_mean_distance"]
    (perfect,) = result.references
    # Four standard errors of two sets of 400 draws.
    error = np.std(draws) * np.sqrt(2 / 400)
    assert perfect.value == pytest.approx(np.mean(draws), abs=4 * error)
    assert result.goal == pytest.approx(np.quantile(draws, 0.95), abs=10 * error)
    assert perfect.low == pytest.approx(np.quantile(draws, 0.025), abs=10 * error)
    assert perfect.high == pytest.approx(np.quantile(draws, 0.975), abs=12 * error)


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_the_null_is_averaged_over_conditions_as_the_value_is(average):
    """Two conditions whose nulls lie far apart, one with many samples and one with few; a third has none."""
    n = np.array([100, 20, 0])
    sample = View(SimpleNamespace(labels=("many", "few", "none"), groups=3), average=average)
    draws = np.array([[1.0, 7.0, np.nan], [2.0, np.nan, np.nan], [np.nan] * 3, [3.0, 9.0, np.nan]])
    expected = [[4.0, 2.0, 6.0], [2.0, 2.0, 4.0]][average == "micro"]
    np.testing.assert_allclose(sample.averaged(draws, n), [*expected[:2], np.nan, expected[2]])
    for drawn, value in zip(draws[[0, 1, 3]], expected, strict=True):
        assert sample.estimate(drawn, n, "").value[0] == pytest.approx(value)


def goal_reached(draw, conditions, n, m, repeats, statistics=1):
    """How often samples of one distribution lie within their goal, n real and m generated ones of each condition."""
    codes = np.repeat(np.arange(conditions), n), np.repeat(np.arange(conditions), m)
    reached = 0
    for _ in range(repeats):
        real, made = ({str(name): draw(len(side)) for name in range(statistics)} for side in codes)
        evaluation = evaluated(
            real=np.zeros((conditions * n, 1), bool),
            generated=np.zeros((conditions * m, 1), bool),
            real_conditions=codes[0],
            generated_conditions=codes[1],
            real_statistics=real,
            generated_statistics=made,
            metrics=["overall_mean_distance"],
            draws=200,
        )
        reached += evaluation["overall_mean_distance"].reached
    return reached / repeats


def test_the_goal_is_nearly_what_it_says():
    """Few real samples of many conditions are the hardest: errors of the null add up, those of the value cancel."""
    rng = np.random.default_rng(0)
    assert goal_reached(lambda size: rng.poisson(8, size), conditions=8, n=12, m=40, repeats=60) > 0.83


@pytest.mark.slow
@pytest.mark.parametrize(("conditions", "n", "m"), [(1, 25, 100), (10, 90, 85), (19, 12, 100), (19, 60, 100)])
@pytest.mark.parametrize(
    ("kind", "least"), [("poisson", 0.85), ("binomial", 0.9), ("normal", 0.82), ("lognormal", 0.7)]
)
def test_how_often_the_goal_is_reached(conditions, n, m, kind, least):
    rng = np.random.default_rng(1)
    draw = {
        "poisson": lambda size: rng.poisson(8, size),
        "binomial": lambda size: rng.random(size) < 0.3,
        "normal": rng.standard_normal,
        "lognormal": lambda size: rng.lognormal(size=size),
    }[kind]
    assert least < goal_reached(draw, conditions, n, m, repeats=200, statistics=2) < 0.99


def test_draws_without_a_spread_are_scaled_by_that_of_both():
    """One of ten real samples differs: of a third of the draws all are alike."""
    rare = np.zeros(10)
    rare[0] = 1
    blank = np.zeros((10, 1), bool)
    evaluation = evaluated(
        real=blank,
        generated=blank,
        real_statistics={"rare": rare},
        generated_statistics={"rare": rare[::-1]},
        metrics=["statistical"],
        draws=300,
    )
    drawn = null_distances(
        np.sort(rare)[:, np.newaxis],
        np.zeros(10, int),
        np.array([10]),
        np.array([10]),
        draws=300,
        generator=np.random.default_rng([0, 1]),
    )
    # Where none of the second ten differs, k of the first ten do: their distance is k/10, their shared spread that of
    # k among twenty.
    k = np.rint(drawn.distances[:, 0, 0] * 10)
    alike = np.isclose(drawn.scales[:, 0, 0], np.sqrt(k / 20 * (1 - k / 20)))
    assert alike.mean() == pytest.approx(0.9**10, abs=0.1)
    # Draws from ten samples vary by 9/10 of the variance that samples have.
    wider = np.sqrt(10 / 9) * drawn.distances[:, 0]
    assert evaluation["wasserstein_rare"].references[0].value == pytest.approx(wider.mean())
    (perfect,) = evaluation["scaled_wasserstein_rare"].references
    scales = drawn.scales[:, 0, 0]
    scaled = np.divide(wider[:, 0], scales, out=np.zeros(300), where=scales > 0)
    assert perfect.value == pytest.approx(scaled.mean())
    assert 0 <= perfect.low < perfect.value < perfect.high < np.inf
    assert evaluation["overall_mean_distance"].reached


def test_every_condition_is_dealt_anew_by_itself():
    """With the same deals in all of them, the null of their mean would be as wide as that of one."""
    rng, codes = np.random.default_rng(0), np.repeat([0, 1], 20)
    column, blank = np.tile(rng.poisson(8, 20), 2), np.tile(rng.random((20, 6)) < 0.5, (2, 1))
    sides = Sides.from_samples(
        Samples(blank, conditions=codes, statistics={"size": column}),
        Samples(~blank, conditions=codes, statistics={"size": column[::-1]}),
    )
    draws = Draws(0, 49)
    for data, kind in ((Described(sides, draws), "energy"), (Encoded(sides, draws), "mmd")):
        tests = data.tests(kind)
        assert not np.array_equal(tests[0].null, tests[1].null)


def test_latent_space(given, found, parts):
    centroids = np.array([given["real_latents"][own].mean(0) for own in parts[0]])
    apart = np.linalg.norm(np.diff(centroids, axis=0), axis=1).mean()
    assert found["grade_separation"].value == pytest.approx(apart)
    table = found.by("per_grade_centroids")
    np.testing.assert_allclose(np.column_stack([table[f"z{place}"] for place in range(6)]), centroids)
    away = [given["real_latents"][own] - centroid for own, centroid in zip(parts[0], centroids, strict=True)]
    np.testing.assert_allclose(table["spread"], [np.sqrt((part**2).sum(1).mean()) for part in away])
    assert found["latent_mean"].value == pytest.approx(np.abs(given["real_latents"]).mean())


def test_conditioning(given, found, parts):
    off = np.abs(given["generated_predicted"] - given["generated_conditions"])
    sizes = [len(own) for own in parts[1]]
    held(found, "overall_exact_accuracy", [(off[own] == 0).mean() for own in parts[1]], sizes)
    held(found, "overall_tolerance_1_accuracy", [(off[own] <= 1).mean() for own in parts[1]], sizes)
    truth, answers = given["classifier_conditions"], given["classifier_predicted"]
    assert found["classifier_exact_accuracy"].value == pytest.approx((truth == answers).mean())
    assert found["classifier_tolerance_1_accuracy"].value == pytest.approx((abs(truth - answers) <= 1).mean())
    confusion = np.zeros((4, 4))
    np.add.at(confusion, (truth, answers), 1)
    confusion /= confusion.sum(1, keepdims=True)
    exact = []
    for code, own in enumerate(parts[1]):
        answered = np.bincount(given["generated_predicted"][own], minlength=4) / len(own)
        shares = minimize(
            lambda mixture, answered=answered: -answered @ np.log(np.maximum(mixture @ confusion, 1e-300)),
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda mixture: mixture.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 1000},
        ).x
        exact.append(shares[code])
    assert found["corrected_exact_accuracy"].value == pytest.approx(np.mean(exact), abs=1e-3)
    np.testing.assert_allclose(found.by("condition")["corrected_exact_accuracy"][:3], exact, atol=1e-3)


def test_what_was_not_generated_is_listed(found):
    assert set(found.skipped) == {"diversity of 6B+", "statistical of 6B+", "grade_conditioning of 6B+"}
    for key in (
        "overall_uniqueness_ratio",
        "overall_mean_diversity",
        "overall_mean_distance",
        "overall_exact_accuracy",
    ):
        assert np.isnan(found.by("condition")[key.removeprefix("overall_")][3])


@pytest.mark.parametrize(("right", "number"), [(34, 1 / 0.12), (31, 1 / 0.08)])
def test_confusions_are_undone_up_to_a_condition_number_of_ten(given, right, number):
    # Of a hundred of each, so many are taken for what they are and the others for each of the rest alike.
    counts = np.full((4, 4), (100 - right) // 3) + np.eye(4, dtype=int) * (right - (100 - right) // 3)
    truth, answers = (np.repeat(places.ravel(), counts.ravel()) for places in np.indices((4, 4)))
    judged = given | {"classifier_conditions": truth, "classifier_predicted": answers}
    evaluation = evaluated(**judged, metrics="grade_conditioning", draws=20)
    assert evaluation["corrected_exact_accuracy"].defined == (number <= 10)
    if number > 10:
        assert "is 12.5, above 10" in evaluation["corrected_exact_accuracy"].reason


def levels_of(evaluation, key):
    return {level.name: level.value for level in evaluation[key].references}


def bounds_of(evaluation, key):
    """The intervals (conditions, 2) of a metric in the conditions that have a value."""
    table, name = evaluation.by("condition"), key.removeprefix("overall_")
    return np.column_stack([table[f"{name}.low"], table[f"{name}.high"]])[: len(PRESENT)]


def around(centre, error, freedom):
    margin = student.ppf(0.975, freedom) * error
    return [centre - margin, centre + margin]


def test_intervals_of_distances_and_of_distinct_samples_are_jackknifes(given, found, parts):
    def jackknifed(part, measure, pairs=False):
        without = [measure(np.delete(part, place, axis=0)) for place in range(len(part))]
        error = np.sqrt((len(part) - 1) * np.var(without))
        # A mean over pairs is taken to first order, which is a little less.
        return around(measure(part), error * ((len(part) - 2) / (len(part) - 1) if pairs else 1), len(part) - 1)

    rows = [given["generated"][own].reshape(len(own), -1) for own in parts[1]]
    distances = [jackknifed(part, lambda some: pdist(some, "hamming").mean(), pairs=True) for part in rows]
    np.testing.assert_allclose(bounds_of(found, "overall_mean_diversity"), distances)
    distinct = [jackknifed(part, lambda some: len(np.unique(some, axis=0)) / len(some)) for part in rows]
    np.testing.assert_allclose(bounds_of(found, "overall_uniqueness_ratio"), np.clip(distinct, 0, 1))


def test_intervals_of_shares_are_wilsons(found):
    result = found["validity_rate"]
    z, n = norm.ppf(0.975), N_MADE
    centre = (result.value + z**2 / (2 * n)) / (1 + z**2 / n)
    margin = z / (1 + z**2 / n) * np.sqrt(result.value * (1 - result.value) / n + z**2 / (4 * n**2))
    assert [*result.interval] == pytest.approx([centre - margin, centre + margin])


def test_the_interval_of_a_rank_correlation_is_fishers(found):
    result = found["ordinal_spearman"]
    margin = norm.ppf(0.975) * np.sqrt(1.06 / (N_REAL - 3))
    assert [*result.interval] == pytest.approx(np.tanh(np.arctanh(result.value) + np.array([-margin, margin])))


def test_the_interval_of_a_corrected_accuracy_redraws_both_sides(given, found, parts):
    confusion, asked = np.zeros((4, 4), int), np.zeros((3, 4), int)
    np.add.at(confusion, (given["classifier_conditions"], given["classifier_predicted"]), 1)
    for code, own in enumerate(parts[1]):
        asked[code] = np.bincount(given["generated_predicted"][own], minlength=4)
    draws = bootstrapped_compositions(confusion, asked, draws=400, generator=np.random.default_rng([0, 8]))
    exact = draws[:, range(3), range(3)].mean(axis=1)
    assert [*found["corrected_exact_accuracy"].interval] == pytest.approx(np.quantile(exact, [0.025, 0.975]))


def test_baselines_of_reconstruction(given, found, parts):
    blank = np.mean(~given["real"].any((1, 2, 3)))
    rows = [given["real"][own].reshape(len(own), -1) for own in parts[0]]
    others = [1 - pdist(part, "jaccard").mean() for part in rows]
    expected = {
        "empty reconstruction": blank,
        "another real sample": np.average(others, weights=[len(part) for part in rows]),
    }
    assert levels_of(found, "mean_iou") == pytest.approx(expected)


def test_baselines_of_diversity_are_of_the_conditions_that_were_generated(given, offered, found, by_three, parts):
    # With those of the training set, which generated samples may be like as well.
    every = [offered["real"][offered["real_conditions"] == code] for code in PRESENT]
    rows = [own.reshape(len(own), -1) for own in every]
    expected = np.mean([pdist(part, "hamming").mean() for part in rows])
    assert levels_of(found, "overall_mean_diversity") == pytest.approx({"chance": 0, "perfect": expected})
    sizes = [len(own) for own in parts[1]]

    def distinct(part, drawn):
        counts = np.unique(part, axis=0, return_counts=True)[1].tolist()
        missed = [math.comb(len(part) - count, drawn) / math.comb(len(part), drawn) for count in counts]
        return (len(counts) - sum(missed)) / drawn

    halves = [min(size, len(part) // 2) for part, size in zip(rows, sizes, strict=True)]
    drawn_of = {"overall_uniqueness_ratio": (found, halves, sizes), "unique@3": (by_three, [3, 3, 3], [3, 3, 3])}
    for key, (evaluation, drawn, shown) in drawn_of.items():
        expected = {
            "chance": np.mean(np.divide(1, shown)),
            "perfect": np.mean([distinct(part, k) for part, k in zip(rows, drawn, strict=True)]),
        }
        assert levels_of(evaluation, key) == pytest.approx(expected), key
    known = {row.tobytes() for row in given["train"].reshape(30, -1)}
    held_out = np.mean([row.tobytes() not in known for row in offered["real"].reshape(N_REAL + 20, -1)])
    assert levels_of(found, "novelty")["perfect"] == pytest.approx(held_out)


def test_as_many_real_samples_are_drawn_as_there_are_generated_ones():
    """Of eight real samples, four of either kind, four drawn ones miss a kind in 1 of 70 draws each."""
    real = np.repeat(np.eye(2, 4, dtype=bool), 4, axis=0)
    made = np.eye(4, dtype=bool)
    evaluation = evaluated(real=real, generated=made, metrics="overall_uniqueness_ratio")
    assert levels_of(evaluation, "overall_uniqueness_ratio")["perfect"] == pytest.approx((2 - 2 / 70) / 4)


def test_conditions_that_all_agree_count_as_many_times_as_the_smallest_has_samples():
    codes = np.repeat([0, 1], [5, 50])
    evaluation = evaluated(
        generated=np.zeros((55, 1), bool),
        generated_conditions=codes,
        generated_predicted=codes,
        metrics="overall_exact_accuracy",
    )
    bounds = agreement_interval(np.ones(1), np.array([10]), (0.0, 1.0), 0.95)
    assert [*evaluation["overall_exact_accuracy"].interval] == pytest.approx([float(bound[0]) for bound in bounds])


@pytest.mark.parametrize(("key", "tolerance"), [("exact", 0), ("tolerance_1", 1)])
def test_baselines_of_conditioning(given, found, parts, key, tolerance):
    answered = np.concatenate([given["generated_predicted"][own] for own in parts[1]])
    dealt = np.mean([np.mean(np.abs(answered - code) <= tolerance) for code in PRESENT])
    levels = levels_of(found, f"overall_{key}_accuracy")
    assert levels["chance"] == pytest.approx(dealt)
    truth, answers = given["classifier_conditions"], given["classifier_predicted"]
    # Conditions count the same, as in the value, however many real samples each has.
    right = [np.mean(np.abs(answers[truth == code] - code) <= tolerance) for code in PRESENT]
    assert levels["perfect"] == pytest.approx(np.mean(right), abs=0.03)
    blind = max(np.mean(np.abs(truth - code) <= tolerance) for code in range(4))
    assert levels_of(found, f"classifier_{key}_accuracy") == pytest.approx({"chance": blind})


def test_baselines_of_distances_and_of_the_latent_space(given, found, parts):
    redrawn = []
    for code in PRESENT:
        real, made = given["real_latents"][parts[0][code]], given["generated_latents"][parts[1][code]]
        rng, width = np.random.default_rng(code), discrepancy(real, made)[1]
        every = np.concatenate([real, learned_latents()[learned()[1] == code]])
        pairs = [(rng.choice(real, len(real)), rng.choice(every, len(made))) for _ in range(200)]
        redrawn.append([discrepancy(*pair, width)[0] for pair in pairs])
    draws = np.mean(redrawn, axis=0)
    (perfect,) = [level for level in found["mmd"].references if level.name == "perfect"]
    assert perfect.value == pytest.approx(draws.mean(), abs=0.3 * draws.std())
    assert perfect.high - perfect.low == pytest.approx(np.diff(np.quantile(draws, [0.025, 0.975]))[0], rel=0.3)
    for key, least, most in (("silhouette_score", -0.1, 0.02), ("grade_separation", 0.2, 0.9)):
        level = levels_of(found, key)["conditions dealt at random"]
        assert least < level < most
        assert level < found[key].value
