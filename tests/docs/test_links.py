"""Every link from a page to a page, to a heading in it, or to a file leads somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, PAGES, blocks, exists, generator, name_of, prose, text_of

_LINK = re.compile(r"!?\[(?:[^\]\\]|\\.)*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
_HEADING = re.compile(r"^#{1,6} (.+?) *$", re.MULTILINE)
_TARGET = re.compile(r"^\(([\w-]+)\)=$", re.MULTILINE)
_INCLUDE = re.compile(r"^ *```\{include\} (\S+)$", re.MULTILINE)
_FIGURE = re.compile(r"^ *```\{(?:figure|image)\} (\S+)$", re.MULTILINE)
_ELSEWHERE = ("http://", "https://", "mailto:")


@cache
def anchors(page: Path) -> frozenset[str]:
    """Names of the headings as the pages' builder makes them, and explicit targets; included pages count."""
    found = {slug(heading) for heading in _HEADING.findall(prose(page))} | set(_TARGET.findall(text_of(page)))
    for included in _INCLUDE.findall(text_of(page)):
        path = (page.parent / included).resolve()
        if path.suffix == ".md":
            found |= anchors(path)
    return frozenset(found)


def slug(heading: str) -> str:
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def links(page: Path) -> Iterator[str]:
    yield from _LINK.findall(prose(page))
    yield from _INCLUDE.findall(text_of(page))
    yield from _FIGURE.findall(text_of(page))


def broken(page: Path) -> Iterator[str]:
    for link in links(page):
        path, _, anchor = link.partition("#")
        if link.startswith(_ELSEWHERE):
            continue
        target = (page.parent / path).resolve() if path else page
        if not exists(target):
            yield f"{link}: no such file"
        elif anchor and anchor not in anchors(target):
            yield f"{link}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_hold(page: Path) -> None:
    assert not list(broken(page))


def test_every_page_is_in_the_table_of_contents() -> None:
    reached, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            waiting += [entry for entry in _entries(page) if exists(entry)]
    written = {page for page in generator()["pages"]() if page.suffix == ".md"}
    assert {page for page in PAGES if DOCS in page.parents} | written == reached


def _entries(page: Path) -> Iterator[Path]:
    for block in blocks(page, "{toctree}"):
        for line in filter(None, map(str.strip, block.text.splitlines())):
            if not line.startswith(":"):
                name = line.partition("<")[2].rstrip(">") or line  # a title may stand before it
                yield (page.parent / f"{name}.md").resolve()


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One heading, `code`\n[a](#one-heading-code) [b](#two) [c](none.md) [d](https://example.org)\n")
    assert list(broken(page)) == ["#two: no such heading", "none.md: no such file"]
