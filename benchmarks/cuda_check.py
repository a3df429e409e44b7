"""Counting on a CUDA device: equal to the host, how fast against one read of the scores there, and merged over NCCL.

Run by hand on a machine with a CUDA device: `python benchmarks/cuda_check.py`.
"""

from __future__ import annotations

import tempfile
import time

import numpy as np
import torch

from graphgauge.engines.distributed import merged
from graphgauge.ranking import RankingState, evaluate


def seconds(work, repeats: int = 5) -> float:
    best = float("inf")
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        pos = torch.randn(2000, generator=generator).to(dtype)
        neg = torch.randn(2000, 333, generator=generator).to(dtype)
        host, device = evaluate(pos, neg), evaluate(pos.cuda(), neg.cuda())
        assert host.to_flat() == device.to_flat(), dtype
        neg[3, 5] = float("nan")
        dropped = evaluate(pos.cuda(), neg.cuda(), nan="omit")
        assert dropped.notes == evaluate(pos, neg, nan="omit").notes, dtype
        print(f"{dtype}: device equals host, mrr {host['mrr'].value:.6f}")
    for rows, width in ((1_000_000, 100), (100_000, 1000), (5_000, 50_000)):
        pos, neg = torch.rand(rows, device="cuda"), torch.rand(rows, width, device="cuda")
        read = seconds(lambda neg=neg: neg.sum())
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        whole = seconds(lambda pos=pos, neg=neg: RankingState().update(pos, neg).evaluate())
        extra = torch.cuda.max_memory_allocated() - before
        times = f"{whole * 1e3:.1f} ms, one read {read * 1e3:.2f} ms"
        print(f"{rows} x {width}: {times}, {extra / 1e6:.0f} MB more on the device")
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group("nccl", init_method=f"file://{folder}/store", rank=0, world_size=1)
        counted = RankingState().update(torch.rand(500, device="cuda"), torch.rand(500, 40, device="cuda"))
        assert merged(counted).evaluate().to_flat() == counted.evaluate().to_flat()
        torch.distributed.destroy_process_group()
        print("a state travels over NCCL (one process)")
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "numpy", np.__version__)


if __name__ == "__main__":
    main()
