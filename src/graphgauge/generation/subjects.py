"""The methods of a generator, and checkpoints, which name a registered one.

A subject is any object with some of these methods; no base class is needed.

Arrays are NumPy (torch tensors are accepted as well). `n` samples of one shape are an array (n, *shape) of bits; a
condition is an index into `conditions`. If a method is missing, the sections that need it are skipped. Samples are
passed as read-only copies; a method that works in place must copy them first.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.core.factory import own_code

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
    """A subject with its data, as returned by a registered loader or a `module:factory`.

    `data` are real samples that the subject was not trained on, `train` those it was. `classifier_data` are real
    samples that the classifier was not trained on, if they differ from `data`. `seen` and `classifier_seen` are hashes
    (by `overlap.sample_hashes`) of the samples that each was trained on; real samples among them are left out and
    counted. `notes` go into the result.

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
    seen: NDArray[np.uint8] | None = None
    classifier_seen: NDArray[np.uint8] | None = None
    notes: tuple[str, ...] = ()


# A checkpoint names its subject by one of these keys; a file cannot name code to import.
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
    """The protocols that a subject implements."""
    found = {}
    for name, protocol in PROTOCOLS.items():
        with own_code(f"{type(subject).__name__}.{name}"):  # looking up a property calls it
            found[name] = isinstance(subject, protocol)
    return found


FORMAT = "graphgauge/checkpoint/1"
_PARTS: dict[str, type[Any]] = {"subject": str, "role": str, "config": dict, "weights": dict}


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """The content of a checkpoint: tensors and plain values. No code from the file is run.

    The path is added as `path`, for messages.
    """
    where = str(path)
    if not Path(path).is_file():
        raise InputError("no such file", where=where, fix="Train one with `graphgauge zoo NAME train`.")
    torch = need("torch", "reading a checkpoint")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a damaged file, which the error below reports
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged or hostile file may raise anything
        kind = type(error).__name__
        raise InputError(
            f"not a checkpoint of weights ({kind}); it was not run",
            where=where,
            fix="Checkpoints may contain only tensors and plain values, not code.",
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else type(content).__name__
        raise InputError(f"not a checkpoint: its format is {found!r:.80}", where=where, fix=f"Expected {FORMAT}.")
    absent = [name for name, kind in _PARTS.items() if not isinstance(content.get(name), kind)]
    if absent:
        raise InputError(f"the checkpoint lacks {' and '.join(absent)}", where=where, fix="Train it again.")
    if content["subject"] not in REGISTERED:
        known = ", ".join(REGISTERED)
        raise InputError(f"names the unknown subject {content['subject']!r:.80}", where=where, fix=f"Known: {known}.")
    return {**content, "path": where}


def open_checkpoint(
    path: str | Path, *, data: str | Path | None = None, classifier: str | Path | None = None, device: str = "cpu"
) -> Case:
    """The subject of a checkpoint, with its data and a classifier from a second checkpoint.

    Parameters
    ----------
    path
        The checkpoint of a generator of the zoo, which names its subject.
    data
        Its data, as the subject reads them.
    classifier
        The checkpoint of a classifier.
    device
        The device of the generator, `cpu` or `cuda`.

    Returns
    -------
    Case
        What `collect` takes.

    Raises
    ------
    InputError
        If the file cannot be read, or names no known subject.

    Examples
    --------
    >>> from graphgauge import generation
    >>> from graphgauge.core.errors import InputError
    >>> try:
    ...     generation.open_checkpoint("missing.pth")
    ... except InputError as error:
    ...     print(error)
    missing.pth: no such file. Train one with `graphgauge zoo NAME train`.
    """
    content = read_checkpoint(path)
    judge = None if classifier is None else read_checkpoint(classifier)
    if judge is not None and judge["subject"] != content["subject"]:
        raise InputError(f"classifies {judge['subject']}, not {content['subject']}", where=str(classifier))
    module, _, name = REGISTERED[content["subject"]].partition(":")
    load = getattr(import_module(module), name)
    case: Case = load(content, data=None if data is None else str(data), classifier=judge, device=device)
    return case


def best_device(cpu: bool) -> str:
    """The device a model runs on: the accelerator if there is one and it is allowed."""
    if cpu:
        return "cpu"
    return "cuda" if need("torch", "running a model").cuda.is_available() else "cpu"
