"""Every block of the pages and the README that is marked `python` runs, and shows what it says it shows.

A page's blocks run in order in one namespace. A block with `>>>` prompts is a doctest; any other has only to run, and
where a block of text stands directly below it, to print that.
"""

from __future__ import annotations

import doctest
import os
import re
from pathlib import Path
from typing import Any

import pytest
from tests.docs.pages import DOCS, PAGES, blocks, missing, name_of, text_of

WITH_CODE = [page for page in PAGES if any(blocks(page, "python"))]


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_blocks_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page, "python", "text"):
        if block.kind == "text":
            if block.follows == "python":
                assert missing(block.text, capsys.readouterr().out) is None
        elif ">>>" in block.text:
            _check_session(block.text, namespace, page.name, block.above)
        else:
            capsys.readouterr()
            exec(compile("\n" * block.above + block.text, str(page), "exec"), namespace)
    for name in re.findall(r"\]\(images/(\S+\.svg)\)", text_of(page)):
        if (tmp_path / name).exists():
            _hold_current(DOCS / "images" / name, tmp_path / name)


def _hold_current(shown: Path, drawn: Path) -> None:
    """A page shows what its blocks draw; labels, ticks and legends tell, and hold on any machine."""
    if os.environ.get("GRAPHGAUGE_REGENERATE"):
        shown.write_bytes(drawn.read_bytes())
    now, then = (re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8")) for path in (drawn, shown))
    assert now == then, f"{shown.name} is out of date; run with GRAPHGAUGE_REGENERATE=1"


def _check_session(source: str, namespace: dict[str, Any], name: str, first_line: int) -> None:
    session = doctest.DocTestParser().get_doctest(source, namespace, name, name, first_line)
    failures: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(session, out=failures.append, clear_globs=False)
    namespace.update(session.globs)
    assert not failures, "".join(failures)


def test_an_output_that_differs_is_seen() -> None:
    assert missing("a  1\n…\nd 4\n", "a 1\nb 2\nc 3\nd 4\n") is None
    assert missing("a 1\nb 3\n", "a 1\nb 2\n") == "b 3"
    assert missing("b 2\n…\na 1\n", "a 1\nb 2\n") is not None
