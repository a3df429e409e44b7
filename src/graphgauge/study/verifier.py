"""Recompute results from their inputs, and report whether they are still equal.

Result files, their side files and their study are untrusted data: no code that they name is imported, no process works
in their folder, and only arguments that a study could have are accepted.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.core.schema import read_content, result_files, side_path
from graphgauge.core.state import load_state
from graphgauge.io.hashing import HashIndex
from graphgauge.study.claim import Claim, Examiner, Verdict
from graphgauge.study.drift import differences
from graphgauge.study.pool import answered, task
from graphgauge.study.runner import Share
from graphgauge.study.text import shown

# Fields of a receipt's input other than its path.
_INPUT_FACTS = ("name", "bytes", "hash", "shape", "dtype")
_LACKING = "Install it with: "
# Bytes of an archive in addition to its arrays.
_HEADERS = 1 << 20


def verify(
    results: str | Path, *, jobs: int | None = None, on_verdict: Callable[[Verdict], None] = lambda verdict: None
) -> list[Verdict]:
    """A verdict for every result file in a folder, or for one file. Inputs are always read again."""
    target = Path(results)
    if not target.exists():
        raise InputError("no such file or folder", where=str(results))
    verdicts: list[Verdict] = []
    claims: list[Claim] = []
    examiner = Examiner()
    for path in result_files(target) if target.is_dir() else [target]:
        found = examiner.examined(path)
        if isinstance(found, Claim):
            claims.append(found)
        elif found is not None:
            verdicts.append(found)
            on_verdict(found)
    for verdict in _recomputed(claims, examiner.indexes, jobs):
        verdicts.append(verdict)
        on_verdict(verdict)
    if not verdicts:
        raise InputError("no results here", where=str(results))
    return sorted(verdicts, key=lambda verdict: verdict.path)


def _recomputed(claims: list[Claim], indexes: Mapping[Path, HashIndex], jobs: int | None) -> Iterator[Verdict]:
    share = Share.of(len(claims), jobs)
    with tempfile.TemporaryDirectory(prefix="graphgauge-") as name:
        scratch = Path(name).resolve()
        empty = scratch / "empty"
        empty.mkdir()
        kept = {folder: scratch / f"{number}.hashes" for number, folder in enumerate(indexes)}
        for folder, index in indexes.items():
            index.save(kept[folder])
        # The same file name, because side files are named after it.
        outputs = [scratch / str(number) / claim.path.name for number, claim in enumerate(claims)]
        tasks = [
            task(claim.item, claim.folder, output, threads=share.threads, hashes=kept[claim.folder], trusted=False)
            for claim, output in zip(claims, outputs, strict=True)
        ]
        for place, answer in answered(tasks, jobs=share.jobs, threads=share.threads, start_in=empty):
            claim = claims[place]
            if answer["error"] is None:
                yield _compared(claim, outputs[place])
            elif answer["status"] == "lost" or answer["lacking"]:
                yield claim.verdict("not recomputed", str(answer["error"]))
            else:
                yield claim.verdict("drifted", f"it can no longer be computed: {shown(answer['error'])}")


def _compared(claim: Claim, output: Path) -> Verdict:
    then, now = claim.content, read_content(output)
    moved = differences(then, now, first_edition=claim.first_edition)
    found = [*moved, *_beside(claim, now, output), *_receipt(claim, now)]
    lacking = [
        f"{shown(entry['key'])}: {shown(entry['reason'])}"
        for entry in now["skipped"]
        if _LACKING in entry["reason"] and entry not in then["skipped"]
    ]
    if lacking:
        return claim.verdict("not recomputed", "; ".join(lacking))
    return claim.verdict("drifted", "; ".join(found)) if found else claim.verdict("equal", claim.remark)


def _receipt(claim: Claim, now: Mapping[str, Any]) -> Iterator[str]:
    """Differences between the inputs and code in the receipt and those used to recompute the result."""
    then = claim.content["receipt"]
    if _inputs(then, claim.folder) != _inputs(now["receipt"], claim.folder):
        yield "its receipt names other inputs than were read"
    if then.get("code"):
        yield "its receipt names code that it does not use"


def _inputs(receipt: Mapping[str, Any], folder: Path) -> list[str]:
    return sorted(
        repr([os.path.normpath(folder / entry["path"]), *(entry.get(fact) for fact in _INPUT_FACTS)])
        for entry in receipt["inputs"]
    )


def _beside(claim: Claim, now: Mapping[str, Any], output: Path) -> Iterator[str]:
    """Which side files differ from the recomputed ones."""
    old, new = ({str(side.get("path")): side for side in content["side_files"]} for content in (claim.content, now))
    if len(old) < len(claim.content["side_files"]):
        yield "side_files differ, a name occurs twice"
    for name in sorted(old.keys() ^ new.keys()):
        yield f"side_files differ, {shown(name)} is {'missing' if name in old else 'new'}"
    for name in sorted(old.keys() & new.keys()):
        places = side_path(claim.path.parent, old[name]), side_path(output.parent, new[name])
        same = {**old[name], "hash": ""} == {**new[name], "hash": ""}
        if not same or (old[name].get("hash") != new[name]["hash"] and not _same_arrays(*places)):
            yield f"side_files differ, {shown(name)}"


def _same_arrays(one: Path, other: Path) -> bool:
    """Whether two archives have equal arrays: another version of Python or NumPy may write different bytes.

    The first is untrusted, and is not unpacked if that takes much more memory than the second.
    """
    try:
        if _unpacked(one) > 2 * _unpacked(other) + _HEADERS:
            return False
        contents = [load_state(path) for path in (one, other)]
    except (InputError, OSError, zipfile.BadZipFile):
        return False
    (kind, facts, arrays), (other_kind, other_facts, other_arrays) = contents
    return (kind, facts, arrays.keys()) == (other_kind, other_facts, other_arrays.keys()) and all(
        values.dtype == other_arrays[name].dtype
        and values.shape == other_arrays[name].shape
        and values.tobytes() == other_arrays[name].tobytes()
        for name, values in arrays.items()
    )


def _unpacked(path: Path) -> int:
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())
