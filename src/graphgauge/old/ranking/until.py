"""Adaptive evaluation: read queries in random order, only as many as the asked precision or a gate needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import confidence_level, whole_number
from graphgauge.core.progress import SILENT, Progress
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.state import Place
from graphgauge.old.ranking.all_entities import Scorer
from graphgauge.old.ranking.drawn import AskedQueries, EntityQueries, FlatQueries, ScoredQueries, Source, TripleSides
from graphgauge.old.ranking.reading import Reading, Units
from graphgauge.old.ranking.ties import TIES
from graphgauge.old.ranking.triples import SIDES
from graphgauge.old.ranking.until_request import DIFFERENCE, Asked, Labels, assists
from graphgauge.old.ranking.until_result import Finished


def rank_until(
    queries: Any = None,
    entities: Any = None,
    targets: Any = None,
    *,
    score: str | Scorer | None = None,
    known: Any = None,
    candidates: Any = None,
    kinds: Any = None,
    minus_inf: str = "rank",
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
    max_queries: int | None = None,
    ties: str = "realistic",
    confidence: float = 0.95,
    seed: int = 0,
    keep: str | None = None,
    resume: Place | None = None,
    save: Place | None = None,
    batch: int | None = None,
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
        An object of your own that counts queries when they are drawn, as in `graphgauge.old.ranking.drawn`.
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
    resume, save
        A file to go on from, and one to write: at the end, every minute, and if the run is interrupted or fails. A run
        can go on with narrower widths and new gates. No query is read again, except a few that are compared.
    queries, targets, score, known, candidates, kinds, minus_inf
        As in `rank_all`.
    pos_scores, neg_scores, offsets, mask, scores, labels
        As in `evaluate`.
    model, triples, sides
        As in `rank_triples`.
    groups, weights, ids, keep
        As in `evaluate`.
    max_queries
        The run ends after this many queries.
    ties
        As in `evaluate`.
    confidence
        Level of the intervals and gates.
    seed
        Seed of the order of queries.
    batch, threads
        As in `rank_all`.
    progress
        Called after each look with the number of queries read.

    Returns
    -------
    Evaluation
        Values with intervals that hold at every look, the outcome of each gate, and how many queries were read.

    Raises
    ------
    InputError
        If inputs do not fit, or `resume` is the file of another run.
    OptionError
        If a metric is not a mean of values between 0 and 1 per query.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import ranking
    >>> rng = np.random.default_rng(0)
    >>> pos, neg = rng.normal(2, 1, 3000), rng.normal(0, 1, (3000, 9))
    >>> ev = ranking.rank_until(pos_scores=pos, neg_scores=neg, gates="mrr >= 0.3")
    >>> ev.gate("mrr >= 0.3").passed, ev["mrr"].n < 3000
    (True, True)
    """
    forms = {
        "queries": queries,
        "entities": entities,
        "targets": targets,
        "score": score,
        "known": known,
        "candidates": candidates,
        "kinds": kinds,
        "minus_inf": minus_inf,
        "score_query": score_query,
        "n_queries": n_queries,
        "pos_scores": pos_scores,
        "neg_scores": neg_scores,
        "offsets": offsets,
        "mask": mask,
        "scores": scores,
        "labels": labels,
        "model": model,
        "triples": triples,
        "sides": sides,
        "n_entities": n_entities,
    }
    limits = {"batch": batch, "threads": threads}
    asked_of = source if source is not None else _source(forms, limits)
    if source is not None:
        _refuse_other_forms(forms)
    other = None if against is None else _other(against, forms, limits, source)
    if isinstance(average, str) and average.endswith(DIFFERENCE):
        raise OptionError(f"average {average!r:.60} reads like a difference of two models", fix="Rename the group.")
    seed = whole_number("seed", seed)
    one_of("tie rule", ties, TIES)
    if max_queries is not None:
        whole_number("max_queries", max_queries, 1)
    if asked_of.queries < 1:
        raise InputError("there are no queries", fix="Pass at least one.")
    if other is not None:
        _require_same_queries(asked_of, other)
    labelled = Labels.of(asked_of, groups, cluster, weights, ids)
    units = Units(labelled.drawn_weights(average), labelled.cluster)
    asked = Asked.of(within, gates, other is not None, average)
    statements = asked.statements(units.weights, confidence_level(confidence))
    reading = Reading(
        asked_of,
        statements,
        units,
        seed=seed,
        other=other,
        ties=ties,
        assist=assists(assist, labelled, asked.metrics, ties),
        max_queries=max_queries,
        place=save,
        progress=progress,
    )
    for name, place, method in (("save", save, "write"), ("resume", resume, "read")):
        if place is not None and not isinstance(place, str | Path) and not hasattr(place, method):
            raise OptionError(f"{name} must be a path or a stream, not {place!r:.60}")
    if resume is not None:
        reading.resume(resume)
    stopped = reading.run()
    return Finished(reading, labelled, asked, average, confidence, stopped, keep).evaluation()


# What belongs to a model in each form; all other inputs are the truth, which two models share.
_OF_MODEL = {
    "triples": ("model", "score"),
    "score_query": ("score_query",),
    "pos_scores": ("pos_scores", "neg_scores"),
    "scores": ("scores",),
    "entities": ("queries", "entities", "score", "minus_inf"),
}


def _other(against: Any, forms: Mapping[str, Any], limits: Mapping[str, Any], source: Source | None) -> Source:
    """The queries of the other model."""
    if not isinstance(against, Mapping) or not against:
        raise OptionError(
            "against is empty" if isinstance(against, Mapping) else f"against is {against!r:.60}",
            fix='Name the inputs that differ, such as {"queries": …, "entities": …}.',
        )
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
        raise InputError(
            f"{source.queries} queries of one model and {other.queries} of the other",
            where="against",
            fix="Compare them on the same queries.",
        )


def _refuse_other_forms(given: Mapping[str, Any]) -> None:
    foreign = [name for name, value in given.items() if _is_given(name, value)]
    if foreign:
        raise OptionError(f"source does not go with {foreign[0]}", fix="Give one of them.")


_DEFAULTS: dict[str, Any] = {"sides": SIDES, "minus_inf": "rank"}


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
        raise OptionError(
            "nothing to rank" if not forms else f"several forms of input: {', '.join(forms)}",
            fix="Give queries, entities and targets; model and triples; pos_scores and neg_scores; "
            "scores, labels and queries; or score_query and n_queries.",
        )
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
        "entities": ("queries", "entities", "targets", "score", "known", "candidates", "kinds", "minus_inf"),
    }[form]
    foreign = [name for name in given if name not in takes and _is_given(name, given[name])]
    if form not in ("entities", "triples") and limits["batch"] is not None:
        foreign.append("batch")
    if foreign:
        raise OptionError(f"the form with {form} does not take {foreign[0]}", fix="Leave it out.")
    threads = {"threads": limits["threads"]}
    if form == "entities":
        for name in ("queries", "entities", "targets"):
            if given[name] is None:
                raise OptionError(f"{name} not given", fix="Give queries, entities and targets.")
        asked = {name: given[name] for name in takes[4:]}
        return EntityQueries(
            given["queries"], given["entities"], given["targets"], score=given["score"] or "dot", **asked, **limits
        )
    if form == "triples":
        if given["triples"] is None or given["model"] is None:
            raise OptionError("model and triples go together", fix="Give both.")
        return TripleSides(
            given["model"],
            given["triples"],
            score=given["score"],
            known=given["known"],
            candidates=given["candidates"],
            sides=given["sides"],
            entities=given["n_entities"],
            **limits,
        )
    if form == "pos_scores":
        return ScoredQueries(
            given["pos_scores"], given["neg_scores"], offsets=given["offsets"], mask=given["mask"], **threads
        )
    if form == "scores":
        for name in takes:
            if given[name] is None:
                raise OptionError(f"{name} not given", fix="Give scores, labels and queries.")
        return FlatQueries(given["scores"], given["labels"], given["queries"], **threads)
    for name in takes:
        if given[name] is None:
            raise OptionError(f"{name} not given", fix="Give score_query and n_queries.")
    return AskedQueries(given["score_query"], given["n_queries"], **threads)
