"""A generator's answers and the data they are compared with: all inputs of `evaluate()` in one table of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats, as_numeric
from graphgauge.core.errors import InputError, OptionError
from graphgauge.generation.graphs import Graphs, require_alike
from graphgauge.generation.inputs import (
    Bits,
    Codes,
    SampleReading,
    Samples,
    as_answers,
    as_bits,
    as_conditions,
    as_known_codes,
    as_names,
    as_samples,
    as_statistics,
    as_validity,
    as_variances,
    as_vectors,
    read_conditions,
)
from graphgauge.generation.overlap import learned
from graphgauge.old.core.state import load_state, save_state

_KIND = "generation-table"
_WRITE = "A table is written with table.save(), or with --save-table."
# What is known of real samples; those of the training set are dropped with all of it.
_REAL = ("real", "reconstructed", "latents", "latent_variances", "statistics", "real_valid")
_EXCLUDED = {"samples": "real", "valid": "real_valid", "statistics": "statistics", "latents": "latents"}


@dataclass(frozen=True, eq=False)
class SampleTable:
    """Answers and truths, one row per sample. Fields that were not given are None; `missing` contains the reasons.

    `real` samples have codes, reconstructions, latent vectors and statistics. `generated` samples have requested codes,
    validity and the classifier's predictions. `train` are the samples that the generator was trained on.
    `classifier_labels` and `classifier_predicted` are the true and predicted codes of real samples.
    """

    labels: tuple[str, ...]
    ordered: bool = False
    channels: tuple[str, ...] | None = None
    real: Samples | None = None
    real_codes: Codes = field(default_factory=lambda: np.empty(0, np.int64))
    reconstructed: Bits | None = None
    latents: Floats | None = None
    # The variances of the encoder's posterior, whose means the latent vectors are.
    latent_variances: Floats | None = None
    statistics: Mapping[str, Floats] | None = None
    # Whether the real samples are valid by the same rules. Those that are not are compared with no generated one.
    real_valid: Bits | None = None
    generated: Samples | None = None
    codes: Codes = field(default_factory=lambda: np.empty(0, np.int64))
    valid: Bits | None = None
    generated_latents: Floats | None = None
    generated_statistics: Mapping[str, Floats] | None = None
    train: Samples | None = None
    # The condition of each training sample, −1 for others; None if they are not known.
    train_codes: Codes | None = None
    train_latents: Floats | None = None
    train_statistics: Mapping[str, Floats] | None = None
    predicted: Codes | None = None
    classifier_labels: Codes | None = None
    classifier_predicted: Codes | None = None
    # Conditions of the real samples that were dropped because they are in the training set.
    excluded: Codes = field(default_factory=lambda: np.empty(0, np.int64))
    # Whether those are valid by the rules; None if this is not known.
    excluded_valid: Bits | None = None
    excluded_samples: Samples | None = None
    # Their statistics and latent vectors, if the real samples have any.
    excluded_statistics: Mapping[str, Floats] | None = None
    excluded_latents: Floats | None = None
    # Which generated samples are training samples; None if no real ones were dropped.
    copied: Bits | None = None
    # Whether latent vectors change if only the condition does; None if this was not tested.
    leaks: bool | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def kept(self) -> Bits:
        """Which generated samples are valid; all if that is not known."""
        return np.ones(len(self.codes), bool) if self.valid is None else self.valid

    @property
    def real_kept(self) -> Bits:
        """Which real samples are valid; all if that is not known."""
        return np.ones(len(self.real_codes), bool) if self.real_valid is None else self.real_valid

    @property
    def excluded_kept(self) -> Bits:
        """Which real samples of the training set are valid; all if that is not known."""
        return np.ones(len(self.excluded), bool) if self.excluded_valid is None else self.excluded_valid

    @classmethod
    def of(
        cls,
        *,
        real: Any = None,
        generated: Any = None,
        real_conditions: Any = None,
        conditions: Any = None,
        train: Any = None,
        train_conditions: Any = None,
        train_latents: Any = None,
        train_statistics: Mapping[str, Any] | None = None,
        reconstructed: Any = None,
        latents: Any = None,
        generated_latents: Any = None,
        statistics: Mapping[str, Any] | None = None,
        generated_statistics: Mapping[str, Any] | None = None,
        valid: Any = None,
        real_valid: Any = None,
        predicted: Any = None,
        classifier_labels: Any = None,
        classifier_predicted: Any = None,
        labels: Sequence[str] | None = None,
        ordered: bool = False,
        channels: Sequence[str] | None = None,
        leaks: bool | None = None,
        latent_variances: Any = None,
        excluded: Any = None,
        excluded_valid: Any = None,
        excluded_samples: Any = None,
        excluded_statistics: Mapping[str, Any] | None = None,
        excluded_latents: Any = None,
        options: Mapping[str, Any] | None = None,
        missing: Mapping[str, str] | None = None,
        notes: Sequence[str] = (),
        samples: str | None = None,
        node_labels: Sequence[str] | str | None = None,
        edge_labels: Sequence[str] | str | None = None,
    ) -> SampleTable:
        """Check the arguments, which are those of `evaluate`.

        Real samples that are in `train` are dropped, unless `excluded` has the codes of those dropped before.

        Parameters
        ----------
        real, generated, real_conditions, conditions
            As in `evaluate`, like all arguments up to `latent_variances`.
        train, train_conditions, train_latents, train_statistics
            The training samples.
        reconstructed, latents, latent_variances, generated_latents, leaks
            Reconstructions and latent vectors.
        statistics, generated_statistics
            Statistics whose distributions are compared.
        valid, real_valid, predicted, classifier_labels, classifier_predicted
            Validity, and answers of a classifier.
        labels, ordered, channels, samples, node_labels, edge_labels
            How the samples are read.
        excluded, excluded_valid, excluded_samples, excluded_statistics, excluded_latents
            The real samples that were dropped before: their conditions, and what is known of them.
        options
            What the samples were collected with.
        missing
            Why fields are None, by field.
        notes
            Notes on how the samples were collected.

        Returns
        -------
        SampleTable
            The table.

        Raises
        ------
        InputError
            If samples have different shapes, or a value is NaN.
        """
        given: dict[str, Any] = {
            "real": real,
            "reconstructed": reconstructed,
            "latents": latents,
            "statistics": statistics,
            "real_conditions": real_conditions,
            "generated": generated,
            "generated_latents": generated_latents,
            "generated_statistics": generated_statistics,
            "valid": valid,
            "conditions": conditions,
            "real_valid": real_valid,
            "latent_variances": latent_variances,
        }
        reading = SampleReading.of(samples, node_labels, edge_labels)
        for name, side in _NEEDED.items():
            if given[name] is not None and given[side] is None:
                raise InputError(f"{name} without {side}", where=name, fix=f"Pass {side}= with it.")
        read = _read_sides(given, reading)
        names, codes = read_conditions(
            {
                **({"real_conditions": (real_conditions, _rows(read["real"]))} if real is not None else {}),
                **({"conditions": (conditions, _rows(read["generated"]))} if generated is not None else {}),
            },
            labels,
            ordered=bool(ordered),
        )
        by_code = labels is not None or not all(name.lstrip("-").isdigit() for name in names)
        pair = _answers(predicted, classifier_labels, classifier_predicted, read["generated"], names, by_code=by_code)
        train = None if train is None else _like(read, as_samples(train, "train", reading), "train")
        of_train = _read_training(train, train_conditions, train_latents, train_statistics, names, labels is not None)
        _check_pairs({**read, **of_train})
        if not any(isinstance(side, Graphs) for side in (read["real"], read["generated"], train)):
            _refuse_labels({"node_labels": node_labels, "edge_labels": edge_labels})
        notes = (*notes, *_ignored_attributes(read["real"], read["generated"], train))
        real_codes = codes.get("real_conditions", np.empty(0, np.int64))
        if excluded is None:
            seen = np.zeros(0, bool) if read["real"] is None else learned(read["real"], train)
            left: dict[str, Any] = {"excluded": real_codes[seen]}
            if seen.any():
                left |= {f"excluded_{name}": _kept(read[own], seen) for name, own in _EXCLUDED.items()}
                read |= {name: _kept(read[name], ~seen) for name in _REAL}
                real_codes = real_codes[~seen]
        else:
            before = as_answers(excluded, "excluded", None, len(names))
            rows = len(before)
            left = {
                "excluded": before,
                "excluded_samples": _read(as_samples, excluded_samples, "excluded_samples", reading),
                "excluded_valid": _read(as_validity, excluded_valid, "excluded_valid", rows),
                "excluded_statistics": _read(as_statistics, excluded_statistics, "excluded_statistics", rows),
                "excluded_latents": _read(as_vectors, excluded_latents, "excluded_latents", rows),
            }
        copied = None
        if len(left["excluded"]) and read["generated"] is not None:
            copied = learned(read["generated"], train)
        return cls(
            labels=names,
            ordered=bool(ordered),
            channels=_channels(channels, read),
            real_codes=real_codes,
            codes=codes.get("conditions", np.empty(0, np.int64)),
            copied=copied,
            train=train,
            leaks=leaks,
            options=_options(options or {}),
            missing={str(name): str(reason) for name, reason in (missing or {}).items()},
            notes=tuple(dict.fromkeys(notes)),
            **pair,
            **read,
            **left,
            **of_train,
        )

    def save(self, path: str | Path) -> None:
        """Write the table as npz: arrays, and metadata as JSON text; no pickle.

        Parameters
        ----------
        path
            The file to write, .npz.

        Returns
        -------
        None
            The file is complete when the method returns.

        Raises
        ------
        UnwritableError
            If the file cannot be written.

        Examples
        --------
        >>> import numpy as np
        >>> from graphgauge import generation
        >>> table = generation.SampleTable.of(real=np.eye(4, dtype=bool), generated=np.eye(4, dtype=bool))
        >>> table.save("samples.npz")
        >>> len(generation.SampleTable.load("samples.npz").generated)
        4
        """
        facts: dict[str, Any] = {
            "labels": list(self.labels),
            "ordered": self.ordered,
            "options": dict(self.options),
            "channels": None if self.channels is None else list(self.channels),
            "missing": dict(self.missing),
            "leaks": self.leaks,
            "notes": list(self.notes),
        }
        arrays: dict[str, NDArray[Any]] = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name in (*facts, "copied") or value is None:
                continue
            if isinstance(value, Graphs):
                arrays |= {f"{entry.name}.{part}": array for part, array in value.arrays().items()}
            elif isinstance(value, Mapping):
                facts[entry.name] = list(value)
                arrays |= {f"{entry.name}.{place}": column for place, column in enumerate(value.values())}
            else:
                arrays[entry.name] = value
        save_state(path, _KIND, facts, arrays)

    @classmethod
    def load(cls, path: str | Path) -> SampleTable:
        """Load a table, with the same checks as for arguments.

        Parameters
        ----------
        path
            The file, .npz.

        Returns
        -------
        SampleTable
            For `evaluate`.

        Raises
        ------
        InputError
            If the file is damaged.

        Examples
        --------
        >>> import numpy as np
        >>> from graphgauge import generation
        >>> table = generation.SampleTable.of(real=np.eye(4, dtype=bool), generated=np.eye(4, dtype=bool))
        >>> table.save("samples.npz")
        >>> generation.evaluate(generation.SampleTable.load("samples.npz"))["overall_uniqueness_ratio"].value
        1.0
        """
        try:
            _, facts, arrays = load_state(path, _KIND)
        except InputError as error:
            raise InputError(error.what, where=error.where, fix=_WRITE) from None
        try:
            given: dict[str, Any] = {name: array for name, array in arrays.items() if "." not in name}
            for name in ("statistics", "generated_statistics", "train_statistics", "excluded_statistics"):
                if name in facts:
                    given[name] = {key: arrays[f"{name}.{place}"] for place, key in enumerate(facts.pop(name))}
            for name in ("real", "generated", "train", "excluded_samples"):
                parts = {key.partition(".")[2]: array for key, array in arrays.items() if key.startswith(f"{name}.")}
                if parts:
                    given[name] = _graphs(parts, name)
            notes = tuple(str(note) for note in facts.pop("notes"))
            real_codes, codes = given.pop("real_codes"), given.pop("codes")
            given["train_conditions"] = given.pop("train_codes", None)
            table = cls.of(
                real_conditions=real_codes if "real" in given else None,
                conditions=codes if "generated" in given else None,
                **given,
                **facts,
            )
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError("the table is incomplete", where=str(path), fix=_WRITE) from None
        return replace(table, notes=notes)


def _read(convert: Callable[..., Any], value: Any, name: str, *more: Any) -> Any:
    return None if value is None else convert(value, name, *more)


def _refuse_labels(given: Mapping[str, Any]) -> None:
    """Raise an error for labels of graphs if samples are bits."""
    for name, value in given.items():
        if value is not None:
            raise OptionError(f"samples are bits, for which there is no {name}", fix="Leave it out.").about(name)


def _ignored_attributes(*collections: Any) -> tuple[str, ...]:
    """A note about attributes of graphs that are neither labels nor edges."""
    given = [graphs for graphs in collections if isinstance(graphs, Graphs)]
    names = dict.fromkeys(name for graphs in given for name in graphs.ignored)
    notes = [f"attributes of graphs that are numbers are ignored: {', '.join(names)}"] if names else []
    padded = sum(graphs.padded for graphs in given)
    if padded:
        notes.append(
            f"{padded} adjacency matrices end in nodes without edges, which count as nodes: if they are padding, pass "
            'samples="padded", or a list of matrices of the graphs\' own sizes'
        )
    return (*notes, *_foreign_labels(*collections))


def _foreign_labels(real: Any, generated: Any, train: Any) -> tuple[str, ...]:
    """A note if labels of generated graphs never occur elsewhere: they are probably written in another way."""
    notes = []
    for kind in ("node", "edge"):
        own = getattr(generated, f"{kind}_labels", None)
        others = [getattr(graphs, f"{kind}_labels", None) for graphs in (real, train)]
        known = [words for words in others if words is not None and len(words)]
        if own is not None and len(own) and known and not np.isin(own, np.concatenate(known)).any():
            notes.append(f"no label of generated {kind}s occurs among the real and training graphs")
    return tuple(notes)


# The samples that an argument describes.
_NEEDED = {"real_conditions": "real", "real_valid": "real", "conditions": "generated", "valid": "generated"}


def _read_sides(given: Mapping[str, Any], reading: SampleReading) -> dict[str, Any]:
    """Both sides, each argument checked against its samples."""
    read: dict[str, Any] = {}
    compared = given["statistics"] is not None and given["generated_statistics"] is not None
    for samples, vectors, described in (
        ("real", "latents", "statistics"),
        ("generated", "generated_latents", "generated_statistics"),
    ):
        for name in (vectors, described):
            if given[name] is not None and given[samples] is None:
                raise InputError(f"{name} without {samples}", where=name, fix=f"Pass {samples}= with it.")
        read[samples] = _read(as_samples, given[samples], samples, reading)
        rows = _rows(read[samples])
        read[vectors] = _read(as_vectors, given[vectors], vectors, rows)
        read[described] = _read(as_statistics, given[described], described, rows, compared)
    read["latent_variances"] = None
    if given["latent_variances"] is not None:
        if read["latents"] is None:
            raise InputError("latent_variances without latents", where="latent_variances", fix="Pass both.")
        read["latent_variances"] = as_variances(given["latent_variances"], read["latents"])
    for samples in ("real", "generated"):
        read[samples] = _like(read, read[samples], samples)
    _check_pairs(read)
    for name in ("valid", "real_valid"):
        read[name] = _read(as_validity, given[name], name, _rows(read[_NEEDED[name]]))
    read["reconstructed"] = None
    if given["reconstructed"] is not None:
        if not isinstance(read["real"], np.ndarray):
            raise InputError("reconstructed without real samples of bits", where="reconstructed")
        bits = as_bits(as_numeric(given["reconstructed"], "reconstructed"), "reconstructed")
        if bits.shape != read["real"].shape:
            raise InputError(f"shape {bits.shape}, real samples have {read['real'].shape}", where="reconstructed")
        read["reconstructed"] = bits
    return read


def _read_training(
    train: Samples | None, conditions: Any, latents: Any, statistics: Any, names: tuple[str, ...], by_code: bool
) -> dict[str, Any]:
    """What is known about training samples."""
    given = {"train_conditions": conditions, "train_latents": latents, "train_statistics": statistics}
    for name, value in given.items():
        if value is not None and train is None:
            raise InputError(f"{name} without train", where=name, fix="Pass train= with it.")
    rows = _rows(train)
    codes = np.zeros(rows, np.int64) if train is not None and len(names) == 1 else None
    return {
        "train_codes": codes if conditions is None else as_known_codes(conditions, rows, names, by_code),
        "train_latents": _read(as_vectors, latents, "train_latents", rows),
        "train_statistics": _read(as_statistics, statistics, "train_statistics", rows),
    }


def _check_pairs(read: Mapping[str, Any]) -> None:
    """Check that quantities compared across the sides are of one kind."""
    for name in ("generated", "train"):
        pair = [item for item in (read["latents"], read.get(f"{name}_latents")) if item is not None]
        if len({item.shape[1] for item in pair}) > 1:
            text = " and ".join(str(item.shape[1]) for item in pair)
            raise InputError(f"latent vectors of {text} numbers", where=f"latents and {name}_latents")
        described = read["statistics"], read.get(f"{name}_statistics")
        if described[0] is not None and described[1] is not None and set(described[0]) != set(described[1]):
            odd = sorted(set(described[0]) ^ set(described[1]))
            raise InputError(f"statistics on one side only: {', '.join(odd)}", where="statistics")


def _like(read: Mapping[str, Any], samples: Samples | None, name: str) -> Samples | None:
    """Samples of the same kind and shape as the real ones, or as the generated ones if there are no real ones."""
    model = next((read[side] for side in ("real", "generated") if _rows(read.get(side))), read.get("real"))
    if samples is None or model is None:
        return samples
    if isinstance(samples, np.ndarray) and samples.shape == (0,):  # an empty list is compatible with any shape
        return model[:0] if isinstance(model, np.ndarray) else Graphs.of([])
    if isinstance(samples, Graphs) != isinstance(model, Graphs) and _rows(samples) and _rows(model):
        raise InputError("graphs on one side and arrays on the other", where=name)
    if isinstance(samples, Graphs) and isinstance(model, Graphs):
        require_alike((model, samples), name)
    shapes = [part.shape[1:] for part in (samples, model) if isinstance(part, np.ndarray)]
    if len(set(shapes)) > 1 and (len(samples) or len(model)):
        raise InputError(f"samples of shape {shapes[0]}, others have {shapes[1]}", where=name)
    return samples


def _answers(
    predicted: Any, labels: Any, answers: Any, generated: Samples | None, names: tuple[str, ...], *, by_code: bool
) -> dict[str, Any]:
    """A classifier's predictions, and the true codes.

    Numbers are codes if the conditions have names, and the conditions themselves if those are numbers.
    """
    if (labels is None) != (answers is None):
        raise InputError("classifier_labels and classifier_predicted must be given together", where="classifier_labels")
    found: dict[str, Any] = {}
    if predicted is not None:
        if generated is None:
            raise InputError("predicted without generated", where="predicted", fix="Pass generated= with it.")
        found["predicted"] = as_conditions(predicted, "predicted", len(generated), names, by_code=by_code)
    if labels is not None:
        found["classifier_labels"] = as_conditions(labels, "classifier_labels", None, names, by_code=by_code)
        rows = len(found["classifier_labels"])
        found["classifier_predicted"] = as_conditions(answers, "classifier_predicted", rows, names, by_code=by_code)
    return found


def _channels(channels: Sequence[str] | None, read: Mapping[str, Any]) -> tuple[str, ...] | None:
    if channels is None:
        return None
    names = as_names(channels, "channels")
    for name in ("real", "generated"):
        samples = read[name]
        if isinstance(samples, np.ndarray) and samples.ndim > 1 and samples.shape[1] != len(names):
            raise InputError(f"{len(names)} channels named, samples have {samples.shape[1]}", where="channels")
    return names


def _graphs(parts: Mapping[str, NDArray[Any]], name: str) -> Graphs:
    """Graphs from a file, with each graph checked."""
    nodes, offsets, edges = parts["nodes"], parts["offsets"], parts["edges"]
    if nodes.dtype.kind != "i" or offsets.dtype.kind != "i" or len(offsets) != len(nodes) + 1:
        raise TypeError("not numbers of nodes and offsets of edges")
    if offsets[0] != 0 or offsets[-1] != len(edges) or (np.diff(offsets) < 0).any():
        raise ValueError("edges that belong to no graph, or to several")
    ranges = zip(nodes.tolist(), offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    directed = bool(parts.get("directed", False))
    read = Graphs.of([(count, edges[start:stop]) for count, start, stop in ranges], name)
    labels = {key: parts[key] for key in ("node_labels", "edge_labels") if key in parts}
    for key, words in labels.items():
        rows = int(nodes.sum()) if key == "node_labels" else len(edges)
        if words.dtype != np.uint64 or words.shape != (rows,):
            raise ValueError(f"{key} of another number of nodes or edges")
    if not labels and not directed:
        return read
    names = {
        key: tuple(str(item) for item in parts[key].tolist()) for key in ("node_names", "edge_names") if key in parts
    }
    return Graphs(read.nodes, offsets, edges, **labels, **names, directed=directed)  # type: ignore[arg-type]


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    threshold = options.get("threshold")
    if threshold is not None and not (isinstance(threshold, int | float) and 0 <= threshold <= 1):
        raise InputError(f"a threshold must be between 0 and 1, not {threshold!r:.40}", where="threshold")
    return dict(options)


def _rows(samples: Samples | None) -> int:
    return 0 if samples is None else len(samples)


def _kept(value: Any, keep: Bits) -> Any:
    if value is None:
        return None
    if isinstance(value, Mapping):
        return {name: _kept(column, keep) for name, column in value.items()}
    if isinstance(value, Graphs):
        return value.take(keep)
    return [item for item, stays in zip(value, keep, strict=True) if stays] if isinstance(value, list) else value[keep]
