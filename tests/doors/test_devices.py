"""Tensors on a CUDA device, which is simulated: the values, notes and errors of the host, for every family but two.

Rankings and forecasts, which are counted on the device, have tests of their own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from msgspec import to_builtins
from tests.generation.flat import evaluated

from graphgauge import evolution, explanation, generation, recovery
from graphgauge.core.errors import GraphgaugeError
from graphgauge.core.evaluation import Evaluation
from graphgauge.generation.graphs import rows_of

Put = Callable[[Any], Any]
RNG = np.random.default_rng(7)
FEW = {"draws": 19}

REAL, MADE, TRAIN = (RNG.random((rows, 10)) < 0.4 for rows in (36, 30, 33))
OF_REAL, OF_MADE, OF_TRAIN = (np.arange(rows) % 3 for rows in (36, 30, 33))
LATENTS, MADE_LATENTS = RNG.normal(size=(36, 3)), RNG.normal(size=(30, 3))
GRAPHS = [np.triu(RNG.random((12, 5, 5)) < 0.5, 1) for _ in range(2)]
GRAPHS = [upper | upper.transpose(0, 2, 1) for upper in GRAPHS]
TYPES = RNG.integers(0, 3, (12, 5))

NODES = 24
POINTS = RNG.uniform(-0.4, 0.4, (NODES, 3)).astype(np.float16)
EDGES = np.unique(np.sort(RNG.integers(0, NODES, (60, 2)), axis=1), axis=0)
EDGES = EDGES[EDGES[:, 0] < EDGES[:, 1]]
BIRTHS, CLASSES = EDGES[::4], RNG.integers(0, 3, NODES)

TRUE = np.triu(RNG.random((6, 6)) < 0.5, 1)
SCORES = RNG.random((6, 6)).round(3)


def content(found: Any) -> Any:
    """What a user sees of a result."""
    if isinstance(found, Evaluation):
        tables = {axis: {name: grid[name].tolist() for name in grid.columns} for axis, grid in found.breakdowns.items()}
        return {key: to_builtins(each) for key, each in found.items()} | {"tables": tables, "said": str(found)}
    if not hasattr(found, "to_dict"):
        return found
    told = found.to_dict()
    return json.loads(json.dumps({name: told[name] for name in told if name not in ("root", "receipt")}))


def same(one: Any, other: Any) -> bool:
    """Equal, and numbers up to the error of a distance on a device."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=1e-8, abs_tol=1e-10)
    return bool(one == other)


def vae(put: Put) -> Any:
    """A generator whose methods answer from where its weights are."""
    return SimpleNamespace(
        conditions=("a", "b", "c"),
        ordered=True,
        reconstruct=lambda samples, conditions: put(samples * 0.9),
        encode=lambda samples, conditions: put(samples[:, :4] * 1.5),
        generate=lambda condition, n, *, temperature, seed: put(np.random.default_rng(seed).random((n, 10))),
        validate=lambda samples: put(samples.any(axis=1)),
        statistics=lambda samples: {"bits": put(samples.sum(axis=1))},
    )


def collected(put: Put) -> Evaluation:
    judge = SimpleNamespace(predict=lambda samples: put(samples.sum(axis=1) % 3))
    sides = generation.collect(
        vae(put),
        data=generation.Samples(put(REAL), conditions=put(OF_REAL)),
        classifier=judge,
        num_samples=12,
        train=generation.Samples(put(TRAIN), conditions=put(OF_TRAIN)),
    )
    return generation.evaluate(sides, **FEW)


def data(put: Put, adjacency: np.ndarray, types: np.ndarray) -> Any:
    """As torch_geometric's Data."""
    ends = np.argwhere(adjacency).T
    return SimpleNamespace(edge_index=put(ends), x=put(types[:, None]), num_nodes=len(types))


def cycle(put: Put, *, previous: Any = None, points: Any = None, **options: Any) -> Evaluation:
    own = evolution.AdaptiveEvaluator(put(np.arange(NODES)), put(CLASSES), nca_n_splits=2, **options)
    given = put(POINTS) if points is None else points
    return own.evaluate_cycle(given, put(BIRTHS), put(EDGES), 0, previous, pools=put(CLASSES))


def suite(put: Put) -> Evaluation:
    own = evolution.EvaluationSuite(
        put(np.arange(NODES)), put(CLASSES), ["a", "b"], n_neg_per_pos="all", nca_n_splits=2
    )
    own.begin("a", put(POINTS), put(np.delete(EDGES, np.s_[::4], axis=0)))
    own.step("a", put(POINTS), put(BIRTHS), put(EDGES), cycle=0)
    before = put(np.delete(EDGES, np.s_[::4], axis=0))
    own.step("b", put(POINTS), put(BIRTHS), put(EDGES), cycle=0, previous_edges=before)
    return own.evaluation()


def explained(put: Put) -> Evaluation:
    graph = explanation.Subgraph(
        put(np.array([[0, 1, 2, 3], [1, 2, 3, 0]])),
        nodes=put(np.arange(4)),
        times=put(np.arange(4)),
        candidates=put(np.arange(4)),
        units=put(np.arange(4)),
        ids=put(np.arange(4)),
    )
    context = explanation.Context(graph, put(np.array(2)), event=0, truth=put(np.array([1, 0, 0, 1])))
    given = explanation.Explanation(context, put(np.array([0.875, 0.25, 0.125, 0.5])), explainer="mine")
    model = SimpleNamespace(
        model_output="probability",
        predict=lambda subgraph, target, masks: put(0.125 + 0.25 * masks[:, 0] + 0.125 * masks.sum(axis=1)),
    )
    return explanation.evaluate(model, [given])


CASES: dict[str, Callable[[Put], Any]] = {
    "generation, bits": lambda put: evaluated(
        real=put(REAL),
        generated=put(MADE),
        train=put(TRAIN),
        generated_valid=put(MADE.any(1)),
        real_valid=put(REAL.any(1)),
        real_reconstructed=put(REAL[::-1].copy()),
        **FEW,
    ),
    "generation, latents": lambda put: evaluated(
        real=put(REAL),
        generated=put(MADE),
        real_latents=put(LATENTS),
        generated_latents=put(MADE_LATENTS),
        real_conditions=put(OF_REAL),
        generated_conditions=put(OF_MADE),
        generated_predicted=put(OF_MADE),
        classifier_conditions=put(OF_REAL),
        classifier_predicted=put(OF_REAL),
        **FEW,
    ),
    "generation, mixed": lambda put: evaluated(
        real=put(REAL),
        generated=MADE,
        real_latents=torch.as_tensor(LATENTS),
        generated_latents=put(MADE_LATENTS),
        real_conditions=OF_REAL,
        generated_conditions=put(OF_MADE),
        **FEW,
    ),
    "generation, statistics": lambda put: evaluated(
        real=put(REAL),
        generated=put(MADE),
        real_statistics={"bits": put(REAL.sum(1))},
        generated_statistics={"bits": put(MADE.sum(1))},
        **FEW,
    ),
    "generation, lists of rows": lambda put: evaluated(
        real=[put(row) for row in REAL],
        generated=[put(row) for row in MADE],
        generated_valid=[put(np.array(True))] * len(MADE),
        **FEW,
    ),
    "generation, matrices": lambda put: generation.evaluate(
        *(generation.Graphs.from_adjacency(put(each)) for each in GRAPHS), **FEW
    ),
    "generation, list of matrices": lambda put: generation.evaluate(
        *(generation.Graphs.from_adjacency([put(each) for each in side], padded=True) for side in GRAPHS), **FEW
    ),
    "generation, edges": lambda put: generation.evaluate(
        *(generation.Graphs.from_objects([(5, put(np.argwhere(np.triu(each)))) for each in side]) for side in GRAPHS),
        **FEW,
    ),
    "generation, types": lambda put: generation.evaluate(
        generation.Graphs.from_adjacency(put(GRAPHS[0].astype(int)), node_types=put(TYPES)),
        generation.Graphs.from_adjacency(put(np.eye(2)[GRAPHS[1].astype(int)]), node_types=put(np.eye(3)[TYPES])),
        **FEW,
    ),
    "generation, data": lambda put: generation.evaluate(
        *(
            generation.Graphs.from_objects(
                [data(put, *each) for each in zip(side, TYPES, strict=True)], node_labels=["x"]
            )
            for side in GRAPHS
        ),
        **FEW,
    ),
    "generation, collected": collected,
    "generation, compared": lambda put: [
        vars(each)
        for each in generation.compare_samples(
            generation.Samples(put(REAL), statistics={"bits": put(REAL.sum(1))}),
            {
                name: generation.Samples(put(side), statistics={"bits": put(side.sum(1))})
                for name, side in (("a", MADE), ("b", TRAIN))
            },
            **FEW,
        )
    ],
    "energy distance": lambda put: generation.energy_distance(put(LATENTS), put(MADE_LATENTS)),
    "mmd": lambda put: generation.mmd(put(LATENTS), put(MADE_LATENTS)),
    "prdc": lambda put: tuple(generation.prdc(put(LATENTS), put(MADE_LATENTS))),
    "prdc of bits": lambda put: tuple(generation.prdc(put(REAL), put(MADE))),
    "graphs by a mask": lambda put: rows_of(
        generation.Graphs.from_adjacency(put(GRAPHS[0])), put(np.arange(12) < 5)
    ).edges.tolist(),
    **{
        f"evolution, {negatives}, {score}": lambda put, negatives=negatives, score=score: cycle(
            put, previous=put(POINTS / 2), n_neg_per_pos=negatives, score=score
        )
        for negatives in (1, "all")
        for score in ("poincare", "euclidean", "cosine", "dot")
    },
    "evolution, mixed": lambda put: cycle(put, previous=POINTS, n_neg_per_pos="all"),
    "evolution, mixed the other way": lambda put: cycle(put, points=POINTS, previous=put(POINTS), n_neg_per_pos="all"),
    "evolution, list of rows": lambda put: cycle(put, points=[put(row) for row in POINTS]),
    "evolution, suite": suite,
    "evolution, cycles": lambda put: evolution.evaluate(
        [{"embeddings": put(POINTS), "new_edges": put(BIRTHS), "all_edges": put(EDGES), "cycle": 0}],
        put(CLASSES),
        test_edges=put(EDGES[:5]),
        node_types=put(CLASSES),
        folds=2,
    ),
    "evolution, labels by node": lambda put: evolution.delta_homophily(
        put(BIRTHS), {node: put(np.array(label)) for node, label in enumerate(CLASSES)}
    ),
    "auc_synthetic": lambda put: evolution.auc_synthetic(put(POINTS), put(BIRTHS), put(EDGES)),
    "auc_matched": lambda put: evolution.auc_matched(put(POINTS), put(BIRTHS), put(EDGES), pools=put(CLASSES)),
    "poincare_distance": lambda put: evolution.poincare_distance(put(POINTS[:5]), put(POINTS[5:10])).tolist(),
    "recovery": lambda put: recovery.evaluate(put(TRUE), put(SCORES)),
    "recovery, mixed": lambda put: recovery.evaluate(TRUE, put(SCORES)),
    "recovery, stack": lambda put: recovery.evaluate(put(np.stack([TRUE] * 2)), put(np.stack([SCORES] * 2))),
    "recovery, list": lambda put: recovery.evaluate([put(TRUE)] * 2, [put(SCORES)] * 2),
    "recovery, lagged": lambda put: recovery.evaluate(
        put(np.stack([TRUE] * 2, -1)), put(np.stack([SCORES] * 2, -1)), lagged=True
    ),
    "explanation": explained,
    "cohesiveness": lambda put: explanation.cohesiveness(
        put(np.array([0, 1, 2])), put(np.array([1, 2, 3])), put(np.array([0.0, 1.0, 2.0]))
    ),
    "reaching events": lambda put: explanation.reaching_events(
        put(np.array([0, 1, 2])), put(np.array([1, 2, 3])), put(np.array([0, 1, 2])), put(np.array([2])), 2
    ).tolist(),
}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")
def test_a_device_of_this_machine() -> None:
    for ask in CASES.values():
        on_host = content(ask(lambda value: torch.as_tensor(np.array(value))))
        assert same(content(ask(lambda value: torch.as_tensor(np.array(value)).cuda())), on_host)


@pytest.mark.parametrize("name", CASES)
def test_values_and_notes_are_those_of_the_host(name: str, simulated: Any) -> None:
    on_host = content(CASES[name](lambda value: torch.as_tensor(np.array(value))))
    assert simulated.copied == 0
    assert same(content(CASES[name](simulated.put)), on_host)
    assert simulated.copied > 0


TYPED = {
    "bits": ("generation, bits", "generation, matrices", "prdc of bits"),
    "floats": (
        "generation, latents",
        "energy distance",
        "mmd",
        "prdc",
        "evolution, all, poincare",
        "evolution, all, euclidean",
        "recovery",
        "explanation",
    ),
}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name in TYPED["bits"]
        for dtype in ("float16", "bfloat16", "float32", "float64", "bool", "int64")
    ]
    + [(name, dtype) for name in TYPED["floats"] for dtype in ("float16", "bfloat16")],
)
def test_every_type_and_layout(name: str, dtype: str, simulated: Any) -> None:
    wide = name in TYPED["bits"]

    def converted(value: Any) -> Any:
        """Not contiguous, and of the type, unless it is one of whole numbers beside scores."""
        tensor = torch.as_tensor(np.array(value))
        if tensor.is_floating_point() or (wide and tensor.dtype == torch.bool):
            tensor = tensor.to(getattr(torch, dtype))
        return tensor

    def apart(tensor: Any) -> Any:
        return tensor if tensor.dim() < 2 else torch.repeat_interleave(tensor, 2, 1)[:, ::2]

    on_host = content(CASES[name](converted))
    assert same(content(CASES[name](lambda value: apart(simulated.put(converted(value))))), on_host)


def told(ask: Callable[[], Any]) -> str:
    with pytest.raises(GraphgaugeError) as refused:
        ask()
    return str(refused.value)


def spoiled(array: np.ndarray, value: float) -> np.ndarray:
    found = array.astype(float)
    found[1, 0] = value
    return found


FAULTS: dict[str, Callable[[Put, float], Any]] = {
    "bits": lambda put, odd: generation.evaluate(real=put(spoiled(REAL, odd)), generated=put(MADE)),
    "latents": lambda put, odd: evaluated(real=put(REAL), generated=put(MADE), real_latents=put(spoiled(LATENTS, odd))),
    "statistics": lambda put, odd: evaluated(
        real=put(REAL),
        generated=put(MADE),
        real_statistics={"a": put(spoiled(LATENTS, odd)[:, 0])},
        generated_statistics={"a": put(MADE_LATENTS[:, 0])},
    ),
    "prdc": lambda put, odd: generation.prdc(put(LATENTS), put(spoiled(MADE_LATENTS, odd))),
    "mmd": lambda put, odd: generation.mmd(put(spoiled(LATENTS, odd)), put(MADE_LATENTS)),
    "energy distance": lambda put, odd: generation.energy_distance(put(spoiled(LATENTS, odd)), put(MADE_LATENTS)),
    "evolution": lambda put, odd: cycle(put, points=put(spoiled(POINTS, odd))),
    "recovery": lambda put, odd: recovery.evaluate(put(TRUE), put(spoiled(SCORES, odd))),
}


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", FAULTS)
def test_nan_and_infinity_are_refused_as_on_the_host(name: str, odd: float, simulated: Any) -> None:
    if name == "recovery" and odd == np.inf:
        odd = np.nan  # an infinite score is one
    on_host = told(lambda: FAULTS[name](torch.as_tensor, odd))
    assert told(lambda: FAULTS[name](simulated.put, odd)) == on_host


@pytest.mark.parametrize("rows", [0, 1])
def test_nothing_and_one_row(rows: int, simulated: Any) -> None:
    for ask in (
        lambda put: generation.prdc(put(LATENTS[:rows]), put(MADE_LATENTS)),
        lambda put: generation.energy_distance(put(LATENTS), put(MADE_LATENTS[:rows])),
    ):
        assert told(lambda ask=ask: ask(simulated.put)) == told(lambda ask=ask: ask(torch.as_tensor))
    for ask in (
        lambda put: content(generation.evaluate(real=put(REAL), generated=put(MADE[:rows]), **FEW)),
        lambda put: content(generation.evaluate(real=put(REAL[:rows]), generated=put(MADE), **FEW)),
    ):
        assert same(ask(simulated.put), ask(torch.as_tensor))
