"""Which inputs of a family are the truth: methods are comparable only on the same truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from graphgauge.old.core.family import family, family_names, loaded


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


class Reference(Truth):
    """A level that depends on the truth alone, in place of its files."""

    def __str__(self) -> str:
        return f"{float(self.hashes[0]):.4g}"


def may_be_truth(name: str) -> bool:
    """Whether an input of this name is part of the truth in a loaded family; `groups.relation` is one of `groups`."""
    forms = (form for declared in loaded() for form in declared.truths.values())
    return any(_kind(name) in (*form.decisive, *form.given) for form in forms)


def truths_of(name: str, receipt: Any) -> dict[str, Truth]:
    """The truth of a result as recorded in its receipt; empty if unknown.

    A file with truth and answers, such as a table, has the hash of its truth in the field `truth`.
    """
    inputs = _inputs(receipt)
    mixed = {
        name: Truth(tuple(entry["path"] for entry in entries), tuple(str(entry["truth"]) for entry in entries))
        for name, entries in inputs.items()
        if all(isinstance(entry.get("truth"), str) for entry in entries)
    }
    if mixed:
        return mixed
    known = family(name).truths if name in family_names() else {}
    form = next((form for by, form in known.items() if by in inputs), None)
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
