"""A result whose root holds, but whose fields have other types, is refused by every reader, by name of the field."""

from __future__ import annotations

import pytest
from tests.sealed import write_sealed

from graphgauge import audit
from graphgauge.core.errors import InputError
from graphgauge.old.core.console import evaluation_text
from graphgauge.old.core.schema import read_content, read_result
from graphgauge.old.ranking import evaluate
from graphgauge.old.stats import aggregate, gate

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
    "notes": "n",
    "skipped": {},
    "options": [],
    "breakdowns": {},
    "receipt": [],
    "receipt.versions": "1",
    "receipt.inputs": {},
}


@pytest.mark.parametrize("place", WRONG)
def test_another_type_is_named(tmp_path, place):
    for method in ("a", "b"):
        evaluate([1.0] * 9, [[1.0] * 4] * 9).save(tmp_path / f"{method}.json", method=method, dataset="d", seed=0)
    path = tmp_path / "a.json"
    content = read_content(path)
    assert content["findings"]  # of tied scores
    table, *names = content, *place.replace("[0]", ".0").split(".")
    for name in names[:-1]:
        table = table[int(name) if name.isdigit() else name]
    table[names[-1]] = WRONG[place]
    write_sealed(path, content)
    for read in (
        read_result,
        lambda p: evaluation_text(read_result(p)),
        lambda p: gate(p, tmp_path / "b.json", metric="mrr", margin=0.1),
        lambda p: aggregate([p]),
    ):
        with pytest.raises(InputError, match=r"not a valid result file"):
            read(path)
    found = audit.run(tmp_path)  # one bad file does not stop the others
    assert len(found.unreadable) == 1
    assert "a.json" in found.unreadable[0]
