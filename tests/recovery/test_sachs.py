"""The two truths of the Sachs network that circulate, against each other.

Origin of the edges: `sachs.bif.gz` in pgmpy 1.1.2 (bnlearn's network, 17 edges) and `cyto_full_target.csv` in cdt 0.6.0
(18 edges, with a cycle), cdt's names of the proteins replaced by pgmpy's. Origin of the numbers: the two lists share 13
edges and hold two more pairs of nodes in opposite directions, counted by hand; the tests count them once more as sets.
"""

import itertools

import pytest
from tests.recovery.forms import evaluate

from graphgauge import recovery

NODES = ("Akt", "Erk", "Jnk", "Mek", "P38", "PIP2", "PIP3", "PKA", "PKC", "Plcg", "Raf")
PGMPY = [
    ("Erk", "Akt"),
    ("PKA", "Akt"),
    ("Mek", "Erk"),
    ("PKA", "Erk"),
    ("PKA", "Jnk"),
    ("PKC", "Jnk"),
    ("PKA", "Mek"),
    ("PKC", "Mek"),
    ("Raf", "Mek"),
    ("PKA", "P38"),
    ("PKC", "P38"),
    ("PIP3", "PIP2"),
    ("Plcg", "PIP2"),
    ("Plcg", "PIP3"),
    ("PKC", "PKA"),
    ("PKA", "Raf"),
    ("PKC", "Raf"),
]
CDT = [
    ("PIP2", "PKC"),
    ("Plcg", "PIP2"),
    ("PIP3", "Plcg"),
    ("PIP2", "PIP3"),
    ("Plcg", "PKC"),
    ("PKC", "Jnk"),
    ("PKC", "P38"),
    ("PKA", "P38"),
    ("PKC", "Raf"),
    ("PKA", "Raf"),
    ("Raf", "Mek"),
    ("Mek", "Erk"),
    ("PKC", "Mek"),
    ("PKA", "Akt"),
    ("PIP3", "Akt"),
    ("PKA", "Mek"),
    ("PKA", "Erk"),
    ("PKA", "Jnk"),
]


def test_two_truths():
    evaluation = evaluate(PGMPY, CDT, nodes=NODES)
    assert [evaluation[key].value for key in ("tp", "fp", "fn")] == [13, 5, 4]
    assert len(set(PGMPY) & set(CDT)) == 13
    assert evaluation["shd_reversed"].value == 2
    assert evaluation["cpdag_shd"].reason == "A_pred has the directed cycle PIP2 → PIP3 → Plcg → PIP2"


@pytest.mark.parametrize(("kind", "distance"), [("pair", 7), ("cell", 9)])
def test_their_distance(kind, distance):
    assert recovery.shd(PGMPY, CDT, nodes=NODES, kind=kind) == distance
    both = set(PGMPY), set(CDT)
    differing = sum(
        {pair, pair[::-1]} & both[0] != {pair, pair[::-1]} & both[1] for pair in itertools.combinations(NODES, 2)
    )
    assert distance == (differing if kind == "pair" else len(both[0] ^ both[1]))
