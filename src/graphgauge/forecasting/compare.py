"""Compare two forecasts whose errors are correlated in time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import copysign, inf, isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge import _core
from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import whole_number
from graphgauge.forecasting.declared import equal, nearest
from graphgauge.forecasting.inputs import Batch, weights_of
from graphgauge.forecasting.joint import joint_sums
from graphgauge.forecasting.labels import Names
from graphgauge.forecasting.measures import Layout, measured, weight_of
from graphgauge.forecasting.options import AXES
from graphgauge.forecasting.serial import FEWEST, Slow, cosine_error, memory_of, slowest
from graphgauge.kernels.forecast import Sums
from graphgauge.kernels.threads import map_blocks
from graphgauge.old.core.result import Interval
from graphgauge.old.core.shown import Sentence
from graphgauge.old.stats.intervals import is_rounding, t_quantile, tail

LOSSES = ("absolute", "squared", "crps", "crps_fair", "nll", "pinball", "energy")
# The forms that have each loss; a point has a crps, its absolute error.
_FORMS = {
    "crps": ("point", "gaussian", "samples", "quantiles"),
    "crps_fair": ("samples",),
    "nll": ("gaussian",),
    "pinball": ("quantiles",),
    "energy": ("samples",),
}
# A test uses few cosines already; fewer only if slow changes are beyond doubt, by so many standard errors.
_RESEMBLE = 3.0
_GIVEN = {
    "point": "a point forecast",
    "gaussian": "std",
    "samples": "samples",
    "quantiles": "quantiles and levels",
}


@dataclass(frozen=True)
class DieboldMariano(Sentence):
    """The outcome of a test that two forecasts have the same expected loss.

    `difference` is the mean loss of a minus that of b, over all cells: below 0 a is better. `df` are the degrees of
    freedom of Student's t, which is the number of cosines in the estimate of the long-run variance. `skill` is
    1 − the mean loss of a over that of b, with its interval, if losses cannot be negative. `names` are those of both.
    """

    difference: float
    statistic: float
    p_value: float
    interval: Interval | None
    steps: int
    horizon: int
    loss: str
    df: int = 0
    reason: str | None = None
    skill: float = nan
    skill_interval: Interval | None = None
    names: tuple[str, str] = ("a", "b")

    def __str__(self) -> str:
        if self.reason is not None:
            return f"Diebold–Mariano: no test, {self.reason}."
        better = "neither" if self.difference == 0 else self.names[self.difference > 0]
        assert self.interval is not None
        low, high = self.interval
        return (
            f"Diebold–Mariano, {self.loss} loss, horizon {self.horizon}, {self.steps} steps: {better} has the smaller "
            f"mean loss, difference {self.difference:.4g} [{low:.4g}, {high:.4g}], t = {self.statistic:.3f}, "
            f"p = {self.p_value:.3g}"
        )


def compare(
    y_true: Any,
    a: Any,
    b: Any,
    *,
    loss: str = "absolute",
    horizon: int | None = None,
    mask: Any = None,
    null_value: float | None = None,
    null_tolerance: float = 0.0,
    axes: Iterable[str] = AXES,
    weights: Any = None,
    nan: str = "raise",
    confidence: float = 0.95,
) -> DieboldMariano:
    """Diebold and Mariano's test (1995), with the long-run variance of the slowest cosines (Lazarus et al. 2018).

    `a` and `b` are point forecasts, or mappings with the arguments of `evaluate`: `y_pred` and `std`, `samples`,
    or `quantiles` and `levels`. `loss` is `absolute` or `squared`, or a score that both have: `crps`
    (of any kind; that of a point is its absolute error), `crps_fair`, `nll`, `pinball`, or `energy` (of all nodes
    jointly).

    The difference is that of the pooled means: every cell has the same weight, or that of its node (`weights`). Losses
    may be correlated in time. Labels of the truth and of both forecasts are matched, and labels that differ are an
    error; both must have the same cells. Forecasts h steps ahead overlap, so cosines faster than the overlap are left
    out. `horizon` is h; the default is the number of horizons. At most 8 cosines are used, and 4 if there are few
    steps: more would make the test reject too often if errors are strongly autocorrelated. If the slowest cosines do
    not see all of that autocorrelation, the variance is corrected for it. In series that are too short to show it, the
    test still rejects too often.

    Parameters
    ----------
    y_true
        The truth, whose dimensions `axes` names.
    a, b
        The two forecasts.
    loss
        `absolute`, `squared`, `crps`, `crps_fair`, `nll`, `pinball` or `energy`.
    horizon
        Steps ahead, by which forecasts overlap.
    mask, null_value, null_tolerance, axes, weights, nan
        As in `evaluate`.
    confidence
        Level of the interval.

    Returns
    -------
    DieboldMariano
        The mean loss of a minus that of b, with interval, two-sided p and skill.

    Raises
    ------
    InputError
        If shapes or labels differ.
    OptionError
        If a forecast does not have the loss.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import forecasting
    >>> rng = np.random.default_rng(0)
    >>> y, noise = rng.normal(size=(100, 1, 2)), rng.normal(size=(100, 1, 2))
    >>> test = forecasting.compare(y, y + 0.1 * noise, y + noise)
    >>> round(test.difference, 3), test.p_value < 0.05
    (-0.735, True)
    """
    common = {"mask": mask, "null_value": null_value, "null_tolerance": null_tolerance, "axes": axes, "nan": nan}
    losses_a, losses_b, cells, _ = _losses_of_both(y_true, a, b, loss, common, confidence, weights)
    ahead = cells.shape[1] if horizon is None else whole_number("horizon", horizon, 1)
    return _compared(losses_a.sum(axis=1), losses_b.sum(axis=1), cells.sum(axis=1), ahead, loss, confidence)


def compare_by_horizon(
    y_true: Any,
    a: Any,
    b: Any,
    *,
    loss: str = "absolute",
    mask: Any = None,
    null_value: float | None = None,
    null_tolerance: float = 0.0,
    axes: Iterable[str] = AXES,
    weights: Any = None,
    nan: str = "raise",
    confidence: float = 0.95,
) -> dict[Any, DieboldMariano]:
    """The test of `compare` for each horizon, by its label, or 1 for the first.

    p-values are not adjusted for their number.

    Parameters
    ----------
    y_true, a, b, loss, mask, null_value, null_tolerance, axes, weights, nan, confidence
        As in `compare`.

    Returns
    -------
    dict
        A `DieboldMariano` for each horizon.

    Raises
    ------
    InputError
        If shapes or labels differ.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import forecasting
    >>> y = np.random.default_rng(0).normal(size=(100, 2, 3))
    >>> tests = forecasting.compare_by_horizon(y, y + 0.1, y - [[[0.5], [0.1]]])
    >>> {horizon: round(test.difference, 2) for horizon, test in tests.items()}
    {1: -0.4, 2: 0.0}
    """
    common = {"mask": mask, "null_value": null_value, "null_tolerance": null_tolerance, "axes": axes, "nan": nan}
    losses_a, losses_b, cells, labels = _losses_of_both(y_true, a, b, loss, common, confidence, weights)
    keys = list(range(1, cells.shape[1] + 1)) if labels is None else labels
    return {
        keys[place]: _compared(losses_a[:, place], losses_b[:, place], cells[:, place], place + 1, loss, confidence)
        for place in range(cells.shape[1])
    }


def _losses_of_both(
    y_true: Any, a: Any, b: Any, loss: str, common: dict[str, Any], confidence: float, weights: Any
) -> tuple[Floats, Floats, Floats, list[Any] | None]:
    """The losses of both and the number of cells, by step and horizon, and the labels of the horizons."""
    one_of("loss", loss, LOSSES)
    if loss == "energy" and weights is not None:
        raise OptionError("loss 'energy' has no node weights", fix="Leave weights= out, or choose another loss.")
    tail(confidence)  # checked here, also if there will be no interval
    batches = _both(y_true, a, b, common)
    (losses_a, cells, seen), (losses_b, _, other) = (
        _step_losses(name, batch, loss, weights) for name, batch in zip("ab", batches, strict=True)
    )
    if not np.array_equal(seen, other):
        raise InputError(
            "the forecasts are missing different cells", where="a and b", fix="Mask the cells that either is missing."
        )
    return losses_a, losses_b, cells, batches[0].ahead


def _both(y_true: Any, a: Any, b: Any, common: dict[str, Any]) -> tuple[Batch, Batch]:
    """Both forecasts, with the cells of both in the order of the labels that either has."""
    if isinstance(a, str) or isinstance(b, str):
        raise OptionError("a and b must be forecasts, not names", fix="For two columns of a table use compare_table.")
    one = _batch("a", y_true, a, common, {})
    two = _batch("b", y_true, b, common, _owned(one.labels, "a"))
    if two.labels.keys() - one.labels.keys():
        one = _batch("a", y_true, a, common, _owned({**two.labels, **one.labels}, "b"))
    if one.shape != two.shape:
        raise InputError(
            f"the forecasts have the shapes {one.shape} and {two.shape} (time, horizon, node)",
            where="a and b",
            fix="Select the issue times and lead times that both have.",
        )
    return one, two


def _owned(labels: Mapping[str, Names], owner: str) -> dict[str, Names]:
    return {axis: replace(names, owner=owner) for axis, names in labels.items()}


def _compared(
    loss_a: Floats, loss_b: Floats, cells: Floats, ahead: int, loss: str, confidence: float
) -> DieboldMariano:
    seen = cells > 0
    loss_a, loss_b, cells = loss_a[seen], loss_b[seen], cells[seen]
    largest = float((np.maximum(np.abs(loss_a), np.abs(loss_b)) / cells).max(initial=0.0))
    found = _tested(loss_a - loss_b, cells, largest, ahead, loss, confidence)
    base = float(loss_b.sum())
    if found.interval is None or loss in ("nll", "crps_fair") or base <= 0:
        return found
    ratio = float(loss_a.sum()) / base
    influence = (ratio * loss_b - loss_a) / base
    interval, _, _ = _interval(1 - ratio, influence, cells, ahead, confidence)
    return replace(found, skill=1 - ratio, skill_interval=interval)


def _tested(gaps: Floats, cells: Floats, largest: float, ahead: int, loss: str, confidence: float) -> DieboldMariano:
    """Test the summed loss differences of the steps, given their numbers of cells; no loss is above `largest`."""
    steps, total = len(gaps), float(cells.sum())
    mean = float(gaps.sum()) / total if total else nan

    def untested(statistic: float, reason: str) -> DieboldMariano:
        return DieboldMariano(mean, statistic, nan, None, steps, ahead, loss, reason=reason)

    if not steps:
        return untested(nan, "no time step has cells in both")
    if steps < FEWEST or ahead >= steps:
        return untested(nan, f"{steps} time steps for forecasts {ahead} steps ahead")
    influence = (gaps - mean * cells) / total
    if is_rounding(np.abs(gaps / cells - mean).max(), largest):
        if is_rounding(abs(mean), largest):
            return untested(nan, "the losses never differ")
        return untested(copysign(inf, mean), "the losses differ by the same at every step")
    interval, error, df = _interval(mean, influence, cells, ahead, confidence)
    if not error > 0:
        return untested(nan, "nearly all cells are in a few time steps")
    statistic = mean / error
    return DieboldMariano(mean, statistic, _two_sided(statistic, int(df)), interval, steps, ahead, loss, int(df))


def _interval(
    value: float, influence: Floats, cells: Floats, ahead: int, confidence: float
) -> tuple[Interval, float, float]:
    """The interval of a mean over steps, its standard error and degrees of freedom."""
    most = slowest(len(cells), ahead)
    (error,), (df,) = _error(influence[:, np.newaxis], cells[:, np.newaxis], most, confidence)
    margin = float(t_quantile(df, confidence)[0]) * float(error)
    interval = Interval(value - margin, value + margin, confidence, "diebold-mariano-t", "time steps")
    return interval, float(error), float(df)


def _error(influence: Floats, cells: Floats, most: int, confidence: float) -> tuple[Floats, Floats]:
    """Standard errors of means over steps (rows), and their degrees of freedom.

    That of the slowest cosines, or that corrected for the memory of the steps, if it makes a wider interval.
    """
    plain = cosine_error(influence, cells, most, slow=[Slow(influence)], resemble=_RESEMBLE)
    memory = memory_of(influence, cells > 0)
    if not memory.any():
        return plain
    other = cosine_error(influence, cells, most, memory=memory, slow=[Slow(influence)], resemble=_RESEMBLE)
    narrow, wide = (error * t_quantile(df, confidence) for error, df in (plain, other))
    wider = wide > narrow
    return np.where(wider, other[0], plain[0]), np.where(wider, other[1], plain[1])


def _two_sided(statistic: float, df: int) -> float:
    return nan if isnan(statistic) else float(2 * _core.student_tail(abs(statistic), df))


def _batch(name: str, y_true: Any, given: Any, common: dict[str, Any], known: Mapping[str, Names]) -> Batch:
    arguments = dict(given) if isinstance(given, Mapping) else {"y_pred": given}
    unknown = next((key for key in arguments if key not in _ARGUMENTS), None)
    if unknown is not None:
        raise OptionError(f"{name} has {unknown!r:.60}", fix=f"A forecast has {', '.join(_ARGUMENTS)}.")
    try:
        return Batch.of(y_true, **arguments, **common, known=known).on_host()
    except InputError as error:
        raise _renamed(error, name) from None


def _step_losses(name: str, batch: Batch, loss: str, weights: Any) -> tuple[Floats, Floats, NDArray[np.uint8]]:
    """The summed loss and the number, or weight, of the cells of each time step and horizon, and which cells."""
    forms = _FORMS.get(loss, (batch.form,))
    if batch.form not in forms:
        needed = " or ".join(_GIVEN[form] for form in forms)
        raise OptionError(f"loss {loss!r} needs {needed}", fix=f"Pass {name} as a mapping, or choose another loss.")
    if loss == "energy" and batch.shape[2] < 2:
        raise OptionError("loss 'energy' needs at least two nodes", fix="Choose loss='crps'.")
    members = 0 if batch.members is None else batch.members.shape[-1]
    counted = ("scores",) if batch.form == "gaussian" and loss in ("crps", "nll") else ()
    scale = None if weights is None else weights_of(weights, batch)
    layout = Layout(
        batch.form,
        *batch.shape[1:],
        (),
        batch.levels,
        members,
        counted=counted,
        weights=None if scale is None else "given",
    )
    parts = map_blocks(lambda piece: _slab_losses(batch, layout, piece[0], loss, scale), list(batch.slabs(0, 0)))
    if not all(np.isfinite(losses).all() for losses, *_ in parts):
        try:
            batch.refuse_bad_values()
        except InputError as error:
            raise _renamed(error, name) from None
    nothing = np.zeros((0, batch.shape[1]))
    losses, cells = (np.concatenate([nothing, *(part[place] for part in parts)]) for place in (0, 1))
    return losses, cells.astype(np.float64), np.concatenate([part[2] for part in parts] or [np.empty((0, 0), np.uint8)])


_ARGUMENTS = ("y_pred", "std", "quantiles", "levels", "samples")


def _slab_losses(
    batch: Batch, layout: Layout, rows: slice, loss: str, weights: Floats | None
) -> tuple[Floats, NDArray[Any], NDArray[np.uint8]]:
    """The same for some steps, from the sums that metrics are computed on."""
    slab = batch.slab(rows)
    steps = len(slab.y)
    seen = np.packbits(slab.counted.reshape(steps, -1), axis=1)
    if loss == "energy":
        sums, cells = joint_sums(slab, steps, rows.start, None), slab.counted.sum(axis=2)
        scored = sums.counts[..., 0]
        # NaN if there are cells enough, and no score.
        scores = np.where((cells > 1) & (scored == 0), np.nan, sums.high[..., 0] + sums.low[..., 0])
        return scores, scored, seen
    sums, _ = measured(slab, layout, steps, None, np.zeros(steps, np.int64), weights)
    return *_summed_losses(sums, layout, loss), seen


def _summed_losses(sums: Sums, layout: Layout, loss: str) -> tuple[Floats, NDArray[Any]]:
    """The summed losses, and the number or weight of the cells."""
    total = sums.high + sums.low
    cells = sums.counts[..., 0] if layout.weights is None else total[..., layout.column(weight_of("n"))]
    if layout.form == "quantiles" and loss in ("crps", "pinball"):
        levels = np.array(layout.levels)
        factors = 2 * nearest(levels) if loss == "crps" else equal(levels)
        columns = [layout.column(f"pinball_{level:g}") for level in layout.levels]
        return total[..., columns] @ factors, cells
    column = {"absolute": "abs", "squared": "square"}.get(loss, loss)
    return total[..., layout.column("abs" if layout.form == "point" and loss == "crps" else column)], cells


def _renamed(error: InputError, name: str) -> InputError:
    of_labels = error.where == "y_true" and "differ from those of" in error.what
    return type(error)(error.what, where=name, fix=error.fix) if error.where == "y_pred" or of_labels else error
