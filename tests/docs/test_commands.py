"""Every command of the README and the pages runs, on small files of the names that the page gives.

The commands of a page run in order, in a folder of their own. A page whose python blocks make the files runs these in
between. What would take minutes is listed with the reason, and its words are still held to the command's own options.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from tests.docs.pages import PAGES, ROOT, Block, blocks, commands, name_of
from tests.docs.prepared import FILES

from graphgauge.cli.app import cli

TRAINING = "trains for half a minute; tests/zoo trains smaller ones"
NOT_RUN = {
    "graphgauge demo": "the whole built-in study takes a minute; tests/study/test_demo.py runs it",
    "graphgauge demo --output demo/": "the same",
    "graphgauge zoo moonboard train": TRAINING,
    "graphgauge zoo moonboard train-classifier": TRAINING,
    "graphgauge zoo moonboard train --data problems.json --output models/vae.pth": TRAINING,
    "graphgauge zoo zaratustra run --data cora.npz --cycles 50 --seeds 8 --anchor uniform --output run/":
        "runs for minutes on data that have to be fetched; tests/zoo/test_zaratustra.py runs shorter ones",
}  # fmt: skip
# Pages whose python blocks, run in between, make what the commands read.
SCRIPTED = {"docs/quickstart.md"}
# What an ellipsis stands for on a page.
MEANT = {"docs/statistics.md": ["--pos-scores", "pos.npy", "--neg-scores", "neg.npy"]}

WITH_COMMANDS = [page for page in PAGES if any(commands(block) for block in blocks(page, "console"))]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_commands_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = name_of(page)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for prepare in FILES.get(name, ()):
        prepare()
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page, "console", *(["python"] if name in SCRIPTED else [])):
        if block.kind == "python":
            exec(compile("\n" * block.above + block.text, str(page), "exec"), namespace)
        else:
            _run(block, MEANT.get(name, []))
    sys.modules.pop("models", None)  # the page's own, imported by its commands


def _run(block: Block, meant: list[str]) -> None:
    for words in commands(block):
        words = [part for word in words for part in (meant if word == "…" else [word])]
        if words[0] == "graphgauge":
            _parse(words)
            if " ".join(words) not in NOT_RUN:
                _call(words)
        else:
            _OTHERS[words[0]](words)


def _call(words: list[str]) -> None:
    done = CliRunner().invoke(cli, words[1:])
    if done.exit_code:
        pytest.fail(f"{' '.join(words)}\nexit code {done.exit_code}: {done.exception!r}\n{done.output}")


def _parse(words: list[str]) -> None:
    """Every word is one that the command takes; nothing is read or run."""
    command: click.Command = cli
    context = click.Context(cli)
    rest = words[1:]
    while isinstance(command, click.Group):
        found = command.get_command(context, rest[0])
        assert found is not None, f"no command {rest[0]!r}: {' '.join(words)}"
        command, rest = found, rest[1:]
        context = click.Context(command, parent=context)
    command.make_parser(context).parse_args(list(rest))


def _pip(words: list[str]) -> None:
    assert words[:2] == ["pip", "install"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package in words[2:]:
        name, extras = re.fullmatch(r"([\w-]+)(?:\[([\w,]+)\])?", package).groups()  # type: ignore[union-attr]
        assert name == project["name"]
        assert not set((extras or "").split(",")) - {"", *project["optional-dependencies"]}


def _script(words: list[str]) -> None:
    """Scripts that write pages train and fetch for minutes; they have to be there."""
    assert (ROOT / words[1]).is_file(), " ".join(words)


_OTHERS = {"pip": _pip, "python": _script}


def test_what_is_not_run_is_still_on_a_page() -> None:
    named = {" ".join(words) for page in PAGES for block in blocks(page, "console") for words in commands(block)}
    assert set(NOT_RUN) <= named


def test_a_wrong_option_is_seen() -> None:
    with pytest.raises(click.UsageError):
        _parse(["graphgauge", "ranking", "--no-such-option", "1"])
    with pytest.raises(AssertionError, match="no command"):
        _parse(["graphgauge", "no-such-command"])
