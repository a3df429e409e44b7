"""Tables that other programs wrote are read without options, or refused with the option that reads them."""

from __future__ import annotations

import csv
import re
import runpy
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from graphgauge.core.errors import InputError
from graphgauge.stats import Runs, aggregate, compare_published, load

FOLDER = Path(__file__).parent / "foreign"
ORIGINS: dict[str, dict[str, Any]] = tomllib.loads((FOLDER / "origin.toml").read_text(encoding="utf-8"))
MAKE = runpy.run_path(str(FOLDER / "make.py"))
READ = [name for name, facts in ORIGINS.items() if "refused" not in facts and "metric" in facts]
REFUSED = [name for name, facts in ORIGINS.items() if "refused" in facts]


def expected(facts: dict[str, Any]) -> dict[tuple[str, str], list[float]]:
    """The scores of each method and dataset, from the formula that the tables were made with."""
    seeds = MAKE["SEEDS"][: facts.get("count", 4)]
    found = {}
    for method in facts.get("methods", MAKE["METHODS"]):
        for dataset in facts.get("datasets", MAKE["DATASETS"]):
            scores = [MAKE["accuracy"](method, dataset or "cora", seed) for seed in seeds]
            found[method, dataset] = [sum(scores) / len(scores)] if facts.get("seeds") == "mean" else scores
    return found


def scores(runs: Runs, metric: str) -> dict[tuple[str, str], list[float]]:
    found: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for run in runs:
        found.setdefault((run.method, run.dataset), []).append((str(run.seed), run.scores[metric].value))
    return {key: [value for _, value in sorted(pairs)] for key, pairs in found.items()}


def test_there_are_at_least_twenty_and_every_file_has_an_origin() -> None:
    files = {path.name for path in FOLDER.iterdir()} - {"make.py", "origin.toml", "__pycache__"}
    assert files == set(ORIGINS)
    assert len(ORIGINS) >= 20
    assert sum(facts["made"] == "run" for facts in ORIGINS.values()) >= 20
    assert all(
        re.search(r"\d|doc|Weights|TensorBoard|transformers|papers|same|harness", f["origin"]) for f in ORIGINS.values()
    )


@pytest.mark.parametrize("name", READ)
def test_it_is_read_without_options(name: str) -> None:
    facts = ORIGINS[name]
    runs = load(FOLDER / name)
    wanted, found = expected(facts), scores(runs, facts["metric"])
    assert set(found) == set(wanted)
    for key, values in wanted.items():
        tolerance = 1e-7 if facts.get("single") else 5e-5 if facts.get("seeds") == "mean" else 1e-12
        assert found[key] == pytest.approx(values, abs=tolerance), key
    seeds = {run.seed for run in runs}
    if facts.get("seeds") == "none":
        assert "runs are not paired" in " ".join(runs.notes)
        assert len(seeds) == 12  # no seed occurs in two methods, so nothing can pair them
    else:
        assert seeds == ({0} if facts.get("seeds") == "mean" else set(range(facts.get("count", 4))))


@pytest.mark.parametrize("name", READ)
def test_what_was_recognised_is_a_note(name: str) -> None:
    table = aggregate(FOLDER / name)
    assert any(name.partition(".")[0] in note for note in table.to_dict()["notes"]), table.to_dict()["notes"]


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_the_option_that_reads_it(name: str) -> None:
    facts = ORIGINS[name]
    with pytest.raises(InputError, match=facts["refused"]):
        load(FOLDER / name)
    if "columns" in facts:
        assert len(load(FOLDER / name, columns=facts["columns"]).methods) > 2
    else:
        assert len(compare_published(FOLDER / name, n=4, metric="acc", direction="higher").methods) > 1


def test_folds_of_scikit_learn_are_its_split_scores() -> None:
    with (FOLDER / "sklearn_cv_results.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    found = scores(load(FOLDER / "sklearn_cv_results.csv", columns="method=C"), "value")
    for row in rows:
        assert found[row["param_C"], ""] == [float(row[f"split{fold}_test_score"]) for fold in range(5)]


def test_trials_of_a_search_are_methods_of_their_own() -> None:
    with (FOLDER / "optuna_search.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    runs = load(FOLDER / "optuna_search.csv", columns={"method": "params_model+params_lr"})
    wanted = {f"{row['params_model']}, {row['params_lr']}": float(row["value"]) for row in rows}
    assert {run.method: run.scores["value"].value for run in runs} == wanted


def test_lm_eval_has_a_run_for_each_task() -> None:
    runs = load([FOLDER / "lm_eval_small.json", FOLDER / "lm_eval_large.json"])
    found = {(run.method, run.dataset): run.scores["acc"].value for run in runs}
    assert found == pytest.approx(
        {
            ("lab/small", "arc_easy"): 0.4,
            ("lab/small", "hellaswag"): 0.45,
            ("lab/large", "arc_easy"): 0.6,
            ("lab/large", "hellaswag"): 0.65,
        }
    )


def test_means_of_a_group_have_their_counts() -> None:
    found = compare_published(FOLDER / "groupby.csv", metric="acc", direction="higher")
    facts = ORIGINS["pandas_index.csv"]
    for (method, dataset), values in expected(facts).items():
        mean = found[method, dataset]
        assert mean.n == 4
        assert mean.mean == pytest.approx(sum(values) / 4)
        assert mean.std**2 == pytest.approx(sum((v - mean.mean) ** 2 for v in values) / 3)


def test_a_bad_file_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    shutil.copytree(FOLDER / "lightning", tmp_path / "logs")
    (tmp_path / "logs" / "bench" / "version_0" / "metrics.csv").write_bytes(b"epoch,step,test_acc\n0,1,caf\xe9\n")
    (tmp_path / "logs" / "broken.csv").write_text("a,b\n1\n")
    runs = load(tmp_path / "logs")
    assert len(runs) == 5
    (said,) = [note for note in runs.notes if "could not be read" in note]
    assert "version_0" in said
    assert "Latin-1" in said
    assert "broken.csv" in said
