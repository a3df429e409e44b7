"""`study.toml` read into a Study; errors name the line and the closest valid name."""

from __future__ import annotations

import hashlib
import itertools
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import msgspec

from graphgauge.core.errors import InputError, one_of
from graphgauge.core.evaluation import Run
from graphgauge.core.family import family_names
from graphgauge.core.gate import Gate
from graphgauge.core.options import confidence_level
from graphgauge.io.request import Request
from graphgauge.study.lines import Lines
from graphgauge.study.model import (
    COMPARISONS,
    GATES,
    SUMMARY,
    Baseline,
    CompareTable,
    GateTable,
    Item,
    Study,
    StudyError,
    concerns,
)
from graphgauge.study.placeholders import fill, placeholders
from graphgauge.study.statistics import unknown_metric, written_by

SCHEMA = 1
_TOP = ("schema", "name", "results", "defaults", "evaluate", "compare", "gate", "audit")
# An axis of a study: the key for one value, the key for several, and the type of a value.
_AXES: dict[str, tuple[str, str, type]] = {
    "dataset": ("dataset", "datasets", str),
    "method": ("method", "methods", str),
    "seed": ("run_seed", "seeds", int),
}
_OWN = ("family", "door", "tags", "keep_items", *(key for one, many, _ in _AXES.values() for key in (one, many)))
_ABOUT = ("family", "method", "dataset")
_KINDS = {str: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "a table"}
# A few short lists can multiply to more than fits into memory, and a dotted key can take the parser hours.
_MOST_EVALUATIONS, _LONGEST_NAME, _LONGEST_STUDY, _DEEPEST = 100_000, 1000, 1 << 20, 30
_AFTER_KEYS = re.compile(r"[{,]")
Place = tuple[str, int, str | None]
Said = Annotated[str, msgspec.Meta(min_length=1)]


class _Ignored(msgspec.Struct, forbid_unknown_fields=True):
    check: Said
    because: Said


def read_study(path: str | Path) -> Study:
    r"""Read and check a whole study; nothing is evaluated and no input is opened.

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
        content = target.read_bytes()
        text = content.decode()
        _require_readable(text, str(path))
        return _Reader(target, hashlib.sha256(content).hexdigest(), tomllib.loads(text), Lines(text)).study()
    except FileNotFoundError:
        raise StudyError("no such file", where=str(path), fix="`graphgauge init` writes one to start from.") from None
    except OSError as error:
        raise StudyError(f"cannot be read ({error.strerror})", where=str(path)) from None
    except UnicodeDecodeError as error:
        raise StudyError(f"not UTF-8 text (byte {error.start})", where=str(path)) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _syntax_error(str(path), str(error)) from None


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


def _syntax_error(path: str, message: str) -> StudyError:
    what, _, place = message.partition(" (at ")
    line = re.match(r"line (\d+)", place)
    where = f"{path}, line {line[1]}" if line else f"{path}, at its end" if place else path
    return StudyError(f"not TOML ({what[:1].lower()}{what[1:200]})", where=where)


class _Reader:
    """One study file being read; every method returns a part of it, or raises an error with its line."""

    def __init__(self, path: Path, digest: str, content: dict[str, Any], lines: Lines) -> None:
        self._path, self._hash, self._content, self._lines = path, digest, content, lines
        self._evaluations = 0

    def study(self) -> Study:
        self._known_keys(self._content, _TOP, ("", 0, None))
        if self._content.get("schema") != SCHEMA:
            found = repr(self._content["schema"])[:60] if "schema" in self._content else "not given"
            self._fail(f"schema is {found}", ("", 0, "schema"), f"This version reads schema = {SCHEMA}.")
        items = self._items()
        compare = tuple(self._comparison(each, n, items) for n, each in enumerate(self._tables("compare")))
        # Comparisons over items need them.
        over = [each for each in compare if each.over == "items"]
        items = tuple(
            msgspec.structs.replace(item, keep_items=item.keep_items or any(concerns(each, item) for each in over))
            for item in items
        )
        return Study(
            path=self._path,
            name=self._typed(self._content, "name", str, self._path.stem),
            hash=self._hash,
            results=self._path.parent.resolve() / self._typed(self._content, "results", str, "results"),
            items=items,
            compare=compare,
            gates=tuple(self._gate(each, n, items) for n, each in enumerate(self._tables("gate"))),
            ignore=self._ignored(),
        )

    # ------------------------------------------------------------- evaluations

    def _items(self) -> tuple[Item, ...]:
        defaults = self._typed(self._content, "defaults", dict, {})
        for name in defaults:
            with self._at(("defaults", 0, name)):
                one_of("family", name, family_names())
            self._typed(defaults, name, dict, {}, ("defaults", 0, name))
        places: dict[Path, tuple[str, int]] = {}
        items = []
        for index, table in enumerate(self._tables("evaluate")):
            for item in self._expanded(table, index, defaults):
                label, first = places.setdefault(item.path(Path()), (item.label, index))
                if first != index or label != item.label:
                    line = self._lines.of("evaluate", first)
                    fix = "Give one of them another dataset or method name; results are kept by these names."
                    self._fail(f"{item.label} is evaluated twice, first on line {line}", ("evaluate", index, None), fix)
                items.append(item)
        if not items:
            self._fail("there is nothing to evaluate", ("", 0, None), "Write at least one [[evaluate]] table.")
        return tuple(items)

    def _expanded(self, table: dict[str, Any], index: int, defaults: Mapping[str, Any]) -> Iterator[Item]:
        """The items of one `[[evaluate]]`: every dataset with every method and every seed."""
        here: Place = ("evaluate", index, None)
        if "family" not in table:
            self._fail("family is missing", here, f"One of {', '.join(family_names())}.")
        family = self._typed(table, "family", str, None, here)
        with self._at(("evaluate", index, "family")):
            one_of("family", family, family_names())
        axes = {axis: self._axis(table, axis, index) for axis in _AXES}
        self._evaluations += math.prod(map(len, axes.values()))
        if self._evaluations > _MOST_EVALUATIONS:
            what = f"asks for {self._evaluations:,} evaluations"
            self._fail(what, here, f"At most {_MOST_EVALUATIONS:,} in one study.")
        own = {key: value for key, value in table.items() if key not in _OWN}
        given = {**defaults.get(family, {}), **own}
        places: dict[str, Place] = {
            key: ("evaluate", index, key) if key in own else (f"defaults.{family}", 0, key) for key in given
        }
        self._require_used(axes, {**given, "tags": table.get("tags", "")}, index)
        keep = self._typed(table, "keep_items", bool, False, here)
        door = self._typed(table, "door", str, "", here)
        for key in set(given) & written_by(family, door):
            self._fail(f"{key} is not set in a study", places[key], "A study writes its results itself.")
        for values in (dict(zip(axes, each, strict=True)) for each in itertools.product(*axes.values())):
            fields = {}
            for key, value in given.items():
                with self._at(places[key]):
                    fields[key] = fill(value, values)
            tags = fill(self._typed(table, "tags", dict, {}, here), values)
            request = Request(family=family, door=door, fields=fields, run=Run(**values, tags=tags))
            with self._at(here, places):
                yield Item(request=request.checked(), keep_items=keep)

    def _axis(self, table: dict[str, Any], axis: str, index: int) -> list[Any]:
        one, many, kind = _AXES[axis]
        here: Place = ("evaluate", index, many)
        if one in table and many in table:
            self._fail(f"{one} and {many} are both given", here, "Keep one of them.")
        if one not in table and many not in table:
            if axis == "seed":
                return [None]
            fix = "Results are kept by these names."
            self._fail(f"neither {one} nor {many} is given", ("evaluate", index, None), fix)
        values = [table[one]] if one in table else self._typed(table, many, list, None, here)
        for value in values:
            if type(value) is not kind:
                self._fail(f"{many}: expected {_KINDS[kind]}, found {value!r:.60}", here)
            if isinstance(value, str) and not 0 < len(value) <= _LONGEST_NAME:
                what = f"{many}: a name has {len(value):,} characters"
                self._fail(what, here, f"Names have at least one and at most {_LONGEST_NAME:,}.")
            if axis == "method" and value in (COMPARISONS, SUMMARY, GATES):
                self._fail(f"a method cannot be called {value}", here, "The results use this name.")
        if not values or len(set(values)) < len(values):
            self._fail(f"{many} {'has a value twice' if values else 'is empty'}", here)
        return values

    def _require_used(self, axes: Mapping[str, list[Any]], given: Mapping[str, Any], index: int) -> None:
        used = placeholders(dict(given))
        for axis, values in axes.items():
            if len(values) > 1 and axis not in used:
                several = _AXES[axis][1]
                what = f"{several} are given, but {{{axis}}} is in no value: one run would count as several"
                fix = f"Write {{{axis}}} into the names of the files that differ between runs."
                self._fail(what, ("evaluate", index, several), fix)

    # ----------------------------------------------------- comparisons and gates

    def _comparison(self, table: dict[str, Any], index: int, items: tuple[Item, ...]) -> CompareTable:
        compared: CompareTable = self._struct(table, CompareTable, "compare", index)
        self._require_names(table, ("baseline", *_ABOUT), "compare", index, items)
        with self._at(("compare", index, "confidence")):
            confidence_level(compared.confidence)
        if compared.margin is not None and not 0 < compared.margin < math.inf:
            self._fail(f"margin must be a positive number, not {compared.margin}", ("compare", index, "margin"))
        for key in ("design", "test", "datasets") if compared.over == "items" else ():
            if key in table:
                self._fail(f'{key} and over = "items" exclude each other', ("compare", index, key))
        self._require_metric(compared.metric, "metric", compared, "compare", index, items)
        return compared

    def _gate(self, table: dict[str, Any], index: int, items: tuple[Item, ...]) -> GateTable:
        about = {key: _listed(table[key]) for key in _ABOUT if key in table}
        own = {key: value for key, value in table.items() if key not in _ABOUT}
        self._require_names(table, _ABOUT, "gate", index, items)
        if "against" in own:
            against: Baseline = self._struct(own, Baseline, "gate", index, also=_ABOUT)
            if not against.margin >= 0 or math.isinf(against.margin):
                self._fail(f"margin must be at least 0, not {against.margin}", ("gate", index, "margin"))
            gate: Gate | Baseline = against
            key = "metric"
        else:
            self._known_keys(own, ("require", "against", *_ABOUT), ("gate", index, None))
            if "require" not in own:
                fix = "For example require = 'mrr.low >= 0.7', or against = 'main/results' with metric and margin."
                self._fail("require is missing", ("gate", index, None), fix)
            key = "require"
            with self._at(("gate", index, key)):
                gate = Gate.parse(self._typed(own, key, str, None, ("gate", index, key)))
        required = GateTable(gate=gate, **about)
        self._require_metric(gate.key, key, required, "gate", index, items)
        return required

    def _require_metric(
        self, metric: str, key: str, table: CompareTable | GateTable, kind: str, index: int, items: tuple[Item, ...]
    ) -> None:
        """Refuse a metric that no result that the table is about can have."""
        refusals = []
        for name in dict.fromkeys(item.family for item in items if concerns(table, item)):
            refusal = unknown_metric(metric, name)
            if refusal is None:
                return
            refusals.append(refusal)
        if refusals:
            self._fail(refusals[0].what, (kind, index, key), refusals[0].fix)
        self._fail("concerns no result of this study", (kind, index, None))

    def _require_names(
        self, table: dict[str, Any], keys: Iterable[str], kind: str, index: int, items: tuple[Item, ...]
    ) -> None:
        for key in keys:
            axis = "method" if key == "baseline" else key
            known = dict.fromkeys(getattr(item, axis) for item in items)
            for name in _listed(table[key]) if key in table else ():
                with self._at((kind, index, key)):
                    one_of(axis, str(name), known)

    def _struct(self, table: dict[str, Any], kind: Any, name: str, index: int, also: Iterable[str] = ()) -> Any:
        """A table as a struct, with friendlier words than msgspec's."""
        self._known_keys(table, (*kind.__struct_fields__, *also), (name, index, None))
        lists = {key: _listed(value) for key, value in table.items() if key in _ABOUT}
        for field in msgspec.structs.fields(kind):
            if field.required and field.name not in table:
                fix = (
                    "For example metric = 'mrr' and margin = 0.005."
                    if name == "gate"
                    else "For example metric = 'mrr'."
                )
                self._fail(f"{field.name} is missing", (name, index, None), fix)
            choices = getattr(field.type, "__args__", ()) if "Literal" in str(field.type) else ()
            if choices and field.name in table:
                with self._at((name, index, field.name)):
                    one_of(field.name, str(table[field.name]), choices)
        try:
            return msgspec.convert({**table, **lists}, kind)
        except msgspec.ValidationError as error:
            key = re.search(r"`\$\.(\w+)", str(error))
            words = re.sub(r" - at .*", "", str(error))
            self._fail(f"{key[1]}: {words}" if key else words, (name, index, key[1] if key else None))

    def _ignored(self) -> dict[str, str]:
        audit = self._typed(self._content, "audit", dict, {})
        self._known_keys(audit, ("ignore",), ("audit", 0, None))
        try:
            entries = msgspec.convert(audit.get("ignore", []), list[_Ignored])
        except msgspec.ValidationError:
            self._fail("an entry is { check = …, because = … }, both texts", ("audit", 0, "ignore"))
        return {each.check: each.because for each in entries}

    # ------------------------------------------------------------------ helpers

    def _tables(self, name: str) -> list[dict[str, Any]]:
        tables = self._content.get(name, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            self._fail(f"{name} is not a list of tables", (name, 0, None), f"Write [[{name}]], with two brackets.")
        return tables

    def _known_keys(self, table: Mapping[str, Any], known: Iterable[str], place: Place) -> None:
        for key in table:
            with self._at((place[0], place[1], key)):
                one_of("key", key, known)

    def _typed(self, table: Mapping[str, Any], key: str, kind: type, default: Any, place: Place = ("", 0, None)) -> Any:
        value = table.get(key, default)
        if type(value) is not kind:
            self._fail(f"{key}: expected {_KINDS[kind]}, found {value!r:.60}", (place[0], place[1], key))
        return value

    @contextmanager
    def _at(self, place: Place, places: Mapping[str, Place] | None = None) -> Iterator[None]:
        """Add the line to an error in this block: that of the field that it is about, if it says which."""
        try:
            yield
        except InputError as error:
            # An error that does not say its field begins with it.
            named = (word for word in re.findall(r"\w+", error.what)[:2] if word in (places or {}))
            about = getattr(error, "field", None) or next(named, None)
            what = error.what if error.where is None else f"{error.where}: {error.what}"
            self._fail(what, (places or {}).get(about or "", place), error.fix)

    def _fail(self, what: str, place: Place = ("", 0, None), fix: str | None = None) -> NoReturn:
        raise StudyError(what, where=f"{self._path}, line {self._lines.of(*place)}", fix=fix) from None


def _listed(names: Any) -> tuple[Any, ...]:
    return tuple(names) if isinstance(names, list) else (names,)
