"""Write values and tables as TOML; the standard library only reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


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
