"""The generation metrics: importing the sections registers what is in them."""

from graphgauge.generation import sections

__all__ = ["sections"]
