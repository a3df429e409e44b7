"""Which explainer of a temporal network finds the contacts that its answers rest on?

A group of people meets, and in some meetings a gift changes hands. The planted rule: the answer about a person is yes
if this person has lately both given and received a gift. A small network learns the rule from examples, and three
explainers rank the contacts of later questions. Because the rule is known, so is the true explanation.

Occlusion leaves out one contact at a time, gradient takes the derivative by the weight of each contact, and recency
looks at the time alone, without asking the network. Needs torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from graphgauge import explanation
from graphgauge.explanation import Context, Explanation, Subgraph

PEOPLE, CONTACTS, LATELY = 5, 24, 0.5
QUESTIONS, EVENTS, EPOCHS = 3000, 100, 25


def question(number: int, draw: np.random.Generator) -> tuple[Context, np.ndarray]:
    """Contacts (from, to) in the last unit of time, the person asked about, the true contacts and the answer; gifts.

    `ids` number the contacts through all questions, as the network has them.
    """
    givers = draw.integers(0, PEOPLE, CONTACTS)
    receivers = (givers + draw.integers(1, PEOPLE, CONTACTS)) % PEOPLE
    times, gifts = np.sort(draw.random(CONTACTS)), draw.random(CONTACTS) < 0.6
    ids = number * CONTACTS + np.arange(CONTACTS)
    subgraph = Subgraph(np.stack([givers, receivers]), np.arange(PEOPLE), times, ids=ids)
    given, received = (gifts & (times > 1 - LATELY) & (people == 0) for people in (givers, receivers))
    answer = int(given.any() and received.any())
    truth = given | received if answer else None
    return Context(subgraph, target=0, event=number, label=answer, truth=truth), gifts


class Network(nn.Module):
    """Adds up what it makes of each contact, times the contact's weight, and reads the answer from the sum."""

    model_output = "logit"

    def __init__(self, gifts: np.ndarray, hidden: int = 32) -> None:
        super().__init__()
        self.gifts = gifts
        self.contact = nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.answer = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, contacts: Tensor, weights: Tensor) -> Tensor:
        """Logits (n,) of contacts (…, contact, 4) with weights (n, contact)."""
        summed = (weights[:, :, None] * self.contact(contacts)).sum(dim=1)
        logits: Tensor = self.answer(summed)[:, 0]
        return logits

    def predict(self, subgraph: Subgraph, target: int, masks: np.ndarray) -> np.ndarray:
        """The answers with the contacts of each mask alone, as graphgauge asks for them."""
        with torch.no_grad():
            found: np.ndarray = self(self.inputs(subgraph, target), torch.as_tensor(masks).float()).numpy()
        return found[:, None]

    def inputs(self, subgraph: Subgraph, target: int) -> Tensor:
        """What it sees of each contact: is there a gift, when, is the target its giver or its receiver?"""
        columns = [self.gifts[subgraph.ids], subgraph.times, *(subgraph.edge_index == target)]
        return torch.tensor(np.stack(columns, axis=1), dtype=torch.float32)


def trained(contexts: list[Context], gifts: np.ndarray) -> Network:
    torch.manual_seed(0)
    model = Network(gifts)
    contacts = torch.stack([model.inputs(context.subgraph, context.target) for context in contexts])
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(EPOCHS):
        for part in torch.randperm(len(contacts)).split(64):
            # Some contacts are left out in training, because explanations ask about graphs without them.
            weights = (torch.rand(len(part), CONTACTS) > 0.1).float()
            logits = model(contacts[part], weights)
            loss = nn.functional.binary_cross_entropy_with_logits(logits, with_rule(contacts[part], weights))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model


def with_rule(contacts: Tensor, weights: Tensor) -> Tensor:
    """The answer of the rule for the contacts that are left."""
    gifts, times, giving, receiving = contacts.unbind(2)
    recent = weights * gifts * (times > 1 - LATELY)
    return ((recent * giving).any(dim=1) & (recent * receiving).any(dim=1)).float()


def occlusion(model: Network, context: Context) -> np.ndarray:
    """How much the answer falls when one contact is left out."""
    masks = np.vstack([np.ones(CONTACTS, bool), ~np.eye(CONTACTS, dtype=bool)])
    answers = model.predict(context.subgraph, context.target, masks)[:, 0]
    return np.asarray(answers[0] - answers[1:])


def gradient(model: Network, context: Context) -> np.ndarray:
    """The derivative of the answer by the weight of each contact, where all weights are 1."""
    weights = torch.ones(1, CONTACTS, requires_grad=True)
    (slopes,) = torch.autograd.grad(model(model.inputs(context.subgraph, context.target), weights).sum(), weights)
    return slopes[0].numpy()


def recency(model: Network, context: Context) -> np.ndarray:
    return np.asarray(context.subgraph.times)


EXPLAINERS: dict[str, Callable[[Any, Context], np.ndarray]] = {
    "occlusion": occlusion,
    "gradient": gradient,
    "recency": recency,
}


def main() -> None:
    draw = np.random.default_rng(0)
    asked, gifts = zip(*(question(number, draw) for number in range(QUESTIONS)), strict=True)
    learned, later = asked[: QUESTIONS * 4 // 5], asked[QUESTIONS * 4 // 5 :]
    model = trained([*learned], np.concatenate(gifts))

    whole = np.ones((1, CONTACTS), bool)
    said = [model.predict(context.subgraph, context.target, whole)[0, 0] > 0 for context in later]
    right = [context for context, yes in zip(later, said, strict=True) if yes == context.label]
    print(f"The network is right on {len(right) / len(later):.1%} of {len(later)} later questions.")
    explained = [context for context in right if context.label][:EVENTS]

    said_of = [
        Explanation(context, rank(model, context), name) for context in explained for name, rank in EXPLAINERS.items()
    ]
    table = explanation.collect(model, said_of)
    for name in EXPLAINERS:
        print(explanation.evaluate(table, explainer=name))
    print(explanation.compare(table, "truth_auc", baseline="recency"))


if __name__ == "__main__":
    main()
