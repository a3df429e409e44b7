"""Values that nobody means: empty, twice, too large, of NumPy. None is ignored, replaced by a default or a crash."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.doors.examples import FAMILIES, arguments, example, study_text, written

from graphgauge import generation
from graphgauge.core.errors import InputError, OptionError
from graphgauge.old.cli.family import family_command
from graphgauge.old.core.family import Family
from graphgauge.old.core.fields import Choice, Field, File, Number, Output, Several, Text, Whole
from graphgauge.study.parse import _AXES as AXES
from graphgauge.study.parse import read_study

FIELDS = [(declared, field) for declared in FAMILIES.values() for field in declared.fields.values()]
# Lists that multiply the evaluations of a study.
SEVERAL = [many for _, many in AXES.values()]


def of_kind(*kinds: type) -> list[Any]:
    """One field of a family for each kind of value."""
    found = {(declared.name, type(field.kind)): (declared, field) for declared, field in FIELDS}
    return [
        pytest.param(declared, field, id=f"{declared.name}-{field.name}")
        for declared, field in found.values()
        if isinstance(field.kind, kinds)
    ]


def refused_everywhere(declared: Family, field: Field, value: Any, folder: Path, command: bool = True) -> None:
    """With the name of the field, before anything is opened: no file is there."""
    others = {each.name: example(each) for each in declared.fields.values() if each.required and each is not field}
    with pytest.raises(OptionError, match=f"^{field.name}: "):
        declared.evaluate_files(**others, **{field.name: value})
    if command:
        texts = value if isinstance(value, list) else [value]
        words = [*arguments(declared, others), *(f"{field.flag}={text}" for text in texts)]
        with pytest.raises(OptionError, match=f"^{field.flag}: "):
            family_command(declared.name).main(words, standalone_mode=False)
    if field.name in written(declared) and field.name not in SEVERAL:
        (folder / "study.toml").write_text(study_text(declared, {**others, field.name: value}))
        with pytest.raises(InputError, match=rf"line \d+: {field.name}: "):
            read_study(folder / "study.toml")


@pytest.mark.parametrize(("declared", "field"), of_kind(File, Output))
@pytest.mark.parametrize("value", ["", "a\0b.npy"], ids=["empty", "null"])
def test_an_empty_name_of_a_file_is_refused(declared: Family, field: Field, value: str, tmp_path: Path) -> None:
    if value and not isinstance(field.kind, Output):
        return refused_everywhere(declared, field, value, tmp_path, command=False)
    return refused_everywhere(declared, field, value, tmp_path, command=not isinstance(field.kind, Output))


@pytest.mark.parametrize(("declared", "field"), of_kind(Several, Whole, Number, Choice, File, Text))
def test_an_empty_list_is_not_the_default(declared: Family, field: Field, tmp_path: Path) -> None:
    may_be_empty = isinstance(field.kind, Several) and field.kind.may_be_empty
    if field.default != () and not may_be_empty:  # an empty list by default can be written out
        refused_everywhere(declared, field, [], tmp_path, command=False)


@pytest.mark.parametrize(("declared", "field"), of_kind(Number))
def test_numbers_out_of_range_are_refused(declared: Family, field: Field, tmp_path: Path) -> None:
    refused_everywhere(declared, field, 10**400, tmp_path, command=False)
    if math.isfinite(field.kind.low):  # type: ignore[attr-defined]
        refused_everywhere(declared, field, math.nan, tmp_path, command=True)


@pytest.mark.parametrize(("declared", "field"), of_kind(Number, Whole))
def test_scalars_of_numpy_are_numbers(declared: Family, field: Field) -> None:
    value = example(field)
    for same in (np.array(value), np.asarray(value)[()], str(value)):
        read = field.read(same)
        assert (read, type(read)) == (value, type(value))
    for wrong in (np.array([value]), np.array(True), np.complex128(1)):
        with pytest.raises(OptionError):
            field.read(wrong)


@pytest.mark.parametrize(("declared", "field"), of_kind(Several))
def test_arrays_and_generators_are_lists(declared: Family, field: Field) -> None:
    value = example(field)
    for same in (np.array(value), (part for part in value), iter(value), list(value)):
        assert field.read(same) == value


def test_a_choice_of_a_number_means_the_number(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("real", "generated"):
        np.save(tmp_path / f"{name}.npy", rng.random((20, 6)) > 0.5)
    files: dict[str, Any] = {name: tmp_path / f"{name}.npy" for name in ("real", "generated")}
    quick = {"resamples": 10, "permutations": 10}
    found = [generation.evaluate_files(**files, **quick, empty=value) for value in ("1", 1)]  # type: ignore[arg-type]
    assert [float(each) for each in found[0].values()] == [float(each) for each in found[1].values()]
