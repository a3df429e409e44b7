"""A parsed study: what to evaluate, what to compare, what must hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.old.core.gates import Gate
from graphgauge.old.core.schema import file_part, result_path
from graphgauge.study.text import shown

# Files that a study writes next to the results: comparisons in a folder, and its outcome.
COMPARISONS, SUMMARY = "comparisons", "study.json"


class StudyError(InputError):
    """The study file is not valid."""


@dataclass(frozen=True)
class Item:
    """One evaluation: the inputs and options of a family, as JSON has them, and whose run it evaluates.

    In a study all runs are named; those of single commands need not be.
    """

    family: str
    method: str | None
    dataset: str | None
    seed: int | None
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    ignore: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def run(self) -> dict[str, Any]:
        return {"method": self.method, "dataset": self.dataset, "seed": self.seed}

    @property
    def label(self) -> str:
        """`ranking/transe/wn18rr/0`, which `--only` patterns are matched against."""
        seed = [] if self.seed is None else [str(self.seed)]
        return "/".join([self.family, str(self.method), str(self.dataset), *seed])

    def path(self, results: Path) -> Path:
        return result_path(results, self.family, self.run)

    def to_dict(self) -> dict[str, Any]:
        return {"family": self.family, **self.run, "options": dict(self.options), "ignore": dict(self.ignore)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Item:
        return cls(**content)

    def __str__(self) -> str:
        seed = "" if self.seed is None else f", seed {self.seed}"
        return f"{self.family}: {shown(self.method)} on {shown(self.dataset)}{seed}"


@dataclass(frozen=True)
class ComparisonRequest:
    """A `[[compare]]` table, as the options of `graphgauge compare`."""

    options: Mapping[str, Any]

    @property
    def title(self) -> str:
        baseline = self.options["baseline"]
        against = f" against {shown(baseline)}" if baseline else ""
        return f"{shown(self.options['metric'])}{against} over {self.options['over']}"


@dataclass(frozen=True)
class BaselineRequest:
    """A gate against a baseline: results of an earlier version, which must not be better by more than a margin."""

    against: Path
    metric: str
    margin: float
    over: str = "auto"
    undecided: str = "fail"

    @property
    def text(self) -> str:
        return f"{self.metric} against {shown(self.against.name)}, margin {self.margin:g}"


@dataclass(frozen=True)
class GateRequest:
    """A `[[gate]]` table: a requirement, and the results it applies to; no names mean all of them."""

    gate: Gate | BaselineRequest
    family: tuple[str, ...] = ()
    method: tuple[str, ...] = ()
    dataset: tuple[str, ...] = ()

    def concerns(self, item: Item) -> bool:
        return all(
            not names or name in names
            for names, name in (
                (self.family, item.family),
                (self.method, item.method),
                (self.dataset, item.dataset),
            )
        )


@dataclass(frozen=True)
class Study:
    """`folder` contains the file, and all its paths are relative to it; `ignore` names checks, with reasons."""

    path: Path
    folder: Path
    name: str
    results: Path
    items: tuple[Item, ...]
    comparisons: tuple[ComparisonRequest, ...]
    gates: tuple[GateRequest, ...]
    ignore: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def comparison_files(self) -> list[str]:
        """The path of each comparison, relative to the results folder."""
        metrics = [request.options["metric"] for request in self.comparisons]
        return [f"{COMPARISONS}/{number}-{file_part(metric)}.json" for number, metric in enumerate(metrics, 1)]

    @property
    def judged_files(self) -> list[str]:
        return [SUMMARY, *self.comparison_files]
