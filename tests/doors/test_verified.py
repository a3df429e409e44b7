"""The default metrics of every form of every family."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.doors.test_values import DATA

from graphgauge.old.core.gates import Gate, metrics_with_gates
from graphgauge.old.core.metric import DEFAULT


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
