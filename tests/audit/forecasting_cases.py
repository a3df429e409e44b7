"""Forecasts, clean and with planted faults: those of the family's own tests."""

from tests.audit.cases import Case
from tests.forecasting import planted

CASES = [Case(each.check, each.clean, each.planted, each.strengths) for each in planted.CASES]
