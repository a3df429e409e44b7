"""Parts of one evaluation, identified by content: none is counted twice, even under another file name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.io.arrays import ArrayFile
from graphgauge.io.hashing import content_hash
from graphgauge.kernels.row_hashes import Hashes
from graphgauge.ranking.fingerprints import Fingerprints

Files = Mapping[str, Sequence[ArrayFile]]

# Rows at the beginning of a file in which most other files differ.
_BEGINNING = 64
# Inputs that describe queries without scoring them: the same scores under other labels are the same part.
_LABELS = ("groups.", "cluster", "weights", "items", "item_", "negatives")


def content_names(files: Files, queries: CountedQueries | None = None, *, apart: bool = False) -> list[str]:
    """A name for each non-empty part that was read, from all of its scores, or from the hashes of its `queries`.

    If positives and negatives do not belong together (`apart`), every file is a part: the same pool in two states would
    count twice.
    """
    if apart:
        return [_name({name: [file]}) for name, opened in _scores(files).items() for file in opened if len(file)]
    if queries is None:
        return [_name(part) for part in _parts(files)]
    names = []
    for part, digest in zip(_parts(files), queries.digests, strict=True):
        others = {name: opened for name, opened in part.items() if name not in ("pos_scores", "neg_scores")}
        names.append(_name(others, digest))
    return names


class CountedQueries:
    """Hashes of queries as they are read: those that a state keeps, and a digest of the queries of each part."""

    def __init__(self, files: Files) -> None:
        lengths = [sum(map(len, part["pos_scores"])) for part in _parts(files)]
        self._ends = np.cumsum(lengths)
        self.digests = [hashlib.sha256() for _ in lengths]
        self.kept = Fingerprints()

    def add(self, start: int, hashes: Hashes) -> None:
        """Queries of one part, of which the first has this number."""
        if len(hashes):
            self.digests[int(np.searchsorted(self._ends, start, side="right"))].update(hashes.tobytes())
            self.kept.add(hashes)


def refuse_repeated(files: Files, *, apart: bool = False) -> None:
    """Raise an error if a file of positives and its negatives occurs again, as itself, a copy or a link.

    If they do not belong together (`apart`), a file of either may not occur again.
    """
    if apart:
        for opened in _scores(files).values():
            same = _repeated(opened)
            if same is not None:
                _refuse(*same)
        return
    parts = list(_parts(files))
    if len(parts) == 1:  # not split into parts: then a file of every array must occur again
        again = [_repeated(files[name]) for name in ("pos_scores", "neg_scores")]
        if again[0] is not None and again[1] is not None:
            _refuse(*again[0])
        return
    # Positives are short: the rest of a part is read only if they repeat.
    by_positives: dict[str, list[Files]] = {}
    for part in parts:
        by_positives.setdefault(content_hash(part["pos_scores"]), []).append(part)
    for alike in by_positives.values():
        names: dict[str, ArrayFile] = {}
        for part in alike if len(alike) > 1 else ():
            known = names.setdefault(_name(part), part["pos_scores"][0])
            if known is not part["pos_scores"][0]:
                _refuse(known, part["pos_scores"][0])


def _refuse(first: ArrayFile, second: ArrayFile) -> None:
    same = "is given twice" if first.path == second.path else f"has the same content as {first.path.name}"
    raise InputError(
        f"{same}, and its queries would count twice",
        where=str(second.path),
        fix="Name every shard once. Different queries with equal scores must be in one file.",
    )


def _parts(files: Files) -> Iterator[Files]:
    """The files that belong together, one per array, if all are split alike; else everything as one part."""
    scores = _scores(files)
    cut = [[len(file) for file in opened] for opened in scores.values()]
    if len(cut[0]) > 1 and all(lengths == cut[0] for lengths in cut):
        for number, length in enumerate(cut[0]):
            if length:
                yield {name: [opened[number]] for name, opened in scores.items()}
    else:
        yield scores


def _scores(files: Files) -> Files:
    return {name: opened for name, opened in files.items() if not name.startswith(_LABELS)}


def _name(part: Files, begun: Any = None) -> str:
    digest = hashlib.sha256() if begun is None else begun.copy()
    for name, opened in sorted(part.items()):
        digest.update(f"{name} {content_hash(opened)} ".encode())
    return f"content {digest.hexdigest()[:32]}"


def _repeated(opened: Sequence[ArrayFile]) -> tuple[ArrayFile, ArrayFile] | None:
    """Two files with the same content, if there are two."""
    # Files that begin differently are not read to their end.
    alike: dict[Any, list[ArrayFile]] = {}
    for file in opened if len(opened) > 1 else ():
        if len(file):
            alike.setdefault((file.shape, file.dtype.str, file.rows(0, _BEGINNING).tobytes()), []).append(file)
    for files in alike.values():
        known: dict[str, ArrayFile] = {}
        for file in files if len(files) > 1 else ():
            same = known.setdefault(content_hash([file]), file)
            if same is not file:
                return same, file
    return None
