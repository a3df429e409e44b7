"""Many results as one HTML page that needs no network."""

from graphgauge.report.html import write_report

__all__ = ["write_report"]
