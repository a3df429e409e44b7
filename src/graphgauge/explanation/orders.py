"""Does the order of explainers survive the way of masking?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphgauge.core.errors import InputError, OptionError
from graphgauge.explanation.compare import compare
from graphgauge.explanation.evaluate import as_table
from graphgauge.explanation.table import Answered, AnswerTable
from graphgauge.stats.compare_items import ItemsComparison
from graphgauge.stats.orders import Orders


def orders(
    tables: Any,
    metrics: Sequence[str] | str = ("fidelity_drop@0.1", "robust_delta@0.1"),
    *,
    explainers: Sequence[str] | None = None,
    alpha: float = 0.05,
    **options: Any,
) -> Orders:
    """Compare the order of explainers under several metrics and ways of masking, event by event.

    A ranking of explainers by fidelity may say more about graphs without edges, which the model has never seen, than
    about explanations. It is supported if robust fidelity, and other ways of masking, give the same order.

    The random explainer is one of the explainers, unless `random=False`.

    Parameters
    ----------
    tables
        A table, or a dictionary of them by the way of masking: `{"removed": …, "resampled": …}`, collected from the
        same explanations.
    metrics
        Keys of the metrics to order by; by default fidelity and robust fidelity (Fid_α).
    explainers, options
        As in `compare`, which is called for each table and metric: paired tests with Holm's correction.
    alpha
        Level of each family of tests.

    Returns
    -------
    Orders
        The order under each metric and way of masking, and whether they agree.

    Raises
    ------
    OptionError
        If there is one table and one metric only.
    InputError
        If the tables are about different explanations.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import explanation
    >>> class Sum:
    ...     model_output = "probability"
    ...     def predict(self, subgraph, target, masks):
    ...         return 0.1 + 0.2 * masks[:, 0] + 0.1 * masks.sum(1)
    >>> graph = explanation.Subgraph([[0, 1, 2], [1, 2, 3]])
    >>> found = [
    ...     explanation.Explanation(explanation.Context(graph, event=event), weights, explainer=name)
    ...     for event in range(8)
    ...     for name, weights in (("right", [3, 2, 1]), ("wrong", [1, 2, 3]))
    ... ]
    >>> table = explanation.collect(Sum(), found, levels=[0.3, 0.6], random=0)
    >>> keys = ["fidelity_drop@0.3", "fidelity_drop@0.6"]
    >>> explanation.orders(table, keys, random=False).swaps
    ()
    """
    named = {str(way): as_table(each) for way, each in tables.items()} if isinstance(tables, Mapping) else None
    given: dict[str, AnswerTable] = {"": as_table(tables)} if named is None else named
    keys = [metrics] if isinstance(metrics, str) else list(metrics)
    if len(given) * len(keys) < 2:
        raise OptionError("one table and one metric have one order", fix="Pass several tables or metrics.")
    _refuse_other_events(given)
    _refuse_other_explanations(given, explainers)
    found: dict[str, ItemsComparison] = {}
    for way, table in given.items():
        for key in keys:
            name = key if not way else way if len(keys) == 1 else f"{key}, {way}"
            found[name] = compare(table, key, explainers=explainers, alpha=alpha, **options)
    return Orders.of(found, alpha, "explainers", "ways of masking")


def _refuse_other_explanations(tables: Mapping[str, AnswerTable], chosen: Sequence[str] | str | None) -> None:
    """Ways of masking are compared on the same explanations of the same edges."""
    first, *others = tables
    listed = [chosen] if isinstance(chosen, str) else chosen
    names = tables[first].explainers if listed is None else listed
    for way in others:
        absent = set(names) ^ set(tables[way].explainers) if listed is None else set()
        if absent:
            raise InputError(
                f"explainer {min(absent)!r:.80} is not in both {first!r} and {way!r}",
                where="tables",
                fix="Collect all tables from the same explanations, or name the explainers.",
            )
        same = {row.id: row for row in tables[way]}
        for row in tables[first]:
            if _explained(row, names) != _explained(same[row.id], names):
                raise InputError(
                    f"event {row.id!r:.80} has other explanations in {way!r} than in {first!r}",
                    where="tables",
                    fix="Collect all tables from the same explanations.",
                )


def _explained(row: Answered, names: Sequence[str]) -> Any:
    """What is explained, and the importances by explainer and seed."""
    part = row.subgraph
    said = {each.key: each.importance.tobytes() for name in names for each in row.of(name) if each.perturbed is None}
    return part.masked, part.edge_index.tobytes(), part.candidates.tobytes(), said


def _refuse_other_events(tables: Mapping[str, AnswerTable]) -> None:
    first, *others = tables
    events = {row.id for row in tables[first]}
    for way in others:
        different = events ^ {row.id for row in tables[way]}
        if different:
            raise InputError(
                f"event {min(different, key=str)!r:.80} is not in both {first!r} and {way!r}",
                where="tables",
                fix="Collect all tables from the same explanations.",
            )
