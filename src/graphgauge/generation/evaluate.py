"""The entry point `evaluate`: samples to sides, sides to the samples of metrics, these to results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.errors import OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.grid import Grid
from graphgauge.core.loop import Measured, measure, sample_of
from graphgauge.core.metric import Metric, NoInterval
from graphgauge.core.options import confidence_level, whole_number
from graphgauge.core.registry import DEFAULT, Chosen, find, sections, select
from graphgauge.generation.averages import FAMILY, Grouped, View
from graphgauge.generation.columns import UNCONDITIONAL
from graphgauge.generation.figure import drawings
from graphgauge.generation.graph_features import DEFAULT_CONVENTION
from graphgauge.generation.levels import Rules
from graphgauge.generation.metrics.attempts import Attempts
from graphgauge.generation.metrics.compared import Drawn, Encoded
from graphgauge.generation.metrics.conditioning import Answers
from graphgauge.generation.metrics.described import Described
from graphgauge.generation.metrics.latent_space import Latents
from graphgauge.generation.metrics.recognition import Recognised
from graphgauge.generation.metrics.reconstruction import EMPTY, Reconstructions
from graphgauge.generation.metrics.statistical import Chemistry
from graphgauge.generation.sample import Samples, Sides
from graphgauge.generation.two_sample import PRDC
from graphgauge.protocols import under_protocols

CONDITION = "condition"


@under_protocols(FAMILY)
def evaluate(
    real: Any = None,
    generated: Any = None,
    *,
    train: Any = None,
    classifier: Samples | None = None,
    labels: Sequence[str] | None = None,
    ordered: bool = False,
    channels: Sequence[str] | None = None,
    threshold: float | None = None,
    validate: Callable[[Any], Any] | None = None,
    empty: int | str = 1,
    metrics: Any = None,
    confidence: float = 0.95,
    draws: int = 999,
    seed: int = 0,
    protocol: str | None = None,
) -> Evaluation:
    """Measure whether generated samples are valid, new, diverse, like real ones and as requested.

    Parameters
    ----------
    real, generated
        Samples, or `Samples` with what else is known of them. Samples are bits (n, *shape) of 0 and 1, lists of graphs
        of networkx or PyG, `Graphs` or `Molecules`. The first may be `Sides`, all that there is.
    train
        What the generator was trained on, for novelty. Real samples among them are not held out: they are left out and
        counted.
    classifier
        `Samples(conditions=…, predicted=…)` of real samples that the classifier was not trained on; its answers to
        generated samples are their `predicted`.
    labels, ordered, channels
        Names of the conditions in the order of their codes; whether that order is meaningful (text conditions then need
        `labels`); names of the first axis of a sample.
    threshold
        Reconstructions are probabilities, of which those above it are bits.
    validate
        A function of all samples of a side that says whether each is valid; it judges real and generated ones.
    empty
        The score of an empty sample with an empty reconstruction: 1 or 0.
    metrics
        None for the default, `all`, sections (`reconstruction`, `diversity`, `statistical`, `latent_space`,
        `grade_conditioning`) or keys.
    confidence
        Level of the intervals.
    draws
        Number of permutations of tests, and of draws of bootstraps and of levels.
    seed
        Seed of all random draws.
    protocol
        Compare graphs as the code of `gran`, `spectre`, `digress`, `digress_emd` or `polygraph` does.

    Returns
    -------
    Evaluation
        The metrics that the given columns allow, with intervals and the levels of real and of memorised samples.

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
    >>> ev = generation.evaluate(real, train[[0, 0, 1, 2]], train=train)
    >>> ev["novelty"].value, ev["overall_uniqueness_ratio"].value
    (0.0, 0.75)
    """
    level = confidence_level(confidence)
    one_of("empty", str(empty), EMPTY)
    rules = Rules(seed, draws, str(empty), protocol or DEFAULT_CONVENTION)
    about = {"generated": generated, "train": train, "classifier": classifier, "labels": labels}
    about |= {"channels": channels, "threshold": threshold, "validate": validate}
    if isinstance(real, Sides):
        given = [name for name, value in (about | {"ordered": ordered or None}).items() if value is not None]
        if given:
            raise OptionError(f"sides already have what {', '.join(given)} would say", fix="Leave it out.")
        sides = real
    elif real is None and generated is None:
        raise OptionError("nothing to evaluate", fix="Pass real or generated samples, or both.")
    else:
        sides = Sides.from_samples(real, ordered=ordered, **about)
    _refuse_unused(sides, ordered=ordered, threshold=threshold, empty=empty)
    if protocol is not None and sides.kind != "graphs":
        raise OptionError(f"{protocol} compares graphs, and samples are {sides.kind}", fix="Leave it out.").about(
            "protocol"
        )
    at_hand = AtHand(sides, rules)
    chosen, named, skipped = _chosen(metrics, at_hand)
    common = {"conditions": f"{sides.groups} {'in order' if sides.ordered else 'without order'}"}
    measured = measure(
        chosen, at_hand, named=named, confidence=level, conventions=lambda sample: common | sample.data.conventions
    )
    breakdowns, made = {}, at_hand.made
    if sides.groups > 1:
        breakdowns[CONDITION] = _by_condition(chosen, sides, made, measured, level)
        skipped |= _left_out(chosen, made)
    for data in dict.fromkeys(made.values()):
        breakdowns |= data.tables(chosen)
        common |= data.conventions
    materials: dict[str, Any] = {"sides": sides, "diversity": made.get("attempts"), "answers": made.get("answers")}
    if "attempts" in at_hand:
        materials["attempts"] = lambda: at_hand["attempts"].data
    options = {"confidence": level, "empty": rules.empty, "seed": rules.seed, "draws": rules.draws}
    evaluation = Evaluation(
        FAMILY,
        measured.results,
        conventions=common,
        options={**sides.options, **options},
        breakdowns=breakdowns,
        skipped=skipped | measured.skipped,
        materials=materials,
        drawings=lambda: drawings(sides),
    )
    # Looked for now, because the caller may change the samples later.
    _ = evaluation.findings
    return evaluation


def _refuse_unused(sides: Sides, *, ordered: bool, threshold: Any, empty: int | str) -> None:
    """Refuse options that these samples would not use."""
    reconstructed = sides.real is not None and sides.real.reconstructed is not None
    for name, said in (("threshold", threshold is not None), ("empty", str(empty) != "1")):
        if said and not reconstructed:
            raise OptionError(f"{name} needs reconstructed real samples", fix="Give both, or neither.").about(name)
    if ordered and sides.labels == (UNCONDITIONAL,):
        raise OptionError("ordered needs conditions", fix="Give both, or neither.").about("ordered")


# ---- what can be computed


class Need(NamedTuple):
    """A sample that metrics take: how it is made, of which columns, and for which kinds of items it is meant."""

    make: Callable[[Sides, Rules], Grouped]
    columns: tuple[str, ...]
    kinds: tuple[str | None, ...] = ("bits", "graphs", "molecules", None)


_BOTH, _LATENTS = ("real.items", "generated.items"), ("real.latents", "generated.latents")
NEEDS = {
    "reconstructions": Need(Reconstructions, ("real.items", "real.reconstructed"), ("bits", None)),
    "attempts": Need(Attempts, ("generated.items",)),
    "validity": Need(Attempts, ("generated.items", "generated.valid")),
    "novelty": Need(Attempts, ("generated.items", "train.items")),
    "pairs": Need(Attempts, ("generated.items",), ("bits", None)),
    "copies": Need(Attempts, (*_BOTH, "train.items")),
    "statistics": Need(Described, ("real.statistics", "generated.statistics")),
    "encodings": Need(Encoded, _BOTH, ("bits", "molecules", None)),
    "latent_pairs": Need(Encoded, _LATENTS),
    "recognition": Need(Recognised, _BOTH),
    "graphs": Need(Drawn, _BOTH, ("graphs",)),
    "graph_training": Need(Drawn, (*_BOTH, "train.items"), ("graphs",)),
    "chemistry": Need(Chemistry, _BOTH, ("molecules",)),
    "latents": Need(Latents, ("real.latents",)),
    "answers": Need(Answers, ("generated.predicted",)),
}
# What sides and columns are called where they are absent.
_WORDS = {
    "real": "real samples",
    "generated": "generated samples",
    "train": "training set",
    "reconstructed": "reconstructions",
    "latents": "latent vectors",
    "valid": "validity",
    "predicted": "classifier",
}


class AtHand(Mapping[str, View[Grouped]]):
    """The samples that metrics can be computed on, by need, each in the own average of the metric."""

    def __init__(self, sides: Sides, rules: Rules) -> None:
        self.sides, self._rules = sides, rules
        # Latent vectors are compared whatever items are.
        encoded = all(self._has(column) for column in _LATENTS)
        self._needs = NEEDS | ({"encodings": Need(Encoded, _LATENTS)} if encoded else {})
        self._samples: dict[Any, Grouped] = {}
        self._names = [name for name in NEEDS if self._applies(name) and not self._absent(name)]

    def __getitem__(self, need: str) -> View[Grouped]:
        make = self._needs[need].make
        if make not in self._samples:
            self._samples[make] = make(self.sides, self._rules)
        return View(self._samples[make])

    def __contains__(self, need: object) -> bool:
        return need in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def made(self) -> dict[str, Grouped]:
        """What was needed so far, by all needs that it meets."""
        makers = {need: self._needs[need].make for need in self._names}
        return {need: self._samples[make] for need, make in makers.items() if make in self._samples}

    def _applies(self, need: str) -> bool:
        return self.sides.kind in self._needs[need].kinds

    def _has(self, column: str) -> bool:
        side, _, name = column.partition(".")
        samples = getattr(self.sides, side)
        return samples is not None and getattr(samples, name) is not None

    def _absent(self, need: str) -> list[str]:
        """The columns that a need lacks, or whole sides."""
        lacking = [column for column in self._needs[need].columns if not self._has(column)]
        sides = dict.fromkeys(column.partition(".")[0] for column in lacking)
        whole = [side for side in sides if getattr(self.sides, side) is None]
        return whole or [column.removesuffix(".items") for column in lacking]

    def applies(self, metric: Metric) -> bool:
        """Whether a metric is meant for items of this kind."""
        return any(self._applies(need) for need in metric.needs)

    def reason(self, metric: Metric) -> str | None:
        """Why a metric cannot be computed; None if it can be."""
        if any(need in self._names for need in metric.needs):
            return None
        need = next((each for each in metric.needs if self._applies(each)), None)
        if need is None:
            return f"samples are {self.sides.kind}"
        words = ((each, each.rpartition(".")[2]) for each in self._absent(need))
        known: Any = self.sides.missing
        return " and ".join(
            dict.fromkeys(known.get(each, f"no {_WORDS.get(name, name)} given") for each, name in words)
        )


# ---- what is computed


def _chosen(asked: Any, at_hand: AtHand) -> tuple[list[Chosen], frozenset[str], dict[str, str]]:
    """The metrics that can be computed, the keys of those that were named, and why the others cannot."""
    statistics = at_hand.sides.generated.statistics if at_hand.sides.generated is not None else None
    swept = {"statistic": tuple(statistics or ()), "measure": PRDC._fields}
    wanted, _ = select(FAMILY, asked, NEEDS, swept)
    named = _named(asked)
    chosen, lacking = [], {}
    for metric, params in wanted:
        key, reason = metric.key_of(**params), at_hand.reason(metric)
        whole_number("k", params.get("k", 1), 1)  # a key may have any value
        if reason is not None and metric.key in named:
            raise OptionError(f"{key} cannot be computed: {reason}").about("metrics")
        if reason is None:
            chosen.append((metric, params))
        elif at_hand.applies(metric):
            lacking[key] = (metric.section or "", reason)
    return (
        chosen,
        frozenset(metric.key_of(**params) for metric, params in chosen if metric.key in named),
        _gathered(chosen, lacking),
    )


def _named(asked: Any) -> set[str]:
    """The declared keys of the metrics that are asked for by name."""
    known = {DEFAULT, "all", *(each.name for each in sections(FAMILY))}
    names = [asked] if isinstance(asked, str | Metric) else asked or ()
    return {find(name, FAMILY)[0].key if isinstance(name, str) else name.key for name in names if name not in known}


def _gathered(chosen: Sequence[Chosen], lacking: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Reasons by key, or by section where none of its metrics can be computed."""
    alive = {metric.section for metric, _ in chosen}
    skipped: dict[str, str] = {}
    for section in dict.fromkeys(name for name, _ in lacking.values()):
        own = {key: reason for key, (name, reason) in lacking.items() if name == section}
        skipped |= own if section in alive else {section: _together(own.values())}
    return skipped


def _together(reasons: Iterable[str]) -> str:
    """Reasons, each once."""
    return " and ".join(dict.fromkeys(part for reason in reasons for part in reason.split(" and ")))


def _by_condition(
    chosen: Sequence[Chosen], sides: Sides, made: Mapping[str, Grouped], measured: Measured, level: float
) -> Grid:
    """A row per condition; a metric counts its own samples there."""
    samples = {need: View(data, by_condition=True) for need, data in made.items()}
    side = sides.generated if sides.generated is not None else sides.real
    assert side is not None
    n = np.bincount(side.conditions, minlength=sides.groups)
    columns: dict[str, Any] = {CONDITION: np.array(sides.labels), "n": n}
    for metric, params in chosen:
        key = metric.key_of(**params)
        if key not in measured.estimates:
            continue
        sample = sample_of(metric, samples)
        estimate, name = metric(sample, **params), key.removeprefix("overall_")
        if len(estimate.value) != sides.groups:
            continue  # one value for all conditions together
        unknown = np.isnan(estimate.value)
        columns |= {name: estimate.value, f"{name}.n": np.where(unknown, 0, estimate.n)}
        ends = NoInterval("") if unknown.all() else metric.bounds_of(sample, estimate, level)
        if not isinstance(ends, NoInterval):
            columns |= {f"{name}.low": ends.low, f"{name}.high": ends.high}
    return Grid(columns)


def _left_out(chosen: Sequence[Chosen], made: Mapping[str, Grouped]) -> dict[str, str]:
    """The conditions without a value, by the section of the first metric of each sample, with the reasons."""
    sections_of: dict[Grouped, str] = {}
    for metric, _ in chosen:
        data = sample_of(metric, made)
        if data is not None:
            sections_of.setdefault(data, metric.section or "")
    return {
        f"{section} of {label}": reason
        for data, section in sections_of.items()
        for code, label in enumerate(data.labels)
        if (reason := data.lack(code)) is not None
    }
