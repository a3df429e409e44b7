"""The methods of a generator.

A subject is any object with some of these methods; no base class is needed.

Arrays are NumPy (torch tensors are accepted as well). `n` samples of one shape are an array (n, *shape) of bits; a
condition is an index into `conditions`. If a method is missing, the sections that need it are skipped. Samples are
passed as read-only copies; a method that works in place must copy them first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graphgauge.old.core.factory import own_code

Bits = NDArray[np.bool_]
Codes = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]


@runtime_checkable
class Conditioned(Protocol):
    """The names of the conditions, code 0 first.

    Optional attributes: `ordered` (bool, default False), whether neighbouring codes are similar; `channels`, names of
    the entries of a sample's first axis.
    """

    @property
    def conditions(self) -> Sequence[str]: ...


@runtime_checkable
class Reconstructs(Protocol):
    def reconstruct(self, samples: Bits, conditions: Codes) -> Floats | Bits:
        """Each sample after encoding and decoding, without noise: probabilities (n, *shape) in [0, 1], or bits."""
        ...


@runtime_checkable
class Encodes(Protocol):
    def encode(self, samples: Bits, conditions: Codes) -> Floats:
        """The latent vector (n, d) of each sample, without noise."""
        ...


@runtime_checkable
class Generates(Protocol):
    def generate(self, condition: int, n: int, *, temperature: float, seed: int) -> Floats | Bits | Sequence[Any]:
        """n attempts for one condition: probabilities or bits (n, *shape), or a list of n graphs. Return all attempts,
        not only valid ones: the share of valid attempts is measured first."""
        ...


@runtime_checkable
class Validates(Protocol):
    def validate(self, samples: Any) -> Sequence[bool | None] | Bits:
        """Whether each of n samples is valid; None counts as not valid."""
        ...


@runtime_checkable
class Describes(Protocol):
    def statistics(self, samples: Any) -> Mapping[str, NDArray[Any]]:
        """Named statistics (n,) of the samples, whose distributions are compared with those of real samples."""
        ...


@runtime_checkable
class Classifies(Protocol):
    """A classifier, separate from the subject, that judges the generated samples."""

    def predict(self, samples: Any) -> Codes:
        """The predicted condition (n,) of each of n samples."""
        ...


class Labelled(NamedTuple):
    """Real samples (n, *shape), or n graphs, and the condition of each: a code (n,), or its name.

    Examples
    --------
    >>> from graphgauge import generation
    >>> real = generation.Labelled([[1, 0], [0, 1]], ["easy", "hard"])
    >>> len(real.samples)
    2
    """

    samples: Any
    conditions: Any = None


@dataclass(frozen=True)
class Case:
    """A subject with its data, as returned by a `module:factory`.

    `data` are real samples that the subject was not trained on, `train` those it was. `classifier_data` are real
    samples that the classifier was not trained on, if they differ from `data`. `notes` go into the result.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import generation
    >>> class Coin:
    ...     def generate(self, condition, n, *, temperature, seed):
    ...         return np.random.default_rng(seed).random((n, 2)) < 0.5
    >>> real = generation.Labelled([[1, 0], [0, 1]], ["easy", "hard"])
    >>> generation.Case(Coin(), real, name="coin").name
    'coin'
    """

    subject: Any
    data: Labelled | None = None
    train: Labelled | None = None
    classifier: Classifies | None = None
    classifier_data: Labelled | None = None
    name: str | None = None
    notes: tuple[str, ...] = ()


PROTOCOLS: dict[str, type[Any]] = {
    "conditions": Conditioned,
    "reconstruct": Reconstructs,
    "encode": Encodes,
    "generate": Generates,
    "validate": Validates,
    "statistics": Describes,
}


def offers(subject: Any) -> dict[str, bool]:
    """The protocols that a subject implements."""
    found = {}
    for name, protocol in PROTOCOLS.items():
        with own_code(f"{type(subject).__name__}.{name}"):  # looking up a property calls it
            found[name] = isinstance(subject, protocol)
    return found
