"""All forms of ranking with tensors on a simulated CUDA device: the host's results and errors, only counts copied."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from graphgauge import ranking
from graphgauge.core.errors import GraphgaugeError, InputError, OptionError
from graphgauge.kernels import device, device_lists
from graphgauge.ranking import (
    RankingState,
    average_precision,
    evaluate,
    hits_at_k,
    mrr,
    rank_triples,
    ranks,
    roc_auc,
    waiting,
)

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


def shuffled(rng: np.random.Generator, rows: int, width: int, dtype: str) -> Inputs:
    order = torch.tensor(rng.permutation(rows * width))
    return {name: values[order] for name, values in graded(rng, rows, width, dtype).items()}


FORMS = [matrix, masked, ragged, flat, graded, shuffled]
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
    for module, limits in ((device, ("_BLOCK", "_FLAT")), (device_lists, ("_AT_ONCE", "_SORTED"))):
        for limit in limits:
            monkeypatch.setattr(module, limit, 1000)


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
@pytest.mark.parametrize("form", FORMS)
def test_results_are_the_hosts(form: Form, dtype: str, option: str, simulated: Any) -> None:
    rng = np.random.default_rng([DTYPES.index(dtype), list(OPTIONS).index(option)])
    inputs = OPTIONS[option](rng, form(rng, QUERIES, WIDTH, dtype))
    there = mapped(simulated.put, inputs)
    assert said(lambda: evaluate(**there)) == said(lambda: evaluate(**inputs))
    assert 0 < simulated.largest < scores_bytes(inputs)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["bfloat16", "float64", "int64"])
@pytest.mark.parametrize(
    ("rows", "width", "few"), [(0, 5, 10), (1, 1, 10), (1, 700, 10), (1, 3000, 10), (3, 0, 10), (40, 9, 10), (40, 9, 0)]
)
def test_sizes(form: Form, dtype: str, rows: int, width: int, few: int, simulated: Any, monkeypatch: Any) -> None:
    """Empty, one row, rows longer than a block; counts by rows, in a table, and sorted."""
    monkeypatch.setattr(device, "_FEW", few)
    for table in (1 << 16, 50) if form is matrix else (1 << 16,):
        monkeypatch.setattr(device, "_TABLE", table)
        rng = np.random.default_rng(rows)
        for inputs in (form(rng, rows, width, dtype), with_nan(rng, form(rng, rows, width, dtype))):
            simulated.largest = 0
            there = mapped(simulated.put, inputs)
            assert said(lambda there=there: evaluate(**there)) == said(lambda inputs=inputs: evaluate(**inputs))
            assert simulated.largest < max(scores_bytes(inputs), 100 * max(rows, 10))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("option", ["plain", "NaN omitted"])
def test_tensors_that_are_not_contiguous(form: Form, option: str, simulated: Any) -> None:
    def strided(values: torch.Tensor) -> Any:
        return simulated.put(torch.stack([values, values.flip(0)], -1))[..., 0]

    rng = np.random.default_rng(1)
    inputs = OPTIONS[option](rng, form(rng, QUERIES, WIDTH, "float32"))
    there = mapped(strided, inputs)
    assert not any(there[name].is_contiguous() for name in ("neg_scores", "scores") if name in there)
    assert said(lambda: evaluate(**there)) == said(lambda: evaluate(**inputs))
    assert simulated.largest < scores_bytes(inputs)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("option", ["groups", "NaN", "NaN omitted"])
@pytest.mark.parametrize("as_array", [False, True])
def test_parts_on_the_device_and_parts_on_the_host(form: Form, option: str, as_array: bool, simulated: Any) -> None:
    rng = np.random.default_rng(2)
    inputs = OPTIONS[option](rng, form(rng, QUERIES, WIDTH, "float32"))
    host = said(lambda: evaluate(**inputs))

    def at_home(values: torch.Tensor) -> Any:
        if not as_array:
            return values
        array = values.numpy().copy()
        array.flags.writeable = False
        return array

    for chosen in inputs:
        for alone in (True, False):
            simulated.largest = 0
            there = {
                name: mapped(simulated.put if (name == chosen) is alone else at_home, {name: value})[name]
                for name, value in inputs.items()
            }
            assert said(lambda there=there: evaluate(**there)) == host, (chosen, alone)
            if isinstance(there.get("neg_scores", there.get("scores")), torch.Tensor):
                main = there.get("neg_scores", there.get("scores"))
                assert not main.is_cuda or simulated.largest < scores_bytes(inputs), (chosen, alone)


@pytest.mark.parametrize("form", FORMS)
def test_pooled_metrics_copy_their_scores_once(form: Form, simulated: Any) -> None:
    rng = np.random.default_rng(3)
    names = ["mrr", "roc_auc", "average_precision", "pooled_hits@20"]
    inputs = form(rng, QUERIES, WIDTH, "float32") | {"metrics": names}
    for limits in ({}, {"max_memory": 3000}):
        simulated.copied = 0
        there = mapped(simulated.put, inputs | limits)
        assert said(lambda there=there: evaluate(**there)) == said(lambda limits=limits: evaluate(**inputs, **limits))
        given = sum(value.nbytes for value in inputs.values() if isinstance(value, torch.Tensor))
        assert simulated.copied < 2 * given


@pytest.mark.parametrize("nan", ["raise", "omit"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_one_pool_for_all_positives(dtype: str, nan: str, simulated: Any) -> None:
    rng = np.random.default_rng(4)
    inputs = {"pos_scores": drawn(rng, 40, dtype), "neg_scores": drawn(rng, 300, dtype)}
    inputs = with_nan(rng, inputs | {"offsets": None}) | {"nan": nan}
    there = mapped(simulated.put, inputs)
    assert said(lambda: evaluate(**there)) == said(lambda: evaluate(**inputs))


@pytest.mark.parametrize("dtype", DTYPES)
def test_plain_functions(dtype: str, simulated: Any) -> None:
    rng = np.random.default_rng(5)
    rows, mask, flat_rows = (form(rng, QUERIES, WIDTH, dtype) for form in (matrix, masked, ragged))
    for function in (mrr, hits_at_k, ranks):
        for inputs in (rows, mask, flat_rows):
            simulated.largest = 0
            found = function(**mapped(simulated.put, inputs))
            assert np.array_equal(found, function(**inputs))
            assert simulated.largest < scores_bytes(inputs)
    pos, pool = drawn(rng, 40, dtype), drawn(rng, 900, dtype)
    for pooled in (roc_auc, average_precision):
        for first, second in ((pos, pool), (pos[:0], pool), (pos, pool[:0]), (pos[:1], pool[::2])):
            simulated.largest = 0
            expected = pytest.approx(pooled(first, second), rel=1e-14, nan_ok=True)
            assert pooled(simulated.put(first), simulated.put(second)) == expected
            assert pooled(first, simulated.put(second)) == expected
            assert pooled(simulated.put(first), second) == expected
            assert simulated.largest <= first.nbytes + 16


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


@pytest.mark.parametrize("form", FORMS)
def test_copies_of_a_state_are_on_the_host(form: Form, simulated: Any) -> None:
    inputs = form(np.random.default_rng(5), QUERIES, WIDTH, "float32")
    state = RankingState(keep="items").update(**mapped(simulated.put, inputs))
    pickled = pickle.dumps(state)
    assert b"torch" not in pickled  # another process may have no device
    expected = said(RankingState(keep="items").update(**inputs).evaluate)
    for copied in (pickle.loads(pickled), copy.deepcopy(state), state):
        assert said(copied.evaluate) == expected


def test_one_row_for_all_is_not_pooled(simulated: Any) -> None:
    row = simulated.put(torch.rand(1, 9)).expand(QUERIES, -1)
    with pytest.raises(InputError, match="one row repeated 40 times"):
        evaluate(simulated.put(torch.rand(QUERIES)), row, metrics=["roc_auc"])


def test_one_row_in_bfloat16_is_not_pooled_on_the_host_either() -> None:
    row = torch.rand(1, 9).bfloat16().expand(QUERIES, -1)
    with pytest.raises(InputError, match="one row repeated 40 times"):
        evaluate(torch.rand(QUERIES), row, metrics=["roc_auc"])


def test_auc_refuses_what_the_host_refuses(simulated: Any) -> None:
    pos, neg = torch.tensor([0.5, torch.nan, 0.2]), torch.linspace(0, 1, 30)
    for first, second in ((pos, neg), (neg, pos), (neg + 0j, neg), (neg, neg[:, None]), (torch.tensor([2**60]), neg)):
        for pooled in (roc_auc, average_precision):
            with pytest.raises(InputError) as host:
                pooled(first, second)
            with pytest.raises(InputError) as there:
                pooled(simulated.put(first), simulated.put(second))
            assert str(there.value) == str(host.value)


@pytest.mark.parametrize("score", ["distmult", "l1", "l2"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_triples_are_ranked_where_their_embeddings_are(score: str, dtype: str, simulated: Any) -> None:
    rng = np.random.default_rng(7)
    entities, relations = (drawn(rng, (rows, 6), "float32").clamp(-3, 3).to(getattr(torch, dtype)) for rows in (500, 4))
    triples = rng.integers(0, [500, 4, 500], (20, 3))
    expected = rank_triples((entities, relations), triples, score=score)
    found = rank_triples((simulated.put(entities), simulated.put(relations)), triples, score=score)
    assert said(found.evaluate) == said(expected.evaluate)
    assert simulated.largest < entities.nbytes


# ------------------------------------------------------------------ states


def batches(rng: np.random.Generator, sizes: list[tuple[int, int]] | None = None) -> list[Inputs]:
    sizes = sizes or [(30, 5), (1, 5), (0, 5), (30, 12), (9, 5), (30, 0)]
    return [matrix(rng, *size, dtype) for size, dtype in zip(sizes, DTYPES, strict=False)]


def counted_there(given: list[Inputs], simulated: Any, **options: Any) -> RankingState:
    """A state of batches on the device, whose tensors are overwritten after the update."""
    state = RankingState(**options)
    for batch in given:
        there = mapped(simulated.put, batch)
        state.update(**there)
        for scores in there.values():
            scores.zero_()
    return state


def counted_here(given: list[Inputs], **options: Any) -> RankingState:
    state = RankingState(**options)
    for batch in given:
        state.update(**batch)
    return state


def saved(state: RankingState) -> RankingState:
    stream = io.BytesIO()
    state.save(stream)
    stream.seek(0)
    return RankingState.load(stream)


READS: dict[str, Callable[[RankingState], RankingState]] = {
    "as it is": lambda state: state,
    "saved": saved,
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
    "pickled": lambda state: pickle.loads(pickle.dumps(state)),
    "merged into another": lambda state: RankingState().merge(state),
    "merged with another": lambda state: state.merge(RankingState()),
}


@pytest.mark.parametrize("few", [1 << 13, 4])
@pytest.mark.parametrize("table", [1 << 16, 50])
@pytest.mark.parametrize("way", READS)
def test_updates_do_not_wait(way: str, table: int, few: int, simulated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_FEW", few)
    monkeypatch.setattr(device, "_TABLE", table)
    given = batches(np.random.default_rng(8))
    state = counted_there(given, simulated)
    assert simulated.waits == 0
    expected = counted_here(given)
    found = READS[way](state)
    assert said(found.evaluate) == said(expected.evaluate)
    assert found.n == expected.n
    assert simulated.waits <= 1  # all batches are copied at once


def test_later_updates_go_on(simulated: Any) -> None:
    given = batches(np.random.default_rng(9))
    state = counted_there(given[:3], simulated)
    first = state.evaluate()
    before = said(lambda: first)
    for batch in given[3:]:
        state.update(**mapped(simulated.put, batch))
    state.update(**given[0])
    assert said(state.evaluate) == said(counted_here([*given, given[0]]).evaluate)
    assert said(lambda: first) == before == said(counted_here(given[:3]).evaluate)


def test_what_waits_is_bounded(simulated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given = batches(np.random.default_rng(10)) * 5
    for limit, most in (("_BATCHES", 4), ("_BYTES", 500)):
        with monkeypatch.context() as patch:
            patch.setattr(waiting, limit, most)
            state, held = RankingState(), []
            for batch in given:
                state.update(**mapped(simulated.put, batch))
                held.append(len(state._waiting))
            assert 1 < max(held) <= 5
            assert said(state.evaluate) == said(counted_here(given).evaluate)


def nan_in(batch: Inputs, name: str) -> Inputs:
    scores = batch[name].double()
    scores.view(-1)[[2, 7]] = torch.nan
    return batch | {name: scores}


@pytest.mark.parametrize("name", ["pos_scores", "neg_scores"])
@pytest.mark.parametrize("few", [1 << 13, 4])
def test_nan_is_named_when_the_state_is_read(name: str, few: int, simulated: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(device, "_FEW", few)
    monkeypatch.setattr(device, "_BLOCK", 3)
    good = batches(np.random.default_rng(11), [(30, 5), (12, 5), (20, 12), (30, 5)])
    bad = nan_in(good[1], name)
    with pytest.raises(InputError) as host:
        RankingState().update(**bad)
    with pytest.raises(InputError) as alone:
        counted_there([bad], simulated).evaluate()
    assert str(alone.value) == str(host.value)

    state = counted_there([good[0], bad, good[2], bad, good[3]], simulated)
    what = str(host.value).removeprefix(f"{name}: ").partition(". ")[0]
    with pytest.raises(InputError) as raised:
        _ = state.n
    assert str(raised.value).startswith(f"{name} of update 2: {what}.")
    assert str(raised.value).endswith("because of updates 2, 4.")
    # Nothing reads it as if they had not been.
    for read in (
        lambda: state.update(**mapped(simulated.put, good[1])),
        state.evaluate,
        lambda: saved(state),
        lambda: counted_here(good).merge(state),
        lambda: state.n,
    ):
        with pytest.raises(InputError) as again:
            read()
        assert str(again.value) == str(raised.value)
    state.reset()
    for batch in good:
        state.update(**mapped(simulated.put, batch))
    assert said(state.evaluate) == said(counted_here(good).evaluate)


@pytest.mark.parametrize("kind", ["another form", "groups", "too many wait", "merge"])
def test_what_fails_for_an_earlier_update_fails_again(kind: str, simulated: Any, monkeypatch: Any) -> None:
    good = batches(np.random.default_rng(12), [(30, 5), (12, 5), (20, 5)])
    state = counted_there([good[0], nan_in(good[1], "neg_scores")], simulated)
    later: dict[str, Callable[[], Any]] = {
        "another form": lambda: state.update(**mapped(simulated.put, good[2]), mask=np.ones((20, 5), bool)),
        "groups": lambda: state.update(**good[2], groups={"a": np.zeros(20, int)}),
        "too many wait": lambda: state.update(**mapped(simulated.put, good[2])),
        "merge": lambda: state.merge(counted_here([good[2]])),
    }
    monkeypatch.setattr(waiting, "_BATCHES", 2)
    for _ in range(2):
        with pytest.raises(InputError, match="of update 2: "):
            later[kind]()
    state.reset()
    later[kind]()
    expected = {"mask": np.ones((20, 5), bool)} if kind == "another form" else {}
    expected |= {"groups": {"a": np.zeros(20, int)}} if kind == "groups" else {}
    assert said(state.evaluate) == said(RankingState().update(**good[2], **expected).evaluate)


def test_errors_of_shape_type_and_layout_are_immediate(simulated: Any) -> None:
    good = mapped(simulated.put, matrix(np.random.default_rng(13), 20, 5, "float32"))
    state = RankingState().update(**good)
    with pytest.raises(InputError, match="expected shape"):
        state.update(good["pos_scores"][1:], good["neg_scores"])
    with pytest.raises(InputError, match="complex"):
        state.update(good["pos_scores"] + 0j, good["neg_scores"])
    with pytest.raises(InputError, match="beyond"):
        state.update(good["pos_scores"], good["neg_scores"].long() + HUGE)
    with pytest.raises(InputError, match="one pool for all"):
        state.update(good["pos_scores"], good["neg_scores"][0])
    with pytest.raises(InputError, match="earlier ones"):
        state.update(**good, groups={"a": np.zeros(20, int)})
    assert state.n == 20


def test_a_reset_forgets_what_waits(simulated: Any) -> None:
    state = counted_there([nan_in(batches(np.random.default_rng(15))[0], "neg_scores")], simulated)
    state.reset()
    assert state.n == 0


def test_embeddings_of_the_host_go_to_those_of_a_device(simulated: Any) -> None:
    rng = np.random.default_rng(16)
    heads, relations, entities = (rng.normal(size=(n, 8)).astype(np.float32) for n in (20, 20, 900))
    targets = rng.integers(0, 900, 20)
    for score, queries in (("dot", heads), ("l2", heads), ("distmult", (heads, relations))):
        expected = said(ranking.rank_all(queries, entities, targets, score=score).evaluate)
        simulated.largest = 0
        for precision in ("full", "tf32"):
            there = ranking.rank_all(queries, simulated.put(entities), targets, score=score, precision=precision)
            assert said(there.evaluate) == expected
        assert simulated.largest < entities.nbytes / 10


def test_precision_is_an_option_of_triples_and_recommenders(simulated: Any) -> None:
    rng = np.random.default_rng(17)
    entities, relations = rng.normal(size=(50, 8)), rng.normal(size=(3, 8))
    triples = np.stack([rng.integers(0, n, 30) for n in (50, 3, 50)], axis=1)
    model = entities.astype(np.float32), relations.astype(np.float32)
    expected = said(ranking.rank_triples(model, triples, score="distmult", known=[triples]).evaluate)
    there = tuple(map(simulated.put, model))
    found = ranking.rank_triples(there, triples, score="distmult", known=[triples], precision="tf32")
    assert said(found.evaluate) == expected
    test = np.stack([np.arange(20), rng.integers(0, 50, 20)], axis=1)
    users = rng.normal(size=(20, 8)).astype(np.float32)
    expected = said(lambda: ranking.recommend(users, model[0], test=test))
    given = {"test": test, "precision": "tf32"}
    assert said(lambda: ranking.recommend(simulated.put(users), there[0], **given)) == expected
    with pytest.raises(OptionError, match="embeddings on a CUDA device"):
        ranking.recommend(users, model[0], **given)


def test_a_matrix_of_relevance_is_read_where_it_is(simulated: Any) -> None:
    rng = np.random.default_rng(18)
    scores = rng.normal(size=(60, 400)).astype(np.float32)
    test = rng.random((60, 400)) < 0.01
    train = (rng.random((60, 400)) < 0.02) & ~test
    expected = said(lambda: ranking.recommend(scores, test=test, train=train))
    simulated.largest = 0
    matrices = {name: simulated.put(each) for name, each in (("test", test), ("train", train))}
    assert said(lambda: ranking.recommend(simulated.put(scores), **matrices)) == expected
    assert simulated.largest < test.nbytes / 2
    with pytest.raises(InputError, match="expected shape"):
        ranking.recommend(simulated.put(scores), test=matrices["test"][1:])


def test_a_wrong_shape_is_refused_before_anything_is_copied(simulated: Any) -> None:
    scores = simulated.put(np.ones((30, 40)))
    with pytest.raises(InputError, match="flatten them, with a query id for each"):
        ranking.evaluate(scores=scores, labels=simulated.put(np.ones((30, 40), bool)), queries=np.arange(30))
    assert simulated.copied == 0
