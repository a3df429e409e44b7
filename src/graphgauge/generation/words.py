"""What to conclude from an evaluation of a generator, in one sentence."""

from __future__ import annotations

import math
from typing import NamedTuple

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.number import shown
from graphgauge.core.result import Result
from graphgauge.stats.many import holm
from graphgauge.stats.text import p_text, together

# Of each test its p-value, the distance that says how far, and what is compared.
_TESTS = {
    "energy_p_value": ("overall_mean_distance", "statistics"),
    "mmd_p_value": ("mmd", "samples as a whole"),
    "degree_mmd_p_value": ("degree_mmd", "degrees"),
    "clustering_mmd_p_value": ("clustering_mmd", "clustering"),
    "orbit_mmd_p_value": ("orbit_mmd", "orbits"),
    "spectral_mmd_p_value": ("spectral_mmd", "spectra"),
}
_COPIES = {
    "copied-training-set": "they copy the training set",
    "near-copies": "they are near copies of the training set",
    "repeated-samples": "they repeat each other",
    "collapsed-samples": "they are variants of few samples",
}


class Tested(NamedTuple):
    """What was compared, its corrected p-value, and the distance in units of what 95 % of real sets stay within."""

    what: str
    p: float
    ratio: float


def conclusion(evaluation: Evaluation) -> str:
    """In what generated samples differ from real ones and how much, and whether they are copies."""
    found = {each.check: each for each in evaluation.findings if not each.ignored}
    if "copied-test-set" in found:
        return "The generated samples are the real ones that they are compared with: nothing can be concluded."
    copies = [words for check, words in _COPIES.items() if check in found]
    tests = _tests(evaluation)
    alpha = 1 - float(evaluation.options.get("confidence", 0.95))
    differing = [each for each in tests if each.p <= alpha]
    if not tests:
        said = _untested(evaluation)
    elif differing:
        said = f"generated samples differ from real ones in {together([_how(each) for each in differing])}"
        same = [each.what for each in tests if each.p > alpha]
        said += f", and no difference is found in {together(same)}" if same else ""
    else:
        number = f"{len(tests)} test{'s' if len(tests) > 1 else ''}"
        smallest = p_text(min(evaluation[key].value for key in _TESTS if key in evaluation and evaluation[key].defined))
        said = f"no difference between generated and real samples is found ({number}, smallest {smallest})"
    said = "; ".join([said, *copies]) if said else "; ".join(copies)
    return f"{said[0].upper()}{said[1:]}." if said else ""


def _tests(evaluation: Evaluation) -> list[Tested]:
    """The tests that were made, corrected by Holm."""
    keys = [key for key in _TESTS if key in evaluation and evaluation[key].defined]
    corrected = holm([evaluation[key].value for key in keys]).tolist() if keys else []
    pairs = zip(keys, corrected, strict=True)
    return [Tested(_TESTS[key][1], float(p), _ratio(evaluation.get(_TESTS[key][0]))) for key, p in pairs]


def _ratio(distance: Result | None) -> float:
    """A distance over what 95 % of real sets stay within; NaN if that is not known."""
    if distance is None or not distance.defined:
        return math.nan
    perfect = next(
        (each.high for each in distance.references if each.name == "perfect" and each.high is not None), None
    )
    most = distance.goal if distance.goal is not None else perfect
    return distance.value / most if most is not None and most > 0 else math.nan


def _how(test: Tested) -> str:
    if math.isnan(test.ratio) or test.ratio < 1:
        return f"{test.what} ({p_text(test.p)})"
    times = f"{test.ratio:.1f}" if test.ratio < 10 else f"{test.ratio:.0f}"
    return f"{test.what} ({times} times as far as 95 % of real sets are from each other, {p_text(test.p)})"


def _untested(evaluation: Evaluation) -> str:
    """Without a test, the first value."""
    first = next((each for each in evaluation.values() if each.defined and each.direction != "none"), None)
    return "" if first is None else f"nothing was tested against real samples; {first.key} is {shown(first.value)}"
