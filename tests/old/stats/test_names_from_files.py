"""Names from files give no commands to a terminal and no lines to a table."""

from __future__ import annotations

import pytest

from graphgauge import stats
from graphgauge.core.scrub import harmless

EVIL = ["a\x1b[2Jb", "x\n\\input{/etc/passwd}", "c\u202ed", "tab\tname"]


@pytest.mark.parametrize("form", ["table", "markdown", "latex"])
def test_tables(form: str) -> None:
    runs = {name: {seed: 0.1 * number + 0.01 * seed for seed in range(6)} for number, name in enumerate(EVIL)}
    for made in (stats.aggregate(runs), stats.compare(runs, metric="value", direction="higher")):
        text = made.render(form)
        assert not any(mark in text for mark in ("\x1b", "\u202e")) or form != "table"
        if form != "table":
            assert not any(line.lstrip().startswith("\\input") for line in text.splitlines())


def test_plain_text_stays() -> None:
    text = "α ≥ 0.5\n  a\tb · ±"
    assert harmless(text) == text
    assert harmless("a\x1b[2J\nb") == "a\ufffd[2J\nb"
