"""The ranking figure: Hits@k over k with its chance level, and the groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.figures import CHANCE, COLOURS, figure
from graphgauge.old.core.gates import Gate
from graphgauge.old.core.result import Table

# The number of groups in a figure: the largest ones.
_GROUPS = 25


def draw_ranking(evaluation: Evaluation, curve: Table, path: str | Path) -> None:
    """Draw the curve of hits and, if there are groups, the mean reciprocal rank of each."""
    axes_of_groups = [axis for axis, table in evaluation.breakdowns.items() if "mrr" in table.columns]
    with figure(path, 1 + len(axes_of_groups)) as axes:
        k = curve["k"]
        axes[0].fill_between(k, curve["low"], curve["high"], alpha=0.25, lw=0)
        axes[0].plot(k, curve["value"], label="model")
        axes[0].plot(k, curve["random"], ls="--", color=CHANCE, label="random order")
        axes[0].set(xscale="log", xlabel="k", ylabel="Hits@k", ylim=(0, 1.02))
        axes[0].legend(loc="lower right")
        for axis, name in zip(axes[1:], axes_of_groups, strict=True):
            table = evaluation.by(name)
            shown = np.argsort(-table["n"], kind="stable")[:_GROUPS][::-1]
            value = table["mrr"][shown]
            low, high = (np.nan_to_num(table[f"mrr.{side}"][shown], nan=0.0) for side in ("low", "high"))
            defined = ~np.isnan(table["mrr.low"][shown])
            errors = np.abs(np.where(defined, [value - low, high - value], 0.0))
            axis.errorbar(value, np.arange(len(shown)), xerr=errors, fmt="o", ms=4, color=COLOURS[0])
            axis.axvline(evaluation["mrr"].value, color=COLOURS[1], lw=1, label="all queries")
            axis.set_yticks(np.arange(len(shown)), [str(label)[:40] for label in table[name][shown]])
            axis.set(xlabel="MRR", title=f"by {name}", xlim=(0, 1))
            axis.legend(loc="lower right")


def draw_trail(evaluation: Evaluation, path: str | Path) -> None:
    """Draw how the interval of an adaptive run shrank with every look, and the gates on it."""
    asked = evaluation.options["until"]
    read, low, high = np.array(asked["trail"], float).reshape(-1, 3).T
    key = next(iter(evaluation))
    with figure(path, 1) as axes:
        axes[0].fill_between(read, low, high, step="post", alpha=0.25, lw=0, label="this test set, at every look")
        axes[0].plot(read, (low + high) / 2, color=COLOURS[0])
        for gate in asked["gates"]:
            limit = Gate.parse(gate).limit
            if not isinstance(limit, str):
                axes[0].axhline(limit, ls="--", color=CHANCE, label=gate)
        axes[0].set(xscale="log", xlabel=f"queries read of {asked['of']:,}", ylabel=key)
        axes[0].legend(loc="upper right")
