"""Explanations of graph models: do they name the edges that the model used?"""

from graphgauge.explanation.adapters import from_result
from graphgauge.explanation.cohesiveness import cohesiveness, cohesiveness_prefixes
from graphgauge.explanation.collect import collect
from graphgauge.explanation.compare import compare
from graphgauge.explanation.evaluate import evaluate
from graphgauge.explanation.from_files import evaluate_files
from graphgauge.explanation.greedy import greedy
from graphgauge.explanation.inputs import Context, Explanation, Model, OwnAnswers, Subgraph
from graphgauge.explanation.pyg import explain_pyg, from_pyg
from graphgauge.explanation.pyg_model import PyGModel
from graphgauge.explanation.table import AnswerTable, read_explanations, read_table, write_explanations
from graphgauge.explanation.temporal import reaching_events

__all__ = [
    "AnswerTable",
    "Context",
    "Explanation",
    "Model",
    "OwnAnswers",
    "PyGModel",
    "Subgraph",
    "cohesiveness",
    "cohesiveness_prefixes",
    "collect",
    "compare",
    "evaluate",
    "evaluate_files",
    "explain_pyg",
    "from_pyg",
    "from_result",
    "greedy",
    "reaching_events",
    "read_explanations",
    "read_table",
    "write_explanations",
]
