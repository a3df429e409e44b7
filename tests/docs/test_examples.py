"""Every block of the pages and the README that is marked `python` runs, and shows what it says it shows.

A page's blocks run in order in one namespace. A block with `>>>` prompts is a doctest; any other has only to run.
"""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import pytest
from tests.docs.pages import PAGES, blocks, name_of

WITH_CODE = [page for page in PAGES if any(blocks(page, "python"))]


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page, "python"):
        if ">>>" in block.text:
            _check_session(block.text, namespace, page.name, block.above)
        else:
            exec(compile("\n" * block.above + block.text, str(page), "exec"), namespace)


def _check_session(source: str, namespace: dict[str, Any], name: str, first_line: int) -> None:
    session = doctest.DocTestParser().get_doctest(source, namespace, name, name, first_line)
    failures: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(session, out=failures.append, clear_globs=False)
    namespace.update(session.globs)
    assert not failures, "".join(failures)
