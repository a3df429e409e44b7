"""What everybody means by the name of a metric: which direction is better."""

from __future__ import annotations

import re
from typing import Literal

_HIGHER = re.compile(
    "acc|accuracy|f1|auc|auroc|auprc|ap|map|mrr|hits|ndcg|recall|precision|r2|bleu|rouge|ari|nmi|iou|dice|mcc|kappa|tpr|"
    "tnr|sensitivity|specificity|reward|microf1|macrof1|top1|top5"
)
_LOWER = re.compile(
    "loss|mae|rmse|mse|mape|smape|crps|error|err|nll|perplexity|ppl|fid|wer|cer|brier|ece|fpr|fdr|fnr|latency|shd"
)


def usual_direction(name: str) -> Literal["higher", "lower"] | None:
    """Which direction of a metric is better, if its name says it: `test_acc`, `val/loss`, `Accuracy`."""
    words = set(re.split(r"[\W_]+", name.lower()))
    higher, lower = (any(map(meaning.fullmatch, words)) for meaning in (_HIGHER, _LOWER))
    return None if higher == lower else "higher" if higher else "lower"


def by_name(metric: str, direction: str | None) -> str:
    """What to say where the direction follows from the name alone."""
    other = "lower" if direction == "higher" else "higher"
    return f'That {direction} is better follows from the name {metric}; direction="{other}" overrules it.'
