"""The compiled loops alone: first calls and warm ones, on one and two processors, against one read, peers, and 0.2.

    .venv/bin/python -m benchmarks.core [--old FOLDER] [ROW ...]

Every measurement has a process of its own, bound to its processors; the processes of a row alternate, and the least of
ROUNDS counts. `read` is np.sum of the input in the same process as the loop, so that both see the same machine. `--old`
names the `src` folder of a checkout of 0.2, whose loops are warm when they are compiled. The clock of a first call
starts when NumPy, the data and the module that has the loop are imported.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROUNDS = 3
SOURCE = Path(__file__).parents[1] / "src"


@dataclass(frozen=True)
class Row:
    """`call` is the same in 0.2; its limits are multiples of `read` and `peer`, the first being NumPy's own lines."""

    name: str
    data: str
    load: str
    call: str
    read: str = "0"
    peer: str = ""
    first: float | None = None  # the first call at most so many times the peer's first
    reads: float | None = None  # the warm call at most so many reads
    faster: float | None = None  # the warm call at least so many times as fast as the peer's


def counted(dtype: str, shape: str = "200_000, 100") -> str:
    return f"N = r.random(({shape}), dtype='f4').astype('{dtype}'); p = r.random(len(N)).astype('{dtype}')"


def candidates(positives: int) -> str:
    return (
        "s = r.random(20_000_000, dtype='f4'); b = np.arange(2000) * 10_000; z = np.full(2000, 10_000);"
        f"m = np.full(2000, {positives}); P = (b[:, None] + np.sort(r.random((2000, 10_000))"
        f".argpartition({positives})[:, :{positives}])).ravel()"
    )


def forecast(dtype: str, deviation: bool = False) -> str:
    spread = f"d = (r.random(y.shape) + .1).astype('{dtype}')" if deviation else "d = None"
    return (
        f"y = r.random((2000, 12, 200)).astype('{dtype}'); f = (y + r.normal(size=y.shape)).astype('{dtype}'); {spread}"
    )


COUNTING = "from graphgauge.kernels.counting import row_counts, masked_counts"
BITS = "from graphgauge.generation.distances import hamming_pairs, jaccard_pairs"
PDIST = "from scipy.spatial.distance import pdist"
FORECAST = "from graphgauge.kernels.forecast import error_sums"
GAUSSIAN = """from scipy.special import ndtr
def peer():
    u = (y - f) / d; w = np.exp(-.5 * u * u) / np.sqrt(2 * np.pi); c = ndtr(u)
    return (d * (u * (2 * c - 1) + 2 * w - 1 / np.sqrt(np.pi))).mean(), (.5 * u * u + np.log(d)).mean()"""

ROWS = (
    Row(
        "rank counts 200k × 100 f32",
        counted("f4"),
        COUNTING,
        "row_counts(p, N)",
        "N.sum()",
        "(N > p[:, None]).sum(1), (N == p[:, None]).sum(1)",
        first=0.4,
        reads=1.3,
    ),
    Row(
        "rank counts 20k × 1000 f32", counted("f4", "20_000, 1000"), COUNTING, "row_counts(p, N)", "N.sum()", reads=1.3
    ),
    Row("rank counts 200k × 100 f16", counted("f2"), COUNTING, "row_counts(p, N)", "N.view('f4').sum()", reads=2.5),
    Row(
        "rank counts 200k × 100 f32, masked",
        counted("f4") + "; M = r.random(N.shape) < .9",
        COUNTING,
        "masked_counts(p, N, M)",
        "N.sum()",
        "((N > p[:, None]) & M).sum(1), ((N == p[:, None]) & M).sum(1)",
        reads=2.5,
    ),
    Row(
        "AUC and AP of 10M f32",
        "p = r.random(5_000_000, dtype='f4') + np.float32(.2); n = r.random(5_000_000, dtype='f4')",
        "from graphgauge.kernels.tails import tail_counts, roc_auc, average_precision",
        "t = tail_counts(p, n); roc_auc(t), average_precision(t)",
        "p.sum() + n.sum()",
        "from sklearn.metrics import roc_auc_score, average_precision_score; t = np.repeat([1, 0], len(p)); "
        "s = np.concatenate([p, n]); roc_auc_score(t, s), average_precision_score(t, s)",
        faster=20,
    ),
    *(
        Row(
            f"lists 2000 × 10,000 f32, {positives} positives",
            candidates(positives),
            "from graphgauge.kernels.lists import list_places",
            "list_places(s, P, b, z, m)",
            "s.sum()",
            "np.argsort(-s.reshape(2000, 10_000), axis=1)",
            faster=5 if positives <= 10 else 2,
        )
        for positives in (1, 10, 100, 1000)
    ),
    Row(
        "point errors 2000 × 12 × 200 f32, masked",
        forecast("f4") + "; m = r.random(y.shape) > .1",
        FORECAST,
        "error_sums(y, f, mask=m)",
        "y.sum() + f.sum()",
        "np.abs(y - f)[m].mean(); np.sqrt(((y - f)[m] ** 2).mean())",
        first=0.6,
    ),
    Row("point errors 2000 × 12 × 200 f32", forecast("f4"), FORECAST, "error_sums(y, f)", "y.sum() + f.sum()", reads=4),
    Row(
        "point errors 2000 × 12 × 200 f64", forecast("f8"), FORECAST, "error_sums(y, f)", "y.sum() + f.sum()", reads=2.5
    ),
    Row(
        "Gaussian scores 2000 × 12 × 200 f64",
        forecast("f8", deviation=True),
        FORECAST,
        "error_sums(y, f, d)",
        "y.sum() + f.sum() + d.sum()",
        GAUSSIAN,
        faster=2,
    ),
    Row(
        "Hamming and Jaccard 2000 × 594",
        "B = r.random((2000, 594)) < .03; " + PDIST,
        BITS,
        "hamming_pairs(B), jaccard_pairs(B)",
        "B.sum()",
        "pdist(B, 'hamming'), pdist(B, 'jaccard')",
        first=0.1,
    ),
    Row(
        "Hamming and Jaccard 5003 × 594",
        "B = r.random((5003, 594)) < .03; " + PDIST,
        BITS,
        "hamming_pairs(B), jaccard_pairs(B)",
        "B.sum()",
        "pdist(B, 'hamming'), pdist(B, 'jaccard')",
        faster=100,
    ),
    Row(
        "silhouette 5000 × 32",
        "X = r.random((5000, 32)); c = r.integers(0, 8, 5000)",
        "from graphgauge.kernels.silhouette import silhouettes",
        "silhouettes(X, c)",
        "X.sum()",
        "from sklearn.metrics import silhouette_samples; silhouette_samples(X, c)",
        faster=2,
    ),
    Row(
        "PRDC of bits 2000 + 2000 × 594",
        "A, B = (r.random((2000, 594)) < .03 for _ in range(2))",
        "from graphgauge.generation.two_sample import prdc",
        "prdc(A.astype(float), B.astype(float))",
        "A.sum() + B.sum()",
        "from sklearn.neighbors import NearestNeighbors as K; g = K(n_neighbors=6).fit(A).kneighbors(A)[0][:, -1]; "
        "K().fit(B).kneighbors(A); K().fit(B).kneighbors(B); K().fit(A).radius_neighbors(B, g.max())",
        faster=5,
    ),
    Row(
        "orbits of 500 graphs of 100 nodes",
        "E = r.random((500, 100, 100)) < .08; E |= E.transpose(0, 2, 1); "
        "E &= ~np.eye(100, dtype=bool); e = np.argwhere(E); e = e[:, 1:] + 100 * e[:, :1]",
        "from graphgauge.kernels.orbits import Neighbourhoods, node_orbits",
        "node_orbits(Neighbourhoods.of(e, 50_000))",
    ),
    Row(
        "pair codes d = 5000 f32",
        "T = (r.random((5000, 5000)) < .002).astype('f4'); S = r.random((5000, 5000), dtype='f4')",
        "from graphgauge.kernels.graphs import edge_bits, pair_table",
        "b = edge_bits(T[None], S[None], .5, absolute=False, loopless=1); pair_table(b[0], b[1], 5000)",
        "T.sum() + S.sum()",
        reads=2,
    ),
)


def best(call: Callable[[], Any], seconds: float = 1.0) -> float:
    """The least time of several calls."""
    times: list[float] = []
    while sum(times) < seconds or len(times) < 3:
        times.append(timed(call))
        if len(times) >= 3 and times[-1] > seconds:
            break
    return min(times)


def timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(row: Row, what: str) -> dict[str, float]:
    """In its own process: seconds of the loop or of the peer, first and warm, and of one read."""
    import numpy as np

    names: dict[str, Any] = {"np": np, "r": np.random.default_rng(3)}
    exec(row.data, names)
    if what == "peer":
        called = row.peer
        if "def peer" in called:
            exec(called, names)
            called = "peer()"
    else:
        called = row.call
        exec(row.load, names)
    *lines, last = called.split("; ")
    code = compile("\n".join([*lines, f"answer = {last}"]), row.name, "exec")
    call = lambda: exec(code, dict(names))  # noqa: E731
    first = timed(call)
    if what == "warm-old":
        call()
    warm = best(call)
    read = compile(row.read, row.name, "eval")
    return {"first": first, "warm": min(warm, best(call)), "read": best(lambda: eval(read, names), 0.3)}


def asked(row: Row, what: str, processors: int, source: Path) -> dict[str, float]:
    chosen = sorted(os.sched_getaffinity(0))[:processors]
    environment = os.environ | {"PYTHONPATH": str(source)}
    environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(processors))
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), "--measure", row.name, what],
        env=environment,
        capture_output=True,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, chosen),
    )
    if done.returncode:
        print(f"{row.name}, {what}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return dict.fromkeys(("first", "warm", "read"), float("nan"))
    found: dict[str, float] = json.loads(done.stdout)
    return found


def least(samples: list[dict[str, float]]) -> dict[str, float]:
    return {key: min(sample[key] for sample in samples) for key in samples[0]}


def cells(row: Row, old: Path | None) -> Iterator[str]:
    kinds = {("new", n): (row, "new", n, SOURCE) for n in (1, 2)}
    if row.peer:
        kinds["peer", 1] = (row, "peer", 1, SOURCE)
    if old:
        kinds |= {("old", n): (row, "warm-old", n, old) for n in (1, 2)}
    samples: dict[tuple[str, int], list[dict[str, float]]] = {kind: [] for kind in kinds}
    for _ in range(ROUNDS):
        for kind, arguments in kinds.items():
            samples[kind].append(asked(*arguments))
    found = {kind: least(each) for kind, each in samples.items()}
    two, peer = found["new", 2], found.get(("peer", 1))
    yield row.name
    for n in (1, 2):
        yield f"{found['new', n]['first'] * 1e3:.1f}"
    for n in (1, 2):
        yield f"{found['new', n]['warm'] * 1e3:.2f}"
    for n in (1, 2):
        yield f"{found['old', n]['warm'] * 1e3:.2f}" if old else "–"
    yield f"{found['new', 1]['warm'] / two['read']:.2f} / {two['warm'] / two['read']:.2f}"
    yield f"{peer['warm'] / found['new', 1]['warm']:.1f} / {peer['warm'] / two['warm']:.1f}" if peer else "–"
    yield f"{two['first'] / peer['first']:.2f}" if peer else "–"
    yield ", ".join(verdicts(row, two, peer)) or "–"


def verdicts(row: Row, two: dict[str, float], peer: dict[str, float] | None) -> Iterator[str]:
    """The limits, which hold for two threads."""

    def said(text: str, holds: bool) -> str:
        return text if holds else f"**{text}, missed**"

    if row.reads is not None:
        yield said(f"≤ {row.reads} reads", two["warm"] <= row.reads * two["read"])
    if peer and row.faster is not None:
        yield said(f"≥ {row.faster} × the peer", peer["warm"] >= row.faster * two["warm"])
    if peer and row.first is not None:
        yield said(f"first ≤ {row.first} × the peer's", two["first"] <= row.first * peer["first"])


def import_time() -> float:
    """Milliseconds that the core adds to the import of NumPy."""
    clock = "time.perf_counter()"
    code = f"import time, numpy, graphgauge; t = {clock}; import graphgauge._core; print({clock} - t)"
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    commands = ([sys.executable, "-c", code] for _ in range(5))
    return 1e3 * min(
        float(subprocess.run(c, env=environment, capture_output=True, text=True, check=True).stdout) for c in commands
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help="parts of the names of rows; default: all")
    parser.add_argument("--old", type=Path, help="the src folder of a checkout of 0.2")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        name, what = given.measure
        print(json.dumps(measure(next(row for row in ROWS if row.name == name), what)))
        return
    print(f"import of the core: {import_time():.1f} ms\n")
    titles = (
        "loop",
        "first 1",
        "first 2",
        "warm 1",
        "warm 2",
        "0.2 1",
        "0.2 2",
        "reads 1 / 2",
        "× peer 1 / 2",
        "first / peer's",
        "limits",
    )
    print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
    for row in ROWS:
        if not given.rows or any(part in row.name for part in given.rows):
            print(f"| {' | '.join(cells(row, given.old))} |", flush=True)
    print("\nms; 1 and 2 are processors. The peer has one.")


if __name__ == "__main__":
    main()
