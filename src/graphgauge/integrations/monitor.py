"""In training: rank a few queries of the validation set after each epoch, and know when to stop."""

from __future__ import annotations

import math
from dataclasses import replace
from inspect import signature
from io import BytesIO
from typing import Any, Literal

import numpy as np

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.gates import Gate, GateOutcome
from graphgauge.core.options import confidence_level, whole_number
from graphgauge.ranking.items import Items, ListItems
from graphgauge.ranking.until import rank_until

Verdict = Literal["better", "not better", "open"]
_ROUNDING = 1e-9
_OWN = (
    "gates",
    "resume",
    "save",
    "keep",
    "joint",
    "stop",
    "guarantee",
    "against",
    "inner",
    "hard",
    "confidence",
    "seed",
)


class RankMonitor:
    """Follows a ranking metric from epoch to epoch, with one error budget for all of them.

    With probability `confidence`, all intervals of all epochs contain their value on the whole validation set, no epoch
    is called `better` than the best before it unless it is, and the gate is decided rightly: epoch e gets the share
    1 / (e (e + 1)) of the error. The ranks of earlier epochs predict those of the next, which saves queries.

    Each epoch is compared with the interval of the best one so far. It is `better` if it is shown to be above that
    interval, `not better` if it is shown to be below its upper end, and `open` if neither is shown when it is known to
    ± `within`, or if `max_queries` ended the reading of the best one before it was; then the one with the higher value
    is the best so far. Improvements much smaller than `within` are not seen, so choose it below what is worth another
    epoch.

    Parameters
    ----------
    metric
        The metric to follow: a mean of values between 0 and 1 per query.
    within
        The half-width that is enough in an epoch; fewer queries are read if everything is decided before.
    gate
        A requirement, such as `mrr >= 0.30`; `decided` is its outcome, from the first epoch that passes it on.
    patience
        `stop` becomes true after so many epochs in a row with the verdict `not better`.
    fixed
        Arguments of `rank_until` that are the same in every epoch, such as `targets`, `known` and `groups`.

    >>> rng = np.random.default_rng(0)
    >>> entities, targets = rng.normal(size=(50, 8)), rng.integers(0, 50, 2000)
    >>> monitor = RankMonitor(within=0.05, patience=2, targets=targets, entities=entities)
    >>> for noise in (3.0, 1.0, 1.1, 1.1, 1.1):
    ...     queries = entities[targets] + noise * rng.normal(size=(2000, 8))
    ...     evaluation = monitor.look(queries=queries)
    ...     if monitor.stop:
    ...         break
    >>> monitor.epoch, monitor.best_epoch
    (4, 2)
    """

    def __init__(
        self,
        metric: str = "mrr",
        *,
        within: float = 0.01,
        gate: str | None = None,
        patience: int = 5,
        confidence: float = 0.95,
        seed: int = 0,
        assist: Any = (),
        **fixed: Any,
    ) -> None:
        self.metric, self.within, self.gate = metric, within, gate
        self.patience, self.confidence = whole_number("patience", patience, 1), confidence_level(confidence)
        self._seed, self._fixed = whole_number("seed", seed), fixed
        several = isinstance(assist, list | tuple)
        self._assist = [] if assist is None else list(assist) if several else [assist]
        taken = [name for name in _OWN if name in fixed]
        if taken:
            raise OptionError(f"{taken[0]} is chosen by the monitor", fix="Leave it out.")
        unknown = [name for name in fixed if name not in signature(rank_until).parameters]
        if unknown:
            raise OptionError(f"rank_until has no {unknown[0]!r:.60}", fix="Leave it out.")
        average = fixed.get("average", "micro")
        if average != "micro" and not metric.endswith(f"_macro_{average}"):
            self.metric = f"{metric}_macro_{average}"
        if gate is not None and Gate.parse(gate).key != self.metric:
            raise OptionError(f"gate {gate!r} is not about {self.metric}", fix="Follow the metric of the gate.")
        self.epoch = self.read = 0
        self.best_epoch: int | None = None
        self.best: Evaluation | None = None
        self.decided: GateOutcome | None = None
        self.verdicts: list[Verdict] = []
        self._known: Items | ListItems | None = None
        self._queries: int | None = None

    @property
    def stop(self) -> bool:
        """Whether each of the last epochs was shown not to be above the best before them."""
        return self.verdicts[-self.patience :] == ["not better"] * self.patience

    @property
    def _known_within(self) -> bool:
        """Whether the best one so far is known to ± `within`, which `max_queries` may have prevented."""
        low, high = (None if self.best is None else self.best[self.metric].interval) or (0.0, math.inf)
        return (high - low) / 2 <= self.within * (1 + _ROUNDING)

    def look(self, *inputs: Any, **named: Any) -> Evaluation:
        """Rank queries of this epoch's model: its inputs, as in `rank_until`."""
        epoch = self.epoch + 1
        # The shares 1/2, 1/6, 1/12, … of the error add up to one.
        level = 1 - (1 - self.confidence) / (epoch * (epoch + 1))
        gates = [self.gate] if self.gate is not None and self.decided is None else []
        bar = None
        if self.best is not None:
            interval = self.best[self.metric].interval
            assert interval is not None
            # Means of equal values may differ by rounding.
            bar = f"{self.metric} > {interval.high + _ROUNDING:.12f}"
        stored = BytesIO()
        asked: dict[str, Any] = {
            **self._fixed,
            **named,
            "within": {self.metric: self.within},
            "joint": True,
            "confidence": level,
            "gates": [*gates, *([] if bar is None else [bar])],
            "keep": "items",
            "seed": self._seed + epoch,
            "assist": [*self._assist, *([] if self._known is None else [self._known])],
        }
        evaluation = rank_until(*inputs, **asked, stop="any", save=stored)
        queries = int(evaluation.options["until"]["of"])
        if self._queries is not None and queries != self._queries:
            raise InputError(
                f"{queries:,} queries in epoch {epoch}, {self._queries:,} before",
                where="monitor",
                fix="Look at the same validation set in every epoch.",
            )
        verdict: Verdict = "better"
        if bar is not None:
            outcome = evaluation.gate(bar)
            verdict = "better" if outcome.passed else "open"
            # Below the upper end of an interval that is wider than asked for, an epoch may still be better.
            if not outcome.passed and outcome.undecided is None and self._known_within:
                verdict = "not better"
        if verdict == "better":
            # Later epochs are compared with this one, so its interval has to be narrow.
            stored.seek(0)
            evaluation = rank_until(*inputs, **asked, stop="widths", resume=stored)
        self.epoch, self._queries = epoch, queries
        self.read += int(evaluation.options["until"]["read"])
        self._known = _latest(evaluation.per_item, self._known)
        if gates and evaluation.gate(gates[0]).passed:
            self.decided = evaluation.gate(gates[0])
        self.verdicts.append(verdict)
        higher = self.best is None or evaluation[self.metric].value > self.best[self.metric].value
        if verdict == "better" or (verdict == "open" and higher):
            self.best, self.best_epoch = evaluation, epoch
        return evaluation

    def __str__(self) -> str:
        if self.best is None:
            return "no epoch was looked at"
        low, high = self.best[self.metric].interval or (float("nan"), float("nan"))
        gate = "" if self.decided is None else f"; {self.decided}"
        return (
            f"best so far: epoch {self.best_epoch} of {self.epoch}, {self.metric} in [{low:.4g}, {high:.4g}]; "
            f"{self.read:,} queries read{gate}"
        )


def _latest(new: Items | ListItems, old: Items | ListItems | None) -> Items | ListItems:
    """The counts of all queries ever read, each as of the last time."""
    if old is None or type(old) is not type(new):
        return new
    kept = np.flatnonzero(~np.isin(old.ids, new.ids))
    if isinstance(new, Items) and isinstance(old, Items):
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(new, name), getattr(old, name)[kept]])
            for name in ("ids", "greater", "equal", "candidates")
        }
        return Items(**columns)
    assert isinstance(new, ListItems)
    assert isinstance(old, ListItems)
    joined = type(new.lists).join([new.lists, old.lists.arranged(kept)])
    return replace(new, ids=np.concatenate([new.ids, old.ids[kept]]), lists=joined, cluster=None, weight=None)
