"""Result files: written completely or not at all, with long breakdowns and single items in files next to them."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from graphgauge.core.content import ResultFile, SideFile, content_of, evaluation_of
from graphgauge.core.disk import dump_json, read_bytes, read_json, write_text
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.evaluation import Evaluation, Run
from graphgauge.core.grid import Grid
from graphgauge.core.items import Items
from graphgauge.core.sealed import encode, read

# Tables with more rows than this are in a file of their own.
INLINE_ROWS = 1000


def save(evaluation: Evaluation, path: str | Path) -> Path:
    """Write the result file of a run: to a .json file, or into a folder under the names of the run."""
    target = Path(path)
    if target.suffix.lower() != ".json" or target.is_dir():
        if target.suffix and not target.is_dir():
            what = f"result files are JSON, and {target.name!r:.60} ends in {target.suffix}"
            raise OptionError(what, fix="Name a .json file or a folder; to_frame() and plot() have other formats.")
        target = result_path(target, evaluation.family, evaluation.run)
    sides = []
    for axis, grid in evaluation.breakdowns.items():
        if len(grid) > INLINE_ROWS:
            side = target.with_suffix(f".{file_part(axis)}.json")
            write_text(side, dump_json(grid.to_columns()))
            sides.append(_side_file("breakdown", side, len(grid), axis))
    if evaluation.per_item is not None:
        side = target.with_suffix(".items.npz")
        evaluation.per_item.save(side)
        sides.append(_side_file("items", side, len(evaluation.per_item)))
    write_text(target, encode(content_of(evaluation, sides)))
    return target


def load(path: str | Path, *, items: bool = True) -> Evaluation:
    """Read a result file, with the breakdowns and items in files next to it.

    Parameters
    ----------
    path
        A result file.
    items
        Whether the values of single items are read, too.

    Returns
    -------
    Evaluation
        Equal to the one that was saved.

    Examples
    --------
    >>> from graphgauge import Evaluation, load
    >>> path = Evaluation("ranking", []).save("empty.json")
    >>> load(path).family
    'ranking'
    """
    return opened(read(path, ResultFile), Path(path), items=items)


def opened(content: ResultFile, path: Path, *, items: bool = True) -> Evaluation:
    """The evaluation in the content of a result file at this path."""
    if content.status == "failed":
        raise InputError(f"the run failed: {content.error}", where=str(path), fix="Run it again.")
    breakdowns, per_item = {}, None
    for side in content.side_files:
        if not Path(side.name).name:
            raise InputError(f"{side.name!r} is no name of a side file", where=str(path), fix="Evaluate again.")
        place = path.with_name(Path(side.name).name)
        if side.role == "breakdown" and side.axis is not None:
            _require_unchanged(place, side)
            breakdowns[side.axis] = _table(place)
        elif side.role == "items" and items:
            _require_unchanged(place, side)
            per_item = Items.load(place)
    try:
        return evaluation_of(content, breakdowns, per_item)
    except (InputError, ValueError, TypeError) as error:
        what = error.what if isinstance(error, InputError) else str(error)
        raise InputError(what, where=str(path), fix="Evaluate again.") from None


def _table(place: Path) -> Grid:
    try:
        return Grid.from_columns(read_json(place))
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"not a table ({error})", where=str(place), fix="Evaluate again.") from None


def _require_unchanged(place: Path, side: SideFile) -> None:
    """Refuse a side file that is not the one that was written with its result."""
    if hashlib.sha256(read_bytes(place)).hexdigest() != side.hash:
        raise InputError("has changed since its result was written", where=str(place), fix="Evaluate again.")


def result_path(root: str | Path, family: str, run: Run) -> Path:
    """`ROOT/method/family/metrics_dataset_seed.json`, with every part made safe as a file name."""
    method, dataset, seed = (file_part(each) for each in (run.method, run.dataset, run.seed))
    return Path(root) / method / family / f"metrics_{dataset}_{seed}.json"


def file_part(value: Any) -> str:
    """A name as one component of a path; unsafe characters are replaced, and a hash is appended."""
    text = "none" if value is None else str(value)
    # File systems count bytes; a character cut in half is dropped.
    head = text[:80].encode("utf-8", "replace")[:80].decode(errors="ignore").lstrip(".")
    safe = "".join(character if character.isalnum() or character in "-_.+=" else "-" for character in head)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return safe if safe and safe == text else f"{safe}~{digest}"


def result_files(folder: Path) -> list[Path]:
    """Every JSON file in a folder that may be a result; hidden files and linked folders are left out."""
    files: list[Path] = []
    folders = [str(folder)]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):  # a method's folder may end in .json
                    folders.append(entry.path)
                elif entry.name.endswith(".json") and Path(entry.path).is_file():
                    files.append(Path(entry.path))
    return sorted(files)


def refuse_result(path: str | Path | None) -> None:
    """Refuse a result file, or items of one, in the place of a file about results."""
    if path is None or not Path(path).is_file():
        return
    with Path(path).open("rb") as stream:
        head = stream.read(200)
    if b"graphgauge/result/" in head or str(path).endswith(".items.npz"):
        raise OptionError(f"{path} is a result, or data of one", fix="Give the output another name.")


def is_result(fields: Any) -> bool:
    """Whether JSON is a result file, of this or another edition, or what damage to its schema left of one."""
    if not isinstance(fields, dict):
        return False
    return str(fields.get("schema")).startswith("graphgauge/result/") or {"root", "results"} <= fields.keys()


def may_be_result(path: Path) -> bool:
    """Whether a file that cannot be read may have been a result: it says so, or nothing is left of it."""
    try:
        head = path.read_bytes()
    except OSError:
        return True
    return not head.strip(b"\0") or b"graphgauge/result/" in head


def _side_file(role: Literal["breakdown", "items"], path: Path, rows: int, axis: str | None = None) -> SideFile:
    return SideFile(role, path.name, hashlib.sha256(path.read_bytes()).hexdigest(), rows, axis)
