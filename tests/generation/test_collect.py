"""Asking a subject: only what is needed, every attempt kept, and clear answers where it misbehaves."""

import numpy as np
import pytest
from tests.generation.toy import NAMES, Judge, Toy, bare, case, data

from graphgauge import generation
from graphgauge.core.errors import InputError, OptionError
from graphgauge.generation.collect import BATCH, Collection
from graphgauge.generation.subjects import offers


def test_what_a_subject_offers():
    assert all(offers(Toy()).values())
    assert offers(bare()) == {
        "conditions": False, "reconstruct": False, "encode": False, "generate": True, "validate": False,
        "statistics": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("section", "asked"),
    [
        ("reconstruction", {"reconstruct"}),
        ("diversity", {"generate"}),
        ("statistical", {"generate", "encode"}),
        ("latent_space", {"encode"}),
        ("conditioning", {"generate"}),
    ],
)
def test_a_section_asks_for_no_more_than_it_needs(section, asked):
    subject = Toy()
    generation.collect(subject, data=data(), classifier=Judge(), sections=[section], num_samples=5)
    assert set(subject.asked) == asked


def test_sections_share_their_answers():
    subject = Toy()
    collection = Collection(subject, data=data(), num_samples=5)
    collection.table(["diversity"])
    collection.table(["statistical"])
    assert subject.asked.count("generate") == len(NAMES)


def test_the_seed_decides_and_batches_differ():
    tables = [generation.collect(Toy(), num_samples=BATCH + 8, seed=seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(tables[0].generated, tables[1].generated)
    assert (tables[0].generated != tables[2].generated).any()
    first = tables[0].generated[tables[0].codes == 0]
    assert (first[:8] != first[BATCH : BATCH + 8]).any()


def test_options_and_labels_come_along():
    table = generation.collect(case(), num_samples=7, temperature=0.5, threshold=0.4, seed=3)
    assert table.options == {"num_samples": 7, "temperature": 0.5, "threshold": 0.4, "seed": 3}
    assert table.labels == NAMES
    assert table.ordered
    assert table.channels == ("start", "middle", "end")
    assert len(table.generated) == 7 * len(NAMES)
    assert table.classifier_labels is not None


def test_progress_is_told():
    told = []
    generation.collect(case(), num_samples=5, progress=lambda stage, done, total: told.append((stage, done, total)))
    assert ("generate", 20, 20) in told
    assert ("reconstruct", 240, 240) in told


def test_an_unconditional_generator():
    table = generation.collect(bare(), num_samples=6)
    assert table.labels == ("all",)
    found = generation.evaluate(table)
    assert found.sections == ("diversity",)
    assert found["total_valid"] == 6
    assert found.notes == ("nothing says which samples are valid: all count as valid",)


class Fewer(Toy):
    def generate(self, condition, n, *, temperature, seed):
        return super().generate(condition, n, temperature=temperature, seed=seed)[: n - 1]


class Logits(Toy):
    def reconstruct(self, samples, conditions):
        return np.where(samples, 4.0, -4.0)


class Broken(Toy):
    def generate(self, condition, n, *, temperature, seed):
        return np.full((n, 3, 6, 4), np.nan)


class Silent:
    conditions = NAMES


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        (Fewer(), "generate gave 4 samples of 6A, 5 were asked for"),
        (Logits(), "expected probabilities, found values from -4 to 4"),
        (Broken(), "values are NaN"),
        (Silent(), "can be asked nothing"),
    ],
)
def test_a_subject_that_misbehaves(subject, message):
    with pytest.raises(InputError, match=message):
        generation.collect(subject, data=data(), num_samples=5)


def test_options_that_make_no_sense():
    for options in ({"num_samples": 0}, {"temperature": 0.0}, {"temperature": float("nan")}, {"threshold": 1.0}):
        with pytest.raises(OptionError):
            generation.collect(Toy(), **options)
    with pytest.raises(InputError, match="has no predict"):
        generation.collect(Toy(), classifier=object())
    with pytest.raises(InputError, match="unknown conditions '9A'"):
        generation.collect(Toy(), data=(data(8).samples, ["9A"] * 8))
    with pytest.raises(InputError, match="expected a pair"):
        generation.collect(Toy(), data=data(8).samples)


def test_graphs_can_be_generated():
    networkx = pytest.importorskip("networkx")

    class Trees:
        conditions = ("small", "large")

        def generate(self, condition, n, *, temperature, seed):
            rng = np.random.default_rng(seed)
            return [networkx.star_graph(int(rng.integers(2, 5 + 5 * condition))) for _ in range(n)]

        def validate(self, samples):
            return [networkx.is_tree(graph) for graph in samples]

    table = generation.collect(Trees(), num_samples=12)
    found = generation.evaluate(table, metrics=["diversity"])
    assert found["validity_rate"] == 1
    assert 0 < found["overall_uniqueness_ratio"].value < 1
