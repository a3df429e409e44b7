"""The results of a study as small tables: one per family, methods by their first metrics."""

from __future__ import annotations

from collections.abc import Iterator

from graphgauge.core.errors import InputError
from graphgauge.old.stats.aggregate import aggregate
from graphgauge.old.stats.load import load
from graphgauge.old.stats.runs import Runs
from graphgauge.study.model import BaselineRequest, Study

_COLUMNS = 4


def tables(study: Study) -> Iterator[str]:
    """Mean and spread over seeds of the metrics in comparisons and gates, and of the first metrics."""
    paths = [item.path(study.results) for item in study.items]
    runs = load([path for path in paths if path.exists()])
    for family in dict.fromkeys(run.family for run in runs):
        own = runs.only(family=family)
        for dataset in own.datasets:
            yield f"{family} on {dataset}\n{_table(own.only(dataset=[dataset]), _headlines(study, own))}"


def _headlines(study: Study, runs: Runs) -> list[str]:
    named = [request.options["metric"] for request in study.comparisons] + [
        request.gate.metric if isinstance(request.gate, BaselineRequest) else request.gate.key
        for request in study.gates
    ]
    return [metric for metric in dict.fromkeys([*named, *runs.metrics]) if metric in runs.metrics][:_COLUMNS]


def _table(runs: Runs, metrics: list[str]) -> str:
    try:
        return aggregate(runs, metrics=metrics).render("table") if metrics else "no results\n"
    except InputError as error:
        return f"no table: {error}\n"
