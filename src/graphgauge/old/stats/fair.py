"""Methods that predict graphs of different classes in one table: which metrics are fair to all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from graphgauge.core.errors import OptionError
from graphgauge.old.core.family import family as declared_family
from graphgauge.old.core.family import family_names
from graphgauge.old.stats.text import listing

UNFAIR = "†"
# The reading that names the classes of truth and prediction: "dag and cpdag", or "dag and cpdag or mixed" for a stack.
READING = "classes"


@dataclass(frozen=True)
class Fairness:
    """The classes that the methods predict, each with its methods, and those that the metric is fair to (None: all)."""

    classes: Mapping[str, tuple[str, ...]]
    fair_to: tuple[str, ...] | None = None

    @property
    def unfair_to(self) -> dict[str, tuple[str, ...]]:
        """The classes at a disadvantage next to the others; none if all methods predict the same one."""
        if len(self.classes) < 2 or self.fair_to is None:
            return {}
        return {name: methods for name, methods in self.classes.items() if name not in self.fair_to}

    @property
    def mark(self) -> str:
        return f" {UNFAIR}" if self.unfair_to else ""

    def sentence(self, metric: str, fair: Sequence[str]) -> str:
        """Why a comparison by this metric is not fair, and which of the runs' other metrics are."""
        disadvantaged = " and ".join(f"{listing(list(methods))} ({name})" for name, methods in self.unfair_to.items())
        instead = f" Fair to all: {listing(list(fair))}." if fair else ""
        return (
            f"{UNFAIR} {metric} is not fair to all methods: it counts marks that graphs of {disadvantaged} leave open "
            f"as missing, or is not defined for them.{instead}"
        )


def fairness_of(stated: Iterable[tuple[str, str | None]], metric: str, family: str) -> Fairness | None:
    """The fairness of a metric, given the reading `classes` of every run with its method; None if no run states it.

    A method that predicts several classes, such as CPDAGs of which some have no undirected edge, counts as the widest.
    """
    stated = list(stated)
    if family not in family_names() or not any(text for _, text in stated):
        return None
    groups = declared_family(family).classes
    if not groups:
        return None
    order = list(dict.fromkeys(groups.values()))
    widest: dict[str, str] = {}
    for method, text in stated:
        predicted = text.rpartition(" and ")[2].split(" or ") if text else []
        found = [groups[name] for name in predicted if name in groups] or order[:1]
        widest[method] = max([*found, widest.get(method, order[0])], key=order.index)
    classes = {name: tuple(m for m, own in widest.items() if own == name) for name in order}
    return Fairness({name: methods for name, methods in classes.items() if methods}, _fair_to(metric, family))


@cache
def _fair_to(metric: str, family: str) -> tuple[str, ...] | None:
    from graphgauge.old.core.metric import find

    try:
        return find(metric, family)[0].fair_to
    except OptionError:
        return None


def legend(found: Mapping[str, Fairness | None]) -> list[str]:
    """What a table of metrics says about its columns: the classes, the fair columns, and the others with their mark."""
    known = {metric: fairness for metric, fairness in found.items() if fairness is not None}
    mixed = [fairness for fairness in known.values() if len(fairness.classes) > 1]
    if not mixed:
        return []
    classes = max(mixed, key=lambda fairness: len(fairness.classes)).classes
    said = "; ".join(f"{name}: {listing(list(methods))}" for name, methods in classes.items())
    fair = [metric for metric, fairness in known.items() if not fairness.unfair_to]
    unfair = [metric for metric, fairness in known.items() if fairness.unfair_to]
    lines = [f"Methods predict graphs of different classes ({said})."]
    if unfair:
        lines.append(
            f"{UNFAIR} Not fair to all of them, because marks that a class leaves open count as missing or the metric "
            "is not defined for it: "
            f"{listing(unfair, len(unfair))}."
        )
    lines.append(f"Fair to all: {listing(fair, len(fair)) if fair else 'no metric of this table'}.")
    return lines
