"""Results of single commands, in every form of every family, can be computed again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.doors.test_values import DATA, arguments

from graphgauge.old.cli.family import family_command
from graphgauge.old.core.gates import Gate, metrics_with_gates
from graphgauge.old.core.metric import DEFAULT
from graphgauge.study import verify


@pytest.mark.slow
def test_results_of_single_commands_are_recomputed(tmp_path: Path) -> None:
    before = Path.cwd()
    try:
        for name, data in DATA.items():
            folder = tmp_path / name.replace(" ", "-")
            folder.mkdir()
            values = data.write(folder)
            os.chdir(folder)
            words = [*arguments(data.declared, values), "--quiet"]
            done = CliRunner().invoke(family_command(data.declared.name), [*words, "-o", "result.json"])
            assert done.exit_code == 0, (name, done.output, done.exception)
        os.chdir(tmp_path)
        verdicts = {verdict.path.parent.name: verdict for verdict in verify(tmp_path, jobs=1)}
    finally:
        os.chdir(before)
    assert set(verdicts) == {name.replace(" ", "-") for name in DATA}
    wrong = {name: str(verdict) for name, verdict in verdicts.items() if verdict.mismatch}
    # Models are not asked again without --trust-code.
    models = {name: text for name, text in wrong.items() if text.endswith("is not imported")}
    assert len(models) == 3
    assert {name: text for name, text in wrong.items() if name not in models} == {}


@pytest.mark.parametrize("name", DATA)
def test_default_metrics_by_name_are_the_default_ones(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    data = DATA[name]
    values = data.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    read = data.declared.read(values)
    if read.get("metrics") is not None:
        return  # it has metrics of its own
    form = data.declared.check(read)
    if form is not None and form.defaults is not None and form.defaults(read) is not None:
        return  # the command names them one by one
    usual = data.declared.evaluate_files(**read)
    named = data.declared.evaluate_files(**{**read, "metrics": (DEFAULT,)})
    assert list(named) == list(usual)
    if read.get("convention") is not None:
        return  # gates are on the library's own metrics
    key = next(iter(usual))
    assert metrics_with_gates([Gate.parse(f"{key} >= 0")], data.declared, read, form) is None
