"""The parts of all families as one study, and a summary of its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from graphgauge.core.errors import InputError
from graphgauge.demo import SEEDS, Demo, demos
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.files import write_text, writing
from graphgauge.old.core.schema import read_result
from graphgauge.study.runner import Outcome
from graphgauge.study.toml import lines


def write_study(folder: Path) -> Path:
    """Write the data and the study file of all families into a folder, replacing an existing demo."""
    path = folder / "study.toml"
    parts = demos().values()
    text = study_text(parts)
    if path.exists() and path.read_text(encoding="utf-8") != text:
        raise InputError("contains another study", where=str(path), fix="Choose another folder with --output.")
    for demo in parts:
        with writing(folder):
            demo.write(folder)
    write_text(path, text)
    return path


def study_text(parts: Iterable[Demo]) -> str:
    return "\n".join([*lines({"schema": 1, "name": "graphgauge demo", "results": "results/"}), *_tables(parts), ""])


def _tables(parts: Iterable[Demo]) -> Iterator[str]:
    for demo in parts:
        named = {"family": demo.family, "dataset": demo.dataset, "methods": demo.methods, "seeds": SEEDS}
        yield from ("", "[[evaluate]]", *lines({**named, **demo.inputs}))
        yield from ("", "[[compare]]", *lines({"metric": demo.metric, "family": demo.family}))


def sentences(outcome: Outcome) -> list[str]:
    """Three sentences that summarise the results and comparisons."""
    assert outcome.judgement is not None
    evaluations = [read_result(step.path) for step in outcome.plan.steps]
    compared = [
        (demo, verdict.comparison)
        for demo, verdict in zip(demos().values(), outcome.judgement.comparisons, strict=True)
        if verdict.comparison is not None
    ]
    best, significant = [], []
    for demo, comparison in compared:
        mean = next(row.mean for row in comparison.standings if row.method == comparison.best)
        chance = _chance(evaluations, demo, comparison.best)
        best.append(f"{comparison.best} in {demo.family} ({demo.metric} {mean:.3f}{chance})")
        count = sum(test.significant for test in comparison.tests)
        pairs, seeds = len(comparison.tests), len(comparison.units)
        significant.append(f"{count} of {pairs} in {demo.family} ({seeds} seeds)")
    differences = f"Pairs of methods that differ significantly: {', '.join(significant)}."
    return [f"Best methods: {', '.join(best)}.", differences, _noticed(evaluations)]


def _chance(evaluations: list[Evaluation], demo: Demo, method: str) -> str:
    levels = [
        level.value
        for evaluation in evaluations
        if evaluation.family == demo.family
        and evaluation.run["method"] == method
        and (level := evaluation[demo.metric].chance_level) is not None
    ]
    return f", chance {sum(levels) / len(levels):.3f}" if levels else ""


def _noticed(evaluations: list[Evaluation]) -> str:
    """The most frequent finding, and the methods it concerns."""
    checks = Counter(finding.check for evaluation in evaluations for finding in evaluation.findings)
    if not checks:
        return f"The checks found no problems in the {len(evaluations)} results."
    check, count = checks.most_common(1)[0]
    concerned = [e for e in evaluations if any(finding.check == check for finding in e.findings)]
    methods = ", ".join(dict.fromkeys(str(evaluation.run["method"]) for evaluation in concerned))
    message = next(finding.message for finding in concerned[0].findings if finding.check == check)
    return f"{count} of {len(evaluations)} results have the finding {check} ({methods}); the first: {message}."
