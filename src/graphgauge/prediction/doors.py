"""The door to prediction: true and predicted labels or targets, from files."""

from __future__ import annotations

from typing import Literal

from graphgauge.core.door import CONFIDENCE, METRICS, NAN, PROTOCOL, Door, Input, Option

DOORS = (
    Door(
        "",
        "Predicted labels or targets against the true ones.",
        "graphgauge.prediction:evaluate",
        inputs=(
            Input("true", "True labels or targets, a row per item.", "labels", required=True, argument="y_true"),
            Input("pred", "Predicted labels or targets.", "labels", argument="y_pred"),
            Input("scores", "Scores, a column per class or task."),
            Input("groups", "Labels per item for a breakdown.", "labels", many="named"),
            Input("cluster", "A label per item: those of one cluster err together.", "labels"),
            Input("weights", "What each item counts."),
            Input("ids", "Names of the items.", "labels"),
            Input("train_ids", "Names of the items in training.", "labels"),
        ),
        options=(
            Option(
                "task",
                Literal["binary", "multiclass", "multilabel", "regression"] | None,
                None,
                "What is predicted, where the files leave it open.",
            ),
            Option("positive", str | None, None, "The label of interest, of two."),
            Option("probabilities", bool, False, "Scores are probabilities of the classes."),
            Option("bins", int, 15, "Bins of the calibration errors.", 1),
        ),
        common=(METRICS, NAN, CONFIDENCE, PROTOCOL),
        example="graphgauge prediction --true labels.npy --scores logits.npy",
    ),
)
