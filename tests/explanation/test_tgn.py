"""A temporal graph network with memory, behind the original interface, from end to end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from graphgauge import explanation as ex
from graphgauge.core.errors import InputError

EVENTS, NODES, SIZE = 60, 12, 6
LEVELS = (0.01, *(round(0.02 * step, 2) for step in range(1, 16)))  # those of TempME's paper


class TGN(torch.nn.Module):
    """Memory that every event updates at both of its ends, a message from the last neighbours, and one logit."""

    model_output = "logit"

    def __init__(self, src: np.ndarray, dst: np.ndarray, time: np.ndarray, features: np.ndarray) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.events = src, dst, time, torch.tensor(features, dtype=torch.float32)
        self.scale = 40.0  # untrained answers are all alike
        self.update = torch.nn.GRUCell(SIZE + 3, SIZE)
        self.answer = torch.nn.Sequential(torch.nn.Linear(2 * SIZE, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))

    def logit(self, kept: Any, target: dict[str, Any]) -> torch.Tensor:
        """The answer after the kept events before the target's time."""
        src, dst, time, features = self.events
        memory, last = [torch.zeros(SIZE)] * NODES, np.zeros(NODES)
        for event in sorted(kept):
            if time[event] >= target["ts"]:
                break
            ends = [int(src[event]), int(dst[event])]
            gaps = torch.tensor([[time[event] - last[end]] for end in ends], dtype=torch.float32)
            before = torch.stack([memory[end] for end in ends])
            heard = torch.cat([before.flip(0), features[event].expand(2, -1), gaps], dim=1)
            for end, state in zip(ends, self.update(heard, before), strict=True):
                memory[end] = state
            last[ends] = time[event]
        return self.scale * self.answer(torch.cat([memory[target["u"]], memory[target["i"]]]))

    def replayed(self, kept: Any, target: dict[str, Any]) -> float:
        with torch.no_grad():
            return float(self.logit(kept, target))

    def predict_proba(self, subgraph: Any, target: dict[str, Any]) -> float:
        return self.replayed(subgraph.payload["candidate_eidx"], target)

    def predict_proba_with_mask(self, subgraph: Any, target: dict[str, Any], edge_mask: Any = None) -> float:
        numbers = subgraph.payload["candidate_eidx"]
        return self.replayed([event for event, stays in zip(numbers, edge_mask, strict=True) if stays], target)


@pytest.fixture(scope="module")
def model() -> TGN:
    return made()


def made() -> TGN:
    rng = np.random.default_rng(0)
    ends = np.array([rng.permutation(NODES)[:2] for _ in range(EVENTS)]).T
    return TGN(*ends, np.sort(rng.integers(0, 40, EVENTS)).astype(float), rng.normal(size=(EVENTS, 2)))


def label(model: TGN, asked: dict[str, Any]) -> int:
    """Whether the events of the two nodes before the time have a positive first feature on average."""
    src, dst, time, features = model.events
    own = (time < asked["ts"]) & (np.isin(src, [asked["u"], asked["i"]]) | np.isin(dst, [asked["u"], asked["i"]]))
    return int(features[own, 0].sum() > 0)


@pytest.fixture(scope="module")
def trained(model: TGN) -> TGN:
    """The same network, trained on other targets; it is right about most of those that are explained."""
    network = TGN(*model.events[:3], model.events[3].numpy())
    network.scale = 1.0
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    for epoch in range(15):
        for seed in range(100, 140):
            asked = target(seed + 40 * (epoch % 3))
            field = ex.reaching_events(*model.events[:3], [asked["u"], asked["i"]], asked["ts"])
            optimizer.zero_grad()
            wanted = torch.tensor([float(label(model, asked))])
            torch.nn.functional.binary_cross_entropy_with_logits(network.logit(field, asked), wanted).backward()
            optimizer.step()
    return network


def target(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    u, i = rng.permutation(NODES)[:2]
    return {"u": int(u), "i": int(i), "ts": float(rng.integers(8, 30))}


def test_events_that_cannot_reach_the_target_change_nothing(model: TGN) -> None:
    src, dst, time, _ = model.events
    fewer = 0
    for seed in range(20):
        asked = target(seed)
        field = ex.reaching_events(src, dst, time, [asked["u"], asked["i"]], asked["ts"])
        assert model.replayed(field, asked) == pytest.approx(model.replayed(range(EVENTS), asked), abs=1e-5)
        fewer += len(field) < np.count_nonzero(time < asked["ts"])
        outside = np.setdiff1d(np.arange(EVENTS), field)
        for event in outside[:5]:
            left = np.setdiff1d(np.arange(EVENTS), [event])
            assert model.replayed(left, asked) == pytest.approx(model.replayed(range(EVENTS), asked), abs=1e-5)
    assert fewer > 10


def explained(model: TGN, seeds: range) -> list[ex.Explanation]:
    """Three explainers of each target, in the shape of time_to_explain's results."""
    src, dst, time, _ = model.events
    rng = np.random.default_rng(1)
    found = []
    for seed in seeds:
        asked = target(seed)
        field = ex.reaching_events(src, dst, time, [asked["u"], asked["i"]], asked["ts"])
        context = SimpleNamespace(
            subgraph=SimpleNamespace(payload={"candidate_eidx": field.tolist()}),
            target=asked,
            label=label(model, asked),
        )
        whole = model.replayed(field, asked)
        occlusion = [np.sign(whole) * (whole - model.replayed(np.setdiff1d(field, [event]), asked)) for event in field]
        for name, importance in (("occlusion", occlusion), ("recency", time[field]), ("guess", rng.random(len(field)))):
            result = SimpleNamespace(
                importance_edges=list(importance), explainer=name, context_fp=f"{seed}", extras={}, elapsed_sec=0.1
            )
            found.append(ex.from_result(result, context, src=src, dst=dst, time=time))
    return found


@pytest.mark.slow
def test_all_metrics_of_the_original_protocol(trained: TGN) -> None:
    explanations = explained(trained, range(12))
    whole = [trained.replayed(one.context.subgraph.ids, one.context.target) for one in explanations]
    right = [(answer > 0) == one.context.label for answer, one in zip(whole, explanations, strict=True)]
    assert np.mean(right) > 0.6
    metrics = [
        "fidelity_drop",
        "fidelity_keep",
        "fidelity_best",
        "fidelity_tempme",
        "acc_auc",
        "cohesiveness",
        "robust_delta@0.3",
    ]
    table = ex.collect(trained, explanations, sparsity_levels=LEVELS, metrics=metrics, robust_samples=4)
    found = ex.evaluate(table, explainer="occlusion", metrics=metrics)
    assert "answers-do-not-repeat" not in {each.check for each in found.findings}
    assert "random explainer" in {reference.name for reference in found["fidelity_drop@0.3"].references}
    compared = ex.compare(table, "fidelity_drop@0.3")
    assert compared["occlusion"].mean > compared["random explainer"].mean
    assert found["robust_delta@0.3"].n == 12
    assert found["cohesiveness@0.3"].n >= 9  # of at least two events
    for name in ("fidelity_drop", "fidelity_keep", "fidelity_tempme", "cohesiveness"):
        assert [key for key in found if key.startswith(f"{name}@")] == [f"{name}@{level:g}" for level in LEVELS]
    assert {"acc_auc", "fidelity_best"} <= {*found}
    for protocol in ("time_to_explain", "time_to_explain_reference"):
        theirs = ex.evaluate(trained, explanations, explainer="occlusion", protocol=protocol, sparsity_levels=LEVELS)
        assert theirs["fidelity_drop@0.3"].n == 12


KILLED = """
import os, signal
from tests.explanation import test_tgn as tgn
model = tgn.made()
def killed(stage, done, total):
    if done == 5:
        os.kill(os.getpid(), signal.SIGKILL)
tgn.ex.collect(model, tgn.explained(model, range(8)), path="answers.jsonl", progress=killed)
"""


def test_a_killed_run_resumes_with_the_same_bits(tmp_path: Path) -> None:
    model = made()
    explanations = explained(model, range(8))
    whole = ex.collect(model, explanations, path=tmp_path / "whole.jsonl")
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    ended = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, env=environment, check=False)
    assert ended.returncode == -9
    finished = len(ex.read_table(tmp_path / "answers.jsonl"))
    assert 4 <= finished <= 5
    asked: list[int] = []
    replayed = model.replayed
    model.replayed = lambda kept, target: asked.append(1) or replayed(kept, target)  # type: ignore[method-assign,func-returns-value]
    resumed = ex.collect(model, explanations, path=tmp_path / "answers.jsonl")
    assert 0 < len(asked) < whole.masks * 5 / 8 + 8  # only the events that were not finished
    for one, other in zip(whole, resumed, strict=True):
        assert one.outputs.tobytes() == other.outputs.tobytes()
    first, second = (ex.evaluate(table, explainer="occlusion", metrics="all") for table in (whole, resumed))
    assert [*first] == [*second]
    assert all(np.array_equal(first[key].value, second[key].value, equal_nan=True) for key in first)


def test_reaching_events_by_hand() -> None:
    """0–1 at 1, 1–2 at 2, 3–1 at 2: about node 2 at time 3, the last can matter only at the same moment."""
    chain = ([0, 1, 3], [1, 2, 1])
    assert ex.reaching_events(*chain, [1, 2, 2], [2], 3).tolist() == [0, 1, 2]
    assert ex.reaching_events(*chain, [1, 2, 2.5], [2], 3).tolist() == [0, 1]
    assert ex.reaching_events(*chain, [1, 2, 2], [2], 2).tolist() == []
    assert ex.reaching_events(*chain, [1, 2, 2.5], [2], 3, hops=1).tolist() == [1]
    assert ex.reaching_events(["a", "b"], ["b", "c"], [1, 2], ["c"], 3).tolist() == [0, 1]
    with pytest.raises(InputError, match="hops must be a whole number of at least 1"):
        ex.reaching_events(*chain, [1, 2, 2], [2], 3, hops=0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"time": [1, np.nan]}, "NaN"),
        ({"before": np.nan}, "before must be a number"),
        ({"before": "5"}, "before must be a number"),
        ({"hops": 1.5}, "hops"),
        ({"hops": "1"}, "hops"),
    ],
)
def test_what_cannot_reach_is_not_guessed(changed: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"src": [0, 1], "dst": [1, 2], "time": [1, 2], "nodes": [2], "before": 3}
    with pytest.raises(InputError, match=message):
        ex.reaching_events(**given | changed)


def test_large_ids_are_not_rounded() -> None:
    """2⁶² and 2⁶² + 1 are one floating-point number; so are ids of both integer types in one array."""
    big = 2**62
    for kinds in ((np.uint64, np.int64), (np.int64, np.uint64), (np.uint64, np.uint64)):
        src, dst = np.array([big, 5], kinds[0]), np.array([7, 6], kinds[1])
        assert ex.reaching_events(src, dst, [1, 2], [big + 1], 3).tolist() == []
        assert ex.reaching_events(src, dst, [1, 2], [big], 3).tolist() == [0]
    top = np.array([2**64 - 1], np.uint64)
    assert ex.reaching_events(top, [1], [1], top, 3).tolist() == [0]
    assert ex.reaching_events(top, [-1], [1], [-1], 3).tolist() == [0]
    assert ex.reaching_events(top, [5], [1], [-1], 3).tolist() == []
