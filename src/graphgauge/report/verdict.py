"""One sentence about all results, which claims no more than the comparisons show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphgauge.old.core.text import number
from graphgauge.old.stats.comparison import Comparison
from graphgauge.old.stats.method_test import PAIRED, MethodTest
from graphgauge.old.stats.power import fewest_units
from graphgauge.old.stats.text import bounds, decimals, fixed, listing, p_text, several
from graphgauge.report.asked import GateLine
from graphgauge.report.family import Compared, Family, Row
from graphgauge.report.tables import digits_of, span

# The most families whose claims fit in one sentence; more are only counted.
_CLAUSES = 2


def verdict(families: Sequence[Family], gates: Sequence[GateLine]) -> str:
    claims = [(family, _claim(family)) for family in families]
    if len(claims) <= _CLAUSES:
        parts = [f"in {family.name}, {claim.text}" for family, claim in claims]
    else:
        decided = [f"{family.name} ({claim.best})" for family, claim in claims if claim.best]
        named = f": {listing(decided)}" if decided else ""
        parts = [f"in {len(decided)} of {len(claims)} families one method differs significantly from all others{named}"]
    if gates:
        parts.append(_gate_words(gates))
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


@dataclass(frozen=True)
class _Claim:
    """`best` names a method that differs significantly from every other on all datasets."""

    text: str
    best: str = ""


def _claim(family: Family) -> _Claim:
    if not family.headlines:
        return _Claim("no run has a value to judge")
    if len(family.methods) == 1:
        return _Claim(_alone(family))
    outcomes = [item for item in family.comparisons if item.outcome is not None]
    overall = next((item.outcome for item in outcomes if item.dataset is None), None)
    within = [item for item in outcomes if item.dataset is not None]
    metric = family.headlines[0]
    if overall is not None and _can_reject(overall):
        return _standing(overall, f" over {overall.over}")
    if len(within) == 1 and within[0].outcome is not None:
        comparison = within[0].outcome
        return _standing(comparison, f" on {within[0].dataset} over {several(len(comparison.units), comparison.unit)}")
    return _over_datasets(within, metric) if within else _Claim(_untested(family, metric))


def _standing(comparison: Comparison, where: str) -> _Claim:
    best, metric = comparison.best, comparison.metric
    others = [name for name in comparison.methods if name != best]
    if _all_equal(comparison):
        means = number(comparison[best].mean)
        return _Claim(f"{several(len(comparison.methods), 'method')} have equal {metric}{where}: {means} in the mean")
    if not _can_reject(comparison):
        needed = max(test.seeds_needed for test in comparison.tests)
        if needed <= len(comparison.units):
            alike = "of which too many are tied for a significant difference"
            return _Claim(f"{best} has the best mean {metric}{where}, {alike}")
        return _Claim(
            f"{best} has the best mean {metric}{where}, too few for a significant difference "
            f"(at least {needed} are needed)"
        )
    close = comparison.not_distinguished
    if not close:
        whom = others[0] if len(others) == 1 else "both others" if len(others) == 2 else f"all {len(others)} others"
        return _Claim(f"{best} has the best {metric}{where} and differs significantly from {whom}", best)
    rivals = listing(close, 3)
    return _Claim(f"{best} has the best mean {metric}{where}, but does not differ significantly from {rivals}")


def _untested(family: Family, metric: str) -> str:
    """Who leads if no test could be made, and why there is none."""
    best = {dataset: method for dataset in family.datasets for method in [*family.places(dataset)][:1]}
    if not best:
        return f"no run has a value of {metric}"
    led = [
        f"{method} has the best mean {metric} on {dataset}, {in_words(family.rows[metric, dataset, method])}"
        for dataset, method in best.items()
    ]
    why = next((f": {item.reason.rstrip('.')}" for item in family.comparisons if item.reason), "")
    return f"{listing(led, 2)}; the methods could not be compared{why}"


def _over_datasets(within: Sequence[Compared], metric: str) -> _Claim:
    leaders = {
        item.scope: item.outcome.best
        for item in within
        if item.outcome is not None and _can_reject(item.outcome) and not item.outcome.not_distinguished
    }
    names = set(leaders.values())
    if len(leaders) == len(within) and len(names) == 1:
        best = names.pop()
        every = "both" if len(within) == 2 else f"each of {len(within)}"
        text = f"{best} has the best {metric} on {every} datasets and differs significantly from all others"
        return _Claim(text, best)
    if not leaders:
        return _Claim(
            f"on none of {len(within)} datasets does one method differ significantly from all others in {metric}"
        )
    where = listing([f"{best} on {dataset}" for dataset, best in leaders.items()], 3)
    return _Claim(
        f"on {len(leaders)} of {len(within)} datasets one method differs significantly from all others in {metric}: "
        f"{where}"
    )


def _alone(family: Family) -> str:
    method, metric = family.methods[0], family.headlines[0]
    if len(family.datasets) > 1:
        return f"{method} alone was evaluated, on {len(family.datasets)} datasets, with nothing to compare it with"
    row = family.rows[metric, family.datasets[0], method]
    chance = f", where chance gives {span(row.chance)}" if row.chance else ""
    return f"{method} reaches {metric} {in_words(row)} on {row.dataset}{chance}; it was compared with no other method"


def in_words(row: Row) -> str:
    digits = digits_of(row.value, row.low, row.high)
    interval = f" {bounds((row.low, row.high), digits)}" if row.over else ""
    return f"{fixed(row.value, digits)}{interval}"


@dataclass(frozen=True)
class Lead:
    """The best method of a scope and its closest rival: their difference, whether it holds, what would settle it."""

    where: str
    text: str
    holds: bool


def leads(families: Sequence[Family], most: int = 4) -> list[Lead]:
    """The leader of each family: over all datasets if those were tested together, else on each dataset."""
    found: list[Lead] = []
    for family in families:
        outcomes = [item for item in family.comparisons if item.outcome is not None]
        overall = [item for item in outcomes if item.dataset is None and _can_reject(item.outcome)]
        chosen = overall or [item for item in outcomes if item.dataset is not None]
        found += [
            _lead(family, item, item.outcome)
            for item in chosen
            if item.outcome is not None and not _all_equal(item.outcome)
        ]
    # Of many, those that are open: the others follow from the verdict.
    return found if len(found) <= most else sorted(found, key=lambda lead: lead.holds)[:most]


def _lead(family: Family, item: Compared, comparison: Comparison) -> Lead:
    best, close = comparison.best, comparison.not_distinguished
    others = sorted(
        (standing for standing in comparison.standings if standing.method != best),
        key=lambda standing: abs(standing.mean - comparison[best].mean),
    )
    rival = next((other.method for other in others if other.method in close), others[0].method)
    test = comparison[best, rival]
    sign = 1.0 if test.names[0] == best else -1.0
    ends = None if test.ci is None else tuple(sorted(sign * end for end in test.ci))
    digits = decimals((ends[1] - ends[0]) / 4, test.shift) if ends is not None and ends[1] > ends[0] else 4
    interval = f" {bounds(ends, digits)}" if ends is not None else ""
    means = " against ".join(number(comparison[name].mean) for name in (best, rival))
    what = "distance from the target" if comparison.target is not None else comparison.metric
    said = f"{best} {means} of {rival}, difference in {what} {fixed(sign * test.shift, digits)}{interval}"
    holds = test.significant
    few = test.seeds_needed > len(comparison.units)
    verdict = "it holds" if holds else "it is open" if test.can_reject or not few else "it cannot be tested yet"
    p = p_text(test.p_adjusted).replace(" ", "\u00a0")
    after = f" ({p} after Holm's correction)" if test.can_reject else ""
    text = f"{said}: {verdict}{after}{_settled(comparison, test)}.{_but(family, item, best)}"
    return Lead(f"{family.name}, {item.scope}", text, holds)


def _but(family: Family, item: Compared, best: str) -> str:
    """The findings of a leader that not all other methods have: a copy of the training set may have the best value."""
    runs = [run for run in family.runs if item.dataset in (None, run.dataset)]
    others = [{*run.findings} for run in runs if run.method != best]
    own = dict.fromkeys(check for run in runs if run.method == best for check in run.findings)
    found = [check for check in own if not all(check in theirs for theirs in others)]
    return f" But {best} has the finding{'s' if len(found) > 1 else ''} {listing(found)}." if found else ""


def _settled(comparison: Comparison, test: MethodTest) -> str:
    """What would settle an open difference, on the condition that the true one is as large as the observed."""
    if test.significant:
        return ""
    if comparison.design.datasets == "these":  # units are datasets, and runs are what is tested
        return ""
    few = test.seeds_needed > len(comparison.units)
    least = f"; at least {several(test.seeds_needed, comparison.unit)} are needed" if few else ""
    columns = [comparison.methods.index(name) for name in test.names]
    first, second = comparison.scores[:, columns].T
    spread = float(np.std(first - second, ddof=1)) if len(first) > 1 else math.nan
    if test.test not in PAIRED or comparison.target is not None or not spread > 0 or not test.shift:
        return least
    units = fewest_units(abs(test.shift) / spread, True, 1, 0.8, test.alpha / test.comparisons)
    if units is None or units <= max(len(first), test.seeds_needed * (not test.can_reject)):
        return least
    aim = "if the true difference is this large"
    return f"{least}; {several(units, comparison.unit)} would show it with 80 % power {aim}"


def _all_equal(comparison: Comparison) -> bool:
    return bool((comparison.scores == comparison.scores[:, :1]).all())


def _can_reject(comparison: Comparison | None) -> bool:
    return comparison is not None and any(test.can_reject for test in comparison.tests)


def _gate_words(gates: Sequence[GateLine]) -> str:
    failed = sum(not gate.passed for gate in gates)
    if failed:
        return f"{failed} of {several(len(gates), 'gate')} failed"
    return "the gate holds" if len(gates) == 1 else f"all {len(gates)} gates hold"
