"""Counting on a CUDA device: equal to the host, timed against one read of the scores there, and merged over NCCL.

Run by hand on a machine with a CUDA device: `python benchmarks/cuda_check.py benchmarks/results/cuda.md`.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from graphgauge.engines.distributed import merged
from graphgauge.kernels.device import counted as device_counted
from graphgauge.kernels.device_distances import energy_distance, silhouettes
from graphgauge.kernels.device_tails import pool_sums
from graphgauge.kernels.silhouette import silhouettes as host_silhouettes
from graphgauge.ranking import RankingState, evaluate, rank_all, roc_auc


def seconds(work, repeats: int = 20) -> float:
    """The median time on the host's clock, until the device is done."""
    times = []
    for _ in range(repeats + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def on_device(work, repeats: int = 20) -> float:
    """The median time in milliseconds by events of the device, of ten calls in a row: it never waits for the host."""
    work()
    times = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(10):
            work()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 10)
    return statistics.median(times)


def everything(evaluation) -> list:
    read = [(evaluation[key].value, evaluation[key].interval, evaluation[key].chance) for key in evaluation]
    return [*read, *evaluation.findings]


def among_all_entities(queries: int = 10_000, entities: int = 10_000_000, width: int = 128) -> list[str]:
    """Ranks of right answers by dot products, 50 known answers per query left out; random and good embeddings."""
    rng = np.random.default_rng(0)
    small = [torch.randn(rows, width, device="cuda") for rows in (1000, 50_000)]
    small[1][20_000:30_000] = small[1][:10_000]
    targets = rng.integers(0, 50_000, 1000)
    expected = rank_all(*(rows.cpu().numpy() for rows in small), targets).evaluate()
    for precision in ("full", "tf32", "bf16"):
        found = rank_all(*small, targets, precision=precision).evaluate()
        assert {key: found[key].value for key in found} == {key: expected[key].value for key in expected}, precision
    table = torch.randn(entities, width, device="cuda")
    targets = rng.integers(0, entities, queries)
    known = rng.integers(0, entities, queries * 50), np.arange(queries + 1) * 50
    work = 2 * queries * entities * width / 1e12
    block = torch.empty(queries, 13_312, device="cuda")
    noise = torch.randn(queries, width, device="cuda")
    product = on_device(lambda: torch.mm(noise, table[:13_312].T, out=block))
    rate = 2 * queries * 13_312 * width / product / 1e9
    lines = [
        f"`rank_all` by dot products, {queries:,} queries × {entities:,} entities × {width}, float32, 50 known answers "
        f"left out. The float32 product alone, in blocks of this shape: {rate:.1f} TFLOP/s.",
        "",
        "| embeddings | precision | seconds | TFLOP/s | share of the product's rate | extra memory |",
        "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for name, rows in (("random", noise), ("good", noise + 0.45 * table[torch.as_tensor(targets, device="cuda")])):
        for precision in ("full", "tf32", "bf16"):
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            took = seconds(lambda rows=rows, precision=precision: rank_all(
                rows, table, targets, known=known, precision=precision), 4)  # fmt: skip
            extra = torch.cuda.max_memory_allocated() - before
            reached = work / took
            cells = [name, precision, f"{took:.2f}", f"{reached:.1f}", f"{reached / rate:.0%}", f"{extra / 1e9:.2f} GB"]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def extra_memory(work) -> int:
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work()
    return torch.cuda.max_memory_allocated() - before


def pools(scores: int = 100_000_000) -> list[str]:
    """ROC-AUC and average precision of pools of scores, beside one sort of the scores."""
    lines = [
        f"ROC-AUC and average precision of {scores / 1e6:.0f}M float32 scores, exact with ties.",
        "",
        "| positives | AUC and AP | one sort of all scores | extra memory |",
        "|---|---|---|---|",
    ]
    for positives in (scores // 100, scores // 10, scores // 2):
        pos, neg = torch.randn(positives, device="cuda") + 0.5, torch.randn(scores - positives, device="cuda")
        part = pos[:100_000], neg[:1_000_000]
        assert roc_auc(*part) == roc_auc(*(side.cpu().numpy() for side in part))
        both = torch.cat([pos, neg])
        sort = seconds(lambda both=both: both.sort())
        del both
        took, extra = (measure(lambda pos=pos, neg=neg: pool_sums(pos, neg)) for measure in (seconds, extra_memory))
        lines.append(f"| {positives:,} | {took * 1e3:.1f} ms | {sort * 1e3:.1f} ms | {extra / 1e9:.2f} GB |")
    return lines


def distances(width: int = 64) -> list[str]:
    """All distances between points, in tiles."""
    rng = np.random.default_rng(0)
    points, others = torch.randn(200_000, width, device="cuda"), torch.randn(100_000, width, device="cuda")
    labels = rng.integers(0, 20, len(points))
    few = slice(0, 2000)
    np.testing.assert_allclose(
        silhouettes(points[few], labels[few]), host_silhouettes(points[few].cpu().numpy(), labels[few]), rtol=1e-8
    )
    works = {
        "silhouettes of 200,000 points in 20 clusters": lambda: silhouettes(points, labels),
        "energy distance of 100,000 and 100,000 points": lambda: energy_distance(points[:100_000], others),
    }
    lines = [f"Euclidean distances of points of width {width}, in float64.", "", "| work | seconds | extra memory |",
             "|---|---|---|"]  # fmt: skip
    for name, work in works.items():
        lines.append(f"| {name} | {seconds(work, 3):.2f} | {extra_memory(work) / 1e9:.2f} GB |")
    return lines


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
    where = f"{torch.cuda.get_device_name()}, torch {torch.__version__}, NumPy {np.__version__}"
    columns = "| queries × negatives, float32 | counts | evaluation, all read | one sum | extra memory |"
    lines = ["# CUDA", "", f"Scores on the device: {where}. Medians of 20.", "", columns, "|---|---|---|---|---|"]
    for rows, width in ((1_000_000, 100), (100_000, 1000), (5_000, 50_000)):
        pos, neg = torch.rand(rows, device="cuda"), torch.rand(rows, width, device="cuda")
        read, counts = (on_device(work) for work in (neg.sum, lambda pos=pos, neg=neg: device_counted(pos, neg)))
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        whole = seconds(lambda pos=pos, neg=neg: everything(evaluate(pos, neg)))
        extra = torch.cuda.max_memory_allocated() - before
        times = f"{counts:.3f} ms ({counts / read:.2f} ×) | {whole * 1e3:.1f} ms | {read:.3f} ms"
        lines.append(f"| {rows:,} × {width:,} | {times} | {extra / 1e6:.0f} MB |")
    lines += ["", *pools(), "", *distances(), "", *among_all_entities()]
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group("nccl", init_method=f"file://{folder}/store", rank=0, world_size=1)
        counted = RankingState().update(torch.rand(500, device="cuda"), torch.rand(500, 40, device="cuda"))
        assert merged(counted).evaluate().to_flat() == counted.evaluate().to_flat()
        torch.distributed.destroy_process_group()
        print("a state is sent over NCCL (one process)")
    text = "\n".join(lines) + "\n"
    print(text)
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
