"""Aggregate stored results: `graphgauge aggregate …`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from graphgauge.old.core.fields import Choice, Confidence, Text, Texts, fields_of, read_all
from graphgauge.old.stats.aggregate import Aggregate, aggregate
from graphgauge.old.stats.load import load
from graphgauge.old.stats.runs import MISSING
from graphgauge.old.stats.truths import TRUTHS

# Fields of every function of stored results.
Datasets = Annotated[Sequence[str] | str, Texts("Only this dataset. Repeatable.")]
FamilyName = Annotated[str | None, Text("Only this family, if several have the metric.")]
SameTruths = Annotated[
    str,
    Choice("Refuse methods that were measured against different truths, or accept them with a warning.", tuple(TRUTHS)),
]


def aggregate_results(
    results: Any,
    *,
    metric: Annotated[Sequence[str] | str, Texts("Only this metric. Repeatable.")] = (),
    dataset: Datasets = (),
    family: FamilyName = None,
    missing: Annotated[
        str,
        Choice(
            "A failed or missing run makes its mean NaN, is left out and counted, or scores the worst bound.",
            tuple(MISSING),
        ),
    ] = "raise",
    truths: SameTruths = "same",
    confidence: Confidence = 0.95,
    higher: Annotated[Sequence[str] | str, Texts("Higher is better for this metric. Repeatable.")] = (),
    lower: Annotated[Sequence[str] | str, Texts("Lower is better for this metric. Repeatable.")] = (),
) -> Aggregate:
    """Mean, spread and interval over seeds, from folders of results, flat JSON, .csv or .parquet.

    The best mean of a column is marked, and means that do not differ significantly from it.
    """
    given: dict[str, Any] = read_all(FIELDS, locals())
    runs = load(results).only(dataset=given["dataset"], family=given["family"])
    directions: dict[str, Any] = {**dict.fromkeys(given["higher"], "higher"), **dict.fromkeys(given["lower"], "lower")}
    return aggregate(
        runs,
        given["confidence"],
        given["missing"],
        metrics=given["metric"] or None,
        directions=directions,
        truths=given["truths"],
    )


FIELDS = fields_of(aggregate_results)
