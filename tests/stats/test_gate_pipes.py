"""A gate does not wait for a pipe in the place of a side file, and says so of a changed one."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from graphgauge import ranking, stats
from graphgauge.core.errors import InputError


@pytest.mark.parametrize(
    ("kind", "words"), [("pipe", "not a regular file"), ("gone", "no such file"), ("other", "has changed")]
)
@pytest.mark.parametrize("over", ["auto", "items"])
def test_side_files(kind: str, words: str, over: str, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    pos, neg = draw.normal(1, 1, 40), draw.normal(0, 1, (40, 5))
    for number, name in enumerate(["old", "new"]):
        found = ranking.evaluate(pos + number, neg, metrics=["mrr"])
        found.save(tmp_path / f"{name}.json", method=name, dataset="d", seed=0)
    side = tmp_path / "new.items.npz"
    side.unlink()
    if kind == "pipe":
        os.mkfifo(side)
    elif kind == "other":
        side.write_bytes((tmp_path / "new.json").read_bytes())
    with pytest.raises(InputError, match=words):
        stats.gate(tmp_path / "new.json", tmp_path / "old.json", metric="mrr", margin=0.01, over=over)
