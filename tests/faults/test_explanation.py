"""Faults of earlier versions of explanations, by number: none may come back."""

from __future__ import annotations

import numpy as np
import pytest
from tests.command import graphgauge

from graphgauge import explanation as ex
from graphgauge.core.errors import InputError, OptionError, UnknownNameError


class Linear:
    """The logit is the sum of the target's weights over the kept edges."""

    model_output = "logit"

    def predict(self, subgraph, target, masks):
        logit = masks @ np.asarray(target)
        return np.stack([-logit, logit], axis=1)


def said(events: int = 30) -> list[ex.Explanation]:
    """One explainer knows the weights and one names them with the opposite sign; edges speak for and against."""
    rng, found = np.random.default_rng(0), []
    for event in range(events):
        weights = rng.normal(0, 0.5, 12)
        weights += 0.02 - weights.mean()
        graph = ex.Subgraph([range(12), range(1, 13)], times=range(12))
        context = ex.Context(graph, weights.tolist(), event)
        found += [ex.Explanation(context, sign * weights, name) for name, sign in (("knows", 1), ("reversed", -1))]
    return found


@pytest.mark.parametrize("metric", ["necessity_auc", "sufficiency_auc", "acc_auc", "fidelity_drop@0.3"])
def test_x31_g37_one_key_has_one_value_and_one_verdict(metric):
    """It was .449 in `evaluate` and .430, with its sign, in `compare`; and two verdicts stood in one output."""
    table = ex.collect(Linear(), said())
    outcome = ex.compare(table, metric, baseline=ex.evaluate(table, explainer="knows")["acc_auc"].chance.name)
    for name in ("knows", "reversed", "random explainer"):
        evaluation = ex.evaluate(table, explainer=name, metrics=[metric])
        assert evaluation[metric].value == pytest.approx(evaluation.per_item[metric].mean(), rel=1e-12)
        assert outcome[name].mean == pytest.approx(evaluation[metric].value, rel=1e-12)
        words = evaluation[metric].interpretation
        if words is not None and name != "random explainer":
            pair = outcome[name, "random explainer"]
            assert words.startswith("not significantly") == (pair.p_value > 0.05)
            assert f"{pair.difference:+.3g}" in words


def test_x31_the_size_of_a_change_beats_nothing():
    table = ex.collect(Linear(), said())
    found = ex.evaluate(table, explainer="reversed", metrics=["fidelity_drop@0.3", "necessity_auc"])
    assert found["fidelity_drop@0.3"].interpretation is None
    assert found["necessity_auc"].interpretation.startswith("worse than the random explainer")


def test_g39_a_family_lists_its_metrics():
    done = graphgauge("metrics", "explanation")
    assert done.returncode == 0, done.stderr
    assert all(key in done.stdout for key in ("fidelity_drop@{level}", "acc_auc.complement", "truth_auc"))


@pytest.mark.parametrize(
    ("name", "answer"),
    [("fidelity_minus", r"drops: fidelity_drop.*keeps: pyg_metrics"), ("fidelity_plus", r"fidelity_drop\.signed")],
)
def test_g39_names_with_two_meanings_are_answered(name, answer):
    with pytest.raises(UnknownNameError, match=answer):
        ex.evaluate(Linear(), said(2), explainer="knows", metrics=[name])


def test_g39_original_options_are_taken():
    options = {"sparsity_levels": [0.2, 0.5], "topk": [3], "by": "abs", "normalize": "minmax", "result_as_logit": True}
    found = ex.evaluate(Linear(), said(5), explainer="knows", metrics=["fidelity_drop"], label_threshold=0.4, **options)
    assert [*found] == ["fidelity_drop@0.2", "fidelity_drop@0.5", "fidelity_drop@k=3"]
    plain = ex.collect(Linear(), said(5), sparsity_levels=[0.2, 0.5], topk=[3], by="abs")
    assert (
        ex.evaluate(plain, explainer="knows", metrics=["fidelity_drop"], label_threshold=0.4).to_flat()
        == found.to_flat()
    )
    with pytest.raises(OptionError, match="result_as_logit=False"):
        ex.collect(Linear(), said(2), model_output="logit", result_as_logit=False)


def test_documents_each_reading_has_an_option_that_gives_it():
    """Five edges: half of them are two, as Python rounds; the document's sweep keeps the top 1 − s."""
    graph = ex.Subgraph([range(5), range(1, 6)], times=range(5))
    one = ex.Explanation(ex.Context(graph, [2.0, 1.0, 0.5, -0.5, -1.5], 0), [5, 4, 3, 2, 1])
    found = ex.evaluate(Linear(), [one], metrics="all", sparsity_levels=[0.2, 0.5])
    assert found["sparsity@0.5"].value == pytest.approx(1 - 2 / 5)
    document = ex.evaluate(Linear(), [one], sparsity_levels=[0.2, 0.5], protocol="time_to_explain_reference")
    assert document["acc_auc.complement"].value == found["acc_auc.complement"].value
    keeps = [document[f"fidelity_keep@{level}"].value for level in (0.2, 0.5)]
    assert document["fidelity_best_keep"].value == max(keeps)
    ours = [found[f"fidelity_keep@{level}"].value for level in (0.2, 0.5)]
    assert found["fidelity_best_keep"].value == min(ours)


def timed(events: int = 3) -> list[ex.Explanation]:
    """Paths of three edges, all of which touch the next one, or in the first event none."""
    explained = []
    for event, moment in enumerate(np.linspace(0.1, 0.6, events).tolist()):
        ends = [[0, 1, 2], [1, 2, 3]] if event else [[0, 2, 4], [1, 3, 5]]
        graph = ex.Subgraph(ends, times=[0.0, moment, 1.0], units="edges")
        explained.append(ex.Explanation(ex.Context(graph, event=event), [3.0, 2.0, 1.0], explainer="one"))
    return explained


COHESIVENESS = ["cohesiveness@0.7", "cohesiveness_adjacent@0.7"]


@pytest.mark.parametrize("events", [3, 4, 6])
def test_cohesiveness_of_the_default_scale_is_a_share_and_so_is_its_interval(events: int) -> None:
    found = ex.evaluate(None, timed(events), metrics=COHESIVENESS, sparsity_levels=[0.7])
    result = found["cohesiveness@0.7"]
    assert result.bounds == (0, 1)
    assert 0 <= result.interval.low <= result.value <= result.interval.high <= 1
    signed = ex.evaluate(None, timed(events), metrics=COHESIVENESS, sparsity_levels=[0.7], delta_t=0.2)
    assert all(each.bounds == (-1, 1) for each in signed.values())


def test_chance_of_cohesiveness_is_over_orders_that_no_model_was_asked_about() -> None:
    """Two of three edges: the mean over the three pairs, of which two touch in all events but the first."""
    pairs = []
    for event, one in enumerate(timed()):
        early, moment, late = one.context.subgraph.times.tolist()
        touching = np.cos([moment - early, late - moment]) if event else [0.0]
        pairs.append(sum(touching) / 3)
    levels = {}
    for random in (1, 40):
        options = {"metrics": COHESIVENESS[:1], "sparsity_levels": [0.7], "random": random}
        found = ex.evaluate(None, timed(), **options)["cohesiveness@0.7"]
        (levels[random],) = [level.value for level in found.references]
        blind = ex.evaluate(ex.collect(None, timed(), **options), explainer="random explainer", metrics=COHESIVENESS)
        assert blind["cohesiveness@0.7"].value == levels[random]
    assert levels[1] == levels[40] == pytest.approx(np.mean(pairs), abs=0.1)


@pytest.mark.parametrize("complete", [True, False])
def test_another_model_does_not_go_on_with_answers(tmp_path, complete):
    """Half of a table was of one network and half of another, and nothing said so."""

    class Other(Linear):
        def predict(self, subgraph, target, masks):
            return super().predict(subgraph, target, masks) / 2

    path = tmp_path / "answers.jsonl"
    ex.collect(Linear(), said()[: 60 if complete else 20], path=path)
    with pytest.raises(InputError, match=r"event 0, model Other\.predict: another model answered before"):
        ex.collect(Other(), said(), path=path)
    assert len(ex.collect(Linear(), said(), path=path)) == 30


def test_the_closing_sentence_has_all_that_heads_the_table():
    """It left out the one by which an explainer was worse than random orders."""
    table = ex.collect(Linear(), said())
    for name in ("knows", "reversed"):
        found = ex.evaluate(table, explainer=name)
        judged = [key for key, result in found.items() if result.interpretation is not None]
        assert "acc_auc" in judged
        assert all(f"{key} (" in str(found).splitlines()[-1] for key in judged)


@pytest.mark.parametrize("level", ["1.5", "-0.1", "k=-1"])
def test_a_level_out_of_range_is_not_called_no_number(level):
    with pytest.raises(
        OptionError, match=rf"'{level}' is not a level\. Give a share from 0 to 1, or a number of edges"
    ):
        ex.evaluate(Linear(), said(2), explainer="knows", metrics=[f"fidelity_drop@{level}"])


@pytest.mark.parametrize("name", ["random explainer", "", " "])
def test_names_that_no_explainer_can_have(name):
    with pytest.raises(InputError, match=r"explainer: .* cannot name an explainer\. Use another text"):
        ex.Explanation(said(1)[0].context, np.ones(12), name)


def test_files_of_other_writers(tmp_path):
    """A mark of the encoding at the start of a file is none of its text; NaN is written null."""
    path = tmp_path / "run.jsonl"
    ex.write_explanations(said(2), path)
    content = path.read_bytes()
    path.write_bytes(b"\xef\xbb\xbf" + content)
    assert len(ex.read_explanations(path)) == 4
    path.write_bytes(content.replace(b'"importance":[', b'"importance":[NaN,', 1))
    with pytest.raises(InputError, match=r"line 1: is not valid.* JSON has no NaN: write null"):
        ex.read_explanations(path)


@pytest.mark.parametrize("depth", [40, 900, 100_000])
def test_targets_that_are_nested_deeply_are_refused(tmp_path, depth):
    path = tmp_path / "deep.jsonl"
    ex.write_explanations(timed(1), path)
    path.write_text(path.read_text().replace('"event":', f'"target":{"[" * depth}{"]" * depth},"event":'))
    with pytest.raises(InputError, match="nested"):
        ex.read_explanations(path)
