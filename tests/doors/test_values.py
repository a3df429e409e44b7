"""Every option gives the same bits, or the same refusal, through every door.

The options are drawn from the declarations of the families: values that a kind takes, and now and then one that it
does not. The doors are the library on arrays, `evaluate_files`, the command, a study, merged shards and Dask.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.doors.examples import arguments, example, study_text
from tests.explanation.brute import Weighted, random_explanations
from tests.old.evolution.conftest import block_graph
from tests.old.evolution.test_log import stored

from graphgauge import explanation, generation
from graphgauge.core.errors import GraphgaugeError
from graphgauge.old import evolution, ranking
from graphgauge.old.cli.family import family_command
from graphgauge.old.core.family import BUILT_IN, Family, family
from graphgauge.old.core.fields import (
    Choice,
    Factory,
    File,
    Files,
    Flag,
    Kind,
    NamedFiles,
    Number,
    OneOrTwo,
    Output,
    Several,
    Text,
    Whole,
)
from graphgauge.old.core.forms import chosen_form
from graphgauge.old.core.metric import metrics
from graphgauge.old.core.result import Evaluation
from graphgauge.old.core.schema import evaluation_to_dict, read_content
from graphgauge.old.engines import dask as dask_engine
from graphgauge.old.engines.merge import merge_files
from graphgauge.study.parse import read_study
from graphgauge.study.pool import Task, perform

RNG = np.random.default_rng(0)
N = 24


class Data:
    """One form of input: its files, and the call of the library on the same arrays."""

    def __init__(
        self,
        name: str,
        arrays: dict[str, Any],
        files: dict[str, Any] | None = None,
        library: Callable[..., Evaluation] | None = None,
        prepare: Callable[[Path], None] | None = None,
        fixed: dict[str, Any] | None = None,
    ) -> None:
        """`files` are the inputs that are not written from `arrays`; `fixed` are options that belong to the input."""
        self.name, self.arrays, self.library, self.prepare = name, arrays, library, prepare
        self.files = {key: f"{key}.npy" for key in arrays} | (files or {})
        self.fixed = fixed or {}
        self.declared = family(name.partition(" ")[0])

    @property
    def form(self) -> str:
        """The declared form that these inputs select; families with one way to give inputs declare none."""
        chosen = chosen_form(self.declared.forms, [*self.files, *self.fixed]) if self.declared.forms else None
        return "" if chosen is None else chosen.name

    def write(self, folder: Path) -> dict[str, Any]:
        """The values of the inputs in this folder."""
        for key, array in self.arrays.items():
            path = folder / self.files[key]
            if path.suffix == ".txt":
                path.write_text("\n".join(map(str, array)) + "\n")
            else:
                np.save(path, array)
        if self.prepare is not None:
            self.prepare(folder)
        fields = self.declared.fields
        named = {key: (path,) if isinstance(fields[key].kind, Files) else path for key, path in self.files.items()}
        return named | self.fixed


def _ranking_scores() -> dict[str, Any]:
    return {"pos_scores": RNG.integers(0, 9, N) / 4, "neg_scores": RNG.integers(0, 9, (N, 6)) / 4}


def _flat() -> dict[str, Any]:
    queries = np.repeat(np.arange(N // 4), 6)
    return {
        "scores": RNG.integers(0, 9, len(queries)) / 4,
        "labels": np.tile([1, 0, 0, 1, 0, 0], N // 4),
        "queries": queries,
    }


def _embeddings() -> dict[str, Any]:
    return {
        "queries_emb": RNG.normal(size=(N, 3)),
        "entities": RNG.normal(size=(9, 3)),
        "targets": RNG.integers(0, 9, N),
    }


def _rank_all(queries_emb: Any, entities: Any, targets: Any, **options: Any) -> Evaluation:
    if options.get("nan") == "raise":  # the default; embeddings take no other
        del options["nan"]
    names = ("score", "keep", "threads", "known", "nan")
    counting = {name: options.pop(name) for name in names if name in options}
    if "target_offsets" in options:
        targets = targets, options.pop("target_offsets")
    return ranking.rank_all(queries_emb, entities, targets, **counting).evaluate(**options)


def _from_topk(topk: Any, targets: Any, **options: Any) -> Evaluation:
    right = targets, options.pop("target_offsets")
    excluded = options.pop("exclude_values"), options.pop("exclude_offsets")
    asked = {name: options.pop(name) for name in ("k", "metrics", "confidence") if name in options}
    return ranking.rank_topk(topk, right, exclude=excluded, **options).evaluate(**asked)


def _interactions() -> dict[str, Any]:
    """Two items of the test and one of training for every user, who are not in order."""
    three = np.array([RNG.permutation(9)[:3] for _ in range(N)])
    users = RNG.permutation(N)
    pairs = {name: np.stack([users, three[users, place]], axis=1) for name, place in (("a", 0), ("b", 1), ("c", 2))}
    return {"test_items": np.concatenate([pairs["a"], pairs["b"]]), "train_items": pairs["c"]}


def _recommend(
    user_scores: Any, test_items: Any, train_items: Any, item_vectors: Any = None, **given: Any
) -> Evaluation:
    return ranking.recommend(user_scores, item_vectors, test=test_items, train=train_items, **{"k": (1, 3, 10)} | given)


def _triples() -> dict[str, Any]:
    every = RNG.permutation(np.unique(RNG.integers(0, [9, 3, 9], (80, 3)), axis=0))
    return {"triples": every[:N], "known_triples": every[N:]}


def _vectors() -> dict[str, Any]:
    return {"entities": RNG.normal(size=(9, 3)), "relation_vectors": RNG.normal(size=(3, 3))}


def _rank_triples(triples: Any, known_triples: Any, **given: Any) -> Evaluation:
    names = ("score", "sides", "keep", "cluster", "weights", "groups", "nan")
    if given.get("nan") == "raise":  # the default; scores of triples take no other
        del given["nan"]
    counting = {name: given.pop(name) for name in names if name in given}
    if "entities" in given:
        model: Any = given.pop("entities"), given.pop("relation_vectors")
    else:
        model, counting["entities"] = score_of_triples(), given.pop("n_entities")
        given.pop("model")
    return ranking.rank_triples(model, triples, known=known_triples, **counting).evaluate(**given)


def score_of_triples() -> Callable[..., Any]:
    """The factory of a model, as files name it."""
    table = np.random.default_rng(5).integers(0, 5, (9, 3, 9)) / 4
    return lambda heads, relations, tails: table[heads, relations, tails]


def _pool() -> dict[str, Any]:
    return {"pos_scores": RNG.integers(2, 11, N) / 4, "neg_scores": RNG.integers(0, 9, 2 * N) / 4}


def _sets() -> dict[str, Any]:
    """Two right answers of every query."""
    two = np.array([RNG.permutation(9)[:2] for _ in range(N)])
    return {"targets": two.reshape(-1), "target_offsets": np.arange(0, 2 * N + 1, 2)}


def _lists() -> dict[str, Any]:
    """Lists without one excluded item of every query."""
    three = np.array([RNG.permutation(9)[:3] for _ in range(N)])
    rows = [[item for item in RNG.permutation(9) if item != gone][:5] for gone in three[:, 2]]
    return {
        "topk": np.array(rows),
        "targets": three[:, :2].reshape(-1),
        "target_offsets": np.arange(0, 2 * N + 1, 2),
        "exclude_values": three[:, 2],
        "exclude_offsets": np.arange(N + 1),
    }


def _masked() -> dict[str, Any]:
    return {**_ranking_scores(), "mask": RNG.random((N, 6)) < 0.8, "cluster": np.arange(N) // 2}


def _with_groups(**given: Any) -> Evaluation:
    return ranking.evaluate(groups={"kind": KINDS}, **given)


def _write_groups(folder: Path) -> None:
    (folder / "kind.txt").write_text("\n".join(KINDS) + "\n")


KINDS = np.array(["one", "two, or more", "drei"])[np.arange(N) % 3]


def _ragged() -> dict[str, Any]:
    sizes = RNG.integers(1, 5, N)
    return {
        "pos_scores": RNG.integers(0, 9, N) / 4,
        "neg_scores": RNG.integers(0, 9, sizes.sum()) / 4,
        "offsets": np.concatenate([[0], np.cumsum(sizes)]),
    }


def _filtered() -> dict[str, Any]:
    sizes = RNG.integers(0, 3, N)
    known = np.concatenate([RNG.choice(9, size, replace=False) for size in sizes]).astype(np.int64)
    return {
        **_embeddings(),
        "relations": RNG.normal(size=(N, 3)),
        "known_values": known,
        "known_offsets": np.concatenate([[0], np.cumsum(sizes)]),
    }


def _rank_filtered(queries_emb: Any, relations: Any, known_values: Any, known_offsets: Any, **given: Any) -> Evaluation:
    return _rank_all((queries_emb, relations), known=(known_values, known_offsets), **given)


def _generated() -> dict[str, Any]:
    return {"real": RNG.random((12, 5)) < 0.5, "generated": RNG.random((12, 5)) < 0.5}


def _conditioned() -> dict[str, Any]:
    return {
        **_generated(),
        "train": RNG.random((6, 5)) < 0.5,
        "valid": np.arange(12) % 5 > 0,
        "real_conditions": np.array(["a", "b, c"])[np.arange(12) % 2],
        "conditions": np.array(["a", "b, c"])[np.arange(12) // 6],
    }


def _generation(table: Any = None, empty: str = "1", **given: Any) -> Evaluation:
    stored_table = None if table is None else generation.SampleTable.load(table)
    return generation.evaluate(stored_table, empty=1 if empty == "1" else empty, **given)


def _sample_table(folder: Path) -> None:
    generation.SampleTable.of(**_conditioned(), latents=RNG.normal(size=(12, 2))).save(folder / "table.npz")


def _answers(folder: Path) -> None:
    said = [*random_explanations(3, 8), *random_explanations(3, 8, "two")]
    explanation.collect(Weighted(3), said).save(folder / "table.jsonl")
    explanation.write_explanations(said, folder / "explanations.jsonl")
    brought = np.random.default_rng(3).normal(size=(16, 3, 2))
    own = [(explanation.OwnAnswers(rows, "logit"),) for rows in brought]
    explanation.write_explanations(
        [replace(each, own=answers) for each, answers in zip(said, own, strict=True)], folder / "own.jsonl"
    )


_OF_SINGLE = {
    "best_mode": ("fidelity_best", "mode"),
    "kl": ("unfaithfulness", "kl"),
    "delta_t": ("cohesiveness", "delta_t"),
    "acc_mode": ("acc_auc", "mode"),
    "acc_cap": ("acc_auc", "cap"),
    "acc_points": ("acc_auc", "points"),
    "acc_keep": ("acc_auc", "keep"),
}


def _explanation(table: Any = None, explanations: Any = None, **given: Any) -> Evaluation:
    """Options of single metrics are flags of the command and one mapping of the library."""
    single: dict[str, dict[str, Any]] = {}
    for name in [name for name in given if name in _OF_SINGLE]:
        metric, option = _OF_SINGLE[name]
        single.setdefault(metric, {})[option] = given.pop(name)
    asked = {"options": single, "absolute": not given.pop("signed", False), "keep": given.pop("keep", None)}
    model = None if given.pop("model", None) is None else Weighted(3)
    if table is not None:
        return explanation.evaluate(explanation.read_table(table), **asked, **given)
    return explanation.evaluate(model, explanation.read_explanations(explanations), **asked, **given)


def _growth(folder: Path) -> None:
    graph = block_graph()
    stored(folder / "log", graph)
    np.save(folder / "labels.npy", graph.labels)


def _evolution(**given: Any) -> Evaluation:
    return evolution.evaluate(given.pop("log"), np.load(given.pop("labels")), **given)


_FEW_DRAWS = {"resamples": 20, "permutations": 19}
DATA = {
    each.name: each
    for each in (
        Data("ranking matrix", _ranking_scores(), library=ranking.evaluate),
        Data("ranking flat", _flat(), library=ranking.evaluate),
        Data("ranking pool", _pool(), library=ranking.evaluate),
        Data("ranking embeddings", _embeddings(), library=_rank_all),
        Data("ranking sets", _embeddings() | _sets(), library=_rank_all),
        Data("ranking topk", _lists(), library=_from_topk),
        Data(
            "ranking recommender",
            {"user_scores": RNG.integers(0, 9, (N, 9)) / 4, **_interactions()},
            library=_recommend,
        ),
        Data(
            "ranking users",
            {"user_scores": RNG.normal(size=(N, 3)), "item_vectors": RNG.normal(size=(9, 3)), **_interactions()},
            library=_recommend,
            fixed={"score": "l2"},
        ),
        Data("ranking triples", _triples() | _vectors(), library=_rank_triples, fixed={"score": "l1"}),
        Data(
            "ranking model",
            _triples(),
            {"model": "tests.doors.test_values:score_of_triples"},
            _rank_triples,
            fixed={"n_entities": 9},
        ),
        Data("ranking mask", _masked(), {"groups": {"kind": "kind.txt"}}, _with_groups, _write_groups),
        Data("ranking offsets", _ragged(), library=ranking.evaluate),
        Data(
            "ranking named",
            _flat() | {"queries": np.repeat(KINDS[:6], 6)},
            {"queries": "queries.txt"},
            ranking.evaluate,
        ),
        Data("ranking filtered", _filtered(), library=_rank_filtered, fixed={"score": "distmult"}),
        Data("generation", _generated(), library=_generation, fixed=_FEW_DRAWS),
        Data(
            "generation conditions",
            _conditioned(),
            {"real_conditions": "real_conditions.txt", "conditions": "conditions.txt"},
            _generation,
            fixed=_FEW_DRAWS,
        ),
        Data("generation table", {}, {"table": "table.npz"}, _generation, _sample_table, _FEW_DRAWS),
        Data("generation subject", {}, {"subject": "tests.generation.toy:case"}, fixed=_FEW_DRAWS),
        Data("explanation table", {}, {"table": "table.jsonl"}, _explanation, _answers, {"explainer": "two"}),
        Data(
            "explanation model",
            {},
            {"explanations": "explanations.jsonl", "model": "tests.explanation.brute:model"},
            _explanation,
            _answers,
            {"explainer": "two"},
        ),
        Data(
            "explanation alone",
            {},
            {"explanations": "explanations.jsonl"},
            _explanation,
            _answers,
            {"explainer": "two", "metrics": ("sparsity", "cohesiveness")},
        ),
        Data(
            "explanation own",
            {},
            {"explanations": "own.jsonl"},
            _explanation,
            _answers,
            {"explainer": "two", "convention": "pyg"},
        ),
        Data("evolution", {}, {"log": "log", "labels": "labels.npy"}, _evolution, _growth),
    )
}
# Cheap examples first: a run of a growing graph costs a hundred times as much as a ranking.
EXAMPLES = {
    "evolution": 4,
    "generation": 6,
    "generation conditions": 4,
    "generation table": 4,
    "generation subject": 1,
    "explanation table": 6,
    "explanation model": 3,
    "explanation alone": 6,
    "explanation own": 4,
}
# Options whose library counterpart is the same by construction, and which only cost time.
# `columns` are those of files, which the library is not given.
# Adaptive runs are another function of the library; tests/old/ranking/test_until.py compares their doors.
_ADAPTIVE = ("until", "assist", "average", "max_queries")
_LEFT_OUT = ("threads", "engine", "scheduler", "resamples", "permutations", "columns", *_ADAPTIVE)
# A checkpoint is opened by a factory; its options are those of a subject. A pool has the fields of a matrix,
# and is recognised by its shape.
_NOT_HERE = ("a checkpoint for module:factory", "the form with one pool of negatives")


def _cheap(data: Data) -> list[str]:
    if data.fixed:
        return ["growth_probe", "growth_retention_p_redrawn"]
    return ["auc_birth", "auc_synthetic", "delta_homophily"]


def drawn(kind: Kind, name: str, draw: st.DrawFn, valid: bool) -> Any:
    """A value of the kind, or one that it does not take."""
    if isinstance(kind, Choice):
        return draw(st.sampled_from(kind.names)) if valid else "nonsense"
    if isinstance(kind, OneOrTwo):
        return draw(st.sampled_from(kind.names)) if valid else "a,b,c"
    if isinstance(kind, Whole):
        return (kind.least or 0) + draw(st.integers(0, 4)) if valid else -7
    if isinstance(kind, Number):
        return draw(st.sampled_from([0.2, 0.5, 0.9])) if valid else "nonsense"
    if isinstance(kind, Flag):
        return True
    if isinstance(kind, Text):  # names of axes
        return draw(st.sampled_from(["time", "horizon", "node"])) if valid else "nonsense"
    assert isinstance(kind, Several)
    return tuple(dict.fromkeys(drawn(kind.each, name, draw, valid) for _ in range(draw(st.integers(1, 3)))))


@st.composite
def options(draw: st.DrawFn, data: Data) -> dict[str, Any]:
    """Some of the options that go with the form; the last one may be wrong."""
    declared = data.declared
    inputs = (File, Files, NamedFiles, Factory, Output, Text)
    free = [
        name
        for name, field in declared.fields.items()
        if not isinstance(field.kind, inputs)
        and name not in (*_LEFT_OUT, *data.fixed, "metrics", "seed", "start", "levels", "labels")
    ]
    names = draw(st.lists(st.sampled_from(free), max_size=3, unique=True))
    wrong = draw(st.integers(0, 9)) == 0
    keys = [entry.key_of(**entry.params) for entry in metrics(declared.name)]
    chosen = {
        name: drawn(declared.fields[name].kind, name, draw, valid=not (wrong and name == names[-1])) for name in names
    }
    if declared.name == "evolution":  # the probe behind its other metrics takes seconds per cycle
        keys = _cheap(data)
        chosen["metrics"] = tuple(keys)
    if draw(st.booleans()):
        chosen["metrics"] = tuple(draw(st.lists(st.sampled_from([*keys, "nonsense"]), min_size=1, max_size=3)))
    return chosen


# ------------------------------------------------------------------------- doors

Outcome = Any


def told(evaluation: Evaluation) -> Outcome:
    content = json.loads(json.dumps(evaluation_to_dict(evaluation)))
    return content["results"], content["conventions"], content["readings"]


def by_library(data: Data, folder: Path, values: dict[str, Any], chosen: dict[str, Any]) -> Outcome:
    assert data.library is not None
    paths = {key: path for key, path in data.files.items() if key not in data.arrays and key != "groups"}
    # The default of an option that only another form has is not given, and the function of this one may not have it.
    chosen = {name: value for name, value in chosen.items() if data.declared.fields[name].is_given(value)}
    return told(data.library(**data.arrays, **paths, **data.fixed | chosen))


def by_files(data: Data, folder: Path, values: dict[str, Any], chosen: dict[str, Any]) -> Outcome:
    return told(data.declared.evaluate_files(**values | chosen))


def by_command(data: Data, folder: Path, values: dict[str, Any], chosen: dict[str, Any]) -> Outcome:
    given = [*arguments(data.declared, values | chosen), "--quiet", "-o", "result.json"]
    done = CliRunner().invoke(family_command(data.declared.name), given)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if done.exit_code:
        raise Refused(done.exit_code, done.output)
    return _stored(folder / "result.json")


def by_study(data: Data, folder: Path, values: dict[str, Any], chosen: dict[str, Any]) -> Outcome:
    (folder / "study.toml").write_text(study_text(data.declared, values | chosen))
    (item,) = read_study(folder / "study.toml").items
    place = folder / "study.json"
    done = perform(Task(item=item, folder=folder, path=place, hashes=folder / "hashes"))
    if done.status == "failed":
        raise Refused(2, str(done.error))
    return _stored(place)


def by_shards(data: Data, folder: Path, values: dict[str, Any], chosen: dict[str, Any]) -> Outcome:
    """Two parts whose states are saved and merged."""
    of_state = {name: value for name, value in chosen.items() if name in _MERGED}
    for part, rows in enumerate((slice(0, N // 2), slice(N // 2, N))):
        for key, array in data.arrays.items():
            each = len(array) // N  # negatives of a pool are more than the positives
            np.save(folder / f"{key}-{part}.npy", array[each * rows.start : each * rows.stop])
        cut = {key: (f"{key}-{part}.npy",) for key in data.arrays}
        data.declared.evaluate_files(**cut, **chosen, save_state=f"{part}.npz")
    return told(merge_files(states=["0.npz", "1.npz"], **of_state))


_MERGED = ("k", "ties", "metrics", "confidence", "nan")


def by_dask(data: Data, folder: Path, values: dict[str, Any], chosen: dict[str, Any]) -> Outcome:
    array = pytest.importorskip("dask.array")
    blocks = {key: array.from_array(value, chunks=N // 3) for key, value in data.arrays.items()}
    return told(dask_engine.evaluate(data.declared.name, **blocks, **chosen))


class Refused(Exception):
    """A refusal of a door that has only an exit code."""

    def __init__(self, exit_code: int, text: str) -> None:
        super().__init__(text)
        self.exit_code = exit_code


def _stored(path: Path) -> Outcome:
    content = read_content(path)
    return content["results"], content["conventions"], content["readings"]


COUNTED: Counter[tuple[str, str, str]] = Counter()


@cache
def _folder(name: str, root: Path) -> tuple[Path, dict[str, Any]]:
    folder = root / name.replace(" ", "-")
    folder.mkdir()
    return folder, DATA[name].write(folder)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    before = Path.cwd()
    yield tmp_path_factory.mktemp("doors")
    os.chdir(before)


def outcome(door: Callable[..., Outcome], *given: Any) -> Outcome:
    """The results, or that it was refused."""
    try:
        return door(*given)
    except (GraphgaugeError, Refused) as error:
        return "refused" if error.exit_code in (2, 3) else f"failed: {error}"
    except TypeError as error:  # a parameter that the function does not have
        return "refused" if "unexpected keyword" in str(error) else f"failed: {error}"


@pytest.mark.parametrize("name", DATA)
def test_the_same_bits_or_the_same_refusal(name: str, root: Path) -> None:
    data = DATA[name]
    folder, values = _folder(name, root)
    os.chdir(folder)

    @settings(max_examples=EXAMPLES.get(name, 6), suppress_health_check=list(HealthCheck))
    @given(chosen=options(data))
    def every_door(chosen: dict[str, Any]) -> None:
        compare_doors(data, folder, values, chosen)

    every_door()


def compare_doors(data: Data, folder: Path, values: dict[str, Any], chosen: dict[str, Any]) -> None:
    doors = [by_files, by_command, by_study, *([] if data.library is None else [by_library])]
    found = {door.__name__: outcome(door, data, folder, values, chosen) for door in doors}
    for door in found:
        COUNTED.update((data.name, option, door) for option in chosen or ["none"])
    expected = found["by_files"]
    for door, answer in found.items():
        assert answer == expected, (door, chosen)


def _taking(declared: Family, option: str) -> list[str]:
    """The inputs of a family whose form takes an option, or every one if the option belongs to no form."""
    of_forms = {name for form in declared.forms for name in form.own}
    own = {form.name: form.own for form in declared.forms}
    mine = [data for data in DATA.values() if data.declared is declared and option not in data.fixed]
    return [data.name for data in mine if option not in of_forms or option in own.get(data.form, ())]


# Every option once, on the first inputs that take it; tests/doors/test_forms.py has those that do not.
SINGLE = [
    (taking[0], option)
    for declared in map(family, BUILT_IN)
    for option, field in declared.fields.items()
    if not isinstance(field.kind, File | Files | NamedFiles | Factory | Output)
    and option not in _LEFT_OUT
    and (taking := _taking(declared, option))
]


@pytest.mark.parametrize(("name", "option"), SINGLE, ids=lambda value: value.replace(" ", "-"))
def test_every_option_at_every_door(name: str, option: str, root: Path) -> None:
    """One value other than the default."""
    data = DATA[name]
    folder, values = _folder(name, root)
    os.chdir(folder)
    chosen = {option: _VALUES[option] if option in _VALUES else example(data.declared.fields[option])}
    if option == "horizons":
        chosen["by"] = ("horizon",)
    if data.declared.name == "evolution":
        chosen["metrics"] = tuple(_cheap(data)[:1])
    elif option == "metrics":
        chosen = {"metrics": (data.declared.headlines[0],)}
    compare_doors(data, folder, values, chosen)


# Options that go with the data above, and what one of them needs.
_VALUES: dict[str, Any] = {
    "axes": ("time", "node", "horizon"),
    "by": ("horizon", "node"),
    "log_seeds": (1,),
    "conditions": ("Off",),
    "nodes": 2,
    "coverage": (0.8,),
    "encoding": "pcalg",
    "levels": (0.2, 0.5),
    "labels": ("b, c", "a"),
    "explainer": "one",
}


def test_every_declared_form_is_here() -> None:
    declared = {(name, form.name) for name in BUILT_IN for form in family(name).forms if form.name not in _NOT_HERE}
    assert {(data.declared.name, data.form) for data in DATA.values() if data.form} == declared
    assert {data.declared.name for data in DATA.values()} == {*BUILT_IN}


@pytest.mark.parametrize("door", [by_shards, by_dask], ids=["shards", "dask"])
@pytest.mark.parametrize("name", ["ranking matrix", "ranking pool"])
def test_parts_give_what_the_whole_gives(name: str, door: Callable[..., Outcome], root: Path) -> None:
    """Counts to the last bit, sums to rounding; what the whole refuses, the parts refuse."""
    data = DATA[name]
    folder, values = _folder(name, root)
    os.chdir(folder)
    rounding = 0.0 if data.declared.name == "ranking" else 1e-9

    @settings(max_examples=8, suppress_health_check=list(HealthCheck))
    @given(chosen=options(data))
    def parts(chosen: dict[str, Any]) -> None:
        chosen = {key: value for key, value in chosen.items() if key in _MERGED and key != "keep"}
        whole, found = (outcome(each, data, folder, values, chosen) for each in (by_files, door))
        if "refused" in (whole, found):
            assert whole == found, chosen
            return
        got = {entry["key"]: entry["value"] for entry in found[0]}
        for entry in whole[0]:
            if entry["key"] in _BINNED or entry["value"] is None:
                continue
            assert got[entry["key"]] == pytest.approx(entry["value"], rel=rounding, abs=rounding), entry["key"]

    parts()


# Streamed calibration has its stated discretisation.
_BINNED = ("ece", "ence")
