"""A fork while another thread computes a cached property does not stop the child."""

from __future__ import annotations

import os
import signal
import sys
import threading

import pytest

from graphgauge.core.metric import Metric
from graphgauge.core.registry import find


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_does_not_wait_for_a_thread_that_it_lacks() -> None:
    part, entry = Metric.__dict__["params"], find("mrr", "ranking")[0]
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        if sys.version_info >= (3, 12):  # without locks
            held.set()
            return
        with part.lock:
            held.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if not child:
        signal.alarm(10)  # ends the child if it waits
        entry.__dict__.pop("params", None)
        os._exit(0 if entry.params == {} else 1)
    status = os.waitpid(child, 0)[1]
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
