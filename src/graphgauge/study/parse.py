"""Parse `study.toml` into a Study; errors name the line and the closest valid name."""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.old.core.family import family, family_names
from graphgauge.old.core.fields import Fields, Several, located, plain, read_all
from graphgauge.old.core.gates import Gate, metrics_with_gates
from graphgauge.old.stats import compare_results as comparing
from graphgauge.old.stats.paired import require_margin
from graphgauge.old.stats.regression import OVER
from graphgauge.study import options
from graphgauge.study.lines import Lines
from graphgauge.study.model import (
    COMPARISONS,
    SUMMARY,
    BaselineRequest,
    ComparisonRequest,
    GateRequest,
    Item,
    Study,
    StudyError,
)
from graphgauge.study.templates import fill, placeholders
from graphgauge.study.text import shown

SCHEMA = 1
TOP = ("schema", "name", "results", "defaults", "evaluate", "compare", "gate", "audit")
# An axis of a study: the key for one value, the key for several, and the type of a value.
AXES = {
    "dataset": ("dataset", "datasets", str),
    "method": ("method", "methods", str),
    "seed": ("run_seed", "seeds", int),
}
BASELINE_KEYS = ("against", "metric", "margin", "over", "undecided")
GATE_FILTERS = ("family", "method", "dataset")
# Tables are as wide as their longest name.
_LONGEST_NAME = 1000
# A few short lists can multiply to more than fits into memory.
_MOST_EVALUATIONS = 100_000
# Characters of a study file, and parts of a dotted key in it.
_LONGEST_STUDY = 1 << 20
_DEEPEST = 30
_AFTER_KEYS = re.compile(r"[{,]")
_KINDS = {str: "a text", int: "a whole number", list: "a list", dict: "a table"}

T = TypeVar("T")
Place = tuple[str, int, str]


def read_study(path: str | Path) -> Study:
    r"""Read and check the whole file; nothing is evaluated and no input is opened.

    Parameters
    ----------
    path
        The study, a TOML file.

    Returns
    -------
    Study
        Its evaluations, comparisons and gates.

    Raises
    ------
    InputError
        If the file cannot be read, or an entry is wrong; the message names the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from graphgauge import study
    >>> lines = [
    ...     'schema = 1', 'name = "Toy"', 'results = "results"', '[[evaluate]]', 'family = "ranking"',
    ...     'dataset = "toy"', 'methods = ["ours"]', 'seeds = [0]', 'pos_scores = "pos.npy"', 'neg_scores = "neg.npy"',
    ... ]
    >>> _ = Path("study.toml").write_text("\n".join(lines))
    >>> study.read_study("study.toml").name
    'Toy'
    """
    target = Path(path)
    try:
        text = target.read_bytes().decode()
        _require_readable(text, str(path))
        content = tomllib.loads(text)
    except FileNotFoundError:
        raise StudyError("no such file", where=str(path), fix="`graphgauge init` writes one to start from.") from None
    except OSError as error:
        raise StudyError(f"cannot be read ({error.strerror})", where=str(path)) from None
    except UnicodeDecodeError as error:
        raise StudyError(f"not UTF-8 text (byte {error.start})", where=str(path)) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _syntax_error(str(path), str(error)) from None
    return _Reader(target, content, Lines(text)).study()


def _require_readable(text: str, where: str) -> None:
    """Refuse what takes the parser hours: its time is quadratic in the parts of a dotted key."""
    if len(text) > _LONGEST_STUDY:
        raise StudyError(f"has {len(text):,} characters", where=where, fix=f"At most {_LONGEST_STUDY:,}.")
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        # Keys are before an equals sign, after the beginning of a line or of an inline table; headers have brackets.
        *keys, last = line.split("=")
        keys += [last] if last.lstrip().startswith("[") else []
        if any(_AFTER_KEYS.split(key)[-1].count(".") > _DEEPEST for key in keys):
            raise StudyError(f"a key has more than {_DEEPEST} parts", where=f"{where}, line {number}")


class _Reader:
    """One study file being read; every method returns the parsed part or raises an error with its line."""

    def __init__(self, path: Path, content: dict[str, Any], lines: Lines) -> None:
        self._path, self._content, self._lines = path, content, lines
        self._evaluations = 0

    def study(self) -> Study:
        self._known_keys(self._content, TOP)
        if self._content.get("schema") != SCHEMA:
            found = self._content.get("schema", "not given")
            self._fail(f"schema is {shown(found)}", key="schema", fix=f"This version reads schema = {SCHEMA}.")
        folder = self._path.parent.resolve()
        ignored = self._ignored()
        items = self._with_gate_metrics(self._items(ignored))
        gates = tuple(self._gate(table, index, items) for index, table in enumerate(self._tables("gate")))
        items = tuple(_with_gates(item, gates) for item in items)
        return Study(
            path=self._path,
            folder=folder,
            name=self._typed(self._content, "name", str, self._path.stem),
            results=folder / self._typed(self._content, "results", str, "results"),
            items=items,
            comparisons=tuple(
                self._comparison(table, index, items) for index, table in enumerate(self._tables("compare"))
            ),
            gates=gates,
            ignore=ignored,
        )

    # ------------------------------------------------------------- evaluations

    def _items(self, ignore: dict[str, str]) -> tuple[Item, ...]:
        defaults = self._defaults()
        places: dict[Path, tuple[Item, int]] = {}
        for index, table in enumerate(self._tables("evaluate")):
            for item in self._expanded(table, index, defaults, ignore):
                place = item.path(Path())
                if place in places:
                    _, line = places[place]
                    self._fail(
                        f"{item} is evaluated twice, first on line {self._lines.of('evaluate', line)}",
                        "evaluate",
                        index,
                        fix="Give one of them another dataset or method name; results are kept by these names.",
                    )
                places[place] = item, index
        if not places:
            self._fail("there is nothing to evaluate", fix="Write at least one [[evaluate]] table.")
        return tuple(item for item, _ in places.values())

    def _defaults(self) -> dict[str, dict[str, Any]]:
        tables = self._typed(self._content, "defaults", dict, {})
        for name, table in tables.items():
            where = ("defaults", 0, name)
            with self._told_at(*where):
                declared = family(name)
            if not isinstance(table, dict):
                self._fail("expected a table", *where)
            for key in options.IDENTITY:
                if key in table:
                    fix = "Put it into [[evaluate]]."
                    self._fail(f"{key} is not a default", f"defaults.{name}", 0, key, fix=fix)
            self._option_keys(declared.fields, name, table, f"defaults.{name}", 0)
        return tables

    def _expanded(
        self, table: dict[str, Any], index: int, defaults: Mapping[str, dict[str, Any]], ignore: dict[str, str]
    ) -> Iterable[Item]:
        """The items of one `[[evaluate]]`: every dataset with every method and every seed."""
        if "family" not in table:
            self._fail("family is missing", "evaluate", index, fix=f"One of {', '.join(family_names())}.")
        name = self._typed(table, "family", str, None, "evaluate", index)
        with self._told_at("evaluate", index, "family"):
            declared = family(name)
        axes = {axis: self._axis(table, axis, index) for axis in AXES}
        several = [key for _, key, _ in AXES.values()]
        self._evaluations += math.prod(map(len, axes.values()))
        if self._evaluations > _MOST_EVALUATIONS:
            self._fail(
                f"asks for {self._evaluations:,} evaluations",
                "evaluate",
                index,
                fix=f"At most {_MOST_EVALUATIONS:,} in one study.",
            )
        own = {key: value for key, value in table.items() if key not in ("family", *several, *options.IDENTITY)}
        self._option_keys(declared.fields, name, own, "evaluate", index, also=("family", *several))
        given = {**defaults.get(name, {}), **own}
        places = {key: ("evaluate", index, key) if key in own else (f"defaults.{name}", 0, key) for key in given}
        self._axes_are_used(axes, given, index)
        for dataset, method, seed in itertools.product(*axes.values()):
            values = {"dataset": dataset, "method": method, "seed": seed}
            read = {key: self._read(declared.fields, key, given[key], values, places[key]) for key in given}
            with self._placed("evaluate", index, places):
                declared.check(read_all(declared.fields, read))
            yield Item(name, method, dataset, seed, {key: plain(value) for key, value in read.items()}, ignore)

    def _axes_are_used(self, axes: Mapping[str, list[Any]], given: Mapping[str, Any], index: int) -> None:
        used = placeholders(given)
        for axis, values in axes.items():
            if len(values) > 1 and axis not in used:
                several = AXES[axis][1]
                self._fail(
                    f"{several} are given, but {{{axis}}} is in no value: one run would count as several",
                    "evaluate",
                    index,
                    several,
                    fix=f"Write {{{axis}}} into the names of the files that differ between runs.",
                )

    def _axis(self, table: dict[str, Any], axis: str, index: int) -> list[Any]:
        one, many, kind = AXES[axis]
        if one in table and many in table:
            self._fail(f"{one} and {many} are both given", "evaluate", index, many, fix="Keep one of them.")
        if one in table:
            values = [self._typed(table, one, kind, None, "evaluate", index)]
        elif many in table:
            values = self._typed(table, many, list, None, "evaluate", index)
        elif axis == "seed":
            return [None]
        else:
            self._fail(f"neither {one} nor {many} is given", "evaluate", index, fix="Results are kept by these names.")
        for value in values:
            if type(value) is not kind:
                self._fail(f"{many}: expected {_KINDS[kind]}, found {shown(value)}", "evaluate", index, many)
            if isinstance(value, str) and len(value) > _LONGEST_NAME:
                key, fix = many if many in table else one, f"Names have at most {_LONGEST_NAME:,}."
                self._fail(f"{key}: a name has {len(value):,} characters", "evaluate", index, key, fix=fix)
            if axis == "method" and value in (COMPARISONS, SUMMARY):
                self._fail(f"a method cannot be called {value}", "evaluate", index, fix="The results use this name.")
        if not values or len(set(values)) < len(values):
            wrong = "has a value twice" if values else "is empty"
            self._fail(f"{many} {wrong}", "evaluate", index, many)
        return values

    def _read(self, fields: Fields, key: str, value: Any, values: Mapping[str, Any], place: Place) -> Any:
        """The typed value of a key, with its placeholders filled in."""
        with self._told_at(*place, about=key):
            kind = fields[key].kind
            # A list is split before names are filled in, which may have commas.
            return fields[key].read(fill(kind.parts(value) if isinstance(kind, Several) else value, values))

    @contextmanager
    def _placed(self, table: str, index: int, places: Mapping[str, Place]) -> Iterator[None]:
        """Add the line of the option that an error in this block is about."""
        try:
            yield
        except OptionError as error:
            place = places.get(error.field or "", (table, index, None))
            what = error.what if error.fix is None else f"{error.what}. {error.fix}"
            self._fail(what, *place, exit_code=error.exit_code)

    # ----------------------------------------------------- comparisons and gates

    def _with_gate_metrics(self, items: tuple[Item, ...]) -> tuple[Item, ...]:
        """The evaluations with the metrics that gates need, where none are named; wrong gates are refused later."""
        gates: list[tuple[Gate, dict[str, Any]]] = []
        for table in self._tables("gate"):
            text = table.get("require", f"{str(table.get('metric')).partition('[')[0]} >= 0")
            with suppress(InputError):
                gates.append((Gate.parse(str(text)), table))
        return tuple(self._with_metrics_of(item, gates) for item in items) if gates else items

    def _with_metrics_of(self, item: Item, gates: Iterable[tuple[Gate, dict[str, Any]]]) -> Item:
        declared = family(item.family)
        own = [gate for gate, table in gates if gate.is_metric_of(item.family) and _may_concern(table, item)]
        values = located(declared.fields, read_all(declared.fields, item.options), self._path.parent)
        try:
            names = metrics_with_gates(own, declared, values, declared.check(values)) if own else None
        except InputError:
            return item
        if names is None or values.get("metrics") is not None:
            return item
        return replace(item, options={**item.options, "metrics": list(names)})

    def _comparison(self, table: dict[str, Any], index: int, items: tuple[Item, ...]) -> ComparisonRequest:
        own = {key: value for key, value in table.items() if key != "correction"}
        if table.get("correction", "holm") != "holm":
            self._fail(
                f"unknown correction {shown(table['correction'])}",
                "compare",
                index,
                "correction",
                fix="Comparisons use Holm's correction.",
            )
        self._option_keys(comparing.FIELDS, "compare", own, "compare", index, also=("correction",))
        places = {key: ("compare", index, key) for key in own}
        read = {key: self._read(comparing.FIELDS, key, value, {}, places[key]) for key, value in own.items()}
        with self._placed("compare", index, places):
            parameters = read_all(comparing.FIELDS, read)
            comparing.refuse(parameters)
        for key, axis in (("baseline", "method"), ("method", "method"), ("dataset", "dataset"), ("family", "family")):
            self._names_of(table, key, axis, "compare", index, items)
        return ComparisonRequest(parameters)

    def _gate(self, table: dict[str, Any], index: int, items: tuple[Item, ...]) -> GateRequest:
        if "against" in table:
            return self._baseline(table, index, items)
        self._known_keys(table, ("require", *BASELINE_KEYS, *GATE_FILTERS), "gate", index)
        if "require" not in table:
            fix = "For example require = 'mrr.low >= 0.7', or against = 'main/results' with metric and margin."
            self._fail("require is missing", "gate", index, fix=fix)
        wrong = next((key for key in BASELINE_KEYS if key in table), None)
        if wrong is not None:
            self._fail(f"{wrong} needs against", "gate", index, wrong, fix="Name the results of the baseline.")
        text = self._typed(table, "require", str, None, "gate", index)
        with self._told_at("gate", index, "require"):
            gate = Gate.parse(text)
        filters = {key: tuple(self._names_of(table, key, key, "gate", index, items)) for key in GATE_FILTERS}
        request = GateRequest(gate, **filters)
        with self._told_at("gate", index, "require"):
            _require_planned(request, items, self._path.parent)
        return request

    def _baseline(self, table: dict[str, Any], index: int, items: tuple[Item, ...]) -> GateRequest:
        """A gate against the results of an earlier version."""
        self._known_keys(table, (*BASELINE_KEYS, *GATE_FILTERS), "gate", index)
        for key in ("metric", "margin"):
            if key not in table:
                self._fail(f"{key} is missing", "gate", index, fix="For example metric = 'mrr' and margin = 0.005.")
        margin = table["margin"]
        with self._told_at("gate", index, "margin"):
            require_margin(margin)
        choices = {"over": OVER, "undecided": ("fail", "pass")}
        chosen = {key: self._typed(table, key, str, known[0], "gate", index) for key, known in choices.items()}
        for key, known in choices.items():
            with self._told_at("gate", index, key):
                one_of(key, chosen[key], known)
        texts = {key: self._typed(table, key, str, None, "gate", index) for key in ("against", "metric")}
        against = self._path.parent.resolve() / texts["against"]
        filters = {key: tuple(self._names_of(table, key, key, "gate", index, items)) for key in GATE_FILTERS}
        request = GateRequest(BaselineRequest(against, texts["metric"], float(margin), **chosen), **filters)
        # As a requirement on the value, the metric must be computed.
        plain_key = texts["metric"].partition("[")[0]
        with self._told_at("gate", index, "metric"):
            _require_planned(replace(request, gate=Gate.parse(f"{plain_key} >= 0")), items, self._path.parent)
        return request

    def _names_of(
        self, table: dict[str, Any], key: str, axis: str, kind: str, index: int, items: tuple[Item, ...]
    ) -> list[str]:
        """The methods, datasets or families that a table names; the study must have all of them."""
        if key not in table:
            return []
        names = table[key] if isinstance(table[key], list) else [table[key]]
        known = dict.fromkeys(getattr(item, axis) for item in items)
        with self._told_at(kind, index, key):
            for name in names:
                one_of(axis, name, known)
        return names

    def _ignored(self) -> dict[str, str]:
        audit = self._typed(self._content, "audit", dict, {})
        self._known_keys(audit, ("ignore",), "audit")
        ignored = {}
        for entry in self._typed(audit, "ignore", list, [], "audit"):
            if not isinstance(entry, dict) or set(entry) != {"check", "because"}:
                self._fail("an entry is { check = …, because = … }", "audit", key="ignore")
            if not all(isinstance(part, str) and part for part in entry.values()):
                self._fail("check and because are texts", "audit", key="ignore")
            ignored[entry["check"]] = entry["because"]
        return ignored

    # ------------------------------------------------------------------ helpers

    def _tables(self, name: str) -> list[dict[str, Any]]:
        tables = self._content.get(name, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            self._fail(f"{name} is not a list of tables", name, fix=f"Write [[{name}]], with two brackets.")
        return tables

    def _option_keys(
        self,
        fields: Fields,
        command: str,
        table: Mapping[str, Any],
        place: str,
        index: int,
        also: tuple[str, ...] = (),
    ) -> None:
        for key in table:
            why = options.refused(fields, command, key)
            if why is not None:
                self._fail(f"{key} is not set in a study", place, index, key, fix=why)
        self._known_keys(table, (*options.keys_of(fields), *also), place, index)

    def _known_keys(self, table: Mapping[str, Any], known: Iterable[str], place: str = "", index: int = 0) -> None:
        for key in table:
            with self._told_at(place, index, key):
                one_of("key", key, known)

    def _typed(
        self, table: Mapping[str, Any], key: str, kind: type[T], default: Any, place: str = "", index: int = 0
    ) -> T:
        value = table.get(key, default)
        if type(value) is not kind:
            self._fail(f"{key}: expected {_KINDS[kind]}, found {shown(value)}", place, index, key)
        return value

    @contextmanager
    def _told_at(
        self, place: str = "", index: int = 0, key: str | None = None, about: str | None = None
    ) -> Iterator[None]:
        """Add the line number to an error in this block."""
        try:
            yield
        except InputError as error:
            self._fail(f"{about}: {error.what}" if about else error.what, place, index, key, fix=error.fix)

    def _fail(
        self,
        what: str,
        place: str = "",
        index: int = 0,
        key: str | None = None,
        *,
        fix: str | None = None,
        exit_code: int = StudyError.exit_code,
    ) -> NoReturn:
        error = StudyError(what, where=f"{self._path}, line {self._lines.of(place, index, key)}", fix=fix)
        error.exit_code = exit_code
        raise error from None


def _may_concern(table: Mapping[str, Any], item: Item) -> bool:
    filters = {key: table[key] if isinstance(table.get(key), list) else [table.get(key)] for key in GATE_FILTERS}
    return all(key not in table or getattr(item, key) in names for key, names in filters.items())


def _with_gates(item: Item, gates: Iterable[GateRequest]) -> Item:
    """An evaluation that reads until its gates are decided, with these gates among its options."""
    until = item.options.get("until") or []
    texts = [until] if isinstance(until, str) else list(until)
    if "gates" not in texts:
        return item
    # A gate against a baseline compares finished runs.
    own = [each.gate.text for each in gates if isinstance(each.gate, Gate) and each.concerns(item)]
    if not own:
        raise InputError(f"there are no gates to read until ({item})", fix="Write a [[gate]] table.")
    named = [text for text in texts if text != "gates"]
    return replace(item, options={**item.options, "until": [*named, *(text for text in own if text not in named)]})


def _require_planned(request: GateRequest, items: Iterable[Item], folder: Path) -> None:
    """Refuse a gate on what the study will not compute, before anything is evaluated."""
    assert isinstance(request.gate, Gate)
    refusals: dict[str, OptionError] = {}
    concerned = [item for item in items if request.concerns(item)]
    known = [name for name in dict.fromkeys(item.family for item in concerned) if request.gate.is_metric_of(name)]
    for item in concerned:
        if known and item.family not in known:  # the gate is about the families that have its metric
            continue
        declared = family(item.family)
        values = located(declared.fields, read_all(declared.fields, item.options), folder)
        try:
            request.gate.require_planned(declared, values, declared.check(values))
        except OptionError as error:
            refusals.setdefault(str(item), error)
    for who, refusal in refusals.items():
        raise InputError(f"{refusal.what} ({who})", fix=refusal.fix)


def _syntax_error(path: str, message: str) -> StudyError:
    what, _, place = message.partition(" (at ")
    line = re.match(r"line (\d+)", place)
    where = f"{path}, line {line[1]}" if line else f"{path}, at its end" if place else path
    return StudyError(f"not TOML ({what[:1].lower()}{what[1:200]})", where=where)
