"""Sides from files: samples by the ending of their file, columns by name; and models of users, asked and evaluated."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
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
from graphgauge.generation.sample import Samples, Sides
from graphgauge.generation.subjects import Case, collect
from graphgauge.io.arrays import open_array
from graphgauge.io.code import own_code
from graphgauge.io.tables import read_labels, read_table

_SIDES = ("real", "generated", "train", "classifier")
_COLUMNS = tuple(each.name for each in fields(Samples) if each.name != "in_training")
_READERS: dict[str, Callable[[str], Any]] = {
    "conditions": read_labels,
    "predicted": read_labels,
    "valid": read_labels,
    "statistics": read_table,
}


def read_sides(path: Path) -> Sides:
    """All sides, as `Sides.save` or --save-samples writes them."""
    return Sides.load(path)


def evaluate_files(
    real: Path | None = None,
    generated: Path | None = None,
    *,
    train: Path | None = None,
    column: Mapping[str, Path] | None = None,
    samples: Sides | None = None,
    labels: Sequence[str] | None = None,
    ordered: bool = False,
    channels: Sequence[str] | None = None,
    threshold: float | None = None,
    empty: str = "1",
    adjacency: str | None = None,
    node_labels: Sequence[str] | None = None,
    edge_labels: Sequence[str] | None = None,
    draws: int = 999,
    metrics: Any = None,
    confidence: float = 0.95,
    seed: int = 0,
    protocol: str | None = None,
) -> Evaluation:
    """Evaluate samples from files: what `graphgauge generation` does.

    Parameters
    ----------
    real, generated, train
        Samples: .npy of bits, .json .g6 .s6 of graphs, .smi of molecules, or .npz with columns of `Samples`.
    column
        Further columns, as `{"generated.valid": path, "real.statistics": path, …}`.
    samples
        All sides in one file, in place of these.
    adjacency
        Arrays (n, N, N) are adjacency matrices: `plain`, or `padded` if the last nodes without edges are padding.
    node_labels, edge_labels
        Attributes of graphs in .json files that are labels; empty for none.
    labels, ordered, channels, threshold, empty, draws, metrics, confidence, seed, protocol
        As in `evaluate`.

    Returns
    -------
    Evaluation
        As from `evaluate`.
    """
    if adjacency is not None:
        one_of("adjacency", adjacency, ("plain", "padded"))
    options: dict[str, Any] = {
        "empty": empty,
        "metrics": metrics,
        "confidence": confidence,
        "draws": draws,
        "seed": seed,
        "protocol": protocol,
    }
    paths = {"real": real, "generated": generated, "train": train}
    if samples is not None:
        said = [name for name, value in {**paths, "column": column, "labels": labels}.items() if value is not None]
        if said:
            raise OptionError(f"samples already has what {', '.join(said)} would say", fix="Give one of them.")
        return evaluate(samples, **options)
    graphs = {"adjacency": adjacency, "node_labels": node_labels, "edge_labels": edge_labels}
    given = {name: _samples(path, name, graphs) for name, path in paths.items() if path is not None}
    given |= _with_columns(given, column or {})
    if not given.keys() & {"real", "generated"}:
        raise OptionError("nothing to evaluate", fix="Pass real or generated samples, or both.")
    sides = Sides.from_samples(
        given.get("real"),
        given.get("generated"),
        given.get("train"),
        classifier=given.get("classifier"),
        labels=labels,
        ordered=ordered,
        channels=channels,
        threshold=threshold,
    )
    return evaluate(sides, **options)


def _samples(path: Path, name: str, graphs: Mapping[str, Any]) -> Samples:
    """The samples of one side: by the ending of the file items, or all columns of an .npz."""
    suffix = path.suffix.lower()
    labelled = {key: graphs[key] for key in ("node_labels", "edge_labels")}
    if suffix in (".json", ".g6", ".s6"):
        return Samples(read_graphs(path, **labelled))
    if any(value is not None for value in labelled.values()):
        key = next(key for key, value in labelled.items() if value is not None)
        raise OptionError(f"{key} is for graphs in .json files", fix="Leave it out.").about(key)
    if suffix in (".smi", ".smiles", ".txt"):
        return Samples(read_molecules(path))
    if suffix != ".npz":
        return Samples(_items(open_array(path), name, graphs["adjacency"]))
    columns: dict[str, Any] = {}
    for key, array in read_npz(path).items():
        first, _, part = key.partition(".")
        one_of(f"column of {name}", first, _COLUMNS)
        columns |= {first: {**columns.get(first, {}), part: array}} if part else {first: array}
    items = columns.get("items")
    return Samples(**{**columns, "items": None if items is None else _items(items, name, graphs["adjacency"])})


def _items(array: Any, name: str, adjacency: str | None) -> Any:
    if adjacency is None:
        return array
    return Graphs.from_adjacency(array, padded=adjacency == "padded", where=name)


def _with_columns(given: Mapping[str, Samples], columns: Mapping[str, Path]) -> dict[str, Samples]:
    """The sides with further columns from files of their own."""
    sides = dict(given)
    for place, path in columns.items():
        side, _, name = place.partition(".")
        if side not in _SIDES or name.partition(".")[0] not in _COLUMNS:
            known = [f"{each}.{column}" for each in _SIDES for column in _COLUMNS]
            raise UnknownNameError("column", place, known, hint=_hint(place)).about("column")
        first, _, part = name.partition(".")
        value: Any = _READERS.get(first, open_array)(str(path)) if not part else open_array(path)
        own = sides.get(side, Samples())
        value = {**(getattr(own, first) or {}), part: value} if part else value
        sides[side] = replace(own, **{first: value})
    return sides


def _hint(place: str) -> str:
    return f"Write SIDE.NAME, a side of {', '.join(_SIDES)} and a name of {', '.join(_COLUMNS)}."


# ---- models


def evaluate_model(
    subject: Callable[..., Any],
    *,
    checkpoint: Path | None = None,
    data: Path | None = None,
    classifier_checkpoint: Path | None = None,
    num_samples: int = 100,
    temperature: float = 1.0,
    threshold: float = 0.5,
    cpu: bool = False,
    empty: str = "1",
    draws: int = 999,
    save_samples: Path | None = None,
    metrics: Any = None,
    confidence: float = 0.95,
    seed: int = 0,
    protocol: str | None = None,
    progress: Progress = SILENT,
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
    empty, draws, metrics, confidence, seed, protocol
        As in `evaluate`.
    progress
        Where progress is reported.

    Returns
    -------
    Evaluation
        As from `evaluate`.
    """
    handed = {
        "checkpoint": checkpoint,
        "data": data,
        "classifier_checkpoint": classifier_checkpoint,
        "cpu": cpu or None,
    }
    handed = {name: value for name, value in handed.items() if value is not None}
    with own_code(getattr(subject, "__qualname__", "subject")):
        taken = inspect.signature(subject).parameters
        open_ended = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in taken.values())
        refused = [name for name in handed if name not in taken and not open_ended]
        if not refused:
            made = subject(**handed)
    if refused:
        known = ", ".join(taken) or "nothing"
        raise OptionError(f"the factory takes no {refused[0]}, but {known}", fix="Leave it out.").about(refused[0])
    case = made if isinstance(made, Case) else Case(made)
    sides = collect(
        case,
        num_samples=num_samples,
        temperature=temperature,
        threshold=threshold,
        seed=seed,
        sections=_sections(metrics),
        progress=progress.stage,
    )
    if save_samples is not None:
        sides.save(save_samples)
    options = {"metrics": metrics, "confidence": confidence, "draws": draws, "seed": seed, "protocol": protocol}
    return evaluate(
        sides, empty=empty if sides.real is not None and sides.real.reconstructed is not None else 1, **options
    )


def _sections(metrics: Any) -> list[str] | None:
    """The sections that the metrics belong to; None for all."""
    if metrics is None or isinstance(metrics, str):
        names = [] if metrics in (None, "all", "default") else [metrics]
    else:
        names = list(metrics)
    known = [each.name for each in sections("generation")]
    if not names or {"all", "default"} & set(names):
        return None
    wanted = {name if name in known else find(name, "generation")[0].section for name in names}
    return [name for name in known if name in wanted]
