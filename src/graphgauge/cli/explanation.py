"""`graphgauge explanation …`."""

from __future__ import annotations

from typing import Any

import click

from graphgauge.cli.common import Inputs, Run, family_options, stage_bars
from graphgauge.cli.types import FACTORY, INTEGERS, SHARES
from graphgauge.core.errors import OptionError
from graphgauge.core.factory import made
from graphgauge.core.result import Evaluation
from graphgauge.explanation import evaluate, read_explanations, read_table
from graphgauge.explanation.conventions import CONVENTIONS
from graphgauge.explanation.masks import BY, KEEP, LEVELS, MODEL_OUTPUT, MODES, NORMALIZE, SWEEP, TIES
from graphgauge.explanation.samples import KL, SCORES
from graphgauge.io.hashing import receipt_input

# Options for collecting answers, which are fixed in a table.
_ASKING = ("levels", "topk", "model_output", "by", "normalize", "ties", "random", "batch_edges")


@click.command(name="explanation")
@click.option("--table", metavar="FILE", help="Answers of a model, as collected: .jsonl or .parquet.")
@click.option("--explanations", metavar="FILE", help="Explanations to ask a model about: .jsonl, one event per line.")
@click.option("--model", type=FACTORY, help="Factory of the model: imported and called without arguments.")
@click.option(
    "--save-table", type=click.Path(dir_okay=False),
    help="Append the model's answers to this .jsonl as they arrive; a second run resumes from it.",
)  # fmt: skip
@click.option("--explainer", help="The explainer to evaluate, if there are several.")
@click.option("--levels", type=SHARES, help=f"Shares of the edges to keep and drop.  [default: {LEVELS}]")
@click.option("--topk", type=INTEGERS, help="Also numbers of edges to keep and drop.")
@click.option("--model-output", type=click.Choice(MODEL_OUTPUT), help="The model's output, unless it declares it.")
@click.option("--by", type=click.Choice(BY), help="Rank edges by importance or by its size.  [default: value]")
@click.option("--normalize", type=click.Choice(NORMALIZE), help="Scale importances to [0, 1] first.  [default: none]")
@click.option(
    "--ties", type=click.Choice(TIES), help="Equal importance: by time, source, target, or averaged.  [default: fixed]"
)
@click.option("--random", type=click.IntRange(min=1), help="Orders that make up the random explainer.  [default: 3]")
@click.option("--batch-edges", type=click.IntRange(min=1), help="Edges sent to the model together.  [default: 30000]")
@click.option("--convention", type=click.Choice(tuple(CONVENTIONS)), help="Names and numbers of another library.")
@click.option(
    "--score", type=click.Choice(SCORES), default="class", show_default=True,
    help="Probability of the class predicted on the whole graph, or the largest one.",
)  # fmt: skip
@click.option("--signed", is_flag=True, help="Fidelity as f(G) − f(masked), without its absolute value.")
@click.option(
    "--label-threshold", type=click.FloatRange(0, 1), default=0.5, show_default=True,
    help="Probability from which an event without label counts as class 1.",
)  # fmt: skip
@click.option("--best-mode", type=click.Choice(MODES), default="drop", show_default=True, help="Of fidelity_best.")
@click.option("--acc-mode", type=click.Choice(MODES), help="Of acc_auc.  [default: keep]")
@click.option("--acc-cap", type=float, help="Largest share of acc_auc.  [default: 0.3]")
@click.option("--acc-points", type=click.IntRange(min=2), help="Points of acc_auc.  [default: 16]")
@click.option("--acc-keep", type=click.Choice(KEEP), help="Keep the top s, or the top 1 − s.  [default: top]")
@click.option("--kl", type=click.Choice(KL), default="forward", show_default=True, help="Of unfaithfulness.")
@click.option("--delta-t", type=float, help="Time scale of cohesiveness.  [default: range of the candidates' times]")
@click.option("--keep", type=click.Choice(["items"]), help="Store the values of single events next to the result.")
@family_options
def command(
    run: Run, table: str | None, explanations: str | None, model: str | None, save_table: str | None, signed: bool,
    best_mode: str, kl: str, delta_t: float | None, **options: Any,
) -> tuple[Evaluation, Inputs]:  # fmt: skip
    """Evaluate whether explanations show what a model used.

    Either --table, or --explanations with --model.
    """
    if (table is None) == (explanations is None) or (explanations is None) != (model is None):
        raise OptionError("give --table, or --explanations with --model")
    asking = {name: value for name in _ASKING if (value := options.pop(name)) is not None}
    sweep = {name: value for name in SWEEP if (value := options.pop(f"acc_{name}")) is not None}
    single: dict[str, dict[str, Any]] = {
        "acc_auc": sweep,
        "fidelity_best": {"mode": best_mode},
        "unfaithfulness": {"kl": kl},
        "cohesiveness": {"delta_t": delta_t},
    }
    options |= {
        "metrics": run.metric_keys, "nan": run.nan, "confidence": run.confidence, "absolute": not signed,
        "options": single,
    }  # fmt: skip
    if explanations is None or model is None:
        given = [*asking, *(["save_table"] if save_table else [])]
        if given:
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise OptionError(f"{flags}: only with --model; a table already has the answers")
        assert table is not None
        return evaluate(read_table(table), **options), lambda: [receipt_input("table", table)]
    with stage_bars(run) as progress:
        evaluation = evaluate(
            made(model), read_explanations(explanations), seed=run.seed, path=save_table, progress=progress, **asking,
            **options,
        )  # fmt: skip
    return evaluation, lambda: [receipt_input("explanations", explanations)]
