"""Evaluate files: `graphgauge explanation …`, studies, and `explanation.evaluate_files`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from graphgauge.core.progress import SILENT, Progress
from graphgauge.explanation.conventions import CONVENTIONS
from graphgauge.explanation.evaluate import GROUPS, evaluate
from graphgauge.explanation.family import ASKING, FAMILY
from graphgauge.explanation.masks import BY, KEEP, LEVELS, MODEL_OUTPUT, MODES, NORMALIZE, SWEEP, TIES
from graphgauge.explanation.records import grouped, truth_hash
from graphgauge.explanation.samples import KL, SCORES
from graphgauge.explanation.table import read_explanations, read_table
from graphgauge.old.core.described import of_files
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.factory import made
from graphgauge.old.core.fields import (
    Choice,
    Confidence,
    Factory,
    File,
    Flag,
    Metrics,
    NanPolicy,
    Number,
    Output,
    PathLike,
    Seed,
    Several,
    Text,
    Whole,
)
from graphgauge.old.io.hashing import receipt_input


@of_files
def evaluate_files(
    *,
    table: Annotated[PathLike | None, File("Answers of a model, as collected: .jsonl.")] = None,
    explanations: Annotated[
        PathLike | None, File("Explanations to ask a model about: .jsonl, one event per line.")
    ] = None,
    model: Annotated[str | None, Factory("Factory of the model: imported and called without arguments.")] = None,
    save_table: Annotated[
        PathLike | None,
        Output("Append the model's answers to this .jsonl as they arrive; a second run resumes from it."),
    ] = None,
    explainer: Annotated[str | None, Text("The explainer to evaluate, if there are several.")] = None,
    levels: Annotated[
        Sequence[float] | None,
        Several(f"Shares of the edges to keep and drop.  [default: {LEVELS}]", Number("")),
    ] = None,
    topk: Annotated[Sequence[int] | None, Several("Also numbers of edges to keep and drop.", Whole("", 0))] = None,
    model_output: Annotated[str | None, Choice("The model's output, unless it declares it.", MODEL_OUTPUT)] = None,
    by: Annotated[str | None, Choice("Rank edges by importance or by its size.  [default: value]", BY)] = None,
    normalize: Annotated[str | None, Choice("Scale importances to [0, 1] first.  [default: none]", NORMALIZE)] = None,
    ties: Annotated[
        str | None, Choice("Equal importance: by time, source, target, or averaged.  [default: fixed]", TIES)
    ] = None,
    random: Annotated[int | None, Whole("Orders that make up the random explainer; 0: none.  [default: 3]", 0)] = None,
    robust_drop: Annotated[
        float | None, Number("Share of the explanation that robust_drop drops.  [default: 0.1]", 0, 1)
    ] = None,
    robust_keep: Annotated[
        float | None, Number("Share of the rest that robust_keep keeps.  [default: 0.9]", 0, 1)
    ] = None,
    robust_samples: Annotated[int | None, Whole("Samples of robust fidelity.  [default: 20]", 1)] = None,
    batch_edges: Annotated[int | None, Whole("Edges sent to the model together.  [default: 30000]", 1)] = None,
    convention: Annotated[str | None, Choice("Names and numbers of another library.", tuple(CONVENTIONS))] = None,
    score: Annotated[
        str, Choice("Probability of the class predicted on the whole graph, the largest, or the label's.", SCORES)
    ] = "class",
    signed: Annotated[bool, Flag("Fidelity as f(G) − f(masked), without its absolute value.")] = False,
    label_threshold: Annotated[
        float, Number("Probability from which an event without label counts as class 1.", 0, 1)
    ] = 0.5,
    best_mode: Annotated[str, Choice("Of fidelity_best.", MODES)] = "drop",
    acc_mode: Annotated[str | None, Choice("Of acc_auc.  [default: keep]", MODES)] = None,
    acc_cap: Annotated[float | None, Number("Largest share of acc_auc.  [default: 0.3]")] = None,
    acc_points: Annotated[int | None, Whole("Points of acc_auc.  [default: 16]", 2)] = None,
    acc_keep: Annotated[str | None, Choice("Keep the top s, or the top 1 − s.  [default: top]", KEEP)] = None,
    kl: Annotated[str, Choice("Of unfaithfulness.", KL)] = "forward",
    delta_t: Annotated[
        float | None, Number("Time scale of cohesiveness.  [default: range of the candidates' times]")
    ] = None,
    groups: Annotated[
        Sequence[str] | None, Several("Break down by predicted class, or by whether it is right.", Choice("", GROUPS))
    ] = None,
    keep: Annotated[str | None, Choice("Store the values of single events next to the result.", ("items",))] = None,
    metrics: Metrics = None,
    confidence: Confidence = 0.95,
    nan: NanPolicy = "raise",
    seed: Seed = 0,
    progress: Progress = SILENT,
) -> Evaluation:
    """Evaluate whether explanations show what a model used.

    Either --table, or --explanations with --model. Metrics of the edges alone, such as truth_auc, need no model, and
    neither does --convention pyg: explanations of PyTorch Geometric bring their answers with them.

    Parameters
    ----------
    progress
        Where progress is reported; silent by default.

    Returns
    -------
    Evaluation
        As from `evaluate`; its receipt names the files with their hashes.

    Raises
    ------
    InputError
        If a file cannot be read, or changed meanwhile.
    OptionError
        If an option does not go with the files.

    Examples
    --------
    >>> from graphgauge import explanation
    >>> graph = explanation.Subgraph([[0, 1, 2], [1, 2, 3]])
    >>> context = explanation.Context(graph, event=0, truth=[True, False, False])
    >>> explanation.write_explanations([explanation.Explanation(context, [0.9, 0.2, 0.1])], "run.jsonl")
    >>> explanation.evaluate_files(explanations="run.jsonl", metrics=["truth_auc"])["truth_auc"].value
    1.0
    """
    given = FAMILY.read(locals())
    answers, events, path = (given.pop(name) for name in ("table", "explanations", "save_table"))
    factory, seed = given.pop("model"), given.pop("seed")
    asking = {name: value for name in ASKING if (value := given.pop(name)) is not None}
    sweep = {name: value for name in SWEEP if (value := given.pop(f"acc_{name}")) is not None}
    single: dict[str, dict[str, Any]] = {
        "acc_auc": sweep,
        "fidelity_best": {"mode": given.pop("best_mode")},
        "unfaithfulness": {"kl": given.pop("kl")},
        "cohesiveness": {"delta_t": given.pop("delta_t")},
    }
    options: dict[str, Any] = {"absolute": not given.pop("signed"), "options": single} | given
    if answers is not None:
        answered = read_table(answers)
        evaluation = evaluate(answered, **options)
        shared = truth_hash(row.event for row in answered.rows)
        evaluation.inputs = lambda: [{**receipt_input("table", answers), "truth": shared}]
        return evaluation
    asked = None if factory is None else made(factory)
    listed = read_explanations(events)
    evaluation = evaluate(asked, listed, seed=seed, path=path, progress=progress.stage, **asking, **options)
    shared = truth_hash(grouped(listed))
    evaluation.inputs = lambda: [{**receipt_input("explanations", events), "truth": shared}]
    return evaluation
