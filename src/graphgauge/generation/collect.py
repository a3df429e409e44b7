"""Query a generator and collect its answers in a table. Each is requested once, and only if a section needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import whole_number
from graphgauge.generation.asking import Respondent, joined
from graphgauge.generation.capabilities import PARTS
from graphgauge.generation.graph_reading import as_list
from graphgauge.generation.graphs import Graphs, is_graphs
from graphgauge.generation.inputs import Codes, Samples, as_samples, read_conditions, thresholded
from graphgauge.generation.overlap import learned
from graphgauge.generation.subjects import PROTOCOLS, Case, Labelled, offers
from graphgauge.generation.table import SampleTable
from graphgauge.old.core.factory import own_code
from graphgauge.old.core.metric import sections as registered

# Batch size for calls of the model.
BATCH = 512
# Number of samples that are encoded again to test whether the encoder uses the condition.
_PROBED = 256

# Called with the name of the step, the number of answers so far, and the total.
Progress = Callable[[str, int, int], None]

# The methods of a subject that each section needs.
_ASKED = {
    "reconstruction": ("reconstruct",),
    "diversity": ("generate",),
    "statistical": ("generate", "statistics", "encode"),
    "latent_space": ("encode",),
    "conditioning": ("generate", "classifier"),
}
# Training samples are described for the levels of a memoriser up to this number.
_MOST_DESCRIBED = 10_000
# The method that provides a part of the table.
_METHODS = {
    "reconstructed": "reconstruct",
    "latents": "encode",
    "generated_latents": "encode",
    "statistics": "statistics",
    "generated_statistics": "statistics",
    "generated": "generate",
    "valid": "validate",
    "real_valid": "validate",
    "excluded_valid": "validate",
    "excluded_statistics": "statistics",
    "excluded_latents": "encode",
    "predicted": "predict",
    "train_latents": "encode",
    "train_statistics": "statistics",
    "classifier_predicted": "predict",
    "labels": "conditions",
    "channels": "channels",
}


def collect(
    subject: Any,
    *,
    data: Labelled | tuple[Any, Any] | None = None,
    train: Labelled | tuple[Any, Any] | Any = None,
    classifier: Any = None,
    classifier_data: Labelled | tuple[Any, Any] | None = None,
    num_samples: int = 100,
    temperature: float = 1.0,
    threshold: float = 0.5,
    seed: int = 0,
    sections: Sequence[str] | str | None = None,
    progress: Progress | None = None,
) -> SampleTable:
    """Collect everything that `evaluate` needs from a subject: encodings, reconstructions, samples of every condition.

    Parameters
    ----------
    subject
        An object with some of the methods in `generation.subjects`, or a `Case`, which includes data.
    data, train
        Real samples with their conditions, as a pair: those that the subject was not trained on, and those it was.
    classifier
        An object with `predict`, used by `conditioning`; its accuracy is measured on `classifier_data`, or on `data`.
    num_samples
        Attempts for each condition; all of them are kept, valid or not.
    temperature
        Passed on to `generate`.
    threshold
        Probabilities greater than this become bits.
    sections
        Collect only what these sections of the evaluation need.
    classifier_data
        Real samples with conditions that the classifier was not trained on.
    seed
        Seed of the generator's draws; each condition has its own, derived from it.
    progress
        Where progress is reported; silent by default.

    Returns
    -------
    SampleTable
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
    >>> table = generation.collect(Coins(), num_samples=20)
    >>> generation.evaluate(table)["validity_rate"].value
    0.9
    """
    case = subject if isinstance(subject, Case) else Case(subject)
    given = {"data": data, "train": train, "classifier": classifier, "classifier_data": classifier_data}
    case = replace(case, **{name: value for name, value in given.items() if value is not None})
    options = _checked(num_samples, temperature, threshold, seed)
    return _Collection(case, options, progress or (lambda stage, done, total: None)).table(sections)


class _Collection:
    """A subject with its data; each answer is asked for once, and only if a section needs it."""

    def __init__(self, case: Case, options: dict[str, Any], progress: Progress) -> None:
        self.offers = offers(case.subject)
        if not any(found for name, found in self.offers.items() if name not in ("conditions", "validate")):
            raise InputError(
                f"a {type(case.subject).__name__} is not a subject: it has none of the methods of a subject",
                where="subject",
                fix="See graphgauge.generation.subjects.",
            )
        judge = case.classifier
        self._subject, self._classifier = Respondent(case.subject), None if judge is None else Respondent(judge)
        if self._classifier is not None and not callable(self._classifier.attribute("predict")):
            raise InputError(f"a {type(judge).__name__} has no predict", where="classifier")
        self._data, self._judged = _pair(case.data, "data"), _pair(case.classifier_data, "classifier_data")
        self._train = _pair(case.train, "train", alone=True)
        self._notes, self.options, self._progress = case.notes, options, progress

    def table(self, sections: Sequence[str] | str | None) -> SampleTable:
        """The answers that some sections need, or all."""
        try:
            return self._table(_named(sections) if sections else set(_ASKED))
        except InputError as error:
            raise self._blamed(error) from error.__cause__

    def _table(self, names: set[str]) -> SampleTable:
        unjudged = names & {"conditioning"} if self._classifier is None else set()
        names -= unjudged
        asked = {part for name in names for part in _ASKED.get(name, tuple(PROTOCOLS)) if self.offers.get(part, True)}
        missing = {name: f"the subject has no {name}" for name, found in self.offers.items() if not found}
        if unjudged and "generate" not in asked:
            missing.setdefault("generate", PARTS["classifier"].reason)  # so nothing had to be generated
        given: dict[str, Any] = {"train": self._learned_from, **self._training(asked)}
        if self._real is not None:
            given |= {"real": self._real, "real_conditions": self._real_codes, "excluded": self._excluded}
            given |= {"excluded_samples": self._left} if len(self._excluded) else {}
            if "reconstruct" in asked and isinstance(self._real, Graphs):
                missing["reconstruct"] = PARTS["bits"].reason
            elif "reconstruct" in asked:
                given["reconstructed"] = self._reconstructed
            few = 0 < len(self._excluded) <= _MOST_DESCRIBED
            if "encode" in asked:
                given |= {"latents": self._latents, "leaks": self._leaks}
                given |= {"excluded_latents": self._excluded_latents} if few else {}
            if "statistics" in asked:
                given["statistics"] = self._statistics
                given |= {"excluded_statistics": self._excluded_statistics} if few else {}
            if "generate" in asked and self.offers["validate"]:
                given |= {"real_valid": self._real_valid, "excluded_valid": self._excluded_valid}
        if "generate" in asked:
            given |= {"generated": self._attempts[0], "conditions": self._attempts[1], "valid": self._valid}
            if "encode" in asked:
                given["generated_latents"] = self._generated_latents
            if "statistics" in asked:
                given["generated_statistics"] = self._generated_statistics
            if "classifier" in asked:
                given |= self._answers
        return SampleTable.of(
            labels=self.labels,
            ordered=self._ordered,
            channels=None if isinstance(self._real, Graphs) else self._subject.attribute("channels"),
            options=self.options,
            missing=missing,
            notes=self._notes,
            **given,
        )

    def _blamed(self, error: InputError) -> InputError:
        """Report an error in a part of the table under the name of the method that provided it."""
        method = _METHODS.get((error.where or "").partition("[")[0])
        if method is None:
            return error
        asked = self._classifier if method == "predict" else self._subject
        assert asked is not None
        return InputError(error.what, where=asked.place(method), fix=error.fix)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The subject's names of conditions; without any, those that occur in the data."""
        if self.offers["conditions"]:
            return read_conditions({}, self._subject.attribute("conditions", ()))[0]
        if self._data is None:
            return read_conditions({}, None)[0]
        occurring = {"data": (self._data.conditions, len(self._data.samples))}
        return read_conditions(occurring, None, ordered=self._ordered)[0]

    @property
    def _ordered(self) -> bool:
        return bool(self._subject.attribute("ordered", False))

    @cached_property
    def _learned_from(self) -> Samples | None:
        return None if self._train is None else as_samples(self._train.samples, "train")

    def _training(self, asked: set[str]) -> dict[str, Any]:
        """What a memoriser's levels need of the training samples, unless there are too many to ask about."""
        if self._train is None or self._learned_from is None or "generate" not in asked:
            return {}
        if self._train.conditions is None and len(self.labels) > 1:
            return {}
        given: dict[str, Any] = {"train_conditions": self._train.conditions}
        if not 0 < len(self._learned_from) <= _MOST_DESCRIBED:
            return given
        if "statistics" in asked:
            given["train_statistics"] = self._train_statistics
        if "encode" in asked and self._real is not None:
            given["train_latents"] = self._train_latents
        return given

    @cached_property
    def _trained_on(self) -> Any:
        """The training samples as they are passed to the subject."""
        assert self._train is not None
        return list(self._train.samples) if isinstance(self._learned_from, Graphs) else self._learned_from

    @cached_property
    def _train_statistics(self) -> Any:
        return self._described("training statistics", self._trained_on)

    @cached_property
    def _train_latents(self) -> Any:
        assert self._train is not None
        codes = self._codes(self._train, "train", len(self._trained_on))
        return self._encoded("encode training", self._trained_on, codes)

    @cached_property
    def _given(self) -> Samples | None:
        """The real samples as given."""
        return None if self._data is None else as_samples(self._data.samples, "data")

    @cached_property
    def _held_out(self) -> Codes:
        """The indices of real samples that the subject was not trained on."""
        assert self._given is not None
        return np.flatnonzero(~learned(self._given, self._learned_from))

    @cached_property
    def _real(self) -> Samples | None:
        if self._given is None:
            return None
        return _taken(self._given, self._held_out)

    @cached_property
    def _shown(self) -> Any:
        """The real samples that are passed to the subject: bits, or graphs as given."""
        assert self._data is not None
        if not isinstance(self._real, Graphs) or isinstance(self._data.samples, Graphs):
            return self._real
        return [self._data.samples[place] for place in self._held_out]

    @cached_property
    def _given_codes(self) -> Codes:
        assert self._data is not None
        assert self._given is not None
        return self._codes(self._data, "data", len(self._given))

    @property
    def _real_codes(self) -> Codes:
        return self._given_codes[self._held_out]

    @property
    def _excluded(self) -> Codes:
        return np.delete(self._given_codes, self._held_out)

    def _codes(self, pair: Labelled, name: str, rows: int) -> Codes:
        if pair.conditions is None and len(self.labels) == 1:
            return np.zeros(rows, np.int64)
        return read_conditions({name: (pair.conditions, rows)}, self.labels)[1][name]

    @cached_property
    def _reconstructed(self) -> Any:
        threshold, place = self.options["threshold"], self._subject.place("reconstruct")
        parts = [
            thresholded(self._subject.answers("reconstruct", *batch), threshold, place)
            for batch in self._batches("reconstruct", self._shown, self._real_codes)
        ]
        return joined(parts, place) if parts else self._real

    @cached_property
    def _latents(self) -> Any:
        return self._encoded("encode", self._shown, self._real_codes)

    @cached_property
    def _leaks(self) -> bool | None:
        """Whether the encoder uses the condition: encodings of the same samples with the next condition differ."""
        if len(self.labels) < 2 or not len(self._shown):
            return None
        samples, codes = self._shown[:_PROBED], self._real_codes[:_PROBED]
        given, again, other = (
            self._subject.numbers("encode", samples, asked).astype(float)
            for asked in (codes, codes, (codes + 1) % len(self.labels))
        )
        if not given.shape == again.shape == other.shape:
            raise InputError(
                f"vectors of shapes {given.shape}, {again.shape} and {other.shape} for the same samples",
                where=self._subject.place("encode"),
            )
        noise = np.abs(given - again).max(initial=0)
        return bool(np.abs(given - other).max(initial=0) > 2 * noise + 1e-6 * np.abs(given).max(initial=0))

    @cached_property
    def _statistics(self) -> Any:
        return self._described("real statistics", self._shown)

    @cached_property
    def _attempts(self) -> tuple[Any, Codes]:
        """All attempts for all conditions, and the requested conditions."""
        total, place = self.options["num_samples"], self._subject.place("generate")
        parts: list[Any] = []
        for code, label in enumerate(self.labels):
            for start in range(0, total, BATCH):
                size = min(BATCH, total - start)
                drawn = self._subject.answer(
                    "generate", code, size, temperature=self.options["temperature"], seed=self._seed(code, start)
                )
                with own_code(place):
                    drawn = drawn if isinstance(drawn, Iterator) else as_list(drawn)
                count = self._subject.length("generate", drawn)
                if count != size:
                    raise InputError(
                        f"generate returned {count} samples of {label}, but {size} were requested",
                        where=place,
                        fix="Return every attempt; validate() decides which are valid.",
                    )
                graphs = is_graphs(drawn)
                parts.append(list(drawn) if graphs else thresholded(drawn, self.options["threshold"], place))
            self._progress("generate", (code + 1) * total, len(self.labels) * total)
        codes = np.repeat(np.arange(len(self.labels)), total)
        if len({isinstance(part, list) for part in parts}) > 1:
            raise InputError("graphs of some conditions and arrays of others", where=place)
        if isinstance(parts[0], list):
            return [graph for part in parts for graph in part], codes
        return joined(parts, place), codes

    def _seed(self, *key: int) -> int:
        return int(np.random.SeedSequence([self.options["seed"], *key]).generate_state(1)[0])

    @cached_property
    def _valid(self) -> Any:
        return self._subject.whole_answer("validate", self._attempts[0]) if self.offers["validate"] else None

    @cached_property
    def _real_valid(self) -> Any:
        """Real samples pass the same rules as generated ones."""
        return self._subject.whole_answer("validate", self._shown) if len(self._shown) else np.empty(0, bool)

    @property
    def _left(self) -> Samples:
        """The real samples that the subject was trained on."""
        assert self._given is not None
        return _taken(self._given, np.setdiff1d(np.arange(len(self._given)), self._held_out))

    @cached_property
    def _excluded_valid(self) -> Any:
        """The validity of the real samples that were left out."""
        return self._subject.whole_answer("validate", self._shown_left) if len(self._excluded) else None

    @property
    def _shown_left(self) -> Any:
        """The real samples that were left out, as a subject is shown them."""
        assert self._data is not None
        assert self._given is not None
        if isinstance(self._given, Graphs) and not isinstance(self._data.samples, Graphs):
            places = np.setdiff1d(np.arange(len(self._given)), self._held_out)
            return [self._data.samples[place] for place in places]
        return self._left

    @cached_property
    def _excluded_statistics(self) -> Any:
        return self._described("statistics of excluded samples", self._shown_left)

    @cached_property
    def _excluded_latents(self) -> Any:
        return self._encoded("encode excluded", self._shown_left, self._excluded)

    @cached_property
    def _generated_latents(self) -> Any:
        return self._encoded("encode generated", *self._attempts)

    @cached_property
    def _generated_statistics(self) -> Any:
        return self._described("statistics", self._attempts[0])

    def _described(self, stage: str, samples: Any) -> Any:
        found = self._subject.whole_answer("statistics", samples)
        self._progress(stage, len(samples), len(samples))
        return found

    @cached_property
    def _answers(self) -> dict[str, Any]:
        """The classifier's predictions on generated samples, and on real ones that it was not trained on."""
        answers: dict[str, Any] = {"predicted": self._predicted(self._attempts[0])}
        if self._unseen is not None:
            samples, codes = self._unseen
            answers |= {"classifier_labels": codes, "classifier_predicted": self._predicted(samples)}
        return answers

    @cached_property
    def _unseen(self) -> tuple[Any, Codes] | None:
        """Real samples that the classifier was not trained on, and their codes."""
        if self._judged is not None:
            given = as_samples(self._judged.samples, "classifier_data")
            samples: Any = list(self._judged.samples) if isinstance(given, Graphs) else given
            return samples, self._codes(self._judged, "classifier_data", len(given))
        return None if self._real is None else (self._shown, self._real_codes)

    def _predicted(self, samples: Any) -> Any:
        assert self._classifier is not None
        parts = [self._classifier.numbers("predict", part) for (part,) in self._batches("classify", samples)]
        return joined(parts, self._classifier.place("predict")) if parts else np.empty(0, np.int64)

    def _encoded(self, stage: str, samples: Any, codes: Codes) -> Any:
        parts = [self._subject.numbers("encode", *batch) for batch in self._batches(stage, samples, codes)]
        return joined(parts, self._subject.place("encode")) if parts else np.empty((0, 1))

    def _batches(self, stage: str, *columns: Any) -> Iterator[tuple[Any, ...]]:
        rows = len(columns[0])
        for start in range(0, rows, BATCH):
            yield tuple(column[start : start + BATCH] for column in columns)
            self._progress(stage, min(start + BATCH, rows), rows)


def _taken(samples: Samples, places: Codes) -> Samples:
    return samples.take(places) if isinstance(samples, Graphs) else samples[places]


def _named(sections: Sequence[str] | str) -> set[str]:
    """The canonical names of the requested sections."""
    names = [sections] if isinstance(sections, str) else sections
    known = {name: item.name for item in registered("generation") for name in (item.name, *item.aliases)}
    return {known[one_of("section", name, known)] for name in names}


def _pair(value: Any, name: str, *, alone: bool = False) -> Labelled | None:
    """Samples with their conditions; if conditions do not matter, samples may be given alone."""
    if value is None or isinstance(value, Labelled):
        return value
    if isinstance(value, tuple) and len(value) == 2:
        return Labelled(*value)
    if alone:
        return Labelled(value)
    raise InputError("expected a pair (samples, conditions)", where=name)


def _checked(num_samples: Any, temperature: Any, threshold: Any, seed: Any) -> dict[str, Any]:
    if not isinstance(temperature, _NUMBERS) or not 0 < temperature < np.inf:
        raise OptionError(f"temperature must be a positive number, not {temperature!r}")
    if not isinstance(threshold, _NUMBERS) or not 0 <= threshold < 1:
        raise OptionError(f"threshold must be in [0, 1), not {threshold!r}")
    return {
        "num_samples": whole_number("num_samples", num_samples, 1),
        "temperature": float(temperature),
        "threshold": float(threshold),
        "seed": whole_number("seed", seed),
    }


_NUMBERS = (int, float, np.integer, np.floating)
