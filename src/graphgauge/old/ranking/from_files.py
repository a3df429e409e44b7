"""Evaluate files: `graphgauge ranking …`, studies, and `ranking.evaluate_files`."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from graphgauge.core.arrays import AnyArray, require_shape
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.progress import SILENT, Progress
from graphgauge.old.core.cluster import ENGINES, Engine, Scheduler
from graphgauge.old.core.described import of_files
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.factory import made
from graphgauge.old.core.fields import (
    Choice,
    Confidence,
    Factory,
    File,
    Files,
    Flag,
    Metrics,
    NamedFiles,
    NamesOrFiles,
    NanPolicy,
    Output,
    PathLike,
    Seed,
    Several,
    Text,
    Texts,
    Threads,
    Whole,
    is_file_name,
    located,
)
from graphgauge.old.io.arrays import ArrayFile, LoadedArray, Shards, open_array, open_arrays, read_labels, require_alike
from graphgauge.old.io.hashing import receipt_inputs
from graphgauge.old.io.tables import write_table
from graphgauge.old.ranking.all_entities import MINUS_INF, SCORES, rank_all
from graphgauge.old.ranking.beyond import Catalog
from graphgauge.old.ranking.drawn import EntityQueries, FlatQueries, ScoredQueries, Source, TripleSides
from graphgauge.old.ranking.evaluate import last_place, needs_pool
from graphgauge.old.ranking.family import ALL_ENTITIES, FAMILY, FLAT, MATRIX, RECOMMENDER, TOPK, TRIPLES, parse_until
from graphgauge.old.ranking.items import Items, ListItems
from graphgauge.old.ranking.negative_sampling import Negatives
from graphgauge.old.ranking.recommend import names_of_recommenders, rank_recommended, recommended
from graphgauge.old.ranking.state import RankingState
from graphgauge.old.ranking.tasks import (
    TASK_BYTES,
    RowParts,
    count_rows,
    matrix_from_tasks,
    pool_from_tasks,
    ragged_from_tasks,
    saved,
)
from graphgauge.old.ranking.ties import TIES, rank
from graphgauge.old.ranking.topk import rank_topk
from graphgauge.old.ranking.triples import SIDES, rank_some_triples, rank_triples
from graphgauge.old.ranking.until import rank_until

# Read at once from a shard.
_BLOCK_BYTES = 1 << 25
# Pairs of a query and an entity that one task scores.
_SCORED = 1 << 31

Paths = PathLike | Sequence[PathLike]
Opened = dict[str, list[ArrayFile]]


@of_files
def evaluate_files(
    *,
    pos_scores: Annotated[Paths, Files("Scores of the positives (n,): a file or quoted pattern. Repeatable.")] = (),
    neg_scores: Annotated[
        Paths, Files("Scores of their negatives (n, k), likewise; or one pool (m,) for all positives.")
    ] = (),
    offsets: Annotated[PathLike | None, File("With flat negatives: where each query's begin, n + 1 integers.")] = None,
    mask: Annotated[Paths, Files("Booleans (n, k): which negatives are valid.")] = (),
    negatives: Annotated[
        PathLike | None, File("The scored negatives, from `graphgauge negatives`: the result names them.")
    ] = None,
    scores: Annotated[PathLike | None, File("Flat form: one score per candidate.")] = None,
    labels: Annotated[PathLike | None, File("Flat form: 1 or a grade for positives, 0 for negatives.")] = None,
    queries: Annotated[PathLike | None, File("Flat form: the query of each candidate.")] = None,
    items: Annotated[PathLike | None, File("Flat form: the item of each candidate, numbered from 0.")] = None,
    item_count: Annotated[int | None, Whole("With --items: how many items the catalogue has.", 1)] = None,
    item_popularity: Annotated[PathLike | None, File("With --items: how popular each item is.")] = None,
    item_categories: Annotated[PathLike | None, File("With --items: the category of each item.")] = None,
    item_embeddings: Annotated[PathLike | None, File("With --items: the embedding of each item (items, d).")] = None,
    queries_emb: Annotated[PathLike | None, File("Rank among all entities: embeddings of the queries (q, d).")] = None,
    entities: Annotated[PathLike | None, File("Embeddings of all entities (m, d).")] = None,
    topk: Annotated[
        PathLike | None, File("Lists of the first items of each query (q, length), best first, −1 where there is none.")
    ] = None,
    targets: Annotated[
        PathLike | None, File("The right entity or item of each query, by number; with offsets, all right ones.")
    ] = None,
    target_offsets: Annotated[
        PathLike | None, File("With several right answers: where each query's begin, q + 1 integers.")
    ] = None,
    exclude_values: Annotated[
        PathLike | None, File("With --topk: items that are no candidates, as those of training, of all queries.")
    ] = None,
    exclude_offsets: Annotated[PathLike | None, File("Where each query's excluded ones begin, q + 1 integers.")] = None,
    skip_excluded: Annotated[bool, Flag("Pass over excluded items in --topk lists, instead of an error.")] = False,
    n_items: Annotated[int | None, Whole("With --topk: the number of items, for chance levels.", 1)] = None,
    known_values: Annotated[
        PathLike | None, File("Other right answers, which are left out: entity numbers of all queries.")
    ] = None,
    known_offsets: Annotated[PathLike | None, File("Where each query's known answers begin, q + 1 integers.")] = None,
    relations: Annotated[
        PathLike | None, File("With --score distmult: the relation embedding of each query (q, d).")
    ] = None,
    score: Annotated[str, Choice("How embeddings are scored.", SCORES)] = SCORES[0],
    user_scores: Annotated[
        PathLike | None,
        File("Recommender: scores of all items (users, items); or embeddings (users, d), with --item-vectors."),
    ] = None,
    item_vectors: Annotated[PathLike | None, File("Recommender: embeddings of all items (items, d).")] = None,
    test_items: Annotated[
        PathLike | None, File("Recommender: the items to be found, pairs (n, 2) of user and item, by number.")
    ] = None,
    train_items: Annotated[
        PathLike | None, File("Recommender: the items of training, which are no candidates, as pairs.")
    ] = None,
    minus_inf: Annotated[str, Choice("Recommender: what a score of −inf means.", MINUS_INF)] = "raise",
    triples: Annotated[
        PathLike | None, File("Knowledge graph: the test triples (n, 3), head, relation and tail, by number.")
    ] = None,
    known_triples: Annotated[
        Paths, Files("Knowledge graph: triples whose answers are left out: training, validation. Repeatable.")
    ] = (),
    relation_vectors: Annotated[
        PathLike | None, File("Knowledge graph: embeddings of all relations (relations, d), next to --entities.")
    ] = None,
    model: Annotated[
        str | None, Factory("Knowledge graph: factory of a model that scores triples, called without arguments.")
    ] = None,
    n_entities: Annotated[
        int | None, Whole("Knowledge graph: the number of entities, if the model does not know it.", 1)
    ] = None,
    sides: Annotated[
        Sequence[str], Several("Knowledge graph: which sides of the triples are asked for.", Choice("", SIDES))
    ] = SIDES,
    groups: Annotated[
        Mapping[str, PathLike] | Sequence[str], NamedFiles("Labels per query to break down by. Repeatable.")
    ] = (),
    cluster: Annotated[PathLike | None, File("Integers per query; queries of one cluster are not independent.")] = None,
    weights: Annotated[PathLike | None, File("How much each query counts.")] = None,
    k: Annotated[Sequence[int] | int, Several("Cut-offs, separated by commas.", Whole("", 1))] = (1, 3, 10),
    ties: Annotated[str, Choice("How equal scores rank.", TIES)] = "realistic",
    per_query: Annotated[PathLike | None, Output("Write each query's rank (.parquet, .csv, .npz).")] = None,
    keep: Annotated[str | None, Choice("Store each query's counts next to the result.", ("items",))] = None,
    engine: Engine = ENGINES[0],
    scheduler: Scheduler = None,
    save_state: Annotated[PathLike | None, Output("Write the counts, for `graphgauge merge`.")] = None,
    until: Annotated[
        Sequence[str] | str,
        Texts(
            "Read queries in random order, only until 'mrr ± 0.01', 'mrr >= 0.30', 'gates' (all gates are decided) or "
            "'difference' (it is known which model is better). Repeatable."
        ),
    ] = (),
    assist: Annotated[
        Sequence[str] | str,
        NamesOrFiles(
            "With --until: what predicts values: a group's name, or a file with a value or rank per query or "
            "the stored items of another run. Repeatable."
        ),
    ] = (),
    against: Annotated[
        Mapping[str, PathLike] | Sequence[str],
        NamedFiles("With --until: the other model, by the inputs that differ, such as queries_emb=FILE. Repeatable."),
    ] = (),
    average: Annotated[str, Text("With --until: micro, or the group whose mean over labels is asked for.")] = "micro",
    max_queries: Annotated[int | None, Whole("With --until: read no more queries than this.", 1)] = None,
    until_state: Annotated[
        PathLike | None, Output("With --until: the run is saved here, and goes on from here if the file exists.")
    ] = None,
    seed: Seed = 0,
    metrics: Metrics = None,
    confidence: Confidence = 0.95,
    nan: NanPolicy = "raise",
    threads: Threads = None,
    gates: Sequence[str] = (),
    progress: Progress = SILENT,
) -> Evaluation:
    """Rank every positive among its negatives.

    Several files, or a quoted pattern, are shards of one array and are read in blocks. Files: .npy (memory-mapped),
    .npz, .pt, .safetensors, .parquet, .csv.

    Parameters
    ----------
    gates
        Requirements that `until` is to decide.
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
        If files are missing for the form, or do not go together.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import ranking
    >>> np.save("pos.npy", [0.9, 0.4])
    >>> np.save("neg.npy", [[0.7, 0.1], [0.8, 0.3]])
    >>> ranking.evaluate_files(pos_scores="pos.npy", neg_scores="neg.npy")["mrr"].value
    0.75
    """
    given = FAMILY.read(locals())
    asked = given["metrics"]
    files: Opened = {}
    per_item = {
        "groups": {name: _read_labels(files, f"groups.{name}", path) for name, path in dict(given["groups"]).items()}
        or None,
        "cluster": None if given["cluster"] is None else _read(files, "cluster", given["cluster"]),
        "weights": None if given["weights"] is None else _read(files, "weights", given["weights"]),
    }
    form = FAMILY.check(given)
    if given["until"]:
        return _received(_until(form, given, per_item, files, gates, progress), files)
    count = _COUNTS[form]
    if asked is None and form is RECOMMENDER:
        asked = names_of_recommenders()
    keep = given["keep"] if given["per_query"] is None else "items"
    counted_with = given | {"keep": keep, "rows": None}
    if given["engine"] == "dask" and form is not MATRIX:
        state = _from_rows(form, counted_with, per_item, files, progress)
    else:
        state = count(counted_with, per_item, files, progress)
    if given["save_state"] is not None:
        state.save(given["save_state"])
    evaluation = state.evaluate(
        k=given["k"],
        ties=given["ties"],
        metrics=asked,
        confidence=given["confidence"],
        nan=given["nan"],
        catalog=None if state.top is None else _catalog(files, given),
    )
    kept = state.items()
    if given["per_query"] is not None and kept is not None:
        write_table(given["per_query"], _per_query(kept, given["ties"]))
    return _received(evaluation, files)


def _until(
    form: Any,
    given: Mapping[str, Any],
    labels: Mapping[str, Any],
    files: Opened,
    gates: Sequence[str],
    progress: Progress,
) -> Evaluation:
    """Read drawn queries only, as `rank_until` does."""
    within, asked, words = parse_until(given["until"])
    if "gates" in words:
        if not gates:
            raise OptionError("there are no gates to decide", fix="Give gates, or name what to read until.").about(
                "until"
            )
        asked += [text for text in gates if text not in asked]
    source = _drawn(form, given, files)
    other = None
    if given["against"]:
        unknown = [name for name in given["against"] if name not in _MODEL_FILES or given[name] in (None, ())]
        if unknown:
            raise OptionError(
                f"against: {unknown[0]!r:.60} is not an input of the model",
                fix=f"Name given ones of {', '.join(_MODEL_FILES)}.",
            ).about("against")
        opened: Opened = {}
        replaced = {name: (path,) if name in _SHARDED else path for name, path in given["against"].items()}
        other = _drawn(form, {**given, **replaced}, opened)
        files |= {f"against.{name}": opened[name] for name in given["against"] if name in opened}
    state, keep = given["until_state"], given["keep"] if given["per_query"] is None else "items"
    options = {name: given[name] for name in ("ties", "average", "max_queries", "confidence", "seed")}
    evaluation = rank_until(
        source=source,
        against=None if other is None else {"source": other},
        **labels,
        within=within,
        gates=asked,
        assist=[_assist(files, each) for each in given["assist"]],
        keep=keep,
        save=state,
        resume=state if state is not None and Path(state).exists() else None,
        progress=progress,
        **options,
    )
    if given["per_query"] is not None:
        write_table(given["per_query"], _per_query(evaluation.per_item, given["ties"]))
        evaluation.per_item = evaluation.per_item if given["keep"] else None
    return evaluation


# The files of a model, which another model replaces; all others are the truth that both share.
_MODEL_FILES = (
    "pos_scores",
    "neg_scores",
    "scores",
    "queries_emb",
    "entities",
    "relations",
    "user_scores",
    "item_vectors",
    "relation_vectors",
    "model",
)
_SHARDED = ("pos_scores", "neg_scores")


def _assist(files: Opened, given: str) -> Any:
    if not is_file_name(given):
        return given
    if Path(given).name.endswith(".items.npz"):
        kept = Items.load(given)
        files[f"assist.{given}"] = [LoadedArray(Path(given), kept.ids)]
        return kept
    return _read(files, f"assist.{given}", given)


def _drawn(form: Any, given: Mapping[str, Any], files: Opened) -> Source:
    """The queries of a form, to be counted when they are drawn."""
    threads = {"threads": given["threads"]}
    if form is MATRIX:
        pos, neg = (Shards(files.setdefault(name, open_arrays(given[name]))) for name in ("pos_scores", "neg_scores"))
        offsets = None if given["offsets"] is None else _read(files, "offsets", given["offsets"])
        if offsets is None and all(len(file.shape) == 1 for file in neg.files):
            raise OptionError("one pool of negatives is read once for all positives", fix="Leave out until.").about(
                "until"
            )
        mask = Shards(files.setdefault("mask", open_arrays(given["mask"]))) if given["mask"] else None
        if offsets is None:
            _check_shards(pos, neg, masked=mask is not None)
        _require_once(pos.files, neg.files)
        return ScoredQueries(pos, neg, offsets=offsets, mask=mask, **threads)
    if form is FLAT:
        scores = Shards(files.setdefault("scores", [open_array(given["scores"])]))
        queries = _read_labels(files, "queries", given["queries"])
        return FlatQueries(scores, _read(files, "labels", given["labels"]), queries, **threads)
    if form is ALL_ENTITIES:
        embedded: Any = _read(files, "queries_emb", given["queries_emb"])
        if given["relations"]:
            embedded = embedded, _read(files, "relations", given["relations"])
        return EntityQueries(
            embedded,
            _read(files, "entities", given["entities"]),
            _targets(files, given),
            score=given["score"],
            known=_sets(files, given, "known_values", "known_offsets"),
            **threads,
        )
    if form is RECOMMENDER:
        asked = recommended(**_interactions(given, files), score=given["score"])
        return EntityQueries(**asked, minus_inf=given["minus_inf"], **threads)
    if form is TRIPLES:
        model, test, facts = _triples(given, files)
        return TripleSides(model, test, sides=given["sides"], **facts, **threads)
    raise OptionError(f"{form.name} is read at once", fix="Leave out until.").about("until")


def _received(evaluation: Evaluation, files: Opened) -> Evaluation:
    evaluation.inputs = lambda: [entry for name, opened in files.items() for entry in receipt_inputs(name, opened)]
    return evaluation


Count = Callable[[Mapping[str, Any], Mapping[str, Any], Opened, Progress], RankingState]


def _from_matrix(
    given: Mapping[str, Any], labels: Mapping[str, Any], files: Opened, progress: Progress
) -> RankingState:
    pos, neg = (Shards(files.setdefault(name, open_arrays(given[name]))) for name in ("pos_scores", "neg_scores"))
    drawn = None if given["negatives"] is None else Negatives.load(given["negatives"])
    pooled = needs_pool(given["metrics"])
    state = RankingState(pooled=pooled, keep=given["keep"], shard=_shard(pos.files), negatives=drawn)
    policy: dict[str, Any] = {"nan": given["nan"], "threads": given["threads"]}
    if given["engine"] == "dask":
        for name, shards in (("pos_scores", pos), ("neg_scores", neg)):
            require_alike(name, shards)
    if given["offsets"] is not None:
        offsets = _read(files, "offsets", given["offsets"])
        _require_once(pos.files, neg.files)
        if given["engine"] == "dask":
            return ragged_from_tasks(state, {"pos_scores": pos, "neg_scores": neg}, offsets, given, labels, progress)
        return state.update(pos.rows(0, len(pos)), neg.rows(0, len(neg)), offsets=offsets, **policy, **labels)
    if all(len(file.shape) == 1 for file in neg.files):
        if drawn is not None:
            raise OptionError("a pool of negatives was not drawn for each positive", fix="Leave out negatives.")
        return _from_pool(state, pos, neg, given, labels, files, policy, progress)
    _check_shards(pos, neg, masked=drawn is not None or bool(given["mask"]))
    mask = Shards(files.setdefault("mask", open_arrays(given["mask"]))) if given["mask"] else None
    if drawn is not None:
        mask = _mask_of(drawn, pos, neg, files, given["negatives"])
    _require_once(pos.files, neg.files)
    if given["engine"] == "dask":
        return matrix_from_tasks(state, {"pos_scores": pos, "neg_scores": neg}, mask, given, labels, progress)
    for block, scores in progress.over(neg.stream(_BLOCK_BYTES), len(neg)):
        part: dict[str, Any] = {
            "groups": labels["groups"] and {name: values[block] for name, values in labels["groups"].items()},
            "cluster": None if labels["cluster"] is None else labels["cluster"][block],
            "weights": None if labels["weights"] is None else labels["weights"][block],
            "mask": None if mask is None else mask.rows(block.start, block.stop),
        }
        try:
            state.update(pos.rows(block.start, block.stop), scores, **policy, **part)
        except InputError as error:
            first = f"{error.where}, counted from row {block.start}" if block.start and error.where else error.where
            raise InputError(error.what, where=first, fix=error.fix) from None
    if not len(neg):
        state.update(pos.rows(0, 0), neg.files[0].rows(0, 0))
    return state


def _mask_of(drawn: Negatives, pos: Shards, neg: Shards, files: Opened, path: str) -> Shards | None:
    width = neg.files[0].shape[1]
    if (len(pos), width) != drawn.nodes.shape:
        raise InputError(
            f"has negatives of the shape {drawn.nodes.shape}, and the scores have the shape {(len(pos), width)}",
            where=path,
            fix="Score every negative of every edge, in their order.",
        )
    files["negatives"] = [open_array(f"{path}:nodes")]
    return Shards([LoadedArray(Path(path), drawn.mask)]) if drawn.short else None


def _from_pool(
    state: RankingState,
    pos: Shards,
    neg: Shards,
    given: Mapping[str, Any],
    labels: Mapping[str, Any],
    files: Opened,
    policy: Mapping[str, Any],
    progress: Progress,
) -> RankingState:
    """All positives against one pool, which is read at once."""
    mask = _read(files, "mask", given["mask"][0]) if given["mask"] else None
    for file in pos.files:
        if len(file.shape) != 1:
            raise InputError(f"expected shape (n,), found {file.shape}", where=f"pos_scores ({file.path.name})")
    _require_once(pos.files)
    _require_once(neg.files)
    if given["engine"] == "dask":
        if mask is not None or given["keep"] or any(value is not None for value in labels.values()):
            raise OptionError(
                "one pool of negatives with groups, cluster or kept items is counted in one process",
                fix="Leave out engine, or these.",
            ).about("engine")
        return pool_from_tasks(state, {"pos_scores": pos, "neg_scores": neg}, given, progress)
    return state.update(pos.rows(0, len(pos)), neg.rows(0, len(neg)), mask=mask, **policy, **labels)


def _from_flat(given: Mapping[str, Any], labels: Mapping[str, Any], files: Opened, progress: Progress) -> RankingState:
    rows = given["rows"]
    arrays: dict[str, Any] = {name: _read(files, name, given[name], rows) for name in ("scores", "labels")}
    queries = _read_labels(files, "queries", given["queries"])[rows or slice(None)]
    top = None
    if given["items"] is not None:
        arrays["items"] = _read(files, "items", given["items"], rows)
        top = last_place(given["k"], given["metrics"])
    state = RankingState(pooled=needs_pool(given["metrics"]), keep=given["keep"], top=top)
    return state.update(**arrays, queries=queries, nan=given["nan"], threads=given["threads"], **labels)


def _catalog(files: Opened, given: Mapping[str, Any]) -> Catalog:
    arrays = {
        name: None if (path := given[f"item_{name}"]) is None else _read(files, f"item_{name}", path)
        for name in ("popularity", "embeddings")
    }
    path = given["item_categories"]
    categories = None if path is None else _read_labels(files, "item_categories", path)
    return Catalog(given["item_count"], categories=categories, **arrays)


def _from_embeddings(
    given: Mapping[str, Any], labels: Mapping[str, Any], files: Opened, progress: Progress
) -> RankingState:
    known = _sets(files, given, "known_values", "known_offsets")
    queries: Any = _read(files, "queries_emb", given["queries_emb"], given["rows"])
    if given["relations"]:
        queries = queries, _read(files, "relations", given["relations"], given["rows"])
    entities = _read(files, "entities", given["entities"])
    return rank_all(
        queries,
        entities,
        _targets(files, given),
        score=given["score"],
        known=known,
        keep=given["keep"],
        threads=given["threads"],
        **labels,
    )


def _from_topk(given: Mapping[str, Any], labels: Mapping[str, Any], files: Opened, progress: Progress) -> RankingState:
    return rank_topk(
        _read_whole(files, "topk", given["topk"], given["rows"]),
        _targets(files, given),
        exclude=_sets(files, given, "exclude_values", "exclude_offsets"),
        **{name: given[name] for name in ("skip_excluded", "n_items", "keep")},
        **labels,
    )


def _from_recommender(
    given: Mapping[str, Any], labels: Mapping[str, Any], files: Opened, progress: Progress
) -> RankingState:
    options = {name: given[name] for name in ("score", "minus_inf", "keep", "threads")}
    return rank_recommended(**_interactions(given, files), **options, **labels)


def _interactions(given: Mapping[str, Any], files: Opened) -> dict[str, Any]:
    """The scores of a recommender, and the items of testing and training."""
    rows = given.get("rows")
    scores = _read(files, "user_scores", given["user_scores"], rows)
    items = None if given["item_vectors"] is None else _read(files, "item_vectors", given["item_vectors"])
    pairs = {}
    for name in ("test_items", "train_items"):
        own = None if given[name] is None else _read_whole(files, name, given[name])
        if own is not None:
            require_shape(own, (None, 2), name, "Pairs (n, 2) of user and item.")
        pairs[name] = own if own is None or rows is None else _of_users(own, rows)
    return {"scores": scores, "items": items, "test": pairs["test_items"], "train": pairs["train_items"]}


def _of_users(pairs: AnyArray, rows: slice) -> AnyArray:
    """The interactions of some users, numbered from the first of them."""
    own: AnyArray = pairs[(pairs[:, 0] >= rows.start) & (pairs[:, 0] < rows.stop)] - [rows.start, 0]
    return own


def _from_triples(
    given: Mapping[str, Any], labels: Mapping[str, Any], files: Opened, progress: Progress
) -> RankingState:
    model, test, facts = _triples(given, files)
    options = {name: given[name] for name in ("sides", "keep", "threads")}
    rows = given["rows"]
    if rows is None:
        return rank_triples(model, test, **facts, **options, **labels)
    return rank_some_triples(model, test, rows, **facts, **options, **labels)


def _triples(given: Mapping[str, Any], files: Opened) -> tuple[Any, AnyArray, dict[str, Any]]:
    """The model, the test triples, and what is known of them."""
    test = _read_whole(files, "triples", given["triples"])
    known = None
    if given["known_triples"]:
        files["known_triples"] = open_arrays(given["known_triples"])
        known = [_as_whole(file.rows(0, len(file)), file.path) for file in files["known_triples"]]
    if given["model"] is not None:
        model, score = made(given["model"]), None
    else:
        model = tuple(_read(files, name, given[name]) for name in ("entities", "relation_vectors"))
        score = given["score"]
    return model, test, {"score": score, "known": known, "entities": given["n_entities"]}


def _targets(files: Opened, given: Mapping[str, Any]) -> Any:
    """One number per query, or with offsets a set."""
    if given["target_offsets"] is None:
        return _read_whole(files, "targets", given["targets"], given.get("rows"))
    return _sets(files, given, "targets", "target_offsets")


def _sets(files: Opened, given: Mapping[str, Any], values: str, offsets: str) -> tuple[AnyArray, AnyArray] | None:
    if given[values] is None:
        return None
    numbers, ends, rows = _read_whole(files, values, given[values]), given[offsets], given.get("rows")
    ends = _read_whole(files, offsets, ends)
    if rows is None:
        return numbers, ends
    own = ends[rows.start : rows.stop + 1]
    return numbers[int(own[0]) : int(own[-1])], own - own[0]


_COUNTS: dict[Any, Count] = {
    MATRIX: _from_matrix,
    FLAT: _from_flat,
    ALL_ENTITIES: _from_embeddings,
    TOPK: _from_topk,
    RECOMMENDER: _from_recommender,
    TRIPLES: _from_triples,
}


# ------------------------------------------------------------- as tasks


def _from_rows(
    form: Any, given: Mapping[str, Any], labels: Mapping[str, Any], files: Opened, progress: Progress
) -> RankingState:
    """Queries of a form as tasks on a cluster. What all of them need is opened and looked at before they are sent."""
    _COUNTS[form]({**given, "rows": slice(0, 0)}, dict.fromkeys(labels), files, SILENT)
    parts = _PARTS[form](given, files)
    per_query = {name: value for name, value in labels.items() if value is not None}
    if given["keep"] is not None and form in (ALL_ENTITIES, TOPK, RECOMMENDER):
        per_query["ids"] = np.arange(parts.queries)
    sent = {name: value for name, value in given.items() if name in FAMILY.fields}
    sent = located(FAMILY.fields, sent, Path.cwd()) | {"threads": 1}
    parts.require_labels(per_query)
    # The heads of all triples are counted before the tails.
    sides = [{"sides": (side,)} for side in given["sides"]] if form is TRIPLES else [{}]
    tasks = [
        (form.name, sent | side | {"rows": rows}, parts.labels(per_query, place))
        for side in sides
        for place, rows in enumerate(parts.rows)
    ]
    return count_rows(_rows_counted, tasks, progress)


def _rows_counted(task: tuple[str, Mapping[str, Any], Mapping[str, Any]]) -> bytes:
    """The saved state of some queries, read where the worker is."""
    name, given, labels = task
    count = next(count for form, count in _COUNTS.items() if form.name == name)
    return saved(lambda: count(given, labels, {}, SILENT), given["rows"])


def _parts_of_embeddings(given: Mapping[str, Any], files: Opened) -> RowParts:
    return RowParts.of(len(files["queries_emb"][0]), _SCORED // max(1, len(files["entities"][0])))


def _parts_of_topk(given: Mapping[str, Any], files: Opened) -> RowParts:
    (file,) = files["topk"]
    return RowParts.of(len(file), TASK_BYTES // max(1, math.prod(file.shape[1:]) * file.dtype.itemsize))


def _parts_of_users(given: Mapping[str, Any], files: Opened) -> RowParts:
    asked = recommended(**_interactions({**given, "rows": None}, {}), score=given["score"])
    return RowParts.of(len(files["user_scores"][0]), _SCORED // max(1, len(asked["entities"])))


def _parts_of_triples(given: Mapping[str, Any], files: Opened) -> RowParts:
    (file,) = files["triples"]
    entities = files["entities"][0].shape[0] if "entities" in files else given["n_entities"] or len(file)
    return RowParts.of(len(file), _SCORED // max(1, entities))


def _parts_of_flat(given: Mapping[str, Any], files: Opened) -> RowParts:
    (scores,) = files["scores"]
    return RowParts.of_runs(_read_labels({}, "queries", given["queries"]), TASK_BYTES // scores.dtype.itemsize)


_PARTS: dict[Any, Callable[[Mapping[str, Any], Opened], RowParts]] = {
    FLAT: _parts_of_flat,
    ALL_ENTITIES: _parts_of_embeddings,
    TOPK: _parts_of_topk,
    RECOMMENDER: _parts_of_users,
    TRIPLES: _parts_of_triples,
}


def _shard(files: Sequence[ArrayFile]) -> str:
    """The name of what is counted: states of the same files do not merge."""
    return ", ".join(f"{os.path.realpath(file.path)}{f':{file.member}' if file.member else ''}" for file in files)


def _require_once(*sides: Sequence[ArrayFile]) -> None:
    """Refuse a file, or a file of positives with that of its negatives, that is given twice."""
    known = set()
    for part in zip(*sides, strict=False):
        names = tuple((os.path.realpath(str(file.path)), file.member) for file in part)
        if names in known:
            raise InputError(
                "is given twice, and its queries would count twice",
                where=str(part[0].path),
                fix="Name every shard once.",
            )
        known.add(names)


def _check_shards(pos: Shards, neg: Shards, *, masked: bool) -> None:
    for files, width, name in ((pos.files, 1, "pos_scores"), (neg.files, 2, "neg_scores")):
        for file in files:
            if len(file.shape) != width:
                wanted = "(n,)" if width == 1 else "(n, k)"
                raise InputError(f"expected shape {wanted}, found {file.shape}", where=f"{name} ({file.path.name})")
    first = neg.files[0]
    for file in neg.files[1:]:
        # A mask says which of them are padding. Without one, a shard with fewer negatives has better ranks.
        if not masked and file.shape[1] != first.shape[1]:
            raise InputError(
                f"has {file.shape[1]} negatives per query, and {first.path.name} has {first.shape[1]}",
                where=f"neg_scores ({file.path.name})",
                fix="Write all shards alike, with a mask if some queries have fewer negatives.",
            )
    if len(pos.files) == len(neg.files):
        for one, other in zip(pos.files, neg.files, strict=True):
            if len(one) != len(other):
                raise InputError(
                    f"{one.path.name} has {len(one)} rows, {other.path.name} has {len(other)}",
                    fix="Shards of positives and negatives go together in the order of their names.",
                )
    elif len(pos) != len(neg):
        raise InputError(
            f"{len(pos)} positives in {len(pos.files)} files, {len(neg)} rows of negatives in {len(neg.files)}",
            fix="Every positive has one row of negatives.",
        )


def _read(files: Opened, name: str, path: str, rows: slice | None = None) -> AnyArray:
    file = open_array(path)
    files[name] = [file]
    return file.rows(0, len(file)) if rows is None else file.rows(rows.start, rows.stop)


def _read_whole(files: Opened, name: str, path: str, rows: slice | None = None) -> AnyArray:
    """Whole numbers; a text file says no type, and its numbers come as floats."""
    return _as_whole(_read(files, name, path, rows), path)


def _as_whole(array: AnyArray, path: str | Path) -> AnyArray:
    is_text = Path(path).suffix.lower() == ".csv" and array.dtype.kind == "f"
    whole = is_text and np.isfinite(array).all() and np.array_equal(array, np.trunc(array))
    return array.astype(np.int64) if whole else array


def _read_labels(files: Opened, name: str, path: str) -> AnyArray:
    labels = read_labels(path)
    files[name] = [LoadedArray(Path(path), labels)]
    return labels


def _per_query(items: Items | ListItems, ties: str) -> dict[str, AnyArray]:
    if isinstance(items, ListItems):
        optional = {name: values for name, values in items.columns().items() if name in ("cluster", "weight")}
        return {
            "reciprocal_rank": items.values("mrr_first", ties=ties),
            "ids": items.ids,
            "relevant": items.lists.relevant,
            "candidates": items.lists.candidates,
            **optional,
        }
    return {"rank": rank(items.greater, items.equal, ties), **items.columns()}
