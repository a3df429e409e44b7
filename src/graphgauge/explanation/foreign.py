"""Metrics exactly as other libraries compute them, from the same answers; `conventions` gives them their names.

time_to_explain: its public source at commit 239f3f2. torch_geometric: `torch_geometric.explain.metric`, 2.8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError, OptionError
from graphgauge.explanation.declared import DEFAULT, RANDOM
from graphgauge.explanation.fidelity import harmonic
from graphgauge.explanation.fields import probabilities
from graphgauge.explanation.inputs import OwnAnswers
from graphgauge.explanation.masks import Level
from graphgauge.explanation.samples import NO_CANDIDATES, EventSample, Path, Scored
from graphgauge.old.core.metric import Estimate, MetricFunction

# ----------------------------------------------------------------------------------------- time_to_explain


def _raw(event: Scored, row: int) -> float:
    """The score of an answer: a single output as it is, or the largest of several."""
    return float(event.row.outputs[row].max())


def _label(event: Scored, row: int, threshold: float) -> int:
    outputs = event.row.outputs[row]
    return int(outputs[0] >= threshold) if len(outputs) == 1 else int(np.argmax(outputs))


def _size_of_change(event: Scored, path: Path, mode: str, level: Level) -> float:
    """|f(G) − f(masked)| if the explanation is dropped, and one minus that if it is kept."""
    change = abs(_raw(event, event.whole) - _raw(event, path.row(mode, level.rounded(event.units))))
    return change if mode == "drop" else 1 - change


def original_drop(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """|f(G) − f(G without the top edges)|, with f the single output as it is, or the largest of several."""
    return sample.each(lambda event, path: _size_of_change(event, path, "drop", level), NO_CANDIDATES)


def original_keep(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """1 − |f(G) − f(top edges only)|."""
    return sample.each(lambda event, path: _size_of_change(event, path, "keep", level), NO_CANDIDATES)


def _original_best(sample: EventSample, event: Scored, path: Path) -> tuple[float, float]:
    values = [_size_of_change(event, path, sample.rules.best, level) for level in sample.grid]
    place = int(np.argmax(values))
    level = sample.grid[place]
    return values[place], int(level[2:]) if level.startswith("k=") else float(level)


def original_best(sample: EventSample) -> Estimate:
    """The largest value over all levels, dropped or kept."""
    return sample.each(lambda event, path: _original_best(sample, event, path)[0], NO_CANDIDATES)


def original_best_level(sample: EventSample) -> Estimate:
    """The level of the largest value."""
    return sample.each(lambda event, path: _original_best(sample, event, path)[1], NO_CANDIDATES)


def original_tempme(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """f(top edges only) − f(G) if the label is 1, and the opposite otherwise."""

    def value(event: Scored, path: Path) -> float:
        whole, kept = (_raw(event, row) for row in (event.whole, path.row("keep", level.rounded(event.units))))
        label = event.row.context.label
        label = _label(event, event.whole, sample.rules.label_threshold) if label is None else label
        return kept - whole if label == 1 else whole - kept

    return sample.each(value, NO_CANDIDATES)


def original_acc_auc(sample: EventSample) -> Estimate:
    """Share of a sweep over the kept top edges that has the label of the whole graph."""
    sweep, threshold = sample.rules.acc_auc, sample.rules.label_threshold
    if sweep.mode != "keep" or sweep.keep != "top":
        raise OptionError("the sweep of time_to_explain keeps the top edges", fix="Leave out acc_auc mode and keep.")

    def value(event: Scored, path: Path) -> float:
        label = _label(event, event.whole, threshold)
        rows = [path.row("keep", round(float(share) * event.units)) for share in sweep.shares]
        same = np.array([_label(event, row, threshold) == label for row in rows], float)
        return float(np.trapezoid(same, sweep.shares) / sweep.cap)

    return sample.each(value, NO_CANDIDATES, (0.0, 1.0))


# ----------------------------------------------------------------------------------------- torch_geometric

Value = Callable[[OwnAnswers], float]


def own_levels(events: Iterable[Scored]) -> tuple[Level, ...]:
    """The sizes to which the explanations' own masks were cut."""
    names = {own.name for event in events for each in event.explanations for own in each.own if own.name}
    return tuple(sorted((Level(name) for name in names), key=lambda level: int(level[2:])))


def _by_explanation(
    sample: EventSample, name: str, value: Value, possible: tuple[float, float] | None = (0.0, 1.0)
) -> Estimate:
    """The mean over events of the mean over an event's explanations, each under its own masks.

    If the sample is about random masks, under these; an error if no explanation brings answers to its own masks.
    """

    def of_event(event: Scored) -> float:
        found = [
            value(own)
            for each in event.explanations
            for own in each.own
            if own.name == name and (own.random is None) == (sample.paths == "own")
        ]
        return float(np.mean(found)) if found and sample.paths in ("own", "random") else np.nan

    values = np.array([of_event(event) for event in sample.events], float)
    if np.isnan(values).all() and sample.paths == "own":
        size = f" at {name}" if name else ""
        raise InputError(
            f"the explanations have no answers to their own masks{size}",
            where="explanations",
            fix=f"Pass from_pyg(explanation, PyGModel(module){', topk=[' + name[2:] + ']' if name else ''}).",
        )
    return sample.mean(values, "no answers to own masks", possible)


def has_random_masks(sample: EventSample) -> bool:
    return any(own.random is not None for event in sample.events for each in event.explanations for own in each.own)


def own_chance(function: MetricFunction, sample: EventSample, params: Mapping[str, Any]) -> dict[str, float]:
    """The random explainer: the same mask, with its values in a random order of the candidates."""
    value = float(function(sample.at_random, **params).value[0])
    return {} if np.isnan(value) else {RANDOM: value}


def _target(outputs: Floats, model_output: str) -> int:
    """The predicted class of one row of answers."""
    if len(outputs) > 1:
        return int(np.argmax(outputs))
    return int(outputs[0] > (0 if model_output == "logit" else 0.5))


def _flip(side: int) -> Value:
    def value(own: OwnAnswers) -> float:
        whole, masked = (_target(own.outputs[row], own.model_output) for row in (0, side))
        if own.label is None:
            return float(masked != whole)
        return abs(float(whole == own.label) - float(masked == own.label))

    return value


def own_pos_fidelity(sample: EventSample, *, level: Level | None = None) -> Estimate:
    """Share of labels that change under the complement of the explanation's masks.

    For a phenomenon: share of answers that become right or wrong.
    """
    return _by_explanation(sample, level or "", _flip(2))


def own_neg_fidelity(sample: EventSample, *, level: Level | None = None) -> Estimate:
    """Share of labels that change under the explanation's masks."""
    return _by_explanation(sample, level or "", _flip(1))


def own_characterization(sample: EventSample, *, level: Level | None = None) -> Estimate:
    """The harmonic mean of positive fidelity and one minus negative fidelity."""
    return harmonic(own_pos_fidelity(sample, level=level), own_neg_fidelity(sample, level=level))


def own_unfaithfulness(sample: EventSample, *, level: Level | None = None) -> Estimate:
    """1 − exp(−KL(masked ‖ whole)) of the probabilities; a single output is not completed to two classes."""
    estimate = _by_explanation(sample, level or "", lambda own: -np.expm1(-_divergence(own)), None)
    if any(_is_one_logit(own) for event in sample.events for each in event.explanations for own in each.own):
        return estimate.warned("torch_geometric takes the softmax of a single logit, so its divergence is always 0")
    return estimate


def _is_one_logit(own: OwnAnswers) -> bool:
    return own.outputs.shape[1] == 1 and own.model_output == "logit"


def _divergence(own: OwnAnswers) -> float:
    both = own.outputs[:2]
    if both.shape[1] > 1:
        both = probabilities(both, own.model_output)
    elif _is_one_logit(own):
        both = np.ones((2, 1))  # its softmax
    whole, masked = both
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(masked > 0, masked * (np.log(masked) - np.log(whole)), 0.0)
    return float(terms.sum())


def own_curve_auc(sample: EventSample) -> Estimate:
    """The trapezoid area under positive fidelity / (1 − negative fidelity) over the shares of the graph's edges."""
    levels = own_levels(sample.events)
    if len(levels) < 2:
        raise InputError("the curve needs two sizes", fix="Pass topk=(5, 10, 20) to from_pyg.")
    graphs = [event.row.subgraph.graph_edges or event.row.subgraph.edges for event in sample.events]
    shares = [float(np.mean([min(int(level[2:]), edges) / max(edges, 1) for edges in graphs])) for level in levels]
    pos, neg = (
        np.array([float(function(sample, level=level).value[0]) for level in levels])
        for function in (own_pos_fidelity, own_neg_fidelity)
    )
    n = own_pos_fidelity(sample, level=levels[0]).n
    if (neg == 1).any():
        reason = "keeping the explanation changes every label at some size"
        return Estimate(np.array([np.nan]), n, reason=reason)
    return Estimate(np.array([float(np.trapezoid(pos / (1 - neg), shares))]), n)
