"""What explanation metrics have in common: how they are declared, what they ask a model, and chance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from graphgauge.core.errors import UnknownNameError
from graphgauge.core.metric import AS_CHOSEN, Estimate, Exempt, Metric, MetricFunction
from graphgauge.core.registry import DEFAULT, find, metric
from graphgauge.core.result import Reference
from graphgauge.explanation.masks import KINDS, Kind, Level
from graphgauge.explanation.sample import Sample, over_events

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
    """What some metrics ask a model about: kinds of masks, and levels; shares are None for the usual ones."""

    kinds: tuple[Kind, ...]
    shares: tuple[float, ...] | None
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
    """The masks and levels that metrics ask for: those of the default metrics, unless some are named."""
    if metrics is None:
        return Wanted(HEADLINES, None, ())
    if isinstance(metrics, str) and metrics == "all":
        return Wanted(KINDS[:5], None, ())
    names = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    kinds: set[str] = set()
    levels: set[Level] = set()
    every = False
    for name in names:
        if name == DEFAULT:
            kinds, every = kinds | {*HEADLINES}, True
            continue
        entry, params = (name, dict(name.params)) if isinstance(name, Metric) else metric_of(name)
        is_open = isinstance(name, Metric) or name in (entry.key, entry.name)
        kinds |= {*MASKS.get(entry.name, HEADLINES if "answers" in entry.needs else ())}
        every = every or (is_open and "level" in params) or entry.name in CURVES
        levels |= {params["level"]} if "level" in params and not is_open else set()
    shares = tuple(sorted(float(each) for each in levels if not each.startswith("k=")))
    numbers = tuple(sorted(int(each[2:]) for each in levels if each.startswith("k=")))
    asked = tuple(kind for kind in KINDS if kind in kinds)
    return Wanted(asked, None if every or not levels else shares, numbers)


def metric_of(name: Any) -> tuple[Metric, dict[str, Any]]:
    """The metric of a name; names of other libraries are answered with what they are here."""
    stem = str(name).partition("@")[0]
    if stem in _FOREIGN:
        raise UnknownNameError("metric", str(name), (), hint=_FOREIGN[stem])
    return find(str(name), "explanation")
