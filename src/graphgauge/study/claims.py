"""Records which files in a results folder a study wrote, and so may replace or remove."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.old.core.files import parse_json, read_json, write_text
from graphgauge.old.core.schema import FORMAT, dumps, edition_2
from graphgauge.old.stats.text import listing
from graphgauge.study.model import COMPARISONS, SUMMARY, Item, Study
from graphgauge.study.store import private

_SUMMARY_KEYS = {"study", "gates", "comparisons", "findings", "ignore"}
_FIX = "Move it away, or give the study another results folder."


class Claims:
    """The claims of all studies on a folder, stored in it; a claim is made before its file is written."""

    def __init__(self, study: Study) -> None:
        self._study, self._results = study, study.results
        self._file = private(study.results) / "written.json"
        self._name = _relative(study.path, study.results)
        self._by_study = _read_claims(self._file)
        for other in [name for name in self._by_study if not (self._results / name).exists()]:
            self.own.update(self._by_study.pop(other))  # a study file that was renamed or removed
        self._claimed = set[str]().union(*self._by_study.values())

    @property
    def own(self) -> set[str]:
        return self._by_study.setdefault(self._name, set())

    def refuse_foreign(self) -> None:
        """Refuse to overwrite files that are not the study's own."""
        foreign = [str(self._results / name) for name in self._study.judged_files if not self._is_judged(name)]
        for item in self._study.items:
            path = item.path(self._results)
            if not self._is_result_of(item, path):
                foreign.append(str(path))
            elif not path.exists() and self._named(path) not in self._claimed:
                foreign += [str(side) for side in _beside(path)]
        if foreign:
            raise InputError(f"{listing(foreign)}: not written by this study, which would overwrite it", fix=_FIX)

    def make(self) -> None:
        """Claim all files that the study writes, and files it wrote before without a claim."""
        self.own.update(self._listed(), self._study.judged_files)
        self.own.update(self._named(item.path(self._results)) for item in self._study.items)
        self._save()

    def forget_judged(self) -> None:
        """Remove the comparisons and the summary, with their claims."""
        for name in [name for name in self.own if _is_judged_name(name)]:
            if not (self._results / name).is_dir():
                (self._results / name).unlink(missing_ok=True)
            self.own.discard(name)
        self._save()

    def _is_judged(self, name: str) -> bool:
        """Whether the name is free, or the file is this study's comparison or summary."""
        if not os.path.lexists(self._results / name) or name in self.own:
            return True
        return not self._claimed_elsewhere(name) and name in self._listed()

    def _claimed_elsewhere(self, name: str) -> bool:
        return any(name in files for other, files in self._by_study.items() if other != self._name)

    def _is_result_of(self, item: Item, path: Path) -> bool:
        """Whether the path is free, or contains the item's result: of a study, of a single command, or damaged."""
        if not os.path.lexists(path) or self._named(path) in self._claimed:
            return True
        try:
            content = path.read_bytes()
        except OSError:
            return False
        return FORMAT.encode() in content and _is_about(item, content)

    def _listed(self) -> set[str]:
        """An unclaimed summary of this study and the comparisons that it lists: a folder may be copied without its
        hidden files."""
        summary = self._results / SUMMARY
        content = _json(summary)
        if self._claimed_elsewhere(summary.name) or not content.keys() >= _SUMMARY_KEYS:
            return set()
        if content["study"] != self._study.name or not isinstance(content["comparisons"], list):
            return set()
        named = [str(entry.get("file")) for entry in content["comparisons"] if isinstance(entry, dict)]
        return {summary.name, *(name for name in named if _is_judged_name(name) and self._is_comparison(name))}

    def _is_comparison(self, name: str) -> bool:
        content = _json(self._results / name)
        return {"metric", "alpha"} <= content.keys() and ("tests" in content or "pairs" in content)

    def _named(self, path: Path) -> str:
        return path.relative_to(self._results).as_posix()

    def _save(self) -> None:
        write_text(self._file, dumps({"studies": {name: sorted(files) for name, files in self._by_study.items()}}))


def _read_claims(file: Path) -> dict[str, set[str]]:
    """No claims if damaged or absent; files are then recognised by their content."""
    studies = _json(file).get("studies")
    if not isinstance(studies, dict):
        return {}
    return {
        name: {file for file in files if isinstance(file, str)}
        for name, files in studies.items()
        if isinstance(files, list)
    }


def _json(path: Path) -> dict[str, Any]:
    try:
        content = edition_2(read_json(path), str(path))
    except InputError:
        return {}
    return content if isinstance(content, dict) else {}


def _relative(path: Path, folder: Path) -> str:
    """Relative to the folder, so that both can be moved together."""
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # another drive
        return path.resolve().as_posix()


def _is_judged_name(name: str) -> bool:
    """Whether claims may remove this name; the claims file is not trusted."""
    return name == SUMMARY or PurePosixPath(name).parts[:-1] == (COMPARISONS,)


def _is_about(item: Item, content: bytes) -> bool:
    try:
        run = edition_2(parse_json(content), "result")["run"]
        return bool({"family": item.family, **item.run}.items() <= run.items())
    except ValueError:
        return True
    except (KeyError, TypeError, AttributeError):
        return False


def _beside(path: Path) -> Iterator[Path]:
    """The side files of a result: items, and breakdowns that are too long for it."""
    if path.parent.is_dir():
        for side in path.parent.glob(f"{glob.escape(path.stem)}.*"):
            if side.name.endswith((".items.npz", ".kept.npz", ".json")) and not side.name.endswith(".flat.json"):
                yield side
