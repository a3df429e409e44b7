"""Files: JSON and checks for all readers, and atomic writing, completely or not at all."""

from __future__ import annotations

import errno
import fnmatch
import glob
import json
import math
import os
import re
import stat
import struct
import tokenize
import uuid
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from graphgauge.core.errors import GraphgaugeError, InputError

# Errors of the disk or of a pipe, not of the program.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EPIPE)
# What reading a file can raise that is damaged, or not what its ending says; libraries add their own classes.
DAMAGE = (
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
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
# Endings of files with several arrays, of which `FILE:NAME` is one.
ARCHIVES = (".npz", ".pt", ".pth", ".safetensors")
# Compressed input may unpack to this many bytes in any case, or to this many times its size.
_UNPACKED = 1 << 29
_UNPACKED_TEXT = 1 << 26
_RATIO = 100
# Names that one search for files looks at.
_MOST_NAMES = 1_000_000
# Numbers in JSON that may be beyond all floats have an exponent of three digits, or hundreds of digits; here every
# digit is a zero. Hashes have such exponents too, but a number ends otherwise.
_DIGITS = bytes.maketrans(b"123456789E", b"000000000e")
_MANY_DIGITS = b"0" * 309
_LARGE_EXPONENT = re.compile(rb"0e\+?0{3,}(?![^\s,}\]])")
# No path is longer, and the time to match a pattern grows with the square of its length.
_LONGEST_PATTERN = 4096
_DEEPEST = 100
_TEMPORARY = re.compile(r"\.graphgauge-[0-9a-f]{32}(\.\w+)?")


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path next to `path` that replaces it if the block succeeds, and is removed otherwise.

    Devices and pipes, such as /dev/stdout, cannot be replaced and are written directly. A full disk, or any other error
    while writing, is an InputError that names `path`.
    """
    target = Path(path)
    if _is_device(target):
        with writing(target):
            yield target
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.parent / f".graphgauge-{uuid.uuid4().hex}{target.suffix}"
        temporary.touch(exist_ok=False)
    except (OSError, ValueError) as error:
        raise _unwritable(target, error) from None
    try:
        with writing(target, temporary):
            yield temporary
        try:
            temporary.replace(target)
        except (OSError, ValueError) as error:
            raise _unwritable(target, error) from None
    finally:
        with suppress(OSError):  # a failed disk must not hide the first error
            temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def writing(target: Path, place: Path | None = None) -> Iterator[None]:
    """Report disk errors in this block as errors of `target`, which is written at `place` or below it.

    Errors of other files that are read in the block are left as they are.
    """
    try:
        yield
    except OSError as error:
        name = None if error.filename is None else Path(os.fsdecode(error.filename))
        if name is None and error.errno in DISK_ERRORS:
            raise _unwritable(target, error) from None
        if name is not None and name.is_relative_to(place or target):
            raise _unwritable(target if place else name, error) from None
        raise


def require_file(path: Path, where: str | None = None) -> None:
    """Refuse what is not a file with content."""
    place = where or str(path)
    if not path.exists():
        raise InputError("no such file", where=place)
    if path.is_dir():
        raise InputError("is a folder", where=place, fix="Name a file, or quote a pattern such as 'pos-*.npy'.")
    if path.stat().st_size == 0:
        raise InputError("the file is empty", where=place)


@contextmanager
def readable(path: str | Path, fix: str | None = None, damage: tuple[type[Exception], ...] = DAMAGE) -> Iterator[None]:
    """Within this block a file that cannot be read is an InputError."""
    try:
        yield
    except GraphgaugeError:
        raise
    except FileNotFoundError:
        raise InputError("no such file", where=str(path)) from None
    except damage as error:
        raise InputError(f"cannot be read ({first_line(error)})", where=str(path), fix=fix) from None


def first_line(error: Exception) -> str:
    """The first line of an error message, shortened, without the number and the path of a system's error."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (said.splitlines() or [type(error).__name__])[0][:200]


def require_bounded(
    packed: int, unpacked: int, where: str, fix: str = "If this is right, write it uncompressed."
) -> None:
    """Refuse compressed input that unpacks to far more than its size: a small file must not fill the memory."""
    if unpacked > max(_UNPACKED, _RATIO * packed):
        raise InputError(f"unpacks from {packed:,} to {unpacked:,} bytes", where=where, fix=fix)


def require_bounded_text(written: int, read: int, where: str, fix: str) -> None:
    """The same for text whose numbers, such as the number of a node, say how much memory they take."""
    if read > max(_UNPACKED_TEXT, _RATIO * written):
        raise InputError(f"{written:,} bytes of text stand for {read:,} bytes", where=where, fix=fix)


def require_bounded_archive(file: Any, where: str) -> None:
    """The same for all members of a zip archive, which is a path or a stream at its beginning."""
    start = None if isinstance(file, str | Path) else file.tell()
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return  # not an archive, or damaged, which its reader reports
    finally:
        if start is not None:
            file.seek(start)
    require_bounded(sum(m.compress_size for m in members), sum(m.file_size for m in members), where)


def read_unpacked(stream: Any, packed: int, where: str) -> bytes:
    """The content of a compressed stream, unless it is far larger than its file."""
    most = max(_UNPACKED_TEXT, _RATIO * packed)
    content: bytes = stream.read(most + 1)
    if len(content) > most:
        raise InputError(f"unpacks from {packed:,} to more than {most:,} bytes", where=where, fix="Unpack it first.")
    return content


def read_bytes(path: str | Path) -> bytes:
    with readable(path):
        return Path(path).read_bytes()


def read_json(path: str | Path, *, fix: str | None = None) -> Any:
    """The value in a JSON file; NaN and infinity, which JSON does not have, and repeated keys are refused."""
    content = read_bytes(path)
    try:
        return parse_json(content)
    except ValueError as error:
        raise InputError(f"not a JSON file ({error})", where=str(path), fix=fix) from None


def read_json_lines(path: Path) -> tuple[list[tuple[str, dict[str, Any]]], bool]:
    """The dictionaries of a JSON Lines file, each with its location, and whether an incomplete line follows."""
    content = read_bytes(path)
    lines = [(f"{path}, line {number}", line) for number, line in enumerate(content.split(b"\n"), 1) if line.strip()]
    records: list[tuple[str, dict[str, Any]]] = []
    for place, line in lines:
        try:
            record = parse_json(line)
        except ValueError as error:
            if records and line is lines[-1][1] and not content.endswith(b"\n"):
                return records, True
            raise InputError(f"not JSON ({error})", where=place) from None
        if not isinstance(record, dict):
            raise InputError(f"expected a table, found {type(record).__name__}", where=place)
        records.append((place, record))
    return records, False


def parse_json(content: bytes) -> Any:
    """The value of JSON text; a ValueError says what is wrong with it."""
    try:
        # Checking every number takes time, so only text that could have too large ones is checked.
        checked = _finite if _may_be_too_large(content) else None
        return json.loads(
            content.decode(), parse_float=checked, parse_constant=_refuse_constant, object_pairs_hook=_table
        )
    except RecursionError:
        raise ValueError("brackets are nested too deep") from None


def _may_be_too_large(content: bytes) -> bool:
    zeros = content.translate(_DIGITS)
    if b"0e000" in zeros or b"0e+000" in zeros:
        return _LARGE_EXPONENT.search(zeros) is not None or _MANY_DIGITS in zeros
    return _MANY_DIGITS in zeros


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:20]} is too large for a number")
    return value


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A table without repeated keys, of which other readers may take another one."""
    table = dict(pairs)
    if len(table) < len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise ValueError(f"the key {twice!r:.60} occurs more than once in a table")
    return table


def is_pattern(text: str, folder: Path | None = None) -> bool:
    """Whether a name is a pattern; an existing file of that name takes precedence."""
    root = folder or Path()
    return glob.has_magic(text) and not any(_exists(root / name) for name in (text, str(split_member(text)[0])))


class Search:
    """A search of folders that ends after this many names.

    A pattern such as `*/../*/../*`, or folders that link to each other, lead to more paths than any disk has files.
    """

    def __init__(self, most: int = _MOST_NAMES) -> None:
        self._most, self._left = most, most

    def seen(self, names: int = 1) -> None:
        self._left -= names
        if self._left < 0:
            raise InputError(f"a search for files looks at more than {self._most:,} names", fix="Name fewer folders.")

    def names(self, folder: Path) -> list[str]:
        """The names in a folder, none if it cannot be listed."""
        try:
            with os.scandir(folder) as entries:
                found = [entry.name for entry in islice(entries, self._left + 1)]
        except (OSError, ValueError):
            return []
        self.seen(len(found))
        return found


def matching(pattern: str, folder: Path | None = None, search: Search | None = None) -> list[str]:
    """The files that match a pattern, with numbers in names in numeric order."""
    if len(pattern) > _LONGEST_PATTERN:
        return []
    if pattern.count("/") > _DEEPEST:
        raise InputError(f"a pattern has more than {_DEEPEST} folders", where=f"{pattern[:60]}…")
    return sorted(_matches(pattern, folder or Path(), search or Search()), key=_natural)


def _matches(pattern: str, root: Path, search: Search) -> Iterator[str]:
    """As glob.iglob, but counted; paths keep the text of the pattern."""
    head, tail = os.path.split(pattern)
    # A root, such as "/", is its own head.
    heads = _matches(head, root, search) if glob.has_magic(head) and head != pattern else [head]
    for place in heads:
        before = place if not place or place.endswith(("/", os.sep)) else f"{place}/"
        if glob.has_magic(tail):
            names = search.names(root / place)
            shown = names if tail.startswith(".") else [name for name in names if not name.startswith(".")]
            yield from (f"{before}{name}" for name in fnmatch.filter(shown, tail))
        else:
            search.seen()
            if os.path.lexists(root / before / tail) if tail else _is(Path.is_dir, root / place):
                yield f"{before}{tail}"


def _natural(text: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", text)]


def files_named(text: str, folder: Path, search: Search | None = None) -> Iterator[str]:
    """The files that a value names: a path, a pattern, `archive.npz:member`, or all files in a folder; else none."""
    search = search or Search()
    if is_pattern(text, folder):
        yield from (path for path in matching(text, folder, search) if _is(Path.is_file, folder / path))
        return
    for path in (text, text.rpartition(":")[0]):
        if path and _is(Path.is_file, folder / path):
            yield path
            return
    if _is(Path.is_dir, folder / text):
        yield from (str(Path(text) / path.relative_to(folder / text)) for path in _inside(folder / text, search))


def _inside(folder: Path, search: Search) -> Iterator[Path]:
    """All files in a folder. Links to folders are followed, because readers follow them, but to each folder once."""
    folders, entered = [folder], set()
    while folders:
        place = folders.pop()
        if place.resolve() in entered:
            continue
        entered.add(place.resolve())
        paths = [place / name for name in sorted(search.names(place))]
        yield from (path for path in paths if _is(Path.is_file, path))
        folders += [path for path in reversed(paths) if _is(Path.is_dir, path)]


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    try:
        return kind(path)
    except OSError:  # too long to be a name
        return False


def split_member(text: str) -> tuple[Path, str | None]:
    """The file and the array name in `archive.npz:name`; the name is None if absent."""
    match = re.fullmatch(rf"(.+(?:{'|'.join(map(re.escape, ARCHIVES))})):([^/\\:]+)", text)
    return (Path(match[1]), match[2]) if match else (Path(text), None)


Signature = tuple[int, int, int, int]


def signature_of(path: Path) -> Signature:
    """Values that change when a file is edited or replaced, unless within the resolution of file times."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise InputError("is not a regular file", where=str(path))
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # too long for a file name
        return False


def is_temporary(path: Path) -> bool:
    """Whether a file has a name made by `atomic_path`."""
    return _TEMPORARY.fullmatch(path.name) is not None


def _is_device(target: Path) -> bool:
    try:
        mode = target.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON; write null")


class UnwritableError(InputError):
    """A file cannot be written: the disk is full, or the folder read-only."""


def _unwritable(target: Path, error: OSError | ValueError) -> UnwritableError:
    reason = (error.strerror if isinstance(error, OSError) else None) or error
    if isinstance(error, FileExistsError):  # in place of a folder
        reason = f"{error.filename} is not a folder"
    return UnwritableError(f"cannot be written ({reason})", where=str(target))
