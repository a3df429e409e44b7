"""Checkpoints: files that name a registered subject and contain only its weights and configuration."""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.generation.subjects import REGISTERED, Case

FORMAT = "graphgauge/checkpoint/1"
_PARTS: dict[str, type[Any]] = {"subject": str, "role": str, "config": dict, "weights": dict}


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """The content of a checkpoint: tensors and plain values. No code from the file is run.

    The path is added as `path`, for messages.
    """
    where = str(path)
    if not Path(path).is_file():
        raise InputError("no such file", where=where, fix="Train one with `graphgauge zoo NAME train`.")
    torch = need("torch", "reading a checkpoint")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a damaged file, which the error below reports
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged or hostile file may raise anything
        kind = type(error).__name__
        raise InputError(
            f"not a checkpoint of weights ({kind}); it was not run", where=where,
            fix="Checkpoints may contain only tensors and plain values, not code.",
        ) from None  # fmt: skip
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else type(content).__name__
        raise InputError(f"not a checkpoint: its format is {found!r:.80}", where=where, fix=f"Expected {FORMAT}.")
    absent = [name for name, kind in _PARTS.items() if not isinstance(content.get(name), kind)]
    if absent:
        raise InputError(f"the checkpoint lacks {' and '.join(absent)}", where=where, fix="Train it again.")
    if content["subject"] not in REGISTERED:
        known = ", ".join(REGISTERED)
        raise InputError(f"names the unknown subject {content['subject']!r:.80}", where=where, fix=f"Known: {known}.")
    return {**content, "path": where}


def open_checkpoint(
    path: str | Path, *, data: str | Path | None = None, classifier: str | Path | None = None, device: str = "cpu"
) -> Case:
    """The subject of a checkpoint, with its data and a classifier from a second checkpoint."""
    content = read_checkpoint(path)
    judge = None if classifier is None else read_checkpoint(classifier)
    if judge is not None and judge["subject"] != content["subject"]:
        raise InputError(f"classifies {judge['subject']}, not {content['subject']}", where=str(classifier))
    module, _, name = REGISTERED[content["subject"]].partition(":")
    load = getattr(import_module(module), name)
    case: Case = load(content, data=None if data is None else str(data), classifier=judge, device=device)
    return case


def best_device(cpu: bool) -> str:
    """The device a model runs on: the accelerator if there is one and it is allowed."""
    if cpu:
        return "cpu"
    return "cuda" if need("torch", "running a model").cuda.is_available() else "cpu"
