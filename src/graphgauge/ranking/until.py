"""Adaptive evaluation: read queries in random order, only as many as the asked precision or a gate needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from numbers import Real
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Floats, as_labels, as_numeric, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.gates import Gate
from graphgauge.core.metric import find
from graphgauge.core.options import confidence_level, whole_number
from graphgauge.core.progress import SILENT, Progress
from graphgauge.core.result import Evaluation, Interval, Result
from graphgauge.core.state import Place
from graphgauge.ranking.all_entities import Scorer
from graphgauge.ranking.drawn import AskedQueries, EntityQueries, FlatQueries, ScoredQueries, Source, TripleSides
from graphgauge.ranking.evaluate import evaluate_state
from graphgauge.ranking.inputs import as_clusters, as_groups, as_weights, named_groups
from graphgauge.ranking.items import Items, ListItems
from graphgauge.ranking.race import RACE_TIES, Race
from graphgauge.ranking.reading import Reading, Statement, Units, joined, placed
from graphgauge.ranking.state import RankingState
from graphgauge.ranking.ties import TIES
from graphgauge.ranking.triples import SIDES
from graphgauge.stats.assist import Assist
from graphgauge.stats.intervals import FEWEST_DF, t_quantile
from graphgauge.stats.sequence import MeanSequence, PairedSequence

INNER = ("exact", "race")
GUARANTEES = ("anytime", "width")
STOPS = ("all", "any", "widths")
DIFFERENCE = "_difference"
# The half-width that a gate's own sequence is tightest at.
_AIM = 0.03
SEQUENCE, THIS_SET, NEW = "confidence sequence", "this test set, at every look", "new queries"


def rank_until(
    queries: Any = None,
    entities: Any = None,
    targets: Any = None,
    *,
    score: str | Scorer | None = None,
    known: Any = None,
    exclude: Any = None,
    candidates: Any = None,
    kinds: Any = None,
    minus_inf: str = "rank",
    precision: str = "full",
    score_query: Callable[[int], Any] | None = None,
    n_queries: int | None = None,
    pos_scores: Any = None,
    neg_scores: Any = None,
    offsets: Any = None,
    mask: Any = None,
    scores: Any = None,
    labels: Any = None,
    model: Any = None,
    triples: Any = None,
    sides: Sequence[str] = SIDES,
    n_entities: int | None = None,
    source: Source | None = None,
    against: Mapping[str, Any] | None = None,
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
    ids: Any = None,
    within: Mapping[str, float] | None = None,
    gates: Sequence[str] | str = (),
    average: str = "micro",
    assist: Any = (),
    inner: str = "exact",
    hard: Any = None,
    guarantee: str = "anytime",
    stop: str = "all",
    max_queries: int | None = None,
    joint: bool = False,
    ties: str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    keep: str | None = None,
    resume: Place | None = None,
    save: Place | None = None,
    batch: int | None = None,
    max_memory: int | None = None,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> Evaluation:
    """Rank queries in random order until the asked precision is reached or the gates are decided.

    The interval of each value is for the mean over all queries of this test set, and holds at every look: the
    probability that it ever misses is at most 1 − confidence. `Result.new_queries` is the interval for queries from
    the same source that are not in the test set.

    Queries come in one of these forms: `queries`, `entities` and `targets`, with the options of `rank_all`; `model` and
    `triples`, with those of `rank_triples`; `pos_scores` and `neg_scores`, or `scores`, `labels` and `queries`, as in
    `evaluate`, of which only drawn rows are read, from arrays or memory maps; a callback; or a `source`.

    Parameters
    ----------
    score_query, n_queries
        A function of a query's number, 0 … n_queries − 1, that returns the scores of its right answers (a number, or an
        array if there may be several) and those of the wrong ones.
    entities, n_entities
        With triples: the number of entities, under either name, if the model does not know it.
    source
        An object of your own that counts queries when they are drawn, as in `graphgauge.ranking.drawn`.
    against
        Another model on the same queries: its inputs by name, such as `{"queries": …, "entities": …}`; all others are
        shared. By default the run goes on until it is known which of them has the higher MRR; `mrr_difference` is the
        mean of the first minus the second, a key for `within` and `gates`. With `average` it is
        `mrr_macro_GROUP_difference`.
    within
        Half-widths to reach, by metric: a mean of values between 0 and 1 per query, such as `mrr`, `hits@10`,
        `recall@20`, `ndcg@10`. The value is the middle of the interval then.
    gates
        Requirements to decide, such as `mrr >= 0.30`. Each is called passed or failed by mistake with probability at
        most 1 − confidence, and is undecided if the run ends before; `Evaluation.gate` returns the outcome.
    average
        `micro`, or the name of a group: the mean over groups with equal weights. Queries are drawn accordingly.
    cluster
        Queries of one cluster are drawn together.
    assist
        What predicts the values, to narrow the interval: names of groups, values or ranks from a cheaper or earlier
        model, one per query, or its `per_item`. It is fitted on queries already read. A bad one costs queries, never
        validity.
    inner
        `exact` ranks a drawn query among all candidates. `race` reads its candidates in random order until one beats
        the target, after the entities in `hard` (sets per query), if given: for `mrr` of embeddings, of triples, and of
        functions that score the entities they get.
    guarantee
        `anytime`, or `width`: stop when a usual t-interval has this width, which takes fewer queries, is only
        approximately valid, and decides no gates.
    stop
        `all`: stop when all widths are reached and all gates are decided; `any`: when either is the case; `widths`:
        when the widths are reached, whether the gates are decided or not.
    joint
        Whether all intervals and gates hold together with this confidence, not each.
    resume, save
        A file to go on from, and one to write: at the end, every minute, and if the run is interrupted or fails. A run
        can go on with narrower widths and new gates. No query is read again, except a few that are compared.
    """
    forms = {
        "queries": queries, "entities": entities, "targets": targets, "score": score, "known": known,
        "exclude": exclude, "candidates": candidates, "kinds": kinds, "minus_inf": minus_inf, "precision": precision,
        "score_query": score_query, "n_queries": n_queries, "pos_scores": pos_scores, "neg_scores": neg_scores,
        "offsets": offsets, "mask": mask, "scores": scores, "labels": labels, "model": model, "triples": triples,
        "sides": sides, "n_entities": n_entities,
    }  # fmt: skip
    limits = {"batch": batch, "max_memory": max_memory, "threads": threads}
    asked_of = source if source is not None else _source(forms, limits)
    if source is not None:
        _refuse_other_forms(forms)
    other = None if against is None else _other(against, forms, limits, source)
    one_of("inner", inner, INNER)
    one_of("guarantee", guarantee, GUARANTEES)
    one_of("stop", stop, STOPS)
    if not isinstance(joint, bool | np.bool_):
        raise OptionError(f"joint is {joint!r:.60}", fix="Give True or False.")
    if isinstance(average, str) and average.endswith(DIFFERENCE):
        raise OptionError(f"average {average!r:.60} reads like a difference of two models", fix="Rename the group.")
    seed = whole_number("seed", seed)
    ties = ties or (RACE_TIES[0] if inner == "race" else TIES[0])
    one_of("tie rule", ties, TIES)
    if max_queries is not None:
        whole_number("max_queries", max_queries, 1)
    if asked_of.queries < 1:
        raise InputError("there are no queries", fix="Pass at least one.")
    if other is not None:
        _require_same_queries(asked_of, other)
    labelled = _Labels.of(asked_of, groups, cluster, weights, ids)
    race = None
    if inner == "race":
        if other is not None:
            raise OptionError("a race follows one model", fix='Compare two with inner="exact".')
        race = Race(asked_of, ties, hard)
    elif hard is not None:
        raise OptionError("hard goes with races", fix='Leave it out, or give inner="race".')
    units = Units(labelled.drawn_weights(average), labelled.cluster)
    asked = _Asked.of(within, gates, other is not None, average, guarantee)
    if race is not None and {*asked.metrics} != {"mrr"}:
        raise OptionError("a race finds mrr only", fix='Leave inner at "exact" for other metrics.')
    statements = asked.statements(None if race is not None else units.weights, confidence_level(confidence), joint)
    reading = Reading(asked_of, statements, units, seed=seed, other=other, race=race, ties=ties,
                      assist=_assists(assist, labelled, asked.metrics, ties), max_queries=max_queries, stop=stop,
                      guarantee=guarantee, place=save, progress=progress)  # fmt: skip
    for name, place, method in (("save", save, "write"), ("resume", resume, "read")):
        if place is not None and not isinstance(place, str | Path) and not hasattr(place, method):
            raise OptionError(f"{name} must be a path or a stream, not {place!r:.60}")
    if resume is not None:
        reading.resume(resume)
    stopped = reading.run()
    return _Report(reading, labelled, asked, average, confidence, guarantee, stopped, keep).evaluation()


# What belongs to a model in each form; all other inputs are the truth, which two models share.
_OF_MODEL = {
    "triples": ("model", "score"),
    "score_query": ("score_query",),
    "pos_scores": ("pos_scores", "neg_scores"),
    "scores": ("scores",),
    "entities": ("queries", "entities", "score", "minus_inf", "precision"),
}


def _other(against: Any, forms: Mapping[str, Any], limits: Mapping[str, Any], source: Source | None) -> Source:
    """The queries of the other model."""
    if not isinstance(against, Mapping) or not against:
        raise OptionError("against is empty" if isinstance(against, Mapping) else f"against is {against!r:.60}",
                          fix='Name the inputs that differ, such as {"queries": …, "entities": …}.')  # fmt: skip
    if source is not None:
        if {*against} != {"source"}:
            raise OptionError("against has no source", fix='Give against={"source": …}.')
        found: Source = against["source"]
        return found
    mine = _OF_MODEL[_form(forms)]
    unknown = [name for name in against if name not in mine]
    if unknown:
        known = "belongs to the queries, not to a model" if unknown[0] in forms else "is no input"
        raise OptionError(f"against: {unknown[0]!r:.60} {known}", fix=f"Name some of {', '.join(mine)}.")
    return _source({**forms, **against}, limits)


def _require_same_queries(source: Source, other: Source) -> None:
    if other.queries != source.queries:
        raise InputError(f"{source.queries} queries of one model and {other.queries} of the other", where="against",
                         fix="Compare them on the same queries.")  # fmt: skip


def _refuse_other_forms(given: Mapping[str, Any]) -> None:
    foreign = [name for name, value in given.items() if _is_given(name, value)]
    if foreign:
        raise OptionError(f"source does not go with {foreign[0]}", fix="Give one of them.")


_DEFAULTS: dict[str, Any] = {"sides": SIDES, "minus_inf": "rank", "precision": "full"}


def _is_given(name: str, value: Any) -> bool:
    if isinstance(value, str | list | tuple) and name in _DEFAULTS:
        return bool((value if isinstance(value, str) else tuple(value)) != _DEFAULTS[name])
    return value is not None


def _form(given: Mapping[str, Any]) -> str:
    """The form in which queries are given."""
    chosen = {
        "triples": given["triples"] is not None or given["model"] is not None,
        "score_query": given["score_query"] is not None or given["n_queries"] is not None,
        "pos_scores": given["pos_scores"] is not None or given["neg_scores"] is not None,
        "scores": given["scores"] is not None or given["labels"] is not None,
        "entities": given["targets"] is not None or not isinstance(given["entities"], int | np.integer | None),
    }
    forms = [name for name, there in chosen.items() if there]
    if len(forms) != 1:
        raise OptionError("nothing to rank" if not forms else f"several forms of input: {', '.join(forms)}",
                          fix="Give queries, entities and targets; model and triples; pos_scores and neg_scores; "
                          "scores, labels and queries; or score_query and n_queries.")  # fmt: skip
    return forms[0]


def _source(given: Mapping[str, Any], limits: Mapping[str, Any]) -> Source:
    """The queries, in the form that is given."""
    form = _form(given)
    if form == "triples" and given["entities"] is not None:
        if given["n_entities"] is not None:
            raise OptionError("entities and n_entities are the same with triples", fix="Give one of them.")
        given = {**given, "n_entities": given["entities"], "entities": None}
    takes = {
        "triples": ("triples", "model", "score", "known", "candidates", "sides", "n_entities"),
        "score_query": ("score_query", "n_queries"),
        "pos_scores": ("pos_scores", "neg_scores", "offsets", "mask"),
        "scores": ("scores", "labels", "queries"),
        "entities": ("queries", "entities", "targets", "score", "known", "exclude", "candidates", "kinds", "minus_inf",
                     "precision"),
    }[form]  # fmt: skip
    foreign = [name for name in given if name not in takes and _is_given(name, given[name])]
    if form not in ("entities", "triples"):
        foreign += [name for name in ("batch", "max_memory") if limits[name] is not None]
    if foreign:
        raise OptionError(f"the form with {form} does not take {foreign[0]}", fix="Leave it out.")
    threads = {"threads": limits["threads"]}
    if form == "entities":
        for name in ("queries", "entities", "targets"):
            if given[name] is None:
                raise OptionError(f"{name} not given", fix="Give queries, entities and targets.")
        asked = {name: given[name] for name in takes[4:]}
        return EntityQueries(given["queries"], given["entities"], given["targets"], score=given["score"] or "dot",
                             **asked, **limits)  # fmt: skip
    if form == "triples":
        if given["triples"] is None or given["model"] is None:
            raise OptionError("model and triples go together", fix="Give both.")
        return TripleSides(given["model"], given["triples"], score=given["score"], known=given["known"],
                           candidates=given["candidates"], sides=given["sides"], entities=given["n_entities"],
                           **limits)  # fmt: skip
    if form == "pos_scores":
        return ScoredQueries(given["pos_scores"], given["neg_scores"], offsets=given["offsets"], mask=given["mask"],
                             **threads)  # fmt: skip
    if form == "scores":
        for name in takes:
            if given[name] is None:
                raise OptionError(f"{name} not given", fix="Give scores, labels and queries.")
        return FlatQueries(given["scores"], given["labels"], given["queries"], **threads)
    for name in takes:
        if given[name] is None:
            raise OptionError(f"{name} not given", fix="Give score_query and n_queries.")
    return AskedQueries(given["score_query"], given["n_queries"], **threads)


# ---------------------------------------------------------------- what is asked


@dataclass(frozen=True)
class _Asked:
    within: Mapping[str, float]
    gates: tuple[Gate, ...]
    decide: tuple[str, ...]
    average: str
    guarantee: str

    @classmethod
    def of(
        cls, within: Mapping[str, float] | None, gates: Sequence[str] | str, paired: bool, average: str, guarantee: str
    ) -> _Asked:
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
        found = cls(widths, parsed, (), average, guarantee)
        if paired and not any(key.endswith(DIFFERENCE) for key in found.keys):
            found = replace(found, decide=(_full_key(f"mrr{DIFFERENCE}", average),))
            if guarantee == "width":
                raise OptionError("which model is better needs the guarantee at every look",
                                  fix='Give a width, within={"mrr_difference": …}, or leave out guarantee="width".',
                                  )  # fmt: skip
        if not found.keys:
            raise OptionError("nothing to stop at", fix='Give within={"mrr": 0.01} or gates=["mrr >= 0.3"].')
        for gate in parsed:
            found._require_gate(gate)
        for key in found.keys:
            found._require_key(key, paired)
        return found

    def _require_gate(self, gate: Gate) -> None:
        if (gate.bound or gate.axis is not None or isinstance(gate.limit, str) or gate.sign in ("==", "!=")
                or not math.isfinite(gate.limit)):  # fmt: skip
            raise OptionError(f"gate {gate.text!r} cannot be decided by reading until it is",
                              fix="Write KEY >= NUMBER or KEY <= NUMBER, with the key of a mean.")  # fmt: skip
        if self.guarantee == "width":
            raise OptionError("gates need the guarantee at every look", fix='Leave out guarantee="width".')
        if gate.key != _full_key(gate.key, self.average):
            raise OptionError(f"gate {gate.text!r}: queries are drawn for the average over {self.average}",
                              fix=f"Write {_full_key(gate.key, self.average)}.")  # fmt: skip

    def _require_key(self, key: str, paired: bool) -> None:
        metric, params = find(self.metric_of(key), "ranking")
        if key.endswith(DIFFERENCE) and not paired:
            raise OptionError(f"{key} needs a second model", fix="Pass it with against.")
        if metric.key_of(**params) != self.metric_of(key):
            raise OptionError(f"{self.metric_of(key)} is not a whole key", fix=f"Write {metric.key_of(**params)}.")
        if metric.bounds != (0, 1) or metric.key_of(**params) not in _means(metric.key_of(**params)):
            raise OptionError(f"{metric.key_of(**params)} is not a mean of values between 0 and 1 per query",
                              fix="Use mrr or hits@k, or with several right answers recall@k or ndcg@k.")  # fmt: skip

    @property
    def keys(self) -> list[str]:
        return list(dict.fromkeys([*self.within, *(gate.key for gate in self.gates), *self.decide]))

    def metric_of(self, key: str) -> str:
        return key.removesuffix(DIFFERENCE).removesuffix(f"_macro_{self.average}")

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(map(self.metric_of, self.keys)))

    def statements(self, weights: Floats | None, confidence: float, joint: bool) -> list[Statement]:
        count = len(self.within) + len(self.gates) + len(self.decide)
        level = 1 - (1 - confidence) / count if joint else confidence
        found = []

        def sequence(key: str, **options: Any) -> MeanSequence:
            kind: Any = PairedSequence if key.endswith(DIFFERENCE) else MeanSequence
            followed: MeanSequence = kind(weights, confidence=level, **options)
            return followed

        def add(name: str, key: str, followed: MeanSequence, **facts: Any) -> None:
            paired = key.endswith(DIFFERENCE)
            found.append(Statement(name, key, self.metric_of(key), followed, paired,
                                   asymptotic=self.guarantee == "width", **facts))  # fmt: skip

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
class _Labels:
    """What belongs to each query besides its scores."""

    groups: Mapping[str, AnyArray]
    cluster: Any
    weights: Floats | None
    ids: AnyArray | None
    queries: int
    of_given: AnyArray | None = None  # which of the given queries these are, if some were left out
    given: int = 0

    @classmethod
    def of(cls, source: Source, groups: Any, cluster: Any, weights: Any, ids: Any) -> _Labels:
        if isinstance(source, FlatQueries):
            flat = source
            if ids is not None:
                raise OptionError("the flat form has its query ids", fix="Leave out ids.")
            named = {}
            for axis, values in named_groups(groups).items():
                name = f"groups[{axis!r}]"
                named[axis] = flat.one_each(values, name, partial(as_labels, name=name))
            return cls(named, None if cluster is None else flat.one_each(cluster, "cluster", as_clusters),
                       None if weights is None else flat.one_each(weights, "weights", as_weights),
                       flat.of.names[flat.chosen], source.queries)  # fmt: skip
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
    ) -> _Labels:
        found = cls(as_groups({**own, **(groups or {})}), None if cluster is None else as_clusters(cluster),
                    None if weights is None else as_weights(weights), None if ids is None else as_labels(ids, "ids"),
                    queries)  # fmt: skip
        for name, values in [
            *found.groups.items(),
            ("cluster", found.cluster),
            ("weights", found.weights),
            ("ids", found.ids),
        ]:
            if values is not None:
                require_shape(values, (queries,), name, "One per query.")
        return found

    def chosen(self, rows: AnyArray) -> _Labels:
        """Those of the queries that have a right answer."""
        cluster, weights = (None if each is None else each[rows] for each in (self.cluster, self.weights))
        return _Labels({axis: values[rows] for axis, values in self.groups.items()}, cluster, weights,
                       rows if self.ids is None else self.ids[rows], len(rows), rows, self.queries)  # fmt: skip

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


def _assists(given: Any, labelled: _Labels, metrics: Sequence[str], ties: str) -> dict[str, Assist]:
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
    return {metric: Assist(labelled.queries, codes, [_proxy(part, labelled, metric, ties) for part in proxies])
            for metric in metrics}  # fmt: skip


def _proxy(given: Any, labelled: _Labels, metric: str, ties: str) -> Floats:
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
            return 1 / proxy if "k" not in params or name.name == "ndcg" else np.where(
                np.isfinite(proxy), (proxy <= params["k"]).astype(float), np.nan)  # fmt: skip
    return proxy


# ---------------------------------------------------------------- the evaluation


@dataclass
class _Report:
    """A finished run as an evaluation."""

    reading: Reading
    labels: _Labels
    asked: _Asked
    average: str
    confidence: float
    guarantee: str
    stopped: str
    keep: str | None
    notes: list[str] = field(default_factory=list)

    def evaluation(self) -> Evaluation:
        reading = self.reading
        base = self._counted(0, self.asked.metrics) if reading.race is None else None
        results = [self._difference(each, base) if each.paired else self._result(each, base)
                   for each in _one_of_each_key(reading.statements)]  # fmt: skip
        outcomes = self._gates({each.key: each for each in results})
        facts: dict[str, Any] = {"k": [], "confidence": self.confidence}
        facts = facts if base is None else {**base.options, "confidence": self.confidence}
        return Evaluation(
            "ranking", results,
            conventions={"ties": reading.ties, "nan": "raise"} if base is None else base.conventions,
            options={**facts, "until": self._facts(outcomes, results)},
            breakdowns=base.breakdowns if base is not None and reading.complete else None,
            materials=None if base is None else {k: v for k, v in base.materials.items() if k != "results"},
            notes=(self._note(), *self._gate_notes(outcomes, results), *(() if base is None else base.notes),
                   *self._left_out(), *self._no_chance(base)),
            per_item=None if base is None or self.keep is None else base.per_item,
            figure=self._draw,
        )  # fmt: skip

    @property
    def _level(self) -> float:
        """The confidence of each interval."""
        return self.reading.statements[0].sequence.confidence

    def _draw(self, evaluation: Evaluation, path: str | Path) -> None:
        from graphgauge.ranking.figure import draw_trail

        draw_trail(evaluation, path)

    def _counted(self, side: int, metrics: Sequence[str]) -> Evaluation:
        """The evaluation of the queries that were read."""
        reading = self.reading
        items = joined(reading.parts[side])
        order = np.argsort(items.ids, kind="stable")
        rows = items.ids[order].astype(np.int64)
        labels = self.labels.rows(rows, reading.complete)
        state = RankingState(keep=self.keep)
        if isinstance(items, Items):
            state.update_counts(items.greater[order], items.equal[order], items.candidates[order], **labels)
        else:
            ids = labels.pop("ids")
            columns: dict[str, Any] = dict(items.lists.arranged(order).columns())
            state.update_lists(**columns, queries=ids, **labels)
        return evaluate_state(state, metrics=list(metrics), ties=reading.ties, confidence=self._level)

    def _result(self, statement: Statement, base: Evaluation | None) -> Result:
        sequence, key = statement.sequence, statement.key
        if base is None:
            metric, params = find(statement.metric, "ranking")
            counted = Result(key, metric.name, math.nan, self.reading.read, "query", "higher", (0.0, 1.0), params,
                             conventions={"ties": self.reading.ties})  # fmt: skip
        else:
            counted = base[key]
            # On its own, a mean over groups is no companion of another value.
            params = {"average" if name == "macro" else name: value for name, value in counted.params.items()}
            counted = replace(counted, params=params)
        if self.reading.complete:
            value = counted.value
            exact = Interval(value, value, sequence.confidence, "everything was read", "this test set")
            return replace(counted, interval=exact, no_interval=None, new_queries=counted.interval)
        interval = self._interval(statement)
        if base is not None:
            counted = replace(counted, chance=self._levels.get(key, ()))
        return replace(counted, value=self._value(statement, interval), interval=interval, no_interval=None,
                       reason=None, new_queries=self._new_queries(statement))  # fmt: skip

    @cached_property
    def _levels(self) -> dict[str, Any]:
        """The chance levels of all queries, not of those that were drawn; none if candidates are not known."""
        try:
            candidates = getattr(self.reading.source, "candidates", lambda: None)()
        except InputError:  # about a query that was not read
            candidates = None
        if candidates is None:
            return {}
        labels = self.labels.rows(np.arange(self.labels.queries), True)
        nothing = np.zeros(len(candidates), np.int64)
        state = RankingState().update_counts(nothing, nothing, candidates, **{**labels, "ids": None})
        every = evaluate_state(state, metrics=list(self.asked.metrics), ties=self.reading.ties)
        return {key: result.chance for key, result in every.items()}

    def _value(self, statement: Statement, interval: Interval) -> float:
        """The middle of an interval that is as narrow as was asked for, so that the value is known up to its width."""
        low, high = interval
        if statement.width is not None and statement.settled:
            return (low + high) / 2
        return min(max(self._estimate(statement), low), high)

    def _estimate(self, statement: Statement) -> float:
        sequence = statement.sequence
        return sequence.drift / sequence.pace if statement.asymptotic else sequence.estimate

    def _interval(self, statement: Statement) -> Interval:
        sequence = statement.sequence
        if statement.asymptotic:
            note = "valid for a run that stops at its width and is not looked at for anything else"
            t = sequence.t_interval
            return replace(t, method="t, at the width asked for", over="this test set", approximate=True, note=note)
        low, high = sequence.interval
        return Interval(low, high, sequence.confidence, SEQUENCE, THIS_SET)

    def _new_queries(self, statement: Statement) -> Interval | None:
        """Half of the error for what was not read of this test set, half for the test set being a sample."""
        sequence, units = statement.sequence, self.reading.units
        level = 1 - (1 - sequence.confidence) / 2
        if statement.asymptotic:
            middle, reach = (
                self._estimate(statement),
                statement.half_width * _normal(level) / _normal(sequence.confidence),
            )
            low, high = middle - reach, middle + reach
        else:
            low, high = sequence.at(level)
        error, freedom = self._sampling_error(statement)
        if not math.isfinite(error) or freedom < FEWEST_DF:
            return None
        reach = t_quantile(freedom, level).item() * error
        over = "new queries" if units.single else "new clusters of queries"
        lowest, highest = sequence.bounds
        return Interval(
            max(low - reach, lowest), min(high + reach, highest), sequence.confidence, f"{SEQUENCE} and sampling", over
        )

    def _sampling_error(self, statement: Statement) -> tuple[float, float]:
        """The standard error of the mean over the whole test set as a sample of units, and its degrees of freedom.

        Units are drawn in proportion to their weights, without replacement, so what a unit stands for shrinks with the
        weight that is still unread (Des Raj 1956). With everything read, it is the usual error of a weighted mean.
        """
        reading, units = self.reading, self.reading.units
        if reading.done < 2:
            return math.nan, 1.0
        drawn = reading.order[: reading.done]
        queries, owner = units.members(drawn)
        sides = [np.concatenate(reading.values[statement.metric])]
        if statement.paired:
            kept = joined(reading.parts[1])
            place = placed(kept.ids, queries)
            sides.append(np.asarray(kept.values(statement.metric, ties=reading.ties)[place], float))
        values = [units.means(queries, owner, each, len(drawn)) for each in sides]
        x = values[0] - values[1] if statement.paired else values[0]
        total, weight = float(units.weights.sum()), units.weights[drawn]
        # The mean is estimated by units that weigh much themselves.
        squares = (x - self._estimate(statement)) ** 2 / np.maximum(1 - weight / total, 0.5)
        if reading.race is not None:
            spread = float(np.mean(weight * squares)) * total
        else:
            left = np.maximum(total - np.concatenate([[0.0], np.cumsum(weight)[:-1]]), np.finfo(float).tiny)
            terms = weight**2 * squares
            stands_for = np.concatenate([[0.0], np.cumsum(terms)[:-1]]) + weight * squares * left
            spread = float(np.average(stands_for, weights=(left.min() / left) ** 2))
        # Satterthwaite: a variance that a few heavy units dominate has hardly more degrees of freedom than they are.
        share = units.weights / units.weights.max()
        freedom = float(np.sum(share**2)) ** 2 / float(np.sum(share**4))
        return math.sqrt(spread) / total, min(freedom, float(reading.done)) - 1

    def _difference(self, statement: Statement, base: Evaluation | None) -> Result:
        sequence, metric = statement.sequence, find(statement.metric, "ranking")[0]
        params = {**find(statement.metric, "ranking")[1], "difference": "first − second"}
        # A width says nothing of which is better.
        side: str | None = None if statement.asymptotic else sequence.decided
        if self.reading.complete:
            assert base is not None
            name = statement.key.removesuffix(DIFFERENCE)
            value = base[name].value - self._counted(1, [statement.metric])[name].value
            interval = Interval(value, value, sequence.confidence, "everything was read", "this test set")
            side = None if value == 0 else "above" if value > 0 else "below"
        else:
            interval = self._interval(statement)
            if side is None and sequence.gate == 0 and 0 not in interval:
                # The test that errs no more often than it says has not decided; neither does the interval.
                interval = replace(interval, low=min(interval.low, 0.0), high=max(interval.high, 0.0))
            value = self._value(statement, interval)
        ends = {"above": "the first is better", "below": "the second is better"}
        found = ends.get(side or "", "not decided which is better")
        if side is not None and 0 in interval and value != 0:
            found += ", by a test that is sharper than the interval"
        return Result(statement.key, metric.name, value, self.reading.read, "query", "higher", (-1.0, 1.0), params,
                      interval=interval, conventions={"ties": self.reading.ties},
                      new_queries=None if statement.asymptotic else self._new_queries(statement),
                      interpretation=None if sequence.gate else found)  # fmt: skip

    def _note(self) -> str:
        reading = self.reading
        total = int(reading.units.sizes.sum())
        raced = ", with repetition" if reading.race is not None else ""
        queries = f"{reading.read:,} of {total:,} queries read{raced} ({reading.read / total:.1%})"
        share = f"{reading.scores / max(reading.whole_cost, 1):.1%} of the scores of a full ranking"
        short = [f"{each.key} is known to ± {each.half_width:.2g}, not ± {each.width:g}" for each in reading.statements
                 if each.width is not None and not each.settled and not reading.complete]  # fmt: skip
        return f"{queries}, {reading.scores:,} scores, {share}: {'; '.join([self.stopped, *short])}"

    def _gates(self, results: Mapping[str, Result]) -> dict[str, dict[str, str]]:
        """What became of each gate; with everything read, it holds for the value that is printed or it does not."""
        found = {}
        for each in self.reading.statements:
            if each.gate is None:
                continue
            outcome = each.outcome
            if self.reading.complete:
                outcome = "passed" if each.gate.holds(results[each.key].value) else "failed"
            elif outcome == "undecided":
                outcome = _by_interval(each.gate, results[each.key].interval)
            found[each.gate.text] = {"outcome": outcome}
            if outcome == "undecided":
                low, high = each.sequence.interval
                share = f"{self.reading.read:,} of {int(self.reading.units.sizes.sum()):,} queries"
                found[each.gate.text]["reason"] = (
                    f"{each.key} is between {low:.4g} and {high:.4g} after {share}; {self.stopped}"
                )
        return found

    def _gate_notes(self, outcomes: Mapping[str, Mapping[str, str]], results: Sequence[Result]) -> list[str]:
        intervals = {each.key: each.interval for each in results}
        notes = []
        for each in self.reading.statements:
            if each.gate is not None:
                interval, outcome = intervals[each.key], outcomes[each.gate.text]["outcome"]
                inside = interval is not None and float(each.gate.limit) in interval and not self.reading.complete
                sharper = ", by a test that is sharper than the interval" if inside and outcome != "undecided" else ""
                notes.append(f"gate {each.gate.text}: {outcome}{sharper}")
        return notes

    def _no_chance(self, base: Evaluation | None) -> list[str]:
        if (
            base is None
            or self.reading.complete
            or self._levels
            or all(each.paired for each in self.reading.statements)
        ):
            return []
        return ["no chance level: it takes the candidates of the queries that were not read, too"]

    def _left_out(self) -> list[str]:
        source = self.reading.source
        missing = source.given - source.queries if isinstance(source, FlatQueries | EntityQueries) else 0
        return [f"{missing:,} queries left out: they have no positive"] if missing else []

    def _facts(self, outcomes: Mapping[str, Mapping[str, str]], results: Sequence[Result]) -> dict[str, Any]:
        reading = self.reading
        facts: dict[str, Any] = {
            "read": reading.read, "of": int(reading.units.sizes.sum()), "scores": reading.scores,
            "scores_of": reading.whole_cost, "complete": reading.complete, "stopped": self.stopped,
            "seed": reading.seed, "average": self.average, "guarantee": self.guarantee,
            "inner": "exact" if reading.race is None else "race", "within": dict(self.asked.within),
        }  # fmt: skip
        if reading.earlier:
            facts["resumed"] = list(reading.earlier)
        facts["gates"] = outcomes
        sides = {each.key: each.sequence.decided for each in reading.statements if each.paired and each.gate is None}
        if reading.complete:
            values = {each.key: each.value for each in results}
            sides = {key: None if values[key] == 0 else "above" if values[key] > 0 else "below" for key in sides}
        elif self.guarantee == "width":
            sides = {}
        facts["decided"] = {key: side for key, side in sides.items() if side is not None}
        facts["trail"] = [[read, low, high] for read, low, high in reading.shown_trail]
        return facts


def _by_interval(gate: Gate, interval: Interval | None) -> str:
    """What the interval of a run says of a gate that was added to it."""
    if interval is None or gate.holds(interval.low) != gate.holds(interval.high):
        return "undecided"
    return "passed" if gate.holds(interval.low) else "failed"


def _one_of_each_key(statements: Sequence[Statement]) -> list[Statement]:
    """For each key the sequence that says most of it: that of a width, else the one that has followed longest."""
    found: dict[str, Statement] = {}
    for each in statements:
        known = found.setdefault(each.key, each)
        if known.width is None and known.sequence.slope < each.sequence.slope:
            found[each.key] = each
    return list(found.values())


def _normal(confidence: float) -> float:
    """The two-sided quantile of the normal distribution."""
    return NormalDist().inv_cdf((1 + confidence) / 2)
