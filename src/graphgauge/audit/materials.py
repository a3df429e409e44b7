"""What an audit can be given beyond what a family measured, and how it is read from files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphgauge.core.arrays import AnyArray
from graphgauge.io.arrays import Shards, open_arrays, read_array, read_labels


@dataclass(frozen=True)
class Material:
    """`otherwise` finds it among the family's own options, where it is not named."""

    help: str
    read: Callable[[Any], Any] = read_array
    otherwise: Callable[[Mapping[str, Any]], Any] | None = None


def _shards(patterns: Sequence[str]) -> AnyArray:
    files = Shards(open_arrays(patterns))
    return files.rows(0, len(files))


def _logged(options: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The embeddings of the stored runs, those before the first cycle too."""
    from graphgauge.evolution import EvolutionLog
    from graphgauge.evolution.evaluate import stored_runs

    log = EvolutionLog(options["log"])
    for condition, seed in stored_runs(log, options["conditions"], options["seeds"]):
        for stored in log.cycles(condition, seed):
            run = f"{condition}, seed {seed}"
            if stored.cycle == 0 and stored.previous_embeddings is not None:
                yield f"embeddings before the first cycle ({run})", stored.previous_embeddings
            yield f"embeddings of cycle {stored.cycle} ({run})", stored.embeddings


# By family and by the name under which its checks ask for it; each is an option of `graphgauge audit FAMILY`, its own
# or one that the family has already.
MATERIALS: dict[str, dict[str, Material]] = {
    "ranking": {
        "test_edges": Material("The edges that were ranked, (n, 2), or triples (n, 3): head, relation, tail."),
        "train_edges": Material("The edges that were trained on, likewise."),
        "known_edges": Material("All edges that are true, likewise; without it those of training and test."),
        "neg_targets": Material("The tails behind the negatives, (n, k)."),
        "pos_scores": Material("Scores of the positives (n,).", _shards),
        "neg_scores": Material("Scores of their negatives (n, k).", _shards),
    },
    "explanation": {},
    "generation": {
        "drawn": Material("How often the generator was asked: one number, or one for each condition or batch."),
    },
    "forecasting": {},
    "evolution": {
        "labels": Material("One label for each original node.", read_labels),
        "node_ids": Material("The numbers of the original nodes, if not 0, 1, 2 …"),
        "embeddings": Material(
            "What the probe reads, or what that is made from, (n, d); without it the embeddings of the log.",
            otherwise=_logged,
        ),
    },
    "recovery": {
        "data": Material("The data that the graph was learned from, (samples, d)."),
    },
}


def read_materials(family: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The materials that options name, or that can be found by them."""
    found = {}
    for name, material in MATERIALS[family].items():
        if options.get(name):
            found[name] = material.read(options[name])
        elif material.otherwise is not None:
            found[name] = material.otherwise(options)
    return found
