"""The results of one evaluation together, with breakdowns, skipped metrics, findings and the run they are of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from graphgauge.core.errors import InputError, UnknownNameError
from graphgauge.core.finding import Findings, findings_of
from graphgauge.core.grid import Grid
from graphgauge.core.result import Result

if TYPE_CHECKING:
    import pandas

    from graphgauge.core.finding import Finding
    from graphgauge.core.gate import GateOutcome
    from graphgauge.core.items import Items

# Conventions that say how an output was read. They may differ between methods; the others define the number.
READINGS = (
    *("nan", "sign", "orientation", "encoding", "classes", "threshold"),  # of graphs
    *("null_value", "forecast", "errors of"),
)


class Run(Struct, frozen=True, kw_only=True):
    """What was evaluated: comparisons pair runs by these names."""

    method: str | None = None
    dataset: str | None = None
    seed: int | str | None = None
    tags: dict[str, Any] = {}


class Evaluation(Mapping[str, Result]):
    """The results of one evaluation, by key and in a fixed order.

    `breakdowns` has a table per axis with a column for each metric, `key.low` and `key.high` beside it. `drawings` are
    small tables that figures of many runs are drawn from. `per_item` has one number per item and metric.

    Examples
    --------
    >>> from graphgauge import Evaluation, Result
    >>> mrr = Result(key="mrr", metric="mrr", value=0.25, n=40, unit="query", direction="higher", bounds=(0, 1))
    >>> evaluation = Evaluation("ranking", [mrr]).named(method="ours", dataset="nations", seed=0)
    >>> evaluation["mrr"].value, evaluation.run.method, bool(evaluation.gate("mrr >= 0.2"))
    (0.25, 'ours', True)
    """

    def __init__(
        self,
        family: str,
        results: Iterable[Result],
        *,
        conventions: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        breakdowns: Mapping[str, Grid] | None = None,
        skipped: Mapping[str, str] | None = None,
        run: Run | None = None,
        per_item: Items | None = None,
        findings: Iterable[Finding] | None = None,
        materials: Mapping[str, Any] | None = None,
        drawings: Mapping[str, Grid] | Callable[[], Mapping[str, Grid]] | None = None,
    ) -> None:
        self.family = family
        self._results = {each.key: each for each in results}
        self.conventions = dict(conventions or {})
        self.options = dict(options or {})
        self.breakdowns = dict(breakdowns or {})
        self.skipped = dict(skipped or {})
        self.run = run or Run()
        self.per_item = per_item
        # Outcomes of gates that a command or a study checked.
        self.gates: tuple[GateOutcome, ...] = ()
        # What a file's receipt says about inputs, versions and the request; empty in memory.
        self.receipt: dict[str, Any] = {}
        self._materials = dict(materials or {})
        self._drawings = drawings or {}
        self._findings = None if findings is None else Findings(findings)

    # ---- results

    def __getitem__(self, key: str) -> Result:
        if key in self._results:
            return self._results[key]
        if key in self.skipped:
            raise InputError(f"{key} was skipped: {self.skipped[key]}")
        from graphgauge.core.registry import not_computed

        raise UnknownNameError("metric", key, self._results, hint=not_computed(key, self.family))

    def get(self, key: str, default: Any = None) -> Any:
        """The result of `key`, or the `default` for one that was skipped or not computed."""
        return self._results.get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._results

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections that results belong to; most families have none."""
        return tuple(dict.fromkeys(each.section for each in self.values() if each.section is not None))

    def section(self, name: str) -> dict[str, Result]:
        """The results of one section by key."""
        if name not in self.sections:
            raise UnknownNameError("section", name, self.sections)
        return {key: each for key, each in self.items() if each.section == name}

    def by(self, axis: str) -> Grid:
        """Every metric along an axis, a row per label."""
        if axis not in self.breakdowns:
            if not self.breakdowns:
                raise InputError("nothing was broken down", fix="Pass groups={name: labels} when evaluating.")
            raise UnknownNameError("axis", axis, self.breakdowns)
        return self.breakdowns[axis]

    # ---- what they mean

    @property
    def readings(self) -> dict[str, str]:
        """How the outputs were read: the conventions that may differ between methods."""
        return {name: value for name, value in self.conventions.items() if name in READINGS}

    @property
    def findings(self) -> Findings:
        """What the family's checks find; they run when this is first read."""
        if self._findings is None:
            self._findings = findings_of(self.family, self.materials)
        return self._findings

    @property
    def materials(self) -> dict[str, Any]:
        """What the family's checks look at, by name; of an evaluation from a file only its results."""
        return {**self._materials, "results": self}

    def ignoring(self, checks: Iterable[str]) -> Evaluation:
        """The same results, with the findings of these `checks` marked as ignored."""
        other, names = self.__copy__(), set(checks)
        other._findings = Findings(replace(each, ignored=each.check in names) for each in self.findings)
        return other

    @property
    def drawings(self) -> Mapping[str, Grid]:
        """Small tables for figures, by name; made when first read."""
        if callable(self._drawings):
            self._drawings = self._drawings()
        return self._drawings

    def gate(self, text: str) -> GateOutcome:
        """Check a requirement, such as `mrr.low > chance` or `mrr[relation=treats] >= 0.2`; true if it holds."""
        from graphgauge.core.gate import Gate

        return Gate.parse(text).check(self)

    # ---- ways out

    def named(self, **names: Any) -> Evaluation:
        """The same results under names of a run: `method`, `dataset`, `seed`, `tags`; this evaluation is unchanged."""
        other = self.__copy__()
        other.run = replace(self.run, **{name: value for name, value in names.items() if value is not None})
        return other

    def to_grid(self) -> Grid:
        """A row per metric: value, interval, chance and number of items."""
        from graphgauge.core.view import levels_of, results_grid

        return results_grid(self.values(), levels=levels_of(self))

    def to_flat(self) -> dict[str, Any]:
        """Key → number; breakdowns as lists under `{key}_per_{axis}`, without the prefix `overall_`."""
        flat: dict[str, Any] = {key: each.value for key, each in self.items()}
        for axis, grid in self.breakdowns.items():
            names = [name for key in self for name in (key, key.removeprefix("overall_")) if name in grid]
            flat |= {f"{name.removeprefix('overall_')}_per_{axis}": grid[name].tolist() for name in names}
        return flat

    def to_frame(self) -> pandas.DataFrame:
        """A row per metric: key, value, low, high, n, unit, direction."""
        from graphgauge.core.view import numbers_grid

        return numbers_grid(self.values()).to_frame()

    def to_latex(self) -> str:
        """The table of results for booktabs."""
        return self.to_grid().to_latex()

    def to_markdown(self) -> str:
        """The table of results in Markdown."""
        return self.to_grid().to_markdown()

    def save(self, path: str | Path, **names: Any) -> Path:
        """Write the result file, for comparisons, gates and the report.

        Parameters
        ----------
        path
            A .json file; or a folder, in which the file is `method/family/metrics_dataset_seed.json`.
        **names
            `method`, `dataset`, `seed`, `tags`: the names of the run.

        Returns
        -------
        pathlib.Path
            The file that was written. Long breakdowns and items are in files next to it.
        """
        from graphgauge.core.files import save

        return save(self.named(**names), path)

    @staticmethod
    def load(path: str | Path) -> Evaluation:
        """Read a result file, with its breakdowns, findings and items."""
        from graphgauge.core.files import load

        return load(path)

    def plot(self, path: str | Path | None = None, *, ax: Any = None) -> Any:
        """Draw the family's figure, in the place of axes `ax`; or also into a .svg, .png or .pdf file, `path`."""
        from graphgauge.core.figure import family_figure

        return family_figure(self.family, {self.run.method or self.family: self}, path, ax)

    def __str__(self) -> str:
        from graphgauge.core.view import text

        return text(self)

    def __repr__(self) -> str:
        values = ", ".join(f"{key}={each.value:.4g}" for key, each in list(self.items())[:6])
        return f"<Evaluation {self.family}: {values}{', …' if len(self) > 6 else ''}>"

    def _repr_html_(self) -> str:
        from graphgauge.core.view import html

        return html(self)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    # ---- copies

    def __copy__(self) -> Evaluation:
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__
        return other

    def __getstate__(self) -> dict[str, Any]:
        """For other processes: with findings and drawings, without the measurements that they were made from."""
        return self.__dict__ | {"_findings": self.findings, "_drawings": dict(self.drawings), "_materials": {}}
