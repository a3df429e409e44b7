"""Generators as objects: what they may offer, and `collect`, which asks them for all that `evaluate` needs.

A subject is any object with some of these methods; no base class is needed, and what is missing is skipped.

- `generate(condition, n, *, temperature, seed)`: n attempts for one condition, as probabilities or bits (n, *shape),
  graphs or molecules; all attempts, not only valid ones: the share of valid attempts is measured first
- `reconstruct(samples, conditions)`: each sample after encoding and decoding, without noise, likewise
- `encode(samples, conditions)`: the latent vector (n, d) of each sample, without noise
- `validate(samples)`: whether each of n samples is valid; None counts as not valid
- `statistics(samples)`: named statistics (n,), whose distributions are compared with those of real samples

A condition is an index into the attribute `conditions`, their names; `ordered` and `channels` may be attributes, too. A
classifier has `predict(samples)`, the code of the condition of each. Methods get copies, of which arrays are read-only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, refuse_nan
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.options import metric_names, number, whole_number
from graphgauge.core.types import AnyArray, Ints
from graphgauge.generation.columns import Conditions, Samples, thresholded
from graphgauge.generation.graphs import Graphs, are_graph_objects, rows_of
from graphgauge.generation.molecules import Molecules
from graphgauge.generation.sample import Sides, as_side
from graphgauge.io.code import own_code

# Samples in one call of a method.
BATCH = 512
# Training samples are described for the levels of a memoriser up to this number.
_MOST_DESCRIBED = 10_000
# Samples that are encoded again to test whether the encoder uses the condition.
_PROBED = 256


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


# What each method fills.
_FILLED = {
    "reconstruct": ("real.reconstructed",),
    "encode": ("real.latents", "generated.latents"),
    "generate": ("generated",),
    "validate": ("generated.valid",),
    "statistics": ("real.statistics", "generated.statistics"),
}
# The methods that each section needs.
_ASKED = {
    "reconstruction": ("reconstruct",),
    "diversity": ("generate", "validate"),
    "statistical": ("generate", "validate", "statistics", "encode"),
    "latent_space": ("encode",),
    "grade_conditioning": ("generate", "validate", "predict"),
}
# What answers for an error in a column.
_BLAMED = {column.rpartition(".")[2]: method for method, columns in _FILLED.items() for column in columns} | {
    "predicted": "predict",
    "labels": "conditions",
    "channels": "channels",
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
        An object with some of `generate`, `reconstruct`, `encode`, `validate`, `statistics`, or a `Case`, with data.
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


class _Asked:
    """A user's object: its methods are called on copies, of which arrays are read-only, and errors name them."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def place(self, method: str) -> str:
        return f"{type(self._inner).__name__}.{method}"

    def attribute(self, name: str, default: Any = None) -> Any:
        with own_code(self.place(name)):
            return getattr(self._inner, name, default)

    def has(self, method: str) -> bool:
        return callable(self.attribute(method))

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        with own_code(self.place(method)), warnings.catch_warnings():
            # torch warns about tensors that share a read-only array, but this copy is not shared.
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            answer = getattr(self._inner, method)(*map(_protected, arguments), **options)
        if answer is None:
            raise InputError("returned nothing", where=self.place(method), fix="Return an answer for each sample.")
        return answer

    def count(self, method: str, answers: Any) -> int:
        with own_code(self.place(method)):
            return len(answers)

    def numbers(self, method: str, *batch: Any) -> AnyArray:
        """Numeric answers without NaN, one per sample of a batch."""
        answers, where = self.call(method, *batch), self.place(method)
        if (count := self.count(method, answers)) != len(batch[0]):
            what = f"gave {count} answers to {len(batch[0])} samples"
            raise InputError(what, where=where, fix="Return one for each sample, in their order.")
        array = as_numeric(answers, where)
        refuse_nan(array, where, fix="Fix the model.")
        return array


def _protected(argument: Any) -> Any:
    """A copy for a user's method, so that one that works in place cannot change the original."""
    if not isinstance(argument, np.ndarray):
        return argument if isinstance(argument, Graphs | Molecules) else deepcopy(argument)
    copied = argument.copy()
    copied.flags.writeable = False
    return copied


class _Collection:
    """A subject with its data: what sections need is asked of it, once."""

    def __init__(self, case: Case, options: dict[str, Any], threshold: float, progress: Any) -> None:
        self._case, self._options, self._threshold, self._progress = case, options, threshold, progress
        self._subject = _Asked(case.subject)
        self._judge = None if case.classifier is None else _Asked(case.classifier)
        if not any(self._subject.has(name) for name in _FILLED if name != "validate"):
            what = f"a {type(case.subject).__name__} is not a subject: it has none of {', '.join(_FILLED)}"
            raise InputError(what, where="subject", fix="See graphgauge.generation.subjects.")
        if self._judge is not None and not self._judge.has("predict"):
            raise InputError(f"a {type(case.classifier).__name__} has no predict", where="classifier")
        self._data, self._train = _samples(case.data), _samples(case.train)
        self._ordered = bool(self._subject.attribute("ordered", False))
        own = {} if self._data is None or self._data.conditions is None else {"data.conditions": self._data.conditions}
        named = self._subject.attribute("conditions")
        self._named = named is not None or bool(own)
        try:
            self._conditions = Conditions(own, named, ordered=self._ordered)
        except InputError as error:
            raise self._blamed(error) from None

    def sides(self, sections: Sequence[str] | str | None) -> Sides:
        """The answers that some sections need, or all."""
        names = metric_names(sections) or list(_ASKED)
        asked = {method for name in names for method in _ASKED[one_of("section", name, _ASKED)]}
        missing = {"generated": "no classifier given"}
        if self._judge is None and set(names) == {"grade_conditioning"}:
            asked = set()  # there is nothing to judge, and nothing is generated for it
        offered = {name for name in asked if name == "predict" or self._subject.has(name)}
        if asked:
            absent = [name for name in _FILLED if name in asked - offered]
            missing = {column: f"the subject has no {name}" for name in absent for column in _FILLED[name]}
        real = None if self._data is None else self._described("real", self._data, offered)
        generated, train = None, self._trained(offered)
        if "generate" in offered:
            generated = self._described("generated", self._generated(), offered - {"reconstruct"})
        classifier = None
        if "predict" in offered and self._judge is not None and generated is not None:
            generated, classifier = self._judged(self._judge, generated)
        try:
            return Sides.from_samples(
                real,
                generated,
                train,
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
        name = _BLAMED.get((error.where or "").partition("[")[0].rpartition(".")[2])
        asked = self._judge if name == "predict" else self._subject
        if name is None or asked is None:
            return error
        return InputError(error.what, where=asked.place(name), fix=error.fix)

    # ---- sides

    def _described(self, name: str, side: Samples, asked: set[str]) -> Samples:
        """A side with the answers of the subject to its samples."""
        items, codes = side.items, self._codes(name, side)
        columns: dict[str, Any] = {"conditions": codes if len(self._conditions) > 1 or self._named else None}
        if {"validate", "generate"} <= asked:
            columns["valid"] = self._subject.call("validate", items)
        if "statistics" in asked:
            columns["statistics"] = self._subject.call("statistics", items)
            self._progress(f"{name} statistics", len(items), len(items))
        if "encode" in asked:
            empty = np.empty((0, 1))
            columns["latents"] = self._batched(self._subject, "encode", f"encode {name}", items, codes, empty=empty)
        if "reconstruct" in asked and isinstance(items, np.ndarray):
            step = f"reconstruct {name}"
            columns["reconstructed"] = self._batched(self._subject, "reconstruct", step, items, codes, empty=items)
        return replace(side, **columns)

    def _trained(self, asked: set[str]) -> Samples | None:
        """The training samples, with what a memoriser's levels need unless there are too many to ask about."""
        side, wanted = self._train, asked & {"statistics", "encode"}
        if side is None or self._data is None or "generate" not in asked or not 0 < len(side) <= _MOST_DESCRIBED:
            return side
        if side.conditions is None and len(self._conditions) > 1:
            return side
        return replace(self._described("train", side, wanted), conditions=side.conditions)

    def _codes(self, name: str, side: Samples) -> Ints:
        if name == "generated":
            return np.asarray(side.conditions)
        if side.conditions is not None:
            return self._conditions.codes(side.conditions, f"{name}.conditions", len(side), strict=name != "train")
        if len(self._conditions) > 1:
            raise InputError("conditions are missing", where=name, fix="Pass Samples(items, conditions=…).")
        return np.zeros(len(side), np.int64)

    def _generated(self) -> Samples:
        """All attempts for all conditions, with the requested conditions."""
        total, place, parts = self._options["num_samples"], self._subject.place("generate"), []
        for code, label in enumerate(self._conditions.names):
            for start in range(0, total, BATCH):
                size = min(BATCH, total - start)
                seed = int(np.random.SeedSequence([self._options["seed"], code, start]).generate_state(1)[0])
                drawn = self._subject.call("generate", code, size, temperature=self._options["temperature"], seed=seed)
                if (count := self._subject.count("generate", drawn)) != size:
                    what = f"generate returned {count} samples of {label}, but {size} were requested"
                    raise InputError(what, where=place, fix="Return every attempt; validate() decides which are valid.")
                parts.append(_items(drawn, self._threshold, place))
            self._progress("generate", (code + 1) * total, len(self._conditions) * total)
        if len({type(part) for part in parts}) > 1:
            raise InputError("samples of several kinds", where=place, fix="Return one kind for all conditions.")
        codes = np.repeat(np.arange(len(self._conditions)), total)
        return Samples(_joined(parts, place), conditions=codes)

    def _leaks(self) -> bool | None:
        """Whether the encoder uses the condition: encodings of the same samples with the next condition differ."""
        if len(self._conditions) < 2 or self._data is None or not len(self._data):
            return None
        some = self._data.take(np.arange(min(_PROBED, len(self._data))))
        codes = self._codes("data", some)
        turns = (codes, codes, (codes + 1) % len(self._conditions))
        parts = [self._subject.numbers("encode", some.items, each).astype(float) for each in turns]
        first, again, other = np.split(_joined(parts, self._subject.place("encode")), 3)
        noise = np.abs(first - again).max(initial=0)
        return bool(np.abs(first - other).max(initial=0) > 2 * noise + 1e-6 * np.abs(first).max(initial=0))

    # ---- the classifier

    def _judged(self, judge: _Asked, generated: Samples) -> tuple[Samples, Samples | None]:
        """The classifier's answers to generated samples, and to real ones that it was not trained on."""

        def predicted(items: Any) -> AnyArray:
            return self._batched(judge, "predict", "classify", items, empty=np.empty(0, np.int64))

        generated, own = replace(generated, predicted=predicted(generated.items)), _samples(self._case.classifier_data)
        side = self._data if own is None else own
        if side is None:
            return generated, None
        if own is None and self._train is not None:
            marked = Sides.from_samples(side.items, train=self._train.items).real
            if marked is not None and len(marked) == len(side):
                side = side.take(~marked.in_training)
        return generated, Samples(conditions=self._codes("classifier_data", side), predicted=predicted(side.items))

    def _batched(self, asked: _Asked, method: str, step: str, *columns: Any, empty: AnyArray) -> AnyArray:
        """The numbers that a method answers to the rows of these columns, which it gets in batches."""
        parts, rows = [], len(columns[0])
        for start in range(0, rows, BATCH):
            places = np.arange(start, min(start + BATCH, rows))
            parts.append(asked.numbers(method, *(rows_of(column, places) for column in columns)))
            self._progress(step, int(places[-1]) + 1, rows)
        return np.asarray(_joined(parts, asked.place(method)) if parts else empty)


def _samples(value: Any) -> Samples | None:
    """Data as `Samples`; an array is converted, objects stay as the subject knows them."""
    side = as_side(value)
    return None if side is None else replace(side, items=_items(side.items, 0.5, "data"))


def _items(value: Any, threshold: float, where: str) -> Any:
    """Graphs and molecules as they are, or bits."""
    if isinstance(value, Graphs | Molecules):
        return value
    return list(value) if are_graph_objects(value) else thresholded(value, threshold, where)


def _joined(parts: list[Any], where: str) -> Any:
    """The answers of all calls together."""
    if isinstance(parts[0], Graphs | Molecules):
        return reduce(lambda first, second: first.joined(second), parts)
    if isinstance(parts[0], list):
        return [graph for part in parts for graph in part]
    shapes = dict.fromkeys(part.shape[1:] for part in parts)
    if len(shapes) > 1:
        text = " and ".join(map(str, shapes))
        raise InputError(f"answers of shapes {text}", where=where, fix="Return one shape for all samples.")
    return np.concatenate(parts)
