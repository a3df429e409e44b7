"""The registry is the only list: a metric that is registered appears everywhere by itself."""

import numpy as np
import pytest
from click.testing import CliRunner
from tests.generation.toy import case

from graphgauge import generation
from graphgauge.generation.declared import LAWS
from graphgauge.old.cli.family import family_command
from graphgauge.old.cli.metrics import listing
from graphgauge.old.core import metric as registry
from graphgauge.old.core.metric import Exempt, NoChance, NoInterval, metric, metrics, sections

command = family_command("generation")

QUICK = {"resamples": 20, "permutations": 19}


@pytest.fixture
def new_metric(monkeypatch):
    """A metric as a user would add one, gone again after the test."""
    metrics("generation")
    monkeypatch.setitem(registry._REGISTRY, "generation", dict(registry._REGISTRY["generation"]))

    @metric(
        key="largest_sample",
        family="generation",
        section="size",
        needs=("attempts",),
        direction="none",
        bounds=(0, np.inf),
        unit="sample",
        conventions={"empty": "nan", "average": "macro"},
        reference="hamming1950",
        chance=NoChance("a size is neither good nor bad"),
        interval=NoInterval("a maximum describes these samples"),
        laws=LAWS | {"permutation": Exempt("not tried")},
        interpretation=lambda result: "as large as that",
    )
    def largest_sample(sample):
        """Most bits set in a valid sample."""
        sizes = sample.valid.generated.sum((1, 2, 3))
        values = [sizes[rows].max() if len(rows) else np.nan for rows in sample.valid.rows]
        return sample.estimate(np.array(values, float), sample.counts, "no valid samples")

    return largest_sample


def test_a_new_metric_appears_by_itself(new_metric):
    table = generation.collect(case(), num_samples=12)
    found = generation.evaluate(table, **QUICK)
    assert found.sections[-1] == "size"
    assert found["largest_sample"].value == np.mean(found.by("condition")["largest_sample"])
    assert "size" in str(found)
    assert "largest_sample" in str(found)
    assert "as large as that" in str(found)
    for name in ("size", "largest_sample"):
        assert next(iter(generation.evaluate(table, metrics=[name], **QUICK))) == "largest_sample"
    assert "largest_sample" in CliRunner().invoke(command, ["--help"]).stdout
    assert "largest_sample" in listing("generation")


def test_help_lists_every_section_and_key():
    text = CliRunner().invoke(command, ["--help"], terminal_width=100).stdout
    for section in sections("generation"):
        assert section.name in text
    for entry in metrics("generation"):
        assert entry.key in text, entry.key
