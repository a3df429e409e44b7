"""Keys of metrics, what they make of an estimate, the choice among them, and the literature that they cite."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.contracts import toy

from graphgauge.core import references
from graphgauge.core.errors import OptionError, UnknownNameError
from graphgauge.core.family import BUILT_IN
from graphgauge.core.metric import Estimate, Metric, NoChance, NoInterval
from graphgauge.core.references import REFERENCES, cite
from graphgauge.core.registry import find, metrics, select

FACTS = {**toy.DECLARED, "chance": NoChance("none"), "interval": NoInterval("none"), "family": "toy"}


def declared(key, function=lambda sample, *, k=3: sample, **changes):
    return Metric(key=key, function=function, **{**FACTS, **changes})


def test_names_keys_and_parameters():
    hits = declared("hits@{k}")
    assert (hits.name, hits.params, hits.key_of(k=7)) == ("hits", {"k": 3}, "hits@7")
    assert hits.parse("hits@12") == {"k": 12}
    assert hits.parse("xhits@12") is None
    assert hits.parse("hits") is None
    with pytest.raises(OptionError, match="k must be a number, not 'x'"):
        hits.parse("hits@x")
    share = declared("f1_at_{f}e", lambda sample, *, f=0.5: sample)
    assert (share.name, share.parse("f1_at_1.5e")) == ("f1_at", {"f": 1.5})
    assert declared("plain.key").parse("plainxkey") is None


def test_nan_means_nothing_was_measured():
    estimate = Estimate(np.array([np.nan]), np.array([7]), reason="no negatives")
    result = declared("x").result(None, estimate, {}, confidence=0.95, conventions={})
    assert (result.n, result.reason, result.interval) == (0, "no negatives", None)
    assert result.no_interval == "no value: no negatives"


def test_a_metrics_own_conventions_stand():
    chosen = declared("x", conventions={"ties": "as chosen", "empty": "nan"})
    fixed = declared("y", conventions={"ties": "count half"})
    estimate = Estimate(np.array([0.5]), np.array([7]))
    for given, ties in ((chosen, "realistic"), (fixed, "count half")):
        result = given.result(None, estimate, {}, confidence=0.95, conventions={"ties": "realistic", "nan": "raise"})
        assert result.conventions["ties"] == ties
        assert result.conventions["nan"] == "raise"
        assert (result.interval, result.no_interval) == (None, "none")


def test_find():
    assert find("mrr")[0].key == "mrr"
    entry, params = find("hits@25", "ranking")
    assert (entry.key, params) == ("hits@{k}", {"k": 25})
    assert find("hits", "ranking") == (entry, {"k": 10})
    assert find("hits@{k}", "ranking") == (entry, {"k": 10})
    assert find("adjusted_hits@3")[0].key == "adjusted_hits@{k}"
    with pytest.raises(UnknownNameError, match="Did you mean"):
        find("hit@10")
    with pytest.raises(UnknownNameError, match=r"unknown family 'rankin'\. Did you mean 'ranking'"):
        find("mrr", "rankin")


def test_select():
    def keys(names, available=("ranks",), **swept):
        return [entry.key_of(**params) for entry, params in select("ranking", names, available, swept)[0]]

    assert keys(["hits", "mrr"], k=(5, 1)) == ["hits@5", "hits@1", "mrr"]
    assert keys(["hits@7", "hits@7", "hits"], k=(7,)) == ["hits@7"]
    assert keys(["hits"]) == ["hits@10"]
    assert "roc_auc" not in keys(None)  # pooled metrics have to be named
    assert "recall@10" not in keys(None)
    assert "recall@10" in keys(None, ("ranks", "lists"))
    with pytest.raises(OptionError, match=r"roc_auc needs pooled. The input has ranks"):
        keys(["roc_auc"])


def test_all_families_register():
    assert {entry.family for entry in metrics()} >= set(BUILT_IN) - {"generation", "explanation"}
    assert "mrr" in {entry.key for entry in metrics("ranking")}


def test_references():
    for key, reference in REFERENCES.items():
        assert reference.bibtex.startswith(f"@{reference.kind}{{{key},")
        assert dict(reference.fields)["year"] in reference.short
    assert REFERENCES["hoyt2022"].short == "Hoyt et al. 2022"
    assert REFERENCES["hanley1982"].short == "Hanley and McNeil 1982"
    assert REFERENCES["voorhees1999"].short == "Voorhees 1999"


def test_every_entry_of_the_bibliography_is_read_once():
    bibliography = Path(references.__file__).with_suffix(".bib").read_text(encoding="utf-8")
    assert "\n\n".join(reference.bibtex for reference in REFERENCES.values()) + "\n" == bibliography
    assert len(REFERENCES) == bibliography.count("@")


@pytest.mark.parametrize(
    "entry",
    [
        "@book{gauss1809, author = {Gauss, Carl Friedrich}, year = {1809}}",
        "@book{gauss1809,\n  author = {Gauss, Carl Friedrich}\n}",
        "@book{gauss1809,\nauthor = {Gauss, Carl Friedrich},\nyear = {1809}\n}",
    ],
    ids=["one line", "no year", "no indentation"],
)
def test_an_entry_that_cannot_be_read_is_refused(entry):
    with pytest.raises(ValueError, match="one field per line"):
        cite(entry)
    assert "gauss1809" not in REFERENCES
