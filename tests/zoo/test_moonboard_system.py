"""Training, checkpoints, what the subject answers, and the generators that are wrong on purpose."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch

from graphgauge import generation
from graphgauge.core.errors import InputError, OptionError
from graphgauge.generation.subjects import offers, read_checkpoint
from graphgauge.zoo.moonboard.board import CHANNELS, SHAPE, statistics, valid
from graphgauge.zoo.moonboard.checkpoint import restore, save_checkpoint
from graphgauge.zoo.moonboard.controls import Collapses, Copies, IgnoresGrade, ShufflesHolds
from graphgauge.zoo.moonboard.data import open_split
from graphgauge.zoo.moonboard.problems import write_problems
from graphgauge.zoo.moonboard.subject import Moonboard, MoonboardClassifier, load
from graphgauge.zoo.moonboard.synthetic import synthetic
from graphgauge.zoo.moonboard.training import Schedule, train_classifier, train_generator

KEPT = ("6A", "6B", "6C+")


def split_of(data=None, grades=KEPT, split_seed=0, problems=900):
    return open_split(data, grades, problems=problems, split_seed=split_seed, validation=0.25)


def saved(path, model, split):
    save_checkpoint(path, model, grades=split.train.grades, origin=split.origin, training={"epochs": 2})
    return path


@pytest.fixture(scope="module")
def split():
    return split_of()


@pytest.fixture(scope="module")
def models(split):
    generator, losses = train_generator(split.train, Schedule(epochs=12, batch_size=16), latent=8)
    classifier, _ = train_classifier(split.train, Schedule(epochs=6, batch_size=16))
    return generator, classifier, losses


@pytest.fixture(scope="module")
def files(models, split, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return saved(folder / "vae.pth", models[0], split), saved(folder / "classifier.pth", models[1], split)


def subject_of(models, kind=Moonboard, **more):
    return kind(models[0], KEPT, **more)


def iou(subject, problems):
    same, real = subject.reconstruct(problems.grids, problems.labels) > 0.5, problems.grids.astype(bool)
    return ((same & real).sum((1, 2, 3)) / (same | real).sum((1, 2, 3))).mean()


def weights(model):
    return torch.cat([value.float().ravel() for value in model.state_dict().values()])


def test_a_seed_gives_the_same_weights_and_leaves_torch_as_it_was(models, split):
    torch.manual_seed(3)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    again, losses = train_generator(split.train, Schedule(epochs=12, batch_size=16), latent=8)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads
    assert torch.equal(weights(models[0]), weights(again))
    assert losses == models[2]
    other, _ = train_generator(split.train, Schedule(epochs=0, seed=1), latent=8)
    assert not torch.equal(weights(models[0]), weights(other))


def test_training_learns(models, split):
    untrained, _ = train_generator(split.train, Schedule(epochs=0), latent=8)
    assert iou(Moonboard(untrained, KEPT), split.train) == 0
    assert iou(subject_of(models), split.train) > 0.1
    predicted = MoonboardClassifier(models[1], KEPT).predict(split.train.grids)
    majority = np.bincount(split.train.labels).max() / len(split.train)
    assert (predicted == split.train.labels).mean() > majority + 0.1


def test_too_little_to_train_on(split):
    with pytest.raises(InputError, match="too few"):
        train_generator(split.train._part(np.arange(len(split.train)) < 1), Schedule(epochs=1))
    few = split.train._part(np.arange(len(split.train)) < 3)
    train_generator(few, Schedule(epochs=1, batch_size=2))


def test_the_epochs_are_watched(split):
    seen = []
    few = split.train._part(np.arange(len(split.train)) < 20)
    train_classifier(
        few, Schedule(epochs=3), epochs=lambda numbers: (seen.append(number) or number for number in numbers)
    )
    assert seen == [0, 1, 2]


def test_it_offers_everything_and_says_it_in_the_right_shape(models, split):
    subject = subject_of(models)
    assert all(offers(subject).values())
    assert (subject.conditions, subject.channels, subject.ordered) == (KEPT, CHANNELS, True)
    held = split.validation
    assert subject.encode(held.grids, held.labels).shape == (len(held), 8)
    assert subject.reconstruct(held.grids, held.labels).shape == held.grids.shape
    batches = [subject.encode(held.grids[part], held.labels[part]) for part in (slice(0, 5), slice(5, None))]
    np.testing.assert_allclose(np.concatenate(batches), subject.encode(held.grids, held.labels), atol=1e-5)
    assert MoonboardClassifier(models[1], KEPT).predict(held.grids[:0]).shape == (0,)


def test_samples_are_seeded_probabilities_of_exclusive_holds(models):
    subject = subject_of(models)
    made = subject.generate(1, 30, temperature=1.0, seed=4)
    assert made.shape == (30, *SHAPE)
    assert (made >= 0).all()
    assert (made <= 1).all()
    assert not ((made[:, 1] > 0) & (np.maximum(made[:, 0], made[:, 2]) >= made[:, 1])).any()
    assert (made == subject.generate(1, 30, temperature=1.0, seed=4)).all()
    assert (made != subject.generate(1, 30, temperature=1.0, seed=5)).any()
    assert (made != subject.generate(2, 30, temperature=1.0, seed=4)).any()


def test_temperature_scales_the_noise(models):
    plain = subject_of(models, refinements=0)
    still = plain.generate(0, 5, temperature=0.0)
    assert np.ptp(still, axis=0).max() < 1e-6
    assert np.ptp(plain.generate(0, 5, temperature=1.0), axis=0).max() > 1e-3
    for temperature in (-1.0, np.nan, np.inf):
        with pytest.raises(OptionError, match="temperature"):
            plain.generate(0, 5, temperature=temperature)
    with pytest.raises(OptionError, match="no grade 3"):
        plain.generate(3, 5)


def test_a_checkpoint_brings_back_the_system_and_its_split(files, models, split):
    case = generation.open_checkpoint(files[0], classifier=files[1])
    assert (case.subject.generate(0, 9, seed=2) == subject_of(models).generate(0, 9, seed=2)).all()
    assert (case.data.samples == split.validation.grids).all()
    assert (case.data.conditions == split.validation.labels).all()
    assert (case.train.samples == split.train.grids).all()
    assert case.subject.conditions == KEPT
    assert case.classifier_data is None
    expected = MoonboardClassifier(models[1], KEPT).predict(split.validation.grids)
    assert (case.classifier.predict(case.data.samples) == expected).all()


def test_all_five_sections(files):
    case = generation.open_checkpoint(files[0], classifier=files[1])
    evaluation = generation.evaluate(generation.collect(case, num_samples=30), resamples=50, permutations=49)
    assert list(evaluation.sections) == ["reconstruction", "diversity", "statistical", "latent_space", "conditioning"]
    assert list(evaluation.by("condition")["condition"]) == list(KEPT)
    alone = generation.open_checkpoint(files[0])
    left = generation.evaluate(
        generation.collect(alone, num_samples=5, sections=["conditioning"]), metrics="conditioning"
    )
    assert left.skipped["conditioning"] == "no classifier given"


def test_a_file_of_problems_is_split_as_in_training(tmp_path, models):
    made = synthetic(600, seed=9).only(KEPT)
    path = tmp_path / "problems.json"
    write_problems(path, made.grids, made.names)
    split = split_of(path)
    content = read_checkpoint(saved(tmp_path / "vae.pth", models[0], split))
    case = load(content, data=str(path))
    assert (case.data.samples == split.validation.grids).all()
    assert (case.train.samples == split.train.grids).all()
    with pytest.raises(InputError, match=r"trained on a problems file.*--data"):
        load(content)
    other = tmp_path / "other.json"
    write_problems(other, made.grids[:50], made.names[:50])
    strange = load(content, data=str(other))
    assert (strange.data.samples == made.grids[:50]).all()
    assert strange.train is None


def test_another_file_is_held_out_whole_beside_the_embedded_training_part(tmp_path, files, split):
    made = synthetic(200, seed=9).only(KEPT)
    path = tmp_path / "problems.json"
    write_problems(path, made.grids, made.names)
    case = generation.open_checkpoint(files[0], data=path)
    assert (case.data.samples == made.grids).all()
    assert (case.train.samples == split.train.grids).all()
    assert case.notes == ()


def written(path, grids, names):
    write_problems(path, grids, names)
    return path


def test_problems_of_other_and_unknown_grades_are_named_and_counted(tmp_path, models, files):
    made = synthetic(600, seed=9)
    text = made.names.astype("U9")
    text[np.flatnonzero(text == "8A")] = "9A"
    known = int(np.isin(text, KEPT).sum())
    path = written(tmp_path / "problems.json", made.grids, text)
    trained = saved(tmp_path / "vae.pth", models[0], split_of(path))
    orders = {"same": slice(None), "reversed": slice(None, None, -1)}
    for order, places in orders.items():
        case = load(
            read_checkpoint(trained), data=str(written(tmp_path / f"{order}.json", made.grids[places], text[places]))
        )
        (note,) = case.notes
        assert note.startswith(f"{600 - known} problems of other or unknown grades skipped: "), note
        assert f"6A+ ({(text == '6A+').sum()})" in note
        found = generation.evaluate(generation.collect(case, num_samples=5), metrics=["reconstruction"])
        assert note in found.notes
    assert split_of(path).remark == note


CONTAINERS = {
    "reordered": lambda grids, names, rng: (grids[order := rng.permutation(len(grids))], names[order]),
    "appended": lambda grids, names, rng: (np.concatenate([grids, grids[:1, :, ::-1]]), np.append(names, names[0])),
    "duplicated": lambda grids, names, rng: (np.concatenate([grids, grids]), np.append(names, names)),
    "a part": lambda grids, names, rng: (grids[::2], names[::2]),
    "graded anew": lambda grids, names, rng: (grids, rng.permutation(names)),
}


@pytest.mark.parametrize("change", CONTAINERS)
@pytest.mark.parametrize("embedded", [True, False])
def test_no_training_problem_is_taken_for_a_held_out_one(tmp_path, models, change, embedded):
    made = synthetic(900).only(KEPT) if embedded else synthetic(600, seed=9).only(KEPT)
    split = split_of() if embedded else split_of(written(tmp_path / "problems.json", made.grids, made.names))
    trained = [saved(tmp_path / f"{name}.pth", model, split) for name, model in zip("gc", models[:2], strict=True)]
    grids, names = CONTAINERS[change](made.grids, made.names, np.random.default_rng(0))
    other = written(tmp_path / "other.json", grids, names)
    other.write_text(json.dumps(json.loads(other.read_text())["data"]))  # the list alone, another form of the file
    case = generation.open_checkpoint(trained[0], data=other, classifier=trained[1])
    table = generation.collect(case, num_samples=15)
    known = {grid.tobytes() for grid in split.train.grids}
    expected = [grid for grid in grids if grid.tobytes() not in known]
    assert len(expected) < len(grids)
    np.testing.assert_array_equal(table.real, np.array(expected, bool))
    assert len(table.excluded) == len(grids) - len(expected)
    assert len(table.classifier_labels) == len(expected)
    found = generation.evaluate(table, metrics=["reconstruction", "conditioning"], resamples=9, permutations=9)
    (finding,) = [finding for finding in found.findings if finding.check == "learned-real-samples"]
    assert finding.evidence == {
        "excluded": len(grids) - len(expected),
        "given": len(grids),
        "compared": len(expected),
    }
    assert found["num_samples"].value == len(expected)


def test_a_classifier_that_saw_the_data_is_judged_on_the_rest(tmp_path, models, files):
    made = synthetic(600, seed=9).only(KEPT)
    path = written(tmp_path / "problems.json", made.grids, made.names)
    split = split_of(path)
    judge = saved(tmp_path / "classifier.pth", models[1], split)
    table = generation.collect(generation.open_checkpoint(files[0], data=path, classifier=judge), num_samples=5)
    known = {grid.tobytes() for grid in split.train.grids}
    unseen = [np.asarray(grid, np.uint8).tobytes() not in known for grid in table.real]
    assert len(table.classifier_labels) == sum(unseen)
    left_out = len(unseen) - sum(unseen)
    assert any(
        f"{left_out} of {len(unseen)} real samples left out of the classifier's accuracy" in note
        for note in table.notes
    )


def test_an_older_checkpoint_says_what_cannot_be_checked(tmp_path, models):
    made = synthetic(600, seed=9).only(KEPT)
    path = written(tmp_path / "problems.json", made.grids, made.names)
    split = split_of(path)
    older = replace(split, origin=replace(split.origin, train_hashes=None))
    content = read_checkpoint(saved(tmp_path / "vae.pth", models[0], older))
    assert "train_hashes" not in content or content["train_hashes"] is None
    other = written(tmp_path / "other.json", made.grids[::-1], made.names[::-1])
    case = load(content, data=str(other))
    assert len(case.data.samples) == len(made)
    assert any("cannot be checked" in note for note in case.notes)
    found = generation.evaluate(generation.collect(case, num_samples=5), metrics=["reconstruction"])
    assert any("cannot be checked" in note for note in found.notes)
    # Of the very file that it was trained on, the training part is known by the split.
    same = load(content, data=str(path))
    assert same.notes == ()
    assert len(generation.collect(same, num_samples=5, sections="reconstruction").real) <= len(split.validation)


@pytest.mark.parametrize("hashes", [3, "text", torch.zeros(3), torch.zeros(3, dtype=torch.uint8)])
def test_impossible_hashes(tmp_path, models, files, hashes):
    content = {**read_checkpoint(files[0]), "train_hashes": hashes}
    with pytest.raises(InputError, match="an invalid record of its data"):
        load(content)


def test_a_classifier_of_another_split_is_judged_on_what_it_has_not_seen(tmp_path, files, models):
    other = split_of(split_seed=1)
    path = saved(tmp_path / "classifier.pth", models[1], other)
    case = generation.open_checkpoint(files[0], classifier=path)
    assert (case.classifier_data.samples == other.validation.grids).all()


def test_a_classifier_of_other_grades_is_refused(tmp_path, files):
    other = split_of(grades=("6A", "6B", "7A"))
    model, _ = train_classifier(other.train, Schedule(epochs=0))
    path = saved(tmp_path / "classifier.pth", model, other)
    with pytest.raises(InputError, match="has the grades 6A, 6B, 7A, but the generator has 6A, 6B, 6C\\+"):
        generation.open_checkpoint(files[0], classifier=path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"config": {"latent": 16}}, "latent size 16, its weights have 8"),
        ({"config": {"hidden": 100}}, "should have the shape"),
        ({"config": {"latent": 10**9}}, "latent is 1000000000, not a whole number from 1 to 4096"),
        ({"config": {"latent": "8"}}, "latent is '8'"),
        ({"config": {"depth": 3}}, "must have exactly"),
        ({"weights": {}}, "found none"),
        ({"weights": {"posterior.3.weight": 3}}, "not named tensors"),
        ({"weights": {"extra": torch.zeros(2)}}, "weights that the model lacks: extra"),
        ({"weights": {"cells": torch.full(SHAPE, float("nan"))}}, "NaN or infinite"),
        ({"label_to_grade": {0: "6A", 1: "6B", 2: "9C"}}, "no valid grades for its labels"),
        ({"label_to_grade": {0: "6B", 1: "6A", 2: "6C+"}}, "no valid grades for its labels"),
        ({"label_to_grade": {0: "6A", 1: "6B"}}, "has 2 grades, but 3"),
        ({"label_to_grade": None}, "no valid grades for its labels"),
        ({"problems": 10**12}, "has an invalid record of its data"),
        ({"split_seed": "0"}, "has an invalid record of its data"),
        ({"data_hash": "0" * 64}, "of another version"),
        ({"role": "classifier"}, "is a classifier, not a generator"),
    ],
)
def test_a_checkpoint_that_does_not_fit(files, change, says):
    content = read_checkpoint(files[0])
    for name, value in change.items():
        merged = {**content[name], **value} if isinstance(value, dict) and value and name != "label_to_grade" else value
        content = {**content, name: merged}
    with pytest.raises(InputError, match=says) as error:
        load(content)
    assert str(files[0]) in str(error.value)
    assert error.value.exit_code == 3


def test_missing_facts(files):
    content = read_checkpoint(files[0])
    del content["split_seed"]
    with pytest.raises(InputError, match="does not record 'split_seed'"):
        load(content)


class Bomb:
    def __reduce__(self):
        return open, (self.path, "w")


@pytest.mark.parametrize("writer", ["pickle", "torch"])
def test_code_in_a_checkpoint_is_not_run(tmp_path, writer, files):
    bomb, path = Bomb(), tmp_path / "bomb.pth"
    bomb.path = str(tmp_path / "ran")
    content = {"format": "graphgauge/checkpoint/1", "subject": "moonboard", "weights": bomb}
    if writer == "pickle":
        path.write_bytes(pickle.dumps(content))
    else:
        torch.save(content, path)
    with pytest.raises(InputError, match="not a checkpoint of weights"):
        generation.open_checkpoint(path)
    with pytest.raises(InputError, match="not a checkpoint of weights"):
        generation.open_checkpoint(files[0], classifier=path)
    assert not (tmp_path / "ran").exists()


def test_a_damaged_checkpoint(tmp_path, files):
    whole = files[0].read_bytes()
    for damage in (b"", whole[: len(whole) // 2], b"\0" * 100, whole[:200] + bytes(500) + whole[700:]):
        path = tmp_path / "damaged.pth"
        path.write_bytes(damage)
        with pytest.raises(InputError):
            restore(read_checkpoint(path), "generator")


def diversity(subject, split):
    case = generation.Case(
        subject,
        generation.Labelled(split.validation.grids, split.validation.labels),
        generation.Labelled(split.train.grids, split.train.labels),
    )
    table = generation.collect(case, num_samples=40, sections=["diversity"])
    return generation.evaluate(table, metrics="diversity")


def test_copies_are_not_new(models, split):
    subject = subject_of(models, Copies, train=split.train)
    evaluation = diversity(subject, split)
    assert evaluation["novelty"] == 0
    assert evaluation["validity_rate"] == 1
    for code in range(len(KEPT)):
        known = {grid.tobytes() for grid in split.train.grids[split.train.labels == code]}
        assert {grid.tobytes() for grid in subject.generate(code, 2 * len(known))} == known


def test_a_collapse_shows_in_what_is_unique(models, split):
    made = subject_of(models, Collapses).generate(0, 50, seed=1)
    assert len(np.unique(made.reshape(50, -1), axis=0)) == Collapses.few
    assert (subject_of(models, Collapses).generate(0, 50, seed=2) == made).all()


def test_shuffled_holds_keep_their_numbers(models):
    given = {"condition": 1, "n": 60, "temperature": 1.0, "seed": 3}
    plain = statistics(subject_of(models).generate(**given) > 0.5)
    made = subject_of(models, ShufflesHolds).generate(**given)
    for name in ("num_holds", "num_start", "num_middle", "num_end"):
        assert (statistics(made)[name] == plain[name]).all()
    assert (valid(made) == valid(subject_of(models).generate(**given) > 0.5)).all()


def test_an_ignored_grade_is_any_grade(models, monkeypatch):
    def marked(self, condition, n, **options):
        return np.full((n, *SHAPE), condition / 10)

    monkeypatch.setattr(Moonboard, "generate", marked)
    subject = subject_of(models, IgnoresGrade)
    shares = [np.bincount(np.rint(subject.generate(code, 3000)[:, 0, 0, 0] * 10).astype(int)) / 3000 for code in (0, 2)]
    np.testing.assert_allclose(shares, 1 / 3, atol=0.04)


def test_a_case_can_be_given_another_subject(files, models, split):
    case = replace(generation.open_checkpoint(files[0]), subject=subject_of(models, Copies, train=split.train))
    table = generation.collect(case, num_samples=10, sections=["diversity"])
    assert generation.evaluate(table, metrics="novelty")["novelty"] == 0


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA here")
def test_cuda_answers_as_the_host_does(files, split):
    host, device = (generation.open_checkpoint(files[0], classifier=files[1], device=name) for name in ("cpu", "cuda"))
    held = host.data
    for question in ("encode", "reconstruct"):
        answers = [getattr(case.subject, question)(held.samples, held.conditions) for case in (host, device)]
        np.testing.assert_allclose(*answers, atol=1e-2)
    assert (host.classifier.predict(held.samples) == device.classifier.predict(held.samples)).mean() > 0.98
    assert device.subject.generate(0, 9, seed=2).shape == (9, *SHAPE)
    model, _ = train_generator(split.train, Schedule(epochs=1), device="cuda")
    assert next(model.parameters()).is_cuda
