"""Everything that is computed on a CUDA device: equal to the host, and timed against what the device allows.

Run by hand on a machine with a CUDA device: `python benchmarks/gpu.py --write benchmarks/results/cuda.md`, or
`make gpu`. `--only flat,forecasts` runs some sections, `--small` all of them with little data.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from graphgauge import evolution, forecasting, generation, ranking
from graphgauge.engines.distributed import merged
from graphgauge.kernels.counting import masked_counts, ragged_counts
from graphgauge.kernels.device import counted as device_counted
from graphgauge.kernels.device import device_counts
from graphgauge.kernels.device_distances import silhouettes
from graphgauge.kernels.device_tails import pool_sums
from graphgauge.kernels.silhouette import silhouettes as host_silhouettes
from graphgauge.ranking import RankingState, rank_all, roc_auc

SIX = ("mrr_first", "hit_ratio", "precision", "recall", "map", "ndcg")
PYG = ("MRR", "HitRatio", "Precision", "Recall", "MAP", "NDCG")


class Row(NamedTuple):
    """One line of the table; times in seconds. The limit is the least time that its bytes or operations need."""

    work: str
    took: float
    limit: float
    limited_by: str
    goal: str = ""
    met: bool | None = None
    others: str = ""


class Device:
    """How fast this device reads and multiplies, and how long a piece of work takes on it."""

    def __init__(self, small: bool) -> None:
        self.scale = 50 if small else 1
        self.name = f"{torch.cuda.get_device_name()}, torch {torch.__version__}, NumPy {np.__version__}"

    def events(self, work: Callable[[], Any], repeats: int = 20, together: int = 5) -> float:
        """The median time by events of the device, of several calls in a row, which do not wait for the host."""
        work()
        times = []
        for _ in range(repeats):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(together):
                work()
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end) / together / 1e3)
        return statistics.median(times)

    def seconds(self, work: Callable[[], Any], repeats: int = 20) -> float:
        """The median time on the host's clock, until the device is done."""
        times = []
        for _ in range(repeats + 1):
            torch.cuda.synchronize()
            start = time.perf_counter()
            work()
            torch.cuda.synchronize()
            times.append(time.perf_counter() - start)
        return statistics.median(times[1:])

    def first_and_others(self, work: Callable[[], Any]) -> tuple[float, float]:
        """The time of the first call, which may compile kernels, and the median of others."""
        start = time.perf_counter()
        work()
        return time.perf_counter() - start, self.seconds(work)

    def extra_memory(self, work: Callable[[], Any]) -> int:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        return int(torch.cuda.max_memory_allocated() - before)

    @cached_property
    def bytes_per_second(self) -> float:
        many = torch.rand(1 << 29, device="cuda")
        return many.nbytes / self.events(many.sum)

    def reading(self, *tensors: Any) -> float:
        return float(sum(each.nbytes for each in tensors) / self.bytes_per_second)


def read(evaluation: Any) -> list[Any]:
    """Every value with its interval and chance levels, and the findings."""
    found = [(evaluation[key].value, evaluation[key].interval, evaluation[key].chance) for key in evaluation]
    return [*found, *evaluation.findings]


def values(evaluation: Any) -> list[float]:
    return [result.value for result in evaluation.values()]


# ---------------------------------------------------------------------- counts


def counts(device: Device) -> Iterator[Row]:
    """Positives with their negatives."""
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        pos = torch.randn(2000, generator=generator).to(dtype)
        neg = torch.randn(2000, 333, generator=generator).to(dtype)
        assert ranking.evaluate(pos, neg).to_flat() == ranking.evaluate(pos.cuda(), neg.cuda()).to_flat(), dtype
        neg[3, 5] = float("nan")
        dropped = ranking.evaluate(pos.cuda(), neg.cuda(), nan="omit")
        assert dropped.notes == ranking.evaluate(pos, neg, nan="omit").notes, dtype
    for rows, width, most in ((1_000_000, 100, 1.4), (100_000, 1000, 1.3), (5_000, 50_000, 1.1)):
        pos, neg = (
            torch.rand(rows // device.scale, device="cuda"),
            torch.rand(rows // device.scale, width, device="cuda"),
        )
        sum_, counted = device.events(neg.sum), device.events(partial(device_counted, pos, neg))
        name = f"{len(pos):,} × {width:,} float32"
        yield Row(f"counts, {name}", counted, sum_, "bytes", f"≤ {most} × one sum", counted <= most * sum_)
        first, whole = device.first_and_others(lambda pos=pos, neg=neg: read(ranking.evaluate(pos, neg)))
        yield Row(
            f"evaluation with everything read, {name}",
            whole,
            sum_,
            "the host's intervals",
            "≤ counts + 2 ms",
            whole <= counted + 2e-3,
            f"first call {shown(first)}",
        )
    rows, width = 1_000_000 // device.scale, 100
    pos, neg = torch.rand(rows, device="cuda"), torch.rand(rows, width, device="cuda")
    valid = torch.rand(rows, width, device="cuda") < 0.7
    lengths = torch.randint(1, 2 * width, (rows,), generator=generator)
    offsets = np.append(0, lengths.cumsum(0).numpy())
    flat = torch.rand(int(offsets[-1]), device="cuda")
    few, some = slice(0, 200), offsets[:201]
    host = masked_counts(*(each[few].cpu().numpy() for each in (pos, neg, valid)))
    assert all(map(np.array_equal, device_counts(pos[few], neg[few], valid=valid[few]), host))
    host = ragged_counts(pos[few].cpu().numpy(), flat[: some[-1]].cpu().numpy(), some)
    assert all(map(np.array_equal, device_counts(pos[few], flat[: some[-1]], offsets=some), host))
    for name, given, options in (("masked", neg, {"valid": valid}), ("ragged", flat, {"offsets": offsets})):
        took = device.seconds(partial(device_counts, pos, given, **options))
        yield Row(
            f"counts of each row copied, {rows:,} × about {width}, {name}",
            took,
            device.reading(given, *([valid] if name == "masked" else [])),
            "bytes; the copy",
        )


def large(device: Device) -> Iterator[Row]:
    """More than 2**31 elements: compared with the same in parts."""
    rows, width = (44_000 // device.scale, 50_000)
    pos, neg = torch.rand(rows, device="cuda").half(), torch.rand(rows, width, device="cuda", dtype=torch.float16)
    took = device.events(partial(device_counted, pos, neg), 5)
    whole = device_counted(pos, neg)
    halves = [device_counted(pos[part], neg[part]) for part in (slice(0, rows // 2), slice(rows // 2, rows))]
    assert all(torch.equal(one, torch.cat(parts)) for one, parts in zip(whole, zip(*halves, strict=True), strict=True))
    block = neg[-7:].float()
    assert torch.equal(whole[0][-7:], (block > pos[-7:, None].float()).sum(1).int())
    yield Row(f"counts, {rows:,} × {width:,} float16", took, device.reading(neg), "bytes")
    flat, labels = neg.view(-1), torch.zeros(neg.numel(), dtype=torch.bool, device="cuda")
    labels[torch.arange(rows, device="cuda") * width + width - 1] = True
    queries = torch.arange(rows, dtype=torch.int32, device="cuda").repeat_interleave(width)
    found = ranking.evaluate(scores=flat, labels=labels, queries=queries, metrics=["mrr"])
    above, tied, _ = device_counted(neg[:, -1], neg[:, :-1])
    assert abs(found["mrr"].value - float((1 / (1 + above.double() + tied.double() / 2)).mean())) < 1e-12
    del labels, queries
    mean = flat.flip(0)
    parts = zip(mean.split(1 << 27), flat.split(1 << 27), strict=True)
    error = sum(float((one.double() - other.double()).abs().sum()) for one, other in parts) / len(flat)
    series = forecasting.evaluate(flat, mean, axes=("time",), metrics=["mae"])
    assert abs(series["mae"].value / error - 1) < 1e-9
    print(f"flat lists and a series of {len(flat):,} elements are right")


def flat(device: Device) -> Iterator[Row]:
    """Candidate lists with many positives, as recommenders have them."""
    users = items = 20_000 // int(device.scale**0.5)
    torch.manual_seed(0)
    scores = torch.rand(users, items, device="cuda")
    relevant = torch.zeros(users, items, dtype=torch.bool, device="cuda")
    relevant.scatter_(1, torch.rand(users, items, device="cuda").topk(50, dim=1).indices, True)
    scores += 0.1 * relevant
    queries = torch.arange(users, device="cuda").repeat_interleave(items)
    given = {"scores": scores.view(-1), "labels": relevant.view(-1), "queries": queries}
    some = {name: tensor[: 300 * items] for name, tensor in given.items()}
    keys = [f"{name}@{k}" for name in SIX for k in (1, 3, 10)]
    host = ranking.evaluate(**{name: tensor.cpu() for name, tensor in some.items()}, metrics=keys)
    assert ranking.evaluate(**some, metrics=keys).to_flat() == host.to_flat()
    least, name = device.reading(*given.values()), f"flat, {users:,} users × {items:,} items, 50 positives each"
    others, peer = "", None
    if find_spec("torch_geometric"):
        from torch_geometric.metrics import link_pred

        def pyg() -> dict[str, float]:
            metrics = link_pred.LinkPredMetricCollection(
                [getattr(link_pred, f"LinkPred{name}")(k) for name in PYG for k in (1, 3, 10)]
            ).to("cuda")
            metrics.update(scores.topk(10, dim=1).indices, relevant.nonzero().T)
            return {key: float(value) for key, value in metrics.compute().items()}

        found = ranking.evaluate(**given, metrics=keys)
        theirs = pyg()
        for ours, other in zip(SIX, PYG, strict=True):
            for k in (1, 3, 10):
                assert abs(found[f"{ours}@{k}"].value - theirs[f"LinkPred{other}@{k}"]) < 1e-4, (ours, k)
        peer = device.seconds(pyg)
        others = f"PyG {shown(peer)}"
    if find_spec("torchmetrics"):
        from torchmetrics.retrieval import RetrievalMRR

        def torchmetrics() -> float:
            metric = RetrievalMRR()
            metric.update(some["scores"], some["labels"], indexes=some["queries"])
            return float(metric.compute())

        others += f"{', ' if others else ''}torchmetrics, MRR of 300 users, {shown(device.seconds(torchmetrics, 3))}"
    took = device.seconds(lambda: values(ranking.evaluate(**given, metrics=keys)))
    met = None if peer is None else took <= peer / 20
    yield Row(f"{name}, the 18 values of PyG", took, least, "bytes; comparisons", "≥ 20 × as fast as PyG", met, others)
    whole = device.seconds(lambda: read(ranking.evaluate(**given)), 3)
    yield Row(f"{name}, everything read", whole, least, "the host's intervals of all positives")
    found, test = ranking.evaluate(**given, metrics=keys), relevant.nonzero().cpu().numpy()
    dense = partial(ranking.recommend, scores, test=test, metrics=keys)
    assert values(dense()) == values(found)
    yield Row(
        f"the same by `recommend`, {users:,} × {items:,} scores and pairs of the host",
        device.seconds(lambda: values(dense()), 5),
        device.reading(scores),
        "bytes; the host's sorting of pairs",
    )


# ----------------------------------------------------------------------- pools


def pools(device: Device) -> Iterator[Row]:
    """ROC-AUC and average precision of pools of scores."""
    scores = 100_000_000 // device.scale
    for positives in (scores // 100, scores // 10, scores // 2):
        pos, neg = torch.randn(positives, device="cuda") + 0.5, torch.randn(scores - positives, device="cuda")
        part = pos[:100_000], neg[:1_000_000]
        assert roc_auc(*part) == roc_auc(*(side.cpu().numpy() for side in part))
        both = torch.cat([pos, neg])
        sort = device.seconds(both.sort)
        del both
        took = device.seconds(partial(pool_sums, pos, neg))
        extra = device.extra_memory(partial(pool_sums, pos, neg))
        name = f"ROC-AUC and AP of {scores:,} float32, {positives / scores:.0%} positives"
        yield Row(
            name,
            took,
            sort,
            "one sort of all",
            "≤ 10 ms, ≤ 1 GB extra",
            took <= 0.01 and extra <= 1e9,
            f"{extra / 1e9:.2f} GB extra",
        )


# ------------------------------------------------------------------- forecasts


def forecasts(device: Device) -> Iterator[Row]:
    """Truths, forecasts and their standard deviations."""
    keys = ["mae", "rmse", "coverage", "nll", "crps", "calibration_error"]
    shapes = {"traffic": (40_258, 12, 207), "one series": (100_000_000, 1, 1), "a grid": (1544, 1, 64_800)}
    for name, (full, horizons, nodes) in shapes.items():
        steps = max(2, full // device.scale)
        torch.manual_seed(0)
        mean = torch.randn(steps, horizons, nodes, device="cuda")
        std = torch.rand(steps, horizons, nodes, device="cuda") + 0.5
        y = mean + std * torch.randn(steps, horizons, nodes, device="cuda")
        part = slice(0, max(2, 500_000 // (horizons * nodes)))
        host = forecasting.evaluate(*(each[part].cpu() for each in (y, mean)), std=std[part].cpu(), metrics=keys)
        found = forecasting.evaluate(y[part], mean[part], std=std[part], metrics=keys)
        for key, result in host.items():
            exact = key.startswith(("coverage", "calibration"))
            close = result.value == found[key].value if exact else abs(found[key].value / result.value - 1) < 1e-6
            assert close, (name, key, result.value, found[key].value)
        once = device.events(lambda y=y, mean=mean, std=std: (y.sum(), mean.sum(), std.sum()))
        shape = f"{name}, {steps:,} × {horizons} × {nodes:,}"
        for text, by in (("by horizon", ["horizon"] if horizons > 1 else []), ("by horizon and node", None)):
            whole = device.seconds(
                lambda y=y, mean=mean, std=std, by=by: read(
                    forecasting.evaluate(y, mean, std=std, metrics=keys, **({} if by is None else {"by": by}))
                ),
                5,
            )
            yield Row(f"MAE, RMSE, coverage, NLL, CRPS, PIT {text}: {shape}", whole, once, "float64 arithmetic")
        if find_spec("torchmetrics") and name == "traffic":
            from torchmetrics import MeanAbsoluteError

            metric = MeanAbsoluteError().to("cuda")
            peer = device.seconds(lambda y=y, mean=mean, metric=metric: float(metric(mean, y)))
            yield Row("MAE alone, torchmetrics", peer, device.reading(y, mean), "bytes")


# ---------------------------------------------------------------- all entities


def entities(device: Device) -> Iterator[Row]:
    """Ranks of right answers by dot products, 50 known answers per query left out; random and good embeddings."""
    rng = np.random.default_rng(0)
    queries, many, width = 10_000, 10_000_000 // device.scale, 128
    small = [torch.randn(rows, width, device="cuda") for rows in (1000, 50_000)]
    small[1][20_000:30_000] = small[1][:10_000]
    targets = rng.integers(0, 50_000, 1000)
    expected = rank_all(*(rows.cpu().numpy() for rows in small), targets).evaluate()
    for precision in ("full", "tf32", "bf16"):
        found = rank_all(*small, targets, precision=precision).evaluate()
        assert {key: found[key].value for key in found} == {key: expected[key].value for key in expected}, precision
    table = torch.randn(many, width, device="cuda")
    targets = rng.integers(0, many, queries)
    known = rng.integers(0, many, queries * 50), np.arange(queries + 1) * 50
    block = torch.empty(queries, 13_312, device="cuda")
    noise = torch.randn(queries, width, device="cuda")
    operations = 2 * queries * many * width
    for name, rows in (("random", noise), ("good", noise + 0.45 * table[torch.as_tensor(targets, device="cuda")])):
        for precision in ("full", "tf32", "bf16"):
            narrow = torch.bfloat16 if precision == "bf16" else torch.float32
            left, right = noise.to(narrow), table[:13_312].to(narrow).T
            torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
            more = {"out_dtype": torch.float32} if precision == "bf16" else {}
            product = device.events(lambda left=left, right=right, more=more: torch.mm(left, right, out=block, **more))
            torch.backends.cuda.matmul.allow_tf32 = False
            limit = product * many / 13_312
            work = partial(rank_all, rows, table, targets, known=known, precision=precision)
            took, extra = device.seconds(work, 3), device.extra_memory(work)
            rate = (
                f"{operations / took / 1e12:.1f} of {operations / limit / 1e12:.1f} TFLOP/s, {extra / 1e9:.2f} GB extra"
            )
            yield Row(
                f"`rank_all`, {queries:,} × {many:,} × {width}, {name} embeddings, {precision}",
                took,
                limit,
                "the product of its type, written out",
                "≥ 50 % of that rate, ≤ 2 GB extra",
                took <= 2 * limit and extra <= 2e9,
                rate,
            )


# -------------------------------------------------------------------- distances


def distances(device: Device) -> Iterator[Row]:
    """All distances between points, in tiles."""
    rng = np.random.default_rng(0)
    size, width = 200_000 // device.scale, 64
    points, others = (torch.randn(n, width, device="cuda") for n in (size, size // 2))
    labels = rng.integers(0, 20, size)
    few = slice(0, 2000)
    np.testing.assert_allclose(
        silhouettes(points[few], labels[few]), host_silhouettes(points[few].cpu().numpy(), labels[few]), rtol=1e-8
    )
    for function in (generation.energy_distance, generation.mmd, generation.prdc):
        near = [function(points[few].to(where), others[few].to(where)) for where in ("cuda", "cpu")]
        np.testing.assert_allclose(near[0], near[1], rtol=1e-7)
    square = torch.randn(4096, 4096, device="cuda", dtype=torch.float64)
    rate = 2 * 4096**3 / device.events(lambda: square @ square)
    works: dict[str, tuple[Callable[[], Any], int]] = {
        f"silhouettes of {size:,} points in 20 clusters": (lambda: silhouettes(points, labels), size**2),
        f"energy distance of {size // 2:,} and {size // 2:,} points": (
            lambda: generation.energy_distance(points[: size // 2], others),
            size**2,
        ),
        f"MMD of {size // 2:,} and {size // 2:,} points": (
            lambda: generation.mmd(points[: size // 2], others, bandwidth=8.0),
            size**2,
        ),
        f"PRDC of {size // 2:,} and {size // 2:,} points": (
            lambda: generation.prdc(points[: size // 2], others, k=5),
            size**2,
        ),
    }
    for name, (work, pairs) in works.items():
        extra = device.extra_memory(work)
        yield Row(
            f"{name} of width {width}",
            device.seconds(work, 3),
            2 * width * pairs / rate,
            "float64 products",
            "seconds, n² never stored",
            extra < 4e9,
            f"{extra / 1e9:.2f} GB extra",
        )


def pairs(device: Device) -> Iterator[Row]:
    """All pairs of rows of bits, and all pairs of embeddings against births."""
    rows, width = 50_000 // int(device.scale**0.5), 1024
    torch.manual_seed(0)
    bits = torch.rand(rows, width, device="cuda") < 0.1
    matrix = torch.randn(4096, 4096, device="cuda")
    rate = 2 * 4096**3 / device.events(lambda: matrix @ matrix)
    for kind in ("hamming", "jaccard"):
        few = bits[:1000]
        assert generation.pairwise_distance(few, kind=kind) == generation.pairwise_distance(few.cpu(), kind=kind)
        work = partial(generation.pairwise_distance, bits, kind=kind)
        side = width if kind == "hamming" else rows  # Hamming distances come from the shorter side
        yield Row(
            f"{kind} distances of {rows:,} rows of {width:,} bits",
            device.seconds(work, 3),
            side**2 * max(rows, width) / rate,
            "float32 products",
            others=f"{device.extra_memory(work) / 1e9:.2f} GB extra",
        )
    rng = np.random.default_rng(0)
    nodes, width, births = 50_000 // int(device.scale**0.5), 16, 20_000
    points = torch.rand(nodes, width, device="cuda", dtype=torch.float64) / 5
    new = np.unique(np.sort(rng.integers(0, nodes, (births, 2)), axis=1), axis=0)
    new = new[new[:, 0] < new[:, 1]]
    some = new[(new < 2000).all(axis=1)]
    few = points[:2000]
    assert evolution.auc_synthetic(few, some[::2], some) == evolution.auc_synthetic(few.cpu(), some[::2], some)
    work = partial(evolution.auc_synthetic, points, new[::2], new)
    yield Row(
        f"births of {nodes:,} nodes in {width} dimensions against all pairs",
        device.seconds(work, 3),
        nodes**2 / 2 * 8 * 3 * width / device.bytes_per_second,
        "bytes of the tiles",
        others=f"{device.extra_memory(work) / 1e9:.2f} GB extra",
    )


def nccl(device: Device) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group("nccl", init_method=f"file://{folder}/store", rank=0, world_size=1)
        counted = RankingState().update(torch.rand(500, device="cuda"), torch.rand(500, 40, device="cuda"))
        assert merged(counted).evaluate().to_flat() == counted.evaluate().to_flat()
        torch.distributed.destroy_process_group()
    print("a state is sent over NCCL (one process)")
    yield from ()


SECTIONS = {
    each.__name__: each
    for each in (
        counts,
        flat,
        forecasts,
        pools,
        distances,
        pairs,
        entities,
        large,
        nccl,
    )
}


def shown(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def line(row: Row) -> str:
    verdict = "" if row.met is None else "met" if row.met else "short"
    cells = [
        row.work,
        shown(row.took),
        f"{shown(row.limit)}, {row.limited_by}",
        f"{row.took / row.limit:.2f} ×",
        row.goal,
        verdict,
        row.others,
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, separated by commas")
    parser.add_argument("--write", type=Path, help="the page to write")
    parser.add_argument("--small", action="store_true", help="a fiftieth of the data: correctness, not speed")
    given = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("no CUDA device, or torch was built without CUDA")
    device = Device(given.small)
    lines = [
        "# CUDA",
        "",
        f"{device.name}. One sum reads {device.bytes_per_second / 1e12:.2f} TB/s. Sums and counts by events of the "
        "device, medians of 20; evaluations by the host's clock until the device is done. The first call of a shape "
        "compiles its kernel, which Triton keeps on disk.",
        "",
        "The limit is the time that the input's bytes, or what is named, take on this device; the gap is the ratio.",
        "",
        "| work | time | limit | gap | goal | verdict | beside it |",
        "|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for name in given.only.split(","):
        for row in SECTIONS[name](device):
            lines.append(line(row))
            print(lines[-1], flush=True)
        torch.cuda.empty_cache()
    if given.write:
        given.write.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
