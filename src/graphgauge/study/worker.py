"""A process that evaluates items one by one: it reads requests on stdin and writes answers to stdout.

It ends with its run, even in the middle of an item: a worker that outlived its run could overwrite a newer
result.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from graphgauge.core.errors import GraphgaugeError, InputError, MissingExtraError
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.family import family
from graphgauge.old.core.fields import Fields, located
from graphgauge.old.core.files import UnwritableError
from graphgauge.old.core.schema import evaluation_to_dict, write_result
from graphgauge.old.engines.merge import merge_files
from graphgauge.old.io.code import source_hash
from graphgauge.old.io.hashing import HashIndex, using
from graphgauge.study.model import Item
from graphgauge.study.recipe import MERGE, Recipe, factories_of, fields_by_command, read_by_command
from graphgauge.study.store import write_failure

_LONGEST_ERROR = 2000


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the run, which ends its workers
    # Library output must not be read as an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    tasks: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()
    indexes: dict[str, HashIndex] = {}
    while True:
        task = json.loads(tasks.get())
        folder = task["folder"]
        if folder not in indexes:
            indexes[folder] = HashIndex.load(Path(folder), Path(task["hashes"]))
        answers.write(json.dumps(perform(task, indexes[folder])) + "\n")
        answers.flush()


def _listen(tasks: SimpleQueue[str]) -> None:
    for line in sys.stdin:
        tasks.put(line)
    os._exit(0)


def perform(task: Mapping[str, Any], index: HashIndex) -> dict[str, Any]:
    """Evaluate one item and write its result or its error; return the outcome."""
    item, folder, output = Item.from_dict(task["item"]), Path(task["folder"]), Path(task["output"])
    trusted, file = task.get("trusted", True), task.get("file")
    if trusted:
        os.chdir(folder)
    started, begin, hashed = time.time(), time.perf_counter(), index.seconds
    receipt: dict[str, Any] = {
        "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
        "study": {
            "folder": os.path.relpath(folder, output.parent),
            **({} if file is None else {"file": file}),
            "options": dict(item.options),
            "ignore": dict(item.ignore),
        },
    }
    error, lacking = None, False
    evaluate = _evaluated if trusted else partial(_recomputed, task["command"], task["trust_code"])
    try:
        with using(index):
            evaluation, made_from = evaluate(item, folder, index, task["threads"])
        hashing = index.seconds - hashed
        receipt |= made_from | {"seconds": _rounded(time.perf_counter() - begin - hashing)}
        write_result(evaluation, output, receipt=receipt)
        status = evaluation_to_dict(evaluation)["status"]
    except (Exception, SystemExit) as failure:  # code that exits the process has not finished
        if task["debug"]:
            sys.excepthook(*sys.exc_info())
        status, error, hashing = "failed", _told(failure), index.seconds - hashed
        lacking = isinstance(failure, MissingExtraError | UnwritableError)
        receipt["seconds"] = _rounded(time.perf_counter() - begin - hashing)
        try:
            write_failure(item, output, error, receipt)
        except UnwritableError as unwritten:
            if not isinstance(failure, UnwritableError):
                error = f"{error}; {_told(unwritten)}"
    return {
        "status": status,
        "error": error,
        "lacking": lacking,
        "seconds": receipt["seconds"],
        "hashing": hashing,
        "hashes": index.news(),
    }


def _evaluated(item: Item, folder: Path, index: HashIndex, threads: int) -> tuple[Evaluation, dict[str, Any]]:
    before = Recipe.of(item, folder, index)
    if before.code and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    evaluation, described = _of_family(item, family(item.family).read(item.options), threads)
    after = Recipe.of(item, folder, index)
    if after != before:
        paths = {*before.inputs.items(), *before.code.items()} ^ {*after.inputs.items(), *after.code.items()}
        changed = ", ".join(sorted({path for path, _ in paths}))
        raise InputError(f"changed while being evaluated: {changed}", fix="Run the study again.")
    code = [{"factory": factory, "source_hash": digest} for factory, digest in before.code.items()]
    return evaluation, {"key": before.key, "inputs": described, "code": code}


def _recomputed(
    command: str, trust_code: bool, item: Item, folder: Path, index: HashIndex, threads: int
) -> tuple[Evaluation, dict[str, Any]]:
    """Evaluate an item from an untrusted folder as its result file describes."""
    code = factories_of(command, item.options)
    if code and not trust_code:
        raise InputError(f"{', '.join(code)} is not imported")
    if code:
        os.chdir(folder)
    values = located(fields_by_command(command), read_by_command(command, item.options), folder)
    if command == MERGE:
        evaluation = _of(merge_files, fields_by_command(command), item, values, threads)
        if evaluation.family != item.family:
            raise InputError(f"the states are of {evaluation.family}")
        described = list(evaluation.inputs())
    else:
        evaluation, described = _of_family(item, values, threads)
    return evaluation, {
        "inputs": described,
        "code": [{"factory": factory, "source_hash": source_hash(factory, folder)} for factory in code],
    }


def _of_family(item: Item, values: Mapping[str, Any], threads: int) -> tuple[Evaluation, list[Mapping[str, Any]]]:
    declared = family(item.family)
    evaluation = _of(declared.evaluate_files, declared.fields, item, values, threads)
    return evaluation, list(evaluation.inputs())


def _of(
    function: Callable[..., Evaluation], fields: Fields, item: Item, values: Mapping[str, Any], threads: int
) -> Evaluation:
    share = {"threads": threads} if "threads" in fields else {}
    evaluation = function(**{**values, **share})
    evaluation.run |= item.run
    _ignore(evaluation, item.ignore)
    return evaluation


def _ignore(evaluation: Evaluation, ignore: Mapping[str, str]) -> None:
    found = [finding.check for finding in evaluation.findings if finding.check in ignore]
    evaluation.findings = tuple(replace(entry, ignored=entry.check in ignore) for entry in evaluation.findings)
    evaluation.notes = (*evaluation.notes, *(f"{check} is ignored: {ignore[check]}" for check in found))


def _told(failure: BaseException) -> str:
    text = str(failure) if isinstance(failure, GraphgaugeError) else f"{type(failure).__name__}: {failure}"
    return text[:_LONGEST_ERROR]


def _rounded(seconds: float) -> float:
    return round(max(0.0, seconds), 3)


if __name__ == "__main__":
    main()
