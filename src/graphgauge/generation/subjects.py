"""Generators as objects: what they may offer, and `collect`, which asks them for all that `evaluate` needs.

A subject is any object with some of these methods; no base class is needed. `n` samples of one shape are an array
(n, *shape) of bits; a condition is an index into `conditions`. What is missing is skipped. Samples are passed as
read-only copies: a method that works in place must copy them first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol

import numpy as np

from graphgauge.core.arrays import on_host
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.options import number, whole_number
from graphgauge.core.registry import sections as declared_sections
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.generation.asking import Asked
from graphgauge.generation.columns import Conditions, thresholded
from graphgauge.generation.graphs import Graphs, are_graph_objects, rows_of
from graphgauge.generation.molecules import Molecules
from graphgauge.generation.sample import Samples, Sides
from graphgauge.io.code import own_code

# Samples in one call of a method.
BATCH = 512
# Training samples are described for the levels of a memoriser up to this number.
_MOST_DESCRIBED = 10_000
# Samples that are encoded again to test whether the encoder uses the condition.
_PROBED = 256

# ---- what a subject may offer


class Subject(Protocol):
    """All that a generator may have; `ordered` (False) and `channels` may be attributes beside `conditions`."""

    @property
    def conditions(self) -> Sequence[str]:
        """The names of the conditions, code 0 first."""

    def reconstruct(self, samples: Any, conditions: Ints) -> Floats | Mask:
        """Each sample after encoding and decoding, without noise: probabilities (n, *shape) in [0, 1], or bits."""

    def encode(self, samples: Any, conditions: Ints) -> Floats:
        """The latent vector (n, d) of each sample, without noise."""

    def generate(self, condition: int, n: int, *, temperature: float, seed: int) -> Any:
        """n attempts for one condition: probabilities or bits (n, *shape), graphs or molecules. Return all attempts,
        not only valid ones: the share of valid attempts is measured first."""

    def validate(self, samples: Any) -> Sequence[bool | None] | Mask:
        """Whether each of n samples is valid; None counts as not valid."""

    def statistics(self, samples: Any) -> Mapping[str, AnyArray]:
        """Named statistics (n,) of the samples, whose distributions are compared with those of real samples."""


class Classifier(Protocol):
    """A classifier, separate from the subject, that judges the generated samples."""

    def predict(self, samples: Any) -> Ints:
        """The code of the predicted condition (n,) of each of n samples."""


@dataclass(frozen=True)
class Case:
    """A subject with its data, as returned by a `module:factory`.

    `data` are real samples that the subject was not trained on, `train` those it was, both with their conditions.
    `classifier_data` are real samples that the classifier was not trained on, if they differ from `data`.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import generation
    >>> class Coin:
    ...     def generate(self, condition, n, *, temperature, seed):
    ...         return np.random.default_rng(seed).random((n, 2)) < 0.5
    >>> real = generation.Samples([[1, 0], [0, 1]], conditions=["easy", "hard"])
    >>> generation.Case(Coin(), real).classifier is None
    True
    """

    subject: Any
    data: Samples | None = None
    train: Samples | None = None
    classifier: Any = None
    classifier_data: Samples | None = None
    notes: tuple[str, ...] = ()


METHODS = ("reconstruct", "encode", "generate", "validate", "statistics")
# The methods that each section needs.
_ASKED = {
    "reconstruction": ("reconstruct",),
    "diversity": ("generate", "validate"),
    "statistical": ("generate", "validate", "statistics", "encode"),
    "latent_space": ("encode",),
    "grade_conditioning": ("generate", "validate", "predict"),
}
# The method that fills a column.
_FILLED = {
    "reconstructed": "reconstruct",
    "latents": "encode",
    "statistics": "statistics",
    "valid": "validate",
    "predicted": "predict",
}


def collect(
    subject: Any,
    *,
    data: Any = None,
    train: Any = None,
    classifier: Any = None,
    classifier_data: Samples | None = None,
    num_samples: int = 100,
    temperature: float = 1.0,
    threshold: float = 0.5,
    seed: int = 0,
    sections: Sequence[str] | str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Sides:
    """Ask a generator for everything that `evaluate` needs: encodings, reconstructions, samples of every condition.

    Parameters
    ----------
    subject
        An object with some of the methods of `generation.subjects.Subject`, or a `Case`, which includes data.
    data, train
        Real samples with their conditions, as `Samples`: those that the subject was not trained on, and those it was.
    classifier
        An object with `predict`; its accuracy is measured on `classifier_data`, or on `data`.
    classifier_data
        Real samples with conditions that the classifier was not trained on.
    num_samples
        Attempts for each condition; all of them are kept, valid or not.
    temperature
        Passed on to `generate`.
    threshold
        Probabilities greater than this become bits.
    seed
        Seed of the generator's draws; each condition has its own, derived from it.
    sections
        Collect only what these sections of the evaluation need.
    progress
        Called with the name of a step, the number of answers so far, and the total.

    Returns
    -------
    Sides
        Samples, reconstructions and encodings, for `evaluate`.

    Raises
    ------
    InputError
        If the subject returns something of another shape than its data.
    UnknownNameError
        If there is no such section.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import generation
    >>> class Coins:
    ...     conditions = ("fair",)
    ...     def generate(self, condition, n, *, temperature, seed):
    ...         return np.random.default_rng(seed).random((n, 4)) < 0.5
    ...     def validate(self, samples):
    ...         return samples.any(axis=1)
    >>> generation.evaluate(generation.collect(Coins(), num_samples=20))["validity_rate"].value
    0.9
    """
    case = subject if isinstance(subject, Case) else Case(subject)
    given = {"data": data, "train": train, "classifier": classifier, "classifier_data": classifier_data}
    case = replace(case, **{name: value for name, value in given.items() if value is not None})
    options = {
        "num_samples": whole_number("num_samples", num_samples, 1),
        "temperature": number("temperature", temperature, 0, inside=True),
        "seed": whole_number("seed", seed),
    }
    level = number("threshold", threshold, 0, 1)
    return _Collection(case, options, level, progress or (lambda step, done, total: None)).sides(sections)


class _Collection:
    """A subject with its data: what sections need is asked of it, once."""

    def __init__(self, case: Case, options: dict[str, Any], threshold: float, progress: Any) -> None:
        self._case, self._options, self._threshold, self._progress = case, options, threshold, progress
        self._subject = Asked(case.subject)
        self._judge = None if case.classifier is None else Asked(case.classifier)
        if not any(self._subject.has(name) for name in METHODS if name != "validate"):
            what = f"a {type(case.subject).__name__} is not a subject: it has none of {', '.join(METHODS)}"
            raise InputError(what, where="subject", fix="See graphgauge.generation.subjects.")
        if self._judge is not None and not self._judge.has("predict"):
            raise InputError(f"a {type(case.classifier).__name__} has no predict", where="classifier")
        self._data, self._train = _samples(case.data), _samples(case.train)
        ordered = bool(self._subject.attribute("ordered", False))
        own = {} if self._data is None or self._data.conditions is None else {"data.conditions": self._data.conditions}
        named = self._subject.attribute("conditions")
        try:
            self._conditions = Conditions(own, named, ordered=ordered)
        except InputError as error:
            raise self._blamed(error) from None
        self._ordered, self._named = ordered, named is not None or bool(own)

    def sides(self, sections: Sequence[str] | str | None) -> Sides:
        """The answers that some sections need, or all."""
        known = [each.name for each in declared_sections("generation")]
        names = known if sections is None else [sections] if isinstance(sections, str) else list(sections)
        asked = {method for name in names for method in _ASKED[one_of("section", name, known)]}
        nobody_judges = self._judge is None and set(names) == {"grade_conditioning"}
        if nobody_judges:
            asked = set()
        offered = {name for name in asked if name == "predict" or self._subject.has(name)}
        missing = {"generated": "no classifier given"} if nobody_judges else _missing(asked - offered)
        generated = self._generated() if "generate" in offered else None
        described: dict[str, Any] = {
            "real": self._described("real", self._data, offered),
            "generated": None
            if generated is None
            else self._described("generated", generated, offered - {"reconstruct"}),
            "train": self._trained(offered),
        }
        classifier = None
        if "predict" in offered and self._judge is not None and described["generated"] is not None:
            made = described["generated"]
            described["generated"] = replace(made, predicted=self._predicted(made.items))
            classifier = self._judged()
        try:
            return Sides.from_samples(
                **described,
                classifier=classifier,
                labels=self._conditions.names if self._named else None,
                ordered=self._ordered,
                channels=self._subject.attribute("channels"),
                threshold=self._threshold,
                leaks=self._leaks() if "encode" in offered else None,
                options=self._options,
                missing=missing,
                notes=self._case.notes,
            )
        except InputError as error:
            raise self._blamed(error) from error.__cause__

    def _blamed(self, error: InputError) -> InputError:
        """An error in a column under the name of the method that filled it."""
        column = (error.where or "").partition("[")[0]
        name = "generate" if column == "generated" else _FILLED.get(column.partition(".")[2])
        if column in ("labels", "channels"):
            name = {"labels": "conditions", "channels": "channels"}[column]
        if name is None:
            return error
        asked = self._judge if name == "predict" else self._subject
        return InputError(error.what, where=asked.place(name) if asked else name, fix=error.fix)

    # ---- sides

    def _described(self, name: str, side: Samples | None, asked: set[str]) -> Samples | None:
        """A side with the answers of the subject to its samples."""
        if side is None:
            return None
        items, codes = side.items, self._codes(name, side)
        columns: dict[str, Any] = {"conditions": codes if len(self._conditions) > 1 or self._named else None}
        if "validate" in asked and "generate" in asked:
            columns["valid"] = self._subject.whole("validate", items)
        if "statistics" in asked:
            columns["statistics"] = self._subject.whole("statistics", items)
            self._progress(f"{name} statistics", len(items), len(items))
        if "encode" in asked:
            columns["latents"] = self._batched("encode", name, items, codes)
        if "reconstruct" in asked and isinstance(items, np.ndarray):
            place = self._subject.place("reconstruct")
            columns["reconstructed"] = self._batched(
                "reconstruct", name, items, codes, read=lambda part: thresholded(part, self._threshold, place)
            )
        return replace(side, **columns)

    def _trained(self, asked: set[str]) -> Samples | None:
        """The training samples, with what a memoriser's levels need unless there are too many to ask about."""
        side = self._train
        if side is None:
            return None
        known = side.conditions is not None or len(self._conditions) == 1
        if not known or "generate" not in asked or not 0 < len(side) <= _MOST_DESCRIBED:
            return side
        described = self._described(
            "train", side, asked & {"statistics", "encode"} if self._data is not None else set()
        )
        return replace(described, conditions=side.conditions) if described is not None else None

    def _codes(self, name: str, side: Samples) -> Ints:
        if name == "generated":
            return np.asarray(side.conditions)
        if side.conditions is None and len(self._conditions) == 1:
            return np.zeros(len(side), np.int64)
        if side.conditions is None:
            raise InputError("conditions are missing", where=name, fix="Pass Samples(items, conditions=…).")
        return self._conditions.codes(side.conditions, f"{name}.conditions", len(side), strict=name != "train")

    def _generated(self) -> Samples:
        """All attempts for all conditions, with the requested conditions."""
        total, place, parts = self._options["num_samples"], self._subject.place("generate"), []
        for code, label in enumerate(self._conditions.names):
            for start in range(0, total, BATCH):
                size = min(BATCH, total - start)
                seed = int(np.random.SeedSequence([self._options["seed"], code, start]).generate_state(1)[0])
                drawn = self._subject.call("generate", code, size, temperature=self._options["temperature"], seed=seed)
                count = self._subject.length("generate", drawn)
                if count != size:
                    raise InputError(
                        f"generate returned {count} samples of {label}, but {size} were requested",
                        where=place,
                        fix="Return every attempt; validate() decides which are valid.",
                    )
                parts.append(self._attempts(drawn, place))
            self._progress("generate", (code + 1) * total, len(self._conditions) * total)
        codes = np.repeat(np.arange(len(self._conditions)), total)
        return Samples(_joined(parts, place), conditions=codes)

    def _attempts(self, drawn: Any, place: str) -> Any:
        """One answer of `generate`: a list of graphs as it is, or bits."""
        if isinstance(drawn, Graphs | Molecules):
            return drawn
        if are_graph_objects(drawn):
            return list(drawn)
        with own_code(place):  # a user's object may create its array only now
            drawn = on_host(drawn, place)
        return thresholded(drawn, self._threshold, place)

    def _leaks(self) -> bool | None:
        """Whether the encoder uses the condition: encodings of the same samples with the next condition differ."""
        if len(self._conditions) < 2 or self._data is None or not len(self._data):
            return None
        some = self._data.take(np.arange(min(_PROBED, len(self._data))))
        codes = self._codes("data", some)
        given, again, other = (
            self._subject.numbers("encode", some.items, each).astype(float)
            for each in (codes, codes, (codes + 1) % len(self._conditions))
        )
        if not given.shape == again.shape == other.shape:
            what = f"vectors of shapes {given.shape}, {again.shape} and {other.shape} for the same samples"
            raise InputError(what, where=self._subject.place("encode"))
        noise = np.abs(given - again).max(initial=0)
        return bool(np.abs(given - other).max(initial=0) > 2 * noise + 1e-6 * np.abs(given).max(initial=0))

    # ---- the classifier

    def _predicted(self, items: Any) -> AnyArray:
        assert self._judge is not None
        answers = [self._judge.numbers("predict", part) for (part,) in self._batches("classify", items)]
        return _concatenated(answers, self._judge.place("predict")) if answers else np.empty(0, np.int64)

    def _judged(self) -> Samples | None:
        """The classifier's answers to real samples that it was not trained on."""
        side = _samples(self._case.classifier_data) or self._data
        if side is None:
            return None
        held_out = side
        if self._case.classifier_data is None and self._train is not None:
            marked = Sides.from_samples(_plain(side), train=_plain(self._train))
            if marked.real is not None and len(marked.real) == len(side):
                held_out = side.take(~marked.real.in_training)
        codes = self._codes("classifier_data", held_out)
        return Samples(conditions=codes, predicted=self._predicted(held_out.items))

    # ---- batches

    def _batched(self, method: str, name: str, *columns: Any, read: Any = np.asarray) -> Any:
        parts = [read(self._subject.numbers(method, *batch)) for batch in self._batches(f"{method} {name}", *columns)]
        empty = columns[0] if method == "reconstruct" else np.empty((0, 1))
        return _concatenated(parts, self._subject.place(method)) if parts else empty

    def _batches(self, step: str, *columns: Any) -> Iterator[tuple[Any, ...]]:
        rows = len(columns[0])
        for start in range(0, rows, BATCH):
            places = np.arange(start, min(start + BATCH, rows))
            yield tuple(_some(column, places) for column in columns)
            self._progress(step, int(places[-1]) + 1, rows)


def _missing(methods: set[str]) -> dict[str, str]:
    """Why columns are not there: the subject does not offer their method."""
    columns = {
        "generate": ("generated",),
        "validate": ("generated.valid",),
        "reconstruct": ("real.reconstructed",),
        "encode": ("real.latents", "generated.latents"),
        "statistics": ("real.statistics", "generated.statistics"),
    }
    return {column: f"the subject has no {name}" for name in methods for column in columns.get(name, ())}


def _samples(value: Any) -> Samples | None:
    """Data as `Samples`; an array is converted, objects stay as the subject knows them."""
    if value is None:
        return None
    side = value if isinstance(value, Samples) else Samples(value)
    if isinstance(side.items, Graphs | Molecules) or are_graph_objects(side.items):
        return side
    return replace(side, items=thresholded(side.items, 0.5, "data"))


def _plain(side: Samples) -> Samples:
    return Samples(side.items)


def _some(column: Any, places: Ints) -> Any:
    return [column[place] for place in places] if isinstance(column, list | tuple) else rows_of(column, places)


def _joined(parts: list[Any], where: str) -> Any:
    """The attempts of all calls together."""
    kinds = {type(part) for part in parts}
    if len(kinds) > 1:
        raise InputError("samples of several kinds", where=where, fix="Return one kind for all conditions.")
    if isinstance(parts[0], Graphs | Molecules):
        return reduce(lambda first, second: first.joined(second), parts)
    if isinstance(parts[0], list):
        return [graph for part in parts for graph in part]
    return _concatenated(parts, where)


def _concatenated(parts: list[AnyArray], where: str) -> AnyArray:
    shapes = dict.fromkeys(part.shape[1:] for part in parts)
    if len(shapes) > 1:
        text = " and ".join(map(str, shapes))
        raise InputError(f"answers of shapes {text}", where=where, fix="Return one shape for all samples.")
    return np.concatenate(parts)
