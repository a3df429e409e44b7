"""The generation family."""

from __future__ import annotations

from graphgauge.core.family import BUILT_IN, Family, TruthInputs
from graphgauge.core.forms import Form

# Options for sampling from a generator.
_ASKING = ("num_samples", "temperature", "threshold", "empty")
_CONDITIONS = ("real_conditions", "conditions")
CHECKPOINT = Form("a checkpoint", needs=("checkpoint",), takes=("data", "classifier_checkpoint", "cpu", *_ASKING))
SUBJECT = Form("a subject", needs=("subject",), takes=("data", "train", *_ASKING))
SAMPLES = Form(
    "the form with samples",
    any_of=("real", "generated"),
    takes=("train", "valid", *_CONDITIONS, "labels", "ordered", "nan"),
    beside={
        "real_conditions": ("real",), "conditions": ("generated",), "valid": ("generated",), "labels": _CONDITIONS,
        "ordered": _CONDITIONS,
    },
)  # fmt: skip
TABLE = Form("a table", needs=("table",), takes=("empty",))

FAMILY = Family(
    "generation",
    line=BUILT_IN["generation"],
    question="Are generated samples valid, new, diverse, and as requested?",
    headlines=("overall_mean_distance", "overall_uniqueness_ratio", "validity_rate"),
    package="graphgauge.generation",
    forms=(CHECKPOINT, SUBJECT, SAMPLES, TABLE),
    truths={
        "real": TruthInputs(("real",), ("real_conditions", "train")),
        "data": TruthInputs(("data",), ("train", "classifier_checkpoint")),
    },
    example={
        "real": "generation/data/real.npy",
        "generated": "generation/{method}/{seed}/generated.npy",
    },
)
