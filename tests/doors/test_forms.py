"""Every form of a family takes what it declares and refuses the rest: in Python, on the command line, in a study."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest
from tests.doors.examples import FAMILIES, arguments, example, study_text, written

from graphgauge.core.errors import InputError, OptionError
from graphgauge.old.cli.family import family_command, flag
from graphgauge.old.core.family import Family
from graphgauge.old.core.fields import Output
from graphgauge.old.core.forms import Form, require
from graphgauge.study.parse import read_study

Case = tuple[Family, Form, str]
FORMS = [(declared, form) for declared in FAMILIES.values() for form in declared.forms]
# Options of every form, for which whoever adds one has to decide.
EVERYWHERE = {
    "generation": {
        "resamples",
        "permutations",
        "save_table",
        "seed",
        "threads",
        "convention",
    },
}
SHARED = {"metrics", "confidence"}


def selecting(form: Form) -> tuple[str, ...]:
    return form.needs or form.any_of[:1]


def is_allowed(declared: Family, given: set[str]) -> bool:
    """Whether some form takes exactly these."""
    for form in declared.forms:
        try:
            require(form, given, declared.forms)
        except OptionError:
            continue
        if form.needs or given & {*form.any_of}:
            return True
    return False


def misplaced() -> list[Case]:
    """Every option of a form once, with one of the forms that do not take it; forms take turns."""
    found = []
    for declared in FAMILIES.values():
        bound = sorted({name for form in declared.forms for name in form.own if name in declared.fields})
        for turn, name in enumerate(bound):
            forms = [
                form
                for form in declared.forms
                if name not in form.own and not is_allowed(declared, {*selecting(form), name})
            ]
            if forms:
                found.append((declared, forms[turn % len(forms)], name))
    return found


def label(value: Any) -> str:
    return value if isinstance(value, str) else value.name.replace(" ", "-")


def values_of(declared: Family, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: example(declared.fields[name]) for name in names}


def refused_by_study(folder: Path, declared: Family, values: dict[str, Any]) -> InputError:
    (folder / "study.toml").write_text(study_text(declared, values))
    with pytest.raises(InputError) as refused:
        read_study(folder / "study.toml")
    return refused.value


@pytest.mark.parametrize("declared", [each for each in FAMILIES.values() if each.forms], ids=label)
def test_every_field_belongs_to_a_form_or_to_all(declared: Family) -> None:
    of_forms = {name for form in declared.forms for name in form.own if name in declared.fields}
    assert of_forms | EVERYWHERE[declared.name] | SHARED == set(declared.fields)
    assert not of_forms & EVERYWHERE[declared.name]


@pytest.mark.parametrize(("declared", "form", "name"), misplaced(), ids=label)
def test_what_belongs_to_another_form_is_refused_at_every_door(
    declared: Family, form: Form, name: str, tmp_path: Path
) -> None:
    """Before a file is opened: none of them is there."""
    values = values_of(declared, (*selecting(form), name))
    with pytest.raises(OptionError) as in_python:
        declared.evaluate_files(**values)
    with pytest.raises(OptionError) as on_command_line:
        family_command(declared.name).main(arguments(declared, values), standalone_mode=False)
    assert in_python.value.exit_code == on_command_line.value.exit_code == 2
    assert any(re.search(rf"\b{key}\b", str(in_python.value)) for key in values)
    assert any(flag(key) in str(on_command_line.value) for key in values)
    if isinstance(declared.fields[name].kind, Output):
        return
    in_study = refused_by_study(tmp_path, declared, values)
    assert in_study.exit_code == 3
    line = re.search(r"study.toml, line (\d+)", str(in_study))
    assert line
    if in_python.value.field is not None:
        text = (tmp_path / "study.toml").read_text().splitlines()
        assert text[int(line[1]) - 1].startswith(in_python.value.field)


@pytest.mark.parametrize(("declared", "form"), FORMS, ids=label)
def test_what_a_form_needs_is_asked_for(declared: Family, form: Form, tmp_path: Path) -> None:
    for left_out in form.needs:
        names = tuple(name for name in form.needs if name != left_out)
        if not names or is_allowed(declared, {*names}):
            continue
        values = values_of(declared, names)
        with pytest.raises(OptionError, match="not given") as refused:
            family_command(declared.name).main(arguments(declared, values), standalone_mode=False)
        assert any(flag(name) in str(refused.value) for name in declared.fields if name not in names)
        with pytest.raises(OptionError, match="not given"):
            declared.evaluate_files(**values)
        assert "not given" in str(refused_by_study(tmp_path, declared, values))


@pytest.mark.parametrize(("declared", "form"), FORMS, ids=label)
def test_fields_that_go_together_or_exclude_each_other(declared: Family, form: Form) -> None:
    command = family_command(declared.name)
    for first, second in form.apart:
        values = values_of(declared, (*selecting(form), first, second))
        with pytest.raises(OptionError, match=f"{flag(first)} and {flag(second)} exclude each other"):
            command.main(arguments(declared, values), standalone_mode=False)
    for name, others in form.beside.items():
        alone = next((begin for begin in (*form.needs, *form.any_of) if begin not in others), None)
        begins = form.needs or ((alone,) if alone else ())
        if not begins or set(others) & {*begins}:
            continue
        values = values_of(declared, (*begins, name))
        with pytest.raises(OptionError, match=f"{flag(name)} needs {flag(others[0])}"):
            command.main(arguments(declared, values), standalone_mode=False)


@pytest.mark.parametrize("declared", FAMILIES.values(), ids=label)
def test_a_single_option_is_not_given_twice(declared: Family) -> None:
    """Of two values only one would be used."""
    command = family_command(declared.name)
    for option in command.params:
        assert isinstance(option, click.Option)
        values = [option.opts[-1]] if option.is_flag else [option.opts[-1], "1"]
        if option.multiple:
            continue
        with pytest.raises(click.UsageError, match=f"{max(option.opts, key=len)} is given more than once"):
            command.main([*values, *values], standalone_mode=False)


@pytest.mark.parametrize("declared", FAMILIES.values(), ids=label)
def test_nothing_given_is_refused(declared: Family, tmp_path: Path) -> None:
    with pytest.raises(OptionError if declared.forms else TypeError):
        declared.evaluate_files()
    assert refused_by_study(tmp_path, declared, {}).exit_code == 3


@pytest.mark.parametrize("declared", FAMILIES.values(), ids=label)
def test_a_value_of_the_wrong_type_is_refused_with_its_name(declared: Family, tmp_path: Path) -> None:
    """A table for everything that takes none, and a list of tables for the rest."""
    begin = values_of(declared, selecting(declared.forms[0])) if declared.forms else {}
    for name in written(declared):
        wrong = [{"a": {"b": 1}}]
        error = refused_by_study(tmp_path, declared, {**begin, name: wrong})
        assert re.search(rf"line \d+: {name}: ", str(error)), (name, str(error))
