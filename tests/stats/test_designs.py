"""What runs have to agree on, which are missing, how they are paired, and what is said of them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from graphgauge import stats
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.evaluation import Evaluation
from graphgauge.stats import effects, runs, text, truth
from graphgauge.stats.panel import panel_of
from graphgauge.stats.runs import Run, Score
from graphgauge.stats.truth import Truth


def rows(values, **columns):
    """A row per method and seed."""
    return [
        {"method": method, "seed": seed, "acc": x, **columns}
        for method, own in values.items()
        for seed, x in own.items()
    ]


def scored(method="a", seed=0, dataset="", value=0.5, family="", **parts):
    return Run(method, dataset, seed, {"acc": Score(value, "higher", **parts)}, family)


# ---- gaps


def test_missing_seeds_are_those_that_another_method_has():
    partly = rows({"a": {0: 0.5, 1: 0.6, 2: 0.7}, "b": {0: 0.5}, "c": {0: 0.1, 1: 0.2, 2: 0.4}})
    with pytest.raises(InputError) as error:
        stats.compare(partly, metric="acc")
    assert "2 runs of acc missing: b seed 1 (no run), b seed 2 (no run)" in str(error.value)
    assert 'missing="worst"); or declare independent runs (design="unpaired").' in str(error.value)
    assert stats.compare(partly, metric="acc", missing="omit").design.units == (1, 1)


@pytest.mark.parametrize(
    ("metric", "values", "worst"), [("accuracy", {0: 0.5, 1: 0.7}, 0.0), ("shd", {0: 3, 1: 5}, None)]
)
def test_the_worst_is_the_bound_on_the_bad_side(metric, values, worst):
    given = rows({"a": values, "b": {0: values[0]}})
    given = [{"method": row["method"], "seed": row["seed"], metric: row["acc"]} for row in given]
    if worst is None:
        with pytest.raises(OptionError, match="shd has no bound on its bad side"):
            stats.compare(given, metric=metric, missing="worst")
        return
    found = stats.compare(given, metric=metric, missing="worst")
    assert found["b"].mean == pytest.approx((values[0] + worst) / 2)
    assert f"scored at the bound {worst:g}: b seed 1 (no run)" in found.notes


def test_repetitions_and_printed_means_lack_nothing():
    assert panel_of(stats.read_runs({"a": [0.1, 0.2, 0.3], "b": [0.4]}).named("acc"), "acc").gaps == ()
    printed = [{"method": "a", "metric": "acc", "mean": 0.7, "std": 0.1, "n": n} for n in (3,)]
    mixed = stats.Runs([*stats.read_runs(printed), *stats.read_runs(rows({"b": {s: 0.1 * s for s in range(3)}}))])
    assert panel_of(mixed, "acc").gaps == ()


# ---- what runs have to agree on


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"conventions": {"ties": "first"}}, "ties is mean in 1 run (a, seed 0); first in 1 run (b, seed 0)"),
        ({"conventions": {}}, "ties is mean in 1 run (a, seed 0); not stated in 1 run (b, seed 0)"),
        ({"target": 1.0}, "target is None in 1 run (a, seed 0); 1.0 in 1 run (b, seed 0)"),
        ({"family": "prediction"}, "acc was measured in an unnamed family and prediction"),
    ],
)
def test_runs_under_different_conventions_are_refused(other, said):
    both = stats.Runs(
        [scored(conventions={"ties": "mean"}), scored("b", **({"conventions": {"ties": "mean"}} | other))]
    )
    with pytest.raises(InputError) as error:
        panel_of(both, "acc")
    assert said in str(error.value)


def test_numbers_of_items_and_copies_are_told():
    sizes = panel_of(stats.Runs([scored(dataset="d", n=1000), scored("b", dataset="d", n=1200)]), "acc")
    assert sizes.notes == ("acc on d is computed on different numbers of items, 1,000 to 1,200",)
    assert panel_of(stats.Runs([scored(n=10), scored("b", n=10)]), "acc").notes == ()

    def copies(*values):
        each = {f"m{i}": Score(x, "higher") for i, x in enumerate(values)}
        return panel_of(stats.Runs([Run("a", "", seed, each) for seed in (0, 1)]), "m0").notes

    assert copies(0.1, 0.2, 0.3) == ("a has the same values in every metric for seeds 0, 1: one run?",)
    assert copies(0.1, 0.2, 1.0) == copies(0.1, 0.2, 0.2) == copies(0.1, 0.2, math.nan) == ()


def test_different_truths_are_refused_and_told():
    def truths(*hashes, paths=("x.npy",)):
        made = [Run("abc"[i], "d", seed, {}) for i, (seed, _) in enumerate(hashes)]
        return {run: {"graph": Truth(paths, (each * 12,))} for run, (_, each) in zip(made, hashes, strict=True)}

    assert truth.conflicts(truths((0, "1"), (0, "1"))) == {}
    found = truth.conflicts(truths((0, "1"), (0, "2"), (1, "1")))
    assert found == {"d": "seed 0: graph is 'x.npy' (111111111111…) for a, 'x.npy' (222222222222…) for b"}
    alone = truths((0, "1"), (1, "2"))  # a single seed may have its own truth
    assert (truth.conflicts(alone), list(truth.conflicts(alone, across_seeds=True))) == ({}, ["d"])
    twice = {
        Run(m, "", s, {}): {"graph": Truth((), (h,))}
        for m, h, seeds in (("a", "1", (0, 1)), ("b", "2", (2, 3)))
        for s in seeds
    }
    assert truth.conflicts(twice) == {"": "graph is 1 for a, 2 for b"}
    own = {
        Run(m, "", s, {}): {"graph": Truth((), (h,))}
        for m, s, h in (("a", 0, "1"), ("a", 1, "3"), ("b", 2, "2"), ("b", 3, "2"))
    }
    assert truth.conflicts(own) == {}
    with pytest.raises(InputError, match="methods were measured against different truths: on d, seed 0: graph is"):
        truth.refuse(found)
    assert truth.warning({"": "x"}) == ["warning: methods were measured against different truths: x"]
    assert str(Truth(("a", "b", "c"), ("0123456789abcdef",))) == "'a' and 2 more (0123456789ab…)"


@pytest.mark.parametrize(
    ("hashes", "split"),
    [({0: "1", 1: "1"}, "shared"), ({0: "1", 1: "2"}, "per seed"), ({0: "1"}, None), ({}, None)],
)
def test_splits_are_those_of_receipts(hashes, split):
    made = {Run("a", "d", seed, {}): {"graph": Truth(("x",), (each,))} for seed, each in hashes.items()}
    assert truth.split_of(made, ["d"]) == split
    elsewhere = {Run("a", "e", seed, {}): {"graph": Truth(("x",), (str(seed),))} for seed in (0, 1)}
    assert truth.split_of(made | elsewhere, ["d", "e"]) == ("per seed" if split in (None, "per seed") else None)
    assert truth.split_of({run: {"graph": Truth((), own["graph"].hashes)} for run, own in made.items()}, ["d"]) is None


# ---- designs


def test_datasets_whose_methods_share_no_seed_must_not_be_mixed_with_others():
    mixed = rows({"a": {0: 0.1, 1: 0.2}, "b": {0: 0.3, 1: 0.4}}, dataset="x")
    mixed += rows({"a": {0: 0.1, 1: 0.2}, "b": {2: 0.3, 3: 0.4}}, dataset="y")
    with pytest.raises(InputError, match="methods share seeds on some datasets, but not on y"):
        stats.compare(mixed, metric="acc", datasets="these")
    found = stats.compare(mixed, metric="acc", datasets="these", design="unpaired").design
    assert (found.paired, found.declared, found.number, found.over) == (False, True, 2, "2 runs")
    assert "2 runs on each of these 2 datasets, independent as declared" in found.sentence


def test_infinite_scores_are_refused():
    with pytest.raises(InputError, match="acc of b is inf"):
        stats.compare(rows({"a": {0: 0.1}, "b": {0: math.inf}}), metric="acc", direction="higher")


# ---- runs and their names


@pytest.mark.parametrize(
    ("name", "better"),
    [("test_acc", "higher"), ("val/loss", "lower"), ("Accuracy", "higher"), ("x", None), ("acc_loss", None)],
)
def test_names_say_which_direction_is_better(name, better):
    assert runs.usual_direction(name) == better


def test_runs_occur_once_and_can_be_counted():
    with pytest.raises(InputError, match=r"1 run occurs twice: a on d, seed 0 \(twice in one input\)"):
        stats.Runs([scored(dataset="d"), scored(dataset="d")])
    both = stats.Runs([scored(), scored("b", dataset="d")])
    assert repr(both) == "<Runs: 2 of 2 methods, 2 datasets, 1 seed>"
    assert [run.method for run in both.only(dataset=["d"])] == ["b"]
    assert [runs.seed_of(each) for each in (3.0, "3", "3.0", "-3", " x ", 0.5)] == [3, 3, 3, -3, "x", "0.5"]
    assert sorted(["b", 10, 9, "a"], key=runs.seed_order) == [9, 10, "a", "b"]


def test_json_records_are_a_table_if_they_have_a_label(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(rows({"a": {0: 0.5}, "b": {0: 0.6}})))
    assert stats.read_runs(path).methods == ["a", "b"]
    for content in ("[]", "[1]", '[{"x": 1}]', "3", '{"x": 1}'):
        path.write_text(content)
        with pytest.raises(InputError, match="neither a result file nor a table of results"):
            stats.read_runs(path)
    path.write_text(json.dumps([{"algo": "a", "acc": 0.5}]))
    assert stats.read_runs(path, columns={"method": "algo"}).methods == ["a"]


def test_dictionaries_of_scores():
    by_dataset = stats.read_runs({"a": {"cora": {0: 0.5, 1: 0.6}, "pubmed": {0: 0.7}}})
    assert [(run.dataset, run.seed) for run in by_dataset] == [("cora", 0), ("cora", 1), ("pubmed", 0)]
    for wrong, said in (
        ({"method": ["a"], "acc": [0.5, 0.6]}, r"columns have different lengths \(method: 1, acc: 2\)"),
        ({"a": {"acc": 0.5, "loss": 1.0}}, r"the scores of a are by metric \(acc\)"),
        ({"a": object()}, "the scores of a are object"),
        (3, "cannot read runs from int"),
        ([{"a": [0.5, 0.6]}, {"b": [0.7]}], 'has no column "method", but a, b'),
    ):
        with pytest.raises(InputError, match=said):
            stats.read_runs(wrong)
    with pytest.raises(OptionError, match="columns are named, but no table is read"):
        stats.read_runs({"a": [0.5]}, columns={"method": "algo"})


# ---- effects and numbers of units


@pytest.mark.parametrize(("n", "cut"), [(3, 0), (4, 1), (7, 1), (8, 2)])
def test_the_interquartile_mean_leaves_a_quarter_out_on_either_side(n, cut):
    x = np.random.default_rng(n).normal(size=n)
    assert effects.interquartile_mean(x) == pytest.approx(np.sort(x)[cut : n - cut].mean())


@pytest.mark.parametrize(("size", "paired"), [(0.4, True), (1.5, True), (0.5, False), (2.0, False)])
def test_needed_units_are_the_fewest_with_that_power(size, paired):
    def power(n):
        df, centre = (n - 1, size * math.sqrt(n)) if paired else (2 * n - 2, size * math.sqrt(n / 2))
        reach = scipy_stats.t.isf(0.0125, df)
        return scipy_stats.nct.sf(reach, df, centre) + scipy_stats.nct.cdf(-reach, df, centre)

    least = math.ceil(1 + math.log2(2 / 0.05)) if paired else 2  # sign flips of so many pairs can reject
    wanted = next(n for n in range(least, 1000) if power(n) >= 0.8)
    assert effects.units_needed(size, 1.0, paired=paired, comparisons=2) == wanted
    assert effects.units_needed(-size * 3, 3.0, paired=paired, comparisons=2) == wanted


def test_numbers_of_units_have_limits():
    assert effects.units_needed(1e-4, 1.0) is None
    assert effects.units_needed(0.01, 1.0) == pytest.approx((1.96 + 0.8416) ** 2 / 1e-4, rel=1e-3)
    for options in ({"effect": 0.0, "std": 1.0}, {"effect": 1.0, "std": math.inf}, {"effect": 1, "std": 1, "power": 1}):
        with pytest.raises(OptionError):
            effects.units_needed(**options)


def test_the_bootstrap_is_within_strata_and_wide_enough():
    x = np.random.default_rng(3).normal(size=40)
    found = effects.bootstrap_interval(x, np.mean, draws=4000)
    wanted = scipy_stats.t.interval(0.95, 39, x.mean(), x.std(ddof=1) / math.sqrt(40))
    assert (found.low, found.high) == pytest.approx(wanted, abs=0.03)
    # Scores are equal within strata, so that all draws are equal.
    assert effects.bootstrap_interval([1.0, 1, 5, 5], np.mean, strata=["a", "a", "b", "b"]) is None
    assert effects.bootstrap_interval([1.0, 5.0], np.mean, strata=["a", "b"]) is None
    with pytest.raises(InputError, match="3 labels for 2 scores"):
        effects.bootstrap_interval([1.0, 2.0], np.mean, strata=[0, 1, 1])


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (text.decimals(0.03), 3),
        (text.decimals(1.0), 1),
        (text.decimals(0.0, 0.5), 4),
        (text.decimals(250.0), 0),
        (text.fixed(-0.0001, 2), "0.00"),
        (text.fixed(math.nan, 2), "–"),
        (text.plus_minus(0.92, 0.03), "0.920 ± 0.030"),
        (text.plus_minus(0.5, 0.0), "0.5000 (all equal)"),
        (text.ends((0.21, 0.33)), "[0.210, 0.330]"),
        (text.ends(None), "–"),
        (text.p_text(0.00009), "p < 0.0001"),
        (text.p_text(0.03125), "p = 0.0312"),
        (text.listing(["a", "b", "c"], 2), "a, b and 1 more"),
        (text.listing(["a", "b"], 2), "a, b"),
        (text.together(["a", "b", "c"]), "a, b and c"),
        (text.together(["a"]), "a"),
    ],
)
def test_numbers_and_names_in_sentences(found, said):
    assert found == said


@pytest.mark.parametrize(("std", "n", "taken"), [(0.0, 1, True), (-0.1, 3, False), (0.1, 0, False), (0.1, 2.5, False)])
def test_printed_means_have_a_spread_and_a_number(std, n, taken):
    given = [{"method": "a", "metric": "acc", "mean": 0.7, "std": std, "n": n}]
    if taken:
        (run,) = stats.read_runs(given)
        assert (run.scores["acc"].value, run.scores["acc"].std, run.scores["acc"].runs) == (0.7, std, n)
        return
    with pytest.raises(InputError, match="Write std of at least 0, and n of at least 1"):
        stats.read_runs(given)


@pytest.mark.parametrize(("complete", "said"), [(True, None), (False, "30 of 80 queries read")])
def test_adaptive_runs_say_how_much_they_have_read(complete, said):
    until = {"complete": complete, "read": 30, "of": 80}
    run = Run("a", "", 0, {"acc": Score(0.5, "higher")}, evaluation=Evaluation("made", [], options={"until": until}))
    assert run.partial == said
    told = panel_of(stats.Runs([run]), "acc").notes
    assert told == ((f"1 run is adaptive and incomplete (a, seed 0: {said})",) if said else ())


@pytest.mark.parametrize(
    ("metric", "classes", "unfair"),
    [
        ("directed_f1", ("DAG", "CPDAG"), True),
        ("directed_f1", ("DAG", "DAG"), False),
        ("directed_f1", ("CPDAG", "CPDAG"), False),
        ("skeleton_f1", ("DAG", "CPDAG"), False),
    ],
)
def test_metrics_that_count_open_marks_are_unfair_to_methods_that_leave_some(metric, classes, unfair):
    made = [
        Run(name, "", 0, {metric: Score(0.5, "higher", conventions={"classes": f"DAG and {each}"})}, "recovery")
        for name, each in zip("ab", classes, strict=True)
    ]
    panel = panel_of(stats.Runs(made), metric)
    said = panel.unfair
    assert list(panel.invalid) == (["b"] if unfair else [])
    wanted = f"{metric} is not fair to all methods: it counts marks that graphs of b (CPDAG) leave open as missing"
    assert said == (wanted if unfair else None)
