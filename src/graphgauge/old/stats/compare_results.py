"""Compare stored results: `graphgauge compare …`, and the comparisons of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from graphgauge.core.errors import OptionError
from graphgauge.old.core.fields import Choice, Flag, Number, Seed, Text, Texts, Whole, fields_of, read_all
from graphgauge.old.core.forms import Shown
from graphgauge.old.stats.aggregate_results import Datasets, FamilyName, SameTruths
from graphgauge.old.stats.compare import compare, refuse_over_items
from graphgauge.old.stats.design import DATASETS, DESIGNS
from graphgauge.old.stats.load import load
from graphgauge.old.stats.orders import Orders
from graphgauge.old.stats.paired import STATISTICS, require_margin
from graphgauge.old.stats.power import require_effect
from graphgauge.old.stats.runs import MISSING


def compare_results(
    results: Any,
    *,
    metric: Annotated[str, Text("The metric to compare on.")],
    also: Annotated[
        Sequence[str] | str, Texts("With items: does this metric give the same order of methods? Repeatable.")
    ] = (),
    baseline: Annotated[str | None, Text("Compare each method with this one only.")] = None,
    over: Annotated[
        str, Choice("Test over seeds (datasets, if several), or over the items of one dataset.", ("seeds", "items"))
    ] = "seeds",
    design: Annotated[
        str, Choice("Pair runs by seed, or not; by default as the seeds of the methods say.", tuple(DESIGNS))
    ] = "auto",
    datasets: Annotated[
        str,
        Choice("Several datasets are drawn from others like them, or the claim is about these only.", tuple(DATASETS)),
    ] = "drawn",
    test: Annotated[str, Choice("Test the mean difference, or ranks (Wilcoxon's tests).", tuple(STATISTICS))] = "mean",
    margin: Annotated[
        float | None, Number("A difference that does not matter: report equivalence and non-inferiority.")
    ] = None,
    effect: Annotated[
        float | None, Number("A difference that matters: report how many seeds, datasets or items would detect it.")
    ] = None,
    power: Annotated[
        float, Number("The probability with which the effect is to be detected.", 0, 1, inside=True)
    ] = 0.8,
    metrics_compared: Annotated[int, Whole("How many metrics are compared; the correction counts them all.", 1)] = 1,
    method: Annotated[Sequence[str] | str, Texts("Only this method. Repeatable.")] = (),
    dataset: Datasets = (),
    family: FamilyName = None,
    missing: Annotated[
        str,
        Choice(
            "A failed or missing run is an error, is left out for all methods, or scores the worst bound.",
            tuple(MISSING),
        ),
    ] = "raise",
    truths: SameTruths = "same",
    alpha: Annotated[float, Number("Level of the tests; intervals have 1 − alpha.", 0, 1, inside=True)] = 0.05,
    higher: Annotated[bool, Flag("Higher is better for the metric.")] = False,
    lower: Annotated[bool, Flag("Lower is better for the metric.")] = False,
    seed: Seed = 0,
) -> Any:
    """Show which methods differ significantly, and by how much, with tests that are valid for few seeds."""
    given = read_all(FIELDS, locals())
    refuse(given)
    chosen: Any = load(results).only(**{name: given.pop(name) for name in ("method", "dataset", "family")})
    directions: dict[Any, bool] = {"higher": given.pop("higher"), "lower": given.pop("lower")}
    direction: Any = next((name for name, is_set in directions.items() if is_set), None)
    others = [name for name in dict.fromkeys(given.pop("also")) if name != given["metric"]]
    found = compare(chosen, direction=direction, **given)
    if not others:
        return found
    # The direction is that of the metric; the others have their own.
    by = {given["metric"]: found} | {name: compare(chosen, **given | {"metric": name}) for name in others}
    return replace(found, notes=(*found.notes, *Orders.of(by, given["alpha"]).lines))


FIELDS = fields_of(compare_results)


def refuse(values: Mapping[str, Any], shown: Shown = str) -> None:
    """Raise an error for values that contradict each other."""
    if values["higher"] and values["lower"]:
        raise OptionError(f"{shown('higher')} and {shown('lower')} exclude each other", fix="Give one of them.")
    require_margin(values["margin"])
    require_effect(values["effect"], values["power"])
    if values["also"] and values["over"] != "items":
        raise OptionError(f"{shown('also')} compares orders over items", fix=f"Add {shown('over')} items.")
    if values["over"] == "items":
        refuse_over_items(values["design"], values["datasets"], values["test"])
