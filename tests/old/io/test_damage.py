"""Damaged binary files: whichever byte is wrong, a reader gives an array or an InputError."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array, save_npz

from graphgauge.core.errors import InputError
from graphgauge.old.io.arrays import read_array
from graphgauge.old.io.graphs import read_graph

MATRIX = np.random.default_rng(0).normal(size=(3, 3))
FILES: dict[str, Callable[[Path], Any]] = {
    "plain.npy": lambda path: np.save(path, MATRIX),
    "stored.npz": lambda path: np.savez(path, a=MATRIX),
    "deflated.npz": lambda path: np.savez_compressed(path, a=MATRIX),
    "sparse.npz": lambda path: save_npz(path, csr_array(MATRIX)),
    "table.parquet": lambda path: pq.write_table(pa.table(dict(zip("abc", MATRIX, strict=True))), path),
}


@pytest.mark.parametrize("name", FILES)
def test_any_wrong_byte(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    FILES[name](path)
    content = path.read_bytes()
    refused = 0
    for place in range(0, len(content), 2):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        for read in (read_array, read_graph):
            with suppress(InputError):
                read(path)
                continue
            refused += 1
    assert refused
