"""Checks of inputs and results that find misleading evaluations, each with its evidence and how to fix it."""

from graphgauge.audit.findings import Findings, run
from graphgauge.audit.pages import explain
from graphgauge.audit.runs import checks
from graphgauge.old.core.findings import Check, Finding, check

__all__ = ["Check", "Finding", "Findings", "check", "checks", "explain", "run"]
