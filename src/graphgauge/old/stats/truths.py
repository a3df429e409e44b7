"""Whether methods were measured against the same truth, according to the receipts of their results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from graphgauge.core.errors import InputError
from graphgauge.old.core.truths import Truth
from graphgauge.old.stats.text import listing

if TYPE_CHECKING:
    from graphgauge.old.stats.runs import Run

Truths = Literal["same", "any"]
TRUTHS = ("same", "any")
_SHOWN = 2

# Truths by their hashes, each with the first method that has it.
_Held = dict[tuple[str, ...], tuple[str, Truth]]


def different_truths(runs: Iterable[Run], *, items: bool = False) -> dict[str, str]:
    """The datasets on which methods were measured against different truths, with the truths.

    Truths may differ from seed to seed, as simulated graphs do, so methods are compared seed by seed. Over items they
    are not paired by seed: there, methods with different seeds must all have the same truth.
    """
    by_dataset: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_dataset[run.dataset].append(run)
    found = {dataset: _by_seed(own) or _across_seeds(own, items) for dataset, own in by_dataset.items()}
    return {dataset: listing(said, _SHOWN, "; ") for dataset, said in found.items() if said}


def refuse_different(conflicts: dict[str, str]) -> None:
    if conflicts:
        where = "; ".join(f"on {dataset}, {said}" if dataset else said for dataset, said in conflicts.items())
        raise InputError(
            f"methods were measured against different truths: {where}",
            fix="Measure all against the same files, with the same candidates, masks and weights; equal content in "
            "other files is recognised in arrays of numbers. "
            'truths="any" compares them with a warning.',
        )


def warnings_of(conflicts: dict[str, str]) -> Iterator[str]:
    for dataset, said in conflicts.items():
        where = f" on {dataset}" if dataset else ""
        yield f"warning: methods were measured against different truths{where}, which may not be comparable: {said}"


def _by_seed(runs: list[Run]) -> list[str]:
    held: dict[tuple[str, object], _Held] = defaultdict(dict)
    for run in runs:
        for name, truth in run.truths.items():
            held[name, run.seed].setdefault(truth.hashes, (run.method, truth))
    several = len({run.seed for run in runs}) > 1
    return [
        (f"seed {seed}: " if several else "") + _said(name, one) for (name, seed), one in held.items() if len(one) > 1
    ]


def _across_seeds(runs: list[Run], items: bool) -> list[str]:
    """Methods that share no seed, each with one truth for all of its seeds, and these truths differ."""
    found = []
    for name in dict.fromkeys(name for run in runs for name in run.truths):
        held: _Held = {}
        for method in dict.fromkeys(run.method for run in runs):
            own = [run for run in runs if run.method == method and name in run.truths]
            hashes = {run.truths[name].hashes for run in own}
            # A single seed may have its own truth.
            if len(hashes) == 1 and (items or len(own) > 1):
                held.setdefault(hashes.pop(), (method, own[0].truths[name]))
        if len(held) > 1:
            found.append(_said(name, held))
    return found


def _said(name: str, held: _Held) -> str:
    return f"{name} is " + ", ".join(f"{truth} for {method}" for method, truth in list(held.values())[:_SHOWN])
