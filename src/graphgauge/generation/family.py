"""The generation family."""

from __future__ import annotations

from graphgauge.old.core.family import BUILT_IN, Family, TruthInputs
from graphgauge.old.core.forms import Form

# Options for sampling from a generator.
_ASKING = ("num_samples", "temperature", "threshold", "empty")
_CONDITIONS = ("real_conditions", "conditions")
# What is known about samples besides themselves.
_DESCRIBED = (
    "statistics",
    "generated_statistics",
    "latents",
    "generated_latents",
    "predicted",
    "classifier_labels",
    "classifier_predicted",
    "train_conditions",
    "train_statistics",
    "train_latents",
    "latent_variances",
)
SUBJECT = Form("a subject", needs=("subject",), takes=("data", "train", *_ASKING))
CHECKPOINT = Form(
    "a checkpoint for module:factory",
    needs=("subject", "checkpoint"),
    takes=("classifier_checkpoint", "cpu", *SUBJECT.takes),
)
SAMPLES = Form(
    "the form with samples",
    any_of=("real", "generated"),
    takes=(
        "train",
        "against",
        "against_valid",
        "against_statistics",
        "valid",
        "real_valid",
        *_CONDITIONS,
        "labels",
        "ordered",
        "samples",
        "node_labels",
        "edge_labels",
        *_DESCRIBED,
    ),
    beside={
        "against": ("generated",),
        "against_valid": ("against",),
        "against_statistics": ("against",),
        "real_conditions": ("real",),
        "conditions": ("generated",),
        "valid": ("generated",),
        "real_valid": ("real",),
        "labels": _CONDITIONS,
        "ordered": _CONDITIONS,
        "statistics": ("real",),
        "latents": ("real",),
        "generated_statistics": ("statistics",),
        "generated_latents": ("latents",),
        "predicted": ("generated",),
        "train_conditions": ("train",),
        "train_statistics": ("train",),
        "train_latents": ("train",),
        "latent_variances": ("latents",),
        "classifier_labels": ("classifier_predicted",),
        "classifier_predicted": ("classifier_labels",),
    },
)
TABLE = Form("a table", needs=("table",), takes=("empty",))

FAMILY = Family(
    "generation",
    line=BUILT_IN["generation"],
    question="Are generated samples valid, new, diverse, and as requested?",
    headlines=("overall_mean_distance", "overall_uniqueness_ratio", "validity_rate"),
    package="graphgauge.generation",
    forms=(SUBJECT, CHECKPOINT, SAMPLES, TABLE),
    truths={
        "real": TruthInputs(
            ("real",),
            ("real_conditions", "real_valid", "statistics", "train", "train_conditions", "train_statistics"),
        ),
        "data": TruthInputs(("data",), ("train", "classifier_checkpoint")),
    },
    example={
        "real": "generation/data/real.npy",
        "generated": "generation/{method}/{seed}/generated.npy",
    },
)
