"""The library refuses what does not belong to a form of input, as every other door does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphgauge import ranking
from graphgauge.core.errors import OptionError
from graphgauge.old.cli.family import family_command
from graphgauge.old.core.forms import Form
from graphgauge.old.ranking.family import FLAT, MATRIX

command = family_command("ranking")


def test_relations_go_with_distmult() -> None:
    needs = ["--queries-emb=q.npy", "--entities=e.npy", "--targets=t.npy"]
    for given in (["--relations=r.npy"], ["--score=distmult"], ["--score=l2", "--relations=r.npy"]):
        with pytest.raises(OptionError, match="go together"):
            command.main([*needs, *given], standalone_mode=False)


RNG = np.random.default_rng(0)
GIVEN: dict[str, Any] = {
    "pos_scores": RNG.normal(size=6),
    "neg_scores": RNG.normal(size=(6, 2)),
    "offsets": np.arange(0, 13, 2),
    "mask": np.ones((6, 2), bool),
    "ids": np.arange(6),
    "scores": RNG.normal(size=6),
    "labels": [1, 0] * 3,
    "queries": [0, 0, 1, 1, 2, 2],
    "negatives": ranking.negatives(np.tile([0, 1], (6, 1)), k=2, nodes=5),
}
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
        if "negatives" not in pair:
            with pytest.raises(OptionError, match="exclude each other"):
                ranking.ranks(*given.values(), **{name: GIVEN[name] for name in pair})
