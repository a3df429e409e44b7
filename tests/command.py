"""`graphgauge` as a process of its own, without the second that Python needs to import it.

A server imports the command line once and forks for every call. The fork has its own exit code, streams, working
directory and environment, and runs the package as `python -m graphgauge` does. torch is not imported before the fork,
because what a command does depends on whether it is loaded. All forks have the hash seed of the server; `fresh=True`
starts Python anew.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import subprocess
import sys
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULE = [sys.executable, "-m", "graphgauge"]
_SERVER = [sys.executable, "-c", "from tests.command import _serve; _serve()"]
_EARLY = ("graphgauge.stats", "graphgauge.audit", "scipy.stats")


def graphgauge(
    *arguments: object, cwd: Path | None = None, fresh: bool = False, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command; `environment` is added to that of the tests, `fresh` starts Python anew."""
    words = [str(argument) for argument in arguments]
    settings = {**os.environ, **environment}
    encoding = environment.get("PYTHONIOENCODING", "utf-8").partition(":")[0]
    if fresh or sys.platform != "linux":
        return subprocess.run(
            [*MODULE, *words], cwd=cwd, env=settings, capture_output=True, encoding=encoding, check=False
        )
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder, "out"), Path(folder, "err")]
        call = {"words": words, "cwd": str(cwd or Path.cwd()), "env": settings, "streams": list(map(str, streams))}
        code = _asked(call)
        out, err = (stream.read_text(encoding=encoding) for stream in streams)
    return subprocess.CompletedProcess([*MODULE, *words], code, out, err)


@cache
def _server() -> subprocess.Popen[str]:
    process = subprocess.Popen(_SERVER, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(process.communicate)
    return process


def _asked(call: dict[str, object]) -> int:
    process = _server()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(call) + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    assert answer, "the server of tests/command.py has ended; its stderr says why"
    return int(answer)


def _serve() -> None:
    """Answer each call on stdin with an exit code on stdout; in a fork, become the command."""
    import click

    from graphgauge.cli.app import COMMANDS, cli
    from graphgauge.core.door import doors
    from graphgauge.core.family import BUILT_IN

    for name in _EARLY:
        import_module(name)
    for command in COMMANDS:
        cli.get_command(click.Context(cli), command)
    for name in BUILT_IN:
        doors(name)
    assert "torch" not in sys.modules, "imported before the fork, which changes what commands do"
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            return _become(**json.loads(line))
        os.write(1, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return None


def _become(words: list[str], cwd: str, env: dict[str, str], streams: list[str]) -> None:
    flags = os.O_WRONLY | os.O_CREAT
    for number, target in enumerate([os.open(os.devnull, os.O_RDONLY), *(os.open(name, flags) for name in streams)]):
        os.dup2(target, number)
        os.close(target)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 (until the process ends)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    if encoding := env.get("PYTHONIOENCODING"):
        name, _, errors = encoding.partition(":")
        sys.stdout.reconfigure(encoding=name, errors=errors or "strict")  # type: ignore[union-attr]
        sys.stderr.reconfigure(encoding=name)  # type: ignore[union-attr]
    sys.argv[1:] = words
    sys.path[0] = cwd
    try:
        runpy.run_module("graphgauge", run_name="__main__", alter_sys=True)
    except SystemExit as stop:
        # Without the end of the interpreter, which would clear every module that the server has imported.
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(stop.code)
