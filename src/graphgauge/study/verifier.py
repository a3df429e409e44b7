"""Recompute results from their inputs, and report whether they are still equal.

Result files, their side files and their study are untrusted data: no code that they name is imported, no process works
in their folder, and only arguments that a study could have are accepted.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.old.core.gates import Gate
from graphgauge.old.core.schema import evaluation_from_dict, read_content, result_files, side_path
from graphgauge.old.core.state import load_state
from graphgauge.old.io.hashing import HashIndex
from graphgauge.study.claim import Claim, Examiner, Verdict
from graphgauge.study.drift import differences
from graphgauge.study.pool import answered, task
from graphgauge.study.runner import Share
from graphgauge.study.text import sentence, shown

# Fields of a receipt's input other than its path.
_INPUT_FACTS = ("name", "bytes", "hash", "shape", "dtype")
# Hashes of an array or of the truth in a file, by which comparisons recognise the same truth; older files lack some.
_CONTENT_FACTS = ("content", "truth")
_LACKING = "Install it with: "
# Bytes of an archive in addition to its arrays.
_HEADERS = 1 << 20


def verify(
    results: str | Path,
    *,
    jobs: int | None = None,
    trust_code: bool = False,
    on_verdict: Callable[[Verdict], None] = lambda verdict: None,
) -> list[Verdict]:
    """A verdict for every result file in a folder, or for one file. Inputs are always read again.

    `trust_code` also recomputes results of models, by importing the code that they name: it runs with all your rights.

    Parameters
    ----------
    results
        A folder of results, or one file.
    jobs
        Number of worker processes; by default one per core.
    trust_code
        Whether to import code that results name.
    on_verdict
        Called with each verdict as it arrives.

    Returns
    -------
    list of Verdict
        `equal`, `drifted`, `damaged`, `failed` or `unchecked`, with the reason.

    Raises
    ------
    InputError
        If there is no result.

    Examples
    --------
    A result of arrays in memory names no files to recompute it from:

    >>> from graphgauge import ranking, study
    >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]])
    >>> _ = ev.save("result.json")
    >>> [verdict.status for verdict in study.verify("result.json")]
    ['unchecked']
    """
    target = Path(results)
    if not target.exists():
        raise InputError("no such file or folder", where=str(results))
    examiner = Examiner(trust_code=trust_code)
    verdicts: list[Verdict] = []
    claims: list[Claim] = []
    for path in result_files(target) if target.is_dir() else [target]:
        found = examiner.examined(path)
        if isinstance(found, Claim):
            claims.append(found)
        elif found is not None:
            verdicts.append(found)
            on_verdict(found)
    # Code that is imported stays in its process, so that it cannot change other results.
    data, code = ([claim for claim in claims if bool(claim.code) == imports] for imports in (False, True))
    for group in (data, *([claim] for claim in code)):
        for verdict in _recomputed(group, examiner.indexes, jobs):
            verdicts.append(verdict)
            on_verdict(verdict)
    if not verdicts:
        raise InputError("no results here", where=str(results))
    return sorted(verdicts, key=lambda verdict: verdict.path)


def _recomputed(claims: list[Claim], indexes: Mapping[Path, HashIndex], jobs: int | None) -> Iterator[Verdict]:
    if not claims:
        return
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
            task(
                claim.item,
                claim.folder,
                output,
                threads=share.threads,
                hashes=kept[claim.folder],
                trusted=False,
                command=claim.command,
                trust_code=bool(claim.code),
            )
            for claim, output in zip(claims, outputs, strict=True)
        ]
        for place, answer in answered(tasks, jobs=share.jobs, threads=share.threads, start_in=empty):
            claim = claims[place]
            if answer["error"] is None:
                yield _compared(claim, outputs[place])
            elif answer["status"] == "lost" or answer["lacking"]:
                yield claim.verdict("unchecked", f"not recomputed: {answer['error']}")
            else:
                yield claim.verdict("failed", f"it can no longer be computed: {sentence(answer['error'])}")


def _compared(claim: Claim, output: Path) -> Verdict:
    then, now = claim.content, read_content(output)
    if "gates" in then:
        now = {**now, "gates": _gates(then["gates"], now, str(output))}
    moved = differences(then, now)
    found = [*moved, *_beside(claim, now, output), *_receipt(claim, now)]
    lacking = [
        f"{shown(entry['key'])}: {shown(entry['reason'])}"
        for entry in now["skipped"]
        if _LACKING in entry["reason"] and entry not in then["skipped"]
    ]
    if lacking:
        return claim.verdict("unchecked", f"not recomputed: {'; '.join(lacking)}")
    if found:
        return claim.verdict("drifted", "; ".join([*found, *_other_versions(then, now)]))
    return claim.verdict("equal", claim.remark)


def _gates(stated: Iterable[Mapping[str, Any]], now: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    """The same gates on the recomputed values."""
    evaluation = evaluation_from_dict(now, where=where)
    found = []
    for entry in stated:
        try:
            found.append(Gate.parse(str(entry["gate"])).check(evaluation).to_dict())
        except InputError as error:
            found.append({"gate": str(entry["gate"]), "error": str(error)})
    return found


def _other_versions(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Packages other than graphgauge whose versions differ, which may explain the drift."""
    old, new = (content["receipt"].get("versions") or {} for content in (then, now))
    names = [name for name in new if name != "graphgauge" and old.get(name) != new[name]]
    if names:
        yield "made with " + ", ".join(f"{name} {shown(old.get(name, 'none'))} (now {new[name]})" for name in names)


def _receipt(claim: Claim, now: Mapping[str, Any]) -> Iterator[str]:
    """Differences between the inputs and code in the receipt and those used to recompute the result."""
    then = claim.content["receipt"]
    if _inputs(then, claim) != _inputs(now["receipt"], claim):
        yield "its receipt names other inputs than were read"
    for name, old, new in _shared(then, now["receipt"], claim):
        if any(old.get(fact) not in (None, new.get(fact)) for fact in _CONTENT_FACTS):
            yield f"its receipt has another content of {shown(name)}"
    if then.get("code", []) != now["receipt"]["code"]:
        yield "its receipt names code that it does not use"


def _shared(
    then: Mapping[str, Any], now: Mapping[str, Any], claim: Claim
) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """The entries of both receipts for the same input."""
    entries = {(entry["name"], _place(entry, claim)): entry for entry in now["inputs"]}
    for entry in then["inputs"]:
        found = entries.get((entry["name"], _place(entry, claim)))
        if found is not None:
            yield entry["name"], entry, found


def _inputs(receipt: Mapping[str, Any], claim: Claim) -> list[str]:
    return sorted(
        repr([_place(entry, claim), *(entry.get(fact) for fact in _INPUT_FACTS)]) for entry in receipt["inputs"]
    )


def _place(entry: Mapping[str, Any], claim: Claim) -> str:
    return os.path.normpath(claim.folder / str(entry["path"]))


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
