"""The design follows the ids and the declarations, and decides the test."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from graphgauge.cli.compare import command
from graphgauge.core.errors import GraphgaugeError, InputError, OptionError
from graphgauge.old.core.truths import Reference, Truth
from graphgauge.old.stats import compare, paired_test, units_needed, unpaired_test
from graphgauge.old.stats.design import split_of
from graphgauge.old.stats.paired import Plan
from graphgauge.old.stats.runs import Run

RNG = np.random.default_rng(4)


def rows(seeds: dict[str, list[Any]], datasets: int = 1, gap: float = 0.1, noise: float = 0.02) -> list[dict[str, Any]]:
    return [
        {"method": method, "dataset": f"data {d}", "seed": seed, "f1": 0.5 + gap * k + float(RNG.normal(0, noise))}
        for k, (method, own) in enumerate(seeds.items())
        for d in range(datasets)
        for seed in own
    ]


def shuffled(runs: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    return [runs[index] for index in np.random.default_rng(seed).permutation(len(runs))]


@pytest.mark.parametrize(
    ("seeds", "datasets", "options", "said"),
    [
        ({"a": range(6), "b": range(6)}, 1, {}, "paired by seed, 6 seeds"),
        ({"a": range(5), "b": range(5, 10)}, 1, {}, "unpaired (no seed is shared), 5 runs per method"),
        ({"a": range(5), "b": range(10, 17)}, 1, {}, "unpaired (no seed is shared), unequal, 5 to 7 runs per method"),
        ({"a": range(6), "b": range(6)}, 1, {"design": "unpaired"}, "unpaired (as declared), 6 runs per method"),
        ({"a": range(4), "b": range(4)}, 3, {}, "averaged within each of 3 datasets drawn from others like them"),
        ({"a": range(4), "b": range(4)}, 3, {"datasets": "these"}, "stratified over these 3 datasets"),
        ({"a": range(3), "b": range(5, 9)}, 3, {"datasets": "these"}, "unequal, 3 to 4 runs per method and dataset"),
    ],
)
def test_the_design_is_named_from_the_ids(seeds: Any, datasets: int, options: Any, said: str) -> None:
    given = {method: list(own) for method, own in seeds.items()}
    runs = rows(given, datasets)
    found = compare(runs, metric="f1", direction="higher", resamples=20, **options)
    assert said in found.design.sentence
    assert found.summary.splitlines()[1] == found.design.sentence
    assert found.to_dict()["design"]["sentence"] == found.design.sentence
    assert (
        compare(shuffled(runs, 1), metric="f1", direction="higher", resamples=20, **options).to_json()
        == found.to_json()
    )
    # other scores, the same design
    others = [{**row, "f1": float(index % 7)} for index, row in enumerate(runs)]
    again = compare(others, metric="f1", direction="higher", resamples=20, **options).design
    assert (again.runs, again.datasets, again.seeds) == (found.design.runs, found.design.datasets, found.design.seeds)


def test_each_design_has_its_test() -> None:
    runs = rows({"a": list(range(7)), "b": list(range(7))}, gap=0.01)
    a, b = ([row["f1"] for row in runs if row["method"] == method] for method in "ab")
    for options, expected in (
        ({}, paired_test(a, b, test="mean")),
        ({"test": "ranks"}, paired_test(a, b)),
        ({"design": "unpaired"}, unpaired_test(a, b)),
        ({"design": "unpaired", "test": "ranks"}, unpaired_test(a, b, test="ranks")),
    ):
        found = compare(runs, metric="f1", direction="higher", resamples=20, **options).tests[0]
        assert found.p_value == pytest.approx(expected.p_value)
        assert found.test == expected.test
        assert sorted(map(abs, found.ci)) == pytest.approx(sorted(map(abs, expected.ci)))


def test_partly_shared_seeds_are_missing_runs_unless_declared() -> None:
    runs = rows({"a": [0, 1, 2, 3, 4], "b": [0, 1, 2, 8, 9]})
    with pytest.raises(InputError, match="are missing"):
        compare(runs, metric="f1", direction="higher")
    assert compare(runs, metric="f1", direction="higher", design="unpaired").tests[0].runs == (5, 5)
    mixed = [*rows({"a": [0, 1], "b": [0, 1]}), *[{**row, "dataset": "x"} for row in rows({"a": [0, 1], "b": [5, 6]})]]
    with pytest.raises(InputError, match="but not on x"):
        compare(mixed, metric="f1", direction="higher")


def test_a_failed_run_is_not_left_out_silently_in_unpaired_designs() -> None:
    runs = rows({"a": [0, 1, 2, 3], "b": [5, 6, 7, 8]})
    runs[1]["f1"] = math.nan
    with pytest.raises(InputError, match="1 run of f1 is missing: a on data 0 seed 1"):
        compare(runs, metric="f1", direction="higher")
    omitted = compare(runs, metric="f1", direction="higher", missing="omit")
    assert sorted(omitted.tests[0].runs) == [3, 4]
    assert "1 run without a value left out" in omitted.summary


def test_these_datasets_and_datasets_like_them_are_two_questions() -> None:
    """Opposite, certain differences on two datasets: no claim about others, and none about their mean."""
    runs = rows({"a": list(range(8)), "b": list(range(8))}, datasets=3, gap=0.1)
    drawn = compare(runs, metric="f1", direction="higher", resamples=20)
    assert not drawn.tests[0].can_reject
    assert 'datasets="these"' in drawn.summary
    these = compare(runs, metric="f1", direction="higher", datasets="these", resamples=20)
    assert these.tests[0].significant
    assert these.tests[0].pairs == 24
    assert these.unit == "seed"


def test_the_seed_correlation_is_measured_within_datasets() -> None:
    luck = RNG.normal(size=(4, 10))
    runs = [
        {"method": m, "dataset": d, "seed": s, "f1": 100 * d + luck[d, s] + 0.1 * float(RNG.normal())}
        for m in "ab"
        for d in range(4)
        for s in range(10)
    ]
    found = compare(runs, metric="f1", direction="higher", resamples=20).design
    blocks = [
        np.array([[r["f1"] for r in runs if (r["method"], r["dataset"]) == (m, d)] for m in "ab"]) for d in range(4)
    ]
    centred = np.concatenate([block - block.mean(axis=1, keepdims=True) for block in blocks], axis=1)
    assert found.correlation == pytest.approx(np.corrcoef(centred)[0, 1])
    assert f"measured seed correlation {found.correlation:.2f}" in found.sentence


def test_one_run_each_points_to_the_items() -> None:
    said = compare(rows({"a": [0], "b": [0]}), metric="f1", direction="higher", resamples=5).summary
    assert "One run of each method on one dataset cannot be tested over seeds" in said
    assert 'over="items"' in said


def test_the_metrics_that_were_looked_at_count() -> None:
    runs = rows({"a": list(range(7)), "b": list(range(7)), "c": list(range(7))})
    one = compare(runs, metric="f1", direction="higher", resamples=5)
    five = compare(runs, metric="f1", direction="higher", resamples=5, metrics_compared=5)
    assert "over 3 pairs, of this metric only" in one.summary
    assert "over 3 pairs and 5 metrics" in five.summary
    for first, second in zip(one.tests, five.tests, strict=True):
        assert second.p_adjusted == pytest.approx(min(1.0, 5 * first.p_adjusted))


def outcomes(
    sizes: list[tuple[int, int]], *, paired: bool, effect: float = 0.0, spread: float = 1.0, repeats: int = 150
) -> list[tuple[float, bool]]:
    """p and whether the interval holds the effect, in repeated experiments with normal scores."""
    plan = Plan(tuple(sizes), paired, "mean", 0.05)
    rng = np.random.default_rng(1)
    found = []
    for _ in range(repeats):
        data = [(effect + spread * rng.normal(size=n), spread * rng.normal(size=m)) for n, m in sizes]
        test = plan.tested(data, names=("a", "b"), better=None, metric=None, unit="run")
        found.append((test.p_value, test.ci is not None and effect in test.ci))
    return found


@pytest.mark.parametrize(
    ("std", "paired", "datasets"), [(1.0, True, 1), (2.0, True, 1), (1.0, False, 1), (1.0, True, 4)]
)
def test_the_needed_units_have_the_power(std: float, paired: bool, datasets: int) -> None:
    """Simulated with the test itself."""
    effect = 1.0
    n = units_needed(effect, std, paired=paired, datasets=datasets)
    own = std / math.sqrt(2) if paired else std  # paired differences have the spread std
    found = [p for p, _ in outcomes([(n, n)] * datasets, paired=paired, effect=effect, spread=own)]
    assert np.mean(np.array(found) <= 0.05) == pytest.approx(0.8, abs=0.1)


def test_power_is_asked_at_a_named_effect() -> None:
    runs = rows({"a": list(range(5)), "b": list(range(5))})
    found = compare(runs, metric="f1", direction="higher", effect=0.01, resamples=5)
    (need,) = found.needed
    gaps = [a["f1"] - b["f1"] for a, b in zip(runs[:5], runs[5:], strict=True)]
    assert need.total == units_needed(0.01, float(np.std(gaps, ddof=1)))
    assert f"({need.more} more)" in found.summary
    assert need.cautious > need.total
    # the observed difference does not matter
    moved = [{**row, "f1": row["f1"] + (0.3 if row["method"] == "a" else 0)} for row in runs]
    assert compare(moved, metric="f1", direction="higher", effect=0.01, resamples=5).needed[0].total == need.total
    with pytest.raises(OptionError, match="effect must be a number other than 0"):
        compare(runs, metric="f1", direction="higher", effect=0.0)


def test_the_command_takes_the_design(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    runs = rows({"a": list(range(4)), "b": list(range(4))}, 2)
    lines = [f"{row['method']},{row['dataset']},{row['seed']},{row['f1']}" for row in runs]
    table.write_text("method,dataset,seed,f1\n" + "\n".join(lines) + "\n")
    common = [str(table), "--metric", "f1", "--higher"]

    def run(*options: str) -> Any:
        return CliRunner().invoke(command, [*common, *options], catch_exceptions=False)

    content = json.loads(
        run(
            "--design",
            "unpaired",
            "--datasets",
            "these",
            "--margin",
            "0.05",
            "--effect",
            "0.02",
            "--metrics-compared",
            "2",
            "--format",
            "json",
        ).stdout
    )
    assert content["design"]["runs"] == "unpaired"
    assert content["design"]["datasets"] == "these"
    assert content["tests"][0]["margin"]["size"] == 0.05
    assert content["needed"][0]["unit"] == "run"
    for form in ("markdown", "latex"):
        assert "unpaired (as declared)" in run("--design", "unpaired", "--format", form).stdout
    with pytest.raises(GraphgaugeError, match="ranks are not compared within several datasets"):
        run("--datasets", "these", "--test", "ranks")
    with pytest.raises(GraphgaugeError, match="exclude each other"):
        run("--over", "items", "--design", "unpaired")


@pytest.mark.parametrize(
    ("sizes", "paired"),
    [
        ([(6, 6)], True),
        ([(10, 10)], True),
        ([(5, 5)], False),
        ([(5, 15)], False),
        ([(3, 3)] * 3, True),
        ([(3, 5)] * 5, False),
    ],
)
def test_tests_err_rarely_and_intervals_cover(sizes: list[tuple[int, int]], paired: bool) -> None:
    p, held = np.array(outcomes(sizes, paired=paired)).T
    assert np.mean(p <= 0.05) <= 0.06 + 2.5 * math.sqrt(0.05 * 0.95 / len(p))
    assert np.mean(held) >= 0.93 - 2.5 * math.sqrt(0.07 * 0.93 / len(p))


def without(runs: list[dict[str, Any]], method: str, dataset: str) -> list[dict[str, Any]]:
    return [run for run in runs if (run["method"], run["dataset"]) != (method, dataset)]


@pytest.mark.parametrize("seeds", ["others", "none", "the same, declared unpaired"])
@pytest.mark.parametrize("datasets", ["these", "drawn"])
def test_a_dataset_without_runs_of_a_method_is_never_dropped_silently(seeds: str, datasets: str) -> None:
    runs = without(rows({"a": list(range(4)), "b": list(range(4))}, 3), "b", "data 1")
    options: dict[str, Any] = {"metric": "f1", "direction": "higher", "datasets": datasets, "resamples": 20}
    if seeds == "others":
        runs = [{**run, "seed": run["seed"] + 10 * (run["method"] == "b")} for run in runs]
    elif seeds == "none":
        runs = [{name: value for name, value in run.items() if name != "seed"} for run in runs]
    else:
        options["design"] = "unpaired"
    with pytest.raises(InputError, match=r"1 run of f1 is missing: b on data 1 \(no run\)"):
        compare(runs, **options)
    found = compare(runs, missing="omit", **options)
    assert found.design.count == 2
    assert "data 1 is left out: b without a score there." in found.notes


def test_the_worst_bound_is_for_runs_that_failed_not_for_unequal_numbers() -> None:
    scores = {"a": [0.9, 0.8, 0.85, 0.95, 0.9], "b": [0.7, math.nan, 0.75]}
    runs = [
        {"method": method, "dataset": "x", "seed": seed + 10 * (method == "b"), "mrr": score}
        for method, own in scores.items()
        for seed, score in enumerate(own)
    ]
    found = compare(runs, metric="mrr", missing="worst", resamples=20)
    assert {row.method: round(row.mean, 4) for row in found.standings} == {"a": 0.88, "b": round(1.45 / 3, 4)}
    whole = [*runs, *({**run, "dataset": "y"} for run in runs if run["method"] == "a")]
    absent = compare(whole, metric="mrr", missing="worst", datasets="these", resamples=20)
    assert absent.tests[0].mean_difference == pytest.approx(((0.88 - 1.45 / 3) + 0.88) / 2)


def test_partly_shared_seeds_list_every_missing_run() -> None:
    runs = rows({"a": list(range(6)), "b": list(range(3, 10))})
    lacking = [("b", 0), ("b", 1), ("b", 2), ("a", 6), ("a", 7), ("a", 8), ("a", 9)]
    with pytest.raises(InputError, match=r"^7 runs of f1 are missing") as caught:
        compare(runs, metric="f1", direction="higher")
    assert all(f"{method} on data 0 seed {seed} (" in str(caught.value) for method, seed in lacking)
    assert 'design="unpaired"' in str(caught.value)
    assert 'missing="omit"' in str(caught.value)
    messages = set()
    for seed in range(5):
        with pytest.raises(InputError) as again:
            compare(shuffled(runs, seed), metric="f1", direction="higher")
        messages.add(str(again.value))
    assert messages == {str(caught.value)}


@pytest.mark.parametrize("effect", [1e-4, 1e-300])
def test_an_effect_out_of_reach_does_not_end_the_comparison(effect: float) -> None:
    found = compare(
        rows({"a": list(range(6)), "b": list(range(6))}, noise=1.0),
        metric="f1",
        direction="higher",
        effect=effect,
        resamples=20,
    )
    assert "takes more than 1,000,000 seeds" in found.summary
    assert found.needed[0].total is None
    assert found.needed[0].std > 0
    with pytest.raises(OptionError, match="needs more than 1,000,000 units"):
        units_needed(effect, 1.0)


@pytest.mark.parametrize("option", ["margin", "effect"])
def test_true_is_no_size(option: str) -> None:
    with pytest.raises(OptionError, match=f"{option} must be a .*, not True"):
        compare(rows({"a": [0, 1], "b": [0, 1]}), metric="f1", direction="higher", **{option: True})  # type: ignore[arg-type]


def test_scores_whose_squares_are_infinite_are_refused() -> None:
    runs = [{**run, "f1": 1e300 * run["f1"]} for run in rows({"a": [0, 1], "b": [0, 1]})]
    with pytest.raises(InputError, match=r"f1 is infinite: a on data 0 seed 0 \(.*e\+299 squared\)"):
        compare(runs, metric="f1", direction="higher")


def errors(plan: Plan, draw: Any, repeats: int = 500) -> float:
    names = ("a", "b")
    tests = (plan.tested([draw()], names=names, better=None, metric=None, unit="run") for _ in range(repeats))
    return float(np.mean([test.p_value <= 0.05 for test in tests]))


def test_the_page_is_honest_about_designs_with_larger_errors() -> None:
    rng = np.random.default_rng(9)
    skewed = errors(
        Plan(((8, 8),), True, "mean", 0.05),
        lambda: (3 * (rng.exponential(size=8) - 1), rng.exponential(size=8) - 1),
    )
    assert skewed == pytest.approx(0.08, abs=0.04)
    lone = errors(Plan(((2, 50),), False, "mean", 0.05), lambda: (5 * rng.normal(size=2), rng.normal(size=50)))
    assert lone == pytest.approx(0.08, abs=0.04)
    spread = errors(Plan(((6, 14),), False, "ranks", 0.05), lambda: (5 * rng.normal(size=6), rng.normal(size=14)))
    assert spread == pytest.approx(0.13, abs=0.05)


@pytest.mark.parametrize("missing", ["raise", "omit", "worst"])
@pytest.mark.parametrize("design", ["auto", "paired", "unpaired"])
def test_gaps_do_not_depend_on_the_order_of_rows(missing: Any, design: Any) -> None:
    rng = np.random.default_rng(12)
    runs = [
        {"method": method, "dataset": data, "seed": seed, "mrr": float(rng.random()) if rng.random() < 0.8 else None}
        for method in "abc"
        for data in "xyz"
        for seed in range(6)
        if rng.random() < 0.9
    ]
    found = set()
    for seed in range(6):
        try:
            found.add(
                compare(shuffled(runs, seed), metric="mrr", missing=missing, design=design, resamples=20).to_json()
            )
        except GraphgaugeError as error:
            found.add(str(error))
    assert len(found) == 1


def test_equal_levels_do_not_show_a_shared_split() -> None:
    """A random scorer scores the same on every split with as many candidates."""
    level, file = Reference(("0.13",), ("0.13",)), Truth(("true.npy",), ("abc",))

    def runs(*truths: Truth) -> list[Run]:
        return [Run("a", "toy", seed, {}, truths={"true": truth}) for seed, truth in enumerate(truths)]

    assert split_of(runs(level, level), ["toy"]) is None
    assert split_of(runs(file, file), ["toy"]) == "shared"
    assert split_of(runs(level, Reference(("0.2",), ("0.2",))), ["toy"]) == "per seed"
