"""torchmetrics: an evaluation as a `torchmetrics.Metric`, for Lightning and custom training loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphgauge.core.extras import need
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.engines.distributed import merged
from graphgauge.old.engines.fold import Fold

if TYPE_CHECKING:
    from graphgauge.old.stats.regression import Regression

torch = need("torch", "a torchmetrics metric")
Metric = need("torchmetrics", "a torchmetrics metric").Metric


class GraphgaugeMetric(Metric):  # type: ignore[misc, valid-type]
    """Counts batches into a state: `update` is that of the family's state, `compute` returns float64 tensors.

    Options are those of `graphgauge.FAMILY.evaluate`. `metrics` with one name makes it a metric of one value, for
    `self.log`; otherwise `compute` returns a dictionary. Under torch.distributed the states of all processes are
    merged. `evaluation()` returns the values with intervals, chance levels and conventions.
    """

    full_state_update = False

    def __init__(self, family: str = "ranking", **options: Any) -> None:
        super().__init__()
        self.fold = Fold.of(family, (), options)
        self.state = self.fold.merge([])

    def update(self, *arrays: Any, **named: Any) -> None:
        self.state.update(*arrays, **named)

    def compute(self) -> Any:
        return self._values(self.evaluation())

    def evaluation(self) -> Evaluation:
        together = torch.distributed.is_available() and torch.distributed.is_initialized()
        return self.fold.evaluate(merged(self.state) if together else self.state)

    def gate(self, against: Any, metric: str, margin: float, **options: Any) -> Regression:
        """Whether a loss of more than `margin` against a baseline is excluded; see `graphgauge.old.stats.gate`.

        `against` is a result file, a folder of results or an evaluation. With `keep="items"` on both sides the models
        are paired item by item: by the `ids` given to `update`, or by their number if one process counted them all.
        """
        from graphgauge.old.stats.regression import gate

        return gate(self.evaluation(), against, metric=metric, margin=margin, **options)

    def forward(self, *arrays: Any, **named: Any) -> Any:
        """The values of this batch in this process. The batch is also counted into the state."""
        before, self.state = self.state, self.fold.merge([])
        try:
            self.update(*arrays, **named)
        finally:
            batch, self.state = self.state, before
        self.state.merge(batch)
        return self._values(self.fold.evaluate(batch))

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw the family's figure of what was counted, or given values of one or several steps.

        Parameters
        ----------
        val
            What `compute` or `forward` returned, or a list of it: drawn as torchmetrics does.
        ax
            Matplotlib axes to draw on, instead of a new figure.

        Returns
        -------
        tuple
            The figure and its first axes.
        """
        if val is not None:
            return self._plot(val, ax)
        figure = self.evaluation().plot(ax=ax)
        return figure, figure.axes[0] if ax is None else ax

    def reset(self) -> None:
        super().reset()
        self.state.reset()

    def _values(self, evaluation: Evaluation) -> Any:
        values = {key: torch.tensor(result.value, dtype=torch.float64) for key, result in evaluation.items()}
        return values[self.fold.options["metrics"]] if isinstance(self.fold.options.get("metrics"), str) else values
