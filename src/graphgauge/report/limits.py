"""The limits of a study, derived from what is missing in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from graphgauge.old.stats.collect import Collected
from graphgauge.old.stats.text import listing, several, several_do
from graphgauge.report.asked import Asked
from graphgauge.report.family import Family, Row


def limits(collected: Collected, asked: Asked, families: Sequence[Family]) -> list[str]:
    """Sentences, most severe first."""
    sentences = [
        *_not_run(families),
        *_unreadable([*collected.unreadable, *asked.unreadable]),
        *_not_compared(asked),
        *_refused(families),
        *_too_few(families),
        *_one_run(families),
        *_no_interval(families),
        *_skipped(families),
        *_oracles(families),
        *_one_dataset(families),
        *_unhashed(collected),
    ]
    return list(dict.fromkeys(sentences))


def _not_run(families: Sequence[Family]) -> Iterator[str]:
    gaps = {
        gap: gap.why
        for family in families
        for table in family.tables.values()
        for gap in table.gaps
        if gap.why == "no run" or gap.why.startswith("failed")
    }
    if gaps:
        names = listing([str(gap) for gap in gaps], 4)
        yield f"{several(len(gaps), 'run')} failed or missing: {names}. Means leave them out and state how many."
    lone = [str(record.run) for family in families if not family.facts for record in family.records]
    if lone:
        yield f"Nothing in these runs has a value: {listing(lone, 4)}."


def _unreadable(files: list[str]) -> Iterator[str]:
    if files:
        yield f"{several(len(files), 'file')} could not be read: {listing(files, 20)}"


def _not_compared(asked: Asked) -> Iterator[str]:
    for comparison in asked.comparisons:
        if comparison.error:
            yield f"A comparison that the study asked for could not be made, {comparison.title}: {comparison.error}"


def _refused(families: Sequence[Family]) -> Iterator[str]:
    """Metrics that were measured differently from run to run have no mean."""
    for family in families:
        why: dict[str, list[str]] = defaultdict(list)
        for key, reason in family.refused.items():
            why[reason.partition(": ")[2] or reason].append(key)
        for reason, keys in why.items():
            yield f"In {family.name}, {listing(keys, 4)} cannot be summarised: {reason}"


def _too_few(families: Sequence[Family]) -> Iterator[str]:
    """Comparisons that could not be made, or whose tests cannot reject; each reason once, with its datasets."""
    for family in families:
        where: dict[str, list[str]] = defaultdict(list)
        name = _braced(family.name)
        for item in family.comparisons:
            comparison = item.outcome
            if comparison is None:
                where[f"In {name} there is no comparison on {{}}: {_braced(item.reason)}"].append(item.scope)
            elif not any(test.can_reject for test in comparison.tests):
                needed = max(test.seeds_needed for test in comparison.tests)
                if needed <= len(comparison.units):  # ties, about which the comparison says more
                    continue
                place = "over datasets{}" if item.dataset is None else "on {}"
                where[
                    f"In {name}, {several_do(len(comparison.units), comparison.unit, 'is', 'are')} too few for the "
                    f"{comparison.design.runs} tests of {len(comparison.methods)} methods {place} to reject, "
                    f"regardless of the scores: it takes at least {needed}."
                ].append("" if item.dataset is None else item.scope)
        for sentence, scopes in where.items():
            yield sentence.format(listing(scopes, 4))


def _braced(text: str) -> str:
    """A text of others in a sentence that is to be formatted."""
    return text.replace("{", "{{").replace("}", "}}")


def _one_run(families: Sequence[Family]) -> Iterator[str]:
    for family in families:
        single = [row for row in family.rows.values() if row.runs == 1]
        if single and len(single) == len(family.rows):
            yield (
                f"In {family.name} every method ran once on each dataset: nothing is known about the spread between "
                "seeds, and intervals are over the evaluated items only."
            )


def _no_interval(families: Sequence[Family]) -> Iterator[str]:
    for family in families:
        lacking = [key for key in family.headlines if all(row.over == "" for row in _rows(family, key))]
        if lacking:
            reasons = dict.fromkeys(
                result.no_interval
                for key in lacking
                for row in _rows(family, key)
                for result in row.results
                if result.no_interval
            )
            because = f" ({listing(list(reasons), 2)})" if reasons else ""
            yield f"Without an interval in {family.name}: {listing(lacking)}{because}."


def _rows(family: Family, key: str) -> list[Row]:
    return [row for row in family.rows.values() if row.metric == key]


def _skipped(families: Sequence[Family]) -> Iterator[str]:
    for family in families:
        why: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for record in family.records:
            for key, reason in record.evaluation.skipped.items() if record.evaluation else ():
                why[reason][key] += 1
        for reason, keys in why.items():
            results = f"{max(keys.values())} of {several(len(family.records), 'result')}"
            names = listing(list(keys), 4)
            yield f"Not measured in {family.name}, in {results}: {names}. The reason: {reason.rstrip('.')}."


def _oracles(families: Sequence[Family]) -> Iterator[str]:
    for family in families:
        keys = [key for key, result in family.facts.items() if result.oracle]
        if keys:
            yield f"Chosen with knowledge of the truth, so not reachable in use, in {family.name}: {listing(keys, 4)}."


def _one_dataset(families: Sequence[Family]) -> Iterator[str]:
    for family in families:
        if len(family.datasets) == 1:
            yield f"In {family.name} there is one dataset, {family.datasets[0]}: the results do not cover others."


def _unhashed(collected: Collected) -> Iterator[str]:
    bare = sum(not record.receipt.get("inputs") for record in collected.records)
    if bare:
        yield f"{several(bare, 'result')} of {len(collected.records)} name no input files, so they cannot be verified."
