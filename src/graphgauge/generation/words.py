"""What to conclude from an evaluation of a generator, in one sentence."""

from __future__ import annotations

import math

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
}


def conclusion(evaluation: Evaluation) -> str:
    """In what generated samples differ from real ones and how much, and whether they are copies."""
    found = {each.check: each.evidence for each in evaluation.findings if not each.ignored}
    if "copied-test-set" in found:
        copied, n = (int(found["copied-test-set"][name]) for name in ("copied", "n"))
        which = "The" if copied == n else f"{copied} of {n}"
        return f"{which} generated samples are real ones that they are compared with: nothing can be concluded."
    keys = [key for key in _TESTS if key in evaluation and evaluation[key].defined]
    corrected = holm([evaluation[key].value for key in keys]).tolist() if keys else []
    alpha = 1 - float(evaluation.options.get("confidence", 0.95))
    differing = [_how(evaluation, key, p) for key, p in zip(keys, corrected, strict=True) if p <= alpha]
    if differing:
        said = f"generated samples differ from real ones in {together(differing)}"
        same = [_TESTS[key][1] for key, p in zip(keys, corrected, strict=True) if p > alpha]
        said += f", and no difference is found in {together(same)}" if same else ""
    elif keys:
        number = f"{len(keys)} test{'s' if len(keys) > 1 else ''}"
        smallest = p_text(min(evaluation[key].value for key in keys))
        said = f"no difference between generated and real samples is found ({number}, smallest uncorrected {smallest})"
        draws, least = int(evaluation.options.get("draws", 999)), round(len(keys) / alpha, 9)
        if draws + 1 < least:  # Holm multiplies the smallest of all by their number
            said += f"; {draws} draws cannot find one: take draws of at least {math.ceil(least) - 1}"
    else:
        said = _untested(evaluation)
    text = "; ".join([*([said] if said else []), *(words for check, words in _COPIES.items() if check in found)])
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _how(evaluation: Evaluation, key: str, p: float) -> str:
    """What differs, by how much more than 95 % of real sets do if that is known, and the corrected p-value."""
    distance, what = _TESTS[key]
    ratio = _ratio(evaluation.get(distance))
    if math.isnan(ratio) or ratio < 1:
        return f"{what} (corrected {p_text(p)})"
    times = f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"
    return f"{what} ({times} times as far as 95 % of real sets are from each other, corrected {p_text(p)})"


def _ratio(distance: Result | None) -> float:
    """A distance over what 95 % of real sets stay within; NaN if that is not known."""
    if distance is None or not distance.defined:
        return math.nan
    highs = [each.high for each in distance.references if each.name == "perfect"]
    most = distance.goal if distance.goal is not None else next(iter(highs), None)
    return distance.value / most if most is not None and most > 0 else math.nan


def _untested(evaluation: Evaluation) -> str:
    """Without a test, the first value."""
    first = next((each for each in evaluation.values() if each.defined and each.direction != "none"), None)
    return "" if first is None else f"nothing was tested against real samples; {first.key} is {shown(first.value)}"
