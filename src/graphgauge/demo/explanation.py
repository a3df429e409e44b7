"""Explanations of one temporal network, trained on contacts with a planted rule, by three explainers.

The network's output for every mask is stored with the package, so the demo needs neither torch nor training.
`python -m graphgauge.demo.explanation` trains the network and writes the outputs again.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from graphgauge.demo import Demo

SEEDS = tuple(range(8))
# Each seed selects different queries to the same network.
_EVENTS = 15
_QUESTIONS, _EPOCHS = 2000, 15
STORED = Path(__file__).with_name("explained.zip")


def collect_answers(folder: Path) -> list[Path]:
    """Train the network, explain its predictions and write a table for each seed."""
    from graphgauge.explanation import collect
    from graphgauge.zoo.temporal.explainers import explain
    from graphgauge.zoo.temporal.model import train
    from graphgauge.zoo.temporal.task import found, task

    asked = task("planted", questions=_QUESTIONS)
    model = train(asked.config, asked.training, epochs=_EPOCHS)
    contexts = found(model, asked.held_out, _EVENTS * len(SEEDS))
    paths = []
    for seed in SEEDS:
        said = explain(model, contexts[seed :: len(SEEDS)], list(DEMO.methods), seed=seed)
        path = folder / f"{seed}.jsonl"
        collect(model, said, seed=seed).save(path)
        paths.append(path)
    return paths


def store(folder: Path) -> None:
    """Write `STORED` again."""
    with zipfile.ZipFile(STORED, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in collect_answers(folder):
            # A fixed timestamp, so that the same answers give the same file.
            archive.writestr(zipfile.ZipInfo(path.name), path.read_bytes(), zipfile.ZIP_DEFLATED, 9)


def _write(folder: Path) -> None:
    place = folder / "explanation"
    place.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(STORED) as archive:
        for seed in SEEDS:
            (place / f"{seed}.jsonl").write_bytes(archive.read(f"{seed}.jsonl"))


DEMO = Demo(
    family="explanation",
    dataset="planted rule",
    methods=("occlusion", "gradient", "recency"),
    seeds=SEEDS,
    inputs={"table": "explanation/{seed}.jsonl", "explainer": "{method}"},
    metric="truth_auc",
    write=_write,
)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        store(Path(scratch))
