"""A study's requests and outcomes: its name, gates, comparisons and ignored checks, read from its results folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphgauge.audit.outcome import SUMMARY, ignored_checks, read_part
from graphgauge.core.errors import InputError
from graphgauge.core.scrub import clean
from graphgauge.old.core.gates import Gate
from graphgauge.old.core.schema import number_from_json
from graphgauge.old.core.text import number
from graphgauge.old.stats.text import listing, several
from graphgauge.report.tables import Cell, Head, PageTable, span

_COMPARISONS = "comparisons"
_HEADS = ("Pair", "Difference", "Interval", "p", "p (Holm)", "Verdict")


@dataclass(frozen=True)
class GateLine:
    """A requirement, the method and dataset it applies to, and its outcome over their runs."""

    gate: str
    where: str
    passed: bool
    found: str


@dataclass(frozen=True)
class AskedComparison:
    title: str
    table: PageTable | None
    error: str = ""
    metric: str = ""
    pairs: Mapping[frozenset[str], float] | None = None


@dataclass(frozen=True)
class Asked:
    name: str = ""
    gates: Sequence[GateLine] = ()
    comparisons: Sequence[AskedComparison] = ()
    metrics: Sequence[str] = ()
    unreadable: Sequence[str] = ()
    ignored: Collection[str] = ()
    stratified: Collection[str] = ()  # metrics whose claim is about these datasets, not about others like them


def asked(folders: Iterable[Path]) -> Asked:
    """The outcome of the first folder that has one; a folder of plain results has none."""
    for folder in folders:
        path = folder / SUMMARY
        if path.is_file():
            try:
                return _asked(folder, read_part(path))
            except InputError as error:
                return Asked(unreadable=[clean(str(error))])
    return Asked()


def _asked(folder: Path, content: Mapping[str, Any]) -> Asked:
    try:
        gates = _gates(content["gates"])
        comparisons, metrics, unreadable, stratified = [], [], [], []
        for entry in content["comparisons"]:
            title = str(entry["title"])
            if entry["file"] is None:
                comparisons.append(AskedComparison(title, None, str(entry["error"])))
                continue
            try:
                # Only the file name counts, so that no file outside the folder is read.
                found = read_part(folder / _COMPARISONS / Path(str(entry["file"])).name)
                pairs = {frozenset(map(str, test["names"])): test["p_adjusted"] for test in found.get("tests", ())}
                comparisons.append(
                    AskedComparison(title, _table(found, title), "", str(found["metric"]), pairs or None)
                )
                metrics.append(str(found["metric"]))
                if found.get("design", {}).get("datasets") == "these":
                    stratified.append(str(found["metric"]))
            except InputError as error:
                unreadable.append(str(error))
        return Asked(
            str(content["study"]), gates, comparisons, metrics, unreadable, ignored_checks(content), stratified
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"not the outcome of a study ({type(error).__name__})", where=SUMMARY) from None


def _gates(verdicts: Iterable[Mapping[str, Any]]) -> list[GateLine]:
    """One line per gate, method and dataset; a gate holds if it holds in every run."""
    runs = defaultdict(list)
    for verdict in verdicts:
        run = verdict["run"]
        runs[str(verdict["gate"]), str(run.get("method", "")), str(run.get("dataset", ""))].append(verdict)
    lines = []
    for (gate, method, dataset), held in runs.items():
        failed = sum(verdict["passed"] is not True for verdict in held)
        where = f"{method} on {dataset}" if method else "no run"
        if len(held) > 1:
            where += f", {failed} of {len(held)} runs fail" if failed else f", {several(len(held), 'run')}"
        told = [
            verdict["reason"] or (f"undecided: {verdict['undecided']}" if verdict.get("undecided") else None)
            for verdict in held
        ]
        reasons = dict.fromkeys(str(reason) for reason in told if reason)
        values = (number_from_json(verdict["found"]) for verdict in held)
        # Levels, such as that of chance, differ from run to run.
        limits = [number_from_json(verdict.get("limit")) for verdict in held if verdict.get("limit") is not None]
        found = span(values, as_text=_as_text(gate, limits))
        if found and limits:
            found += f" against {span(limits)}"
        groups = dict.fromkeys(str(verdict["group"]) for verdict in held if verdict.get("group"))
        if found and groups:
            found += f" for {listing(list(groups), 2)}"
        lines.append(GateLine(gate, where, not failed, "; ".join(filter(None, [found, listing(list(reasons), 2)]))))
    return sorted(lines, key=lambda line: line.passed)


def _as_text(gate: str, limits: Sequence[float]) -> Callable[[float], str]:
    """Values rounded as on the rest of the page, unless rounding would hide why the gate holds or fails."""
    try:
        requirement = Gate.parse(gate)
    except InputError:  # a file may contain any text
        return number
    limit = limits[0] if len(set(limits)) == 1 else None
    return lambda value: requirement.shown(value, number, limit)


def _table(content: Mapping[str, Any], title: str) -> PageTable:
    """Tests over seeds and datasets are under `tests`, those over items under `pairs`."""
    over_items = "pairs" in content
    rows = []
    for test in content["pairs"] if over_items else content["tests"]:
        difference = number_from_json(test["mean_difference"])
        ends = test["ci"] or [None, None]
        bounds = [ends["low"], ends["high"]] if isinstance(ends, dict) else ends
        low, high = (number_from_json(bound) for bound in bounds)
        p, adjusted = number_from_json(test["p_value"]), number_from_json(test["p_adjusted"])
        apart = adjusted <= number_from_json(content["alpha"])
        able = over_items or test["can_reject"] is True
        verdict = "significant" if apart else "not significant" if able else "cannot reject"
        interval = f"[{number(low)}, {number(high)}]" if low == low else "–"
        rows.append(
            [
                Cell(" vs ".join(str(name) for name in test["names"])),
                Cell(number(difference), sort=difference),
                Cell(interval),
                Cell(f"{p:.4g}", sort=p),
                Cell(f"{adjusted:.4g}", sort=adjusted),
                Cell(verdict),
            ]
        )
    heads = [Head(name, numeric=name not in ("Pair", "Verdict")) for name in _HEADS]
    return PageTable(title, heads, rows)
