"""Runs from tables: columns named method, dataset and seed, or the names that are declared, and a column per metric."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.extras import need
from graphgauge.io.places import readable
from graphgauge.io.text import read_rows
from graphgauge.stats.runs import (
    UNNAMED,
    UNSTATED,
    Run,
    Score,
    Seed,
    declared_metric,
    known_metric,
    numbered,
    on_dataset,
    seed_of,
)
from graphgauge.stats.text import listing

_ADD_N = (
    'Add a column n, the number of runs of each mean (in pandas, frame.assign(n=5)), or name it: columns={"n": COLUMN}.'
)
LABELS = ("method", "dataset", "seed")
ROLES = (*LABELS, "metric", "value", "mean", "std", "n")
_NAMES_LISTED = 12
_EMPTY = frozenset(("", "nan", "na", "n/a", "<na>", "nat", "null", "none"))
_PRINTED = re.compile(
    r"\s*(?P<mean>[<>~$+-]*(?:\.?\d|nan|inf)[^\s±]*?)\s*(?:±|\+/?-|\$?\\pm\$?)\s*(?P<std>[^\s±]+)\s*", re.IGNORECASE
)
# The column of standard deviations next to one of means, as `acc_std` is next to `acc_mean`.
_SPREAD = re.compile(r"(?P<metric>.+?)(?P<gap>[_ ./-])std")
# Numbers with marks, units or a second number, as `33.2%`, `0.81*` and `81.5 (0.7)`.
_LIKE_NUMBER = re.compile(
    r"(\\\w+\{)?[<>~$+-]*(\d+(,\d{3})*(\.\d+)?|\d*[.,]\d+)\s*([%*†‡^}$]+|[(\[][\d.,; +-]+[)\]])*\s*"
)
_MOST_RUNS = 10**9
_ONE_NAME = (
    "Give every column one name of its own. In pandas, from a file by read_csv(path, header=[0, 1], index_col=[0, 1]), "
    'take one metric: frame["mrr"].reset_index(); or, if the second row names datasets, frame.stack(1).reset_index().'
)


class Row(NamedTuple):
    """The cells of a row by column, and its place in a file or frame."""

    cells: Mapping[str, Any]
    place: str
    where: str

    def number(self, name: str) -> float:
        """The number in the cell of this column."""
        return self.read(name, self.cells[name])

    def read(self, name: str, cell: Any) -> float:
        """The number that a cell holds, which is called so in an error."""
        try:
            return read_number(cell)
        except ValueError as error:
            fix = "Write the number alone, or a printed mean as 81.5 ± 0.7; leave the cell of a failed run empty."
            raise InputError(f"{name}: {error}", where=self.where, fix=fix) from None


@dataclass(frozen=True)
class Table:
    """The names of the columns of a table, and its rows."""

    names: list[str]
    rows: list[Row]
    where: str

    @classmethod
    def from_cells(
        cls, names: Iterable[Any], cells: Iterable[Any], where: str, unit: str = "row", numbers: Iterable[int] = ()
    ) -> Table:
        """Rows of cells in the order of the names, counted from 1 unless they have `numbers` of this unit."""
        heads = [str(name).strip() for name in names]
        placed = ((row, f"{unit} {number}") for row, number in zip(cells, numbers or itertools.count(1), strict=False))
        rows = [Row(dict(zip(heads, row, strict=True)), place, f"{where}, {place}") for row, place in placed]
        return cls(heads, rows, where)

    @classmethod
    def from_records(cls, records: Sequence[Mapping[Any, Any]], where: str, unit: str = "row") -> Table:
        """Dictionaries as a table; a cell that one of them lacks is None."""
        names = list(dict.fromkeys(name for record in records for name in record))
        return cls.from_cells(names, ([record.get(name) for name in names] for record in records), where, unit)

    @classmethod
    def from_frame(cls, frame: Any, where: str = "frame") -> Table:
        """A data frame of pandas, whose index is columns too, of polars, or an Arrow table."""
        if hasattr(frame, "reset_index"):
            if getattr(frame.columns, "nlevels", 1) > 1:
                raise InputError("the frame has two rows of names", where="frame", fix=_ONE_NAME)
            levels = [name for name in frame.index.names if name is not None]
            _refuse_twice([*levels, *map(str, frame.columns)], "frame")
            frame = frame.reset_index() if levels else frame
        names = list(getattr(frame, "column_names", None) or frame.columns)
        columns = [
            frame[name].to_pylist() if hasattr(frame[name], "to_pylist") else list(frame[name]) for name in names
        ]
        return cls.from_cells(names, zip(*columns, strict=True), where)

    @classmethod
    def from_file(cls, path: Path) -> Table:
        """A .csv or .parquet file."""
        if path.suffix.lower() == ".parquet":
            return cls.from_frame(need("pyarrow.parquet", "reading .parquet").read_table(path), str(path))
        with readable(str(path)):
            names, rows = read_rows(path)
        rows = [(line, cells) for line, cells in rows if any(map(str.strip, cells))]
        return cls.from_cells(names, (cells for _, cells in rows), str(path), "line", [line for line, _ in rows])

    def column(self, name: str) -> list[Any]:
        """The cells of a column."""
        return [row.cells[name] for row in self.rows]


class Column(NamedTuple):
    """Where the scores of a metric are: in a column, with one of standard deviations if it has means and these apart.

    The metric is None if the rows name it.
    """

    metric: str | None
    name: str
    std: str | None = None


def columns_of(declared: Any) -> dict[str, str]:
    """The option `columns`: a mapping from role to column, or texts `method=model,seed=fold`."""
    if declared is None:
        return {}
    if isinstance(declared, Mapping):
        pairs = [(str(role), str(name)) for role, name in declared.items()]
    else:
        texts = [declared] if isinstance(declared, str) else [str(text) for text in declared]
        parts = [part.partition("=") for text in texts for part in text.split(",") if part.strip()]
        pairs = [(role.strip(), name.strip()) for role, _, name in parts]
    for role, name in pairs:
        if not name:
            what = f"columns: {role!r:.60} names no column"
            raise OptionError(what, fix="Write ROLE=COLUMN, such as method=model.").about("columns")
        one_of("role of a column", role, ROLES)
    if len(dict(pairs)) < len(pairs):
        raise OptionError("columns: a role occurs twice", fix="Name one column for each role.").about("columns")
    return dict(pairs)


def runs_of_table(table: Table, declared: Mapping[str, str]) -> list[Run]:
    """The runs of a table. Rows with the same labels are one run, until a metric comes again: that is a repetition."""
    roles = _roles(table, declared)
    columns = _score_columns(table, roles, declared)
    source = "" if table.where in ("dictionary", "frame", "records") else table.where
    unnamed = [row for row in table.rows if "method" in roles and not _labels(row, roles)[0]]
    if unnamed and len(unnamed) < len(table.rows):
        raise InputError("has no method", where=unnamed[0].where, fix="Name the method in every row.")
    places: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    runs: dict[tuple[Any, ...], Run] = {}
    for row in table.rows:
        method, dataset, seed = labels = _labels(row, roles)
        scores = dict(_scores(row, roles, columns))
        earlier = [places[*labels, metric] for metric in scores]
        if seed != UNSTATED and earlier[0]:
            what = f"{on_dataset(method or 'one method', dataset)}, seed {seed} occurs twice"
            what = f"{next(iter(scores))} of {what}" if "metric" in roles else what
            fix = 'Keep one row for each run, or name the column in which they differ: columns={"seed": COLUMN}.'
            raise InputError(f"{what} ({earlier[0][0]}, {row.place})", where=table.where, fix=fix)
        place = (*labels, len(earlier[0]))
        for each in earlier:
            each.append(row.place)
        known = runs[place].scores if place in runs else {}
        runs[place] = Run(method, dataset, seed, {**known, **scores}, source=source)
    return numbered(runs.values())


def score_of(metric: str, value: float, std: float = math.nan, runs: int = 1) -> Score:
    """A plain number as the score of a metric."""
    return Score(value, std=std, runs=runs, **known_metric(metric))


def read_number(value: Any) -> float:
    """The number in a cell; NaN for an empty one. A ValueError says why there is none."""
    if is_empty(value):
        return math.nan
    try:
        if isinstance(value, bool) or type(value).__name__ == "bool_" or (isinstance(value, str) and "_" in value):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{str(value)!r:.60} is not a number") from None
    if math.isinf(number) and isinstance(value, str) and "inf" not in value.lower():
        raise ValueError(f"{value!r:.60} is too large")
    return number


def is_empty(value: Any) -> bool:
    """Whether a cell has no value."""
    if isinstance(value, float):
        return value != value
    return value is None or str(value).strip().lower() in _EMPTY


def _roles(table: Table, declared: Mapping[str, str]) -> dict[str, str]:
    """The column of each role: those that are declared, and those that have the name of their role."""
    _require_names(table)
    for role, name in declared.items():
        if name not in table.names:
            known = f"It has {listing(table.names, _NAMES_LISTED)}."
            raise OptionError(f"{table.where}: no column {name!r:.60} for {role}", fix=known).about("columns")
    free = {role for role in ROLES if role in table.names and role not in declared.values()}
    roles = {role: role for role in LABELS if role in table.names} | dict(declared)
    printed = _printed_columns(table, roles | {"n": "n"} if "n" in free else roles)
    own: tuple[str, ...] = ()
    if {"metric", "value"} <= free and not {"metric", "value", "mean"} & declared.keys():
        own = ("metric", "value")
    elif "mean" in declared or ("value" not in declared and len({"mean", "std", "n"} & (free | declared.keys())) > 1):
        own = ("metric", "mean", "std", "n")
    elif printed and not {"metric", "value"} & declared.keys():
        own = ("n",)
    roles = {role: role for role in own if role in free} | roles
    for role, others in {"metric": ("value", "mean"), "std": ("mean",), "n": ("mean",), "mean": ("n",)}.items():
        if role in roles and not roles.keys() & others and not (role == "n" and printed):
            what = f"{table.where}: a column of {role} needs one of {others[0]}"
            fix = _ADD_N if role == "mean" else f'Name it: columns={{"{others[0]}": COLUMN}}.'
            raise OptionError(what, fix=fix).about("columns")
    return roles


def _require_names(table: Table) -> None:
    """Refuse a table without rows, and one whose columns do not have one name each."""
    if not table.rows:
        raise InputError("has no rows", where=table.where)
    _refuse_twice(table.names, table.where)
    first = list(table.rows[0].cells.values())
    if len(first) > 1 and first[0] in LABELS and all(map(is_empty, first[1:])):
        raise InputError("has two rows of names", where=table.where, fix=_ONE_NAME)
    if "" in table.names:
        raise InputError("has a column without a name", where=table.where, fix="In pandas, use to_csv(index=False).")


def _printed_columns(table: Table, roles: Mapping[str, str]) -> list[Column]:
    """Columns of printed means: with cells such as `0.92 ± 0.03`, or `acc_mean` beside `acc_std`.

    Without `n`, rows with seeds are runs, and `acc_mean` and `acc_std` two metrics.
    """
    others = [name for name in table.names if name not in roles.values()]
    columns = [
        Column(name, name)
        for name in others
        if any(isinstance(cell, str) and _PRINTED.fullmatch(cell) for cell in table.column(name))
    ]
    for std in others:
        match = _SPREAD.fullmatch(std)
        if match is None or declared_metric(std) is not None or ("seed" in roles and "n" not in roles):
            continue
        means = [f"{match['metric']}{match['gap']}mean", *([match["metric"]] if "n" in roles else [])]
        columns += [Column(match["metric"], mean, std) for mean in means if mean in others][:1]
    return columns


def _score_columns(table: Table, roles: Mapping[str, str], declared: Mapping[str, str]) -> list[Column]:
    """The columns of scores: those of roles, or every column of numbers; nothing is left out unsaid."""
    others = [name for name in table.names if name not in roles.values()]
    # A column with one number is one of numbers: what else is in it is an error.
    numeric = [name for name in others if _is_numeric(table.column(name))]
    if "method" not in roles and len(numeric) < len(others):
        has = f'has no column "method", but {listing(table.names, _NAMES_LISTED)}'
        raise InputError(has, where=table.where, fix=_suggestion(table, numeric))
    if "metric" in roles:
        return [Column(None, roles.get("mean") or roles["value"], roles.get("std"))]
    if "mean" in roles:
        if numeric and "mean" not in declared:
            own = ", ".join(f'"{role}": "{roles[role]}"' for role in ("mean", "std", "n") if role in roles)
            fix = f"Give each metric rows of its own, with a column metric; or leave the rest out: columns={{{own}}}."
            what = f"has columns of printed means, and also {listing(numeric, _NAMES_LISTED)}"
            raise InputError(what, where=table.where, fix=fix)
        is_named = roles["mean"] not in ("mean", "Mean")
        return [Column(roles["mean"] if is_named else UNNAMED, roles["mean"], roles.get("std"))]
    if "value" in roles:
        return [Column(roles["value"], roles["value"])]
    if not numeric:
        has = f"It has {listing(table.names, _NAMES_LISTED)}."
        raise InputError("contains no metric", where=table.where, fix=f"Give each metric a column of numbers. {has}")
    printed = {column.name: column for column in _printed_columns(table, roles)}
    if printed and "n" not in roles:
        raise InputError(f"has printed means ({listing(list(printed), 3)})", where=table.where, fix=_ADD_N)
    spreads = {column.std for column in printed.values()}
    columns = [printed.get(name, Column(name, name)) for name in numeric if name not in spreads]
    _refuse_twice([str(column.metric) for column in columns], table.where)
    return columns


def _suggestion(table: Table, numeric: Sequence[str]) -> str:
    """The option that would read this table: its first texts are the method and the dataset, its labels the seed."""
    texts = [name for name in table.names if name not in (*numeric, *LABELS)]
    roles = dict(zip(("method", "dataset"), texts, strict=False)) | {
        name: name for name in LABELS if name in table.names
    }
    whole = [
        name for name in numeric if all(str(cell).strip().removesuffix(".0").isdigit() for cell in table.column(name))
    ]
    most = 1 if "dataset" in roles else 2
    for labels in itertools.chain.from_iterable(itertools.permutations(whole, count) for count in range(most + 1)):
        columns = [*roles.values(), *labels]
        if len({tuple(str(row.cells[name]) for name in columns) for row in table.rows}) == len(table.rows):
            roles |= dict(zip(("dataset", "seed")[2 - len(labels) :], labels, strict=True))
            break
    written = ", ".join(f'"{role}": "{name}"' for role, name in roles.items())
    return f"Name the columns by role: columns={{{written}}}."


def _labels(row: Row, roles: Mapping[str, str]) -> tuple[str, str, Seed]:
    """The method, dataset and seed of a row."""
    cells = {role: row.cells[roles[role]] for role in LABELS if role in roles}
    if "seed" in cells and is_empty(cells["seed"]):
        fix = "Fill the column in, or drop it: rows without seeds are repetitions."
        raise InputError("has no seed", where=row.where, fix=fix)
    seed = seed_of(cells["seed"]) if "seed" in cells else UNSTATED
    return _label(cells.get("method")), _label(cells.get("dataset")), seed


def _scores(row: Row, roles: Mapping[str, str], columns: Iterable[Column]) -> Iterator[tuple[str, Score]]:
    """The scores in a row by metric: values, or printed means of `n` runs, of which a cell may have the spread, too."""
    for metric, column, std in columns:
        name = str(row.cells[roles["metric"]]).strip() if metric is None else metric
        if "n" not in roles:
            yield name, score_of(name, row.number(column))
            continue
        cell = row.cells[column]
        match = _PRINTED.fullmatch(cell) if isinstance(cell, str) and std is None else None
        if match is not None:
            mean, spread = (row.read(name, match[part]) for part in ("mean", "std"))
        else:
            mean, spread = row.number(column), math.nan if std is None else row.number(std)
        count = row.number(roles["n"])
        if not (0 <= spread < math.inf or math.isnan(spread)) or not (1 <= count <= _MOST_RUNS and count.is_integer()):
            what = f"a mean of {count:g} runs with standard deviation {spread:g}"
            fix = f"Write std of at least 0, and n of at least 1 and at most {_MOST_RUNS:,}."
            raise InputError(what, where=row.where, fix=fix)
        yield name, score_of(name, mean, spread, int(count))


def _is_numeric(cells: Sequence[Any]) -> bool:
    """Whether a column has a number or a printed mean, or only cells that are empty or look like numbers."""
    if any(_is_number(cell) or _PRINTED.fullmatch(str(cell)) for cell in cells):
        return True
    return all(is_empty(cell) or _LIKE_NUMBER.fullmatch(str(cell).strip()) for cell in cells)


def _is_number(cell: Any) -> bool:
    try:
        return not math.isnan(read_number(cell))
    except ValueError:
        return False


def _label(value: Any) -> str:
    if value is None or value != value:
        return ""
    return value.strip() if isinstance(value, str) else str(value).removesuffix(".0")


def _refuse_twice(names: Iterable[str], where: str) -> None:
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise InputError(f"has the column {twice!r:.60} twice", where=where, fix=_ONE_NAME)
