"""The literature that definitions rest on, one entry a key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reference:
    key: str
    kind: str
    fields: tuple[tuple[str, str], ...]

    @property
    def short(self) -> str:
        entry = dict(self.fields)
        names = [name.partition(",")[0] for name in entry["author"].split(" and ")]
        who = names[0] if len(names) == 1 else f"{names[0]} and {names[1]}" if len(names) == 2 else f"{names[0]} et al."
        return f"{who} {entry['year']}"

    @property
    def bibtex(self) -> str:
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in self.fields)
        return f"@{self.kind}{{{self.key},\n{lines}\n}}"


def _reference(key: str, kind: str, **fields: str) -> tuple[str, Reference]:
    return key, Reference(key, kind, tuple(fields.items()))


REFERENCES: dict[str, Reference] = dict(
    [
        _reference(
            "voorhees1999", "inproceedings",
            author="Voorhees, Ellen M.", title="The TREC-8 Question Answering Track Report",
            booktitle="Proceedings of the Eighth Text REtrieval Conference", year="1999",
        ),
        _reference(
            "bordes2013", "inproceedings",
            author="Bordes, Antoine and Usunier, Nicolas and Garcia-Duran, Alberto and Weston, Jason and "
            "Yakhnenko, Oksana",
            title="Translating Embeddings for Modeling Multi-relational Data",
            booktitle="Advances in Neural Information Processing Systems", year="2013",
        ),
        _reference(
            "berrendorf2020", "misc",
            author="Berrendorf, Max and Faerman, Evgeniy and Vermue, Laurent and Tresp, Volker",
            title="On the Ambiguity of Rank-Based Evaluation of Entity Alignment or Link Prediction Methods",
            year="2020", eprint="2002.06914", archiveprefix="arXiv",
        ),
        _reference(
            "hoyt2022", "misc",
            author="Hoyt, Charles Tapley and Berrendorf, Max and Galkin, Mikhail and Tresp, Volker and "
            "Gyori, Benjamin M.",
            title="A Unified Framework for Rank-based Evaluation Metrics for Link Prediction in Knowledge Graphs",
            year="2022", eprint="2203.07544", archiveprefix="arXiv",
        ),
        _reference(
            "jarvelin2002", "article",
            author="Järvelin, Kalervo and Kekäläinen, Jaana",
            title="Cumulated Gain-based Evaluation of IR Techniques",
            journal="ACM Transactions on Information Systems", volume="20", number="4", pages="422--446", year="2002",
        ),
        _reference(
            "mcsherry2008", "inproceedings",
            author="McSherry, Frank and Najork, Marc",
            title="Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores",
            booktitle="Advances in Information Retrieval", year="2008",
        ),
        _reference(
            "hanley1982", "article",
            author="Hanley, James A. and McNeil, Barbara J.",
            title="The Meaning and Use of the Area under a Receiver Operating Characteristic (ROC) Curve",
            journal="Radiology", volume="143", number="1", pages="29--36", year="1982",
        ),
        _reference(
            "davis2006", "inproceedings",
            author="Davis, Jesse and Goadrich, Mark",
            title="The Relationship between Precision-Recall and ROC Curves",
            booktitle="Proceedings of the 23rd International Conference on Machine Learning", year="2006",
        ),
        _reference(
            "hu2020", "inproceedings",
            author="Hu, Weihua and Fey, Matthias and Zitnik, Marinka and Dong, Yuxiao and Ren, Hongyu and Liu, Bowen "
            "and Catasta, Michele and Leskovec, Jure",
            title="Open Graph Benchmark: Datasets for Machine Learning on Graphs",
            booktitle="Advances in Neural Information Processing Systems", year="2020",
        ),
        _reference(
            "tsamardinos2006", "article",
            author="Tsamardinos, Ioannis and Brown, Laura E. and Aliferis, Constantin F.",
            title="The Max-Min Hill-Climbing Bayesian Network Structure Learning Algorithm",
            journal="Machine Learning", volume="65", number="1", pages="31--78", year="2006",
        ),
        _reference(
            "rijsbergen1979", "book",
            author="van Rijsbergen, C. J.", title="Information Retrieval", publisher="Butterworths", edition="2",
            year="1979",
        ),
        _reference(
            "marbach2012", "article",
            author="Marbach, Daniel and Costello, James C. and Küffner, Robert and Vega, Nicole M. and "
            "Prill, Robert J. and Camacho, Diogo M. and Allison, Kyle R. and Kellis, Manolis and Collins, James J. and "
            "Stolovitzky, Gustavo",
            title="Wisdom of Crowds for Robust Gene Network Inference",
            journal="Nature Methods", volume="9", pages="796--804", year="2012",
        ),
        _reference(
            "zheng2018", "inproceedings",
            author="Zheng, Xun and Aragam, Bryon and Ravikumar, Pradeep and Xing, Eric P.",
            title="DAGs with NO TEARS: Continuous Optimization for Structure Learning",
            booktitle="Advances in Neural Information Processing Systems", year="2018",
        ),
        _reference(
            "chickering1995", "inproceedings",
            author="Chickering, David Maxwell",
            title="A Transformational Characterization of Equivalent Bayesian Network Structures",
            booktitle="Proceedings of the Eleventh Conference on Uncertainty in Artificial Intelligence", year="1995",
        ),
        _reference(
            "verma1990", "inproceedings",
            author="Verma, Thomas and Pearl, Judea", title="Equivalence and Synthesis of Causal Models",
            booktitle="Proceedings of the Sixth Conference on Uncertainty in Artificial Intelligence", year="1990",
        ),
        _reference(
            "peters2015", "article",
            author="Peters, Jonas and Bühlmann, Peter",
            title="Structural Intervention Distance for Evaluating Causal Graphs",
            journal="Neural Computation", volume="27", number="3", pages="771--799", year="2015",
        ),
        _reference(
            "henckel2024", "inproceedings",
            author="Henckel, Leonard and Würtzen, Theo and Weichwald, Sebastian",
            title="Adjustment Identification Distance: A gadjid for Causal Structure Learning",
            booktitle="Proceedings of the Fortieth Conference on Uncertainty in Artificial Intelligence", year="2024",
        ),
        _reference(
            "willmott2005", "article",
            author="Willmott, Cort J. and Matsuura, Kenji",
            title="Advantages of the Mean Absolute Error (MAE) over the Root Mean Square Error (RMSE) in Assessing "
            "Average Model Performance",
            journal="Climate Research", volume="30", pages="79--82", year="2005",
        ),
        _reference(
            "li2018", "inproceedings",
            author="Li, Yaguang and Yu, Rose and Shahabi, Cyrus and Liu, Yan",
            title="Diffusion Convolutional Recurrent Neural Network: Data-Driven Traffic Forecasting",
            booktitle="International Conference on Learning Representations", year="2018",
        ),
        _reference(
            "kolassa2007", "article",
            author="Kolassa, Stephan and Schütz, Wolfgang", title="Advantages of the MAD/Mean Ratio over the MAPE",
            journal="Foresight: The International Journal of Applied Forecasting", number="6", pages="40--43",
            year="2007",
        ),
        _reference(
            "makridakis1993", "article",
            author="Makridakis, Spyros", title="Accuracy Measures: Theoretical and Practical Concerns",
            journal="International Journal of Forecasting", volume="9", number="4", pages="527--529", year="1993",
        ),
        _reference(
            "hyndman2006", "article",
            author="Hyndman, Rob J. and Koehler, Anne B.", title="Another Look at Measures of Forecast Accuracy",
            journal="International Journal of Forecasting", volume="22", number="4", pages="679--688", year="2006",
        ),
        _reference(
            "wright1921", "article",
            author="Wright, Sewall", title="Correlation and Causation", journal="Journal of Agricultural Research",
            volume="20", number="7", pages="557--585", year="1921",
        ),
        _reference(
            "good1952", "article",
            author="Good, I. J.", title="Rational Decisions",
            journal="Journal of the Royal Statistical Society: Series B", volume="14", number="1", pages="107--114",
            year="1952",
        ),
        _reference(
            "gneiting2007", "article",
            author="Gneiting, Tilmann and Raftery, Adrian E.",
            title="Strictly Proper Scoring Rules, Prediction, and Estimation",
            journal="Journal of the American Statistical Association", volume="102", number="477", pages="359--378",
            year="2007",
        ),
        _reference(
            "gneiting2007sharpness", "article",
            author="Gneiting, Tilmann and Balabdaoui, Fadoua and Raftery, Adrian E.",
            title="Probabilistic Forecasts, Calibration and Sharpness",
            journal="Journal of the Royal Statistical Society: Series B", volume="69", number="2", pages="243--268",
            year="2007",
        ),
        _reference(
            "ferro2014", "article",
            author="Ferro, Christopher A. T.", title="Fair Scores for Ensemble Forecasts",
            journal="Quarterly Journal of the Royal Meteorological Society", volume="140", number="683",
            pages="1917--1923", year="2014",
        ),
        _reference(
            "levi2022", "article",
            author="Levi, Dan and Gispan, Liran and Giladi, Niv and Fetaya, Ethan",
            title="Evaluating and Calibrating Uncertainty Prediction in Regression Tasks",
            journal="Sensors", volume="22", number="15", pages="5540", year="2022",
        ),
        _reference(
            "kuleshov2018", "inproceedings",
            author="Kuleshov, Volodymyr and Fenner, Nathan and Ermon, Stefano",
            title="Accurate Uncertainties for Deep Learning Using Calibrated Regression",
            booktitle="Proceedings of the 35th International Conference on Machine Learning", year="2018",
        ),
        _reference(
            "christoffersen1998", "article",
            author="Christoffersen, Peter F.", title="Evaluating Interval Forecasts",
            journal="International Economic Review", volume="39", number="4", pages="841--862", year="1998",
        ),
        _reference(
            "winkler1972", "article",
            author="Winkler, Robert L.", title="A Decision-Theoretic Approach to Interval Estimation",
            journal="Journal of the American Statistical Association", volume="67", number="337", pages="187--191",
            year="1972",
        ),
        _reference(
            "koenker1978", "article",
            author="Koenker, Roger and Bassett, Gilbert", title="Regression Quantiles", journal="Econometrica",
            volume="46", number="1", pages="33--50", year="1978",
        ),
    ]
)  # fmt: skip
