"""Generators of discrete structures: are their samples valid, novel, diverse and as requested?"""

from graphgauge.generation.collect import collect
from graphgauge.generation.evaluate import evaluate
from graphgauge.generation.from_files import evaluate_files
from graphgauge.generation.subjects import Case, Labelled, open_checkpoint
from graphgauge.generation.table import Table

__all__ = ["Case", "Labelled", "Table", "collect", "evaluate", "evaluate_files", "open_checkpoint"]
