"""Gates: `mrr >= 0.7`, `mrr.low > chance`, `mrr[relation=treats].low >= 0.2`, `directed_shd <= 5`."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, get_args

from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.metric import DEFAULT, Metric, asked, find
from graphgauge.old.core.result import Kind, Result, Table

if TYPE_CHECKING:
    from graphgauge.old.core.family import Family
    from graphgauge.old.core.forms import Form, Shown

_COMPARE = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}
_GRAMMAR = re.compile(
    r"\s*(?P<key>[^\s<>=!\[\]]+?)(?:\[(?P<axis>[^=\]]+)(?:=(?P<label>.*))?\])?(?:\.(?P<bound>low|high))?"
    r"\s*(?P<sign>>=|<=|==|!=|>|<)\s*(?P<limit>\S+)\s*"
)
_EXAMPLES = "for example 'mrr.low >= 0.7', 'mrr > chance' or 'mrr[relation=treats] >= 0.2'"
# Levels next to a value that it can be compared with.
LEVELS: tuple[str, ...] = get_args(Kind)
# The other average of a result has its key with this ending.
_COMPANION = re.compile(r"_(macro|micro)(_(?P<axis>.+))?$")


@dataclass(frozen=True)
class GateOutcome:
    """Whether a gate holds, and the value that decides; true if it does.

    `limit` is the level that the value was compared with, if the gate names one. `group` names the group that was
    found, if the gate is about every group. A gate on a mean of which not all was read can be `undecided`, for a
    reason; it has not passed then.
    """

    gate: str
    passed: bool
    found: float
    limit: float | None = None
    group: str | None = None
    undecided: str | None = None

    def __bool__(self) -> bool:
        return self.passed

    def to_dict(self) -> dict[str, Any]:
        """As result files and the JSON of commands have it."""
        from graphgauge.old.core.schema import number_to_json

        return {**asdict(self), "found": number_to_json(self.found), "limit": number_to_json(self.limit)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> GateOutcome:
        from graphgauge.old.core.schema import number_from_json

        limit = None if content["limit"] is None else number_from_json(content["limit"])
        passed = content["passed"]
        if not isinstance(passed, bool):
            raise TypeError("a gate has passed that is not true or false")
        group, undecided = (
            None if content.get(name) is None else str(content[name]) for name in ("group", "undecided")
        )
        return cls(str(content["gate"]), passed, number_from_json(content["found"]), limit, group, undecided)

    @property
    def words(self) -> str:
        """What was found."""
        if self.undecided is not None:
            return self.undecided
        return found_words(self.gate, self.found, self.limit, self.group)

    def __str__(self) -> str:
        return f"gate {gate_word(self.passed, self.undecided)}: {self.gate} ({self.words})"


def gate_word(passed: bool, undecided: str | None) -> str:
    return "passed" if passed else "failed" if undecided is None else "undecided"


def found_words(gate: str, found: float, limit: float | None = None, group: str | None = None) -> str:
    """The value that decides about a gate, in words."""
    shown = Gate.parse(gate).shown(found, limit=limit)
    against = "" if limit is None else f" against {limit:.6g}"
    return f"found {shown}{against}{'' if group is None else f' for {group}'}"


@dataclass(frozen=True)
class Gate:
    """A requirement on a result, on a bound of its interval, or on those of one or every group. NaN passes no gate.

    `limit` is a number, or the name of a level: the value must then stand this way to every level of that kind.
    """

    text: str
    key: str
    axis: str | None
    label: str | None
    bound: str | None
    sign: str
    limit: float | str

    @classmethod
    def parse(cls, text: str) -> Gate:
        match = _GRAMMAR.fullmatch(text)
        try:
            if match is None:
                raise ValueError
            limit = match["limit"] if match["limit"] in LEVELS else float(match["limit"])
            if limit != limit:
                raise ValueError
        except ValueError:
            raise OptionError(
                f"gate {text!r} cannot be read", fix=f"Write KEY[.low|.high] >= NUMBER, {_EXAMPLES}."
            ) from None
        gate = cls(text.strip(), match["key"], match["axis"], match["label"], match["bound"], match["sign"], limit)
        if gate.axis is not None and isinstance(limit, str):
            raise OptionError(
                f"gate {text!r}: groups have no level of {limit}", fix="Compare the value over all items with it."
            )
        return gate

    @property
    def computed_key(self) -> str:
        """The key of the metric, without the ending of its other average."""
        return _COMPANION.sub("", self.key)

    # ------------------------------------------------------------ before

    def require_planned(
        self, family: Family, values: Mapping[str, Any], form: Form | None = None, shown: Shown = str
    ) -> None:
        """Refuse a gate on what an evaluation with these typed options will not compute."""
        # With another model to compare with, a metric also has a difference.
        asked = self.key.removesuffix("_difference") if values.get("against") else self.key
        companion = _COMPANION.search(asked)
        key = asked[: companion.start()] if companion else asked
        try:
            metric, params = find(key, family.name)
        except OptionError as error:
            raise OptionError(f"gate {self.text!r}: {error.what}", fix=error.fix).about("gate") from None
        why = next(self._obstacles(family, metric, params, values, form, companion, shown), None)
        if why is not None:
            raise OptionError(f"gate {self.text!r}: {why[0]}", fix=why[1]).about("gate")

    def _obstacles(
        self,
        family: Family,
        metric: Metric,
        params: Mapping[str, Any],
        values: Mapping[str, Any],
        form: Form | None,
        companion: re.Match[str] | None,
        shown: Shown,
    ) -> Iterator[tuple[str, str]]:
        """Why the value will not be there, and how to get it."""
        key, names = metric.key_of(**params), values.get("metrics")
        listed, current = ", ".join(names or ()), names
        if names is None and form is not None and form.defaults is not None:
            current = form.defaults(values)
        own = [item for item in asked(family.name, current) if item.metric is metric]
        if not own and names is None:
            place = "until" if values.get("until") else "metrics"
            yield f"{key} is computed only if it is asked for", f"Name it in {shown(place)}."
        elif not own:
            yield f"{key} is not computed: {shown('metrics')} is {listed}", f"Name {key} there, too."
        elif not any(item.is_open or item.params == params for item in own):
            have = ", ".join(item.metric.key_of(**item.params) for item in own)
            yield f"{key} is not computed: {shown('metrics')} has {have}", f"Name {key} there, too."
        for name, value in params.items():
            swept = values.get(name)
            named = any(not item.is_open and item.params == params for item in own)
            if isinstance(swept, tuple) and value not in swept and not named:
                among = ", ".join(map(str, swept))
                yield f"{key} is not computed: {shown(name)} is {among}", f"Add {value} to {shown(name)}."
        if form is not None and form.samples and not set(form.samples) & set(metric.needs):
            yield f"{key} is not computed from {form.name}", f"It needs {' or '.join(metric.needs)}."
        axes = [self.axis, companion["axis"] if companion else None]
        for axis in axes if "groups" in family.fields else ():
            known = [*dict(values.get("groups") or {}), *(() if form is None else form.axes)]
            if axis is not None and axis not in known:
                has = f"they are {', '.join(known)}" if known else "there are none"
                yield f"there are no groups {axis!r}: {has}", f"Pass their labels with {shown('groups')}."

    # ------------------------------------------------------------- after

    def check(self, results: Mapping[str, Result]) -> GateOutcome:
        explained = not isinstance(results, Evaluation) or self.key in results or self.key in results.skipped
        if not explained and self.is_metric_of(getattr(results, "family", "")):
            raise InputError(f"gate {self.text!r}: {self.key} was not computed", fix="Name it in metrics=.")
        result = results[self.key]
        if self.axis is not None:
            return self._check_groups(result, self.axis)
        if not result.defined and (axis := _only_by(result)) is not None:
            raise InputError(
                f"gate {self.text!r}: {self.key} has a value only for each {axis} ({result.reason})",
                fix=f"Write {self.key}[{axis}] for all of them, or {self.key}[{axis}=…] for one.",
            )
        limit = self._limit(result)
        asked = results.options.get("until") if isinstance(results, Evaluation) else None
        if self.bound is None and isinstance(asked, Mapping) and asked.get("complete") is not True:
            return self._check_partial(result, limit, asked)
        if self.bound is None:
            found = result.value
        elif result.interval is None:
            raise InputError(f"gate {self.text!r}: {self.key} has no interval ({result.no_interval})")
        else:
            found = getattr(result.interval, self.bound)
        named = limit if isinstance(self.limit, str) else None
        return GateOutcome(self.text, self.holds(found, limit), found, named)

    def agreed(self, low: float, high: float, limit: float | None = None) -> bool | None:
        """Whether the gate holds for all values between the two, or for none of them; None if for some."""
        limit = float(self.limit) if limit is None else limit
        if self.sign in ("==", "!="):
            return None if low <= limit <= high else self.sign == "!="
        return self.holds(low, limit) if self.holds(low, limit) == self.holds(high, limit) else None

    def _check_partial(self, result: Result, limit: float, asked: Mapping[str, Any]) -> GateOutcome:
        """Of a mean of which not all was read: what the run decided, or what its interval leaves open."""
        named = limit if isinstance(self.limit, str) else None
        side = self._shown_side(limit, asked)
        if side is not None and self.sign in (">", ">=", "<", "<="):
            return GateOutcome(self.text, (side == "above") == (self.sign in (">", ">=")), result.value, named)
        if result.interval is None:
            raise InputError(f"gate {self.text!r}: {self.key} has no interval ({result.no_interval})")
        low, high = result.interval
        agreed = self.agreed(low, high, limit)
        if agreed is not None:
            return GateOutcome(self.text, agreed, result.value, named)
        reason = f"{self.key} is between {low:.4g} and {high:.4g} after {asked['read']:,} of {asked['of']:,} queries"
        own = asked.get("gates", {}).get(self.text, {})
        return GateOutcome(self.text, False, result.value, named, undecided=own.get("reason", reason))

    def _shown_side(self, limit: float, asked: Mapping[str, Any]) -> str | None:
        """On which side of the limit an adaptive run has shown the mean to be, under whatever text it was asked."""
        if limit == 0 and asked.get("decided", {}).get(self.key) in ("above", "below"):
            return str(asked["decided"][self.key])
        for text, found in asked.get("gates", {}).items():
            gate = Gate.parse(text)
            if (gate.key, gate.limit) == (self.key, limit) and found["outcome"] != "undecided":
                return "above" if (found["outcome"] == "passed") == (gate.sign in (">", ">=")) else "below"
        return None

    def is_metric_of(self, family: str) -> bool:
        key = _COMPANION.sub("", self.key)
        try:
            find(key, family)
        except OptionError:
            return False
        return True

    def _limit(self, result: Result) -> float:
        """The number to compare with; of several levels, the one that is hardest to pass."""
        if not isinstance(self.limit, str):
            return self.limit
        levels = [level.value for level in result.levels if level.kind == self.limit and level.value == level.value]
        if not levels:
            raise InputError(f"gate {self.text!r}: {self.key} has no level of {self.limit}")
        if self.sign in ("==", "!=") and len(set(levels)) > 1:
            raise InputError(f"gate {self.text!r}: {self.key} has several levels of {self.limit}")
        return min(levels) if self.sign in ("<", "<=") else max(levels)

    def _check_groups(self, result: Result, axis: str) -> GateOutcome:
        table = result.by(axis)
        column = self.bound or "value"
        if column not in table.columns:
            raise InputError(f"gate {self.text!r}: {self.key} has no interval for each {axis}")
        rows = range(len(table)) if self.label is None else [self._row(table, axis, self.label)]
        values = [float(table[column][row]) for row in rows]
        if not values:
            raise InputError(f"gate {self.text!r}: there are no groups")
        # The group that decides: one that fails, and among those the worst.
        worst = min(range(len(values)), key=lambda row: (self.holds(values[row]), self._margin(values[row])))
        name = f"{axis}={table[axis][rows[worst]]}" if self.label is None else None
        found = values[worst]
        return GateOutcome(self.text, self.holds(found), found, group=name)

    def _row(self, table: Table, axis: str, label: str) -> int:
        labels = [str(name) for name in table[axis]]
        if label not in labels:
            error = UnknownNameError(axis, label, labels)
            raise InputError(f"gate {self.text!r}: {error.what}", fix=error.fix)
        return labels.index(label)

    def _margin(self, value: float) -> float:
        """How far a value is on the right side; NaN is the farthest on the wrong one."""
        assert not isinstance(self.limit, str)
        if value != value:
            return -math.inf
        return {">": value, ">=": value, "<": -value, "<=": -value}.get(self.sign, -abs(value - self.limit))

    def shown(self, found: float, rounded: Callable[[float], str] = "{:.6g}".format, limit: float | None = None) -> str:
        """The rounded value, with more digits where rounding would hide why the gate passed or failed."""
        if limit is None and isinstance(self.limit, str):
            return rounded(found)
        texts = (rounded(found), *(f"{found:.{digits}g}" for digits in range(6, 17)))
        held = self.holds(found, limit)
        return next((text for text in texts if self.holds(float(text), limit) == held), f"{found:.17g}")

    def holds(self, value: float, limit: float | None = None) -> bool:
        """Whether a value passes; a gate that names a level needs its `limit`."""
        against = self.limit if limit is None else limit
        return value == value and bool(_COMPARE[self.sign](value, against))


def metrics_with_gates(
    gates: Iterable[Gate], family: Family, values: Mapping[str, Any], form: Form | None, shown: Shown = str
) -> Sequence[str] | None:
    """The metrics to compute: those that are named, or else the default ones and those that gates need.

    A gate on what still will not be computed is refused.
    """
    names: Sequence[str] | None = values.get("metrics")
    for gate in gates:
        try:
            gate.require_planned(family, {**values, "metrics": names}, form, shown)
        except OptionError:
            if values.get("metrics") is not None or "metrics" not in family.fields:
                raise
            usual = form.defaults(values) if form is not None and form.defaults is not None else None
            first = names if names is not None else usual if usual is not None else (DEFAULT,)
            more = (*first, gate.computed_key)
            try:
                gate.require_planned(family, {**values, "metrics": more}, form, shown)
            except OptionError as error:
                raise error from None
            names = more
    return names


def _only_by(result: Result) -> str | None:
    """The axis along which a result has values, if it has none over all."""
    return next((axis for axis in result.breakdowns if not all(map(math.isnan, result.by(axis)["value"]))), None)
