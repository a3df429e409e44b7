"""Measures the numbers of the page on methods of causal discovery: learn, evaluate as one study, write.

    python docs/recovery_benchmark.py FOLDER

needs causal-learn, dagma, lingam, tigramite and cdt (for the Sachs measurements). It writes the learned graphs, the
study and its results into FOLDER, and the tables into docs/recovery_benchmark/.
"""

from __future__ import annotations

import csv
import logging
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge import recovery, study
from graphgauge.core.files import write_text

OUTPUT = Path(__file__).parent / "recovery_benchmark"
SEEDS = range(10)
NODES, SAMPLES, STEPS = 10, 500, 500
METRICS = (
    "skeleton_f1,claimed_shd,class_arrowhead_f1,arrowhead_precision,arrowhead_recall,arrowhead_f1,directed_f1,"
    "directed_shd,cpdag_shd,member_f1_min,member_f1_mean,member_f1_max,member_sid_min,member_sid_max"
)
LAGGED_METRICS = "skeleton_f1,claimed_shd,arrowhead_f1,tail_f1,directed_f1,directed_shd"
ALIASES = {"praf": "Raf", "pmek": "Mek", "plcg": "Plcg", "p44/42": "Erk", "pakts473": "Akt", "pjnk": "Jnk"}
# bnlearn's network of 17 edges.
SACHS = (
    "Erk Akt,PKA Akt,Mek Erk,PKA Erk,PKA Jnk,PKC Jnk,PKA Mek,PKC Mek,Raf Mek,PKA P38,PKC P38,PIP3 PIP2,Plcg PIP2,"
    "Plcg PIP3,PKC PKA,PKA Raf,PKC Raf"
)


def linear(seed: int) -> tuple[Any, Any]:
    """A random DAG, row i to column j, and linear data with uniform noise."""
    draw = np.random.default_rng(seed)
    shape = (NODES, NODES)
    weights = np.triu(draw.choice([-1, 1], shape) * draw.uniform(0.5, 1.5, shape) * (draw.random(shape) < 0.3), 1)
    order = draw.permutation(NODES)
    weights = weights[np.ix_(order, order)]
    data = draw.uniform(-1, 1, (SAMPLES, NODES)) @ np.linalg.inv(np.eye(NODES) - weights)
    return (weights != 0).astype(int), data


def standardised(seed: int) -> tuple[Any, Any]:
    truth, data = linear(seed)
    return truth, (data - data.mean(0)) / data.std(0)


def sachs(seed: int) -> tuple[Any, Any]:
    """2,000 of the 7,466 measurements in cdt's wheel, as standardised logarithms."""
    names, logs = _measurements()
    truth = np.zeros((len(names), len(names)), int)
    for edge in SACHS.split(","):
        source, target = edge.split()
        truth[names.index(source), names.index(target)] = 1
    logs = logs[np.random.default_rng(seed).permutation(len(logs))[:2000]]
    return truth, (logs - logs.mean(0)) / logs.std(0)


def _measurements() -> tuple[tuple[str, ...], Any]:
    """The names of the proteins, and the logarithms of all measurements."""
    folder = Path(str(find_spec("cdt").origin)).parent  # type: ignore[union-attr]
    with (folder / "data" / "resources" / "cyto_full_data.csv").open() as stream:
        head, *rows = csv.reader(stream)
    logs = np.log(np.array(rows, float))
    return tuple(ALIASES.get(name, name) for name in head), (logs - logs.mean(0)) / logs.std(0)


def series(seed: int) -> tuple[Any, Any]:
    """A lagged graph [i, j, lag] with auto-edges, and a series of it with uniform noise."""
    draw = np.random.default_rng(seed)
    d = 6
    truth = np.zeros((d, d, 3))
    truth[np.arange(d), np.arange(d), 1] = 0.4
    cells = [(i, j, lag) for i in range(d) for j in range(d) for lag in (0, 1, 2) if (i < j if lag == 0 else i != j)]
    for index in draw.permutation(len(cells))[:7]:
        truth[cells[index]] = draw.choice([-1, 1]) * draw.uniform(0.3, 0.5)
    mixing = np.linalg.inv(np.eye(d) - truth[:, :, 0])
    values = draw.uniform(-1, 1, (STEPS, d))
    for step in range(2, STEPS):
        past = values[step - 1] @ truth[:, :, 1] + values[step - 2] @ truth[:, :, 2]
        values[step] = (past + values[step]) @ mixing
    return (truth != 0).astype(int), values


def pc(data: Any) -> Any:
    from causallearn.search.ConstraintBased.PC import pc as learn

    return learn(data, 0.01, "fisherz", show_progress=False).G.graph


def ges(data: Any) -> Any:
    from causallearn.search.ScoreBased.GES import ges as learn

    return learn(data, "local_score_BIC")["G"].graph


def fci(data: Any) -> Any:
    from causallearn.search.ConstraintBased.FCI import fci as learn

    return learn(data, "fisherz", 0.01, show_progress=False, verbose=False)[0].graph


def dagma(data: Any) -> Any:
    from dagma.linear import DagmaLinear

    return DagmaLinear(loss_type="l2").fit(data, lambda1=0.02, w_threshold=0.0)


def lingam(data: Any) -> Any:
    from lingam import DirectLiNGAM

    return DirectLiNGAM().fit(data).adjacency_matrix_


def pcmci_plus(data: Any) -> Any:
    return _tigramite("tigramite.pcmci", "PCMCI", "run_pcmciplus", data)


def lpcmci(data: Any) -> Any:
    return _tigramite("tigramite.lpcmci", "LPCMCI", "run_lpcmci", data)


def _tigramite(module: str, name: str, call: str, data: Any) -> Any:
    from importlib import import_module

    from tigramite.data_processing import DataFrame
    from tigramite.independence_tests.parcorr import ParCorr

    search = getattr(import_module(module), name)(dataframe=DataFrame(data), cond_ind_test=ParCorr(), verbosity=0)
    return getattr(search, call)(tau_max=2, pc_alpha=0.01)["graph"]


def var_lingam(data: Any) -> Any:
    from lingam import VARLiNGAM

    return np.moveaxis(VARLiNGAM(lags=2, criterion=None, prune=True).fit(data).adjacency_matrices_, 0, -1)


# How each method's output is read.
MARKS = {"encoding": "causal-learn"}
WEIGHTS = {"sign": "absolute", "threshold": 0.3}
METHODS: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
    "PC": (pc, MARKS),
    "GES": (ges, MARKS),
    "FCI": (fci, MARKS),
    "DAGMA": (dagma, WEIGHTS),
    "DirectLiNGAM": (lingam, {"sign": "absolute", "threshold": 0.1, "edges": "column_to_row"}),
}
OVER_TIME: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
    "PCMCI+": (pcmci_plus, {"encoding": "tigramite"}),
    "LPCMCI": (lpcmci, {"encoding": "tigramite"}),
    "VARLiNGAM": (var_lingam, {"sign": "absolute", "threshold": 0.1, "edges": "column_to_row"}),
}
DATASETS = {"linear": linear, "standardised": standardised, "sachs": sachs}


def learn(folder: Path) -> None:
    """The truths and what every method learns, as files; those that exist are kept."""
    for name, data_of in (*DATASETS.items(), ("series", series)):
        for seed in SEEDS:
            place = folder / "graphs" / name / str(seed)
            place.mkdir(parents=True, exist_ok=True)
            truth, data = data_of(seed)
            np.save(place / "truth.npy", truth)
            for method, (learner, _) in (OVER_TIME if name == "series" else METHODS).items():
                path = place / f"{method}.npy"
                if not path.exists():
                    np.save(path, np.asarray(learner(data)))
            print(name, seed, flush=True)


def study_text() -> str:
    parts = ['schema = 1\nname = "Causal discovery"\nresults = "results/"\n']
    for methods, datasets, more in (
        (METHODS, [*DATASETS], {"metrics": METRICS}),
        (OVER_TIME, ["series"], {"metrics": LAGGED_METRICS, "lagged": True}),
    ):
        for method, (_, reading) in methods.items():
            options = {"true": "graphs/{dataset}/{seed}/truth.npy", "pred": f"graphs/{{dataset}}/{{seed}}/{method}.npy"}
            keys = {"family": "recovery", "datasets": datasets, "methods": [method], "seeds": list(SEEDS)}
            written = "\n".join(f"{name} = {_toml(value)}" for name, value in (keys | options | reading | more).items())
            parts.append(f"[[evaluate]]\n{written}\n")
    return "\n".join(parts)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value).replace("'", '"')


def tables(folder: Path) -> None:
    """One table per dataset: the mean over seeds with its interval, by the command that anyone would use."""
    columns = {
        "linear": "skeleton_f1,claimed_shd,class_arrowhead_f1,arrowhead_f1,directed_f1,member_f1_min,member_f1_max",
        "series": "skeleton_f1,claimed_shd,arrowhead_f1,directed_f1",
    }
    columns |= dict.fromkeys(("standardised", "sachs"), columns["linear"])
    for dataset, metrics in columns.items():
        chosen = [part for metric in metrics.split(",") for part in ("--metric", metric)]
        command = [
            sys.executable,
            "-m",
            "graphgauge",
            "aggregate",
            "results/",
            "--dataset",
            dataset,
            *chosen,
            "--missing",
            "omit",
            "--format",
            "markdown",
        ]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        write_text(OUTPUT / f"{dataset}.inc", _table_alone(done.stdout))


def _table_alone(text: str) -> str:
    """The table of a report in Markdown and which columns are fair; the page sums up the other remarks."""
    lines = text.splitlines()
    fair = [line for line in lines if line.startswith(("Methods predict", "†", "Fair to all"))]
    return "\n".join([*(line for line in lines if line.startswith("|")), "", *fair]).rstrip() + "\n"


SHOWN = ("skeleton_f1", "arrowhead_precision", "arrowhead_recall", "directed_f1", "directed_shd", "cpdag_shd")


def refits(folder: Path) -> None:
    """PC and DAGMA on the Sachs measurements, refitted on 50 bootstrap samples: spread and frequencies of edges."""
    truth, _ = sachs(0)
    names, whole = _measurements()
    draw = np.random.default_rng(0)
    resamples = [whole] + [whole[draw.integers(0, len(whole), len(whole))] for _ in range(50)]
    rows, notes = [], []
    for method in ("PC", "DAGMA"):
        learner, reading = METHODS[method]
        path = folder / f"refits-{method}.npy"
        if not path.exists():
            np.save(path, np.stack([learner(data) for data in resamples]))
        fitted, *others = np.load(path)
        evaluation = recovery.evaluate(
            recovery.NamedMatrix(truth, names), fitted, refits=others, metrics=list(SHOWN), **reading
        )
        table = evaluation.by("refit")
        for key in SHOWN:
            held = table[key][~np.isnan(table[key])]
            low, high = np.quantile(held, [0.025, 0.975]) if len(held) else (np.nan, np.nan)
            value = evaluation[key].value
            shown = [f"{round(float(number), 9):.3g}" for number in (value, held.mean(), held.std(ddof=1), low, high)]
            rows.append([method, f"`{key}`", *shown, f"{len(held)} of {len(others)}"])
        notes += [f"{method}: {note}" for note in evaluation.notes if "closer to the truth" in note]
        if method == "PC":
            frequencies = recovery.edge_frequencies(others, nodes=names, **reading)
            _write(
                "frequencies",
                ["edge", "adjacent", "forward", "backward", "no direction", "true"],
                [
                    [f"{source} – {target}", *(f"{share:.2f}" for share in shares), _true(truth, names, source, target)]
                    for source, target, *shares in zip(*frequencies.to_dict().values(), strict=True)
                ][:20],
            )
    _write("refits", ["method", "metric", "fit", "mean", "standard deviation", "2.5 %", "97.5 %", "defined in"], rows)
    write_text(OUTPUT / "closer.inc", "".join(f"- {note}\n" for note in notes))


def _true(truth: Any, names: tuple[str, ...], source: str, target: str) -> str:
    i, j = names.index(source), names.index(target)
    return "→" if truth[i, j] else "←" if truth[j, i] else "–"


def _write(name: str, head: list[str], rows: list[list[str]]) -> None:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    write_text(OUTPUT / f"{name}.inc", "\n".join(lines) + "\n")


def main(folder: str) -> None:
    logging.disable(logging.INFO)
    warnings.simplefilter("ignore")
    place = Path(folder)
    learn(place)
    write_text(place / "study.toml", study_text())
    outcome = study.run(place / "study.toml")
    print(len(outcome.done), "evaluated, exit code", outcome.exit_code)
    OUTPUT.mkdir(exist_ok=True)
    tables(place)
    refits(place)


if __name__ == "__main__":
    main(sys.argv[1])
