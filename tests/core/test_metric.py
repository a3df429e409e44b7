"""The registry: declaring, finding, selecting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphgauge.core import references
from graphgauge.core.errors import OptionError, UnknownNameError
from graphgauge.core.references import REFERENCES, cite
from graphgauge.old.core import metric as registry
from graphgauge.old.core.family import BUILT_IN
from graphgauge.old.core.findings import Check, check, checks
from graphgauge.old.core.metric import Estimate, Exempt, Metric, NoChance, NoInterval, find, metric, metrics, select

FACTS: dict[str, Any] = {
    "family": "ranking",
    "needs": ("ranks",),
    "direction": "higher",
    "bounds": (0, 1),
    "unit": "query",
    "conventions": {},
    "reference": "hoyt2022",
    "chance": NoChance("none"),
    "interval": NoInterval("none"),
    "laws": {"permutation": True, "merge": True, "monotone": True, "symmetry": Exempt("no")},
}


def declared(key: str, function: Any = lambda sample, *, k=3: sample, **changes: Any) -> Metric:
    return metric(key=key, **FACTS | changes)(function)


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", {})


@pytest.mark.usefixtures("own_registry")
class TestDeclaring:
    def test_undeclared_laws_are_refused(self) -> None:
        with pytest.raises(TypeError, match="does not declare the laws merge, symmetry"):
            declared("x", laws={"permutation": True, "monotone": True})

    def test_unknown_references_are_refused(self) -> None:
        with pytest.raises(TypeError, match="cites 'nobody1900'"):
            declared("x", reference="nobody1900")

    def test_a_key_is_registered_once(self) -> None:
        declared("x")
        declared("x", family="recovery")  # another family may have it too
        with pytest.raises(TypeError, match="'x' is registered twice in ranking"):
            declared("x")

    def test_names_keys_and_parameters(self) -> None:
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

    def test_nan_means_nothing_was_measured(self) -> None:
        entry = declared("x")
        estimate = Estimate(np.array([np.nan]), np.array([7]), reason="no negatives")
        result = entry.result(None, estimate, {}, confidence=0.95, conventions={})
        assert (result.n, result.reason, result.interval, result.no_interval) == (
            0,
            "no negatives",
            None,
            "no value: no negatives",
        )

    def test_a_metrics_own_conventions_stand(self) -> None:
        entry = declared("x", conventions={"ties": "as chosen", "empty": "nan"})
        fixed = declared("y", conventions={"ties": "count half"})
        estimate = Estimate(np.array([0.5]), np.array([7]))
        for given, ties in ((entry, "realistic"), (fixed, "count half")):
            result = given.result(
                None, estimate, {}, confidence=0.95, conventions={"ties": "realistic", "nan": "raise"}
            )
            assert result.conventions["ties"] == ties
            assert result.conventions["nan"] == "raise"
            assert (result.interval, result.no_interval) == (None, "none")


def test_find() -> None:
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


def test_select() -> None:
    def keys(names: list[str] | None, available: tuple[str, ...] = ("ranks",), **swept: Any) -> list[str]:
        return [entry.key_of(**params) for entry, params in select("ranking", names, available, swept)]

    assert keys(["hits", "mrr"], k=(5, 1)) == ["hits@5", "hits@1", "mrr"]
    assert keys(["hits@7", "hits@7", "hits"], k=(7,)) == ["hits@7"]
    assert keys(["hits"]) == ["hits@10"]
    assert keys([]) == []
    assert "roc_auc" not in keys(None)  # pooled metrics have to be named
    assert "recall@10" not in keys(None)
    assert "recall@10" in keys(None, ("ranks", "lists"))
    with pytest.raises(OptionError, match=r"roc_auc needs pooled. Available: ranks"):
        keys(["roc_auc"])


def test_all_families_register() -> None:
    assert {entry.family for entry in metrics()} == set(BUILT_IN)
    assert metrics("ranking")[0].key == "mrr"


def test_references() -> None:
    for key, reference in REFERENCES.items():
        assert reference.bibtex.startswith(f"@{reference.kind}{{{key},")
        assert dict(reference.fields)["year"] in reference.short
    assert REFERENCES["hoyt2022"].short == "Hoyt et al. 2022"
    assert REFERENCES["hanley1982"].short == "Hanley and McNeil 1982"
    assert REFERENCES["voorhees1999"].short == "Voorhees 1999"


def test_every_entry_of_the_bibliography_is_read_once() -> None:
    bibliography = Path(references.__file__).with_suffix(".bib").read_text(encoding="utf-8")
    assert "\n\n".join(reference.bibtex for reference in REFERENCES.values()) + "\n" == bibliography
    assert len(REFERENCES) == bibliography.count("@")


def test_a_check_is_registered_once_and_formats_its_evidence() -> None:
    assert "tied-scores" in {item.name for item in checks("ranking")}
    with pytest.raises(ValueError, match="'tied-scores' is registered twice"):
        check("tied-scores", family="ranking", severity="note", message="", remedy="")(lambda: None)
    fired = Check("x", "ranking", "note", "{share:.0%}", "Mend.", lambda share, more=None: {"share": share})
    assert (fired.needs, fired.uses) == (("share",), ("share", "more"))
    assert fired.missing({"more": 1}) == ("share",)
    finding = fired.run({"share": 0.5, "other": 1})
    assert finding is not None
    assert (finding.message, finding.ignored) == ("50%", False)


@pytest.mark.parametrize(
    "entry",
    [
        "@book{gauss1809, author = {Gauss, Carl Friedrich}, year = {1809}}",
        "@book{gauss1809,\n  author = {Gauss, Carl Friedrich}\n}",
        "@book{gauss1809,\nauthor = {Gauss, Carl Friedrich},\nyear = {1809}\n}",
    ],
    ids=["one line", "no year", "no indentation"],
)
def test_an_entry_that_cannot_be_read_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="one field per line"):
        cite(entry)
    assert "gauss1809" not in REFERENCES
