"""ComplEx in NumPy and RotatE in torch, ranked on both sides of a small knowledge graph that this script makes.

    pip install graphgauge torch
    python examples/ranking_complex_rotate.py

People live in cities, cities lie in countries, and who lives in a city of a country is a citizen of it. ComplEx is
given as real and imaginary parts, which `rank_all` passes to its scoring function as tuples; RotatE as a function of
head, relation and tail numbers, which gets tensors.
"""

from __future__ import annotations

import numpy as np
import torch

from graphgauge import ranking
from graphgauge.core.result import Evaluation

LIVES_IN, LIES_IN, CITIZEN_OF = range(3)
PEOPLE, CITIES, COUNTRIES, WIDTH = 120, 12, 4, 16
ENTITIES = PEOPLE + CITIES + COUNTRIES


def triples(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Training and test triples: a part of the citizenships is held out, and follows from the others."""
    city = PEOPLE + rng.integers(0, CITIES, PEOPLE)
    country = PEOPLE + CITIES + np.arange(CITIES) % COUNTRIES
    people = np.arange(PEOPLE)
    lives = np.stack([people, np.full(PEOPLE, LIVES_IN), city], axis=1)
    lies = np.stack([PEOPLE + np.arange(CITIES), np.full(CITIES, LIES_IN), country], axis=1)
    citizens = np.stack([people, np.full(PEOPLE, CITIZEN_OF), country[city - PEOPLE]], axis=1)
    held_out = rng.permutation(PEOPLE)[:30]
    return np.concatenate([lives, lies, np.delete(citizens, held_out, axis=0)]), citizens[held_out]


def trained(score, parameters: dict[str, torch.Tensor], train: np.ndarray, steps: int = 100) -> None:
    """Cross-entropy of the right tail among all entities, and of the right head, by Adam."""
    data, every = torch.as_tensor(train), torch.arange(ENTITIES)[None, :]
    optimiser = torch.optim.Adam(parameters.values(), lr=0.05)
    for _ in range(steps):
        optimiser.zero_grad()
        heads, relations, tails = data[:, :1], data[:, 1:2], data[:, 2:]
        loss = torch.nn.functional.cross_entropy(score(heads, relations, every), tails[:, 0])
        loss = loss + torch.nn.functional.cross_entropy(score(every, relations, tails), heads[:, 0])
        loss.backward()
        optimiser.step()


def random_parameters(seed: int, **shapes: tuple[int, ...]) -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    return {name: (0.3 * torch.randn(shape, generator=draw)).requires_grad_() for name, shape in shapes.items()}


def complex_in_numpy(train: np.ndarray, test: np.ndarray) -> Evaluation:
    """Re⟨h, r, conj(t)⟩. The query h·r has a real and an imaginary part, and so have the entities."""
    both = {"entity": (2, ENTITIES, WIDTH), "relation": (2, 3, WIDTH)}
    weights = random_parameters(0, **both)

    def score(heads, relations, tails):
        entity, relation = torch.complex(*weights["entity"]), torch.complex(*weights["relation"])
        return (entity[heads] * relation[relations] * entity[tails].conj()).sum(-1).real

    trained(score, weights, train)
    entity, relation = (part.detach().numpy() for part in (weights["entity"], weights["relation"]))
    (head_re, head_im), (relation_re, relation_im) = entity[:, test[:, 0]], relation[:, test[:, 1]]
    queries = head_re * relation_re - head_im * relation_im, head_re * relation_im + head_im * relation_re
    return ranking.rank_all(
        queries,
        (entity[0], entity[1]),
        test[:, 2],
        score=lambda query, candidates: query[0] @ candidates[0].T + query[1] @ candidates[1].T,
        known=ranking.known_answers(test, [train, test], side="tail"),
        batch=64,
    ).evaluate()


def rotate_in_torch(train: np.ndarray, test: np.ndarray) -> Evaluation:
    """−|h ∘ r − t|, where every coordinate of r is a rotation. Both sides in one call."""
    weights = random_parameters(1, entity=(2, ENTITIES, WIDTH), phase=(3, WIDTH))

    def score(heads, relations, tails):
        entity = torch.complex(*weights["entity"])
        turn = torch.polar(torch.ones(3, WIDTH), weights["phase"])
        return -(entity[heads] * turn[relations] - entity[tails]).abs().sum(-1)

    trained(score, weights, train)
    state = ranking.rank_triples(score, torch.as_tensor(test), known=[train], entities=ENTITIES, batch=64)
    return state.evaluate()


def main() -> None:
    train, test = triples(np.random.default_rng(0))
    tails = complex_in_numpy(train, test)
    print(f"ComplEx, tails        MRR {tails['mrr']:.3f}, chance {tails['mrr'].chance[-1].value:.3f}")
    both = rotate_in_torch(train, test)
    table = both["mrr"].by("side")
    for side, value, count in zip(table["side"], table["value"], table["n"], strict=True):
        print(f"RotatE, {side}s         MRR {value:.3f} over {count} triples")
    interval = both["mrr"].ci
    print(f"RotatE, both sides    MRR {both['mrr']:.3f} [{interval.low:.3f}, {interval.high:.3f}] over {interval.over}")


if __name__ == "__main__":
    main()
