"""Which inputs of a family are the truth: methods are comparable only on the same truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TruthInputs:
    """The truth in one form of input: `decisive` inputs belong to it even if absent, `given` ones only if present."""

    decisive: tuple[str, ...]
    given: tuple[str, ...] = ()


@dataclass(frozen=True)
class Truth:
    """A receipt's entry for one input of the truth; an input that was not given has neither files nor hashes."""

    paths: tuple[str, ...]
    hashes: tuple[str, ...]

    def __str__(self) -> str:
        if not self.paths:
            return "none"
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0]!r}{more} ({self.hashes[0][:12]}…)"


# By family, and by an input that only this form has. Tables and saved states mix truth and answers, and explanations
# contain their questions, so their hashes say nothing about the truth alone.
TRUTHS: dict[str, dict[str, TruthInputs]] = {
    "ranking": {
        "pos_scores": TruthInputs(("mask",), ("offsets", "groups", "cluster")),
        "labels": TruthInputs(("labels", "queries"), ("groups", "cluster")),
        "targets": TruthInputs(("targets", "known_values", "known_offsets"), ("groups", "cluster")),
    },
    "recovery": {"true": TruthInputs(("true",))},
    "forecasting": {"true": TruthInputs(("true", "mask"), ("naive",))},
    "generation": {
        "real": TruthInputs(("real",), ("real_conditions", "train")),
        "data": TruthInputs(("data",), ("train", "classifier_checkpoint")),
    },
    "explanation": {},
    "evolution": {"labels": TruthInputs(("labels",), ("node_ids", "test_edges"))},
}
_NAMES = {name for forms in TRUTHS.values() for form in forms.values() for name in (*form.decisive, *form.given)}


def may_be_truth(name: str) -> bool:
    """Whether an input of this name is part of the truth in some family; `groups.relation` is one of `groups`."""
    return _kind(name) in _NAMES


def truths_of(family: str, receipt: Any) -> dict[str, Truth]:
    """The truth of a result as recorded in its receipt; empty if unknown."""
    inputs = _inputs(receipt)
    form = next((form for by, form in TRUTHS.get(family, {}).items() if by in inputs), None)
    if form is None:
        return {}
    found = {name: _truth(entries) for name, entries in inputs.items() if _kind(name) in (*form.decisive, *form.given)}
    answers = {entry["hash"] for name, entries in inputs.items() if name not in found for entry in entries}
    absent = {name: Truth((), ()) for name in form.decisive if name not in inputs}
    # An archive that contains truth and answers differs for every method.
    return absent | {name: truth for name, truth in found.items() if not answers & set(truth.hashes)}


def _truth(entries: Iterable[Mapping[str, Any]]) -> Truth:
    # The hash of an array is the same in every archive; the hash of the archive is not.
    pairs = [(str(entry["path"]), str(entry.get("content") or entry["hash"])) for entry in entries]
    return Truth(tuple(path for path, _ in pairs), tuple(digest for _, digest in pairs))


def _inputs(receipt: Any) -> dict[str, list[Mapping[str, Any]]]:
    """The valid entries of each input."""
    entries = receipt.get("inputs") if isinstance(receipt, dict) else None
    found: dict[str, list[Mapping[str, Any]]] = {}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in ("name", "path", "hash")):
            found.setdefault(entry["name"], []).append(entry)
    return found


def _kind(name: str) -> str:
    return name.partition(".")[0]
