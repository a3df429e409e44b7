"""Systems that grow and rewire their own graph: are the edges that they add worth adding?"""

from graphgauge.evolution.births import tgc_step
from graphgauge.evolution.distances import link_score, poincare_distance
from graphgauge.evolution.evaluate import evaluate
from graphgauge.evolution.evaluator import AdaptiveEvaluator
from graphgauge.evolution.from_files import evaluate_files
from graphgauge.evolution.functions import (
    auc_birth,
    auc_matched,
    auc_synthetic,
    delta_homophily,
    node_classification_accuracy,
    static_auc,
)
from graphgauge.evolution.log import Cycle, EvolutionLog
from graphgauge.evolution.suite import EvaluationSuite, NietzscheEvaluationSuite, build_evaluation_suite_from_cora

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
