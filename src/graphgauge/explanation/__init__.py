"""Explanations of graph models: do they name the edges that the model used?"""

from graphgauge.explanation.adapters import from_result
from graphgauge.explanation.cohesiveness import cohesiveness, cohesiveness_prefixes
from graphgauge.explanation.collect import collect
from graphgauge.explanation.compare import compare
from graphgauge.explanation.evaluate import evaluate
from graphgauge.explanation.from_files import evaluate_files
from graphgauge.explanation.inputs import Context, Explanation, Model, Subgraph
from graphgauge.explanation.pyg import PyGModel, from_pyg
from graphgauge.explanation.table import Table, read_explanations, read_table, write_explanations

__all__ = [
    "Context",
    "Explanation",
    "Model",
    "PyGModel",
    "Subgraph",
    "Table",
    "cohesiveness",
    "cohesiveness_prefixes",
    "collect",
    "compare",
    "evaluate",
    "evaluate_files",
    "from_pyg",
    "from_result",
    "read_explanations",
    "read_table",
    "write_explanations",
]
