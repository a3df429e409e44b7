"""The command group. Commands load when they are called, so that `--help` costs no more than click."""

from __future__ import annotations

import os
import sys

import click

from graphgauge._version import __version__
from graphgauge.cli.lazy import LazyGroup

# One line each, shown by --help without importing the command.
COMMANDS = {
    "ranking": "Link prediction: MRR, Hits@K and their kin.",
    "recovery": "Learned graphs against true ones: SHD, F1, AUPRC.",
    "forecasting": "Forecasts on nodes: errors, calibration and coverage.",
    "generation": "Generators: reconstruction, diversity, statistics, latent space, conditioning.",
    "explanation": "Explanations of models: fidelity, acc-AUC, cohesiveness.",
    "evolution": "Graphs that grow by themselves: what a system adds, cycle by cycle.",
    "merge": "Merge saved states of parts of one evaluation.",
    "aggregate": "Means, spreads and intervals over runs, as a table.",
    "compare": "Which method is better, over seeds, datasets or items.",
    "init": "Write a commented study.toml to start from.",
    "run": "Run a study: evaluate, compare, hold its gates.",
    "verify": "Recompute results from their inputs.",
    "report": "One HTML page from a folder of results.",
    "audit": "Where an evaluation misleads: checks of inputs and results.",
    "metrics": "List all metrics, or explain one.",
    "zoo": "Systems to evaluate: train them, run them, draw what they make.",
    "demo": "A built-in study: data, results, comparisons and what they show.",
}


@click.group(
    cls=LazyGroup,
    lines=COMMANDS,
    place="graphgauge.cli.{}",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 ok; 1 a gate failed; 2 usage; 3 bad input; 4 some of a study failed; 130 interrupted.",
)
@click.version_option(__version__, prog_name="graphgauge")
def cli() -> None:
    """How good is a model that learns on graphs, and how far can the number be trusted."""


def main() -> None:
    """Run the command line; errors are one paragraph and an exit code, a traceback only with --debug."""
    try:
        status = cli.main(standalone_mode=False)
    except click.exceptions.Exit as stop:
        status = stop.exit_code
    except click.Abort:
        status = 130
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except BrokenPipeError:
        # The reader went away (`graphgauge … | head`); what it did not want is not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except SystemExit as stop:
        # Click does not end the process here: some other code has tried to, before anything was finished.
        click.echo(f"Error: the code that was run ended the process (SystemExit: {stop.code}).", err=True)
        status = 3
    except Exception as error:
        from graphgauge.core.errors import GraphgaugeError

        if not isinstance(error, GraphgaugeError) or "--debug" in sys.argv:
            raise
        click.echo(f"Error: {error}", err=True)
        status = error.exit_code
    sys.exit(status if isinstance(status, int) else 0)
