"""Published means ± standard deviations: cells of papers, Welch's test, and the places of a leaderboard."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from scipy import stats

from graphgauge.cli.compare import command
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.stats import compare_published, load
from graphgauge.stats.cells import CellError, read_cell

ROOT = Path(__file__).parents[2]
LEADERBOARD = ROOT / "examples" / "ogbl_citation.csv"


@pytest.mark.parametrize(
    "cell",
    [
        "71.2 ± 0.3",
        "71.2±0.3",
        "71.2 +/- 0.3",
        "71.2 (0.3)",
        "71.2(0.3)",
        "71.2 (±0.3)",
        r"$71.2_{\pm 0.3}$",
        r"$71.2 \pm 0.3$",
        r"71.2 $\pm$ 0.3",
        r"71.2{\scriptsize $\pm$0.3}",
        r"\textbf{71.2 $\pm$ 0.3}",
        r"$\mathbf{71.2} \pm 0.3$",
        r"\underline{71.2}$_{\pm 0.3}$",
        r"\textcolor{red}{71.2 $\pm$ 0.3}",
        "**71.2 ± 0.3**",
        "__71.2 ± 0.3__",
        "<b>71.2 ± 0.3</b>",
        r"71.2\,$\pm$\,0.3",
        "71.2 ± 0.3†",
        r"\cellcolor{gray!20}$71.2^{\pm 0.3}$",
        r"71.2~$\pm$~0.3",
    ],
)
def test_cells_of_papers(cell: str) -> None:
    number = read_cell(cell)
    assert (number.value, number.std) == (71.2, 0.3)
    percent = read_cell("71.2% ± 0.3%")
    assert (percent.value, percent.std, percent.percent) == (71.2, 0.3, True)


@pytest.mark.parametrize("cell", ["71.2 ± ", "± 0.3", "71.2 ± x", "a (0.3)", "71.2 ± 0.3 ± 0.1", "71.2 (0.3, 0.4)"])
def test_cells_that_are_no_mean(cell: str) -> None:
    with pytest.raises(CellError):
        read_cell(cell)


def rows(**cells: str) -> list[dict[str, str]]:
    return [{"method": name, "acc": cell} for name, cell in cells.items()]


def run(*arguments: str) -> Any:
    return CliRunner().invoke(command, list(arguments), catch_exceptions=False)


@pytest.mark.parametrize(("first", "second"), [((0.81, 0.02, 5), (0.85, 0.01, 5)), ((0.5, 0.1, 3), (0.55, 0.01, 30))])
def test_welch_is_that_of_scipy(first: tuple[float, float, int], second: tuple[float, float, int]) -> None:
    table = [
        {"method": name, "mean": mean, "std": std, "n": n} for name, (mean, std, n) in (("a", first), ("b", second))
    ]
    test = compare_published(table, metric="acc", direction="higher", alpha=0.1)["a", "b"]
    peer = stats.ttest_ind_from_stats(*second, *first, equal_var=False)
    assert test.names == ("b", "a")
    assert (test.statistic, test.p_value) == pytest.approx((peer.statistic, peer.pvalue), rel=1e-12)
    error = math.sqrt(first[1] ** 2 / first[2] + second[1] ** 2 / second[2])
    margin = stats.t.ppf(0.95, test.df) * error
    assert test.ci == pytest.approx((second[0] - first[0] - margin, second[0] - first[0] + margin))


def test_holm_corrects_over_all_pairs() -> None:
    found = compare_published(
        rows(a="0.80 ± 0.02", b="0.82 ± 0.02", c="0.90 ± 0.02"), n=5, metric="acc", direction="higher"
    )
    raw = sorted(test.p_value for test in found.tests)
    wanted = [min(1, raw[0] * 3), min(1, max(raw[0] * 3, raw[1] * 2)), min(1, max(raw[0] * 3, raw[1] * 2, raw[2]))]
    assert sorted(test.p_adjusted for test in found.tests) == pytest.approx(wanted)


def test_a_leaderboard_read_again() -> None:
    """Which places of the OGB leaderboard for ogbl-citation are exchangeable, by scipy's Welch test and Holm's rule."""
    with LEADERBOARD.open(encoding="utf-8", newline="") as stream:
        cells = {row["Method"]: row["Test MRR"].split(" ± ") for row in csv.DictReader(stream)}
    means = {name: (float(mean), float(std), 10) for name, (mean, std) in cells.items()}
    names = list(means)
    assert len(names) == 9
    p = {
        (a, b): stats.ttest_ind_from_stats(*means[a], *means[b], equal_var=False).pvalue
        for i, a in enumerate(names)
        for b in names[i + 1 :]
    }
    adjusted, floor = {}, 0.0
    for rank, pair in enumerate(sorted(p, key=p.__getitem__)):
        floor = max(floor, min(1.0, p[pair] * (len(p) - rank)))
        adjusted[pair] = floor
    same = {frozenset(pair) for pair, value in adjusted.items() if value > 0.05}
    found = compare_published(LEADERBOARD, n=10, metric="Test MRR", direction="higher")
    assert {frozenset(pair) for pair in found.exchangeable()} == same
    assert found.methods == names
    places = found.places()
    assert places["SEAL"] == places["Full-batch GCN"] == (1, 2)
    assert places["Node2vec"] == (9, 9)
    assert "Unpaired and approximate" in str(found)


def test_the_page_shows_the_leaderboard() -> None:
    page = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
    text = str(compare_published(LEADERBOARD, n=10, metric="Test MRR", direction="higher"))
    table = [line for line in text.splitlines() if line.startswith(("SEAL", "Full-batch", "DeepWalk", "Node2vec"))]
    assert len(table) == 6
    assert all(line in page for line in table)


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,acc\na,0.81 ± 0.02\nb,0.95 ± 0.01\n", encoding="utf-8")
    outcome = run(str(path), "--n", "5", "--metric", "acc", "--higher")
    assert "places 1 and 2 (b, a) differ significantly" in outcome.stdout
    content = json.loads(run(str(path), "--n", "5", "--metric", "acc", "--higher", "--format", "json").stdout)
    assert content["design"] == "unpaired, from summaries"
    assert content["means"][0]["method"] == "b"
    against = run(str(path), "--n", "5", "--metric", "acc", "--higher", "--baseline", "a").stdout
    assert "possible places" not in against
    for options, message in (
        (("--missing", "omit"), "--missing needs runs"),
        (("--over", "items"), "--over needs runs"),
    ):
        with pytest.raises(OptionError, match=message):
            run(str(path), "--n", "5", "--metric", "acc", *options, "--higher")
    with pytest.raises(InputError, match=r"line 2 has a mean with its spread, not a run.*compare --n RUNS"):
        run(str(path), "--metric", "acc", "--higher")


@pytest.mark.parametrize(
    "names", [("acc_mean", "acc_std"), ("mean_acc", "std_acc"), ("acc", "acc std"), ("Acc", "AccStd")]
)
def test_columns_of_means_and_their_spread(names: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"model,{names[0]},{names[1]},runs,f1,f1_std\na,.8,.1,5,.7,.2\nb,.9,.1,6,.6,.2\n")
    metric = "Acc" if names[0] == "Acc" else "acc"
    found = compare_published(path, metric=metric, direction="higher")
    assert [(mean.mean, mean.std, mean.n) for mean in found.means] == [(0.8, 0.1, 5), (0.9, 0.1, 6)]
    with pytest.raises(InputError, match="line 2 has a mean with its spread"):
        load(path)


def test_a_run_may_have_a_number_and_a_spread_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,seed,n,acc,acc_std\na,0,100,.8,.1\na,1,100,.9,.1\n")
    assert load(path).metrics == ["n", "acc", "acc_std"]


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (rows(a="0.8 ± 0.1", b="0.9"), {"n": 5}, "no two methods with acc and its standard deviation"),
        (rows(a="0.8 ± 0.1", b="0.9 ± 0.1", c="0.7"), {"n": 5, "baseline": "c"}, "c has a mean without a standard"),
        (rows(a="0.8 ± 0.1", b="0.9 ± 0.1"), {}, "row 1: the number of runs is not known.*n="),
        (rows(a="0.8 ± 0", b="0.9 ± 0"), {"n": 5}, "both have a standard deviation of 0"),
        (rows(a="0.8 ± -1", b="0.9 ± 1"), {"n": 5}, "no standard deviation"),
        (rows(a="0.8", b="0.9"), {"n": 5}, "no cell has a mean ± standard deviation"),
        (rows(a="0.8 ± 0.1"), {"n": 5}, "no two methods"),
        ([*rows(a="0.8 ± 0.1"), *rows(a="0.9 ± 0.1")], {"n": 5}, "a occurs twice"),
        (rows(a="0.8 ± 0.1", b="0.9 ± 0.1"), {"n": 1}, "n "),
        (rows(a="0.8 ± 0.1", b="0.9 ± 0.1"), {"n": 5, "metric": "f1"}, "unknown metric 'f1'"),
        (rows(a="0.8 ± 0.1", b="0.9 ± 0.1"), {"n": 5, "baseline": "z"}, "unknown method 'z'"),
    ],
)
def test_what_cannot_be_compared(table: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare_published(table, **{"metric": "acc", "direction": "higher", **options})


def test_several_metrics_are_asked_about() -> None:
    table = [
        {"method": "a", "acc": "0.8 ± 0.1", "f1": "0.7 ± 0.1"},
        {"method": "b", "acc": "0.8 ± 0.1", "f1": "0.6 ± 0.1"},
    ]
    with pytest.raises(OptionError, match=r"there are 2 metrics\. Choose one: acc, f1"):
        compare_published(table, n=5, direction="higher")
    assert compare_published(table, n=5, metric="f1", direction="higher")["a"].mean == 0.7


def test_lower_is_better_and_datasets_are_apart() -> None:
    table = [
        {"method": m, "dataset": d, "mae": f"{v} ± 0.01"}
        for m, d, v in (("a", "x", 0.5), ("b", "x", 0.9), ("a", "y", 0.9), ("b", "y", 0.5))
    ]
    found = compare_published(table, n=5, metric="mae", direction="lower")
    assert found.places("x") == {"a": (1, 1), "b": (2, 2)}
    assert found.places("y") == {"b": (1, 1), "a": (2, 2)}
    assert found["a", "y"].mean == 0.9
    assert found["a", "b", "x"].dataset == "x"
    assert ("a", "z") not in found
    with pytest.raises(InputError, match="there are 2 datasets"):
        found.places()
    with pytest.raises(UnknownNameError, match="unknown dataset 'z'"):
        found.places("z")


def test_percent_means_shares() -> None:
    found = compare_published(rows(a="81.0% ± 1.0%", b="85.5% ± 2.0%"), n=5, metric="acc", direction="higher")
    assert (found["b"].mean, found["b"].std) == (0.855, 0.02)
    assert "85.5 ± 2.0" in found.to_markdown(percent=True)
    whole = compare_published(rows(a="81.0 ± 1.0", b="85.5 ± 2.0"), n=5, metric="acc", direction="higher")
    with pytest.raises(OptionError, match="not given in percent"):
        whole.to_markdown(percent=True)


@pytest.mark.parametrize("seed", range(3))
def test_errors_are_rare_if_nothing_differs(seed: int) -> None:
    """Normal runs of equal means: any pair is rejected in at most 5 % of the tables, Holm over three pairs."""
    import numpy as np

    rng = np.random.default_rng(seed)
    wrong = 0
    for _ in range(400):
        runs = rng.normal(0.8, 0.02, (3, 5))
        table = [
            {"method": name, "mean": own.mean(), "std": own.std(ddof=1), "n": 5}
            for name, own in zip("abc", runs, strict=True)
        ]
        found = compare_published(table, metric="acc", direction="higher")
        wrong += any(test.p_adjusted <= 0.05 for test in found.tests)
    assert wrong <= 400 * 0.05 + 3 * math.sqrt(400 * 0.05 * 0.95)


@pytest.mark.parametrize(
    "cited", [r"GAT~\cite{gat18}", r"GAT \citep[see][p.~3]{gat18}", r"GAT\textsuperscript{}~\autocite{a,b}"]
)
def test_citations_are_no_part_of_a_name(cited: str, tmp_path: Path) -> None:
    table = tmp_path / "t.tex"
    table.write_text(
        "\\begin{tabular}{lc}\nModel & Acc \\\\\n"
        + r"GCN & $81.5 \pm 0.5$ \\"
        + "\n"
        + rf"{cited} & $83.0 \pm 0.7$ \\"
        + "\n\\end{tabular}\n"
    )
    found = compare_published(str(table), n=10, metric="Acc", direction="higher")
    assert {mean.method for mean in found.means} == {"GCN", "GAT"}


@pytest.mark.parametrize(
    ("first", "second", "margin", "words"),
    [
        ("0.81 ± 0.01", "0.812 ± 0.01", 0.02, "are equivalent within ±0.02"),
        ("0.81 ± 0.01", "0.83 ± 0.01", 0.02, "b is not worse than a by more than 0.02"),
        ("0.81 ± 0.1", "0.83 ± 0.1", 0.02, "differences beyond ±0.02 remain possible"),
    ],
)
def test_a_margin_is_judged_by_the_interval_of_two_one_sided_tests(
    first: str, second: str, margin: float, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"model,acc\na,{first}\nb,{second}\n", encoding="utf-8")
    asked = (str(path), "--n", "10", "--metric", "acc", "--margin", str(margin))
    assert words in run(*asked).stdout
    (test,) = json.loads(run(*asked, "--format", "json").stdout)["tests"]
    (m1, s1), (m2, s2) = ([float(part) for part in cell.split(" ± ")] for cell in (second, first))
    error = math.sqrt((s1**2 + s2**2) / 10)
    df = (s1**2 + s2**2) ** 2 / (s1**4 + s2**4) * 9
    reach = float(stats.t.ppf(0.95, df)) * error
    assert test["margin"]["size"] == margin
    assert test["margin"]["ci"] == pytest.approx([m1 - m2 - reach, m1 - m2 + reach])
    assert words in test["margin"]["conclusion"]
    with pytest.raises(OptionError, match="margin must be a positive number"):
        compare_published(rows(a=first, b=second), n=10, margin=-1)


def test_a_mean_without_its_spread_is_listed_and_may_have_any_place() -> None:
    found = compare_published(rows(a="0.8 ± 0.01", b="0.9 ± 0.01", c="0.85"), n=5, metric="acc")
    assert found.places() == {"b": (1, 2), "c": (1, 3), "a": (2, 3)}
    assert [test.names for test in found.tests] == [("b", "a")]
    assert "0.850 " in str(found) or "0.85 " in str(found)
    assert "Without a standard deviation, so not tested, in any place: c." in str(found)
    assert json.loads(found.render("json"))["means"][1]["std"] is None or "NaN" in found.render("json")


@pytest.mark.parametrize(("metric", "best"), [("acc", "b"), ("test_loss", "a"), ("Accuracy", "b")])
def test_a_usual_name_says_the_direction(metric: str, best: str) -> None:
    table = [{"method": "a", metric: "0.8 ± 0.01"}, {"method": "b", metric: "0.9 ± 0.01"}]
    found = compare_published(table, n=5, metric=metric)
    assert found.standings(found.datasets[0])[0].method == best
    assert f"follows from the name {metric}" in str(found)
    with pytest.raises(OptionError, match="direction of zeal is not known"):
        compare_published([{"method": "a", "zeal": "0.8 ± 0.01"}, {"method": "b", "zeal": "0.9 ± 0.01"}], n=5)
