"""Arrays that are read from their beginning: blocks in order take one pass, an earlier block begins again."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray
from graphgauge.core.errors import InputError
from graphgauge.old.io.array_file import ArrayFile
from graphgauge.old.io.delimited import NO_DATES, NumberFile
from graphgauge.old.io.parquet import open_parquet, sound

# Bytes of rows that are decoded at once.
_BATCH_BYTES = 1 << 24


class SequentialArray(ArrayFile):
    """An array whose rows come in batches."""

    _batches: Iterator[AnyArray] | None = None
    _batch: AnyArray | None = None
    # The row at which the batch begins.
    _at = 0

    @abstractmethod
    def _from(self, row: int) -> tuple[int, Iterator[AnyArray]]:
        """The rows from here on or from somewhat before, and the number of the first."""

    def rows(self, start: int, stop: int) -> AnyArray:
        if self._batches is None or start < self._at:
            (self._at, self._batches), self._batch = self._from(start), None
        parts = []
        while start < min(stop, len(self)):
            if self._batch is None or start >= self._at + len(self._batch):
                self._at += 0 if self._batch is None else len(self._batch)
                self._batch = next(self._batches, None)
                if self._batch is None:
                    raise InputError(f"ends after {self._at:,} rows", where=str(self.path), fix="Write it again.")
                if self._batch.shape[1:] != self.shape[1:]:
                    raise InputError("rows of different lengths", where=str(self.path), fix="Write values and offsets.")
                continue
            part = self._batch[start - self._at : stop - self._at]
            parts.append(part)
            start += len(part)
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.empty((0, *self.shape[1:]), self.dtype)

    @property
    def _rows_at_once(self) -> int:
        return max(1, _BATCH_BYTES // max(1, self.row_bytes))


class ParquetArray(SequentialArray):
    """Numeric columns, or one column of equally long lists. Row groups are read in batches, and none in advance."""

    def __init__(self, path: Path) -> None:
        self._file = open_parquet(path)
        with sound(path):
            first = next(self._file.iter_batches(batch_size=1), None)
        sample = np.empty((0, 0)) if first is None else _matrix(first, path)
        self._starts = [0]
        for group in range(self._file.num_row_groups):
            self._starts.append(self._starts[-1] + self._file.metadata.row_group(group).num_rows)
        super().__init__(path, (self._starts[-1], *sample.shape[1:]), sample.dtype)
        names = [str(name) for name in self._file.schema_arrow.names]
        self.columns = names if self.shape[1:] == (len(names),) and len(names) > 1 else None

    def _from(self, row: int) -> tuple[int, Iterator[AnyArray]]:
        first = max(int(np.searchsorted(self._starts, row, side="right")) - 1, 0)
        return self._starts[min(first, len(self._starts) - 1)], self._read(first)

    def _read(self, first: int) -> Iterator[AnyArray]:
        groups = list(range(first, self._file.num_row_groups))
        with sound(str(self.path)):
            for batch in self._file.iter_batches(batch_size=self._rows_at_once, row_groups=groups):
                yield _matrix(batch, self.path)


class CsvArray(SequentialArray):
    """The numbers of a text file that is too large to be kept."""

    def __init__(self, path: Path, numbers: NumberFile) -> None:
        rows, width = numbers.shape
        super().__init__(path, (rows,) if width == 1 else (rows, width), np.dtype(np.float64))
        self._numbers = numbers
        self.columns = numbers.names if width > 1 else None

    def _from(self, row: int) -> tuple[int, Iterator[AnyArray]]:
        return 0, (part[:, 0] if len(self.shape) == 1 else part for part in self._numbers.parts(self._rows_at_once))


def _matrix(batch: Any, path: Path) -> AnyArray:
    columns = []
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if column.null_count:
            what = f"column {field.name!r} has empty cells"
            raise InputError(what, where=str(path), fix="Write NaN where a score is missing.")
        flat = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        if hasattr(flat.type, "value_type"):
            lengths = np.diff(np.asarray(flat.offsets)) if hasattr(flat, "offsets") else np.array([flat.type.list_size])
            if len(set(lengths.tolist())) > 1:
                what = f"lists of different lengths in column {field.name!r}"
                raise InputError(what, where=str(path), fix="Write values and offsets.")
            columns.append(flat.flatten().to_numpy(zero_copy_only=False).reshape(len(flat), -1))
        else:
            columns.append(flat.to_numpy(zero_copy_only=False))
    if len(columns) == 1:
        only: AnyArray = columns[0]
        return only
    for name, column in zip(batch.schema.names, columns, strict=True):
        if column.dtype.kind in "mM":
            what = f"column {name!r:.60} contains dates, not numbers"
            raise InputError(what, where=str(path), fix=NO_DATES)
    return np.column_stack(columns)
