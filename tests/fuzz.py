"""`make fuzz`: the property tests over and over, with new examples in each round, until the time is up.

`python -m tests.fuzz MINUTES [pytest's arguments]` runs pytest again and again, each round with a seed of its own, and
stops at the first round that fails. As a plugin of such a round this module ends it in time, and says how to repeat
what failed.
"""

from __future__ import annotations

import os
import random
import secrets
import subprocess
import sys
import time

import pytest

DEADLINE = "GRAPHGAUGE_FUZZ_UNTIL"
TIME_IS_UP = "the time is up"


def main(minutes: str, *arguments: str) -> int:
    deadline = time.time() + 60 * float(minutes)
    environment = os.environ | {DEADLINE: str(deadline)}
    rounds = 0
    while time.time() < deadline:
        rounds += 1
        seed = secrets.randbelow(2**32)
        print(f"round {rounds}: --hypothesis-seed={seed}", flush=True)
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "tests.fuzz",
            "-m",
            "hypothesis and not slow and not peers",
            "--hypothesis-profile=fuzz",
            f"--hypothesis-seed={seed}",
            *arguments,
        ]
        code = subprocess.run(command, env=environment, check=False).returncode
        if code:
            return code
    print(f"{rounds} rounds without a failure")
    return 0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Another order in each round, so that a round that is cut short leaves out other tests each time."""
    if config.getoption("--hypothesis-seed"):
        random.Random(config.getoption("--hypothesis-seed")).shuffle(items)


def pytest_runtest_setup() -> None:
    if time.time() > float(os.environ.get(DEADLINE, "inf")):
        pytest.skip(TIME_IS_UP)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    failed = [report.nodeid for kind in ("failed", "error") for report in terminalreporter.stats.get(kind, [])]
    options = f"--hypothesis-profile=fuzz --hypothesis-seed={config.getoption('--hypothesis-seed')}"
    for place in dict.fromkeys(failed):
        terminalreporter.write_line(f"Repeat with: {sys.executable} -m pytest {options} '{place}'")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
