"""Runs of several conditions and seeds, logged cycle by cycle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.files import atomic_path, write_text
from graphgauge.core.options import whole_number
from graphgauge.core.schema import dumps
from graphgauge.evolution import EvolutionLog
from graphgauge.zoo.zaratustra.data import GraphData
from graphgauge.zoo.zaratustra.engine import RULES, Growth, Settings, Zaratustra

_SETTINGS = "settings.json"


def grow(
    data: GraphData,
    settings: Settings,
    conditions: Sequence[str],
    cycles: int,
    seeds: int,
    folder: str | Path,
    rules: Mapping[str, Growth] = RULES,
) -> Iterator[tuple[str, int, int]]:
    """Run every condition with every seed; yields (condition, seed, cycle) once a cycle is in the log."""
    if not conditions:
        raise OptionError("conditions is empty", fix=f"Known: {', '.join(rules)}.")
    for condition in conditions:
        one_of("condition", condition, tuple(rules))
    cycles, seeds = whole_number("cycles", cycles, 0), whole_number("seeds", seeds, 0)
    log = EvolutionLog(folder)
    _hold_settings(settings, log)
    for condition in conditions:
        for seed in range(seeds):
            engine = Zaratustra(data, settings, seed=seed, rules=rules)
            _write_settings(settings, log)
            log.begin(condition, seed, edges=data.edges, embeddings=engine.embeddings)
            _hold_start(log, condition, seed, engine)
            for done in log.cycles(condition, seed):
                if done.cycle >= cycles:
                    break
                assert done.new_edges is not None  # written by this engine, as cycles
                engine.replay(done.new_edges, done.embeddings, done.tgc)
                yield condition, seed, done.cycle
            while engine.cycle < cycles:
                cycle = engine.cycle
                births = engine.step(condition)
                log.append_cycle(
                    condition,
                    seed,
                    cycle,
                    embeddings=engine.embeddings,
                    new_edges=births,
                    tgc=engine.compute_tgc(),
                    pools=engine.pools,
                )
                yield condition, seed, cycle


def write_labels(data: GraphData, folder: Path) -> Path:
    """Write the labels of the original nodes into the log's folder."""
    path = folder / "labels.npy"
    with atomic_path(path) as temporary:
        np.save(temporary, data.labels, allow_pickle=False)
    return path


def _hold_settings(settings: Settings, log: EvolutionLog) -> None:
    """All runs in a folder must have the same settings; those that came later have their defaults in older runs."""
    stored = stored_settings(log)
    if stored is not None and log.runs and stored != settings:
        raise InputError("contains runs with different settings", where=str(log.folder), fix="Choose another --output.")


def _write_settings(settings: Settings, log: EvolutionLog) -> None:
    """Once the engine has accepted the data, so that a first run that fails leaves nothing behind."""
    if stored_settings(log) != settings:
        write_text(log.folder / _SETTINGS, dumps({"engine": "zaratustra", **asdict(settings)}))


def stored_settings(log: EvolutionLog) -> Settings | None:
    """The settings of the runs in a folder, if the engine wrote them."""
    path = log.folder / _SETTINGS
    if not path.exists():
        return None
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return Settings(**{name: value for name, value in stored.items() if name != "engine"})
    except (ValueError, TypeError, AttributeError, OptionError) as error:
        raise InputError(f"is not a file of settings: {error}", where=str(path), fix="Choose another folder.") from None


def _hold_start(log: EvolutionLog, condition: str, seed: int, engine: Zaratustra) -> None:
    """A run must resume from the graph it started with; embeddings may differ by rounding on another machine."""
    edges, embeddings = log.start(condition, seed) or (engine.edges, engine.embeddings)
    same = np.array_equal(edges, engine.edges) and embeddings.shape == engine.embeddings.shape
    if not same or not np.allclose(embeddings, engine.embeddings, rtol=0, atol=1e-6):
        raise InputError(
            f"{condition}, seed {seed}, started from a different graph",
            where=str(log.folder),
            fix="Choose another --output.",
        )
