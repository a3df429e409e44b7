"""The stored answers of `docs/why.json` are those that the libraries return."""

from __future__ import annotations

import pytest
from tests.peers.why import Case, asked, cases, stored

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_stored_answers_are_current(case: Case) -> None:
    assert asked(case) == stored()[case.name], "run python -m tests.peers.why"
