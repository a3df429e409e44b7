"""Standard streams that do not stop a command if readers close, disks fill up, or encodings lack characters."""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

# Replacements for characters that the stream's encoding lacks; others become a question mark.
_PAIRS = (
    "−- –- ─- …... ·. ×x ±+/- ≤<= ≥>= →-> ←<- ↑^ ↓v ◎o ★* ∞inf √sqrt ²2 ⁴4 ½1/2 αalpha σsigma τtau χchi ΔDelta ΣSum"
)
_PLAIN = {pair[0]: pair[1:] for pair in [*_PAIRS.split(), "µu", "‖||"]}
_HANDLER = "graphgauge.plain"
# The reader has closed the stream, or there was none; this is not an error.
_GONE = (errno.EPIPE, errno.EBADF, errno.ESHUTDOWN, errno.ECONNRESET)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(each, "?") for each in error.object[error.start : error.end]), error.end


codecs.register_error(_HANDLER, _plain)


class Lasting(io.TextIOBase):
    """A stream to which everything can be written; `failure` is why output was lost, unless its reader closed.

    It has no `buffer`, so that all output goes through it.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._lost = stream, False
        self.failure: OSError | None = None
        self.reconfigure(errors=_HANDLER)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding or "utf-8"

    def isatty(self) -> bool:
        return not self._lost and self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def writable(self) -> bool:
        return True

    def reconfigure(self, **options: Any) -> None:
        """For imported code; a stream that does not support it is unchanged."""
        if isinstance(self._stream, io.TextIOWrapper):
            self._stream.reconfigure(**options)

    def write(self, text: str) -> int:
        if not isinstance(text, str):  # as any text stream; click asks this way which kind it is
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._tried(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._tried(self._stream.flush)

    def _tried(self, call: Any) -> None:
        """Do it, unless output is lost; a ValueError means that the stream was closed."""
        try:
            None if self._lost else call()
        except (OSError, ValueError) as error:
            self._lost = True
            if isinstance(error, OSError) and error.errno not in _GONE:
                self.failure = error
            # Text left in its buffer would fail again when the interpreter ends.
            with suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self._stream.fileno())
                os.close(nowhere)


@contextmanager
def lasting_streams() -> Iterator[tuple[Lasting, Lasting]]:
    """Stdout and stderr that cannot fail on writes, for this block."""
    _occupy_closed()
    before = sys.stdout, sys.stderr
    # Python has no object for a stream that was closed before it started.
    stdout, stderr = (Lasting(stream or io.StringIO()) for stream in before)
    sys.stdout, sys.stderr = stdout, stderr
    try:
        yield stdout, stderr
    finally:
        stdout.flush()
        stderr.flush()
        sys.stdout, sys.stderr = before


def _occupy_closed() -> None:
    """A file opened later must not take the number of a closed standard stream: a library may write there."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
