"""What a verification proves, field by field.

A field of a result is recomputed (from the inputs), pinned (by the hash of its content) or declared (by the author of
the file). A verification shows that the values follow from these inputs. It does not show where the inputs come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from graphgauge.study.text import shown

# Fields that are compared with those of a new computation.
_RECOMPUTED = (
    "status",
    "run.family",
    "run.tags",
    "conventions",
    "readings",
    "options",
    "results",
    "breakdowns",
    "side_files",
    "skipped",
    "findings",
    "notes",
    "error",
    "gates",
    "drawings",
)
# Fields that no computation can confirm.
_DECLARED = ("run.method", "run.dataset", "run.seed", "receipt.versions", "receipt.started", "receipt.seconds")
# How the values are computed from the inputs: the new computation follows it.
_FOLLOWED = ("receipt.study", "receipt.command")
# Fields that are checked as a whole, or field by field above.
_KNOWN = ("schema", "root", "run", "receipt", "receipt.inputs", "receipt.code")
EXPLAINED = (
    "The values follow from these inputs. Where the inputs come from, and everything that is declared, is the author's "
    "word."
)


@dataclass(frozen=True)
class Proof:
    """Names of fields; pinned ones with the beginning of their hash."""

    recomputed: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, list[str]]:
        return {"recomputed": list(self.recomputed), "pinned": list(self.pinned), "declared": list(self.declared)}

    @property
    def kinds(self) -> Proof:
        """The same without hashes, to group results that are proved alike."""
        names = (text.partition(" ")[0] for text in self.pinned)
        return Proof(self.recomputed, tuple(dict.fromkeys(names)), self.declared)

    def lines(self) -> list[str]:
        parts = (
            ("recomputed", self.recomputed),
            ("pinned by content", self.pinned),
            ("declared, not proved", self.declared),
        )
        return [f"  {name}: {', '.join(fields)}" for name, fields in parts if fields]


def proof(
    content: Mapping[str, Any], *, equal: bool, inputs: Iterable[Mapping[str, Any]], given: Iterable[str] = ()
) -> Proof:
    """What is proved of a result.

    `inputs` are the receipt's entries whose hashes were found to hold, `given` the inputs replaced by a given truth.
    """
    truths = [f"{shown(name)} (the given truth)" for name in given]
    pinned = *truths, *(f"{shown(entry['name'])} (sha256:{str(entry['hash'])[:12]})" for entry in inputs)
    there = [name for name in _RECOMPUTED if name.partition(".")[0] in content]
    # A result of a study is computed as the study says, whatever else its receipt contains.
    followed = [name for name in _FOLLOWED if name.partition(".")[2] in content["receipt"]][:1]
    declared = [name for name in _DECLARED if _has(content, name)]
    known = {*_KNOWN, *there, *followed, *declared}
    fields = [*content, *(f"receipt.{name}" for name in content["receipt"])]
    declared += [shown(name) for name in fields if name not in known]
    if equal:
        return Proof((*there, *followed), pinned, tuple(declared))
    return Proof((), pinned, (*there, *followed, *declared))


def _has(content: Mapping[str, Any], name: str) -> bool:
    part, _, field = name.partition(".")
    return isinstance(content.get(part), Mapping) and content[part].get(field) is not None
