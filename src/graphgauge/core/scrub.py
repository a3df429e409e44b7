"""Make text from files safe to show: no control characters, no changes of direction, limited length."""

from __future__ import annotations

import hashlib
import re
from typing import Any

# Longer texts are cut.
LIMIT = 300
# Control characters, marks that turn the direction of writing, line separators, byte-order marks, lone surrogates.
_HARMFUL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_NUMBERS = (float, int, bool, type(None))
_BREAKS = re.compile(r"[\n\r\t]")


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


def scrub(value: Any) -> Any:
    """Every string in a JSON value cleaned, names of fields included."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        # Most values are numbers, and result files have many.
        return {clean(name): item if item.__class__ in _NUMBERS else scrub(item) for name, item in value.items()}
    if not isinstance(value, list):
        return value
    return [item if item.__class__ in _NUMBERS else scrub(item) for item in value]
