"""Find real samples that a model was trained on and that are therefore not held out."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import InputError
from graphgauge.generation.distances import row_ids
from graphgauge.generation.graphs import Graphs, is_graphs
from graphgauge.generation.inputs import Bits, SampleReading, Samples, as_samples
from graphgauge.generation.isomorphism import graph_ids


class HeldOut(NamedTuple):
    """How many real samples are compared, and how many were left out because the generator was trained on them."""

    compared: int
    excluded: int


# Bytes of a sample's hash.
HASH_SIZE = 16
Hashes = NDArray[np.uint8]


def sample_hashes(samples: Any, name: str = "samples") -> Hashes:
    """A hash (n, 16) of the bits of each sample; it does not depend on position, condition or file."""
    bits = as_samples(samples, name, SampleReading(None if is_graphs(samples) else "bits"))
    if isinstance(bits, Graphs):
        raise InputError("graphs cannot be hashed", where=name, fix="Pass the graphs as train.")
    shape = str(bits.shape[1:]).encode()
    rows = np.packbits(bits.reshape(len(bits), -1), axis=1) if bits.size else np.empty((len(bits), 0), np.uint8)
    found = b"".join(blake2b(shape + row.tobytes(), digest_size=HASH_SIZE).digest() for row in rows)
    return np.frombuffer(found, np.uint8).reshape(len(bits), HASH_SIZE)


def learned(samples: Samples, train: Samples | None, hashes: Hashes | None = None) -> Bits:
    """Which samples are in the training set, given as samples or as hashes.

    Graphs are compared up to isomorphism. Samples of another kind or shape never match.
    """
    found = np.zeros(len(samples), bool)
    if train is not None and len(train) and len(samples):
        if isinstance(samples, Graphs) and isinstance(train, Graphs):
            found |= _among(*graph_ids(samples, train))
        elif isinstance(samples, np.ndarray) and isinstance(train, np.ndarray) and samples.shape[1:] == train.shape[1:]:
            found |= _among(*row_ids(_flat(samples), _flat(train)))
    if hashes is not None and len(hashes) and len(samples):
        found |= _among(_as_items(sample_hashes(samples)), _as_items(hashes))
    return found


def _among(items: NDArray[Any], known: NDArray[Any]) -> Bits:
    return np.asarray(np.isin(items, known))


def _flat(bits: Bits) -> Bits:
    return np.ascontiguousarray(bits.reshape(len(bits), -1))


def _as_items(hashes: Hashes) -> NDArray[Any]:
    return np.ascontiguousarray(hashes).view(np.dtype((np.void, HASH_SIZE))).ravel()
