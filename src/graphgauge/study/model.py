"""A study: what to evaluate, what to compare, what must hold; and the file that says what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from graphgauge.core.errors import InputError
from graphgauge.core.files import file_part, result_path
from graphgauge.core.finding import Finding
from graphgauge.core.gate import Gate
from graphgauge.io.request import Request

# Files that a study writes beside the results of its runs.
COMPARISONS, GATES, SUMMARY = "comparisons", "gates.json", "study.json"


class StudyError(InputError):
    """The study file is not valid."""


class Item(Struct, frozen=True, kw_only=True):
    """One evaluation of a study; `keep_items` writes the values of single items beside its result."""

    request: Request
    keep_items: bool = False

    @property
    def family(self) -> str:
        return self.request.family

    @property
    def method(self) -> str:
        return str(self.request.run.method)

    @property
    def dataset(self) -> str:
        return str(self.request.run.dataset)

    @property
    def label(self) -> str:
        """`ranking/transe/wn18rr/0`, which patterns of `--only` are matched against."""
        seed = [] if self.request.run.seed is None else [str(self.request.run.seed)]
        return "/".join([self.family, self.method, self.dataset, *seed])

    def path(self, results: Path) -> Path:
        """Where its result is."""
        return result_path(results, self.family, self.request.run)


class CompareTable(Struct, frozen=True, kw_only=True):
    """A `[[compare]]` table: options of `stats.compare`, and the results that it is about; no names mean all."""

    options: dict[str, Any]
    family: tuple[str, ...] = ()
    method: tuple[str, ...] = ()
    dataset: tuple[str, ...] = ()

    @property
    def metric(self) -> str:
        return str(self.options["metric"])

    @property
    def title(self) -> str:
        baseline, over = self.options["baseline"], self.options["over"]
        against = f" against {baseline}" if baseline else ""
        of = f"{', '.join(self.family)}: " if self.family else ""
        return f"{of}{self.metric}{against} over {over}"


class Baseline(Struct, frozen=True, kw_only=True):
    """Results of an earlier version, which must not be better by more than a margin."""

    against: str
    metric: str
    margin: float
    over: Literal["auto", "seeds", "items", "intervals"]
    undecided: Literal["fail", "pass"]
    confidence: float

    @property
    def text(self) -> str:
        return f"{self.metric} against {Path(self.against).name}, margin {self.margin:g}"

    @property
    def key(self) -> str:
        """The metric, without the group that it may name."""
        return self.metric.partition("[")[0]


class GateTable(Struct, frozen=True, kw_only=True):
    """A `[[gate]]` table: a requirement, and the results that it is about. No names mean all of them."""

    gate: Gate | Baseline
    family: tuple[str, ...] = ()
    method: tuple[str, ...] = ()
    dataset: tuple[str, ...] = ()


class Study(Struct, frozen=True, kw_only=True):
    """A study file. All its paths are relative to `folder`; `ignore` names checks, each with a reason."""

    path: Path
    name: str
    hash: str
    results: Path
    items: tuple[Item, ...]
    compare: tuple[CompareTable, ...] = ()
    gates: tuple[GateTable, ...] = ()
    ignore: dict[str, str] = {}

    @property
    def folder(self) -> Path:
        return self.path.parent.resolve()

    @property
    def code(self) -> tuple[str, ...]:
        """Every `module:factory` that its evaluations would import."""
        return tuple(dict.fromkeys(name for item in self.items for name in item.request.code()))

    @property
    def comparison_files(self) -> tuple[str, ...]:
        """The file of each comparison, below the results."""
        return tuple(f"{COMPARISONS}/{n}-{file_part(each.metric)}.json" for n, each in enumerate(self.compare, 1))


class Compared(Struct, frozen=True, kw_only=True):
    """A comparison of a study: its file, or why there is none."""

    title: str
    file: str | None = None
    error: str | None = None


class StudyFile(Struct, kw_only=True):
    """What came of a study: `hash` is the SHA-256 of the study file, `runs` has the state of every result by file."""

    schema: Literal["graphgauge/study/3"] = "graphgauge/study/3"
    root: str = ""
    name: str
    hash: str
    runs: dict[str, Literal["ok", "failed"]]
    comparisons: list[Compared] = []
    findings: list[Finding] = []
    ignored: dict[str, str] = {}


def concerns(table: CompareTable | GateTable, item: Item) -> bool:
    """Whether a table is about the results of an evaluation."""
    asked = (table.family, item.family), (table.method, item.method), (table.dataset, item.dataset)
    return all(not names or name in names for names, name in asked)
