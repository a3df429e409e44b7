"""Zaratustra: an engine that grows its own graph, cycle by cycle, from its elite nodes."""

from graphgauge.zoo.zaratustra.data import GraphData, block_model, read_graph_data
from graphgauge.zoo.zaratustra.engine import Settings, Zaratustra
from graphgauge.zoo.zaratustra.growth import RULES, Growth

__all__ = ["RULES", "GraphData", "Growth", "Settings", "Zaratustra", "block_model", "read_graph_data"]
