"""Every option of a family without doors gives the same bits, or the same refusal, in every way to give it.

The options are drawn from the declarations of the families: values that a kind takes, and now and then one that it
does not. The ways are the library on arrays, `evaluate_files`, the command and a study.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.doors.examples import FAMILIES, arguments, example, study_text

from graphgauge import generation
from graphgauge.core.errors import GraphgaugeError
from graphgauge.old.cli.family import family_command
from graphgauge.old.core.family import Family
from graphgauge.old.core.fields import (
    Choice,
    Factory,
    File,
    Files,
    Flag,
    Kind,
    NamedFiles,
    Number,
    OneOrTwo,
    Output,
    Several,
    Text,
    Whole,
)
from graphgauge.old.core.forms import chosen_form
from graphgauge.old.core.metric import metrics
from graphgauge.old.core.result import Evaluation
from graphgauge.old.core.schema import evaluation_to_dict, read_content
from graphgauge.study.parse import read_study
from graphgauge.study.pool import Task, perform

RNG = np.random.default_rng(0)
N = 24


class Data:
    """One form of input: its files, and the call of the library on the same arrays."""

    def __init__(
        self,
        name: str,
        arrays: dict[str, Any],
        files: dict[str, Any] | None = None,
        library: Callable[..., Evaluation] | None = None,
        prepare: Callable[[Path], None] | None = None,
        fixed: dict[str, Any] | None = None,
    ) -> None:
        """`files` are the inputs that are not written from `arrays`; `fixed` are options that belong to the input."""
        self.name, self.arrays, self.library, self.prepare = name, arrays, library, prepare
        self.files = {key: f"{key}.npy" for key in arrays} | (files or {})
        self.fixed = fixed or {}
        self.declared = FAMILIES[name.partition(" ")[0]]

    @property
    def form(self) -> str:
        """The declared form that these inputs select; families with one way to give inputs declare none."""
        chosen = chosen_form(self.declared.forms, [*self.files, *self.fixed]) if self.declared.forms else None
        return "" if chosen is None else chosen.name

    def write(self, folder: Path) -> dict[str, Any]:
        """The values of the inputs in this folder."""
        for key, array in self.arrays.items():
            path = folder / self.files[key]
            if path.suffix == ".txt":
                path.write_text("\n".join(map(str, array)) + "\n")
            else:
                np.save(path, array)
        if self.prepare is not None:
            self.prepare(folder)
        fields = self.declared.fields
        named = {key: (path,) if isinstance(fields[key].kind, Files) else path for key, path in self.files.items()}
        return named | self.fixed


def _generated() -> dict[str, Any]:
    return {"real": RNG.random((12, 5)) < 0.5, "generated": RNG.random((12, 5)) < 0.5}


def _conditioned() -> dict[str, Any]:
    return {
        **_generated(),
        "train": RNG.random((6, 5)) < 0.5,
        "valid": np.arange(12) % 5 > 0,
        "real_conditions": np.array(["a", "b, c"])[np.arange(12) % 2],
        "conditions": np.array(["a", "b, c"])[np.arange(12) // 6],
    }


def _generation(table: Any = None, empty: str = "1", **given: Any) -> Evaluation:
    stored_table = None if table is None else generation.SampleTable.load(table)
    return generation.evaluate(stored_table, empty=1 if empty == "1" else empty, **given)


def _sample_table(folder: Path) -> None:
    generation.SampleTable.of(**_conditioned(), latents=RNG.normal(size=(12, 2))).save(folder / "table.npz")


_FEW_DRAWS = {"resamples": 20, "permutations": 19}
DATA = {
    each.name: each
    for each in (
        Data("generation", _generated(), library=_generation, fixed=_FEW_DRAWS),
        Data(
            "generation conditions",
            _conditioned(),
            {"real_conditions": "real_conditions.txt", "conditions": "conditions.txt"},
            _generation,
            fixed=_FEW_DRAWS,
        ),
        Data("generation table", {}, {"table": "table.npz"}, _generation, _sample_table, _FEW_DRAWS),
        Data("generation subject", {}, {"subject": "tests.generation.toy:case"}, fixed=_FEW_DRAWS),
    )
}
EXAMPLES = {
    "generation": 6,
    "generation conditions": 4,
    "generation table": 4,
    "generation subject": 1,
}
# Options whose library counterpart is the same by construction, and which only cost time.
# `columns` are those of files, which the library is not given.
_LEFT_OUT = ("threads", "engine", "scheduler", "resamples", "permutations", "columns")
# A checkpoint is opened by a factory; its options are those of a subject.
_NOT_HERE = ("a checkpoint for module:factory",)


def drawn(kind: Kind, name: str, draw: st.DrawFn, valid: bool) -> Any:
    """A value of the kind, or one that it does not take."""
    if isinstance(kind, Choice):
        return draw(st.sampled_from(kind.names)) if valid else "nonsense"
    if isinstance(kind, OneOrTwo):
        return draw(st.sampled_from(kind.names)) if valid else "a,b,c"
    if isinstance(kind, Whole):
        return (kind.least or 0) + draw(st.integers(0, 4)) if valid else -7
    if isinstance(kind, Number):
        return draw(st.sampled_from([0.2, 0.5, 0.9])) if valid else "nonsense"
    if isinstance(kind, Flag):
        return True
    if isinstance(kind, Text):  # names of axes
        return draw(st.sampled_from(["time", "horizon", "node"])) if valid else "nonsense"
    assert isinstance(kind, Several)
    return tuple(dict.fromkeys(drawn(kind.each, name, draw, valid) for _ in range(draw(st.integers(1, 3)))))


@st.composite
def options(draw: st.DrawFn, data: Data) -> dict[str, Any]:
    """Some of the options that go with the form; the last one may be wrong."""
    declared = data.declared
    inputs = (File, Files, NamedFiles, Factory, Output, Text)
    free = [
        name
        for name, field in declared.fields.items()
        if not isinstance(field.kind, inputs)
        and name not in (*_LEFT_OUT, *data.fixed, "metrics", "seed", "start", "levels", "labels")
    ]
    names = draw(st.lists(st.sampled_from(free), max_size=3, unique=True))
    wrong = draw(st.integers(0, 9)) == 0
    keys = [entry.key_of(**entry.params) for entry in metrics(declared.name)]
    chosen = {
        name: drawn(declared.fields[name].kind, name, draw, valid=not (wrong and name == names[-1])) for name in names
    }
    if draw(st.booleans()):
        chosen["metrics"] = tuple(draw(st.lists(st.sampled_from([*keys, "nonsense"]), min_size=1, max_size=3)))
    return chosen


# ------------------------------------------------------------------------- doors

Outcome = Any


def told(evaluation: Evaluation) -> Outcome:
    return _compared(json.loads(json.dumps(evaluation_to_dict(evaluation))))


def by_library(data: Data, folder: Path, values: dict[str, Any], chosen: dict[str, Any]) -> Outcome:
    assert data.library is not None
    paths = {key: path for key, path in data.files.items() if key not in data.arrays and key != "groups"}
    # The default of an option that only another form has is not given, and the function of this one may not have it.
    chosen = {name: value for name, value in chosen.items() if data.declared.fields[name].is_given(value)}
    return told(data.library(**data.arrays, **paths, **data.fixed | chosen))


def by_files(data: Data, folder: Path, values: dict[str, Any], chosen: dict[str, Any]) -> Outcome:
    return told(data.declared.evaluate_files(**values | chosen))


def by_command(data: Data, folder: Path, values: dict[str, Any], chosen: dict[str, Any]) -> Outcome:
    given = [*arguments(data.declared, values | chosen), "--quiet", "-o", "result.json"]
    done = CliRunner().invoke(family_command(data.declared.name), given)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if done.exit_code:
        raise Refused(done.exit_code, done.output)
    return _stored(folder / "result.json")


def by_study(data: Data, folder: Path, values: dict[str, Any], chosen: dict[str, Any]) -> Outcome:
    (folder / "study.toml").write_text(study_text(data.declared, values | chosen))
    (item,) = read_study(folder / "study.toml").items
    place = folder / "study.json"
    done = perform(Task(item=item, folder=folder, path=place, hashes=folder / "hashes"))
    if done.status == "failed":
        raise Refused(2, str(done.error))
    return _stored(place)


class Refused(Exception):
    """A refusal of a door that has only an exit code."""

    def __init__(self, exit_code: int, text: str) -> None:
        super().__init__(text)
        self.exit_code = exit_code


def _stored(path: Path) -> Outcome:
    return _compared(read_content(path))


def _compared(content: dict[str, Any]) -> Outcome:
    """What is the same in results and in files, which do not say the priority of a metric."""
    results = [{key: value for key, value in each.items() if key != "priority"} for each in content["results"]]
    return results, content["conventions"], content["readings"]


COUNTED: Counter[tuple[str, str, str]] = Counter()


@cache
def _folder(name: str, root: Path) -> tuple[Path, dict[str, Any]]:
    folder = root / name.replace(" ", "-")
    folder.mkdir()
    return folder, DATA[name].write(folder)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    before = Path.cwd()
    yield tmp_path_factory.mktemp("doors")
    os.chdir(before)


def outcome(door: Callable[..., Outcome], *given: Any) -> Outcome:
    """The results, or that it was refused."""
    try:
        return door(*given)
    except (GraphgaugeError, Refused) as error:
        return "refused" if error.exit_code in (2, 3) else f"failed: {error}"
    except TypeError as error:  # a parameter that the function does not have
        return "refused" if "unexpected keyword" in str(error) else f"failed: {error}"


@pytest.mark.parametrize("name", DATA)
def test_the_same_bits_or_the_same_refusal(name: str, root: Path) -> None:
    data = DATA[name]
    folder, values = _folder(name, root)
    os.chdir(folder)

    @settings(max_examples=EXAMPLES.get(name, 6), suppress_health_check=list(HealthCheck))
    @given(chosen=options(data))
    def every_door(chosen: dict[str, Any]) -> None:
        compare_doors(data, folder, values, chosen)

    every_door()


def compare_doors(data: Data, folder: Path, values: dict[str, Any], chosen: dict[str, Any]) -> None:
    doors = [by_files, by_command, by_study, *([] if data.library is None else [by_library])]
    found = {door.__name__: outcome(door, data, folder, values, chosen) for door in doors}
    for door in found:
        COUNTED.update((data.name, option, door) for option in chosen or ["none"])
    expected = found["by_files"]
    for door, answer in found.items():
        assert answer == expected, (door, chosen)


def _taking(declared: Family, option: str) -> list[str]:
    """The inputs of a family whose form takes an option, or every one if the option belongs to no form."""
    of_forms = {name for form in declared.forms for name in form.own}
    own = {form.name: form.own for form in declared.forms}
    mine = [data for data in DATA.values() if data.declared is declared and option not in data.fixed]
    return [data.name for data in mine if option not in of_forms or option in own.get(data.form, ())]


# Every option once, on the first inputs that take it; tests/doors/test_forms.py has those that do not.
SINGLE = [
    (taking[0], option)
    for declared in FAMILIES.values()
    for option, field in declared.fields.items()
    if not isinstance(field.kind, File | Files | NamedFiles | Factory | Output)
    and option not in _LEFT_OUT
    and (taking := _taking(declared, option))
]


@pytest.mark.parametrize(("name", "option"), SINGLE, ids=lambda value: value.replace(" ", "-"))
def test_every_option_at_every_door(name: str, option: str, root: Path) -> None:
    """One value other than the default."""
    data = DATA[name]
    folder, values = _folder(name, root)
    os.chdir(folder)
    chosen = {option: _VALUES[option] if option in _VALUES else example(data.declared.fields[option])}
    if option == "metrics":
        chosen = {"metrics": (data.declared.headlines[0],)}
    compare_doors(data, folder, values, chosen)


# Options that go with the data above, and what one of them needs.
_VALUES: dict[str, Any] = {
    "conditions": ("Off",),
    "levels": (0.2, 0.5),
    "labels": ("b, c", "a"),
    "explainer": "one",
}


def test_every_declared_form_is_here() -> None:
    declared = {
        (name, form.name) for name, each in FAMILIES.items() for form in each.forms if form.name not in _NOT_HERE
    }
    assert {(data.declared.name, data.form) for data in DATA.values() if data.form} == declared
    assert {data.declared.name for data in DATA.values()} == {*FAMILIES}
