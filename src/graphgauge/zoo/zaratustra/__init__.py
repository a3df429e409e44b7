"""Zaratustra: an engine that grows its own graph, cycle by cycle, from its elite nodes."""

from graphgauge.zoo.zaratustra.data import GraphData, block_model, read_graph_data
from graphgauge.zoo.zaratustra.engine import RULES, Growth, Settings, Zaratustra
from graphgauge.zoo.zaratustra.replays import replaying

__all__ = ["RULES", "GraphData", "Growth", "Settings", "Zaratustra", "block_model", "read_graph_data", "replaying"]
