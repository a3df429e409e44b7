"""The forms of ranking input: a matrix of negatives, a masked or ragged one, flat lists, and pooled scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.laws.cases import Case, Inputs
from tests.ranking.forms import evaluate_any, queries_of

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.metric import Metric
from graphgauge.ranking import Catalog, RankingState
from graphgauge.ranking.ties import TIES

LARGEST = 16
# What belongs to a query, in the forms that have positives and negatives apart.
PER_QUERY = ("pos_scores", "cluster")


def _whole_numbers(draw: st.DrawFn, *shape: int) -> np.ndarray:
    values = draw(st.lists(st.integers(1, LARGEST - 1), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    return np.array(values, dtype=float).reshape(shape)


class RankingCase(Case):
    family = "ranking"
    needs: tuple[str, ...] = ("ranks",)

    def covers(self, metric: Metric) -> bool:
        return not set(self.needs).isdisjoint(metric.needs)

    def parameters(self, metric: Metric) -> Iterable[dict[str, Any]]:
        return [metric.params | {"k": k} for k in (1, 2, 10)] if "k" in metric.params else [{}]

    def taken(self, inputs: Inputs, rows: np.ndarray) -> Inputs:
        """Some of the items, in that order."""
        raise NotImplementedError

    def typical(self) -> Inputs:
        inputs = self.taken(self.large(), np.arange(600))
        return inputs | {name: np.floor(inputs[name] / 63).astype(float) for name in self.scores}

    def evaluate(self, inputs: Inputs) -> Evaluation:
        return evaluate_any(**inputs, metrics=list(self.entries))

    def whole(self, inputs: Inputs) -> Inputs:
        return {"pos_scores": queries_of({name: value for name, value in inputs.items() if name != "ties"})}

    def state(self, inputs: Inputs | None) -> RankingState:
        state = RankingState(pooled="pooled" in self.needs)
        return state if inputs is None else state.update(**self.whole(inputs))

    def evaluate_state(self, state: RankingState, inputs: Inputs) -> Evaluation:
        return state.evaluate(ties=inputs["ties"], metrics=list(self.entries))


class MatrixCase(RankingCase):
    name = "ranking-matrix"
    scores = ("pos_scores", "neg_scores")

    def inputs(self) -> st.SearchStrategy[Inputs]:
        @st.composite
        def build(draw: st.DrawFn) -> Inputs:
            queries, negatives = draw(st.integers(1, 7)), draw(st.integers(1, 5))
            inputs: Inputs = {
                "ties": draw(st.sampled_from(TIES)),
                "pos_scores": _whole_numbers(draw, queries),
                "neg_scores": _whole_numbers(draw, queries, negatives),
            }
            if draw(st.booleans()):
                inputs["cluster"] = np.array(draw(st.lists(st.integers(0, 3), min_size=queries, max_size=queries)))
            return inputs

        return build()

    def large(self) -> Inputs:
        rng = np.random.default_rng(11)
        scores = rng.integers(0, 1000, (90_000, 101)).astype(np.float32)
        return {"ties": "expected", "pos_scores": scores[:, 0].copy(), "neg_scores": scores[:, 1:].copy()}

    def empty(self) -> Inputs:
        return {"ties": "realistic", "pos_scores": np.empty(0), "neg_scores": np.empty((0, 4))}

    def taken(self, inputs: Inputs, rows: np.ndarray) -> Inputs:
        per_query = {name: inputs[name][rows] for name in PER_QUERY if name in inputs}
        return inputs | per_query | {"neg_scores": inputs["neg_scores"][rows]}

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        shuffled = self.taken(inputs, rng.permutation(len(inputs["pos_scores"])))
        return shuffled | {"neg_scores": rng.permuted(shuffled["neg_scores"], axis=1)}

    def split(self, inputs: Inputs, parts: int, rng: np.random.Generator) -> list[Inputs]:
        owner = rng.integers(0, parts, len(inputs["pos_scores"]))
        return [self.taken(inputs, np.flatnonzero(owner == part)) for part in range(parts)]

    def improved(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        changed = {name: inputs[name].copy() for name in self.scores}
        argument, index = self.score_places(inputs)[rng.integers(len(self.score_places(inputs)))]
        place = changed[argument][index]
        changed[argument][index] = rng.integers(place, LARGEST + 1) if argument == "pos_scores" else rng.integers(place)
        return inputs | changed

    def score_places(self, inputs: Inputs) -> list[tuple[str, tuple[int, ...]]]:
        return [(name, index) for name in self.scores for index in np.ndindex(inputs[name].shape)]


class MaskedCase(MatrixCase):
    name = "ranking-masked"

    def inputs(self) -> st.SearchStrategy[Inputs]:
        @st.composite
        def build(draw: st.DrawFn) -> Inputs:
            inputs = draw(MatrixCase.inputs(self))
            shape = inputs["neg_scores"].shape
            valid = draw(st.lists(st.booleans(), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
            mask = np.array(valid, dtype=bool).reshape(shape)
            # What is masked out may be anything.
            return inputs | {"mask": mask, "neg_scores": np.where(mask, inputs["neg_scores"], 0.0)}

        return build()

    def large(self) -> Inputs:
        inputs = super().large()
        return inputs | {"mask": np.random.default_rng(12).random(inputs["neg_scores"].shape) < 0.7}

    def empty(self) -> Inputs:
        return super().empty() | {"mask": np.empty((0, 4), bool)}

    def taken(self, inputs: Inputs, rows: np.ndarray) -> Inputs:
        return super().taken(inputs, rows) | {"mask": inputs["mask"][rows]}

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        shuffled = self.taken(inputs, rng.permutation(len(inputs["pos_scores"])))
        columns = rng.permutation(shuffled["mask"].shape[1])
        return shuffled | {name: shuffled[name][:, columns] for name in ("neg_scores", "mask")}

    def score_places(self, inputs: Inputs) -> list[tuple[str, tuple[int, ...]]]:
        return [
            (name, index) for name, index in super().score_places(inputs) if len(index) == 1 or inputs["mask"][index]
        ]


class RaggedCase(MatrixCase):
    name = "ranking-ragged"

    def inputs(self) -> st.SearchStrategy[Inputs]:
        @st.composite
        def build(draw: st.DrawFn) -> Inputs:
            lengths = draw(st.lists(st.integers(0, 5), min_size=1, max_size=7))
            inputs: Inputs = {
                "ties": draw(st.sampled_from(TIES)),
                "pos_scores": _whole_numbers(draw, len(lengths)),
                "neg_scores": _whole_numbers(draw, sum(lengths)),
                "offsets": np.cumsum([0, *lengths]),
            }
            if draw(st.booleans()):
                inputs["cluster"] = np.arange(len(lengths)) // 2
            return inputs

        return build()

    def large(self) -> Inputs:
        inputs = super().large()
        rows, columns = inputs["neg_scores"].shape
        cuts = np.sort(np.random.default_rng(13).integers(0, rows * columns, rows - 1))
        return inputs | {"neg_scores": inputs["neg_scores"].ravel(), "offsets": np.r_[0, cuts, rows * columns]}

    def empty(self) -> Inputs:
        return {"ties": "realistic", "pos_scores": np.empty(0), "neg_scores": np.empty(0), "offsets": np.zeros(1, int)}

    def taken(self, inputs: Inputs, rows: np.ndarray) -> Inputs:
        parts = [inputs["neg_scores"][slice(*inputs["offsets"][row : row + 2])] for row in rows]
        per_query = {name: inputs[name][rows] for name in PER_QUERY if name in inputs}
        offsets = np.cumsum([0, *map(len, parts)])
        return inputs | per_query | {"neg_scores": np.concatenate([*parts, np.empty(0)]), "offsets": offsets}

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        return self.taken(inputs, rng.permutation(len(inputs["pos_scores"])))


class PooledCase(MatrixCase):
    name = "ranking-pooled"
    needs = ("pooled",)

    def large(self) -> Inputs:
        return {name: value[:20_000] if name != "ties" else value for name, value in super().large().items()}

    def precondition(self, law: str, metric: Metric, *inputs: Inputs) -> bool:
        # Tied positives enter the precision-recall curve together. One that is pulled out of a tie, upwards, enters
        # first and may cost more than it gains: average precision is monotone where no positives are tied.
        if law == "monotone" and metric.name == "average_precision":
            return all(len(np.unique(given["pos_scores"])) == len(given["pos_scores"]) for given in inputs)
        return True


class SharedPoolCase(MatrixCase):
    """One pool of negatives for all positives; parts have some of the positives and some of the pool."""

    name = "ranking-shared-pool"
    needs = ("ranks", "pooled")

    def inputs(self) -> st.SearchStrategy[Inputs]:
        @st.composite
        def build(draw: st.DrawFn) -> Inputs:
            positives, negatives = draw(st.integers(1, 7)), draw(st.integers(1, 9))
            inputs: Inputs = {
                "ties": draw(st.sampled_from(TIES)),
                "pos_scores": _whole_numbers(draw, positives),
                "neg_scores": _whole_numbers(draw, negatives),
            }
            if draw(st.booleans()):
                inputs["cluster"] = np.arange(positives) // 2
            return inputs

        return build()

    def large(self) -> Inputs:
        rng = np.random.default_rng(15)
        return {
            "ties": "expected",
            **{
                name: rng.integers(0, 1000, size).astype(np.float32)
                for name, size in (("pos_scores", 30_000), ("neg_scores", 80_000))
            },
        }

    def empty(self) -> Inputs:
        return {"ties": "realistic", "pos_scores": np.empty(0), "neg_scores": np.empty(0)}

    def taken(self, inputs: Inputs, rows: np.ndarray) -> Inputs:
        return inputs | {name: inputs[name][rows] for name in PER_QUERY if name in inputs}

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        shuffled = self.taken(inputs, rng.permutation(len(inputs["pos_scores"])))
        return shuffled | {"neg_scores": rng.permutation(inputs["neg_scores"])}

    def split(self, inputs: Inputs, parts: int, rng: np.random.Generator) -> list[Inputs]:
        owner = rng.integers(0, parts, len(inputs["neg_scores"]))
        pieces = super().split(inputs, parts, rng)
        return [piece | {"neg_scores": inputs["neg_scores"][owner == part]} for part, piece in enumerate(pieces)]

    def precondition(self, law: str, metric: Metric, *inputs: Inputs) -> bool:
        return PooledCase.precondition(self, law, metric, *inputs)  # type: ignore[arg-type]


class FlatCase(RankingCase):
    name = "ranking-flat"
    needs = ("ranks", "lists")
    scores = ("scores",)
    _per_candidate = ("scores", "labels", "queries", "cluster")

    def inputs(self) -> st.SearchStrategy[Inputs]:
        @st.composite
        def build(draw: st.DrawFn) -> Inputs:
            size = draw(st.integers(1, 14))
            labels = draw(st.lists(st.booleans(), min_size=size, max_size=size))
            queries = draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
            inputs: Inputs = {
                "ties": draw(st.sampled_from(TIES)),
                "scores": _whole_numbers(draw, size),
                "labels": np.array([True, *labels[1:]]),
                "queries": np.array(queries),
            }
            if draw(st.booleans()):
                inputs["cluster"] = inputs["queries"] // 2
            return inputs

        return build()

    def large(self) -> Inputs:
        rng = np.random.default_rng(14)
        size = 200_000
        return {
            "ties": "realistic",
            "scores": rng.integers(0, 1000, size).astype(np.float32),
            "labels": rng.random(size) < 0.1,
            "queries": rng.integers(0, size // 20, size),
        }

    def empty(self) -> Inputs:
        return {"ties": "realistic", "scores": np.empty(0), "labels": np.empty(0, bool), "queries": np.empty(0, int)}

    def taken(self, inputs: Inputs, rows: np.ndarray) -> Inputs:
        return inputs | {name: inputs[name][rows] for name in self._per_candidate if name in inputs}

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        return self.taken(inputs, rng.permutation(len(inputs["scores"])))

    def split(self, inputs: Inputs, parts: int, rng: np.random.Generator) -> list[Inputs]:
        # A query is never divided: its candidates are ranked among each other.
        owner = rng.integers(0, parts, inputs["queries"].max() + 1)[inputs["queries"]]
        return [self.taken(inputs, np.flatnonzero(owner == part)) for part in range(parts)]

    def improved(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        scores = inputs["scores"].copy()
        index = rng.integers(len(scores))
        better = (scores[index], LARGEST + 1) if inputs["labels"][index] else (0, scores[index])
        scores[index] = rng.integers(*better)
        return inputs | {"scores": scores}

    def score_places(self, inputs: Inputs) -> list[tuple[str, tuple[int, ...]]]:
        return [("scores", (index,)) for index in range(len(inputs["scores"]))]


class TopkCase(RankingCase):
    """Lists of the first items, with all that may be known of the items."""

    name = "ranking-topk"
    needs = ("recommended", "popularity", "categories")
    scores = ()
    _items = 14

    def inputs(self) -> st.SearchStrategy[Inputs]:
        @st.composite
        def build(draw: st.DrawFn) -> Inputs:
            queries = draw(st.integers(1, 6))
            lists = [draw(st.permutations(range(self._items)))[:10] for _ in range(queries)]
            targets = draw(st.lists(st.integers(0, self._items - 1), min_size=queries, max_size=queries))
            return self._described(np.array(lists), np.array(targets))

        return build()

    def _described(self, lists: np.ndarray, targets: np.ndarray) -> Inputs:
        number = np.arange(self._items)
        catalog = Catalog(popularity=1 + number % 5, categories=number % 3)
        return {"indices": lists, "targets": targets, "catalog": catalog}

    def large(self) -> Inputs:
        rng = np.random.default_rng(14)
        lists = rng.permuted(np.tile(np.arange(self._items), (20_000, 1)), axis=1)[:, :10]
        return self._described(lists, rng.integers(0, self._items, 20_000))

    def typical(self) -> Inputs:
        return self.taken(self.large(), np.arange(600))

    def empty(self) -> Inputs:
        return self._described(np.empty((0, 10), int), np.empty(0, int))

    def taken(self, inputs: Inputs, rows: np.ndarray) -> Inputs:
        return inputs | {name: inputs[name][rows] for name in ("indices", "targets")}

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        return self.taken(inputs, rng.permutation(len(inputs["targets"])))

    def improved(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        return inputs  # what is recommended is neither better nor worse

    def score_places(self, inputs: Inputs) -> list[tuple[str, tuple[int, ...]]]:
        return []

    def split(self, inputs: Inputs, parts: int, rng: np.random.Generator) -> list[Inputs]:
        owner = rng.integers(0, parts, len(inputs["targets"]))
        return [self.taken(inputs, np.flatnonzero(owner == part)) for part in range(parts)]


CASES: list[Case] = [
    MatrixCase(),
    MaskedCase(),
    RaggedCase(),
    PooledCase(),
    SharedPoolCase(),
    FlatCase(),
    TopkCase(),
]
