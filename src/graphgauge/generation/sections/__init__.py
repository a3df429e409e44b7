"""The five sections of the family: what each measures, and the metrics in it."""

# Sections stand in the order of their imports.
# isort: off
from graphgauge.generation.sections import reconstruction
from graphgauge.generation.sections import diversity
from graphgauge.generation.sections import statistical
from graphgauge.generation.sections import latent_space
from graphgauge.generation.sections import conditioning
# isort: on

__all__ = ["conditioning", "diversity", "latent_space", "reconstruction", "statistical"]
