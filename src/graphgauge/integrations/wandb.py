"""Weights & Biases: an evaluation as metrics, configuration and a result file of a run."""

from __future__ import annotations

from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.extras import need
from graphgauge.integrations.numbers import result_text, tracked


def log(evaluation: Evaluation, *, run: Any = None, prefix: str = "", step: int | None = None) -> None:
    """Log values with their bounds, conventions into the configuration, and the whole result as an artifact."""
    wandb = need("wandb", "logging to Weights & Biases")
    run = wandb.run if run is None else run
    if run is None:
        raise InputError("no Weights & Biases run is active", fix="Call wandb.init() first, or pass run=.")
    run.log(tracked(evaluation, prefix), step=step)
    conventions = {f"graphgauge.{prefix}{name}": rule for name, rule in evaluation.conventions.items()}
    run.config.update(conventions, allow_val_change=True)
    artifact = wandb.Artifact(f"{prefix.replace('/', '-')}{evaluation.family}-{run.id}", type="graphgauge")
    with artifact.new_file("result.json", mode="w", encoding="utf-8") as stream:
        stream.write(result_text(evaluation))
    run.log_artifact(artifact)
