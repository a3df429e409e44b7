"""What goes in: samples, conditions, answers; a table saved and read again; what is refused, and how."""

import json

import numpy as np
import pytest
from tests.generation.toy import NAMES, Toy, case, data

from graphgauge import generation
from graphgauge.core.errors import InputError, OptionError
from graphgauge.generation import SampleTable

QUICK = {"resamples": 20, "permutations": 19}


def test_saved_and_read_again(tmp_path):
    table = generation.collect(case(), num_samples=15)
    table.save(tmp_path / "table.npz")
    again = SampleTable.load(tmp_path / "table.npz")
    assert again.labels == NAMES
    assert again.options == table.options
    assert generation.evaluate(again, **QUICK).to_json() == generation.evaluate(table, **QUICK).to_json()


def test_graphs_saved_and_read_again(tmp_path):
    networkx = pytest.importorskip("networkx")
    graphs = [networkx.path_graph(4), networkx.empty_graph(2), networkx.complete_graph(3)] * 4
    table = SampleTable.of(real=graphs, generated=graphs[::-1], train=graphs[:2])
    table.save(tmp_path / "graphs.npz")
    again = SampleTable.load(tmp_path / "graphs.npz")
    assert generation.evaluate(again, **QUICK).to_json() == generation.evaluate(table, **QUICK).to_json()


def test_hostile_files(tmp_path):
    (tmp_path / "text.npz").write_text("no archive")
    np.savez(tmp_path / "other.npz", header=np.frombuffer(json.dumps({"state": "graphgauge/ranking/1"}).encode(), "u1"))
    header = json.dumps({"state": "graphgauge/generation-table/1", "labels": ["a"]})
    np.savez(tmp_path / "half.npz", header=np.frombuffer(header.encode(), "u1"))
    np.savez(tmp_path / "objects.npz", header=np.array([{"code": 1}], dtype=object))
    for name in ("text", "other", "half", "objects", "absent"):
        with pytest.raises(InputError):
            SampleTable.load(tmp_path / f"{name}.npz")


def test_conditions_by_name_and_by_code():
    samples, codes = data(40)
    named = SampleTable.of(real=samples, real_conditions=[NAMES[code] for code in codes], labels=NAMES)
    coded = SampleTable.of(real=samples, real_conditions=codes, labels=NAMES)
    np.testing.assert_array_equal(named.real_codes, coded.real_codes)
    found = SampleTable.of(real=samples, generated=samples[:4], real_conditions=codes + 5, conditions=[8, 5, 5, 6])
    assert found.labels == ("5", "6", "7", "8")
    assert found.codes.tolist() == [3, 0, 0, 1]


SAMPLES, CODES = data(40)
REFUSED = {
    "probabilities": ({"real": np.full((2, 3), 0.4)}, "neither 0 nor 1"),
    "edges or bits": ({"real": [[[0, 1], [1, 0]], [[1, 1], [0, 0]]]}, "may be lists of edges"),
    "no cells": ({"real": np.zeros((3, 0))}, "have no cells"),
    "too large": ({"real": SAMPLES, "latents": np.full((40, 2), 1e300)}, "cannot be squared"),
    "one axis": ({"real": np.zeros(4)}, "expected samples of shape"),
    "text": ({"generated": ["a", "b"]}, "expected numbers"),
    "shapes": ({"real": SAMPLES, "generated": SAMPLES[:, :2]}, "samples of shape"),
    "unknown": ({"real": SAMPLES, "real_conditions": ["9A"] * 40, "labels": NAMES}, "unknown conditions '9A'"),
    "code": ({"real": SAMPLES, "real_conditions": CODES + 1, "labels": NAMES}, "unknown conditions 4"),
    "count": ({"real": SAMPLES, "real_conditions": CODES[:-1]}, "39 conditions for 40 samples"),
    "one side": (
        {"real": SAMPLES, "real_conditions": CODES, "generated": SAMPLES},
        "conditions are missing",
    ),
    "kinds": (
        {"real": SAMPLES, "real_conditions": CODES, "generated": SAMPLES, "conditions": ["a"] * 40},
        "text in one argument",
    ),
    "latents": ({"real": SAMPLES, "latents": np.zeros((3, 2))}, "expected shape"),
    "infinite": ({"real": SAMPLES, "latents": np.full((40, 2), np.inf)}, "infinite values"),
    "latents alone": ({"latents": np.zeros((3, 2))}, "latents without real"),
    "widths": (
        {"real": SAMPLES, "latents": np.zeros((40, 2)), "generated": SAMPLES, "generated_latents": np.zeros((40, 3))},
        "latent vectors of 2 and 3",
    ),
    "statistics": (
        {"real": SAMPLES, "statistics": {"a": CODES}, "generated": SAMPLES, "generated_statistics": {"b": CODES}},
        "on one side only: a, b",
    ),
    "taken": ({"real": SAMPLES, "statistics": {"condition": CODES}}, "cannot be called condition"),
    "validity": ({"generated": SAMPLES, "valid": [2] * 40}, "True, False or None"),
    "answers": ({"generated": SAMPLES, "predicted": CODES + 1}, "some answers are not among"),
    "answers alone": ({"predicted": CODES}, "predicted without generated"),
    "half": ({"generated": SAMPLES, "predicted": CODES * 0, "classifier_labels": CODES}, "must be given together"),
    "reconstructed": ({"real": SAMPLES, "reconstructed": SAMPLES[:3]}, "real samples have"),
    "channels": ({"real": SAMPLES, "channels": ["a"]}, "1 channels named"),
    "labels": ({"real": SAMPLES, "real_conditions": CODES, "labels": ["a", "a"]}, "must be given and must differ"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    given, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        SampleTable.of(**given)


def test_nan_is_counted_and_refused():
    latents = np.ones((40, 2))
    latents[3, 1] = np.nan
    with pytest.raises(InputError, match=r"1 of 80 values are NaN, the first at index \(3, 1\).*x = x\[keep\]"):
        SampleTable.of(real=SAMPLES, latents=latents)


@pytest.mark.parametrize("side", ["real", "generated", "train"])
def test_rows_of_a_table_are_no_samples(side):
    pandas = pytest.importorskip("pandas")
    columns = {"age": np.arange(40.0), "city": ["x"] * 40}
    for table in (columns, pandas.DataFrame(columns)):
        with pytest.raises(InputError, match=f"{side}: the rows of a table.*statistics=table"):
            SampleTable.of(**{"generated": SAMPLES, side: table})


def test_a_table_takes_no_more_samples():
    table = SampleTable.of(real=SAMPLES)
    with pytest.raises(InputError, match="a table already contains samples: generated"):
        generation.evaluate(table, generated=SAMPLES)


def test_no_argument_is_changed():
    before = SAMPLES.copy()
    generation.evaluate(real=SAMPLES, generated=SAMPLES, real_conditions=CODES, conditions=CODES, **QUICK)
    np.testing.assert_array_equal(SAMPLES, before)


TEXT = np.array(["hard", "easy", "middle", "expert"])


@pytest.mark.parametrize("kind", [np.str_, object, list])
@pytest.mark.parametrize("side", ["real", "generated", "both"])
def test_text_has_no_order_of_its_own(kind, side):
    names = TEXT[np.arange(len(SAMPLES)) % 4]
    names = names.tolist() if kind is list else names.astype(kind)
    given = {}
    if side != "generated":
        given |= {"real": SAMPLES, "real_conditions": names}
    if side != "real":
        given |= {"generated": SAMPLES, "conditions": names}
    with pytest.raises(OptionError, match=r"order is not given.*in order with labels= \(a study has `labels`"):
        SampleTable.of(ordered=True, **given)
    assert SampleTable.of(**given).labels == ("easy", "expert", "hard", "middle")
    assert SampleTable.of(ordered=True, labels=TEXT, **given).labels == tuple(TEXT)


def test_numbers_and_a_single_text_need_no_order():
    codes = np.arange(len(SAMPLES)) % 12
    assert SampleTable.of(ordered=True, real=SAMPLES, real_conditions=codes).labels[:3] == ("0", "1", "2")
    one = np.full(len(SAMPLES), "easy")
    assert SampleTable.of(ordered=True, real=SAMPLES, real_conditions=one).labels == ("easy",)


def test_a_subject_that_is_ordered_names_its_conditions():
    class Ordered:
        ordered = True

        def encode(self, samples, conditions):
            return samples.reshape(len(samples), -1).astype(float)

    names = TEXT[np.arange(len(SAMPLES)) % 4]
    with pytest.raises(OptionError, match="a subject `conditions`"):
        generation.collect(Ordered(), data=(SAMPLES, names))
    Ordered.conditions = tuple(TEXT)
    assert generation.collect(Ordered(), data=(SAMPLES, names)).labels == tuple(TEXT)


@pytest.mark.parametrize(
    ("name", "samples"), [("real_conditions", "generated"), ("conditions", "real"), ("valid", "real")]
)
def test_what_is_said_of_samples_that_are_not_there(name, samples):
    with pytest.raises(InputError, match=f"{name} without"):
        SampleTable.of(**{samples: SAMPLES, name: np.zeros(len(SAMPLES), int)})


def held_out_of(kind, rng):
    """Real samples, of which every third is in the training set, likewise; and which are not."""
    keep = np.arange(30) % 3 > 0
    if kind == "graphs":
        networkx = pytest.importorskip("networkx")
        real = [networkx.gnp_random_graph(9, 0.4, seed=seed) for seed in range(30)]
        relabelled = [networkx.relabel_nodes(graph, dict(enumerate(rng.permutation(9).tolist()))) for graph in real]
        train = [graph for graph, kept in zip(relabelled, keep, strict=True) if not kept]
        return real, train[::-1], keep
    real = rng.random((30, 3, 8)) < 0.5
    return real, rng.permutation(np.concatenate([real[~keep]] * 2)).astype(np.uint8), keep


@pytest.mark.parametrize("kind", ["bits", "graphs"])
def test_real_samples_of_the_training_set_are_left_out_with_all_that_is_known_of_them(kind, tmp_path):
    rng = np.random.default_rng(3)
    real, train, keep = held_out_of(kind, rng)
    codes, latents, size = np.arange(30) % 2, rng.normal(size=(30, 4)), rng.normal(size=30)
    given = {"latents": latents, "statistics": {"size": size}}
    if kind == "bits":
        given["reconstructed"] = real ^ (rng.random(real.shape) < 0.1)
    table = SampleTable.of(real=real, real_conditions=codes, generated=real, conditions=codes, train=train, **given)
    np.testing.assert_array_equal(table.real_codes, codes[keep])
    np.testing.assert_array_equal(table.excluded, codes[~keep])
    np.testing.assert_array_equal(table.latents, latents[keep])
    np.testing.assert_array_equal(table.statistics["size"], size[keep])
    assert len(table.real) == keep.sum()
    if kind == "bits":
        np.testing.assert_array_equal(table.real, real[keep])
        np.testing.assert_array_equal(table.reconstructed, given["reconstructed"][keep])
    table.save(tmp_path / "table.npz")
    again = SampleTable.load(tmp_path / "table.npz")
    np.testing.assert_array_equal(again.excluded, table.excluded)
    found = generation.evaluate(again, metrics=["novelty"], **QUICK)
    (finding,) = [finding for finding in found.findings if finding.check == "learned-real-samples"]
    assert finding.evidence == {"excluded": 10, "given": 30, "compared": 20}
    levels = {level.name: level.value for level in found["novelty"].chance}
    assert levels["perfect"] == pytest.approx(20 / 30)
    kept = np.flatnonzero(keep)
    alone = SampleTable.of(
        real=[real[place] for place in kept] if kind == "graphs" else real[keep],
        real_conditions=codes[keep],
        generated=real,
        conditions=codes,
        train=train,
        latents=latents[keep],
        statistics={"size": size[keep]},
        **({"reconstructed": given["reconstructed"][keep]} if kind == "bits" else {}),
    )
    assert not any(finding.check == "learned-real-samples" for finding in generation.evaluate(alone, **QUICK).findings)
    for key, result in generation.evaluate(alone, **QUICK).items():
        if key.endswith("p_value"):  # tests leave out generated samples of the training set as well
            continue
        assert generation.evaluate(table, **QUICK)[key].value == pytest.approx(result.value, nan_ok=True), key


def test_nothing_is_held_out_of_the_training_set_itself():
    found = generation.evaluate(real=SAMPLES, generated=SAMPLES, train=SAMPLES[::-1], **QUICK)
    assert found["novelty"].value == 0
    assert not found["prdc_precision"].defined
    (finding,) = [finding for finding in found.findings if finding.check == "learned-real-samples"]
    assert (finding.evidence["excluded"], finding.evidence["compared"]) == (40, 0)


def test_a_subject_is_not_shown_what_it_learned_from():
    shown = []

    class Watching(Toy):
        def reconstruct(self, samples, conditions):
            shown.append((samples, conditions))
            return super().reconstruct(samples, conditions)

    table = generation.collect(Watching(), data=(SAMPLES, CODES), train=SAMPLES[::4], num_samples=5)
    keep = np.arange(40) % 4 > 0
    np.testing.assert_array_equal(np.concatenate([samples for samples, _ in shown]), SAMPLES[keep])
    np.testing.assert_array_equal(np.concatenate([codes for _, codes in shown]), CODES[keep])
    np.testing.assert_array_equal(table.excluded, CODES[~keep])
