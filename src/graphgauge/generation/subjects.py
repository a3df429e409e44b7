"""What can be asked of a generator. A subject is any object that offers some of these; nothing is inherited.

Arrays are NumPy (torch tensors are read as well). `n` samples of one shape stand in an array (n, *shape) of bits; a
condition is its number, an index into `conditions`. A method that is not there leaves out the sections that need it.
Samples are handed over as read-only copies; a method that works in place makes a copy of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.factory import own_code

Bits = NDArray[np.bool_]
Codes = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]


@runtime_checkable
class Conditioned(Protocol):
    """Knows what can be asked for: the names of the conditions, code 0 first.

    Optional beside it: `ordered` (bool, default False) says that neighbouring codes are neighbours; `channels` names
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
        """n attempts for one condition: probabilities or bits (n, *shape), or a list of n graphs. Never fewer, never
        only the good ones: the share of valid attempts is the first thing that is measured."""
        ...


@runtime_checkable
class Validates(Protocol):
    def validate(self, samples: Any) -> Sequence[bool | None] | Bits:
        """Whether each of n samples keeps the rules; a sample without an answer (None) is not valid."""
        ...


@runtime_checkable
class Describes(Protocol):
    def statistics(self, samples: Any) -> Mapping[str, NDArray[Any]]:
        """Named numbers (n,) of each sample, whose distributions are compared with those of real samples."""
        ...


@runtime_checkable
class Classifies(Protocol):
    """A classifier, which is not part of the subject: it judges what the subject generates."""

    def predict(self, samples: Any) -> Codes:
        """The condition (n,) that each of n samples looks like."""
        ...


class Labelled(NamedTuple):
    """Real samples (n, *shape), or n graphs, and the condition of each: a code (n,), or its name."""

    samples: Any
    conditions: Any = None


@dataclass(frozen=True)
class Case:
    """A subject with what it is measured against; what a registered loader or a `module:factory` returns.

    `data` are real samples that the subject was not trained on, `train` those it was. `classifier_data` are real
    samples that the classifier was not trained on, where they are not `data`. `seen` and `classifier_seen` are hashes
    of the samples that each of them learned from, by `overlap.sample_hashes`: what is among them is left out and
    counted. `notes` go into the result.
    """

    subject: Any
    data: Labelled | None = None
    train: Labelled | None = None
    classifier: Classifies | None = None
    classifier_data: Labelled | None = None
    name: str | None = None
    seen: NDArray[np.uint8] | None = None
    classifier_seen: NDArray[np.uint8] | None = None
    notes: tuple[str, ...] = ()


# A checkpoint names its subject by one of these; what stands in a file never says what code to import.
REGISTERED = {"moonboard": "graphgauge.zoo.moonboard.subject:load"}

PROTOCOLS: dict[str, type[Any]] = {
    "conditions": Conditioned,
    "reconstruct": Reconstructs,
    "encode": Encodes,
    "generate": Generates,
    "validate": Validates,
    "statistics": Describes,
}


def offers(subject: Any) -> dict[str, bool]:
    """Which of the protocols a subject keeps."""
    found = {}
    for name, protocol in PROTOCOLS.items():
        with own_code(f"{type(subject).__name__}.{name}"):  # looking for a property calls it
            found[name] = isinstance(subject, protocol)
    return found
