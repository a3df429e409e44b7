"""`study.toml` read into a Study; errors name the line and the closest valid name."""

from __future__ import annotations

import glob
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

from graphgauge.core.door import Door, Option, door_of
from graphgauge.core.errors import InputError, UnknownNameError, one_of
from graphgauge.core.evaluation import Run
from graphgauge.core.family import family_names
from graphgauge.core.gate import Gate
from graphgauge.core.registry import find
from graphgauge.io.request import Request
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
from graphgauge.study.tables import ABOUT, AGAINST, COMPARE, EVALUATE, REQUIRE, TOP
from graphgauge.study.toml import Lines

SCHEMA = 1
_TABLES = ("defaults", "evaluate", "compare", "gate", "audit")
# The keys of an axis of a study: for one value, and for several.
_AXES = {"dataset": ("dataset", "datasets"), "method": ("method", "methods"), "seed": ("run_seed", "seeds")}
# A brace, a placeholder with its format, or a brace that is neither.
_PART = re.compile(r"\{\{|\}\}|\{(?P<name>[^{}:!]*)(?P<format>[^{}]*)\}|[{}]")
_WIDTH = re.compile(r"(:0?\d{1,2}d?)?")
# A few short lists can multiply to more than fits into memory, and a dotted key can take the parser hours.
_MOST_EVALUATIONS, _LONGEST_NAME, _LONGEST_STUDY, _DEEPEST = 100_000, 1000, 1 << 20, 30
_AFTER_KEYS = re.compile(r"[{,]")
# A table, its number among those of its name, and a key in it.
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
        self._known_keys(self._content, (*TOP.fields, *_TABLES), ("", 0, None))
        top = self._read(TOP, {key: each for key, each in self._content.items() if key not in _TABLES}, "", 0)
        if top["schema"] != SCHEMA:
            found = "not given" if top["schema"] is None else top["schema"]
            self._fail(f"schema is {found}", ("", 0, "schema"), f"This version reads schema = {SCHEMA}.")
        items = self._items()
        compare = tuple(self._comparison(each, n, items) for n, each in enumerate(self._tables("compare")))
        # Comparisons over items need them.
        over = [each for each in compare if each.options["over"] == "items"]
        items = tuple(
            msgspec.structs.replace(item, keep_items=item.keep_items or any(concerns(each, item) for each in over))
            for item in items
        )
        return Study(
            path=self._path,
            name=top["name"] or self._path.stem,
            hash=self._hash,
            results=self._path.parent.resolve() / top["results"],
            items=items,
            compare=compare,
            gates=tuple(self._gate(each, n, items) for n, each in enumerate(self._tables("gate"))),
            ignore=self._ignored(),
        )

    # ------------------------------------------------------------- evaluations

    def _items(self) -> tuple[Item, ...]:
        defaults = self._table(self._content, "defaults", ("defaults", 0, None))
        for name in defaults:
            with self._at(("defaults", 0, name)):
                one_of("family", name, family_names())
            self._table(defaults, name, ("defaults", 0, name))
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
        named = self._read(EVALUATE, {key: each for key, each in table.items() if key in EVALUATE.fields}, *here[:2])
        family, door = named["family"], named["door"]
        with self._at(("evaluate", index, "family")):
            one_of("family", family, family_names())
        axes = {axis: self._axis(table, named, axis, index) for axis in _AXES}
        self._evaluations += math.prod(map(len, axes.values()))
        if self._evaluations > _MOST_EVALUATIONS:
            what = f"asks for {self._evaluations:,} evaluations"
            self._fail(what, here, f"At most {_MOST_EVALUATIONS:,} in one study.")
        own = {key: value for key, value in table.items() if key not in EVALUATE.fields}
        given = {**defaults.get(family, {}), **own}
        places: dict[str, Place] = {
            key: ("evaluate", index, key) if key in own else (f"defaults.{family}", 0, key) for key in given
        }
        self._require_used(axes, [given, named["tags"]], index)
        with self._at(("evaluate", index, "door")):
            outputs = _outputs(family, door)
        for key in set(given) & outputs:
            self._fail(f"{key} is not set in a study", places[key], "A study writes its results itself.")
        for values in (dict(zip(axes, each, strict=True)) for each in itertools.product(*axes.values())):
            fields = {}
            for key, value in given.items():
                with self._at(places[key]):
                    fields[key] = fill(value, values)
            run = Run(**values, tags=fill(named["tags"] or {}, values))
            with self._at(here, places):
                request = Request(family=family, door=door, fields=fields, run=run).checked()
                yield Item(request=request, keep_items=named["keep_items"])

    def _axis(self, table: Mapping[str, Any], named: Mapping[str, Any], axis: str, index: int) -> tuple[Any, ...]:
        one, many = _AXES[axis]
        here: Place = ("evaluate", index, many)
        if one in table and many in table:
            self._fail(f"{one} and {many} are both given", here, "Keep one of them.")
        if one not in table and many not in table:
            if axis == "seed":
                return (None,)
            fix = "Results are kept by these names."
            self._fail(f"neither {one} nor {many} is given", ("evaluate", index, None), fix)
        values: tuple[Any, ...] = (named[one],) if one in table else named[many]
        for value in values:
            if isinstance(value, str) and not 0 < len(value) <= _LONGEST_NAME:
                what = f"{many}: a name has {len(value):,} characters"
                self._fail(what, here, f"Names have at least one and at most {_LONGEST_NAME:,}.")
            if axis == "method" and value in (COMPARISONS, SUMMARY, GATES):
                self._fail(f"a method cannot be called {value}", here, "The results use this name.")
        if not values or len(set(values)) < len(values):
            self._fail(f"{many} {'has a value twice' if values else 'is empty'}", here)
        return values

    def _require_used(self, axes: Mapping[str, tuple[Any, ...]], given: list[Any], index: int) -> None:
        used = set(placeholders(given))
        for axis, values in axes.items():
            if len(values) > 1 and axis not in used:
                several = _AXES[axis][1]
                what = f"{several} are given, but {{{axis}}} is in no value: one run would count as several"
                fix = f"Write {{{axis}}} into the names of the files that differ between runs."
                self._fail(what, ("evaluate", index, several), fix)

    # ----------------------------------------------------- comparisons and gates

    def _comparison(self, table: dict[str, Any], index: int, items: tuple[Item, ...]) -> CompareTable:
        values = self._read(COMPARE, table, "compare", index)
        for key in ("design", "test", "datasets") if values["over"] == "items" else ():
            if key in table:
                self._fail(f'{key} and over = "items" exclude each other', ("compare", index, key))
        compared = CompareTable(options=values, **{key: values.pop(key) for key in ABOUT})
        self._require_results(compared, "metric", compared.metric, ("compare", index, None), items)
        if values["baseline"] is not None:
            with self._at(("compare", index, "baseline")):
                one_of("method", values["baseline"], dict.fromkeys(item.method for item in items))
        return compared

    def _gate(self, table: dict[str, Any], index: int, items: tuple[Item, ...]) -> GateTable:
        key, declared = ("metric", AGAINST) if "against" in table else ("require", REQUIRE)
        values = self._read(declared, table, "gate", index)
        about = {name: values.pop(name) for name in ABOUT}
        with self._at(("gate", index, key)):
            gate = Baseline(**values) if key == "metric" else Gate.parse(values["require"])
        required = GateTable(gate=gate, **about)
        self._require_results(required, key, gate.key, ("gate", index, None), items)
        return required

    def _require_results(
        self, table: CompareTable | GateTable, key: str, metric: str, place: Place, items: tuple[Item, ...]
    ) -> None:
        """Refuse names that the study has not, and a metric that no result that the table is about can have."""
        for axis in ABOUT:
            known = dict.fromkeys(getattr(item, axis) for item in items)
            for name in getattr(table, axis):
                with self._at((*place[:2], axis)):
                    one_of(axis, name, known)
        families = dict.fromkeys(item.family for item in items if concerns(table, item))
        if not families:
            self._fail("concerns no result of this study", place)
        refusals = [_unknown(metric, name) for name in families]
        if all(refusals) and refusals[0] is not None:
            self._fail(refusals[0].what, (*place[:2], key), refusals[0].fix)

    def _ignored(self) -> dict[str, str]:
        audit = self._table(self._content, "audit", ("audit", 0, None))
        self._known_keys(audit, ("ignore",), ("audit", 0, None))
        try:
            entries = msgspec.convert(audit.get("ignore", []), list[_Ignored])
        except msgspec.ValidationError:
            self._fail("an entry is { check = …, because = … }, both texts", ("audit", 0, "ignore"))
        return {each.check: each.because for each in entries}

    # ------------------------------------------------------------------ helpers

    def _read(self, declared: Door, table: dict[str, Any], name: str, index: int) -> dict[str, Any]:
        """The keys of a table, typed and within their bounds."""
        self._known_keys(table, declared.fields, (name, index, None))
        lists = {key for key, each in declared.fields.items() if isinstance(each, Option) and each.is_list}
        given = {key: [each] if key in lists and not isinstance(each, list) else each for key, each in table.items()}
        with self._at((name, index, None), {key: (name, index, key) for key in table}):
            return declared.read(given)

    def _tables(self, name: str) -> list[dict[str, Any]]:
        tables = self._content.get(name, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            self._fail(f"{name} is not a list of tables", (name, 0, None), f"Write [[{name}]], with two brackets.")
        return tables

    def _table(self, around: Mapping[str, Any], name: str, place: Place) -> dict[str, Any]:
        table = around.get(name, {})
        if not isinstance(table, dict):
            self._fail(f"{name} is not a table, but {table!r:.60}", place)
        return table

    def _known_keys(self, table: Mapping[str, Any], known: Iterable[str], place: Place) -> None:
        for key in table:
            with self._at((*place[:2], key)):
                one_of("key", key, known)

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


def _unknown(key: str, name: str) -> UnknownNameError | None:
    """Why a metric cannot be one of a family's results, if so."""
    try:
        find(key.partition("[")[0], name)
    except UnknownNameError as error:
        return error
    return None


def _outputs(name: str, door: str) -> set[str]:
    """The fields of a door that name files to write: a study sets these itself."""
    fields = door_of(name, door).fields.values()
    return {each.name for each in fields if isinstance(each, Option) and each.is_output}


# ---- {method}, {seed} and {dataset} in the values of a study


def fill(value: Any, values: Mapping[str, Any]) -> Any:
    """The value with every text in it filled in; `{seed:03d}` sets a width, `{{` is a brace."""
    if isinstance(value, str):
        return _PART.sub(lambda part: _filled(part, values), value)
    if isinstance(value, list):
        return [fill(part, values) for part in value]
    if isinstance(value, dict):
        return {name: fill(part, values) for name, part in value.items()}
    return value


def placeholders(value: Any) -> Iterator[str]:
    """The names of all placeholders in a value. A brace by itself may be any of them: filling it in is an error."""
    if isinstance(value, str):
        for part in _PART.finditer(value):
            if part["name"] is not None:
                yield part["name"]
            elif len(part[0]) == 1:
                yield from ("dataset", "method", "seed")
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from placeholders(each)


def _filled(part: re.Match[str], values: Mapping[str, Any]) -> str:
    if part["name"] is None:
        if len(part[0]) == 2:
            return part[0][0]
        raise InputError(f"{part.string!r:.80} has a brace too many or too few", fix="Write {{ for a brace.")
    name = one_of("placeholder", part["name"], values)
    value = values[name]
    if value is None:
        raise InputError(f"{{{name}}} has no value here", fix=f"Give {name}s.")
    if not _WIDTH.fullmatch(part["format"]):
        fix = f"Write {{{name}}}, or a width as in {{seed:03d}}."
        raise InputError(f"{{{name}…}} has an unsupported format", fix=fix)
    try:
        text = format(value, part["format"][1:])
    except ValueError:
        raise InputError(f"{part[0]} does not apply to text", fix=f"Write {{{name}}}.") from None
    if glob.has_magic(text):
        # In a path it would be a pattern and might match the files of another method.
        raise InputError(f"{name} {text!r:.60} cannot be filled in", fix="Names with *, ? or [ are patterns in a path.")
    return text
