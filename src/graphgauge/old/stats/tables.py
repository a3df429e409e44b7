"""Runs from tables: columns named method, dataset and seed, or the names that are given, and a column per metric."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.old.io import delimited, parquet
from graphgauge.old.stats.runs import Run, Score, Seed, known_metric, on_dataset, repetition, seed_of
from graphgauge.old.stats.text import listing, several_do

LABELS = ("method", "dataset", "seed")
ROLES = (*LABELS, "metric", "value")
Columns = Mapping[str, str]
_NAMES_LISTED = 12
_EMPTY = frozenset(("", "nan", "na", "n/a", "<na>", "nat", "null", "none"))


@dataclass(frozen=True)
class Table:
    """The cells of a table: the names of its columns, and its rows with the place of each in the file."""

    names: list[str]
    rows: list[list[Any]]
    places: list[str]
    where: str

    def column(self, name: str) -> list[Any]:
        place = self.names.index(name)
        return [row[place] for row in self.rows]


@dataclass(frozen=True)
class Unit:
    """The numbers of one run; a seed of None is not stated."""

    method: str
    dataset: str
    seed: Seed | None
    numbers: Mapping[str, float]
    place: str


def columns_of(given: Any) -> dict[str, str]:
    """The option `columns`: a mapping from role to column, or texts `method=model,seed=fold,value=acc`."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        pairs = [(str(role), str(column)) for role, column in given.items()]
    else:
        texts = [given] if isinstance(given, str) else list(given)
        parts = [part.strip() for text in texts for part in str(text).split(",") if part.strip()]
        for part in parts:
            if "=" not in part:
                raise OptionError(
                    f"{part!r:.60} is not ROLE=COLUMN, such as method=model", fix=f"Roles: {', '.join(ROLES)}."
                ).about("columns")
        pairs = [(part.partition("=")[0].strip(), part.partition("=")[2].strip()) for part in parts]
    found: dict[str, str] = {}
    for role, column in pairs:
        one_of("role of a column", role, ROLES)
        if role in found:
            raise OptionError(f"columns: {role} is given twice").about("columns")
        found[role] = column
    return found


def read_table(path: Path) -> Table:
    """The table in a .csv or .parquet file."""
    if path.suffix.lower() == ".parquet":
        table = parquet.read_parquet(path)
        return records_table(table.to_pylist(), str(path), names=table.column_names)
    names, lines = delimited.read_table(path)
    rows = [(line, cells) for line, cells in lines if any(map(str.strip, cells))]
    return Table(names, [cells for _, cells in rows], [f"line {line}" for line, _ in rows], str(path))


def records_table(
    records: Sequence[Mapping[Any, Any]], where: str, unit: str = "row", names: Iterable[Any] = ()
) -> Table:
    """Dictionaries as a table; a cell that one of them lacks is None."""
    columns = list(names) or list(dict.fromkeys(name for record in records for name in record))
    rows = [[record.get(name) for name in columns] for record in records]
    places = [f"{unit} {number}" for number in range(1, len(rows) + 1)]
    return Table([str(name).strip() for name in columns], rows, places, where)


def units_of(table: Table, columns: Columns, notes: list[str]) -> list[Unit]:
    """The runs in the rows of a table; what is not used, and that nothing pairs the rows, is added to `notes`."""
    roles = _roles(table, columns)
    taken = [table.names.index(name) for name in roles.values()]
    numeric: list[str] = []
    unused: list[str] = []
    for place, name in enumerate(table.names):
        if place not in taken:
            cells = table.column(name)
            (numeric if any(map(is_number, cells)) or all(map(is_empty, cells)) else unused).append(name)
    if "method" not in roles and unused:
        raise InputError(
            'has no column "method"',
            where=table.where,
            fix=f'Name the columns by role, such as columns="method={unused[0]},seed=…"; it has '
            f"{listing(table.names, _NAMES_LISTED)}.",
        )
    if "metric" in roles:
        units = list(_long(table, roles))
    else:
        units = list(_wide(table, roles, [roles["value"]] if "value" in roles else numeric))
    if not any(unit.numbers for unit in units):
        raise InputError(
            "contains no metric",
            where=table.where,
            fix=f"Give each metric a column of numbers. It has {listing(table.names, _NAMES_LISTED)}.",
        )
    said = [f"not used: {listing([repr(name) for name in unused])}"] if unused else []
    if are_unpaired(units):
        said.append("no column of seeds, so repetitions are numbered and runs are not paired")
    if said:
        notes.append(f"{table.where}: {'; '.join(said)}")
    return units


def _roles(table: Table, columns: Columns) -> dict[str, str]:
    """The column of each role."""
    if not table.rows:
        raise InputError("has no rows", where=table.where)
    twice = next((name for name, times in Counter(table.names).items() if times > 1), None)
    if twice is not None or _is_head(table.rows[0]):
        what = "has a second row of names" if twice is None else f"has the column {twice!r:.60} twice"
        raise InputError(
            what, where=table.where, fix="Give every column one name of its own; in pandas by frame.reset_index()."
        )
    if "" in table.names:
        raise InputError("has a column without a name", where=table.where, fix="In pandas, use to_csv(index=False).")
    for role, column in columns.items():
        if column not in table.names:
            known = listing(table.names, _NAMES_LISTED)
            raise OptionError(f"{table.where}: no column {column!r:.60} for {role}", fix=f"It has {known}.")
    roles = {role: role for role in LABELS if role in table.names} | dict(columns)
    if "metric" not in roles and {"metric", "value"} <= set(table.names) and "value" not in roles:
        roles |= {"metric": "metric", "value": "value"}
    if "metric" in roles and "value" not in roles:
        raise OptionError(
            f"{table.where}: a column of metrics needs one of values", fix='Add it: columns="value=COLUMN".'
        )
    return roles


def _is_head(cells: Sequence[Any]) -> bool:
    """Whether a row names the index and nothing else, as below the names of a pandas frame with a named axis."""
    return len(cells) > 1 and cells[0] in LABELS and all(map(is_empty, cells[1:]))


def are_unpaired(units: Sequence[Unit]) -> bool:
    """Whether several methods have repetitions without seeds."""
    unseeded = Counter((unit.method, unit.dataset) for unit in units if unit.seed is None)
    return len({method for method, _ in unseeded}) > 1 and max(unseeded.values()) > 1


def _wide(table: Table, roles: Columns, metrics: Sequence[str]) -> Iterator[Unit]:
    places = {name: table.names.index(name) for name in metrics}
    for row, cells in enumerate(table.rows):
        yield _unit(table, roles, row, {name: _number(table, row, name, cells[p]) for name, p in places.items()})


def _long(table: Table, roles: Columns) -> Iterator[Unit]:
    """Rows of one metric each, joined by their labels; a metric that comes again starts the next repetition."""
    metric, value = (table.names.index(roles[role]) for role in ("metric", "value"))
    found: dict[tuple[Any, ...], Unit] = {}
    taken: Counter[tuple[Any, ...]] = Counter()
    for row, cells in enumerate(table.rows):
        key = str(cells[metric]).strip()
        unit = _unit(table, roles, row, {key: _number(table, row, key, cells[value])})
        labels = (unit.method, unit.dataset, unit.seed)
        again = taken[*labels, key]
        taken[*labels, key] += 1
        if again and unit.seed is not None:
            said = ", ".join(str(part) for part in labels if part != "")
            raise InputError(f"{key} occurs twice for {said}", where=f"{table.where}, {unit.place}")
        old = found.setdefault((*labels, again), unit)
        found[*labels, again] = replace(old, numbers={**old.numbers, **unit.numbers})
    yield from found.values()


def _unit(table: Table, roles: Columns, row: int, numbers: Mapping[str, float]) -> Unit:
    own = {role: table.rows[row][table.names.index(roles[role])] for role in LABELS if role in roles}
    place = table.places[row]
    if "seed" in own and is_empty(own["seed"]):
        raise InputError(
            "has no seed",
            where=f"{table.where}, {place}",
            fix="Fill the column in, or drop it: rows without seeds are repetitions.",
        )
    seed = seed_of(own["seed"]) if "seed" in own else None
    return Unit(_name(own.get("method")), _name(own.get("dataset")), seed, numbers, place)


def _name(value: Any) -> str:
    if value is None or value != value:
        return ""
    return value.strip() if isinstance(value, str) else str(value).removesuffix(".0")


# ------------------------------------------------------------------------------------------ cells


def is_empty(value: Any) -> bool:
    if isinstance(value, float):
        return value != value
    return value is None or str(value).strip().lower() in _EMPTY


def is_number(value: Any) -> bool:
    try:
        return not math.isnan(read_number(value))
    except ValueError:
        return False


def read_number(value: Any) -> float:
    """The number in a cell; NaN for an empty one. A ValueError says why there is none."""
    if is_empty(value):
        return math.nan
    try:
        if isinstance(value, bool) or type(value).__name__ == "bool_" or (isinstance(value, str) and "_" in value):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{value!r:.60} is not a number") from None
    except OverflowError:
        raise ValueError(f"{str(value)[:30]}… is too large") from None
    if math.isinf(number) and isinstance(value, str) and "inf" not in value.lower():
        raise ValueError(f"{value!r:.60} is too large")
    return number


def _number(table: Table, row: int, name: str, cell: Any) -> float:
    try:
        return read_number(cell)
    except ValueError as error:
        what = f"{name} is {error}".replace(" is not a number", ", not a number").replace(" is too", ", too")
        raise InputError(what, where=f"{table.where}, {table.places[row]}") from None


# ------------------------------------------------------------------------------------------ runs


def runs_of(units: Sequence[Unit], where: str) -> list[Run]:
    """One run per unit; without seeds, the units of a method are repetitions without a partner."""
    numbered = _numbered(units)
    groups = defaultdict(list)
    for unit in numbered:
        groups[unit.method, unit.dataset, unit.seed].append(unit)
    said = [
        f"{on_dataset(method or 'one method', dataset)}, seed {seed} ({found[0].place}, {found[1].place})"
        for (method, dataset, seed), found in groups.items()
        if len(found) > 1
    ]
    if said:
        raise InputError(
            f"{several_do(len(said), 'run', 'occurs', 'occur')} twice: {listing(said, 3)}",
            where=where,
            fix='Keep one row for each run, or name the column in which they differ: columns="seed=COLUMN".',
        )
    return [
        Run(
            unit.method,
            unit.dataset,
            0 if unit.seed is None else unit.seed,
            {name: Score(number, *known_metric(name)) for name, number in unit.numbers.items()},
            source=where,
        )
        for unit in numbered
    ]


def _numbered(units: Sequence[Unit]) -> list[Unit]:
    """Units with seeds: those that have none are counted within their method and dataset."""
    counts = Counter((unit.method, unit.dataset) for unit in units if unit.seed is None)
    if all(count == 1 for count in counts.values()):
        return [replace(unit, seed=0) if unit.seed is None else unit for unit in units]
    alone = len({method for method, _ in counts}) == 1
    taken: Counter[tuple[str, str]] = Counter()
    found = []
    for unit in units:
        if unit.seed is None:
            number = taken[unit.method, unit.dataset]
            taken[unit.method, unit.dataset] += 1
            # Without seeds nothing pairs the runs of two methods, so their labels must not be equal.
            unit = replace(unit, seed=number if alone else repetition(unit.method, number + 1))
        found.append(unit)
    return found
