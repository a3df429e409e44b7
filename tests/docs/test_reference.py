"""Every metric has its formula, and every public name says what it is."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.docs.pages import DOCS, generator, text_of

from graphgauge.core import family as new_family
from graphgauge.core import finding as findings
from graphgauge.core import registry as new_registry
from graphgauge.core.family import BUILT_IN
from graphgauge.core.registry import metrics

# Examples that need packages of the second environment; tests/peers/test_reference_examples.py runs them.
NEEDS_PEERS = {
    *(f"graphgauge.explanation.{name}" for name in ("explain_pyg", "from_pyg", "pyg_metrics")),
    "graphgauge.generation.Molecules",
}
PUBLIC = [
    (f"graphgauge.{package}.{name}", getattr(importlib.import_module(f"graphgauge.{package}"), name))
    for package, names in generator()["public_names"]().items()
    for name in names
]


@pytest.mark.parametrize("family", BUILT_IN)
def test_every_metric_has_a_formula(family: str) -> None:
    entries = metrics(family)
    assert entries
    assert not [entry.key for entry in entries if not generator()["formula_of"](entry)], "declare its formula"


@pytest.mark.parametrize("family", BUILT_IN)
def test_entries_of_metrics_are_short(family: str) -> None:
    page = text_of(DOCS / "metrics" / f"{family}.md").partition("## Examples")[0]
    entries = [part for part in page.replace("\n## ", "\n### ").split("\n### ") if part.startswith("`")]
    sections = {part.partition("\n")[0]: len(part.split()) for part in entries}
    assert len(sections) == len(metrics(family))
    assert not {name: words for name, words in sections.items() if words > 120}


@pytest.mark.parametrize(("name", "value"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_every_public_name_is_described(name: str, value: object) -> None:
    assert not lacking(name, value)


METHODS = [
    (f"{name}.{method}", inspect.unwrap(getattr(own, "__func__", own)))
    for name, value in PUBLIC
    if inspect.isclass(value) and name.endswith(f".{value.__name__}")  # not another name of a class
    for method, own in vars(value).items()
    if not method.startswith("_") and inspect.isfunction(getattr(own, "__func__", own))
]


@pytest.mark.parametrize(("name", "method"), METHODS, ids=[name for name, _ in METHODS])
def test_methods_are_described(name: str, method: Callable[..., Any]) -> None:
    assert not lacking(name, method)


# Classes that are shown by the example of a function or of another class.
DECLARED = ((new_family, "_DECLARED"), (new_registry, "_METRICS"), (findings, "_CHECKS"))
SHOWN_BY = {
    "core.evaluation.Run": "core.evaluation.Evaluation",
    "core.family.Family": "core.family.declare",
    "core.finding.Finding": "core.finding.check",
    "core.gate.GateOutcome": "core.gate.Gate",
    **dict.fromkeys(
        (f"core.metric.{name}" for name in ("Metric", "Estimate", "Bounds", "NoInterval", "NoChance", "Exempt")),
        "core.registry.metric",
    ),
    **dict.fromkeys((f"audit.{name}" for name in ("Check", "Finding", "Findings")), "core.finding.check"),
    "evolution.Cycle": "evolution.Log",
    "evolution.NietzscheEvaluationSuite": "evolution.EvaluationSuite",
    "explanation.PyGModel": "explanation.explain_pyg",
    "stats.Design": "stats.compare",
    "stats.Friedman": "stats.friedman",
    "stats.Pair": "stats.Comparison",
    "stats.PairedTest": "stats.paired_test",
    "stats.RankSum": "stats.rank_sum",
    "stats.Regression": "stats.gate",
    "stats.SignedRank": "stats.signed_rank",
    "stats.Standing": "stats.Comparison",
    "stats.Summary": "stats.aggregate",
    "stats.Trend": "stats.page_test",
}
CLASSES = {name.removeprefix("graphgauge."): value for name, value in PUBLIC if inspect.isclass(value)}


@pytest.mark.parametrize("name", CLASSES)
def test_classes_have_an_example(name: str) -> None:
    shown = f"graphgauge.{SHOWN_BY.get(name, name)}"
    methods = [method for own, method in METHODS if own.startswith(f"{shown}.")]
    assert any(">>>" in (inspect.getdoc(value) or "") for value in (dict(PUBLIC)[shown], *methods))


def lacking(name: str, value: object) -> list[str]:
    """What a docstring does not say: what it is, and for functions and methods every parameter.

    A parameter has an entry, or is named in the sentences, or is one that the family's `evaluate` describes. A function
    with a single parameter may say it without its name.
    """
    text = inspect.getdoc(value) or ""
    if len(text.partition("\n")[0]) <= 10:
        return [f"{name} has no docstring"]
    if not inspect.isfunction(value):
        return []
    entries = {
        part.strip().lstrip("*")
        for line in sections(text).get("Parameters", "").splitlines()
        if not line.startswith(" ")
        for part in line.partition(":")[0].split(",")
    }
    parameters = [each for each in inspect.signature(value).parameters if each not in ("self", "cls")]
    said = {each for each in parameters if f"`{each}" in text} | entries | common_to(name.split(".")[1])
    missing = [f"{name}: parameter {each} is not described" for each in parameters if each not in said]
    missing = [] if len(parameters) == 1 and not entries else missing
    missing += [f"{name}: {each} is described, but no parameter" for each in entries - set(parameters) if each]
    return missing


@cache
def common_to(package: str) -> frozenset[str]:
    """The parameters that the `evaluate` of a family describes, and those of all its readings together."""
    evaluate = getattr(importlib.import_module(f"graphgauge.{package}"), "evaluate", None)
    known = frozenset() if evaluate is None else frozenset(inspect.signature(evaluate).parameters)
    return known | {"reading", "options"}


def sections(text: str) -> dict[str, str]:
    """The numpydoc sections of a docstring by their titles."""
    parts = re.split(r"^(\w+)\n-{3,}\n", text, flags=re.MULTILINE)
    return {title: body.strip("\n") for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def test_what_is_missing_is_seen() -> None:
    def half(first: int, second: int) -> int:
        """A function that is described in part.

        Parameters
        ----------
        first, third
            A number.

        Returns
        -------
        int
            Another.
        """
        return first + second

    missing = ["parameter second is not described", "third is described, but no parameter"]
    name = "graphgauge.stats.half"
    assert lacking(name, half) == [f"{name}: {each}" for each in missing]


@pytest.mark.parametrize("package", sorted({name.rpartition(".")[0] for name, _ in PUBLIC}))
def test_examples_run(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example is complete: it imports what it uses. What it declares is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    for module, name in DECLARED:
        monkeypatch.setattr(module, name, dict(getattr(module, name)))
    runner = doctest.DocTestRunner(verbose=False)
    for name, value in PUBLIC:
        if name.rpartition(".")[0] == package and name not in NEEDS_PEERS:
            run_examples(name, value, runner)
    assert runner.summarize(verbose=False).failed == 0


def run_examples(name: str, value: object, runner: doctest.DocTestRunner) -> None:
    finder = doctest.DocTestFinder(recurse=inspect.isclass(value), exclude_empty=True)
    for test in finder.find(value, name, globs={}):
        folder = Path(f"{name}.{len(list(Path().iterdir()))}")
        folder.mkdir()
        with contextlib.chdir(folder):
            runner.run(test)
    for check in [each for each in findings._CHECKS.values() if each.function.__module__ == "__main__"]:
        del findings._CHECKS[check.name]  # an example registers one
