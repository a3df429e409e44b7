"""Parts of one evaluation, known by what they hold: none is counted twice, whatever its files are called."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from graphgauge.core.errors import InputError
from graphgauge.io.arrays import ArrayFile
from graphgauge.io.hashing import content_hash

Files = Mapping[str, Sequence[ArrayFile]]

# What describes queries and does not score them: the same scores under other labels are the same part.
_LABELS = ("groups.", "cluster")


def content_names(files: Files) -> list[str]:
    """A name for each part that was read, made of all of its scores; of an empty one there is none."""
    return [_name(part) for part in _parts(files)]


def refuse_repeated(files: Files) -> None:
    """An error where a file of positives and its negatives come again, as themselves, a copy or a link."""
    parts = list(_parts(files))
    if len(parts) == 1:  # not cut into parts: then something of everything has to come again
        again = [_repeated(files[name]) for name in ("pos_scores", "neg_scores")]
        if again[0] is not None and again[1] is not None:
            _refuse(*again[0])
        return
    # Positives are short: only where they repeat is all the rest of a part read too.
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
    same = "is given twice" if first.path == second.path else f"holds what {first.path.name} holds"
    raise InputError(
        f"{same}, and its queries would count twice", where=str(second.path),
        fix="Name every shard once. Different queries that score alike have to stand in one file.",
    )  # fmt: skip


def _parts(files: Files) -> Iterator[Files]:
    """The files that belong together, one of each array, where all are cut alike; else everything as one part."""
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


def _name(part: Files) -> str:
    digest = hashlib.sha256()
    for name, opened in sorted(part.items()):
        digest.update(f"{name} {content_hash(opened)} ".encode())
    return f"content {digest.hexdigest()[:32]}"


def _repeated(opened: Sequence[ArrayFile]) -> tuple[ArrayFile, ArrayFile] | None:
    """Two files with the same content, if there are two."""
    if len(opened) == 1:
        return None
    known: dict[str, ArrayFile] = {}
    for file in opened:
        same = known.setdefault(content_hash([file]), file)
        if same is not file and len(file):
            return same, file
    return None
