"""Inputs of an audit beyond those of the family's evaluation, and how they are read from files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphgauge.core.arrays import AnyArray
from graphgauge.io.arrays import Shards, open_arrays, read_array, read_labels


@dataclass(frozen=True)
class Material:
    """`otherwise` gets it from the family's own options if it is not given."""

    help: str
    read: Callable[[Any], Any] = read_array
    otherwise: Callable[[Mapping[str, Any]], Any] | None = None


def _shards(patterns: Sequence[str]) -> AnyArray:
    files = Shards(open_arrays(patterns))
    return files.rows(0, len(files))


def _logged(options: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The embeddings of the stored runs, including those before the first cycle."""
    from graphgauge.evolution import EvolutionLog
    from graphgauge.evolution.evaluate import stored_runs

    log = EvolutionLog(options["log"])
    for condition, seed in stored_runs(log, options["conditions"], options["seeds"]):
        for stored in log.cycles(condition, seed):
            run = f"{condition}, seed {seed}"
            if stored.cycle == 0 and stored.previous_embeddings is not None:
                yield f"embeddings before the first cycle ({run})", stored.previous_embeddings
            yield f"embeddings of cycle {stored.cycle} ({run})", stored.embeddings


# By family and by parameter name of its checks; each is an option of `graphgauge audit FAMILY`, either a new one
# or one that the family already has.
MATERIALS: dict[str, dict[str, Material]] = {
    "ranking": {
        "test_edges": Material("The edges that were ranked, (n, 2), or triples (n, 3): head, relation, tail."),
        "train_edges": Material("The edges that were trained on, likewise."),
        "known_edges": Material("All true edges, likewise; default: those of training and test."),
        "neg_targets": Material("The tail nodes of the negatives, (n, k)."),
        "pos_scores": Material("Scores of the positives (n,).", _shards),
        "neg_scores": Material("Scores of their negatives (n, k).", _shards),
    },
    "explanation": {},
    "generation": {
        "drawn": Material("Number of attempts of the generator: one number, or one per condition or batch."),
    },
    "forecasting": {},
    "evolution": {
        "labels": Material("One label per original node.", read_labels),
        "node_ids": Material("The numbers of the original nodes, if not 0, 1, 2 …"),
        "embeddings": Material(
            "Embeddings that the probe reads, or their inputs, (n, d); default: the embeddings of the log.",
            otherwise=_logged,
        ),
    },
    "recovery": {
        "data": Material("The data that the graph was learned from, (samples, d)."),
    },
}


def read_materials(family: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The materials that the options name or imply."""
    found = {}
    for name, material in MATERIALS.get(family, {}).items():
        if options.get(name):
            found[name] = material.read(options[name])
        elif material.otherwise is not None:
            found[name] = material.otherwise(options)
    return found
