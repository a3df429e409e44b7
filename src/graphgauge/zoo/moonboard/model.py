"""A convolutional conditional VAE over boards, and a classifier of grades; both return logits."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphgauge.zoo.moonboard.board import SHAPE


@dataclass(frozen=True)
class GeneratorConfig:
    grades: int
    latent: int = 32
    width: int = 16
    hidden: int = 256
    embedding: int = 16


@dataclass(frozen=True)
class ClassifierConfig:
    grades: int
    width: int = 16
    hidden: int = 256


class ConditionalVAE(nn.Module):
    """A VAE whose encoder and decoder both receive an embedding of the grade."""

    def __init__(self, config: GeneratorConfig) -> None:
        super().__init__()
        self.config = config
        board = 2 * config.width * _HALF[0] * _HALF[1]
        self.grade = nn.Embedding(config.grades, config.embedding)
        self.board_in = _halved(config.width)
        self.posterior = nn.Sequential(
            *_normalised(nn.Linear(board + config.embedding, config.hidden), nn.BatchNorm1d(config.hidden)),
            nn.Linear(config.hidden, 2 * config.latent),
        )
        self.latent_in = nn.Sequential(
            *_normalised(nn.Linear(config.latent + config.embedding, config.hidden), nn.BatchNorm1d(config.hidden)),
            *_normalised(nn.Linear(config.hidden, board), nn.BatchNorm1d(board)),
            nn.Unflatten(1, (2 * config.width, *_HALF)),
        )
        doubled = nn.ConvTranspose2d(2 * config.width, config.width, 3, stride=2, padding=1, output_padding=(1, 0))
        self.board_out = nn.Sequential(
            *_normalised(doubled, nn.BatchNorm2d(config.width)), nn.Conv2d(config.width, SHAPE[0], 3, padding=1)
        )
        # Most cells are empty. Initialised accordingly, training does not spend its first steps on learning this.
        self.cells = nn.Parameter(torch.full(SHAPE, -4.0))

    def encode(self, boards: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance (n, latent) of the posterior."""
        mean, log_variance = self.posterior(torch.cat([self.board_in(boards), self.grade(labels)], 1)).chunk(2, 1)
        # Beyond these the variance is practically 0, or its exponential overflows.
        return mean, log_variance.clamp(-8, 4)

    def decode(self, latents: Tensor, labels: Tensor) -> Tensor:
        """Logits (n, channel, row, column)."""
        logits: Tensor = self.board_out(self.latent_in(torch.cat([latents, self.grade(labels)], 1))) + self.cells
        return logits


class GradeClassifier(nn.Module):
    def __init__(self, config: ClassifierConfig) -> None:
        super().__init__()
        self.config = config
        board = 2 * config.width * _HALF[0] * _HALF[1]
        self.layers = nn.Sequential(
            _halved(config.width),
            nn.Dropout(0.3),
            *_normalised(nn.Linear(board, config.hidden), nn.BatchNorm1d(config.hidden)),
            nn.Dropout(0.3),
            nn.Linear(config.hidden, config.grades),
        )

    def forward(self, boards: Tensor) -> Tensor:
        """Logits (n, grade)."""
        logits: Tensor = self.layers(boards)
        return logits


# Rows and columns after one convolution of stride 2.
_HALF = ((SHAPE[1] + 1) // 2, (SHAPE[2] + 1) // 2)


def _halved(width: int) -> nn.Sequential:
    """A board's features at half its resolution, flat."""
    first = nn.Conv2d(SHAPE[0], width, 3, padding=1, bias=False)
    second = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1, bias=False)
    return nn.Sequential(
        *_normalised(first, nn.BatchNorm2d(width)), *_normalised(second, nn.BatchNorm2d(2 * width)), nn.Flatten()
    )


def _normalised(layer: nn.Module, norm: nn.Module) -> tuple[nn.Module, nn.Module, nn.Module]:
    return layer, norm, nn.SiLU()
