"""What runs were measured against, according to their receipts: methods are comparable only on the same truth."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.core.family import family, family_names
from graphgauge.stats.runs import Run, Seed
from graphgauge.stats.text import listing

_SHOWN = 2
FIX = (
    "Measure all against the same files, with the same known=, negatives, masks and weights; equal content in other "
    'files is recognised in arrays of numbers. truths="any" compares them with a warning.'
)


@dataclass(frozen=True)
class Truth:
    """One input that is part of the truth: its files and the hashes of their content. A level has none of the first."""

    paths: tuple[str, ...]
    hashes: tuple[str, ...]

    def __str__(self) -> str:
        if not self.paths:
            return self.hashes[0] if self.hashes else "none"
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0]!r}{more} ({self.hashes[0][:12]}…)"


Truths = Mapping[str, Truth]


def truths_of(run: Run) -> dict[str, Truth]:
    """The truth of a run as its receipt records it, by input; empty if unknown.

    A file with truth and answers, such as a table, has the hash of its truth in the field `truth`.
    """
    declared = family(run.family).truths if run.family in family_names() else ()
    inputs: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for entry in run.receipt.get("inputs") or ():
        if isinstance(entry, Mapping) and isinstance(entry.get("name"), str):
            inputs[entry["name"]].append(entry)
    truths = {}
    for name, entries in inputs.items():
        parts = ("content", "hash") if name.partition(".")[0] in declared else ("truth",)
        hashes = [next((str(entry[part]) for part in parts if entry.get(part)), "") for entry in entries]
        if all(hashes):
            truths[name] = Truth(tuple(str(entry.get("path")) for entry in entries), tuple(hashes))
    return truths


def truths_by_run(runs: Sequence[Run], metric: str | None) -> dict[Run, Truths]:
    """The truths of every run; a metric's levels that depend on the test alone stand in for candidates and weights.

    Differences of rounding do not count.
    """
    known: dict[str, list[float]] = defaultdict(list)
    truths: dict[Run, Truths] = {}
    for run in runs:
        levels = {}
        for name, value in run.scores[metric].references.items() if metric is not None and metric in run.scores else ():
            same = next((one for one in known[name] if math.isclose(one, value, rel_tol=1e-9, abs_tol=1e-12)), None)
            if same is None:
                known[name].append(same := value)
            levels[f"the level of the {name}"] = Truth((), (f"{same:.4g}", repr(same)))
        truths[run] = {**truths_of(run), **levels}
    return truths


def conflicts(truths: Mapping[Run, Truths], *, across_seeds: bool = False) -> dict[str, str]:
    """The datasets on which methods were measured against different truths, with the truths.

    Truths may differ from seed to seed, as simulated graphs do, so methods are compared seed by seed. Over items they
    are not paired by seed: there, methods with different seeds must all have the same truth.
    """
    by_dataset: dict[str, list[Run]] = defaultdict(list)
    for run in truths:
        by_dataset[run.dataset].append(run)
    said = {
        dataset: _by_seed(runs, truths) or _by_method(runs, truths, across_seeds)
        for dataset, runs in by_dataset.items()
    }
    return {dataset: listing(lines, _SHOWN, "; ") for dataset, lines in said.items() if lines}


def refuse(different: Mapping[str, str]) -> None:
    """Refuse methods that were measured against different truths."""
    if different:
        where = "; ".join(f"on {dataset}, {said}" if dataset else said for dataset, said in different.items())
        raise InputError(f"methods were measured against different truths: {where}", fix=FIX)


def warning(different: Mapping[str, str]) -> list[str]:
    """The same as a warning."""
    return [
        f"warning: methods were measured against different truths{f' on {dataset}' if dataset else ''}: {said}"
        for dataset, said in different.items()
    ]


def split_of(truths: Mapping[Run, Truths], datasets: Iterable[str]) -> str | None:
    """Whether receipts record one truth for all seeds of every dataset (`shared`) or one per seed; else None."""
    kinds = set()
    for dataset in datasets:
        by_seed: dict[Seed, set[Any]] = defaultdict(set)
        for run, own in truths.items():
            if run.dataset == dataset and any(each.paths for each in own.values()):
                by_seed[run.seed].add(tuple(sorted((name, each.hashes) for name, each in own.items())))
        if len(by_seed) > 1:
            kinds.add("shared" if len(set().union(*by_seed.values())) == 1 else "per seed")
    return kinds.pop() if len(kinds) == 1 else None


def _by_seed(runs: Sequence[Run], truths: Mapping[Run, Truths]) -> list[str]:
    held: dict[tuple[str, Seed], dict[tuple[str, ...], tuple[str, Truth]]] = defaultdict(dict)
    for run in runs:
        for name, truth in truths[run].items():
            held[name, run.seed].setdefault(truth.hashes, (run.method, truth))
    several = len({run.seed for run in runs}) > 1
    return [
        (f"seed {seed}: " if several else "") + _said(name, list(one.values()))
        for (name, seed), one in held.items()
        if len(one) > 1
    ]


def _by_method(runs: Sequence[Run], truths: Mapping[Run, Truths], across_seeds: bool) -> list[str]:
    """Methods that share no seed, each with one truth for all of its seeds, and these truths differ."""
    said = []
    for name in dict.fromkeys(name for run in runs for name in truths[run]):
        held: dict[tuple[str, ...], tuple[str, Truth]] = {}
        for method in dict.fromkeys(run.method for run in runs):
            own = [truths[run][name] for run in runs if run.method == method and name in truths[run]]
            # A single seed may have its own truth.
            if len({each.hashes for each in own}) == 1 and (across_seeds or len(own) > 1):
                held.setdefault(own[0].hashes, (method, own[0]))
        if len(held) > 1:
            said.append(_said(name, list(held.values())))
    return said


def _said(name: str, held: Sequence[tuple[str, Truth]]) -> str:
    return f"{name} is " + ", ".join(f"{truth} for {method}" for method, truth in held[:_SHOWN])
