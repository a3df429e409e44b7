"""Rankings are compared only where the same was asked: of the same candidates, and lists with lists."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge import ranking, stats
from graphgauge.core.errors import InputError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.result import Result

RNG = np.random.default_rng(0)
QUERIES, ITEMS, TARGETS = RNG.normal(size=(40, 4)), RNG.normal(size=(60, 4)), RNG.integers(0, 60, 40)
KNOWN = [{int(each) for each in RNG.integers(0, 60, 5)} for _ in range(40)]


def ranked(noise: float = 0.0, **options):
    return ranking.evaluate(ranking.Queries.from_embeddings(QUERIES + noise, ITEMS, targets=TARGETS, **options))


@pytest.mark.parametrize("over", ["seeds", "items"])
def test_filtered_and_raw_ranks_are_not_compared(over: str) -> None:
    raw, filtered = ranked(), ranked(known=KNOWN)
    said = {"items": "40 of 40 items have other candidates", "seeds": r"random scorer is 0\.078 for a, 0\.08\d+ for b"}
    with pytest.raises(InputError, match=f"{said[over]}.*known="):
        stats.compare({"a": raw, "b": filtered}, metric="mrr", over=over)
    assert stats.compare({"a": raw, "b": ranked(0.3)}, metric="mrr", over=over).methods
    assert stats.compare({"a": filtered, "b": ranked(0.3, known=KNOWN)}, metric="mrr", over=over).methods
    with pytest.raises(InputError, match="different truths"):
        stats.gate(filtered, raw, metric="mrr", margin=0.1)


def test_a_warning_takes_the_place_of_the_refusal() -> None:
    found = stats.compare({"a": ranked(), "b": ranked(known=KNOWN)}, metric="mrr", truths="any")
    assert any(note.startswith("warning: methods were measured against different truths") for note in found.notes)


def test_lists_of_different_lengths_are_compared() -> None:
    """A level of lists depends on the items in them, which the method chooses."""
    lists = {}
    for length, items in ((10, 60), (20, 50)):
        best = np.argsort(-(QUERIES @ ITEMS[:items].T), axis=1)[:, :length]
        lists[length] = ranking.evaluate(ranking.Queries.from_topk(best, [{int(each) % 40} for each in TARGETS]))
    levels = {each["recall@10"].chance.value for each in lists.values()}
    assert len(levels) == 2
    assert stats.compare({str(n): each for n, each in lists.items()}, metric="recall@10").methods


@pytest.mark.parametrize("over", ["seeds", "items"])
def test_full_rankings_against_lists_name_the_way_out(over: str) -> None:
    targets = [{int(each), int(each + 7) % 60, int(each + 9) % 60} for each in TARGETS]
    best = np.argsort(-(QUERIES @ ITEMS.T), axis=1)[:, :10]
    full = ranking.Queries.from_embeddings(QUERIES, ITEMS, targets=targets)
    lists = ranking.Queries.from_topk(best, targets, n_items=60)
    pair = {name: ranking.evaluate(each, metrics=["recall@10"]) for name, each in (("full", full), ("lists", lists))}
    with pytest.raises(InputError, match=r"Compare lists with lists: ranking\.Queries\.from_topk"):
        stats.compare(pair, metric="recall@10", over=over)


def test_generators_without_items_are_sent_to_their_own_comparison() -> None:
    value = Result(
        key="validity", metric="validity", value=0.5, n=9, unit="sample", direction="higher", bounds=(0.0, 1.0)
    )
    pair = {name: Evaluation("generation", [value], findings=()) for name in "ab"}
    with pytest.raises(InputError, match=r"by their samples: generation\.compare_samples") as error:
        stats.compare(pair, metric="validity", over="items")
    assert "--keep-items" not in str(error.value)
