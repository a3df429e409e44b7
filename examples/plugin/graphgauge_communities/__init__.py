"""Communities and classes of nodes: do the found groups agree with the true ones?"""

from graphgauge_communities.evaluate import evaluate
from graphgauge_communities.from_files import evaluate_files

__all__ = ["evaluate", "evaluate_files"]
