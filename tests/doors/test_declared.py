"""Every declared door: names and defaults of its function; same value, refusal, words in Python, commands, studies."""

from __future__ import annotations

import inspect
import json
import math
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from click.testing import CliRunner
from tests.contracts import toy_doors  # noqa: F401, the toy family has doors

from graphgauge.cli.app import cli
from graphgauge.cli.command import flag
from graphgauge.cli.door import DoorCommand
from graphgauge.core.door import METRICS, REQUIRED, Option, doors, named, reworded
from graphgauge.core.errors import GraphgaugeError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.family import BUILT_IN
from graphgauge.io.kinds import READERS
from graphgauge.io.request import Request, declared_truths
from graphgauge.study import toml
from graphgauge.study.model import StudyError
from graphgauge.study.parse import read_study
from graphgauge.study.pool import Done, Task, perform

FAMILIES = [name for name in (*BUILT_IN, "toy") if doors(name)]
DOORS = [pytest.param(name, door, id=f"{name}-{door or 'first'}") for name in FAMILIES for door in doors(name)]
PLACES = {"toy": "tests.contracts.door_cases"}


def cases_of(family):
    return import_module(PLACES.get(family, f"tests.{family}.door_cases"))


CASES = [
    pytest.param(case, id=f"{case.family}-{case.door or 'first'}-{number}")
    for family in FAMILIES
    for number, case in enumerate(cases_of(family).CASES)
]


EVALUATED = [each for each in CASES if not each.values[0].declared.product]
MADE = [each for each in CASES if each.values[0].declared.product]


def parameters(family: str, door: str) -> dict[str, inspect.Parameter]:
    """The parameters of a door's function, and of what it passes the others on to."""
    signatures = getattr(cases_of(family), "SIGNATURES", {}).get(door, ())
    functions = [*(named(place) for place in signatures), doors(family)[door].function]
    found: dict[str, inspect.Parameter] = {}
    for function in functions:
        found |= dict(inspect.signature(function).parameters)
    return found


@pytest.mark.parametrize(("family", "door"), DOORS)
def test_names_and_defaults_are_those_of_the_function(family, door):
    declared, known = doors(family)[door], parameters(family, door)
    for field, each in declared.fields.items():
        (name,) = declared.arguments({field: None})
        assert name in known, f"{name} is no parameter"
        default = known[name].default
        expected = inspect.Parameter.empty if each.default is REQUIRED else each.default
        if isinstance(each, Option):
            same = list(default) == list(expected) if isinstance(expected, tuple) else default == expected
            assert same or (default is inspect.Parameter.empty and each.default is REQUIRED), (name, default, expected)
        elif each.default is REQUIRED:
            assert default in (inspect.Parameter.empty, None), name
        else:
            assert default in (None, ()), (name, default)
    if declared.progress:
        assert "progress" in known


@pytest.mark.parametrize(("family", "door"), DOORS)
def test_declarations_are_complete_and_small(family, door):
    declared = doors(family)[door]
    assert len(declared.inputs) + len(declared.options) <= 15
    assert len({*declared.fields}) == len(declared.inputs) + len(declared.options) + len(declared.common)
    assert declared.line.endswith(".")
    assert declared.example.startswith("graphgauge ")
    for each in declared.fields.values():
        assert each.help.endswith("."), each.name
        assert len(each.help) <= 100, each.name
    for each in declared.inputs:
        assert each.kind in (*READERS, "folder", "code") or callable(named(each.kind))


@pytest.mark.parametrize("name", BUILT_IN)
def test_truths_are_names_of_inputs(name):
    """Receipts record inputs by these names; a truth of another name would never be compared."""
    assert {*declared_truths(name)} <= {each.name for door in doors(name).values() for each in door.inputs}


@pytest.mark.parametrize(("family", "door"), DOORS)
def test_every_door_has_a_case(family, door):
    if family != "toy":
        assert door in {case.door for case in cases_of(family).CASES}


def values(evaluation: Evaluation) -> dict[str, Any]:
    return {
        key: (repr(each.value), each.n, None if each.interval is None else tuple(map(repr, each.interval)))
        for key, each in evaluation.items()
    }


@pytest.mark.parametrize("case", EVALUATED)
def test_python_files_and_commands_have_the_same_values(case, tmp_path):
    expected = values(case.call())
    assert expected
    request = Request(family=case.family, door=case.door, fields=case.fields(tmp_path)).checked()
    assert values(request.evaluate(trust_code=True)) == expected
    target = tmp_path / "result.json"
    done = CliRunner().invoke(cli, [*case.words(tmp_path), "-o", str(target)])
    assert done.exit_code == 0, done.output + str(done.exception)
    assert values(Evaluation.load(target)) == expected
    shown = json.loads(CliRunner().invoke(cli, [*case.words(tmp_path), "--format", "json"]).stdout)
    assert {entry["key"] for entry in shown["results"]} == set(expected)


@pytest.mark.parametrize("case", MADE)
def test_products_are_the_same_files(case, tmp_path):
    one, other = tmp_path / "python.npz", tmp_path / "command.npz"
    case.call().save(one)
    done = CliRunner().invoke(cli, [*case.words(tmp_path), "-o", str(other)])
    assert done.exit_code == 0, done.output + str(done.exception)
    assert one.read_bytes() == other.read_bytes()


def study_of(case: Any, folder: Path, **options: Any) -> Path:
    """A study with a call of a door as its only evaluation."""
    table = {"family": case.family, "door": case.door, "dataset": "toy", "method": "ours"}
    fields = {name: value for name, value in case.fields(folder, **options).items() if value is not None}
    written = ["schema = 1", "[[evaluate]]", *toml.lines(table), *toml.lines(fields)]
    (folder / "study.toml").write_text("\n".join(written))
    return folder / "study.toml"


def performed(path: Path) -> Done:
    """What becomes of the only evaluation of a study."""
    study = read_study(path)
    (item,) = study.items
    return perform(Task(item=item, folder=study.folder, path=path.with_name("kept.json"), hashes=path.with_name("h")))


@pytest.mark.parametrize("case", EVALUATED)
def test_studies_have_the_same_values(case, tmp_path):
    done = performed(study_of(case, tmp_path))
    assert done.error is None
    assert values(Evaluation.load(tmp_path / "kept.json")) == values(case.call())


def default_cases():
    """The first case of each family, and a metric that is not computed by default there."""
    for family in FAMILIES:
        case = next(each.values[0] for each in EVALUATED if each.values[0].family == family)
        if METRICS in case.declared.common and "metrics" not in case.options:
            yield pytest.param(case, id=family)


@pytest.mark.parametrize("case", [*default_cases()])
def test_default_stands_for_the_metrics_of_the_default(case):
    usual, every = case.call(), case.call(metrics="all")
    more = [key for key in every if key not in usual][:1]
    found = case.call(metrics=["default", *more])
    assert set(found) == {*usual, *more}
    assert all(values(found)[key] == values(usual)[key] for key in usual)


def wrong(option: Option) -> list[Any]:
    """Values that an option must not have."""
    inner = get_args(option.plain)[0] if option.is_list else option.plain
    if get_origin(inner) is Literal:
        found: list[Any] = ["nonsense"]
    elif inner in (int, float):
        found = [] if option.low is None else [option.low - 1]
        found += [] if option.high is None else [option.high + 1]
        found += [option.low] if option.inside and option.low is not None else []
    else:
        return []
    kept = [inner(each) if inner is float or (inner is int and math.isfinite(each)) else each for each in found]
    return [(each,) for each in kept] if option.is_list else kept


FIRST = {(each.values[0].family, each.values[0].door): each for each in reversed(CASES)}
REFUSALS = [
    pytest.param(param.values[0], option.name, value, id=f"{param.id}-{option.name}-{value}")
    for param in FIRST.values()
    for option in (*param.values[0].declared.options, *param.values[0].declared.common)
    for value in wrong(option)
]


def shared(text: str) -> str:
    """A message up to the list of what is known: in Python there may be more, such as functions."""
    return text.partition(" Known: ")[0]


@pytest.mark.parametrize(("case", "name", "value"), REFUSALS)
def test_python_and_commands_refuse_in_the_same_words(case, name, value, tmp_path):
    with pytest.raises(GraphgaugeError) as refusal:
        case.call(**{name: value})
    expected = str(reworded(refusal.value, case.declared.fields, flag))
    target = ["-o", str(tmp_path / "made.npz")] if case.declared.product else []
    done = CliRunner().invoke(cli, [*case.words(tmp_path, **{name: value}), *target])
    assert shared(str(done.exception)) == shared(expected)
    assert done.exception.exit_code == refusal.value.exit_code


@pytest.mark.parametrize(("case", "name", "value"), REFUSALS)
def test_studies_refuse_in_the_same_words(case, name, value, tmp_path):
    with pytest.raises(GraphgaugeError) as refusal:
        case.call(**{name: value})
    try:
        said = performed(study_of(case, tmp_path, **{name: value})).error
    except StudyError as error:
        said = str(error)
    assert shared(str(refusal.value)) in shared(str(said))


@pytest.mark.parametrize("case", [each for each in CASES if each.values[0].options.get("metrics") != "all"])
def test_what_a_command_prints_is_short(case, tmp_path):
    done = CliRunner().invoke(
        cli, [*case.words(tmp_path), *(["-o", str(tmp_path / "x")] if case.declared.product else [])]
    )
    assert done.exit_code == 0, done.output + str(done.exception)
    assert len(done.stdout) <= 1500


@pytest.mark.parametrize(("family", "door"), DOORS)
def test_help_shows_every_field(family, door):
    text = CliRunner().invoke(DoorCommand(family, doors(family)[door]), ["--help"]).output
    for name in doors(family)[door].fields:
        assert ("--gate" if name == "gates" else flag(name)) in text


def test_paths_of_cases_are_files(tmp_path):
    for param in CASES:
        case = param.values[0]
        for _, path in Request(family=case.family, door=case.door, fields=case.fields(tmp_path)).files():
            assert Path(path).exists()
