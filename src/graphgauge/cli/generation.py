"""`graphgauge generation …`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import click

from graphgauge.cli.common import Inputs, Run, family_options, stage_bars
from graphgauge.cli.forms import Form, FormCommand, form_of
from graphgauge.cli.types import FACTORY, INTEGERS, NAMES
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.factory import made
from graphgauge.core.metric import metrics, sections
from graphgauge.core.result import Evaluation
from graphgauge.core.schema import evaluation_from_dict, read_content
from graphgauge.generation.collect import Collection, Progress
from graphgauge.generation.evaluate import evaluate_section, joined, part_of
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.section_results import Request
from graphgauge.generation.sections.two_sided import Draws
from graphgauge.generation.subjects import Case, Labelled, best_device, open_checkpoint
from graphgauge.generation.table import Table
from graphgauge.io.arrays import read_array, read_labels
from graphgauge.io.hashing import receipt_input
from graphgauge.study.code import sources

# Options for sampling from a generator.
_ASKING = ("num_samples", "temperature", "threshold", "empty")
_CONDITIONS = ("real_conditions", "conditions")
FORMS = {
    "checkpoint": Form(("checkpoint",), ("data", "classifier_checkpoint", "cpu", *_ASKING)),
    "subject": Form(("subject",), ("data", "train", *_ASKING)),
    "samples": Form(
        ("real", "generated"), ("train", "valid", *_CONDITIONS, "labels", "ordered"),
        needs={"real_conditions": ("real",), "conditions": ("generated",), "valid": ("generated",),
               "labels": _CONDITIONS, "ordered": _CONDITIONS},
    ),
    "table": Form(("table",), ("empty",)),
}  # fmt: skip
_LATER = "not evaluated yet"


class _Command(FormCommand):
    """A command whose help lists what `--metrics` takes, from the registry."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = []
        for item in sections("generation"):
            keys = [entry.key for entry in metrics("generation") if entry.section == item.name]
            rows.append((item.name, ", ".join(keys)))
        loose = [entry.key for entry in metrics("generation") if entry.section is None]
        with formatter.section("Sections, and the keys in them"):
            formatter.write_dl([*rows, *([("", ", ".join(loose))] if loose else [])])


@click.command(name="generation", cls=_Command, forms=FORMS)
@click.option("--checkpoint", metavar="FILE", help="A trained generator; the file names its subject.")
@click.option("--data", metavar="FILE", help="Real samples, as the subject reads them, or .npz: samples, conditions.")
@click.option("--classifier-checkpoint", metavar="FILE", help="A trained classifier, for conditioning.")
@click.option("--subject", type=FACTORY, help="Instead of a checkpoint: code that makes a subject, or a case.")
@click.option("--real", metavar="FILE", help="Without a model: real samples, an array of bits or .json with graphs.")
@click.option("--generated", metavar="FILE", help="Generated samples, likewise.")
@click.option("--real-conditions", metavar="FILE", help="The condition of each real sample.")
@click.option("--conditions", metavar="FILE", help="The requested condition of each generated sample.")
@click.option("--train", metavar="FILE", help="The generator's training samples, for novelty.")
@click.option("--valid", metavar="FILE", help="Which generated samples are valid.")
@click.option("--labels", type=NAMES, metavar="A,B,…", help="Names of the conditions, in order.")
@click.option("--ordered", is_flag=True, help="The conditions are ordered, as in --labels or by number.")
@click.option("--table", metavar="FILE", help="Answers collected before.")
@click.option("--save-table", type=click.Path(dir_okay=False), help="Write the collected answers (.npz).")
@click.option(
    "--num-samples", type=click.IntRange(min=1), default=100, show_default=True, help="Attempts per condition."
)
@click.option("--temperature", type=float, default=1.0, show_default=True, help="Sampling temperature.")
@click.option("--threshold", type=float, default=0.5, show_default=True, help="Probabilities above it become bits.")
@click.option("--k", type=INTEGERS, default="10", show_default=True, help="Sizes of unique@k.")
@click.option(
    "--empty",
    type=click.Choice(["1", "nan", "skip"]),
    default="1",
    show_default=True,
    help="Score of a reconstruction if both sides are empty.",
)
@click.option(
    "--resamples", type=click.IntRange(min=1), default=1000, show_default=True, help="Draws for nulls and bootstraps."
)
@click.option(
    "--permutations", type=click.IntRange(min=1), default=999, show_default=True, help="Permutations of tests."
)
@click.option("--cpu", is_flag=True, help="Do not use an accelerator.")
@family_options
def command(
    run: Run, k: tuple[int, ...], empty: str, resamples: int, permutations: int, save_table: str | None, **options: Any
) -> tuple[Evaluation, Inputs]:
    """Evaluate whether generated samples are valid, new, diverse, realistic, and match their condition.

    With --output the result file is rewritten after each section; a stopped run resumes from there.
    """  # fmt: skip
    request = Request(
        None if run.metric_keys is None else tuple(run.metric_keys), k, 1 if empty == "1" else empty, run.confidence,
        Draws(run.seed, resamples, permutations), run.nan, run.threads,
    )  # fmt: skip
    names = list(request.by_section)  # an unknown name should fail before the evaluation
    form = form_of(FORMS, options)
    if run.nan == "omit" and form != "samples":
        raise OptionError("--nan omit goes with --real and --generated", fix="Elsewhere NaN is an error.")
    with stage_bars(run) as progress:
        source = _SOURCES[form](options, run, progress)
        described = cache(source.inputs)  # hash only once
        path = run.place("generation") if run.writes else None
        earlier = None if path is None else _earlier(path, {**source.options, **request.options}, described, run)
        parts: list[Evaluation] = []
        for place, name in enumerate(names):
            part = None if earlier is None else part_of(earlier, name, request)
            if part is None:
                part = evaluate_section(source.table(name), name, request)
            else:
                run.say(f"{name}: taken from {path}")
            parts.append(part)
            progress("sections", place + 1, len(names))
            evaluation = _tagged(joined(parts, request), source.model)
            if path is not None and place + 1 < len(names):
                evaluation.skipped |= dict.fromkeys(names[place + 1 :], _LATER)
                run.write(evaluation, path, described)
        if save_table is not None:
            source.table(None).save(save_table)
    return evaluation, described


@dataclass(frozen=True)
class Source:
    """The source of samples: the table that a section needs (None: the whole), and its inputs."""

    table: Callable[[str | None], Table]
    options: Mapping[str, Any]
    inputs: Inputs
    model: str = ""


def _from_checkpoint(options: Mapping[str, Any], run: Run, progress: Progress) -> Source:
    files = {name: options[name] for name in ("checkpoint", "data", "classifier_checkpoint") if options[name]}
    if options["data"] is not None and not Path(options["data"]).is_file():
        raise InputError("no such file", where=options["data"])
    case = open_checkpoint(
        options["checkpoint"], data=options["data"], classifier=options["classifier_checkpoint"],
        device=best_device(options["cpu"]),
    )  # fmt: skip
    return _asking(case, {}, options, run, progress, files, options["checkpoint"])


def _from_subject(options: Mapping[str, Any], run: Run, progress: Progress) -> Source:
    subject = made(options["subject"])
    given = {name: _pair(options[name]) for name in ("data", "train") if options[name]}
    files = {name: options[name] for name in given}
    files |= {f"code.{name}": str(path) for name, path in sources(options["subject"], Path.cwd()).items()}
    return _asking(subject, given, options, run, progress, files, options["subject"])


def _asking(
    subject: Case | Any, given: Mapping[str, Any], options: Mapping[str, Any], run: Run, progress: Progress,
    files: Mapping[str, str], model: str,
) -> Source:  # fmt: skip
    collection = Collection(
        subject, num_samples=options["num_samples"], temperature=options["temperature"],
        threshold=options["threshold"], seed=run.seed, progress=progress, **given,
    )  # fmt: skip
    return Source(
        lambda name: collection.table(None if name is None else [name]), collection.options,
        lambda: [receipt_input(name, path) for name, path in files.items()], model,
    )  # fmt: skip


def _from_samples(options: Mapping[str, Any], run: Run, progress: Progress) -> Source:
    names = ("real", "generated", "train", "real_conditions", "conditions", "valid")
    files = {name: options[name] for name in names if options[name]}
    given: dict[str, Any] = {name: _READERS.get(name, _read_samples)(path) for name, path in files.items()}
    table = Table.of(labels=options["labels"], ordered=options["ordered"], nan=run.nan, **given)
    return Source(lambda name: table, {}, lambda: [receipt_input(name, path) for name, path in files.items()])


def _from_table(options: Mapping[str, Any], run: Run, progress: Progress) -> Source:
    table = Table.load(options["table"])
    return Source(lambda name: table, table.options, lambda: [receipt_input("table", options["table"])])


_SOURCES = {
    "checkpoint": _from_checkpoint,
    "subject": _from_subject,
    "samples": _from_samples,
    "table": _from_table,
}


_READERS: dict[str, Callable[[str], Any]] = {
    "real_conditions": read_labels,
    "conditions": read_labels,
    "valid": read_array,
}


def _read_samples(path: str) -> Any:
    """An array of bits, or the graphs in a JSON file: lists of edges, or {"nodes": number, "edges": […]} each."""
    if not path.endswith(".json"):
        return read_array(path)
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        return Graphs.of([_graph(item) for item in content], path)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError("no such file", where=path) from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        fix = "Each is a list of edges [source, target]."
        raise InputError("not a JSON list of graphs", where=path, fix=fix) from None


def _graph(item: Any) -> Any:
    edges = [(source, target) for source, target in (item["edges"] if isinstance(item, dict) else item)]
    return (item["nodes"], edges) if isinstance(item, dict) else edges


def _pair(path: str) -> Labelled:
    """Samples and their conditions from one .npz archive."""
    if not path.endswith(".npz"):
        raise InputError("expected an .npz with the arrays samples and conditions", where=path)
    return Labelled(read_array(f"{path}:samples"), read_labels(f"{path}:conditions"))


def _earlier(path: Path, options: Mapping[str, Any], inputs: Inputs, run: Run) -> Evaluation | None:
    """The results of an earlier run with the same inputs and options."""
    if not path.exists():
        return None
    try:
        content = read_content(path)
        evaluation = evaluation_from_dict(content, where=str(path))
        hashes = {entry["name"]: entry["hash"] for entry in content["receipt"]["inputs"]}
        version = content["receipt"]["versions"]["graphgauge"]
    except (InputError, KeyError, TypeError):
        raise InputError("is not a result file", where=str(path), fix="Name another --output, or remove it.") from None
    fresh = Evaluation("generation", [], options=options).to_dict()
    same = {
        "options": {name: content["options"].get(name) for name in fresh["options"]} == fresh["options"],
        "inputs": hashes == {entry["name"]: entry["hash"] for entry in inputs()},
        "version": version == fresh["receipt"]["versions"]["graphgauge"],
        "nan": evaluation.conventions.get("nan") == run.nan,
        # Breakdowns in side files are not read back.
        "length": not content["side_files"],
    }
    changed = [name for name, unchanged in same.items() if not unchanged]
    if evaluation.family != "generation" or changed:
        run.say(f"{path}: different {', '.join(changed) or 'family'}, so everything is evaluated again")
        return None
    return evaluation


def _tagged(evaluation: Evaluation, model: str) -> Evaluation:
    if model:
        evaluation.run["tags"] = {"model": Path(model).name}
    return evaluation
