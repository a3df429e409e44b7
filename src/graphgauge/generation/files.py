"""Sides from files: samples by the ending of their file, columns by name; and models of users, asked and evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from graphgauge.core.archive import read_npz
from graphgauge.core.errors import OptionError, UnknownNameError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.progress import SILENT, Progress
from graphgauge.core.registry import find, sections
from graphgauge.generation.evaluate import evaluate
from graphgauge.generation.graphs import Graphs, read_graphs
from graphgauge.generation.molecules import read_molecules
from graphgauge.generation.sample import Samples, Sides, nested
from graphgauge.generation.subjects import Case, collect
from graphgauge.io.arrays import open_array
from graphgauge.io.code import own_code
from graphgauge.io.tables import read_labels, read_table

_SIDES = ("real", "generated", "train", "classifier")
# Types of nodes make a stack of edge types graphs.
_COLUMNS = (*(each.name for each in fields(Samples) if each.name != "in_training"), "node_types")
_READERS: dict[str, Callable[[str], Any]] = {
    "conditions": read_labels,
    "predicted": read_labels,
    "valid": read_labels,
    "statistics": read_table,
}


def evaluate_files(
    real: Path | None = None,
    generated: Path | None = None,
    *,
    train: Path | None = None,
    column: Mapping[str, Path] | None = None,
    samples: Sides | None = None,
    adjacency: str | None = None,
    node_labels: Sequence[str] | None = None,
    edge_labels: Sequence[str] | None = None,
    empty: str = "1",
    **options: Any,
) -> Evaluation:
    """Evaluate samples from files: what `graphgauge generation` does.

    Parameters
    ----------
    real, generated, train
        Samples: .npy of bits, .json .g6 .s6 of graphs, .smi of molecules, or .npz with columns of `Samples`.
    column
        Further columns, as `{"generated.valid": path, "real.statistics": path, …}`. `node_types` (n, N) beside items
        that are types of edges (n, N, N) make these graphs, as DiGress has them.
    samples
        All sides in one file, in place of these.
    adjacency
        Arrays (n, N, N) are adjacency matrices: `plain`, or `padded` if the last nodes without edges are padding.
    node_labels, edge_labels
        Attributes of graphs in .json files that are labels; empty for none.
    empty, **options
        As in `evaluate`.

    Returns
    -------
    Evaluation
        As from `evaluate`.
    """
    if adjacency is not None:
        one_of("adjacency", adjacency, ("plain", "padded"))
    paths = {"real": real, "generated": generated, "train": train}
    columns = {name: _columns(path, node_labels, edge_labels) for name, path in paths.items() if path is not None}
    for place, path in (column or {}).items():
        side, _, name = place.partition(".")
        if side not in _SIDES or name not in _COLUMNS:
            known = [f"{each}.{column}" for each in _SIDES for column in _COLUMNS]
            hint = f"Write SIDE.NAME, a side of {', '.join(_SIDES)} and a name of {', '.join(_COLUMNS)}."
            raise UnknownNameError("column", place, known, hint=hint).about("column")
        columns.setdefault(side, {})[name] = _READERS.get(name, open_array)(str(path))
    sides: dict[str, Any] = {name: _side(name, own, adjacency) for name, own in columns.items()}
    if samples is not None and sides:
        raise OptionError(f"samples already has what {', '.join(sides)} would say", fix="Give one of them.")
    return evaluate(samples if samples is not None else sides.pop("real", None), empty=empty, **sides, **options)


def _columns(path: Path, node_labels: Any, edge_labels: Any) -> dict[str, Any]:
    """The columns of a file: by its ending items, or all columns of an .npz."""
    suffix = path.suffix.lower()
    if suffix in (".json", ".g6", ".s6"):
        return {"items": read_graphs(path, node_labels=node_labels, edge_labels=edge_labels)}
    for key, value in (("node_labels", node_labels), ("edge_labels", edge_labels)):
        if value is not None:
            raise OptionError(f"{key} is for graphs in .json files", fix="Leave it out.").about(key)
    if suffix in (".smi", ".smiles", ".txt"):
        return {"items": read_molecules(path)}
    return nested(read_npz(path)) if suffix == ".npz" else {"items": open_array(path)}


def _side(name: str, columns: dict[str, Any], adjacency: str | None) -> Samples:
    """The samples of a side; arrays become graphs if they are said to be."""
    for column in columns:
        one_of(f"column of {name}", column, _COLUMNS)
    types, items = columns.pop("node_types", None), columns.get("items")
    if items is not None and not isinstance(items, Graphs) and (types is not None or adjacency is not None):
        padded = adjacency == "padded"
        columns["items"] = Graphs.from_adjacency(items, node_types=types, padded=padded, where=name)
    return Samples(**columns)


# ---- models


def evaluate_model(
    subject: Callable[..., Any],
    *,
    checkpoint: Path | None = None,
    data: Path | None = None,
    classifier_checkpoint: Path | None = None,
    cpu: bool = False,
    num_samples: int = 100,
    temperature: float = 1.0,
    threshold: float = 0.5,
    save_samples: Path | None = None,
    empty: str = "1",
    metrics: Any = None,
    seed: int = 0,
    progress: Progress = SILENT,
    **options: Any,
) -> Evaluation:
    """Ask a generator that a factory makes, and evaluate its answers: what `graphgauge generation model` does.

    Parameters
    ----------
    subject
        A function that returns a subject or a `Case`; it is called with those of the next four that are given.
    checkpoint, data, classifier_checkpoint, cpu
        Handed to the factory.
    num_samples, temperature, threshold
        As in `collect`.
    save_samples
        Write all sides.
    empty, metrics, seed, **options
        As in `evaluate`.
    progress
        Where progress is reported.

    Returns
    -------
    Evaluation
        As from `evaluate`.
    """
    files = {"checkpoint": checkpoint, "data": data, "classifier_checkpoint": classifier_checkpoint, "cpu": cpu or None}
    with own_code(getattr(subject, "__qualname__", "subject")):
        made = subject(**{name: value for name, value in files.items() if value is not None})
    sides = collect(
        made if isinstance(made, Case) else Case(made),
        num_samples=num_samples,
        temperature=temperature,
        threshold=threshold,
        seed=seed,
        sections=_sections(metrics),
        progress=progress.stage,
    )
    if save_samples is not None:
        sides.save(save_samples)
    reconstructed = sides.real is not None and sides.real.reconstructed is not None
    return evaluate(sides, empty=empty if reconstructed else 1, metrics=metrics, seed=seed, **options)


def _sections(metrics: Any) -> list[str] | None:
    """The sections that the metrics belong to; None for all."""
    names = [metrics] if isinstance(metrics, str) else list(metrics or ())
    if not names or {"all", "default"} & set(names):
        return None
    known = {each.name for each in sections("generation")}
    return [name if name in known else find(name, "generation")[0].section or "" for name in names]
