"""Metric names of other libraries, with their numbers.

"Plus" and "minus" mean dropping and keeping in PyTorch Geometric and GraphFramEx; in time_to_explain "minus" means
dropping. These names are therefore only available with the name of a library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, UnknownNameError
from graphgauge.explanation import foreign
from graphgauge.explanation.declared import blind, directed
from graphgauge.explanation.masks import TIME_TO_EXPLAIN, Level
from graphgauge.explanation.samples import EventSample, Rules
from graphgauge.explanation.table import AnswerTable
from graphgauge.old.core.loop import Chosen
from graphgauge.old.core.metric import DEFAULT, Metric, MetricFunction, NoChance, find
from graphgauge.old.core.result import Direction


@dataclass(frozen=True)
class Alias:
    """A metric under another name, with the library's function, direction and bounds if these differ."""

    metric: str
    direction: Direction | None = None
    function: MetricFunction | None = None
    bounds: tuple[float, float] | None = None

    def applied(self, own: Metric, pattern: str) -> Metric:
        named = replace(own, key=pattern, direction=self.direction or own.direction, bounds=self.bounds or own.bounds)
        if self.function is None:
            return named
        chance = own.chance if isinstance(own.chance, NoChance) else blind
        return replace(named, function=self.function, chance=chance)


@dataclass(frozen=True)
class Convention:
    """A library's metric names, and the rules that give its numbers.

    With `own_masks`, metrics are about the masks that explanations bring with them, and have no random explainer.
    """

    aliases: Mapping[str, Alias]
    rules: Mapping[str, Any] = field(default_factory=dict)
    own_masks: bool = False

    def applied(self, rules: Rules) -> Rules:
        return replace(rules, **self.rules)

    def metric_name(self, pattern: str) -> str:
        """The metric of this library that needs the same masks."""
        return find(self.aliases[pattern].metric, "explanation")[0].name

    def asked(self, names: Sequence[str] | None) -> list[tuple[str, Level | None]]:
        """The requested names, each with its level if one is given."""
        if names is None:
            return [(pattern, None) for pattern in self.aliases]
        if DEFAULT in names:
            return self.asked(None) + self.asked([name for name in names if name != DEFAULT])
        stems = {pattern.partition("@")[0] for pattern in self.aliases}
        asked: list[tuple[str, Level | None]] = []
        for name in names:
            stem, _, level = str(name).partition("@")
            if stem not in stems:
                raise UnknownNameError("metric of this convention", str(name), stems)
            given = Level(level) if level and level != "{level}" else None
            patterns = [pattern for pattern in (stem, f"{stem}@{{level}}") if pattern in self.aliases]
            asked += [(pattern, given) for pattern in patterns if given is None or "@" in pattern]
        return asked

    def chosen(self, names: Sequence[str] | None, sample: EventSample, rules: Rules) -> list[Chosen]:
        """The requested metrics under the library's names and directions, at all levels unless one is given."""
        listed: dict[str, Chosen] = {}
        grid = foreign.own_levels(sample.events) if self.own_masks else sample.grid
        for pattern, level in self.asked(names):
            alias = self.aliases[pattern]
            metric = alias.applied(directed(find(alias.metric, "explanation")[0], rules), pattern)
            if self.own_masks:
                unknown = NoChance("the masks are the explanation's own, and no random ones were tried")
                chance = foreign.own_chance if foreign.has_random_masks(sample) else unknown
                metric = replace(metric, chance=chance, needs=("edges",))
            levels = grid if level is None else (level,)
            for params in [{"level": each} for each in levels] if "{level}" in pattern else [{}]:
                listed[metric.key_of(**params)] = metric, params
        return list(listed.values())

    def refuse(self, table: AnswerTable) -> None:
        """Raise an error if the table does not have this library's masks."""
        if self.own_masks or not table.settings.asked:
            return
        name = TIME_TO_EXPLAIN
        if table.settings.convention != name:
            raise InputError(
                f"was not collected with the masks of {name}", where="table", fix=f'Collect with convention="{name}".'
            )
        joined = [row.id for row in table if row.subgraph.unit_count != len(row.subgraph)]
        if joined:
            raise InputError(
                f"event {joined[0]!r:.80} masks edges together, and {name} masks them one by one",
                where="units",
                fix="Pass units=range(edges) to Subgraph or from_pyg; from_result does.",
            )


_UP: Direction = "higher"
_ANY = (-np.inf, np.inf)
CONVENTIONS = {
    "pyg": Convention(
        {
            "pos_fidelity": Alias("label_flip_drop", function=foreign.own_pos_fidelity),
            "neg_fidelity": Alias("label_flip_keep", function=foreign.own_neg_fidelity),
            "characterization_score": Alias("label_flip_characterization", function=foreign.own_characterization),
            "unfaithfulness": Alias("unfaithfulness", function=foreign.own_unfaithfulness, bounds=(-np.inf, 1)),
            "pos_fidelity@{level}": Alias("label_flip_drop", function=foreign.own_pos_fidelity),
            "neg_fidelity@{level}": Alias("label_flip_keep", function=foreign.own_neg_fidelity),
            "characterization_score@{level}": Alias(
                "label_flip_characterization", function=foreign.own_characterization
            ),
            "unfaithfulness@{level}": Alias("unfaithfulness", function=foreign.own_unfaithfulness, bounds=(-np.inf, 1)),
            "fidelity_curve_auc": Alias("fidelity_curve_auc", function=foreign.own_curve_auc),
        },
        {"kl": "reverse"},
        own_masks=True,
    ),
    "time_to_explain": Convention(
        {
            "fidelity_drop@{level}": Alias("fidelity_drop", _UP, foreign.original_drop, (0, np.inf)),
            "fidelity_minus@{level}": Alias("fidelity_drop", _UP, foreign.original_drop, (0, np.inf)),
            "fidelity_keep@{level}": Alias("fidelity_keep", _UP, foreign.original_keep, (-np.inf, 1)),
            "fidelity_best": Alias("fidelity_best", _UP, foreign.original_best, _ANY),
            "fidelity_best.best_s": Alias("fidelity_best.k", None, foreign.original_best_level, (0, np.inf)),
            "fidelity_tempme@{level}": Alias("fidelity_tempme", _UP, foreign.original_tempme, _ANY),
            "acc_auc": Alias("acc_auc", _UP, foreign.original_acc_auc),
        },
    ),
}
