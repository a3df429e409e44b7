"""The compiled loops alone: first calls and warm ones, on one and two threads, against one read, peers, and 0.2.

    .venv/bin/python -m benchmarks.core [--old INTERPRETER] [ROW ...]

The processes of a row alternate, and the least of ROUNDS counts. A warm call counts only if the processors were free
for it: if its processor time is at least .95 of the time it took with one thread, and 1.7 times with two. A row without
such a call says so. `read` is np.sum of the input in the same process. `--old` names an interpreter that has 0.2, whose
loops are compiled before they are timed. The clock of a first call starts when NumPy, the data and `_core` are there.
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
from math import inf, isinf
from pathlib import Path
from typing import Any

ROUNDS = 3
SOURCE = Path(__file__).parents[1] / "src"
BUSY = {1: 0.95, 2: 1.7}


@dataclass(frozen=True)
class Row:
    """`call` knows `core` and `threads`; `old` is 0.2's call. Limits are multiples of `read` and of the peer."""

    name: str
    data: str
    call: str
    read: str = ""
    peer: str = ""
    old: str = ""
    first: float | None = None  # the first call at most so many times the peer's first
    reads: float | None = None  # the warm call at most so many reads
    faster: float | None = None  # the warm call at least so many times as fast as the peer's


def counted(shape: str, dtype: str, masked: bool = False) -> str:
    mask = "; M = r.random(N.shape) < .9" if masked else ""
    return f"N = r.random(({shape}), dtype='f4').astype('{dtype}'); p = r.random(len(N)).astype('{dtype}'){mask}"


def candidates(positives: int) -> str:
    return (
        "s = r.random(20_000_000, dtype='f4'); b = np.arange(2000) * 10_000; z = np.full(2000, 10_000); "
        f"m = np.full(2000, {positives}); F = np.arange(2001) * {positives}; "
        f"P = (b[:, None] + np.sort(r.random((2000, 10_000)).argpartition({positives})[:, :{positives}])).ravel()"
    )


def forecast(dtype: str, masked: bool = False, deviation: bool = False) -> str:
    return (
        f"y = r.random((2000, 12, 200)).astype('{dtype}'); f = (y + r.normal(size=y.shape)).astype('{dtype}'); "
        f"d = {f'(r.random(y.shape) + .1).astype({dtype!r})' if deviation else None}; "
        f"m = {'r.random(y.shape) > .1' if masked else None}; none = np.zeros(0)"
    )


COUNTS = "from graphgauge.kernels.counting import row_counts, masked_counts; "
SUMS = "from graphgauge.kernels.forecast import error_sums; error_sums(y, f, {}, threads=threads)"
TWO_BITS = "from graphgauge.generation.distances import hamming_pairs, jaccard_pairs; "
BITS = "r.random(({}, 594)) < .03"
PACK = "from graphgauge.kernels.pairs import hamming_sums, common_bits; "
PDIST = "from scipy.spatial.distance import pdist; "
GRAPHS = (
    "E = r.random((500, 100, 100)) < .08; E |= E.transpose(0, 2, 1); E &= ~np.eye(100, dtype=bool); "
    "e = np.argwhere(E); e = e[:, 1:] + 100 * e[:, :1]; c = np.searchsorted(e[:, 0], np.arange(50_001)); "
    "n = e[:, 1].copy()"
)
GAUSSIAN = (
    "from scipy.special import ndtr; u = (y - f) / d; w = np.exp(-.5 * u * u) / np.sqrt(2 * np.pi); c = ndtr(u); "
    "(d * (u * (2 * c - 1) + 2 * w - 1 / np.sqrt(np.pi))).mean(), (.5 * u * u + np.log(d)).mean()"
)
NEIGHBOURS = (
    "from sklearn.neighbors import NearestNeighbors as K; g = K(n_neighbors=6).fit(A).kneighbors(A)[0][:, -1]; "
    "K().fit(B).kneighbors(A); K().fit(B).kneighbors(B); K().fit(A).radius_neighbors(B, g.max())"
)

ROWS = (
    *(
        Row(
            f"rank counts {name} {dtype}{', masked' * masked}",
            counted(shape, dtype, masked),
            f"core.rank_counts(p, N, {'M' if masked else 'None'}, threads)",
            "N.view('f4').sum()" if dtype == "f2" else "N.sum()",
            "(N > p[:, None]).sum(1), (N == p[:, None]).sum(1)" if first else "",
            COUNTS + ("masked_counts(p, N, M, threads=threads)" if masked else "row_counts(p, N, threads=threads)"),
            first=first,
            reads=2.5 if masked or dtype == "f2" else 1.3,
        )
        for name, shape, dtype, masked, first in (
            ("200k × 100", "200_000, 100", "f4", False, 0.4),
            ("20k × 1000", "20_000, 1000", "f4", False, None),
            ("200k × 100", "200_000, 100", "f8", False, None),
            ("200k × 100", "200_000, 100", "f2", False, None),
            ("200k × 100", "200_000, 100", "f4", True, None),
        )
    ),
    Row(
        "AUC and AP of 10M f32",
        "p = r.random(5_000_000, dtype='f4') + np.float32(.2); n = r.random(5_000_000, dtype='f4')",
        "from graphgauge.kernels.tails import tail_counts, roc_auc, average_precision; "
        "t = tail_counts(p, n, threads=threads); roc_auc(t), average_precision(t)",
        "p.sum() + n.sum()",
        "from sklearn.metrics import roc_auc_score, average_precision_score; t = np.repeat([1, 0], len(p)); "
        "s = np.concatenate([p, n]); roc_auc_score(t, s), average_precision_score(t, s)",
        "from graphgauge.kernels.tails import tail_counts, roc_auc, average_precision; "
        "t = tail_counts(p, n, threads=threads); roc_auc(t), average_precision(t)",
        faster=20,
    ),
    *(
        Row(
            f"lists 2000 × 10,000 f32, {positives} positives",
            candidates(positives),
            "core.list_places(s, b, z, P, F, threads)",
            "s.sum()",
            "np.argsort(-s.reshape(2000, 10_000), axis=1)",
            "from graphgauge.kernels.lists import list_places; list_places(s, P, b, z, m, threads=threads)",
            faster=5 if positives <= 10 else 2,
        )
        for positives in (1, 10, 100, 1000)
    ),
    *(
        Row(
            f"point errors 2000 × 12 × 200 {dtype}{', masked' * masked}",
            forecast(dtype, masked),
            f"core.error_sums(y, f, None, m, {asked}, none, 0, 2000, 2000, threads)",
            "y.sum() + f.sum()",
            "np.abs(y - f)[m].mean(); np.sqrt(((y - f)[m] ** 2).mean())" if masked else "",
            SUMS.format("mask=m" if masked else "parts=('errors', 'bias', 'size', 'relative', 'symmetric')"),
            first=0.6 if masked else None,
            reads=None if masked else 4 if dtype == "f4" else 2.5,
        )
        for dtype, masked, asked in (("f4", True, 0b11), ("f4", False, 0xFF), ("f8", False, 0xFF))
    ),
    Row(
        "Gaussian scores 2000 × 12 × 200 f8",
        forecast("f8", deviation=True),
        "core.error_sums(y, f, d, None, 0b110000000000, none, 0, 2000, 2000, threads)",
        "y.sum() + f.sum() + d.sum()",
        GAUSSIAN,
        SUMS.format("d, parts=('errors', 'scores')"),
        faster=2,
    ),
    *(
        Row(
            f"Hamming and Jaccard {rows} × 594",
            f"B = {BITS.format(rows)}; " + PDIST,
            PACK + "hamming_sums(B, threads=threads), common_bits(B, threads=threads)",
            "B.sum()",
            "pdist(B, 'hamming'), pdist(B, 'jaccard')",
            TWO_BITS + "hamming_pairs(B, threads=threads), jaccard_pairs(B, threads=threads)",
            first=first,
            faster=faster,
        )
        for rows, first, faster in ((2000, 0.1, None), (5003, None, 100))
    ),
    Row(
        "silhouette 5000 × 32",
        "X = r.random((5000, 32)); c = np.sort(r.integers(0, 8, 5000))",
        "core.group_distances(X, X, c, 8, threads)",
        "X.sum()",
        "from sklearn.metrics import silhouette_samples; silhouette_samples(X, c)",
        "from graphgauge.kernels.silhouette import silhouettes; silhouettes(X, c, threads=threads)",
        faster=2,
    ),
    Row(
        "PRDC of bits 2000 + 2000 × 594",
        f"A, B = ({BITS.format(2000)} for _ in range(2)); w, v = (np.packbits(np.pad(x, ((0, 0), (0, 46))), 1)"
        ".view('u8') for x in (A, B))",
        "a, b = (core.kth_distances(x, 5, threads) for x in (w, v)); core.ball_counts(w, a, v, b, threads)",
        "A.sum() + B.sum()",
        NEIGHBOURS,
        "from graphgauge.generation.two_sample import prdc; prdc(A.astype(float), B.astype(float))",
        faster=5,
    ),
    Row(
        "orbits of 500 graphs of 100 nodes",
        GRAPHS,
        "core.orbits(c, n, threads)",
        old="from graphgauge.kernels.orbits import Neighbourhoods, node_orbits; "
        "node_orbits(Neighbourhoods.of(e, 50_000))",
    ),
    Row(
        "pair codes d = 5000 f32",
        "T = (r.random((5000, 5000)) < .002).astype('f4'); S = r.random((5000, 5000), dtype='f4')",
        "a = core.cell_bits(S, 5000, -np.inf, .5, False, threads)[0]; "
        "b = core.cell_bits(T, 5000, 0., 0., True, threads)[0]; core.pair_states(b, a, 5000, threads)",
        "T.sum() + S.sum()",
        old="from graphgauge.kernels.graphs import edge_bits, pair_table; "
        "b = edge_bits(T[None], S[None], .5, absolute=False, loopless=1); pair_table(b[0], b[1], 5000)",
        reads=2,
    ),
    Row(
        "CRPS of 500k ensembles of 10",
        "y = r.random(500_000); e = r.random((500_000, 10))",
        "core.member_scores(y, e, np.zeros(0), threads)",
        "e.sum()",
        old="from graphgauge.kernels.forecast_ensemble import ensemble_crps; ensemble_crps(y, e, threads=threads)",
    ),
    Row(
        "Wasserstein 100k + 100k × 5 (NumPy)",
        "A, B = r.random((2, 100_000, 5)); c = np.zeros(100_000, int)",
        "from graphgauge.kernels.wasserstein import wasserstein; wasserstein(A, B, c, c, 1)",
        "A.sum() + B.sum()",
        old="from graphgauge.kernels.wasserstein import wasserstein; wasserstein(A, B, c, c, 1)",
    ),
)


def timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Seconds, and processors that were busy."""
    start, used = time.perf_counter(), time.process_time()
    call()
    seconds = time.perf_counter() - start
    return seconds, (time.process_time() - used) / seconds


def best(call: Callable[[], Any], threads: int, seconds: float) -> float:
    """The least time of the calls for which the processors were free."""
    least, stop = inf, time.perf_counter() + seconds
    while time.perf_counter() < stop or isinf(least):
        took, busy = timed(call)
        least = min(least, took) if busy >= BUSY[threads] or took < 1e-3 else least
        if time.perf_counter() > stop + 4 * seconds:
            break
    return least


def measure(row: Row, what: str, threads: int) -> dict[str, float]:
    """In its own process: seconds of the loop or of the peer, first and warm, and of one read."""
    import numpy as np

    names: dict[str, Any] = {"np": np, "r": np.random.default_rng(3), "threads": threads}
    exec(row.data, names)
    if what == "call":
        from graphgauge import _core

        names["core"] = _core
    text = getattr(row, what)
    code = compile(text, row.name, "exec")
    if text.startswith("from") and what != "peer":  # what is imported is no part of the loop
        exec(text.partition("; ")[0], names)
        code = compile(text.partition("; ")[2], row.name, "exec")
    call = lambda: exec(code, dict(names))  # noqa: E731
    first, _ = timed(call)
    slow = first > 2
    warm = first if slow and what == "peer" else best(call, threads, 1.0)
    read = compile(row.read, row.name, "eval") if row.read else None
    return {"first": first, "warm": warm, "read": best(lambda: eval(read, names), 1, 0.3) if read else inf}


def asked(row: Row, what: str, threads: int, interpreter: str, source: Path | None) -> dict[str, float]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {} if source is None else {"PYTHONPATH": str(source)}
    environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), str(threads))
    command = [interpreter, str(Path(__file__).resolve()), "--measure", row.name, what, str(threads)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        print(f"{row.name}, {what}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return dict.fromkeys(("first", "warm", "read"), inf)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def shown(number: float, unit: float = 1e3, digits: int = 2) -> str:
    return "busy" if isinf(number) else f"{number * unit:.{digits}f}"


def cells(row: Row, old: str | None) -> Iterator[str]:
    kinds = {("call", n): (sys.executable, SOURCE) for n in (1, 2)}
    if row.peer:
        kinds["peer", 1] = (sys.executable, SOURCE)
    if old and row.old:
        kinds |= {("old", n): (old, None) for n in (1, 2)}
    samples: dict[tuple[str, int], list[dict[str, float]]] = {kind: [] for kind in kinds}
    for _ in range(ROUNDS):
        for (what, threads), (interpreter, source) in kinds.items():
            samples[what, threads].append(asked(row, what, threads, interpreter, source))
    least = {kind: {key: min(one[key] for one in each) for key in each[0]} for kind, each in samples.items()}
    one, two = least["call", 1], least["call", 2]
    read, peer = min(one["read"], two["read"]), least.get(("peer", 1))
    yield row.name
    yield f"{one['first'] * 1e3:.1f} / {two['first'] * 1e3:.1f}"
    yield f"{shown(one['warm'])} / {shown(two['warm'])}"
    yield " / ".join(shown(least["old", n]["warm"]) for n in (1, 2)) if ("old", 1) in least else "–"
    yield f"{shown(one['warm'] / read, 1)} / {shown(two['warm'] / read, 1)}" if row.read else "–"
    yield f"{peer['warm'] / one['warm']:.1f} / {peer['warm'] / two['warm']:.1f}" if peer else "–"
    yield f"{two['first'] / peer['first']:.2f}" if peer else "–"
    yield ", ".join(verdicts(row, two, read, peer)) or "–"


def verdicts(row: Row, two: dict[str, float], read: float, peer: dict[str, float] | None) -> Iterator[str]:
    """The limits, which hold for two threads."""

    def said(text: str, holds: bool) -> str:
        return text if holds else f"**{text}: {'busy' if isinf(two['warm']) else 'missed'}**"

    if row.reads is not None:
        yield said(f"≤ {row.reads} reads", two["warm"] <= row.reads * read)
    if peer and row.faster is not None:
        yield said(f"≥ {row.faster} × the peer", peer["warm"] >= row.faster * two["warm"])
    if peer and row.first is not None:
        yield said(f"first ≤ {row.first} × the peer's", two["first"] <= row.first * peer["first"])


def import_time() -> float:
    """Milliseconds that the core adds to the import of NumPy."""
    clock = "time.perf_counter()"
    code = f"import time, numpy, graphgauge; t = {clock}; import graphgauge._core; print({clock} - t)"
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    commands = ([sys.executable, "-c", code] for _ in range(7))
    return 1e3 * min(
        float(subprocess.run(c, env=environment, capture_output=True, text=True, check=True).stdout) for c in commands
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help="parts of the names of rows; default: all")
    parser.add_argument("--old", help="an interpreter that has 0.2")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        name, what, threads = given.measure
        print(json.dumps(measure(next(row for row in ROWS if row.name == name), what, int(threads))))
        return
    print(f"import of the core: {import_time():.1f} ms\n")
    titles = ("loop", "first", "warm", "0.2 warm", "reads", "× peer", "first / peer's", "limits")
    print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
    for row in ROWS:
        if not given.rows or any(part in row.name for part in given.rows):
            print(f"| {' | '.join(cells(row, given.old))} |", flush=True)
    print("\nms with one / two threads; the peer has one.")


if __name__ == "__main__":
    main()
