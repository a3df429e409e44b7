"""Checks of 0.2: inputs and results that find misleading evaluations, each with its evidence and how to fix it."""

from graphgauge.old.audit.findings import Findings, run
from graphgauge.old.audit.pages import explain
from graphgauge.old.audit.runs import checks
from graphgauge.old.core.findings import Check, Finding, check

__all__ = ["Check", "Finding", "Findings", "check", "checks", "explain", "run"]
