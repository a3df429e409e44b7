"""Errors say what, where and how to mend it, and survive being sent to another process."""

from __future__ import annotations

import importlib
import pickle

import pytest

from graphgauge.core import errors
from graphgauge.core.errors import InputError, MissingExtraError, OptionError, UnknownNameError, one_of
from graphgauge.core.extras import need


def test_parts_make_one_paragraph() -> None:
    error = InputError("3 values are NaN", where="pos_scores", fix="Repair the model.")
    assert str(error) == "pos_scores: 3 values are NaN. Repair the model."
    assert (error.what, error.where, error.fix) == ("3 values are NaN", "pos_scores", "Repair the model.")
    assert str(InputError("nothing")) == "nothing."
    assert "\n" not in str(error)


def test_exit_codes_and_kinds() -> None:
    assert (InputError.exit_code, OptionError.exit_code, MissingExtraError.exit_code) == (3, 2, 2)
    assert issubclass(InputError, ValueError)
    assert issubclass(MissingExtraError, ImportError)
    assert issubclass(UnknownNameError, KeyError)


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("expcted", "Did you mean 'expected'?"),
        ("mistic", "Did you mean 'optimistic', 'pessimistic' or 'realistic'?"),
        ("zzz", "Known: realistic, optimistic, pessimistic, expected."),
        ("", "Known: realistic, optimistic, pessimistic, expected."),
    ],
)
def test_unknown_names_suggest(name: str, ending: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        one_of("tie rule", name, ("realistic", "optimistic", "pessimistic", "expected"))
    assert str(caught.value) == f"unknown tie rule {name!r}. {ending}"


def test_one_of_gives_the_name_back() -> None:
    assert one_of("letter", "b", iter("abc")) == "b"
    with pytest.raises(UnknownNameError):
        one_of("letter", 3, "abc")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "error",
    [
        InputError("bad", where="here", fix="Mend it."),
        OptionError("bad"),
        UnknownNameError("metric", "mmr", ["mrr"]),
        MissingExtraError("torch", "torch", "a tensor"),
    ],
)
def test_errors_cross_processes(error: errors.GraphgaugeError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


# -------------------------------------------------------------------------- extras


def test_a_missing_extra_names_its_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(MissingExtraError) as caught:
        need("pyarrow.parquet", "reading parquet")
    assert str(caught.value) == "reading parquet needs pyarrow. Install it with: pip install 'graphgauge[arrow]'"


def test_what_is_missing_inside_an_extra_is_not_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise ModuleNotFoundError("No module named 'dateutil'", name="dateutil")

    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="dateutil"):
        need("pandas", "a data frame")


def test_an_extra_that_is_there() -> None:
    assert need("pandas", "a data frame").__name__ == "pandas"
