"""How a family's evaluation is split into parts, counted and merged, independent of the engine."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from graphgauge.core.errors import OptionError, UnknownNameError
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.family import family as family_named
from graphgauge.old.core.state import state_class


@dataclass(frozen=True)
class Fold:
    """One evaluation to be run in parts: `arguments` are split along the items, and each option goes to its step."""

    family: str
    arguments: Mapping[str, Any]
    options: Mapping[str, Any]

    @classmethod
    def of(cls, family: str, arrays: tuple[Any, ...], options: Mapping[str, Any]) -> Fold:
        """As `graphgauge.FAMILY.evaluate` would be called."""
        state_class(family)  # only if evaluations can be merged
        signature = inspect.signature(_module(family).evaluate)
        unknown = [name for name in options if name not in signature.parameters]
        if unknown:
            raise UnknownNameError("option", unknown[0], signature.parameters)
        try:
            given = signature.bind_partial(*arrays, **options).arguments
        except TypeError as error:
            raise OptionError(f"{family}.evaluate: {error}") from None
        if given.get("offsets") is not None:
            raise OptionError("offsets= cannot be split into parts", fix="Give a padded matrix with mask=.")
        drawn = given.pop("negatives", None)
        if drawn is not None:
            given |= {"drawn": str(drawn), **({"mask": drawn.mask} if drawn.short else {})}
        along = family_named(family).along
        split = any(name in along for name in given)
        if split and given.get("keep") is not None and given.get("ids") is None:
            raise OptionError("items that are kept in parts need ids=", fix="One per query, the same in every method.")
        return cls(
            family,
            {name: value for name, value in given.items() if name in along and value is not None},
            {name: value for name, value in given.items() if name not in along},
        )

    @property
    def axis(self) -> int:
        """The axis of the items in the arrays."""
        return 0

    def count(self, part: Mapping[str, Any], *, start: int, shard: str) -> Any:
        """The state of one part, whose first item is number `start`."""
        state = _module(self.family).empty_state(**self._of(_module(self.family).empty_state), shard=shard)
        placed = {"start": start} if "start" in inspect.signature(state.update).parameters else {}
        # The engine runs one part per processor.
        return state.update(**part, **placed, **({"threads": 1} | self._of(state.update)))

    def merge(self, states: Iterable[Any]) -> Any:
        """A new state. The merged ones are unchanged, because an engine may use them again."""
        whole = _module(self.family).empty_state(**self._of(_module(self.family).empty_state))
        for state in states:
            whole.merge(state)
        return whole

    def evaluate(self, state: Any) -> Evaluation:
        evaluation: Evaluation = state.evaluate(**self._of(_module(self.family).evaluate_state))
        return evaluation

    def _of(self, step: Callable[..., Any]) -> dict[str, Any]:
        known = inspect.signature(step).parameters
        return {name: value for name, value in self.options.items() if name in known}


def _module(family: str) -> Any:
    return family_named(family).module("evaluate")
