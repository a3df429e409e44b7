"""Every command of the README and the pages runs, on small files of the names that the page gives.

The commands of a page run in order, in a folder of their own. A page whose python blocks make the files runs these in
between. What would take minutes is listed with the reason, and its words are still held to the command's own options.
"""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from tests.docs.pages import PAGES, ROOT, SHELL, Block, blocks, commands, missing, name_of, prose
from tests.docs.prepared import FILES

from graphgauge.cli.app import cli
from graphgauge.core.errors import UnknownNameError

NOT_RUN = {
    "graphgauge demo --output demo/": "the whole built-in study takes a minute; tests/study/test_sizes.py runs it",
}
# Pages whose python blocks, run in between, make what the commands read.
SCRIPTED = {"docs/quickstart.md", "docs/tables.md", "docs/gates.md"}
# What pages show of the output of commands on data that the tests do not have.
# What an ellipsis stands for on a page.
MEANT = {"docs/statistics.md": ["--pos-scores", "pos.npy", "--neg-scores", "neg.npy"]}

WITH_COMMANDS = [page for page in PAGES if any(commands(block) for block in blocks(page, *SHELL))]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_commands_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = name_of(page)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for prepare in FILES.get(name, ()):
        prepare()
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    for block in blocks(page, *SHELL, "text", *(["python"] if name in SCRIPTED else [])):
        if block.kind == "python":
            exec(compile("\n" * block.above + block.text, str(page), "exec"), namespace)
        elif block.kind == "text":
            if block.follows in SHELL:
                assert missing(block.text, printed) is None
        else:
            printed = _run(block, MEANT.get(name, []))
    sys.modules.pop("models", None)  # the page's own, imported by its commands


def _run(block: Block, meant: list[str]) -> str:
    """What the commands of a block print."""
    printed = []
    for words in commands(block):
        words = [part for word in words for part in (meant if word == "…" else [word])]
        if words[0] == "graphgauge":
            _parse(words)
            if " ".join(words) not in NOT_RUN:
                printed.append(_call(words))
        else:
            _OTHERS[words[0]](words)
    return "\n".join(printed)


def _call(words: list[str]) -> str:
    done = CliRunner().invoke(cli, words[1:])
    if done.exit_code:
        pytest.fail(f"{' '.join(words)}\nexit code {done.exit_code}: {done.exception!r}\n{done.output}")
    return str(done.stdout)


def _parse(words: list[str]) -> None:
    """Every word is one that the command takes; nothing is read or run."""
    command: click.Command = cli
    context = click.Context(cli)
    rest = words[1:]
    while isinstance(command, click.Group) and rest:
        _, found, rest = command.resolve_command(context, list(rest))
        assert found is not None
        command = found
        context = click.Context(command, parent=context)
    command.make_parser(context).parse_args(list(rest))


def _pip(words: list[str]) -> None:
    assert words[:2] == ["pip", "install"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package in words[2:]:
        name, extras = re.fullmatch(r"([\w-]+|\.)(?:\[([\w,]+)\])?", package).groups()  # type: ignore[union-attr]
        assert name in (project["name"], ".")
        assert not set((extras or "").split(",")) - {"", *project["optional-dependencies"]}


def _script(words: list[str]) -> None:
    """Scripts that write pages train and fetch for minutes; they have to be there."""
    assert (ROOT / words[1]).is_file(), " ".join(words)


def _environment(words: list[str]) -> None:
    """An environment of one's own is made and entered under one name; the tests have theirs."""
    assert words in (["python3", "-m", "venv", ".venv"], ["source", ".venv/bin/activate"])


def _target(words: list[str]) -> None:
    """A target of the Makefile; running it would set up an environment."""
    assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8")


def _core(words: list[str]) -> None:
    """The core is built by the environment's own set-up."""
    assert (ROOT / "CMakeLists.txt").is_file(), " ".join(words)


_OTHERS = {
    "cmake": _core,
    "make": _target,
    "pip": _pip,
    "python": _script,
    "python3": _environment,
    "source": _environment,
}


def test_what_is_not_run_is_still_on_a_page() -> None:
    named = {" ".join(words) for page in PAGES for block in blocks(page, *SHELL) for words in commands(block)}
    assert set(NOT_RUN) <= named


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_within_sentences_are_right(page: Path) -> None:
    for code in re.findall(r"(?<!`)`(graphgauge [^`]+|make [^`]+)`(?!`)", prose(page)):
        words = shlex.split(code)
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), code
        elif not {"FAMILY", "…"} & set(words):
            _parse(words)


def test_a_wrong_option_is_seen() -> None:
    with pytest.raises(click.UsageError):
        _parse(["graphgauge", "ranking", "--no-such-option", "1"])
    with pytest.raises(UnknownNameError, match="unknown command"):
        _parse(["graphgauge", "no-such-command"])
