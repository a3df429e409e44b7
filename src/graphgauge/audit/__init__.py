"""Checks that find misleading evaluations, in single results and in many together, each with evidence and a remedy."""

from graphgauge.audit.runner import checks, explain, over_runs, run
from graphgauge.core.finding import Check, Finding, Findings, check

__all__ = ["Check", "Finding", "Findings", "check", "checks", "explain", "over_runs", "run"]
