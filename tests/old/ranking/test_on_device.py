"""Ranking with tensors on a simulated CUDA device: the host's results and errors; matrices are counted there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from graphgauge import ranking
from graphgauge.core.errors import GraphgaugeError, InputError
from graphgauge.kernels import device
from graphgauge.ranking import average_precision, evaluate, hits_at_k, mrr, rank_all, rank_triples, ranks, roc_auc

Inputs = dict[str, Any]

DTYPES = ["float16", "bfloat16", "float32", "float64", "int32", "int64"]
# Both signs of zero and of infinity, denormals of half precision, and integers that no float64 can tell apart.
SPECIAL = [0.0, -0.0, np.inf, -np.inf, 6e-8, -6e-8, 1.0]
HUGE = 2**60
QUERIES, WIDTH = 40, 50


def drawn(rng: np.random.Generator, shape: Any, dtype: str) -> torch.Tensor:
    """Few distinct scores, so that many tie."""
    levels = torch.tensor(rng.integers(-4, 5, shape))
    if dtype.startswith("int"):
        return (levels + HUGE if dtype == "int64" else levels).to(getattr(torch, dtype))
    special = torch.tensor(rng.choice(SPECIAL, shape), dtype=torch.float64)
    return torch.where(torch.tensor(rng.random(shape) < 0.3), special, levels / 4).to(getattr(torch, dtype))


def matrix(rng: np.random.Generator, rows: int, width: int, dtype: str) -> Inputs:
    return {"pos_scores": drawn(rng, rows, dtype), "neg_scores": drawn(rng, (rows, width), dtype)}


def masked(rng: np.random.Generator, rows: int, width: int, dtype: str) -> Inputs:
    return matrix(rng, rows, width, dtype) | {"mask": torch.tensor(rng.random((rows, width)) < 0.8)}


def ragged(rng: np.random.Generator, rows: int, width: int, dtype: str) -> Inputs:
    offsets = np.r_[0, np.cumsum(rng.integers(0, 2 * width + 1, rows))]
    neg = drawn(rng, int(offsets[-1]), dtype)
    return {"pos_scores": drawn(rng, rows, dtype), "neg_scores": neg, "offsets": torch.tensor(offsets)}


def flat(rng: np.random.Generator, rows: int, width: int, dtype: str) -> Inputs:
    labels = rng.random(rows * width) < 0.03
    queries = np.repeat(rng.permutation(rows), width)
    scores = drawn(rng, rows * width, dtype)
    return {"scores": scores, "labels": torch.tensor(labels), "queries": torch.tensor(queries)}


def graded(rng: np.random.Generator, rows: int, width: int, dtype: str) -> Inputs:
    inputs = flat(rng, rows, width, dtype)
    return inputs | {"labels": inputs["labels"] * torch.tensor(rng.integers(1, 4, rows * width))}


# Those that are counted on the device, and those that move to the host.
THERE, MOVED = [matrix, masked], [ragged, flat, graded]
Form = Callable[[np.random.Generator, int, int, str], Inputs]


def is_flat(inputs: Inputs) -> bool:
    return "scores" in inputs


def with_nan(rng: np.random.Generator, inputs: Inputs) -> Inputs:
    """Some NaN, those of a whole query among them."""
    changed = {}
    for name in ("pos_scores", "neg_scores", "scores"):
        if name in inputs and inputs[name].is_floating_point():
            scores = inputs[name].clone()
            scores[torch.tensor(rng.random(tuple(scores.shape)) < 0.02)] = torch.nan
            changed[name] = scores
    if "scores" in changed:
        changed["scores"][(inputs["queries"] == 3) & (inputs["labels"] == 0)] = torch.nan
    elif "neg_scores" in changed and "offsets" not in inputs:
        changed["neg_scores"][3:4] = torch.nan
    return inputs | changed


def per_query(rng: np.random.Generator, inputs: Inputs, values: np.ndarray) -> torch.Tensor:
    """One value per query: in the flat form one per score."""
    found = torch.tensor(values)
    return found[inputs["queries"]] if is_flat(inputs) else found


def grouped(rng: np.random.Generator, inputs: Inputs) -> Inputs:
    return inputs | {"groups": {"side": per_query(rng, inputs, np.arange(QUERIES) % 3)}}


def clustered(rng: np.random.Generator, inputs: Inputs) -> Inputs:
    return inputs | {"cluster": per_query(rng, inputs, np.arange(QUERIES) // 2)}


def weighted(rng: np.random.Generator, inputs: Inputs) -> Inputs:
    return inputs | {"weights": per_query(rng, inputs, rng.random(QUERIES) + 0.5)}


def kept(rng: np.random.Generator, inputs: Inputs) -> Inputs:
    names = {} if is_flat(inputs) else {"ids": torch.arange(QUERIES) + 1000}
    return inputs | {"keep": "items"} | names


OPTIONS: dict[str, Callable[[np.random.Generator, Inputs], Inputs]] = {
    "plain": lambda _, inputs: inputs,
    "pessimistic": lambda _, inputs: inputs | {"ties": "pessimistic"},
    "expected": lambda _, inputs: inputs | {"ties": "expected"},
    "groups": grouped,
    "cluster": clustered,
    "weights": weighted,
    "items": kept,
    "NaN": with_nan,
    "NaN omitted": lambda rng, inputs: with_nan(rng, inputs) | {"nan": "omit"},
    "NaN omitted, groups": lambda rng, inputs: grouped(rng, with_nan(rng, inputs)) | {"nan": "omit"},
}


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Tensors are small: to wake up threads takes longer than to compute."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is read in several blocks."""
    monkeypatch.setattr(device, "_BLOCK", 1000)


def mapped(change: Callable[[torch.Tensor], Any], inputs: Inputs) -> Inputs:
    def one(value: Any) -> Any:
        if isinstance(value, dict):
            return mapped(change, value)
        return change(value) if isinstance(value, torch.Tensor) else value

    return {name: one(value) for name, value in inputs.items()}


def said(call: Callable[[], Any]) -> str:
    """All that an evaluation says, or its error."""
    try:
        found = call()
    except GraphgaugeError as error:
        return f"{type(error).__name__}: {error}"
    results = {
        key: (each.value, each.n, each.unit, bounds(each), each.no_interval, each.chance, each.warnings)
        for key, each in found.items()
    }
    tables = {
        axis: {name: column.tolist() for name, column in table.columns.items()}
        for axis, table in found.breakdowns.items()
    }
    items = None if found.per_item is None else {name: values.tolist() for name, values in columns(found.per_item)}
    return repr((results, tables, items, found.notes, [finding.message for finding in found.findings]))


def bounds(result: Any) -> Any:
    """The interval without its expected coverage, which takes long and follows from the same counts."""
    found = result.interval
    return None if found is None else (found.low, found.high, found.level, found.method, found.over)


def columns(items: Any) -> Iterator[tuple[str, Any]]:
    lists = getattr(items, "lists", None)
    yield from (lists or items).columns().items()


def scores_bytes(inputs: Inputs) -> int:
    return int(inputs["scores" if is_flat(inputs) else "neg_scores"].nbytes)


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", THERE)
def test_results_are_the_hosts(form: Form, dtype: str, option: str, simulated: Any) -> None:
    rng = np.random.default_rng([DTYPES.index(dtype), list(OPTIONS).index(option)])
    inputs = OPTIONS[option](rng, form(rng, QUERIES, WIDTH, dtype))
    there = mapped(simulated.put, inputs)
    assert said(lambda: evaluate(**there)) == said(lambda: evaluate(**inputs))
    assert 0 < simulated.largest < scores_bytes(inputs)


@pytest.mark.parametrize("option", ["groups", "NaN", "NaN omitted"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "int64"])
@pytest.mark.parametrize("form", MOVED)
def test_other_forms_move_to_the_host(form: Form, dtype: str, option: str, simulated: Any) -> None:
    rng = np.random.default_rng(0)
    inputs = OPTIONS[option](rng, form(rng, QUERIES, WIDTH, dtype))
    there = mapped(simulated.put, inputs)
    assert said(lambda: evaluate(**there)) == said(lambda: evaluate(**inputs))


@pytest.mark.parametrize("form", THERE)
@pytest.mark.parametrize("dtype", ["bfloat16", "float64", "int64"])
@pytest.mark.parametrize(("rows", "width"), [(0, 5), (1, 1), (1, 3000), (3, 0), (40, 9)])
def test_sizes(form: Form, dtype: str, rows: int, width: int, simulated: Any) -> None:
    """Empty, one row, rows longer than a block."""
    rng = np.random.default_rng(rows)
    for inputs in (form(rng, rows, width, dtype), with_nan(rng, form(rng, rows, width, dtype))):
        there = mapped(simulated.put, inputs)
        assert said(lambda there=there: evaluate(**there)) == said(lambda inputs=inputs: evaluate(**inputs))


@pytest.mark.parametrize("form", THERE)
@pytest.mark.parametrize("option", ["plain", "NaN omitted"])
def test_tensors_that_are_not_contiguous(form: Form, option: str, simulated: Any) -> None:
    def strided(values: torch.Tensor) -> Any:
        return simulated.put(torch.stack([values, values.flip(0)], -1))[..., 0]

    rng = np.random.default_rng(1)
    inputs = OPTIONS[option](rng, form(rng, QUERIES, WIDTH, "float32"))
    there = mapped(strided, inputs)
    assert not there["neg_scores"].is_contiguous()
    assert said(lambda: evaluate(**there)) == said(lambda: evaluate(**inputs))
    assert simulated.largest < scores_bytes(inputs)


@pytest.mark.parametrize("form", [*THERE, *MOVED])
@pytest.mark.parametrize("option", ["groups", "NaN omitted"])
def test_parts_on_the_device_and_parts_on_the_host(form: Form, option: str, simulated: Any) -> None:
    rng = np.random.default_rng(2)
    inputs = OPTIONS[option](rng, form(rng, QUERIES, WIDTH, "float32"))
    host = said(lambda: evaluate(**inputs))
    for chosen in inputs:
        for alone in (True, False):
            there = {
                name: mapped(simulated.put, {name: value})[name] if (name == chosen) is alone else value
                for name, value in inputs.items()
            }
            assert said(lambda there=there: evaluate(**there)) == host, (chosen, alone)


@pytest.mark.parametrize("form", [*THERE, *MOVED])
def test_pooled_metrics(form: Form, simulated: Any) -> None:
    names = ["mrr", "roc_auc", "average_precision", "pooled_hits@20"]
    inputs = form(np.random.default_rng(3), QUERIES, WIDTH, "float32") | {"metrics": names}
    there = mapped(simulated.put, inputs)
    assert said(lambda: evaluate(**there)) == said(lambda: evaluate(**inputs))


@pytest.mark.parametrize("nan", ["raise", "omit"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "int64"])
def test_one_pool_for_all_positives(dtype: str, nan: str, simulated: Any) -> None:
    rng = np.random.default_rng(4)
    inputs = {"pos_scores": drawn(rng, 40, dtype), "neg_scores": drawn(rng, 300, dtype)}
    inputs = with_nan(rng, inputs | {"offsets": None}) | {"nan": nan}
    there = mapped(simulated.put, inputs)
    assert said(lambda: evaluate(**there)) == said(lambda: evaluate(**inputs))


@pytest.mark.parametrize("dtype", DTYPES)
def test_plain_functions(dtype: str, simulated: Any) -> None:
    rng = np.random.default_rng(5)
    for form in (matrix, masked, ragged):
        inputs = form(rng, QUERIES, WIDTH, dtype)
        for function in (mrr, hits_at_k, ranks):
            simulated.largest = 0
            assert np.array_equal(function(**mapped(simulated.put, inputs)), function(**inputs))
            assert form is ragged or simulated.largest < scores_bytes(inputs)
    pos, pool = drawn(rng, 40, dtype), drawn(rng, 900, dtype)
    for pooled in (roc_auc, average_precision):
        assert pooled(simulated.put(pos), simulated.put(pool)) == pooled(pos, pool)
        assert pooled(pos, simulated.put(pool)) == pooled(pos, pool)


def wrong_inputs() -> Iterator[tuple[str, Inputs]]:
    rng = np.random.default_rng(6)
    rows, mask, flat_rows, lists = (form(rng, QUERIES, WIDTH, "float32") for form in (matrix, masked, ragged, graded))
    pos, neg = rows["pos_scores"], rows["neg_scores"]
    yield "complex", {"pos_scores": pos + 0j, "neg_scores": neg}
    yield "complex negatives", {"pos_scores": pos, "neg_scores": neg + 0j}
    yield "float8", {"pos_scores": pos, "neg_scores": neg.clamp(-1, 1).to(torch.float8_e5m2)}
    yield "too few", {"pos_scores": pos[1:], "neg_scores": neg}
    yield "three axes", {"pos_scores": pos, "neg_scores": neg[:, :, None]}
    yield "two axes", {"pos_scores": neg, "neg_scores": neg}
    yield "mask of numbers", mask | {"mask": mask["mask"].float()}
    yield "mask too short", mask | {"mask": mask["mask"][1:]}
    yield "offsets from 1", flat_rows | {"offsets": flat_rows["offsets"] + 1}
    yield "offsets of floats", flat_rows | {"offsets": flat_rows["offsets"].double()}
    yield "offsets too few", flat_rows | {"offsets": flat_rows["offsets"][1:]}
    yield "both", flat_rows | {"mask": mask["mask"]}
    yield "groups of floats", rows | {"groups": {"side": pos}}
    yield "clusters too few", rows | {"cluster": torch.arange(5)}
    yield "weights below 0", rows | {"weights": pos * 0 - 1}
    yield "an id twice", rows | {"ids": torch.zeros(QUERIES, dtype=torch.int64)}
    huge = {"pos_scores": pos, "neg_scores": torch.full((QUERIES, 3), 2**53 + 1)}
    yield "integers with floats", huge
    yield "floats with integers", {"pos_scores": torch.full((QUERIES,), -(2**60)), "neg_scores": neg.half()}
    yield (
        "integers with integers",
        {"pos_scores": torch.full((QUERIES,), 2**60).int(), "neg_scores": huge["neg_scores"]},
    )
    yield "small integers with large", {"pos_scores": huge["neg_scores"][:, 0], "neg_scores": neg.clamp(-9, 9).int()}
    yield "integers with floats, masked", huge | {"mask": torch.ones(QUERIES, 3, dtype=torch.bool)}
    yield "labels below 0", lists | {"labels": -lists["labels"]}
    yield "infinite labels", lists | {"labels": lists["labels"] * torch.inf}
    yield "query ids of floats", lists | {"queries": lists["queries"] / 2}
    yield "query ids of booleans", lists | {"queries": lists["queries"] > 5}
    yield "one label short", lists | {"labels": lists["labels"][1:]}
    yield "scores of two axes", lists | {"scores": lists["scores"][:, None]}
    yield "small whole scores", lists | {"scores": lists["scores"].clamp(0, 9).to(torch.uint8)}
    yield "groups that differ", lists | {"groups": {"side": lists["labels"]}}
    yield "weights that are NaN", lists | {"weights": lists["scores"] * 0 + torch.nan}
    yield "weights below 0, per score", lists | {"weights": -1.0 - lists["queries"]}


@pytest.mark.parametrize("name", [name for name, _ in wrong_inputs()])
def test_what_is_refused_is_refused_alike(name: str, simulated: Any) -> None:
    inputs = dict(wrong_inputs())[name]
    there = mapped(simulated.put, inputs)
    assert said(lambda: evaluate(**there)) == said(lambda: evaluate(**inputs))


def test_one_row_for_all_is_not_pooled(simulated: Any) -> None:
    row = simulated.put(torch.rand(1, 9)).expand(QUERIES, -1)
    with pytest.raises(InputError, match="one row repeated 40 times"):
        evaluate(simulated.put(torch.rand(QUERIES)), row, metrics=["roc_auc"])


def test_one_row_in_bfloat16_is_not_pooled_on_the_host_either() -> None:
    row = torch.rand(1, 9).bfloat16().expand(QUERIES, -1)
    with pytest.raises(InputError, match="one row repeated 40 times"):
        evaluate(torch.rand(QUERIES), row, metrics=["roc_auc"])


# ------------------------------------------------------------------ all entities


def embedded(dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Few distinct embeddings, so that there are ties."""
    rng = np.random.default_rng(6)
    entities = rng.integers(-2, 3, (300, 6)) / 3
    return rng.normal(size=(40, 6)).astype(dtype), entities.astype(dtype), rng.integers(0, 300, 40)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sets", ["known", "candidates", "kinds", "several"])
def test_scores_that_a_function_leaves_on_a_device(dtype: str, sets: str, simulated: Any) -> None:
    queries, entities, targets = embedded(dtype)
    options: dict[str, Any] = {
        "known": {"known": [[1, 2, 3]] * 40},
        "candidates": {"candidates": [np.union1d(np.arange(row, 300), targets[row]) for row in range(40)]},
        "kinds": {"kinds": np.arange(40) % 2, "candidates": [range(300), np.union1d(np.arange(200), targets)]},
        "several": {},
    }[sets]
    answers = [sorted({int(target), 5, 250}) for target in targets] if sets == "several" else targets
    expected = rank_all(queries, entities, answers, score=lambda q, e: np.round(q @ e.T, 1), **options)
    there = rank_all(
        *map(simulated.put, (queries, entities)),
        answers,
        score=lambda q, e: torch.round(q @ e.T, decimals=1),
        **options,
    )
    assert said(there.evaluate) == said(expected.evaluate)
    assert 0 < simulated.largest < 40 * 300 * 4


@pytest.mark.parametrize("minus_inf", ["rank", "exclude", "raise"])
def test_candidates_at_minus_infinity(minus_inf: str, simulated: Any) -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(20, 30)).astype(np.float32)
    scores[rng.random(scores.shape) < 0.2] = -np.inf
    targets = np.argmax(scores, axis=1)

    def ranked(table: Any) -> Any:
        return rank_all(
            np.arange(20), np.arange(30), targets, score=lambda q, e: table[q[0] : q[-1] + 1], minus_inf=minus_inf
        ).evaluate()

    assert said(lambda: ranked(simulated.put(scores))) == said(lambda: ranked(scores))


def test_bad_scores_of_a_function_are_refused(simulated: Any) -> None:
    scores = simulated.put([[1.0, 2, float("nan")], [1, 2, 3]])
    with pytest.raises(InputError, match="1 of 6 values are NaN"):
        rank_all(np.arange(2), np.arange(3), [0, 1], score=lambda q, e: scores)
    with pytest.raises(InputError, match="beyond"):
        rank_all(np.arange(2), np.arange(3), [0, 1], score=lambda q, e: simulated.put(np.full((2, 3), HUGE + 1)))


def test_embeddings_move_to_the_host(simulated: Any) -> None:
    queries, entities, targets = embedded("float32")
    expected = said(rank_all(queries, entities, targets).evaluate)
    assert said(rank_all(*map(simulated.put, (queries, entities)), targets).evaluate) == expected
    assert said(rank_all(queries, simulated.put(entities), targets).evaluate) == expected
    relations, triples = queries[:4], np.random.default_rng(7).integers(0, [300, 4, 300], (20, 3))
    found = rank_triples((simulated.put(entities), simulated.put(relations)), triples, score="distmult")
    assert said(found.evaluate) == said(rank_triples((entities, relations), triples, score="distmult").evaluate)


def test_a_recommender_with_everything_on_a_device(simulated: Any) -> None:
    rng = np.random.default_rng(18)
    scores = rng.normal(size=(60, 400)).astype(np.float32)
    test = rng.random((60, 400)) < 0.01
    train = (rng.random((60, 400)) < 0.02) & ~test
    expected = said(lambda: ranking.recommend(scores, test=test, train=train))
    matrices = {name: simulated.put(each) for name, each in (("test", test), ("train", train))}
    assert said(lambda: ranking.recommend(simulated.put(scores), **matrices)) == expected
