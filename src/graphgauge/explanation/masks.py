"""Masks of an event: its units ranked by importance, cut at every level, each distinct one once; edges within reach."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import whole_number
from graphgauge.explanation.inputs import Explanation, Masks, Subgraph

LEVELS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
BY = ("value", "abs")
NORMALIZE = ("none", "minmax")
TIES = ("fixed", "average", "position")
MODES = ("keep", "drop")
KEEP = ("top", "complement")
MODEL_OUTPUT = ("logit", "probability")
# Kinds of masks that a model can be asked about: the levels dropped and kept, the sweep of `acc_auc`, and random parts
# of what is dropped or left out.
DROP, KEPT, SWEPT, ROBUST_DROP, ROBUST_KEEP = ASKABLE = ("drop", "keep", "sweep", "robust_drop", "robust_keep")
ALWAYS = (DROP, KEPT, SWEPT)
# The convention with masks of its own, which must be collected: counts are rounded differently.
TIME_TO_EXPLAIN = "time_to_explain"
# Number of random orders in an average over ties.
_TIE_ORDERS = 10
# More points or random orders than this are a mistake or a malicious file.
_MOST = 10_000


class Level(str):
    """How much of an explanation is taken: a share of the candidates (`0.1`), or a number of them (`k=5`)."""

    def __new__(cls, text: object) -> Level:
        given = str(text)
        try:
            if given.startswith("k="):
                spelled = f"k={int(given[2:])}" if int(given[2:]) >= 0 else None
            else:
                spelled = f"{abs(float(given)):.12g}" if 0 <= float(given) <= 1 else None
        except ValueError:
            spelled = None
        if spelled is None:
            raise OptionError(
                f"{given!r:.40} is not a level", fix="Give a share from 0 to 1, or a number of edges as k=5."
            )
        return super().__new__(cls, spelled)

    def of(self, units: int) -> int:
        """The number of an event's units at this level."""
        return _count(self, units)

    def rounded(self, units: int) -> int:
        """The number of units as Python's `round` gives it, half to even; at least one if the share is above 0."""
        if self.startswith("k="):
            return _count(self, units)
        return min(max(round(float(self) * units), float(self) > 0), units)


@cache
def _count(level: str, units: int) -> int:
    return min(int(level[2:]), units) if level.startswith("k=") else cut(float(level), units)


def cut(share: float, units: int) -> int:
    """A share of the units as a count: rounded half up, at least one if the share is above 0."""
    if share <= 0:
        return 0
    return min(max(math.floor(share * units + 0.5 + 1e-9), 1), units)


@dataclass(frozen=True)
class AccAuc:
    """The sweep of `acc_auc`: `points` shares from 0 to `cap`."""

    mode: str = "keep"
    cap: float = 0.3
    points: int = 16
    keep: str = "top"

    def __post_init__(self) -> None:
        one_of("acc_auc mode", self.mode, MODES)
        one_of("acc_auc keep", self.keep, KEEP)
        if not is_number(self.cap) or not 0 < self.cap <= 1:
            raise OptionError(f"the cap of acc_auc must be above 0 and at most 1, not {self.cap!r:.40}")
        object.__setattr__(self, "points", whole_number("points of acc_auc", self.points, 2, _MOST))

    def __str__(self) -> str:
        low, high = (1 - self.cap, 1.0) if self._complement else (0.0, self.cap)
        return f"{self.mode} the top {low:g} to {high:g}"

    @property
    def _complement(self) -> bool:
        return self.mode == "keep" and self.keep == "complement"

    @property
    def shares(self) -> Floats:
        return np.linspace(0, self.cap, self.points)

    def counts(self, units: int) -> tuple[int, ...]:
        """The number of units that are kept or dropped at each share."""
        return _swept_counts(self, units)


SWEEP = tuple(entry.name for entry in fields(AccAuc))


@dataclass(frozen=True)
class Robust:
    """Robust fidelity: each sample drops a share `drop` of the explanation, or keeps a share `keep` of the rest."""

    drop: float = 0.1
    keep: float = 0.9
    samples: int = 20

    def __post_init__(self) -> None:
        for name in ("drop", "keep"):
            share = getattr(self, name)
            if not is_number(share) or not 0 <= share <= 1:
                raise OptionError(f"the share {name} of robust must be from 0 to 1, not {share!r:.40}")
        object.__setattr__(self, "samples", whole_number("samples of robust", self.samples, 1, _MOST))

    def __str__(self) -> str:
        return f"{self.drop:g} of the explanation dropped, {self.keep:g} of the rest kept, {self.samples} samples"


@cache
def _swept_counts(sweep: AccAuc, units: int) -> tuple[int, ...]:
    shares = 1 - sweep.shares if sweep._complement else sweep.shares
    return tuple(cut(float(share), units) for share in shares)


@dataclass(frozen=True)
class Settings:
    """How masks are chosen, and how the model's answers are read. If nothing is asked, there is no `model_output`."""

    model_output: str | None
    levels: Any = LEVELS
    topk: Any = ()
    by: str = "value"
    normalize: str = "none"
    ties: str = "fixed"
    random: int = 3
    seed: int = 0
    acc_auc: AccAuc = field(default_factory=AccAuc)
    asked: tuple[str, ...] = ALWAYS
    robust: Robust = field(default_factory=Robust)
    convention: str | None = None
    masking: str | None = None

    def __post_init__(self) -> None:
        chosen = [one_of("masks", kind, ASKABLE) for kind in self.asked]
        object.__setattr__(self, "asked", tuple(kind for kind in ASKABLE if kind in chosen))
        if self.asked or self.model_output is not None:
            one_of("model_output", str(self.model_output), MODEL_OUTPUT)
        one_of("by", self.by, BY)
        one_of("normalize", self.normalize, NORMALIZE)
        one_of("ties", self.ties, TIES)
        object.__setattr__(self, "levels", tuple(sorted(float(level) for level in _levels("levels", self.levels))))
        object.__setattr__(self, "topk", tuple(sorted(int(Level(k)[2:]) for k in _levels("topk", self.topk))))
        if not self.levels and not self.topk:
            raise OptionError("neither levels nor topk is given")
        object.__setattr__(self, "random", whole_number("random", self.random, 0, _MOST))
        if self.convention is not None:
            one_of("convention", self.convention, (TIME_TO_EXPLAIN,))
        if self.masking is not None and not isinstance(self.masking, str):
            raise OptionError(f"masking must be a name, not {self.masking!r:.40}")
        object.__setattr__(self, "seed", whole_number("seed", self.seed))

    @property
    def grid(self) -> tuple[Level, ...]:
        """All levels, shares first."""
        return (*map(Level, self.levels), *(Level(f"k={k}") for k in self.topk))

    def counts(self, units: int) -> dict[str, Ints]:
        """For each mode, the numbers of units that are kept or dropped."""
        wanted = {mode: self.level_counts(units) if mode in self.asked else set() for mode in MODES}
        if SWEPT in self.asked:
            wanted[self.acc_auc.mode] |= set(self.acc_auc.counts(units))
            if self.convention == TIME_TO_EXPLAIN:
                wanted["keep"] |= {round(float(share) * units) for share in self.acc_auc.shares}
        return {mode: np.array(sorted(counts), np.int64) for mode, counts in wanted.items()}

    def level_counts(self, units: int) -> set[int]:
        """The numbers of units at all levels."""
        counts = {level.of(units) for level in self.grid}
        if self.convention == TIME_TO_EXPLAIN:
            counts |= {level.rounded(units) for level in self.grid}
        return counts

    def extends(self, other: Settings) -> bool:
        """Whether all masks under the other settings are masks under these, so that answers can be added."""
        names = ("levels", "topk", "asked")
        wider = all(set(getattr(other, name)) <= set(getattr(self, name)) for name in names)
        same = replace(self, **{name: getattr(other, name) for name in (*names, "random")}) == other
        return wider and same and self.random >= other.random

    def to_dict(self) -> dict[str, Any]:
        listed = {name: list(getattr(self, name)) for name in ("levels", "topk", "asked")}
        return {**asdict(self), **listed}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Settings:
        known = {entry.name for entry in fields(cls)}
        given = {name: value for name, value in content.items() if name in known}
        given |= {"acc_auc": AccAuc(**content["acc_auc"]), "robust": Robust(**content.get("robust", {}))}
        return cls(**given)


def _levels(name: str, values: Any) -> list[Level]:
    """Distinct levels; `topk` are numbers of edges, `levels` shares."""
    listed = [] if values is None else [values] if isinstance(values, str) or np.ndim(values) == 0 else list(values)
    try:
        levels = [Level(f"k={value}" if name == "topk" else float(str(value))) for value in listed]
    except (TypeError, ValueError):
        wanted = "whole numbers of at least 0" if name == "topk" else "shares from 0 to 1"
        raise OptionError(f"{name} must be {wanted}, not {values!r:.60}") from None
    return list(dict.fromkeys(levels))


def checked_options(
    options: Mapping[str, Mapping[str, Any]] | None, known: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, Any]]:
    """Options of single metrics, with their names checked."""
    if options is None:
        return {}
    if not isinstance(options, Mapping) or not all(isinstance(given, Mapping) for given in options.values()):
        raise OptionError(
            f"options must be dictionaries by metric, not {options!r:.60}",
            fix='For example {"acc_auc": {"points": 16}}.',
        )
    for name, given in options.items():
        one_of("metric with options", name, known)
        for option in given:
            one_of(f"option of {name}", option, known[name])
    return {name: dict(given) for name, given in options.items()}


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def unit_importance(explanation: Explanation, settings: Settings) -> Floats:
    """The mean importance of each unit's edges."""
    subgraph, importance = explanation.context.subgraph, explanation.importance
    values = np.abs(importance) if settings.by == "abs" else importance
    if settings.normalize == "minmax" and len(values):
        if not np.isfinite(values).all():
            raise InputError("infinite values cannot be normalised", where="importance", fix=f"{explanation.who}.")
        values = values / 2  # the range of the largest floats overflows
        span = values.max() - values.min()
        values = (values - values.min()) / span if span else np.zeros(len(values))
    if subgraph.unit_count == len(subgraph):
        means = np.empty(len(values))
        means[subgraph.unit_of] = values
        return means
    # Summed in sorted order, so that the order of the edges does not change the last bit.
    order = np.argsort(values, kind="stable")
    owner = subgraph.unit_of[order]
    with np.errstate(invalid="ignore"):
        means = np.bincount(owner, values[order], subgraph.unit_count) / np.bincount(owner)
    if np.isnan(means).any() and not np.isnan(values).any():
        raise InputError("a unit has edges of importance ∞ and −∞", where="importance", fix=f"{explanation.who}.")
    return means


def tied_share(values: Floats) -> float:
    """The share of units whose importance equals that of another unit."""
    _, counts = np.unique(values, return_counts=True)
    return float(counts[counts > 1].sum() / len(values)) if len(values) else 0.0


def rankings(explanation: Explanation, values: Floats, settings: Settings) -> list[Ints]:
    """The rank of every unit, 0 is most important: one ranking, or several that order ties differently."""
    subgraph = explanation.context.subgraph
    if settings.ties == "position":
        return [ranked(values, subgraph.unit_positions)]
    if settings.ties == "fixed" or tied_share(values) == 0:
        return [ranked(values, subgraph.unit_places)]
    generator = seeded(explanation.context.event, settings.seed, "ties")
    return [ranked(values, _shuffled(subgraph, generator)) for _ in range(_TIE_ORDERS)]


def random_rankings(subgraph: Subgraph, event: Any, settings: Settings) -> list[Ints]:
    """Random orders, the same for every explainer of an event."""
    generator = seeded(event, settings.seed, "random")
    return [_shuffled(subgraph, generator) for _ in range(settings.random)]


def ranked(values: Floats, places: Ints) -> Ints:
    """The rank of every unit, 0 is most important, with ties by place."""
    ranking = np.empty(len(values), np.int64)
    ranking[np.lexsort((places, -values))] = np.arange(len(values))
    return ranking


def _shuffled(subgraph: Subgraph, generator: np.random.Generator) -> Ints:
    """A random rank for every unit; it does not depend on the order of the edges."""
    return generator.permutation(subgraph.unit_count)[subgraph.unit_places]


def seeded(event: Any, seed: int, purpose: str) -> np.random.Generator:
    """The generator of an event's random numbers for a purpose."""
    digest = hashlib.sha256(json.dumps([seed, event, purpose]).encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, np.uint32))


def cut_masks(subgraph: Subgraph, ranking: Ints, mode: str, counts: Ints) -> Masks:
    """One mask for each number of units kept (or dropped) from the top of a ranking."""
    place = ranking[subgraph.unit_of]
    kept: Masks = place < counts[:, np.newaxis]
    return kept if mode == "keep" else ~kept


def packed(masks: Masks) -> list[bytes]:
    """The rows of a mask matrix as keys; equal masks have equal keys."""
    rows = np.packbits(masks, axis=1)
    return [row.tobytes() for row in rows]


def whole_and_empty(subgraph: Subgraph) -> Masks:
    """The masks that keep all candidates and none."""
    return np.repeat([[True], [False]], len(subgraph), axis=1)


def event_masks(
    subgraph: Subgraph,
    orders: Iterable[Ints],
    settings: Settings,
    event: Any = None,
    known: Iterable[bytes] = (),
) -> Masks:
    """Every distinct mask that an event's rankings need, without those that are known.

    The whole graph comes first, the empty one second.
    """
    distinct: dict[bytes, Masks] = {}
    seen = set(known)
    if settings.asked:
        for masks in (whole_and_empty(subgraph), *_all_masks(subgraph, orders, settings, event)):
            for key, mask in zip(packed(masks), masks, strict=True):
                if key not in seen:
                    seen.add(key)
                    distinct[key] = mask
    return np.array(list(distinct.values()), bool).reshape(len(distinct), len(subgraph))


def _all_masks(subgraph: Subgraph, orders: Iterable[Ints], settings: Settings, event: Any) -> Iterator[Masks]:
    counts = settings.counts(subgraph.unit_count)
    draws = robust_draws(subgraph, event, settings) if {ROBUST_DROP, ROBUST_KEEP} & {*settings.asked} else None
    for ranking in orders:
        for mode, wanted in counts.items():
            yield cut_masks(subgraph, ranking, mode, wanted)
        if draws is not None:
            for count in sorted(settings.level_counts(subgraph.unit_count)):
                for kind in (ROBUST_DROP, ROBUST_KEEP):
                    if kind in settings.asked:
                        yield robust_masks(subgraph, ranking, kind, count, draws, settings.robust)


def robust_draws(subgraph: Subgraph, event: Any, settings: Settings) -> Floats:
    """One number in [0, 1) for every sample and unit, the same for every explainer and level of an event."""
    drawn = seeded(event, settings.seed, "robust").random((settings.robust.samples, subgraph.unit_count))
    return drawn[:, subgraph.unit_places]


def robust_masks(subgraph: Subgraph, ranking: Ints, kind: str, count: int, draws: Floats, robust: Robust) -> Masks:
    """One mask per sample: a part of the explanation is dropped, or it is kept together with a part of the rest."""
    chosen = ranking < count
    kept = ~chosen | (draws >= robust.drop) if kind == ROBUST_DROP else chosen | (draws < robust.keep)
    return kept[:, subgraph.unit_of]


FLOWS = ("source_to_target", "target_to_source")
# Layers of both kinds: messages flow along edges and against them.
BOTH_WAYS = "both"


def edges_within(
    edge_index: Ints, nodes: int, targets: Sequence[int], hops: int, flow: str = "source_to_target"
) -> Masks:
    """True for the edges on a path of at most `hops` edges that messages can take to a target."""
    source, sink = edge_index if flow != FLOWS[1] else edge_index[::-1]
    reached = np.zeros(nodes, bool)
    reached[list(targets)] = True
    used = np.zeros(edge_index.shape[1], bool)
    for _ in range(hops):
        entering = reached[sink] | (reached[source] if flow == BOTH_WAYS else False)
        if (entering == used).all():
            break
        used = entering
        reached[source[used]] = True
        if flow == BOTH_WAYS:
            reached[sink[used]] = True
    return used
