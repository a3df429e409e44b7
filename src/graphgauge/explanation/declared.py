"""What explanation metrics have in common: how they are declared, what they ask a model, and chance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from graphgauge.core.errors import UnknownNameError
from graphgauge.core.metric import AS_CHOSEN, Estimate, Exempt, Metric, MetricFunction
from graphgauge.core.registry import metric, select
from graphgauge.core.result import Reference
from graphgauge.explanation.masks import KINDS, LEVELS, Kind
from graphgauge.explanation.sample import NEEDS, Sample, over_events

LAWS: dict[str, bool | Exempt] = {
    "permutation": True,
    "merge": Exempt("parts of a table are joined as files and scored together"),
    "monotone": Exempt("only the model decides whether a change of importance is an improvement"),
    "symmetry": Exempt("model and explanation have different roles"),
}
EMPTY = {"empty": "nan", "ties": AS_CHOSEN}
SCORED = EMPTY | {"score": AS_CHOSEN}
# The masks that each metric asks a model about, by its name, and the metrics whose better side is that of explanations:
# they can be said to beat random orders. The size of a change is as large for edges that speak against an answer.
MASKS: dict[str, tuple[Kind, ...]] = {}
COMPARED: set[str] = set()
# Metrics over all levels.
CURVES: set[str] = set()
# The masks of the metrics that are computed by default.
HEADLINES: tuple[Kind, ...] = ("drop", "keep", "sweep")
# Names of other libraries that mean different things.
_FOREIGN = {
    "fidelity_minus": "In the original protocol it drops: fidelity_drop. In PyTorch Geometric it keeps: pyg_metrics.",
    "fidelity_plus": "In PyTorch Geometric it drops, see pyg_metrics; fidelity_drop.signed is nearest.",
    "pos_fidelity": "PyTorch Geometric's own is in pyg_metrics; label_flip_drop is nearest.",
    "neg_fidelity": "PyTorch Geometric's own is in pyg_metrics; label_flip_keep is nearest.",
    "best": "It is fidelity_best, or fidelity_best_keep.",
}


def estimated(sample: Sample, function: MetricFunction, params: Mapping[str, Any]) -> Estimate:
    """The estimate of a metric's function, which is made once for a sample."""
    made: Estimate = sample.memo((function, *params.items()), lambda s: function(s, **params))
    return made


class Wanted(NamedTuple):
    """What some metrics ask a model about: kinds of masks, and levels."""

    kinds: tuple[Kind, ...]
    shares: tuple[float, ...]
    numbers: tuple[int, ...]


def explained(
    key: str,
    *masks: Kind,
    compared: bool = False,
    curve: bool = False,
    levels: Callable[[MetricFunction], Any] | None = None,
    **properties: Any,
) -> Callable[[MetricFunction], Metric]:
    """Declare a metric that asks a model about these kinds of masks; `levels` makes its chance of its function."""

    def declare(function: MetricFunction) -> Metric:
        common = {
            "needs": ("answers",),
            "direction": "higher",
            "bounds": (-1, 1) if compared else (0, 1),
            "unit": "event",
            "interval": over_events,
            "laws": LAWS,
            "conventions": SCORED,
            "reference": "yuan2023",
        }
        chance = {} if "chance" in properties else {"chance": (levels or against("empty", "random"))(function)}
        declared = metric(key, family="explanation", **(common | chance | properties))(function)
        MASKS[declared.name] = masks
        COMPARED.update({declared.name} if compared else ())
        CURVES.update({declared.name} if curve else ())
        return declared

    return declare


def against(*names: str) -> Callable[[MetricFunction], Callable[..., Iterable[Reference]]]:
    """Levels of chance: the same metric of these samples of the same events."""

    def levels(function: MetricFunction) -> Callable[..., Iterator[Reference]]:
        def chance(sample: Sample, **params: Any) -> Iterator[Reference]:
            """The empty explanation, and the random explainer: the mean over random orders of the same edges."""
            for name in names:
                other = getattr(sample, name)
                value = float(estimated(other, function, params).value[0]) if len(other.owner) else float("nan")
                if value == value:
                    yield Reference(other.who, value)

        return chance

    return levels


def wanted_by(metrics: str | Sequence[Any] | None) -> Wanted:
    """The masks and levels that metrics ask for; an unknown name is an error.

    Levels are the usual ones if a metric leaves its level open, or is over all of them. `all` is all metrics that are
    not computed by name only.
    """
    for name in [metrics] if isinstance(metrics, str) else metrics if isinstance(metrics, list | tuple) else ():
        refuse_foreign(name)
    chosen, _ = select("explanation", metrics, NEEDS, {"level": [None]})
    if metrics == "all":
        return Wanted(KINDS[:5], LEVELS, ())
    kinds = {
        kind for entry, _ in chosen for kind in MASKS.get(entry.name, HEADLINES if "answers" in entry.needs else ())
    }
    levels = {params["level"] for _, params in chosen if "level" in params}
    shares = tuple(sorted(float(each) for each in levels if each is not None and not each.startswith("k=")))
    numbers = tuple(sorted(int(each[2:]) for each in levels if each is not None and each.startswith("k=")))
    usual = not levels or None in levels or any(entry.name in CURVES for entry, _ in chosen)
    return Wanted(tuple(kind for kind in KINDS if kind in kinds), LEVELS if usual else shares, numbers)


def refuse_foreign(name: Any) -> None:
    """Names of other libraries are answered with what they are here."""
    hint = _FOREIGN.get(str(name).partition("@")[0])
    if hint is not None:
        raise UnknownNameError("metric", str(name), (), hint=hint)
