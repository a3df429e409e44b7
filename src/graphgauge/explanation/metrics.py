"""The explanation metrics; importing them registers them."""

from graphgauge.explanation import fidelity, selection

__all__ = ["fidelity", "selection"]
