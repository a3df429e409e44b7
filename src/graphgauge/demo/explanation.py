"""Explanations of one network, trained here on contacts with a planted rule, by three explainers."""

from __future__ import annotations

from pathlib import Path

from graphgauge.demo import Demo

_SEEDS = tuple(range(8))
# A seed stands for other questions to the one network.
_EVENTS = 15
_QUESTIONS, _EPOCHS = 2000, 15


def _write(folder: Path) -> None:
    from graphgauge.explanation import collect
    from graphgauge.zoo.temporal.explainers import explain
    from graphgauge.zoo.temporal.model import train
    from graphgauge.zoo.temporal.task import found, task

    asked = task("planted", questions=_QUESTIONS)
    model = train(asked.config, asked.training, epochs=_EPOCHS)
    contexts = found(model, asked.held_out, _EVENTS * len(_SEEDS))
    for seed in _SEEDS:
        for name in DEMO.methods:
            said = explain(model, contexts[seed :: len(_SEEDS)], [name], seed=seed)
            collect(model, said, seed=seed).save(folder / "explanation" / name / str(seed) / "table.jsonl")


DEMO = Demo(
    family="explanation",
    dataset="planted rule",
    methods=("occlusion", "gradient", "recency"),
    seeds=_SEEDS,
    inputs={"table": "explanation/{method}/{seed}/table.jsonl"},
    metric="truth_auc",
    write=_write,
    needs="torch",
)
