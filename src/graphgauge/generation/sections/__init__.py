"""The sections of the family and their metrics, in the order of tables."""

# isort: off
from graphgauge.generation.sections import reconstruction
from graphgauge.generation.sections import diversity
from graphgauge.generation.sections import statistical
from graphgauge.generation.sections import recognition
from graphgauge.generation.sections import molecular
from graphgauge.generation.sections import latent_space
from graphgauge.generation.sections import conditioning
# isort: on

__all__ = [
    "conditioning",
    "diversity",
    "latent_space",
    "molecular",
    "recognition",
    "reconstruction",
    "statistical",
]
