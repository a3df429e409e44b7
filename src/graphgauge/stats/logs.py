"""Folders and files that training programs write: Lightning, Ray Tune, TensorBoard, transformers, lm-eval."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.core.files import parse_json, read_bytes, read_json
from graphgauge.io.sheets import MOST_BYTES
from graphgauge.stats.cells import Number
from graphgauge.stats.names import RUN_SEED, is_bookkeeping, is_step, role_of
from graphgauge.stats.runs import Seed, seed_of
from graphgauge.stats.units import Unit

HOW = "the last value of each metric is used, which need not be the best"
_TENSORBOARD = re.compile(r"run-(?P<run>.+?)-tag-(?P<tag>.+)")
_VERSION = re.compile(r"version_\d+")
# Names of files that say nothing about the run in them.
_GENERIC = ("metrics", "progress", "result", "results", "history", "log", "scores", "trainer_state", "all_results")
_MOST_LINES = 1_000_000


def labels(path: Path) -> dict[str, str] | None:
    """Method, dataset and seed of a table inside the folder of a run; None if it is in none."""
    exported = _TENSORBOARD.fullmatch(path.stem)
    if exported is not None:
        return {
            **_split_name(exported["run"]),
            "metric": exported["tag"].replace("_", "/", exported["tag"].count("//")),
        }
    if path.stem.lower() not in _GENERIC:
        return None
    folder = path.resolve().parent
    own = folder.parent if _VERSION.fullmatch(folder.name) else folder
    settings = {
        **_scalars(folder / "hparams.yaml"),
        **_json_scalars(folder / "params.json"),
        **_json_scalars(folder / "config.json"),
    }
    found: dict[str, str] = {}
    ranks: dict[str, int] = {}
    for name, value in settings.items():
        role = role_of(name)
        if role is not None and role[0] in ("method", "dataset", "seed") and role[1] < ranks.get(role[0], 99):
            found[role[0]], ranks[role[0]] = str(value), role[1]
    return {**_split_name(own.name), **found}


def _split_name(name: str) -> dict[str, str]:
    split = RUN_SEED.fullmatch(name)
    return {"method": name} if split is None else {"method": split["method"], "seed": split["seed"]}


def _scalars(path: Path) -> dict[str, str]:
    """The lines `name: value` at the top level of a YAML file."""
    if not path.is_file() or path.stat().st_size > 1_000_000:
        return {}
    lines = path.read_bytes().decode("utf-8", "replace").splitlines()
    found = (re.fullmatch(r"([\w.\-/]+):\s+([^\s#&*!|>{\[][^#]*)(#.*)?", line) for line in lines)
    return {match[1]: match[2].strip().strip("'\"") for match in found if match is not None}


def _json_scalars(path: Path) -> dict[str, Any]:
    if not path.is_file() or path.stat().st_size > 1_000_000:
        return {}
    try:
        content = read_json(path)
    except InputError:
        return {}
    scalars = content.items() if isinstance(content, dict) else ()
    return {str(name): value for name, value in scalars if isinstance(value, str | int | float)}


def is_covered(path: Path) -> bool:
    """Whether a JSON file describes a run, or repeats the file of it next to it."""
    beside = {
        "result.json": ("progress.csv",),
        "params.json": ("progress.csv", "result.json", "metrics.json", "metrics.csv"),
        "config.json": ("metrics.json", "metrics.csv", "results.json"),
        "all_results.json": ("trainer_state.json",),
    }
    return any((path.parent / name).is_file() for name in beside.get(path.name, ()))


def json_lines(path: Path) -> list[dict[str, Any]] | None:
    """The records of a .jsonl file, or of the result.json of Ray Tune, with nested settings; None for other JSON."""
    if path.suffix.lower() != ".jsonl" and path.name != "result.json":
        return None
    if path.stat().st_size > MOST_BYTES:
        raise InputError(f"has more than {MOST_BYTES:,} bytes", where=str(path), fix="Keep the last line of each run.")
    lines = [line for line in read_bytes(path).split(b"\n") if line.strip()]
    if path.suffix.lower() != ".jsonl" and len(lines) < 2:
        return None
    if len(lines) > _MOST_LINES:
        raise InputError(f"has more than {_MOST_LINES:,} lines", where=str(path))
    records = []
    for number, line in enumerate(lines, 1):
        try:
            record = parse_json(line)
        except ValueError as error:
            raise InputError(f"line {number} is not JSON ({error})", where=str(path)) from None
        if not isinstance(record, dict):
            return None
        flat = {name: value for name, value in record.items() if not isinstance(value, dict | list)}
        settings = record.get("config")
        if isinstance(settings, dict):
            flat |= {f"config/{name}": value for name, value in settings.items() if not isinstance(value, dict | list)}
        records.append(flat)
    return records


def is_state(content: Mapping[str, Any]) -> bool:
    """The trainer_state.json of transformers."""
    return isinstance(content.get("log_history"), list) and "global_step" in content


def units(content: Mapping[str, Any], path: Path) -> list[Unit] | None:
    """The runs in the JSON of transformers or of lm-eval; None for other JSON."""
    if is_state(content):
        own = labels(path) or {}
        numbers: dict[str, Number] = {}
        for entry in content["log_history"]:
            for name, value in entry.items() if isinstance(entry, dict) else ():
                if not is_step(name) and not is_bookkeeping(name) and name != "learning_rate" and _is_number(value):
                    numbers[name] = Number(float(value))
        seed: Seed | None = seed_of(own["seed"]) if "seed" in own else None
        return [Unit(own.get("method", ""), own.get("dataset", ""), seed, numbers, "log_history")]
    results, config = content.get("results"), content.get("config")
    if (
        not isinstance(results, dict)
        or not isinstance(config, dict)
        or not ("configs" in content or "n-shot" in content)
    ):
        return None
    method = str(content.get("model_name") or config.get("model_args") or config.get("model"))
    found = []
    for task, scores in results.items():
        if not isinstance(scores, dict):
            continue
        numbers = {
            name.removesuffix(",none"): Number(float(value))
            for name, value in scores.items()
            if _is_number(value) and "_stderr" not in name
        }
        if numbers:
            # The seed of an evaluation is not that of a trained model: one run of each task.
            found.append(Unit(method, str(task), None, numbers, f"results of {task}"))
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
