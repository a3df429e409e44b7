"""Code that a user names is imported from the working folder, too, and what it lacks is said."""

from __future__ import annotations

import sys
from asyncio import CancelledError
from pathlib import Path

import pytest

from graphgauge.core.errors import InputError, OptionError
from graphgauge.io.code import load_code, own_code


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def test_what_is_found(folder: Path) -> None:
    (folder / "made_here").mkdir()
    (folder / "made_here" / "inside.py").write_text("def load():\n    return 7\n")
    assert load_code("made_here.inside:load", folder)() == 7


@pytest.mark.parametrize(
    "factory",
    ["not_there_at_all:load", "not_there_at_all.inside:load", "json:nothing", "sys:path", "json", "a b:c", ":load"],
)
def test_what_is_not_there(factory: str, folder: Path) -> None:
    with pytest.raises(OptionError):
        load_code(factory, folder)


def test_what_the_module_itself_lacks_is_the_message_to_show(folder: Path) -> None:
    (folder / "lacking_module.py").write_text("import not_installed_anywhere\n")
    with pytest.raises(InputError, match=r"lacking_module:load: raised ModuleNotFoundError: .*not_installed_anywhere"):
        load_code("lacking_module:load", folder)


def test_code_that_raises_ends_in_one_line(folder: Path) -> None:
    (folder / "raising.py").write_text("raise RuntimeError('first\\nsecond')\n")
    with pytest.raises(InputError, match=r"raising:load: raised RuntimeError: first second") as caught:
        load_code("raising:load", folder)
    assert isinstance(caught.value.__cause__, RuntimeError)
    (folder / "refusing.py").write_text("from graphgauge.core.errors import OptionError\nraise OptionError('no')\n")
    with pytest.raises(OptionError, match="no"):
        load_code("refusing:load", folder)


class Odd(BaseException):
    """No Exception, as what ends tasks and tests of other libraries."""


@pytest.mark.parametrize(
    "error", [SystemExit(0), SystemExit(None), SystemExit("done"), CancelledError(), GeneratorExit(), Odd("odd")]
)
def test_code_that_ends_its_process_is_code_that_failed(error: BaseException) -> None:
    with (
        pytest.raises(InputError, match=rf"mine\.call: raised {type(error).__name__}") as caught,
        own_code("mine.call"),
    ):
        raise error
    assert caught.value.__cause__ is error


def test_an_interrupt_stays_one() -> None:
    with pytest.raises(KeyboardInterrupt), own_code("mine.call"):
        raise KeyboardInterrupt


def test_a_module_that_exits(folder: Path) -> None:
    (folder / "leaving_module.py").write_text("import sys\nsys.exit(0)\n")
    with pytest.raises(InputError, match="leaving_module:load: raised SystemExit"):
        load_code("leaving_module:load", folder)
