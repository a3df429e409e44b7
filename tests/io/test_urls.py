"""Inputs behind URLs: the values and hashes of local files, nothing fetched unless asked, errors that name the URL."""

from __future__ import annotations

import http.server
import json
import threading
from functools import partial
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from graphgauge import forecasting, ranking, recovery, study
from graphgauge.cli.family import family_command
from graphgauge.core import extras
from graphgauge.core.errors import InputError, MissingExtraError, OptionError
from graphgauge.core.files import files_named, matching
from graphgauge.core.urls import Url, is_url
from graphgauge.io.hashing import HashIndex
from graphgauge.study.claim import Claim, Examiner


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Shards of scores with relations as text, in the working folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for number in range(3):
        np.save(f"pos-{number}.npy", rng.random(20 + number))
        np.save(f"neg-{number}.npy", rng.random((20 + number, 12)))
    Path("relation.csv").write_text("".join(f"{row % 2}\n" for row in range(63)))
    np.savez("both.npz", truth=np.triu(np.ones((4, 4)), 1), other=np.zeros(2))
    return tmp_path


@pytest.fixture
def memory(files: Path) -> str:
    """The same files in memory."""
    system = fsspec.filesystem("memory")
    for path in files.iterdir():
        system.pipe(f"/bucket/{path.name}", path.read_bytes())
    yield "memory://bucket"
    system.rm("/bucket", recursive=True)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The URLs that were opened, or looked for."""
    found: list[str] = []
    for name in ("open", "signature", "exists", "matching"):
        monkeypatch.setattr(Url, name, _recorded(found, getattr(Url, name)))
    return found


def _recorded(found, method):
    def recorded(self, *given):
        found.append(str(self))
        return method(self, *given)

    return recorded


def inputs_of(evaluation):
    return [(Path(entry["path"]).name, entry["hash"], entry["bytes"]) for entry in evaluation.inputs()]


def scored(base: str, **options):
    join = (lambda name: name) if not base else (lambda name: f"{base}/{name}")
    return ranking.evaluate_files(
        pos_scores=join("pos-*.npy"), neg_scores=join("neg-*.npy"), groups={"relation": join("relation.csv")}, **options
    )


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_values_and_receipts_are_those_of_files(files: Path, memory: str, kind: str):
    base = memory if kind == "memory" else f"file://{files}"
    found, truth = scored(base), scored("")
    assert found.to_flat() == truth.to_flat()
    assert inputs_of(found) == inputs_of(truth)
    assert all(is_url(entry["path"]) for entry in found.inputs())


def test_shards_are_streamed_once_and_hashed_on_the_way(memory: str, asked: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("graphgauge.io.sequential._BATCH_BYTES", 100)
    opened: list[str] = []
    monkeypatch.setattr(Url, "open", _recorded(opened, Url.open))
    evaluation = ranking.evaluate_files(pos_scores=f"{memory}/pos-1.npy", neg_scores=f"{memory}/neg-1.npy")
    before = len(opened)
    assert sorted(set(opened)) == [f"{memory}/neg-1.npy", f"{memory}/pos-1.npy"]
    assert opened.count(f"{memory}/neg-1.npy") == 2  # its head, and its rows
    assert [entry["hash"] for entry in evaluation.inputs()] == [
        HashIndex(Path.cwd()).hash(name) for name in ("pos-1.npy", "neg-1.npy")
    ]
    assert len(opened) == before


def test_other_inputs_are_copied_while_they_are_read(memory: str, files: Path, tmp_path_factory, monkeypatch):
    here = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(here))
    found = recovery.evaluate_files(true=f"{memory}/both.npz:truth", pred=f"{memory}/both.npz:truth")
    assert found["directed_shd"].value == 0
    (entry, _) = found.inputs()
    assert entry["path"] == f"{memory}/both.npz"
    assert entry["hash"] == HashIndex(files).hash("both.npz")
    assert list(here.iterdir()) == []


def test_a_table_and_shards_of_forecasts(files: Path):
    rng = np.random.default_rng(1)
    system = fsspec.filesystem("memory")
    y, mean = rng.random((2, 9, 2, 3))
    for number, rows in enumerate((slice(0, 5), slice(5, 9))):
        for name, array in (("y", y), ("mean", mean)):
            np.save(f"{name}-{number}.npy", array[rows])
            system.pipe(f"/f/{name}-{number}.npy", Path(f"{name}-{number}.npy").read_bytes())
    pq.write_table(pa.table({"id": ["a", "b"], "time": [0, 0], "y": [1.0, 2.0], "mean": [1.5, 2.0]}), "t.parquet")
    system.pipe("/f/t.parquet", Path("t.parquet").read_bytes())
    for one, other in (
        ({"true": "memory://f/y-*.npy", "pred": "memory://f/mean-*.npy"}, {"true": "y-*.npy", "pred": "mean-*.npy"}),
        ({"table": "memory://f/t.parquet"}, {"table": "t.parquet"}),
    ):
        found, truth = forecasting.evaluate_files(**one), forecasting.evaluate_files(**other)
        assert found.to_flat() == truth.to_flat()
        assert inputs_of(found) == inputs_of(truth)
    system.rm("/f", recursive=True)


@pytest.mark.parametrize(
    ("url", "kind", "said"),
    [
        ("memory://bucket/none.npy", InputError, r"memory://bucket/none\.npy: no such file\."),
        ("memory://bucket/none-*.npy", InputError, "no file matches this pattern"),
        ("memory://bucket/cut.npy", InputError, "is truncated, or longer"),
        ("memory://bucket/text.npy", InputError, "cannot be read"),
        ("memory://bucket/columns.npy", InputError, "is stored column by column"),
        ("memory://bucket/objects.npy", InputError, "contains Python objects"),
        ("memory://bucket/bad.csv", InputError, r"memory://bucket/bad\.csv: line 2 cannot be read"),
        ("never://bucket/x.npy", OptionError, "never:// is not a protocol"),
        ("https://user:secret@host/x.npy", OptionError, "contains a password, which results would publish"),
        ("https://host/x.npy?signature=secret", OptionError, "a part after [?] or #"),
    ],
)
def test_errors_name_the_url_and_no_secret(memory: str, files: Path, url: str, kind: type[Exception], said: str):
    system = fsspec.filesystem("memory")
    system.pipe("/bucket/cut.npy", (files / "neg-0.npy").read_bytes()[:-1])
    system.pipe("/bucket/text.npy", b"no array")
    np.save("columns.npy", np.asfortranarray(np.ones((3, 2))))
    np.save("objects.npy", np.array([{}, 1], object), allow_pickle=True)
    for name in ("columns.npy", "objects.npy"):
        system.pipe(f"/bucket/{name}", Path(name).read_bytes())
    system.pipe("/bucket/bad.csv", b"a,b\n1,x\n")
    with pytest.raises(kind, match=said) as error:
        ranking.evaluate_files(pos_scores="pos-0.npy", neg_scores=url)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("module", "url", "said"),
    [
        ("fsspec", "memory://bucket/x.npy", r"reading URLs needs fsspec.*graphgauge\[remote\]"),
        ("s3fs", "s3://bucket/x.npy", "reading s3:// files needs s3fs. Install it with: pip install s3fs"),
    ],
)
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, module: str, url: str, said: str):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    fsspec.filesystem.__globals__["_registry"].pop("s3", None)
    with pytest.raises(MissingExtraError, match=said):
        Url(url).exists()
    assert extras.need("json", "nothing") is json


def test_a_file_that_changes_is_noticed(memory: str, monkeypatch: pytest.MonkeyPatch):
    found = Url(f"{memory}/pos-0.npy").signature()
    fsspec.filesystem("memory").pipe("/bucket/pos-0.npy", (Path("pos-0.npy")).read_bytes())
    assert Url(f"{memory}/pos-0.npy").signature() != found
    index = HashIndex(Path.cwd())
    digest = index.hash(f"{memory}/pos-0.npy")
    monkeypatch.setattr("graphgauge.io.hashing._hash_of_content", lambda path: "read again")
    assert index.hash(f"{memory}/pos-0.npy") == digest  # known while the version is the same
    monkeypatch.setattr(Url, "signature", lambda self: (288, 0, 0, 0))
    assert index.hash(f"{memory}/pos-0.npy") == "read again"  # a server that tells no versions
    assert index.hash(f"{memory}/pos-0.npy") == "read again"


def test_patterns_and_names(memory: str):
    assert [Path(url).name for url in matching(f"{memory}/neg-*.npy")] == ["neg-0.npy", "neg-1.npy", "neg-2.npy"]
    assert list(files_named(f"{memory}/both.npz:truth", Path.cwd())) == [f"{memory}/both.npz"]
    assert list(files_named(f"{memory}/none.npy", Path.cwd())) == []
    assert not any(map(is_url, ("pos.npy", "C:/pos.npy", "c://pos.npy", "a:b", "x.npz:member", "://x", "s3:/b/x")))


def test_nothing_is_asked_without_a_url(files: Path, asked: list[str]):
    scored("", save_state="state.npz")
    assert asked == []


@pytest.fixture
def result(files: Path) -> Path:
    given = ["--pos-scores", f"file://{files}/pos-*.npy", "--neg-scores", f"file://{files}/neg-*.npy"]
    ran = CliRunner().invoke(family_command("ranking"), [*given, "--output", "theirs/result.json", "--quiet"])
    assert ran.exit_code == 0, ran.output
    return files / "theirs" / "result.json"


def test_a_result_of_somebody_else_asks_no_server(result: Path, asked: list[str]):
    refused = Examiner().examined(result)
    assert refused.status == "unchecked"
    assert refused.detail.endswith("is not fetched (--fetch does)")
    for content in (json.loads(result.read_text()), _without_inputs(result)):
        content["receipt"]["command"]["folder"] = "."
        result.write_text(json.dumps(content))
        assert Examiner(trust_code=True).examined(result).status in ("unchecked", "failed", "damaged")
        assert Examiner().examined(result).status != "equal"
        assert not isinstance(Examiner().examined(result), Claim)
    assert asked == []


def _without_inputs(result: Path):
    """A forged receipt that names no inputs: the options still name the URLs."""
    content = json.loads(result.read_text())
    content["receipt"]["inputs"] = []
    return content


def test_it_is_recomputed_if_asked_for(result: Path):
    (verdict,) = study.verify(result, fetch=True, jobs=1)
    assert verdict.status == "equal", verdict
    np.save("neg-2.npy", np.zeros((22, 12)))
    (verdict,) = study.verify(result, fetch=True, jobs=1)
    assert verdict.status == "failed"
    assert "inputs changed" in verdict.detail


def test_a_study_knows_whether_a_url_changed(files: Path):
    Path("study.toml").write_text(
        f'schema = 1\nname = "urls"\n[[evaluate]]\nfamily = "ranking"\nmethod = "a"\ndataset = "d"\n'
        f'pos_scores = "file://{files}/pos-*.npy"\nneg_scores = "file://{files}/neg-*.npy"\n'
    )
    assert [done.status for done in study.run("study.toml", jobs=1).done] == ["ok"]
    assert not study.run("study.toml", jobs=1).done
    np.save("neg-1.npy", np.zeros((21, 12)))
    outcome = study.run("study.toml", jobs=1)
    assert "neg-1.npy changed" in outcome.plan.to_run[0].reason


def test_a_web_server(files: Path):
    pytest.importorskip("aiohttp", reason="fsspec reads http:// with aiohttp")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *given: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(files))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        found, truth = scored(base), scored("")
        assert found.to_flat() == truth.to_flat()
        assert inputs_of(found) == inputs_of(truth)
        with pytest.raises(InputError, match="no such file, or the server does not answer"):
            ranking.evaluate_files(pos_scores=f"{base}/none.npy", neg_scores=f"{base}/none.npy")
        server.shutdown()
