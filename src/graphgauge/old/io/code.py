"""The source of a `module:factory`, found and hashed without importing it."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from graphgauge.core.errors import InputError


def source_hash(factory: str, folder: Path) -> str:
    """SHA-256 over the factory's module and its imports from its own package and the study's folder."""
    digest = hashlib.sha256()
    for name, path in sorted(sources(factory, folder).items()):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{name}\0{content}\n".encode())
    return digest.hexdigest()


def sources(factory: str, folder: Path) -> dict[str, Path]:
    """Module name → file, for all source that may change what the factory makes."""
    first = factory.partition(":")[0]
    top = first.partition(".")[0]
    if _located(first, folder) is None:
        raise InputError(f"no module {first!r}", where=factory, fix="The study file's folder is searched first.")
    found: dict[str, Path] = {}
    pending = [first]
    while pending:
        name = pending.pop()
        path = _located(name, folder)
        if name in found or path is None:
            continue
        installed = "site-packages" in path.parts
        if name.partition(".")[0] != top and (installed or not path.is_relative_to(folder)):
            continue
        found[name] = path
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        pending += _packages(name)
        pending += _imports(path, package)
    return found


def _packages(name: str) -> Iterator[str]:
    """The packages around a module, whose __init__ runs before it."""
    while name := name.rpartition(".")[0]:
        yield name


def _imports(path: Path, package: str) -> Iterator[str]:
    """Every module that a file may import; `from a import b` may mean the module a.b."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return  # the evaluation will report it
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".") if node.level else []
            base = ".".join([*parents[: len(parents) - node.level + 1], *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _located(name: str, folder: Path) -> Path | None:
    """Where Python would find a module's source. Unlike `importlib.util.find_spec`, this imports no packages."""
    search: list[str] | None = [str(folder), *sys.path]
    spec, full = None, ""
    for part in name.split("."):
        if search is None or not part:
            return None
        full = f"{full}.{part}".lstrip(".")
        spec = PathFinder.find_spec(full, search)
        if spec is None:
            return None
        search = None if spec.submodule_search_locations is None else list(spec.submodule_search_locations)
    origin = None if spec is None else spec.origin
    return Path(origin) if origin and origin.endswith(".py") else None
