"""Code of users, `module:factory`: found and hashed without importing it, and imported with consent."""

from __future__ import annotations

import ast
import hashlib
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from graphgauge.core.errors import GraphgaugeError, InputError, OptionError


def load_code(factory: str, folder: Path) -> Callable[..., Any]:
    """Import what "module:factory" names; modules of this folder come first."""
    module, _, name = factory.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise OptionError(f"{factory!r:.80} is not MODULE:FACTORY, such as models.gcn:load")
    place = str(folder.resolve())
    if place not in sys.path:
        sys.path.insert(0, place)
    with own_code(factory):
        try:
            loaded = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # the module exists, one of its imports does not: show that message
            raise OptionError(f"no module {module!r}", fix="It is searched for here and on Python's path.") from None
    function = getattr(loaded, name, None)
    if not callable(function):
        raise OptionError(f"{module} has no function {name!r}")
    return function  # type: ignore[no-any-return]


@contextmanager
def own_code(where: str) -> Iterator[None]:
    """Turn errors of a user's code in this block into one paragraph; `where` names the function that is called.

    An attempt to end the process is such an error, too: nothing was evaluated. Ctrl-C remains an interrupt.
    """
    try:
        yield
    except (GraphgaugeError, KeyboardInterrupt):
        raise
    except BaseException as error:
        said = " ".join(str(error).split())
        text = f"{type(error).__name__}: {said:.200}" if said else type(error).__name__
        raise InputError(f"raised {text}", where=where, fix="Run it alone; --debug shows the traceback.") from error


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
