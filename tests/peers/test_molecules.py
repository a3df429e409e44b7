"""Molecules that RDKit parses."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphgauge.core.errors import InputError
from graphgauge.generation import evaluate_files
from graphgauge.generation.molecules import Molecules, evaluate_molecules, molecule_scores

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]

BENZENES = [
    "c1ccccc1C",
    "c1ccccc1O",
    "c1ccccc1N",
    "c1ccccc1CC",
    "c1ccccc1CO",
    "c1ccccc1CN",
    "c1ccccc1Cl",
    "c1ccccc1F",
    "c1ccccc1Br",
    "c1ccccc1CCC",
    "c1ccccc1CCO",
    "c1ccccc1CCN",
    "c1ccncc1C",
    "c1ccncc1O",
    "c1ccncc1N",
    "c1ccncc1CC",
    "C1CCCCC1C",
    "C1CCCCC1O",
    "C1CCCCC1N",
    "C1CCCCC1CC",
    "CCO",
    "CCN",
    "CCC",
    "CCCC",
]


def test_molecules_are_read_and_judged() -> None:
    made = Molecules.of(["OCC", "CCO", "C1CC", "c1ccccc1O", ""])
    assert made.valid.tolist() == [True, True, False, True, False]
    assert made.smiles == ("CCO", "CCO", None, "Oc1ccccc1", None)
    assert made.scaffolds == (None, None, None, "c1ccccc1", None)
    assert made.statistics["heavy_atoms"].tolist() == [3, 3, 0, 7, 0]
    with pytest.raises(InputError, match="a list of SMILES"):
        Molecules.of("CCO")


def test_scores_of_molecules() -> None:
    found = molecule_scores(BENZENES, ["CCO", "OCC", "CCCl", "C1CC"], train=["CCO"])
    assert found["validity"].value == 0.75
    assert found["uniqueness"].value == pytest.approx(2 / 3)
    assert found["novelty"].value == 0.5
    assert found["snn"].perfect is not None
    assert 0 < found["snn"].value < 1


def test_molecules_are_evaluated_as_labelled_graphs() -> None:
    found = evaluate_molecules(
        BENZENES, [*BENZENES[:10], "CCCCl", "CCCBr", "C1CC"], train=BENZENES[:5], permutations=19, resamples=49
    )
    assert found["validity_rate"].value == pytest.approx(12 / 13)
    assert found["overall_uniqueness_ratio"] == 1
    assert found["novelty"].value == pytest.approx(7 / 12)
    assert "wasserstein_logp" in found
    assert found["mmd"].conventions["encodings"] == "latent vectors"


def test_files_of_smiles_are_the_same_as_lists(tmp_path: Path) -> None:
    made, train = [*BENZENES[:10], "CCCCl", "", "C1CC"], BENZENES[:5]
    sides = {"real": BENZENES, "generated": made, "train": train, "against": BENZENES[::-1]}
    paths = {}
    for name, smiles in sides.items():
        paths[name] = str(tmp_path / f"{name}.smi")
        Path(paths[name]).write_text("".join(f"{text} name of it\n" if text else "\n" for text in smiles))
    few = {"permutations": 19, "resamples": 49}
    found = evaluate_files(**paths, **few)
    expected = evaluate_molecules(BENZENES, made, train=train, **few)
    for key, result in expected.items():
        assert found[key].value == pytest.approx(result.value, nan_ok=True), key
    assert any("validity_rate: generated 0.8462, against 1" in note for note in found.notes)
    (tmp_path / "other.json").write_text("[[[0, 1]]]")
    with pytest.raises(InputError, match="SMILES on one side"):
        evaluate_files(real=paths["real"], generated=str(tmp_path / "other.json"))
