"""Explanations of graph models: do they name the edges that the model used?"""

from graphgauge.explanation.ask import collect, greedy
from graphgauge.explanation.evaluate import compare, evaluate
from graphgauge.explanation.inputs import Context, Explanation, Model, Subgraph
from graphgauge.explanation.pyg import explain_pyg, from_pyg, pyg_metrics
from graphgauge.explanation.pyg_model import PyGModel
from graphgauge.explanation.table import AnswerTable, read_explanations, read_table, write_explanations
from graphgauge.explanation.temporal import cohesiveness, cohesiveness_prefixes, from_result, reaching_events

__all__ = [
    "AnswerTable",
    "Context",
    "Explanation",
    "Model",
    "PyGModel",
    "Subgraph",
    "cohesiveness",
    "cohesiveness_prefixes",
    "collect",
    "compare",
    "evaluate",
    "explain_pyg",
    "from_pyg",
    "from_result",
    "greedy",
    "pyg_metrics",
    "reaching_events",
    "read_explanations",
    "read_table",
    "write_explanations",
]
