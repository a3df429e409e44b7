"""How many threads a call may use."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import graphgauge
from graphgauge.core.errors import OptionError
from graphgauge.core.threads import VARIABLE, _quota, available_threads, default_threads, threads_for

MUCH = 1 << 30


@pytest.fixture(autouse=True)
def unset(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


def test_a_block_is_before_the_environment_which_is_before_the_machine(monkeypatch):
    assert default_threads() == available_threads() >= 1
    monkeypatch.setenv(VARIABLE, "7")
    assert default_threads() == 7
    with graphgauge.threads(3):
        assert threads_for(MUCH) == 3
        with graphgauge.threads(2):
            assert threads_for(MUCH) == 2
            assert threads_for(MUCH, 5) == 5
        assert threads_for(MUCH) == 3
    assert threads_for(MUCH) == 7


def test_little_work_has_one_thread():
    with graphgauge.threads(4):
        assert threads_for(1000) == 1
        assert threads_for(1000, 5) == 1


@pytest.mark.parametrize("count", [0, -1, 1.0, True, None, "2"])
def test_a_count_that_is_none_is_refused(count):
    with pytest.raises(OptionError, match="threads must be a whole number of at least 1"), graphgauge.threads(count):
        pass


@pytest.mark.parametrize("wanted", ["0", "-1", "two", "1.5"])
def test_a_variable_that_is_no_count_is_refused(monkeypatch, wanted):
    monkeypatch.setenv(VARIABLE, wanted)
    with pytest.raises(OptionError, match=f"{VARIABLE} must be a whole number of at least 1, not '{wanted}'"):
        default_threads()


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_worker_of_a_pool_has_one_thread(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        assert pool.submit(default_threads).result() == 1


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity here")
def test_the_affinity_counts():
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); \
from graphgauge.core.threads import default_threads; print(default_threads())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


@pytest.mark.parametrize(
    ("groups", "files", "quota"),
    [
        ("0::/a/b\n", {"a/cpu.max": "150000 100000", "a/b/cpu.max": "max 100000"}, 1.5),
        ("0::/host/path\n", {"cpu.max": "200000 100000"}, 2.0),
        ("3:cpu,cpuacct:/\n0::/\n", {"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"}, 0.5),
        ("3:cpu,cpuacct:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, float("inf")),
        ("0::/\n", {"cpu.max": "nonsense"}, float("inf")),
        ("0::/\n", {}, float("inf")),
    ],
)
def test_the_quota_of_control_groups(tmp_path: Path, groups, files, quota):
    files = {"proc/self/cgroup": groups} | {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert _quota(tmp_path) == quota


def test_no_control_groups(tmp_path: Path):
    assert _quota(tmp_path) == float("inf")
