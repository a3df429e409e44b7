"""Evaluate files: `graphgauge generation …`, studies, and `generation.evaluate_files`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.extras import need
from graphgauge.core.progress import SILENT, Progress
from graphgauge.generation.collect import collect
from graphgauge.generation.compare_samples import compare_samples, compared_metrics
from graphgauge.generation.evaluate import evaluated
from graphgauge.generation.family import CHECKPOINT, FAMILY, SAMPLES, SUBJECT, TABLE
from graphgauge.generation.graph_mmd import CONVENTIONS, DEFAULT_CONVENTION
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.inputs import SAMPLE_KINDS, as_categories
from graphgauge.generation.levels import Draws
from graphgauge.generation.molecules import Molecules, as_arguments
from graphgauge.generation.section_results import Request
from graphgauge.generation.subjects import Labelled
from graphgauge.generation.table import SampleTable
from graphgauge.old.core.described import of_files
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.factory import made
from graphgauge.old.core.fields import (
    Choice,
    Confidence,
    Factory,
    File,
    Flag,
    Metrics,
    Number,
    Output,
    PathLike,
    Seed,
    Several,
    Threads,
    Whole,
)
from graphgauge.old.core.files import read_json, require_file, split_member
from graphgauge.old.core.grids import is_number
from graphgauge.old.core.state import load_state
from graphgauge.old.io import delimited, parquet
from graphgauge.old.io.arrays import OPENERS, read_array, read_labels
from graphgauge.old.io.code import sources
from graphgauge.old.io.hashing import arrays_hash, receipt_input
from graphgauge.old.io.npz import read_npz


@of_files
def evaluate_files(
    *,
    subject: Annotated[str | None, Factory("Code that makes a subject, or a case.")] = None,
    checkpoint: Annotated[PathLike | None, File("A trained generator: passed to the factory as checkpoint=.")] = None,
    classifier_checkpoint: Annotated[
        PathLike | None, File("A trained classifier: passed to the factory as classifier_checkpoint=.")
    ] = None,
    data: Annotated[PathLike | None, File("Real samples of a subject, .npz: samples, conditions.")] = None,
    real: Annotated[
        PathLike | None,
        File("Without a model: real samples, an array of bits, .json with graphs, or .smi with SMILES."),
    ] = None,
    generated: Annotated[PathLike | None, File("Generated samples, likewise.")] = None,
    against: Annotated[
        PathLike | None, File("Samples of another generator: differences are tested over samples and noted.")
    ] = None,
    against_valid: Annotated[PathLike | None, File("Which of these samples are valid, with --valid.")] = None,
    against_statistics: Annotated[PathLike | None, File("Their statistics, with --generated-statistics.")] = None,
    real_conditions: Annotated[PathLike | None, File("The condition of each real sample.")] = None,
    conditions: Annotated[PathLike | None, File("The requested condition of each generated sample.")] = None,
    train: Annotated[PathLike | None, File("The generator's training samples, for novelty.")] = None,
    train_conditions: Annotated[PathLike | None, File("The condition of each training sample.")] = None,
    train_statistics: Annotated[PathLike | None, File("Statistics of training samples.")] = None,
    train_latents: Annotated[PathLike | None, File("Latent vectors of training samples.")] = None,
    valid: Annotated[PathLike | None, File("Which generated samples are valid.")] = None,
    real_valid: Annotated[PathLike | None, File("Which real samples are valid, by the same rules.")] = None,
    samples: Annotated[str | None, Choice("What arrays (n, N, N) are.", SAMPLE_KINDS)] = None,
    node_labels: Annotated[
        Sequence[str] | str | None, Several('Attributes that label nodes; "" for none.', may_be_empty=True)
    ] = None,
    edge_labels: Annotated[
        Sequence[str] | str | None, Several('Attributes that label edges; "" for none.', may_be_empty=True)
    ] = None,
    statistics: Annotated[PathLike | None, File("Statistics of real samples, one column each.")] = None,
    generated_statistics: Annotated[PathLike | None, File("Statistics of generated samples, likewise.")] = None,
    latents: Annotated[PathLike | None, File("Latent vectors of real samples (n, d).")] = None,
    latent_variances: Annotated[PathLike | None, File("Posterior variances of these vectors.")] = None,
    generated_latents: Annotated[PathLike | None, File("Latent vectors of generated samples.")] = None,
    predicted: Annotated[PathLike | None, File("A classifier's conditions for generated samples.")] = None,
    classifier_labels: Annotated[PathLike | None, File("True conditions of real samples it was tested on.")] = None,
    classifier_predicted: Annotated[PathLike | None, File("Its conditions for these samples.")] = None,
    labels: Annotated[Sequence[str] | str | None, Several("Names of the conditions, in order.")] = None,
    ordered: Annotated[bool, Flag("The conditions are ordered, as in --labels or by number.")] = False,
    table: Annotated[PathLike | None, File("Answers collected before.")] = None,
    save_table: Annotated[PathLike | None, Output("Write the collected answers (.npz).")] = None,
    num_samples: Annotated[int, Whole("Attempts per condition.", 1)] = 100,
    temperature: Annotated[float, Number("Sampling temperature.")] = 1.0,
    threshold: Annotated[float, Number("Probabilities above it become bits.")] = 0.5,
    empty: Annotated[str, Choice("Score of a reconstruction if both sides are empty.", ("1", "nan", "skip"))] = "1",
    resamples: Annotated[int, Whole("Draws for nulls and bootstraps.", 1)] = 1000,
    permutations: Annotated[int, Whole("Permutations of tests.", 1)] = 999,
    convention: Annotated[str, Choice("How graphs are compared.", tuple(CONVENTIONS))] = DEFAULT_CONVENTION,
    cpu: Annotated[bool, Flag("Passed to the factory as cpu=True: do not use an accelerator.")] = False,
    metrics: Metrics = None,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    threads: Threads = None,
    progress: Progress = SILENT,
) -> Evaluation:
    """Evaluate whether generated samples are valid, new, diverse, realistic, and match their condition.

    Parameters
    ----------
    progress
        Where progress is reported; silent by default.

    Returns
    -------
    Evaluation
        As from `evaluate`; its receipt names the files with their hashes.

    Raises
    ------
    InputError
        If a file cannot be read, or changed meanwhile.
    OptionError
        If an option does not go with the files.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import generation
    >>> rng = np.random.default_rng(0)
    >>> np.save("real.npy", rng.random((20, 8)) < 0.5)
    >>> np.save("generated.npy", np.ones((10, 8), bool))
    >>> ev = generation.evaluate_files(real="real.npy", generated="generated.npy")
    >>> ev["overall_uniqueness_ratio"].value
    0.1
    """
    given = FAMILY.read(locals())
    asked = given["metrics"]
    request = Request(
        None if asked is None else tuple(asked),
        1 if given["empty"] == "1" else given["empty"],
        given["confidence"],
        Draws(given["seed"], given["resamples"], given["permutations"]),
        given["threads"],
        given["convention"],
    )
    names = list(request.by_section)  # an unknown name should fail before the evaluation
    form = FAMILY.check(given)
    # A table that is kept has the answers of all sections.
    source = _SOURCES[form](given, [] if given["save_table"] is not None else names, progress)
    evaluation = evaluated(source.table, request, progress)
    if source.model:
        evaluation.run["tags"] = {"model": Path(source.model).name}
    if given["save_table"] is not None:
        source.table.save(given["save_table"])
    evaluation.inputs = source.inputs
    return evaluation


@dataclass(frozen=True)
class Source:
    """The samples and where they are from: inputs of a receipt, and the model that was asked."""

    table: SampleTable
    inputs: Callable[[], list[Mapping[str, Any]]]
    model: str = ""


# Options that the factory of a subject is called with, if they are given.
_OPENED = ("checkpoint", "classifier_checkpoint", "cpu")


def _from_subject(given: Mapping[str, Any], sections: Sequence[str], progress: Progress) -> Source:
    factory = given["subject"]
    opened = {name: given[name] for name in _OPENED if given[name]}
    files = {name: given[name] for name in ("checkpoint", "classifier_checkpoint", "data", "train") if given[name]}
    for name in ("checkpoint", "classifier_checkpoint"):
        if name in files:
            require_file(Path(files[name]), files[name])
    subject = made(factory, **opened)
    files |= {f"code.{name}": str(path) for name, path in sources(factory, Path.cwd()).items()}
    table = collect(
        subject,
        num_samples=given["num_samples"],
        temperature=given["temperature"],
        threshold=given["threshold"],
        seed=given["seed"],
        sections=sections,
        progress=progress.stage,
        **{name: _pair(given[name]) for name in ("data", "train") if given[name]},
    )
    return Source(
        table, lambda: [receipt_input(name, path) for name, path in files.items()], given["checkpoint"] or factory
    )


def _from_samples(given: Mapping[str, Any], sections: Sequence[str], progress: Progress) -> Source:
    names = ("real", "generated", "train", "against", *_READERS)
    files = {name: given[name] for name in names if given[name]}
    read: dict[str, Any] = {name: _READERS.get(name, _read_samples)(path) for name, path in files.items()}
    if any(_is_smiles(path) for path in files.values()):
        read = _molecules(read, files)
    options = {name: given[name] for name in ("labels", "ordered", "samples", "node_labels", "edge_labels")}
    rival_names: tuple[str, ...] = ("against", "against_valid", "against_statistics")
    other = {name: read.pop(name) for name in rival_names if name in read}
    table = SampleTable.of(**options, **read)
    if other:
        table = replace(table, notes=(*table.notes, *_compared(given, read, other)))
    return Source(table, lambda: [receipt_input(name, path) for name, path in files.items()])


def _is_smiles(path: str) -> bool:
    return path.lower().endswith((".smi", ".smiles"))


def _molecules(read: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, Any]:
    """SMILES as labelled graphs, with what is computed from them."""
    samples = [name for name in ("real", "generated", "train", "against") if name in files]
    other = [name for name in samples if not _is_smiles(files[name])]
    if other:
        raise InputError("SMILES on one side and samples of another kind on the other", where=files[other[0]])
    found = as_arguments(*(read.get(name) for name in ("real", "generated", "train")))
    if "against" in read:
        rival = Molecules.of(read["against"], "against")
        found |= {"against": rival.graphs, "against_valid": rival.valid, "against_statistics": rival.statistics}
    said = [name for name in read if name in found and name not in samples]
    if said:
        raise OptionError(f"{said[0]} of molecules is computed from their SMILES", fix="Leave it out.").about(said[0])
    return {**read, **found}


def _compared(given: Mapping[str, Any], read: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The differences between the generated samples and those of another generator."""
    rival = Path(given["against"]).stem
    if rival == "generated":
        rival = str(Path(given["against"]))
    if not compared_metrics(given["metrics"]):
        return [f"{rival}: none of the metrics is compared over samples"]
    if ("valid" in read) != ("against_valid" in other):
        raise OptionError(
            "--valid and --against-valid are given for one of the generators only", fix="Give both, or neither."
        ).about("against_valid")
    if "against_statistics" in other and "generated_statistics" not in read:
        raise OptionError("--against-statistics needs --generated-statistics").about("against_statistics")
    used = {"real_valid", "valid"}
    if "against_statistics" in other:
        used |= {"statistics", "generated_statistics"}
    unused = [f"--{name.replace('_', '-')}" for name in _READERS if name in read and name not in used]
    notes = [f"the comparison with {rival} is made without {', '.join(unused)}"] if unused else []

    def both(own: str, others: str) -> dict[str, Any] | None:
        return {"generated": read[own], rival: other[others]} if others in other else None

    options = {
        name: given[name]
        for name in (
            "samples",
            "node_labels",
            "edge_labels",
            "convention",
            "confidence",
            "permutations",
            "resamples",
            "seed",
            "metrics",
        )
    }
    found = compare_samples(
        read.get("real"),
        {"generated": read["generated"], rival: other["against"]},
        train=read.get("train"),
        valid=both("valid", "against_valid"),
        real_valid=read.get("real_valid"),
        statistics=read.get("statistics") if "against_statistics" in other else None,
        generated_statistics=both("generated_statistics", "against_statistics"),
        **options,
    )
    remarks = dict.fromkeys(one.remark for one in found if one.remark)
    return [*notes, *remarks, *(one.without_remark() for one in found)]


def _from_table(given: Mapping[str, Any], sections: Sequence[str], progress: Progress) -> Source:
    def inputs() -> list[Mapping[str, Any]]:
        _, _, arrays = load_state(given["table"])
        real = {name: array for name, array in arrays.items() if name.startswith(("real", "train"))}
        return [{**receipt_input("table", given["table"]), **({"truth": arrays_hash(real)} if real else {})}]

    return Source(SampleTable.load(given["table"]), inputs)


_SOURCES: dict[Any, Callable[[Mapping[str, Any], Sequence[str], Progress], Source]] = {
    SUBJECT: _from_subject,
    CHECKPOINT: _from_subject,
    SAMPLES: _from_samples,
    TABLE: _from_table,
}


def _read_statistics(path: str) -> dict[str, Any]:
    """The columns of a table with a head (.csv, .parquet), or the arrays of an .npz, by name."""
    file = Path(path)
    if file.suffix == ".npz":
        return dict(read_npz(file))
    batches = parquet.read_columns(file, parquet.column_names(file)) if file.suffix == ".parquet" else None
    if file.suffix == ".csv":
        batches = delimited.read_columns(file, delimited.read_table(file)[0])
    if batches is None:
        raise InputError(
            f"files ending in {file.suffix or 'nothing'} have no named columns",
            where=path,
            fix="Use .csv with a head, .parquet or .npz.",
        )
    parts = list(batches)
    declared = parquet.declared_categories(file) if file.suffix == ".parquet" else set()
    names = parts[0] if parts else ()
    return {name: _column([part[name] for part in parts], declared=name in declared) for name in names}


# As pandas reads truth values in text files.
_TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


def _column(parts: Sequence[Any], *, declared: bool) -> NDArray[Any]:
    """A column as a data frame has it: truth values of text files; `declared` categories may be numbers."""
    column = np.concatenate([np.asarray(part) for part in parts])
    if declared:
        return np.asarray(as_categories(column.astype(object), declared=True))
    words = set(column.tolist()) if column.dtype.kind in "UO" else set()
    if not words & set(_TRUTH) or not words <= {*_TRUTH, ""}:
        return column
    if "" in words:  # missing, as in a column of numbers
        return np.array([np.nan if word == "" else float(_TRUTH[word]) for word in column.tolist()])
    return np.array([_TRUTH[word] for word in column.tolist()])


def _read_answers(path: str) -> Any:
    """Codes or names of conditions: an array, or lines of text."""
    return read_labels(path) if path.lower().endswith(".txt") else read_array(path)


_READERS: dict[str, Callable[[str], Any]] = {
    "real_conditions": read_labels,
    "train_conditions": read_labels,
    "train_statistics": _read_statistics,
    "train_latents": read_array,
    "latent_variances": read_array,
    "conditions": read_labels,
    "valid": read_array,
    "real_valid": read_array,
    "against_valid": read_array,
    "against_statistics": _read_statistics,
    "statistics": _read_statistics,
    "generated_statistics": _read_statistics,
    "latents": read_array,
    "generated_latents": read_array,
    "predicted": _read_answers,
    "classifier_labels": _read_answers,
    "classifier_predicted": _read_answers,
}


def _read_samples(path: str) -> Any:
    """An array of bits, or the graphs in a JSON file: lists of edges, or {"nodes": number, "edges": […]} each."""
    if path.lower().endswith(".parquet") or _has_head(path):
        raise InputError(
            "the rows of a table are not samples",
            where=path,
            fix=f"Pass its columns beside the samples that they describe: --real boards.npy --statistics {path}.",
        )
    if path.lower().endswith((".g6", ".s6")):
        return _read_graph6(path)
    if _is_smiles(path):
        return _read_smiles(path)
    if not path.lower().endswith(".json"):
        return _read_sample_array(path)
    content = read_json(Path(path))
    try:
        return Graphs.of([_graph(item) for item in content], path)
    except InputError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError):
        fix = "Each is a list of edges [source, target]."
        raise InputError("not a JSON list of graphs", where=path, fix=fix) from None


def _has_head(path: str) -> bool:
    """Whether this is a .csv whose first line names its columns."""
    if not path.lower().endswith(".csv") or not Path(path).is_file():
        return False  # the reader of arrays reports what is missing
    with Path(path).open(encoding="utf-8-sig", errors="replace") as file:
        return not all(is_number(cell) for cell in file.readline().split(","))


def _read_sample_array(path: str) -> Any:
    try:
        return read_array(path)
    except InputError as error:
        if Path(path).is_file() or split_member(path)[0].suffix.lower() not in OPENERS:
            fix = f"{error.fix or ''} Write graphs as .json: a list of graphs, each a list of edges.".strip()
            raise InputError(error.what, where=error.where, fix=fix) from None
        raise


def _read_smiles(path: str) -> list[str]:
    """One molecule per line, before the first blank; a line without any is not valid."""
    require_file(Path(path), path)
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"is not text ({error!s:.80})", where=path, fix="Write one SMILES per line.") from None
    return [(line.split() or [""])[0] for line in lines]


def _read_graph6(path: str) -> Graphs:
    """The graphs of a file in graph6 or sparse6 format, one per line."""
    networkx = need("networkx", "graph6 files")
    read = networkx.read_graph6 if path.lower().endswith(".g6") else networkx.read_sparse6
    require_file(Path(path), path)
    try:
        found = read(path)
    except (networkx.NetworkXException, ValueError, IndexError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error!s:.100})", where=path, fix="Write one graph per line.") from None
    return Graphs.of(found if isinstance(found, list) else [found], path)


def _graph(item: Any) -> Any:
    edges = [(source, target) for source, target in (item["edges"] if isinstance(item, dict) else item)]
    return {**item, "edges": edges} if isinstance(item, dict) else edges


def _pair(path: str) -> Labelled:
    """Samples and their conditions from one .npz archive."""
    if not path.endswith(".npz"):
        raise InputError("expected an .npz with the arrays samples and conditions", where=path)
    return Labelled(read_array(f"{path}:samples"), read_labels(f"{path}:conditions"))
