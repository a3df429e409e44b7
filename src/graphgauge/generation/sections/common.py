"""Shared by the sections: laws, reasons, and averages of baselines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from graphgauge.core.metric import Estimate, Exempt
from graphgauge.generation.samples import Numbers, Sample

FAMILY = "generation"
LAWS: dict[str, bool | Exempt] = {
    "permutation": True,
    "merge": Exempt("needs all samples at once"),
    "monotone": Exempt("samples are judged together: no change of a single sample is certain to improve the value"),
    "symmetry": Exempt("real and generated samples are not interchangeable"),
}
COUNT_LAWS = LAWS | {"monotone": Exempt("a count is neither good nor bad")}
EMPTY = {"empty": "nan"}
MACRO = EMPTY | {"average": "macro"}
MICRO = EMPTY | {"average": "micro"}
TOTAL = EMPTY | {"average": "total"}
WHOLE = EMPTY | {"average": "whole"}
NO_ORDER = "conditions have no order"

FEWEST_VALID = 2
FEWEST_COMPARED = 10


def counted(sample: Sample, counts: Numbers, reason: str) -> Estimate:
    """The number of samples in each condition; without any, there is nothing to measure."""
    some = counts.sum() > 0
    return sample.estimate(np.where(some, counts, np.nan).astype(float), counts, reason)


def level(sample: Sample, values: Numbers, n: Numbers) -> float:
    """A baseline's values of conditions, averaged like the sample; NaN if no condition has one."""
    return float(sample.averaged(sample.average or "macro").estimate(values, n, "").value[0])


def known(levels: Mapping[str, float]) -> dict[str, float]:
    """The baselines that have a value."""
    return {name: value for name, value in levels.items() if value == value}


def members(codes: Numbers, groups: int) -> list[Numbers]:
    """The rows of each condition."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=groups))[:-1]) if groups else []


def few(count: int, fewest: int, noun: str, of: int | None = None) -> str:
    among = "" if of is None else f" among {of}"
    return f"{count} {noun}{'' if count == 1 else 's'}{among}; at least {fewest} are needed"


def nan_array(values: Iterable[float]) -> Numbers:
    return np.array(list(values), dtype=float)


def values_of(found: Iterable[Any], name: str) -> Numbers:
    """One attribute of each condition's measurement; NaN where there is none."""
    return nan_array(np.nan if each is None else getattr(each, name) for each in found)
