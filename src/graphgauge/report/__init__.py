"""One HTML page from results: who leads, what holds, what to know, and every run."""

from graphgauge.report.page import write_report

__all__ = ["write_report"]
