"""Units: what a table says about each run, and the runs that follow."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from graphgauge.core.errors import InputError
from graphgauge.stats.cells import Number
from graphgauge.stats.runs import Run, Score, Seed, known_metric, on_dataset, repetition
from graphgauge.stats.text import listing, several_do


@dataclass(frozen=True)
class Unit:
    """The numbers of one run, or of one cell of a paper; a seed of None is not stated."""

    method: str
    dataset: str
    seed: Seed | None
    numbers: Mapping[str, Number]
    place: str
    settings: Mapping[str, str] = field(default_factory=dict)
    n: int | None = None


@dataclass(frozen=True)
class Reading:
    """The units of a table, and how its columns were understood."""

    units: list[Unit]
    notes: list[str]
    where: str
    paired_by_order: bool = False
    method_column: str = ""

    def as_method(self, setting: str) -> str:
        """The option that makes a setting part of the method."""
        return f'columns="method={"+".join(filter(None, (self.method_column, setting)))}"'


def runs_of(reading: Reading) -> list[Run]:
    """One run per unit; without seeds, the units of a method are repetitions without a partner."""
    spread = next((u for u in reading.units if any(number.std is not None for number in u.numbers.values())), None)
    if spread is not None:
        raise InputError(
            f"{spread.place} has a mean with its spread, not a run",
            where=reading.where,
            fix="`graphgauge compare --n RUNS` (compare_published in Python) tests tables of means ± standard "
            "deviations, if the number of runs of each mean is known.",
        )
    numbered = _numbered(reading)
    _refuse_twice(numbered, reading)
    return [
        Run(
            unit.method,
            unit.dataset,
            0 if unit.seed is None else unit.seed,
            {known_metric(name)[0]: _score(name, number) for name, number in unit.numbers.items()},
            source=reading.where,
        )
        for unit in numbered
    ]


def _score(name: str, number: Number) -> Score:
    _, direction, target, bounds = known_metric(name)
    return Score(number.value, direction, target, bounds, reason=number.reason)


def _numbered(reading: Reading) -> list[Unit]:
    """Units with seeds: those that have none are counted within their method and dataset."""
    open_units = defaultdict(list)
    for unit in reading.units:
        if unit.seed is None:
            open_units[unit.method, unit.dataset].append(unit)
    if not open_units:
        return reading.units
    if all(len(units) == 1 for units in open_units.values()):
        return [replace(unit, seed=0) if unit.seed is None else unit for unit in reading.units]
    for units in open_units.values():
        varying = _varying(units)
        if varying:
            method = units[0].method or "the method"
            raise InputError(
                f"{len(units)} rows of {method} differ in {listing(varying)}, so they are not repetitions",
                where=reading.where,
                fix='Name the seed (columns="seed=COLUMN"), or make the setting part of the method '
                f"({reading.as_method(varying[0])}).",
            )
    alone = len({method for method, _ in open_units}) == 1
    taken: Counter[tuple[str, str]] = Counter()
    found = []
    for unit in reading.units:
        if unit.seed is None:
            number = taken[unit.method, unit.dataset]
            taken[unit.method, unit.dataset] += 1
            # Without seeds nothing pairs the runs of two methods, so their labels must not be equal.
            paired = alone or reading.paired_by_order
            unit = replace(unit, seed=number if paired else repetition(unit.method, number + 1))
        found.append(unit)
    return found


def _varying(units: Sequence[Unit]) -> list[str]:
    names = dict.fromkeys(name for unit in units for name in unit.settings)
    return [name for name in names if len({unit.settings.get(name) for unit in units}) > 1]


def _refuse_twice(units: Sequence[Unit], reading: Reading) -> None:
    groups = defaultdict(list)
    for unit in units:
        groups[unit.method, unit.dataset, unit.seed].append(unit)
    twice = [(key, found) for key, found in groups.items() if len(found) > 1]
    if not twice:
        return
    said = [
        f"{on_dataset(method or 'one method', dataset)}, seed {seed} ({found[0].place}, {found[1].place})"
        for (method, dataset, seed), found in twice
    ]
    varying = _varying(twice[0][1])
    fix = 'Keep one row for each run, or name the column in which they differ: columns="seed=COLUMN".'
    if varying:
        fix = f"They differ in {listing(varying)}: {reading.as_method(varying[0])} makes it part of the method."
    raise InputError(
        f"{several_do(len(twice), 'run', 'occurs', 'occur')} twice: {listing(said, 3)}", where=reading.where, fix=fix
    )
