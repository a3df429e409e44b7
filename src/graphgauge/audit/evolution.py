"""Checks of graphs that rewrite themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graphgauge.core.findings import Evidence, check
from graphgauge.core.result import Result, Table

_AFTER, _BEFORE = "auc_synthetic", "auc_birth"
# Less than this is no other story, however certain.
_FAR = 0.05


@check(
    "circular-auc",
    family="evolution",
    severity="warning",
    message="births{where} score {after:.3f} on the embeddings after them and {before:.3f} on those before: the first "
    "number is made by the births themselves",
    remedy="Judge growth by auc_birth or auc_matched.",
)
def circular_auc(results: Mapping[str, Result], by_condition: Table | None = None) -> Evidence | None:
    """Births score far better on the embeddings after them than on those before."""
    for where, (after, after_low), (before, before_high) in _areas(results, by_condition):
        if after - before >= _FAR and after_low > before_high:
            return {"where": where, "after": after, "before": before}
    return None


def _areas(
    results: Mapping[str, Result], by_condition: Table | None
) -> Iterator[tuple[str, tuple[float, float], tuple[float, float]]]:
    """The area after, with its lower end, and before, with its upper: of each condition where there are several."""
    after, before = results.get(_AFTER), results.get(_BEFORE)
    if after is None or before is None:
        return
    if by_condition is not None:
        columns = (_AFTER, f"{_AFTER}.low", _BEFORE, f"{_BEFORE}.high")
        for name, *numbers in zip(
            by_condition["condition"], *(by_condition[column] for column in columns), strict=True
        ):
            one, low, other, high = map(float, numbers)
            yield f" of {name}", (one, low), (other, high)
    elif after.interval is not None and before.interval is not None:
        yield "", (after.value, after.interval.low), (before.value, before.interval.high)
