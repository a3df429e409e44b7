"""Patterns: the files that glob finds, by the numbers in their names; numbers of JSON."""

from __future__ import annotations

import glob
from pathlib import Path

import pytest

from graphgauge.core.disk import parse_json
from graphgauge.core.errors import InputError
from graphgauge.io.places import matching


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (
        "a/x1.npy",
        "a/x10.npy",
        "a/x2.npy",
        "b/x1.npy",
        "b/.hidden.npy",
        ".c/x1.npy",
        "x[1].npy",
        "d/e/f.npy",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    return tmp_path


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        "a/*.npy",
        "*/x1.npy",
        "./a/*.npy",
        "*/*",
        "*/../a/x?.npy",
        "[ab]/x[12].npy",
        "b/.*",
        "b/*",
        ".*/*",
        "a/*/",
        "*/",
        "none/*",
        "**/*.npy",
        "link/*.npy",
        "x[[]1].npy",
        "../*/a/x1.npy",
        "a//*.npy",
        "*/e/*",
    ],
)
def test_the_same_files_as_glob(tree: Path, pattern: str) -> None:
    expected = {Path(path) for path in glob.glob(pattern, root_dir=tree, recursive=True)}
    if not expected:
        with pytest.raises(InputError, match="no file matches"):
            matching(pattern, tree)
        return
    for text in (pattern, f"{tree}/{pattern}"):
        assert {tree / path for path in matching(text, tree)} == {tree / path for path in expected}


def test_numbers_in_names_are_in_order_and_other_digits_are_no_numbers(tree: Path) -> None:
    assert matching("a/*.npy", tree) == ["a/x1.npy", "a/x2.npy", "a/x10.npy"]
    names = ["1²3.npy", "①.npy", "x³.npy", "٣.npy", "12.npy"]
    for name in names:
        (tree / "d" / name).write_text("1")
    assert {Path(path).name for path in matching("d/*.npy", tree)} == set(names)


def test_a_pattern_deeper_than_any_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too many folders"):
        matching("*/" * 600, tmp_path)


@pytest.mark.parametrize("text", [b"1e400", b"[-1e999]", b'{"a": 1E+400}', b"1" * 400 + b".0", b"[0.1, 2e0400]"])
def test_numbers_beyond_all_floats_are_not_json(text: bytes) -> None:
    with pytest.raises(ValueError, match="too large"):
        parse_json(text)


@pytest.mark.parametrize("text", [b"1e308", b"[1e-400]", b"1e0300", b'"1e400"'])
def test_large_numbers_are(text: bytes) -> None:
    parse_json(text)
