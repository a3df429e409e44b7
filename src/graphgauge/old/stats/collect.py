"""Collect the result files of a report from folders; their content is not trusted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.core.scrub import clean, scrub
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.family import family_names
from graphgauge.old.core.files import parse_json
from graphgauge.old.core.schema import FORMAT, is_result, read_content, result_files
from graphgauge.old.stats.load import from_result
from graphgauge.old.stats.runs import Run

Source = str | Path | Iterable[str | Path]
UNNAMED = "unnamed"


@dataclass(frozen=True)
class Record:
    """One result file: the run for the statistics, the evaluation unless it failed, and the receipt."""

    run: Run
    evaluation: Evaluation | None
    receipt: Mapping[str, Any]


@dataclass(frozen=True)
class Collected:
    """All records, in the order of their paths, and the result files that cannot be read."""

    records: tuple[Record, ...]
    unreadable: tuple[str, ...]

    @property
    def families(self) -> list[str]:
        """Built-in families in their usual order, then others in order of appearance."""
        found = dict.fromkeys(record.run.family for record in self.records)
        known = family_names()
        return [*(name for name in known if name in found), *(name for name in found if name not in known)]


def collect(source: Source) -> Collected:
    """Read a folder, a file or several of them; other files in folders are skipped."""
    records, unreadable = [], []
    for path, named in _files(source):
        try:
            if named or _is_result(path):
                records.append(_record(path))
        except InputError as error:
            if named:
                raise
            unreadable.append(clean(str(error)))
    if not records:
        raise InputError(
            f"no result files{f', {len(unreadable)} that cannot be read' if unreadable else ''}",
            where=clean(", ".join(str(part) for part in parts_of(source))),
            fix="Evaluate with --method, --dataset and --run-seed, which writes result files.",
        )
    return Collected(tuple(records), tuple(unreadable))


def parts_of(source: Source) -> list[Path]:
    try:
        return [Path(part) for part in ([source] if isinstance(source, str | Path) else source)]
    except TypeError:
        what = f"expected the path of a folder or a file, or a list of them, found {source!r:.60}"
        raise InputError(what, where="source") from None


def _files(source: Source) -> Iterator[tuple[Path, bool]]:
    """Each file once, and whether it was named explicitly."""
    seen = set()
    for path in parts_of(source):
        found = [(file, False) for file in result_files(path)] if path.is_dir() else [(path, True)]
        for file, named in found:
            if file not in seen:
                seen.add(file)
                yield file, named


def _is_result(path: Path) -> bool:
    """Flat copies, breakdowns and other JSON do not name the schema; a damaged result has the other fields."""
    try:
        data = path.read_bytes()
        return FORMAT.encode() in data or is_result(parse_json(data))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(path)) from None
    except ValueError:
        return False


def _record(path: Path) -> Record:
    try:
        content = scrub(read_content(path))
        content["run"] = _identity(content["run"])
        receipt = content.get("receipt")
        run, evaluation = from_result(content, path)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"not a valid result file: {type(error).__name__} {error}", where=str(path)) from None
    return Record(run, evaluation, receipt if isinstance(receipt, dict) else {})


def _identity(run: Mapping[str, Any]) -> dict[str, Any]:
    """Names as text, with a placeholder for missing ones."""
    named = {name: UNNAMED if run.get(name) is None else str(run[name]) for name in ("family", "method", "dataset")}
    seed = run.get("seed")
    return {**run, **named, "seed": seed if isinstance(seed, int) else 0 if seed is None else str(seed)}
