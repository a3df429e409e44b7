"""Fields: the inputs and options of a function, declared in its signature, for every door that leads to it.

    def evaluate_files(*, scores: Annotated[str | None, File("One score per candidate.")] = None, …)

A kind reads a value from any door: text of a command line, a value of a TOML file, or a Python object. What it reads is
typed and can be written as JSON.
"""

from __future__ import annotations

import csv
import glob
import inspect
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

from graphgauge.core.errors import OptionError
from graphgauge.core.options import NAN_POLICIES
from graphgauge.old.core.files import files_named, is_pattern

PathLike = str | Path


@dataclass(frozen=True)
class Kind:
    """A kind of value, with the help text of the field that has it."""

    help: str

    def read(self, value: Any) -> Any:
        """The value, checked and typed; an error says what is wrong with it, the caller for which field."""
        raise NotImplementedError

    def schema(self) -> dict[str, Any]:
        """The values that it reads, as JSON Schema."""
        return {"type": "string"}

    def paths(self, value: Any) -> Iterator[str]:
        """The files, folders and patterns that a value names."""
        yield from ()

    def moved(self, value: Any, place: Callable[[str], str]) -> Any:
        """The value with each path replaced."""
        return value


@dataclass(frozen=True)
class Text(Kind):
    def read(self, value: Any) -> str:
        if not isinstance(value, str):
            raise OptionError(f"expected a text, found {value!r:.60}")
        return value


@dataclass(frozen=True)
class Flag(Kind):
    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def read(self, value: Any) -> bool:
        if type(value).__name__ not in ("bool", "bool_"):  # also those of NumPy, which is not imported here
            raise OptionError(f"expected true or false, found {value!r:.60}")
        return bool(value)


@dataclass(frozen=True)
class Choice(Kind):
    names: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.names)}

    def read(self, value: Any) -> str:
        text = str(value)
        if isinstance(value, bool) or text not in self.names:
            raise OptionError(f"{value!r:.60} is not one of {', '.join(self.names)}")
        return text


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number of at least `least`, if given."""

    least: int | None = None

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", **({} if self.least is None else {"minimum": self.least})}

    def read(self, value: Any) -> int:
        number = _number(value, int)
        if not isinstance(number, Integral) or isinstance(number, bool):
            raise OptionError(f"{value!r:.60} is not a whole number")
        if self.least is not None and number < self.least:
            raise OptionError(f"{value!r:.60} is below {self.least}")
        return int(number)


@dataclass(frozen=True)
class Number(Kind):
    """A number from `low` to `high`; the ends are excluded if the range is `inside` them."""

    low: float = -math.inf
    high: float = math.inf
    inside: bool = False

    def schema(self) -> dict[str, Any]:
        low, high = ("exclusiveMinimum", "exclusiveMaximum") if self.inside else ("minimum", "maximum")
        return {"type": "number", **({low: self.low, high: self.high} if math.isfinite(self.low) else {})}

    def read(self, value: Any) -> float:
        number = _number(value, float)
        if not isinstance(number, Real) or isinstance(number, bool):
            raise OptionError(f"{value!r:.60} is not a number")
        try:
            read = float(number)
        except OverflowError:
            raise OptionError(f"{value!r:.60} is too large") from None
        bounded = math.isfinite(self.low)  # only a number without a range may be NaN
        if (bounded and not self.low <= read <= self.high) or (self.inside and read in (self.low, self.high)):
            raise OptionError(f"{value!r:.60} is not between {self.low:g} and {self.high:g}")
        return read


@dataclass(frozen=True)
class Several(Kind):
    """Values of one kind: a list, or a text in which commas separate them; quotes keep a comma in a value."""

    each: Kind = Text("")
    # Whether an empty list is a value, different from none at all.
    may_be_empty: bool = False

    def parts(self, value: Any) -> Any:
        """The values in a text; anything else as it is."""
        return split_list(value) if isinstance(value, str) else value

    def schema(self) -> dict[str, Any]:
        several = _array(self.each.schema()) | ({"minItems": 0} if self.may_be_empty else {})
        return {"anyOf": [{"type": ["string", "number"]}, several]}

    def read(self, value: Any) -> tuple[Any, ...]:
        parts = self.parts(value)
        if not isinstance(parts, Iterable) or isinstance(parts, Mapping | bytes):
            parts = [parts]
        parts = [part.strip() if isinstance(part, str) else part for part in parts]
        if isinstance(value, str) and isinstance(self.each, Text):
            parts = [part for part in parts if part]
        if not parts and not self.may_be_empty:
            raise OptionError("the list is empty", fix="Leave it out for the default.")
        return tuple(self.each.read(part) for part in parts)


@dataclass(frozen=True)
class Texts(Kind):
    """One text or several; unlike in `Several`, a comma is part of a text."""

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, _array({"type": "string"})]}

    def read(self, value: Any) -> tuple[str, ...]:
        parts = [value] if isinstance(value, str) else _sequence(value)
        return tuple(Text("").read(part) for part in parts)


@dataclass(frozen=True)
class NamesOrFiles(Texts):
    """Names, and files among them: texts with a file ending."""

    def paths(self, value: Any) -> Iterator[str]:
        yield from filter(is_file_name, value)

    def moved(self, value: Any, place: Callable[[str], str]) -> Any:
        return tuple(place(part) if is_file_name(part) else part for part in value)


def is_file_name(text: str) -> bool:
    """Whether a text is meant as a file: it has an ending."""
    return bool(Path(text.partition(":")[0]).suffix)


@dataclass(frozen=True)
class OneOrTwo(Kind):
    """One name, for the prediction, or two, for truth and prediction; either may be empty."""

    names: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, _array({"type": "string"})]}

    def read(self, value: Any) -> Any:
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, Sequence) or not 1 <= len(parts) <= 2:
            raise OptionError("one name, or two for truth and prediction")
        read = tuple(None if part is None else str(part).strip() or None for part in parts)
        for part in read:
            if part is not None and part not in self.names:
                raise OptionError(f"{part!r:.60} is not one of {', '.join(self.names)}")
        return read[0] if len(read) == 1 else read


@dataclass(frozen=True)
class Factory(Kind):
    """Code to import and call, or one of `names`. Studies print code first, and verification does not import it."""

    names: tuple[str, ...] = ()

    def read(self, value: Any) -> str:
        module, _, factory = str(value).partition(":")
        if value in self.names:
            return str(value)
        if not all(part.isidentifier() for part in (*module.split("."), factory)):
            either = f"one of {', '.join(self.names)}, or " if self.names else ""
            raise OptionError(f"{value!r:.80} is not {either}MODULE:FACTORY, such as models.gcn:load")
        return str(value)


@dataclass(frozen=True)
class File(Kind):
    """One file, or `archive.npz:member`; a folder where the help says so."""

    shown: str = "FILE"

    def read(self, value: Any) -> str:
        return _path(value)

    def paths(self, value: Any) -> Iterator[str]:
        yield value

    def moved(self, value: Any, place: Callable[[str], str]) -> Any:
        return place(value)


@dataclass(frozen=True)
class Files(Kind):
    """Files or patterns whose contents, one after the other, are one input."""

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, _array({"type": "string"})]}

    def read(self, value: Any) -> tuple[str, ...]:
        return (_path(value),) if isinstance(value, str | Path) else tuple(_path(part) for part in _sequence(value))

    def paths(self, value: Any) -> Iterator[str]:
        yield from value

    def moved(self, value: Any, place: Callable[[str], str]) -> Any:
        return tuple(map(place, value))


@dataclass(frozen=True)
class NamedFiles(Kind):
    """Files under names: a mapping, or texts NAME=FILE."""

    def schema(self) -> dict[str, Any]:
        text = {"type": "string"}
        return {"anyOf": [text, _array(text), {"type": "object", "additionalProperties": text}]}

    def read(self, value: Any) -> dict[str, str]:
        if isinstance(value, Mapping):
            pairs = [(str(name), _path(path)) for name, path in value.items()]
        else:
            pairs = [self._pair(text) for text in ([value] if isinstance(value, str) else _sequence(value))]
        names = [name for name, _ in pairs]
        for name in names:
            if not name:
                raise OptionError("a name is empty")
            if names.count(name) > 1:
                raise OptionError(f"{name!r:.60} is given more than once", fix="Every file needs a name of its own.")
        return dict(pairs)

    @staticmethod
    def _pair(text: Any) -> tuple[str, str]:
        name, _, path = text.partition("=") if isinstance(text, str) else ("", "", "")
        if not name or not path:
            raise OptionError(f"{text!r:.60} is not NAME=FILE, such as relation=relation.npy")
        return name, path

    def paths(self, value: Any) -> Iterator[str]:
        yield from value.values()

    def moved(self, value: Any, place: Callable[[str], str]) -> Any:
        return {name: place(path) for name, path in value.items()}


@dataclass(frozen=True)
class Output(Kind):
    """A file that is written. Studies write their own files and do not take it."""

    def read(self, value: Any) -> str:
        return _path(value)


@dataclass(frozen=True)
class Field:
    """One input or option: its name, its kind and its default."""

    name: str
    kind: Kind
    default: Any
    required: bool = False

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return "--" + self.name.replace("_", "-")

    def read(self, value: Any) -> Any:
        """The value for this field; None means that it is not given, and so does no file."""
        value = _scalar(value)
        if value is None or (_is_empty(value) and self._may_be_empty):
            return self.default
        return self.kind.read(value)

    @property
    def _may_be_empty(self) -> bool:
        """Whether an empty list is no value: for options that can be repeated, and lists that are empty by default."""
        return isinstance(self.kind, Files | NamedFiles | Texts) or self.default == ()

    def is_given(self, value: Any) -> bool:
        """Whether a value differs from the default."""
        if value is None or (_is_empty(value) and not (isinstance(self.kind, Several) and self.kind.may_be_empty)):
            return False
        return bool(value != self.default) and not (value != value and self.default != self.default)


Fields = Mapping[str, Field]


@cache
def fields_of(function: Callable[..., Any]) -> dict[str, Field]:
    """The declared parameters of a function, in order. A parameter without a kind is for the library alone."""
    hints = get_type_hints(function, include_extras=True)
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kinds = [part for part in get_args(hints.get(name)) if isinstance(part, Kind)]
        if kinds:
            required = parameter.default is parameter.empty
            found[name] = Field(name, kinds[0], None if required else parameter.default, required)
    return found


def read_all(fields: Fields, values: Mapping[str, Any], shown: Callable[[str], str] = str) -> dict[str, Any]:
    """All fields, typed, with the defaults of those that are not given; an error names the field as the door does."""
    found = {}
    for name, field in fields.items():
        try:
            found[name] = field.read(values.get(name))
        except OptionError as error:
            raise OptionError(f"{shown(name)}: {error.what}", fix=error.fix).about(name) from None
        if field.required and not field.is_given(found[name]):
            raise OptionError(f"{shown(name)} is missing")
    return found


def located(fields: Fields, values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The values with all paths below a folder, for a process with another working directory."""

    def place(path: str) -> str:
        if is_pattern(path, folder) and not Path(path).is_absolute():
            return str(Path(glob.escape(str(folder))) / path)
        return str(folder / path)

    return {
        name: fields[name].kind.moved(value, place) if fields[name].is_given(value) else value
        for name, value in values.items()
    }


def named_paths(fields: Fields, values: Mapping[str, Any]) -> Iterator[str]:
    """Every file, folder or pattern that the values name."""
    for name, field in fields.items():
        if field.is_given(values.get(name)):
            yield from field.kind.paths(values[name])


def refuse_overwriting(
    fields: Fields,
    values: Mapping[str, Any],
    shown: Callable[[str], str] = str,
    also: Mapping[str, PathLike | None] | None = None,
) -> None:
    """A file that is written in the place of an input would destroy it. `also` are outputs that are no fields."""
    outputs = {name: values[name] for name, field in fields.items() if isinstance(field.kind, Output)}
    outputs |= also or {}
    written = {name: Path(path).resolve() for name, path in outputs.items() if path is not None}
    if not written:
        return
    inputs = {Path(path).resolve() for text in named_paths(fields, values) for path in files_named(text, Path())}
    for name, path in written.items():
        if path in inputs:
            raise OptionError(f"{shown(name)} {outputs[name]} is also an input", fix="Give it another name.").about(
                name
            )


def named_factories(fields: Fields, values: Mapping[str, Any]) -> list[str]:
    """Every `module:factory` that the evaluation would import."""
    return [
        values[name]
        for name, field in fields.items()
        if isinstance(field.kind, Factory) and values.get(name) and values[name] not in field.kind.names
    ]


def plain(value: Any) -> Any:
    """A value that was read, as JSON has it."""
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


# The options that families share.
Metrics = Annotated[
    Sequence[str] | str | None,
    Several("Keys, or sections, to compute, separated by commas (see `graphgauge metrics`)."),
]
Confidence = Annotated[float, Number("Level of the intervals.", 0, 1, inside=True)]
NanPolicy = Annotated[str, Choice("NaN is an error, or is dropped and counted.", NAN_POLICIES)]
Seed = Annotated[int, Whole("Random seed.")]
Threads = Annotated[int | None, Whole("At most this many threads (default: all cores).", 1)]


def split_list(text: str) -> list[str]:
    """The parts of a text between commas, without the spaces around them; `"a,b",c` has two."""
    try:
        found = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        raise OptionError(f"{text!r:.60} is not a list ({error})", fix='Quote a name with a comma: "a,b",c.') from None
    return [part.strip() for part in found]


def _array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1}


def _number(value: Any, kind: type) -> Any:
    try:
        return kind(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _path(value: Any) -> str:
    if not isinstance(value, str | Path):
        raise OptionError(f"expected the name of a file, found {value!r:.60}")
    if not str(value) or "\0" in str(value):
        raise OptionError(f"{str(value)!r:.60} is no name of a file", fix="Leave it out if there is no file.")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", str(value)):
        raise OptionError(f"{value!r:.60} is a URL", fix="Download the file first, and name it.")
    return str(value)


def _sequence(value: Any) -> Sequence[Any]:
    """What an iterable has in its order; a set has none."""
    if not isinstance(value, Iterable) or isinstance(value, Mapping | Set | bytes):
        raise OptionError(f"expected a text or a list of texts, found {value!r:.60}")
    return list(value)


def _scalar(value: Any) -> Any:
    """The Python value of a NumPy scalar, or of an array without axes."""
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


def _is_empty(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str) and not len(value)
