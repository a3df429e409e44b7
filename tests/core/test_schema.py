"""Result files of others are read with suspicion, and written where their names say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import graphgauge

from graphgauge import load, ranking
from graphgauge.core.errors import InputError
from graphgauge.core.evaluation import Run
from graphgauge.core.files import file_part, result_path

RANDOM = np.random.default_rng(0)
POS, NEG = RANDOM.integers(0, 9, 30).astype(float), RANDOM.integers(0, 7, (30, 6)).astype(float)


def test_an_edited_file_ends_commands_with_3_and_verify_with_1(tmp_path: Path) -> None:
    path = ranking.evaluate(POS, NEG).save(tmp_path / "x.json", method="m", dataset="d", seed=0)
    path.write_text(path.read_text().replace('"method": "m"', '"method": "ours"'))
    for command, code in ((["aggregate"], 3), (["compare", "--metric", "mrr"], 3), (["verify"], 1)):
        done = graphgauge(*command, "x.json", cwd=tmp_path)
        assert done.returncode == code, done.stderr
        assert "x.json" in done.stdout + done.stderr
        assert "root does not match" in done.stdout + done.stderr


# ------------------------------------------------------------------- hostile files


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"3",
        b'"x"',
        b"\xff\xfe{}",
        b"\xef\xbb\xbf{}",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b"NaN",
        b'{"schema": "graphgauge/result/3"}',
        b'{"schema": NaN}',
        b"1" * 5000,
        b'{"schema": "graphgauge/result/1"}',
        b'{"schema": "graphgauge/result/1", "run": 3}',
        b'{"schema": "graphgauge/result/2"}',
        b'{"schema": "graphgauge/result/2", "run": 3}',
    ],
)
def test_what_is_no_result_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < 500 + len(str(path))


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load(tmp_path / "none.json")
    with pytest.raises(InputError):
        load(tmp_path)


# --------------------------------------------------------------------------- paths


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../../x",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "a\0b",
        "x" * 500,
        "字" * 300,
        "é" * 90,
        ".hidden",
        "a b",
        "con:1",
        "\ud800",
        "~root",
        "-rf",
        "naïve",
        "$(x)",
        "🙂" * 100,
        "a\nb",
        None,
        3,
        1.5,
    ],
)
def test_default_path_stays_in_its_folder(name: Any, tmp_path: Path) -> None:
    path = result_path(tmp_path, "ranking", Run(method=name, dataset=name, seed=name))
    assert path.parent.parent.parent == tmp_path
    assert path.parent.name == "ranking"
    assert path.name.startswith("metrics_")
    assert all(part not in ("", ".", "..") and len(part.encode()) <= 255 for part in path.relative_to(tmp_path).parts)
    path.parent.mkdir(parents=True)
    path.write_text("x")
    assert path.resolve().is_relative_to(tmp_path.resolve())


def test_different_names_never_share_a_path() -> None:
    names = [
        "a/b",
        "a-b",
        "a b",
        "a\0b",
        "",
        "~",
        ".x",
        "x",
        "..x",
        "y" * 80,
        "y" * 81,
        "y" * 82,
        "none",
        "字" * 40,
        "字" * 41,
    ]
    parts = [file_part(name) for name in names]
    assert len(set(parts)) == len(parts)
    assert file_part("wn18rr") == "wn18rr"
    assert file_part(None) == "none"
