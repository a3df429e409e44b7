"""The levels of reference generators: a perfect one is in its band, copies are recognised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest
from tests.generation.flat import evaluated

from graphgauge import generation, load
from graphgauge.core.result import Reference, Result
from graphgauge.generation.graphs import Graphs, rows_of
from graphgauge.generation.levels import band, near_copies, rewire, share_draws

Bits = NDArray[np.bool_]
QUICK: dict[str, Any] = {"draws": 199}


def level(result: Result, name: str) -> Reference:
    return {each.name: each for each in result.references}[name]


def structured(rng: np.random.Generator, count: int, width: int = 12) -> Bits:
    """Bits of two kinds: either end is mostly set."""
    rates = np.linspace(0.1, 0.6, width)
    return rng.random((count, width)) < np.where(rng.random((count, 1)) < 0.5, rates, rates[::-1])


# ---------------------------------------------------------------------------------- bands of reference generators

# Kind of samples, how many are real (and train) and how many generated, the share of valid ones, and the generator.
DESIGNS = [
    *(("gaussian", n, m, 1.0, "perfect") for n, m in ((60, 60), (300, 30), (40, 400))),
    *(("bits", n, m, rate, "perfect") for n, m in ((60, 60), (300, 30), (40, 400)) for rate in (0.6, 1.0)),
    *(("graph", n, m, 0.8, "perfect") for n, m in ((60, 60), (150, 30), (40, 160))),
    *(("conditions", n, m, 0.9, "perfect") for n, m in ((120, 90), (90, 240))),
    *(("gaussian", n, m, 1.0, "memoriser") for n, m in ((60, 60), (300, 30), (40, 400))),
    *(("bits", n, m, 1.0, "memoriser") for n, m in ((60, 60), (300, 30), (40, 400))),
    *(("graph", n, m, 1.0, "memoriser") for n, m in ((60, 60), (150, 30))),
]


def sampled(kind: str, rng: np.random.Generator, count: int, rate: float) -> dict[str, Any]:
    """The columns of so many samples of one distribution."""
    columns: dict[str, Any] = {}
    if kind == "gaussian":
        mixing = np.array([[1, 0.5, 0], [0, 1, 0], [0.3, 0, 1]])
        points = rng.standard_normal((count, 3)) @ mixing
        columns = {"latents": points, "statistics": {"a": points[:, 0], "b": points[:, 1]}}
        items: Any = rng.random((count, 64)) < 0.5
    elif kind == "graph":
        items = Graphs.from_objects(
            [nx.gnp_random_graph(int(rng.integers(5, 9)), 0.35, seed=int(rng.integers(1 << 30))) for _ in range(count)]
        )
    elif kind == "conditions":
        codes = np.arange(count) % 3
        items = rng.random((count, 12)) < 0.2 + 0.1 * codes[:, np.newaxis]
        columns = {"conditions": codes}
    else:
        items = structured(rng, count)
    return {"items": items, **columns} | ({"valid": rng.random(count) < rate} if rate < 1 else {})


METRICS = {
    "gaussian": ["statistical"],
    "bits": ["diversity", "statistical"],
    "conditions": ["diversity", "statistical"],
    "graph": ["degree_mmd", "clustering_mmd", "orbit_mmd", "spectral_mmd", "overall_uniqueness_ratio"],
}


def covered(
    kind: str, n: int, m: int, rate: float, system: str, runs: int, seed: int = 0
) -> dict[str, tuple[int, int]]:
    """For every metric, in how many runs a system is in its own band, and of how many.

    The system is `perfect`, which generates real samples, or a `memoriser` of training samples, with replacement.
    """
    rng = np.random.default_rng([seed, n, m])
    counted: dict[str, list[bool]] = {}
    for run in range(runs):
        real, train, made = (sampled(kind, rng, count, rate) for count in (n, n, m))
        if system == "memoriser":
            rows = rng.integers(0, n, m)
            made = {
                name: {key: values[rows] for key, values in column.items()}
                if name == "statistics"
                else rows_of(column, rows)
                for name, column in train.items()
            }
        sides = [generation.Samples(**columns) for columns in (real, made, train)]
        evaluation = generation.evaluate(*sides[:2], train=sides[2], metrics=METRICS[kind], draws=199, seed=run)
        for key, result in evaluation.items():
            inside = [each.contains(result.value) for each in result.references if each.name == system]
            if inside and inside[0] is not None and result.defined:
                counted.setdefault(key, []).append(bool(inside[0]))
    return {key: (sum(inside), len(inside)) for key, inside in counted.items()}


@pytest.mark.parametrize("design", [DESIGNS[0], ("bits", 60, 60, 0.8, "perfect"), ("bits", 60, 60, 1.0, "memoriser")])
def test_a_reference_generator_is_in_its_band(design: tuple[str, int, int, float, str]) -> None:
    counts = covered(*design, runs=20)
    assert len(counts) >= 4
    for key, (inside, runs) in counts.items():
        assert binomtest(inside, runs, 0.95, alternative="less").pvalue > 0.05 / 30, (key, inside, runs)


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_reference_generators_in_all_designs(design: tuple[str, int, int, float, str]) -> None:
    """Not less than 95 %, up to chance over all metrics and designs; discrete metrics may have more."""
    for key, (inside, runs) in covered(*design, runs=500).items():
        assert binomtest(inside, runs, 0.95, alternative="less").pvalue > 0.05 / 300, (key, inside, runs)


# ------------------------------------------------------------------------------------------------------- copies


def copied(rng: np.random.Generator, how: str) -> dict[str, Any]:
    real, train = structured(rng, 150, 40), structured(rng, 150, 40)
    made = {"fresh": structured(rng, 120, 40), "memoriser": train[:120], "near_copy": near_copies(train, rng)[:120]}
    return {"real": real, "train": train, "generated": made[how], "draws": 199}


def test_a_memoriser_is_recognised() -> None:
    found = evaluated(**copied(np.random.default_rng(0), "memoriser"), metrics="all")
    assert found["novelty"].compatible == ("memoriser",)
    assert "copied-training-set" in [finding.check for finding in found.findings]
    assert found["valid_unique_novel"] == 0


def test_near_copies_are_recognised_though_they_are_new() -> None:
    found = evaluated(**copied(np.random.default_rng(0), "near_copy"))
    assert found["novelty"].value > 0.95
    nearer = found["nearer_to_training"]
    assert nearer.value > 0.95
    assert nearer.compatible == ("near_copy",)
    (finding,) = [one for one in found.findings if one.check == "near-copies"]
    assert finding.evidence["share"] == nearer.value
    assert "near-copies" not in [one.check for one in evaluated(**copied(np.random.default_rng(1), "fresh")).findings]


def test_fresh_samples_are_as_near_to_both() -> None:
    """By brute force: the share of samples whose nearest of all is a training sample, ties shared."""
    given = copied(np.random.default_rng(3), "fresh")
    result = evaluated(**given, metrics=["nearer_to_training"])["nearer_to_training"]
    pool = np.concatenate([given["train"], given["real"]])
    shares = []
    for sample in given["generated"]:
        distances = 1 - (pool & sample).sum(1) / (pool | sample).sum(1)
        nearest = np.flatnonzero(distances == distances.min())
        shares.append(np.mean(nearest < 150))
    assert result.value == pytest.approx(np.mean(shares))
    assert level(result, "perfect").value == pytest.approx(0.5, abs=0.02)
    assert "perfect" in result.compatible


def test_near_copies_of_graphs_are_recognised() -> None:
    graphs = [nx.gnp_random_graph(16, 0.25, seed=seed) for seed in range(120)]
    train = Graphs.from_objects(graphs[:60])
    moved = near_copies(train, np.random.default_rng(0))
    found = evaluated(
        real=graphs[60:], train=graphs[:60], generated=moved, metrics=["novelty", "nearer_to_training"], draws=199
    )
    assert found["novelty"] == 1
    assert found["nearer_to_training"].value > 0.8
    assert "near-copies" in [finding.check for finding in found.findings]


# ---------------------------------------------------------------------------------------------- levels and their use


def test_the_band_of_39_draws_is_their_range() -> None:
    draws = np.random.default_rng(0).permutation(np.arange(39.0))
    assert band(draws) == (0.0, 38.0)
    assert band(np.arange(999.0)) == (24.0, 974.0)


def test_predicted_shares_contain_a_further_share_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    for rate in (0.02, 0.3, 0.99):
        inside = 0
        for _ in range(400):
            low, high = band(share_draws(rng.binomial(80, rate), 80, 50, draws=199, generator=rng))
            inside += low <= rng.binomial(50, rate) / 50 <= high
        assert binomtest(int(inside), 400, 0.95, alternative="less").pvalue > 0.001


def test_the_ceiling_of_conditioning_has_the_runs_mix() -> None:
    """The classifier knows the frequent condition and never the rare one; the run asks for both alike."""
    labels = np.repeat([0, 1], [190, 10])
    answers = np.zeros(200, int)
    codes = np.repeat([0, 1], 100)
    found = evaluated(
        generated=np.zeros((200, 1)),
        generated_conditions=codes,
        generated_predicted=np.zeros(200, int),
        classifier_conditions=labels,
        classifier_predicted=answers,
        labels=["a", "b"],
        draws=999,
    )
    assert found["classifier_exact_accuracy"].value == 0.95
    result = found["overall_exact_accuracy"]
    assert result.value == 0.5
    assert level(result, "perfect").value == pytest.approx(0.5, abs=0.04)
    assert "perfect" in result.compatible


@pytest.mark.parametrize("groups", [2, 5, 19])
def test_confusions_that_were_not_seen_do_not_add_up_over_conditions(groups: int) -> None:
    """Five real samples per condition, one of which is taken for a neighbour: so are those of a perfect generator."""
    labels, codes = np.repeat(np.arange(groups), 5), np.repeat(np.arange(groups), 50)

    def answered(codes: NDArray[np.int_]) -> NDArray[np.int_]:
        beside = np.where(codes < groups - 1, codes + 1, codes - 1)
        return np.where(np.arange(len(codes)) % 5, codes, beside)

    found = evaluated(
        generated=np.zeros((len(codes), 1)),
        generated_conditions=codes,
        generated_predicted=answered(codes),
        ordered=True,
        labels=[f"grade {code}" for code in range(groups)],
        classifier_conditions=labels,
        classifier_predicted=answered(labels),
        metrics=["overall_exact_accuracy", "overall_tolerance_1_accuracy"],
        draws=399,
    )
    for key, value in (("overall_exact_accuracy", 0.8), ("overall_tolerance_1_accuracy", 1.0)):
        result = found[key]
        assert result.value == pytest.approx(value)
        assert level(result, "perfect").value == pytest.approx(value, abs=0.04)
        assert "perfect" in result.compatible


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(60, 60), (300, 30), (40, 400)])
def test_a_perfect_generator_of_conditions_is_in_its_bands(n: int, m: int) -> None:
    """Neighbours are confused, each condition in its own way."""
    rng = np.random.default_rng([n, m])
    rates = np.array([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.0, 0.15, 0.85]]).cumsum(1)

    def answered(codes: NDArray[np.int_]) -> NDArray[np.int_]:
        return np.asarray((rng.random((len(codes), 1)) > rates[codes]).sum(1))

    keys = [f"overall_{name}_accuracy" for name in ("exact", "tolerance_1")]
    inside: dict[str, list[bool]] = {key: [] for key in keys}
    for run in range(300):
        known, asked = np.arange(n) % 3, np.arange(m) % 3
        found = evaluated(
            generated=np.zeros((m, 1), bool),
            generated_conditions=asked,
            generated_predicted=answered(asked),
            labels=list("abc"),
            ordered=True,
            classifier_conditions=known,
            classifier_predicted=answered(known),
            metrics=keys,
            seed=run,
            **QUICK,
        )
        for key in keys:
            if found[key].defined:
                inside[key].append("perfect" in found[key].compatible)
    for key, fits in inside.items():
        assert len(fits) > 250
        assert binomtest(sum(fits), len(fits), 0.95, alternative="less").pvalue > 0.05 / 12, (key, sum(fits), len(fits))


def test_a_weak_classifier_is_reported_in_words_and_figures() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(100) % 4
    answers = np.where(rng.random(100) < 0.36, labels, (labels + 1) % 4)
    right = np.mean(labels == answers)
    found = evaluated(
        generated=np.zeros((40, 1)),
        generated_conditions=np.arange(40) % 4,
        generated_predicted=np.arange(40) % 4,
        labels=list("abcd"),
        classifier_conditions=labels,
        classifier_predicted=answers,
    )
    (warning,) = found["overall_exact_accuracy"].warnings
    assert f"{right:.0%} of 100 real held-out samples" in warning


def test_real_samples_pass_the_same_rules_as_generated_ones() -> None:
    """Invalid samples have larger statistics: without the filter, real ones would have them and generated ones not."""
    rng = np.random.default_rng(0)

    def drawn(count: int) -> tuple[Any, Any]:
        valid = rng.random(count) < 0.8
        return {"size": rng.standard_normal(count) + 4 * ~valid}, valid

    (real, real_valid), (made, valid) = drawn(150), drawn(120)
    blank = {"real": np.zeros((150, 1)), "generated": np.zeros((120, 1))}
    options: dict[str, Any] = {"real_statistics": real, "generated_statistics": made, "draws": 199}
    unequal = evaluated(**blank, **options, generated_valid=valid)
    assert unequal["energy_p_value"].value == 1 / 200
    found = evaluated(**blank, **options, generated_valid=valid, real_valid=real_valid, metrics="all")
    assert found["energy_p_value"].value > 0.01
    assert found["num_real"].value == real_valid.sum()
    rate = found["validity_rate"]
    assert level(rate, "perfect").value == pytest.approx(real_valid.mean())
    assert "perfect" in rate.compatible
    assert any("real samples are not valid" in finding.message for finding in found.findings)


def test_compared_samples_are_counted() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2100, 1)), rng.standard_normal((2050, 1))
    found = evaluated(
        real=np.zeros((2100, 1)),
        generated=np.zeros((2050, 1)),
        real_latents=a,
        generated_latents=b,
        metrics=["mmd"],
        draws=20,
    )["mmd"]
    assert found.n == 2000
    assert "2000 of 2050 generated samples and 2000 of 2100 real ones" in found.warnings[0]


def test_levels_survive_a_file(tmp_path: Path) -> None:
    found = evaluated(**copied(np.random.default_rng(0), "near_copy"))
    again = load(found.save(tmp_path / "levels.json"))
    for key, result in found.items():
        assert again[key].references == result.references, key
        assert again[key].compatible == result.compatible, key


def test_real_samples_of_the_training_set_count_for_validity() -> None:
    """Invalid real samples are often in the training set; without them all real ones would be valid."""
    rng = np.random.default_rng(0)
    real, made, train = (rng.random((count, 5)) < 0.3 for count in (120, 200, 60))
    found = evaluated(
        real=real,
        generated=made,
        train=train,
        generated_valid=made.any(1),
        real_valid=real.any(1),
        metrics=["validity_rate"],
    )["validity_rate"]
    assert level(found, "perfect").value == pytest.approx(real.any(1).mean())
    assert "perfect" in found.compatible


def test_without_enough_new_samples_there_is_no_p_value() -> None:
    """Real samples of the training set are left out, so generated ones have to be as well."""
    every = (np.arange(16)[:, np.newaxis] >> np.arange(4)) % 2
    train = every[:8]
    real = np.concatenate([every] * 8)
    made = np.concatenate([every[:9], every[:9]])  # two of them are not in the training set
    found = evaluated(real=real, generated=made, train=train, metrics=["mmd", "mmd_p_value"], **QUICK)
    assert found["mmd"].defined
    assert not found["mmd_p_value"].defined
    assert "without those of the training set" in found["mmd_p_value"].reason


def test_near_copies_keep_labels() -> None:
    graphs = [nx.gnp_random_graph(9, 0.4, seed=seed) for seed in range(40)]
    for graph in graphs:
        nx.set_node_attributes(graph, {node: "CNO"[node % 3] for node in graph}, "atom")
        nx.set_edge_attributes(graph, {edge: sum(edge) % 2 for edge in graph.edges}, "bond")
    train, real = (
        Graphs.from_objects(part, node_labels=["atom"], edge_labels=["bond"]) for part in (graphs[:20], graphs[20:])
    )
    moved = near_copies(train, np.random.default_rng(0))
    found = evaluated(real=real, train=train, generated=moved, draws=99, metrics=["diversity"])
    assert found["nearer_to_training"].value > 0.9
    assert "near-copies" in [finding.check for finding in found.findings]
    np.testing.assert_array_equal(np.sort(moved.edge_labels), np.sort(train.edge_labels))


def test_rewired_graphs_are_no_near_copies() -> None:
    """They have the degrees of training graphs, and other edges."""
    graphs = [nx.gnp_random_graph(20, 0.2, seed=seed) for seed in range(120)]
    made = [nx.Graph(graph) for graph in graphs[:60]]
    for graph in made:
        nx.double_edge_swap(graph, 20 * graph.number_of_edges(), 100_000, seed=1)
    found = evaluated(
        real=graphs[60:], train=graphs[:60], generated=made, metrics=["novelty", "nearer_to_training"], draws=199
    )
    assert found["nearer_to_training"].value > 0.8
    assert "near-copies" not in [finding.check for finding in found.findings]


def test_rewiring_keeps_degrees_and_labels() -> None:
    graphs = [nx.gnp_random_graph(12, 0.3, seed=seed) for seed in range(9)]
    given = Graphs.from_objects([*graphs, nx.empty_graph(3), nx.complete_graph(4)])
    made = rewire(given, np.random.default_rng(0))
    assert made.offsets.tolist() == given.offsets.tolist()
    for ends in (given.through, made.through):
        assert (ends[:, 0] < ends[:, 1]).all()
        assert len(np.unique(ends, axis=0)) == len(ends)
    np.testing.assert_array_equal(*(np.bincount(each.through.ravel(), minlength=115) for each in (given, made)))
    assert np.mean(given.edges == made.edges) < 0.7


@pytest.mark.parametrize("nodes", [10, 12])
@pytest.mark.parametrize("change", ["moved", "removed"])
def test_near_copies_of_small_graphs_are_recognised(nodes: int, change: str) -> None:
    graphs = [nx.gnp_random_graph(nodes, 4 / (nodes - 1), seed=seed) for seed in range(100)]
    train = graphs[:50]
    copies: Any = near_copies(Graphs.from_objects(train), np.random.default_rng(0))
    if change == "removed":
        copies = [nx.Graph(graph) for graph in train]
        for graph in copies:
            graph.remove_edge(*next(iter(graph.edges)))
    for made, expected in (
        (copies, True),
        ([nx.gnp_random_graph(nodes, 4 / (nodes - 1), seed=500 + s) for s in range(50)], False),
    ):
        found = evaluated(
            real=graphs[50:], train=train, generated=made, metrics=["novelty", "nearer_to_training"], draws=199
        )
        assert ("near-copies" in [finding.check for finding in found.findings]) == expected


def test_a_perfect_generator_of_frequent_samples_is_in_its_band() -> None:
    """Most real samples are in the training set, so what remains is not the whole distribution."""
    rng, inside = np.random.default_rng(0), 0
    for seed in range(25):
        real, made, train = (rng.random((count, 8)) < 0.25 for count in (200, 100, 40))
        found = evaluated(
            real=real,
            generated=made,
            train=train,
            real_statistics={"size": real.sum(1)},
            seed=seed,
            generated_statistics={"size": made.sum(1)},
            metrics=["overall_mean_distance"],
            draws=99,
        )["overall_mean_distance"]
        inside += "perfect" in found.compatible
    assert inside >= 20  # 29 % of runs without the statistics of those left out
