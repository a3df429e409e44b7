"""Archives come back as written, equal contents are equal files, and what was changed is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphgauge.core.archive import archive_kind, read_archive, write_archive
from graphgauge.core.errors import InputError


def test_contents_come_back_and_equal_contents_are_equal_files(tmp_path: Path) -> None:
    arrays = {"a": np.arange(3), "names": np.array(["x", "yz"])}
    for name in ("one.npz", "two.npz"):
        write_archive(tmp_path / name, "example", {"seed": 3, "parts": ["é"]}, arrays)
    facts, back = read_archive(tmp_path / "one.npz", "example")
    assert facts == {"seed": 3, "parts": ["é"]}
    assert {name: values.tolist() for name, values in back.items()} == {"a": [0, 1, 2], "names": ["x", "yz"]}
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    assert archive_kind(tmp_path / "one.npz") == "example"


def test_other_kinds_changed_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.npz"
    write_archive(path, "example", {}, {"a": np.arange(3)})
    with pytest.raises(InputError, match="contains 'graphgauge/example/3'"):
        read_archive(path, "other")
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    np.savez(path, **{**arrays, "a": np.array([0, 1, 5])})
    with pytest.raises(InputError, match="changed after it was written"):
        read_archive(path, "example")
    np.savez(path, a=np.zeros(3))
    with pytest.raises(InputError, match=r"archive of (arrays|graphgauge)"):
        read_archive(path, "example")
    path.write_bytes(b"PK nothing")
    with pytest.raises(InputError, match=r"archive of (arrays|graphgauge)"):
        read_archive(path, "example")
    with pytest.raises(InputError, match="no such file"):
        read_archive(tmp_path / "none.npz", "example")
    np.savez(path, header=np.array([object()]))
    with pytest.raises(InputError, match=r"archive of (arrays|graphgauge)"):
        read_archive(path, "example")
