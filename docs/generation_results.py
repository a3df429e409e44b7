"""Measures the numbers of the page on generators: collect, evaluate, write.

    graphgauge zoo moonboard train
    graphgauge zoo moonboard train-classifier
    python docs/generation_results.py models/vae.pth models/classifier.pth

writes the tables and the figure into docs/generation_results/, and the result files behind them into results/.
"""

from __future__ import annotations

import math
import runpy
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from graphgauge import generation
from graphgauge.core.files import write_text
from graphgauge.core.result import Chance, Evaluation
from graphgauge.core.schema import default_path, write_result
from graphgauge.generation.subjects import read_checkpoint
from graphgauge.zoo.moonboard.checkpoint import restore
from graphgauge.zoo.moonboard.controls import Collapses, Copies, IgnoresGrade, ShufflesHolds
from graphgauge.zoo.moonboard.data import held_out
from graphgauge.zoo.moonboard.figure import draw_boards
from graphgauge.zoo.moonboard.subject import Moonboard
from graphgauge.zoo.moonboard.synthetic import Rule
from graphgauge.zoo.moonboard.training import Schedule, train_generator

OUTPUT = Path(__file__).parent / "generation_results"
# The metrics whose place between memoriser and perfect the page shows.
STANDING = (
    "validity_rate",
    "overall_uniqueness_ratio",
    "mean_hamming_bits",
    "mean_jaccard",
    "novelty",
    "nearer_to_training",
    "overall_mean_distance",
    "energy_distance",
    "mmd",
    "prdc_precision",
    "prdc_recall",
    "prdc_density",
    "prdc_coverage",
    "overall_exact_accuracy",
)
DIGITS = Path(__file__).parents[1] / "examples" / "generation_digits.py"


def main(checkpoint: str, classifier: str) -> None:
    write_digits()
    write_controls(checkpoint, classifier)
    draw(checkpoint)


def controls(checkpoint: str, classifier: str) -> dict[str, tuple[Evaluation, Evaluation]]:
    """For each generator its evaluation, and that of its conditioning by the rule."""
    case = generation.open_checkpoint(checkpoint, classifier=classifier)
    trained = restore(read_checkpoint(checkpoint), "generator")
    train = held_out(trained.origin, trained.grades, None, checkpoint).train
    assert train is not None
    untrained, _ = train_generator(train, Schedule(epochs=0))
    given = (trained.model, trained.grades)
    subjects: dict[str, tuple[Moonboard, float]] = {
        "untrained": (Moonboard(untrained, trained.grades), 1.0),
        "trained": (Moonboard(*given), 1.0),
        "copies the training set": (Copies(*given, train=train), 1.0),
        "collapses to 3 problems": (Collapses(*given), 1.0),
        "ignores the grade": (IgnoresGrade(*given), 1.0),
        "shuffles the holds": (ShufflesHolds(*given), 1.0),
        "trained, not refined": (Moonboard(*given, refinements=0), 1.0),
        "trained, not refined, temperature 0.5": (Moonboard(*given, refinements=0), 0.5),
    }
    found = {}
    for name, (subject, temperature) in subjects.items():
        mine = replace(case, subject=subject)
        table = generation.collect(mine, temperature=temperature)
        by_rule = generation.collect(
            replace(mine, classifier=Rule(trained.grades)), temperature=temperature, sections=["conditioning"]
        )
        found[name] = generation.evaluate(table), generation.evaluate(by_rule, metrics="conditioning")
    return found


def write_controls(checkpoint: str, classifier: str) -> None:
    columns = {
        "valid": "validity_rate",
        "IoU": "mean_iou",
        "unique": "overall_uniqueness_ratio",
        "novel": "novelty",
        "scaled distance (null)": "overall_mean_distance",
        "the grade asked for": "overall_exact_accuracy",
    }
    rows = {}
    for name, (evaluation, by_rule) in controls(checkpoint, classifier).items():
        cells = [cell(evaluation, key) for key in columns.values()]
        rows[name] = [*cells, cell(by_rule, "overall_exact_accuracy"), cell(evaluation, "silhouette_score")]
        _keep("moonboard", name, evaluation)
        if name == "trained":
            note = judged(evaluation)
            write_text(OUTPUT / "levels.inc", levels(evaluation))
    headings = [*columns, "… by the rule", "silhouette"]
    write_text(OUTPUT / "controls.inc", table("generator", headings, rows) + note)


def levels(evaluation: Evaluation) -> str:
    """Where each metric of a generator is between the reference generators."""
    rows = {}
    for key in STANDING:
        result = evaluation[key]
        found = {level.name: level for level in result.levels}
        value = result.value if not found or next(iter(found.values())).own is None else next(iter(found.values())).own
        bands = [band_of(found.get(name)) for name in ("chance", "near_copy", "memoriser", "perfect")]
        rows[f"`{key}`"] = [f"{value:.3g}", *bands, " or ".join(result.compatible) or "none"]
    heads = ["value", "chance", "near_copy", "memoriser", "perfect", "compatible with"]
    return table("metric", heads, rows)


def band_of(level: Chance | None) -> str:
    if level is None:
        return "–"
    if level.low is None or level.high is None:
        return f"{level.value:.3g}"
    return f"{level.value:.3g} [{level.low:.3g}, {level.high:.3g}]"


def write_digits() -> None:
    columns = {
        "IoU": "mean_iou",
        "unique": "overall_uniqueness_ratio",
        "novel": "novelty",
        "scaled distance (null)": "overall_mean_distance",
        "p (energy)": "energy_p_value",
        "PRDC precision": "prdc_precision",
        "recall": "prdc_recall",
        "the digit asked for": "overall_exact_accuracy",
        "corrected": "corrected_exact_accuracy",
    }
    rows = {}
    for name, evaluation in runpy.run_path(str(DIGITS))["evaluations"]().items():
        rows[name] = [cell(evaluation, key) for key in columns.values()]
        _keep("digits", name, evaluation)
    write_text(OUTPUT / "digits.inc", table("generator", columns, rows) + judged(evaluation))


def draw(checkpoint: str) -> None:
    """A problem of an easy, a medium and a hard grade."""
    restored = restore(read_checkpoint(checkpoint), "generator")
    subject = Moonboard(restored.model, restored.grades)
    grids, titles = [], []
    for grade in ("6A", "7A", "8A"):
        made = subject.generate(restored.grades.index(grade), 20, seed=0) > 0.5
        grids += list(made[subject.validate(made)][:1])
        titles.append(grade)
    draw_boards(OUTPUT / "board.svg", grids, titles)


def _keep(dataset: str, method: str, evaluation: Evaluation) -> None:
    evaluation.run |= {"method": method, "dataset": dataset, "seed": 0}
    write_result(evaluation, default_path(evaluation))


def cell(evaluation: Evaluation, key: str) -> str:
    """A value with its interval, or a dash."""
    result = evaluation.get(key)
    if result is None or math.isnan(result.value):
        return "–"
    limits = f" [{result.interval.low:.2f}, {result.interval.high:.2f}]" if result.interval is not None else ""
    null = f" ({result.goal:.2f})" if key == "overall_mean_distance" and result.goal is not None else ""
    return f"{result.value:.{3 if key.endswith('p_value') else 2}f}{limits}{null}"


def table(first: str, columns: Iterable[str], rows: Mapping[str, Iterable[str]]) -> str:
    lines = [[first, *columns], *([name, *cells] for name, cells in rows.items())]
    marked = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    return "".join(f"| {' | '.join(line)} |\n" for line in marked)


def judged(evaluation: Evaluation) -> str:
    """The classifier's accuracy, and the chance level."""
    chance = {level.name: level.value for level in evaluation["overall_exact_accuracy"].chance}["chance"]
    condition = cell(evaluation, "classifier_condition_number")
    near = cell(evaluation, "classifier_tolerance_1_accuracy")
    near = f", within one {near}" if near != "–" else ""
    return (
        f"\nThe classifier on real held-out samples: exact {cell(evaluation, 'classifier_exact_accuracy')}{near}; the "
        f"condition number of its confusion matrix: {condition}. Random answers: {chance:.3f}.\n"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
