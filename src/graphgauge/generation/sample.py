"""The canonical sample: real, generated and training samples, each with a row per sample in every column.

objects or files -> three `Samples` -> `Sides.from_samples` checks them once -> sections read columns and masks
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.archive import read_archive, write_archive
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import number
from graphgauge.core.types import AnyArray, Mask
from graphgauge.generation.checked import CONTAINERS, all_checked, channels_of, judged, kind_of, side_of, whole_items
from graphgauge.generation.columns import Conditions, Samples

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
        given: dict[str, Any] = {"real": side_of(real), "generated": side_of(generated), "train": side_of(train)}
        asked = {name: side for name, side in given.items() if side is not None and name != "train"}
        if labels is not None and asked and all(side.conditions is None and len(side) for side in asked.values()):
            raise OptionError("labels needs conditions", fix="Pass Samples(items, conditions=…).").about("labels")
        conditions = Conditions(
            {f"{name}.conditions": side.conditions for name, side in asked.items() if side.conditions is not None},
            labels,
            ordered=bool(ordered),
        )
        sides, found = all_checked(given, conditions, threshold, validate)
        return cls(
            **sides,
            classifier=judged(classifier, conditions),
            labels=conditions.names,
            ordered=bool(ordered),
            channels=channels_of(channels, sides),
            threshold=threshold,
            leaks=leaks,
            options=dict(options or {}),
            missing=dict(missing or {}),
            notes=tuple(dict.fromkeys((*notes, *found))),
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
    def same_rules(self) -> bool:
        """Whether real samples passed the rules that generated ones did: without that they are no level of repeats."""
        made, real = self.generated, self.real
        if real is None or made is None or real.valid is not None or made.items is None:
            return True
        return bool(np.array_equal(made.kept, whole_items(made.items)))

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
        kinds: dict[str, str] = {}
        arrays: dict[str, AnyArray] = {}
        for name in _SIDES:
            side = getattr(self, name)
            for column, value in side.columns().items() if side is not None else ():
                if column == "in_training":
                    continue
                if kind_of(value) != "bits":
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
            sides: dict[str, Any] = {name: _from_arrays(name, arrays, kinds.get(name)) for name in _SIDES}
            return cls.from_samples(**sides, **facts)
        except InputError as error:
            raise InputError(error.what, where=f"{path} ({error.where})", fix="Write it again.") from None
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError):
            raise InputError("the samples are incomplete", where=str(path), fix="Write them again.") from None


_KIND, _SIDES = "samples", ("real", "generated", "train", "classifier")


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
        columns["items"] = CONTAINERS[kind].from_arrays(columns["items"])
    return Samples(**columns) if columns else None
