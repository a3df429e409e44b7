"""Recompute results from their inputs, and say whether they still are what the inputs give.

Everything in a result file is data: no code that it names is imported, and its arguments are taken only where a study
could have given them.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from graphgauge._version import __version__
from graphgauge.core.errors import GraphgaugeError, InputError
from graphgauge.core.schema import SCHEMA, content_hash, evaluation_from_dict, read_content, result_files
from graphgauge.io.hashing import HashIndex
from graphgauge.study.drift import differences
from graphgauge.study.model import Item
from graphgauge.study.options import family_command, refuse_foreign
from graphgauge.study.pool import answered, task
from graphgauge.study.recipe import factories
from graphgauge.study.runner import Share
from graphgauge.study.text import shown

Status = Literal["equal", "drifted", "inputs changed", "inputs missing", "damaged", "not recomputed", "failed"]
MISMATCHES = ("drifted", "inputs changed", "inputs missing", "damaged")


@dataclass(frozen=True)
class Verdict:
    """What became of one result; `version` is that of the library which made it."""

    path: Path
    status: Status
    detail: str = ""
    version: str | None = None

    @property
    def mismatch(self) -> bool:
        return self.status in MISMATCHES

    def __str__(self) -> str:
        made = f" (made by {shown(self.version)}, now {__version__})" if self.version not in (None, __version__) else ""
        return f"{self.status}{': ' + self.detail if self.detail else ''}{made}"


@dataclass(frozen=True)
class _Claim:
    """A result file whose inputs are as they were, and how it says that it was made from them."""

    path: Path
    content: dict[str, Any]
    item: Item
    folder: Path

    def verdict(self, status: Status, detail: str = "") -> Verdict:
        return _verdict(self.path, self.content, status, detail)


def verify(
    results: str | Path, *, jobs: int | None = None, on_verdict: Callable[[Verdict], None] = lambda verdict: None
) -> list[Verdict]:
    """A verdict for every result file in a folder, or for one file. Inputs are always read again."""
    target = Path(results)
    if not target.exists():
        raise InputError("no such file or folder", where=str(results))
    verdicts: list[Verdict] = []
    claims: list[_Claim] = []
    indexes: dict[Path, HashIndex] = {}
    for path in result_files(target) if target.is_dir() else [target]:
        found = _examined(path, indexes)
        if isinstance(found, _Claim):
            claims.append(found)
        elif found is not None:
            verdicts.append(found)
            on_verdict(found)
    for verdict in _recomputed(claims, indexes, jobs):
        verdicts.append(verdict)
        on_verdict(verdict)
    if not verdicts:
        raise InputError("no results here", where=str(results))
    return sorted(verdicts, key=lambda verdict: verdict.path)


def _examined(path: Path, indexes: dict[Path, HashIndex]) -> _Claim | Verdict | None:
    """What can be said without computing; None for files that are no results."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return Verdict(path, "damaged", "not a JSON file")
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        return None
    try:
        evaluation_from_dict(content, where=str(path))
        return _claim(path, content, indexes)
    except GraphgaugeError as error:
        return Verdict(path, "damaged", shown(error))
    except (KeyError, TypeError, ValueError, AttributeError, OSError) as error:
        return Verdict(path, "damaged", f"its receipt cannot be read ({shown(f'{type(error).__name__} {error}')})")


def _claim(path: Path, content: dict[str, Any], indexes: dict[Path, HashIndex]) -> _Claim | Verdict:
    if content["status"] == "failed":
        return _verdict(path, content, "failed", f"there is nothing to recompute ({shown(content['error'])})")
    receipt = content["receipt"]
    study = receipt.get("study")
    folder = Path.cwd() if study is None else (path.parent / study["folder"]).resolve()
    index = indexes.setdefault(folder, HashIndex(folder))
    for entry in receipt["inputs"]:
        name = f"{shown(entry['path'])} ({shown(entry['name'])})"
        try:
            digest = index.hash(entry["path"])
        except (OSError, InputError):
            return _verdict(path, content, "inputs missing", name)
        if digest != entry["hash"]:
            return _verdict(path, content, "inputs changed", name)
    if study is None:
        return _verdict(path, content, "not recomputed", "its inputs are unchanged, but no study says how it was made")
    run = content["run"]
    item = Item(
        str(run["family"]), str(run["method"]), str(run["dataset"]), None if run["seed"] is None else int(run["seed"]),
        tuple(map(str, study["arguments"])), {str(check): str(why) for check, why in study["ignore"].items()},
    )  # fmt: skip
    refuse_foreign(family_command(item.family), item.arguments)
    code = factories(item)
    if code:
        return _verdict(path, content, "not recomputed", f"model not rerun: {shown(', '.join(code))} is not imported")
    return _Claim(path, content, item, folder)


def _recomputed(claims: list[_Claim], indexes: Mapping[Path, HashIndex], jobs: int | None) -> Iterator[Verdict]:
    share = Share.of(len(claims), jobs)
    with tempfile.TemporaryDirectory(prefix="graphgauge-") as name:
        scratch = Path(name)
        kept = {folder: scratch / f"{number}.hashes" for number, folder in enumerate(indexes)}
        for folder, index in indexes.items():
            index.save(kept[folder])
        # The same file name, because the files beside a result are named after it.
        outputs = [scratch / str(number) / claim.path.name for number, claim in enumerate(claims)]
        tasks = [
            task(claim.item, claim.folder, output, threads=share.threads, hashes=kept[claim.folder])
            for claim, output in zip(claims, outputs, strict=True)
        ]
        for place, answer in answered(tasks, jobs=share.jobs, threads=share.threads):
            claim = claims[place]
            if answer["error"] is not None:
                yield claim.verdict("drifted", f"it can no longer be computed: {shown(answer['error'])}")
            else:
                yield _compared(claim, read_content(outputs[place]))


def _compared(claim: _Claim, now: dict[str, Any]) -> Verdict:
    found = differences(claim.content, now)
    edited = claim.content["id"] != content_hash(claim.content)
    if not found:
        return claim.verdict("equal")
    return claim.verdict("drifted", "; ".join([*found, *(["the file was changed after it was written"] * edited)]))


def _verdict(path: Path, content: Mapping[str, Any], status: Status, detail: str) -> Verdict:
    version = content["receipt"].get("versions", {}).get("graphgauge")
    return Verdict(path, status, detail, None if version is None else str(version))
