"""The metrics and options requested of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from graphgauge.core.errors import OptionError
from graphgauge.core.metric import asked, sections
from graphgauge.core.options import thread_count, whole_number
from graphgauge.generation.sections.common import FAMILY
from graphgauge.generation.sections.reconstruction import EMPTY_RULES
from graphgauge.generation.sections.two_sided import Draws


@dataclass(frozen=True)
class Request:
    """The metrics to compute from a table, and their options."""

    metrics: tuple[str, ...] | None = None
    k: tuple[int, ...] = (10,)
    empty: int | str = 1
    confidence: float = 0.95
    draws: Draws = field(default_factory=Draws)
    nan: str = "raise"
    threads: int | None = None

    def __post_init__(self) -> None:
        thread_count(self.threads)
        if self.empty not in EMPTY_RULES:
            raise OptionError(f"empty must be 1, 'nan' or 'skip', not {self.empty!r}")

    @property
    def options(self) -> dict[str, Any]:
        return {
            "confidence": self.confidence, "k": list(self.k), "empty": str(self.empty), "seed": self.draws.seed,
            "resamples": self.draws.resamples, "permutations": self.draws.permutations,
        }  # fmt: skip

    @cached_property
    def by_section(self) -> dict[str, list[str]]:
        """The requested sections in their fixed order, with the names that request each."""
        known = sections(FAMILY)
        if self.metrics is None:
            return {item.name: [item.name] for item in known}
        alias = {name: item.name for item in known for name in (item.name, *item.aliases)}
        wanted: dict[str, list[str]] = {}
        for name in self.metrics:
            place = alias.get(name) or asked(FAMILY, [name])[0].metric.section or ""
            wanted.setdefault(place, []).append(name)
        order = [item.name for item in known]
        return {name: wanted[name] for name in [*order, *(set(wanted) - set(order))] if name in wanted}


def cutoffs(k: Sequence[int] | int) -> tuple[int, ...]:
    values = tuple(k) if isinstance(k, Iterable) else (k,)
    return tuple(whole_number("k", value, 1) for value in values)
