"""torchmetrics: a state as a `torchmetrics.Metric`, for Lightning and custom training loops."""

from __future__ import annotations

from typing import Any

from graphgauge.core.errors import OptionError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.extras import need
from graphgauge.core.state import routed, state_class
from graphgauge.engines.distributed import merged

torch = need("torch", "a torchmetrics metric")
Metric = need("torchmetrics", "a torchmetrics metric").Metric


class GraphgaugeMetric(Metric):  # type: ignore[misc, valid-type]
    """Counts batches into a state of a family: `update` is that of the state, `compute` returns float64 tensors.

    Options are those of the state and of its `evaluate`. `metrics` with one name makes it a metric of one value, for
    `self.log`; otherwise `compute` returns a dictionary. Under torch.distributed the states of all processes are
    merged. `evaluation()` returns the values with intervals, chance levels and conventions.
    """

    full_state_update = False

    def __init__(self, family: str = "ranking", **options: Any) -> None:
        super().__init__()
        own, inputs, self.options = routed(family, options)
        if inputs:
            raise OptionError(f"{', '.join(inputs)} belongs to update()")
        self.state = state_class(family)(**own)

    def update(self, *arrays: Any, **named: Any) -> None:
        self.state.update(*arrays, **named)

    def compute(self) -> Any:
        return self._values(self.evaluation())

    def evaluation(self) -> Evaluation:
        """The results of everything counted, in all processes."""
        together = torch.distributed.is_available() and torch.distributed.is_initialized()
        return (merged(self.state) if together else self.state).evaluate(**self.options)

    def forward(self, *arrays: Any, **named: Any) -> Any:
        """The values of this batch in this process. The batch is also counted into the state."""
        from copy import deepcopy

        batch = deepcopy(self.state)
        batch.reset()
        batch.update(*arrays, **named)
        self.state.merge(batch)
        self._update_count += 1
        return self._values(batch.evaluate(**self.options))

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw the family's figure of what was counted, or `val` as torchmetrics draws the values of steps.

        Parameters
        ----------
        val
            What `compute` or `forward` returned, or a list of it.
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
        name = self.options.get("metrics")
        return values[name] if isinstance(name, str) and name in values else values
