"""The metrics of the room are declared here as long as the family is declared in its old one."""

import graphgauge.ranking.metrics  # noqa: F401
