"""The results folder of a study: its lock, what is up to date in it, and what may be written there."""

from __future__ import annotations

import errno
import hashlib
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from graphgauge._version import __version__
from graphgauge.core.content import ResultFile
from graphgauge.core.disk import read_bytes, read_json
from graphgauge.core.errors import InputError
from graphgauge.core.files import is_result
from graphgauge.core.number import plain
from graphgauge.core.sealed import read
from graphgauge.io.code import source_hash
from graphgauge.io.hashing import file_hash
from graphgauge.io.places import is_url, local_file, split_member
from graphgauge.study.model import COMPARISONS, GATES, SUMMARY, Item, Study, StudyFile

PRIVATE = ".graphgauge"
# The errors of flock if another process has the lock; other errors concern the file system.
_LOCKED = (errno.EWOULDBLOCK, errno.EAGAIN)
_FIX = "Move it away, or give the study another results folder."


@contextmanager
def sole_writer(results: Path) -> Iterator[None]:
    """Allow one run at a time; the lock is released when its process ends."""
    private = results / PRIVATE
    try:
        private.mkdir(parents=True, exist_ok=True)
        lock = (private / "lock").open("a")
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", where=str(results)) from None
    with lock:
        try:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # without locks results are still complete, but two runs may do the same work
            pass
        except OSError as error:
            if error.errno in _LOCKED:
                raise InputError("another run is writing here", where=str(results), fix="Wait for it to end.") from None
            warnings.warn(f"{results}: no locks here ({error.strerror}); do not run a study twice", stacklevel=2)
        yield


def hashes_file(results: Path) -> Path:
    """Where hashes of inputs are remembered."""
    return results / PRIVATE / "hashes.json"


def sweep(study: Study) -> None:
    """Remove the incomplete files of killed runs."""
    results = study.results
    folders = {results, results / COMPARISONS, results / PRIVATE, *(i.path(results).parent for i in study.items)}
    for folder in folders:
        for path in folder.glob(".graphgauge-*"):
            with suppress(OSError):
                path.unlink()


def key_of(item: Item, folder: Path) -> str:
    """A hash of all that a result follows from: the request, the content of its inputs, its code."""
    request = item.request
    files = {text: _input_hash(folder, text) for _, text in request.files(folder)}
    code = {name: source_hash(name, folder) for name in request.code()}
    content = [plain(msgspec.to_builtins(item, enc_hook=str)), files, code]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _input_hash(folder: Path, text: str) -> str:
    path = local_file(text) if is_url(text) else folder / split_member(text)[0]
    if not path.is_dir():
        return file_hash(path)
    inside = sorted(each for each in path.rglob("*") if each.is_file())
    listed = "".join(f"{each.relative_to(path)}\0{file_hash(each)}\n" for each in inside)
    return hashlib.sha256(listed.encode()).hexdigest()


def why_outdated(item: Item, study: Study) -> str | None:
    """Why the result of an evaluation has to be computed; None if it is up to date."""
    path = item.path(study.results)
    if not path.exists():
        return "new"
    try:
        content = read(path, ResultFile)
        sides = [(read_bytes(path.with_name(Path(side.name).name)), side.hash) for side in content.side_files]
    except InputError:
        return "its result is damaged"
    if content.status == "failed":
        return "it failed"
    if any(hashlib.sha256(side).hexdigest() != known for side, known in sides):
        return "its result is damaged"
    if content.receipt.get("versions", {}).get("graphgauge") != __version__:
        return "graphgauge has changed"
    try:
        is_same = content.receipt.get("key") == key_of(item, study.folder)
    except (InputError, OSError):
        return "an input cannot be read"
    if not is_same:
        return "inputs or options have changed"
    accepted = {each.check for each in content.findings if each.ignored}
    wanted = {each.check for each in content.findings if each.check in study.ignore}
    return None if accepted == wanted else "findings are ignored now that were not"


def refuse_foreign(study: Study) -> None:
    """Refuse to overwrite what this study has not written, and no command that evaluates the same run."""
    results = study.results
    own: dict[Path, Item | None] = {results / name: None for name in (SUMMARY, GATES, *study.comparison_files)}
    for path, item in (own | {item.path(results): item for item in study.items}).items():
        if path.exists() and not _is_of(item, path):
            what = "was not written by a study" if item is None else "is no result of this run"
            raise InputError(f"{what}, and would be overwritten", where=str(path), fix=_FIX)
    other = summary(results)
    if other is not None and other.name != study.name:
        what = f"has the outcome of another study, {other.name!r:.60}"
        raise InputError(what, where=str(results), fix="Give each study a results folder of its own.")


def _is_of(item: Item | None, path: Path) -> bool:
    """Whether a file is a result of the item's run, or of a study where there is none, or the damaged rest of one."""
    if path.is_dir():
        return False
    try:
        fields = read_json(path)
    except InputError:
        content = path.read_bytes()
        return not content or b'"graphgauge/' in content
    if not isinstance(fields, dict):
        return False
    if item is None:
        return str(fields.get("schema")).startswith("graphgauge/")
    run, named = item.request.run, fields.get("run")
    names = {"method": run.method, "dataset": run.dataset, "seed": run.seed}
    return is_result(fields) and isinstance(named, dict) and names.items() <= named.items()


def summary(results: Path) -> StudyFile | None:
    """What came of the last run; None if there is nothing that can be read."""
    try:
        return read(results / SUMMARY, StudyFile)
    except InputError:
        return None


def forget(study: Study) -> None:
    """Remove comparisons, gates and the outcome: they are not those of what is evaluated now."""
    known = summary(study.results)
    old = [each.file for each in known.comparisons if each.file] if known is not None else []
    names = {
        SUMMARY,
        GATES,
        *study.comparison_files,
        *(name for name in old if Path(name).parts[:-1] == (COMPARISONS,)),
    }
    for name in names:
        path = study.results / name
        if not path.is_dir():
            path.unlink(missing_ok=True)
