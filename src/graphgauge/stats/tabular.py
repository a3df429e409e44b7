"""Runs from a table of any program: which column is the method, the dataset, the seed, and which are metrics.

Columns are recognised by name and content; what was recognised is a note of the runs, and can be given instead.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.io.sheets import Sheet
from graphgauge.stats.cells import CellError, Decimal, Number, decimal_of, is_empty, is_number, plain_text, read_cell
from graphgauge.stats.names import (
    GENERATED,
    LABELS,
    RUN_NAMES,
    RUN_SEED,
    bare,
    is_bookkeeping,
    is_metric_column,
    is_setting,
    is_step,
    percent_name,
    role_of,
    seed_in,
    simple,
    sounds_like_dataset,
    sounds_like_metric,
)
from graphgauge.stats.runs import UNNAMED_METRIC, Seed, known_metric, seed_of
from graphgauge.stats.text import listing
from graphgauge.stats.units import Reading, Unit

KEYS = ("method", "dataset", "seed", "metric", "value", "std", "n", "decimal")
FILE, COLUMNS, ORDER = "@file", "@columns", "@order"
_SPLITS = frozenset(("train", "training", "val", "valid", "validation", "dev", "test", "testing"))
_FINISHED = frozenset(("finished", "complete", "completed", "terminated", "success", "succeeded", "done", "ok"))
_MEANS = frozenset(("mean", "average", "avg"))
_ROWS_LOOKED_AT = 1000
_STATISTICS = ("mean", "std", "count", "size", "n", "sem", "min", "max", "median")
_NAMES_LISTED = 12
_LONGEST_NAME = 200
Columns = Mapping[str, str]


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
                    f"{part!r:.60} is not ROLE=COLUMN, such as method=model", fix=f"Roles: {', '.join(KEYS)}."
                ).about("columns")
        pairs = [(part.partition("=")[0].strip(), part.partition("=")[2].strip()) for part in parts]
    found: dict[str, str] = {}
    for role, column in pairs:
        one_of("role of a column", role, KEYS)
        if role in found and role != "value":
            raise OptionError(f"columns: {role} is given twice").about("columns")
        found[role] = f"{found[role]}+{column}" if role in found else column
    if "decimal" in found:
        one_of("decimal", found["decimal"], ("point", "comma"))
    return found


def read_units(sheet: Sheet, columns: Columns | None = None, labels: Mapping[str, str] | None = None) -> Reading:
    """The units of a table; `labels` holds the method, dataset or seed that its path says."""
    table = _Table(_expanded(_without_index(sheet)), dict(columns or {}), dict(labels or {}))
    return table.reading()


# ------------------------------------------------------------------------------------------ preparation


def _without_index(sheet: Sheet) -> Sheet:
    """Without the numbers of rows that pandas writes as a column without a name."""
    if not sheet.names or not sheet.rows or simple(sheet.names[0]) not in ("", "unnamed0", "index", "levelzero"):
        return sheet
    first = sheet.column(sheet.names[0])
    if [str(cell).strip().removesuffix(".0") for cell in first] != [str(number) for number in range(len(first))]:
        return sheet
    return replace(sheet, names=sheet.names[1:], rows=[row[1:] for row in sheet.rows])


def _expanded(sheet: Sheet) -> Sheet:
    """Columns of dictionaries, as the interface of Weights & Biases gives them, as a column for each of their keys."""
    for name in sheet.names:
        if simple(name) not in ("summary", "config"):
            continue
        contents = [_dictionary(cell) for cell in sheet.column(name)]
        if not contents or any(content is None for content in contents):
            continue
        known = [content or {} for content in contents]
        keys = dict.fromkeys(
            key for content in known for key in content if not isinstance(content[key], dict | list | tuple)
        )
        place = sheet.names.index(name)
        names = [*sheet.names[:place], *sheet.names[place + 1 :], *(f"{simple(name)}.{key}" for key in keys)]
        rows = [
            [*row[:place], *row[place + 1 :], *(content.get(key) for key in keys)]
            for row, content in zip(sheet.rows, known, strict=True)
        ]
        sheet = replace(sheet, names=names, rows=rows)
    return sheet


def _dictionary(cell: Any) -> dict[str, Any] | None:
    if isinstance(cell, dict):
        return cell
    if not isinstance(cell, str) or not cell.lstrip().startswith("{") or len(cell) > 1_000_000:
        return None
    try:
        found = ast.literal_eval(re.sub(r"\b(nan|NaN|inf|Infinity)\b", "None", cell))  # literals only, nothing is run
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return {str(key): value for key, value in found.items()} if isinstance(found, dict) else None


# ------------------------------------------------------------------------------------------ recognition


@dataclass
class _Column:
    """The cells of a column, and what they are, found when it is first asked for."""

    cells: list[Any]

    @cached_property
    def distinct(self) -> list[Any]:
        """Equal texts once: a method and a dataset occur in many rows."""
        return list(dict.fromkeys(self.cells)) if all(isinstance(cell, str) for cell in self.cells) else self.cells

    @cached_property
    def numeric(self) -> bool:
        return any(not is_empty(cell) and is_number(cell) for cell in self.distinct)

    @cached_property
    def blank(self) -> bool:
        return all(is_empty(cell) for cell in self.distinct)


@dataclass
class _Table:
    sheet: Sheet
    given: dict[str, str]
    labels: dict[str, str]
    notes: list[str] = field(default_factory=list)
    _known_places: dict[str, list[int]] = field(default_factory=dict)
    _columns: dict[str, _Column] = field(default_factory=dict)

    def reading(self) -> Reading:
        if not self.sheet.rows:
            raise InputError("has no rows", where=self.sheet.where)
        self._check_given()
        units = self._scaled(list(self._units()))
        if not any(unit.numbers for unit in units):
            raise InputError(
                "contains no metric",
                where=self.sheet.where,
                fix=f'Give each metric a column of numbers, or name it: columns="value=COLUMN". It has '
                f"{listing(self.sheet.names, _NAMES_LISTED)}.",
            )
        self._explain(units)
        method = "+".join(self.roles.get("method", []))
        return Reading(units, self.notes, self.sheet.where, self.given.get("seed") == ORDER, method)

    def _check_given(self) -> None:
        for role, column in self.given.items():
            if role == "decimal" or column in (FILE, COLUMNS, ORDER):
                continue
            if role == "value" and not self._parts(column) and self._is_pivot_given:
                continue
            if not self._parts(column):
                known = listing(self.sheet.names, _NAMES_LISTED)
                raise OptionError(f"{self.sheet.where}: no column {column!r:.60} for {role}", fix=f"It has {known}.")

    @property
    def _is_pivot_given(self) -> bool:
        return COLUMNS in self.given.values() or not {"method", "dataset"} <= set(self.given)

    def _parts(self, column: str) -> list[str]:
        """The columns that a given name means: itself, or those that plus signs join."""
        if column in self.sheet.names:
            return [column]
        parts = [part.strip() for part in column.split("+")]
        near = {bare(name): name for name in self.sheet.names}
        found = [part if part in self.sheet.names else near.get(part, "") for part in parts]
        return found if all(found) else []

    # -------------------------------------------------------------------- content of columns

    @cached_property
    def decimal(self) -> Decimal:
        if "decimal" in self.given:
            return "comma" if self.given["decimal"] == "comma" else "point"
        cells = (
            cell
            for row in self.sheet.rows
            for cell in row
            if isinstance(cell, str) and "," in cell and _looks_numeric(cell)
        )
        found = decimal_of(cells)
        if found is None:
            raise InputError(
                "has numbers such as 1,234 only, in which the comma may be a decimal one or separate thousands",
                where=self.sheet.where,
                fix='columns="decimal=comma" reads decimal commas; otherwise write them without a comma.',
            )
        if found == "comma":
            self.notes.append("numbers have decimal commas")
        return found

    def number(self, cell: Any, row: int, name: str) -> Number:
        try:
            return read_cell(cell, self.decimal)
        except CellError as error:
            what = str(error)
            said = (
                f"{name} is {what.replace(' is not a number', ', not a number')}"
                if "is not a number" in what
                else (f"{name}: {what}")
            )
            raise InputError(said, where=f"{self.sheet.where}, {self.sheet.places[row]}") from None

    def _column(self, name: str) -> _Column:
        if name not in self._columns:
            self._columns[name] = _Column(self.sheet.column(name))
        return self._columns[name]

    def is_numeric(self, name: str) -> bool:
        """Whether a column has a number."""
        return self._column(name).numeric

    def is_blank(self, name: str) -> bool:
        return self._column(name).blank

    def distinct(self, name: str) -> list[Any]:
        """The cells of a column, equal texts once."""
        return self._column(name).distinct

    # -------------------------------------------------------------------- roles

    @cached_property
    def roles(self) -> dict[str, list[str]]:
        """The columns of each role; several are joined."""
        found: dict[str, list[str]] = {}
        for role, column in self.given.items():
            if role != "decimal" and self._parts(column):
                found[role] = self._parts(column)
        taken = {name for names in found.values() for name in names}
        for role in ("method", "dataset", "seed", "metric", "std", "n"):
            if role in found or self.given.get(role) in (FILE, COLUMNS, ORDER):
                continue
            if role in ("std", "n") and ("seed" in found or not self._has_spreads):
                continue  # a run has neither: n is a measurement, such as a number of nodes
            ranked = [
                (guess[1], place, name)
                for place, name in enumerate(self.sheet.names)
                if name not in taken
                and (guess := role_of(name)) is not None
                and guess[0] == role
                and self._fits(role, name)
            ]
            if ranked:
                found[role] = [min(ranked)[2]]
                taken.add(min(ranked)[2])
        if "metric" in found and "value" not in found:
            values = [name for name in self.sheet.names if (guess := role_of(name)) and guess[0] == "value"]
            if values:
                found["value"] = values[:1]
            else:
                del found["metric"]
        if "method" not in found and self.given.get("method") is None and not self._pivot_by_names:
            names = [name for name in self.sheet.names if simple(bare(name)) in RUN_NAMES and name not in taken]
            names = [name for name in names if not self.is_numeric(name) and not self.is_blank(name)]
            if names:
                self._refuse_generated(names[0])
                found["method"] = names[:1]
        return found

    @cached_property
    def _pivot_by_names(self) -> bool:
        return "|" in self.sheet.names[0] or self._chart is not None

    def _fits(self, role: str, name: str) -> bool:
        """Whether the content of a column can be that of a role."""
        cells = [cell for cell in self.distinct(name) if not is_empty(cell)]
        if role in ("std", "n"):
            return self.is_numeric(name)
        if role == "seed":
            return bool(cells) and not {plain_text(str(cell)).lower() for cell in cells} <= _SPLITS
        if role == "metric":
            return bool(cells) and not self.is_numeric(name)
        # A measured number is no name; a whole one may be.
        return bool(cells) and not all(_is_fraction(cell) for cell in cells)

    def _refuse_generated(self, name: str) -> None:
        cells = [str(cell).strip() for cell in self.sheet.column(name)]
        if len(cells) > 1 and all(GENERATED.fullmatch(cell) for cell in cells):
            texts = [other for other in self.sheet.names if other != name and not self.is_numeric(other)]
            raise InputError(
                f"no column says the method: {name!r} has generated names such as {cells[0]!r}",
                where=self.sheet.where,
                fix=f'columns="method=COLUMN"; it has {listing(texts or self.sheet.names, _NAMES_LISTED)}.',
            )

    @cached_property
    def _is_marked_up(self) -> bool:
        return self.sheet.where.lower().endswith((".md", ".tex"))

    def label(self, role: str, row: int) -> str:
        """The method or dataset of a row."""
        if self.given.get(role) == FILE:
            return self.labels.get("file", "")
        if role in self.roles:
            cells = self.sheet.rows[row]
            return ", ".join([_name(cells[place], self._is_marked_up) for place in self._role_places[role]])
        return self.labels.get(role, "")

    @property
    def _role_places(self) -> dict[str, list[int]]:
        """Where the columns of each role are; a layout may add a role."""
        if len(self._known_places) != len(self.roles):
            self._known_places = {role: [self.sheet.place[n] for n in names] for role, names in self.roles.items()}
        return self._known_places

    def seed(self, row: int) -> Seed | None:
        if "seed" in self.roles:
            cells = self.sheet.rows[row]
            values = [cells[place] for place in self._role_places["seed"]]
            if any(is_empty(value) for value in values):
                raise InputError(
                    "has no seed",
                    where=f"{self.sheet.where}, {self.sheet.places[row]}",
                    fix="Fill the column in, or drop it: rows without seeds are repetitions.",
                )
            return seed_of(values[0]) if len(values) == 1 else ", ".join(str(seed_of(value)) for value in values)
        return seed_of(self.labels["seed"]) if "seed" in self.labels else None

    @cached_property
    def plain(self) -> list[str]:
        """Columns of numbers that have no role."""
        taken = {name for names in self.roles.values() for name in names}
        return [
            name for name in self.sheet.names if name not in taken and (self.is_numeric(name) or self.is_blank(name))
        ]

    @cached_property
    def metrics(self) -> list[str]:
        """Columns of numbers that are metrics: not settings, steps or what a program keeps for itself."""
        if "value" in self.roles and "metric" not in self.roles:
            return self.roles["value"]
        prefixed = [name for name in self.plain if is_metric_column(name)]
        if prefixed:
            return [name for name in prefixed if not is_bookkeeping(name)]
        found = [
            name
            for name in self.plain
            if not is_setting(name) and not is_bookkeeping(name) and not is_step(name) and not _is_extreme(name)
        ]
        # The place in a leaderboard is no measurement, unless it is all there is.
        return [name for name in found if simple(name) not in ("rank", "place")] or found

    def settings(self, row: int) -> dict[str, str]:
        cells = self.sheet.rows[row]
        return {bare(name): str(cells[place]) for name, place in self._conditions.items()}

    @cached_property
    def _conditions(self) -> dict[str, int]:
        """Columns that say under which settings a run was made."""
        taken = {name for names in self.roles.values() for name in names}
        return {
            name: place
            for name, place in self.sheet.place.items()
            if name not in taken
            and (is_setting(name) or self._is_condition(name))
            and not is_bookkeeping(name)
            and not name.lower().startswith(("tags.", "system_attrs_"))
        }

    def _is_condition(self, name: str) -> bool:
        """A column such as split = train, valid or test."""
        cells = {plain_text(str(cell)).lower() for cell in self.distinct(name) if not is_empty(cell)}
        return bool(cells) and cells <= _SPLITS

    # -------------------------------------------------------------------- layouts

    def _units(self) -> Iterator[Unit]:
        if self._chart is not None:
            yield from self._charted()
        elif self._exported:
            yield from self._stepped(["Value"], self.labels.get("metric", "value"))
        elif "|" in self.sheet.names[0]:
            yield from self._levels()
        elif "metric" in self.roles and "value" in self.roles:
            yield from self._long()
        elif (seeds := self._seed_columns) is not None:
            yield from self._over_columns({name: ("", seed) for name, seed in seeds.items()}, "seed")
        elif (role := self._pivot) is not None:
            yield from self._pivoted(role)
        elif "std" in self.roles and self._mean_column is not None:
            yield from self._summaries({self._mean_column: self.roles["std"][0]})
        elif self._spreads and "seed" not in self.roles:
            yield from self._summaries(self._spreads)
        elif any(is_step(name) for name in self.sheet.names) and self._repeats_within_runs:
            yield from self._stepped(self.metrics)
        else:
            yield from self._wide()

    def _unit(self, row: int, numbers: Mapping[str, Number], **other: Any) -> Unit:
        unit = Unit(
            self.label("method", row),
            self.label("dataset", row),
            self.seed(row),
            numbers,
            self.sheet.places[row],
            self.settings(row),
            self._count(row),
        )
        return self._named(replace(unit, **other) if other else unit)

    def _named(self, unit: Unit) -> Unit:
        """A run named after its method and seed, if nothing else gives them."""
        if unit.seed is not None or len(unit.method) > _LONGEST_NAME:
            return unit
        weak = [simple(bare(name)) for name in self.roles.get("method", [])]
        found = RUN_SEED.fullmatch(unit.method) if not weak or weak[0] in RUN_NAMES else None
        return unit if found is None else replace(unit, method=found["method"], seed=int(found["seed"]))

    def _count(self, row: int) -> int | None:
        if "n" not in self.roles:
            return None
        value = self.number(self.sheet.rows[row][self.sheet.place[self.roles["n"][0]]], row, "n").value
        return int(value) if math.isfinite(value) and value == int(value) else None

    def _wide(self) -> Iterator[Unit]:
        places = [(bare(name), name, self.sheet.place[name]) for name in self.metrics]
        unfinished: dict[str, int] = {}
        for row, cells in enumerate(self.sheet.rows):
            numbers = {key: self.number(cells[place], row, name) for key, name, place in places}
            state = self._state(row)
            if state:
                numbers = {
                    key: replace(number, reason=number.reason or state) if math.isnan(number.value) else number
                    for key, number in numbers.items()
                }
                if any(not math.isnan(number.value) for number in numbers.values()):
                    unfinished[state] = unfinished.get(state, 0) + 1
            yield self._unit(row, numbers)
        if unfinished:
            said = ", ".join(f"{count} {state}" for state, count in unfinished.items())
            self.notes.append(f"runs that did not finish have values, which are used ({said})")

    def _state(self, row: int) -> str:
        """The state in which another program left a run that did not finish."""
        if self._state_place is None:
            return ""
        cell = str(self.sheet.rows[row][self._state_place]).strip()
        return "" if cell.lower() in _FINISHED or is_empty(cell) else cell

    @cached_property
    def _state_place(self) -> int | None:
        return next((place for place, name in enumerate(self.sheet.names) if simple(name) in ("state", "status")), None)

    def _long(self) -> Iterator[Unit]:
        """Rows of one metric each, joined by their labels; a metric that comes again starts the next repetition."""
        (metric,), (value,) = self.roles["metric"], self.roles["value"]
        metric_place, value_place = self.sheet.place[metric], self.sheet.place[value]
        found: dict[tuple[Any, ...], Unit] = {}
        taken: Counter[tuple[Any, ...]] = Counter()
        for row, cells in enumerate(self.sheet.rows):
            key = str(cells[metric_place]).strip()
            unit = self._unit(row, {key: self.number(cells[value_place], row, key)})
            labels = (unit.method, unit.dataset, unit.seed)
            again = taken[*labels, key]
            taken[*labels, key] += 1
            if again and unit.seed is not None:
                said = ", ".join(str(part) for part in labels if part != "")
                raise InputError(f"{key} occurs twice for {said}", where=f"{self.sheet.where}, {unit.place}")
            old = found.setdefault((*labels, again), unit)
            found[*labels, again] = replace(old, numbers={**old.numbers, **unit.numbers})
        yield from found.values()

    @cached_property
    def _seed_columns(self) -> dict[str, int] | None:
        """Columns that hold the values of one seed each."""
        if "seed" in self.roles or self.given.get("value") in self.sheet.names:
            return None
        columns = {name: seed for name in self.metrics if (seed := seed_in(name)) is not None}
        if len(columns) < 2 or len(columns) < len(self.metrics):
            return None
        if all(name.isdigit() for name in self.sheet.names) and not self.labels.get("method"):
            raise InputError(
                f"the first row has numbers ({listing(self.sheet.names, 3)}), not the names of columns",
                where=self.sheet.where,
                fix="Write the names of the columns above the numbers, such as method,seed,accuracy.",
            )
        return columns

    def _over_columns(self, columns: Mapping[str, tuple[str, Seed | None]], role: str) -> Iterator[Unit]:
        """A unit for each cell: each column has a label, a seed or both."""
        metric = self._metric_name
        self.notes.append(f"{role} in the columns {listing([str(name) for name in columns], 4)}")
        for row, cells in enumerate(self.sheet.rows):
            for name, (label, seed) in columns.items():
                number = self.number(cells[self.sheet.place[name]], row, name)
                other: dict[str, Any] = {} if seed is None else {"seed": seed}
                if label:
                    other["dataset" if role == "dataset" else "method"] = label
                if number.reason is None and math.isnan(number.value) and label:
                    continue  # an empty cell of a pivot: this combination was not run
                yield self._unit(row, {metric: number}, place=f"{self.sheet.places[row]}, {name}", **other)

    @cached_property
    def _metric_name(self) -> str:
        given = self.given.get("value")
        return given if given and given not in self.sheet.names else UNNAMED_METRIC

    @cached_property
    def _pivot(self) -> str | None:
        """Whether the columns of numbers are methods or datasets."""
        for role, other in (("method", "dataset"), ("dataset", "method")):
            if self.given.get(role) == COLUMNS:
                first = self.sheet.names[0]
                if other not in self.roles and not self.is_numeric(first) and not role_of(first):
                    self.roles[other] = [first]
                return role
        columns = self.metrics
        if len(columns) < 2 or {"method", "dataset"} <= set(self.roles) or "value" in self.roles:
            return None
        if any(sounds_like_metric(name) for name in columns) or any(is_metric_column(name) for name in columns):
            return None
        if "dataset" in self.roles:
            return "method"
        if "method" in self.roles:
            return "dataset" if any(sounds_like_dataset(name) for name in columns) else None
        if self.labels.get("method"):
            return None
        texts = [name for name in self.sheet.names if not self.is_numeric(name) and not self.is_blank(name)]
        if not [name for name in texts if name not in self.roles.get("seed", [])]:
            return "method"  # repetitions below each method, with or without their seeds
        return self._unlabelled_pivot(columns)

    def _unlabelled_pivot(self, columns: Sequence[str]) -> str | None:
        """The first column has names without saying of what."""
        first = self.sheet.names[0]
        if self.is_numeric(first) or self.is_blank(first) or simple(first) not in ("", "unnamed0", "index"):
            return None
        rows = [str(cell) for cell in self.sheet.column(first)]
        if any(sounds_like_dataset(name) for name in columns):
            self.roles["method"] = [first]
            return "dataset"
        if any(sounds_like_dataset(name) for name in rows):
            self.roles["dataset"] = [first]
            return "method"
        raise InputError(
            f"rows are named {listing(rows, 3)}, columns {listing(list(columns), 3)}: which are methods is not clear",
            where=self.sheet.where,
            fix='Name the first column method or dataset, or pass columns="method=@columns" or "dataset=@columns".',
        )

    def _pivoted(self, role: str) -> Iterator[Unit]:
        columns: dict[str, tuple[str, Seed | None]] = {name: (name, None) for name in self.metrics}
        parts = {name: re.fullmatch(r"(.+?)[-_ /.]+(?:seed|s|fold|run)?[-_ ]?(\d+)", name) for name in columns}
        if "seed" not in self.roles and all(parts.values()):
            found = {name: (part[1], int(part[2])) for name, part in parts.items() if part is not None}
            seeds = defaultdict(set)
            for label, seed in found.values():
                seeds[label].add(seed)
            if len({frozenset(each) for each in seeds.values()}) == 1 and all(len(each) > 1 for each in seeds.values()):
                columns = {**found}
        yield from self._over_columns(columns, role)

    def _levels(self) -> Iterator[Unit]:
        """A pivot with several levels of columns, as pandas writes it."""
        index, _, named = self.sheet.names[0].partition("|")
        levels = [role[0] if (role := role_of(name)) else "" for name in named.split("/")]
        self.roles.setdefault(
            (role_of(index) or ("dataset" if "method" in levels else "method",))[0], [self.sheet.names[0]]
        )
        columns = {name: name.split("/") for name in self.sheet.names[1:]}
        statistics = next(
            (place for place in range(len(levels)) if {parts[place] for parts in columns.values()} <= set(_STATISTICS)),
            None,
        )
        self.notes.append(f"columns are {' × '.join(role or 'metric' for role in levels)}")
        for row, cells in enumerate(self.sheet.rows):
            found: dict[tuple[Any, ...], dict[str, Number]] = defaultdict(dict)
            counts: dict[tuple[Any, ...], int] = {}
            spreads: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
            for name, parts in columns.items():
                number = self.number(cells[self.sheet.place[name]], row, name)
                if math.isnan(number.value) and number.reason is None:
                    continue
                said = {role: part for role, part in zip(levels, parts, strict=True) if role in LABELS}
                labels = tuple(sorted(said.items()))
                metric = next(
                    (part for place, part in enumerate(parts) if levels[place] not in LABELS and place != statistics),
                    self._metric_name,
                )
                statistic = None if statistics is None else parts[statistics]
                if statistic == "std":
                    spreads[labels][metric] = number.value
                elif statistic in ("count", "size", "n"):
                    counts[labels] = int(number.value)
                elif statistic in (None, "mean"):
                    found[labels][metric] = number
            for labels, numbers in found.items():
                other: dict[str, Any] = dict(labels)
                if "seed" in other:
                    other["seed"] = seed_of(other["seed"])
                joined = {key: replace(number, std=spreads[labels].get(key)) for key, number in numbers.items()}
                yield self._unit(row, joined, n=counts.get(labels), **other)

    @cached_property
    def _mean_column(self) -> str | None:
        names = [name for name in self.plain if simple(bare(name)) in _MEANS]
        return names[0] if names else self.metrics[0] if len(self.metrics) == 1 else None

    @cached_property
    def _spreads(self) -> dict[str, str]:
        """Columns of means with those of their standard deviations: acc_mean and acc_std, or acc and acc_std."""
        columns = {simple(bare(name)): name for name in self.metrics}
        found = {}
        for name in self.metrics:
            stem = _stem(name)
            spreads = (f"{stem}std", f"std{stem}", f"{stem}stddev", f"{stem}stdev", f"{stem}sd")
            other = next((columns[spread] for spread in spreads if stem and spread in columns), name)
            if other != name:
                found[name] = other
        return found

    @cached_property
    def _has_spreads(self) -> bool:
        """Whether the table has means with their spread, in cells or in columns."""
        names = {simple(bare(name)) for name in self.sheet.names}
        return (
            bool(names & _MEANS and any("std" in name or name == "sd" for name in names))
            or any(name.endswith(("std", "stddev", "stdev")) or name.startswith("std") for name in names)
            or any(
                isinstance(cell, str) and ("±" in cell or r"\pm" in cell or "+/-" in cell or "(" in cell)
                for row in self.sheet.rows[:_ROWS_LOOKED_AT]
                for cell in row
            )
        )

    def _summaries(self, spreads: Mapping[str, str]) -> Iterator[Unit]:
        """Columns with means, and columns with their standard deviations."""
        place = self.sheet.place
        for row, cells in enumerate(self.sheet.rows):
            numbers = {}
            for mean, spread in spreads.items():
                std = self.number(cells[place[spread]], row, spread).value
                number = self.number(cells[place[mean]], row, mean)
                metric = self._metric_name if simple(bare(mean)) in _MEANS else _stem(mean, bare(mean))
                numbers[metric] = replace(number, std=None if std != std else std)
            yield self._unit(row, numbers)

    # -------------------------------------------------------------------- logs of steps

    @cached_property
    def _identities(self) -> list[str]:
        """Columns that name a run of another program."""
        return [name for name in self.sheet.names if simple(bare(name)) in ("runid", "id", "trialid", *RUN_NAMES)]

    def _key(self, row: int) -> tuple[Any, ...]:
        own = tuple(str(self.sheet.rows[row][self.sheet.place[name]]) for name in self._identities)
        return (self.label("method", row), self.label("dataset", row), self.seed(row), *own)

    @cached_property
    def _repeats_within_runs(self) -> bool:
        return len({self._key(row) for row in range(len(self.sheet.rows))}) < len(self.sheet.rows)

    def _stepped(self, metrics: Sequence[str], named: str | None = None) -> Iterator[Unit]:
        """The last value of each metric in the rows of a run."""
        self.notes.append("rows are steps of runs: the last value of each metric is used, which need not be the best")
        last: dict[tuple[Any, ...], tuple[int, dict[str, Number]]] = {}
        for row, cells in enumerate(self.sheet.rows):
            _, numbers = last.setdefault(self._key(row), (row, {}))
            for name in metrics:
                number = self.number(cells[self.sheet.place[name]], row, name)
                key = named or bare(name)
                if not math.isnan(number.value) or number.reason or key not in numbers:
                    numbers[key] = number
        for row, numbers in last.values():
            yield self._unit(row, numbers)

    @cached_property
    def _chart(self) -> dict[str, tuple[str, str]] | None:
        """The columns `run - metric` of an exported chart of Weights & Biases."""
        columns = [
            name for name in self.sheet.names if not is_step(name) and simple(name) not in ("relativetime", "walltime")
        ]
        found = {name: name.rpartition(" - ") for name in columns}
        if len(columns) == len(self.sheet.names) or not columns or not all(part[1] for part in found.values()):
            return None
        return {name: (run, key) for name, (run, _, key) in found.items() if not key.endswith(("__MIN", "__MAX"))}

    def _charted(self) -> Iterator[Unit]:
        self.notes.append("columns are runs: the last value of each is used, which need not be the best")
        runs: dict[str, dict[str, Number]] = {}
        for name, (run, key) in (self._chart or {}).items():
            numbers = [self.number(cell, row, name) for row, cell in enumerate(self.sheet.column(name))]
            known = [number for number in numbers if not math.isnan(number.value)]
            runs.setdefault(run, {})[key] = known[-1] if known else Number(math.nan)
        if len(runs) > 1 and all(GENERATED.fullmatch(run) for run in runs):
            raise InputError(
                f"the runs have generated names such as {next(iter(runs))!r}, which do not say the method",
                where=self.sheet.where,
                fix="Export the table of runs with a column for the method and the seed.",
            )
        for run, last in runs.items():
            yield self._named(Unit(run, self.labels.get("dataset", ""), None, last, f"run {run!r}"))

    # -------------------------------------------------------------------- scale and words

    def _scaled(self, units: list[Unit]) -> list[Unit]:
        """Percent as shares of one."""
        keys = dict.fromkeys(key for unit in units for key in unit.numbers)
        divided = {}
        for key in keys:
            named, stated = percent_name(key)
            numbers = [(unit, unit.numbers[key]) for unit in units if key in unit.numbers]
            known = [(unit, number) for unit, number in numbers if not math.isnan(number.value)]
            signs = {number.percent for _, number in known}
            if len(signs) > 1:
                odd = next(unit for unit, number in known if number.percent != known[0][1].percent)
                raise InputError(
                    f"{key} has a percent sign in some rows and none in others",
                    where=f"{self.sheet.where}, {odd.place}",
                    fix="Write all or none in percent.",
                )
            bounds = known_metric(named)[3]
            exceeds = bounds == (0.0, 1.0) and any(1 < number.value <= 100 for _, number in known)
            exceeds = exceeds and all(0 <= number.value <= 100 for _, number in known)
            if stated or signs == {True} or exceeds:
                divided[key] = named
                why = "" if stated or signs == {True} else f", because {named} lies between 0 and 1"
                self.notes.append(f"{key} is in percent and divided by 100{why}")
        if not divided:
            return units
        return [
            replace(
                unit,
                numbers={
                    divided.get(key, key): _hundredth(number) if key in divided else number
                    for key, number in unit.numbers.items()
                },
            )
            for unit in units
        ]

    def _explain(self, units: Sequence[Unit]) -> None:
        """How the table was read, unless its columns have the names of the roles and nothing is left out."""
        said = []
        for role in LABELS:
            names = [name for name in self.roles.get(role, []) if not name.startswith(f"{role}|")]
            if names and names != [role]:
                said.append(f"{role} from {' + '.join(_quoted(name) for name in names)}")
        keys = list(dict.fromkeys(key for unit in units for key in unit.numbers))
        renamed = any(bare(name) != name for name in self.metrics) or bool(said) or bool(self.notes)
        if renamed and "metric" not in self.roles and keys != [UNNAMED_METRIC]:
            said.append(f"metric{'s' * (len(keys) > 1)} {listing(keys)}")
        used = {name for names in self.roles.values() for name in names}
        left = [
            name
            for name in self.sheet.names
            if name not in used
            and not is_bookkeeping(name)
            and not is_step(name)
            and not self._is_read(name, keys)
            and simple(name) not in ("rank", "place")
        ]
        if left and not (self._pivot_by_names or self._pivot):
            said.append(f"not used: {listing([repr(name) for name in left])}")
        unseeded = Counter((unit.method, unit.dataset) for unit in units if unit.seed is None)
        if len({method for method, _ in unseeded}) > 1 and max(unseeded.values()) > 1:
            said.append(
                "paired by the order of rows"
                if self.given.get("seed") == ORDER
                else "no column of seeds, so repetitions are numbered and runs are not paired"
            )
        whole = [*said, *self.notes, *self.sheet.notes]
        self.notes[:] = [f"{self.sheet.where}: {'; '.join(whole)}"] if whole else []

    def _is_read(self, name: str, keys: Sequence[str]) -> bool:
        spread_out = self._seed_columns is not None or "metric" in self.roles or self._exported
        return bare(name) in keys or percent_name(name)[0] in keys or (name in self.metrics and spread_out)

    @property
    def _exported(self) -> bool:
        """One tag that TensorBoard exported."""
        return [simple(name) for name in self.sheet.names] == ["walltime", "step", "value"]


def _quoted(name: str) -> str:
    return repr(name.partition("|")[0]) if name else "the first column"


def _stem(name: str, text: str | None = None) -> str:
    """The metric in the name of a column of means: acc of acc_mean and of mean_acc."""
    text = simple(bare(name)) if text is None else text
    return re.sub(r"^(mean|avg|average)[_ .-]?|[_ .-]?(mean|avg|average)$", "", text, flags=re.IGNORECASE)


def _looks_numeric(cell: str) -> bool:
    return re.fullmatch(r"[\d\s.,eE%±()+\-−/]+", plain_text(cell)) is not None


def _is_fraction(cell: Any) -> bool:
    try:
        value = read_cell(cell, "comma").value
    except CellError:
        return False
    return not math.isnan(value) and value != int(value) if math.isfinite(value) else False


def _is_extreme(name: str) -> bool:
    """The columns that Weights & Biases adds to the average of a group."""
    return name.endswith(("__MIN", "__MAX"))


def _hundredth(number: Number) -> Number:
    # Division by 100 rounds once; 81.5 % is the float 0.815.
    std = None if number.std is None else float(f"{number.std}e-2")
    value = (
        float(f"{number.value!r}e-2")
        if math.isfinite(number.value) and "e" not in repr(number.value)
        else number.value / 100
    )
    return replace(number, value=value, std=std)


def _name(value: Any, marked_up: bool) -> str:
    """A name as it is written: an asterisk belongs to it, unless the file has markup."""
    if value is None or value != value:
        return ""
    if isinstance(value, str):
        return plain_text(value) if marked_up else value.strip()
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
