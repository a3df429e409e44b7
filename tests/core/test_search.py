"""The search for files: the same as glob's, and it ends."""

from __future__ import annotations

import glob
import time
from pathlib import Path

import pytest

from graphgauge.core.errors import InputError
from graphgauge.old.core.files import Search, files_named, matching, parse_json


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
    for text, root in ((pattern, tree), (f"{tree}/{pattern}", None)):
        found = matching(text, root)
        assert sorted(Path(path) for path in found) == sorted(Path(path) for path in glob.glob(text, root_dir=root))


def test_numbers_in_names_are_in_order_and_other_digits_are_no_numbers(tree: Path) -> None:
    assert matching("a/*.npy", tree) == ["a/x1.npy", "a/x2.npy", "a/x10.npy"]
    names = ["1²3.npy", "①.npy", "x³.npy", "٣.npy", "12.npy"]
    for name in names:
        (tree / "d" / name).write_text("1")
    assert {Path(path).name for path in matching("d/*.npy", tree)} == set(names)


@pytest.mark.parametrize("pattern", ["*/../" * 9 + "x*.npy", "*/../" * 30 + "a", "*/*/" * 9 + "x.npy", "*/" * 20])
def test_a_pattern_without_end_is_refused(tmp_path: Path, pattern: str) -> None:
    for number in range(8):
        (tmp_path / f"d{number}").mkdir()
        (tmp_path / f"d{number}/up").symlink_to(tmp_path)
    begin = time.perf_counter()
    with pytest.raises(InputError, match="looks at more than 20,000 names"):
        list(files_named(pattern, tmp_path, Search(20_000)))
    assert time.perf_counter() - begin < 10


def test_a_pattern_deeper_than_any_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="more than 100 folders"):
        matching("*/" * 600, tmp_path)
    assert matching("*" * 5000, tmp_path) == []


def test_folders_that_link_to_each_other_are_entered_once(tmp_path: Path) -> None:
    for one in range(12):
        (tmp_path / f"l{one}").mkdir()
        (tmp_path / f"l{one}/file").write_text("x")
        for other in range(12):
            (tmp_path / f"l{one}/k{other}").symlink_to(tmp_path / f"l{other}")
    (tmp_path / "l0/self").symlink_to(tmp_path)
    found = list(files_named(".", tmp_path))
    assert sorted((tmp_path / path).resolve() for path in found) == [
        tmp_path.resolve() / f"l{one}/file" for one in sorted(range(12), key=str)
    ]


@pytest.mark.parametrize("text", [b"1e400", b"[-1e999]", b'{"a": 1E+400}', b"1" * 400 + b".0", b"[0.1, 2e0400]"])
def test_numbers_beyond_all_floats_are_not_json(text: bytes) -> None:
    with pytest.raises(ValueError, match="too large"):
        parse_json(text)


@pytest.mark.parametrize("text", [b"1e308", b"[1e-400]", b"1e0300", b'"1e400"'])
def test_large_numbers_are(text: bytes) -> None:
    parse_json(text)
