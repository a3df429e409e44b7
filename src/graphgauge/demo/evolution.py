"""A graph that grows from its elites, from random nodes or from its periphery, and embeddings to predict the growth."""

from __future__ import annotations

from pathlib import Path

from graphgauge.demo import Demo

_CONDITIONS = ("Normal", "Off", "Inverted")
_SEEDS = tuple(range(7))
_CYCLES = 4


def _write(folder: Path) -> None:
    from graphgauge.zoo.zaratustra import Settings, block_model
    from graphgauge.zoo.zaratustra.runs import grow, write_labels

    data, place = block_model(), folder / "evolution"
    for _ in grow(data, Settings(dimension=16), _CONDITIONS, _CYCLES, len(_SEEDS), place):
        pass
    write_labels(data, place)


DEMO = Demo(
    family="evolution",
    dataset="block model",
    methods=_CONDITIONS,
    seeds=_SEEDS,
    inputs={
        "log": "evolution/{method}/seed-{seed}",
        "labels": "evolution/labels.npy",
        # Without the probe, which would take longer than the rest of the demo.
        "metrics": ["auc_synthetic", "auc_birth", "auc_matched", "delta_homophily"],
    },
    metric="auc_birth",
    write=_write,
)
