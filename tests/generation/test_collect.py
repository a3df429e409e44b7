"""Asking a subject: only what is needed, every attempt kept, and clear answers where it misbehaves."""

import asyncio

import numpy as np
import pytest
from tests.generation.toy import NAMES, Judge, Toy, bare, case, data

from graphgauge import generation
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.generation.subjects import BATCH


@pytest.mark.parametrize(
    ("section", "asked"),
    [
        ("reconstruction", {"reconstruct"}),
        ("diversity", {"generate"}),
        ("statistical", {"generate", "encode"}),
        ("latent_space", {"encode"}),
        ("grade_conditioning", {"generate"}),
    ],
)
def test_a_section_asks_for_no_more_than_it_needs(section, asked):
    subject = Toy()
    generation.collect(subject, data=data(), classifier=Judge(), sections=[section], num_samples=5)
    assert set(subject.asked) == asked


def test_sections_share_their_answers():
    subject = Toy()
    generation.collect(subject, data=data(), sections=["diversity", "statistical"], num_samples=5)
    assert subject.asked.count("generate") == len(NAMES)


def test_every_answer_is_asked_for_once():
    class Counting(Toy):
        def statistics(self, samples):
            self.asked.append("statistics")
            return super().statistics(samples)

    subject = Counting()
    generation.collect(subject, data=data(), num_samples=5)
    assert subject.asked.count("statistics") == 2  # of real samples, and of generated ones


def test_the_seed_decides_and_batches_differ():
    tables = [generation.collect(Toy(), num_samples=BATCH + 8, seed=seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(tables[0].generated.items, tables[1].generated.items)
    assert (tables[0].generated.items != tables[2].generated.items).any()
    first = tables[0].generated.items[tables[0].generated.conditions == 0]
    assert (first[:8] != first[BATCH : BATCH + 8]).any()


def test_options_and_labels_come_along():
    table = generation.collect(case(), num_samples=7, temperature=0.5, threshold=0.4, seed=3)
    assert table.options == {"num_samples": 7, "temperature": 0.5, "seed": 3}
    assert table.threshold == 0.4
    assert table.labels == NAMES
    assert table.ordered
    assert table.channels == ("start", "middle", "end")
    assert len(table.generated) == 7 * len(NAMES)
    assert table.classifier is not None


def test_progress_is_told():
    told = []
    generation.collect(case(), num_samples=5, progress=lambda stage, done, total: told.append((stage, done, total)))
    assert ("generate", 20, 20) in told
    assert ("reconstruct real", 240, 240) in told


def test_an_unconditional_generator():
    table = generation.collect(bare(), num_samples=6)
    assert table.labels == ("all",)
    found = generation.evaluate(table)
    assert found.sections == ("diversity",)
    assert found["overall_uniqueness_ratio"].n == 6
    assert found.skipped["validity_rate"] == "the subject has no validate"


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
        (Fewer(), "generate returned 4 samples of 6A, but 5 were requested"),
        (Logits(), "expected probabilities, found values from -4 to 4"),
        (Broken(), "values are NaN"),
        (Silent(), "is not a subject: it has none of reconstruct"),
    ],
)
def test_a_subject_that_misbehaves(subject, message):
    with pytest.raises(InputError, match=message):
        generation.collect(subject, data=data(), num_samples=5)


def raising(method):
    """A subject and a classifier, one of whose methods fails as code does."""

    def fail(self, *arguments, **options):
        raise KeyError("no such\n hold")

    owner = Judge if method == "predict" else Toy
    failing = type("Mine", (owner,), {method: property(fail) if method in ("conditions", "ordered") else fail})
    return (Toy(), failing()) if method == "predict" else (failing(), Judge())


@pytest.mark.parametrize(
    "method", ["generate", "validate", "statistics", "reconstruct", "encode", "predict", "conditions", "ordered"]
)
def test_a_method_that_raises_is_named_with_what_it_raised(method):
    subject, classifier = raising(method)
    with pytest.raises(InputError) as caught:
        generation.collect(subject, data=data(), classifier=classifier, num_samples=5)
    assert (
        str(caught.value)
        == f"Mine.{method}: raised KeyError: 'no such\\n hold'. Run it alone; --debug shows the traceback."
    )
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.exit_code == 3


def test_an_error_that_is_a_paragraph_already_stays_as_it_is():
    class Refuses(Toy):
        def generate(self, condition, n, *, temperature, seed):
            raise OptionError("there is no grade 0")

    with pytest.raises(OptionError, match=r"^there is no grade 0\.$"):
        generation.collect(Refuses(), num_samples=5)


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        ("generate", np.array(3), "Mine.generate: raised TypeError: len.* of unsized object"),
        ("generate", ["a"] * 5, "Mine.generate: expected numbers, found values of type"),
        ("reconstruct", 0.5, "Mine.reconstruct: raised TypeError: object of type .float. has no len"),
        ("reconstruct", np.zeros((20, 2)), r"Mine.reconstruct: shape \(20, 2\), real samples have"),
        ("encode", None, "Mine.encode: returned nothing"),
        ("encode", np.zeros((3, 2)), "Mine.encode: gave 3 answers to 20 samples"),
        ("encode", np.full((20, 2), np.nan), "Mine.encode: 40 of 40 values are NaN.*Fix the model"),
        ("encode", np.zeros(20), "Mine.encode: expected shape"),
        ("validate", None, "Mine.validate: returned nothing"),
        ("validate", True, "Mine.validate: expected shape"),
        ("validate", ["yes"] * 20, "Mine.validate: expected True, False or None"),
        ("statistics", None, "Mine.statistics: returned nothing"),
        ("statistics", [1, 2], "Mine.statistics: expected {name: values}, found list"),
        ("statistics", {"size": [1, 2]}, "Mine.statistics: expected shape"),
        ("predict", ["6A"] * 20, "Mine.predict: expected numbers"),
        ("predict", np.full(20, 7), "Mine.predict: unknown conditions 7. Known: .*, or codes 0 … 3"),
        ("conditions", 4, "Mine.conditions: expected a list of names, found 4"),
        ("conditions", ["6A"] * 4, "Mine.conditions: names of conditions must be given and must differ"),
        ("channels", 3, "Mine.channels: expected a list of names, found 3"),
    ],
)
def test_a_method_that_answers_something_odd_is_named(method, answer, message):
    owner = Judge if method == "predict" else Toy
    given = answer if method in ("conditions", "channels") else lambda self, *asked, **options: answer
    mine = type("Mine", (owner,), {method: given})()
    subject, classifier = (Toy(), mine) if method == "predict" else (mine, Judge())
    with pytest.raises(InputError, match=message):
        generation.collect(subject, data=data(20), classifier=classifier, num_samples=5)


def test_answers_of_one_shape_for_all():
    networkx = pytest.importorskip("networkx")

    class Ragged(Toy):
        def generate(self, condition, n, *, temperature, seed):
            return np.zeros((n, 3, 6, 4 + condition))

    class Mixed(Toy):
        def generate(self, condition, n, *, temperature, seed):
            return [networkx.path_graph(2)] * n if condition else np.zeros((n, 3, 6, 4))

    class Unsteady(Toy):
        def encode(self, samples, conditions):
            self.asked.append("encode")
            return np.zeros((len(samples), len(self.asked)))

    with pytest.raises(InputError, match=r"Ragged.generate: answers of shapes \(3, 6, 4\) and \(3, 6, 5\)"):
        generation.collect(Ragged(), num_samples=5)
    with pytest.raises(InputError, match=r"Mixed.generate: samples of several kinds"):
        generation.collect(Mixed(), num_samples=5)
    with pytest.raises(InputError, match=r"Unsteady.encode: answers of shapes \(2,\) and \(3,\)"):
        generation.collect(Unsteady(), data=data(), sections=["latent_space"])


def test_sections_by_name():
    one = generation.collect(Toy(), data=data(), sections="diversity", num_samples=5)
    assert one.real.reconstructed is None
    assert len(one.generated) == 20
    alias = generation.collect(case(), sections="grade_conditioning", num_samples=5)
    assert alias.generated.predicted is not None
    assert alias.generated.latents is None
    with pytest.raises(UnknownNameError, match="Did you mean 'diversity'"):
        generation.collect(Toy(), sections=["divesity"])


def test_options_that_make_no_sense():
    for options in (
        {"num_samples": 0},
        {"num_samples": "5"},
        {"temperature": 0.0},
        {"temperature": float("nan")},
        {"temperature": "warm"},
        {"temperature": None},
        {"threshold": 1.5},
        {"threshold": "0.5"},
        {"seed": -1},
    ):
        with pytest.raises(OptionError):
            generation.collect(Toy(), **options)
    with pytest.raises(InputError, match="has no predict"):
        generation.collect(Toy(), classifier=object())
    with pytest.raises(InputError, match="unknown conditions '9A'"):
        generation.collect(Toy(), data=generation.Samples(data(8).items, conditions=["9A"] * 8))
    with pytest.raises(InputError, match="conditions are missing"):
        generation.collect(Toy(), data=data(8).items)


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


def test_graphs_can_be_encoded_and_are_not_reconstructed():
    networkx = pytest.importorskip("networkx")
    paths = [networkx.path_graph(size) for size in range(2, 14)]

    class Paths:
        def generate(self, condition, n, *, temperature, seed):
            return paths[:n]

        def encode(self, samples, conditions):
            return np.array([[graph.number_of_edges(), 1.0] for graph in samples])

        def reconstruct(self, samples, conditions):
            raise AssertionError("graphs are not bits")

    table = generation.collect(Paths(), data=paths, num_samples=12)
    np.testing.assert_array_equal(table.real.latents[:, 0], range(1, 13))
    np.testing.assert_array_equal(table.generated.latents, table.real.latents)
    found = generation.evaluate(table, draws=19, metrics="all")
    assert found["prdc_precision"] == 1
    assert "mean_iou" not in found


METHODS = ("reconstruct", "encode", "generate", "validate", "statistics", "predict")


def with_method(name, method):
    """A subject and a classifier, one of which has this method instead of its own."""
    subject, judge = type("Mine", (Toy,), {})(), type("Mine", (Judge,), {})()
    setattr(type(judge if name == "predict" else subject), name, method)
    return {"subject": subject, "classifier": judge, "data": data(), "num_samples": 5}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("error", [SystemExit(0), SystemExit("done"), asyncio.CancelledError()])
def test_a_method_that_ends_the_process_is_named(method, error):
    def leave(self, *arguments, **options):
        raise error

    with pytest.raises(InputError, match=rf"Mine\.{method}: raised {type(error).__name__}"):
        generation.collect(**with_method(method, leave))


@pytest.mark.parametrize("method", METHODS)
def test_an_interrupt_is_no_error_of_a_method(method):
    def interrupted(self, *arguments, **options):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generation.collect(**with_method(method, interrupted))


@pytest.mark.parametrize("method", [name for name in METHODS if name != "generate"])
@pytest.mark.parametrize("kind", [bool, np.uint8, np.float64, "tensor"])
def test_a_method_that_works_in_place_is_named_and_changes_nothing(method, kind):
    def in_place(self, samples, *conditions):
        samples[:] = 0

    given = with_method(method, in_place)
    bits, codes = given["data"].items, given["data"].conditions
    kept = bits.copy()
    samples = pytest.importorskip("torch").from_numpy(bits) if kind == "tensor" else bits.astype(kind)
    with pytest.raises(InputError, match=rf"Mine\.{method}: raised ValueError: .*read-only"):
        generation.collect(**given | {"data": generation.Samples(samples, conditions=codes)})
    np.testing.assert_array_equal(samples.numpy() if kind == "tensor" else samples, kept)


@pytest.mark.parametrize("method", ["reconstruct", "encode"])
def test_conditions_are_read_only_too(method):
    def in_place(self, samples, conditions):
        conditions += 1

    given = with_method(method, in_place)
    kept = given["data"].conditions.copy()
    with pytest.raises(InputError, match=rf"Mine\.{method}: raised .*(read-only|output array)"):
        generation.collect(**given)
    np.testing.assert_array_equal(given["data"].conditions, kept)


def test_a_tensor_over_a_sample_warns_of_nothing_and_reaches_no_data():
    torch = pytest.importorskip("torch")

    def zeroed(self, samples):
        torch.from_numpy(samples).zero_()
        return np.zeros(len(samples), np.int64)

    given = with_method("predict", zeroed)
    kept = given["data"].items.copy()
    generation.collect(**given)
    np.testing.assert_array_equal(given["data"].items, kept)


@pytest.mark.parametrize(
    "change",
    [
        lambda graph: graph.add_edge(0, 3),
        lambda graph: graph.remove_node(0),
        lambda graph: graph.graph["place"].clear(),
    ],
)
def test_graphs_are_handed_over_as_copies(change):
    networkx = pytest.importorskip("networkx")

    def some():
        graphs = [networkx.path_graph(4) for _ in range(12)]
        for graph in graphs:
            graph.graph["place"] = [1.0, 2.0]
        return graphs

    class Changing:
        def statistics(self, samples):
            for graph in samples:
                change(graph)
            return {"size": np.arange(len(samples))}

    graphs, kept = some(), some()
    generation.collect(Changing(), data=graphs)
    for graph, before in zip(graphs, kept, strict=True):
        assert graph.graph == before.graph
        assert graph.adj == before.adj


def test_without_a_classifier_nothing_is_generated_for_it():
    subject = Toy()
    sides = generation.collect(subject, data=data(), sections=["grade_conditioning"], num_samples=5)
    assert subject.asked == []
    found = generation.evaluate(sides, metrics="grade_conditioning")
    assert found.skipped == {"grade_conditioning": "no classifier given"}


def test_answers_are_read_as_files_have_them() -> None:
    """`np.loadtxt` and columns of text have words."""
    answers = np.array(["True", "0"] * 6)
    assert generation.evaluate(None, generation.Samples(np.eye(12), valid=answers))["validity_rate"] == 0.5
