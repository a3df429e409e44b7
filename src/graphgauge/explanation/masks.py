"""Masks of an event: its units ranked by importance and cut at every level, and which of these masks metrics ask for.

A ranking gives every unit its rank, 0 for the most important. A cut keeps the first k units, or drops them. `cuts` has
those that the settings ask for; it serves asking and scoring, so that both speak of the same masks.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr, replace

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import number, whole_number
from graphgauge.core.random import Random
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.explanation.inputs import Explanation, Subgraph

LEVELS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
BY, TIES, MODEL_OUTPUT = ("value", "abs"), ("fixed", "average", "position"), ("logit", "probability")
# Kinds of masks: the levels dropped and kept; the sweep of `acc_auc`, which keeps the top s, drops it, or keeps the top
# 1 − s; random parts of what is dropped or left out.
Kind = Literal["drop", "keep", "sweep", "sweep_drop", "sweep_complement", "robust_drop", "robust_keep"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ROBUST = KINDS[5:]
DROPPED = ("drop", "sweep_drop")
# Number of random orders in an average over ties.
_TIE_ORDERS = 10
# More points or random orders than this are a mistake or a malicious file.
_MOST = 10_000
# Entries of the masks of one event.
_LARGEST = 1 << 33


class Level(str):
    """How much of an explanation is taken: a share of the units (`0.1`), or a number of them (`k=5`)."""

    def __new__(cls, text: object) -> Level:
        """The level of a text or number, in its one spelling."""
        given = str(text)
        try:
            if given.startswith("k="):
                spelled = f"k={int(given[2:])}" if int(given[2:]) >= 0 else None
            else:
                spelled = f"{abs(float(given)):.12g}" if 0 <= float(given) <= 1 else None
        except ValueError:
            spelled = None
        if spelled is None:
            fix = "Give a share from 0 to 1, or a number of edges as k=5."
            raise OptionError(f"{given!r:.40} is not a level", fix=fix)
        return super().__new__(cls, spelled)

    def count(self, units: Any) -> Ints:  # type: ignore[override]
        """How many of so many units are at this level: a share as Python rounds it, and at least one above 0."""
        if self.startswith("k="):
            return np.asarray(np.minimum(int(self[2:]), units), np.int64)
        return counted(float(self), units)


def counted(shares: Any, units: Any) -> Ints:
    """Shares of so many units as counts: to the nearest, halves to even, at least one for a share above 0."""
    counts = np.rint(np.asarray(shares, np.float64) * units).astype(np.int64)
    return np.asarray(np.clip(counts, np.greater(shares, 0), units), np.int64)


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How masks are chosen, and how the model's answers are read. If nothing is asked, there is no `model_output`.

    `asked` are the kinds of masks. Robust fidelity drops a share `robust_drop` of the explanation, or keeps a share
    `robust_keep` of the rest, in `robust_samples`. `masking` is what the model says that it does with masked parts.
    """

    model_output: str | None = None
    levels: tuple[float, ...] = LEVELS
    topk: tuple[int, ...] = ()
    by: str = "value"
    ties: str = "fixed"
    random: int = 3
    seed: int = 0
    acc_cap: float = 0.3
    acc_points: int = 16
    asked: tuple[Kind, ...] = ()
    robust_drop: float = 0.1
    robust_keep: float = 0.9
    robust_samples: int = 20
    masking: str | None = None

    def __post_init__(self) -> None:
        for name, known in (("by", BY), ("ties", TIES)):
            one_of(name, getattr(self, name), known)
        if self.asked or self.model_output is not None:
            one_of("model_output", str(self.model_output), MODEL_OUTPUT)
        for name in ("random", "seed", "acc_points", "robust_samples"):
            least, most = {"acc_points": 2, "robust_samples": 1}.get(name, 0), None if name == "seed" else _MOST
            force_setattr(self, name, whole_number(name, getattr(self, name), least, most))
        for name in ("acc_cap", "robust_drop", "robust_keep"):
            force_setattr(self, name, number(name, getattr(self, name), 0, 1))
        if not self.acc_cap > 0:
            raise OptionError("acc_cap must be above 0")
        if not self.levels and not self.topk:
            raise OptionError("neither sparsity_levels nor topk is given")
        for level in self.grid:
            Level(level)

    @property
    def grid(self) -> tuple[Level, ...]:
        """All levels, shares first."""
        return (*map(Level, self.levels), *(Level(f"k={k}") for k in self.topk))

    @property
    def shares(self) -> Floats:
        """The points of the sweep of `acc_auc`."""
        return np.linspace(0, self.acc_cap, self.acc_points)

    def counts(self, kind: str, units: Any) -> Ints:
        """How many units are kept or dropped by each mask of a kind; of several events in rows."""
        each = np.asarray(units)[..., np.newaxis]
        if kind.startswith("sweep"):
            return counted(1 - self.shares if kind == "sweep_complement" else self.shares, each)
        return np.concatenate([level.count(each) for level in self.grid], axis=-1)

    def extends(self, other: Settings) -> bool:
        """Whether all masks under the other settings are masks under these, so that answers can be added."""
        wider = all({*getattr(other, name)} <= {*getattr(self, name)} for name in ("levels", "topk", "asked"))
        other_masks = {"levels": other.levels, "topk": other.topk, "asked": other.asked, "random": other.random}
        return wider and self.random >= other.random and replace(self, **other_masks) == other

    def differing(self, other: Settings) -> list[str]:
        """The names of the settings that differ."""
        return [name for name in self.__struct_fields__ if getattr(self, name) != getattr(other, name)]


def shares_of(values: Any) -> tuple[float, ...]:
    """Levels as shares: distinct, rising."""
    return tuple(sorted({float(Level(number("sparsity_levels", each, 0, 1))) for each in _listed(values)}))


def numbers_of(values: Any) -> tuple[int, ...]:
    """Levels as numbers of units: distinct, rising."""
    return tuple(sorted({whole_number("topk", each) for each in _listed(values)}))


def _listed(values: Any) -> list[Any]:
    return [] if values is None else [values] if isinstance(values, str) or np.ndim(values) == 0 else list(values)


# ---- rankings


def unit_importance(explanation: Explanation, by: str) -> Floats:
    """The mean importance of each unit's candidates, or of its size with `by="abs"`."""
    subgraph, importance = explanation.context.subgraph, explanation.importance
    values = np.abs(importance) if by == "abs" else importance
    if subgraph.unit_count == len(subgraph):
        alone = np.empty(len(values))
        alone[subgraph.unit_of] = values
        return alone
    # Summed in sorted order, so that the order of the edges does not change the last bit.
    order = np.argsort(values, kind="stable")
    owner = subgraph.unit_of[order]
    return np.asarray(np.bincount(owner, values[order], subgraph.unit_count) / np.bincount(owner))


def rankings(explanation: Explanation, values: Floats, settings: Settings) -> Ints:
    """(orders, units) the rank of every unit: one order, or several if ties are averaged over."""
    subgraph = explanation.context.subgraph
    if settings.ties == "average" and len(np.unique(values)) < len(values):
        places = random_places(subgraph, explanation.context.event, settings.seed, "ties", _TIE_ORDERS)
    else:
        places = subgraph.unit_places(settings.ties)[np.newaxis]
    falling = np.lexsort((places, np.broadcast_to(-values, places.shape)), axis=-1)
    return np.argsort(falling, axis=-1)


def random_places(subgraph: Subgraph, event: Any, seed: int, purpose: str, orders: int) -> Ints:
    """(orders, units) random ranks that belong to event, seed and purpose, and not to the order of the candidates."""
    drawn = _draws(event, seed, purpose, orders, subgraph.unit_count)
    return np.argsort(np.argsort(drawn, axis=1), axis=1)[:, subgraph.unit_places("fixed")]


def _draws(event: Any, seed: int, purpose: str, rows: int, columns: int) -> Floats:
    digest = hashlib.sha256(json.dumps([seed, event, purpose]).encode()).digest()
    return Random(np.frombuffer(digest, np.uint32).tolist()).uniform(rows, columns)


# ---- cuts


def cuts(subgraph: Subgraph, ranks: Ints, settings: Settings, event: Any) -> dict[Kind, Mask]:
    """The masks that the settings ask for, of rankings (orders, units): by kind, (orders, levels, candidates).

    Those of robust fidelity are (orders, levels, samples, candidates).
    """
    orders, width, units = len(ranks), len(subgraph), subgraph.unit_count
    counts = _counts(settings, units)
    places = sum(map(len, counts.values()))
    if orders * places * width > _LARGEST:
        what = f"{orders:,} orders of {width:,} candidates are cut at {places:,} places"
        raise InputError(what, fix="Ask for fewer levels, points or orders.")
    place = ranks[:, np.newaxis, subgraph.unit_of]
    masks = {kind: (place < count) ^ (kind in DROPPED) for kind, count in counts.items()}
    robust = [kind for kind in settings.asked if kind in ROBUST]
    return masks | {kind: _robust(subgraph, ranks, settings, event, kind) for kind in robust}


@lru_cache(maxsize=1024)
def _counts(settings: Settings, units: int) -> dict[Kind, Ints]:
    """How many of so many units each mask keeps or drops, in a column; events of a table often have equally many."""
    return {kind: settings.counts(kind, units)[:, np.newaxis] for kind in settings.asked if kind not in ROBUST}


def _robust(subgraph: Subgraph, ranks: Ints, settings: Settings, event: Any, kind: str) -> Mask:
    """A part of the explanation is dropped, or it is kept with part of the rest.

    The draws are the same for every explainer and level of an event.
    """
    units = subgraph.unit_count
    drawn = _draws(event, settings.seed, "robust", settings.robust_samples, units)[:, subgraph.unit_places("fixed")]
    chosen = (ranks[:, np.newaxis] < settings.counts("keep", units)[:, np.newaxis])[:, :, np.newaxis]
    kept = ~chosen | (drawn >= settings.robust_drop) if kind == ROBUST[0] else chosen | (drawn < settings.robust_keep)
    return kept[..., subgraph.unit_of]


def needed_masks(
    subgraph: Subgraph, explanations: Iterable[Explanation], settings: Settings, event: Any, known: Iterable[bytes]
) -> Mask:
    """The masks of an event that have no answer, each once: the whole graph, the empty one, then the sparsest first."""
    if not settings.asked:
        return np.zeros((0, len(subgraph)), bool)
    own = [rankings(each, unit_importance(each, settings.by), settings) for each in explanations]
    drawn = random_places(subgraph, event, settings.seed, "random", settings.random)
    by_kind = cuts(subgraph, np.concatenate([*own, drawn]), settings, event).values()
    flat = np.concatenate([each.reshape(math.prod(each.shape[:-1]), len(subgraph)) for each in by_kind])
    sparsest_first = flat[np.argsort(flat.sum(axis=1), kind="stable")]
    masks = np.concatenate([whole_and_empty(subgraph), sparsest_first])
    first = {key: row for row, key in reversed([*enumerate(packed(masks))])}
    return masks[sorted(first[key] for key in first.keys() - {*known})]


def packed(masks: Mask) -> list[bytes]:
    """Masks (…, E) as keys, row by row: equal masks have equal keys."""
    width, content = (masks.shape[-1] + 7) // 8, np.packbits(masks, axis=-1).tobytes()
    return [content[row * width : (row + 1) * width] for row in range(math.prod(masks.shape[:-1]))]


def whole_and_empty(subgraph: Subgraph) -> Mask:
    """The masks that keep all candidates and none."""
    return np.repeat([[True], [False]], len(subgraph), axis=1)
