"""The canonical sample: real, generated and training samples, each with a row per sample in every column.

objects or files -> three `Samples` -> `Sides.from_samples` checks them once -> sections read columns and masks
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.archive import read_archive, write_archive
from graphgauge.core.arrays import as_numeric, on_host
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import number
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.generation.columns import (
    Conditions,
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

# ---- one side


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of one side and what is known of each: a row per sample in every column.

    `items` are bits (n, *shape), `Graphs` or `Molecules`; they may be absent where columns are known. `conditions` are
    true or requested ones, as names or codes. `valid` says whether a sample is valid, and None counts as not valid.
    `statistics` is `{name: (n,)}` or a data frame: numbers, or text for categories. `latents` (n, d) are encodings,
    `variances` (n, d) those of the encoder's posterior, `reconstructed` what came back of each sample, in bits, and
    `predicted` the conditions that a classifier answers. `in_training` is filled by `Sides`.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import generation
    >>> side = generation.Samples(np.eye(4, dtype=bool), conditions=["easy", "easy", "hard", "hard"])
    >>> len(side), side.take([0, 3]).conditions
    (4, ['easy', 'hard'])
    """

    items: Any = None
    conditions: Any = field(default=None, kw_only=True)
    valid: Any = field(default=None, kw_only=True)
    statistics: Any = field(default=None, kw_only=True)
    latents: Any = field(default=None, kw_only=True)
    variances: Any = field(default=None, kw_only=True)
    reconstructed: Any = field(default=None, kw_only=True)
    predicted: Any = field(default=None, kw_only=True)
    in_training: Any = field(default=None, kw_only=True, repr=False)

    def __len__(self) -> int:
        return next((_length(value) for value in self.columns().values()), 0)

    def columns(self) -> dict[str, Any]:
        """The columns that are there, by name; statistics as `statistics.NAME`.

        Returns
        -------
        dict
            One entry per column.
        """
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        statistics = own.pop("statistics")
        own |= {"statistics": statistics} if statistics is not None else {}
        return {name: value for name, value in own.items() if value is not None}

    def take(self, rows: Any) -> Samples:
        """Some of the samples, with all that is known of them.

        Parameters
        ----------
        rows
            A mask, or numbers of samples.

        Returns
        -------
        Samples
            The same columns with fewer rows.
        """
        return Samples(**{name: _taken(value, rows) for name, value in self.columns().items()})

    @property
    def kept(self) -> Mask:
        """Which samples are valid; all if that is not known."""
        return np.ones(len(self), bool) if self.valid is None else self.valid


def _length(value: Any) -> int:
    if hasattr(value, "columns") or isinstance(value, Mapping):
        return next((len(value[name]) for name in getattr(value, "columns", value)), 0)
    return len(value)


def _taken(value: Any, rows: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _taken(column, rows) for name, column in value.items()}
    if isinstance(value, list | tuple):
        return [value[place] for place in np.arange(len(value))[np.asarray(rows)]]
    return rows_of(value, rows)


# ---- all sides


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
        given = {name: _side(value) for name, value in (("real", real), ("generated", generated), ("train", train))}
        asked = {name: side for name, side in given.items() if side is not None and name != "train"}
        if labels is not None and asked and all(side.conditions is None and len(side) for side in asked.values()):
            raise OptionError("labels needs conditions", fix="Pass Samples(items, conditions=…).").about("labels")
        conditions = Conditions(
            {f"{name}.conditions": side.conditions for name, side in asked.items() if side.conditions is not None},
            labels,
            ordered=bool(ordered),
        )
        sides = {
            name: None if side is None else _checked(name, side, conditions, threshold, validate)
            for name, side in given.items()
        }
        sides, dropped = _without_empty(_without_shape(sides))
        _require_one_kind(sides)
        _mark_training(sides)
        return cls(
            **sides,
            classifier=_judged(classifier, conditions),
            labels=conditions.names,
            ordered=bool(ordered),
            channels=_channels(channels, sides),
            threshold=threshold,
            leaks=leaks,
            options=dict(options or {}),
            missing=dict(missing or {}),
            notes=tuple(dict.fromkeys((*notes, *dropped, *_foreign_labels(sides)))),
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

    @cached_property
    def learned(self) -> Samples:
        """Real samples that it was trained on."""
        assert self.real is not None
        return self.real.take(self.real.in_training)

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
        kinds, arrays = {}, {}
        for name in _SIDES:
            side = getattr(self, name)
            for column, value in side.columns().items() if side is not None else ():
                if column == "in_training":
                    continue
                if isinstance(value, Graphs | Molecules):
                    kinds[name] = kind_of(value)
                    arrays |= {f"{name}.items.{part}": array for part, array in value.arrays().items()}
                elif isinstance(value, Mapping):
                    arrays |= {f"{name}.{column}.{part}": array for part, array in value.items()}
                else:
                    arrays[f"{name}.{column}"] = value
        facts: dict[str, Any] = {
            "kinds": kinds,
            "labels": list(self.labels),
            "ordered": self.ordered,
            "channels": None if self.channels is None else list(self.channels),
            "threshold": self.threshold,
            "leaks": self.leaks,
            "options": dict(self.options),
            "missing": dict(self.missing),
            "notes": list(self.notes),
        }
        write_archive(path, _KIND, facts, arrays)

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
            kinds = facts.pop("kinds")
            sides = {name: _from_arrays(name, arrays, kinds.get(name)) for name in _SIDES}
            return cls.from_samples(**sides, **facts)
        except InputError as error:
            raise InputError(error.what, where=f"{path} ({error.where})", fix="Write it again.") from None
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError):
            raise InputError("the samples are incomplete", where=str(path), fix="Write them again.") from None


_KIND, _SIDES = "samples", ("real", "generated", "train", "classifier")
_CONTAINERS: dict[str, Any] = {"graphs": Graphs, "molecules": Molecules}


def kind_of(items: Any) -> str:
    """What items are: `bits`, `graphs` or `molecules`."""
    return next((name for name, kind in _CONTAINERS.items() if isinstance(items, kind)), "bits")


def _from_arrays(name: str, arrays: Mapping[str, AnyArray], kind: str | None) -> Samples | None:
    """One side of a file."""
    columns: dict[str, Any] = {}
    for place, array in arrays.items():
        side, _, column = place.partition(".")
        first, _, part = column.partition(".")
        if side == name and part:
            columns.setdefault(first, {})[part] = array
        elif side == name:
            columns[column] = array
    if kind is not None:
        columns["items"] = _CONTAINERS[kind].from_arrays(columns["items"])
    return Samples(**columns) if columns else None


# ---- checks


def _side(value: Any) -> Samples | None:
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
        valid = validate(side.items)
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
    array = as_numeric(on_host(value, name), name, ragged="Graphs are Graphs.from_objects(…).")
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


def _without_empty(sides: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Graphs without nodes and molecules that cannot be read: generated ones are not valid, others are dropped."""
    notes, found = [], dict(sides)
    for name, side in sides.items():
        if side is None or not isinstance(side.items, Graphs | Molecules):
            continue
        is_graphs = isinstance(side.items, Graphs)
        right = side.items.nodes > 0 if is_graphs else side.items.valid
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


def _judged(classifier: Samples | None, conditions: Conditions) -> Samples | None:
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


def _channels(channels: Sequence[str] | None, sides: Mapping[str, Samples | None]) -> tuple[str, ...] | None:
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
