"""Communities and classes of nodes: do the found groups agree with the true ones?"""

from graphgauge_communities.evaluate import evaluate

__all__ = ["evaluate"]
