"""Negatives of edges in files: `graphgauge negatives …`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from graphgauge.old.core.fields import (
    Choice,
    File,
    Files,
    Flag,
    Number,
    Output,
    PathLike,
    Seed,
    Whole,
    fields_of,
    read_all,
)
from graphgauge.old.io.arrays import read_array, read_labels
from graphgauge.old.io.materials import read_shards
from graphgauge.old.ranking.heart import COMBINED, COMMON
from graphgauge.old.ranking.negative_sampling import AMONG, SAMPLERS, SIDES, Negatives, negatives


def negatives_of_files(
    *,
    edges: Annotated[PathLike, File("The edges to rank: pairs (n, 2), or triples (n, 3) of head, relation, tail.")],
    output: Annotated[PathLike, Output("The file to write (.npz).")],
    sampler: Annotated[str, Choice("Which negatives are drawn.", SAMPLERS)] = SAMPLERS[0],
    k: Annotated[int, Whole("Negatives per edge.", 1)] = 100,
    known: Annotated[
        PathLike | Sequence[PathLike], Files("Other true edges, which are left out, such as those of training.")
    ] = (),
    history: Annotated[
        PathLike | Sequence[PathLike], Files("The edges before those to rank: for all samplers except uniform.")
    ] = (),
    times: Annotated[PathLike | None, File("Events: the time of each edge; it is known to be true only then.")] = None,
    nodes: Annotated[int | None, Whole("Number of nodes (default: the largest that occurs, plus one).", 1)] = None,
    side: Annotated[str, Choice("The end that is replaced.", SIDES)] = SIDES[0],
    among: Annotated[
        str, Choice("Candidates: all nodes, those seen at this end of the relation, or of the same type.", AMONG)
    ] = AMONG[0],
    types: Annotated[PathLike | None, File("With --among type: the type of each node.")] = None,
    undirected: Annotated[bool, Flag("A known edge excludes its reverse, too.")] = False,
    loops: Annotated[bool, Flag("An edge from a node to itself can be a negative.")] = False,
    ratio: Annotated[float, Number("Largest share of historical or inductive negatives.", 0, 1)] = 0.5,
    common: Annotated[str, Choice("heart: the weight of common neighbours.", COMMON)] = COMMON[0],
    combine: Annotated[str, Choice("heart: a node's best rank, or the mean.", COMBINED)] = COMBINED[0],
    seed: Seed = 0,
) -> Negatives:
    """Draw negatives for every edge, without known positives.

    Score the nodes in the file with every method, then pass it to `graphgauge ranking --negatives`: results name the
    negatives, and methods with different ones are not compared.
    """
    given = read_all(fields_of(negatives_of_files), locals())
    place, directed = given.pop("output"), not given.pop("undirected")
    for name in ("edges", "times"):
        given[name] = None if given[name] is None else read_array(given[name])
    given["types"] = None if given["types"] is None else read_labels(given["types"])
    given["known"] = [read_shards([path]) for path in given["known"]]
    given["history"] = read_shards(given["history"]) if given["history"] else None
    found = negatives(given.pop("edges"), given.pop("sampler"), **given, directed=directed)
    found.save(place)
    return found
