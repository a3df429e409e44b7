"""The temporal network: what it is asked, that it learns the planted rule, and what its explainers say."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import shlex
import sys

import numpy as np
import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")

from graphgauge.cli.app import cli  # noqa: E402
from graphgauge.core.errors import InputError, MissingExtraError, OptionError  # noqa: E402
from graphgauge.explanation.inputs import Context, Subgraph  # noqa: E402
from graphgauge.explanation.table import read_explanations  # noqa: E402
from graphgauge.zoo.temporal import load  # noqa: E402
from graphgauge.zoo.temporal.contacts import Contacts  # noqa: E402
from graphgauge.zoo.temporal.explainers import EXPLAINERS, explain  # noqa: E402
from graphgauge.zoo.temporal.houses import HouseGNN, HouseModel, houses  # noqa: E402
from graphgauge.zoo.temporal.model import TemporalGNN, train  # noqa: E402
from graphgauge.zoo.temporal.planted import Town  # noqa: E402
from graphgauge.zoo.temporal.stream import split  # noqa: E402
from graphgauge.zoo.temporal.task import accuracy, found, logits, task  # noqa: E402


@pytest.fixture(scope="module")
def asked():
    return task("planted", seed=3, questions=1200)


@pytest.fixture(scope="module")
def model(asked):
    return train(asked.config, asked.training, epochs=12)


@pytest.fixture(scope="module")
def some(model, asked):
    return found(model, asked.held_out, 12)


# ------------------------------------------------------------- the questions


def test_truth_is_what_the_rule_says():
    town = Town(contacts=2000)
    stream = town.stream(1)
    for question in town.questions(stream, 80, 1):
        contacts = stream.around(question, town.recent)
        expected = set()
        for first, second in itertools.permutations(contacts, 2):
            one, other = set(stream.ends[:, first].tolist()), set(stream.ends[:, second].tolist())
            fresh = all(
                stream.contact_features[contact, 0] == 1 and question.time - stream.time[contact] <= town.window
                for contact in (first, second)
            )
            third = one - {question.one}
            if question.one in one and question.other in other and third == other - {question.other} and fresh:
                if third & {question.one, question.other}:
                    continue
                expected |= {first, second}
        truth = town.truth(stream, question)
        assert set(contacts[truth]) == expected
        assert question.answer == bool(expected)


def test_half_the_answers_are_yes_and_the_later_questions_are_held_out(asked):
    labels = [context.label for context in (*asked.training, *asked.held_out)]
    assert sum(labels) == len(labels) // 2
    assert max(c.target["time"] for c in asked.training) <= min(c.target["time"] for c in asked.held_out)


def test_a_subgraph_holds_the_last_contacts_before_the_question_and_no_later_ones():
    town = Town(contacts=1500)
    stream = town.stream(0)
    for question in town.questions(stream, 30, 0):
        context = stream.context(question, town.recent, event="x")
        ends = context.subgraph.nodes[context.subgraph.edge_index]
        held = {
            tuple(row)
            for node in (question.one, question.other)
            for row in sorted(
                (stream.time[c], *stream.ends[:, c])
                for c in range(stream.time.size)
                if node in stream.ends[:, c] and stream.time[c] < question.time
            )[-town.recent :]
        }
        assert set(zip(context.subgraph.times, *ends, strict=True)) == held


def test_the_same_seed_gives_the_same_questions_and_another_one_others():
    one, again, other = (task("planted", seed=seed, questions=40) for seed in (5, 5, 6))
    assert [c.target for c in one.training] == [c.target for c in again.training]
    assert [c.target for c in one.training] != [c.target for c in other.training]


def test_split_is_by_time():
    town = Town(contacts=1500)
    questions = town.questions(town.stream(0), 21, 0)
    early, late = split(questions, 2 / 3)
    assert (len(early), len(late)) == (14, 7)
    assert max(q.time for q in early) <= min(q.time for q in late)


def test_explained_are_right_answers_yes(asked):
    class Fixed:
        def __init__(self, logits):
            self._logits = logits

        def predict_many(self, subgraphs, targets, masks):
            return [torch.tensor([[logit]]) for logit in self._logits]

    contexts = asked.held_out[:30]
    logits = [-1.0 if place % 3 == 0 else 1.0 for place in range(30)]
    expected = [context for context, logit in zip(contexts, logits, strict=True) if context.label == 1 and logit > 0]
    assert len(expected) < sum(context.label for context in contexts)
    assert found(Fixed(logits), contexts, 30) == expected
    assert found(Fixed(logits), contexts, 3) == expected[:3]
    with pytest.raises(InputError, match="nothing to explain"):
        found(Fixed([-1.0] * 30), contexts, 3)


# --------------------------------------------------------------- the network


def test_it_learns_the_rule(model, asked):
    assert accuracy(model, asked.held_out) > 0.9


def test_training_is_reproducible(asked):
    one, again = (train(asked.config, asked.training[:200], epochs=2) for _ in range(2))
    for a, b in zip(one.state_dict().values(), again.state_dict().values(), strict=True):
        assert torch.equal(a, b)


def test_training_leaves_the_global_generator_alone(asked):
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    train(asked.config, asked.training[:20], epochs=1)
    assert torch.equal(torch.rand(3), expected)


def without(context: Context, mask) -> Subgraph:
    """The subgraph with the contacts really taken out, and then the nodes that nothing is left of."""
    graph = context.subgraph
    return Subgraph(
        graph.edge_index[:, mask], graph.nodes, graph.times[mask], graph.node_features, graph.edge_features[mask]
    )


def test_a_mask_is_the_graph_without_those_contacts(model, asked):
    draw = np.random.default_rng(0)
    for context in asked.held_out[:15]:
        masks = draw.random((6, len(context.subgraph))) < 0.5
        masks[0], masks[1] = True, False
        answers = model.predict(context.subgraph, context.target, masks)
        assert answers.shape == (6, 1)
        for mask, answer in zip(masks, answers, strict=True):
            alone = model.predict(without(context, mask), context.target, np.ones((1, mask.sum()), bool))
            assert float(answer) == pytest.approx(float(alone), abs=1e-4)


def test_many_subgraphs_at_once_are_answered_as_one_by_one(model, asked, monkeypatch):
    draw = np.random.default_rng(1)
    contexts = asked.held_out[:8]
    masks = [draw.random((draw.integers(1, 9), len(c.subgraph))) < 0.6 for c in contexts]
    one_by_one = [model.predict(c.subgraph, c.target, m) for c, m in zip(contexts, masks, strict=True)]
    arguments = [c.subgraph for c in contexts], [c.target for c in contexts], masks
    for chunk in (200_000, 100, 1):
        monkeypatch.setattr("graphgauge.zoo.temporal.model._CHUNK", chunk)
        for answer, alone in zip(model.predict_many(*arguments), one_by_one, strict=True):
            torch.testing.assert_close(answer, alone, atol=1e-4, rtol=0)
    assert model.predict_many([], [], []) == []


def test_the_order_of_contacts_and_the_names_of_others_do_not_matter(model, asked):
    context = asked.held_out[0]
    graph, order = context.subgraph, np.random.default_rng(2).permutation(context.subgraph.edges)
    names = np.array(graph.nodes)
    names[2:] += 1000
    turned = Subgraph(
        graph.edge_index[::-1, order], names, graph.times[order], graph.node_features, graph.edge_features[order]
    )
    whole = np.ones((1, graph.edges), bool)
    assert float(model.predict(turned, context.target, whole)) == pytest.approx(
        float(model.predict(graph, context.target, whole)), abs=1e-4
    )


def test_edges_that_are_no_candidates_always_stay(model, asked):
    graph, target = asked.held_out[0].subgraph, asked.held_out[0].target
    chosen = np.array([7, 2, 5])
    some = Subgraph(
        graph.edge_index, graph.nodes, graph.times, graph.node_features, graph.edge_features, candidates=chosen
    )
    masks = np.array([[True, False, True], [False, False, False]])
    whole = np.ones((2, graph.edges), bool)
    whole[:, chosen] = masks
    torch.testing.assert_close(model.predict(some, target, masks), model.predict(graph, target, whole))
    np.testing.assert_allclose(
        model.slopes(some, target).numpy(), model.slopes(graph, target).numpy()[chosen], atol=1e-6
    )


@pytest.mark.parametrize(
    ("changes", "target", "message"),
    [
        ({}, {"pair": [0, 12345]}, "not among the nodes"),
        ({}, {"pair": [1, 1]}, "not among the nodes"),
        ({}, {"pair": [1]}, "a pair of nodes and a time"),
        ({}, {"pair": "ab"}, "a pair of nodes and a time"),
        ({}, {"time": None}, "a pair of nodes and a time"),
        ({}, {"time": -1e9}, "after the time"),
        ({}, {"time": math.nan}, "after the time"),
        ({"times": None}, {}, "has no times"),
        ({"edge_features": None}, {}, "0 columns, but the network was trained with 1"),
        ({"node_features": np.ones((2, 3))}, {}, "3 columns"),
    ],
)
def test_a_question_that_the_network_cannot_answer_is_named(model, changes, target, message):
    graph = {
        "edge_index": [[0], [1]],
        "times": [1.0],
        "edge_features": np.ones((1, 1)),
        "node_features": np.ones((2, 0)),
    }
    with pytest.raises(InputError, match=message):
        model.predict(Subgraph(**graph | changes), {"pair": [0, 1], "time": 2.0} | target, np.ones((1, 1), bool))


def test_a_target_of_another_kind_is_named(model):
    with pytest.raises(InputError, match="a pair of nodes and a time"):
        model.predict(Subgraph([[0], [1]], times=[1.0]), 7, np.ones((1, 1), bool))


# ---------------------------------------------------------------- checkpoints


def test_a_checkpoint_answers_the_same(model, asked, tmp_path):
    model.save(tmp_path / "m.pt")
    again = TemporalGNN.load(tmp_path / "m.pt")
    assert again.config == model.config
    np.testing.assert_array_equal(logits(again, asked.held_out[:20]), logits(model, asked.held_out[:20]))


class _Hostile:
    def __reduce__(self):
        return (pytest.fail, ("code in a checkpoint was run",))


def _checkpoint(model, **changes):
    content = {"format": "graphgauge/zoo/temporal/1", "config": dict(vars(model.config)), "weights": model.state_dict()}
    return content | changes


@pytest.mark.parametrize(
    "content",
    [
        lambda model: pickle.dumps(_Hostile()),
        lambda model: b"",
        lambda model: {"weights": _Hostile()},
        lambda model: _checkpoint(model, format="another"),
        lambda model: _checkpoint(model, config={"hidden": 3}),
        lambda model: _checkpoint(model, config=dict(vars(model.config)) | {"hidden": "32"}),
        lambda model: _checkpoint(model, config=dict(vars(model.config)) | {"hidden": 16}),
        lambda model: _checkpoint(model, config=dict(vars(model.config)) | {"hidden": 10**9}),
        lambda model: _checkpoint(model, weights={}),
        lambda model: [1, 2],
    ],
)
def test_a_file_that_is_no_checkpoint_is_refused_and_never_run(model, content, tmp_path):
    path = tmp_path / "m.pt"
    made = content(model)
    if isinstance(made, bytes):
        path.write_bytes(made)
    else:
        torch.save(made, path)
    with pytest.raises(InputError, match=r"is not a checkpoint of this network.*zoo temporal train"):
        TemporalGNN.load(path)


def test_a_checkpoint_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        TemporalGNN.load(tmp_path / "none.pt")


# ------------------------------------------------------------- the explainers


def f(model, context, mask):
    """The probability of yes; all events explained here are answered so."""
    return 1 / (1 + math.exp(-float(model.predict(context.subgraph, context.target, np.array(mask)[None])[0, 0])))


def importance(model, context, name, seed=0):
    return next(explain(model, [context], [name], seed=seed)).importance


def test_occlusion_leaves_one_out(model, some):
    for context in some[:3]:
        size = len(context.subgraph)
        whole = f(model, context, [True] * size)
        expected = [whole - f(model, context, [other != edge for other in range(size)]) for edge in range(size)]
        np.testing.assert_allclose(importance(model, context, "occlusion"), expected, atol=1e-5)
        np.testing.assert_array_equal(importance(model, context, "reversed"), -importance(model, context, "occlusion"))


def test_the_gradient_is_a_slope(model, some):
    context, step = some[0], 1e-2
    double = TemporalGNN(model.config).double()
    double.load_state_dict(model.state_dict())
    from dataclasses import replace

    from graphgauge.zoo.temporal.graphs import joined

    graphs = joined([model.encoded(context.subgraph, context.target)])
    graphs = replace(graphs, nodes=graphs.nodes.double(), contacts=graphs.contacts.double())
    size = len(context.subgraph)

    def at(edge, weight):
        weights = torch.ones(size, dtype=torch.float64)
        weights[edge] = weight
        with torch.no_grad():
            return float(double(replace(graphs, weight=torch.cat([weights, weights])))[0])

    expected = [(at(edge, 1 + step) - at(edge, 1 - step)) / (2 * step) for edge in range(size)]
    found = importance(model, context, "gradient")
    np.testing.assert_allclose(found, expected, atol=2e-2 * np.abs(expected).max())


def test_shapley_values_are_means_over_all_orders(model, asked):
    whole = asked.held_out[0]
    few = np.arange(len(whole.subgraph)) < 5
    context = Context(without(whole, few), whole.target)
    direction = 1 if f(model, context, [True] * 5) >= 0.5 else -1
    expected = np.zeros(5)
    for order in itertools.permutations(range(5)):
        mask = [False] * 5
        for edge in order:
            before = f(model, context, mask)
            mask[edge] = True
            expected[edge] += direction * (f(model, context, mask) - before) / math.factorial(5)
    np.testing.assert_allclose(importance(model, context, "exhaustive"), expected, atol=1e-5)


def test_shapley_values_sum_to_what_all_contacts_add(model, some):
    for context in some[:4]:
        size = len(context.subgraph)
        added = f(model, context, [True] * size) - f(model, context, [False] * size)
        assert importance(model, context, "exhaustive").sum() == pytest.approx(added, abs=1e-5)


def test_edges_of_one_unit_are_one_player(model, some):
    graph, target = some[0].subgraph, some[0].target
    units = np.arange(len(graph)) // 3
    joined = Subgraph(graph.edge_index, graph.nodes, graph.times, graph.node_features, graph.edge_features, units=units)
    for name in ("random", "gradient", "occlusion", "exhaustive"):
        values = importance(model, Context(joined, target), name)
        for unit in set(units):
            assert len(set(values[units == unit])) == 1


def test_what_needs_no_model(some):
    context = some[0]
    np.testing.assert_array_equal(importance(None, context, "oracle"), context.truth)
    np.testing.assert_array_equal(importance(None, context, "recency"), context.subgraph.times)
    np.testing.assert_array_equal(importance(None, context, "random", 4), importance(None, context, "random", 4))
    assert not np.array_equal(importance(None, context, "random", 4), importance(None, context, "random", 5))
    one, other = explain(None, [context, context], ["random"], seed=4)  # each event has draws of its own
    assert not np.array_equal(one.importance, other.importance)


def test_what_an_explainer_cannot_do_is_said(model, some):
    many = Subgraph([[0] * 13, range(1, 14)])
    with pytest.raises(OptionError, match="13 units"):
        importance(model, Context(many, None, event="e"), "exhaustive")
    with pytest.raises(InputError, match="the truth is unknown"):
        importance(model, Context(many, None), "oracle")
    with pytest.raises(InputError, match="no times"):
        importance(model, Context(many, None), "recency")
    with pytest.raises(OptionError, match="occlusion"):
        list(explain(model, some, ["oclusion"]))


class Weights:
    """One probability a mask, as (B,): that of the kept edges' weights."""

    model_output = "probability"
    weights = np.array([2.0, -1.0, 0.5])

    def predict(self, subgraph, target, masks):
        return 1 / (1 + np.exp(-(masks @ self.weights)))


def test_models_of_one_probability_can_be_explained():
    context = Context(Subgraph([[0, 1, 2], [1, 2, 3]]), event="e")
    p = [1 / (1 + math.exp(-logit)) for logit in (1.5, -0.5, 2.5, 1.0)]
    expected = [p[0] - without for without in p[1:]]
    np.testing.assert_allclose(importance(Weights(), context, "occlusion"), expected, atol=1e-12)
    assert importance(Weights(), context, "exhaustive").sum() == pytest.approx(p[0] - 0.5)


def test_models_that_cannot_be_explained_are_named():
    class Fails(Weights):
        def predict(self, subgraph, target, masks):
            raise RuntimeError("no memory")

        def slopes(self, subgraph, target):
            raise RuntimeError("no gradient")

    class Few(Weights):
        def predict(self, subgraph, target, masks):
            return np.zeros(len(masks) - 1)

        def slopes(self, subgraph, target):
            return [1.0]

    context = Context(Subgraph([[0, 1, 2], [1, 2, 3]]), event="e")
    for model, name, message in (
        (Fails(), "occlusion", "event 'e', model Fails.predict: raised RuntimeError: no memory"),
        (Fails(), "gradient", "event 'e', model Fails.slopes: raised RuntimeError: no gradient"),
        (Few(), "occlusion", r"answers of the model, event 'e': shape \(4,\) for 5 masks"),
        (Few(), "gradient", r"slopes: shape \(1,\) for 3 edges"),
        (Weights(), "gradient", "Weights has no method slopes. Leave gradient out"),
    ):
        with pytest.raises(InputError, match=message):
            importance(model, context, name)


def test_slopes_of_houses_are_those_of_the_candidates():
    torch.manual_seed(0)
    model, ends = HouseModel(HouseGNN()), [[0, 1, 2, 1], [1, 0, 1, 2]]
    whole, some = (
        Subgraph(ends, node_features=np.ones((3, 4), np.float32), candidates=candidates)
        for candidates in (None, [3, 0])
    )
    torch.testing.assert_close(model.slopes(some, 0), model.slopes(whole, 0)[[3, 0]])


def test_those_that_look_at_the_model_find_the_rule(model, asked):
    """Chance puts a true contact above another one half of the time."""
    contexts = found(model, asked.held_out, 25)
    ahead = {name: [] for name in EXPLAINERS}
    for explanation in explain(model, contexts, list(EXPLAINERS)):
        truth = explanation.context.truth
        true, rest = explanation.importance[truth][:, None], explanation.importance[~truth]
        ahead[explanation.explainer].append(((true > rest) + (true == rest) / 2).mean())
        assert explanation.elapsed >= 0
    means = {name: np.mean(values) for name, values in ahead.items()}
    assert means["oracle"] == 1
    assert min(means["gradient"], means["occlusion"], means["exhaustive"]) > 0.85
    assert 0.35 < means["random"] < 0.65
    assert means["reversed"] == pytest.approx(1 - means["occlusion"])


# ------------------------------------------------------------ recorded contacts

LINES = """100\t7\t3\tNUR\tPAT
120\t3\t7\tPAT\tNUR
160\t7\t3\tNUR\tPAT
120\t7\t9\tNUR\tMED
"""


def test_lines_without_a_break_are_one_contact(tmp_path):
    (tmp_path / "c.tsv").write_text(LINES)
    stream = Contacts().stream(tmp_path / "c.tsv")
    assert stream.time.tolist() == [100, 120, 160]
    assert stream.ends.T.tolist() == [[0, 1], [1, 2], [0, 1]]
    assert stream.node_features.argmax(1).tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no contacts"),
        ("1\t2\t3\tA", "line 1 is not time, person"),
        ("100\t7\t3\tA\tB\n1.5\t7\t3\tA\tB\n", "line 2"),
        ("-1\t7\t3\tA\tB", "line 1"),
        ("9" * 30 + "\t7\t3\tA\tB", "line 1"),
        ("²\t7\t3\tA\tB", "line 1"),
        ("\n\n100\t7\t3\tA\n", "line 3 is not .*: '100"),
        ("100\t7\t3\tA\tB\n\n120\t8\t08\tA\tA\n", "line 3 has a contact of person 8 with themselves"),
    ],
)
def test_a_file_that_holds_no_contacts_is_named(text, message, tmp_path):
    (tmp_path / "c.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        Contacts().stream(tmp_path / "c.tsv")


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "c.tsv").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        Contacts().stream(tmp_path / "c.tsv")
    with pytest.raises(InputError, match="No such file"):
        Contacts().stream(tmp_path / "none.tsv")
    with pytest.raises(OptionError, match="--contacts"):
        task("contacts")


def test_contacts_that_give_no_questions_are_an_error_and_no_endless_search(tmp_path):
    (tmp_path / "two.tsv").write_text("\n".join(f"{100 * n}\t1\t2\tA\tB" for n in range(1, 50)))
    with pytest.raises(InputError, match="too few to ask"):
        task("contacts", contacts=tmp_path / "two.tsv", questions=20)
    (tmp_path / "once.tsv").write_text("100\t1\t2\tA\tB\n100\t1\t3\tA\tB\n")
    with pytest.raises(InputError, match="at one time"):
        task("contacts", contacts=tmp_path / "once.tsv")


def written_contacts(path, people=12, contacts=400):
    draw = np.random.default_rng(0)
    groups = "ABC"
    lines = []
    for place in range(contacts):
        one, other = draw.choice(people, 2, replace=False)
        lines.append(f"{1000 + 60 * place}\t{one}\t{other}\t{groups[one % 3]}\t{groups[other % 3]}")
    path.write_text("\n".join(lines))


def test_questions_about_contacts_ask_for_one_that_begins_and_one_that_does_not(tmp_path):
    written_contacts(tmp_path / "c.tsv")
    stream = Contacts().stream(tmp_path / "c.tsv")
    questions = Contacts().questions(stream, 60, 0)
    assert [q.answer for q in questions] == [1, 0] * 30
    for question in questions:
        now = stream.ends[:, stream.time == question.time].T.tolist()
        assert (sorted([question.one, question.other]) in now) == bool(question.answer)


def test_who_was_not_seen_for_an_hour_is_not_asked_about(tmp_path):
    written_contacts(tmp_path / "c.tsv")
    (tmp_path / "c.tsv").write_text("100\t99\t0\tA\tA\n" + (tmp_path / "c.tsv").read_text())
    stream = Contacts().stream(tmp_path / "c.tsv")
    gone = stream.nodes - 1  # the highest number of all
    questions = Contacts().questions(stream, 200, 0)
    assert max(question.time for question in questions) > 100 + 3600
    assert all(question.time <= 100 + 3600 for question in questions if gone in (question.one, question.other))


# ------------------------------------------------------------ the command line


def call(*arguments):
    return CliRunner().invoke(cli, ["zoo", "temporal", *map(str, arguments)], catch_exceptions=False)


def test_train_and_explain_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trained = call("train", "--questions", 300, "--epochs", 15, "--seed", 1)
    assert "right on" in trained.stdout
    assert "epoch 15" in trained.stderr
    done = call("explain", "--events", 3, "--explainers", "random, occlusion,gradient", "--quiet")
    assert done.exit_code == 0
    explanations = read_explanations("explanations.jsonl")
    assert {e.explainer for e in explanations} == {"random", "occlusion", "gradient"}
    loaded = load()
    for explanation in explanations:  # what was written asks the same question as what was explained
        if explanation.explainer == "occlusion":
            np.testing.assert_allclose(importance(loaded, explanation.context, "occlusion"), explanation.importance)
    options = "--explainer", "occlusion", "--metrics", "truth_auc", "--format", "json"
    files = "--explanations", "explanations.jsonl", "--model", "graphgauge.zoo.temporal:load"
    done = CliRunner().invoke(cli, ["explanation", *files, *options], catch_exceptions=False)
    assert json.loads(done.stdout)["results"][0]["n"] == 3
    hint = call("explain", "--events", 3).stderr
    setting, program, *arguments = shlex.split(hint.partition("evaluate with: ")[2])
    assert (setting, program) == ("GRAPHGAUGE_TEMPORAL=temporal.pt", "graphgauge")
    assert CliRunner().invoke(cli, arguments, catch_exceptions=False).exit_code == 0
    with pytest.raises(OptionError, match="--explainers is empty"):
        call("explain", "--events", 3, "--explainers", " , ")
    with pytest.raises(OptionError, match="unknown explainer 'oclusion'"):
        call("run", "--explainers", "oclusion", "--contacts", "absent.tsv")  # before anything is read or trained


def test_houses_need_torch_geometric(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    with pytest.raises(MissingExtraError, match="the graph of houses needs torch_geometric"):
        houses()


def test_the_whole_run_from_the_command_line(tmp_path):
    written_contacts(tmp_path / "c.tsv")
    options = "--questions", 300, "--epochs", 15, "--events", 6, "--quiet"
    done = call("run", "--output", tmp_path / "planted", *options)
    assert done.exit_code == 0
    for name in EXPLAINERS:
        assert name in done.stdout
        stored = json.loads((tmp_path / "planted" / "results" / f"{name}.json").read_text())
        assert stored["run"]["method"] == name
    done = call("run", "--output", tmp_path / "real", "--contacts", tmp_path / "c.tsv", *options)
    assert "oracle" not in done.stdout
    assert "exhaustive" in done.stdout
