"""A bit that flips in a result file, or in one beside it, is noticed or changes nothing that is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from graphgauge import load, ranking, stats
from graphgauge.cli.results import aggregate, audit, compare
from graphgauge.core.content import content_of
from graphgauge.core.errors import InputError
from graphgauge.core.sealed import TIMES, encode
from graphgauge.report.material import gathered

FLIPS = 150


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, method in enumerate("ab"):
        draw = np.random.default_rng(number)
        evaluation = ranking.evaluate(
            draw.normal(1 + number, 1, 1001),
            draw.normal(0, 1, (1001, 5)),
            groups={"part": np.arange(1001) % 3, "query": np.arange(1001)},
        )
        evaluation.receipt = {
            "inputs": [{"name": "pos", "path": "p.npy", "bytes": 3, "hash": "0"}],
            "started": "now",
            "seconds": 1.0,
        }
        evaluation.save(tmp_path / "results" / method / "metrics_toy_0.json", method=method, dataset="toy", seed=0)
    return tmp_path / "results"


def flipped(data: bytes, place: int) -> bytes:
    changed = bytearray(data)
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


def read_or_refused(read: Callable[[], Any]) -> Any:
    """What is read, or the message that refuses it."""
    try:
        return read()
    except InputError as error:
        return f"refused: {error}"


def text_of(path: Path) -> str:
    """All that is read, without its times, which are not part of what was computed."""
    evaluation = load(path)
    evaluation.receipt = {name: each for name, each in evaluation.receipt.items() if name not in TIMES}
    return encode(content_of(evaluation))


def test_flips_in_a_result_file_are_refused_or_harmless(folder: Path) -> None:
    path = folder / "a" / "metrics_toy_0.json"
    data, draw = path.read_bytes(), np.random.default_rng(0)
    expected, runs = text_of(path), list(map(str, stats.read_runs(folder)))
    refused = 0
    for place in draw.choice(8 * len(data), FLIPS, replace=False):
        path.write_bytes(flipped(data, int(place)))
        found = read_or_refused(lambda: text_of(path))
        if found != expected:
            assert found.startswith(f"refused: {path}: ")
            refused += 1
        left = stats.read_runs(folder)  # a folder names what it cannot read, and has the rest
        if list(map(str, left)) != runs:
            assert list(map(str, left)) == runs[1:]
            assert any(str(path) in note for note in left.notes)
            refused += 1
        collected = gathered([folder])  # and so does a report
        assert len(collected.runs) + len(collected.failed) == 2
    assert refused > FLIPS  # most flips change something


@pytest.mark.parametrize("name", ["metrics_toy_0.items.npz", "metrics_toy_0.query.json"])
def test_flips_beside_a_result_file_are_refused(folder: Path, name: str) -> None:
    path, whole = folder / "a" / name, folder / "a" / "metrics_toy_0.json"
    runs = [whole, folder / "b" / "metrics_toy_0.json"]
    readers = {
        ".npz": lambda: stats.compare(runs, metric="mrr", over="items"),
        ".json": lambda: load(whole),
    }
    data, draw = path.read_bytes(), np.random.default_rng(1)
    for place in draw.choice(8 * len(data), 40, replace=False):
        path.write_bytes(flipped(data, int(place)))
        assert read_or_refused(readers[path.suffix]).startswith(f"refused: {path}: has changed")


def test_commands_name_a_damaged_result(folder: Path) -> None:
    path = folder / "a" / "metrics_toy_0.json"
    content = json.loads(path.read_text())
    content["results"][0]["value"] = 0.99
    path.write_text(json.dumps(content))
    for command, arguments in ((aggregate, []), (compare, ["--metric", "mrr"]), (audit, [])):
        done = CliRunner().invoke(command, [str(folder), *arguments])
        said = f"{done.output} {done.exception}"
        assert "metrics_toy_0.json" in said, command
        assert "0.99" not in said, command
        assert done.exception is None or isinstance(done.exception, InputError | SystemExit), command
    ((_, why),) = gathered([folder]).failed
    assert "its root does not match its content" in why
