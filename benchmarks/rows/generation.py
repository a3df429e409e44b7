"""Generators of boards, graphs and molecules."""

from __future__ import annotations

from benchmarks.harness import Row, Work, faster, first

SETUP = "from graphgauge import generation as F"
BOARDS = "A, B, C = (r.random(({0}, 594)) < .03 for _ in range(3))"
PDIST = "from scipy.spatial.distance import pdist"
GRAPHS = (
    "import networkx as nx; A = [nx.watts_strogatz_graph(60, 6, .3, seed=i) for i in range(200)]; "
    "B = [nx.barabasi_albert_graph(60, 3, seed=i) for i in range(200)]"
)
# As GRAN's code has it, without its processes and files.
GRAN = (
    "h = [np.histogram(list(nx.clustering(g).values()), 100, (0, 1))[0] / 60 for g in A + B]; "
    "k = [[np.exp(-50 * (np.abs(x - y).sum() / 2) ** 2) for y in h] for x in h]; np.mean(k)"
)
CUBIC = "import networkx as nx; A = [nx.random_regular_graph(3, 40, seed=i) for i in range(60)]"
SMILES = (
    "a = ['C' * i for i in range(1, 16)]; b = ['c1ccccc1', 'C1CCNCC1', 'c1ccncc1', 'C1CC1', 'OC', 'N', 'S', 'F']; "
    "s = [x + y + 'N(' + z + ')' + w for x in a for y in b for z in a[:6] for w in a[:6]]; "
    "s = [s[i] for i in r.permutation(len(s))[:3000]]"
)

ROWS = (
    Row(
        "600 boards on every side",
        BOARDS.format(600),
        Work("F.evaluate(A, B, train=C)", SETUP),
        limits=(first(1),),
    ),
    Row(
        "Hamming distances of 5003 × 594",
        BOARDS.format(5003),
        Work("D.hamming_pairs(A)", "from graphgauge.generation import distances as D"),
        {"SciPy": Work("pdist(A, 'hamming').mean()", PDIST)},
        "A",
        (faster(100, "SciPy"),),
    ),
    Row(
        "Jaccard distances of 5003 × 594",
        BOARDS.format(5003),
        Work("D.jaccard_pairs(A)", "from graphgauge.generation import distances as D"),
        {"SciPy": Work("pdist(A, 'jaccard').mean()", PDIST)},
        "A",
        (faster(100, "SciPy"),),
    ),
    Row(
        "silhouette 4000 × 32",
        "X = r.normal(size=(4000, 32)); c = r.integers(0, 10, 4000)",
        Work("D.silhouettes(X, c)", "from graphgauge.generation import distances as D"),
        {"scikit-learn": Work("silhouette_samples(X, c)", "from sklearn.metrics import silhouette_samples")},
        "X",
        (faster(2, "scikit-learn"),),
    ),
    Row(
        "PRDC of bits 2500 + 2500 × 594",
        BOARDS.format(2500),
        Work("F.prdc(A, B)", SETUP),
        {"prdc": Work("compute_prdc(A.astype(float), B.astype(float), 5)", "from prdc import compute_prdc")},
        "A, B",
        (faster(5, "prdc"),),
    ),
    Row(
        "MMD of clustering, 200 + 200 graphs",
        GRAPHS,
        Work("F.evaluate(a(A), a(B), metrics=['clustering_mmd'], draws=1)", SETUP + "; a = F.Graphs.from_objects"),
        {"GRAN's way": Work(GRAN)},
        limits=(faster(1, "GRAN's way"),),
    ),
    Row(
        "uniqueness of 60 cubic graphs of 40 nodes",
        CUBIC,
        Work("codes(F.Graphs.from_objects(A))", SETUP + "; from graphgauge.generation.identity import codes"),
        {"networkx": Work("[nx.is_isomorphic(A[0], g) for g in A[1:4]]")},
        limits=(first(1, "networkx"),),
    ),
    Row(
        "3000 molecules with QED",
        SMILES,
        Work("m = F.Molecules.from_smiles; F.evaluate(m(s[:1000]), m(s[1000:2000]), train=m(s[2000:]))", SETUP),
        limits=(first(6),),
    ),
)
