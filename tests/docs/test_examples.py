"""Every block of the pages and the README that is marked `python` runs, and shows what it says it shows.

A page's blocks run in order in one namespace. A block with `>>>` prompts is a doctest; any other has only to run.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if "_build" not in path.parts and BLOCK.search(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        first_line = text.count("\n", 0, block.start(1))
        if ">>>" in block[1]:
            _check_session(block[1], namespace, page.name, first_line)
        else:
            exec(compile("\n" * first_line + block[1], str(page), "exec"), namespace)


def _check_session(source: str, namespace: dict[str, Any], name: str, first_line: int) -> None:
    session = doctest.DocTestParser().get_doctest(source, namespace, name, name, first_line)
    failures: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(session, out=failures.append, clear_globs=False)
    namespace.update(session.globs)
    assert not failures, "".join(failures)
