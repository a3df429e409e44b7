"""Helpers of the text and table readers."""

from __future__ import annotations


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def first_line(error: Exception) -> str:
    """The first line of an error message, shortened."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
