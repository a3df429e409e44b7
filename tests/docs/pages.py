"""What stands in the pages: blocks of code, the commands among them, headings and links."""

from __future__ import annotations

import re
import runpy
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WRITTEN_BY_BUILD = (
    *(DOCS / folder for folder in ("_build", "metrics", "reference")),
    DOCS / "audit" / "index.md",
)
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted(page for page in DOCS.rglob("*.md") if not {page, *page.parents} & set(WRITTEN_BY_BUILD)),
]
_FENCE = re.compile(r"^([ ]*)(`{3,})([^\n`]*)\n(.*?)^\1\2[ ]*$", re.MULTILINE | re.DOTALL)


# Blocks of commands: after `$` in one kind, a line each in the others.
SHELL = ("console", "bash", "sh")


@dataclass(frozen=True)
class Block:
    """A fenced block: its kind (`python`, `console`, …), its text, and the number of lines above it.

    `follows` is the kind of the block that stands directly before it, with nothing said in between.
    """

    kind: str
    text: str
    above: int
    follows: str = ""


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@cache
def generator() -> dict[str, Any]:
    """The names of docs/generate.py."""
    return runpy.run_path(str(DOCS / "generate.py"))


def text_of(page: Path) -> str:
    """A page, as it stands or as the build of the docs writes it."""
    if {page, *page.parents} & set(WRITTEN_BY_BUILD):
        text: str = generator()["pages"]()[page]
        return text
    return page.read_text(encoding="utf-8")


def exists(path: Path) -> bool:
    return path in generator()["pages"]() if {path, *path.parents} & set(WRITTEN_BY_BUILD) else path.exists()


def blocks(page: Path, *kinds: str) -> Iterator[Block]:
    text = text_of(page)
    before, end = "", 0
    for found in _FENCE.finditer(text):
        kind = found[3].strip()
        if kind in kinds:
            follows = before if not text[end : found.start()].strip() else ""
            yield Block(kind, found[4], text.count("\n", 0, found.start(4)), follows)
        before, end = kind, found.end()


def prose(page: Path) -> str:
    """The page without its blocks; tables and code in backticks stay."""
    return _FENCE.sub("", text_of(page))


def commands(block: Block) -> list[list[str]]:
    """The commands of a block, as words; lines that end in a backslash go on, `&&` makes two, comments go."""
    joined = block.text.replace("\\\n", " ")
    found: list[list[str]] = []
    for line in joined.splitlines():
        if line.startswith("$ ") or (block.kind != "console" and line.strip()):
            found.append([])
            for word in shlex.split(line.removeprefix("$ "), comments=True):
                if word == "&&":
                    found.append([])
                else:
                    found[-1].append(word)
    return found


def missing(shown: str, printed: str) -> str | None:
    """The first line on a page that the output does not have, in its order; `…` stands for any number of lines.

    Long lines may be broken on the page, so only words count.
    """
    rest = " ".join(printed.split())
    for part in shown.split("…"):
        words = " ".join(part.split())
        place = rest.find(words)
        if place < 0:
            return next(line for line in part.splitlines() if " ".join(line.split()) not in rest)
        rest = rest[place + len(words) :]
    return None
