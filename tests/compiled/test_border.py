"""The border to the core: whatever is passed, there is an answer or an error that says what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from graphgauge import _core

# Random calls of each function; `make sanitize` sets more.
CALLS = int(os.environ.get("GRAPHGAUGE_CALLS", "300"))
NUMBERS = (np.float32, np.float64, np.int32, np.int64, np.uint64)


def length(rng):
    return int(rng.choice([0, 1, 2, 3, 5, 17]))


def scores(rng, *shape, types=NUMBERS):
    dtype = np.dtype(types[rng.integers(len(types))])
    array = rng.integers(0, 4, shape).astype(dtype)
    if dtype.kind == "f" and array.size:
        array.flat[rng.integers(array.size)] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
    return array


def floats(rng, *shape):
    return scores(rng, *shape, types=(np.float64,))


def words(rng, *shape):
    return rng.integers(0, 1 << 63, shape, dtype=np.uint64)


def offsets(rng, parts, size):
    return np.sort(rng.integers(0, size + 1, parts + 1))


def indices(rng, count, size):
    return rng.integers(0, size, count if size else 0)


def cells(rng, nodes):
    """Edges that lead from lower to higher nodes, mostly: a graph with few cycles."""
    source, target = rng.integers(0, nodes, (2, nodes)) if nodes else np.empty((2, 0), np.int64)
    return np.unique((np.minimum(source, target) * nodes + np.maximum(source, target)).astype(np.int64))


def neighbours(rng, nodes):
    """The offsets and neighbours of a symmetric graph without loops."""
    edges = np.triu(rng.random((nodes, nodes)) < 0.5, 1)
    rows, columns = np.nonzero(edges | edges.T)
    return np.searchsorted(rows, np.arange(nodes + 1)), columns


def dense(rng):
    rows, k, types = length(rng), length(rng), (NUMBERS[rng.integers(5)], np.float16)[rng.integers(2) :][:1]
    mask = rng.random((rows, k)) < 0.5 if rng.integers(2) else None
    return {"pos": scores(rng, rows, types=types), "neg": scores(rng, rows, k, types=types), "mask": mask}


def ragged(rng):
    rows, size, types = length(rng), length(rng), (NUMBERS[rng.integers(5)],)
    values = scores(rng, size, types=types)
    return {"pos": scores(rng, rows, types=types), "values": values, "offsets": offsets(rng, rows, size)}


def merged(rng):
    types = (NUMBERS[rng.integers(5)],)
    few, many = np.sort(scores(rng, length(rng), types=types)), np.sort(scores(rng, length(rng), types=types))
    return {"falling": few[::-1].copy(), "ascending": many}


def placed(rng):
    types = (NUMBERS[rng.integers(5)],)
    return {"rising": np.unique(scores(rng, length(rng), types=types)), "scores": scores(rng, length(rng), types=types)}


def lists(rng):
    first = offsets(rng, length(rng), size := length(rng))
    return {"scores": scores(rng, size), "offsets": first}


def list_places(rng):
    given = lists(rng)
    size = np.diff(given["offsets"])
    starts = offsets(rng, len(size), len(given["scores"]))
    positive = [
        rng.integers(begin, begin + max(length, 1), many if length else 0)
        for begin, length, many in zip(given["offsets"][:-1], size, np.diff(starts), strict=True)
    ]
    first = np.cumsum([0, *map(len, positive)])
    return given | {"positive": np.concatenate([np.empty(0, np.int64), *positive]), "first": first}


def matrix(rng):
    types = (bool, np.int8, np.uint8, np.int32, np.int64, np.float32, np.float64)
    low, high = np.sort(rng.normal(size=2))
    values = scores(rng, length(rng), length(rng), types=types)
    return {"values": values, "loopless": length(rng), "low": low, "high": high}


def areas(rng):
    shape = length(rng), length(rng)
    weights = rng.random(shape[1]) if rng.integers(2) else None
    types = (np.float32, np.float64, np.int64)
    labels = rng.integers(-1, 2, shape).astype(np.int8)
    return {"labels": labels, "scores": scores(rng, *shape, types=types), "weights": weights}


def two_graphs(rng):
    d = 1 + length(rng)
    shape = d * length(rng), -(-d // 64)
    return {"truth": words(rng, *shape), "prediction": words(rng, *shape), "d": d}


def two_sides(make):
    def made(rng):
        columns = length(rng)
        return {"rows": make(rng, length(rng), columns), "others": make(rng, length(rng), columns)}

    return made


def by_group(rng):
    given, groups = two_sides(floats)(rng), 3
    return given | {"codes": indices(rng, len(given["others"]), groups), "groups": groups}


def kth(rng):
    return {"rows": (words, floats)[rng.integers(2)](rng, 1 + length(rng), length(rng)), "k": 0}


def balls(rng):
    make = (words, floats)[rng.integers(2)]
    given, dtype = two_sides(make)(rng), (np.int32, np.float64)[make is floats]
    radii = {"radii": given["rows"], "other_radii": given["others"]}
    return given | {name: rng.integers(0, 70, len(rows)).astype(dtype) for name, rows in radii.items()}


def graphs(rng):
    nodes = rng.integers(1, 5, length(rng))
    counts = rng.integers(0, 4, len(nodes))
    edges = rng.integers(0, np.repeat(nodes, counts)[:, None], (counts.sum(), 2))
    labels = {"node_words": words(rng, nodes.sum()), "edge_words": words(rng, len(edges))} if rng.integers(2) else {}
    return {
        "nodes": nodes,
        "offsets": np.cumsum([0, *counts]),
        "edges": edges,
        "directed": bool(rng.integers(2)),
        **labels,
    }


def draws(rng):
    rows, width = length(rng), length(rng)
    nothing = np.zeros(rows, np.int64)
    taken = np.arange(rows)
    return {
        "start": nothing,
        "stop": nothing + width + 1,
        "taken": taken,
        "first": nothing,
        "last": nothing,
        "take": nothing + width,
        "uniform": rng.random((rows, width)),
    }


def pagerank(rng):
    starts, near = neighbours(rng, nodes := length(rng))
    return {"offsets": starts, "neighbours": near, "sources": indices(rng, 3, nodes), "restart": 0.2, "limit": 0.01}


def forecast(rng):
    first, blocks = length(rng), 1 + length(rng)
    asked = {"asked": int(rng.integers(16)), "widths": np.array([1.0, 2.0])}
    return normal(rng) | asked | {"first": first, "length": blocks, "node_length": blocks * (1 + length(rng) % 3)}


def grouped(rng):
    count, groups = length(rng), 1 + length(rng)
    return {"values": floats(rng, length(rng), count), "group": indices(rng, count, groups), "groups": groups}


def normal(rng, **more):
    shape, types = tuple(length(rng) % 4 for _ in range(3)), (NUMBERS[rng.integers(2)],)
    given = {name: scores(rng, *shape, types=types) for name in ("y", "mean", "std")}
    return given | {"mask": rng.random(shape) < 0.5 if rng.integers(2) else None} | more


def positions(rng):
    return normal(rng) | {"edges": np.array([0.25, 0.5]), "first": length(rng), "length": 1 + length(rng)}


def dag(rng):
    nodes = length(rng)
    return {"cells": cells(rng, nodes), "nodes": nodes}


def mixed(rng):
    nodes = length(rng)
    starts, near = neighbours(rng, nodes)
    lines = np.repeat(np.arange(nodes), np.diff(starts)) * nodes + near
    return {"directed": cells(rng, nodes), "undirected": lines, "nodes": nodes}


# Calls that are answered, or nearly so.
CALLED = {
    "rank_counts": dense,
    "ragged_rank_counts": ragged,
    "merged_counts": merged,
    "placed_counts": placed,
    "list_places": list_places,
    "curve_areas": areas,
    "cell_bits": matrix,
    "pair_states": two_graphs,
    "common_bits": lambda rng: {"words": words(rng, length(rng), length(rng))},
    "squared_distances": two_sides(floats),
    "group_distances": by_group,
    "kth_distances": kth,
    "ball_counts": balls,
    "orbits": lambda rng: dict(zip(("offsets", "indices"), neighbours(rng, length(rng)), strict=True)),
    "graph_words": graphs,
    "draw_distinct": draws,
    "push_pagerank": pagerank,
    "error_sums": forecast,
    "grouped_sums": grouped,
    "positions": positions,
    "topological_order": dag,
    "compelled_edges": dag,
    "sinks_first": mixed,
    "normal_tail": lambda rng: {"z": rng.normal()},
    "normal_quantile": lambda rng: {"tail": rng.random()},
    "student_tail": lambda rng: {"t": rng.normal(), "freedom": 1 + 9 * rng.random()},
    "student_quantile": lambda rng: {"tail": rng.random(), "freedom": 1 + 9 * rng.random()},
}
FUNCTIONS = sorted(
    name for name in dir(_core) if not name.startswith(("_", "planted")) and callable(getattr(_core, name))
)
ENDS = [-(1 << 63), -(1 << 31), -2, -1, 0, 1, 2, 7, 1 << 32, (1 << 62) + 1, (1 << 63) - 1]


def unaligned(array):
    if array.dtype == object:
        return array
    raw = np.zeros(array.nbytes + 1, np.uint8)
    raw[1:] = np.ascontiguousarray(array).view(np.uint8).ravel() if array.size else 0
    return raw[1:].view(array.dtype).reshape(array.shape)


def damaged_values(array, rng):
    array = array.copy()
    if array.size and array.dtype.kind in "iu":
        array.flat[rng.integers(array.size)] = np.array(ENDS[rng.integers(len(ENDS))]).astype(array.dtype)
    return rng.permutation(array) if array.ndim and rng.integers(4) == 0 else array


DAMAGES = [
    damaged_values,
    damaged_values,
    damaged_values,
    lambda array, rng: array.astype(rng.choice(["f2", "f4", "f8", "i1", "i4", "i8", "u8", "?", "c16", "O", "S3"])),
    lambda array, rng: array.astype(array.dtype.newbyteorder(">")),
    lambda array, rng: np.repeat(array, 2, axis=-1)[..., ::2],
    lambda array, rng: array[..., ::-1],
    lambda array, rng: np.asfortranarray(array),
    lambda array, rng: array[None],
    lambda array, rng: array[:-1],
    lambda array, rng: array[1:],
    lambda array, rng: np.concatenate([array, array[:1]]),
    lambda array, rng: np.broadcast_to(array, (2, *array.shape)),
    lambda array, rng: array.ravel(),
    lambda array, rng: array[:0],
    lambda array, rng: array.T,
    lambda array, rng: unaligned(array),
    lambda array, rng: array.tolist(),
    lambda array, rng: None,
]


def damaged(value, rng):
    if isinstance(value, np.ndarray):
        return DAMAGES[rng.integers(len(DAMAGES))](value, rng)
    scalars = [end << 12 if end == 1 << 32 else end for end in ENDS]  # not so few that there is room for them
    return [*scalars, 1 << 63, 0.5, -1.0, np.nan, np.inf, -np.inf, 1e-300, 1e300, "1", None][
        rng.integers(len(ENDS) + 10)
    ]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_random_calls_are_answered_or_refused_in_words(name):
    """A new function needs a line in CALLED."""
    rng = np.random.default_rng([*name.encode()])
    outcomes = Counter()
    for number in range(CALLS):
        given = CALLED[name](rng)
        if "threads" in getattr(_core, name).__nb_signature__[0][0]:
            given["threads"] = int(rng.choice([1, 2, 5]))
        for _ in range(number % 3):
            victim = list(given)[rng.integers(len(given))]
            if given[victim] is not None:
                given[victim] = damaged(given[victim], rng)
        before = {key: array.copy() for key, array in given.items() if isinstance(array, np.ndarray)}
        try:
            getattr(_core, name)(**given)
            outcomes["answered"] += 1
        except (ValueError, TypeError):
            outcomes["refused"] += 1
        except MemoryError:  # for a number of something that no machine has room for
            outcomes["refused"] += 1
        for key, array in before.items():
            assert array.tobytes() == given[key].tobytes() or array.dtype == object
    assert outcomes["answered"] >= CALLS / 5
    assert outcomes["refused"] >= CALLS / 20


@pytest.mark.parametrize("dtype", [np.float16, *NUMBERS])
def test_an_address_between_elements_is_refused(dtype):
    rows = np.ones((3, 5), dtype)
    _core.rank_counts(rows[:, 0].copy(), rows)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.rank_counts(rows[:, 0].copy(), unaligned(rows))


def test_the_core_that_is_tested_is_the_one_that_was_asked_for():
    """That of the first folder of PYTHONPATH, if it is set."""
    wanted = os.environ.get("PYTHONPATH", "/").split(os.pathsep)[0]
    assert Path(wanted).resolve() in Path(_core.__file__).resolve().parents


NEG = np.random.default_rng(0).random((20_000, 100), np.float32)
EXPECTED = (NEG > 0.5).sum(1)


def counts():
    return _core.rank_counts(np.full(len(NEG), 0.5, np.float32), NEG, None, 2)[0]


def child_agrees():
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(counts(), EXPECTED) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_between_calls():
    assert np.array_equal(counts(), EXPECTED)
    assert child_agrees()
    assert np.array_equal(counts(), EXPECTED)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_during_calls():
    stop, calls = threading.Event(), []

    def work():
        while not stop.is_set():
            calls.append(np.array_equal(counts(), EXPECTED))

    others = [threading.Thread(target=work) for _ in range(2)]
    for other in others:
        other.start()
    try:
        assert all(child_agrees() for _ in range(20))
    finally:
        stop.set()
        for other in others:
            other.join()
    assert calls
    assert all(calls)


def test_threads_of_python_call_at_once():
    answers = []
    others = [threading.Thread(target=lambda: answers.append(counts())) for _ in range(8)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert len(answers) == 8
    assert all(np.array_equal(answer, EXPECTED) for answer in answers)


def test_a_mapped_read_only_file(tmp_path):
    np.save(tmp_path / "neg.npy", NEG)
    mapped = np.load(tmp_path / "neg.npy", mmap_mode="r")
    pos = np.full(len(NEG), 0.5, np.float32)
    pos.flags.writeable = False
    assert np.array_equal(_core.rank_counts(pos, mapped)[0], EXPECTED)


def test_import_is_quick():
    """The core needs nothing beyond the interpreter."""
    code = "import sys, graphgauge._core; print({'numpy', 'scipy', 'click'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_more_cells_than_32_bits_count(threads):
    neg = np.zeros(((1 << 16) + 1, 1 << 15), np.float16)  # pages that nobody writes to take no memory
    neg[-1, -1] = 1
    greater, equal, missing, lowest, _ = _core.rank_counts(np.zeros(len(neg), np.float16), neg, None, threads)
    assert greater[-1] == 1
    assert not greater[:-1].any()
    assert equal[-1] == neg.shape[1] - 1
    assert (equal[:-1] == neg.shape[1]).all()
    assert not missing.any()
    assert not lowest.any()
