"""The doors to generators: samples of three sides from files, or a model that is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from graphgauge.core.door import CONFIDENCE, METRICS, PROTOCOL, SEED, Door, Input, Option

_EMPTY = Option("empty", Literal["1", "0"], "1", "The score of two empty samples.")
_DRAWS = Option("draws", int, 999, "Draws of tests, bootstraps and levels.", 1)
_SAVE = Option("save_samples", Path | None, None, "Write the samples of all sides (.npz).")
_FORMS = "(.npy bits, .json .g6 .s6 graphs, .smi molecules, .npz columns)"

DOORS = (
    Door(
        "",
        "Samples of a generator against real ones.",
        "graphgauge.generation.files:evaluate_files",
        inputs=(
            Input("real", f"Real samples {_FORMS}.", "file"),
            Input("generated", "Generated samples, all attempts.", "file"),
            Input("train", "The samples that the generator was trained on.", "file"),
            Input("column", "A further column, SIDE.NAME=FILE, such as generated.valid=v.npy.", "file", many="named"),
            Input(
                "samples",
                "All sides, as a model's --save-samples writes them.",
                "graphgauge.generation.sample:Sides.load",
            ),
        ),
        options=(
            Option("labels", tuple[str, ...] | None, None, "Names of the conditions, in the order of their codes."),
            Option("ordered", bool, False, "The conditions are in order."),
            Option("channels", tuple[str, ...] | None, None, "Names of the first axis of a sample."),
            Option(
                "threshold", float | None, None, "Reconstructions are probabilities; those above it are bits.", 0, 1
            ),
            _EMPTY,
            Option("adjacency", Literal["plain", "padded"] | None, None, "Arrays (n, N, N) are adjacency matrices."),
            Option("node_labels", tuple[str, ...] | None, None, "Attributes of nodes that are labels; empty: none."),
            Option("edge_labels", tuple[str, ...] | None, None, "Attributes of edges that are labels; empty: none."),
            _DRAWS,
        ),
        common=(METRICS, CONFIDENCE, SEED, PROTOCOL),
        example="graphgauge generation --real real.npy --generated generated.npy --train train.npy",
    ),
    Door(
        "model",
        "Ask a generator for samples of each condition, and evaluate its answers.",
        "graphgauge.generation.files:evaluate_model",
        inputs=(
            Input("subject", "MODULE:FACTORY that makes the generator.", "code", required=True),
            Input("checkpoint", "Handed to the factory.", "file"),
            Input("data", "Handed to the factory.", "file"),
            Input("classifier_checkpoint", "Handed to the factory.", "file"),
        ),
        options=(
            Option("num_samples", int, 100, "Attempts for each condition.", 1),
            Option("temperature", float, 1.0, "Handed to the generator.", 0, inside=True),
            Option("threshold", float, 0.5, "Probabilities above it are bits.", 0, 1),
            Option("cpu", bool, False, "Handed to the factory: keep the model off the GPU."),
            _EMPTY,
            _DRAWS,
            _SAVE,
        ),
        common=(METRICS, CONFIDENCE, SEED, PROTOCOL),
        progress=True,
        example="graphgauge generation model --subject model:load --checkpoint best.pt",
    ),
)
