"""The canonical sample: real, generated and training samples, each with a row per sample in every column.

objects or files -> three `Samples` -> `Sides.from_samples` checks them once -> sections read columns and masks
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.archive import read_archive, write_archive
from graphgauge.core.arrays import as_numeric, is_frame
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import number
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.generation import columns as read
from graphgauge.generation.columns import Conditions, Samples
from graphgauge.generation.graphs import Graphs, are_graph_objects, require_alike, rows_of
from graphgauge.generation.identity import codes as identity_codes
from graphgauge.generation.molecules import Molecules

__all__ = ["Samples", "Sides"]


@dataclass(frozen=True, eq=False)
class Sides:
    """Real, generated and training samples, checked: arrays, conditions as codes into `labels`, masks.

    `real` samples that are also in training are marked in `in_training`, and so are generated ones; they are not held
    out. `classifier` has the true and predicted conditions of real samples. `leaks` says whether the encoder is given
    the condition. `missing` says why a column is not there, and `notes` what else to know.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import generation
    >>> sides = generation.Sides.from_samples(np.eye(4, dtype=bool), np.eye(4, dtype=bool)[[0, 0, 1]])
    >>> len(sides.real), sides.labels
    (4, ('all',))
    """

    real: Samples | None = None
    generated: Samples | None = None
    train: Samples | None = None
    classifier: Samples | None = None
    labels: tuple[str, ...] = ("all",)
    ordered: bool = False
    channels: tuple[str, ...] | None = None
    threshold: float | None = None
    leaks: bool | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def from_samples(
        cls,
        real: Any = None,
        generated: Any = None,
        train: Any = None,
        *,
        classifier: Samples | None = None,
        labels: Sequence[str] | None = None,
        ordered: bool = False,
        channels: Sequence[str] | None = None,
        threshold: float | None = None,
        validate: Callable[[Any], Any] | None = None,
        leaks: bool | None = None,
        options: Mapping[str, Any] | None = None,
        missing: Mapping[str, str] | None = None,
        notes: Sequence[str] = (),
    ) -> Sides:
        """Check all sides, and mark what is in training.

        Parameters
        ----------
        real, generated, train, classifier, labels, ordered, channels, threshold, validate
            As in `evaluate`.
        leaks
            Whether the encoder is given the condition.
        options, missing, notes
            What the samples were collected with, why columns are not there, and what else to know.

        Returns
        -------
        Sides
            For `evaluate`.

        Raises
        ------
        InputError
            If samples have different shapes, or a value is NaN.
        """
        threshold = None if threshold is None else number("threshold", threshold, 0, 1)
        given = {name: as_side(value) for name, value in (("real", real), ("generated", generated), ("train", train))}
        own = {f"{name}.conditions": getattr(given[name], "conditions", None) for name in ("real", "generated")}
        labelled = {name: values for name, values in own.items() if values is not None}
        conditions = Conditions(labelled, labels, ordered=bool(ordered))
        sides = {
            name: _checked(name, side, conditions, threshold, validate)
            for name, side in given.items()
            if side is not None
        }
        sides, dropped = _without_empty(_with_shapes(sides))
        require_one_kind(sides)
        return cls(
            **_marked(sides),
            classifier=_judged(classifier, conditions),
            labels=conditions.names,
            ordered=bool(ordered),
            channels=_channels(channels, sides),
            threshold=threshold,
            leaks=leaks,
            options=dict(options or {}),
            missing=dict(missing or {}),
            notes=tuple(dict.fromkeys((*notes, *dropped))),
        )

    @property
    def groups(self) -> int:
        """The number of conditions."""
        return len(self.labels)

    @property
    def kind(self) -> str | None:
        """What items are: `bits`, `graphs` or `molecules`; None without any."""
        items = next((s.items for s in (self.generated, self.real) if s is not None and s.items is not None), None)
        return None if items is None else kind_of(items)

    @cached_property
    def held_out(self) -> Samples:
        """Real samples that the generator was not trained on."""
        assert self.real is not None
        return self.real.take(~self.real.in_training)

    @property
    def same_rules(self) -> bool:
        """Whether real samples passed the rules that generated ones did: without that they are no level of repeats."""
        made, real = self.generated, self.real
        if real is None or made is None or real.valid is not None or made.items is None:
            return True
        return bool(np.array_equal(made.kept, getattr(made.items, "valid", np.ones(len(made), bool))))

    @property
    def copied(self) -> Mask | None:
        """Which generated samples are in training; None if no real ones are, so that none were left out either."""
        if self.generated is None or self.real is None or not self.real.in_training.any():
            return None
        copied: Mask = self.generated.in_training
        return copied

    # ---- files

    def save(self, path: str | Path) -> None:
        """Write all sides as .npz: arrays, and facts as JSON; no pickle.

        Parameters
        ----------
        path
            The file to write.

        Returns
        -------
        None
            The file is complete when the method returns.

        Examples
        --------
        >>> import numpy as np
        >>> from graphgauge import generation
        >>> generation.Sides.from_samples(np.eye(4, dtype=bool)).save("sides.npz")
        >>> len(generation.Sides.load("sides.npz").real)
        4
        """
        arrays: dict[str, AnyArray] = {}
        sides = {name: getattr(self, name) for name in _SIDES if getattr(self, name) is not None}
        for name, side in sides.items():
            for column, value in side.columns().items():
                parts = value.arrays() if isinstance(value, Graphs | Molecules) else value
                if isinstance(parts, Mapping):
                    arrays |= {f"{name}.{column}.{part}": array for part, array in parts.items()}
                elif column != "in_training":
                    arrays[f"{name}.{column}"] = value
        facts = {name: getattr(self, name) for name in _FACTS}
        kinds = {name: kind_of(side.items) for name, side in sides.items() if kind_of(side.items) in _CONTAINERS}
        write_archive(path, _KIND, {**facts, "kinds": kinds}, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Sides:
        """Read what `save` has written, with the same checks as `from_samples`.

        Parameters
        ----------
        path
            The file.

        Returns
        -------
        Sides
            For `evaluate`.

        Raises
        ------
        InputError
            If the file is damaged.
        """
        facts, arrays = read_archive(path, _KIND)
        try:
            columns = {name: nested(own) for name, own in nested(arrays).items()}
            for name, kind in facts.pop("kinds").items():
                columns[name]["items"] = _CONTAINERS[kind].from_arrays(columns[name]["items"])
            sides: dict[str, Any] = {name: Samples(**own) for name, own in columns.items()}
            return cls.from_samples(**sides, **facts)
        except InputError as error:
            raise InputError(error.what, where=f"{path} ({error.where})", fix="Write it again.") from None
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError):
            raise InputError("the samples are incomplete", where=str(path), fix="Write them again.") from None


_KIND, _SIDES = "samples", ("real", "generated", "train", "classifier")
_FACTS = ("labels", "ordered", "channels", "threshold", "leaks", "options", "missing", "notes")
_CONTAINERS: dict[str, Any] = {"graphs": Graphs, "molecules": Molecules}


def nested(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays called A.B as {A: {B: array}}, others as they are."""
    content: dict[str, Any] = {}
    for name, array in arrays.items():
        first, _, part = name.partition(".")
        content |= {first: {**content.get(first, {}), part: array} if part else array}
    return content


# ---- one side


def as_side(value: Any) -> Samples | None:
    """The samples of a side, which may be plain items."""
    return value if value is None or isinstance(value, Samples) else Samples(value)


def _checked(
    name: str, side: Samples, conditions: Conditions, threshold: float | None, validate: Callable[[Any], Any] | None
) -> Samples:
    """One side as arrays, all of one length, conditions as codes."""
    if not side.columns():
        raise InputError("has no column", where=name, fix="Pass items, statistics or latents.")
    items = None if side.items is None else _as_items(side.items, name)
    n = len(side) if items is None else len(items)
    if isinstance(items, Molecules) and side.statistics is None:
        side = replace(side, statistics=items.statistics)
    if validate is not None and name != "train":
        side = replace(side, valid=_validated(name, side, validate))
    readers: dict[str, Callable[[Any, str, int], Any]] = {
        "valid": read.as_validity,
        "statistics": read.as_statistics,
        "latents": read.as_vectors,
        "predicted": conditions.answers,
    }
    columns = {
        column: reader(getattr(side, column), f"{name}.{column}", n)
        for column, reader in readers.items()
        if getattr(side, column) is not None
    }
    if side.reconstructed is not None:
        where, shape = f"{name}.reconstructed", getattr(items, "shape", "no bits")
        value = side.reconstructed
        bits = read.as_bits(value, where) if threshold is None else read.thresholded(value, threshold, where)
        if bits.shape != shape:
            raise InputError(f"shape {bits.shape}, {name} samples have {shape}", where=where)
        columns["reconstructed"] = bits
    return Samples(items, conditions=_codes(name, side.conditions, n, conditions), **columns)


def _as_items(value: Any, name: str) -> Any:
    """Samples as they are compared: bits, `Graphs` or `Molecules`. What could be two of these is refused."""
    if isinstance(value, Graphs | Molecules):
        return value
    if are_graph_objects(value):
        return Graphs.from_objects(value, where=name)
    if isinstance(value, list | tuple) and value and all(isinstance(each, str) for each in value):
        raise InputError("a list of texts", where=name, fix="Molecules are Molecules.from_smiles(texts).")
    if isinstance(value, Mapping) or is_frame(value):
        fix = "Pass its columns as statistics: Samples(statistics=table)."
        raise InputError("the rows of a table are not samples", where=name, fix=fix)
    ragged = "Graphs are Graphs.from_objects(…), adjacency matrices Graphs.from_adjacency(…)."
    array = as_numeric(value, name, ragged=ragged)
    if read.may_be_adjacency(array):
        what = f"an array of shape {array.shape} whose samples are symmetric with a diagonal of 0 may be graphs or bits"
        fix = "Graphs are Graphs.from_adjacency(array), bits array.reshape(len(array), -1)."
        raise InputError(what, where=name, fix=fix)
    return read.as_bits(array, name)


def _validated(name: str, side: Samples, validate: Callable[[Any], Any]) -> Any:
    """What a function of all samples says of each."""
    if side.valid is not None:
        raise OptionError(f"validate and {name}.valid are both given", fix="Pass one of them.")
    try:
        return validate(side.items)
    except Exception as error:
        fix = "It gets all samples of a side, and says of each whether it is valid: [f(each) for each in samples]."
        if isinstance(side.items, Graphs):
            fix = "Of graphs it gets edges and labels: judge your own objects, and pass Samples(graphs, valid=answers)."
        raise InputError(f"validate failed: {type(error).__name__}: {error}", where=name, fix=fix) from error


def _codes(name: str, values: Any, n: int, conditions: Conditions) -> Ints | None:
    """The condition of each sample; of training samples, which may have others, −1 or not known."""
    if values is not None:
        return conditions.codes(values, f"{name}.conditions", n, strict=name != "train")
    if len(conditions) == 1 and (name == "train" or not conditions.named):
        return np.zeros(n, np.int64)
    if n and name != "train":
        raise InputError("conditions are missing", where=name, fix="Pass Samples(items, conditions=…).")
    return None if name == "train" else np.empty(0, np.int64)


def _judged(classifier: Samples | None, conditions: Conditions) -> Samples | None:
    """The true and predicted conditions of real samples that the classifier was not trained on."""
    if classifier is None:
        return None
    if not isinstance(classifier, Samples) or classifier.conditions is None or classifier.predicted is None:
        fix = "Pass Samples(conditions=true, predicted=answers) of real held-out samples."
        raise InputError("expected true and predicted conditions", where="classifier", fix=fix)
    codes = conditions.answers(classifier.conditions, "classifier.conditions", None)
    predicted = conditions.answers(classifier.predicted, "classifier.predicted", len(codes))
    return Samples(conditions=codes, predicted=predicted)


# ---- all sides together


def kind_of(items: Any) -> str:
    """What items are: `bits`, `graphs` or `molecules`."""
    return next((name for name, kind in _CONTAINERS.items() if isinstance(items, kind)), "bits")


def _with_shapes(sides: dict[str, Samples]) -> dict[str, Samples]:
    """An empty list is a side without samples, whatever samples the others have."""
    model = next((side.items for side in sides.values() if side.items is not None and len(side)), None)
    if model is None:
        return sides
    none = rows_of(model, np.empty(0, np.int64))
    shapeless = [name for name, side in sides.items() if getattr(side.items, "shape", None) == (0,)]
    return sides | {name: replace(sides[name], items=none) for name in shapeless}


def _without_empty(sides: dict[str, Samples]) -> tuple[dict[str, Samples], list[str]]:
    """Graphs without nodes and molecules that cannot be read: generated ones are not valid, others are dropped."""
    notes, kept = [], dict(sides)
    for name, side in sides.items():
        if not isinstance(side.items, Graphs | Molecules):
            continue
        valid, is_graphs = side.items.valid, isinstance(side.items, Graphs)
        if name == "generated" and not (is_graphs and valid.all()):
            kept[name] = replace(side, valid=side.kept & valid)
        elif not valid.all():
            what = "graphs have no nodes" if is_graphs else "molecules cannot be read"
            notes.append(f"{int((~valid).sum())} of {len(valid)} {name} {what} and are left out")
            kept[name] = side.take(valid)
    return kept, notes


def require_one_kind(sides: Mapping[str, Samples]) -> None:
    """Refuse sides that cannot be compared with each other."""
    items = {name: side.items for name, side in sides.items() if side.items is not None and len(side)}
    every = [graphs for graphs in items.values() if isinstance(graphs, Graphs)]
    shown: dict[str, dict[str, Any]] = {
        "samples": {name: kind_of(each) for name, each in items.items()},
        "shapes of samples": {name: each.shape[1:] for name, each in items.items() if isinstance(each, np.ndarray)},
        "latents": {name: side.latents.shape[1] for name, side in sides.items() if side.latents is not None},
        "statistics": {name: _named(side.statistics) for name, side in sides.items() if side.statistics is not None},
    }
    for what, own in shown.items():
        if len(set(own.values())) > 1:
            said = " and ".join(f"{value} of {name}" for name, value in own.items())
            raise InputError(f"{what} differ: {said}", where=" and ".join(own), fix="Give the same on all sides.")
    require_alike(every, " and ".join(items))


def _named(statistics: Mapping[str, AnyArray]) -> str:
    return ", ".join(f"{name} (text)" if statistics[name].dtype.kind == "U" else name for name in sorted(statistics))


def _marked(sides: dict[str, Samples]) -> dict[str, Any]:
    """The sides with marks at real and generated samples that are in training."""
    some = {name: side.items for name, side in sides.items() if side.items is not None and len(side)}
    compared = [name for name in some if name != "train"] if "train" in some else []
    *own, known = identity_codes(*(some[name] for name in compared), some["train"]).ids if compared else ((),)
    marks = {name: np.isin(ids, known) for name, ids in zip(compared, own, strict=True)}
    judged = {name: side for name, side in sides.items() if name != "train"}
    return sides | {
        name: replace(side, in_training=marks.get(name, np.zeros(len(side), bool))) for name, side in judged.items()
    }


def _channels(channels: Sequence[str] | None, sides: Mapping[str, Samples]) -> tuple[str, ...] | None:
    if channels is None:
        return None
    names = read.as_names(channels, "channels")
    for side in sides.values():
        if isinstance(side.items, np.ndarray) and side.items.shape[1:2] != (len(names),):
            raise InputError(f"{len(names)} channels named, samples have {side.items.shape[1]}", where="channels")
    return names
