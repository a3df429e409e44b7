"""The original protocol as its library computes it and as its reference document defines it, where ours differs.

`time_to_explain` is the library's public source at commit 239f3f2: scores are outputs as they are, `fidelity_keep` is 1
minus a change, and every fidelity is better if it is higher. `time_to_explain_reference` is the document: f is the
largest probability, and the best of `fidelity_keep` is its largest value. Their other options are in `protocols`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.metric import Estimate, Metric, NoChance
from graphgauge.core.types import Floats, Ints
from graphgauge.explanation.declared import against
from graphgauge.explanation.fidelity import refuse_third_label
from graphgauge.explanation.masks import Level
from graphgauge.explanation.sample import Rules, Sample
from graphgauge.explanation.table import AnswerTable

_ANY = (-np.inf, np.inf)
_USUAL = Level("0.1")


def under(metric: Metric, protocol: str | None) -> Metric:
    """A metric as a protocol reads it."""
    changes = READINGS.get(protocol or "", {}).get(metric.key)
    if changes is None:
        return metric
    function = changes.get("function", metric.function)
    chance = metric.chance if isinstance(metric.chance, NoChance) else against("empty", "random")(function)
    return replace(metric, **{"bounds": _ANY, **changes, "chance": chance})


def refuse_joined(sample: Sample, protocol: str | None) -> None:
    """The library masks candidates one by one."""
    joined = np.flatnonzero(sample.units != [len(event.subgraph) for event in sample.events])
    if protocol == "time_to_explain" and joined.size:
        what = f"event {sample.events[joined[0]].id!r:.80} masks edges together, and {protocol} masks them one by one"
        raise InputError(what, where="units", fix='Pass units="edges" to Subgraph or from_pyg; from_result does.')


# ---- both


def _largest(s: Sample, heights: Floats) -> Estimate:
    """The largest height of each event over all levels."""
    return replace(s.mean(heights.max(axis=1), ends=_ANY), oracle=True)


def _level_of(s: Sample, heights: Floats) -> Estimate:
    """The level at which it is reached: a share, or a number of edges."""
    levels = np.array([float(level.removeprefix("k=")) for level in s.grid])
    return replace(s.mean(levels[heights.argmax(axis=1)], ends=_ANY), oracle=True)


def _best_level(s: Sample) -> Estimate:
    """The level of the largest |f(G) − f(G without the top k)|."""
    return _level_of(s, np.abs(s.drops))


def _pushed(s: Sample, level: Level, positive: Any) -> Estimate:
    """f(top k only) − f(G) where an event is positive, and the opposite otherwise."""
    gain = -s.keeps[:, s.level(level)]
    label = np.where(s.label >= 0, s.label == 1, positive)[s.event]
    return s.mean(np.where(label, gain, -gain), ends=_ANY)


# ---- the library


def _kept(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """1 − |f(G) − f(top k only)|."""
    return s.mean(1 - np.abs(s.keeps[:, s.level(level)]), ends=_ANY)


def _labels(s: Sample, rows: Ints) -> Ints:
    """The class of answers: of a single output, whether it is at the threshold."""
    outputs = s.answers.outputs[rows]
    if outputs.shape[-1] == 1:
        return (outputs[..., 0] >= s.rules.label_threshold).astype(np.int64)
    return np.asarray(outputs.argmax(axis=-1))


def _tempme(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """f(top k only) − f(G) if the label is 1, and the opposite otherwise; by default the label of the whole graph."""
    return _pushed(s, level, _labels(s, s.answers.whole) == 1)


def _sweep(s: Sample) -> Estimate:
    """Share of a sweep over the kept top edges that has the label of the whole graph; shares may round to no edge."""
    none = np.rint(s.settings.shares * s.units[s.event][:, np.newaxis]) == 0
    rows = np.where(none, s.answers.empty[s.event][:, np.newaxis], s.masked("sweep"))
    same = _labels(s, rows) == _labels(s, s.answers.whole)[s.event][:, np.newaxis]
    area = np.trapezoid(same.astype(np.float64), s.settings.shares, axis=1)
    return s.mean(area / s.settings.acc_cap, ends=(0.0, 1.0))


# ---- the document


def _reference_tempme(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """f(top k only) − f(G) if the label is 1, and the opposite otherwise; without one, it is 1 if f(G) ≥ threshold."""
    refuse_third_label(s)
    return _pushed(s, level, s.f(s.answers.whole, np.arange(len(s))) >= s.rules.label_threshold)


def _keeping(heights: Callable[[Sample], Floats], **changes: Any) -> dict[str, dict[str, Any]]:
    """The best of `fidelity_keep` and its level, where higher is better."""
    best = {"function": lambda s: _largest(s, heights(s)), "direction": "higher", **changes}
    return {
        "fidelity_best.k": {"function": _best_level},
        "fidelity_best_keep": best,
        "fidelity_best_keep.k": {"function": lambda s: _level_of(s, heights(s))},
    }


READINGS: Mapping[str, Mapping[str, dict[str, Any]]] = {
    "time_to_explain": {
        "fidelity_drop@{level}": {},
        "fidelity_keep@{level}": {"function": _kept, "direction": "higher"},
        "fidelity_best": {},
        **_keeping(lambda s: 1 - np.abs(s.keeps)),
        "fidelity_tempme@{level}": {"function": _tempme},
        "acc_auc": {"function": _sweep, "bounds": (0, 1)},
    },
    "time_to_explain_reference": {
        "fidelity_keep@{level}": {"direction": "higher", "bounds": (0, 1)},
        **_keeping(lambda s: np.abs(s.keeps), bounds=(0, 1)),
        "fidelity_tempme@{level}": {"function": _reference_tempme, "bounds": (-1, 1)},
    },
}


# ---- what results say

_TIES = {"fixed": "by time, source and target", "average": "average over random orders", "position": "by position"}
# What stands above the results also if it is as usual.
TOLD = ("model_output", "units")
# What happens to masked edges or features.
_MASKING = {"remove": "removed", "weight": "weighted: messages or features times 0"}
_SCORES = {
    "class": "probability of the class predicted on the whole graph",
    "max": "largest probability",
    "label": "probability of the label",
    "output": "the output, or the largest of several",
}


def conventions_of(table: AnswerTable, rules: Rules, nan: str, protocol: str | None) -> dict[str, str]:
    """How masks were chosen and answers are scored, in words."""
    settings = table.settings
    robust = f"{settings.robust_drop:g} dropped, {settings.robust_keep:g} kept, {settings.robust_samples} samples"
    omitted = "; ".join(note.partition(",")[0] for note in table.notes)
    return {
        **({} if settings.model_output is None else {"model_output": settings.model_output}),
        **({} if settings.masking is None else {"masking": _MASKING.get(settings.masking, settings.masking)}),
        "units": _units(table),
        "ties": _TIES[settings.ties],
        "ranking": "by |importance|" if settings.by == "abs" else "by importance",
        "score": _SCORES[rules.score],
        "sweep": f"{settings.acc_points} points from 0 to {settings.acc_cap:g}",
        "label_threshold": f"{rules.label_threshold:g}",
        **({"robust": robust} if any(kind.startswith("robust") for kind in settings.asked) else {}),
        "delta_t": "range of the candidates' times" if rules.delta_t is None else f"{rules.delta_t:g}",
        "nan": f"{nan}: {omitted}" if omitted else nan,
        **({} if protocol is None else {"protocol": protocol}),
    }


def _units(table: AnswerTable) -> str:
    """Which candidates are masked together."""
    parts = [event.subgraph for event in table if len(event.subgraph)]
    if all(part.unit_count == len(part) for part in parts):
        return "each alone"
    return "both directions of a pair together" if all(part.units is None for part in parts) else "as given"
