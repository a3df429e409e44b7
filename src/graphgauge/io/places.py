"""Where inputs are: files, members of archives, patterns, URLs; and what reading them may cost."""

from __future__ import annotations

import atexit
import glob
import re
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from graphgauge.core.errors import GraphgaugeError, InputError
from graphgauge.core.extras import need

# Endings of files with several arrays, of which `FILE:NAME` is one.
ARCHIVES = (".npz", ".pt", ".pth", ".safetensors")
# What reading a file can raise that is damaged, or not what its ending says; readers' libraries add their own.
_DAMAGE = (
    LookupError,
    ArithmeticError,
    ValueError,
    TypeError,
    AttributeError,
    AssertionError,
    SyntaxError,
    OSError,
    EOFError,
    RuntimeError,
    MemoryError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
_LIBRARIES = ("pyarrow", "torch", "safetensors", "safetensors_rust", "_pickle", "fsspec", "tokenize")
# Files that a pattern may match, and folders in it.
_MOST_FILES, _MOST_FOLDERS = 1_000_000, 100
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(text: str) -> bool:
    return _URL.match(text) is not None


def split_member(text: str) -> tuple[str, str | None]:
    """The file and the array's name in `archive.npz:name`; the name is None if there is none."""
    match = re.fullmatch(rf"(.+(?:{'|'.join(map(re.escape, ARCHIVES))})):([^/\\:]+)", text)
    return (match[1], match[2]) if match else (text, None)


def is_pattern(text: str, folder: Path) -> bool:
    """Whether a name is a pattern; a file of that name comes first."""
    return glob.has_magic(text) and not is_url(text) and not _exists(folder / split_member(text)[0])


def matching(pattern: str, folder: Path) -> list[str]:
    """The files that match a pattern, numbers in their names in numeric order."""
    if pattern.count("/") > _MOST_FOLDERS or pattern.count("**") > 1:
        raise InputError("the pattern has too many folders", where=f"{pattern:.80}")
    names = []
    for name in glob.iglob(pattern, root_dir=folder, recursive=True):
        names.append(name)
        if len(names) > _MOST_FILES:
            raise InputError(f"matches more than {_MOST_FILES:,} files", where=pattern, fix="Name fewer folders.")
    if not names:
        raise InputError("no file matches this pattern", where=pattern)
    return sorted(names, key=_natural)


def local_file(text: str, folder: Path = Path()) -> Path:
    """The file of this name, below a folder unless it is absolute; what a URL names is copied first."""
    path = _copy(text) if is_url(text) else folder / text
    if not _exists(path):
        raise InputError("no such file", where=text)
    if path.is_dir():
        raise InputError("is a folder", where=text, fix="Name a file, or quote a pattern such as 'pos-*.npy'.")
    if not path.is_file():
        raise InputError("is not a regular file", where=text)
    if path.stat().st_size == 0:
        raise InputError("the file is empty", where=text)
    return path


@contextmanager
def readable(where: str, fix: str = "Write the file again; it may be damaged.") -> Iterator[None]:
    """Within this block a file that cannot be read is an InputError."""
    try:
        yield
    except GraphgaugeError:
        raise
    except Exception as error:
        if not isinstance(error, _DAMAGE) and type(error).__module__.partition(".")[0] not in _LIBRARIES:
            raise
        raise InputError(f"cannot be read ({said(error)})", where=where, fix=fix) from None


def said(error: Exception) -> str:
    """The first line of an error's message, without the number and the path of a system's error."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (text.splitlines() or [type(error).__name__])[0][:200]


def _natural(text: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", text)]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long for a name
        return False


@cache
def _folder_of_copies() -> Path:
    folder = tempfile.mkdtemp(prefix="graphgauge-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@cache
def _copy(url: str) -> Path:
    """A local copy of what a URL names, kept as long as the process runs."""
    fsspec = need("fsspec", "reading from a URL")
    name = re.split(r"[?#]", url)[0].rstrip("/").rpartition("/")[2] or "file"
    target = Path(tempfile.mkdtemp(dir=_folder_of_copies())) / name
    try:
        with fsspec.open(url, "rb") as remote, target.open("wb") as copy:
            shutil.copyfileobj(remote, copy, 1 << 22)
    except Exception as error:
        raise InputError(f"cannot be read ({type(error).__name__}: {said(error)})", where=url) from None
    return target
