"""What is requested of a table, and the results of one section: values, their other averages, breakdowns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from operator import or_
from typing import Any

import numpy as np

from graphgauge.core.errors import OptionError, one_of
from graphgauge.core.options import thread_count
from graphgauge.generation.capabilities import Capabilities
from graphgauge.generation.declared import FAMILY
from graphgauge.generation.graph_mmd import CONVENTIONS
from graphgauge.generation.levels import Draws
from graphgauge.generation.samples import ConditionSample
from graphgauge.generation.sections.described import Described
from graphgauge.generation.sections.drawn import Drawn
from graphgauge.generation.sections.encoded import Encoded
from graphgauge.generation.sections.latent_space import CENTROIDS, DIMENSION, Latents
from graphgauge.generation.sections.recognition import FEATURES, Recognised
from graphgauge.generation.sections.reconstruction import EMPTY_RULES, Reconstructions
from graphgauge.generation.sections.two_sided import TwoSided
from graphgauge.generation.table import SampleTable
from graphgauge.old.core.loop import Axis, Chosen, measured
from graphgauge.old.core.metric import DEFAULT, Metric, NoChance, asked, sections
from graphgauge.old.core.result import Result, Table


@dataclass(frozen=True)
class Request:
    """The metrics to compute from a table, and their options."""

    metrics: tuple[str, ...] | None = None
    empty: int | str = 1
    confidence: float = 0.95
    draws: Draws = field(default_factory=Draws)
    threads: int | None = None
    convention: str = "graphgauge"

    def __post_init__(self) -> None:
        thread_count(self.threads)
        one_of("convention", self.convention, CONVENTIONS)
        if self.empty not in EMPTY_RULES:
            raise OptionError(f"empty must be 1, 'nan' or 'skip', not {self.empty!r}")

    @property
    def options(self) -> dict[str, Any]:
        return {
            "confidence": self.confidence,
            "empty": str(self.empty),
            "seed": self.draws.seed,
            "resamples": self.draws.resamples,
            "permutations": self.draws.permutations,
            "convention": self.convention,
        }

    @cached_property
    def by_section(self) -> dict[str, list[str]]:
        """The requested sections in their fixed order, with the names that request each."""
        known = sections(FAMILY)
        if self.metrics is None:
            return {item.name: [item.name] for item in known}
        alias = {name: item.name for item in known for name in (item.name, *item.aliases)}
        wanted: dict[str, list[str]] = {}
        names = [item.name for item in known] if DEFAULT in self.metrics else []
        for name in [*names, *(name for name in self.metrics if name != DEFAULT)]:
            place = alias.get(name) or asked(FAMILY, [name])[0].metric.section or ""
            wanted.setdefault(place, []).append(name)
        order = [item.name for item in known]
        return {name: wanted[name] for name in [*order, *(set(wanted) - set(order))] if name in wanted}


AXIS = "condition"
_OTHER = {"macro": "micro", "micro": "macro"}


class _ByCondition(Axis):
    """One row per condition; a metric counts its own items there."""

    def add(self, metric: Metric, params: Mapping[str, Any], whole: Result, confidence: float) -> None:
        name, each = whole.key.removeprefix("overall_"), self.sample(metric)
        estimate = metric(each, **params)
        if len(estimate.value) != each.groups:
            return  # one value for all conditions together
        unknown = np.isnan(estimate.value)
        self.columns |= {name: estimate.value, f"{name}.n": np.where(unknown, 0, estimate.n)}
        if not unknown.all():
            self.add_bounds(name, metric.interval_of(each, estimate, confidence))


@dataclass(frozen=True)
class SectionResults:
    """The results of one section, each also under its other average if there are several conditions."""

    results: list[Result]
    conventions: dict[str, str]
    breakdowns: dict[str, Table]


def section_results(
    chosen: Sequence[Chosen], table: SampleTable, request: Request, at_hand: Capabilities
) -> SectionResults:
    order = "in order" if table.ordered else "without order"
    common = {"conditions": f"{len(table.labels)} {order}"}
    measure = partial(
        measured,
        samples=at_hand.averaged,
        confidence=request.confidence,
        conventions=lambda sample: {**common, **_conventions(sample)},
    )
    if len(table.labels) > 1:
        codes = table.codes if table.generated is not None else table.real_codes
        sizes = np.bincount(codes, minlength=len(table.labels))
        axis = _ByCondition(AXIS, table.labels, sizes, lambda metric: at_hand.sample(metric).averaged(None))
        results = measure(chosen, by=[axis]).results
        results += map(_companion, measure(_other_averages(chosen)).results)
        breakdowns = {AXIS: axis.table} if axis.is_filled else {}
    else:
        results, breakdowns = measure(chosen).results, {}
    used = at_hand.made.values()
    for sample in used:
        breakdowns |= _breakdowns(sample, chosen)
    return SectionResults(results, reduce(or_, map(_conventions, used), common), breakdowns)


def _conventions(sample: ConditionSample) -> dict[str, str]:
    if isinstance(sample, Reconstructions):
        return {"two empty sides": sample.empty}
    sides = sample.sides if isinstance(sample, TwoSided) else None
    if isinstance(sides, Drawn):
        return {"convention": sides.convention.name, "power": sides.convention.estimator}
    return {"encodings": sides.space} if isinstance(sides, Encoded) else {}


def _other_averages(chosen: Sequence[Chosen]) -> list[Chosen]:
    """The metrics that have another average, under that one and as bare numbers."""
    return [
        (
            replace(
                metric,
                conventions={**metric.conventions, "average": _OTHER[average]},
                interpretation=None,
                chance=NoChance("given with the other average"),
            ),
            params,
        )
        for metric, params in chosen
        if (average := metric.conventions["average"]) in _OTHER
    ]


def _companion(result: Result) -> Result:
    """The other average of a result, to show next to it."""
    average = result.conventions["average"]
    return replace(
        result, key=f"{result.key}_{average}_{AXIS}", params={**result.params, average: AXIS}, warnings=(), goal=None
    )


def _breakdowns(sample: ConditionSample, chosen: Sequence[Chosen]) -> dict[str, Table]:
    """The breakdowns of a sample other than by condition."""
    if isinstance(sample, Reconstructions) and sample.channels:
        return _by_channel(sample, [(metric, params) for metric, params in chosen if "channels" in metric.conventions])
    if isinstance(sample, TwoSided) and isinstance(sample.sides, Recognised):
        return {FEATURES: sample.sides.by_feature()} if sample.sides.recognition is not None else {}
    counts = all(metric.name == "num_real" for metric, _ in chosen)
    if isinstance(sample, TwoSided) and isinstance(sample.sides, Described) and not counts:
        return sample.sides.by_statistic(sample.labels)
    if isinstance(sample, Latents) and len(sample.points):
        return {CENTROIDS: sample.centroid_table(), DIMENSION: sample.by_dimension()}
    return {}


def _by_channel(sample: Reconstructions, chosen: Sequence[Chosen]) -> dict[str, Table]:
    names, parts = np.array(list(sample.channels or ())), sample.by_channel().values()
    columns: dict[str, Any] = {"channel": names, "n": np.full(len(names), len(sample.iou))}
    for metric, params in chosen:
        found = [metric(part.averaged(metric.conventions["average"]), **params) for part in parts]
        columns[metric.key_of(**params)] = np.array([estimate.value[0] for estimate in found])
    return {"channel": Table("channel", columns)} if chosen else {}
