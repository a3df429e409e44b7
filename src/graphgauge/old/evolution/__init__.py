"""Systems that grow and rewire their own graph: are the edges that they add worth adding?"""

from graphgauge.old.evolution.births import tgc_step
from graphgauge.old.evolution.distances import link_score, poincare_distance
from graphgauge.old.evolution.evaluate import evaluate
from graphgauge.old.evolution.evaluator import AdaptiveEvaluator
from graphgauge.old.evolution.from_files import evaluate_files
from graphgauge.old.evolution.functions import (
    auc_birth,
    auc_matched,
    auc_synthetic,
    delta_homophily,
    node_classification_accuracy,
    static_auc,
)
from graphgauge.old.evolution.log import Cycle, EvolutionLog
from graphgauge.old.evolution.suite import EvaluationSuite, NietzscheEvaluationSuite, build_evaluation_suite_from_cora

__all__ = [
    "AdaptiveEvaluator",
    "Cycle",
    "EvaluationSuite",
    "EvolutionLog",
    "NietzscheEvaluationSuite",
    "auc_birth",
    "auc_matched",
    "auc_synthetic",
    "build_evaluation_suite_from_cora",
    "delta_homophily",
    "evaluate",
    "evaluate_files",
    "link_score",
    "node_classification_accuracy",
    "poincare_distance",
    "static_auc",
    "tgc_step",
]
