"""Text as terminals, Markdown, LaTeX, HTML and spreadsheets take it: nothing in it is markup or a command."""

from __future__ import annotations

import csv
import hashlib
import html
import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from io import StringIO
from typing import Any

# Longer texts are cut.
LIMIT = 300
# Control characters, marks that turn the direction of writing, line separators, byte-order marks, lone surrogates.
_HARMFUL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_BREAKS = re.compile(r"[\n\r\t]")
# ASCII characters that mean something to LaTeX, and symbols that it sets only in mathematics.
_LATEX = {
    **{character: "\\" + character for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"\textbar{}",
    '"': "''",
    "±": r"$\pm$",
    "÷": r"$\div$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "◎": r"$\circledcirc$",
    "→": r"$\rightarrow$",
    "–": "--",
    "—": "---",
    "−": "$-$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "≠": r"$\neq$",
    "≈": r"$\approx$",
    "∞": r"$\infty$",
    "…": r"\ldots{}",
    "†": r"$\dagger$",
    "’": "'",
    "“": "``",
    "”": "''",
}
# Latin letters that LaTeX's usual encodings do not have.
_NOT_IN_T1 = "ĦħĸĿŀŉŦŧ"
# A hyphen before a number, and not within a word or a date.
_MINUS = re.compile(r"(?<![\w.)-])-(?=\.?\d)")
_SPREADSHEET = ("=", "+", "-", "@", "\t", "\r")


def clean(text: str, limit: int = LIMIT) -> str:
    """The text made safe; a changed text ends in a hash, so that two names stay different."""
    if len(text) <= limit and text.isprintable():
        return text
    flat = _BREAKS.sub(" ", text[:limit])
    shown = _HARMFUL.sub("\ufffd", flat)
    if shown == flat and len(text) <= limit:
        return flat
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{shown}{'…' if len(text) > limit else ''} ~{digest}"


def plain_text(text: str) -> str:
    """One line without control characters."""
    return text if text.isprintable() else clean(text)


def markdown_text(text: str) -> str:
    """Text in which nothing is Markdown or HTML."""
    return "".join("\\" + c if c in "\\|*_`<[" else c for c in _one_line(text))


def html_text(text: str) -> str:
    """Text in which nothing is HTML."""
    return html.escape(plain_text(text))


def latex_text(text: str) -> str:
    """Text that LaTeX sets with its usual fonts; a character that it cannot set becomes a question mark."""
    return "".join(map(_latex_character, _MINUS.sub("−", _one_line(text))))


@cache
def _latex_character(character: str) -> str:
    if character in _LATEX:
        return _LATEX[character]
    if character.isascii() or ("À" <= character <= "ž" and character not in _NOT_IN_T1):
        return character
    script, size, _, letter = (*unicodedata.name(character, "").split(), "", "", "", "")[:4]
    if script == "GREEK" and size == "SMALL" and letter in _GREEK:
        return rf"$\{letter.lower()}$"
    if script == "GREEK" and size == "CAPITAL" and letter in _GREEK:
        return _GREEK[letter] or rf"$\{letter.capitalize()}$"
    bare = "".join(c for c in unicodedata.normalize("NFKD", character) if not unicodedata.combining(c))
    return "".join(map(_latex_character, bare)) if bare != character and bare.isascii() else "?"


# Greek letters that LaTeX has; a capital that looks like a Latin letter has no command of its own.
_GREEK = dict(
    zip(
        ["ALPHA", "BETA", "EPSILON", "ZETA", "ETA", "IOTA", "KAPPA", "MU", "NU", "RHO", "TAU", "CHI"],
        "ABEZHIKMNPTX",
        strict=True,
    )
) | dict.fromkeys(("GAMMA", "DELTA", "THETA", "XI", "PI", "SIGMA", "UPSILON", "PHI", "PSI", "OMEGA"), "")


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV; text that a spreadsheet would run as a formula gets a leading quote, None is an empty cell."""
    stream = StringIO()
    csv.writer(stream, lineterminator="\n").writerows(map(_csv_cell, row) for row in rows)
    return stream.getvalue()


def _csv_cell(value: Any) -> Any:
    if value is None:
        return ""
    if not isinstance(value, str) or not value.startswith(_SPREADSHEET) or _is_number(value):
        return value
    return f"'{value}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _one_line(text: str) -> str:
    return plain_text(" ".join(text.split()))
