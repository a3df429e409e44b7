"""Generators of discrete structures: are their samples valid, novel, diverse and as requested?"""

from graphgauge.generation.collect import collect
from graphgauge.generation.compare_samples import SampleComparison, compare_samples
from graphgauge.generation.evaluate import evaluate
from graphgauge.generation.from_files import evaluate_files
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.molecules import Molecules, evaluate_molecules, molecule_scores
from graphgauge.generation.points import energy_distance, mmd, prdc
from graphgauge.generation.subjects import Case, Labelled
from graphgauge.generation.table import SampleTable

__all__ = [
    "Case",
    "Graphs",
    "Labelled",
    "Molecules",
    "SampleComparison",
    "SampleTable",
    "collect",
    "compare_samples",
    "energy_distance",
    "evaluate",
    "evaluate_files",
    "evaluate_molecules",
    "mmd",
    "molecule_scores",
    "prdc",
]
