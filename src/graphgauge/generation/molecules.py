"""Molecules as samples, read from SMILES by RDKit (`pip install 'graphgauge[molecules]'`).

Two molecules are equal if their canonical SMILES are: molecules that differ in stereochemistry, isotopes, charges or
radicals are different, and so are tautomers, as in MOSES (Polykovskiy et al. 2020), whose metrics are at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import text_array
from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.core.types import AnyArray, Floats, Mask
from graphgauge.generation.distances import Words, jaccard_distances, packed
from graphgauge.io.text import read_lines

# Morgan fingerprints as in MOSES: radius 2, 1,024 bits.
_RADIUS, _WIDTH = 2, 1024
_DESCRIPTORS = ("weight", "logp", "qed", "tpsa", "rings", "heavy_atoms")
# Rows of a matrix of similarities that is in memory.
_ROWS = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Molecules:
    """Molecules in the order of their SMILES; those that RDKit cannot read or sanitise are not valid.

    `smiles` are canonical, empty for those that are not valid. `words` are their fingerprints as packed bits, which are
    compared by Tanimoto similarity and are no latent space.

    Examples
    --------
    >>> from graphgauge import generation
    >>> molecules = generation.Molecules.from_smiles(["OCC", "CCO", "C(C"])
    >>> molecules.smiles, molecules.valid.tolist()
    (('CCO', 'CCO', ''), [True, True, False])
    """

    smiles: tuple[str, ...]
    words: Words
    # RDKit's molecules, None for those that are not valid; read again from the canonical SMILES if they are not given.
    read: tuple[Any, ...] | None = None

    @classmethod
    def from_smiles(cls, smiles: Sequence[str], *, where: str = "smiles") -> Molecules:
        """Read molecules from SMILES with RDKit.

        Parameters
        ----------
        smiles
            A list of SMILES.
        where
            What errors call it.

        Returns
        -------
        Molecules
            The molecules, in the same order.

        Raises
        ------
        InputError
            If it is no list of texts.
        MissingExtraError
            If RDKit is not installed.
        """
        if isinstance(smiles, str | Mapping) or hasattr(smiles, "columns"):
            raise InputError(f"expected a list of SMILES, found {type(smiles).__name__}", where=where)
        smiles = list(smiles)
        wrong = next((place for place, text in enumerate(smiles) if not isinstance(text, str)), None)
        if wrong is not None:
            what = f"expected a list of SMILES, found {type(smiles[wrong]).__name__} at index {wrong}"
            raise InputError(what, where=where, fix="What could not be decoded is '', an attempt that is not valid.")
        chem = need("rdkit.Chem", "reading molecules")
        made = need("rdkit.Chem.rdFingerprintGenerator", "comparing molecules")
        morgan = made.GetMorganGenerator(radius=_RADIUS, fpSize=_WIDTH)
        read = _parsed(smiles)
        bits = np.zeros((len(read), _WIDTH), bool)
        for row, molecule in zip(bits, read, strict=True):
            if molecule is not None:
                row[:] = morgan.GetFingerprintAsNumPy(molecule)
        return cls(tuple("" if one is None else chem.MolToSmiles(one) for one in read), packed(bits), read)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray]) -> Molecules:
        """From what `arrays` returns."""
        return cls(tuple(arrays["smiles"].tolist()), arrays["words"])

    def arrays(self) -> dict[str, AnyArray]:
        """The arrays that `from_arrays` takes, by name."""
        return {"smiles": text_array(self.smiles, "molecules"), "words": self.words}

    def __len__(self) -> int:
        return len(self.smiles)

    def __repr__(self) -> str:
        different = len({text for text in self.smiles if text})
        return f"Molecules: {len(self)}, {self.valid.sum()} of them valid, {different} different"

    def take(self, rows: Any) -> Molecules:
        """Some of the molecules, by a mask or by index.

        Parameters
        ----------
        rows
            A mask (n,), or the numbers of molecules.

        Returns
        -------
        Molecules
            The chosen molecules.
        """
        places = np.arange(len(self))[rows].tolist()
        smiles, read = (tuple(own[place] for place in places) for own in (self.smiles, self.molecules))
        return Molecules(smiles, self.words[places], read)

    def joined(self, other: Molecules) -> Molecules:
        """These molecules and then the other ones."""
        return Molecules(
            self.smiles + other.smiles, np.concatenate([self.words, other.words]), self.molecules + other.molecules
        )

    @property
    def valid(self) -> Mask:
        """Which could be read (n,)."""
        return np.array([bool(each) for each in self.smiles], bool)

    @cached_property
    def fingerprints(self) -> Mask:
        """The fingerprints as bits (n, 1024)."""
        return np.unpackbits(self.words.view(np.uint8), axis=1, bitorder="little")[:, :_WIDTH].astype(bool)

    @cached_property
    def molecules(self) -> tuple[Any, ...]:
        """RDKit's molecules; None of those that are not valid."""
        return _parsed(self.smiles) if self.read is None else self.read

    @cached_property
    def statistics(self) -> dict[str, Floats]:
        """Descriptors (n,) by name: weight, logp, qed, tpsa, rings, heavy_atoms; 0 of those that are not valid."""
        described = [np.zeros(len(_DESCRIPTORS)) if one is None else _described(one) for one in self.molecules]
        return dict(zip(_DESCRIPTORS, np.array(described).reshape(-1, len(_DESCRIPTORS)).T, strict=True))

    @cached_property
    def scaffolds(self) -> tuple[str, ...]:
        """The SMILES of Bemis and Murcko's scaffolds; empty without rings."""
        murcko = need("rdkit.Chem.Scaffolds.MurckoScaffold", "scaffolds of molecules")
        return tuple("" if one is None else murcko.MurckoScaffoldSmiles(mol=one) for one in self.molecules)


def read_molecules(path: str | Path) -> Molecules:
    """The molecules of a .smi file: one SMILES per line, up to the first blank; an empty line is not valid.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    Molecules
        The molecules.
    """
    if not Path(path).is_file():
        raise InputError("no such file", where=str(path))
    return Molecules.from_smiles([(line.split() or [""])[0] for line in read_lines(Path(path))], where=str(path))


def _parsed(smiles: Sequence[str]) -> tuple[Any, ...]:
    """RDKit's molecules, without its messages about what it cannot read."""
    chem, base = (need(f"rdkit.{part}", "reading molecules") for part in ("Chem", "rdBase"))
    with base.BlockLogs():
        return tuple(chem.MolFromSmiles(text) if text else None for text in smiles)


def _described(molecule: Any) -> tuple[float, ...]:
    """The descriptors of one molecule. QED is made of three of them, so that they are computed once."""
    qed = need("rdkit.Chem.QED", "describing molecules")
    parts = qed.properties(molecule)
    rings, atoms = molecule.GetRingInfo().NumRings(), molecule.GetNumHeavyAtoms()
    return parts.MW, parts.ALOGP, qed.qed(molecule, qedProperties=parts), parts.PSA, float(rings), float(atoms)


# ---------------------------------------------------------------------------------------------------- MOSES' metrics


def snn(real: Mask, generated: Mask) -> float:
    """The mean Tanimoto similarity of a generated fingerprint to the nearest real one; NaN if either side has none."""
    if not len(real) or not len(generated):
        return np.nan
    rows = range(0, len(generated), _ROWS)
    nearest = [jaccard_distances(generated[row : row + _ROWS], real).min(axis=1) for row in rows]
    return float(1 - np.concatenate(nearest).mean())


def internal_diversity(bits: Mask) -> float:
    """1 less the mean similarity of two fingerprints, each with itself included; NaN without any."""
    parts = [jaccard_distances(bits[row : row + _ROWS], bits).sum() for row in range(0, len(bits), _ROWS)]
    return float(sum(parts) / len(bits) ** 2) if len(bits) else np.nan


def scaffold_similarity(real: Sequence[str], generated: Sequence[str]) -> float:
    """The cosine of the counts of scaffolds; molecules without rings have none. NaN if a side has none at all."""
    places = np.unique([*real, *generated], return_inverse=True)[1]
    held = np.array([bool(name) for name in (*real, *generated)], bool)
    sides = (places[: len(real)][held[: len(real)]], places[len(real) :][held[len(real) :]])
    first, second = (np.bincount(side, minlength=len(places) + 1).astype(float) for side in sides)
    norm = np.linalg.norm(first) * np.linalg.norm(second)
    return float(first @ second / norm) if norm else np.nan
