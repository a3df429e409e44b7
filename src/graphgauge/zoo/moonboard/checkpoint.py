"""Checkpoints: weights, their configuration, the grades of the labels, and the origin of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import nn

from graphgauge.core.errors import InputError
from graphgauge.core.files import atomic_path
from graphgauge.generation.subjects import FORMAT
from graphgauge.zoo.moonboard.board import GRADES
from graphgauge.zoo.moonboard.data import Origin
from graphgauge.zoo.moonboard.model import ClassifierConfig, ConditionalVAE, GeneratorConfig, GradeClassifier

_ROLES: dict[str, tuple[type[Any], type[Any]]] = {
    "generator": (GeneratorConfig, ConditionalVAE),
    "classifier": (ClassifierConfig, GradeClassifier),
}
# No layer is larger than this; larger values in a file would exhaust the memory.
_LARGEST = 4096


@dataclass(frozen=True)
class Restored:
    model: Any
    grades: tuple[str, ...]
    origin: Origin


def save_checkpoint(
    path: str | Path, model: Any, *, grades: Sequence[str], origin: Origin, training: Mapping[str, Any]
) -> None:
    role = next(role for role, (_, kind) in _ROLES.items() if isinstance(model, kind))
    content = {
        "format": FORMAT,
        "subject": "moonboard",
        "role": role,
        "config": asdict(model.config),
        "weights": {name: weight.cpu() for name, weight in model.state_dict().items()},
        "label_to_grade": dict(enumerate(grades)),
        "training": dict(training),
        **origin.to_dict(),
    }
    if origin.seen is not None:
        content["train_hashes"] = torch.tensor(origin.seen)
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        torch.save(content, stream)


def restore(content: Mapping[str, Any], role: str, device: str = "cpu") -> Restored:
    """The model from a checkpoint's content, as returned by `read_checkpoint`."""
    where = str(content["path"])
    if content["role"] != role:
        command = {"generator": "train", "classifier": "train-classifier"}[role]
        raise InputError(
            f"is a {content['role']}, not a {role}", where=where, fix=f"Use `graphgauge zoo moonboard {command}`."
        )
    grades = _grades(content.get("label_to_grade"), where)
    config_type, model_type = _ROLES[role]
    config = _config(config_type, content["config"], where)
    if config.grades != len(grades):
        raise InputError(f"has {len(grades)} grades, but {config.grades} in its configuration", where=where)
    model = model_type(config)
    _fill(model, content["weights"], config, where)
    hashes = content.get("train_hashes")
    if isinstance(hashes, torch.Tensor) and hashes.dtype == torch.uint8:
        content = {**content, "train_hashes": hashes.numpy().tobytes()}
    return Restored(model.to(device).eval(), grades, Origin.read(content, where))


def _grades(mapping: Any, where: str) -> tuple[str, ...]:
    names = [mapping.get(label) for label in range(len(mapping))] if isinstance(mapping, Mapping) else []
    if not names or names != [grade for grade in GRADES if grade in names]:
        raise InputError("has no valid grades for its labels", where=where, fix="Train it again.")
    return tuple(names)


def _config(kind: type[Any], values: Any, where: str) -> Any:
    names = [field.name for field in fields(kind)]
    if not isinstance(values, Mapping) or sorted(values) != sorted(names):
        raise InputError(f"its configuration must have exactly {', '.join(names)}", where=where)
    for name, value in values.items():
        if type(value) is not int or not 0 < value <= _LARGEST:
            raise InputError(f"{name} is {value!r:.40}, not a whole number from 1 to {_LARGEST}", where=where)
    return kind(**values)


def _fill(model: nn.Module, weights: Any, config: Any, where: str) -> None:
    expected = model.state_dict()
    if not isinstance(weights, Mapping) or not all(isinstance(value, torch.Tensor) for value in weights.values()):
        raise InputError("its weights are not named tensors", where=where)
    wrong = [name for name in expected if name not in weights or weights[name].shape != expected[name].shape]
    if wrong or len(weights) != len(expected):
        raise InputError(f"{_misfit(expected, weights, wrong, config)}", where=where, fix="Train it again.")
    if not all(bool(torch.isfinite(value).all()) for value in weights.values()):
        raise InputError("some weights are NaN or infinite", where=where, fix="Train it again with a smaller rate.")
    model.load_state_dict(weights)


def _misfit(expected: Mapping[str, Any], weights: Mapping[str, Any], wrong: list[str], config: Any) -> str:
    posterior = weights.get("posterior.3.weight")
    if isinstance(config, GeneratorConfig) and posterior is not None and len(posterior) != 2 * config.latent:
        return f"its configuration says latent size {config.latent}, its weights have {len(posterior) // 2}"
    if not wrong:
        return f"it has weights that the model lacks: {', '.join(sorted(set(weights) - set(expected)))[:200]}"
    found = tuple(weights[wrong[0]].shape) if wrong[0] in weights else "none"
    return f"{wrong[0]} should have the shape {tuple(expected[wrong[0]].shape)}, found {found}"
