"""Doors: what can be evaluated from files, each declared once.

The doors of a family are the value `DOORS` of its module `doors`. A door names a public function and the files and
options that become its arguments. Commands, keys of studies, JSON Schema and receipts are read from the declaration:

    Door(
        "triples",
        "Both sides of every triple of a knowledge graph.",
        "graphgauge.ranking:rank_triples",
        inputs=(Input("triples", "Head, relation and tail, a row per triple.", required=True), …),
        options=(Option("ties", Literal["realistic", "optimistic"], "realistic", "How equal scores rank."), …),
        example="graphgauge ranking triples --triples test.npy …",
    )
"""

from __future__ import annotations

import csv
import importlib
import re
import types
from collections.abc import Callable, Iterable, Mapping
from functools import cache, reduce
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, Struct

from graphgauge.core.errors import GraphgaugeError, InputError, OptionError, UnknownNameError, one_of
from graphgauge.core.family import family
from graphgauge.core.options import confidence_level, number, whole_number

# Kinds of inputs that `io` reads. Another kind is the "module:function" of a family that makes a value of a path.
KINDS = ("array", "ragged", "set", "table", "labels", "lines", "json", "items", "file", "folder", "code")
# The type of an option that is repeated, or has commas.
Texts = tuple[str, ...]
# The default of an option that has to be given.
REQUIRED = NODEFAULT


class Input(Struct, frozen=True):
    """An argument that is read from a file.

    With `many="parts"` several files, or a pattern, are one array from its first row to its last; with `many="named"`
    there is one file per name, NAME=FILE on the command line, and the argument is a mapping. An input `along` the items
    has an entry for each, and is cut where those in parts are. `argument` is the parameter that it becomes, if that has
    another name.
    """

    name: str
    help: str
    kind: str = "array"
    required: bool = False
    many: Literal["", "parts", "named"] = ""
    along: bool = False
    argument: str = ""

    @property
    def described(self) -> Any:
        """The type of the value that names its files, for msgspec."""
        named = {"": str, "parts": str | tuple[str, ...], "named": dict[str, str]}[self.many]
        return Annotated[named if self.required else named | None, Meta(description=self.help)]

    @property
    def default(self) -> Any:
        return REQUIRED if self.required else None

    @property
    def is_code(self) -> bool:
        return self.kind == "code"


class Option(Struct, frozen=True):
    """An argument that is written as it is.

    `type` is int, float, bool, str or Path (a file to be written), a Literal of texts, a tuple of one of these
    (`tuple[int, ...]`), a mapping `dict[str, str]`, or any of them or None. Numbers have to be between `low` and
    `high`, and not the ends themselves if `inside`. `shown` stands for the value in `--help`.
    """

    name: str
    type: Any
    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    inside: bool = False
    shown: str = ""

    @property
    def plain(self) -> Any:
        """Its type without None."""
        parts = _alternatives(self.type)
        return parts[0] if len(parts) == 1 else Union[parts]  # noqa: UP007, the parts are a value

    @property
    def described(self) -> Any:
        """Its type with its bounds, for msgspec."""
        low, high = ("gt", "lt") if self.inside else ("ge", "le")
        bounds: dict[str, Any] = {name: end for name, end in ((low, self.low), (high, self.high)) if end is not None}
        kind = str | None if self.is_output else self.type
        return Annotated[_bounded(kind, Meta(**bounds)) if bounds else kind, Meta(description=self.help)]

    @property
    def choices(self) -> tuple[str, ...]:
        """The texts that it can be, if it is a choice."""
        return get_args(self.plain) if get_origin(self.plain) is Literal else ()

    @property
    def words(self) -> tuple[str, ...]:
        """The texts that may stand in the place of a number."""
        literals = [kind for kind in _alternatives(self.type) if get_origin(kind) is Literal]
        return tuple(word for kind in literals for word in get_args(kind))

    @property
    def is_list(self) -> bool:
        return any(get_origin(each) is tuple for each in _alternatives(self.type))

    @property
    def is_mapping(self) -> bool:
        return get_origin(self.plain) is dict

    @property
    def is_output(self) -> bool:
        return self.plain is Path


METRICS = Option("metrics", str | tuple[str, ...] | None, None, "Keys or sections to compute, or all.", shown="KEY,…")
CONFIDENCE = Option("confidence", float, 0.95, "Level of the intervals.", 0, 1, inside=True)
NAN = Option("nan", Literal["raise", "omit"], "raise", "NaN is an error, or is left out and counted.")
SEED = Option("seed", int, 0, "Seed of whatever is drawn.", 0)
PROTOCOL = Option("protocol", str | None, None, "Evaluate as this benchmark does; `metrics --protocols` lists them.")


class Door(Struct, frozen=True):
    """One way into a family.

    `call` is the "module:function" that takes the inputs and options as arguments and returns an evaluation, or, if
    `product` says what, something else with `save(path)`. `common` are the options that many doors have. If the family
    has states, `of_state` names what the state is made with; its `update` takes the other inputs, and its `evaluate`
    the other options. `progress` says that the function takes `progress=`.
    """

    name: str
    line: str
    call: str
    inputs: tuple[Input, ...]
    options: tuple[Option, ...] = ()
    example: str = ""
    common: tuple[Option, ...] = (METRICS, CONFIDENCE)
    of_state: tuple[str, ...] | None = None
    progress: bool = False
    product: str = ""

    @property
    def fields(self) -> dict[str, Input | Option]:
        """Every input and option by name."""
        every: tuple[Input | Option, ...] = (*self.inputs, *self.options, *self.common)
        return {each.name: each for each in every}

    @property
    def parts(self) -> tuple[str, ...]:
        """The inputs that may come in several files."""
        return tuple(each.name for each in self.inputs if each.many == "parts")

    @property
    def function(self) -> Callable[..., Any]:
        """The function that it calls."""
        function: Callable[..., Any] = named(self.call)
        return function

    @property
    def renamed(self) -> dict[str, str]:
        """The fields whose parameters have other names, by these."""
        return {each.argument: each.name for each in self.inputs if each.argument}

    def arguments(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values of fields as arguments of the function."""
        parameters = {name: parameter for parameter, name in self.renamed.items()}
        return {parameters.get(name, name): value for name, value in values.items()}

    def __call__(self, values: Mapping[str, Any], **others: Any) -> Any:
        """Call the function with values of fields; its errors name the fields."""
        try:
            return self.function(**self.arguments(values), **others)
        except InputError as error:
            if not self.renamed:
                raise
            raise _renamed(error, self.renamed) from (error.__cause__ or error)

    @property
    def schema(self) -> dict[str, Any]:
        """What its fields are, as JSON Schema."""
        return msgspec.json.schema(request_type(self))

    def read(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """All fields, typed and within their bounds, with defaults where nothing is given; nothing is opened.

        Values may be those of a TOML file, of Python, or texts of a command line.
        """
        fields = self.fields
        for name in values:
            if name not in fields:
                raise UnknownNameError("input or option", str(name), fields).about(str(name))
        given = {name: _prepared(fields[name], value) for name, value in values.items()}
        given = {name: value for name, value in given.items() if value is not None}
        for name, each in fields.items():
            if each.default is REQUIRED and name not in given:
                raise OptionError(f"{name} is missing", fix=f"For example: {self.example}").about(name)
        typed = {name: _typed(fields[name], value) for name, value in given.items()}
        return {name: typed.get(name, each.default) for name, each in fields.items()}


@cache
def request_type(door: Door) -> type[Struct]:
    """The fields of a door as a struct."""
    fields: list[Any] = []
    for name, each in door.fields.items():
        fields.append((name, each.described) if each.default is REQUIRED else (name, each.described, each.default))
    title = f"{door.name or 'default'}-door"
    return msgspec.defstruct(title, fields, kw_only=True, frozen=True, forbid_unknown_fields=True)


def doors(name: str) -> dict[str, Door]:
    """The doors of a family by name, the first under ""; none if it has not declared any."""
    module = family(name).module("doors")
    return {} if module is None else {each.name: each for each in module.DOORS}


def state_door(name: str) -> Door:
    """The door of a family whose evaluations can be merged."""
    for door in doors(name).values():
        if door.of_state is not None:
            return door
    raise OptionError(f"{name} has no states", fix="Evaluate all data at once.")


def door_of(name: str, door: str = "") -> Door:
    """A door of a family."""
    known = doors(name)
    if door not in known:
        raise UnknownNameError(f"door of {name}", door, [each for each in known if each], always=True)
    return known[door]


def in_words(names: Iterable[str], text: str, shown: Callable[[str], str], *, hints: bool = False) -> str:
    """A message with arguments of these names as `shown` writes them.

    `nan="omit"` is `--nan omit` on the command line, `metrics=["mrr", …]` is `--metrics mrr,…`, `columns={"n": "k"}` is
    `--columns n=k`, and `pos_scores[3]` is `--pos-scores[3]`. Names of one word are words, too: they are arguments
    where a message begins with them, and before `=`. A text with `hints` has arguments only before `=`.
    """
    either = "|".join(map(re.escape, sorted(names, key=len, reverse=True))) or "(?!)"
    long = "|".join(name for name in either.split("|") if "_" in name) or "(?!)"
    text = re.sub(
        rf"(?<![\w.\[/{{-])(?P<name>{either})=(?:\"(?P<text>[^\"]*)\"|(?P<value>[\w.+-]*\w)|\[(?P<list>[^]]*)\]"
        r"|\{(?P<pairs>[^}]*)\})?",
        lambda found: " ".join(filter(None, (shown(found["name"]), _written(found)))),
        text,
    )
    if hints:
        return text
    text = re.sub(rf"\A({either})(?=[\s:\[])", lambda found: shown(found[1]), text)
    return re.sub(rf"(?<![\w.\[/{{-])({long})(?![\w(/.=-])", lambda found: shown(found[1]), text)


def _written(found: re.Match[str]) -> str:
    """The value of an argument in a message, as it is typed."""
    several = found["list"] or (found["pairs"] or "").replace(": ", "=")
    return str(found["text"] or found["value"] or re.sub(r'["\s]', "", several))


def reworded(error: GraphgaugeError, names: Iterable[str], shown: Callable[[str], str]) -> GraphgaugeError:
    """An error with arguments of these names as `shown` writes them."""
    if not isinstance(error, InputError):
        return error
    known = list(names)
    what, fix = (None if part is None else in_words(known, part, shown) for part in (error.what, error.fix))
    where = None if error.where is None else in_words(known, f"{error.where}:", shown)[:-1]
    return error.in_words(str(what), where, fix)


def _renamed(error: InputError, names: Mapping[str, str]) -> InputError:
    """An error with other names for these."""
    word = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, names))})(?!\w)")
    texts = [
        None if text is None else word.sub(lambda match: names[match[1]], text)
        for text in (error.what, error.where, error.fix)
    ]
    return error.in_words(str(texts[0]), *texts[1:])


def split_list(text: str) -> list[str]:
    """The parts of a text between commas, without the spaces around them; `"a,b",c` has two."""
    try:
        row = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        raise OptionError(f"{text!r:.60} is not a list ({error})", fix='Quote a name with a comma: "a,b",c.') from None
    return [part.strip() for part in row if part.strip()]


def named(place: str) -> Any:
    """What "module:name" names."""
    module, _, name = place.partition(":")
    return reduce(getattr, name.split("."), importlib.import_module(module))


def _alternatives(kind: Any) -> tuple[Any, ...]:
    """The types of a union, without None."""
    parts = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    return tuple(part for part in parts if part is not types.NoneType)


def _bounded(kind: Any, meta: Meta) -> Any:
    """A type whose numbers have bounds."""
    if kind in (int, float):
        return Annotated[kind, meta]
    if get_origin(kind) is tuple:
        return tuple[_bounded(get_args(kind)[0], meta), ...]  # type: ignore[misc]
    if get_origin(kind) in (Union, types.UnionType):
        return Union[tuple(_bounded(each, meta) for each in get_args(kind))]  # noqa: UP007
    return kind


def _prepared(each: Input | Option, value: Any) -> Any:
    """A value as msgspec takes it: texts of lists in parts, Python's numbers for NumPy's; None if there is none."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    if isinstance(each, Input):
        return _paths(each, value)
    if isinstance(value, Path):
        return str(value)
    if each.is_list and isinstance(value, str) and value != "all":
        return tuple(split_list(value))
    if each.is_list and isinstance(value, int | float) and type(value) not in _alternatives(each.type):
        return (value,)
    if each.is_mapping and value is not None and not isinstance(value, Mapping):
        listed = [value] if isinstance(value, str) else value
        if isinstance(listed, list | tuple):
            listed = [part for text in listed for part in _parted(str(text))]
        return _pairs(each.name, listed)
    return list(value) if isinstance(value, tuple | set | frozenset) else value


def _paths(each: Input, value: Any) -> Any:
    if value is None or (isinstance(value, list | tuple | dict) and not value):
        return None
    if each.many == "named" and not isinstance(value, Mapping):
        value = _pairs(each.name, [value] if isinstance(value, str) else value)
    if isinstance(value, Mapping):
        return {str(name): _path(each.name, path) for name, path in value.items()}
    if each.many == "parts" and isinstance(value, Iterable) and not isinstance(value, str):
        return [_path(each.name, path) for path in value]
    return _path(each.name, value)


def _path(name: str, value: Any) -> str:
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise OptionError(f"{value!r:.60} is no name of a file", where=name).about(name)
    return str(value)


def _parted(text: str) -> list[str]:
    """The parts of NAME=VALUE,NAME=VALUE; other commas belong to a value."""
    parts = split_list(text)
    return parts if parts and all("=" in part for part in parts) else [text]


def _pairs(name: str, texts: Any) -> dict[str, str]:
    if not isinstance(texts, list | tuple):
        raise OptionError(f"{texts!r:.60} has no names", where=name, fix="Write a value for each name.").about(name)
    pairs = [str(text).partition("=") for text in texts]
    for left, _, right in pairs:
        if not left or not right:
            what = f"{left!r:.60} is not NAME=VALUE"
            raise OptionError(what, where=name, fix=f"Write the name, = and the value: NAME={left}.").about(name)
    names = [left for left, _, _ in pairs]
    if len(set(names)) < len(names):
        twice = next(each for each in names if names.count(each) > 1)
        raise OptionError(f"{twice!r:.60} is there more than once", where=name).about(name)
    return {left: right for left, _, right in pairs}


def _typed(each: Input | Option, value: Any) -> Any:
    """A value as the function takes it; a wrong one is refused in the words in which the library does it."""
    try:
        typed = msgspec.convert(value, each.described, strict=False)
    except msgspec.ValidationError:
        if isinstance(each, Option):
            if each.name == CONFIDENCE.name:
                confidence_level(_number(value))
            for part in value if isinstance(value, list | tuple) else [value]:
                _check_part(each, part)
        raise OptionError(f"{value!r:.60} is not what it takes", where=each.name).about(each.name) from None
    if isinstance(each, Option) and each.is_output:
        return Path(typed)
    return tuple(typed) if isinstance(typed, list) else typed


def _check_part(each: Option, value: Any) -> None:
    inner = get_args(each.plain)[0] if get_origin(each.plain) is tuple else each.plain
    if each.words and int in _alternatives(inner):
        what = f"{each.name} must be a whole number of at least {each.low or 0:g}, or {' or '.join(each.words)}"
        raise OptionError(f"{what}, not {value!r:.60}").about(each.name)
    if get_origin(inner) is Literal:
        one_of(each.name, value, get_args(inner))
    elif inner is int:
        whole_number(each.name, _number(value), *_whole_bounds(each))
    elif inner is float:
        number(each.name, _number(value), each.low, each.high, inside=each.inside)
    elif inner is bool:
        raise OptionError(f"{each.name} is true or false, not {value!r:.60}").about(each.name)
    elif inner is str and not isinstance(value, str):
        raise OptionError(f"{each.name} is a text, not {value!r:.60}").about(each.name)


def _whole_bounds(each: Option) -> tuple[int | None, ...]:
    low = None if each.low is None else int(each.low)
    return (low,) if each.high is None else (low, int(each.high))


def _number(value: Any) -> Any:
    """A number for the text of one."""
    for kind in (int, float):
        try:
            return kind(value) if isinstance(value, str) else value
        except ValueError:
            continue
    return value
