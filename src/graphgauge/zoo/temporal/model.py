"""A small graph network whose nodes attend to their recent contacts, and its training."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from graphgauge.core.errors import InputError
from graphgauge.core.files import atomic_path
from graphgauge.explanation.inputs import Context, Masks, Subgraph
from graphgauge.zoo.seeding import seeded
from graphgauge.zoo.temporal.graphs import AGE_COLUMNS, Encoded, Graphs, encoded, joined

_CHECKPOINT = "graphgauge/zoo/temporal/1"
# Contacts per batch, over all masked copies.
_CHUNK = 200_000


@dataclass(frozen=True)
class Config:
    """Settings to rebuild the network and its questions."""

    contact_features: int
    node_features: int
    gap: float
    data: str
    questions: int
    seed: int
    hidden: int = 32
    layers: int = 2


class _Attention(nn.Module):
    """Each node takes a weighted mean over its contacts; a constant in the sum of weights allows a mean near zero."""

    def __init__(self, hidden: int, contact: int) -> None:
        super().__init__()
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden + contact, hidden)
        self.value = nn.Linear(hidden + contact, hidden)
        self.update = nn.Linear(2 * hidden, hidden)

    def forward(self, state: Tensor, graphs: Graphs) -> Tensor:
        message = torch.cat([state[graphs.source], graphs.contacts], dim=1)
        match = (self.query(state)[graphs.target] * self.key(message)).sum(1) / math.sqrt(state.shape[1])
        weight = match.clamp(-10, 10).exp()
        if graphs.weight is not None:
            weight = weight * graphs.weight
        total = state.new_ones(len(state)).index_add(0, graphs.target, weight)
        taken = state.new_zeros(state.shape).index_add(0, graphs.target, weight[:, None] * self.value(message))
        update: Tensor = self.update(torch.cat([state, taken / total[:, None]], dim=1))
        return state + torch.relu(update)


class TemporalGNN(nn.Module):
    """Predicts whether two nodes will be in contact, from the last contacts of both; one logit."""

    model_output = "logit"

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        contact = config.contact_features + AGE_COLUMNS
        self.start = nn.Linear(2 + config.node_features, config.hidden)
        self.layers = nn.ModuleList(_Attention(config.hidden, contact) for _ in range(config.layers))
        self.answer = nn.Sequential(nn.Linear(2 * config.hidden, config.hidden), nn.ReLU(), nn.Linear(config.hidden, 1))

    def forward(self, graphs: Graphs) -> Tensor:
        state = self.start(graphs.nodes)
        for layer in self.layers:
            state = layer(state, graphs)
        one, other = state[graphs.asked[:, 0]], state[graphs.asked[:, 1]]
        logits: Tensor = self.answer(torch.cat([one + other, one * other], dim=1))
        return logits[:, 0]

    # -------------------------------------------------- answers with masks

    @torch.no_grad()
    def predict(self, subgraph: Subgraph, target: Any, masks: Masks) -> Tensor:
        return self.predict_many([subgraph], [target], [masks])[0]

    @torch.no_grad()
    def predict_many(
        self, subgraphs: Sequence[Subgraph], targets: Sequence[Any], masks: Sequence[Masks]
    ) -> list[Tensor]:
        """One array (B, 1) of logits per subgraph with B masks; all masked copies form one graph."""
        graphs = [self.encoded(subgraph, target) for subgraph, target in zip(subgraphs, targets, strict=True)]
        whole = [subgraph.edge_masks(part) for subgraph, part in zip(subgraphs, masks, strict=True)]
        copies = [
            (graph, part[start : start + step])
            for graph, part in zip(graphs, whole, strict=True)
            for step in [max(1, _CHUNK // max(1, part.shape[1]))]
            for start in range(0, len(part), step)
        ]
        self.eval()
        parts = [self(joined([graph.kept(part) for graph, part in chunk])) for chunk in _chunks(copies)]
        answers = torch.cat(parts) if parts else torch.empty(0)
        return list(torch.split(answers[:, None], [len(part) for part in whole]))

    def slopes(self, subgraph: Subgraph, target: Any) -> Tensor:
        """For each contact, the derivative of the predicted class's log-odds by its weight, at weight 1."""
        whole = joined([self.encoded(subgraph, target)])
        weight = torch.ones(subgraph.edges, requires_grad=True)
        self.eval()
        logit = self(replace(whole, weight=torch.cat([weight, weight])))[0]
        (slopes,) = torch.autograd.grad(logit if logit >= 0 else -logit, weight)
        return slopes[torch.from_numpy(np.array(subgraph.candidates))]

    def encoded(self, subgraph: Subgraph, target: Any) -> Encoded:
        """A subgraph as input of this network."""
        config = self.config
        return encoded(
            subgraph,
            target,
            gap=config.gap,
            contact_features=config.contact_features,
            node_features=config.node_features,
        )

    # ------------------------------------------------------------------ files

    def save(self, path: str | Path) -> None:
        with atomic_path(path) as temporary, temporary.open("wb") as stream:
            content = {"format": _CHECKPOINT, "config": asdict(self.config), "weights": self.state_dict()}
            torch.save(content, stream)

    @classmethod
    def load(cls, path: str | Path) -> TemporalGNN:
        """Load a network from its checkpoint; this executes no code from the file."""
        try:
            content = torch.load(path, map_location="cpu", weights_only=True)
            if content["format"] != _CHECKPOINT:
                raise ValueError("another format")
            config = Config(**content["config"])
            if any(type(getattr(config, field.name)).__name__ != field.type for field in fields(Config)):
                raise ValueError("a setting of another type")
            # No memory is allocated for these settings until the file has filled it.
            with torch.device("meta"):
                model = cls(config)
            model.load_state_dict(content["weights"], assign=True)
            model.float()
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", where=str(path)) from None
        except Exception as error:  # a damaged or malicious file can raise anything
            raise InputError(
                f"is not a checkpoint of this network ({type(error).__name__})",
                where=str(path),
                fix="Write one with: graphgauge zoo temporal train",
            ) from None
        return model


def _chunks(copies: Sequence[tuple[Encoded, Masks]]) -> Iterator[Sequence[tuple[Encoded, Masks]]]:
    """Batches of graphs with their masks, with at least one each."""
    first = size = 0
    for place, (_, masks) in enumerate(copies):
        if place > first and size + masks.size > _CHUNK:
            yield copies[first:place]
            first, size = place, 0
        size += masks.size
    if copies:
        yield copies[first:]


def train(
    config: Config,
    contexts: Sequence[Context],
    *,
    epochs: int = 40,
    batch: int = 128,
    rate: float = 3e-3,
    progress: Callable[[int, float], None] | None = None,
) -> TemporalGNN:
    """Fit a network to the labels of `contexts`, with the random seed of `config`."""
    with seeded(config.seed):
        model = TemporalGNN(config)
        order = np.random.default_rng([config.seed, 2])
        graphs = [model.encoded(context.subgraph, context.target) for context in contexts]
        labels = torch.tensor([float(context.label or 0) for context in contexts])
        optimizer = torch.optim.Adam(model.parameters(), lr=rate)
        steps = epochs * -(-len(contexts) // batch)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=rate, total_steps=max(steps, 1))
        model.train()
        for epoch in range(epochs):
            total = 0.0
            for rows in np.array_split(order.permutation(len(contexts)), -(-len(contexts) // batch)):
                logits = model(joined([graphs[row] for row in rows]))
                loss = nn.functional.binary_cross_entropy_with_logits(logits, labels[torch.from_numpy(rows)])
                optimizer.zero_grad()
                torch.autograd.backward(loss)
                optimizer.step()
                schedule.step()
                total += float(loss.detach()) * len(rows)
            if progress is not None:
                progress(epoch + 1, total / len(contexts))
        model.eval()
        return model
