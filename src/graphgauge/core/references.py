"""The literature that definitions cite, one entry per key."""

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
            "amara2022", "inproceedings",
            author="Amara, Kenza and Ying, Rex and Zhang, Zitao and Han, Zhihao and Shan, Yinan and Brandes, Ulrik and "
            "Schemm, Sebastian and Zhang, Ce",
            title="GraphFramEx: Towards Systematic Evaluation of Explainability Methods for Graph Neural Networks",
            booktitle="Proceedings of the First Learning on Graphs Conference", year="2022",
        ),
        _reference(
            "yuan2023", "article",
            author="Yuan, Hao and Yu, Haiyang and Gui, Shurui and Ji, Shuiwang",
            title="Explainability in Graph Neural Networks: A Taxonomic Survey",
            journal="IEEE Transactions on Pattern Analysis and Machine Intelligence", volume="45", number="5",
            pages="5782--5799", year="2023",
        ),
        _reference(
            "chen2023", "inproceedings",
            author="Chen, Jialin and Ying, Rex",
            title="TempME: Towards the Explainability of Temporal Graph Neural Networks via Motif Discovery",
            booktitle="Advances in Neural Information Processing Systems", year="2023",
        ),
        _reference(
            "agarwal2023", "article",
            author="Agarwal, Chirag and Queen, Owen and Lakkaraju, Himabindu and Zitnik, Marinka",
            title="Evaluating Explainability for Graph Neural Networks",
            journal="Scientific Data", volume="10", pages="144", year="2023",
        ),
        _reference(
            "jaccard1912", "article",
            author="Jaccard, Paul", title="The Distribution of the Flora in the Alpine Zone",
            journal="New Phytologist", volume="11", number="2", pages="37--50", year="1912",
        ),
        _reference(
            "hamming1950", "article",
            author="Hamming, Richard W.", title="Error Detecting and Error Correcting Codes",
            journal="Bell System Technical Journal", volume="29", number="2", pages="147--160", year="1950",
        ),
        _reference(
            "polykovskiy2020", "article",
            author="Polykovskiy, Daniil and Zhebrak, Alexander and Sanchez-Lengeling, Benjamin and Golovanov, Sergey "
            "and Tatanov, Oktai and Belyaev, Stanislav and Kurbanov, Rauf and Artamonov, Aleksey and Aladinskiy, "
            "Vladimir and Veselov, Mark and Kadurin, Artur and Johansson, Simon and Chen, Hongming and Nikolenko, "
            "Sergey and Aspuru-Guzik, Alán and Zhavoronkov, Alex",
            title="Molecular Sets (MOSES): A Benchmarking Platform for Molecular Generation Models",
            journal="Frontiers in Pharmacology", volume="11", pages="565644", year="2020",
        ),
        _reference(
            "villani2009", "book",
            author="Villani, Cédric", title="Optimal Transport: Old and New", publisher="Springer", year="2009",
        ),
        _reference(
            "szekely2013", "article",
            author="Székely, Gábor J. and Rizzo, Maria L.",
            title="Energy Statistics: A Class of Statistics Based on Distances",
            journal="Journal of Statistical Planning and Inference", volume="143", number="8", pages="1249--1272",
            year="2013",
        ),
        _reference(
            "naeem2020", "inproceedings",
            author="Naeem, Muhammad Ferjad and Oh, Seong Joon and Uh, Youngjung and Choi, Yunjey and Yoo, Jaejun",
            title="Reliable Fidelity and Diversity Metrics for Generative Models",
            booktitle="Proceedings of the 37th International Conference on Machine Learning", year="2020",
        ),
        _reference(
            "kynkaanniemi2019", "inproceedings",
            author="Kynkäänniemi, Tuomas and Karras, Tero and Laine, Samuli and Lehtinen, Jaakko and Aila, Timo",
            title="Improved Precision and Recall Metric for Assessing Generative Models",
            booktitle="Advances in Neural Information Processing Systems", year="2019",
        ),
        _reference(
            "gretton2012", "article",
            author="Gretton, Arthur and Borgwardt, Karsten M. and Rasch, Malte J. and Schölkopf, Bernhard and Smola, "
            "Alexander",
            title="A Kernel Two-Sample Test", journal="Journal of Machine Learning Research", volume="13",
            pages="723--773", year="2012",
        ),
        _reference(
            "you2018", "inproceedings",
            author="You, Jiaxuan and Ying, Rex and Ren, Xiang and Hamilton, William L. and Leskovec, Jure",
            title="GraphRNN: Generating Realistic Graphs with Deep Auto-regressive Models",
            booktitle="Proceedings of the 35th International Conference on Machine Learning", year="2018",
        ),
        _reference(
            "liao2019", "inproceedings",
            author="Liao, Renjie and Li, Yujia and Song, Yang and Wang, Shenlong and Hamilton, William L. and "
            "Duvenaud, David and Urtasun, Raquel and Zemel, Richard",
            title="Efficient Graph Generation with Graph Recurrent Attention Networks",
            booktitle="Advances in Neural Information Processing Systems", year="2019",
        ),
        _reference(
            "rousseeuw1987", "article",
            author="Rousseeuw, Peter J.",
            title="Silhouettes: A Graphical Aid to the Interpretation and Validation of Cluster Analysis",
            journal="Journal of Computational and Applied Mathematics", volume="20", pages="53--65", year="1987",
        ),
        _reference(
            "kingma2014", "inproceedings",
            author="Kingma, Diederik P. and Welling, Max", title="Auto-Encoding Variational Bayes",
            booktitle="International Conference on Learning Representations", year="2014",
        ),
        _reference(
            "spearman1904", "article",
            author="Spearman, Charles", title="The Proof and Measurement of Association between Two Things",
            journal="The American Journal of Psychology", volume="15", number="1", pages="72--101", year="1904",
        ),
        _reference(
            "ravuri2019", "inproceedings",
            author="Ravuri, Suman and Vinyals, Oriol",
            title="Classification Accuracy Score for Conditional Generative Models",
            booktitle="Advances in Neural Information Processing Systems", year="2019",
        ),
        _reference(
            "saerens2002", "article",
            author="Saerens, Marco and Latinne, Patrice and Decaestecker, Christine",
            title="Adjusting the Outputs of a Classifier to New a Priori Probabilities: A Simple Procedure",
            journal="Neural Computation", volume="14", number="1", pages="21--41", year="2002",
        ),
        _reference(
            "libennowell2007", "article",
            author="Liben-Nowell, David and Kleinberg, Jon", title="The Link-Prediction Problem for Social Networks",
            journal="Journal of the American Society for Information Science and Technology", volume="58", number="7",
            pages="1019--1031", year="2007",
        ),
        _reference(
            "yang2015", "article",
            author="Yang, Yang and Lichtenwalter, Ryan N. and Chawla, Nitesh V.",
            title="Evaluating Link Prediction Methods",
            journal="Knowledge and Information Systems", volume="45", number="3", pages="751--782", year="2015",
        ),
        _reference(
            "mcpherson2001", "article",
            author="McPherson, Miller and Smith-Lovin, Lynn and Cook, James M.",
            title="Birds of a Feather: Homophily in Social Networks",
            journal="Annual Review of Sociology", volume="27", pages="415--444", year="2001",
        ),
        _reference(
            "newman2003", "article",
            author="Newman, M. E. J.", title="Mixing Patterns in Networks",
            journal="Physical Review E", volume="67", number="2", pages="026126", year="2003",
        ),
        _reference(
            "alain2017", "misc",
            author="Alain, Guillaume and Bengio, Yoshua",
            title="Understanding Intermediate Layers Using Linear Classifier Probes",
            year="2017", eprint="1610.01644", archiveprefix="arXiv",
        ),
        _reference(
            "erdos1960", "article",
            author="Erdős, Paul and Rényi, Alfréd", title="On the Evolution of Random Graphs",
            journal="Publications of the Mathematical Institute of the Hungarian Academy of Sciences", volume="5",
            pages="17--61", year="1960",
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
