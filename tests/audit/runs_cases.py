"""Results of many runs, clean and with planted faults."""

import tempfile
from pathlib import Path

from tests.audit.cases import Case

from graphgauge import Evaluation, Result
from graphgauge.audit.runner import read_all
from graphgauge.ranking import evaluate


def one(rng, signal, method, seed=0, **options):
    evaluation = evaluate(rng.normal(signal, 1, 300), rng.normal(0, 1, (300, 20)), **options)
    return evaluation.named(method=method, dataset="toy", seed=seed)


def runs(rng, methods=3, seeds=8, signals=(0.5, 1.0, 1.5), **options):
    found = [
        one(rng, signals[m % len(signals)], f"m{m}", seed, **options) for m in range(methods) for seed in range(seeds)
    ]
    return {"evaluations": found}


def other_seeds(rng, moved):
    given = runs(rng, 2)
    found = given["evaluations"]
    for place in range(8, 8 + moved):
        found[place] = found[place].named(seed=found[place].run.seed + 100)
    return given


def mixed(rng, changed):
    given = runs(rng, 2, 6)["evaluations"]
    others = [one(rng, 1.0, "m2", seed, ties="optimistic" if seed < changed else "realistic") for seed in range(6)]
    return {"evaluations": [*given, *others]}


def sweep(rng, variants, spread=0.0):
    return {"evaluations": [one(rng, 1.0 + spread * v, f"lr={v}") for v in range(variants)]}


def two(rng, ahead):
    return {"evaluations": [one(rng, 1.0, "a"), one(rng, 1.0 + ahead, "b")]}


def weak(rng, signal):
    return {"evaluations": [one(rng, 1.0, "a"), one(rng, signal, "b")]}


def kept(rng, damage=None):
    """A folder of results and other files of JSON, one of which is damaged."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text('{"rate": NaN}')
        for seed in range(2):
            facts = {"n": 40, "unit": "query", "direction": "higher", "bounds": (0, 1)}
            value = Result(key="mrr", metric="mrr", value=float(rng.uniform(0.2, 0.8)), **facts)
            path = Evaluation("ranking", [value]).save(folder, method="ours", dataset="toy", seed=seed)
        if damage is not None:
            path.write_bytes(damage(path.read_bytes(), rng))
        return {"unread": read_all(folder)[1]}


def digit(content, rng):
    """Another digit in the place of one of a value."""
    place = content.index(b'"value": 0.') + 11 + int(rng.integers(6))
    return content[:place] + b"%d" % ((int(content[place : place + 1]) + 1) % 10) + content[place + 1 :]


CASES = [
    Case("few-seeds", runs, lambda rng, seeds: runs(rng, seeds=seeds), {"6 seeds": 6, "3": 3, "1": 1}),
    Case("unpaired-seeds", runs, other_seeds, {"1 seed of 8 differs": 1, "4": 4, "all": 8}),
    Case("mixed-conventions", runs, mixed, {"1 run of 18": 1, "3": 3, "6": 6}),
    Case("best-of-many", lambda rng: sweep(rng, 8, 0.15), sweep, {"5 equal variants": 5, "10": 10, "20": 20}),
    Case(
        "difference-within-error",
        lambda rng: two(rng, 0.6),
        two,
        {"ahead by a tenth of the noise": 0.1, "a twentieth": 0.05, "equal": 0.0},
    ),
    Case("not-above-chance", runs, weak, {"hardly any signal": 0.05, "none": 0.0, "a wrong sign": -0.3}),
    Case(
        "unreadable-result",
        kept,
        kept,
        {
            "one digit differs": digit,
            "cut off": lambda content, rng: content[: int(rng.integers(60, len(content) - 2))],
            "empty": lambda content, rng: b"",
        },
    ),
]
