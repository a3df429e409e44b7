"""The literature that definitions cite: the entries of references.bib by key."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Reference:
    key: str
    kind: str
    fields: tuple[tuple[str, str], ...]

    @property
    def short(self) -> str:
        entry = dict(self.fields)
        names = [name.partition(",")[0] for name in entry["author"].split(" and ")]
        who = names[0] if len(names) == 1 else f"{names[0]} and {names[1]}" if len(names) == 2 else f"{names[0]} et al."
        return f"{who} {entry['year']}"

    @property
    def bibtex(self) -> str:
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in self.fields)
        return f"@{self.kind}{{{self.key},\n{lines}\n}}"


def parse(bibliography: str) -> dict[str, Reference]:
    """The entries of a bibliography with one field per line, in the form in which `Reference.bibtex` writes them."""
    found = {}
    for entry in bibliography.split("\n}")[:-1]:
        head, *lines = entry[entry.find("@") :].split("\n")
        kind, opened, key = head.rstrip(",").partition("{")
        fields = [line.rstrip(",").partition(" = {") for line in lines]
        if opened and all(name.startswith("  ") and value.endswith("}") for name, _, value in fields):
            found[key] = Reference(key, kind[1:], tuple((name.strip(), value[:-1]) for name, _, value in fields))
    return found


REFERENCES = parse(Path(__file__).with_name("references.bib").read_text(encoding="utf-8"))


def cite(bibliography: str) -> None:
    """Add entries, for the metrics of a family in another package; a key that is known stays as it is.

    Entries are written as in references.bib: one field per line, and the closing brace on a line of its own.
    """
    found = parse(bibliography)
    incomplete = [key for key, each in found.items() if not {"author", "year"} <= dict(each.fields).keys()]
    if incomplete or len(found) != len(re.findall(r"^\s*@", bibliography, re.MULTILINE)):
        raise ValueError(f"not an entry with author and year, one field per line: {bibliography.strip()}")
    for key, reference in found.items():
        REFERENCES.setdefault(key, reference)
