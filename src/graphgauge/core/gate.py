"""Gates: `mrr >= 0.7`, `mrr.low > chance`, `mrr[relation=treats].low >= 0.2`, `directed_shd <= 5`."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

from msgspec import Struct

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.number import Number, shown
from graphgauge.core.result import Interval, Kind, Result

_COMPARE = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}
_GRAMMAR = re.compile(
    r"\s*(?P<key>[^\s<>=!\[\]]+?)(?:\[(?P<axis>[^=\]]+)(?:=(?P<label>.*))?\])?(?:\.(?P<end>low|high))?"
    r"\s*(?P<sign>>=|<=|==|!=|>|<)\s*(?P<limit>\S+)\s*"
)
_EXAMPLES = "for example 'mrr.low >= 0.7', 'mrr > chance' or 'mrr[relation=treats] >= 0.2'"
Verdict = Literal["passed", "failed", "undecided"]


class GateOutcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a requirement holds, and the number that decides; true if it holds.

    `of` names the run that it was checked on, if there are several. `limit` is the number it was compared with, `group`
    the group that decides, and `why` says what else there is to know, such as why an outcome is undecided.
    """

    gate: str
    verdict: Verdict
    value: Number
    limit: Number | None = None
    group: str | None = None
    why: str | None = None
    of: str | None = None

    @property
    def passed(self) -> bool:
        """Whether the requirement holds; one that is undecided does not."""
        return self.verdict == "passed"

    def __bool__(self) -> bool:
        return self.passed

    @property
    def words(self) -> str:
        """What decided."""
        if self.why is not None:
            return self.why
        against = "" if self.limit is None else f" against {_told_apart(self.limit, self.value)}"
        group = "" if self.group is None else f" for {self.group}"
        return f"it is {_told_apart(self.value, self.limit)}{against}{group}"

    def __str__(self) -> str:
        where = "" if self.of is None else f" on {self.of}"
        return f"gate {self.verdict}: {self.gate}{where} ({self.words})"


class Gate(Struct, frozen=True):
    """A requirement on a result, on an end of its interval, or on those of one or every group. NaN passes no gate.

    `limit` is a number, or a kind of reference level: the value must then stand this way to every level of the kind.

    Examples
    --------
    >>> from graphgauge import Gate, Result
    >>> mrr = Result(key="mrr", metric="mrr", value=0.25, n=40, unit="query", direction="higher", bounds=(0, 1))
    >>> print(Gate.parse("mrr >= 0.3").check({"mrr": mrr}))
    gate failed: mrr >= 0.3 (it is 0.25 against 0.3)
    """

    text: str
    key: str
    axis: str | None
    label: str | None
    end: str | None
    sign: str
    limit: float | str

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read a requirement."""
        match = _GRAMMAR.fullmatch(text)
        try:
            if match is None:
                raise ValueError
            limit = match["limit"] if match["limit"] in get_args(Kind) else float(match["limit"])
            if limit != limit:
                raise ValueError
        except ValueError:
            raise OptionError(
                f"gate {text!r} cannot be read", fix=f"Write KEY[.low|.high] >= NUMBER, {_EXAMPLES}."
            ) from None
        gate = cls(text.strip(), match["key"], match["axis"], match["label"], match["end"], match["sign"], limit)
        if gate.axis is not None and isinstance(limit, str):
            what = f"gate {text!r}: groups have no level of {limit}"
            raise OptionError(what, fix="Compare the value over all items with it.")
        return gate

    def holds(self, value: float, limit: float) -> bool:
        """Whether `value` stands to `limit` as the gate says; NaN does not."""
        return value == value and bool(_COMPARE[self.sign](value, limit))

    def check(self, results: Mapping[str, Result]) -> GateOutcome:
        """Whether the results hold it."""
        try:
            return self._check(results)
        except InputError as error:
            told = error.in_words(f"gate {self.text!r}: {error.what}", error.where, error.fix)
            raise (told.about("gate") if isinstance(told, OptionError) else told) from None

    def _check(self, results: Mapping[str, Result]) -> GateOutcome:
        if self.axis is not None:
            return self._check_groups(results, self.axis)
        result = results[self.key]
        limit = self._limit(result)
        adaptive = results.options.get("until") if isinstance(results, Evaluation) else None
        if self.end is None and isinstance(adaptive, Mapping) and adaptive.get("complete") is not True:
            return self._check_partial(result, limit, adaptive)
        return self._outcome(self._number(result), limit)

    def _outcome(self, value: float, limit: float, **parts: Any) -> GateOutcome:
        verdict: Verdict = "passed" if self.holds(value, limit) else "failed"
        return GateOutcome(gate=self.text, verdict=verdict, value=value, limit=limit, **parts)

    def _number(self, result: Result) -> float:
        if self.end is None:
            return result.value
        low, high = _interval_of(result)
        return low if self.end == "low" else high

    def _limit(self, result: Result) -> float:
        """The number to compare with; of several levels, the one that is hardest to pass."""
        if not isinstance(self.limit, str):
            return self.limit
        levels = [each.value for each in result.references if each.kind == self.limit and not math.isnan(each.value)]
        if not levels:
            raise InputError(f"{self.key} has no level of {self.limit}")
        if self.sign in ("==", "!=") and len(set(levels)) > 1:
            raise InputError(f"{self.key} has several levels of {self.limit}")
        return min(levels) if self.sign in ("<", "<=") else max(levels)

    def _check_partial(self, result: Result, limit: float, adaptive: Mapping[str, Any]) -> GateOutcome:
        """On a mean of which not all items were read: decided only where its whole interval is on one side."""
        low, high = _interval_of(result)
        decided = self._decided(adaptive, limit)
        if decided is not None:
            return GateOutcome(gate=self.text, verdict=decided, value=result.value, limit=limit)
        is_open = self.holds(low, limit) != self.holds(high, limit)
        if not (low <= limit <= high if self.sign in ("==", "!=") else is_open):
            return self._outcome(result.value, limit)
        read = f"after {adaptive['read']:,} of {adaptive['of']:,} items"
        why = f"{self.key} is between {shown(low)} and {shown(high)} {read}"
        return GateOutcome(gate=self.text, verdict="undecided", value=result.value, limit=limit, why=why)

    def _decided(self, adaptive: Mapping[str, Any], limit: float) -> Verdict | None:
        """What a test of the run has decided, which is sharper than the interval, however the gate is written."""
        verdicts = {Gate.parse(text): verdict for text, verdict in dict(adaptive.get("gates") or {}).items()}
        for gate, verdict in verdicts.items():
            if (gate.key, gate.sign, gate.limit) == (self.key, self.sign, limit) and verdict != "undecided":
                return "passed" if verdict == "passed" else "failed"
        side = dict(adaptive.get("decided") or {}).get(self.key) if limit == 0 else None
        if side is None or self.sign in ("==", "!="):
            return None
        return "passed" if (side == "above") == (self.sign in (">", ">=")) else "failed"

    def _check_groups(self, results: Mapping[str, Result], axis: str) -> GateOutcome:
        if not isinstance(results, Evaluation):
            raise InputError("there are no groups")
        grid, limit = results.by(axis), float(self.limit)
        column = self.key if self.key in grid else self.key.removeprefix("overall_")
        column += "" if self.end is None else f".{self.end}"
        if column not in grid:
            _ = results[self.key]  # refused if it was not computed
            raise InputError(f"{self.key} has no {'interval' if self.end else 'value'} by {axis}")
        labels = [str(name) for name in grid[axis].tolist()]
        rows = range(len(grid)) if self.label is None else [labels.index(one_of(axis, self.label, labels))]
        values = {row: float(grid[column][row]) for row in rows}
        if not values:
            raise InputError("there are no groups")
        # The group that decides: one that fails, and among those the worst.
        worst = min(values, key=lambda row: (self.holds(values[row], limit), self._margin(values[row], limit)))
        return self._outcome(values[worst], limit, group=f"{axis}={grid[axis][worst]}")

    def _margin(self, value: float, limit: float) -> float:
        """How far a value is on the right side; NaN is the farthest on the wrong one."""
        if math.isnan(value):
            return -math.inf
        return {">": value, ">=": value, "<": -value, "<=": -value}.get(self.sign, -abs(value - limit))


def _interval_of(result: Result) -> Interval:
    if result.interval is None:
        raise InputError(f"{result.key} has no interval ({result.no_interval})")
    return result.interval


def _told_apart(number: float, other: float | None) -> str:
    """A number with six digits, or with as many as leave it on its side of the other."""
    if other is None or math.isnan(number):
        return shown(number) if math.isnan(number) else f"{number:.6g}"
    texts = (f"{number:.{digits}g}" for digits in range(6, 18))
    return next(text for text in texts if _side(float(text), other) == _side(number, other))


def _side(number: float, other: float) -> int:
    """Below, at or above the other."""
    return (number > other) - (number < other)
