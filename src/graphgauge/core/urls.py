"""Files behind URLs, read through the user's own fsspec: `s3://…`, `gs://…`, `https://…`, `file://…`, `memory://…`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from graphgauge.core.errors import GraphgaugeError, InputError, MissingExtraError, OptionError
from graphgauge.core.extras import need

# A protocol of at least two letters: `C:/scores.npy` is a drive.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://.+", re.DOTALL)
# Packages that fsspec reads a protocol with, where their name is not in its own message.
_PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "http": "aiohttp",
    "https": "aiohttp",
    "az": "adlfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "adl": "adlfs",
    "hf": "huggingface_hub",
}
# What file systems call the version of a file; the first one that is there is taken.
_VERSIONS = (
    "ETag",
    "etag",
    "md5Hash",
    "crc32c",
    "Content-MD5",
    "content_md5",
    "Digest",
    "checksum",
    "mtime",
    "Last-Modified",
    "LastModified",
    "last_modified",
    "updated",
    "created",
)
_CHUNK = 1 << 22


def is_url(text: str | Path) -> bool:
    """Whether a name of a file is a URL."""
    return isinstance(text, str) and _URL.fullmatch(text) is not None


class Url:
    """A file behind a URL, with the methods of a path that readers use. Nothing is read before one is called."""

    def __init__(self, text: str) -> None:
        parts = urlsplit(text)
        if parts.password is not None:
            raise OptionError(
                f"the URL of {PurePosixPath(parts.path).name} contains a password, which results would publish",
                fix="Configure it where fsspec's package looks for them.",
            )
        if parts.scheme in ("http", "https") and (parts.query or parts.fragment):
            raise OptionError(
                f"the URL of {PurePosixPath(parts.path).name} has a part after ? or #, which results would publish",
                fix="Use a URL without it.",
            )
        self._text, self._protocol = text, parts.scheme

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Url({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Url) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    @property
    def name(self) -> str:
        return PurePosixPath(self._text).name

    @property
    def suffix(self) -> str:
        return PurePosixPath(self._text).suffix

    @property
    def absent(self) -> str:
        """What is said where there is no such file; of web servers it is not known why they did not answer."""
        return "no such file, or the server does not answer" if self._protocol in ("http", "https") else "no such file"

    def resolve(self) -> Url:
        return self

    def open(self, at_once: int = _CHUNK) -> Any:
        """The content from its beginning, fetched in parts of about so many bytes.

        It may not be possible to go back: of web servers, whose ranges are optional, it is read as it comes.
        """
        with self._answering():
            in_order = self._protocol in ("http", "https")
            return self._system.open(self._text, "rb", block_size=0 if in_order else at_once)

    def stat(self) -> SimpleNamespace:
        return SimpleNamespace(st_size=self.signature()[0])

    def exists(self) -> bool:
        with self._answering():
            return bool(self._system.exists(self._text))

    def is_file(self) -> bool:
        return self.exists() and not self.is_dir()

    def is_dir(self) -> bool:
        # Of a web server every page may be a folder, and asking reads it.
        with self._answering():
            return self._protocol not in ("http", "https") and bool(self._system.isdir(self._text))

    def signature(self) -> tuple[int, int, int, int]:
        """The size, and a number that changes with the version of the file; 0 if the server does not tell versions."""
        with self._answering():
            facts = self._system.info(self._text)
        if facts.get("size") is None:
            raise InputError("the server does not tell its size", where=self._text, fix="Copy it to a file.")
        version = next((str(facts[name]) for name in _VERSIONS if facts.get(name)), None)
        number = 0 if version is None else int(hashlib.sha256(version.encode()).hexdigest()[:15], 16)
        return int(facts["size"]), number, 0, 0

    def copy_to(self, target: Path) -> str:
        """Write the content to a file; return its SHA-256."""
        digest = hashlib.sha256()
        with self.open() as source, target.open("wb") as written:
            while chunk := self.read(source, _CHUNK):
                digest.update(chunk)
                written.write(chunk)
        return digest.hexdigest()

    def read(self, opened: Any, size: int) -> bytes:
        """As many bytes of an opened URL as asked for, or all that are left."""
        found = b""
        with self._answering():
            while len(found) < size and (more := opened.read(size - len(found))):
                found = found + more if found else more
        return found

    def matching(self) -> list[str]:
        """The URLs that match this one as a pattern, unsorted."""
        with self._answering():
            return [str(self._system.unstrip_protocol(name)) for name in self._system.glob(self._text)]

    @property
    def _system(self) -> Any:
        fsspec = need("fsspec", "reading URLs")
        try:
            return fsspec.filesystem(self._protocol)
        except ImportError as error:
            if self._protocol in _PACKAGES:
                raise MissingExtraError(_PACKAGES[self._protocol], None, f"reading {self._protocol}:// files") from None
            raise InputError(f"cannot be read ({error})", where=self._text) from None
        except ValueError:
            raise OptionError(
                f"{self._protocol}:// is not a protocol that the installed fsspec knows",
                fix="Use s3://, gs://, https://, file:// or the name of a file.",
            ) from None

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Within this block whatever fsspec's packages raise is an InputError that names the URL."""
        try:
            yield
        except GraphgaugeError:
            raise
        except FileNotFoundError:
            raise InputError(self.absent, where=self._text) from None
        except Exception as error:
            said = (str(error).splitlines() or [""])[0][:200]
            what = f"{type(error).__name__}: {said}" if said else type(error).__name__
            raise InputError(f"cannot be read ({what})", where=self._text) from None


def as_place(text: str | Path | Url) -> Path | Url:
    """A path, or a URL where the text is one."""
    if isinstance(text, Url):
        return text
    return Url(str(text)) if is_url(text) else Path(text)
