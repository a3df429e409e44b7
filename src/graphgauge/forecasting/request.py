"""What is asked of a sample: the metrics, what is summed for them, and how the arrays were read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from graphgauge.core.errors import OptionError
from graphgauge.core.metric import Metric
from graphgauge.core.registry import Chosen, select
from graphgauge.forecasting.design import Design, levels_of, parts_of
from graphgauge.forecasting.metrics import Percent, loss
from graphgauge.forecasting.nodes import Extras
from graphgauge.forecasting.sample import Sample

COVERAGE = (0.95,)


@dataclass(frozen=True)
class Request:
    """The metrics to compute, whether they were named, what is summed for them, and how the arrays were read."""

    design: Design
    chosen: list[Chosen]
    named: frozenset[str]
    axes: tuple[str, ...]
    conventions: Mapping[str, str]


def request(sample: Sample, extras: Extras, coverage: Any, metrics: Any, *, every: bool = False) -> Request:
    """What a sample is evaluated by; `every` sums what any metric of this form needs but joint ones."""
    wanted_levels = levels_of(coverage)
    design = Design(
        form=sample.form,
        point=sample.point,
        horizons=sample.shape[1],
        nodes=sample.shape[2],
        parts=(),
        coverage=wanted_levels if sample.form in ("gaussian", "samples") else (),
        levels=sample.levels,
        members=0 if sample.members is None else sample.members.shape[-1],
        scores=sample.scores,
        scaled=extras.naive is not None,
        weighted=extras.weights is not None,
        edges=None if extras.edges is None else len(extras.edges),
        null_value=sample.null_value,
    )
    chosen, named = choose(design, metrics, dense=sample.rows is None)
    wanted = choose(design, "all", dense=sample.rows is None)[0] if every else chosen
    own = levels_of(params["level"] / 100 for _, params in chosen if "level" in params)
    if sample.form in ("gaussian", "samples"):
        design = replace(design, coverage=tuple(sorted({*design.coverage, *own})))
    parts = parts_of(each.name for each, _ in wanted if not every or each.unit == "cell")
    parts += () if metrics is not None or "ranks" in parts else ("ranks",)  # for the figure
    conventions = {**sample.conventions, **({"node weights": "given"} if design.weighted else {})}
    return Request(replace(design, parts=parts), chosen, named, sample.axes, conventions)


def choose(design: Design, metrics: Any, *, dense: bool = True) -> tuple[list[Chosen], frozenset[str]]:
    """The metrics of the family and the user's losses, in the order in which they are shown."""
    names = [metrics] if isinstance(metrics, str | Metric) and metrics != "all" else metrics
    losses = list(design.scores)
    if isinstance(names, Iterable) and not isinstance(names, str):
        listed = list(names)
        losses = [name for name in listed if isinstance(name, str) and name in design.scores]
        names = [name for name in listed if name not in losses]
    levels = list(design.bounded) if design.form == "quantiles" else list(design.coverage)
    swept = {
        "level": [Percent(round(100 * level, 8)) for level in levels],
        "quantile": [Percent(round(100 * level, 8)) for level in design.levels],
    }
    found: list[Chosen] = []
    named: frozenset[str] = frozenset()
    if names != [] or not losses:
        found, named = select("forecasting", names, design.known_samples(dense=dense), swept)
    keys = {each.key_of(**params) for each, params in found}
    twice = next((name for name in losses if name in keys), None)
    if twice is not None:
        raise OptionError(f"scores has {twice!r}, which is computed, too", fix="Give it another name.")
    return [*found, *((loss(name), {}) for name in losses)], named
