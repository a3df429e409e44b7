"""Draw docs/images/adaptive.svg: the interval of an adaptive run, next to a usual one that is looked at repeatedly.

python docs/adaptive_picture.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphgauge.old.core.figures import COLOURS, figure
from graphgauge.old.stats.intervals import t_quantile
from graphgauge.old.stats.sequence import MeanSequence

QUERIES, RUNS = 40_000, 300
LOOKS = np.unique(np.concatenate([np.arange(100, 2000, 100), np.geomspace(2000, 12_000, 60).astype(int)]))
PLACE = Path(__file__).with_name("images") / "adaptive.svg"


def main() -> None:
    ranks = np.ceil(np.exp(np.random.default_rng(1).exponential(2.1, QUERIES)))
    values = 1 / ranks
    truth = values.mean()
    wrong = np.zeros((2, len(LOOKS)))
    bands = np.empty((RUNS, 2, 2, len(LOOKS)))
    for run in range(RUNS):
        sequence = MeanSequence(QUERIES, aim=0.01)
        order = sequence.order(run)
        sequential = np.empty((2, len(LOOKS)))
        for number, (start, stop) in enumerate(zip([0, *LOOKS], LOOKS, strict=False)):
            sequential[:, number] = tuple(sequence.update(values[order[start:stop]]).interval)
        drawn = values[order[: LOOKS[-1]]]
        mean = np.cumsum(drawn)[LOOKS - 1] / LOOKS
        spread = np.sqrt((np.cumsum(drawn**2)[LOOKS - 1] / LOOKS - mean**2) * LOOKS / (LOOKS - 1))
        reach = t_quantile(LOOKS - 1, 0.95) * spread / np.sqrt(LOOKS)
        for kind, (low, high) in enumerate((sequential, (mean - reach, mean + reach))):
            wrong[kind] += np.maximum.accumulate((truth < low) | (truth > high))
            bands[run, kind] = low, high
    # The run whose usual interval is wrong for longest.
    shown = bands[np.argmax(((bands[:, 1, 0] > truth) | (bands[:, 1, 1] < truth)).sum(axis=1))]
    names = ("valid at every look", "usual 95 % interval")
    with figure(PLACE, 2) as axes:
        for kind, name in enumerate(names):
            axes[0].fill_between(LOOKS, *shown[kind], alpha=0.3, lw=0, color=COLOURS[kind], label=name)
            axes[1].plot(LOOKS, wrong[kind] / RUNS, color=COLOURS[kind], label=name)
        axes[0].axhline(truth, color="black", lw=1, label="all 40,000 queries")
        axes[0].set(
            xscale="log",
            xlabel="queries read",
            ylabel="MRR",
            ylim=(truth - 0.1, truth + 0.1),
            title="a run in which the usual one is wrong",
        )
        axes[0].legend(loc="lower right")
        axes[1].axhline(0.05, color="black", lw=1, ls="--", label="5 %")
        axes[1].set(
            xscale="log",
            xlabel="queries read",
            ylabel="share of runs wrong at some look",
            ylim=(0, 1),
            title=f"{RUNS} runs",
        )
        axes[1].legend(loc="upper left")
    print(PLACE, *(f"{name}: {wrong[kind][-1] / RUNS:.3f}" for kind, name in enumerate(names)), sep="\n")


if __name__ == "__main__":
    main()
