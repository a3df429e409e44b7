"""The checks of sides: samples as bits, graphs or molecules, columns as arrays, and what cannot be compared refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, on_host
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.generation.columns import (
    Conditions,
    Samples,
    as_bits,
    as_names,
    as_statistics,
    as_validity,
    as_variances,
    as_vectors,
    may_be_adjacency,
    thresholded,
)
from graphgauge.generation.graphs import Graphs, are_graph_objects, require_alike, rows_of
from graphgauge.generation.identity import codes as identity_codes
from graphgauge.generation.molecules import Molecules

CONTAINERS: dict[str, Any] = {"graphs": Graphs, "molecules": Molecules}
_RAGGED = "Graphs are Graphs.from_objects(…), adjacency matrices Graphs.from_adjacency(…)."


def kind_of(items: Any) -> str:
    """What items are: `bits`, `graphs` or `molecules`."""
    return next((name for name, kind in CONTAINERS.items() if isinstance(items, kind)), "bits")


def all_checked(
    given: Mapping[str, Samples | None],
    conditions: Conditions,
    threshold: float | None,
    validate: Callable[[Any], Any] | None,
) -> tuple[dict[str, Any], list[str]]:
    """All sides as arrays of one kind, marked where they are in training, and notes on what was left out."""
    sides: dict[str, Any] = {
        name: None if side is None else _checked(name, side, conditions, threshold, validate)
        for name, side in given.items()
    }
    sides, notes = _without_empty(_without_shape(sides))
    _require_one_kind(sides)
    _mark_training(sides)
    return sides, [*notes, *_foreign_labels(sides)]


# ---- one side


def side_of(value: Any) -> Samples | None:
    """The samples of a side, which may be plain items."""
    return value if value is None or isinstance(value, Samples) else Samples(value)


def _checked(
    name: str, side: Samples, conditions: Conditions, threshold: float | None, validate: Callable[[Any], Any] | None
) -> Samples:
    """One side as arrays, all of one length, conditions as codes."""
    if not side.columns():
        raise InputError("has no column", where=name, fix="Pass items, statistics or latents.")
    items = None if side.items is None else as_items(side.items, name)
    statistics, latents = side.statistics, side.latents
    if isinstance(items, Molecules) and statistics is None:
        statistics = items.statistics
    n = len(items) if items is not None else len(side)
    valid = side.valid
    if validate is not None and name != "train":
        if valid is not None:
            raise OptionError(f"validate and {name}.valid are both given", fix="Pass one of them.")
        try:
            valid = validate(side.items)
        except Exception as error:
            fix = "It gets all samples of a side, and says of each whether it is valid: [f(each) for each in samples]."
            raise InputError(f"validate failed: {type(error).__name__}: {error}", where=name, fix=fix) from error
    found = Samples(
        items,
        conditions=_codes(name, side.conditions, n, conditions),
        valid=None if valid is None else as_validity(valid, f"{name}.valid", n),
        statistics=None if statistics is None else as_statistics(statistics, f"{name}.statistics", n),
        latents=None if latents is None else as_vectors(latents, f"{name}.latents", n),
        predicted=None if side.predicted is None else conditions.answers(side.predicted, f"{name}.predicted", n),
    )
    if side.variances is not None:
        if found.latents is None:
            raise InputError("variances without latents", where=f"{name}.variances", fix="Pass both.")
        found = replace(found, variances=as_variances(side.variances, f"{name}.variances", found.latents))
    if side.reconstructed is not None:
        found = replace(found, reconstructed=_reconstructed(name, side.reconstructed, items, threshold))
    return found


def as_items(value: Any, name: str) -> Any:
    """Samples as they are compared: bits, `Graphs` or `Molecules`. What could be two of these is refused."""
    if isinstance(value, Graphs | Molecules):
        return value
    if are_graph_objects(value):
        return Graphs.from_objects(value, where=name)
    if isinstance(value, list | tuple) and value and all(isinstance(each, str) for each in value):
        raise InputError("a list of texts", where=name, fix="Molecules are Molecules.from_smiles(texts).")
    if isinstance(value, Mapping) or hasattr(value, "columns"):
        fix = "Pass its columns as statistics: Samples(statistics=table)."
        raise InputError("the rows of a table are not samples", where=name, fix=fix)
    array = as_numeric(on_host(value, name), name, ragged=_RAGGED)
    if may_be_adjacency(array):
        raise InputError(
            f"an array of shape {array.shape} whose samples are symmetric with a diagonal of 0 may be graphs or bits",
            where=name,
            fix="Graphs are Graphs.from_adjacency(array), bits array.reshape(len(array), -1).",
        )
    return as_bits(array, name)


def _codes(name: str, values: Any, n: int, conditions: Conditions) -> Ints | None:
    """The condition of each sample; of training samples, which may have others, −1 or not known."""
    if values is not None:
        return conditions.codes(values, f"{name}.conditions", n, strict=name != "train")
    if len(conditions) == 1 and not conditions.named:
        return np.zeros(n, np.int64)
    if name == "train":
        return np.zeros(n, np.int64) if len(conditions) == 1 else None
    if n:
        raise InputError("conditions are missing", where=name, fix="Give one per sample, as for the others.")
    return np.empty(0, np.int64)


def _reconstructed(name: str, value: Any, items: Any, threshold: float | None) -> Mask:
    """What came back, in bits: probabilities above the threshold if there is one."""
    where = f"{name}.reconstructed"
    if not isinstance(items, np.ndarray):
        raise InputError("reconstructed without samples of bits", where=where)
    bits = as_bits(value, where) if threshold is None else thresholded(value, threshold, where)
    if bits.shape != items.shape:
        raise InputError(f"shape {bits.shape}, {name} samples have {items.shape}", where=where)
    return bits


def _without_shape(sides: dict[str, Any]) -> dict[str, Any]:
    """An empty list is a side without samples, whatever samples the others have."""
    model = next((s.items for s in sides.values() if s is not None and s.items is not None and len(s)), None)
    if model is None:
        return sides
    blank = {
        name: s is not None and isinstance(s.items, np.ndarray) and s.items.shape == (0,) for name, s in sides.items()
    }
    none = rows_of(model, np.empty(0, np.int64))
    return {name: replace(side, items=none) if blank[name] else side for name, side in sides.items()}


def whole_items(items: Any) -> Mask:
    """Which items can be samples at all: graphs with nodes, molecules that can be read, all bits."""
    if isinstance(items, Graphs):
        return np.asarray(items.nodes > 0)
    return items.valid if isinstance(items, Molecules) else np.ones(len(items), bool)


def _without_empty(sides: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Graphs without nodes and molecules that cannot be read: generated ones are not valid, others are dropped."""
    notes, found = [], dict(sides)
    for name, side in sides.items():
        if side is None or not isinstance(side.items, Graphs | Molecules):
            continue
        right, is_graphs = whole_items(side.items), isinstance(side.items, Graphs)
        if right.all() and (is_graphs or name != "generated"):
            continue
        if name == "generated":
            found[name] = replace(side, valid=side.kept & right)
            continue
        what = "graphs have no nodes" if is_graphs else "molecules cannot be read"
        notes.append(f"{int((~right).sum())} of {len(right)} {name} {what} and are left out")
        found[name] = side.take(right)
    return found, notes


def _require_one_kind(sides: Mapping[str, Samples | None]) -> None:
    """Refuse sides that cannot be compared with each other."""
    known = {name: side for name, side in sides.items() if side is not None}
    named = {name: side.items for name, side in known.items() if side.items is not None and len(side)}
    if len({kind_of(items) for items in named.values()}) > 1:
        raise InputError(
            " and ".join(f"{name} has {kind_of(items)}" for name, items in named.items()),
            where=" and ".join(named),
            fix="Pass samples of one kind.",
        )
    shapes = {name: items.shape[1:] for name, items in named.items() if isinstance(items, np.ndarray)}
    if len(set(shapes.values())) > 1:
        text = " and ".join(f"{shape} in {name}" for name, shape in shapes.items())
        raise InputError(f"samples of shape {text}", where=" and ".join(shapes), fix="Pass samples of one shape.")
    graphs = [items for items in named.values() if isinstance(items, Graphs)]
    require_alike(graphs, " and ".join(named))
    for column, width in (("latents", lambda v: v.shape[1]), ("statistics", lambda v: tuple(sorted(v)))):
        own = {name: width(getattr(side, column)) for name, side in known.items() if getattr(side, column) is not None}
        if len(set(own.values())) > 1:
            said = " and ".join(
                f"{value if isinstance(value, int) else ', '.join(value)} of {name}" for name, value in own.items()
            )
            raise InputError(f"{column} differ: {said}", where=column, fix="Give the same on all sides.")
    _require_same_texts([side.statistics for side in known.values() if side.statistics is not None])


def _require_same_texts(sides: Sequence[Mapping[str, AnyArray]]) -> None:
    for name in sides[0] if sides else ():
        if len({side[name].dtype.kind == "U" for side in sides}) > 1:
            raise InputError(f"{name} is text on one side and numbers on the other", where="statistics")


def _mark_training(sides: dict[str, Any]) -> None:
    """Mark real and generated samples that are in training."""
    train = sides["train"]
    marked = [name for name in ("real", "generated") if sides[name] is not None]
    items = [sides[name].items for name in marked]
    for name in marked:
        sides[name] = replace(sides[name], in_training=np.zeros(len(sides[name]), bool))
    if train is None or train.items is None or not len(train):
        return
    with_items = [name for name, own in zip(marked, items, strict=True) if own is not None and len(own)]
    *ids, known = identity_codes(*(sides[name].items for name in with_items), train.items).ids
    for name, own in zip(with_items, ids, strict=True):
        sides[name] = replace(sides[name], in_training=np.isin(own, known))


def judged(classifier: Samples | None, conditions: Conditions) -> Samples | None:
    """The true and predicted conditions of real samples that the classifier was not trained on."""
    if classifier is None:
        return None
    if not isinstance(classifier, Samples) or classifier.conditions is None or classifier.predicted is None:
        fix = "Pass Samples(conditions=true, predicted=answers) of real held-out samples."
        raise InputError("expected true and predicted conditions", where="classifier", fix=fix)
    codes = conditions.answers(classifier.conditions, "classifier.conditions", None)
    return Samples(
        conditions=codes, predicted=conditions.answers(classifier.predicted, "classifier.predicted", len(codes))
    )


def channels_of(channels: Sequence[str] | None, sides: Mapping[str, Samples | None]) -> tuple[str, ...] | None:
    if channels is None:
        return None
    names = as_names(channels, "channels")
    for side in sides.values():
        if side is not None and isinstance(side.items, np.ndarray) and side.items.shape[1:2] != (len(names),):
            raise InputError(f"{len(names)} channels named, samples have {side.items.shape[1]}", where="channels")
    return names


def _foreign_labels(sides: Mapping[str, Samples | None]) -> list[str]:
    """A note if labels of generated graphs never occur elsewhere: they are probably written in another way."""
    notes = []
    for kind in ("node", "edge"):
        words = {name: getattr(side.items, f"{kind}_labels", None) for name, side in sides.items() if side is not None}
        own = words.pop("generated", None)
        others = [each for each in words.values() if each is not None and len(each)]
        if own is not None and len(own) and others and not np.isin(own, np.concatenate(others)).any():
            notes.append(f"no label of generated {kind}s occurs among the real and training graphs")
    return notes
