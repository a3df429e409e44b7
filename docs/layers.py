"""The layers of the package: their order, what the code imports, and the table and drawing of docs/architecture.md.

`python docs/layers.py` brings docs/layers.inc and docs/_static/layers.svg up to date. The tests fail if they are not,
or if a package imports one that is not below it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parent
SOURCE = DOCS.parent / "src" / "graphgauge"
TABLE, DRAWING = DOCS / "layers.inc", DOCS / "_static" / "layers.svg"
NAME = "graphgauge"

FAMILIES = ("ranking", "recovery", "forecasting", "generation", "explanation", "evolution")
# From bottom to top: a package imports only packages of lower layers. Packages of one layer do not import each other.
LAYERS: Mapping[tuple[str, ...], str] = {
    ("core",): "what all parts share: the registries of metrics and checks, `Result` and `Evaluation` with their text, "
    "mergeable states, result files, the set-up of figures and pages, errors that say how to fix the input",
    ("kernels",): "the inner loops, compiled where that pays; the tests check each against a NumPy twin",
    ("io",): "one reader per file format; no reader unpickles",
    ("stats",): "intervals, aggregation over runs, paired tests, many methods, power; runs from folders of results",
    FAMILIES: "one family each: its declaration, inputs and their validation, metrics, `evaluate()`, checks and figure",
    ("testing",): "the laws of metrics, for families in other packages",
    ("audit",): "runs the checks of all families, and checks many results together",
    ("engines",): "the same fold on many machines: Dask, torch.distributed",
    ("integrations",): "results in torchmetrics, MLflow, Weights & Biases",
    ("study",): "`study.toml`: read, plan, run in processes with resume, judge, verify",
    ("report",): "many results as an HTML page and figures",
    ("zoo",): "real systems to evaluate, small enough to train on a laptop",
    ("demo",): "the built-in study; each family adds a module with its name",
    ("cli",): "one module per command, loaded when it is called",
}
# Imports of a higher layer by name, each with its reason.
ALLOWED: Mapping[tuple[str, str], str] = {
    ("core/family.py", "families"): "registries load a family by its name, on request, as they would a plug-in",
}

# Always imported first, and the entry points, which load packages by name on request.
_ROOT = ("__init__.py", "__main__.py", "_version.py")
_LEVEL = {package: level for level, packages in enumerate(LAYERS) for package in packages} | {
    "families": list(LAYERS).index(FAMILIES)
}
# What imports modules by name.
_IMPORTERS = {"importlib", "runpy", "pkgutil", "__import__"}
_DOTTED = re.compile(rf"{NAME}\.(?P<package>\w*)(?P<more>\S*)")


class Import(NamedTuple):
    """One package that a line of a file imports; `families` if the name of the family is computed."""

    file: str
    line: int
    package: str

    @property
    def importer(self) -> str:
        return self.file.partition("/")[0].removesuffix(".py")

    @property
    def is_upward(self) -> bool:
        own, other = _LEVEL[self.importer], _LEVEL[self.package]
        return other > own or (other == own and self.package != self.importer)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.importer} imports {self.package}, which is not below it"


def imports(source: Path = SOURCE) -> list[Import]:
    """Every import between packages: at the top, inside functions, by string; not those for type checkers only."""
    found = []
    for path in sorted(source.rglob("*.py")):
        file = path.relative_to(source).as_posix()
        if file not in _ROOT:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            parts = [NAME, *path.relative_to(source).parent.parts]
            module = _Module.of(tree)
            names = {each for node in _executed(tree) for each in _packages(node, parts, module)}
            found += [Import(file, line, name) for line, name in sorted(names) if name != file.partition("/")[0]]
    return found


def upward(found: list[Import]) -> list[Import]:
    """Imports of a higher or the same layer that nothing allows."""
    return [each for each in found if each.is_upward and (each.file, each.package) not in ALLOWED]


def unknown_packages(source: Path = SOURCE) -> set[str]:
    """Packages and modules that have no layer."""
    names = {path.relative_to(source).parts[0] for path in source.rglob("*.py")} - {*_ROOT}
    return {name.removesuffix(".py") for name in names} - {*_LEVEL}


@dataclass(frozen=True)
class _Module:
    """What the strings and names of a module can mean."""

    imports_by_name: bool
    aliases: frozenset[str]

    @classmethod
    def of(cls, tree: ast.Module) -> _Module:
        nodes = list(ast.walk(tree))
        names = [each for node in nodes if isinstance(node, ast.Import) for each in node.names]
        origins = {each.name for each in names} | {
            str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)
        }
        origins |= {node.id for node in nodes if isinstance(node, ast.Name) and node.id == "__import__"}
        # `import a.b` binds `a`; `import a.b as c` binds `a.b`.
        aliases = {NAME} | {each.asname for each in names if each.name == NAME and each.asname is not None}
        return cls(bool({each.partition(".")[0] for each in origins} & _IMPORTERS), frozenset(aliases))


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING:`."""
    yield node
    for name, field in ast.iter_fields(node):
        if name == "body" and isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST):
                yield from _executed(child)


def _packages(node: ast.AST, parts: list[str], module: _Module) -> Iterator[tuple[int, str]]:
    """The packages that a node imports, with the line."""
    texts: list[str] = []
    if isinstance(node, ast.Import):
        texts = [each.name for each in node.names]
    elif isinstance(node, ast.ImportFrom):
        start = ".".join(parts[: len(parts) + 1 - node.level]) if node.level else ""
        origin = ".".join(filter(None, [start, node.module]))
        texts = [f"{origin}.{each.name}" for each in node.names]
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in module.aliases:
        texts = [f"{NAME}.{node.attr}"]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        texts = [node.value]
    for text in texts:
        dotted = _DOTTED.fullmatch(text)
        if dotted is None:
            continue
        if dotted["package"] in _LEVEL.keys() - {"families"}:
            yield node.lineno, dotted["package"]
        elif not dotted["package"] and module.imports_by_name:
            yield node.lineno, "families"


# ------------------------------------------------------------------------------- pages


def table(found: list[Import]) -> str:
    """The layers, with what each may import and what it imports now."""
    pairs = _pairs(found)
    lines = ["| layer | package | purpose | may import | imports now |", "|---|---|---|---|---|"]
    for level, (packages, purpose) in enumerate(LAYERS.items(), 1):
        below = {1: "none", 2: "1"}.get(level, f"1–{level - 1}")
        now = ", ".join(f"`{_title(layer)}`" for layer in LAYERS if (packages, layer) in pairs)
        names = ", ".join(f"`{package}`" for package in packages)
        lines.append(f"| {level} | {names} | {purpose} | {below} | {now} |")
    lines += ["", "These modules name a higher layer in a string, which is imported on request:", ""]
    lines += [f"- `{file}` names {_named(package)}: {reason}." for (file, package), reason in ALLOWED.items()]
    return "\n".join(lines) + "\n"


def drawing(found: list[Import]) -> str:
    """A matrix: a disc if the row's layer imports the column's, in another colour if that one is above it."""
    cell, left, top = 44, 130, 96
    size = len(LAYERS) * cell
    pairs = _pairs(found)
    body = []
    for row, layer in enumerate(LAYERS):
        y, name = top + row * cell, escape(_title(layer))
        body += [
            f'<rect x="{left}" y="{y}" width="{row * cell}" height="{cell}" fill="#eef3f8" stroke="#ffffff"/>',
            f'<rect x="{left + row * cell}" y="{y}" width="{cell}" height="{cell}" fill="#5b7590" stroke="#ffffff"/>',
            f'<text x="{left - 10}" y="{y + 27}" text-anchor="end">{name}</text>',
            f'<text transform="translate({left + row * cell + 26} {top - 8}) rotate(-50)">{name}</text>',
        ]
        for column, other in enumerate(LAYERS):
            if (layer, other) in pairs:
                colour = "#0072B2" if column < row else "#D55E00"
                body.append(
                    f'<circle cx="{left + column * cell + cell // 2}" cy="{y + cell // 2}" r="10" fill="{colour}">'
                    f"<title>{name} imports {escape(_title(other))}</title></circle>"
                )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + size + 50} {top + size + 10}" '
            'font-family="sans-serif" font-size="15" role="img">',
            "  <title>Which layer imports which</title>",
            *(f"  {line}" for line in body),
            "</svg>",
            "",
        ]
    )


def _pairs(found: list[Import]) -> set[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The layers of which one imports the other; without names that are imported on request."""
    kept = (each for each in found if (each.file, each.package) not in ALLOWED)
    return {(_layer(each.importer), _layer(each.package)) for each in kept}


def _layer(package: str) -> tuple[str, ...]:
    return list(LAYERS)[_LEVEL[package]]


def _title(layer: tuple[str, ...]) -> str:
    return layer[0] if len(layer) == 1 else "families"


def _named(package: str) -> str:
    return "the families" if package == "families" else f"the {package}"


def main() -> None:
    found = imports()
    TABLE.write_text(table(found), encoding="utf-8")
    DRAWING.write_text(drawing(found), encoding="utf-8")


if __name__ == "__main__":
    main()
