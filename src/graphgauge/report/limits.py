"""What a study cannot say, derived from what is not in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from graphgauge.report.collect import Collected
from graphgauge.report.family import Family
from graphgauge.stats.text import listing, several


def limits(collected: Collected, families: Sequence[Family]) -> list[str]:
    """Sentences, the gravest first."""
    sentences = [
        *_not_run(families), *_unreadable(collected), *_refused(families), *_too_few(families), *_one_run(families),
        *_no_interval(families), *_skipped(families), *_oracles(families), *_one_dataset(families), *_unhashed(collected),
    ]  # fmt: skip
    return list(dict.fromkeys(sentences))


def _not_run(families: Sequence[Family]) -> Iterator[str]:
    gaps = {
        gap: gap.why for family in families for table in family.tables.values() for gap in table.gaps
        if gap.why == "no run" or gap.why.startswith("failed")
    }  # fmt: skip
    if gaps:
        names = listing([str(gap) for gap in gaps], 4)
        yield f"{several(len(gaps), 'run')} failed or are missing: {names}. Means leave them out and say so."
    lone = [str(record.run) for family in families if not family.facts for record in family.records]
    if lone:
        yield f"Nothing in these runs has a value: {listing(lone, 4)}."


def _unreadable(collected: Collected) -> Iterator[str]:
    if collected.unreadable:
        yield f"{several(len(collected.unreadable), 'file')} could not be read: {listing(list(collected.unreadable), 2)}"


def _refused(families: Sequence[Family]) -> Iterator[str]:
    """Metrics that were measured differently from run to run have no mean."""
    for family in families:
        why = defaultdict(list)
        for key, reason in family.refused.items():
            why[reason.partition(": ")[2] or reason].append(key)
        for reason, keys in why.items():
            yield f"In {family.name}, {listing(keys, 4)} cannot be summarised: {reason}"


def _too_few(families: Sequence[Family]) -> Iterator[str]:
    for family in families:
        for item in family.comparisons:
            comparison = item.outcome
            if comparison is None:
                yield f"In {family.name} there is no comparison on {item.scope}: {item.reason}"
            elif not any(test.can_reject for test in comparison.tests):
                needed = max(test.seeds_needed for test in comparison.tests)
                yield (
                    f"In {family.name}, {several(len(comparison.units), comparison.unit)} cannot tell "
                    f"{len(comparison.methods)} methods apart on {item.scope}, whatever the scores; "
                    f"it takes at least {needed}."
                )


def _one_run(families: Sequence[Family]) -> Iterator[str]:
    for family in families:
        single = [row for row in family.rows.values() if row.runs == 1]
        if single and len(single) == len(family.rows):
            yield (
                f"In {family.name} every method ran once on each dataset: nothing is known about the spread between "
                "seeds, and intervals speak of the evaluated items only."
            )


def _no_interval(families: Sequence[Family]) -> Iterator[str]:
    for family in families:
        lacking = [key for key in family.headlines if all(row.over == "" for row in _rows(family, key))]
        if lacking:
            reasons = dict.fromkeys(
                result.no_interval for key in lacking for row in _rows(family, key) for result in row.results
                if result.no_interval
            )  # fmt: skip
            because = f" ({listing(list(reasons), 2)})" if reasons else ""
            yield f"In {family.name}, {listing(lacking)} has no interval{because}: its error is not known."


def _rows(family: Family, key: str) -> list[object]:
    return [row for row in family.rows.values() if row.metric == key]


def _skipped(families: Sequence[Family]) -> Iterator[str]:
    for family in families:
        why = defaultdict(dict)
        for record in family.records:
            for key, reason in record.evaluation.skipped.items() if record.evaluation else ():
                why[reason][key] = None
        for reason, keys in why.items():
            yield f"In {family.name}, {listing(list(keys), 4)} was not measured: {reason}."


def _oracles(families: Sequence[Family]) -> Iterator[str]:
    for family in families:
        keys = [key for key, result in family.facts.items() if result.oracle]
        if keys:
            yield f"In {family.name}, {listing(keys, 4)} uses the truth to choose: no user of the method can reach it."


def _one_dataset(families: Sequence[Family]) -> Iterator[str]:
    for family in families:
        if len(family.datasets) == 1:
            yield f"In {family.name} there is one dataset, {family.datasets[0]}: nothing is said about others."


def _unhashed(collected: Collected) -> Iterator[str]:
    bare = sum(not record.receipt.get("inputs") for record in collected.records)
    if bare:
        yield f"{several(bare, 'result')} of {len(collected.records)} name no input files, so they cannot be verified."
