"""Which masks and levels metrics need, so that a model is asked for nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphgauge.explanation.conventions import CONVENTIONS
from graphgauge.explanation.masks import (
    ALWAYS,
    ASKABLE,
    DROP,
    KEPT,
    LEVELS,
    ROBUST_DROP,
    ROBUST_KEEP,
    SWEPT,
    Level,
)
from graphgauge.old.core.metric import asked

# The masks of each metric by its name; metrics that are not listed compare edges and need no answers.
MASKS: dict[str, tuple[str, ...]] = {
    "fidelity_drop": (DROP,),
    "fidelity_drop.signed": (DROP,),
    "fidelity_keep": (KEPT,),
    "fidelity_keep.signed": (KEPT,),
    "fidelity_best": (DROP, KEPT),
    "fidelity_best.k": (DROP, KEPT),
    "fidelity_tempme": (KEPT,),
    "acc_auc": (SWEPT,),
    "label_flip_drop": (DROP,),
    "label_flip_keep": (KEPT,),
    "characterization": (DROP, KEPT),
    "label_flip_characterization": (DROP, KEPT),
    "necessity_auc": (DROP,),
    "sufficiency_auc": (KEPT,),
    "deletion_auc": (DROP,),
    "insertion_auc": (KEPT,),
    "unfaithfulness": (KEPT,),
    "fidelity_curve_auc": (DROP, KEPT),
    "robust_drop": (ROBUST_DROP,),
    "robust_keep": (ROBUST_KEEP,),
    "robust_delta": (ROBUST_DROP, ROBUST_KEEP),
}
# Metrics over all levels.
_CURVES = (
    "fidelity_best",
    "fidelity_best.k",
    "necessity_auc",
    "sufficiency_auc",
    "deletion_auc",
    "insertion_auc",
    "fidelity_curve_auc",
)


def needed_masks(names: Sequence[str] | None, convention: str | None = None) -> tuple[str, ...]:
    """The kinds of masks that metrics need: by default those of all metrics except robust fidelity."""
    if convention is not None and CONVENTIONS[convention].own_masks:
        return ()  # the explanations bring the answers with them
    if names is None:
        return ALWAYS
    if convention is not None:
        found = [CONVENTIONS[convention].metric_name(pattern) for pattern, _ in CONVENTIONS[convention].asked(names)]
    else:
        found = [item.metric.name for item in asked("explanation", names)]
    wanted = {kind for name in found for kind in MASKS.get(name, ())}
    return tuple(kind for kind in ASKABLE if kind in wanted)


def needed_levels(names: Sequence[str] | None, convention: str | None, topk: Any) -> tuple[Sequence[float], Any]:
    """The levels that metrics name, if each that has levels names one; otherwise the default ones."""
    if names is None or convention is not None:
        return LEVELS, topk
    found = asked("explanation", names)
    levels = [item.params["level"] for item in found if "level" in item.params and not item.is_open]
    open_ended = any(item.is_open and (item.params or item.metric.name in _CURVES) for item in found)
    if not levels or open_ended:
        return LEVELS, topk
    numbers = [int(level[2:]) for level in levels if Level(level).startswith("k=")]
    given = [] if topk is None else [topk] if isinstance(topk, int) else list(topk)
    return [float(level) for level in levels if not level.startswith("k=")], [*given, *numbers]
