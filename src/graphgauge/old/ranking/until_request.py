"""What an adaptive run is asked for, the labels of its queries, and what predicts their values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Floats, as_labels, as_numeric, require_shape
from graphgauge.core.errors import InputError, OptionError
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.gates import Gate
from graphgauge.old.core.metric import find
from graphgauge.old.ranking.drawn import EntityQueries, FlatQueries, Source, TripleSides
from graphgauge.old.ranking.inputs import as_clusters, as_groups, as_weights, named_groups
from graphgauge.old.ranking.items import Items, ListItems
from graphgauge.old.ranking.reading import Statement
from graphgauge.old.stats.assist import Assist
from graphgauge.old.stats.sequence import MeanSequence, PairedSequence

DIFFERENCE = "_difference"
# The half-width that a gate's own sequence is tightest at.
_AIM = 0.03


@dataclass(frozen=True)
class Asked:
    within: Mapping[str, float]
    gates: tuple[Gate, ...]
    decide: tuple[str, ...]
    average: str

    @classmethod
    def of(cls, within: Mapping[str, float] | None, gates: Sequence[str] | str, paired: bool, average: str) -> Asked:
        if within is not None and not isinstance(within, Mapping):
            raise OptionError(f"within is {within!r:.60}", fix='For example within={"mrr": 0.01}.')
        texts = [gates] if isinstance(gates, str) else list(gates or ())
        if not all(isinstance(text, str) for text in [*texts, *(within or ())]):
            raise OptionError("metrics and gates are texts", fix='Such as within={"mrr": 0.01}, gates=["mrr >= 0.3"].')
        parsed = tuple(Gate.parse(text) for text in texts)
        widths = {}
        for key, width in (within or {}).items():
            if not isinstance(width, int | float | np.number) or isinstance(width, bool) or not 0 < width < math.inf:
                raise OptionError(f"within {width!r:.40} for {key}", fix="Give a half-width above 0, such as 0.01.")
            if _full_key(key, average) in widths:
                raise OptionError(f"two widths for {_full_key(key, average)}", fix="Give one.")
            widths[_full_key(key, average)] = float(width)
        found = cls(widths, parsed, (), average)
        if paired and not any(key.endswith(DIFFERENCE) for key in found.keys):
            found = replace(found, decide=(_full_key(f"mrr{DIFFERENCE}", average),))
        if not found.keys:
            raise OptionError("nothing to stop at", fix='Give within={"mrr": 0.01} or gates=["mrr >= 0.3"].')
        for gate in parsed:
            found._require_gate(gate)
        for key in found.keys:
            found._require_key(key, paired)
        return found

    def _require_gate(self, gate: Gate) -> None:
        if (
            gate.bound
            or gate.axis is not None
            or isinstance(gate.limit, str)
            or gate.sign in ("==", "!=")
            or not math.isfinite(gate.limit)
        ):
            raise OptionError(
                f"gate {gate.text!r} cannot be decided by reading until it is",
                fix="Write KEY >= NUMBER or KEY <= NUMBER, with the key of a mean.",
            )
        if gate.key != _full_key(gate.key, self.average):
            raise OptionError(
                f"gate {gate.text!r}: queries are drawn for the average over {self.average}",
                fix=f"Write {_full_key(gate.key, self.average)}.",
            )

    def _require_key(self, key: str, paired: bool) -> None:
        metric, params = find(self.metric_of(key), "ranking")
        if key.endswith(DIFFERENCE) and not paired:
            raise OptionError(f"{key} needs a second model", fix="Pass it with against.")
        if metric.key_of(**params) != self.metric_of(key):
            raise OptionError(f"{self.metric_of(key)} is not a whole key", fix=f"Write {metric.key_of(**params)}.")
        if metric.bounds != (0, 1) or metric.key_of(**params) not in _means(metric.key_of(**params)):
            raise OptionError(
                f"{metric.key_of(**params)} is not a mean of values between 0 and 1 per query",
                fix="Use mrr or hits@k, or with several right answers recall@k or ndcg@k.",
            )

    @property
    def keys(self) -> list[str]:
        return list(dict.fromkeys([*self.within, *(gate.key for gate in self.gates), *self.decide]))

    def metric_of(self, key: str) -> str:
        return key.removesuffix(DIFFERENCE).removesuffix(f"_macro_{self.average}")

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(map(self.metric_of, self.keys)))

    def statements(self, weights: Floats, confidence: float) -> list[Statement]:
        found = []

        def sequence(key: str, **options: Any) -> MeanSequence:
            kind: Any = PairedSequence if key.endswith(DIFFERENCE) else MeanSequence
            followed: MeanSequence = kind(weights, confidence=confidence, **options)
            return followed

        def add(name: str, key: str, followed: MeanSequence, **facts: Any) -> None:
            found.append(Statement(name, key, self.metric_of(key), followed, key.endswith(DIFFERENCE), **facts))

        for key, width in self.within.items():
            add(key, key, sequence(key, aim=width), width=width)
        for key in self.decide:
            add(key, key, sequence(key, aim=_AIM))
        for gate in self.gates:
            assert isinstance(gate.limit, float)
            options = {"two_sided": False} if gate.key.endswith(DIFFERENCE) else {}
            add(gate.text, gate.key, sequence(gate.key, aim=_AIM, gate=gate.limit, **options), gate=gate)
        return found


def _full_key(key: str, average: str) -> str:
    """The key of the average that queries are drawn for."""
    name, ending = key.removesuffix(DIFFERENCE), DIFFERENCE if key.endswith(DIFFERENCE) else ""
    if average == "micro" or name.endswith(f"_macro_{average}"):
        return key
    return f"{name}_macro_{average}{ending}"


def _means(key: str) -> tuple[str, ...]:
    """The key itself, if its metric is a mean over queries."""
    name = find(key, "ranking")[0]
    return (key,) if name.name in ("mrr", "hits", "ndcg") or "lists" in name.needs else ()


# ---------------------------------------------------------------- labels


@dataclass(frozen=True)
class Labels:
    """What belongs to each query besides its scores."""

    groups: Mapping[str, AnyArray]
    cluster: Any
    weights: Floats | None
    ids: AnyArray | None
    queries: int
    of_given: AnyArray | None = None  # which of the given queries these are, if some were left out
    given: int = 0

    @classmethod
    def of(cls, source: Source, groups: Any, cluster: Any, weights: Any, ids: Any) -> Labels:
        if isinstance(source, FlatQueries):
            flat = source
            if ids is not None:
                raise OptionError("the flat form has its query ids", fix="Leave out ids.")
            named = {}
            for axis, values in named_groups(groups).items():
                name = f"groups[{axis!r}]"
                named[axis] = flat.one_each(values, name, partial(as_labels, name=name))
            return cls(
                named,
                None if cluster is None else flat.one_each(cluster, "cluster", as_clusters),
                None if weights is None else flat.one_each(weights, "weights", as_weights),
                flat.of.names[flat.chosen],
                source.queries,
            )
        if isinstance(source, EntityQueries) and source.queries < source.given:
            every = cls._checked({}, groups, cluster, weights, ids, source.given)
            return every.chosen(source.chosen)
        own: Mapping[str, Any] = {}
        if isinstance(source, TripleSides):
            own = source.labels["groups"]
            taken = [axis for axis in named_groups(groups) if axis in own]
            if taken:
                raise OptionError(f"groups already have {taken[0]!r}", fix="Leave it out, or rename it.")
            groups = {axis: source.repeated(values) for axis, values in named_groups(groups).items()}
            cluster = source.labels["cluster"] if cluster is None else source.repeated(cluster)
            weights = source.repeated(weights)
        return cls._checked(own, groups, cluster, weights, ids, source.queries)

    @classmethod
    def _checked(
        cls, own: Mapping[str, Any], groups: Any, cluster: Any, weights: Any, ids: Any, queries: int
    ) -> Labels:
        found = cls(
            as_groups({**own, **(groups or {})}),
            None if cluster is None else as_clusters(cluster),
            None if weights is None else as_weights(weights),
            None if ids is None else as_labels(ids, "ids"),
            queries,
        )
        for name, values in [
            *found.groups.items(),
            ("cluster", found.cluster),
            ("weights", found.weights),
            ("ids", found.ids),
        ]:
            if values is not None:
                require_shape(values, (queries,), name, "One per query.")
        return found

    def chosen(self, rows: AnyArray) -> Labels:
        """Those of the queries that have a right answer."""
        cluster, weights = (None if each is None else each[rows] for each in (self.cluster, self.weights))
        return Labels(
            {axis: values[rows] for axis, values in self.groups.items()},
            cluster,
            weights,
            rows if self.ids is None else self.ids[rows],
            len(rows),
            rows,
            self.queries,
        )

    def drawn_weights(self, average: str) -> Floats:
        """How much each query counts in the mean that is asked for."""
        own = np.ones(self.queries) if self.weights is None else self.weights
        # By a power of two, so that nothing is rounded.
        own = np.ldexp(own, -int(np.frexp(own.max(initial=1e-300))[1]) + 1)
        if average == "micro":
            return own
        code = self.codes(average, "average")
        total = np.bincount(code, own)
        return np.asarray(own * own.sum() / (len(total) * total[code]))

    def codes(self, axis: str, option: str) -> AnyArray:
        if axis not in self.groups:
            has = f"they are {', '.join(self.groups)}" if self.groups else "there are none"
            raise OptionError(f"{option}: there are no groups {axis!r:.60}, {has}", fix="Pass their labels in groups.")
        return np.unique(self.groups[axis], return_inverse=True)[1].reshape(-1)

    def rows(self, rows: AnyArray, complete: bool) -> dict[str, Any]:
        """The labels of some queries, as a state takes them."""
        ids = self.ids if self.ids is not None or complete else np.arange(self.queries)
        return {
            "groups": {axis: values[rows] for axis, values in self.groups.items()} or None,
            "cluster": None if self.cluster is None else self.cluster[rows],
            "weights": None if self.weights is None else self.weights[rows],
            "ids": None if ids is None else ids[rows],
        }


def assists(given: Any, labelled: Labels, metrics: Sequence[str], ties: str) -> dict[str, Assist]:
    """A predictor for each metric."""
    if given is None:
        return {}
    several = isinstance(given, list | tuple) and not (given and all(isinstance(each, Real) for each in given))
    parts = list(given) if several else [given]
    if not parts:
        return {}
    names = [part for part in parts if isinstance(part, str)]
    codes = [labelled.codes(name, "assist") for name in names]
    proxies = [part for part in parts if not isinstance(part, str)]
    return {
        metric: Assist(labelled.queries, codes, [_proxy(part, labelled, metric, ties) for part in proxies])
        for metric in metrics
    }


def _proxy(given: Any, labelled: Labels, metric: str, ties: str) -> Floats:
    """One number per query that goes with the metric; NaN where there is none."""
    if isinstance(given, Evaluation):
        if given.per_item is None:
            raise InputError(
                "the evaluation has kept no values per query", where="assist", fix='Evaluate with keep="items".'
            )
        given = given.per_item
    if isinstance(given, Items | ListItems):
        ids = np.arange(labelled.queries) if labelled.ids is None else labelled.ids
        found = np.full(labelled.queries, np.nan)
        order = np.argsort(ids, kind="stable")
        place = np.minimum(np.searchsorted(ids, given.ids, sorter=order), len(ids) - 1)
        there = ids[order[place]] == given.ids
        if not there.any():
            raise InputError(
                "none of its queries is among those to be read", where="assist", fix="Give both the same ids."
            )
        found[order[place[there]]] = given.values(metric, ties=ties)[there]
        return found
    proxy = as_numeric(given, "assist").astype(float)
    if labelled.of_given is not None:
        require_shape(proxy, (labelled.given,), "assist", "One number per query.")
        proxy = proxy[labelled.of_given]
    require_shape(proxy, (labelled.queries,), "assist", "One number per query.")
    known = proxy[np.isfinite(proxy)]
    if known.size and known.min() >= 1 and known.max() > 1:
        # Ranks: what the metric makes of them.
        name, params = find(metric, "ranking")
        with np.errstate(invalid="ignore"):
            return (
                1 / proxy
                if "k" not in params or name.name == "ndcg"
                else np.where(np.isfinite(proxy), (proxy <= params["k"]).astype(float), np.nan)
            )
    return proxy
