"""Metrics of molecules by hand, from fingerprints and scaffolds; tests/peers has those that RDKit reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphgauge.core.errors import InputError
from graphgauge.core.types import Mask
from graphgauge.generation.distances import packed
from graphgauge.generation.identity import codes
from graphgauge.generation.molecules import Molecules, internal_diversity, scaffold_similarity, snn


def of_bits(rows: Any) -> Mask:
    return np.array(rows, bool).reshape(-1, 4)


def test_similarities_by_hand() -> None:
    bits = of_bits([[1, 1, 0, 0], [1, 0, 1, 0]])
    assert internal_diversity(bits) == pytest.approx(1 - (2 + 2 / 3) / 4)
    assert snn(bits, bits[:1]) == pytest.approx(1)
    assert snn(bits[:1], bits) == pytest.approx((1 + 1 / 3) / 2)
    assert internal_diversity(of_bits([[0] * 4] * 2)) == 0  # without a bit they are alike
    assert np.isnan([internal_diversity(of_bits([])), snn(bits, of_bits([])), snn(of_bits([]), bits)]).all()


def test_blocks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bits = np.random.default_rng(0).random((50, 64)) < 0.2
    expected = internal_diversity(bits), snn(bits[:20], bits)
    monkeypatch.setattr("graphgauge.generation.molecules._ROWS", 7)
    assert (internal_diversity(bits), snn(bits[:20], bits)) == pytest.approx(expected, rel=1e-13)


def test_scaffolds_by_hand() -> None:
    found = scaffold_similarity(("a", "a", "b", ""), ("a", "c"))
    assert found == pytest.approx(2 / (np.sqrt(5) * np.sqrt(2)))
    assert np.isnan(scaffold_similarity(("",), ("a",)))


def test_identity_is_the_canonical_text_and_nothing_equals_what_cannot_be_read() -> None:
    bits = packed(np.zeros((5, 1024), bool))
    one = Molecules(("CCO", "CCO", "", "C[C@H](N)O", ""), bits)
    other = Molecules(("C[C@@H](N)O", ""), bits[:2])
    first, second = (own.tolist() for own in codes(one, other).ids)
    assert first == [0, 0, 1, 2, 3]
    assert second == [4, 5]
    assert one.valid.tolist() == [True, True, False, True, False]
    assert one.fingerprints.shape == (5, 1024)


def test_arrays_are_enough_to_build_them_again() -> None:
    bits = np.random.default_rng(0).random((2, 1024)) < 0.1
    molecules = Molecules(("CCO", ""), packed(bits))
    again = Molecules.from_arrays(molecules.arrays())
    assert again.smiles == molecules.smiles
    np.testing.assert_array_equal(again.fingerprints, bits)


@pytest.mark.parametrize("smiles", ["CCO", ["CCO", 2]])
def test_what_is_no_list_of_texts(smiles: Any) -> None:
    with pytest.raises(InputError, match="expected a list of SMILES"):
        Molecules.from_smiles(smiles)
