"""`graphgauge ranking …`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from graphgauge.cli.common import Inputs, Run, family_options, progress
from graphgauge.cli.shards import content_names, refuse_repeated
from graphgauge.cli.types import INTEGERS, OUTPUT_FILE
from graphgauge.core.arrays import AnyArray
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.result import Evaluation
from graphgauge.io.arrays import ArrayFile, LoadedArray, Shards, open_array, open_arrays, read_labels
from graphgauge.io.hashing import receipt_inputs
from graphgauge.io.tables import write_table
from graphgauge.kernels.jit import expect
from graphgauge.ranking import RankingState, rank_all
from graphgauge.ranking.all_entities import SCORES
from graphgauge.ranking.evaluate import needs_pool
from graphgauge.ranking.forms import ALL_ENTITIES, FLAT, MATRIX, Form, chosen_form, given_names
from graphgauge.ranking.items import Items
from graphgauge.ranking.ties import TIES, rank

# Read at once from a shard.
_BLOCK_BYTES = 1 << 25


def form_of(parameters: Mapping[str, Any]) -> Form:
    """The form of input that the command's parameters select; errors are raised before anything is read."""
    given = given_names(parameters)
    if parameters.get("nan") == "raise":  # the behaviour of every form
        given.remove("nan")
    form = chosen_form(given, shown=_flag)
    if form is ALL_ENTITIES and ("relations" in given) != (parameters["score"] == "distmult"):
        raise OptionError("--relations and --score distmult go together", fix="Give both, or neither.")
    return form


class RankingCommand(click.Command):
    """Refuses options of another form while parsing, so that a study fails before it runs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            form_of(ctx.params)
        return rest


@click.command(name="ranking", cls=RankingCommand)
@click.option("--pos-scores", multiple=True, help="Scores of the positives (n,): a file or quoted pattern. Repeatable.")
@click.option("--neg-scores", multiple=True, help="Scores of their negatives (n, k), likewise.")
@click.option("--offsets", help="With flat negatives: where each query's begin, n + 1 integers.")
@click.option("--mask", multiple=True, help="Booleans (n, k): which negatives are valid.")
@click.option("--scores", help="Flat form: one score per candidate.")
@click.option("--labels", help="Flat form: 1 for positives, 0 for negatives.")
@click.option("--queries", help="Flat form: the query of each candidate.")
@click.option("--queries-emb", help="Rank among all entities: embeddings of the queries (q, d).")
@click.option("--entities", help="Embeddings of all entities (m, d).")
@click.option("--targets", help="The right entity of each query, by number.")
@click.option("--known-values", help="Other right answers, which are left out: entity numbers of all queries.")
@click.option("--known-offsets", help="Where each query's known answers begin, q + 1 integers.")
@click.option("--relations", help="With --score distmult: the relation embedding of each query (q, d).")
@click.option("--score", type=click.Choice(SCORES), show_default=SCORES[0], help="How embeddings are scored.")
@click.option("--groups", multiple=True, metavar="NAME=FILE", help="Labels per query to break down by. Repeatable.")
@click.option("--cluster", help="Integers per query; queries of one cluster are not independent.")
@click.option("--k", type=INTEGERS, default="1,3,10", show_default=True, help="Cut-offs, separated by commas.")
@click.option("--ties", type=click.Choice(TIES), default="realistic", show_default=True, help="How equal scores rank.")
@click.option("--per-query", type=OUTPUT_FILE, help="Write each query's rank (.parquet, .csv, .npz).")
@click.option("--keep", type=click.Choice(["items"]), help="Store each query's counts next to the result.")
@click.option("--save-state", type=OUTPUT_FILE, help="Write the counts, for `graphgauge merge`.")
@family_options
def command(
    run: Run,
    k: tuple[int, ...],
    ties: str,
    per_query: str | None,
    keep: str | None,
    save_state: str | None,
    groups: tuple[str, ...],
    cluster: str | None,
    **sources: Any,
) -> tuple[Evaluation, Inputs]:
    """Rank every positive among its negatives.

    Several files, or a quoted pattern, are shards of one array and are read in blocks. Files: .npy (memory-mapped),
    .npz, .pt, .safetensors, .parquet, .csv.
    """
    count = _COUNTS[form_of({**sources, "keep": keep, "per_query": per_query, "nan": run.nan})]
    files: dict[str, list[ArrayFile]] = {}
    labels = {
        "groups": {name: _read_labels(files, f"groups.{name}", path) for name, path in map(_named, groups)} or None,
        "cluster": None if cluster is None else _read(files, "cluster", cluster),
    }
    state = count(run, sources, labels, "items" if per_query else keep, files)
    if save_state is not None:
        state.name_parts(content_names(files))
        state.save(save_state)
    evaluation = state.evaluate(k=k, ties=ties, metrics=run.metric_keys, confidence=run.confidence, nan=run.nan)
    items = state.items()
    if per_query is not None and items is not None:
        write_table(per_query, _per_query(items, ties))
    return evaluation, lambda: [entry for name, opened in files.items() for entry in receipt_inputs(name, opened)]


Count = Callable[[Run, Mapping[str, Any], Mapping[str, Any], str | None, dict[str, list[ArrayFile]]], RankingState]


def _from_matrix(
    run: Run, sources: Mapping[str, Any], labels: Mapping[str, Any], keep: str | None, files: dict[str, list[ArrayFile]]
) -> RankingState:
    pos, neg = (Shards(files.setdefault(name, open_arrays(sources[name]))) for name in ("pos_scores", "neg_scores"))
    state = RankingState(pooled=needs_pool(run.metric_keys), keep=keep)
    if sources["offsets"] is not None:
        offsets = _read(files, "offsets", sources["offsets"])
        refuse_repeated(files)
        state.update(
            pos.rows(0, len(pos)), neg.rows(0, len(neg)), offsets=offsets, nan=run.nan, threads=run.threads, **labels
        )
        return state
    _check_shards(pos, neg)
    expect(sum(math.prod(file.shape) for file in neg.files))
    mask = Shards(files.setdefault("mask", open_arrays(sources["mask"]))) if sources["mask"] else None
    refuse_repeated(files)
    for block in progress(neg.blocks(_BLOCK_BYTES), len(neg), run):
        part: dict[str, Any] = {
            "groups": labels["groups"] and {name: values[block] for name, values in labels["groups"].items()},
            "cluster": None if labels["cluster"] is None else labels["cluster"][block],
            "mask": None if mask is None else mask.rows(block.start, block.stop),
        }
        scores = pos.rows(block.start, block.stop), neg.rows(block.start, block.stop)
        try:
            state.update(*scores, nan=run.nan, threads=run.threads, **part)
        except InputError as error:
            first = f"{error.where}, counted from row {block.start}" if block.start and error.where else error.where
            raise InputError(error.what, where=first, fix=error.fix) from None
    if not len(neg):
        state.update(pos.rows(0, 0), neg.files[0].rows(0, 0))
    return state


def _from_flat(
    run: Run, sources: Mapping[str, Any], labels: Mapping[str, Any], keep: str | None, files: dict[str, list[ArrayFile]]
) -> RankingState:
    arrays: dict[str, Any] = {name: _read(files, name, sources[name]) for name in ("scores", "labels")}
    queries = _read_labels(files, "queries", sources["queries"])
    return RankingState(keep=keep).update(**arrays, queries=queries, nan=run.nan, **labels)


def _from_embeddings(
    run: Run, sources: Mapping[str, Any], labels: Mapping[str, Any], keep: str | None, files: dict[str, list[ArrayFile]]
) -> RankingState:
    known = None
    if sources["known_values"]:
        known = (
            _read(files, "known_values", sources["known_values"]),
            _read(files, "known_offsets", sources["known_offsets"]),
        )
    queries: Any = _read(files, "queries_emb", sources["queries_emb"])
    if sources["relations"]:
        queries = queries, _read(files, "relations", sources["relations"])
    entities, targets = (_read(files, name, sources[name]) for name in ("entities", "targets"))
    return rank_all(
        queries,
        entities,
        targets,
        score=sources["score"] or SCORES[0],
        known=known,
        keep=keep,
        threads=run.threads,
        **labels,
    )


_COUNTS: dict[Form, Count] = {MATRIX: _from_matrix, FLAT: _from_flat, ALL_ENTITIES: _from_embeddings}


def _check_shards(pos: Shards, neg: Shards) -> None:
    for files, width, name in ((pos.files, 1, "pos_scores"), (neg.files, 2, "neg_scores")):
        for file in files:
            if len(file.shape) != width:
                wanted = "(n,)" if width == 1 else "(n, k)"
                raise InputError(f"expected shape {wanted}, found {file.shape}", where=f"{name} ({file.path.name})")
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


def _read(files: dict[str, list[ArrayFile]], name: str, path: str) -> AnyArray:
    file = open_array(path)
    files[name] = [file]
    return file.rows(0, len(file))


def _read_labels(files: dict[str, list[ArrayFile]], name: str, path: str) -> AnyArray:
    labels = read_labels(path)
    files[name] = [LoadedArray(Path(path), labels)]
    return labels


def _named(text: str) -> tuple[str, str]:
    name, separator, path = text.partition("=")
    if not separator or not name or not path:
        raise OptionError(
            f"--groups {text!r} cannot be read", fix="Write NAME=FILE, for example relation=relation.npy."
        )
    return name, path


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _per_query(items: Items, ties: str) -> dict[str, AnyArray]:
    return {"rank": rank(items.greater, items.equal, ties), **items.columns()}
