"""A study: one file that says what to evaluate, compare and require; run with resume, and verified later."""

from graphgauge.study.parse import read_study
from graphgauge.study.runner import run
from graphgauge.study.verifier import verify

__all__ = ["read_study", "run", "verify"]
