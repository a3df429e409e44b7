"""Reproducible training from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int, device: str = "cpu") -> Iterator[None]:
    """Within this block torch draws from a seed, on one thread; its previous state is restored afterwards.

    With more threads, sums are taken in a different order, so a seed would give other weights on another machine. On
    networks this small, more threads save almost no time.
    """
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[] if device == "cpu" else range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
