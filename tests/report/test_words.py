"""The texts of the page: limits, verdict, gates, findings; each from results made for it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from tests.report.sample import write
from tests.sealed import write_sealed

from graphgauge.audit.lines import finding_lines
from graphgauge.old.core.findings import Finding
from graphgauge.old.core.result import Chance, Evaluation, Interval, Result
from graphgauge.old.stats.collect import collect
from graphgauge.report.asked import Asked, asked
from graphgauge.report.family import Family, family
from graphgauge.report.forest import forest
from graphgauge.report.html import write_report
from graphgauge.report.limits import limits
from graphgauge.report.verdict import verdict

CLEAR = {"good": [0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97], "poor": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]}
CLOSE = {"good": [0.5, 0.6, 0.4, 0.7, 0.3, 0.5, 0.6], "poor": [0.6, 0.5, 0.5, 0.6, 0.4, 0.4, 0.7]}


def result(value: float = 0.5, **facts: Any) -> Result:
    return Result("mrr", "mrr", value, 100, "query", "higher", (0.0, 1.0), **facts)


def write_runs(root: Path, scores: dict[str, list[float]], dataset: str = "toy", **facts: Any) -> Path:
    for method, values in scores.items():
        for seed, value in enumerate(values):
            write(Evaluation("ranking", [result(value, **facts)]), root, method, dataset, seed)
    return root


def read(root: Path) -> Family:
    collected = collect(root)
    (name,) = collected.families
    return family(name, collected.records)


def limits_of(root: Path) -> list[str]:
    collected = collect(root)
    return limits(collected, Asked(), [family(name, collected.records) for name in collected.families])


# -------------------------------------------------------------------------- limits


def test_how_many_seeds_a_significant_difference_needs(tmp_path: Path):
    # Of 2 ** n signs, two are as extreme as all alike: 2 / 2 ** 6 is the first below 0.05.
    few = {method: values[:5] for method, values in CLEAR.items()}
    sentence = (
        "In ranking, 5 seeds are too few for the paired tests of 2 methods on toy to reject, "
        "regardless of the scores: it takes at least 6."
    )
    assert sentence in limits_of(write_runs(tmp_path / "few", few))
    assert "too few" not in " ".join(limits_of(write_runs(tmp_path / "more", CLEAR)))


@pytest.mark.parametrize(("seeds", "said"), [(1, True), (2, False)])
def test_a_single_run_says_nothing_of_seeds(tmp_path: Path, seeds: int, said: bool):
    root = write_runs(tmp_path, {"a": [0.5], "b": [0.4, 0.6][:seeds]})
    assert any("every method ran once on each dataset" in line for line in limits_of(root)) == said


def test_what_has_no_interval_is_named_with_the_reason(tmp_path: Path):
    root = write_runs(tmp_path, {"a": [0.5]}, no_interval="one graph has none")
    assert "Without an interval in ranking: mrr (one graph has none)." in limits_of(root)
    write_runs(root, {"b": [0.5]}, interval=Interval(0.4, 0.6, 0.95, "t", "queries"))
    assert "Without an interval" not in " ".join(limits_of(root))


def test_runs_that_failed_are_told_from_those_that_are_not_there(tmp_path: Path):
    root = write_runs(tmp_path, {"a": [0.5, 0.6], "b": [0.4]})
    run = {"family": "ranking", "method": "b", "dataset": "toy", "seed": 1}
    failed = {"schema": "graphgauge/result/2", "status": "failed", "error": "no file", "run": run}
    write_sealed(root / "failed.json", failed)
    (line,) = [line for line in limits_of(root) if "failed or missing" in line]
    named = "b on toy seed 1 (failed: no file)"
    assert line == f"1 run failed or missing: {named}. Means leave them out and state how many."
    (root / "failed.json").unlink()
    (line,) = [line for line in limits_of(root) if "failed or missing" in line]
    assert "b on toy seed 1 (no run)" in line


@pytest.mark.parametrize("oracle", [True, False])
def test_what_was_chosen_with_the_truth_in_hand_is_named(tmp_path: Path, oracle: bool):
    said = "Chosen with knowledge of the truth, so not reachable in use, in ranking: mrr."
    assert (said in limits_of(write_runs(tmp_path, {"a": [0.5]}, oracle=oracle))) == oracle


# ------------------------------------------------------------------------- verdict


def test_a_dataset_on_which_methods_are_close_is_not_claimed(tmp_path: Path):
    write_runs(write_runs(tmp_path, CLEAR, "one"), CLOSE, "two")
    sentence = verdict([read(tmp_path)], ())
    claim = "one method differs significantly from all others in mrr: good on one."
    assert sentence == f"In ranking, on 1 of 2 datasets {claim}"


def test_the_interval_of_several_runs_is_over_seeds(tmp_path: Path):
    chance = (Chance("flattered", 0.9), Chance("fair", 0.1))
    own = {"interval": Interval(0.0, 1.0, 0.95, "t", "queries"), "chance": chance}
    rows = read(write_runs(tmp_path, {"a": [0.4, 0.6], "b": [0.5]}, **own)).rows
    assert (rows["mrr", "toy", "a"].over, rows["mrr", "toy", "b"].over) == ("seeds", "queries")
    assert (rows["mrr", "toy", "b"].low, rows["mrr", "toy", "b"].high) == (0.0, 1.0)
    assert rows["mrr", "toy", "a"].chance == [0.1, 0.1]


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (
            {"a": [0.5] * 8, "b": [0.5] * 8},
            "In ranking, 2 methods have equal mrr on toy over 8 seeds: 0.5000 in the mean.",
        ),
        ({"a": [math.nan] * 2, "b": [math.nan] * 2}, "In ranking, no run has a value of mrr."),
        (
            {f"m{number}": [number / 50] for number in range(25)},
            "In ranking, m24 has the best mean mrr on toy, 0.4800; the methods could not be compared: 25 methods are "
            "too many to compare pair by pair.",
        ),
    ],
)
def test_the_leader_is_named_without_a_test(tmp_path: Path, scores: dict[str, list[float]], said: str):
    facts = {"reason": "nothing to rank"} if "a" in scores and math.isnan(scores["a"][0]) else {}
    assert verdict([read(write_runs(tmp_path, scores, **facts))], ()) == said
    assert write_report(tmp_path, tmp_path / "r.html").exists()


def test_a_limit_of_many_datasets_is_one_line(tmp_path: Path):
    few = {method: values[:2] for method, values in CLOSE.items()}
    for number in (10, 2, 1, 3, 4):
        write_runs(tmp_path, few, f"{{data}} {number}")
    (line,) = [line for line in limits_of(tmp_path) if "are too few" in line and " on " in line]
    assert line.startswith("In ranking, 2 seeds are too few for the paired tests of 2 methods on {data} 1, {data} 2, ")


def test_of_long_names_in_the_picture_both_parts_are_seen(tmp_path: Path):
    for dataset in ("data" * 20, "date" * 20):
        write_runs(tmp_path, {"method " * 9: [0.5], "method " * 9 + "2": [0.6]}, dataset)
    lines = [row["line"] for row in forest([read(tmp_path)], "f").charts[0].rows]
    assert len(set(lines)) == 4
    assert all(line.startswith(("datadata", "datedate")) and " · method" in line for line in lines)


# ----------------------------------------------------------------- gates and comparisons


def outcome(folder: Path, gates: list[Any] = [], tests: list[Any] = []) -> Asked:  # noqa: B006
    (folder / "comparisons").mkdir()
    (folder / "comparisons" / "1.json").write_text(json.dumps({"metric": "mrr", "alpha": 0.05, "tests": tests}))
    comparisons = [{"title": "mrr", "file": "comparisons/1.json", "error": None}]
    (folder / "study.json").write_text(json.dumps({"study": "s", "gates": gates, "comparisons": comparisons}))
    return asked([folder])


def test_a_gate_holds_where_it_holds_in_every_run(tmp_path: Path):
    run = {"method": "a", "dataset": "toy"}
    gates = [
        {"gate": "mrr > 0.5", "run": run, "passed": passed, "found": found, "reason": None}
        for passed, found in ((True, 0.75), (False, 0.25))
    ]
    (line,) = outcome(tmp_path, gates=gates).gates
    assert (line.passed, line.where, line.found) == (False, "a on toy, 1 of 2 runs fail", "0.2500 to 0.7500")


def test_pairs_are_significant_by_their_corrected_p(tmp_path: Path):
    test = {"names": ["a", "b"], "mean_difference": 0.1, "ci": [0.0, 0.2], "p_value": 0.01}
    tests = [
        {**test, "p_adjusted": adjusted, "can_reject": able}
        for adjusted, able in ((0.03, True), (0.06, True), (0.06, False))
    ]
    (comparison,) = outcome(tmp_path, tests=tests).comparisons
    assert comparison.table is not None
    assert [row[-1].text for row in comparison.table.rows] == ["significant", "not significant", "cannot reject"]


# ------------------------------------------------------------------------ findings


def test_findings_are_sorted_by_severity_without_ignored_ones():
    def found(check: str, severity: Any, *, ignored: bool = False) -> Finding:
        return Finding(check, severity, "message", {}, "remedy", ignored)

    findings = (found("a", "note"), found("b", "error"), found("c", "warning"), found("d", "error", ignored=True))
    evaluation = Evaluation("ranking", [result()], findings=findings, run={"method": "m", "dataset": "d", "seed": 0})
    assert [line.check for line in finding_lines([evaluation])] == ["b", "c", "a"]
