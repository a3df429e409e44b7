"""The literature that this family's definitions rest on."""

from __future__ import annotations

from graphgauge.core.references import REFERENCES, Reference


def _add(key: str, kind: str, **fields: str) -> None:
    REFERENCES[key] = Reference(key, kind, tuple(fields.items()))


_add(
    "tsamardinos2006", "article",
    author="Tsamardinos, Ioannis and Brown, Laura E. and Aliferis, Constantin F.",
    title="The Max-Min Hill-Climbing Bayesian Network Structure Learning Algorithm",
    journal="Machine Learning", volume="65", number="1", pages="31--78", year="2006",
)  # fmt: skip
_add(
    "rijsbergen1979", "book",
    author="van Rijsbergen, C. J.", title="Information Retrieval", publisher="Butterworths", edition="2", year="1979",
)  # fmt: skip
_add(
    "marbach2012", "article",
    author="Marbach, Daniel and Costello, James C. and Küffner, Robert and Vega, Nicole M. and Prill, Robert J. and "
    "Camacho, Diogo M. and Allison, Kyle R. and Kellis, Manolis and Collins, James J. and Stolovitzky, Gustavo",
    title="Wisdom of Crowds for Robust Gene Network Inference",
    journal="Nature Methods", volume="9", pages="796--804", year="2012",
)  # fmt: skip
_add(
    "zheng2018", "inproceedings",
    author="Zheng, Xun and Aragam, Bryon and Ravikumar, Pradeep and Xing, Eric P.",
    title="DAGs with NO TEARS: Continuous Optimization for Structure Learning",
    booktitle="Advances in Neural Information Processing Systems", year="2018",
)  # fmt: skip
_add(
    "chickering1995", "inproceedings",
    author="Chickering, David Maxwell",
    title="A Transformational Characterization of Equivalent Bayesian Network Structures",
    booktitle="Proceedings of the Eleventh Conference on Uncertainty in Artificial Intelligence", year="1995",
)  # fmt: skip
_add(
    "verma1990", "inproceedings",
    author="Verma, Thomas and Pearl, Judea", title="Equivalence and Synthesis of Causal Models",
    booktitle="Proceedings of the Sixth Conference on Uncertainty in Artificial Intelligence", year="1990",
)  # fmt: skip
_add(
    "peters2015", "article",
    author="Peters, Jonas and Bühlmann, Peter",
    title="Structural Intervention Distance for Evaluating Causal Graphs",
    journal="Neural Computation", volume="27", number="3", pages="771--799", year="2015",
)  # fmt: skip
_add(
    "henckel2024", "inproceedings",
    author="Henckel, Leonard and Würtzen, Theo and Weichwald, Sebastian",
    title="Adjustment Identification Distance: A gadjid for Causal Structure Learning",
    booktitle="Proceedings of the Fortieth Conference on Uncertainty in Artificial Intelligence", year="2024",
)  # fmt: skip
