"""The ranking family."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from graphgauge.core.errors import GraphgaugeError, OptionError
from graphgauge.old.core.family import BUILT_IN, Family, Split, TruthInputs
from graphgauge.old.core.forms import Form, Shown
from graphgauge.old.core.gates import Gate


def _of_pool(values: Mapping[str, Any]) -> Sequence[str] | None:
    """The metrics of one pool of negatives, if the files have this layout."""
    from graphgauge.old.io.arrays import open_arrays
    from graphgauge.old.ranking.evaluate import pool_names

    if values.get("offsets") is not None or values.get("until"):
        return _of_until(values)
    try:
        files = open_arrays(values["neg_scores"])
    except GraphgaugeError:  # evaluating them says what is wrong
        return None
    return pool_names() if all(len(file.shape) == 1 for file in files) else None


def _of_until(values: Mapping[str, Any]) -> Sequence[str] | None:
    """The metrics that an adaptive run follows, if there is one; None if gates name them."""
    if not values.get("until"):
        return None
    within, gates, words = parse_until(values["until"])
    keys = [*within, *(Gate.parse(text).key for text in gates)]
    if "difference" in words:
        keys.append("mrr")
    return None if "gates" in words or not keys else [re.sub(r"_difference$|_macro_.*$", "", key) for key in keys]


def _of_topk(values: Mapping[str, Any]) -> Sequence[str]:
    from graphgauge.old.ranking.cut_lists import names_of_lists

    return names_of_lists()


def _of_recommenders(values: Mapping[str, Any]) -> Sequence[str] | None:
    if values.get("until"):
        return _of_until(values)
    from graphgauge.old.ranking.recommend import names_of_recommenders

    return names_of_recommenders()


_WIDTH = re.compile(r"\s*(?P<key>\S+)\s*(?:±|\+/-|\+-)\s*(?P<width>\S+)\s*")
_UNTIL = "Write 'mrr ± 0.01', 'mrr >= 0.30', 'gates', or, with another model to compare with, 'difference'."


def parse_until(texts: Sequence[str]) -> tuple[dict[str, float], list[str], set[str]]:
    """Widths, gates, and the words `gates` and `difference`, from texts such as `mrr ± 0.01` and `mrr >= 0.3`."""
    within: dict[str, float] = {}
    gates: list[str] = []
    words: set[str] = set()
    for text in texts:
        width = _WIDTH.fullmatch(text)
        if text.strip() in ("gates", "difference"):
            words.add(text.strip())
        elif width is not None:
            if width["key"] in within:
                raise OptionError(f"two widths for {width['key']}", fix="Give one.").about("until")
            within[width["key"]] = _width(text, width["width"])
        else:
            try:
                gates.append(Gate.parse(text).text)
            except OptionError:
                raise OptionError(f"{text!r:.60} cannot be read", fix=_UNTIL).about("until") from None
    return within, gates, words


def _width(text: str, given: str) -> float:
    try:
        width = float(given)
    except ValueError:
        width = -1.0
    if not 0 < width < 1:
        raise OptionError(f"{text!r:.60} has no width between 0 and 1", fix=_UNTIL).about("until")
    return width


MATRIX = Form(
    "the form with positives and negatives",
    needs=("pos_scores", "neg_scores"),
    takes=("offsets", "mask", "negatives", "ids", "keep", "per_query", "nan"),
    apart=(("offsets", "mask"), ("offsets", "negatives"), ("mask", "negatives")),
    samples=("ranks", "pooled"),
    defaults=_of_pool,
)
_CATALOG = ("item_count", "item_popularity", "item_categories", "item_embeddings")
FLAT = Form(
    "the flat form",
    needs=("scores", "labels", "queries"),
    takes=("items", *_CATALOG, "keep", "per_query", "nan"),
    beside={"items": _CATALOG, **dict.fromkeys(_CATALOG, ("items",))},
    samples=("ranks", "lists", "pooled", "recommended", "popularity", "categories", "embeddings"),
    defaults=_of_until,
)
# The same fields as a matrix; a pool is recognised by its shape, (m,).
POOL = Form(
    "the form with one pool of negatives",
    needs=("pos_scores", "neg_scores"),
    takes=("ids", "keep", "per_query", "nan"),
    samples=("ranks", "pooled"),
)
ALL_ENTITIES = Form(
    "the form with embeddings",
    needs=("queries_emb", "entities", "targets"),
    takes=("known_values", "known_offsets", "target_offsets", "relations", "score", "ids", "keep", "per_query"),
    beside={"known_values": ("known_offsets",), "known_offsets": ("known_values",)},
    defaults=_of_until,
)
TOPK = Form(
    "the form with lists of the first items",
    needs=("topk", "targets"),
    takes=("target_offsets", "exclude_values", "exclude_offsets", "skip_excluded", "n_items", "keep"),
    beside={"exclude_values": ("exclude_offsets",), "exclude_offsets": ("exclude_values",)},
    defaults=_of_topk,
)
RECOMMENDER = Form(
    "the form of a recommender",
    needs=("user_scores", "test_items"),
    takes=("item_vectors", "train_items", "minus_inf", "score", "ids", "keep", "per_query"),
    beside={"score": ("item_vectors",)},
    samples=("ranks", "lists"),
    defaults=_of_recommenders,
)
TRIPLES = Form(
    "the form with triples",
    needs=("triples",),
    takes=(
        "model",
        "n_entities",
        "entities",
        "relation_vectors",
        "score",
        "known_triples",
        "sides",
        "keep",
        "per_query",
    ),
    beside={
        "entities": ("relation_vectors",),
        "relation_vectors": ("entities",),
        "n_entities": ("model",),
        "score": ("entities",),
        "triples": ("model", "entities"),
    },
    apart=(("model", "entities"),),
    samples=("ranks",),
    defaults=_of_until,
    axes=("side", "relation"),
)


# Options of adaptive runs, with their defaults, and those that go with reading everything only.
ADAPTIVE = {
    "assist": (),
    "average": "micro",
    "max_queries": None,
    "until_state": None,
    "against": (),
    "seed": 0,
}
_CUTOFFS = (1, 3, 10)
_NOT_ADAPTIVE = ("metrics", "save_state", "topk", "items", "negatives")


def _refuse_until(values: Mapping[str, Any], shown: Shown) -> None:
    if not values.get("until"):
        for name, default in ADAPTIVE.items():
            if values.get(name, default) not in (default, None, {}):
                raise OptionError(f"{shown(name)} needs {shown('until')}", fix="Give both, or neither.").about(name)
        return
    _, _, words = parse_until(values["until"])
    for name in _NOT_ADAPTIVE:
        if values.get(name):
            fix = "It names the metrics itself." if name == "metrics" else "Leave one of them out."
            raise OptionError(f"{shown('until')} does not take {shown(name)}", fix=fix).about(name)
    if tuple(values.get("k") or _CUTOFFS) != _CUTOFFS:
        raise OptionError(f"{shown('until')} does not take {shown('k')}", fix="Name the metric, such as hits@5.").about(
            "k"
        )
    if values.get("nan") == "omit":
        raise OptionError(f"{shown('until')} does not take {shown('nan')} omit", fix="Leave one of them out.").about(
            "nan"
        )
    if "difference" in words and not values.get("against"):
        raise OptionError(f"{shown('until')} difference needs {shown('against')}", fix="Name the other model's files.")


def _refuse(values: Mapping[str, Any], shown: Shown) -> None:
    _refuse_until(values, shown)
    if values["triples"] is not None:
        if values["entities"] is not None and values["score"] == "dot":
            raise OptionError(f"{shown('score')} not given", fix="Triples are scored by distmult, l1 or l2.").about(
                "triples"
            )
    elif (values["relations"] is not None) != (values["score"] == "distmult"):
        raise OptionError(
            f"{shown('relations')} and {shown('score')} distmult go together", fix="Give both, or neither."
        )
    if values["topk"] is not None and values.get("ties") not in (None, "realistic"):
        raise OptionError(f"{TOPK.name} does not take {shown('ties')}", fix="Leave it out.").about("ties")


# What a batch of rows has a part of.
_ALONG = (
    *("pos_scores", "neg_scores", "mask", "ids"),
    *("scores", "labels", "queries", "items"),
    *("groups", "cluster", "weights"),
)

# What weighs, groups or describes queries and items in every form.
_COUNTED = ("groups", "cluster", "weights", "item_popularity", "item_categories", "item_embeddings")

_SPLITS = (
    Split("queries that are drawn (until)", ("until",), why="the next ones depend on what was found"),
    Split("positives with their flat negatives", ("pos_scores", "offsets"), into="queries"),
    Split("positives with a matrix or one pool of negatives", ("pos_scores",), into="rows"),
    Split("the flat form", ("scores",), into="queries, by which the files are sorted"),
    Split("embeddings of queries and all entities", ("queries_emb",), into="queries"),
    Split("lists of the first items", ("topk",), into="queries"),
    Split("a recommender", ("user_scores",), into="users"),
    Split("triples", ("triples",), into="triples"),
)

FAMILY = Family(
    "ranking",
    line=BUILT_IN["ranking"],
    question="How far up are the right answers?",
    headlines=("mrr", "hits@10", "adjusted_mrr"),
    package="graphgauge.old.ranking",
    forms=(MATRIX, POOL, FLAT, ALL_ENTITIES, TOPK, RECOMMENDER, TRIPLES),
    truths={
        "pos_scores": TruthInputs(("mask",), ("offsets", "negatives", *_COUNTED)),
        "labels": TruthInputs(("labels", "queries"), ("items", *_COUNTED)),
        "targets": TruthInputs(
            ("targets", "known_values", "known_offsets"),
            ("target_offsets", "exclude_values", "exclude_offsets", *_COUNTED),
        ),
        "test_items": TruthInputs(("test_items", "train_items"), _COUNTED),
        "triples": TruthInputs(("triples", "known_triples"), _COUNTED),
    },
    state="graphgauge.old.ranking.state:RankingState",
    along=_ALONG,
    example={
        "pos_scores": "ranking/{method}/{seed}/pos.npy",
        "neg_scores": "ranking/{method}/{seed}/neg.npy",
    },
    refuse=_refuse,
    references=("random scorer", "constant scorer"),
    splits=_SPLITS,
)
