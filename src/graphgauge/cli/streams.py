"""Standard streams that never stop a command: readers go away, disks fill up, and encodings lack characters."""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

# What tables and sentences use, for a stream that has no such character; anything else becomes a question mark.
_PLAIN = {
    "−": "-", "–": "-", "─": "-", "…": "...", "·": ".", "×": "x", "±": "+/-", "≤": "<=", "≥": ">=", "≈": "~",
    "→": "->", "←": "<-", "↑": "^", "↓": "v", "◎": "o", "★": "*", "∞": "inf", "√": "sqrt", "²": "2", "⁴": "4",
    "½": "1/2", "α": "alpha", "σ": "sigma", "τ": "tau", "χ": "chi", "Δ": "Delta", "Σ": "Sum", "µ": "u", "‖": "||",
}  # fmt: skip
_HANDLER = "graphgauge.plain"
# The reader has left, or never was there: what it does not want is no error.
_GONE = (errno.EPIPE, errno.EBADF, errno.ESHUTDOWN, errno.ECONNRESET)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character, "?") for character in characters), error.end


codecs.register_error(_HANDLER, _plain)


class Lasting(io.TextIOBase):
    """A stream to which everything can be written; `failure` is why some of it was lost, unless its reader left.

    It has no `buffer`, so that nobody writes past it.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lost = False
        self.failure: OSError | None = None

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(self._stream, "encoding", None) or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return getattr(self._stream, "errors", None) or "strict"

    def isatty(self) -> bool:
        return not self._lost and self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def writable(self) -> bool:
        return True

    def reconfigure(self, **options: Any) -> None:
        """As imported code may ask for; a stream that cannot is left as it is."""
        if isinstance(self._stream, io.TextIOWrapper):
            self._stream.reconfigure(**options)

    def write(self, text: str) -> int:
        if not isinstance(text, str):  # as any text stream; click asks this way which kind it is
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if not self._lost:
            try:
                self._stream.write(self._encodable(text))
            except (OSError, ValueError) as error:
                self._give_up(error)
        return len(text)

    def flush(self) -> None:
        if not self._lost:
            try:
                self._stream.flush()
            except (OSError, ValueError) as error:
                self._give_up(error)

    def _encodable(self, text: str) -> str:
        try:
            text.encode(self.encoding, self.errors)
        except UnicodeEncodeError:
            return text.encode(self.encoding, _HANDLER).decode(self.encoding)
        return text

    def _give_up(self, error: OSError | ValueError) -> None:
        """Say no more. A ValueError is a stream that was closed."""
        self._lost = True
        if isinstance(error, OSError) and error.errno not in _GONE:
            self.failure = error
        # What still lies in its buffer would fail again when the interpreter ends.
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


@contextmanager
def lasting_streams() -> Iterator[tuple[Lasting, Lasting]]:
    """Stdout and stderr that nothing written to them can break, for the time of this block."""
    _occupy_closed()
    before = sys.stdout, sys.stderr
    # Python has no object for a stream that was closed before it began.
    stdout, stderr = (Lasting(stream or io.StringIO()) for stream in before)
    sys.stdout, sys.stderr = stdout, stderr
    try:
        yield stdout, stderr
    finally:
        stdout.flush()
        stderr.flush()
        sys.stdout, sys.stderr = before


def _occupy_closed() -> None:
    """A file opened later must not become the standard stream that was closed: a library may write there."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one
