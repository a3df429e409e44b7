"""Molecules that RDKit parses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rdkit import Chem, RDLogger

from graphgauge import evaluate_files, generation
from graphgauge.core.errors import InputError
from graphgauge.generation import Molecules, read_molecules
from graphgauge.generation.identity import codes
from graphgauge.generation.molecules import internal_diversity, scaffold_similarity, snn

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
    made = Molecules.from_smiles(["OCC", "CCO", "C1CC", "c1ccccc1O", ""])
    assert made.valid.tolist() == [True, True, False, True, False]
    assert made.smiles == ("CCO", "CCO", "", "Oc1ccccc1", "")
    assert made.scaffolds == ("", "", "", "c1ccccc1", "")
    assert made.statistics["heavy_atoms"].tolist() == [3, 3, 0, 7, 0]
    again = Molecules.from_arrays(made.arrays())
    assert again.statistics["weight"].tolist() == made.statistics["weight"].tolist()
    assert made.take([3, 0]).joined(made.take(np.array([False, True, True, False, False]))).smiles == (
        "Oc1ccccc1",
        "CCO",
        "CCO",
        "",
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"),  # mirrored
        ("F/C=C/F", "F/C=C\\F"),  # on the other side of a double bond
        ("C", "[13CH4]"),  # an isotope
        ("C", "[CH3]"),  # a radical
        ("CC(=O)O", "CC(=O)[O-]"),  # charged
        ("CC(=O)C", "CC(O)=C"),  # a tautomer, as in MOSES
    ],
)
def test_molecules_with_other_canonical_smiles_are_different(first: str, second: str) -> None:
    assert codes(Molecules.from_smiles([first, second, first])).ids[0].tolist() == [0, 1, 0]
    train = Molecules.from_smiles([first])
    found = generation.evaluate(generated=Molecules.from_smiles([second] * 3), train=train, metrics=["novelty"])
    assert found["novelty"] == 1


def test_metrics_against_rdkits_similarities() -> None:
    from rdkit import Chem, DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    morgan = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=1024)
    texts = BENZENES[:10], ["CCO", "CCCl", "c1ccccc1CCCl"]
    bits = [[morgan.GetFingerprint(Chem.MolFromSmiles(text)) for text in side] for side in texts]
    nearest = [max(DataStructs.BulkTanimotoSimilarity(one, bits[0])) for one in bits[1]]
    alike = [DataStructs.BulkTanimotoSimilarity(one, bits[1]) for one in bits[1]]
    real, generated = (Molecules.from_smiles(side) for side in texts)
    assert snn(real.fingerprints, generated.fingerprints) == pytest.approx(np.mean(nearest), abs=1e-12)
    assert internal_diversity(generated.fingerprints) == pytest.approx(1 - np.mean(alike), abs=1e-12)
    assert scaffold_similarity(real.scaffolds, generated.scaffolds) == pytest.approx(1.0)  # benzene's alone


def test_molecules_are_evaluated() -> None:
    real, train = Molecules.from_smiles(BENZENES), Molecules.from_smiles(BENZENES[:5])
    made = Molecules.from_smiles([*BENZENES[:10], "CCCCl", "CCCBr", "C1CC"])
    found = generation.evaluate(real, made, train=train, draws=49, metrics="all")
    assert found["validity_rate"].value == pytest.approx(12 / 13)
    assert found["overall_uniqueness_ratio"] == 1
    assert found["novelty"].value == pytest.approx(7 / 12)
    assert "wasserstein_logp" in found
    for key in ("snn", "scaffold_similarity", "internal_diversity"):
        assert 0 <= found[key].value <= 1
    assert not [key for key in found if key.startswith("latent")]  # fingerprints are no latent space


def test_files_of_smiles_are_the_same_as_lists(tmp_path: Path) -> None:
    made, train = [*BENZENES[:10], "CCCCl", "", "C1CC"], BENZENES[:5]
    sides = {"real": BENZENES, "generated": made, "train": train}
    paths = {}
    for name, smiles in sides.items():
        paths[name] = str(tmp_path / f"{name}.smi")
        Path(paths[name]).write_text("".join(f"{text} name of it\n" if text else "\n" for text in smiles))
    assert read_molecules(paths["generated"]).valid.tolist() == [True] * 11 + [False] * 2
    found = evaluate_files("generation", **paths, draws=49)
    given = {name: Molecules.from_smiles(smiles) for name, smiles in sides.items()}
    expected = generation.evaluate(**given, draws=49)
    for key, result in expected.items():
        assert found[key].value == pytest.approx(result.value, nan_ok=True), key
    (tmp_path / "other.json").write_text('[{"nodes": 2, "edges": [[0, 1]]}]')
    with pytest.raises(InputError):
        evaluate_files("generation", real=paths["real"], generated=str(tmp_path / "other.json"))


def test_smiles_of_a_generator_are_read_and_tables_are_refused() -> None:
    assert Molecules.from_smiles(text for text in ["CC", "CCO"]).smiles == ("CC", "CCO")
    for wrong in ({"smiles": ["CC"]}, "CC"):
        with pytest.raises(InputError, match="expected a list of SMILES"):
            Molecules.from_smiles(wrong)


def test_the_log_of_rdkit_is_left_as_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    RDLogger.DisableLog("rdApp.*")
    try:
        Molecules.from_smiles(["C("])
        Chem.MolFromSmiles("C(")
    finally:
        RDLogger.EnableLog("rdApp.error")
    assert capfd.readouterr().err == ""
