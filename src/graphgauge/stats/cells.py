"""The text of a cell as a number: percent, decimal commas, failures, and means with their spread."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

Decimal = Literal["point", "comma"]
EMPTY = frozenset(("", "nan", "na", "n/a", "#n/a", "<na>", "nat", "null", "none", "-", "–", "—", "--", "?"))
# What people write instead of a number that a run did not give.
FAILURES = frozenset(
    (
        "oom",
        "oot",
        "out of memory",
        "out of time",
        "timeout",
        "time out",
        "failed",
        "failure",
        "error",
        "crashed",
        "diverged",
        "did not converge",
        "#div/0!",
        "#value!",
        "#ref!",
        "#name?",
        "#num!",
    )
)

_DECIMALS: tuple[Decimal, ...] = ("point", "comma")
_LONGEST = 500
_NUMBER = r"[-+−]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][-+−]?\d+)?"
_PLAIN = re.compile(r"-?\d{1,12}(?:[.,]\d{1,18})?")  # most cells
_NUMERIC = re.compile(rf"{_NUMBER}|[-+−]?(?:inf|infinity)", re.IGNORECASE)
_WITH_SPREAD = re.compile(
    rf"(?P<mean>{_NUMBER})\s*%?\s*(?:±|\+/-|\+-)\s*(?P<std>{_NUMBER})\s*%?|(?P<mean2>{_NUMBER})\s*%?\s*\(\s*±?\s*(?P<std2>{_NUMBER})\s*%?\s*\)"
)
_GROUPED = re.compile(r"[-+−]?\d{1,3}(?:,\d{3})+|[-+−]?\d[\d.,]*[.,][\d.,]*[.,]\d*")
_COMMA = re.compile(r"[-+−]?\d*,\d+(?:[eE][-+−]?\d+)?%?")


class CellError(ValueError):
    """Why a cell is not read."""


@dataclass(frozen=True)
class Number:
    """A number in a cell: its value, whether it has a percent sign, the spread after it, and why there is no value."""

    value: float
    percent: bool = False
    std: float | None = None
    reason: str | None = None


def is_empty(value: Any) -> bool:
    if isinstance(value, float):
        return value != value
    return value is None or str(value).strip().lower() in EMPTY


def is_number(value: Any) -> bool:
    """Whether a cell has a number, with a decimal point or comma."""
    for decimal in _DECIMALS:
        try:
            return not math.isnan(read_cell(value, decimal).value)
        except CellError:
            continue
    return False


def read_cell(value: Any, decimal: Decimal = "point") -> Number:
    """The number in a cell; NaN for an empty one."""
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        raise CellError(f"{value!r} is not a number")
    if not isinstance(value, str):
        if is_empty(value):
            return Number(math.nan)
        try:
            return Number(float(value))
        except (TypeError, ValueError):
            raise CellError(f"{value!r:.60} is not a number") from None
        except OverflowError:
            raise CellError(f"{str(value)[:30]}… is too large") from None
    if _PLAIN.fullmatch(value):
        return Number(_float(value, decimal))
    text = plain_text(value)
    if text.lower() in EMPTY:
        return Number(math.nan)
    if text.lower() in FAILURES:
        return Number(math.nan, reason=text)
    percent = text.endswith("%") or "%" in text
    bare = text.replace("%", "").strip()
    if _NUMERIC.fullmatch(bare):
        return Number(_float(bare, decimal), percent)
    spread = _WITH_SPREAD.fullmatch(text)
    if spread is not None:
        mean, std = spread["mean"] or spread["mean2"], spread["std"] or spread["std2"]
        return Number(_float(mean, decimal), percent, _float(std, decimal))
    if _GROUPED.fullmatch(bare):
        raise CellError(f"{value!r:.60} has both kinds of separators, or one twice: write 1234.5 without thousands")
    raise CellError(f"{value!r:.60} is not a number")


def _float(text: str, decimal: Decimal) -> float:
    text = text.replace("−", "-")
    if "," in text and decimal == "point":
        raise CellError(f"{text!r:.60} has a decimal comma, other cells of the table a point")
    if "." in text and decimal == "comma":
        raise CellError(f"{text!r:.60} has a decimal point, other cells of the table a comma")
    value = float(text.replace(",", "."))
    if math.isinf(value) and "inf" not in text.lower():
        raise CellError(f"{text!r:.60} is too large")
    return value


@lru_cache(4096)  # names occur in many rows
def plain_text(text: str) -> str:
    r"""A cell without the markup of papers: bold, underlined or coloured, in Markdown, LaTeX or HTML."""
    text = text.strip()
    if len(text) > _LONGEST:
        return text
    if text.startswith("'") and len(text) > 1:  # the quote that keeps a spreadsheet from running a cell
        text = text[1:]
    if "\\" in text or "$" in text:
        text = text.replace(r"\pm", "±").replace(r"\%", "%").replace(r"\,", " ").replace("~", " ").replace("$", "")
        text = re.sub(r"\\(?:[a-zA-Z]*cite[a-zA-Z]*|[a-zA-Z]*ref|label|footnote)\*?(?:\[[^\]]*\])*\{[^{}]*\}", "", text)
        text = re.sub(r"\\(?:textcolor|colorbox|cellcolor|color)(?:\[[^\]]*\])?\{[^{}]*\}", "", text)
        text = re.sub(r"\\[a-zA-Z]+\*?", " ", text)
        text = re.sub(r"[{}]", " ", text).replace("_ ", " ").replace("^ ", " ")
        text = re.sub(r"[_^]\s*(?=±)", " ", text)
    text = re.sub(r"</?[a-zA-Z][^<>]*>", "", text)
    text = re.sub(r"^(\*\*|__|\*|_|`)+|(\*\*|__|\*|_|`|†|‡)+$", "", text.strip())
    return re.sub(r"\s+", " ", text).strip()


def decimal_of(cells: Iterable[Any]) -> Decimal | None:
    """Whether numbers have a decimal point or comma; None if 1,234 may be either.

    0,5 and 81,25 have a decimal comma; 1,234 alone may be a number of four digits.
    """
    found: Decimal = "point"
    doubtful = False
    for cell in cells:
        if not isinstance(cell, str) or "," not in cell:
            continue
        for text in re.findall(r"[-+−]?[\d.]*,[\d,]+(?:[eE][-+−]?\d+)?", plain_text(cell)):
            if _COMMA.fullmatch(text) is None:
                continue
            whole, _, digits = text.lstrip("-+−").partition(",")
            if re.fullmatch(r"[1-9]\d{0,2}", whole) and re.fullmatch(r"\d{3}", digits):
                doubtful = True
            else:
                found = "comma"
    return None if doubtful and found == "point" else found
