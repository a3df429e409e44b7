"""Seeded training of the generator and the classifier: the same seed gives the same weights on the same machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from graphgauge.core.errors import InputError, OptionError
from graphgauge.zoo.moonboard.model import ClassifierConfig, ConditionalVAE, GeneratorConfig, GradeClassifier
from graphgauge.zoo.moonboard.problems import Problems
from graphgauge.zoo.seeding import seeded

# Share of the epochs over which the KL term grows to its weight; full weight from the start causes posterior collapse.
_WARM_UP = 0.5

Epochs = Callable[[range], Iterable[int]]


@dataclass(frozen=True)
class Schedule:
    epochs: int
    seed: int = 0
    batch_size: int = 128
    learning_rate: float = 4e-3

    def __post_init__(self) -> None:
        if not 0 < self.learning_rate < math.inf:
            raise OptionError(f"{self.learning_rate} is not a positive number", where="learning rate")


def train_generator(
    problems: Problems,
    schedule: Schedule,
    *,
    latent: int = 32,
    beta: float = 0.3,
    device: str = "cpu",
    epochs: Epochs = iter,
) -> tuple[ConditionalVAE, dict[str, float]]:
    """A trained VAE, and the losses of its last epoch. `epochs` may wrap the epochs, for a progress bar."""
    with seeded(schedule.seed, device):
        model = ConditionalVAE(GeneratorConfig(len(problems.grades), latent)).to(device)

        def loss(boards: Tensor, labels: Tensor, progress: float) -> tuple[Tensor, dict[str, Tensor]]:
            mean, log_variance = model.encode(boards, labels)
            latents = mean + torch.randn_like(mean) * (log_variance / 2).exp()
            logits = model.decode(latents, labels)
            cells = nn.functional.binary_cross_entropy_with_logits(logits, boards, reduction="sum") / len(boards)
            divergence = (mean**2 + log_variance.exp() - 1 - log_variance).sum() / (2 * len(boards))
            total = cells + beta * min(1.0, progress / _WARM_UP) * divergence
            return total, {"reconstruction": cells, "divergence": divergence}

        return model, _fit(model, loss, problems, schedule, device, epochs)


def train_classifier(
    problems: Problems, schedule: Schedule, *, device: str = "cpu", epochs: Epochs = iter
) -> tuple[GradeClassifier, dict[str, float]]:
    with seeded(schedule.seed, device):
        model = GradeClassifier(ClassifierConfig(len(problems.grades))).to(device)

        def loss(boards: Tensor, labels: Tensor, progress: float) -> tuple[Tensor, dict[str, Tensor]]:
            total = nn.functional.cross_entropy(model(boards), labels)
            return total, {"cross_entropy": total}

        return model, _fit(model, loss, problems, schedule, device, epochs)


def as_boards(grids: Any, device: str = "cpu") -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(grids)).to(device, torch.float32)


def _fit(
    model: nn.Module,
    loss: Callable[[Tensor, Tensor, float], tuple[Tensor, dict[str, Tensor]]],
    problems: Problems,
    schedule: Schedule,
    device: str,
    epochs: Epochs,
) -> dict[str, float]:
    if len(problems) < 2:
        raise InputError(f"{len(problems)} problems are too few to train on", where="training part")
    boards, labels = as_boards(problems.grids, device), torch.as_tensor(problems.labels).to(device)
    batches = -(-len(problems) // schedule.batch_size)
    # Batches of nearly equal size, because batch normalisation fails on a last batch of a single board.
    batches = min(batches, len(problems) // 2)
    optimiser = torch.optim.Adam(model.parameters(), lr=schedule.learning_rate)
    pace = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, schedule.learning_rate, total_steps=max(2, schedule.epochs * batches)
    )
    model.train()
    totals: dict[str, float] = {}
    for epoch in epochs(range(schedule.epochs)):
        totals = {}
        for batch in torch.randperm(len(boards)).tensor_split(batches):
            chosen = batch.to(device)
            total, parts = loss(boards[chosen], labels[chosen], epoch / schedule.epochs)
            optimiser.zero_grad()
            torch.autograd.backward(total)
            optimiser.step()
            pace.step()
            for name, part in parts.items():
                totals[name] = totals.get(name, 0.0) + part.item() * len(chosen) / len(boards)
    if not all(bool(torch.isfinite(weight).all()) for weight in model.state_dict().values()):
        raise InputError("the weights are no longer finite", where="training", fix="Use a smaller --learning-rate.")
    model.eval()
    return totals
