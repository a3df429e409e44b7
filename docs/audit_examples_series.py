"""Real examples for the audit pages on forecasts and growing graphs.

`python docs/audit_examples_series.py cora.npz`, with libpysal and statsmodels installed.
"""

from __future__ import annotations

import csv
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphgauge import audit, forecasting
from graphgauge.evolution import EvaluationSuite, poincare_distance
from graphgauge.zoo.zaratustra import Settings, Zaratustra, read_graph_data

PLACE = Path(__file__).parent / "audit"
EXAMPLES = Path(__file__).parents[1] / "examples" / "forecasting_real.py"


def main() -> None:
    for name, text in examples(sys.argv[1]):
        (PLACE / f"{name}.inc").write_text(text + "\n", encoding="utf-8")
        print(name, text, sep=": ", flush=True)


def examples(cora: str) -> Iterator[tuple[str, str]]:
    real = series()
    yield from incomes(real)
    yield from missing(real)
    yield from sea(real)
    yield from firms(real)
    yield from citations(cora)
    yield from undeclared(cora)
    yield from labelled_words(cora)


def series() -> Any:
    """The example of real series, as a module."""
    spec = importlib.util.spec_from_file_location("forecasting_real", EXAMPLES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


def told(evaluation: Any, check: str, **materials: Any) -> str:
    found = audit.run(evaluation, only=[check], **materials)
    return found[0].message if found else "no finding"


def incomes(real: Any) -> Iterator[tuple[str, str]]:
    forecasts = real.income_forecasts()
    judged = {name: real.evaluated(made) for name, made in forecasts.items()}
    said = {name: told(evaluation, "mis-scaled-spread") for name, evaluation in judged.items()}
    lines = [f"- {name}: {text}" for name, text in said.items()]
    yield "mis-scaled-spread", "\n".join(["Incomes of US states, one to five years ahead:", "", *lines])
    naive, drift = judged["naive"], judged["drift"]
    yield (
        "biased",
        f"Incomes of US states grow, and the naive forecast does not: {told(naive, 'biased')} (in logarithms: 0.17 is "
        f"about 17 %). With the mean growth added its `rmse` falls from {naive['rmse']:.3f} to {drift['rmse']:.3f}, "
        f"and the check finds {told(drift, 'biased')}.",
    )
    yield (
        "last-value",
        f"The same naive forecast: {told(naive, 'last-value')}. For {real.GRAPH} the check finds "
        f"{told(judged[real.GRAPH], 'last-value')}.",
    )
    made = forecasts[real.GRAPH]
    late = slice(len(made.truth) - 20, None)
    short = forecasting.evaluate(made.truth[late], made.mean[late], std=made.std[late])
    whole = judged[real.GRAPH]
    yield (
        "few-time-steps",
        f"{real.GRAPH} on the last 20 of {len(made.truth)} years: {told(short, 'few-time-steps')}. `mae` is "
        f"{interval(short['mae'])}, over all years {interval(whole['mae'])}: fewer years, but an interval that is "
        "narrower, because the last years were calm. It does not account for the early years.",
    )
    _, values, _ = real.incomes()
    peeking = real.naive
    origins = range(real.FIRST_JUDGED, len(values) - real.YEARS_AHEAD - 1)
    truth = np.stack([values[origin + 1 : origin + 1 + real.YEARS_AHEAD] for origin in origins])
    shifted = forecasting.evaluate(truth, np.stack([peeking(values[: origin + 2]) for origin in origins]))
    right = forecasting.evaluate(truth, np.stack([peeking(values[: origin + 1]) for origin in origins]))
    yield (
        "leaked-target",
        f"The naive forecast of the same incomes, written with `series[: origin + 2]` where `series[: origin + 1]` is "
        f"right: {told(shifted, 'leaked-target')}. `mae` is {shifted['mae']:.4f} instead of {right['mae']:.4f}, which "
        f"looks plausible. For the right one the check finds {told(right, 'leaked-target')}.",
    )


def missing(real: Any) -> Iterator[tuple[str, str]]:
    """Incomes as levels, some of them lost: recorded as 0, or as 0 that was scaled in float32 and back."""
    made = real.income_forecasts()[real.GRAPH]
    y, mean = np.exp(made.truth), np.exp(made.mean)
    lost = np.random.default_rng(0).random(y.shape) < 0.05
    broken = np.where(lost, 0.0, y)
    centre, scale = y.mean(), y.std()
    scaled = ((broken - centre) / scale).astype(np.float32) * scale + centre
    counted, masked = forecasting.evaluate(broken, mean), forecasting.evaluate(broken, mean, null_value=0)
    yield (
        "unmasked-zeros",
        f"Incomes of US states, forecast with {real.GRAPH}; one truth in twenty is lost and recorded as 0: "
        f"{told(counted, 'unmasked-zeros')}. `mae` is {counted['mae']:.0f}; with `null_value=0` it is "
        f"{masked['mae']:.0f}, and the check finds {told(masked, 'unmasked-zeros')}.",
    )
    almost = forecasting.evaluate(scaled, mean, null_value=0)
    near = forecasting.evaluate(scaled, mean, null_value=0, null_tolerance=0.01)
    yield (
        "almost-null",
        f"The same incomes, standardised, stored in float32 and scaled back: {told(almost, 'almost-null')}. `mae` is "
        f"{almost['mae']:.0f}; with `null_tolerance=0.01` it is {near['mae']:.0f}, and the check finds "
        f"{told(near, 'almost-null')}.",
    )
    unused = forecasting.evaluate(broken, mean, null_value=-999)
    yield (
        "unused-null-value",
        f"The same, with `null_value=-999`: {told(unused, 'unused-null-value')}.",
    )
    levels, shifts = (0.1, 0.5, 0.9), np.array([-1.28, 0.0, 1.28])
    noise = np.random.default_rng(1).normal(0, 0.5, (*made.truth.shape, 3))
    right = made.mean[..., None] + made.std[..., None] * shifts
    alone = right + made.std[..., None] * noise
    crossed, in_order = (
        forecasting.evaluate(made.truth, quantiles=table, levels=levels) for table in (alone, np.sort(alone, axis=-1))
    )
    yield (
        "crossing-quantiles",
        f"Quantiles of the same forecast, each with an error of its own: {told(crossed, 'crossing-quantiles')}. "
        f"`pinball` is {crossed['pinball']:.4f}; sorted it is {in_order['pinball']:.4f}, and the check finds "
        f"{told(in_order, 'crossing-quantiles')}.",
    )


def sea(real: Any) -> Iterator[tuple[str, str]]:
    lines = []
    for name, made in real.sea_forecasts().items():
        evaluation = real.evaluated(made)
        lines.append(f"- {name} (R² {evaluation['r2']:.3f}): {told(evaluation, 'no-better-than-the-mean')}")
    yield "no-better-than-the-mean", "\n".join(["The sea off Peru, 1 to 12 months ahead:", "", *lines])


def firms(real: Any) -> Iterator[tuple[str, str]]:
    """Market values and investments of American firms, 1935 to 1954, next year as this year."""
    path = real.package_file("statsmodels", "datasets", "grunfeld", "grunfeld.csv")
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    names = list(dict.fromkeys(row["firm"] for row in rows))

    def judged(column: str, scale: Any = np.positive) -> Any:
        table = np.array([[float(row[column]) for row in rows if row["firm"] == name] for name in names]).T
        return forecasting.evaluate(scale(table[1:]), scale(table[:-1]), axes=("time", "node"), nodes=names)

    value, check = judged("value"), "errors-in-few-nodes"
    errors = value.by("node")["rmse"]
    yield (
        check,
        f"Grunfeld's market values of {len(names)} firms, 1935 to 1954, each forecast as the year before: "
        f"{told(value, check)}. It is {names[int(np.argmax(errors))]}, with an `rmse` of {max(errors):.0f}; the pooled "
        f"one is {value['rmse']:.0f}, the median over firms {np.median(errors):.0f}. In logarithms the check finds "
        f"{told(judged('value', np.log), check)}. For the same firms' investments it finds "
        f"{told(judged('invest'), check)}: the worst firm of the first years is not the worst of the last.",
    )


def citations(path: str) -> Iterator[tuple[str, str]]:
    data = read_graph_data(path)
    metrics = ["auc_synthetic", "auc_birth", "auc_matched"]
    suite = EvaluationSuite(range(data.num_nodes), data.labels, ["Normal", "Off", "Inverted"], metrics=metrics)
    for condition in suite.conditions:
        for seed in range(3):
            engine = Zaratustra(data, Settings(smoothing=0.5), seed=seed)
            suite.begin(condition, engine.embeddings, engine.edges, seed)
            for cycle in range(10):
                births = engine.step(condition)
                suite.step(condition, engine.embeddings, births, engine.edges, cycle, seed=seed, pools=engine.pools)
    yield (
        "circular-auc",
        f"Cora, grown for 10 cycles by a smoothing engine with a smoothing of 0.5, three seeds: "
        f"{told(suite.evaluation(), 'circular-auc')}. Off draws its edges at random, so 0.5 is the right value.",
    )


def undeclared(path: str) -> Iterator[tuple[str, str]]:
    """Cora, grown at random for one cycle; either all births are declared, or the ten whose ends are nearest."""
    data = read_graph_data(path)
    engine = Zaratustra(data, Settings(seeds_per_cycle=100), seed=0)
    before, points = engine.edges, engine.embeddings
    births = engine.step("Off")
    old = births[(births < len(points)).all(axis=1)]
    nearest = old[np.argsort(poincare_distance(points[old[:, 0]], points[old[:, 1]]))[:10]]
    said, areas = [], []
    for declared, after in ((births, engine.edges), (nearest, engine.edges)):
        suite = EvaluationSuite(
            range(data.num_nodes), data.labels, ["Off"], metrics=["auc_birth", "delta_homophily"], undeclared="report"
        )
        suite.begin("Off", points, before)
        evaluation = suite.step("Off", engine.embeddings, declared, after, 0)
        said.append(evaluation)
        areas.append(f"{evaluation['auc_birth']:.3f}, delta_homophily {evaluation['delta_homophily']:+.3f}")
    what = f"Cora, grown by a smoothing engine for one cycle with {len(births)} edges drawn at random"
    yield (
        "undeclared-births",
        f"{what}. If all are declared, auc_birth is {areas[0]}. If only the ten with the nearest ends are declared, "
        f'and `undeclared="report"`, it is {areas[1]}: {told(said[1], "undeclared-births")}.',
    )
    yield from disagreeing(data, what)


def disagreeing(data: Any, what: str) -> Iterator[tuple[str, str]]:
    """The same engine, logged with other faults."""

    def begun(conditions: Sequence[str] = ("Off",), **options: Any) -> tuple[Zaratustra, EvaluationSuite]:
        engine = Zaratustra(data, Settings(seeds_per_cycle=100), seed=0)
        suite = EvaluationSuite(range(data.num_nodes), data.labels, conditions, **options)
        suite.begin(conditions[0], engine.embeddings, engine.edges)
        return engine, suite

    engine, suite = begun(metrics=["auc_birth"], undeclared="report")
    births = engine.step("Off")
    evaluation = suite.step("Off", engine.embeddings, births, engine.edges[:-7], 0)
    yield "absent-declared", f"{what}, 7 of which failed to be stored: {told(evaluation, 'absent-declared')}."

    engine, suite = begun(metrics=["auc_birth"])
    births, graph = engine.step("Off"), engine.edges
    suite.step("Off", engine.embeddings, births, graph, 0)
    suite.step("Off", engine.embeddings, None, graph[: -len(births)], 1)
    suite.step("Off", engine.embeddings, births, graph, 2)
    yield (
        "reborn-edges",
        f"{what}; they are removed in the next cycle, and added again in the one after: "
        f"{told(suite.evaluation(), 'reborn-edges')}.",
    )

    held = engine.edges[:200]
    engine, suite = begun(metrics=["static_auc"], test_edges=held)
    births = engine.step("Off")
    evaluation = suite.step("Off", engine.embeddings, births, engine.edges, 0)
    yield (
        "test-edges-in-graph",
        f"{what}. 200 citations are the test edges, and were not removed from the graph: "
        f"{told(evaluation, 'test-edges-in-graph')}.",
    )

    engine, suite = begun(["Normal", "Off"], metrics=["auc_birth"])
    for condition in ("Normal", "Off"):
        births = engine.step(condition)
        suite.step(condition, engine.embeddings, births, engine.edges, 0)
    yield (
        "shared-state",
        "One engine runs a cycle of Normal and then, as it is, one of Off: "
        f"{told(suite.evaluation(), 'shared-state')}.",
    )

    words = data.features[:, :1000].tocoo()
    papers = np.stack([words.row, data.num_nodes + words.col], axis=1)
    rng = np.random.default_rng(0)
    rows = rng.normal(0, 1, (data.num_nodes + 1000, 8))
    new, old = np.split(rng.permutation(papers), [200])
    suite = EvaluationSuite(range(len(rows)), None, ["growth"], metrics=["auc_birth"], score="dot")
    suite.begin("growth", rows, old)
    yield (
        "bipartite-growth",
        f"The words of Cora's papers as a graph of papers and words, with 200 of them as births: "
        f"{told(suite.step('growth', rows, new, papers, 0), 'bipartite-growth')}.",
    )


def labelled_words(path: str) -> Iterator[tuple[str, str]]:
    """Cora's words with the labels appended as seven more, as a data loader that stacks all columns would have them."""
    data = read_graph_data(path)
    codes = sp.csr_array(np.eye(data.labels.max() + 1)[data.labels])
    both = replace(data, features=sp.csr_array(sp.hstack([data.features, codes])))
    check, right, said = "label-in-embeddings", [], []
    for given in (data, both):
        engine = Zaratustra(given, seed=0)
        suite = EvaluationSuite(range(data.num_nodes), data.labels, ["Off"], metrics=["nca_mean"])
        births = engine.step("Off")
        evaluation = suite.step("Off", engine.embeddings, births, engine.edges, 0)
        right.append(float(evaluation["nca_mean"]))
        for columns in (given.features.toarray(), engine.embeddings):
            said.append(told(evaluation, check, labels=data.labels, embeddings=columns))
    yield (
        check,
        f"Cora's {data.features.shape[1]:,} words with the classes appended as {codes.shape[1]} more. After one cycle "
        f"of a smoothing engine the probe gets {right[1]:.1%} of the nodes right, without them "
        f"{right[0]:.1%}. The check, given the words and codes that the embeddings are made from, reports: {said[2]}. "
        f"In the words alone it finds {said[0]}. In the embeddings it finds {said[3]}, and {said[1]} in "
        f"those without the codes: {engine.embeddings.shape[1]} directions of a singular value decomposition, smoothed "
        f"over the graph, contain the labels only approximately.",
    )


def interval(result: Any) -> str:
    low, high = result.interval
    return f"{result.value:.4f} [{low:.4f}, {high:.4f}]"


if __name__ == "__main__":
    main()
