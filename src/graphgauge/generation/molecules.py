"""Molecules as samples, read from SMILES by RDKit (`pip install 'graphgauge[molecules]'`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.generation.evaluate import evaluate
from graphgauge.generation.inputs import Bits
from graphgauge.generation.levels import SPLITS, simulated, split_sizes, splits
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.metric import Level

# Morgan fingerprints as in MOSES: radius 2, 1,024 bits.
_RADIUS, _WIDTH = 2, 1024
_DESCRIPTORS = ("weight", "logp", "qed", "tpsa", "rings", "heavy_atoms")


@dataclass(frozen=True, eq=False)
class Molecules:
    """Molecules in the order of their SMILES; those that RDKit cannot read or sanitise are not valid.

    `smiles` are canonical, None for those that are not valid. `graphs` are labelled with atoms and bonds.
    """

    smiles: tuple[str | None, ...]
    valid: Bits
    graphs: list[dict[str, Any]]
    statistics: dict[str, Floats]
    fingerprints: Floats
    scaffolds: tuple[str | None, ...]

    @classmethod
    def of(cls, smiles: Sequence[str], name: str = "smiles") -> Molecules:
        """Read molecules from SMILES with RDKit.

        Parameters
        ----------
        smiles
            A list of SMILES.
        name
            What errors call it.

        Returns
        -------
        Molecules
            The molecules, in the same order.

        Raises
        ------
        InputError
            If it is no list of strings.
        MissingExtraError
            If RDKit is not installed.
        """
        if isinstance(smiles, str) or not all(isinstance(text, str) for text in smiles):
            raise InputError("expected a list of SMILES", where=name)
        chem = need("rdkit.Chem", "reading molecules")
        logs = need("rdkit.RDLogger", "reading molecules")
        logs.DisableLog("rdApp.*")
        try:
            read = [chem.MolFromSmiles(text) if text else None for text in smiles]
        finally:
            logs.EnableLog("rdApp.error")
        return cls(
            tuple(None if one is None else chem.MolToSmiles(one) for one in read),
            np.array([one is not None for one in read], bool),
            [_graph(one) for one in read],
            _described(read),
            _fingerprints(read),
            tuple(_scaffold(one) for one in read),
        )

    def __len__(self) -> int:
        return len(self.smiles)

    @cached_property
    def known(self) -> Molecules:
        """The valid ones."""
        keep = np.flatnonzero(self.valid)
        return Molecules(
            tuple(self.smiles[place] for place in keep),
            self.valid[keep],
            [self.graphs[place] for place in keep],
            {name: column[keep] for name, column in self.statistics.items()},
            self.fingerprints[keep],
            tuple(self.scaffolds[place] for place in keep),
        )


class MoleculeScore(NamedTuple):
    """A value of the generated molecules, and the level of real ones in their place."""

    value: float
    perfect: Level | None = None


def evaluate_molecules(
    real: Sequence[str], generated: Sequence[str], *, train: Sequence[str] | None = None, **options: Any
) -> Evaluation:
    """The evaluation of molecules as labelled graphs, with descriptors as statistics and fingerprints as encodings.

    `options` are those of `evaluate`. Real molecules that RDKit cannot read are left out.

    Parameters
    ----------
    real, generated, train
        SMILES strings.
    options
        Options of `evaluate`.

    Returns
    -------
    Evaluation
        As from `evaluate`.

    Raises
    ------
    MissingExtraError
        If RDKit is not installed.

    Examples
    --------
    >>> from graphgauge import generation
    >>> ev = generation.evaluate_molecules(["CCO", "CCN", "CCC", "CC=O"], ["CCO", "CCO", "C(C", "CCF"])
    >>> ev["validity_rate"].value
    0.75
    """
    return evaluate(**as_arguments(real, generated, train), **options)


def as_arguments(
    real: Sequence[str] | None, generated: Sequence[str] | None, train: Sequence[str] | None = None
) -> dict[str, Any]:
    """Molecules as the arguments of `evaluate`."""
    given: dict[str, Any] = {}
    if real is not None:
        held_out = Molecules.of(real, "real").known
        given |= {"real": held_out.graphs, "statistics": held_out.statistics, "latents": held_out.fingerprints}
    if generated is not None:
        made = Molecules.of(generated, "generated")
        given |= {
            "generated": made.graphs,
            "valid": made.valid,
            "generated_statistics": made.statistics,
            "generated_latents": made.fingerprints,
        }
    if train is not None:
        learned = Molecules.of(train, "train").known
        given |= {
            "train": learned.graphs,
            "train_statistics": learned.statistics,
            "train_latents": learned.fingerprints,
        }
    return given


def molecule_scores(
    real: Sequence[str], generated: Sequence[str], *, train: Sequence[str] | None = None, seed: int = 0
) -> dict[str, MoleculeScore]:
    """Validity, uniqueness, novelty, SNN, scaffold similarity and internal diversity, as MOSES defines them.

    SNN, scaffold similarity and internal diversity have the level `perfect`: real molecules in place of the generated
    ones, in disjoint parts of the real ones.

    Parameters
    ----------
    real, generated, train
        SMILES strings.
    seed
        Seed of the parts of the real molecules.

    Returns
    -------
    dict
        A `MoleculeScore` for each name; all values are in [0, 1].

    Raises
    ------
    MissingExtraError
        If RDKit is not installed.

    Examples
    --------
    >>> from graphgauge import generation
    >>> scores = generation.molecule_scores(["CCO", "CCN", "CCC", "CC=O"], ["CCO", "CCO", "C(C", "CCF"])
    >>> scores["validity"].value
    0.75
    """
    held_out, made = Molecules.of(real, "real").known, Molecules.of(generated, "generated")
    own = made.known
    if not len(held_out):
        raise InputError("no molecule can be read", where="real")
    distinct = set(own.smiles)
    found = {"validity": MoleculeScore(len(own) / len(made) if len(made) else np.nan)}
    found["uniqueness"] = MoleculeScore(len(distinct) / len(own) if len(own) else np.nan)
    if train is not None:
        known = set(Molecules.of(train, "train").known.smiles)
        found["novelty"] = MoleculeScore(len(distinct - known) / len(distinct) if distinct else np.nan)
    generator = np.random.default_rng([seed, 40])
    kept, fresh = split_sizes(len(held_out), max(len(own), 2))
    parts = splits(len(held_out), len(held_out), kept, fresh, generator)
    scores: dict[str, Callable[[Any, Any], float]] = {
        "snn": lambda a, b: nearest_similarity(a[0], b[0]),
        "scaffold_similarity": lambda a, b: scaffold_similarity(a[1], b[1]),
        "internal_diversity": lambda a, b: internal_diversity(b[0]),
    }

    def side(molecules: Molecules, rows: Any) -> tuple[Floats, list[str | None]]:
        return molecules.fingerprints[rows], [molecules.scaffolds[row] for row in rows]

    for name, score in scores.items():
        value = score(side(held_out, range(len(held_out))), side(own, range(len(own)))) if len(own) else np.nan
        drawn = (
            np.array([score(side(held_out, a), side(held_out, b)) for a, b in parts[:SPLITS]]) if fresh > 1 else None
        )
        found[name] = MoleculeScore(value, None if drawn is None else simulated("perfect", drawn))
    return found


def similarities(first: Floats, second: Floats) -> Floats:
    """Tanimoto similarities (n, m) of fingerprints."""
    common = first @ second.T
    either = first.sum(1)[:, np.newaxis] + second.sum(1) - common
    return np.asarray(np.divide(common, either, out=np.ones_like(common), where=either > 0))


def nearest_similarity(real: Floats, generated: Floats) -> float:
    """SNN: the mean similarity of a generated molecule to the nearest real one."""
    return float(similarities(generated, real).max(axis=1).mean())


def internal_diversity(fingerprints: Floats) -> float:
    """1 less the mean similarity of two molecules, each with itself included, as in MOSES."""
    return float(1 - similarities(fingerprints, fingerprints).mean())


def scaffold_similarity(real: Sequence[str | None], generated: Sequence[str | None]) -> float:
    """The cosine of the counts of scaffolds; molecules without rings have none. NaN if a side has none at all."""
    names = sorted({name for name in (*real, *generated) if name})
    place = {name: index for index, name in enumerate(names)}
    counts = [
        np.bincount([place[name] for name in side if name], minlength=len(names)).astype(float)
        for side in (real, generated)
    ]
    norms = [np.linalg.norm(count) for count in counts]
    return float(counts[0] @ counts[1] / (norms[0] * norms[1])) if all(norms) else np.nan


def _graph(molecule: Any) -> dict[str, Any]:
    if molecule is None:
        return {"nodes": 0, "edges": []}
    atoms = [f"{atom.GetSymbol()}{atom.GetFormalCharge():+d}" for atom in molecule.GetAtoms()]
    bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), str(bond.GetBondType())) for bond in molecule.GetBonds()]
    found: dict[str, Any] = {"nodes": len(atoms), "edges": [bond[:2] for bond in bonds], "node_labels": atoms}
    return {**found, "edge_labels": [bond[2] for bond in bonds]} if bonds else found


def _described(molecules: Sequence[Any]) -> dict[str, Floats]:
    descriptors, crippen, qed = (
        need(f"rdkit.Chem.{part}", "describing molecules") for part in ("Descriptors", "Crippen", "QED")
    )
    rows = [
        (0.0,) * len(_DESCRIPTORS)
        if one is None
        else (
            descriptors.MolWt(one),
            crippen.MolLogP(one),
            qed.qed(one),
            descriptors.TPSA(one),
            float(one.GetRingInfo().NumRings()),
            float(one.GetNumHeavyAtoms()),
        )
        for one in molecules
    ]
    columns = np.array(rows, float).reshape(len(rows), len(_DESCRIPTORS))
    return {name: columns[:, place] for place, name in enumerate(_DESCRIPTORS)}


def _fingerprints(molecules: Sequence[Any]) -> Floats:
    made = need("rdkit.Chem.rdFingerprintGenerator", "comparing molecules")
    morgan = made.GetMorganGenerator(radius=_RADIUS, fpSize=_WIDTH)
    rows = [np.zeros(_WIDTH) if one is None else morgan.GetFingerprintAsNumPy(one) for one in molecules]
    return np.array(rows, np.float64).reshape(len(rows), _WIDTH)


def _scaffold(molecule: Any) -> str | None:
    """Bemis and Murcko's scaffold; None without rings."""
    if molecule is None:
        return None
    murcko = need("rdkit.Chem.Scaffolds.MurckoScaffold", "scaffolds of molecules")
    return murcko.MurckoScaffoldSmiles(mol=molecule) or None
