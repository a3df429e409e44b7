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
from graphgauge.evolution.growth import is_harmful, is_helpful, replay_growth
from graphgauge.evolution.growth_runs import GrownGraph
from graphgauge.evolution.ledger import Balance, Change, Ledger
from graphgauge.evolution.ledger_readers import from_bitemporal, from_graphrag, from_snapshots, read_ledger
from graphgauge.evolution.log import Cycle, EvolutionLog
from graphgauge.evolution.suite import EvaluationSuite, NietzscheEvaluationSuite, build_evaluation_suite_from_cora

__all__ = [
    "AdaptiveEvaluator",
    "Balance",
    "Change",
    "Cycle",
    "EvaluationSuite",
    "EvolutionLog",
    "GrownGraph",
    "Ledger",
    "NietzscheEvaluationSuite",
    "auc_birth",
    "auc_matched",
    "auc_synthetic",
    "build_evaluation_suite_from_cora",
    "delta_homophily",
    "evaluate",
    "evaluate_files",
    "from_bitemporal",
    "from_graphrag",
    "from_snapshots",
    "is_harmful",
    "is_helpful",
    "link_score",
    "node_classification_accuracy",
    "poincare_distance",
    "read_ledger",
    "replay_growth",
    "static_auc",
    "tgc_step",
]
