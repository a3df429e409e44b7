"""Changes the code of a room at random places, one at a time, and counts which changes its tests notice.

    python -m tests.mutants ranking --count 20

A mutant has one comparison, operator, number or truth value changed. It is killed if the room's tests, with golden
values and laws, fail or run longer than their time. A mutant of the core is compiled first.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
OTHER = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
WORDS = {
    " < ": " <= ",
    " <= ": " < ",
    " > ": " >= ",
    " >= ": " > ",
    " + ": " - ",
    " - ": " + ",
    " == ": " != ",
    "&&": "||",
}
# What a room is tested by, beside the folder of its name.
COMMON = ("tests/golden", "tests/laws")


def python_mutants(path: Path) -> list[tuple[int, Callable[[], str]]]:
    """Every place of a module that can be changed: its line, and what makes the changed text."""
    text = path.read_text(encoding="utf-8")

    def changed(place: int) -> str:
        tree = ast.parse(text)
        _changed(list(ast.walk(tree))[place])
        return ast.unparse(tree)

    nodes = list(ast.walk(ast.parse(text)))
    # No code runs for a type, and no test sees whether a record is frozen.
    idle = {id(each) for node in nodes for part in _idle(node) for each in ast.walk(part)}
    return [
        (node.lineno, partial(changed, place))  # type: ignore[attr-defined]
        for place, node in enumerate(nodes)
        if id(node) not in idle and _changed(node)
    ]


def _idle(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node whose changes change nothing."""
    yield from filter(None, (getattr(node, "annotation", None), getattr(node, "returns", None)))
    yield from node.decorator_list if isinstance(node, ast.ClassDef) else ()
    yield from node.keywords if isinstance(node, ast.ClassDef) else ()


def _changed(node: ast.AST) -> bool:
    """Whether a node has something to change; it is changed in its tree."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OTHER:
        node.ops[0] = OTHER[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in OTHER:
        node.op = OTHER[type(node.op)]()
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    else:
        return False
    return True


def core_mutants(path: Path) -> Iterator[tuple[int, Callable[[], str]]]:
    text = path.read_text(encoding="utf-8")
    for found in re.finditer("|".join(map(re.escape, WORDS)), text):
        line = text.count("\n", 0, found.start()) + 1
        if not text.splitlines()[line - 1].lstrip().startswith(("//", "#")):
            yield line, partial("".join, (text[: found.start()], WORDS[found[0]], text[found.end() :]))


def chosen(room: str, count: int, seed: int) -> list[tuple[Path, int, str]]:
    """Mutants of a room, drawn from all files by their number of lines."""
    draw = random.Random(seed)
    folder, mutants = (
        (ROOT / "src/core", core_mutants) if room == "_core" else (ROOT / "src/graphgauge" / room, python_mutants)
    )
    files = sorted(
        path for path in folder.rglob("*.*") if path.suffix in (".py", ".hpp") and "bindings" not in path.parts
    )
    sizes = [path.read_text(encoding="utf-8").count("\n") for path in files]
    found: list[tuple[Path, int, str]] = []
    while len(found) < count:
        path = draw.choices(files, sizes)[0]
        every = list(mutants(path))
        if every:
            line, changed = draw.choice(every)
            found.append((path, line, changed()))
    return found


def killed(path: Path, text: str, tests: list[str], seconds: float) -> bool:
    """Whether the tests notice a changed file, in a copy of the source."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / path.relative_to(ROOT / "src")).write_text(text, encoding="utf-8")
        if path.suffix == ".hpp" and not _built(Path(folder)):
            return True
        try:
            return not passed(copy, tests, seconds)
        except subprocess.TimeoutExpired:
            return True


def passed(source: Path, tests: list[str], seconds: float) -> bool:
    """Whether the tests pass on a source."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not peers"]
    environment = os.environ | {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, *tests], cwd=ROOT, env=environment, capture_output=True, timeout=seconds, check=False
    )
    return done.returncode == 0


def _built(folder: Path) -> bool:
    for name in ("CMakeLists.txt", "README.md", "LICENSE", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DGRAPHGAUGE_IN_PLACE=ON", f"-DPython_EXECUTABLE={sys.executable}"]
    commands = (["cmake", "-S", ".", "-B", "build", *options], ["cmake", "--build", "build"])
    return all(subprocess.run(each, cwd=folder, capture_output=True, check=False).returncode == 0 for each in commands)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="+", help="folders of src/graphgauge, or _core")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60, help="of the tests of one mutant, at least")
    options = parser.parse_args()
    for room in options.rooms:
        tests = ["tests/compiled"]
        if room != "_core":
            tests = [COMMON[0], f"tests/{room}", *COMMON[1:], "-k", f"{room} or not (golden or laws)"]
        start = time.perf_counter()
        if not passed(ROOT / "src", tests, 600):
            sys.exit(f"{room}: its tests fail as it is")
        seconds = max(options.seconds, 3 * (time.perf_counter() - start))
        outcomes = []
        for path, line, text in chosen(room, options.count, options.seed):
            outcomes.append(killed(path, text, tests, seconds))
            print(f"{'killed  ' if outcomes[-1] else 'survived'} {path.relative_to(ROOT)}:{line}", flush=True)
        print(f"{room}: {sum(outcomes)} of {len(outcomes)} killed", flush=True)


if __name__ == "__main__":
    main()
