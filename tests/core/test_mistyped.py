"""A result whose root holds, but whose fields have other types, is refused by every reader, by name of the field."""

from __future__ import annotations

import json

import numpy as np
import pytest

from graphgauge import audit, load, ranking
from graphgauge.core.errors import InputError
from graphgauge.core.sealed import root_of

WRONG = {
    "run": None,
    "run.tags": "a",
    "run.method": 3,
    "run.seed": True,
    "results[0].params": [],
    "results[0].value": {},
    "results[0].warnings": "w",
    "findings[0].severity": "grave",
    "findings[0].evidence": [],
    "skipped": [],
    "options": [],
    "breakdowns": [],
    "receipt": [],
}


@pytest.mark.parametrize("place", WRONG)
def test_another_type_is_named(tmp_path, place):
    path = tmp_path / "a.json"
    ranking.evaluate(np.ones(9), np.ones((9, 4))).save(path)
    content = json.loads(path.read_text())
    assert content["findings"]  # of tied scores
    table, *names = content, *place.replace("[0]", ".0").split(".")
    for name in names[:-1]:
        table = table[int(name) if name.isdigit() else name]
    table[names[-1]] = WRONG[place]
    path.write_text(json.dumps({**content, "root": root_of(content)}))
    for read in (load, audit.run):
        with pytest.raises(InputError, match=r"not a valid file"):
            read(path)
