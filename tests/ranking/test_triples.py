"""Both sides of knowledge-graph triples, filtered as PyKEEN filters: against loops over all entities."""

from types import SimpleNamespace

import numpy as np
import pandas
import pytest
import torch

from graphgauge.core.errors import InputError, OptionError
from graphgauge.ranking.evaluate import evaluate
from graphgauge.ranking.queries import Queries

rank_triples = Queries.from_triples

ENTITIES, RELATIONS = 9, 3
DRAW = np.random.default_rng(0)
TRIPLES = np.unique(DRAW.integers(0, [ENTITIES, RELATIONS, ENTITIES], (120, 3)), axis=0)
DRAW.shuffle(TRIPLES)
TRAIN, VALID, TEST = TRIPLES[:50], TRIPLES[50:60], TRIPLES[60:85]
# Whole numbers, so that scores tie.
TABLE = DRAW.integers(0, 6, (ENTITIES, RELATIONS, ENTITIES)).astype(float)
# Whole numbers, so that all formulas are exact.
EMBEDDED = DRAW.integers(-3, 4, (ENTITIES, 4)).astype(float), DRAW.integers(-3, 4, (RELATIONS, 4)).astype(float)


def score(heads, relations, tails):
    return TABLE[heads, relations, tails]


def filtered_ranks(test, known, side):
    """(greater, equal, candidates), as PyKEEN's evaluation loop has them: other true triples are no candidates."""
    true = {tuple(triple) for triple in known}
    for head, relation, tail in test.tolist():
        own = TABLE[head, relation, tail]
        above = beside = candidates = 0
        for entity in range(ENTITIES):
            other = (head, relation, entity) if side == "tail" else (entity, relation, tail)
            if other == (head, relation, tail):
                candidates += 1
            elif other not in true:
                candidates += 1
                above += TABLE[other] > own
                beside += TABLE[other] == own
        yield int(above), int(beside), candidates


def found(queries):
    counts = queries.count()
    order = np.argsort(counts.labels.ids)
    columns = (counts.above, counts.length - 1, counts.candidates)
    return list(zip(*(column[order].tolist() for column in columns), strict=True))


def by_side(known):
    """Head and tail of each triple, one after the other."""
    sides = [list(filtered_ranks(TEST, known, side)) for side in ("head", "tail")]
    return [counts for both in zip(*sides, strict=True) for counts in both]


MODELS = {
    "function": score,
    "methods": SimpleNamespace(
        predict_t=lambda pairs: TABLE[pairs[:, 0], pairs[:, 1]],
        predict_h=lambda pairs: TABLE[:, pairs[:, 0], pairs[:, 1]].T,
    ),
}


class Model:
    """The methods of PyKEEN's models, which take tensors."""

    num_entities = ENTITIES
    _table = torch.as_tensor(TABLE)

    def predict_t(self, pairs):
        assert isinstance(pairs, torch.Tensor)
        return self._table[pairs[:, 0], pairs[:, 1]]

    def predict_h(self, pairs):
        return self._table[:, pairs[:, 0], pairs[:, 1]].T


@pytest.mark.parametrize("model", [*MODELS, "pykeen"])
def test_both_sides_are_ranked_among_what_is_not_known(model):
    test = torch.as_tensor(TEST) if model == "pykeen" else TEST
    given = (
        {"model": Model(), "test": test}
        if model == "pykeen"
        else {"model": MODELS[model], "test": TEST, "entities": ENTITIES}
    )
    state = rank_triples(**given, known=[TRAIN, VALID])
    assert found(state) == by_side([*TRAIN.tolist(), *VALID.tolist(), *TEST.tolist()])
    assert found(rank_triples(**given)) == by_side([])
    everything = rank_triples(**given, known=np.concatenate([TRAIN, VALID, TEST]))
    assert found(everything) == found(state)


def test_sides_and_relations_are_groups_and_a_triple_is_a_cluster():
    result = evaluate(rank_triples(score, TEST, known=[TRAIN, VALID], entities=ENTITIES))
    sides = {
        side: list(filtered_ranks(TEST, [*TRAIN.tolist(), *VALID.tolist(), *TEST.tolist()], side))
        for side in ("head", "tail")
    }
    table = result.by("side")
    assert table["side"].tolist() == ["head", "tail", "macro"]
    for side, value in zip(["head", "tail"], table["mrr"], strict=False):
        assert value == pytest.approx(np.mean([1 / (1 + above + beside / 2) for above, beside, _ in sides[side]]))
    assert result.by("relation")["n"].tolist() == [*(2 * np.bincount(TEST[:, 1])).tolist(), 2 * len(TEST)]
    assert (result["mrr"].interval.over, result["mrr"].n) == ("clusters", 2 * len(TEST))
    twice = evaluate(rank_triples(score, np.concatenate([TEST, TEST]), entities=ENTITIES))
    assert twice["mrr"].value == evaluate(rank_triples(score, TEST, entities=ENTITIES))["mrr"].value


def complex_numbers(*shape):
    return DRAW.normal(size=shape) + 1j * DRAW.normal(size=shape)


def test_rotate_in_torch_on_both_sides():
    entity, phase = torch.as_tensor(complex_numbers(ENTITIES, 4)), torch.as_tensor(DRAW.normal(size=(RELATIONS, 4)))

    def rotate(heads, relations, tails):
        turn = torch.polar(torch.ones_like(phase), phase)
        return -(entity[heads] * turn[relations] - entity[tails]).abs().sum(-1)

    state = rank_triples(rotate, torch.as_tensor(TEST), entities=ENTITIES)
    numbers, turns = entity.numpy(), np.exp(1j * phase.numpy())
    expected = []
    for head, relation, tail in TEST.tolist():
        distance = [
            [np.abs(numbers[h] * turns[relation] - numbers[t]).sum() for h, t in pairs]
            for pairs in ([(e, tail) for e in range(ENTITIES)], [(head, e) for e in range(ENTITIES)])
        ]
        expected += [sum(d < distance[0][head] for d in distance[0]), sum(d < distance[1][tail] for d in distance[1])]
    assert [above for above, _, _ in found(state)] == expected


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"test": TEST[:, :2]}, InputError, r"test: found the shape .*triples \(n, 3\)"),
        ({"known": [TRAIN, VALID[:, :2]]}, InputError, r"known\[1\]: found the shape"),
        ({"sides": "middle"}, OptionError, "side"),
        ({"sides": ("head", "head")}, OptionError, "each side once"),
        ({"sides": ()}, OptionError, "each side once"),
        ({"entities": None}, OptionError, "entities not given"),
        (
            {"model": object(), "entities": None},
            OptionError,
            r"expected a model, not <object.*\.model of PyKEEN's results",
        ),
        ({"entities": 3}, InputError, "0 … 2"),
        ({"model": {"tail": score}}, OptionError, "expected a model"),
        ({"model": None}, OptionError, "expected a model"),
        ({"model": lambda h, r, t: 1 / 0}, InputError, "the function failed"),
        ({"groups": {"side": TEST[:, 0]}}, OptionError, "groups already have 'side'"),
        ({"score": "l1"}, OptionError, "score goes with embeddings"),
        ({"model": EMBEDDED}, OptionError, "score not given"),
        ({"model": EMBEDDED, "score": "dot"}, OptionError, "unknown score 'dot'.*distmult, l1, l2"),
        ({"model": EMBEDDED[:1], "score": "l1"}, OptionError, "found 1 parts"),
        ({"model": (EMBEDDED[0], EMBEDDED[1][:, :2]), "score": "l1"}, InputError, "relations: expected shape"),
        ({"model": (EMBEDDED[0], EMBEDDED[1][:1]), "score": "l1"}, InputError, "test: names the relation 2"),
        ({"model": EMBEDDED, "score": "l1", "entities": 5}, OptionError, "entities is 5, and there are 9 embeddings"),
    ],
)
def test_bad_triples(change, error, words):
    given = {"model": score, "test": TEST, "entities": ENTITIES} | change
    with pytest.raises(error, match=words):
        rank_triples(**given).count()


@pytest.mark.parametrize("triple", [[0, 0, 5], [5, 0, 0]])
def test_entities_beyond_their_number_are_named(triple):
    with pytest.raises(InputError, match="test: names the entity 5, and entity numbers must be in 0 … 4"):
        rank_triples(lambda heads, relations, tails: heads + tails, np.array([[0, 0, 1], triple]), entities=5)
    # Whether or not a query has the known triple among its answers.
    for known in ([triple], [[[0, 0, 2]], [triple]], [[5, 7, 5]]):
        with pytest.raises(InputError, match="known: names the entity 5"):
            rank_triples(lambda heads, relations, tails: heads + tails, np.array([[0, 0, 1]]), known=known, entities=5)


@pytest.mark.parametrize("kind", ["distmult", "l1", "l2"])
@pytest.mark.parametrize("dtype", [float, np.float32, np.uint8])
def test_embeddings_of_entities_and_relations(kind, dtype):
    """Against the formulas of DistMult and TransE as a function."""
    entities, relations = (abs(part).astype(dtype) for part in EMBEDDED)
    wide = entities.astype(float), relations.astype(float)

    def formula(heads, kinds, tails):
        if kind == "distmult":
            return (wide[0][heads] * wide[1][kinds] * wide[0][tails]).sum(-1)
        distance = np.abs(wide[0][heads] + wide[1][kinds] - wide[0][tails])
        return -distance.sum(-1) if kind == "l1" else -(distance**2).sum(-1)

    state = rank_triples((entities, relations), TEST, score=kind, known=[TRAIN, VALID])
    assert found(state) == found(rank_triples(formula, TEST, known=[TRAIN, VALID], entities=ENTITIES))


def test_a_module_of_torch_gets_tensors_from_arrays():
    class Scores(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(torch.as_tensor(TABLE))

        def forward(self, heads, relations, tails):
            assert all(isinstance(part, torch.Tensor) for part in (heads, relations, tails))
            return self.table[heads, relations, tails]

    state = rank_triples(Scores(), TEST, entities=ENTITIES)
    assert found(state) == found(rank_triples(score, TEST, entities=ENTITIES))


def test_weights_and_clusters_of_triples():
    weights, kinds = np.arange(1.0, 1 + len(TEST)), np.arange(len(TEST)) % 5
    result = evaluate(rank_triples(score, TEST, entities=ENTITIES, weights=weights, cluster=kinds))["mrr"]
    sides = [
        [1 / (1 + above + beside / 2) for above, beside, _ in filtered_ranks(TEST, [], side)]
        for side in ("head", "tail")
    ]
    assert result.value == pytest.approx(np.average(np.concatenate(sides), weights=np.tile(weights, 2)))
    assert result.interval.over == "clusters"


class Factory:
    """What PyKEEN's TriplesFactory offers."""

    def __init__(self, triples):
        self.mapped_triples = torch.as_tensor(triples)
        self.num_entities = ENTITIES
        self.entity_to_id = {f"e{number}": number for number in range(ENTITIES)}
        self.relation_to_id = {f"r{number}": number for number in range(RELATIONS)}


def test_factories_frames_and_names_are_triples():
    wanted = found(rank_triples(score, TEST, known=[TRAIN, VALID], entities=ENTITIES))
    factory = Factory(TEST)
    model = Model()
    given = rank_triples(model, factory, known=[Factory(TRAIN), Factory(VALID)])
    assert found(given) == wanted
    named = np.array([[f"e{head}", f"r{relation}", f"e{tail}"] for head, relation, tail in TEST.tolist()])
    columns = pandas.DataFrame(named, columns=["head", "relation", "tail"])
    names = [f"e{number}" for number in range(ENTITIES)], [f"r{number}" for number in range(RELATIONS)]
    for test, numbering in ((named, factory), (columns, names), (columns, (factory.entity_to_id, names[1]))):
        assert found(rank_triples(score, test, known=[TRAIN, VALID], entities=ENTITIES, names=numbering)) == wanted
    for refused, words in (
        ({"test": named}, "test: contains 'e.', not numbers"),
        ({"test": columns.rename(columns={"tail": "other"})[["head", "relation"]]}, "a frame with the columns"),
        ({"test": named, "names": (["e0"], ["r0"])}, "is not among the names"),
        ({"test": TEST, "names": names[0]}, "names: found list"),
        ({"test": TEST, "names": ({"a": 0, "b": 2}, None)}, "have gaps"),
    ):
        with pytest.raises(InputError, match=words):
            rank_triples(**{"model": score, "entities": ENTITIES, **refused})


def test_drawn_rows_of_both_sides():
    queries = rank_triples(score, TEST, known=TRAIN, entities=ENTITIES)
    rows = np.random.default_rng(0).permutation(2 * len(TEST))[:13]
    part, whole = queries.count(rows), queries.count().take(rows)
    assert part.above.tolist() == whole.above.tolist()
    assert part.labels.ids.tolist() == whole.labels.ids.tolist()
    assert part.labels.groups["side"].tolist() == whole.labels.groups["side"].tolist()
