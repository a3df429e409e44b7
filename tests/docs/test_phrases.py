"""Pages, messages and docstrings avoid phrases that readers from the field stumble over.

Write "differs significantly from", "tested against", "must equal", "related metrics", "fix", "most severe", "is shown
next to", "on top of these", "runs per cell" and "you must specify" instead.
"""

from __future__ import annotations

import re
from functools import cache

import pytest
from tests.docs.pages import ROOT

PHRASES = (
    r"told apart",
    r"(?:tell|tells|telling|told) (?:[\w`'@-]+ ){1,8}apart",
    r"held to",
    r"and (?:its|their) kin",
    r"mend(?:s|ed|ing)?",
    r"gravest",
    r"stands? beside",
    r"over them stand",
    r"runs a cell",
    r"has to be told",
    r"is told where",
)
PLACES = ("*.md", "docs/**/*.md", "docs/**/*.inc", "src/**/*.py", "src/**/*.j2", "src/**/*.js", "examples/*.py")
# Words may be on two lines of a page, of a comment or of a string in parts.
_GAP = r"""[\s"'#>]+(?:f["'])?"""


def pattern(phrase: str) -> re.Pattern[str]:
    return re.compile(rf"\b{phrase.replace(' ', _GAP)}\b", re.IGNORECASE)


@cache
def texts() -> dict[str, str]:
    """Every file that users read text from, by its path from the root."""
    files = {file for place in PLACES for file in ROOT.glob(place) if "_build" not in file.parts}
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in sorted(files)}


@pytest.mark.parametrize("phrase", PHRASES)
def test_no_file_has_the_phrase(phrase: str) -> None:
    wanted = pattern(phrase)
    found = [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {' '.join(match[0].split())}"
        for name, text in texts().items()
        for match in wanted.finditer(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("A is Told apart", "told apart"),
        ("# which is not told\n    # apart from B", "told apart"),
        ('f"{name} is told "\n    f"apart from B"', "told apart"),
        ("it tells the two apart", PHRASES[1]),
        ("how to mend it", PHRASES[4]),
        ("the values stand beside", PHRASES[6]),
    ],
)
def test_phrases_are_recognised(text: str, phrase: str) -> None:
    assert pattern(phrase).search(text)


@pytest.mark.parametrize("text", ["recommended", "held-out", "upheld together", "it tells, apart from this, which"])
def test_ordinary_words_are_not(text: str) -> None:
    assert not any(pattern(phrase).search(text) for phrase in PHRASES)


def test_every_place_has_files() -> None:
    assert not [place for place in PLACES if not any(ROOT.glob(place))]
