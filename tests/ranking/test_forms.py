"""Each form of input takes what it declares and refuses the rest: in the library, on the command line, in a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from graphgauge import ranking
from graphgauge.cli.ranking import command
from graphgauge.core.errors import InputError, OptionError
from graphgauge.ranking.forms import FLAT, FORMS, MATRIX, OF_SOME_FORM, Form
from graphgauge.study.options import flag_of, keys_of
from graphgauge.study.parse import read_study

OPTIONS = {str(option.name): option for option in command.params if isinstance(option, click.Option)}
# An option that an absent file, or a word, cannot stand for.
VALUES = {"score": "dot", "keep": "items", "nan": "omit", "per_query": "ranks.csv"}
FOREIGN = [(form, name) for form in FORMS for name in sorted(OF_SOME_FORM - form.own) if name in OPTIONS]
KEYS = {str(option.name): key for key, option in keys_of(command).items()}
FOREIGN_KEYS = [(form, name) for form, name in FOREIGN if name in KEYS]


def label(value: Any) -> str:
    return value.needs[0] if isinstance(value, Form) else str(value)


def argument(name: str) -> str:
    return f"{flag_of(OPTIONS[name])}={VALUES.get(name, 'nosuch.npy')}"


def test_every_input_and_option_of_the_command_belongs_to_a_form_or_to_all() -> None:
    """Whoever adds an option has to say which forms take it."""
    shared = {"groups", "cluster", "k", "ties", "save_state", "metrics", "confidence", "seed", "method", "dataset",
              "run_seed", "output", "flat", "form", "figure", "gates", "threads", "quiet", "debug"}  # fmt: skip
    assert set(OPTIONS) == shared | (OF_SOME_FORM - {"ids"})


@pytest.mark.parametrize(("form", "name"), FOREIGN, ids=label)
def test_the_command_refuses_what_belongs_to_another_form(form: Form, name: str) -> None:
    """Before a file is opened: none of them is there."""
    with pytest.raises(OptionError, match=f"{flag_of(OPTIONS[name])}\\b") as refused:
        command.main([*map(argument, form.needs), argument(name)], standalone_mode=False)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(("form", "name"), FOREIGN_KEYS, ids=label)
def test_a_study_refuses_what_belongs_to_another_form(form: Form, name: str, tmp_path: Path) -> None:
    lines = [f'{KEYS[key]} = "{VALUES.get(key, "nosuch.npy")}"' for key in (*form.needs, name)]
    text = ["schema = 1", "[[evaluate]]", 'family = "ranking"', 'method = "m"', 'dataset = "d"', *lines]
    (tmp_path / "study.toml").write_text("\n".join(text))
    with pytest.raises(InputError, match=rf"study.toml, line \d+: .*\b{KEYS[name]}\b") as refused:
        read_study(tmp_path / "study.toml")
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.needs[0])
def test_the_command_asks_for_what_is_missing(form: Form) -> None:
    for left_out in form.needs:
        given = [argument(name) for name in form.needs if name != left_out]
        with pytest.raises(OptionError, match=f"{flag_of(OPTIONS[left_out])} not given"):
            command.main(given, standalone_mode=False)
    for pair in form.together:
        for one in pair:
            with pytest.raises(OptionError, match="go together"):
                command.main([*map(argument, (*form.needs, one))], standalone_mode=False)
    for pair in form.apart:
        with pytest.raises(OptionError, match="exclude each other"):
            command.main([*map(argument, (*form.needs, *pair))], standalone_mode=False)


def test_relations_go_with_distmult() -> None:
    needs = ["--queries-emb=q.npy", "--entities=e.npy", "--targets=t.npy"]
    for given in (["--relations=r.npy"], ["--score=distmult"], ["--score=l2", "--relations=r.npy"]):
        with pytest.raises(OptionError, match="go together"):
            command.main([*needs, *given], standalone_mode=False)


RNG = np.random.default_rng(0)
GIVEN: dict[str, Any] = {
    "pos_scores": RNG.normal(size=6), "neg_scores": RNG.normal(size=(6, 2)), "offsets": np.arange(0, 13, 2),
    "mask": np.ones((6, 2), bool), "ids": np.arange(6), "scores": RNG.normal(size=6), "labels": [1, 0] * 3,
    "queries": [0, 0, 1, 1, 2, 2],
}  # fmt: skip
ENTRIES = [ranking.evaluate, ranking.RankingState().update]


@pytest.mark.parametrize("entry", ENTRIES, ids=["evaluate", "update"])
@pytest.mark.parametrize("form", [MATRIX, FLAT], ids=["matrix", "flat"])
def test_the_library_refuses_the_same(form: Form, entry: Any) -> None:
    given = {name: GIVEN[name] for name in form.needs}
    for name in GIVEN.keys() - form.own:
        with pytest.raises(OptionError, match=f"does not take {name}"):
            entry(**given, **{name: GIVEN[name]})
    for pair in form.apart:
        with pytest.raises(OptionError, match="exclude each other"):
            entry(**given, **{name: GIVEN[name] for name in pair})
        with pytest.raises(OptionError, match="exclude each other"):
            ranking.ranks(*given.values(), **{name: GIVEN[name] for name in pair})
