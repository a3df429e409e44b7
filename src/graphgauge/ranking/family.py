"""The family of rankings."""

from __future__ import annotations

from graphgauge.core.family import BUILT_IN, Family

FAMILY = Family(
    name="ranking",
    line=BUILT_IN["ranking"],
    question="How far up are the right answers?",
    package="graphgauge.ranking",
    headlines=("mrr", "hits@10", "adjusted_mrr"),
    references=("random scorer",),
    state="graphgauge.ranking.state:RankingState",
)
