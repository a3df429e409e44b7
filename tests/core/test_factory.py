"""Code that a user names is imported from the working folder, too, and what it lacks is said."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.factory import made


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def test_what_the_factory_returns(folder: Path) -> None:
    (folder / "made_here").mkdir()
    (folder / "made_here" / "inside.py").write_text("def load():\n    return 7\n")
    assert made("made_here.inside:load") == 7


@pytest.mark.parametrize(
    "factory", ["not_there_at_all:load", "not_there_at_all.inside:load", "json:nothing", "sys:path"]
)
def test_what_is_not_there(factory: str) -> None:
    with pytest.raises(OptionError):
        made(factory)


def test_what_the_module_itself_lacks_is_the_message_to_show(folder: Path) -> None:
    (folder / "lacking_module.py").write_text("import not_installed_anywhere\n")
    with pytest.raises(InputError, match=r"lacking_module:load: raised ModuleNotFoundError: .*not_installed_anywhere"):
        made("lacking_module:load")


def test_code_that_raises_ends_in_one_line(folder: Path) -> None:
    (folder / "raising.py").write_text("def load():\n    raise RuntimeError('first\\nsecond')\n")
    with pytest.raises(InputError, match=r"raising:load: raised RuntimeError: first second") as caught:
        made("raising:load")
    assert isinstance(caught.value.__cause__, RuntimeError)
    (folder / "refusing.py").write_text("from graphgauge.core.errors import OptionError\nraise OptionError('no')\n")
    with pytest.raises(OptionError, match="no"):
        made("refusing:load")
