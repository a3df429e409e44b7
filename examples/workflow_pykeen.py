"""Two models of PyKEEN on Nations, ranked with graphgauge: both sides, filtered, per relation, compared.

pip install graphgauge pykeen
python examples/workflow_pykeen.py
"""

from __future__ import annotations

from pykeen.datasets import Nations
from pykeen.models import Model
from pykeen.pipeline import pipeline

from graphgauge import ranking
from graphgauge.stats import compare


def trained(epochs: int = 40) -> tuple[Nations, dict[str, Model]]:
    """The dataset, which ships with PyKEEN, and two models."""
    dataset = Nations()
    models = {}
    for name in ("DistMult", "TransE"):
        run = pipeline(
            dataset=dataset,
            model=name,
            model_kwargs={"embedding_dim": 16},
            random_seed=0,
            device="cpu",
            training_kwargs={"num_epochs": epochs, "use_tqdm": False},
            evaluation_kwargs={"use_tqdm": False},
        )
        models[name] = run.model.eval()
    return dataset, models


def main() -> None:
    dataset, models = trained()
    # begin
    known = [dataset.training, dataset.validation]
    evaluations = {
        name: ranking.evaluate(ranking.Queries.from_triples(model, dataset.testing, known=known))
        for name, model in models.items()
    }
    print(evaluations["DistMult"])
    print(evaluations["DistMult"].by("side"))
    print(compare(evaluations, metric="mrr", over="items"))
    # end


if __name__ == "__main__":
    main()
