"""Killed at any moment, a study goes on, and ends with what an undisturbed run gives."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.command import MODULE
from tests.study.conftest import STUDY, results_of, write_scores

KILLS = 8
KILLED = int(os.environ.get("GRAPHGAUGE_KILLS", "100"))
SEEDS = 6
# Files beside the results too, and enough evaluations that kills fall between and into them.
MANY = (
    STUDY.replace("k = [1, 3]", "k = [1]")
    .replace("seeds = [0, 1, 2]", f"seeds = {list(range(SEEDS))}")
    .replace("groups =", "keep_items = true\ngroups =")
)


@pytest.mark.slow
def test_a_hundred_kills_lose_nothing(tmp_path):
    """At random moments of `run`, `verify`, `report` and `gate`: no traceback, and nothing half written."""
    write_scores(tmp_path, seeds=2)
    (tmp_path / "study.toml").write_text(MANY.replace(str(list(range(SEEDS))), "[0, 1]"))
    start(tmp_path).communicate()
    expected, draw = results_of(tmp_path), random.Random(1)
    result = next((tmp_path / "results/good").rglob("metrics_*.json")).relative_to(tmp_path)
    commands = [
        ["run", "study.toml", "--quiet", "--jobs", "2"],
        ["verify", "study.toml", "--quiet", "--jobs", "2"],
        ["report", "results", "-o", "page.html"],
        ["gate", str(result), "--gate", "mrr > 0", "-o", "gates.json"],
    ]
    for number in range(KILLED):
        words = commands[number % len(commands)]
        if words[0] == "run":
            shutil.rmtree(tmp_path / "results/poor", ignore_errors=True)
        run = subprocess.Popen(
            [*MODULE, *words], cwd=tmp_path, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(draw.uniform(0.05, 4.0))
        if run.poll() is None:
            os.killpg(run.pid, draw.choice([signal.SIGKILL, signal.SIGINT, signal.SIGTERM]))
        _, errors = run.communicate()
        whole = (0, 1) if words[0] == "verify" else (0,)  # a run that was killed left results out
        ended = (*whole, 130, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT)
        if b"graphgauge/cli" not in errors and b"KeyboardInterrupt" in errors:
            continue  # Python itself was interrupted, before it had come to a line of the command
        assert run.returncode in ended, (words, errors)
        assert b"Traceback" not in errors, (words, errors)
        assert results_of(tmp_path).items() <= expected.items()
        for path in (tmp_path / "page.html", tmp_path / "gates.json"):
            assert not path.exists() or path.read_text().rstrip().endswith(("</html>", "}"))
    _, errors = start(tmp_path).communicate()
    assert results_of(tmp_path) == expected, errors


def start(folder):
    return subprocess.Popen(
        [*MODULE, "run", "study.toml", "--quiet", "--jobs", "1"],
        cwd=folder,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_killed_runs_end_byte_equal_to_an_undisturbed_one(tmp_path_factory):
    whole, broken = (tmp_path_factory.mktemp(name) for name in ("whole", "broken"))
    for folder in (whole, broken):
        write_scores(folder, seeds=SEEDS)
        (folder / "study.toml").write_text(MANY)
    begin = time.perf_counter()
    _, errors = start(whole).communicate()
    usual = time.perf_counter() - begin
    expected = results_of(whole)
    assert len([name for name in expected if "metrics_" in name]) == 4 * SEEDS, errors
    draw = random.Random(0)
    seen, killed = set(), 0
    while killed < KILLS:
        run = start(broken)
        if killed % 3:
            wait_for_more(run, broken, draw.randrange(1, 5), draw.uniform(0, 0.02))
        else:
            time.sleep(usual * draw.uniform(0.1, 1.0))
        if run.poll() is None:
            killed += 1
            if killed % 2:
                run.kill()  # its workers have to notice
            else:
                os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        found = results_of(broken)
        assert found.items() <= expected.items()
        seen.add(len(found))
        if len(found) == len(expected):  # begin anew, so that every kill meets a run at work
            shutil.rmtree(broken / "results")
    last = start(broken)
    _, errors = last.communicate()
    assert last.returncode == 0, errors
    assert results_of(broken) == expected
    assert len(seen) > 3, "the kills fell on too few different moments"
    assert not [path for path in (broken / "results").rglob(".*.*") if path.is_file()]


def wait_for_more(run, folder, files, then):
    """Until that many more files lie in the results, and a moment longer; the number of files decides, not the load."""
    before = len(list(folder.rglob("metrics_*")))
    while run.poll() is None and len(list(folder.rglob("metrics_*"))) < before + files:
        time.sleep(0.005)  # without it the search takes the core that the run needs
    time.sleep(then)


def test_interrupted_ends_quietly_with_130(tmp_path):
    write_scores(tmp_path, seeds=SEEDS)
    (tmp_path / "study.toml").write_text(MANY)
    run = start(tmp_path)
    wait_for_more(run, tmp_path, 1, 0)
    os.killpg(run.pid, signal.SIGINT)
    _, errors = run.communicate()
    assert run.returncode in (130, 0)  # 0 where it was about to end
    assert "Traceback" not in errors


def test_workers_end_with_their_run(tmp_path):
    write_scores(tmp_path, seeds=SEEDS)
    (tmp_path / "study.toml").write_text(MANY)
    run = start(tmp_path)
    children = []
    while not children and run.poll() is None:
        time.sleep(0.005)
        children = offspring(run.pid)
    run.kill()
    run.communicate()
    deadline = time.monotonic() + 60
    while any(alive(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert children
    assert not [child for child in children if alive(child)]


def offspring(pid):
    return [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/stat") if state(path)[1] == pid]


def alive(pid):
    return state(Path(f"/proc/{pid}/stat"))[0] not in ("Z", "gone")


def state(path):
    """A process's state and parent, from after its name, which may hold anything."""
    try:
        letter, parent = path.read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return "gone", 0
    return letter, int(parent)
