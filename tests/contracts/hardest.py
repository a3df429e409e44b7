"""The doors that are hardest to declare, as declarations: what the mechanism has to hold.

1. A generator has three sides, each of several columns.
2. An adaptive run has goals instead of metrics, gates that decide, an earlier run to go on from, and a second model.
3. A model that is asked is code of the user, with files for its factory, and reports progress.
4. Evolution reads a folder of cycles or one table of events, with what only events need.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from graphgauge.core.door import CONFIDENCE, METRICS, SEED, Door, Input, Option

SIDE = "tests.contracts.hardest:read_side"

GENERATION = Door(
    "",
    "Samples of a generator against real ones.",
    "tests.contracts.hardest:generation",
    inputs=(
        Input("real", "Real samples (.npz with columns, .npy, .g6, .smi).", SIDE, required=True),
        Input("generated", "Generated samples.", SIDE, required=True),
        Input("train", "The samples that the generator was trained on.", SIDE),
        Input("columns", "One more column of a side, as SIDE.NAME=FILE.", many="named"),
    ),
    options=(
        Option("convention", Literal["graphgauge", "gran", "spectre"], "graphgauge", "How distances are computed."),
        Option("threshold", float, 0.5, "From which value on a bit is set.", 0, 1),
        Option("empty", Literal["1", "0", "nan", "skip"], "1", "What two empty samples share."),
        Option("node_labels", tuple[str, ...] | None, None, "Attributes of nodes that make graphs differ."),
        Option("labels", tuple[str, ...] | None, None, "Names of the conditions."),
        Option("ordered", bool, False, "The conditions are in order."),
        Option("draws", int, 999, "Draws of tests and levels.", 1),
    ),
    common=(METRICS, CONFIDENCE, SEED),
    example="graphgauge generation --real real.npz --generated generated.npz",
)

UNTIL = Door(
    "until",
    "As few queries as the goal needs.",
    "tests.contracts.hardest:until",
    inputs=(
        Input("pos_scores", "Scores of the right answers.", required=True),
        Input("neg_scores", "Scores of wrong answers, a row per query.", "ragged", required=True),
        Input("against_pos", "The same of a second model."),
        Input("against_neg", "The same of a second model.", "ragged"),
        Input("assist", "The items of an earlier model.", "items"),
        Input("resume", "The items of this run, to go on from.", "items"),
    ),
    options=(
        Option("within", float | None, None, "Stop when the interval reaches this far.", 0, inside=True),
        Option("gates", tuple[str, ...], (), "Stop when these are decided."),
        Option("average", Literal["micro", "macro"], "micro", "Which mean the goal is about."),
        Option("max_queries", int | None, None, "Read at most so many.", 1),
        Option("keep", Path | None, None, "Write the items of this run."),
    ),
    common=(CONFIDENCE, SEED),
    example="graphgauge ranking until --pos-scores pos.npy --neg-scores neg.npy --within .01",
)

MODEL = Door(
    "model",
    "Ask a generator, and evaluate its answers.",
    "tests.contracts.hardest:model",
    inputs=(
        Input("subject", "MODULE:FACTORY that makes the generator.", "code", required=True),
        Input("checkpoint", "Handed to the factory.", "file"),
        Input("data", "Handed to the factory.", "file"),
        Input("classifier_checkpoint", "Handed to the factory.", "file"),
    ),
    options=(
        Option("num_samples", int, 100, "Samples to draw.", 1),
        Option("temperature", float, 1.0, "Handed to the generator.", 0, inside=True),
        Option("cpu", bool, False, "Keep the model off the GPU."),
        Option("save_samples", Path | None, None, "Write the samples of all sides (.npz)."),
    ),
    common=(METRICS, CONFIDENCE, SEED),
    progress=True,
    example="graphgauge generation model --subject model:load --checkpoint best.pt",
)

EVOLUTION = Door(
    "",
    "Graphs that a system grows itself.",
    "tests.contracts.hardest:evolution",
    inputs=(
        Input("log", "A folder of cycles, or a table of events.", "tests.contracts.hardest:read_log", required=True),
        Input("embeddings", "Of events: the points, by cycle.", many="parts"),
        Input("ids", "Of events: the node of each point.", "labels"),
        Input("labels", "The class of each node.", "labels"),
        Input("node_types", "The type of each node.", "labels"),
        Input("test_edges", "Edges that were held out.", "set"),
    ),
    options=(
        Option("conditions", tuple[str, ...] | None, None, "Which conditions, of those in the log."),
        Option("order", tuple[str, ...] | None, None, "The ranking that was predicted."),
        Option("score", Literal["poincare", "dot"], "poincare", "How pairs are scored."),
        Option("negatives", int | Literal["all"], 1, "Non-edges for each birth, or all.", 1),
        Option("undeclared", Literal["refuse", "infer"], "refuse", "What to do about edges nobody declared."),
    ),
    common=(METRICS, CONFIDENCE, SEED),
    example="graphgauge evolution --log cycles/",
)

DOORS = (GENERATION, UNTIL, MODEL, EVOLUTION)


def read_side(path):
    return {"items": path.read_text().split()}


def read_log(path):
    return sorted(each.name for each in path.iterdir()) if path.is_dir() else path.read_text().split()


def generation(
    real,
    generated,
    *,
    train=None,
    columns=None,
    convention="graphgauge",
    threshold=0.5,
    empty="1",
    node_labels=None,
    labels=None,
    ordered=False,
    draws=999,
    metrics=None,
    confidence=0.95,
    seed=0,
):
    return locals()


def until(
    pos_scores,
    neg_scores,
    *,
    against_pos=None,
    against_neg=None,
    assist=None,
    resume=None,
    within=None,
    gates=(),
    average="micro",
    max_queries=None,
    keep=None,
    confidence=0.95,
    seed=0,
):
    return locals()


def model(
    subject,
    *,
    checkpoint=None,
    data=None,
    classifier_checkpoint=None,
    num_samples=100,
    temperature=1.0,
    cpu=False,
    save_samples=None,
    metrics=None,
    confidence=0.95,
    seed=0,
    progress,
):
    progress.stage("asking", 1, 1)
    return {"model": subject(checkpoint)}


def evolution(
    log,
    *,
    embeddings=None,
    ids=None,
    labels=None,
    node_types=None,
    test_edges=None,
    conditions=None,
    order=None,
    score="poincare",
    negatives=1,
    undeclared="refuse",
    metrics=None,
    confidence=0.95,
    seed=0,
):
    return locals()
