"""The layers of the package: their order, and what the code imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[1] / "src" / "graphgauge"
NAME = "graphgauge"

FAMILIES = ("ranking", "recovery", "forecasting", "generation", "explanation", "evolution", "prediction")
# From bottom to top: a package imports only packages of lower layers. Packages of one layer do not import each other.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("core",),
    ("io",),
    ("stats",),
    ("protocols",),
    FAMILIES,
    ("testing",),
    ("audit",),
    ("engines",),
    ("integrations",),
    ("study",),
    ("report",),
    ("demo",),
    ("cli",),
    ("original",),
)
# Imports of a higher layer by name, each with its reason.
ALLOWED: Mapping[tuple[str, str], str] = {
    ("core/family.py", "families"): "registries load a family by its name, on request, as they would a plug-in",
}

# Always imported first, and the entry points, which load packages by name on request.
_ROOT = ("__init__.py", "__main__.py", "_version.py")
_LEVEL = {package: level for level, packages in enumerate(LAYERS) for package in packages} | {
    "families": LAYERS.index(FAMILIES)
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
