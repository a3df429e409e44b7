"""Every metric has its formula, and every public name says what it is."""

from __future__ import annotations

import doctest
import importlib
import inspect
import runpy

import pytest
from tests.docs.pages import DOCS

from graphgauge.core import metric as registry
from graphgauge.core.family import BUILT_IN

# The packages whose functions describe all of their parameters, if any; the others state their types.
DESCRIBED = ("core", "stats", "report", "audit")
GENERATE = runpy.run_path(str(DOCS / "generate.py"))
PUBLIC = [
    (f"graphgauge.{package}.{name}", getattr(importlib.import_module(f"graphgauge.{package}"), name))
    for package, names in GENERATE["public_names"]().items()
    for name in names
]


@pytest.mark.parametrize("family", BUILT_IN)
def test_every_metric_has_a_formula(family: str) -> None:
    known = {entry.key for entry in registry.metrics(family)}
    written = GENERATE["formulas"]().get(family, {})
    assert not known - set(written), "add it to docs/formulas.toml, then run: python docs/generate.py"
    assert not set(written) - known, "docs/formulas.toml names metrics that do not exist"
    page = (DOCS / "metrics" / f"{family}.md").read_text(encoding="utf-8")
    assert page.count("| formula |") == len(known)


@pytest.mark.parametrize(("name", "value"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_every_public_name_is_described(name: str, value: object) -> None:
    text = inspect.getdoc(value) or ""
    assert len(text.partition("\n")[0]) > 10, f"{name} has no docstring"
    if not inspect.isfunction(value):
        return
    # A section of parameters that leaves one out misleads more than none.
    if "Parameters\n---" in text and name.split(".")[1] in DESCRIBED:
        section = text.partition("Parameters\n")[2].partition("\nReturns\n")[0]
        named = {part.strip() for line in section.splitlines() for part in line.split(",") if not line.startswith(" ")}
        assert set(inspect.signature(value).parameters) <= named, f"{name} does not describe all parameters"
        assert "Returns\n---" in text, f"{name} does not say what it returns"


def test_stated_examples_run() -> None:
    """Those of the packages that the report and the statistics show."""
    finder = doctest.DocTestFinder(recurse=False)
    runner = doctest.DocTestRunner(verbose=False)
    for name, value in PUBLIC:
        if name.startswith(("graphgauge.stats", "graphgauge.report", "graphgauge.core")) and callable(value):
            for test in finder.find(value, name, globs=vars(inspect.getmodule(value)) | {}):
                runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
