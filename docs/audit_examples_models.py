"""Real examples for the audit pages on explanations and generators.

    graphgauge zoo moonboard train
    graphgauge zoo moonboard train-classifier
    python docs/audit_examples_models.py models/vae.pth models/classifier.pth

needs torch, torch_geometric and scikit-learn, and takes some minutes. The digits are those of
examples/generation_digits.py.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge import audit, explanation, generation
from graphgauge.core.result import Evaluation
from graphgauge.generation.levels import near_copies
from graphgauge.generation.subjects import read_checkpoint
from graphgauge.zoo.moonboard.checkpoint import restore
from graphgauge.zoo.moonboard.controls import Copies
from graphgauge.zoo.moonboard.data import held_out
from graphgauge.zoo.moonboard.subject import Moonboard
from graphgauge.zoo.moonboard.training import Schedule, train_generator
from graphgauge.zoo.temporal.experiment import Experiment
from graphgauge.zoo.temporal.model import TemporalGNN, train
from graphgauge.zoo.temporal.task import accuracy, found, task

PLACE = Path(__file__).parent / "audit"
DIGITS = Path(__file__).parents[1] / "examples" / "generation_digits.py"
EVENTS = 100


def main(checkpoint: str, classifier: str) -> None:
    for name, text in examples(checkpoint, classifier):
        (PLACE / f"{name}.inc").write_text(text + "\n", encoding="utf-8")
        print(name, text, sep=": ", flush=True)


def examples(checkpoint: str, classifier: str) -> Iterator[tuple[str, str]]:
    yield from digits()
    yield from boards(checkpoint, classifier)
    yield cached()
    yield from contacts()


def told(evaluation: Evaluation, check: str, **materials: Any) -> str:
    """The check's message, or `nothing`."""
    findings = audit.run(evaluation, only=[check], **materials)
    return findings[0].message if findings else "no finding"


# ------------------------------------------------------------------------------------------------ explanations


class Squashed:
    """The network's probabilities, passed as logits."""

    model_output = "logit"

    def __init__(self, model: TemporalGNN) -> None:
        self._model = model

    def predict(self, subgraph: Any, target: Any, masks: Any) -> Any:
        return 1 / (1 + np.exp(-np.asarray(self._model.predict(subgraph, target, masks))))


def contacts() -> Iterator[tuple[str, str]]:
    """The planted rule of the zoo, one network."""
    asked = task("planted", seed=0)
    model = train(asked.config, asked.training, epochs=20)
    chosen = found(model, asked.held_out, EVENTS)
    right = accuracy(model, asked.held_out)
    run = Experiment.of(
        model, chosen, ["random", "recency", "occlusion", "oracle", "reversed"], dataset="planted", accuracy=right
    )
    what = f"A network that is right on {right:.1%} of later queries (the planted rule of the zoo), {EVENTS} answers"
    said = {name: told(run.evaluations[name], "random-not-beaten") for name in ("random", "recency")}
    yield (
        "random-not-beaten",
        f"{what}, an explainer that draws importance at random: {said['random']}. For the explainer that takes the "
        f"latest contacts, which is better than random, the check finds {said['recency']}.",
    )
    reverse = run.evaluations["reversed"]
    yield (
        "inverted-explanation",
        f"{what}, an explainer that reverses the importance of occlusion: "
        f"{told(reverse, 'inverted-explanation')}. For random importance the check finds "
        f"{told(run.evaluations['random'], 'inverted-explanation')}.",
    )
    oracle = [each for each in run.explanations if each.explainer == "oracle"]
    average = explanation.evaluate(explanation.collect(model, oracle, ties="average"))
    keys = ("fidelity_drop@0.1", "fidelity_keep@0.2")
    by_time, over_orders = (
        ", ".join(f"{key} {float(each[key]):.3f}" for key in keys) for each in (run.evaluations["oracle"], average)
    )
    yield (
        "tied-importance",
        f"{what}, explained by an oracle that gives 1 to the contacts that the rule takes and 0 to the others: "
        f"{told(run.evaluations['oracle'], 'tied-importance')}. With ties by time the values are {by_time}; averaged "
        f"over orders of tied contacts {over_orders}.",
    )
    shown = [each for each in run.explanations if each.explainer == "occlusion"]
    wrong = explanation.evaluate(explanation.collect(Squashed(model), shown))
    yield (
        "probabilities-as-logits",
        f"Probabilities of the same network, declared as logits: "
        f"{told(wrong, 'probabilities-as-logits')}. fidelity_drop@0.2 of occlusion is "
        f"{float(wrong['fidelity_drop@0.2']):.3f} then, and "
        f"{float(run.evaluations['occlusion']['fidelity_drop@0.2']):.3f} with the logits; a perfect explanation could "
        f"not exceed {float(1 / (1 + np.exp(-1)) - 0.5):.3f}.",
    )


def cached() -> tuple[str, str]:
    """A graph network with PyG's cached normalisation, on houses; masks change the graph, and not what was cached."""
    import torch
    from torch_geometric.datasets import ExplainerDataset
    from torch_geometric.datasets.graph_generator import BAGraph
    from torch_geometric.nn import GCNConv
    from torch_geometric.utils import degree

    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    data = ExplainerDataset(BAGraph(100, 2), motif_generator="house", num_motifs=30)[0]
    features = torch.nn.functional.one_hot(degree(data.edge_index[0]).long().clamp(max=9), 10).float()

    class Network(torch.nn.Module):
        def __init__(self, keep: bool) -> None:
            super().__init__()
            self.first, self.second = GCNConv(10, 32, cached=keep), GCNConv(32, 4, cached=keep)

        def forward(self, edges: Any) -> Any:
            return self.second(self.first(features, edges).relu(), edges)

    class Asked:
        model_output = "logit"

        def __init__(self, network: Any) -> None:
            self.network = network.eval()

        def predict(self, subgraph: Any, target: Any, masks: Any) -> Any:
            with torch.no_grad():
                return np.stack([self.network(data.edge_index[:, mask])[target].numpy() for mask in masks])

    evaluations, rights = [], []
    for keep in (True, False):
        torch.manual_seed(0)
        network = Network(keep)
        optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
        for _ in range(200):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(network(data.edge_index), data.y).backward()
            optimiser.step()
        rights.append(float((network(data.edge_index).argmax(1) == data.y).float().mean()))
        nodes = np.flatnonzero(data.y.numpy() > 0)[:20]
        ends = data.edge_index.numpy()
        said = []
        for node in nodes.tolist():
            subgraph = explanation.Subgraph(ends, candidates=np.arange(ends.shape[1]))
            near = np.isin(ends, ends[:, (ends == node).any(0)]).all(0)
            context = explanation.Context(subgraph, node, node)
            said.append(explanation.Explanation(context, near + 0.5 * (ends == node).any(0), "neighbours"))
        evaluations.append(explanation.evaluate(Asked(network), said, levels=(0.1, 0.2), ties="average"))
    drop = [float(each["fidelity_drop@0.1"]) for each in evaluations]
    return (
        "model-ignores-edges",
        f"Two layers of torch_geometric's `GCNConv(cached=True)`, trained to classify the positions in a house "
        f"({rights[0]:.0%} of the nodes right), 20 nodes explained by their neighbourhood: "
        f"{told(evaluations[0], 'model-ignores-edges')}. The layers keep the first graph that they saw, so "
        f"fidelity_drop@0.1 is {drop[0]:.3f}; trained without `cached=True` it is {drop[1]:.3f}, and the check finds "
        f"{told(evaluations[1], 'model-ignores-edges')}.",
    )


# -------------------------------------------------------------------------------------------------- generators


def digits() -> Iterator[tuple[str, str]]:
    example = runpy.run_path(str(DIGITS))
    learnt, held = example["halves"]()
    judge = example["Judge"](learnt)
    options: dict[str, Any] = {"data": held, "train": learnt, "num_samples": example["SAMPLES"]}

    def judged(subject: Any, classifier: Any = judge) -> Evaluation:
        return generation.evaluate(generation.collect(subject, classifier=classifier, **options))

    once, again = (judged(example["TrainingSet"](learnt, replace=replaced)) for replaced in (False, True))
    yield (
        "copied-training-set",
        f"Digits, with the training half as the output of a generator: {told(once, 'copied-training-set')}. "
        f"Nothing else is wrong with it: its distance from real digits is {float(once['overall_mean_distance']):.2f}, "
        f"within the distance between halves of real ones, the energy test gives "
        f"p = {float(once['energy_p_value']):.2f}, and "
        f"{float(once['overall_exact_accuracy']):.1%} are the requested digit.",
    )
    moved = near_copies(np.asarray(learnt.samples), np.random.default_rng(0))
    near = generation.evaluate(real=held.samples, train=learnt.samples, generated=moved, metrics=["diversity"])
    yield (
        "near-copies",
        f"Digits, with one inked pixel of each training image moved: {told(near, 'near-copies')}. Their novelty is "
        f"{float(near['novelty']):.3f}.",
    )
    everything = generation.Labelled(*(np.concatenate(parts) for parts in zip(learnt, held, strict=True)))
    copies = example["TrainingSet"](learnt, replace=False)
    whole = generation.evaluate(generation.collect(copies, **options | {"data": everything}))
    yield (
        "learned-real-samples",
        f"All digits passed as held out, half of which were trained on: {told(whole, 'learned-real-samples')}. "
        f"With the other half alone the check finds the few images that are in both: "
        f"{told(once, 'learned-real-samples')}.",
    )
    yield (
        "repeated-samples",
        f"The training half of the digits, each image once and drawn with replacement. For the first the check finds "
        f"{told(once, 'repeated-samples')}, for the second: {told(again, 'repeated-samples')}. The energy test gives "
        f"p = {float(once['energy_p_value']):.3f} for the first and {float(again['energy_p_value']):.3f} for the "
        f"second: the same images; only their repeats make them look unlike real ones.",
    )
    yield (
        "distance-within-noise",
        f"The training half of the digits against the held-out half: {told(once, 'distance-within-noise')}.",
    )
    cold = judged(_cold(example["Mixture"])(learnt, components=1))
    yield (
        "collapsed-samples",
        f"Digits with independent pixels, drawn at temperature 1/3: {told(cold, 'collapsed-samples')}. "
        f"{float(cold['overall_uniqueness_ratio']):.0%} of them are distinct, PRDC precision is "
        f"{float(cold['prdc_precision']):.2f}, recall {float(cold['prdc_recall']):.2f}.",
    )
    grey = judged(example["Mixture"](learnt, components=8), _grey())
    yield (
        "blind-classifier",
        f"Digits classified by a support vector machine that was trained on grey pixels from 0 to 16 and gets bits, 0 "
        f"or 1: {told(grey, 'blind-classifier')}. A good mixture scores "
        f"{float(grey['overall_exact_accuracy']):.2f}, and with the same machine trained on bits "
        f"{float(judged(example['Mixture'](learnt, components=8))['overall_exact_accuracy']):.2f}.",
    )


def _cold(mixture: Any) -> Any:
    class Cold(mixture):  # type: ignore[misc]
        """Draws each pixel at temperature 1/3: probabilities are pushed to 0 and 1."""

        def generate(self, condition: int, n: int, *, temperature: float, seed: int) -> Any:
            weights, ink = self._parts[condition]
            sharp = ink**3 / (ink**3 + (1 - ink) ** 3)
            draw = np.random.default_rng([seed, condition])
            return (draw.random((n, 64)) < sharp[draw.choice(len(weights), n, p=weights)]).reshape(n, 8, 8)

    return Cold


def _grey() -> Any:
    from sklearn.datasets import load_digits
    from sklearn.svm import SVC

    class Grey:
        def __init__(self) -> None:
            data = load_digits()
            self._model = SVC(C=10).fit(data.data, data.target)

        def predict(self, samples: Any) -> Any:
            return self._model.predict(samples.reshape(len(samples), 64).astype(float))

    return Grey()


def boards(checkpoint: str, classifier: str) -> Iterator[tuple[str, str]]:
    """The zoo's MoonBoard VAE."""
    case = generation.open_checkpoint(checkpoint, classifier=classifier)
    trained = restore(read_checkpoint(checkpoint), "generator")
    learnt = held_out(trained.origin, trained.grades, None, checkpoint).train
    assert learnt is not None
    subject = Moonboard(trained.model, trained.grades)
    copies = replace(case, subject=Copies(trained.model, trained.grades, train=learnt))
    judged = generation.evaluate(generation.collect(copies, sections=["conditioning"]), metrics="conditioning")
    yield (
        "claim-above-classifier",
        f"Climbing problems copied from the training set, with a classifier that was trained on the same problems: "
        f"{told(judged, 'claim-above-classifier')}.",
    )
    untrained = Moonboard(train_generator(learnt, Schedule(epochs=0))[0], trained.grades)
    latent, other = (
        generation.evaluate(
            generation.collect(replace(case, subject=each), sections=["latent_space"]), metrics="latent_space"
        )
        for each in (untrained, subject)
    )
    yield (
        "condition-in-latents",
        f"The zoo's VAE before training: {told(latent, 'condition-in-latents')}. After training its "
        f"silhouette is {float(other['silhouette_score']):.2f}, and still {told(other, 'condition-in-latents')}.",
    )
    yield "hidden-retries", _retried(subject)


def _retried(subject: Moonboard, wanted: int = 100) -> str:
    """Draw problems of each grade until there are enough valid ones, as a caller would."""
    made, codes, drawn = [], [], []
    for code in range(len(subject.conditions)):
        valid: list[Any] = []
        asked = 0
        while len(valid) < wanted:
            batch = np.asarray(subject.generate(code, wanted, seed=1000 * code + asked)) > 0.5
            # Of the last batch, only the attempts that were needed count.
            places = np.flatnonzero(subject.validate(batch))[: wanted - len(valid)]
            valid += list(batch[places])
            asked += wanted if len(valid) < wanted else int(places[-1]) + 1
        made += valid
        codes += [code] * wanted
        drawn.append(asked)
    bits = np.array(made)
    evaluation = generation.evaluate(
        generated=bits, conditions=np.array(codes), valid=subject.validate(bits), metrics=["diversity"]
    )
    said = told(evaluation, "hidden-retries", drawn=np.array(drawn))
    what = f"{wanted} valid problems of each of {len(drawn)} grades"
    return f"{what}, drawn from the zoo's VAE until there were enough: {said}."


if __name__ == "__main__":
    main(*sys.argv[1:])
