"""Studies: one file lists what to evaluate, compare and require; runs can be resumed and verified."""

from graphgauge.study.parse import read_study
from graphgauge.study.runner import run
from graphgauge.study.verifier import verify, verify_submission

__all__ = ["read_study", "run", "verify", "verify_submission"]
