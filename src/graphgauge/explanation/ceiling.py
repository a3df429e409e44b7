"""The best explanations that can be found: sets of units whose dropping or keeping scores best, as a ceiling."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from math import comb

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.explanation.fields import probabilities
from graphgauge.explanation.inputs import Masks, Subgraph
from graphgauge.explanation.masks import MODES, Settings, packed, whole_and_empty

Ask = Callable[[Masks], Floats]


def searched(subgraph: Subgraph, masks: Masks, outputs: Floats, settings: Settings, ask: Ask) -> tuple[Masks, Floats]:
    """Masks and answers, extended by those of a search for the best sets with up to `ceiling` further masks.

    If there are few enough, all sets are asked, or all sets of a size. Larger sets grow one unit at a time, always by
    the one that scores best.
    """
    search = _Search(subgraph, masks, outputs, settings, ask)
    units = subgraph.unit_count
    if 2**units <= settings.ceiling:
        search.scores((np.arange(2**units)[:, np.newaxis] >> np.arange(units)) % 2 == 1)
        return search.answered
    modes = [mode for mode in MODES if mode in settings.asked]
    sizes = sorted(count for count in settings.level_counts(units) if 0 < count < units)
    fair = settings.ceiling // max(len(modes) * len(sizes), 1)
    for mode in modes:
        grown = []
        for size in sizes:
            if comb(units, size) <= fair:
                search.try_all(mode, combinations(range(units), size), comb(units, size), size)
            else:
                grown.append(size)
        if grown:
            search.grow(mode, max(grown), fair * len(grown))
    return search.answered


class _Search:
    def __init__(self, subgraph: Subgraph, masks: Masks, outputs: Floats, settings: Settings, ask: Ask) -> None:
        self._subgraph, self._ask = subgraph, ask
        self._masks, self._outputs = [masks], [outputs]
        self._output = str(settings.model_output)
        whole = packed(whole_and_empty(subgraph))[0]
        self._known: dict[bytes, Floats] = dict(zip(packed(masks), outputs, strict=True))
        self._predicted = int(np.argmax(self._probabilities(self._known[whole][np.newaxis])[0]))
        self._whole = self._scored([whole])[0]

    @property
    def answered(self) -> tuple[Masks, Floats]:
        return np.concatenate(self._masks), np.concatenate(self._outputs)

    def _probabilities(self, outputs: Floats) -> Floats:
        return probabilities(outputs, self._output)

    def _scored(self, keys: Iterable[bytes]) -> Floats:
        return self._probabilities(np.stack([self._known[key] for key in keys]))[:, self._predicted]

    def scores(self, kept: Masks) -> Floats:
        """The score of each set of kept units; sets without an answer are asked."""
        masks = kept[:, self._subgraph.unit_of]
        keys = packed(masks)
        new = {key: row for row, key in enumerate(keys) if key not in self._known}
        if new:
            asked = masks[list(new.values())]
            outputs = self._ask(asked)
            self._known |= dict(zip(new, outputs, strict=True))
            self._masks.append(asked)
            self._outputs.append(outputs)
        return self._scored(keys)

    def try_all(self, mode: str, sets: Iterable[tuple[int, ...]], count: int, size: int) -> None:
        chosen = np.zeros((count, self._subgraph.unit_count), bool)
        np.put_along_axis(chosen, np.array(list(sets), np.int64).reshape(count, size), True, axis=1)
        self.scores(chosen if mode == "keep" else ~chosen)

    def grow(self, mode: str, size: int, budget: int) -> None:
        """Sets up to a size, each with one unit more than the last; if the budget is small, of the best single units.

        Dropped sets lower the score most; kept sets come closest to that of the whole graph.
        """
        units = self._subgraph.unit_count
        chosen, left = np.zeros(units, bool), np.argsort(self._subgraph.unit_places)
        for step in range(size):
            left = left[: max(budget, 0)]
            if not len(left):
                return
            budget -= len(left)
            tried = np.repeat(chosen[np.newaxis], len(left), axis=0)
            tried[np.arange(len(left)), left] = True
            scores = self.scores(tried if mode == "keep" else ~tried)
            losses = np.abs(self._whole - scores) if mode == "keep" else scores
            order = left[np.argsort(losses, kind="stable")]
            chosen[order[0]] = True
            # The rest of the budget is shared by the later steps.
            affordable = max(budget // max(size - 1, 1), 1) if step == 0 else len(order)
            left = order[1 : 1 + affordable]
