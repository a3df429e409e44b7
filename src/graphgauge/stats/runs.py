"""Runs: method × dataset × seed, each with the scores of its metrics."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from numbers import Real
from typing import Any, Literal

from graphgauge.core import files, registry
from graphgauge.core.errors import InputError, OptionError, UnknownNameError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.items import Items
from graphgauge.core.number import plural
from graphgauge.core.result import Direction
from graphgauge.stats.text import listing

Seed = int | str
# The seed of a run that states none, until it is numbered.
UNSTATED = ""
# The metric of scores that do not name it; it takes the name that it is asked for by.
UNNAMED = "value"
_UNBOUNDED = (-math.inf, math.inf)
_HIGHER = re.compile(
    "acc|accuracy|f1|auc|auroc|auprc|ap|map|mrr|hits|ndcg|recall|precision|r2|bleu|rouge|ari|nmi|iou|dice|mcc|kappa|tpr|"
    "tnr|sensitivity|specificity|reward|microf1|macrof1|top1|top5"
)
_LOWER = re.compile(
    "loss|mae|rmse|mse|mape|smape|crps|error|err|nll|perplexity|ppl|fid|wer|cer|brier|ece|fpr|fdr|fnr|latency|shd"
)
# Words for the spread of a metric, which has no better direction.
_SPREADS = frozenset(("std", "sd", "sem", "stderr", "var"))


@dataclass(frozen=True)
class Score:
    """A metric's value in one run, with the facts that decide whether it can be compared. Direction None: unknown.

    A printed value is the mean of `runs` with standard deviation `std`. `references` are levels that depend on the test
    alone, by name.
    """

    value: float
    direction: Direction | None = None
    target: float | None = None
    bounds: tuple[float, float] = _UNBOUNDED
    conventions: Mapping[str, str] = field(default_factory=dict)
    n: int | None = None
    reason: str | None = None
    references: Mapping[str, float] = field(default_factory=dict)
    std: float = math.nan
    runs: int = 1


@dataclass(frozen=True, eq=False)
class Run:
    """One trained and evaluated model; `failed` says why it has no scores.

    `evaluation` is what was evaluated, if the run is not a row of a table, and `source` the file that it was read from.

    Examples
    --------
    >>> from graphgauge import stats
    >>> runs = stats.read_runs({"ours": [0.91, 0.93], "theirs": [0.64, 0.70]})
    >>> [(run.method, run.seed) for run in runs]
    [('ours', 'ours #1'), ('ours', 'ours #2'), ('theirs', 'theirs #1'), ('theirs', 'theirs #2')]
    """

    method: str
    dataset: str
    seed: Seed
    scores: Mapping[str, Score]
    family: str = ""
    source: str = ""
    failed: str | None = None
    evaluation: Evaluation | None = None

    def __str__(self) -> str:
        return f"{on_dataset(self.method, self.dataset)}, seed {self.seed}"

    @property
    def receipt(self) -> Mapping[str, Any]:
        """What its file says it was computed from."""
        return {} if self.evaluation is None else self.evaluation.receipt

    @cached_property
    def items(self) -> Items | None:
        """The values of its single items, in memory or in the unchanged file next to its result."""
        if self.evaluation is None or self.evaluation.per_item is not None or not self.source:
            return None if self.evaluation is None else self.evaluation.per_item
        return files.load(self.source).per_item

    @cached_property
    def findings(self) -> dict[str, tuple[str, str]]:
        """Its warnings and errors by the name of the check: severity and message."""
        found = () if self.evaluation is None else self.evaluation.findings
        return {
            each.check: (each.severity, each.message) for each in found if each.severity != "note" and not each.ignored
        }

    @property
    def partial(self) -> str | None:
        """How much an adaptive run has read, unless it was everything: its values are known up to their intervals."""
        until = None if self.evaluation is None else self.evaluation.options.get("until")
        if not isinstance(until, Mapping) or until.get("complete") is True:
            return None
        return f"{until.get('read')} of {until.get('of')} queries read"


class Runs:
    """A set of runs; two of the same method, dataset, seed and family are refused.

    `notes` say what of their source was not read.

    Examples
    --------
    >>> from graphgauge import stats
    >>> runs = stats.read_runs([{"method": name, "seed": seed, "mrr": 0.5} for name in ("a", "b") for seed in (0, 1)])
    >>> runs.methods, len(runs.only(method=["a"]))
    (['a', 'b'], 2)
    """

    def __init__(self, runs: Iterable[Run], notes: Iterable[str] = ()) -> None:
        self._runs = tuple(runs)
        self.notes = tuple(dict.fromkeys(notes))
        seen: dict[tuple[str, str, Seed, str], Run] = {}
        twice = []
        for run in self._runs:
            first = seen.setdefault((run.method, run.dataset, run.seed, run.family), run)
            if first is not run:
                places = dict.fromkeys(filter(None, (first.source or "twice in one input", run.source)))
                twice.append(f"{run} ({'; '.join(places)})")
        if twice:
            said = f"{plural(len(twice), 'run occurs', 'runs occur')} twice: {listing(twice, 3)}"
            raise InputError(said, fix="Keep one file or row for each run.")

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __repr__(self) -> str:
        counts = {"method": len(self.methods), "dataset": len(self.datasets), "seed": len({run.seed for run in self})}
        return f"<Runs: {len(self)} of {', '.join(plural(count, noun) for noun, count in counts.items())}>"

    @property
    def methods(self) -> list[str]:
        """The methods, in the order of the runs."""
        return list(dict.fromkeys(run.method for run in self))

    @property
    def datasets(self) -> list[str]:
        """The datasets, in the order of the runs."""
        return list(dict.fromkeys(run.dataset for run in self))

    @cached_property
    def metrics(self) -> list[str]:
        """The keys of all metrics that a run has."""
        return list(dict.fromkeys(key for run in self for key in run.scores))

    def named(self, metric: str) -> Runs:
        """These runs with this metric; one without a name gets it."""
        if metric in self.metrics:
            return self
        if self.metrics == [UNNAMED] and isinstance(metric, str) and metric:
            facts = known_metric(metric)
            renamed = (
                replace(run, scores={metric: replace(run.scores[UNNAMED], **facts)}) if run.scores else run
                for run in self
            )
            return Runs(renamed, self.notes)
        if not self.metrics:
            why = listing(list(dict.fromkeys(run.failed for run in self if run.failed)), 2)
            raise InputError("there is no value to compare", fix=f"All runs failed: {why}" if why else None)
        hints = (registry.not_computed(metric, run.family) for run in self if run.family)
        raise UnknownNameError("metric", str(metric), self.metrics, hint=next(filter(None, hints), None))

    def only(self, *, method: Iterable[str] = (), dataset: Iterable[str] = (), family: str | None = None) -> Runs:
        """The runs of some methods, datasets or of one family; an unknown name is an error.

        Parameters
        ----------
        method, dataset
            Names to keep; none for all.
        family
            The family to keep, or None.

        Returns
        -------
        Runs
            The runs.

        Raises
        ------
        UnknownNameError
            If a name is not among those of the runs.
        """
        methods = {one_of("method", name, self.methods) for name in method}
        datasets = {one_of("dataset", name, self.datasets) for name in dataset}
        if family is not None:
            one_of("family", family, dict.fromkeys(run.family for run in self))
        kept = (
            run
            for run in self
            if (not methods or run.method in methods)
            and (not datasets or run.dataset in datasets)
            and family in (None, run.family)
        )
        return Runs(kept, self.notes)


def seed_order(seed: object) -> tuple[bool, float, str]:
    """Numbers by size, then names: an order independent of that of the rows."""
    return not isinstance(seed, Real), float(seed) if isinstance(seed, Real) else 0.0, str(seed)


def seed_of(value: Any) -> Seed:
    """Seeds that look like integers are compared as integers, in any file format."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return _seed_in(str(value).strip())


@lru_cache(4096)  # seeds occur in many rows
def _seed_in(text: str) -> Seed:
    match = re.fullmatch(r"(-?\d{1,40})(?:\.0*)?", text)
    return int(match[1]) if match else text


def repetition(method: str, number: int) -> str:
    """The label of a run without a seed: no other method has it, so nothing pairs the two."""
    return f"{method or 'run'} #{number}"


def numbered(runs: Iterable[Run]) -> list[Run]:
    """The runs of one source: those that state no seed are repetitions, or have seed 0 if no method has several."""
    runs = list(runs)
    unstated = Counter((run.method, run.dataset, run.family) for run in runs if run.seed == UNSTATED)
    repeated = {family for (_, _, family), count in unstated.items() if count > 1}
    numbers: dict[Any, Iterator[int]] = defaultdict(lambda: itertools.count(1))
    for i, run in enumerate(runs):
        if run.seed == UNSTATED:
            number = next(numbers[run.method, run.dataset, run.family])
            seed = repetition(run.method, number) if run.family in repeated else 0
            runs[i] = replace(run, seed=seed)
    return runs


def on_dataset(name: str, dataset: str) -> str:
    """`transe on wn18rr`, or `transe` if the dataset has no name."""
    return f"{name} on {dataset}" if dataset else name


@cache
def known_metric(key: str) -> Mapping[str, Any]:
    """The declared direction, target and bounds of a metric that comes as a plain number, as far as there are any."""
    entry = declared_metric(key)
    # The name of f1@{k} alone is none: an F1 of any kind may be called so.
    if entry is None or (key != entry.key and entry.parse(key) is None):
        return {}
    return {"direction": entry.direction, "target": entry.target, "bounds": entry.bounds}


def declared_metric(key: str, family: str | None = None) -> Any:
    """The declaration of a metric of a family, or of any; None if there is none."""
    with suppress(OptionError):
        return registry.find(key, family)[0]
    return None


def usual_direction(name: str) -> Literal["higher", "lower"] | None:
    """Which direction of a metric is better, if its name says it: `test_acc`, `val/loss`, `Accuracy`."""
    words = set(re.split(r"[\W_]+", name.lower()))
    higher, lower = (any(map(meaning.fullmatch, words)) for meaning in (_HIGHER, _LOWER))
    return None if higher == lower or words & _SPREADS else "higher" if higher else "lower"
