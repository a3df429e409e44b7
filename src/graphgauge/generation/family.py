"""The generation family."""

from __future__ import annotations

from graphgauge.core.family import BUILT_IN, Family

FAMILY = Family(
    name="generation",
    line=BUILT_IN["generation"],
    question="Are generated samples valid, new, diverse, like real ones, and as requested?",
    package="graphgauge.generation",
    headlines=("overall_uniqueness_ratio", "overall_mean_distance", "mean_iou"),
    truths=("real",),
    levels=("perfect", "memoriser"),
)
