"""Prediction: labels and targets of nodes, edges and graphs, against the true ones."""

from graphgauge.prediction.evaluate import by_degree, by_homophily, evaluate

__all__ = ["by_degree", "by_homophily", "evaluate"]
