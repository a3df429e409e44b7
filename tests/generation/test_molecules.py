"""Scores of molecules, by hand; tests/peers has those that RDKit parses."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge.generation.molecules import internal_diversity, nearest_similarity, scaffold_similarity, similarities


def test_similarities_by_hand() -> None:
    bits = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]], float)
    np.testing.assert_allclose(similarities(bits, bits), [[1, 1 / 3, 0], [1 / 3, 1, 0], [0, 0, 1]])
    assert internal_diversity(bits[:2]) == pytest.approx(1 - (2 + 2 / 3) / 4)
    assert nearest_similarity(bits[:1], bits[:2]) == pytest.approx((1 + 1 / 3) / 2)


def test_scaffolds_by_hand() -> None:
    assert scaffold_similarity(["a", "a", "b", None], ["a", "c"]) == pytest.approx(2 / (np.sqrt(5) * np.sqrt(2)))
    assert np.isnan(scaffold_similarity([None], ["a"]))
