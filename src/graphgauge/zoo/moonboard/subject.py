"""The trained system as a subject for `graphgauge generation`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphgauge.core.errors import InputError, OptionError
from graphgauge.generation.subjects import Case, Labelled
from graphgauge.zoo.moonboard.board import CHANNELS, statistics, valid
from graphgauge.zoo.moonboard.checkpoint import restore
from graphgauge.zoo.moonboard.data import held_out, unchecked
from graphgauge.zoo.moonboard.model import ConditionalVAE, GradeClassifier
from graphgauge.zoo.moonboard.problems import Problems
from graphgauge.zoo.moonboard.training import as_boards

_BATCH = 1024

Floats = NDArray[np.float32]
Codes = NDArray[np.int64]


class Moonboard:
    """A conditional VAE with all methods of a subject.

    A sample starts from the prior and is then encoded and decoded `refinements` times, with sampling at each step
    (Rezende et al. 2014). The prior has regions without training problems, from which the decoder generates incomplete
    problems; each step leads away from them.
    """

    channels = CHANNELS
    ordered = True

    def __init__(
        self, model: ConditionalVAE, grades: tuple[str, ...], *, device: str = "cpu", refinements: int = 4
    ) -> None:
        self.conditions = grades
        self._model, self._device, self._refinements = model, device, refinements

    def reconstruct(self, samples: Any, conditions: Any) -> Floats:
        def probabilities(boards: Tensor, labels: Tensor) -> Tensor:
            return _exclusive(torch.sigmoid(self._model.decode(self._model.encode(boards, labels)[0], labels)))

        return self._asked(probabilities, samples, conditions)

    def encode(self, samples: Any, conditions: Any) -> Floats:
        return self._asked(lambda boards, labels: self._model.encode(boards, labels)[0], samples, conditions)

    def generate(self, condition: int, n: int, *, temperature: float = 1.0, seed: int = 0) -> Floats:
        """Probabilities of n boards; `temperature` scales all noise in the latent space."""
        if not 0 <= condition < len(self.conditions):
            raise OptionError(f"there is no grade {condition}, only 0 to {len(self.conditions) - 1}", where="condition")
        if not 0 <= temperature < np.inf:
            raise OptionError(f"temperature must be at least 0, not {temperature}", where="temperature")
        # Noise is drawn on the host, so that a seed gives the same noise on every device.
        draw = torch.Generator().manual_seed(int(np.random.SeedSequence([seed, condition]).generate_state(1)[0]))

        def noise() -> Tensor:
            made = torch.randn(n, self._model.config.latent, generator=draw)
            return temperature * made.to(self._device)

        labels = torch.full((n,), condition, device=self._device)
        with torch.no_grad():
            boards = torch.sigmoid(self._model.decode(noise(), labels))
            for _ in range(self._refinements):
                drawn = torch.rand(boards.shape, generator=draw).to(self._device) < boards
                mean, log_variance = self._model.encode(drawn.float(), labels)
                boards = torch.sigmoid(self._model.decode(mean + noise() * (log_variance / 2).exp(), labels))
            found: Floats = _exclusive(boards).cpu().numpy()
        return found

    def validate(self, samples: Any) -> NDArray[np.bool_]:
        return valid(samples)

    def statistics(self, samples: Any) -> Mapping[str, NDArray[np.int64]]:
        return statistics(samples)

    def _asked(self, question: Any, samples: Any, conditions: Any) -> Floats:
        with torch.no_grad():
            parts = [
                question(as_boards(samples[part], self._device), torch.as_tensor(conditions[part]).to(self._device))
                for part in _parts(len(samples))
            ]
        return np.concatenate([part.cpu().numpy() for part in parts]) if parts else np.empty((0, 0), np.float32)


class MoonboardClassifier:
    def __init__(self, model: GradeClassifier, grades: tuple[str, ...], *, device: str = "cpu") -> None:
        self.conditions = grades
        self._model, self._device = model, device

    def predict(self, samples: Any) -> Codes:
        """The label of the most probable grade of each board."""
        with torch.no_grad():
            parts = [
                self._model(as_boards(samples[part], self._device)).argmax(1).cpu().numpy()
                for part in _parts(len(samples))
            ]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)


def load(
    content: Mapping[str, Any],
    *,
    data: str | None = None,
    classifier: Mapping[str, Any] | None = None,
    device: str = "cpu",
) -> Case:
    """The subject of a checkpoint with its held-out and training problems, and a classifier from another checkpoint."""
    generator = restore(content, "generator", device)
    held = held_out(generator.origin, generator.grades, data, str(content["path"]))
    subject = Moonboard(generator.model, generator.grades, device=device)
    train = None if held.train is None else _labelled(held.train)
    case = Case(subject, _labelled(held.problems), train, name="moonboard", seen=held.seen, notes=held.notes)
    if classifier is None:
        return case
    where = str(classifier["path"])
    judge = restore(classifier, "classifier", device)
    if judge.grades != generator.grades:
        raise InputError(
            f"has the grades {', '.join(judge.grades)}, but the generator has {', '.join(generator.grades)}",
            where=where,
            fix="Train both with the same --grades.",
        )
    case = replace(case, classifier=MoonboardClassifier(judge.model, judge.grades, device=device))
    if judge.origin.data_hash != generator.origin.data_hash:
        seen = judge.origin.seen
        notes = case.notes if seen is not None else (*case.notes, unchecked(where))
        return replace(case, classifier_seen=seen, notes=notes)
    judged = held_out(judge.origin, judge.grades, data, where)
    # The same problems in another split: problems held out from one were used to train the other.
    unseen = _labelled(judged.problems) if judge.origin != generator.origin else None
    notes = tuple(dict.fromkeys([*case.notes, *judged.notes]))
    return replace(case, classifier_data=unseen, classifier_seen=judged.seen, notes=notes)


def _labelled(problems: Problems) -> Labelled:
    return Labelled(problems.grids, problems.labels)


def _exclusive(probabilities: Tensor) -> Tensor:
    """Unset middle holds where a start or an end is more probable."""
    start, middle, end = probabilities.unbind(1)
    return torch.stack([start, torch.where(middle > torch.maximum(start, end), middle, 0.0), end], 1)


def _parts(count: int) -> Iterator[slice]:
    return (slice(first, first + _BATCH) for first in range(0, count, _BATCH))
