"""Gates: `mrr >= 0.7`, `mrr.low >= 0.7`, `directed_shd <= 5`."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.result import Result

_COMPARE = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_GRAMMAR = re.compile(
    r"\s*(?P<key>[^\s<>=!]+?)(?:\.(?P<bound>low|high))?\s*(?P<sign>>=|<=|==|!=|>|<)\s*(?P<limit>\S+)\s*"
)


@dataclass(frozen=True)
class GateOutcome:
    gate: str
    passed: bool
    found: float

    def __str__(self) -> str:
        found = Gate.parse(self.gate).shown(self.found)
        return f"gate {'passed' if self.passed else 'failed'}: {self.gate} (found {found})"


@dataclass(frozen=True)
class Gate:
    """A requirement on one result or on a bound of its interval. NaN passes no gate."""

    text: str
    key: str
    bound: str | None
    sign: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Gate:
        match = _GRAMMAR.fullmatch(text)
        try:
            if match is None or math.isnan(limit := float(match["limit"])):
                raise ValueError
            return cls(text.strip(), match["key"], match["bound"], match["sign"], limit)
        except ValueError:
            raise OptionError(
                f"gate {text!r} cannot be read", fix="Write KEY[.low|.high] >= NUMBER, for example 'mrr.low >= 0.7'."
            ) from None

    def check(self, results: Mapping[str, Result]) -> GateOutcome:
        result = results[self.key]
        if self.bound is None:
            found = result.value
        elif result.interval is None:
            raise InputError(f"gate {self.text!r}: {self.key} has no interval ({result.no_interval})")
        else:
            found = getattr(result.interval, self.bound)
        return GateOutcome(self.text, self.holds(found), found)

    def shown(self, found: float, rounded: Callable[[float], str] = "{:.6g}".format) -> str:
        """The rounded value, with more digits where rounding would hide why the gate passed or failed."""
        texts = (rounded(found), *(f"{found:.{digits}g}" for digits in range(6, 17)))
        held = self.holds(found)
        return next((text for text in texts if self.holds(float(text)) == held), f"{found:.17g}")

    def holds(self, value: float) -> bool:
        return value == value and bool(_COMPARE[self.sign](value, self.limit))
