"""JSON: what is wrong with a file is said with its name, whoever reads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphgauge import explanation
from graphgauge.core.errors import InputError
from graphgauge.old.core.files import read_json
from graphgauge.old.core.schema import read_result
from graphgauge.old.io.graphs import read_graph
from graphgauge.old.stats.load import load

READERS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "any": (read_json, "x.json"),
    "graph": (read_graph, "x.json"),
    "result": (read_result, "x.json"),
    "runs": (load, "metrics_x_0.json"),
    "answers": (explanation.read_table, "x.jsonl"),
}
FAULTS = {
    "cut off": (b'{"a": 1\n', "not (a )?JSON"),
    "not UTF-8": (b'{"a": "\xff"}\n', "not (a )?JSON"),
    "NaN": (b'{"a": NaN}\n', "NaN is not JSON; write null"),
    "a key twice": (b'{"a": 1, "b": {"c": 1, "c": 2}}\n', "the key 'c' occurs more than once"),
    "deep": (b"[" * 100_000 + b"\n", "brackets are nested too deep"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_json(tmp_path: Path, reader: str, fault: str) -> None:
    read, name = READERS[reader]
    content, message = FAULTS[fault]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("reader", READERS)
def test_no_file(tmp_path: Path, reader: str) -> None:
    read, name = READERS[reader]
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / name)
