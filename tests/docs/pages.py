"""What stands in the pages: blocks of code, the commands among them, headings and links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts),
]
_FENCE = re.compile(r"^([ ]*)(`{3,})([^\n`]*)\n(.*?)^\1\2[ ]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its kind (`python`, `console`, …), its text, and the number of lines above it."""

    kind: str
    text: str
    above: int


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, *kinds: str) -> Iterator[Block]:
    text = text_of(page)
    for found in _FENCE.finditer(text):
        if found[3].strip() in kinds:
            yield Block(found[3].strip(), found[4], text.count("\n", 0, found.start(4)))


def prose(page: Path) -> str:
    """The page without its blocks; tables and code in backticks stay."""
    return _FENCE.sub("", text_of(page))


def commands(block: Block) -> list[list[str]]:
    """The commands after `$`, as words; lines that end in a backslash go on, `&&` makes two, comments go."""
    joined = block.text.replace("\\\n", " ")
    found: list[list[str]] = []
    for line in joined.splitlines():
        if line.startswith("$ "):
            found.append([])
            for word in shlex.split(line.removeprefix("$ "), comments=True):
                if word == "&&":
                    found.append([])
                else:
                    found[-1].append(word)
    return found
