"""The explanation family."""

from __future__ import annotations

from graphgauge.core.family import BUILT_IN, Family

FAMILY = Family(
    name="explanation",
    line=BUILT_IN["explanation"],
    question="Do explanations show what the model used?",
    package="graphgauge.explanation",
    headlines=("necessity_auc", "sufficiency_auc", "acc_auc", "truth_auc"),
)
