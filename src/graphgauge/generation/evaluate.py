"""Evaluate generators, section by section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import confidence_level, metric_names, whole_number
from graphgauge.core.progress import SILENT, Progress
from graphgauge.generation.capabilities import Capabilities
from graphgauge.generation.declared import FAMILY
from graphgauge.generation.drawings import drawings
from graphgauge.generation.graph_mmd import DEFAULT_CONVENTION
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.levels import Draws
from graphgauge.generation.overlap import HeldOut
from graphgauge.generation.section_results import Request, section_results
from graphgauge.generation.table import SampleTable
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.loop import Chosen
from graphgauge.old.core.metric import asked, select
from graphgauge.old.core.result import Result, Table

# The arguments that go with a table; it takes the place of the others.
_OPTIONS = ("table", "convention", "metrics", "empty", "confidence", "seed", "resamples", "permutations", "threads")


def evaluate(
    table: SampleTable | None = None,
    *,
    real: Any = None,
    generated: Any = None,
    real_conditions: Any = None,
    conditions: Any = None,
    train: Any = None,
    train_conditions: Any = None,
    train_latents: Any = None,
    train_statistics: Mapping[str, Any] | None = None,
    valid: Any = None,
    real_valid: Any = None,
    reconstructed: Any = None,
    latents: Any = None,
    latent_variances: Any = None,
    generated_latents: Any = None,
    leaks: bool | None = None,
    threshold: float | None = None,
    statistics: Mapping[str, Any] | None = None,
    generated_statistics: Mapping[str, Any] | None = None,
    predicted: Any = None,
    classifier_labels: Any = None,
    classifier_predicted: Any = None,
    labels: Sequence[str] | None = None,
    ordered: bool = False,
    channels: Sequence[str] | None = None,
    samples: str | None = None,
    node_labels: Sequence[str] | str | None = None,
    edge_labels: Sequence[str] | str | None = None,
    convention: str = DEFAULT_CONVENTION,
    metrics: Sequence[str] | str | None = None,
    empty: int | str = 1,
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = 1000,
    permutations: int = 999,
    threads: int | None = None,
) -> Evaluation:
    """Measure whether generated samples are valid, novel, diverse and as requested.

    Parameters
    ----------
    table
        The result of `collect` or `SampleTable.load`; or pass any of the following arguments instead.
    real, generated
        Samples: arrays (n, *shape) of 0 and 1, or graphs (networkx, PyG data, lists of edges, adjacency matrices).
        `real_conditions` and `conditions` are their true and their requested conditions: codes or names.
    train
        The samples that the generator was trained on, for `novelty`. Real samples among them are not held out: they are
        left out and counted. `train_conditions`, `train_latents` and `train_statistics` describe them as those of real
        samples do: the levels of a memoriser need the condition of each training sample if there are several, and
        latent vectors and statistics where these are compared.
    valid, real_valid
        Whether each generated sample is valid; None counts as not valid. Without this argument all samples are valid.
        Real samples that are not valid by the same rules are left out of comparisons; their share is the level of
        `validity_rate`.
    reconstructed, latents
        The reconstruction of each real sample, in bits, and its latent vector (n, d); `generated_latents` are those of
        generated samples. `latent_variances` (n, d) are the variances of the encoder's posterior. `leaks` is
        whether the encoder is given the condition; `threshold` is the probability above
        which reconstructions became bits.
    statistics, generated_statistics
        `{name: (n,)}` or a data frame, statistics whose distributions are compared: numbers, or text for categories.
    predicted
        The condition that a classifier predicts for each generated sample; `classifier_labels` and
        `classifier_predicted` are the true and predicted conditions of real held-out samples. Numbers are codes if the
        conditions are names, and the conditions themselves if those are numbers.
    labels, ordered, channels
        Names of the conditions in the order of their codes; whether that order is meaningful (text conditions then need
        `labels`); names of the first axis of a sample.
    samples
        For arrays (n, N, N) that could be adjacency matrices: `graphs`, `padded` if the last nodes without edges are
        padding, or `bits`.
    node_labels, edge_labels
        Attributes of networkx graphs or PyG data that are labels; an empty list for none. By default all of networkx
        graphs, and `x` and `edge_attr` of PyG data, that are text, whole numbers or truth values.
    convention
        How graphs are compared: `graphgauge`, or as in the code of `gran`, `spectre`, `digress`, `digress_emd` or
        `polygraph`.
    metrics
        Sections (`reconstruction`, `diversity`, `statistical`, `latent_space`, `conditioning`) or keys, instead of all.
    empty
        The score of an empty sample with an empty reconstruction: 1, `"nan"`, or `"skip"`.
    resamples, permutations
        Number of draws for null distributions and bootstraps, and of permutations in tests, all from `seed`.
    confidence
        Level of the intervals.
    seed
        Seed of all random draws.
    threads
        At most this many threads; by default all cores.
    real_conditions, conditions, train_conditions, train_latents, train_statistics
        See `real` and `train`.
    latent_variances, generated_latents, leaks, threshold
        See `latents`.
    classifier_labels, classifier_predicted
        See `predicted`.

    Returns
    -------
    Evaluation
        The metrics that the given arguments allow, with intervals and the levels of real and of memorised samples.

    Raises
    ------
    InputError
        If samples have different shapes, or a value is NaN.
    OptionError
        If an argument has no such value.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import generation
    >>> rng = np.random.default_rng(0)
    >>> real, train = rng.random((20, 8)) < 0.5, rng.random((20, 8)) < 0.5
    >>> ev = generation.evaluate(real=real, generated=train[[0, 0, 1, 2]], train=train)
    >>> ev["novelty"].value, ev["overall_uniqueness_ratio"].value
    (0.0, 0.75)
    """
    given = {
        name: value
        for name, value in locals().items()
        if name not in _OPTIONS and value is not None and value is not False
    }
    if table is None and real is None and generated is None:
        raise OptionError("nothing to evaluate", fix="Pass a table, or real= or generated= samples.")
    if table is None:
        _refuse_unused(given, empty)
        options = {"threshold": given.pop("threshold")} if "threshold" in given else {}
        table = SampleTable.of(options=options, **given)
    elif not isinstance(table, SampleTable):
        kind = type(table).__name__
        raise InputError(f"expected a table, found {kind}", where="table", fix="Pass samples as real= and generated=.")
    elif given:
        raise OptionError(f"a table already contains samples: {', '.join(given)}")
    chosen = metric_names(metrics)
    draws = Draws(seed, whole_number("resamples", resamples, 1), whole_number("permutations", permutations, 1))
    request = Request(
        None if chosen is None else tuple(chosen),
        empty,
        confidence_level(confidence),
        draws,
        threads,
        convention,
    )
    return evaluated(table, request)


def _refuse_unused(given: Mapping[str, Any], empty: int | str) -> None:
    """Raise an error for an option that these samples would not use."""
    needed = {"labels": ("real_conditions", "conditions"), "ordered": ("real_conditions", "conditions")}
    said = {**given, **({} if empty == 1 else {"empty": empty})}
    for name, others in {**needed, "empty": ("reconstructed",), "threshold": ("reconstructed",)}.items():
        if name in said and not any(other in given for other in others):
            raise OptionError(f"{name} needs {' or '.join(others)}", fix="Give both, or neither.").about(name)


def require_graphs(convention: str, samples: Any) -> None:
    """Raise an error for a convention of comparing graphs if samples are not graphs."""
    if convention != DEFAULT_CONVENTION and not isinstance(samples, Graphs):
        raise OptionError(f"convention {convention!r} is about graphs, and samples are not", fix="Leave it out.").about(
            "convention"
        )


def evaluated(table: SampleTable, request: Request, progress: Progress = SILENT) -> Evaluation:
    """The requested sections of a table: their results, breakdowns and skipped parts."""
    require_graphs(request.convention, table.real if table.generated is None else table.generated)
    results: list[Result] = []
    breakdowns: dict[str, Table] = {}
    conventions: dict[str, str] = {}
    skipped: dict[str, str] = {}
    materials: dict[str, Any] = {}
    for place, (name, names) in enumerate(request.by_section.items()):
        at_hand = Capabilities(table, request.empty, request.draws, request.threads, request.convention)
        chosen, left_out = _chosen(name, names, table, request, at_hand)
        part = section_results(chosen, table, request, at_hand)
        results += part.results
        conventions |= part.conventions
        for axis, breakdown in part.breakdowns.items():
            held = breakdowns[axis].columns if axis in breakdowns else {}
            breakdowns[axis] = Table(axis, {**held, **breakdown.columns})
        skipped |= left_out
        if len(table.labels) > 1:
            for sample in at_hand.made.values():
                skipped |= {f"{name} of {label}": reason for label, reason in sample.left_out().items()}
        materials |= at_hand.made  # for the checks, which use all sections together
        progress.stage("sections", place + 1, len(request.by_section))
    if table.real is not None:
        materials["held_out"] = HeldOut(len(table.real), len(table.excluded))
    results.sort(key=lambda result: result.is_companion)
    return Evaluation(
        FAMILY,
        results,
        conventions=conventions,
        options={**table.options, **request.options},
        breakdowns=breakdowns,
        skipped=skipped,
        materials=materials,
        notes=_notes(table),
        figure=_draw,
        drawings=drawings(table),
    )


def _chosen(
    name: str, names: Sequence[str], table: SampleTable, request: Request, at_hand: Capabilities
) -> tuple[list[Chosen], dict[str, str]]:
    """The metrics of a section that can be computed, and why the others cannot."""
    skipped: dict[str, str] = {}
    wanted = asked(FAMILY, names)
    possible = [item for item in wanted if at_hand.applies(item.metric)]
    for item in wanted:
        reason = at_hand.missing(item.metric)
        if reason is not None and item.by_name:
            raise OptionError(f"{item.metric.key_of(**item.params)} cannot be computed: {reason}")
        if reason is not None and item in possible:
            skipped[item.metric.key] = reason
    if possible and len(skipped) == len({item.metric.key for item in possible}):
        skipped = {name: "; ".join(dict.fromkeys(skipped.values()))}
    chosen = select(FAMILY, names, at_hand.names, {"statistic": tuple(table.statistics or ())})
    for _, params in chosen:
        whole_number("k", params.get("k", 1), 1)  # a key may have any value
    return chosen, skipped


def _notes(table: SampleTable) -> tuple[str, ...]:
    notes = list(table.notes)
    if table.generated is not None and table.valid is None:
        notes.append("validity is not given: all samples count as valid")
    if table.copied is not None and table.copied.any():
        count = int(np.count_nonzero(table.copied))
        notes.append(
            f"{count} generated samples are training samples: tests leave them out like real ones, and need 10 others"
        )
    if table.real_valid is not None and not table.real_valid.all():
        count = int(np.count_nonzero(~table.real_valid))
        notes.append(f"{count} of {len(table.real_valid)} real samples are not valid and are compared with no other")
    return tuple(notes)


def _draw(evaluation: Evaluation, path: str | Path) -> None:
    from graphgauge.generation.figure import draw_generation

    draw_generation(evaluation, path)
