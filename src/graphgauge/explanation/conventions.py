"""Metric names of other libraries, translated into the metrics and options of this one.

"Plus" and "minus" mean dropping and keeping in PyTorch Geometric, DIG and GraphFramEx; in time_to_explain "minus" means
dropping. These names are therefore only available with the name of a library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graphgauge.core.errors import UnknownNameError
from graphgauge.core.loop import Chosen
from graphgauge.core.metric import find
from graphgauge.core.result import Direction
from graphgauge.explanation.declared import directed
from graphgauge.explanation.masks import Level
from graphgauge.explanation.samples import Rules


@dataclass(frozen=True)
class Alias:
    """A metric under another name, with the library's direction if that differs."""

    metric: str
    direction: Direction | None = None


@dataclass(frozen=True)
class Convention:
    """A library's metric names, and the rules that give its numbers."""

    aliases: Mapping[str, Alias]
    rules: Mapping[str, Any] = field(default_factory=dict)
    acc_auc: Mapping[str, Any] = field(default_factory=dict)

    def applied(self, rules: Rules) -> Rules:
        return replace(rules, **self.rules, acc_auc=replace(rules.acc_auc, **self.acc_auc))

    def asked(self, names: Sequence[str] | None) -> list[tuple[str, Level | None]]:
        """The requested names, each with its level if one is given."""
        known = {pattern.partition("@")[0]: pattern for pattern in self.aliases}
        if names is None:
            return [(pattern, None) for pattern in known.values()]
        asked = []
        for name in names:
            stem, _, level = str(name).partition("@")
            if stem not in known:
                raise UnknownNameError("metric of this convention", str(name), known)
            asked.append((known[stem], Level(level) if level and level != "{level}" else None))
        return asked

    def chosen(self, names: Sequence[str] | None, grid: Sequence[Level], rules: Rules) -> list[Chosen]:
        """The requested metrics under the library's names and directions, at all levels unless one is given."""
        listed: dict[str, Chosen] = {}
        for pattern, level in self.asked(names):
            alias = self.aliases[pattern]
            own = directed(find(alias.metric, "explanation")[0], rules)
            metric = replace(own, key=pattern, direction=alias.direction or own.direction)
            levels = grid if level is None else (level,)
            for params in [{"level": each} for each in levels] if "{level}" in pattern else [{}]:
                listed[metric.key_of(**params)] = metric, params
        return list(listed.values())


CONVENTIONS = {
    "pyg": Convention(
        {
            "pos_fidelity@{level}": Alias("label_flip_drop@{level}"),
            "neg_fidelity@{level}": Alias("label_flip_keep@{level}"),
            "characterization_score@{level}": Alias("label_flip_characterization@{level}"),
            "fidelity_curve_auc": Alias("fidelity_curve_auc"),
            "unfaithfulness@{level}": Alias("unfaithfulness@{level}"),
        },
        {"kl": "reverse"},
    ),
    "dig": Convention(
        {
            "fidelity@{level}": Alias("fidelity_drop.signed@{level}"),
            "fidelity_inv@{level}": Alias("fidelity_keep.signed@{level}"),
            "sparsity@{level}": Alias("sparsity@{level}"),
        },
    ),
    "time_to_explain": Convention(
        {
            "fidelity_drop@{level}": Alias("fidelity_drop@{level}"),
            "fidelity_minus@{level}": Alias("fidelity_drop@{level}"),
            "fidelity_keep@{level}": Alias("fidelity_keep@{level}", "higher"),
            "fidelity_best": Alias("fidelity_best"),
            "fidelity_best.k": Alias("fidelity_best.k"),
            "fidelity_tempme@{level}": Alias("fidelity_tempme@{level}"),
            "acc_auc": Alias("acc_auc"),
            "cohesiveness@{level}": Alias("cohesiveness@{level}"),
        },
        {"score": "max"},
        {"keep": "complement"},
    ),
}
