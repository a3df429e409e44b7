"""In training: rank a few queries of the validation set after each epoch, and stop when nothing gets better.

With 95 % probability all intervals of all epochs contain their value on the whole validation set: epoch e gets the
share 1 / (e (e + 1)) of the error. The ranks of one epoch predict those of the next, which saves queries.

    python examples/rank_monitor.py
"""

from __future__ import annotations

import numpy as np

from graphgauge import Evaluation, ranking

WITHIN, PATIENCE = 0.05, 2


def main() -> None:
    rng = np.random.default_rng(0)
    entities = rng.normal(size=(500, 16))
    targets = rng.integers(0, len(entities), 4000)
    best: Evaluation | None = None
    before: list[Evaluation] = []
    worse = 0
    for epoch in range(1, 11):
        noise = max(1.6 - 0.4 * epoch, 0.4)  # a model that learns for three epochs
        vectors = entities[targets] + noise * rng.normal(size=(len(targets), 16))
        found = ranking.evaluate_until(
            ranking.Queries.from_embeddings(vectors, entities, targets=targets),
            within={"mrr": WITHIN},
            confidence=1 - 0.05 / (epoch * (epoch + 1)),
            assist=before,
            seed=epoch,
        )
        before = [found]
        low, high = found["mrr"].interval or (0.0, 1.0)
        read = found.options["until"]["read"]
        print(f"epoch {epoch}: mrr in [{low:.3f}, {high:.3f}], {read:,} of {len(targets):,} queries read")
        known = 0.0 if best is None or best["mrr"].interval is None else best["mrr"].interval.high
        if low > known:  # shown to be better than the best so far
            best, worse = found, 0
        else:
            worse += 1
        if worse == PATIENCE:
            print(f"stop: epoch {epoch - PATIENCE} is not improved upon")
            return


if __name__ == "__main__":
    main()
