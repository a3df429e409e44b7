"""Cases of the door to explanations."""

from pathlib import Path
from typing import Any

from tests.doors.declared import Case
from tests.explanation.brute import Weighted, model, random_explanations

from graphgauge.explanation import collect, write_explanations

SAID = [*random_explanations(3, 8), *random_explanations(3, 8, "two")]
TABLE = collect(Weighted(3), SAID, metrics="all")


def table(given: Any, stem: Path) -> str:
    given.save(path := stem.with_suffix(".jsonl"))
    return str(path)


def explanations(given: Any, stem: Path) -> str:
    write_explanations(given, path := stem.with_suffix(".jsonl"))
    return str(path)


def factory(given: Any, stem: Path) -> str:
    return f"{given.__module__}:{given.__name__}"


SIGNATURES = {"": ("graphgauge.explanation.evaluate:evaluate",)}
WRITTEN = {"table": table, "explanations": explanations, "model": factory}
CASES = [
    Case("explanation", "", {"table": TABLE}, {"explainer": "two"}, WRITTEN),
    Case(
        "explanation",
        "",
        {"table": TABLE},
        {"explainer": "one", "metrics": "all", "score": "max", "delta_t": 0.7, "groups": ("class",)},
        WRITTEN,
    ),
    Case(
        "explanation",
        "",
        {"explanations": SAID, "model": model},
        {"explainer": "two", "sparsity_levels": (0.1, 0.5), "topk": (2,), "ties": "average", "random": 2, "seed": 4},
        WRITTEN,
    ),
    Case(
        "explanation",
        "",
        {"explanations": SAID},
        {"explainer": "one", "metrics": ["truth_auc", "truth_f1", "sparsity@k=2"], "by": "abs"},
        WRITTEN,
    ),
]
