"""Names by which tables call the parts of a run, and what the names of other programs mean."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

ROLES = ("method", "dataset", "seed", "metric", "value", "std", "n")
LABELS = ("method", "dataset", "seed")

# The names of each role, the most certain first, in lower case without separators.
_NAMES = {
    "method": (
        "method",
        "model",
        "algorithm",
        "algo",
        "estimator",
        "classifier",
        "learner",
        "approach",
        "architecture",
        "arch",
        "backbone",
        "system",
        "methodname",
        "modelname",
        "modeltype",
        "modelclass",
        "gnn",
        "network",
        "methods",
        "models",
        "forecaster",
        "regressor",
        "solver",
        "variant",
    ),
    "dataset": (
        "dataset",
        "datasetname",
        "data",
        "benchmark",
        "task",
        "taskname",
        "datasets",
        "problem",
        "corpus",
        "dataname",
        "graph",
        "environment",
        "env",
    ),
    "seed": (
        "seed",
        "randomseed",
        "randomstate",
        "rngseed",
        "globalseed",
        "manualseed",
        "seeds",
        "fold",
        "foldid",
        "cvfold",
        "split",
        "splitid",
        "resample",
        "resamples",
        "repeat",
        "repetition",
        "rep",
        "replicate",
        "replication",
        "run",
        "runseed",
        "trial",
    ),
    "metric": ("metric", "metricname", "measure", "metrics", "scorer"),
    "value": ("value", "score", "metricvalue", "result", "values"),
    "std": ("std", "stddev", "sd", "standarddeviation", "stdev"),
    "n": ("n", "nruns", "nseeds", "numseeds", "numruns", "count", "runs", "repeats"),
}
# A run's own name says the method if nothing else does.
RUN_NAMES = ("name", "runname", "mlflowrunname", "experimentname", "label")
# What Weights & Biases calls a run that nobody named.
GENERATED = re.compile(r"[a-z]+-[a-z]+-\d+")
# A run named after its method and seed: gcn-seed0, gat_s3, sage/run-2.
RUN_SEED = re.compile(r"(?P<method>.+?)[-_/. ]*[-_/. ](?:seed|s|run|fold|split|rep)[-_=]?(?P<seed>\d+)", re.IGNORECASE)
_BARE_SEED = re.compile(r"(?:seed|fold|split|run|rep|repeat|resample|trial|repetition)?[-_ ]?(\d{1,6})(?:_test_score)?")

# Columns of settings and of metrics, by what other programs put before their names.
_SETTINGS = (
    "params.",
    "params/",
    "params_",
    "param_",
    "config/",
    "config.",
    "hparams/",
    "hparams.",
    "hparam/",
    "tags.",
    "tags/",
    "user_attrs_",
    "system_attrs_",
    "train_loop_config/",
)
_METRICS = ("metrics.", "metrics/", "summary.", "summary/")
_BOOKKEEPING = re.compile(
    r"(unnamed: \d+|index|id|run_?id|experiment_?id|trial_?id|status|state|artifact_uri|start_?time|end_?time|created"
    r"(_?at)?|updated_?at|runtime|duration|sweep|notes?|user|tags|hostname|host|node_ip|pid|date|datetime_\w+|logdir|url"
    r"|checkpoint_dir_name|done|should_checkpoint|timestamp|time_\w+_s|time_since_restore|timesteps\w*"
    r"|iterations_since_restore|episodes_total|number|_timestamp|_runtime|_step|_wandb|wall[_ ]time|elapsed|params"
    r"|rank_test_score|mean_test_score|std_test_score|(mean|std)_(fit|score)_time|#?params|num_?params|gpu|hardware"
    r"|(eval|train|test)_(runtime|samples_per_second|steps_per_second|samples)|total_flos|grad_norm)",
    re.IGNORECASE,
)
_STEPS = ("epoch", "step", "globalstep", "iteration", "trainingiteration", "trainerglobalstep", "traininstep")
_HYPERPARAMETERS = frozenset(
    (
        "lr",
        "learningrate",
        "initlr",
        "batchsize",
        "weightdecay",
        "wd",
        "dropout",
        "hidden",
        "hiddendim",
        "hiddensize",
        "hiddenchannels",
        "numlayers",
        "nlayers",
        "layers",
        "epochs",
        "nepochs",
        "numepochs",
        "maxepochs",
        "patience",
        "optimizer",
        "momentum",
        "heads",
        "numheads",
        "embeddim",
        "embeddingdim",
        "warmup",
        "warmupsteps",
        "clip",
        "gradclip",
        "maxsteps",
        "numworkers",
    )
)
_METRIC_WORDS = frozenset(
    (
        "acc",
        "accuracy",
        "f1",
        "auc",
        "auroc",
        "auprc",
        "roc",
        "pr",
        "ap",
        "map",
        "mrr",
        "hits",
        "hit",
        "ndcg",
        "recall",
        "precision",
        "loss",
        "mae",
        "rmse",
        "mse",
        "mape",
        "smape",
        "crps",
        "error",
        "err",
        "score",
        "r2",
        "nll",
        "elbo",
        "perplexity",
        "ppl",
        "bleu",
        "rouge",
        "ari",
        "nmi",
        "shd",
        "sid",
        "fid",
        "iou",
        "dice",
        "time",
        "seconds",
        "kl",
        "mmd",
        "wer",
        "cer",
        "likelihood",
        "coverage",
        "sensitivity",
        "specificity",
        "mcc",
        "kappa",
        "tpr",
        "fpr",
        "fdr",
        "tnr",
        "fnr",
        "spearman",
        "pearson",
        "kendall",
        "brier",
        "ece",
        "reward",
        "return",
        "success",
        "validity",
        "novelty",
        "uniqueness",
        "fidelity",
        "sparsity",
        "latency",
        "memory",
        "ap50",
        "topk",
        "top1",
        "top5",
        "metric",
        "value",
        "sharpe",
        "microf1",
        "macrof1",
    )
)
# What everybody means by a name.
_HIGHER = frozenset(
    (
        "acc",
        "accuracy",
        "f1",
        "auc",
        "auroc",
        "auprc",
        "ap",
        "map",
        "mrr",
        "hits",
        "ndcg",
        "recall",
        "precision",
        "r2",
        "bleu",
        "rouge",
        "ari",
        "nmi",
        "iou",
        "dice",
        "mcc",
        "kappa",
        "tpr",
        "tnr",
        "sensitivity",
        "specificity",
        "reward",
        "microf1",
        "macrof1",
        "top1",
        "top5",
    )
)
_LOWER = frozenset(
    (
        "loss",
        "mae",
        "rmse",
        "mse",
        "mape",
        "smape",
        "crps",
        "error",
        "err",
        "nll",
        "perplexity",
        "ppl",
        "fid",
        "wer",
        "cer",
        "brier",
        "ece",
        "fpr",
        "fdr",
        "fnr",
        "latency",
        "shd",
    )
)
# Of these, shares of 1 that are often printed in percent.
_SHARES = _HIGHER - {"r2", "bleu", "rouge", "reward"}
_DATASETS = re.compile(
    r"cora(_?(ml|full))?|citeseer|pubmed|ogb[nlg]-.+|dblp|wikics|reddit\d*|ppi|flickr|yelp|amazon.*|coauthor.*|computers?|"
    r"photo|cs|physics|arxiv|products|proteins|mag|papers100m|wn18(rr)?|fb15k(-?237)?|nations|umls|kinship|yago.*|nell.*|"
    r"sachs|alarm|asia|child|insurance|hepar2?|win95pts|zinc|qm9|mutag|imdb-?[bm]?.*|nci1|enzymes|dd|collab|texas|"
    r"wisconsin|cornell|chameleon|squirrel|actor|film|mnist|cifar-?100?|imagenet|metr-?la|pems.*|etth?m?[12]|traffic|"
    r"electricity|weather|exchange|iris|wine|adult|movielens.*|ml-?\d+[km]|hellaswag|arc_?\w*|mmlu|gsm8k|squad.*|glue.*",
    re.IGNORECASE,
)


def simple(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())


@lru_cache(4096)
def bare(name: str) -> str:
    """A name without what a program puts before settings and metrics."""
    start = next((prefix for prefix in (*_SETTINGS, *_METRICS) if name.lower().startswith(prefix)), "")
    return name[len(start) :]


@lru_cache(4096)
def role_of(name: str) -> tuple[str, int] | None:
    """The role that a column has by its name, and how certain this is (0 is best)."""
    plain = simple(bare(name))
    for role, names in _NAMES.items():
        if plain in names:
            return role, names.index(plain) + (0 if name == bare(name) else 1)
    return None


def is_setting(name: str) -> bool:
    return name.lower().startswith(_SETTINGS) or simple(name) in _HYPERPARAMETERS


def is_metric_column(name: str) -> bool:
    return name.lower().startswith(_METRICS)


def is_bookkeeping(name: str) -> bool:
    return not name.strip() or _BOOKKEEPING.fullmatch(bare(name).strip()) is not None


def is_step(name: str) -> bool:
    return simple(bare(name)) in _STEPS


def sounds_like_metric(name: str) -> bool:
    """Whether a column would be called so if it held a metric, not a method or a dataset."""
    from graphgauge.core.errors import OptionError
    from graphgauge.core.metric import find, renamed_keys

    if name in renamed_keys():
        return True
    try:
        find(name)
    except OptionError:
        words = re.findall(r"[a-z]+\d*|\d+", re.sub(r"([a-z])([A-Z])", r"\1 \2", bare(name)).lower())
        return bool(_METRIC_WORDS & set(words)) or bool(_METRIC_WORDS & {re.sub(r"\d+$", "", word) for word in words})
    return True


def usual_direction(name: str) -> Literal["higher", "lower"] | None:
    """Which direction of a metric is better, if its name says it: `test_acc`, `val/loss`, `Accuracy`."""
    words = set(re.split(r"[\W_]+", name.lower()))
    if bool(words & _HIGHER) == bool(words & _LOWER):
        return None
    return "higher" if words & _HIGHER else "lower"


def by_name(metric: str, direction: str | None) -> str:
    """What to say where the direction follows from the name alone."""
    other = "lower" if direction == "higher" else "higher"
    return f'That {direction} is better follows from the name {metric}; direction="{other}" overrules it.'


def sounds_like_share(name: str) -> bool:
    """Whether a metric of this name is usually between 0 and 1."""
    return bool(set(re.split(r"[\W_]+", name.lower())) & _SHARES)


def sounds_like_dataset(name: str) -> bool:
    return _DATASETS.fullmatch(name.strip()) is not None


def seed_in(name: str) -> int | None:
    """The seed of a column with the values of one seed: 3, seed3, fold_3, split3_test_score."""
    found = _BARE_SEED.fullmatch(name.strip().lower())
    return int(found[1]) if found else None


def percent_name(name: str) -> tuple[str, bool]:
    """The name without a sign of percent, and whether it had one: acc (%), acc [%], acc_pct."""
    short = re.sub(r"\s*[(\[]\s*(%|percent|in %)\s*[)\]]|\s+%$|_(pct|percent)$", "", name.strip(), flags=re.IGNORECASE)
    return short or name, short != name.strip()
