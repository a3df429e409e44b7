"""The metrics of the family, which its sections declare."""

from graphgauge.generation import sections

__all__ = ["sections"]
