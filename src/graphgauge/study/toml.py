"""What tomllib leaves out: values and tables written as TOML, and the lines of tables and keys, for messages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_HEADER = re.compile(r"""\s*(\[\[?)\s*([\w.\-"']+)\s*\]\]?\s*(?:\#.*)?""")
_KEY = re.compile(r"""\s*["']?([\w\-]+)["']?\s*[.=]""")
_STRING = re.compile(r'"(?:\\.|[^"\\])*"' + r"|'[^']*'")
_LONG_QUOTES = ('"""', "'''")

Place = tuple[str, int]


def value(content: Any) -> str:
    """
    >>> value({"relation": ["a", 1, True]})
    '{ relation = ["a", 1, true] }'
    """
    if isinstance(content, Mapping):
        return "{ " + ", ".join(f"{key(name)} = {value(part)}" for name, part in content.items()) + " }"
    if isinstance(content, list | tuple):
        return "[" + ", ".join(map(value, content)) + "]"
    if isinstance(content, bool):
        return "true" if content else "false"
    if isinstance(content, str):
        # A JSON string is a TOML string if characters beyond 16 bits are not escaped.
        return json.dumps(content, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(content)


def key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else value(name)


def lines(content: Mapping[str, Any]) -> list[str]:
    return [f"{key(name)} = {value(part)}" for name, part in content.items()]


class Lines:
    """Line numbers from 1. `("evaluate", 2)` is the third `[[evaluate]]`; the file's own keys are in `("", 0)`."""

    def __init__(self, text: str) -> None:
        self._headers: dict[Place, int] = {("", 0): 1}
        self._keys: dict[tuple[Place, str], int] = {}
        table: Place = ("", 0)
        counts: dict[str, int] = {}
        quotes, depth = "", 0
        for number, line in enumerate(text.splitlines(), 1):
            if quotes:
                if quotes in line:
                    quotes = ""
                continue
            if depth == 0 and (header := _HEADER.fullmatch(line)):
                name = re.sub("[\"']", "", header[2])
                table = name, counts.get(name, 0) if header[1] == "[[" else 0
                counts[name] = table[1] + 1
                self._headers[table] = number
                continue
            if depth == 0 and (key := _KEY.match(line)):
                self._keys.setdefault((table, key[1]), number)
            quotes = next((mark for mark in _LONG_QUOTES if line.count(mark) % 2), "")
            bare = _STRING.sub("", line).partition("#")[0]
            depth = max(0, depth + bare.count("[") - bare.count("]"))

    def of(self, table: str = "", index: int = 0, key: str | None = None) -> int:
        """The line of a key, which may be a table itself, else of its table, else of where that is given as a value."""
        place = table, index
        if key is not None:
            own = self._keys.get((place, key)) or self._headers.get((f"{table}.{key}".lstrip("."), 0))
            if own is not None:
                return own
        return self._headers.get(place) or self._keys.get((("", 0), table.partition(".")[0]), 1)
