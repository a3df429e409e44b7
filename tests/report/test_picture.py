"""The first picture and what follows from it: leaders, places, ordered groups, curves, single items."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.report.sample import write

from graphgauge import ranking
from graphgauge.old.core.findings import Finding
from graphgauge.old.core.result import Chance, Evaluation, Result, Table
from graphgauge.old.stats.collect import collect
from graphgauge.report.asked import asked
from graphgauge.report.charts import curves_chart, groups_charts
from graphgauge.report.family import Family, family
from graphgauge.report.forest import forest
from graphgauge.report.html import write_report
from graphgauge.report.page import page
from graphgauge.report.sections import dataset_table, headline
from graphgauge.report.verdict import leads
from graphgauge.report.worst import worst_items

CLEAR = {"slow": [0.1, 0.11, 0.12, 0.1, 0.13, 0.12, 0.11, 0.1], "fast": [0.5, 0.52, 0.51, 0.53, 0.5, 0.54, 0.5, 0.52]}
CLOSE = {"a": [0.50, 0.52, 0.48, 0.51, 0.49, 0.53, 0.47, 0.50], "b": [0.51, 0.50, 0.49, 0.50, 0.50, 0.52, 0.49, 0.48]}


def result(value: float, key: str = "mrr", **facts) -> Result:
    given = {"metric": key, "n": 100, "unit": "query", "direction": "higher", "bounds": (0.0, 1.0), **facts}
    return Result(key=key, value=value, **given)


def made(root: Path, scores: dict[str, list[float]], dataset: str = "toy", **facts) -> Family:
    for method, values in scores.items():
        for seed, value in enumerate(values):
            write(Evaluation("ranking", [result(value, **facts)]), root, method, dataset, seed)
    return family("ranking", collect([root]).records)


def test_a_leader_is_named_with_its_difference_and_interval(tmp_path: Path) -> None:
    (lead,) = leads([made(tmp_path, CLEAR)])
    assert lead.holds
    difference = np.mean(CLEAR["fast"]) - np.mean(CLEAR["slow"])
    fast, slow = (f"{np.mean(CLEAR[name]):.4f}" for name in ("fast", "slow"))
    assert lead.text.startswith(f"fast {fast} against {slow} of slow, difference in mrr ")
    stated = float(lead.text.partition("difference in mrr ")[2].split()[0])
    assert stated == pytest.approx(difference, abs=0.006)
    assert "it holds (p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}0.0078 after Holm's correction)" in lead.text


def test_an_open_difference_says_what_would_settle_it(tmp_path: Path) -> None:
    (lead,) = leads([made(tmp_path, CLOSE)])
    assert not lead.holds
    assert "a 0.5000 against 0.4988 of b" in lead.text
    assert "it is open" in lead.text
    assert "seeds would show it with 80 % power if the true difference is this large" in lead.text
    few = {method: values[:2] for method, values in CLEAR.items()}
    (lead,) = leads([made(tmp_path / "few", few)])
    assert "it cannot be tested yet; at least 6 seeds are needed" in lead.text


def test_a_metric_where_lower_is_better_leads_with_a_negative_difference(tmp_path: Path) -> None:
    (lead,) = leads([made(tmp_path, CLEAR, direction="lower")])
    assert lead.text.startswith("slow 0.1113 against 0.5150 of fast, difference in mrr -0.4038 [")


def test_methods_are_in_the_order_of_their_places(tmp_path: Path) -> None:
    found = made(tmp_path, {"a slow": CLEAR["slow"], "fast": CLEAR["fast"]} | {"like": CLEAR["fast"][::-1]})
    assert found.methods == ["fast", "like", "a slow"]  # not by name
    places = found.places("toy")
    # Equal means share a rank; the tests separate both from the third.
    assert {name: (place.rank, place.certain) for name, place in places.items()} == {
        "fast": (1, "1 to 2"),
        "like": (1, "1 to 2"),
        "a slow": (3, "3"),
    }
    assert [row[0].text for row in headline([found]).rows] == ["fast", "like", "a slow"]
    assert [row[0].text for row in dataset_table(found, "toy").rows] == ["fast", "like", "a slow"]


def test_a_target_is_explained_where_the_star_follows_the_distance(tmp_path: Path) -> None:
    scores = {"off": [0.9, 0.8, 0.9], "swings": [0.2, -0.2, 0.2]}
    found = made(tmp_path, scores, direction="target", target=0.0, bounds=(-1.0, 1.0))
    assert found.methods == ["swings", "off"]
    assert any("mean distance of its runs" in note for note in headline([found]).notes)
    plain = made(tmp_path / "plain", scores)
    assert not any("mean distance" in note for note in headline([plain]).notes)


def test_the_forest_has_every_method_on_every_dataset_with_chance(tmp_path: Path) -> None:
    chance = (Chance("random", 0.05),)
    made(tmp_path, CLEAR, "one", chance=chance)
    reversed_skill = {"slow": CLEAR["fast"], "fast": CLEAR["slow"]}
    panels = forest([made(tmp_path, reversed_skill, "two", chance=chance)], "forest")
    assert panels is not None
    (chart,) = panels.charts
    assert [sign.text for sign in panels.key] == ["best", "significantly different", "chance level"]
    assert chart.rows is not None
    lines = [row["line"] for row in chart.rows]
    assert [line for line in lines if line.startswith("one")] == ["one · fast", "one · slow"]
    assert [line for line in lines if line.startswith("two")] == ["two · slow", "two · fast"]
    assert {row["chance"] for row in chart.rows} == {0.05}
    status = {row["line"]: row["status"] for row in chart.rows}
    assert (status["one · fast"], status["one · slow"]) == ("best", "significantly different")


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["7B", "6A", "7A", "6C", "6B"], ["6A", "6B", "6C", "7A", "7B"]),
        (["step 10", "step 2", "step 1"], ["step 1", "step 2", "step 10"]),
        (["rare", "usual"], ["usual", "rare"]),  # the largest first
        ([3, 1, 2, 10], [1, 2, 3, 10]),
    ],
)
def test_ordered_conditions_are_in_their_order(tmp_path: Path, labels: list, order: list) -> None:
    sizes = np.arange(1, len(labels) + 1)
    table = Table("grade", {"grade": np.array(labels), "n": sizes, "mrr": np.linspace(0.1, 0.9, len(labels))})
    for method in "ab":
        evaluation = Evaluation("ranking", [result(0.5)], breakdowns={"grade": table})
        write(evaluation, tmp_path, method, "toy", 0)
    (chart,) = groups_charts(family("ranking", collect([tmp_path]).records), "groups")
    assert list(dict.fromkeys(row["group"] for row in chart.rows)) == order
    marks = str(chart.spec)
    assert ("'type': 'line'" in marks) == (not isinstance(labels[0], str))  # numbers are connected


def test_levels_of_a_metric_become_a_curve_with_the_methods_overlaid(tmp_path: Path) -> None:
    for method, shift in {"a": 0.0, "b": 0.1}.items():
        at = [result(0.1 * k**0.5 + shift, f"hits@{k}", metric="hits", params={"k": k}) for k in (1, 10, 3)]
        write(Evaluation("ranking", [result(0.5), *at]), tmp_path, method, "toy", 0)
    chart = curves_chart(family("ranking", collect([tmp_path]).records), "curves")
    assert chart is not None
    assert chart.rows is not None
    assert [row["level"] for row in chart.rows if row["method"] == "a"] == [1.0, 3.0, 10.0]
    assert {row["curve"] for row in chart.rows} == {"hits@k"}


def test_the_worst_items_are_listed_with_what_they_were(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ids = np.array([f"<b>q{number}</b>" for number in range(40)])
    negatives = rng.normal(0, 1, (40, 30))
    for method, skill in {"weak": 0.2, "strong": 3.0}.items():
        positives = np.full(40, skill)
        positives[7] = -9.0  # the worst query of both
        evaluation = ranking.evaluate(positives, negatives, ids=ids, keep="items")
        write(evaluation, tmp_path / "r", method, "toy", 0)
    found = family("ranking", collect([tmp_path / "r"]).records)
    (table,) = worst_items(found, "toy")
    assert table.rows[0][0].text == "<b>q7</b>"
    assert [head.text for head in table.heads] == ["Query", "strong", "weak"]
    assert float(table.rows[0][1].text) == pytest.approx(1 / 31, abs=1e-4)
    assert table.rows[0][1].note == "rank 31 of 31"
    page = write_report(tmp_path / "r", tmp_path / "r.html").read_text(encoding="utf-8")
    assert "where strong fails" in page
    assert "<b>q7" not in page
    side = next((tmp_path / "r").rglob("*.items.npz"))
    side.write_bytes(side.read_bytes()[:-9])
    assert write_report(tmp_path / "r", tmp_path / "again.html").exists()  # a damaged side file is left out


def test_a_comparison_is_shown_once(tmp_path: Path) -> None:
    import json

    from graphgauge.old.core.files import write_text
    from graphgauge.old.stats import compare, load

    made(tmp_path, CLEAR)
    write_text(tmp_path / "comparisons" / "1.json", compare(load(tmp_path), metric="mrr").to_json())
    asked = [{"title": "mrr", "file": "comparisons/1.json", "error": None}]
    write_text(tmp_path / "study.json", json.dumps({"study": "s", "gates": [], "comparisons": asked}))
    page = write_report(tmp_path, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "fast vs slow" in page
    assert page.count("fast vs slow") == 1


def test_a_claim_about_these_datasets_is_judged_as_the_study_asked(tmp_path: Path) -> None:
    """Three datasets are too few for a claim about others, and four seeds too few for one dataset alone."""
    from graphgauge.old.stats import compare

    for number, dataset in enumerate(("x", "y", "z")):
        made(
            tmp_path,
            {method: [value + number / 10 for value in values[:4]] for method, values in CLEAR.items()},
            dataset,
        )
    found = compare(str(tmp_path), metric="mrr", datasets="these")
    (tmp_path / "comparisons").mkdir()
    (tmp_path / "comparisons" / "1.json").write_text(found.to_json())
    content = {"study": "s", "gates": [], "comparisons": [{"title": "t", "file": "comparisons/1.json", "error": None}]}
    plain = page(collect([tmp_path]), asked([tmp_path]))
    assert plain.verdict.startswith("In ranking, on none of 3 datasets does one method differ")
    (tmp_path / "study.json").write_text(json.dumps(content))
    told = page(collect([tmp_path]), asked([tmp_path]))
    assert (
        told.verdict == "In ranking, fast has the best mrr over runs on 3 datasets and differs significantly from slow."
    )
    (lead,) = told.leads
    assert lead.holds
    assert lead.where == "ranking, all datasets"


def test_a_leader_with_a_finding_of_its_own_has_it_next_to_its_lead(tmp_path: Path) -> None:
    copied = Finding("copied-training-set", "warning", "it copies what it learned from", {}, "Regularise it.")
    for method, values in CLEAR.items():
        for seed, value in enumerate(values):
            findings = (copied,) if method == "fast" else ()
            write(Evaluation("ranking", [result(value)], findings=findings), tmp_path, method, "toy", seed)
    (lead,) = leads([family("ranking", collect([tmp_path]).records)])
    assert lead.text.endswith("But fast has the finding copied-training-set.")
