"""Systems that grow and rewire their own graph: are the edges that they add worth adding?"""

from graphgauge.evolution.cycle import Cycle, tgc_step
from graphgauge.evolution.evaluate import (
    auc_birth,
    auc_matched,
    auc_synthetic,
    delta_homophily,
    evaluate,
    node_classification_accuracy,
    static_auc,
)
from graphgauge.evolution.evaluator import AdaptiveEvaluator
from graphgauge.evolution.log import Log, from_events, from_snapshots
from graphgauge.evolution.nodes import link_score, link_score_from_distance, poincare_distance, poincare_distance_batch
from graphgauge.evolution.suite import EvaluationSuite, NietzscheEvaluationSuite, build_evaluation_suite_from_cora

__all__ = [
    "AdaptiveEvaluator",
    "Cycle",
    "EvaluationSuite",
    "Log",
    "NietzscheEvaluationSuite",
    "auc_birth",
    "auc_matched",
    "auc_synthetic",
    "build_evaluation_suite_from_cora",
    "delta_homophily",
    "evaluate",
    "from_events",
    "from_snapshots",
    "link_score",
    "link_score_from_distance",
    "node_classification_accuracy",
    "poincare_distance",
    "poincare_distance_batch",
    "static_auc",
    "tgc_step",
]
