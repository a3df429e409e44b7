"""The generation family."""

from __future__ import annotations

from graphgauge.core.family import BUILT_IN, Family, Split, TruthInputs
from graphgauge.core.forms import Form

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
CHECKPOINT = Form("a checkpoint", needs=("checkpoint",), takes=("data", "classifier_checkpoint", "cpu", *_ASKING))
SUBJECT = Form("a subject", needs=("subject",), takes=("data", "train", *_ASKING))
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
        "nan",
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

_ASKED = "it is asked in one process"
_KEEP = "Keep its answers with save_table, and evaluate that table."

FAMILY = Family(
    "generation",
    line=BUILT_IN["generation"],
    question="Are generated samples valid, new, diverse, and as requested?",
    headlines=("overall_mean_distance", "overall_uniqueness_ratio", "validity_rate"),
    package="graphgauge.generation",
    forms=(CHECKPOINT, SUBJECT, SAMPLES, TABLE),
    truths={
        "real": TruthInputs(
            ("real",),
            ("real_conditions", "real_valid", "statistics", "train", "train_conditions", "train_statistics"),
        ),
        "data": TruthInputs(("data",), ("train", "classifier_checkpoint")),
    },
    splits=(
        Split("a checkpoint", ("checkpoint",), why=_ASKED, instead=_KEEP),
        Split("a subject", ("subject",), why=_ASKED, instead=_KEEP),
        Split("samples of two generators", ("against",), why="their comparison takes all samples at once"),
        *(
            Split(form, (name,), into="sections", joined="results and samples of each section")
            for form, name in (("collected answers", "table"), ("real samples", "real"), ("samples", "generated"))
        ),
    ),
    example={
        "real": "generation/data/real.npy",
        "generated": "generation/{method}/{seed}/generated.npy",
    },
)
