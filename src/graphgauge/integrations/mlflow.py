"""MLflow: an evaluation as metrics, tags and a result file of the active run."""

from __future__ import annotations

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.extras import need
from graphgauge.integrations.numbers import result_text, tracked


def log(evaluation: Evaluation, *, prefix: str = "", step: int | None = None) -> None:
    """Log values with their bounds, conventions as tags, and the whole result as `graphgauge/{prefix}{family}.json`.

    With a step the file is `graphgauge/{prefix}{family}-{step}.json`, one per step. MLflow does not allow
    `@` in a name, so `hits@10` becomes `hits_at_10`.
    """
    mlflow = need("mlflow", "logging to MLflow")
    numbers = {name.replace("@", "_at_"): value for name, value in tracked(evaluation, prefix).items()}
    mlflow.log_metrics(numbers, step=step)
    mlflow.set_tags({f"graphgauge.{prefix}{name}": rule for name, rule in evaluation.conventions.items()})
    at = "" if step is None else f"-{step}"
    mlflow.log_text(result_text(evaluation), f"graphgauge/{prefix}{evaluation.family}{at}.json")
