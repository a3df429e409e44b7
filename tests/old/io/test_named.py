"""Which files a value names, before and after they are placed below a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

from graphgauge.core.errors import OptionError
from graphgauge.old.core.fields import Files, fields_of, located, read_all
from graphgauge.old.core.files import files_named
from graphgauge.old.io.arrays import open_arrays


def test_files_in_linked_folders_are_named(tmp_path: Path) -> None:
    """A new file there is a new input. Links in a circle end."""
    for name in ("log/a/one.npy", "elsewhere/b/two.npy"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    (tmp_path / "log" / "linked").symlink_to("../elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to("../log")
    (tmp_path / "log" / "itself").symlink_to(".")
    (tmp_path / "log" / "gone").symlink_to("nowhere")
    assert sorted(files_named("log", tmp_path)) == ["log/a/one.npy", "log/linked/b/two.npy"]


@pytest.mark.parametrize("name", ["s3://bucket/x.npy", "https://example.org/x.npy", "memory://x-*.npy", "File://x.npy"])
def test_urls_are_refused(name: str) -> None:
    with pytest.raises(OptionError, match=r"is a URL\. Download the file first"):
        read_all(fields_of(reader), {"parts": name})


def reader(*, parts: Annotated[str, Files("")]) -> None: ...


@pytest.mark.parametrize("folder", ["plain", "odd[1]", "what?*"])
@pytest.mark.parametrize("name", ["a.npy", "[a].npy", "a[1].npz:one", "a-*.npy", "a,b=c.npy", "{a}.npy"])
def test_placed_names_mean_the_same_files(folder: str, name: str, tmp_path: Path) -> None:
    place = tmp_path / folder
    place.mkdir()
    for number, file in enumerate(("a.npy", "[a].npy", "a-1.npy", "a-2.npy", "a,b=c.npy", "{a}.npy")):
        np.save(place / file, np.array([number]))
    np.savez(place / "a[1].npz", one=np.array([10]), two=np.array([11]))
    fields = fields_of(reader)
    placed = located(fields, {"parts": (name,)}, place)["parts"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        expected = [file.rows(0, 1).tolist() for file in open_arrays((name,))]
    assert [file.rows(0, 1).tolist() for file in open_arrays(placed)] == expected
