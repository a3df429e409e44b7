"""A small graph network whose nodes attend to their recent contacts, and its training."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphgauge.core.errors import InputError
from graphgauge.core.files import atomic_path
from graphgauge.explanation.inputs import Context, Subgraph
from graphgauge.zoo.seeding import seeded

Masks = NDArray[np.bool_]

# How fast the waves are by which a network sees the age of a contact, in turns per mean gap of a node's contacts.
_WAVES = (0.05, 0.1, 0.2, 0.4)
_CHECKPOINT = "graphgauge/zoo/temporal/1"
# Directed contacts that go through the network at once.
_CHUNK = 200_000


@dataclass(frozen=True)
class Config:
    """What has to be known to build the network again, and to ask it the questions it was trained for."""

    contact_features: int
    node_features: int
    gap: float
    data: str
    questions: int
    seed: int
    hidden: int = 32
    layers: int = 2


@dataclass(frozen=True)
class Graphs:
    """Several subgraphs as one graph without contacts between them; every contact stands in both directions."""

    nodes: Tensor  # (N, 2 + features): is it the one, is it the other, its features
    source: Tensor
    target: Tensor
    contacts: Tensor  # (M, features)
    asked: Tensor  # (graphs, 2) rows of the two nodes
    weight: Tensor | None = None  # (M,) between 0, absent, and 1


class _Attention(nn.Module):
    """Each node takes a weighted mean over its contacts; a constant in the sum of weights lets it take nothing."""

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
    """Answers whether two nodes will be in touch, from the last contacts of both; one logit."""

    model_output = "logit"

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        contact = config.contact_features + 1 + 2 * len(_WAVES)
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

    # -------------------------------------------------- asking it with masks

    @torch.no_grad()
    def predict(self, subgraph: Subgraph, target: Any, masks: Masks) -> Tensor:
        return self.predict_many([subgraph], [target], [masks])[0]

    @torch.no_grad()
    def predict_many(
        self, subgraphs: Sequence[Subgraph], targets: Sequence[Any], masks: Sequence[Masks]
    ) -> list[Tensor]:
        """One (B, 1) of logits for each subgraph and its B masks; the masked copies of all are one graph."""
        encoded = [self.encoded(subgraph, target) for subgraph, target in zip(subgraphs, targets, strict=True)]
        whole = [_over_edges(subgraph, mask) for subgraph, mask in zip(subgraphs, masks, strict=True)]
        copies = [
            (graph, mask[start : start + step])
            for graph, mask in zip(encoded, whole, strict=True)
            for step in [max(1, _CHUNK // max(1, 2 * mask.shape[1]))]
            for start in range(0, len(mask), step)
        ]
        self.eval()
        parts: list[Tensor] = []
        while copies:
            size, count = 0, 0
            while count < len(copies) and (not count or size + copies[count][1].size <= _CHUNK):
                size += copies[count][1].size
                count += 1
            parts.append(self(_joined([graph.kept(mask) for graph, mask in copies[:count]])))
            copies = copies[count:]
        answers = torch.cat(parts) if parts else torch.empty(0)
        return list(torch.split(answers[:, None], [len(mask) for mask in whole]))

    def slopes(self, subgraph: Subgraph, target: Any) -> Tensor:
        """For each contact: how the log-odds of the predicted class grow with its weight, at weight 1."""
        whole = _joined([self.encoded(subgraph, target)])
        weight = torch.ones(subgraph.edges, requires_grad=True)
        self.eval()
        logit = self(replace(whole, weight=torch.cat([weight, weight])))[0]
        (slopes,) = torch.autograd.grad(logit if logit >= 0 else -logit, weight)
        return slopes[torch.from_numpy(np.array(subgraph.candidates))]

    def encoded(self, subgraph: Subgraph, target: Any) -> _Encoded:
        """A subgraph as the network sees it: who is asked about, what is known of the others, the age of contacts."""
        pair, now = _asked(subgraph, target)
        asked = np.zeros((len(subgraph.nodes), 2))
        asked[pair, [0, 1]] = 1
        if subgraph.times is None:
            raise InputError("has no times", where="subgraph", fix="Give every contact its time.")
        age = (now - np.asarray(subgraph.times, dtype=np.float64)) / self.config.gap
        if age.size and not age.min() >= 0:
            raise InputError("has contacts after the time that is asked about", where="subgraph")
        turns = 2 * np.pi * np.outer(age, _WAVES)
        features = _features(subgraph.edge_features, subgraph.edges, self.config.contact_features, "edge_features")
        known = _features(subgraph.node_features, len(asked), self.config.node_features, "node_features")
        contact = np.concatenate([features, np.log1p(age)[:, np.newaxis], np.cos(turns), np.sin(turns)], axis=1)
        return _Encoded(
            nodes=np.concatenate([asked, known], axis=1, dtype=np.float32),
            ends=np.asarray(subgraph.edge_index),
            contacts=contact.astype(np.float32),
            asked=np.array(pair),
        )

    # ------------------------------------------------------------------ files

    def save(self, path: str | Path) -> None:
        with atomic_path(path) as temporary:
            content = {"format": _CHECKPOINT, "config": asdict(self.config), "weights": self.state_dict()}
            torch.save(content, temporary)

    @classmethod
    def load(cls, path: str | Path) -> TemporalGNN:
        """A network from its checkpoint; the file is read as data, and nothing in it is run."""
        try:
            content = torch.load(path, map_location="cpu", weights_only=True)
            if content["format"] != _CHECKPOINT:
                raise ValueError("another format")
            config = Config(**content["config"])
            if any(type(getattr(config, field.name)).__name__ != field.type for field in fields(Config)):
                raise ValueError("a setting of another type")
            # What the settings ask for takes no memory until the file has filled it.
            with torch.device("meta"):
                model = cls(config)
            model.load_state_dict(content["weights"], assign=True)
            model.float()
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", where=str(path)) from None
        except Exception as error:  # whatever a damaged or hostile file makes of the reader
            raise InputError(
                f"is no checkpoint of this network ({type(error).__name__})", where=str(path),
                fix="Write one with: graphgauge zoo temporal train",
            ) from None  # fmt: skip
        return model


@dataclass(frozen=True)
class _Encoded:
    """One subgraph in arrays, ready to be copied under masks."""

    nodes: NDArray[np.float32]
    ends: NDArray[np.int64]
    contacts: NDArray[np.float32]
    asked: NDArray[np.int64]

    def kept(self, masks: Masks) -> _Encoded:
        """As many copies as masks, each with the contacts of its mask; the copies share no node."""
        copy, contact = np.nonzero(masks)
        count = len(masks)
        return _Encoded(
            nodes=np.tile(self.nodes, (count, 1)),
            ends=self.ends[:, contact] + copy * len(self.nodes),
            contacts=self.contacts[contact],
            asked=(self.asked + np.arange(count)[:, np.newaxis] * len(self.nodes)),
        )


def _asked(subgraph: Subgraph, target: Any) -> tuple[list[int], float]:
    """The rows of the two nodes that a target names, and its time."""
    try:
        one, other = (int(node) for node in target["pair"])
        now = float(target["time"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError(
            f"expected a pair of nodes and a time, found {target!r:.80}", where="target",
            fix='Give {"pair": [one, other], "time": time}.',
        ) from None  # fmt: skip
    rows = {node: row for row, node in enumerate(subgraph.nodes.tolist())}
    if one == other or one not in rows or other not in rows:
        raise InputError(f"the pair ({one}, {other}) is not among the nodes of its subgraph", where="target")
    return [rows[one], rows[other]], now


def _features(given: Any, rows: int, columns: int, name: str) -> NDArray[np.float64]:
    features = np.empty((rows, 0)) if given is None else np.asarray(given, dtype=np.float64)
    if features.shape != (rows, columns):
        raise InputError(
            f"{features.shape[1]} columns, where the network was trained with {columns}", where=f"subgraph, {name}"
        )
    return features


def _over_edges(subgraph: Subgraph, masks: Masks) -> Masks:
    """Masks over all contacts: those that are no candidates always stay."""
    whole = np.ones((len(masks), subgraph.edges), bool)
    whole[:, subgraph.candidates] = masks
    return whole


def _joined(parts: Sequence[_Encoded]) -> Graphs:
    """Graphs beside each other, their contacts in both directions."""
    first = np.cumsum([0, *(len(part.nodes) for part in parts[:-1])])
    ends = np.concatenate([part.ends + start for part, start in zip(parts, first, strict=True)], axis=1)
    contacts = torch.from_numpy(np.concatenate([part.contacts for part in parts]))
    return Graphs(
        nodes=torch.from_numpy(np.concatenate([part.nodes for part in parts])),
        source=torch.from_numpy(ends.ravel()),
        target=torch.from_numpy(ends[::-1].ravel()),
        contacts=torch.cat([contacts, contacts]),
        asked=torch.from_numpy(
            np.concatenate([np.atleast_2d(part.asked) + start for part, start in zip(parts, first, strict=True)])
        ),
    )


def train(
    config: Config,
    contexts: Sequence[Context],
    *,
    epochs: int = 40,
    batch: int = 128,
    rate: float = 3e-3,
    progress: Callable[[int, float], None] | None = None,
) -> TemporalGNN:
    """Fit a network to the labels of `contexts`; the seed of `config` decides everything that is drawn."""
    with seeded(config.seed):
        return _fitted(config, contexts, epochs, batch, rate, progress)


def _fitted(
    config: Config,
    contexts: Sequence[Context],
    epochs: int,
    batch: int,
    rate: float,
    progress: Callable[[int, float], None] | None,
) -> TemporalGNN:
    model = TemporalGNN(config)
    order = np.random.default_rng([config.seed, 2])
    encoded = [model.encoded(context.subgraph, context.target) for context in contexts]
    labels = torch.tensor([float(context.label or 0) for context in contexts])
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    steps = epochs * -(-len(contexts) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=rate, total_steps=max(steps, 1))
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for rows in np.array_split(order.permutation(len(contexts)), -(-len(contexts) // batch)):
            graphs = _joined([encoded[row] for row in rows])
            loss = nn.functional.binary_cross_entropy_with_logits(model(graphs), labels[torch.from_numpy(rows)])
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
            total += float(loss.detach()) * len(rows)
        if progress is not None:
            progress(epoch + 1, total / len(contexts))
    model.eval()
    return model
