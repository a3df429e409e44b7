"""The command group. Commands load when they are called, so that `--help` imports only click."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import click

from graphgauge._version import __version__
from graphgauge.cli import end

# One line each, shown by --help without importing the command. The families' commands come first.
COMMANDS = {
    "merge": "Merge saved states of parts of one evaluation.",
    "aggregate": "Means, spreads and intervals over runs, as a table.",
    "compare": "Which method is better, over seeds, datasets or items.",
    "init": "Write a commented study.toml to start from.",
    "run": "Run a study: evaluate, compare, check its gates.",
    "gate": "Is a new model worse than its baseline? For CI.",
    "verify": "Recompute results from their inputs.",
    "report": "One HTML page from a folder of results.",
    "audit": "Find misleading evaluations: checks of inputs and results.",
    "metrics": "List all metrics, or explain one.",
    "demo": "A built-in study: data, results, comparisons and conclusions.",
}
# The modules of those commands that have none of their own name.
_HOMES = {
    **dict.fromkeys(("aggregate", "compare", "gate", "audit", "report"), "results"),
    "merge": "door",
    **dict.fromkeys(("init", "run", "verify", "demo"), "studies"),
}

# Distinct from the outcomes that scripts act on.
INTERNAL_FAULT = 70
INTERRUPTED = 130
# Set by the shell that asks for completions.
_COMPLETION = "_GRAPHGAUGE_COMPLETE"


class _Commands(click.Group):
    """The commands of the families, of which a word after the name may be a door, and the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_lines()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            home = importlib.import_module(f"graphgauge.cli.{_HOMES.get(cmd_name, cmd_name)}")
            command: click.Command = getattr(home, cmd_name)
            return command
        return _of_family(cmd_name, [])[0] if _is_family(cmd_name) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not _is_family(name) and not ctx.resilient_parsing:  # completion does not need it
            from graphgauge.core.errors import UnknownNameError

            raise UnknownNameError("command", name, _lines())
        if name in COMMANDS or not _is_family(name):
            return super().resolve_command(ctx, args)
        command, rest = _of_family(name, args[1:])
        return command.name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from graphgauge.core.family import installed_lines

        with formatter.section("Commands"):
            formatter.write_dl(list(_lines().items()))
        if refused := installed_lines()[1]:
            with formatter.section("Installed, but cannot be used"):
                formatter.write_dl(list(refused.items()))


def _lines() -> dict[str, str]:
    """What each command is for."""
    from graphgauge.core.family import BUILT_IN, installed_lines

    return {**BUILT_IN, **installed_lines()[0], **COMMANDS}


def _of_family(name: str, words: list[str]) -> tuple[click.Command, list[str]]:
    from graphgauge.cli.door import family_command

    return family_command(name, words)


def _is_family(name: str) -> bool:
    """Whether a family has this name; nothing is loaded."""
    from graphgauge.core.family import BUILT_IN, family_names

    return name in BUILT_IN or name in family_names()


def _print_version(context: click.Context, option: click.Parameter, asked: bool) -> None:
    if not asked or context.resilient_parsing:
        return
    from graphgauge import _core
    from graphgauge.core.threads import default_threads

    click.echo(f"graphgauge, version {__version__}")
    click.echo(f"core: built by {_core.compiler}")
    click.echo(f"threads: {default_threads()}")
    context.exit()


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 ok; 1 a gate failed; 2 usage; 3 bad input, or a file that cannot be written; "
    "4 some evaluations of a study failed; 70 internal fault; 130 interrupted.",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version, how the compiled core was built, the number of threads, and exit.",
)
def cli() -> None:
    """Evaluate models that learn on graphs, and show how far the numbers can be trusted."""


def main() -> None:
    """Run the command line; errors are one paragraph and an exit code, a traceback only with --debug."""
    from graphgauge.cli.streams import lasting_streams

    if _COMPLETION in os.environ:  # click answers the shell in bytes, and ends
        cli.main(prog_name="graphgauge")
    with lasting_streams() as (stdout, _):
        status = _status()
        stdout.flush()
        if stdout.failure is not None:
            click.echo(f"Error: stdout cannot be written ({stdout.failure.strerror}).", err=True)
            status = status or 3
    sys.exit(status)


def _status() -> int:
    """Run the command and report errors; return the exit code."""
    try:
        with _interruptible():
            status = cli.main(standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except SystemExit as stop:
        # Code that a command imports may call sys.exit; this is not a failed gate.
        return _told(stop, f"internal fault: imported code called sys.exit({stop.code!r:.60}).", INTERNAL_FAULT)
    except Exception as error:
        return _told(error, *_explained(error))
    return status if isinstance(status, int) else 0


@contextmanager
def _interruptible() -> Iterator[None]:
    """An interrupt is an exception in here, and ends the process before and after, when there is nothing to undo."""
    before = signal.getsignal(signal.SIGINT)
    if before is not end:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _explained(error: Exception) -> tuple[str, int]:
    """A paragraph about an error, and its exit code."""
    from graphgauge.core.disk import DISK_ERRORS
    from graphgauge.core.errors import GraphgaugeError

    if isinstance(error, GraphgaugeError):
        return str(error), error.exit_code
    if isinstance(error, OSError) and (error.filename is not None or error.errno in DISK_ERRORS):
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror}.", GraphgaugeError.exit_code
    if isinstance(error, MemoryError):
        what = f"not enough memory{f' ({error})' if str(error) else ''}."
        return f"{what} Evaluate fewer items at once, or on a larger machine.", GraphgaugeError.exit_code
    said = " ".join(str(error).split())
    what = f"internal fault: {type(error).__name__}{f': {said:.300}' if said else ''}."
    return f"{what} Please report it, unless your own imported code raised it", INTERNAL_FAULT


def _told(error: BaseException, text: str, status: int) -> int:
    if "--debug" in sys.argv:
        traceback.print_exception(error)
    else:
        hint = "; --debug shows the traceback." if status == INTERNAL_FAULT else ""
        click.echo(f"Error: {text.removesuffix('.') + hint if hint else text}", err=True)
    return status
