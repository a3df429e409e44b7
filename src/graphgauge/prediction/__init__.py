"""Prediction: labels and targets of nodes, edges and graphs, against the true ones."""

from graphgauge.prediction.evaluate import evaluate
from graphgauge.prediction.groups import by_degree, by_homophily

__all__ = ["by_degree", "by_homophily", "evaluate"]
