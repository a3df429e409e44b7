"""The command group: help that costs nothing, versions, and the pages that explain metrics."""

import re
import subprocess
import sys

import click
from tests.command import graphgauge as run

from graphgauge._version import __version__
from graphgauge.cli.command import say
from graphgauge.core.registry import metrics


def test_version_and_help():
    version, core, threads = run("--version", fresh=True).stdout.splitlines()
    assert version == f"graphgauge, version {__version__}"
    assert re.fullmatch(r"core: built by \S+ [\d.]+", core)
    assert re.fullmatch(r"threads: [1-9]\d*", threads)
    assert "Commands:" in run("--help", fresh=True).stdout


def test_help_imports_neither_numpy_nor_rich():
    code = """
import sys
sys.argv = ["graphgauge", "--help"]
from graphgauge.cli import main
try:
    main()
except SystemExit:
    print({"numpy", "rich", "scipy"} & set(sys.modules), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == "set()"


def test_every_command_has_help_without_error():
    from graphgauge.cli.app import cli

    for name in cli.list_commands(click.Context(cli)):
        done = run(name, "--help")
        assert done.returncode == 0, (name, done.stderr)
        assert "Usage" in done.stdout


def test_metrics_lists_and_explains_every_metric():
    listed = run("metrics").stdout
    for entry in metrics():
        assert entry.key in listed
    explained = run("metrics", "hits@5").stdout
    for word in ("hits@{k}", "direction", "range", "chance", "interval", "@inproceedings{bordes2013"):
        assert word in explained
    assert run("metrics", "ranking").stdout.startswith("ranking\n  ")
    both = run("metrics", "roc_auc").stdout  # of every family that has one of this name
    assert [line.split()[1] for line in both.splitlines() if line.startswith("  family ")] == [
        "ranking",
        "recovery",
        "prediction",
    ]
    unknown = run("metrics", "hit@5")
    assert unknown.returncode == 2
    assert "hits@10" in unknown.stderr


def test_a_reader_that_goes_away_is_no_error():
    command = f"{sys.executable} -m graphgauge metrics | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert "Traceback" not in done.stderr


def completed(*words):
    """What a shell is offered for the last word."""
    asked = {"COMP_WORDS": " ".join(["graphgauge", *words]), "COMP_CWORD": str(len(words))}
    done = run(_GRAPHGAUGE_COMPLETE="bash_complete", **asked)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_shells_complete_commands_files_and_keys_of_metrics():
    assert "_graphgauge_completion" in run(_GRAPHGAUGE_COMPLETE="bash_source").stdout
    assert completed("rank") == ["plain,ranking"]
    assert completed("ranking", "--pos-sc") == ["plain,--pos-scores"]
    assert completed("ranking", "--pos-scores", "scores/p") == ["file,scores/p"]
    assert completed("recovery", "--true", "t") == ["file,t"]
    assert completed("ranking", "--metrics", "mrr,hits") == ["plain,mrr,hits@10"]
    assert completed("metrics", "directed_f") == ["plain,directed_f1"]
    assert completed("rnking", "")  # an unknown command is passed over


def test_on_a_terminal_sentences_are_broken_between_words_and_tables_stay(monkeypatch, capsys):
    said = "metric  value  of a table that is wider than the terminal\na sentence that is longer than one line of it"
    say(said)
    assert capsys.readouterr().out == f"{said}\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "30")
    say(said)
    table, *sentence = capsys.readouterr().out.splitlines()
    assert table == said.splitlines()[0]
    assert sentence == ["a sentence that is longer than", "  one line of it"]
