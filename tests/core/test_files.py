"""Files are written completely or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from graphgauge.core.archive import write_archive
from graphgauge.core.disk import atomic_path, write_text
from graphgauge.core.errors import InputError


def fail_halfway(path: Path) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError("disk on fire")


def test_a_failing_writer_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="on fire"):
        fail_halfway(tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []


def test_a_failing_writer_leaves_what_was_there(tmp_path: Path) -> None:
    write_text(tmp_path / "x.json", "old")
    with pytest.raises(RuntimeError, match="on fire"):
        fail_halfway(tmp_path / "x.json")
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
    assert (tmp_path / "x.json").read_text() == "old"


def test_a_state_that_cannot_be_saved_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Object arrays"):
        write_archive(tmp_path / "x.npz", "ranking", {}, {"bad": np.array([object()])})
    assert list(tmp_path.iterdir()) == []


def test_folders_are_made_and_suffixes_kept(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "a" / "b" / "x.parquet") as temporary:
        assert temporary.suffix == ".parquet"
        assert temporary.parent == tmp_path / "a" / "b"
        temporary.write_text("ok")
    assert (tmp_path / "a" / "b" / "x.parquet").read_text() == "ok"


@pytest.mark.parametrize("place", ["folder", "file/below", "x" * 300, "nul\0here"])
def test_what_cannot_be_written_says_so(place: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        write_text(tmp_path / place, "x")
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "file"}


def test_files_are_as_readable_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: write_text(tmp_path / f"{number}.txt", "x"), range(64)))
        assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o640}
        assert os.umask(0o027) == 0o027  # and no thread has changed it for the others
    finally:
        os.umask(before)


def test_many_writers_of_one_file(tmp_path: Path) -> None:
    texts = [str(number) * 100_000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda text: write_text(tmp_path / "x.txt", text), texts))
    assert (tmp_path / "x.txt").read_text() in texts
    assert len(list(tmp_path.iterdir())) == 1


def test_killed_in_the_middle(tmp_path: Path) -> None:
    """The target is never half there, whatever happens to the process."""
    code = (
        "import sys, time; from graphgauge.core.disk import atomic_path\n"
        "with atomic_path(sys.argv[1]) as path:\n"
        "    path.write_text('half'); print('writing', flush=True); time.sleep(60)\n"
    )
    target = tmp_path / "x.json"
    with subprocess.Popen([sys.executable, "-c", code, str(target)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        time.sleep(0.05)
        process.kill()
    assert not target.exists()
