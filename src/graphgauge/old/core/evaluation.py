"""The results of one evaluation together: by key, as text, tables and files, with skipped metrics and findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from graphgauge.core.errors import GraphgaugeError, InputError, UnknownNameError
from graphgauge.old.core.findings import Finding, Found, find
from graphgauge.old.core.result import READINGS, Result, Table

if TYPE_CHECKING:
    import pandas

    from graphgauge.old.core.gates import GateOutcome


class Deferred(NamedTuple):
    """A result that is computed when it is first read, from data that nobody changes in between."""

    key: str
    compute: Callable[[], Result]


def _refuse(what: str, where: str | None, fix: str | None) -> list[Mapping[str, Any]]:
    raise InputError(what, where=where, fix=fix)


class Evaluation(Mapping[str, Result]):
    """The results of one evaluation, in a fixed order, with skipped metrics and findings."""

    def __init__(
        self,
        family: str,
        results: Iterable[Result | Deferred],
        *,
        conventions: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        breakdowns: Mapping[str, Table] | None = None,
        skipped: Mapping[str, str] | None = None,
        findings: tuple[Finding, ...] = (),
        materials: Mapping[str, Any] | None = None,
        notes: tuple[str, ...] = (),
        run: Mapping[str, Any] | None = None,
        per_item: Any = None,
        figure: Callable[[Evaluation, str | Path], None] | None = None,
        drawings: Callable[[], Mapping[str, Table]] | Mapping[str, Table] | None = None,
    ) -> None:
        self.family = family
        self.conventions = dict(conventions or {})
        self.options = dict(options or {})
        self.breakdowns = dict(breakdowns or {})
        self._results = {
            result.key: result if isinstance(result, Deferred) else self._complete(result) for result in results
        }
        self.skipped = dict(skipped or {})
        self.notes = notes
        self.run = {"method": None, "dataset": None, "seed": None, "tags": {}, **(run or {})}
        self.per_item = per_item
        # The files it was computed from, as a receipt lists them. Hashing them takes longer than evaluating them.
        self.inputs: Callable[[], list[Mapping[str, Any]]] = list
        # Outcomes of gates that a command checked.
        self.gates: tuple[GateOutcome, ...] = ()
        self._figure = figure
        self._drawings = drawings or {}
        # The measurements, for the checks; an evaluation read from a file has the findings instead.
        self.materials = {**(materials or {}), "results": self}
        self._findings = Found(findings) if materials is None else None

    def __getstate__(self) -> dict[str, Any]:
        """For other processes: as if read from a file, with all results and findings, without the measurements."""
        try:
            inputs: partial[list[Mapping[str, Any]]] = partial(list, self.inputs())
        except InputError as error:  # the files have changed since; only a receipt needs them
            inputs = partial(_refuse, error.what, error.where, error.fix)
        facts = {"_results": {**self}, "_findings": self.findings, "_drawings": self.drawings, "inputs": inputs}
        return self.__dict__ | facts | {"materials": {}, "_figure": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self.materials = {"results": self}

    # Copies in the same process keep the measurements.
    def __copy__(self) -> Evaluation:
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Evaluation:
        other = memo[id(self)] = object.__new__(type(self))
        other.__dict__ |= deepcopy(self.__dict__, memo)
        return other

    def _complete(self, result: Result) -> Result:
        return replace(result, breakdowns=self.breakdowns) if self.breakdowns else result

    def __getitem__(self, key: str) -> Result:
        found = self._results.get(key)
        if found is None:
            if key in self.skipped:
                raise InputError(f"{key} was skipped: {self.skipped[key]}")
            raise UnknownNameError("metric", key, self._results, hint=self._not_computed(key))
        if isinstance(found, Deferred):
            # Two threads that read it at once both compute it, with equal bits.
            found = self._results[key] = self._complete(found.compute())
        return found

    def _not_computed(self, key: str) -> str | None:
        """For a metric that exists and was not computed, such as `coverage_90`: how to compute it."""
        from graphgauge.old.core.metric import find

        try:
            find(key, self.family)
        except (GraphgaugeError, LookupError):
            return None
        return f'It was not computed: name it when evaluating, metrics=["{key}", …].'

    def get(self, key: str, default: Any = None) -> Any:
        """The result, or `default` if it was skipped or is unknown.

        Parameters
        ----------
        key
            Key of a metric.
        default
            What to return without a result.

        Returns
        -------
        Result
            Or `default`.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.get("mrr").value, ev.get("ndcg@5") is None
        (0.75, True)
        """
        return self[key] if key in self._results else default

    def __contains__(self, key: object) -> bool:
        return key in self._results

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    @property
    def readings(self) -> dict[str, str]:
        """How the outputs were read: the part of the conventions that may differ between methods."""
        return {name: value for name, value in self.conventions.items() if name in READINGS}

    @property
    def findings(self) -> Found:
        """What the cheap checks of the family find; they run when this is first read."""
        if self._findings is None:
            self._findings = find(self.family, self.materials)
        return self._findings

    @findings.setter
    def findings(self, found: tuple[Finding, ...]) -> None:
        self._findings = Found(found)

    @property
    def drawings(self) -> Mapping[str, Table]:
        """Small tables that figures of many runs are drawn from, such as Hits@k over all k; made when first read."""
        if callable(self._drawings):
            self._drawings = self._drawings()
        return self._drawings

    def gate(self, text: str) -> GateOutcome:
        """Check a requirement, such as `mrr.low > chance` or `mrr[relation=treats] >= 0.2`; true if it holds.

        Parameters
        ----------
        text
            The requirement: a metric, with `.low` or `.high` for an end of its interval, and a bound.

        Returns
        -------
        GateOutcome
            True if the requirement holds; its text says by how much.

        Raises
        ------
        OptionError
            If the requirement cannot be read.
        UnknownNameError
            If there is no such metric.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> bool(ev.gate("mrr >= 0.5")), bool(ev.gate("mrr > 0.9"))
        (True, False)
        """
        from graphgauge.old.core.gates import Gate

        return Gate.parse(text).check(self)

    def checked(self) -> Evaluation:
        """This evaluation after its checks have run: for materials that the caller may change later.

        Returns
        -------
        Evaluation
            Itself.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.checked() is ev
        True
        """
        self._findings = find(self.family, self.materials)
        return self

    @property
    def sections(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(result.section for result in self.values() if result.section is not None))

    def section(self, name: str) -> dict[str, Result]:
        """The results of one section.

        Parameters
        ----------
        name
            One of `sections`.

        Returns
        -------
        dict
            The results of the section by key.

        Raises
        ------
        UnknownNameError
            If there is no such section.

        Examples
        --------
        >>> import numpy as np
        >>> from graphgauge import generation
        >>> ev = generation.evaluate(real=np.eye(4, dtype=bool), generated=np.eye(4, dtype=bool))
        >>> ev.section(ev.sections[0])['overall_uniqueness_ratio'].value
        1.0
        """
        if name not in self.sections:
            raise UnknownNameError("section", name, self.sections)
        return {key: result for key, result in self.items() if result.section == name}

    def by(self, axis: str) -> Table:
        """Every metric along an axis, one column each, with `key.low` and `key.high` next to it.

        Parameters
        ----------
        axis
            A name in `breakdowns`.

        Returns
        -------
        Table
            One row per label.

        Raises
        ------
        UnknownNameError
            If there is no such breakdown.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.by("side")["mrr"].tolist()
        [1.0, 0.5]
        """
        if axis not in self.breakdowns:
            raise UnknownNameError("axis", axis, self.breakdowns)
        return self.breakdowns[axis]

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as a dictionary.

        Returns
        -------
        dict
            The result as result files have it.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.to_dict()["results"][0]["value"]
        0.75
        """
        from graphgauge.old.core.schema import evaluation_to_dict

        return evaluation_to_dict(self)

    def to_json(self) -> str:
        """The evaluation as JSON.

        Returns
        -------
        str
            The result file as text.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.to_json()[:1]
        '{'
        """
        from graphgauge.old.core.schema import dumps

        return dumps(self.to_dict())

    def to_flat(self) -> dict[str, Any]:
        """The plain key → number dictionary; breakdowns as `{key}_per_{axis}` lists.

        Returns
        -------
        dict
            Numbers, and lists of numbers.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.to_flat()["mrr"], ev.to_flat()["mrr_per_side"]
        (0.75, [1.0, 0.5])
        """
        flat: dict[str, Any] = {key: result.value for key, result in self.items()}
        for axis, table in self.breakdowns.items():
            names = [table.column_of(key) for key in self._results]
            flat |= {f"{name}_per_{axis}": table[name].tolist() for name in names if name in table.columns}
        return flat

    def to_frame(self) -> pandas.DataFrame:
        """One row per metric: key, value, low, high, n, unit, direction.

        Returns
        -------
        pandas.DataFrame
            Its index is the number of the row.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> float(ev.to_frame().set_index("key").loc["mrr", "value"])
        0.75
        """
        from graphgauge.core.extras import need

        rows = [result._record() for result in self.values()]
        return need("pandas", "a data frame").DataFrame(rows)

    def to_markdown(self) -> str:
        """Values, intervals, chance levels and counts as a table in Markdown, with the remarks below it.

        Returns
        -------
        str
            The table with its remarks.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.to_markdown().splitlines()[0]
        '| metric | value | interval | chance | n |'
        """
        from graphgauge.old.core.text import evaluation_grid

        return evaluation_grid(self).markdown()

    def to_latex(self) -> str:
        """Values, intervals, chance levels and counts in LaTeX, for booktabs, with the remarks as comments.

        Returns
        -------
        str
            A `tabular` environment.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> "toprule" in ev.to_latex()
        True
        """
        from graphgauge.old.core.text import evaluation_grid

        return evaluation_grid(self).latex()

    def save(
        self, path: str | Path, *, method: str | None = None, dataset: str | None = None, seed: int | str | None = None
    ) -> Path:
        """Write the result file, for `Evaluation.load`, `stats.compare`, `audit.run` and the report.

        Parameters
        ----------
        path
            A .json file; or a folder, in which the file is `method/family/metrics_dataset_seed.json`.
        method, dataset, seed
            Names of the run, by which comparisons pair it with others; without them, those of `run`.

        Returns
        -------
        pathlib.Path
            The file that was written. Long breakdowns and single items are in files next to it.

        Raises
        ------
        OptionError
            If the file has another ending than .json.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> ev.save("result.json", method="ours", dataset="toy", seed=0).name
        'result.json'
        """
        from graphgauge.old.core.schema import saved

        named = {"method": method, "dataset": dataset, "seed": seed}
        return saved(self, path, {name: value for name, value in named.items() if value is not None})

    @staticmethod
    def load(path: str | Path) -> Evaluation:
        """Read a result file that `save`, or the command line, has written.

        The evaluation has all values, breakdowns and findings; it has no figure and no measurements.

        Parameters
        ----------
        path
            The file.

        Returns
        -------
        Evaluation
            Values, breakdowns and findings are those of the file.

        Raises
        ------
        InputError
            If the file is damaged, or no result file.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> path = ev.save("result.json")
        >>> type(ev).load(path)["mrr"].value
        0.75
        """
        from graphgauge.old.core.schema import read_result

        return read_result(path)

    def plot(self, path: str | Path | None = None, *, ax: Any = None) -> Any:
        """Draw the family's figure.

        Parameters
        ----------
        path
            A .svg, .png or .pdf file to write, too.
        ax
            Matplotlib axes whose place the figure takes, instead of a new one.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.

        Raises
        ------
        InputError
            If the evaluation was read from a file: the file has no measurements to draw.

        Examples
        --------
        >>> from graphgauge import ranking
        >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1, groups={"side": ["a", "b"]})
        >>> type(ev.plot("ranks.svg")).__name__
        'ShownFigure'
        """
        from graphgauge.old.core.figures import drawn

        draw = self._figure
        if draw is None:
            raise InputError(
                f"this {self.family} evaluation has no figure",
                fix="Evaluations read from files or from another process have none; a single result does: plot it.",
            )
        return drawn(lambda target: draw(self, target), path, ax)

    def _ipython_key_completions_(self) -> list[str]:
        """The keys that a notebook completes in `evaluation["…`."""
        return list(self)

    def __str__(self) -> str:
        from graphgauge.old.core.console import evaluation_text

        return evaluation_text(self)

    def __repr__(self) -> str:
        values = ", ".join(f"{key}={self[key].value:.4g}" for key in list(self)[:6])
        return f"<Evaluation {self.family}: {values}{', …' if len(self) > 6 else ''}>"

    def _repr_html_(self) -> str:
        from graphgauge.old.core.text import evaluation_html

        return evaluation_html(self)
