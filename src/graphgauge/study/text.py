"""Make text from files safe for a terminal: short, on one line, without control sequences."""

from __future__ import annotations

import hashlib

_LONGEST_NAME = 60
_LONGEST_LINE = 500
_LONGEST_MESSAGE = 300


def shown(name: object) -> str:
    """A name on one line; a long one is cut and gets a hash to stay unique."""
    text = str(name)
    if len(text) > _LONGEST_NAME:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        text = f"{text[: _LONGEST_NAME - 20]}…~{digest}"
    return _harmless(text)


def sentence(text: object) -> str:
    """A message on one line, cut if it is long: text of somebody else must not look like a line of ours."""
    return cleaned(" ".join(str(text).splitlines())[:_LONGEST_MESSAGE])


def cleaned(text: str) -> str:
    """Several lines, each of limited length."""
    lines = (line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in text.split("\n"))
    return "\n".join(map(_harmless, lines))


def duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def in_bytes(number: float) -> str:
    """A number of bytes with its unit, in three digits."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"


def _harmless(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
