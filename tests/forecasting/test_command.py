"""`graphgauge forecasting` as a user meets it: arrays, shards and long tables give what the library says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.command import graphgauge
from tests.forecasting.conftest import Forecasts

from graphgauge import forecasting
from graphgauge.core.errors import InputError, OptionError
from graphgauge.old.cli.family import family_command
from graphgauge.old.cli.merge import command as merge
from graphgauge.old.io.tables import write_table

command = family_command("forecasting")
SENSORS = np.array(["s1", "s2", "s3", "s4", "s5"])


@pytest.fixture
def files(tmp_path: Path, forecasts: Forecasts) -> Path:
    for name, array in (("y", forecasts.y), ("mean", forecasts.mean), ("std", forecasts.std)):
        np.save(tmp_path / f"{name}.npy", array)
        for shard in range(3):
            np.save(tmp_path / f"{name}-{shard}.npy", array[20 * shard : 20 * shard + 20])
    order = np.random.default_rng(0).permutation(forecasts.y.size)
    step, horizon, node = (index.ravel()[order] for index in np.indices(forecasts.y.shape))
    columns = {"id": SENSORS[node], "time": 5 * step, "horizon": 3 * horizon + 3}
    columns |= {name: getattr(forecasts, name).ravel()[order] for name in ("y", "mean", "std")}
    for kind in ("csv", "parquet"):
        write_table(tmp_path / f"table.{kind}", columns)
    return tmp_path


def run(*arguments: Any) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def arrays(folder: Path, shard: str = "") -> list[str]:
    return [
        part
        for name, flag in (("y", "--true"), ("mean", "--pred"), ("std", "--std"))
        for part in (flag, str(folder / f"{name}{shard}.npy"))
    ]


def values(outcome: Result) -> dict[str, float]:
    assert outcome.exit_code == 0, (outcome.output, outcome.exception)
    return {entry["key"]: entry["value"] for entry in json.loads(outcome.stdout)["results"]}


def test_what_the_library_says(files: Path, forecasts: Forecasts) -> None:
    expected = forecasting.evaluate(**forecasts.arguments)
    found = values(run(*arrays(files), "--format", "json"))
    assert found == {key: result.value for key, result in expected.items()}


def test_shards_and_tables(files: Path, forecasts: Forecasts) -> None:
    expected = forecasting.evaluate(**forecasts.arguments)
    streamed = [arrays(files, "-*"), ["--table", str(files / "table.csv")], ["--table", str(files / "table.parquet")]]
    for given in streamed:
        outcome = run(*given, "--format", "json", "--by", "node,horizon")
        found = values(outcome)
        assert list(found) == list(expected)
        for key, value in found.items():
            # Bins of spread are those of the histogram where the array is not whole.
            assert value == pytest.approx(expected[key].value, rel=0.2 if key in ("ece", "ence") else 1e-15), key
        content = json.loads(outcome.stdout)
        by_axis = content["breakdowns"]
        assert by_axis["node"]["rmse"] == pytest.approx(expected.by("node")["rmse"].tolist(), rel=1e-15)
        interval = next(entry["interval"] for entry in content["results"] if entry["key"] == "mae")
        assert interval["low"] == pytest.approx(expected["mae"].ci.low, rel=1e-12)
    assert by_axis["node"]["node"] == SENSORS.tolist()
    assert by_axis["horizon"]["horizon"] == [3, 6, 9, 12]


def test_own_options(files: Path, forecasts: Forecasts) -> None:
    np.save(files / "mask.npy", forecasts.y > 8)
    np.save(files / "history.npy", forecasts.y[:, 0])
    found = values(
        run(
            *arrays(files),
            "--mask",
            files / "mask.npy",
            "--coverage",
            "0.9",
            "--bins",
            4,
            "--naive",
            files / "history.npy",
            "--season",
            2,
            "--metrics",
            "mae,coverage_90,ece,mase",
            "--format",
            "json",
        )
    )
    expected = forecasting.evaluate(
        **forecasts.arguments,
        mask=forecasts.y > 8,
        coverage=0.9,
        bins=4,
        naive=forecasts.y[:, 0],
        season=2,
        metrics=["mae", "coverage_90", "ece", "mase"],
    )
    assert found == {key: result.value for key, result in expected.items()}
    text = run(*arrays(files), "--by", "horizon", "--horizons", "1,4").output
    assert "by horizon" in text
    assert "by node" not in text


def test_quantiles_and_samples(files: Path, forecasts: Forecasts) -> None:
    rng = np.random.default_rng(1)
    np.save(files / "samples.npy", forecasts.mean[..., None] + rng.normal(size=(*forecasts.y.shape, 9)))
    np.save(files / "quantiles.npy", forecasts.mean[..., None] + np.array([-1.0, 0, 1]))
    true = ["--true", files / "y.npy", "--format", "json"]
    found = values(run(*true, "--samples", files / "samples.npy"))
    assert found["crps"] == forecasting.crps(forecasts.y, samples=np.load(files / "samples.npy"))
    found = values(run(*true, "--quantiles", files / "quantiles.npy", "--levels", "0.25,0.5,0.75"))
    levels = (0.25, 0.5, 0.75)
    assert found["pinball"] == forecasting.pinball(forecasts.y, np.load(files / "quantiles.npy"), levels)


@pytest.mark.parametrize("placed", [True, False])
def test_states_are_merged(files: Path, forecasts: Forecasts, placed: bool) -> None:
    for shard in range(3):
        start = ["--start", 20 * shard] if placed else []
        outcome = run(*arrays(files, f"-{shard}"), "--save-state", files / f"{shard}.npz", "--quiet", *start)
        assert outcome.exit_code == 0, outcome.output
    merged = CliRunner().invoke(merge, [*(str(files / f"{shard}.npz") for shard in range(3)), "--format", "json"])
    assert values(merged)["nll"] == pytest.approx(
        forecasting.nll(forecasts.y, forecasts.mean, forecasts.std), rel=1e-15
    )
    mae = next(entry for entry in json.loads(merged.stdout)["results"] if entry["key"] == "mae")
    if placed:
        whole = forecasting.evaluate(**forecasts.arguments)["mae"]
        assert mae["interval"]["low"] == pytest.approx(whole.ci.low, rel=1e-12)
    else:
        assert "interval" not in mae
        assert mae["no_interval"].startswith("the order of the batches in time is not known")


# One call of each form.
CALLS = {
    "a point forecast": ["--true", "y.npy", "--pred", "mean.npy"],
    "--std": ["--true", "y.npy", "--pred", "mean.npy", "--std", "std.npy"],
    "--quantiles": ["--true", "y.npy", "--quantiles", "quantiles.npy", "--levels", "0.25,0.5,0.75"],
    "--samples": ["--true", "y.npy", "--samples", "samples.npy"],
    "--table": ["--table", "table.csv"],
    "--table without a column std": ["--table", "point.csv"],
}


@pytest.fixture
def forms(files: Path, forecasts: Forecasts, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(files)
    np.save("quantiles.npy", forecasts.mean[..., None] + np.array([-1.0, 0, 1]))
    np.save("samples.npy", forecasts.mean[..., None] + np.random.default_rng(1).normal(size=(*forecasts.y.shape, 9)))
    Path("point.csv").write_text("id,time,y,mean\na,1,1,3\na,2,2,3\n")
    return files


@pytest.mark.parametrize("form", list(CALLS))
def test_every_form_can_be_called(forms: Path, form: str) -> None:
    assert run(*CALLS[form], "--metrics", "mae").exit_code == 0


@pytest.mark.parametrize("extra", [["--coverage", "0.7"], ["--bins", "7"]])
def test_a_table_without_std_refuses_what_needs_it(forms: Path, extra: list[str]) -> None:
    """Only its columns show which form it has."""
    outcome = run(*CALLS["--table without a column std"], *extra)
    assert isinstance(outcome.exception, OptionError)
    assert f"a table without a column std does not take {extra[0][2:]}" in str(outcome.exception)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--start", "5"], "--start needs --save-state"),
        (["--season", "2"], "--season needs --naive"),
        (["--horizons", "1"], "--horizons needs --by horizon"),
        (["--horizons", "1", "--by", "node"], "--horizons needs --by horizon"),
    ],
)
def test_options_that_need_another(forms: Path, extra: list[str], message: str) -> None:
    for form in ("--std", "--table"):
        outcome = run(*CALLS[form], *(extra if form == "--std" or "--start" not in extra else ["--season", "2"]))
        assert isinstance(outcome.exception, OptionError), outcome.output
    assert message in str(run(*CALLS["--std"], *extra).exception)


def test_refusals_have_an_exit_code_also_in_a_study(forms: Path) -> None:
    def exits(*arguments: str, message: str) -> int:
        done = graphgauge(*arguments)
        assert "Traceback" not in done.stderr
        assert message in done.stderr, done.stderr
        return done.returncode

    assert (
        exits("forecasting", "--table", "table.csv", "--mask", "nosuch.npy", message="a table does not take --mask")
        == 2
    )
    Path("study.toml").write_text(
        'schema = 1\nname = "s"\n[[evaluate]]\nfamily = "forecasting"\nmethods = ["m"]\ndatasets = ["d"]\nseeds = [0]\n'
        'table = "table.csv"\nmask = "nosuch.npy"\n'
    )
    message = "line 9: a table does not take mask"
    assert exits("run", "study.toml", message=message) == 2


@pytest.mark.parametrize("key", ["coverage_73", "interval_score_73", "mae"])
def test_one_answer_through_every_door(files: Path, key: str) -> None:
    """One file, shards, a saved state and a table count what is asked, also at levels that only the key names."""
    doors = [
        arrays(files),
        arrays(files, "-*"),
        [*arrays(files), "--save-state", str(files / "state.npz")],
        ["--table", str(files / "table.csv")],
        ["--table", str(files / "table.parquet")],
        ["--table", str(files / "table.csv"), "--save-state", str(files / "state.npz")],
    ]
    found = [values(run(*door, "--metrics", key, "--format", "json", "--quiet")) for door in doors]
    assert [list(each) for each in found] == [[key]] * len(doors)
    assert [each[key] for each in found] == pytest.approx([found[0][key]] * len(doors), rel=1e-14)
    merged = CliRunner().invoke(merge, [str(files / "state.npz"), "--metrics", f"{key},rmse", "--format", "json"])
    assert values(merged)[key] == pytest.approx(found[0][key], rel=1e-14)


def test_null_values_through_every_door(files: Path) -> None:
    """A null value that float32 cannot hold exactly, in the truth's own type."""
    rng = np.random.default_rng(5)
    y = rng.normal(size=(60, 4, 5)).astype(np.float32)
    y[::4] = -999.9
    np.save(files / "holes.npy", y)
    np.save(files / "flat.npy", np.zeros(y.shape))
    step, horizon, node = (index.ravel() for index in np.indices(y.shape))
    columns = {"id": node, "time": step, "horizon": horizon + 1, "y": y.ravel(), "mean": np.zeros(y.size)}
    write_table(files / "holes.parquet", columns)
    expected = float(np.abs(y[y > -900].astype(np.float64)).mean())
    given = ["--true", files / "holes.npy", "--pred", files / "flat.npy"]
    for door in (given, [*given, "--save-state", files / "s.npz"], ["--table", files / "holes.parquet"]):
        outcome = run(*door, "--null-value", "-999.9", "--metrics", "mae", "--format", "json", "--quiet")
        assert values(outcome)["mae"] == pytest.approx(expected, rel=1e-12)
        assert json.loads(outcome.stdout)["conventions"]["null_value"] == "-999.9"


def test_a_shard_that_is_saved_twice_is_not_merged_twice(files: Path) -> None:
    for start in ([], ["--start", "20"]):
        for name in ("one", "two"):
            run(*arrays(files, "-1"), "--save-state", files / f"{name}.npz", "--quiet", *start)
        merged = CliRunner().invoke(merge, [str(files / f"{name}.npz") for name in ("one", "two")])
        assert isinstance(merged.exception, InputError)
        assert ("time steps 20 to 39 were already counted" if start else "both states have") in str(merged.exception)
    for name in ("one", "two"):
        run("--table", files / "table.csv", "--save-state", files / f"{name}.npz", "--quiet")
    merged = CliRunner().invoke(merge, [str(files / f"{name}.npz") for name in ("one", "two")])
    assert isinstance(merged.exception, InputError)


def test_parquet_columns_are_matched(files: Path) -> None:
    y, mean = np.random.default_rng(6).normal(size=(2, 40, 3))
    write_table(files / "y.parquet", dict(zip("abc", y.T, strict=True)))
    write_table(files / "turned.parquet", dict(zip("cab", mean.T[[2, 0, 1]], strict=True)))
    write_table(files / "other.parquet", dict(zip("abd", mean.T, strict=True)))
    given = [
        "--true",
        files / "y.parquet",
        "--axes",
        "time,node",
        "--by",
        "node",
        "--format",
        "json",
        "--metrics",
        "mae",
    ]
    outcome = run(*given, "--pred", files / "turned.parquet")
    assert values(outcome)["mae"] == pytest.approx(np.abs(y - mean).mean(), rel=1e-14)
    assert json.loads(outcome.stdout)["breakdowns"]["node"]["node"] == ["a", "b", "c"]
    refused = run(*given, "--pred", files / "other.parquet")
    assert "y_pred: its labels along node differ from those of y_true: it has 'd'" in str(refused.exception)


def test_result_file_gate_and_figure(files: Path) -> None:
    outcome = run(
        *arrays(files),
        "-o",
        files / "result.json",
        "--flat",
        files / "flat.json",
        "--by",
        "node",
        "--method",
        "gcn",
        "--gate",
        "coverage_95.low >= 0.9",
        "--figure",
        files / "figure.svg",
    )
    assert outcome.exit_code == 0, (outcome.output, outcome.exception)
    content = json.loads((files / "result.json").read_text())
    assert content["status"] == "ok"
    assert [entry["name"] for entry in content["receipt"]["inputs"]] == ["true", "pred", "std"]
    assert len(json.loads((files / "flat.json").read_text())["mae_per_node"]) == 5
    assert (files / "figure.svg").read_text().lstrip().startswith("<?xml")
    assert run(*arrays(files), "--gate", "mae <= 0.1").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (["--pred", "mean.npy"], OptionError, "--true not given"),
        ([], OptionError, "nothing to evaluate. Give one form: --true and --pred;"),
        (["--table", "table.csv", "--true", "y.npy"], OptionError, "a table does not take --true"),
        (["--table", "table.csv", "--start", "3"], OptionError, "a table does not take --start"),
        (["--table", "table.csv", "--axes", "time,node"], OptionError, "a table does not take --axes"),
        (
            ["--true", "y-0.npy", "--true", "y-0.npy", "--pred", "mean-0.npy", "--pred", "mean-1.npy"],
            InputError,
            "y-0.npy: is given twice",
        ),
        (["--table", "nameless.csv"], InputError, "column 'id' has empty cells"),
        (["--table", "timeless.csv"], InputError, "column 'time' has empty cells"),
        (["--table", "missing.csv"], InputError, "no such file"),
        (["--table", "y.npy"], InputError, "is not a table"),
        (["--table", "headless.csv"], InputError, "no column id or unique_id"),
        (["--table", "ragged.csv"], InputError, "line 3 has 3 cells, not 6"),
        (["--table", "text.csv"], InputError, "column 'y' has values that are not numbers"),
        (["--table", "negative.csv"], InputError, "std: 1 of 2 values are not above 0, the first at index (1, 0, 0)"),
        (["--table", "hole.csv"], InputError, "y_true: 1 of 2 values are NaN, the first at index (0, 0, 0)"),
        (["--table", "empty.csv"], InputError, "has no rows"),
        (["--table", "twice.csv"], InputError, "more than one row has id b, time 2, horizon 1"),
        (["--table", "bytes.csv"], InputError, "cannot be read"),
        (["--table", "broken.parquet"], InputError, "cannot be read"),
        (["--true", "y-*.npy", "--pred", "mean.npy"], InputError, "1 files of 60 steps, those of --true are 3 of 60"),
        (["--true", "y-*.npy", "--pred", "mean-*.npy", "--axes", "node,time,horizon"], OptionError, "first axis"),
        (["--true", "y.npy", "--pred", "mean.npy", "--axes", "time,space,node"], OptionError, "unknown axis 'space'"),
        (["--true", "y.npy", "--pred", "mean.npy", "--std", "mean-0.npy"], InputError, "std: expected shape"),
    ],
)
def test_errors(
    files: Path, arguments: list[str], kind: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    head = "id,time,horizon,y,mean,std\n"
    texts = {
        "headless": "1,2,3\n4,5,6\n",
        "ragged": head + "a,1,1,2,3,1\na,2,1\n",
        "text": head + "a,1,1,two,3,1\n",
        "negative": head + "a,1,1,2,3,1\na,2,1,2,3,-1\n",
        "hole": head + "a,1,1,,3,1\na,2,1,2,3,1\n",
        "empty": head,
        "nameless": head + "a,1,1,2,3,1\n,2,1,2,3,1\n",
        "timeless": head + "a,1,1,2,3,1\na,,1,2,3,1\n",
        "twice": head + "b,2,1,2,3,1\na,2,1,2,3,1\nb,1,1,2,3,1\nb,2,1,2,4,1\n",
    }
    for name, text in texts.items():
        Path(f"{name}.csv").write_text(text)
    Path("bytes.csv").write_bytes(b"id,time\n\xff\xfe,3\n")
    Path("broken.parquet").write_bytes(b"PAR1 nonsense")
    outcome = run(*arguments)
    assert isinstance(outcome.exception, kind), (outcome.exception, outcome.output)
    assert message in str(outcome.exception)


def test_empty_cells_of_a_table_can_be_left_out(files: Path) -> None:
    (files / "hole.csv").write_text("id,time,y,mean\na,1,,3\na,2,2,3\nb,2,1,1\n")
    found = values(run("--table", files / "hole.csv", "--nan", "omit", "--format", "json", "--metrics", "mae,rmse"))
    assert found["mae"] == 0.5


def test_times_whose_order_is_unknown_are_refused(files: Path) -> None:
    for columns in ((), ("--columns", "id=id,time=time,y=y,mean=mean")):
        for times in (("9", "10 am"), ("01.02.2026", "15.01.2026"), ("t1", "t10")):
            rows = "".join(f"a,{time},1,3\n" for time in times)
            (files / "text.csv").write_text("id,time,y,mean\n" + rows)
            outcome = run("--table", files / "text.csv", *columns, "--metrics", "mae")
            assert isinstance(outcome.exception, InputError)
            assert "whose order is unknown" in str(outcome.exception)
        for times in (("2026-01-31", "2026-02-01"), ("2026Q1", "2026Q2"), ("9", "10")):
            rows = "".join(f"a,{time},1,3\n" for time in times)
            (files / "text.csv").write_text("id,time,y,mean\n" + rows)
            assert run("--table", files / "text.csv", *columns, "--metrics", "mae").exception is None


def test_the_command_is_registered_and_errors_are_one_paragraph(files: Path) -> None:
    arguments = ["forecasting", "--true", "y.npy", "--pred", "mean.npy", "--std", "mean-0.npy"]
    done = graphgauge(*arguments, cwd=files)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith("Error: std: expected shape (60, 4, 5), found (20, 4, 5).")
    assert "Traceback" not in done.stderr


def test_tables_by_horizon_show_the_distribution(files: Path) -> None:
    """Scores and coverage are among the columns that fit, next to the errors."""
    shown = run(*arrays(files), "--by", "horizon").output.partition("by horizon")[2]
    head = next(line for line in shown.splitlines() if line.strip().startswith("horizon")).split()
    assert head == ["horizon", "n", "mae", "rmse", "crps", "coverage_95"]
