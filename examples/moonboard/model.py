"""A conditional VAE over boards, a classifier of grades, their training, and their files of weights."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import torch
from board import CHANNELS, SHAPE, Problems, statistics, valid
from torch import Tensor, nn

CELLS = math.prod(SHAPE)


class VAE(nn.Module):
    """Encoder and decoder both see the grade."""

    def __init__(self, grades: int, latent: int = 24, hidden: int = 256) -> None:
        super().__init__()
        self.sizes = {"grades": grades, "latent": latent, "hidden": hidden}
        self.encoder = nn.Sequential(
            nn.Linear(CELLS + grades, hidden),
            nn.SiLU(),
            nn.Linear(hidden, hidden),
            nn.SiLU(),
            nn.Linear(hidden, 2 * latent),
        )
        self.decoder = nn.Sequential(
            nn.Linear(latent + grades, hidden),
            nn.SiLU(),
            nn.Linear(hidden, hidden),
            nn.SiLU(),
            nn.Linear(hidden, CELLS),
        )
        nn.init.constant_(self.decoder[-1].bias, -4.0)  # most cells are empty

    def encode(self, boards: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance (n, latent) of the posterior."""
        mean, log_variance = self.encoder(torch.cat([boards.flatten(1), self._one_hot(labels)], 1)).chunk(2, 1)
        return mean, log_variance.clamp(-8, 4)

    def decode(self, latents: Tensor, labels: Tensor) -> Tensor:
        """Logits (n, channel, row, column)."""
        return self.decoder(torch.cat([latents, self._one_hot(labels)], 1)).unflatten(1, SHAPE)

    def loss(self, boards: Tensor, labels: Tensor, progress: float) -> Tensor:
        mean, log_variance = self.encode(boards, labels)
        logits = self.decode(mean + torch.randn_like(mean) * (log_variance / 2).exp(), labels)
        cells = nn.functional.binary_cross_entropy_with_logits(logits, boards, reduction="sum")
        divergence = (mean**2 + log_variance.exp() - 1 - log_variance).sum() / 2
        # The weight of the divergence grows: at full weight from the start the latents would stay unused.
        return (cells + 0.3 * min(1.0, 2 * progress) * divergence) / len(boards)

    def _one_hot(self, labels: Tensor) -> Tensor:
        return nn.functional.one_hot(labels, self.sizes["grades"]).float()


class Classifier(nn.Module):
    def __init__(self, grades: int, hidden: int = 256) -> None:
        super().__init__()
        self.sizes = {"grades": grades, "hidden": hidden}
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(CELLS, hidden), nn.SiLU(), nn.Dropout(0.5), nn.Linear(hidden, grades)
        )

    def loss(self, boards: Tensor, labels: Tensor, progress: float) -> Tensor:
        return nn.functional.cross_entropy(self.layers(boards), labels)

    @torch.no_grad()
    def predict(self, samples: Any) -> np.ndarray:
        """The label of the most probable grade of each board."""
        device = next(self.parameters()).device
        found: np.ndarray = self.layers(_tensor(samples, device)).argmax(1).cpu().numpy()
        return found


class Generator:
    """A trained VAE as a subject of graphgauge."""

    channels, ordered = CHANNELS, True

    def __init__(self, model: VAE, grades: tuple[str, ...]) -> None:
        self.model, self.conditions = model, grades
        self.device = next(model.parameters()).device

    @torch.no_grad()
    def encode(self, samples: Any, conditions: Any) -> np.ndarray:
        labels = torch.as_tensor(np.array(conditions), device=self.device)
        found: np.ndarray = self.model.encode(_tensor(samples, self.device), labels)[0].cpu().numpy()
        return found

    @torch.no_grad()
    def reconstruct(self, samples: Any, conditions: Any) -> np.ndarray:
        labels = torch.as_tensor(np.array(conditions), device=self.device)
        return self._boards(self.model.encode(_tensor(samples, self.device), labels)[0], labels)

    @torch.no_grad()
    def generate(self, condition: int, n: int, *, temperature: float = 1.0, seed: int = 0) -> np.ndarray:
        """All attempts, valid or not. The noise is drawn on the host: a seed gives the same on every device."""
        draw = torch.Generator().manual_seed(seed * 1000 + condition)
        labels = torch.full((n,), condition, device=self.device)
        noise = temperature * torch.randn(n, self.model.sizes["latent"], generator=draw)
        return self._boards(noise.to(self.device), labels)

    def validate(self, samples: Any) -> np.ndarray:
        return valid(samples)

    def statistics(self, samples: Any) -> dict[str, np.ndarray]:
        return statistics(samples)

    def _boards(self, latents: Tensor, labels: Tensor) -> np.ndarray:
        """Probabilities of holds."""
        found: np.ndarray = torch.sigmoid(self.model.decode(latents, labels)).cpu().numpy()
        return found


def train(model: Any, problems: Problems, *, epochs: int, seed: int, rate: float = 3e-3, batch: int = 64) -> float:
    """Train a model on its own `loss`; returns the mean loss of the last epoch."""
    device = next(model.parameters()).device
    boards, labels = _tensor(problems.grids, device), torch.as_tensor(problems.labels, device=device)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    draw = torch.Generator().manual_seed(seed)
    last = math.nan
    model.train()
    for epoch in range(epochs):
        losses = []
        for chosen in torch.randperm(len(boards), generator=draw).to(device).split(batch):
            loss = model.loss(boards[chosen], labels[chosen], epoch / epochs)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        last = float(np.mean(losses))
    model.eval()
    return last


def save(path: Path, model: Any, grades: tuple[str, ...], origin: dict[str, Any]) -> None:
    """Sizes, weights, the names of the grades, and where the data come from."""
    path.parent.mkdir(parents=True, exist_ok=True)
    weights = {name: weight.cpu() for name, weight in model.state_dict().items()}
    torch.save({"sizes": model.sizes, "weights": weights, "grades": list(grades), "origin": origin}, path)


def load(path: Path, kind: type[Any], device: str) -> tuple[Any, tuple[str, ...], dict[str, Any]]:
    """A model, the names of its grades and its origin. No code from the file is run."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise ValueError(f"{path} has more than weights and plain values in it, and was not run") from None
    try:
        model = kind(**content["sizes"])
        model.load_state_dict(content["weights"])
    except (TypeError, KeyError, RuntimeError):
        raise ValueError(f"{path} is no checkpoint of a {kind.__name__}") from None
    return model.to(device).eval(), tuple(content["grades"]), content["origin"]


def _tensor(samples: Any, device: Any) -> Tensor:
    return torch.as_tensor(np.array(samples, dtype=np.float32), device=device)
