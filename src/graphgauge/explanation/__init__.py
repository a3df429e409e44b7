"""Explanations of graph models: do they name the edges that the model used?"""

from graphgauge.explanation.inputs import Context, Explanation, Model, Subgraph

__all__ = ["Context", "Explanation", "Model", "Subgraph"]
