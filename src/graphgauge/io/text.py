"""What the readers of text and tables share."""

from __future__ import annotations


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def first_line(error: Exception) -> str:
    """What went wrong, short enough for a sentence."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
