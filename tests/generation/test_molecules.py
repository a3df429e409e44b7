"""Metrics of molecules by hand, from fingerprints and scaffolds; tests/peers has those that RDKit reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from graphgauge.core.errors import InputError
from graphgauge.core.types import Mask
from graphgauge.generation.distances import packed
from graphgauge.generation.identity import codes
from graphgauge.generation.molecules import Molecules, internal_diversity, molecule_levels, scaffold_similarity, snn


@dataclass(frozen=True)
class Described:
    """What the metrics read of molecules."""

    fingerprints: Mask
    scaffolds: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.fingerprints)


def of_bits(rows: Any) -> Any:
    return Described(np.array(rows, bool).reshape(-1, 4))


def test_similarities_by_hand() -> None:
    bits = [[1, 1, 0, 0], [1, 0, 1, 0]]
    assert internal_diversity(of_bits(bits)) == pytest.approx(1 - (2 + 2 / 3) / 4)
    assert snn(of_bits(bits), of_bits(bits[:1])) == pytest.approx(1)
    assert snn(of_bits(bits[:1]), of_bits(bits)) == pytest.approx((1 + 1 / 3) / 2)
    assert internal_diversity(of_bits([[0] * 4] * 2)) == 0  # without a bit they are alike
    assert np.isnan(
        [internal_diversity(of_bits([])), snn(of_bits(bits), of_bits([])), snn(of_bits([]), of_bits(bits))]
    ).all()


def test_blocks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bits = np.random.default_rng(0).random((50, 64)) < 0.2
    expected = internal_diversity(Described(bits)), snn(Described(bits[:20]), Described(bits))  # type: ignore[arg-type]
    monkeypatch.setattr("graphgauge.generation.molecules._ROWS", 7)
    found = internal_diversity(Described(bits)), snn(Described(bits[:20]), Described(bits))  # type: ignore[arg-type]
    assert found == pytest.approx(expected, rel=1e-13)


def test_scaffolds_by_hand() -> None:
    def side(*names: str) -> Any:
        return Described(np.zeros((len(names), 4), bool), names)

    assert scaffold_similarity(side("a", "a", "b", ""), side("a", "c")) == pytest.approx(2 / (np.sqrt(5) * np.sqrt(2)))
    assert np.isnan(scaffold_similarity(side(""), side("a")))


def test_levels_are_of_disjoint_real_molecules() -> None:
    rng = np.random.default_rng(1)
    real: Any = Described(rng.random((60, 64)) < 0.2, tuple(rng.choice(["", "a", "b"], 60)))
    drawn = molecule_levels(real, 200, rng)
    assert {name: len(values) for name, values in drawn.items()} == dict.fromkeys(
        ("snn", "scaffold_similarity", "internal_diversity"), 39
    )
    assert (drawn["snn"] < 1).all()
    assert molecule_levels(Described(real.fingerprints[:3], real.scaffolds[:3]), 9, rng) == {}  # type: ignore[arg-type]


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
