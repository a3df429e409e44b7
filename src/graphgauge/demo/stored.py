"""Generated problems of trained VAEs, stored for the demo, which runs without torch and without training.

`python -m graphgauge.demo.stored` trains one VAE for each seed of the demo and rewrites the file.
"""

from __future__ import annotations

import numpy as np

from graphgauge.core.files import atomic_path
from graphgauge.demo.generation import GRADES, SAMPLES, SEEDS, STORED, split
from graphgauge.zoo.moonboard.subject import Moonboard
from graphgauge.zoo.moonboard.training import Schedule, train_generator

_EPOCHS = 40


def store() -> None:
    rows = []
    for seed in SEEDS:
        model, losses = train_generator(split(seed)[0], Schedule(_EPOCHS, seed))
        subject = Moonboard(model, GRADES)
        made = [subject.generate(code, SAMPLES, seed=seed) > 0.5 for code in range(len(GRADES))]
        rows.append(np.packbits(np.stack(made).reshape(len(GRADES), SAMPLES, -1), axis=2))
        print(seed, losses, float(subject.validate(np.concatenate(made)).mean()), flush=True)
    with atomic_path(STORED) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, problems=np.stack(rows))


if __name__ == "__main__":
    store()
