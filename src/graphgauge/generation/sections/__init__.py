"""The five sections of the family and their metrics."""

# The order of the imports is the order of the sections.
# isort: off
from graphgauge.generation.sections import reconstruction
from graphgauge.generation.sections import diversity
from graphgauge.generation.sections import statistical
from graphgauge.generation.sections import recognition
from graphgauge.generation.sections import latent_space
from graphgauge.generation.sections import conditioning
# isort: on

__all__ = ["conditioning", "diversity", "latent_space", "recognition", "reconstruction", "statistical"]
