"""Lists of which only the first items are known: what follows from them, and what cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graphgauge.core.errors import OptionError
from graphgauge.old.core.metric import Metric, asked, metrics
from graphgauge.old.core.result import Result
from graphgauge.old.ranking.inputs import cutoff
from graphgauge.old.ranking.metrics import mrr_first_at_k
from graphgauge.old.ranking.parts import CutLists

CONVENTIONS = {"ties": "in the order of the lists", "beyond the lists": "a right item there is not found"}


def names_of_lists() -> list[str]:
    """The metrics of lists of the first items that are computed without being named."""
    names = [entry.key for entry in metrics("ranking") if entry.default and _needs_the_first(entry)]
    return [*names, mrr_first_at_k.key]  # what is known of the reciprocal rank


def knowable(cut: CutLists, names: Sequence[str] | None) -> list[str]:
    """The metrics that follow from the first places; others, and those at a larger k, are refused by name."""
    names = names_of_lists() if names is None else names
    for item in asked("ranking", names):
        if item.by_name and not _needs_the_first(item.metric):
            known = ", ".join(entry.key for entry in metrics("ranking") if _needs_the_first(entry))
            raise OptionError(
                f"{item.metric.key_of(**item.params)} depends on items beyond the lists, which are not known",
                fix=f"Known are {known}.",
            )
        if not item.is_open and cutoff(item.params["k"]) > cut.depth:
            raise _beyond(item.params["k"], cut)
    return list(names)


def reachable(cut: CutLists, names: Sequence[str], ks: Sequence[int]) -> tuple[list[int], dict[str, str]]:
    """The cut-offs within the lists, and the keys at the others with the reason why they are left out."""
    within = [k for k in ks if k <= cut.depth]
    swept = [item.metric for item in asked("ranking", names) if item.is_open]
    if swept and not within:
        raise _beyond(min(ks), cut)
    beyond = [metric.key_of(k=k) for metric in swept for k in ks if k > cut.depth]
    return within or [1], dict.fromkeys(beyond, f"only the first {cut.depth} items are known")


def as_known(result: Result, cut: CutLists) -> Result:
    """The result with the conventions of lists; without the number of items there are no chance levels."""
    chance = result.chance if cut.items_known else ()
    return replace(result, conventions={**result.conventions, **CONVENTIONS}, chance=chance, warnings=())


def notes_of_lists(cut: CutLists) -> list[str]:
    said = [f"{cut.skipped} excluded items passed over in the lists"] if cut.skipped else []
    unfilled = f"{cut.unfilled} places of the lists are not filled, and count as wrong items"
    return said + ([unfilled] if cut.unfilled else [])


def _needs_the_first(entry: Metric) -> bool:
    return "lists" in entry.needs and "k" in entry.params


def _beyond(k: int, cut: CutLists) -> OptionError:
    return OptionError(
        f"k = {k} is beyond the lists, of which the first {cut.depth} items are known",
        fix="Ask for longer lists, or a smaller k.",
    )
